//! What Valiant and UGAL draw for a packet: a router with nodes, or a group with nodes.

use crate::graph::Graph;
use crate::settings::{Kind, Via};

/// A goal of the lightest paths.
#[derive(Debug, Clone, Copy)]
pub enum Towards {
    Router(usize),
    Group(usize),
}

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

    /// Return a place as a goal.
    pub fn towards(&self, place: usize) -> Towards {
        match self.via {
            Via::Router => Towards::Router(place),
            Via::Group => Towards::Group(place),
        }
    }

    /// Return the routers of a goal.
    pub fn routers(&self, towards: Towards) -> Vec<usize> {
        match towards {
            Towards::Router(goal) => vec![goal],
            Towards::Group(group) => self.group_routers[group].clone(),
        }
    }

    /// Draw a place that leads away, with a number below the one given. Valiant draws once; under UGAL a packet draws `again`,
    /// since one with nothing but the minimal path would wait for it, and hold up all behind it.
    pub fn draw(
        &self,
        again: bool,
        leads_away: impl Fn(usize) -> bool,
        mut below: impl FnMut(usize) -> usize,
    ) -> Option<usize> {
        let again = again && self.drawn.iter().any(|&place| leads_away(place));
        loop {
            let drawn = self.drawn[below(self.drawn.len())];
            if leads_away(drawn) {
                return Some(drawn);
            }
            if !again {
                return None;
            }
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
