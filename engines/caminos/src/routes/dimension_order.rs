//! Dimension order: one dimension of a grid after the other.

use std::rc::Rc;

use caminos_lib::routing::prelude::*;

use super::{on_channels, Routes};
use crate::next_hops::{Hop, HopClass};

impl Routes {
    /// The links of dimension order; both ways round a ring where they are as short and packets draw one.
    fn in_order(&self, here: usize, goal: usize) -> Rc<[Hop]> {
        self.next_hops.get(here, goal, || {
            let mut hops = Vec::new();
            for (step, way) in self.grid().in_order(here, goal, self.tie) {
                let class = if step.behind { HopClass::Usual } else { HopClass::BeforeDateline };
                hops.extend(self.ports(here, step.router).map(|port| Hop { port, class, way }));
            }
            hops
        })
    }

    /// `chosen` has the packet's priority, and a bit for each dimension that says which way it goes if both are as
    /// short.
    pub fn in_dimension_order(&self, here: usize, goal: usize, chosen: &[i32]) -> Vec<CandidateEgress> {
        let (label, drawn) = (chosen[0], chosen[1] as u32);
        let half = self.channels / 2;
        let rings = self.grid().has_rings();
        let mut candidates = Vec::new();
        for hop in self.in_order(here, goal).iter() {
            if hop.way.map_or(false, |(dimension, upwards)| (drawn >> dimension & 1 == 0) != upwards) {
                continue;
            }
            let channels = match (rings, hop.class) {
                (false, _) => 0..self.channels,
                (true, HopClass::BeforeDateline) => 0..half,
                (true, _) => half..self.channels,
            };
            candidates.extend(on_channels(hop.port, channels, label));
        }
        candidates
    }
}
