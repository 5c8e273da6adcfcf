//! Tables: the next hop of each router for each node, as the machine's file lists them.

use caminos_lib::routing::prelude::*;

use super::{on_channels, Kind, Routes, USUAL};

impl Routes {
    /// The ports of each way of the table.
    pub fn find_ways(&self) -> Vec<Vec<usize>> {
        let table = self.layout.table.as_ref().expect("table needs a table of next hops");
        let mut ports_of_link = vec![Vec::new(); self.layout.links()];
        for entering in &self.layout.entering {
            for (port, link) in entering.iter().enumerate().filter_map(|(port, link)| link.map(|link| (port, link))) {
                // What leaves by a port goes the other way round.
                ports_of_link[link ^ 1].push(port);
            }
        }
        let ports = |links: &Vec<usize>| links.iter().flat_map(|&link| ports_of_link[link].clone()).collect();
        table.links_of_way.iter().map(ports).collect()
    }

    pub fn by_table(&self, here: usize, node: usize, hops: usize) -> Vec<CandidateEgress> {
        let table = self.layout.table.as_ref().expect("initialize has seen a table");
        let way = table.way[here * table.nodes + node].expect("the table has a next hop");
        let channels = if self.kind == Kind::Table { 0..self.channels } else { self.channels_of_hop(hops) };
        self.ways[way as usize].iter().flat_map(|&port| on_channels(port, channels.clone(), USUAL)).collect()
    }
}
