//! A check after each event that none was lost, for tests.

use super::*;

impl Network {
    /// Panic if a packet waits beside an open lane, or a port that could send does not: an event was lost.
    pub fn check(&mut self) {
        if !self.opened.is_empty() || self.queue.has_more_at(self.now) {
            return;
        }
        for input in 0..self.inputs.len() as u32 {
            let InputQueue { waiting, head, port, .. } = self.inputs[input as usize];
            if !waiting || head == NONE || self.has_lanes && self.packets[head as usize].stage == Stage::Undecided {
                continue;
            }
            let mut ways = self.find_ways(head, self.router_of[port as usize]);
            let open = self.choose(&ways, head);
            assert!(open.is_none(), "lane {input} waits beside an open one at {}", self.now);
            ways.clear();
            self.ways = ways;
        }
        for port in 0..self.first_interface {
            let state = &self.ports[port as usize];
            if state.filled != 0 && state.free_at > self.now {
                assert!(state.wake_at <= state.free_at, "port {port} does not look when it is free");
            } else if state.filled != 0 {
                assert!(state.waits_for_credit, "port {port} does not send");
                let next = self.credits[port as usize].front().map(|credit| credit.time);
                assert!(next.map_or(true, |time| state.wake_at <= time), "port {port} overlooks a credit");
            }
        }
    }
}
