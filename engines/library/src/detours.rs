//! Lightest paths, and detours: the rules of minimal, Valiant and UGAL routing, for all programs.
//!
//! The goal of lightest paths is a router or a group; groups have the numbers behind those of the routers.
//!
//! * Valiant: minimal to an *intermediate*, then minimal to the destination. The intermediate is a router drawn uniformly
//!   from those with nodes, or a group with nodes, which a packet enters at a nearest router. A packet that draws its first
//!   or last router or group makes no detour.
//! * UGAL: at its first router a packet compares the minimal paths with a detour through each intermediate that it has
//!   drawn, never its first or last one, and takes the lower product of hops and queue (UGAL-L: Singh, thesis, Stanford,
//!   2005).

use crate::graph::{Exit, Graph};
use crate::settings::{Kind, Via};

/// Routers of a grid above which distances are computed, not stored.
const MOST_STORED: usize = 4096;

/// Intermediates of detours, and tables of minimum-weight paths, whose rows are computed on first use.
#[derive(Debug, Default)]
pub struct Detours {
    is_ugal: bool,
    via: Via,
    group: Option<Vec<usize>>,
    /// Routers of each group, and intermediates with nodes.
    group_routers: Vec<Vec<usize>>,
    drawn: Vec<usize>,
    class_weight: Vec<u32>,
    /// Whether distances in a grid are computed.
    computes: bool,
    /// Weights from each router to a goal, of a group to its nearest router.
    weights_to: Vec<Option<Box<[u32]>>>,
    /// Most hops of a lightest path from each router.
    hops_to: Vec<Option<Box<[u16]>>>,
    /// The nearest routers of each group.
    entries: Vec<Vec<Box<[u32]>>>,
}

impl Detours {
    pub fn new(graph: &Graph, kind: Kind, via: Via, class_weight: &[u32]) -> Detours {
        let routers = graph.routers();
        let group = graph.group.clone();
        let mut group_routers = vec![Vec::new(); graph.groups()];
        for (router, &group) in group.iter().flatten().enumerate() {
            group_routers[group].push(router);
        }
        let equal = class_weight.iter().all(|weight| *weight == class_weight[0]);
        let mut detours = Detours {
            is_ugal: kind == Kind::Ugal,
            via,
            group,
            drawn: Vec::new(),
            class_weight: class_weight.to_vec(),
            computes: graph.grid.is_some() && routers > MOST_STORED && equal,
            weights_to: vec![None; routers + graph.groups()],
            hops_to: vec![None; routers],
            entries: vec![Vec::new(); routers],
            group_routers,
        };
        detours.drawn = graph.node_router.iter().map(|&router| detours.intermediate_of(router)).collect();
        detours.drawn.sort_unstable();
        detours.drawn.dedup();
        detours
    }

    /// Return of a router what packets draw: itself, or its group.
    #[inline]
    pub fn intermediate_of(&self, router: usize) -> usize {
        match (self.via, &self.group) {
            (Via::Group, Some(group)) => group[router],
            _ => router,
        }
    }

    /// Return an intermediate as a goal.
    pub fn towards(&self, intermediate: usize) -> usize {
        match self.via {
            Via::Router => intermediate,
            Via::Group => self.hops_to.len() + intermediate,
        }
    }

    /// Draw an intermediate away from the first and the last router, with a number below the one given. Valiant
    /// draws once. UGAL draws again: a packet without a detour could only wait for the minimal path, and would block
    /// those behind it.
    pub fn draw(&self, ends: [usize; 2], mut below: impl FnMut(usize) -> usize) -> Option<usize> {
        let again = self.is_ugal && self.drawn.iter().any(|&intermediate| self.leads_away(ends, intermediate));
        loop {
            let drawn = self.drawn[below(self.drawn.len())];
            if self.leads_away(ends, drawn) {
                return Some(drawn);
            }
            if !again {
                return None;
            }
        }
    }

    fn leads_away(&self, ends: [usize; 2], drawn: usize) -> bool {
        match (self.is_ugal, self.via, &self.group) {
            // Most detours through another router of the first or the last group cross the link of the minimal path.
            (true, Via::Router, Some(group)) if group[ends[0]] != group[ends[1]] => {
                ends.iter().all(|&end| group[end] != group[drawn])
            }
            _ => ends.iter().all(|&end| self.intermediate_of(end) != drawn),
        }
    }

    /// Return whether distances to a goal are computed, since rows would be too large.
    pub fn are_computed(&self, goal: usize) -> bool {
        self.computes && goal < self.hops_to.len()
    }

    /// Return the weight of the lightest path from each router to a goal.
    pub fn weights(&self, graph: &Graph, goal: usize) -> Box<[u32]> {
        match goal.checked_sub(graph.routers()) {
            None => graph.weights_to(&[goal], &self.class_weight),
            Some(group) => graph.weights_to(&self.group_routers[group], &self.class_weight),
        }
    }

    /// Return the links with which the lightest paths to a goal begin.
    pub fn lightest(&mut self, graph: &Graph, here: usize, goal: usize) -> Vec<Exit> {
        if self.are_computed(goal) {
            return graph.shortest_in_grid(here, goal).copied().collect();
        }
        if self.weights_to[goal].is_none() {
            self.weights_to[goal] = Some(self.weights(graph, goal));
        }
        let weights = self.weights_to[goal].as_ref().expect("it is known now");
        graph.lightest(here, &self.class_weight, weights).copied().collect()
    }

    /// Return the maximum number of hops over all minimum-weight paths.
    pub fn hops(&mut self, graph: &Graph, from: usize, goal: usize) -> u32 {
        if self.computes {
            return graph.grid().distance(from, goal) as u32;
        }
        let class_weight = &self.class_weight;
        let row = self.hops_to[goal].get_or_insert_with(|| {
            let weights = graph.weights_to(&[goal], class_weight);
            graph.most_hops(&weights, class_weight)
        });
        u32::from(row[from])
    }

    /// Return the most hops of a way from a router through an intermediate to a goal.
    pub fn hops_through(&mut self, graph: &Graph, here: usize, intermediate: usize, goal: usize) -> u32 {
        if self.via == Via::Router {
            return self.hops(graph, here, intermediate) + self.hops(graph, intermediate, goal);
        }
        if self.entries[here].is_empty() {
            self.entries[here] = self.nearest_of_groups(graph, here);
        }
        let entries = std::mem::take(&mut self.entries[here]);
        let through = |&entry: &u32| self.hops(graph, here, entry as usize) + self.hops(graph, entry as usize, goal);
        let longest = entries[intermediate].iter().map(through).max().expect("a group has routers");
        self.entries[here] = entries;
        longest
    }

    fn nearest_of_groups(&self, graph: &Graph, here: usize) -> Vec<Box<[u32]>> {
        let weights = self.weights(graph, here);
        let nearest = |members: &Vec<usize>| {
            let least = members.iter().map(|&router| weights[router]).min();
            members.iter().filter(|&&router| Some(weights[router]) == least).map(|&router| router as u32).collect()
        };
        self.group_routers.iter().map(nearest).collect()
    }
}

/// Hops of a path, and what waits for its emptiest first link, the packet itself included.
pub type PathCost = (u32, f64);

/// Return which detour UGAL prefers to the minimal path, if any: that path has to cost more than `bias` times the best
/// detour and `threshold`.
pub fn better_detour(
    minimal: PathCost, detours: impl Iterator<Item = PathCost>, bias: f64, threshold: f64,
) -> Option<usize> {
    let product = |(hops, queue): PathCost| f64::from(hops) * queue;
    let best = detours.map(product).enumerate().min_by(|(_, one), (_, other)| one.total_cmp(other));
    best.filter(|(_, detour)| product(minimal) > bias * detour + threshold).map(|(index, _)| index)
}
