//! Pieces of messages under way from a port: CAMINOS knows a piece by the cycle in which the port sent it.

use std::collections::VecDeque;

use caminos_lib::Time;

/// What is left of a piece that has arrived.
const ARRIVED: usize = usize::MAX;

/// Cycle and message of each piece, by cycle: a port sends one piece a cycle at most.
#[derive(Debug, Clone, Default)]
pub struct UnderWay(VecDeque<(Time, usize)>);

impl UnderWay {
    pub fn add(&mut self, sent: Time, message: usize) {
        self.0.push_back((sent, message));
    }

    /// Take the message of the piece that the port sent in a cycle; none if it sent none then.
    pub fn take(&mut self, sent: Time) -> Option<usize> {
        let place = self.0.partition_point(|&(earlier, _)| earlier < sent);
        let message = match self.0.get_mut(place) {
            Some((same, message)) if *same == sent && *message != ARRIVED => std::mem::replace(message, ARRIVED),
            _ => return None,
        };
        while matches!(self.0.front(), Some(&(_, ARRIVED))) {
            self.0.pop_front();
        }
        Some(message)
    }
}
