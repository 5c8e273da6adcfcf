//! D-mod-K: up a tree by the digits of the destination, then straight down.

use caminos_lib::routing::prelude::*;

use super::{on_channels, Routes, USUAL};

impl Routes {
    pub fn through_the_tree(&self, here: usize, goal: usize, node: usize) -> Vec<CandidateEgress> {
        let tree = self.tree.as_ref().expect("initialize has made a tree");
        let next = tree.next(here, goal, node).into_iter();
        next.flat_map(|next| self.ports(here, next))
            .flat_map(|port| on_channels(port, 0..self.channels, USUAL))
            .collect()
    }
}
