//! A node: how messages of its ranks leave by its ports, and when what they have started ends.
//!
//! Up to `slots` messages of an interface are under way at once; see `injection.rs`. The ranks of the node take turns in
//! filling what is free. A node may have several ports, each with an interface of its own, to which messages go in turn;
//! or the ports have one interface, which divides each message, and take turns at its packets.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use caminos_lib::Time;

use crate::injection::Interface;

#[derive(Debug)]
pub struct Node {
    /// For each rank its messages that wait for a slot, in their order, with their phits.
    queues: Vec<VecDeque<(usize, usize)>>,
    /// All of these messages, and whose turn it is.
    waiting: usize,
    turn: usize,
    /// One for each port, or one for all, and which of them gets the next message.
    interfaces: Vec<Interface>,
    next_interface: usize,
    /// When each port would be free again if its router had room for all that it has sent.
    free_at: Vec<Time>,
    /// When which computation or eager send ends.
    ending: BinaryHeap<Reverse<(Time, usize)>>,
}

impl Node {
    /// A node without ranks.
    pub fn new(slots: usize, striped: bool, ports: usize) -> Node {
        Node {
            queues: Vec::new(),
            waiting: 0,
            turn: 0,
            interfaces: (0..if striped { 1 } else { ports }).map(|_| Interface::new(slots, striped)).collect(),
            next_interface: 0,
            free_at: vec![0; ports],
            ending: BinaryHeap::new(),
        }
    }

    /// Add a rank, and return its number on the node.
    pub fn add_rank(&mut self) -> usize {
        self.queues.push(VecDeque::new());
        self.queues.len() - 1
    }

    /// Let a message of a rank wait for a slot.
    pub fn post(&mut self, rank: usize, message: usize, phits: usize) {
        self.queues[rank].push_back((message, phits));
        self.waiting += 1;
    }

    /// Whether a port may have something to send.
    pub fn can_send(&self, port: usize) -> bool {
        self.waiting > 0 || !self.interfaces[self.interface_of(port)].is_idle()
    }

    fn interface_of(&self, port: usize) -> usize {
        port.min(self.interfaces.len() - 1)
    }

    /// Take what a port sends next: a message, and how many of its phits.
    pub fn send(&mut self, port: usize, packet: usize) -> Option<(usize, usize)> {
        self.fill_slots();
        let interface = self.interface_of(port);
        self.interfaces[interface].take(packet)
    }

    fn fill_slots(&mut self) {
        while self.waiting > 0 && self.interfaces[self.next_interface].has_free_slot() {
            if let Some((message, phits)) = self.queues[self.turn].pop_front() {
                self.interfaces[self.next_interface].add(message, phits);
                self.next_interface = (self.next_interface + 1) % self.interfaces.len();
                self.waiting -= 1;
            }
            self.turn = (self.turn + 1) % self.queues.len();
        }
    }

    /// Send phits by a port, one a period, after all before; return when the last one has left.
    pub fn leave(&mut self, port: usize, cycle: Time, phits: usize, period: Time) -> Time {
        let free_at = &mut self.free_at[port];
        *free_at = (*free_at).max((cycle + period - 1) / period * period) + phits as Time * period;
        *free_at
    }

    /// Let an operation end in a cycle.
    pub fn end_at(&mut self, cycle: Time, operation: usize) {
        self.ending.push(Reverse((cycle, operation)));
    }

    /// When the first of what has started ends, as far as that is known.
    pub fn next_end(&self) -> Option<Time> {
        self.ending.peek().map(|&Reverse((end, _))| end)
    }

    /// Take the first operation that ends by a cycle, and when.
    pub fn take_ended(&mut self, cycle: Time) -> Option<(Time, usize)> {
        if self.next_end()? > cycle {
            return None;
        }
        self.ending.pop().map(|Reverse(ended)| ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node whose first rank has messages 0, 1, ... of these phits, and whose second has 10, 11, ...
    fn node(slots: usize, striped: bool, ports: usize, phits: [&[usize]; 2]) -> Node {
        let mut node = Node::new(slots, striped, ports);
        for messages in phits {
            let rank = node.add_rank();
            messages.iter().enumerate().for_each(|(number, &phits)| node.post(rank, 10 * rank + number, phits));
        }
        node
    }

    /// What a port sends, in pieces of at most two phits.
    fn sent(node: &mut Node, port: usize) -> Vec<(usize, usize)> {
        (0..).map_while(|_| node.send(port, 2)).collect()
    }

    #[test]
    fn one_slot_sends_message_by_message_and_more_slots_packet_by_packet() {
        assert_eq!(sent(&mut node(1, false, 1, [&[3, 1], &[]]), 0), [(0, 3), (1, 1)]);
        assert_eq!(sent(&mut node(2, false, 1, [&[3, 1], &[]]), 0), [(0, 2), (1, 1), (0, 1)]);
    }

    #[test]
    fn ranks_take_turns_in_filling_the_slots() {
        for slots in [1, 2, 16] {
            let sent = sent(&mut node(slots, false, 1, [&[1, 1, 1], &[1, 1]]), 0);
            assert_eq!(sent.iter().map(|&(message, _)| message).collect::<Vec<_>>(), [0, 10, 1, 11, 2]);
        }
    }

    #[test]
    fn messages_go_to_ports_in_turn_or_are_divided_among_them() {
        let mut in_turn = node(16, false, 2, [&[3, 1, 5], &[]]);
        assert_eq!(sent(&mut in_turn, 0), [(0, 2), (2, 2), (0, 1), (2, 2), (2, 1)]);
        assert!(!in_turn.can_send(0) && in_turn.can_send(1));
        assert_eq!(sent(&mut in_turn, 1), [(1, 1)]);
        let mut divided = node(1, true, 2, [&[3, 1, 5], &[]]);
        let pieces = (0..6).map(|piece| divided.send(piece % 2, 2).expect("a piece"));
        assert_eq!(pieces.collect::<Vec<_>>(), [(0, 2), (0, 1), (1, 1), (2, 2), (2, 2), (2, 1)]);
    }
    #[test]
    fn phits_leave_one_a_period_after_all_before() {
        let mut node = node(1, false, 2, [&[], &[]]);
        assert_eq!(
            [(0, 1, 2), (0, 2, 1), (1, 2, 1), (0, 20, 1)].map(|(port, at, phits)| node.leave(port, at, phits, 3)),
            [9, 12, 6, 24]
        );
    }
}
