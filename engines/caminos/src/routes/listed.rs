//! Routes that the machine's file lists: next hops, or paths.

use caminos_lib::routing::prelude::*;
use rand::rngs::StdRng;
use rand::Rng;

use super::{on_channels, Kind, Routes, USUAL};
use crate::listed_routes::{HopTable, ListedHop, PathTable};

impl Routes {
    pub fn find_ports_of_links(&self) -> Vec<Vec<usize>> {
        let mut ports_of_link = vec![Vec::new(); self.layout.links()];
        for entering in &self.layout.entering {
            for (port, link) in entering.iter().enumerate().filter_map(|(port, link)| link.map(|link| (port, link))) {
                // What leaves by a port goes the other way round.
                ports_of_link[link ^ 1].push(port);
            }
        }
        ports_of_link
    }

    fn hops(&self) -> &HopTable {
        self.layout.hops.as_ref().expect("table needs a list of next hops")
    }

    fn paths(&self) -> &PathTable {
        self.layout.paths.as_ref().expect("paths needs a list of paths")
    }

    fn listed(&self, here: usize, goal: usize, node: usize) -> &[ListedHop] {
        let hops = self.hops();
        hops.hops(here, if hops.by_node { node / self.session.ports.get() } else { goal })
    }

    /// The place of the next hop that a packet draws by weight; none where it may take any.
    pub fn draw_hop(&self, here: usize, goal: usize, node: Option<usize>, rng: &mut StdRng) -> Option<Vec<i32>> {
        let listed = self.listed(here, goal, node.expect("Routes leads to a node"));
        let total: usize = listed.iter().map(|hop| hop.weight).sum();
        if total == 0 {
            return None;
        }
        let mut drawn = rng.gen_range(0..total);
        let place = listed.iter().position(|hop| {
            let here = drawn < hop.weight;
            drawn = drawn.saturating_sub(hop.weight);
            here
        });
        place.map(|place| vec![place as i32])
    }

    pub fn draw_path(&self, here: usize, goal: usize, rng: &mut StdRng) -> i32 {
        let between = self.paths().between(here, goal);
        let drawn = rng.gen_range(0..self.paths().total(&between));
        self.paths().selected(between, drawn) as i32
    }

    pub fn by_table(&self, here: usize, goal: usize, node: usize, hops: usize, drawn: &[i32]) -> Vec<CandidateEgress> {
        let mut listed = self.listed(here, goal, node);
        if let [place] = *drawn {
            listed = &listed[place as usize..place as usize + 1];
        }
        let mut candidates = Vec::new();
        for hop in listed {
            let channels = match self.kind {
                Kind::TableByHops => self.channels_of_hop(hops),
                _ => self.channels_of(hop.class..hop.class + 1),
            };
            for &port in &self.ports_of_link[hop.link] {
                candidates.extend(on_channels(port, channels.clone(), USUAL));
            }
        }
        candidates
    }

    pub fn along_path(&self, here: usize, hops: usize, drawn: &[i32]) -> Vec<CandidateEgress> {
        let next = self.paths().routers(drawn[0] as usize)[hops] as usize;
        self.ports(here, next).flat_map(|port| on_channels(port, self.channels_of_hop(hops), USUAL)).collect()
    }
}
