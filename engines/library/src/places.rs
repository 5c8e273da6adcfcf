//! What Valiant and UGAL draw for a packet: a router with nodes, or a group with nodes.

use crate::graph::Graph;
use crate::settings::{Kind, Via};

#[derive(Debug)]
pub struct Places {
    pub via: Via,
    group: Option<Vec<usize>>,
    /// Routers of each group.
    pub group_routers: Vec<Vec<usize>>,
    /// Places with nodes.
    pub drawn: Vec<usize>,
}

impl Places {
    pub fn new(graph: &Graph, via: Via) -> Places {
        let group = graph.group.clone();
        let groups = group.iter().flatten().max().map_or(0, |last| last + 1);
        let mut places =
            Places { via, group_routers: vec![Vec::new(); groups], drawn: graph.routers_with_nodes(), group };
        for (router, &group) in places.group.iter().flatten().enumerate() {
            places.group_routers[group].push(router);
        }
        places.drawn = places.drawn.iter().map(|&router| places.place(router)).collect();
        places.drawn.sort_unstable();
        places.drawn.dedup();
        places
    }

    /// Return of a router what packets draw: itself, or its group.
    #[inline]
    pub fn place(&self, router: usize) -> usize {
        match (self.via, &self.group) {
            (Via::Group, Some(group)) => group[router],
            _ => router,
        }
    }

    /// Return whether a place that was drawn leads a packet away from its first and last router, or group.
    pub fn leads_away(&self, kind: Kind, ends: [usize; 2], drawn: usize) -> bool {
        match (kind, self.via, &self.group) {
            // Most detours through another router of the first or the last group cross the link of the minimal path.
            (Kind::Ugal, Via::Router, Some(group)) if group[ends[0]] != group[ends[1]] => {
                ends.iter().all(|&end| group[end] != group[drawn])
            }
            _ => ends.iter().all(|&end| self.place(end) != drawn),
        }
    }
}
