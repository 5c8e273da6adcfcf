//! A node's network interface: which message sends the next packet.
//!
//! Up to `slots` messages of a node are under way at once and take turns packet by packet, as messages in the injection
//! queues of real interfaces do. A slot is free again when the last packet of its message has left. Free slots are
//! filled by the ranks of the node in turn, each with its next message in send order. With one slot messages leave
//! whole, one after the other, unless several ports divide them.

use std::collections::VecDeque;

#[derive(Debug)]
pub struct Interface {
    slots: usize,
    /// Whether messages leave whole.
    whole: bool,
    /// Messages under way and the phits of each that have not left, in the order of their turns.
    under_way: VecDeque<(usize, usize)>,
}

impl Interface {
    /// An interface of one port, or of several that divide messages.
    pub fn new(slots: usize, divided: bool) -> Interface {
        Interface { slots, whole: slots == 1 && !divided, under_way: VecDeque::new() }
    }

    pub fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    pub fn has_free_slot(&self) -> bool {
        self.under_way.len() < self.slots
    }

    /// Put a message into a free slot; its first turn comes after those of all others.
    pub fn add(&mut self, message: usize, phits: usize) {
        self.under_way.push_back((message, phits));
    }

    /// Take what leaves next: the message and its phits, a packet or all of them.
    pub fn take(&mut self, packet: usize) -> Option<(usize, usize)> {
        let (message, left) = self.under_way.pop_front()?;
        let phits = if self.whole { left } else { left.min(packet) };
        if phits < left {
            self.under_way.push_back((message, left - phits));
        }
        Some((message, phits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(slots: usize, messages: &[usize]) -> Vec<(usize, usize)> {
        let mut interface = Interface::new(slots, false);
        let mut waiting = messages.iter().copied().enumerate();
        let mut taken = Vec::new();
        loop {
            while interface.has_free_slot() {
                match waiting.next() {
                    Some((message, phits)) => interface.add(message, phits),
                    None => break,
                }
            }
            match interface.take(4) {
                Some(piece) => taken.push(piece),
                None => return taken,
            }
        }
    }

    #[test]
    fn one_slot_sends_whole_messages_in_order() {
        assert_eq!(order(1, &[10, 3, 8]), [(0, 10), (1, 3), (2, 8)]);
    }

    #[test]
    fn one_slot_of_several_ports_sends_packets() {
        let mut interface = Interface::new(1, true);
        interface.add(7, 10);
        assert_eq!([4, 4, 2].map(|phits| Some((7, phits))), [(); 3].map(|()| interface.take(4)));
    }

    #[test]
    fn two_slots_alternate_and_a_third_message_waits_for_room() {
        assert_eq!(order(2, &[10, 3, 8]), [(0, 4), (1, 3), (0, 4), (2, 4), (0, 2), (2, 4)]);
    }

    #[test]
    fn more_slots_than_messages_change_nothing() {
        assert_eq!(order(3, &[5, 5, 5]), order(99, &[5, 5, 5]));
    }
}
