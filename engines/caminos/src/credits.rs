//! What a sender knows of the room in the input buffers at the other end of its link.

use std::cell::RefCell;
use std::mem::{size_of, size_of_val};
use std::rc::Rc;

use caminos_lib::quantify::Quantifiable;
use caminos_lib::router::{AcknowledgeMessage, StatusAtEmissor, TransmissionFromOblivious, TransmissionMechanism};
use caminos_lib::{Phit, Time};

use crate::egress::Egress;

/// Phits that have room in the buffer of each virtual channel. A packet starts only if all of it has room.
#[derive(Debug)]
pub struct Credits {
    free: Vec<usize>,
    packet: usize,
    egress: Rc<RefCell<Egress>>,
}

impl Credits {
    pub fn new(channels: usize, buffer: usize, packet: usize, egress: Rc<RefCell<Egress>>) -> Credits {
        Credits { free: vec![buffer; channels], packet, egress }
    }

    /// Whether a phit that begins a packet, or one that does not, may leave on a channel.
    pub fn allow(&self, channel: usize, begins: bool) -> bool {
        self.free[channel] >= if begins { self.packet } else { 1 }
    }

    pub fn take(&mut self, channel: usize) {
        self.free[channel] -= 1;
    }

    pub fn give_back(&mut self, message: AcknowledgeMessage) {
        self.free[channel_of(message)] += 1;
    }
}

/// The message that a phit has left a buffer.
pub fn left(channel: usize) -> AcknowledgeMessage {
    AcknowledgeMessage::ack_fix_available_size(channel)
}

/// The channel that `left` put into a message. CAMINOS keeps a message's contents to itself, but for what its own
/// senders show: this one takes over the number as the room it knows of.
pub fn channel_of(message: AcknowledgeMessage) -> usize {
    let mut reader = TransmissionFromOblivious::new(0, 0, 0).new_status_at_emissor();
    reader.acknowledge(message);
    reader.known_available_space_for_virtual_channel(0).expect("it knows its room")
}

impl StatusAtEmissor for Credits {
    fn num_virtual_channels(&self) -> usize {
        self.free.len()
    }
    fn acknowledge(&mut self, message: AcknowledgeMessage) {
        self.give_back(message);
    }
    fn notify_outcoming_phit(&mut self, virtual_channel: usize, cycle: Time) {
        self.take(virtual_channel);
        self.egress.borrow_mut().leave(cycle);
    }
    fn can_transmit(&self, phit: &Rc<Phit>, virtual_channel: usize) -> bool {
        self.allow(virtual_channel, phit.is_begin())
    }
    fn can_transmit_whole_packet(&self, phit: &Rc<Phit>, virtual_channel: usize) -> bool {
        self.free[virtual_channel] >= phit.packet.size - phit.index
    }
    fn known_available_space_for_virtual_channel(&self, virtual_channel: usize) -> Option<usize> {
        Some(self.free[virtual_channel])
    }
    fn get_last_transmission(&self) -> Time {
        unimplemented!("no policy of ours asks for the last transmission")
    }
}

impl Quantifiable for Credits {
    fn total_memory(&self) -> usize {
        size_of::<Credits>() + size_of_val(&self.free[..])
    }
    fn print_memory_breakdown(&self) {
        println!("credits: {} bytes", self.total_memory());
    }
    fn forecast_total_memory(&self) -> usize {
        self.total_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_comes_back_from_its_message() {
        let mut credits = Credits::new(3, 4, 2, Rc::default());
        for _ in 0..3 {
            credits.take(2);
        }
        assert!(!credits.allow(2, true) && credits.allow(2, false) && credits.allow(1, true));
        credits.give_back(left(2));
        assert!(credits.allow(2, true));
        assert_eq!((0..3).map(|channel| channel_of(left(channel))).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
