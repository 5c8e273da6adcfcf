//! The network interfaces of a node: which message sends the next packet.
//!
//! Up to `slots` messages of an interface are in flight, and send packets in turn, as the injection queues of real interfaces
//! do. A slot is free when the last packet of its message has left; the ranks of the node fill free slots in turn, each in its
//! send order. A node may have several ports, each with an interface of its own, to which messages go in turn; or one
//! interface for all ports, which stripes each message over them.

use std::collections::VecDeque;

/// Messages of the ranks of a node that wait for a slot.
#[derive(Debug, Default)]
pub struct Waiting {
    /// For each rank its messages in their order, with their bytes.
    queues: Vec<VecDeque<(u32, u32)>>,
    /// Messages in all queues, and the next rank in round-robin order.
    count: usize,
    turn: usize,
}

impl Waiting {
    pub fn new(ranks: usize) -> Waiting {
        Waiting { queues: vec![VecDeque::new(); ranks], ..Waiting::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn post(&mut self, rank: usize, message: u32, bytes: u32) {
        self.queues[rank].push_back((message, bytes));
        self.count += 1;
    }

    /// Take the next message of the next rank in turn that has one.
    pub fn take(&mut self) -> Option<(u32, u32)> {
        if self.count == 0 {
            return None;
        }
        self.count -= 1;
        loop {
            let message = self.queues[self.turn].pop_front();
            self.turn = (self.turn + 1) % self.queues.len();
            if message.is_some() {
                return message;
            }
        }
    }
}

#[derive(Debug, Default)]
pub struct Node {
    pub waiting: Waiting,
    /// One for each port, or one for all: messages in flight and the bytes of each that have not left, in the order of
    /// their turns.
    interfaces: Vec<VecDeque<(u32, u32)>>,
    next_interface: usize,
    slots: usize,
}

impl Node {
    pub fn new(ranks: usize, slots: usize, striped: bool, ports: usize) -> Node {
        let interfaces = vec![VecDeque::new(); if striped { 1 } else { ports }];
        Node { waiting: Waiting::new(ranks), interfaces, next_interface: 0, slots }
    }

    fn interface_of(&self, port: usize) -> usize {
        port.min(self.interfaces.len() - 1)
    }

    /// Return the next message in turn whose packet is allowed to leave by a port, and the bytes of the packet, of `packet`
    /// at most; its turn comes first now.
    pub fn next(
        &mut self, port: usize, packet: u32, mut is_allowed: impl FnMut(u32, u32) -> bool,
    ) -> Option<(u32, u32)> {
        self.fill_slots();
        let interface = self.interface_of(port);
        for _ in 0..self.interfaces[interface].len() {
            let (message, left) = self.interfaces[interface][0];
            if is_allowed(message, left.min(packet)) {
                return Some((message, left.min(packet)));
            }
            self.interfaces[interface].rotate_left(1);
        }
        None
    }

    /// Let the packet that `next` has returned leave; return whether it was the last one of its message.
    pub fn send(&mut self, port: usize, bytes: u32) -> bool {
        let (slots, interface) = (self.slots, self.interface_of(port));
        let in_flight = &mut self.interfaces[interface];
        let (message, left) = in_flight.pop_front().expect("there is a next packet");
        if left == bytes {
            return true;
        }
        if slots == 1 {
            in_flight.push_front((message, left - bytes));
        } else {
            in_flight.push_back((message, left - bytes));
        }
        false
    }

    /// Return whether a port may have something to send.
    pub fn can_send(&self, port: usize) -> bool {
        !self.waiting.is_empty() || !self.interfaces[self.interface_of(port)].is_empty()
    }

    fn fill_slots(&mut self) {
        while self.interfaces[self.next_interface].len() < self.slots {
            match self.waiting.take() {
                Some(message) => self.interfaces[self.next_interface].push_back(message),
                None => return,
            }
            self.next_interface = (self.next_interface + 1) % self.interfaces.len();
        }
    }
}
