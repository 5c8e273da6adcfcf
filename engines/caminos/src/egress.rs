//! What leaves a port of a node, and when: CAMINOS tells it to the credits of the port, and not to the traffic.

use std::collections::VecDeque;

use caminos_lib::Time;

/// The pieces of messages that a port was given, in their order, and the messages that have left.
#[derive(Debug, Default)]
pub struct Egress {
    /// Phits of each piece that have not left, and the message of which it is the last one.
    pieces: VecDeque<(usize, Option<usize>)>,
    /// Cycle in which the last phit of a message began to leave, and the message.
    left: VecDeque<(Time, usize)>,
}

impl Egress {
    pub fn add(&mut self, phits: usize, last_of: Option<usize>) {
        self.pieces.push_back((phits, last_of));
    }

    /// Count a phit as leaving.
    pub fn leave(&mut self, cycle: Time) {
        if let Some((phits, last_of)) = self.pieces.front_mut() {
            *phits -= 1;
            if *phits == 0 {
                self.left.extend(last_of.map(|message| (cycle, message)));
                self.pieces.pop_front();
            }
        }
    }

    pub fn any_left(&self) -> bool {
        !self.left.is_empty()
    }

    pub fn take(&mut self) -> Option<(Time, usize)> {
        self.left.pop_front()
    }
}
