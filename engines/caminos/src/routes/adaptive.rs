//! Adaptive routing: every link that leads on, in a grid or up and down a tree.

use std::rc::Rc;

use caminos_lib::routing::prelude::*;

use super::{on_channels, Kind, Routes, ESCAPE, USUAL};
use crate::grid::Tie;
use crate::next_hops::{Hop, HopClass};

impl Routes {
    /// The links of adaptive routing in a grid, and the escape where there is one.
    fn adaptively(&self, here: usize, goal: usize) -> Rc<[Hop]> {
        self.next_hops.get(here, goal, || {
            let hop = |class| move |port| Hop { port, class, way: None };
            let mut hops = Vec::new();
            for router in self.grid().adaptively(here, goal) {
                hops.extend(self.ports(here, router).map(hop(HopClass::Usual)));
            }
            if self.escapes() {
                let (step, _) = self.grid().in_order(here, goal, Tie::Positive)[0];
                hops.extend(self.ports(here, step.router).map(hop(HopClass::Escape)));
            }
            hops
        })
    }

    pub fn through_the_grid(&self, here: usize, goal: usize, hops: usize) -> Vec<CandidateEgress> {
        let channels = if self.escapes() { 1..self.channels } else { self.channels_of_hop(hops) };
        let mut candidates = Vec::new();
        for hop in self.adaptively(here, goal).iter() {
            match hop.class {
                HopClass::Escape => candidates.extend(on_channels(hop.port, 0..1, ESCAPE)),
                _ => candidates.extend(on_channels(hop.port, channels.clone(), USUAL)),
            }
        }
        candidates
    }

    pub fn up_and_down(&self, here: usize, goal: usize) -> Vec<CandidateEgress> {
        let hops = self.lightest(here, goal);
        let on = |channel| hops.iter().flat_map(move |hop| on_channels(hop.port, channel..channel + 1, USUAL));
        (0..self.channels).flat_map(on).collect()
    }

    /// Whether channel 0 is an escape for adaptive packets.
    pub fn escapes(&self) -> bool {
        self.kind == Kind::Adaptive && self.layout.grid.as_ref().map_or(false, |grid| !grid.has_rings())
    }
}
