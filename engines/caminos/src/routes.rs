//! Routing `Routes { kind: "minimal", tie: "split", class_weight: [1, 100], channels: 3 }`; kinds:
//!
//! * minimal: paths of least weight, the sum of `class_weight` over their links;
//! * dimension-order: one dimension of a grid after the other (see `grid.rs`); `tie` is split, positive or alternate,
//!   for packets that have to go exactly half-way round a ring; routers go by the packets' turns (see `turns.rs`);
//! * d-mod-k: up and down a tree (see `tree.rs`);
//! * adaptive: in a grid every link that dimension order would take in some dimension, elsewhere the links of minimal;
//!   the policies of the router choose;
//! * valiant: minimal to a router drawn uniformly from those with nodes, then minimal to the destination; straight to
//!   the destination if the draw gives the packet's first or last router, and delivered if it comes by the latter;
//! * ugal: at its first router a packet takes either of both, whichever has the lower product of queue and hops, as
//!   seen by CAMINOS' policy `LowestSinghWeight`, and keeps to it (UGAL-L; Singh 2005).
//!
//! Virtual channels, `channels` of them:
//!
//! * dimension-order: any on a grid of lines; with rings the first half before a ring's dateline, the second behind it
//!   (Dally and Seitz 1987);
//! * d-mod-k, and adaptive on a tree: any, since what goes down never turns up again;
//! * adaptive on a grid of lines: any but the first; that one, with a higher label, is an escape by dimension order,
//!   open to every packet everywhere (Duato 1993). On rings this carries a third less than the next rule;
//! * else: hop k of a packet, the one to its node included, uses channel k, or the last one.
//!
//! CAMINOS' own `WeighedShortest` and `Valiant` inside `ChannelsPerHop` take the same routes. This plug takes less time,
//! and tells the policy how long a path through a drawn router is, which `Sum` of those two does not.

use std::cell::RefCell;
use std::mem::take;
use std::ops::Range;
use std::rc::Rc;

use caminos_lib::config_parser::ConfigurationValue;
use caminos_lib::routing::prelude::*;
use caminos_lib::topology::{Location, Topology};
use rand::rngs::StdRng;
use rand::Rng;

use crate::graph::{self, Layout};
use crate::grid::{Grid, Tie};
use crate::input::BadFile;
use crate::lightest::Lightest;
use crate::shares;
use crate::tree::Tree;
use crate::turns::Turns;

/// Label of the candidates that lead through the drawn router.
const THROUGH_MIDDLE: i32 = 1;
/// Label of other candidates where the router prefers low labels: it gives 0 to packets that come from a router.
const USUAL: i32 = 1;
/// Label of the escape: a router that adds queues to labels takes it only where nothing else has room.
const ESCAPE: i32 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Minimal,
    DimensionOrder,
    DModK,
    Adaptive,
    Valiant,
    Ugal,
}

/// A link to another router.
#[derive(Debug)]
struct Exit {
    router: usize,
    port: usize,
    weight: usize,
}

/// How the links towards a goal are found.
#[derive(Debug)]
enum Ways {
    /// Shortest paths in a grid whose links all weigh the same.
    Grid,
    Lightest(Lightest),
    /// Only those that the kind says.
    Fixed,
}

#[derive(Debug)]
struct Routes {
    kind: Kind,
    tie: Tie,
    class_weight: Vec<usize>,
    channels: usize,
    layout: Rc<Layout>,
    /// Sorted by router.
    exits: Vec<Vec<Exit>>,
    /// Port to each node.
    node_port: Vec<usize>,
    routers_with_nodes: Vec<usize>,
    ways: Ways,
    tree: Option<Tree>,
    turns: Turns,
}

/// Build the routing.
///
/// # Panics
/// If a field is missing or wrong, as CAMINOS' own builders do.
pub fn build(argument: RoutingBuilderArgument) -> Box<dyn Routing> {
    let fields = match argument.cv {
        ConfigurationValue::Object(_, fields) => fields,
        _ => panic!("Routes is not an object"),
    };
    let field = |wanted: &str| match fields.iter().find(|(name, _)| name == wanted) {
        Some((_, value)) => value,
        None => panic!("Routes needs the field {}", wanted),
    };
    let kind = match field("kind").as_str() {
        Ok("minimal") => Kind::Minimal,
        Ok("dimension-order") => Kind::DimensionOrder,
        Ok("d-mod-k") => Kind::DModK,
        Ok("adaptive") => Kind::Adaptive,
        Ok("valiant") => Kind::Valiant,
        Ok("ugal") => Kind::Ugal,
        _ => panic!("kind of Routes is not minimal, dimension-order, d-mod-k, adaptive, valiant or ugal"),
    };
    let tie = match field("tie").as_str() {
        Ok("split") => Tie::Split,
        Ok("positive") => Tie::Positive,
        Ok("alternate") => Tie::Alternate,
        _ => panic!("tie of Routes is not split, positive or alternate"),
    };
    let weights = field("class_weight").as_array().expect("class_weight of Routes is a list of whole numbers");
    let channels = field("channels").as_usize().expect("channels of Routes is a whole number");
    assert!(channels > 0, "channels of Routes is at least 1");
    Box::new(Routes {
        kind,
        tie,
        class_weight: weights.iter().map(|w| w.as_usize().expect("class_weight of Routes is whole")).collect(),
        channels,
        layout: Rc::default(),
        exits: Vec::new(),
        node_port: Vec::new(),
        routers_with_nodes: Vec::new(),
        ways: Ways::Fixed,
        tree: None,
        turns: Turns::default(),
    })
}

impl Routes {
    fn grid(&self) -> &Grid {
        self.layout.grid.as_ref().expect("initialize has seen a grid")
    }

    fn weight(&self, from: usize, to: usize) -> usize {
        match &self.ways {
            Ways::Grid => self.grid().distance(from, to),
            Ways::Lightest(lightest) => lightest.weight(from, to),
            Ways::Fixed => unreachable!("no paths are searched"),
        }
    }

    /// Add the links with which the lightest paths from `here` to `goal` begin.
    fn add_lightest(&self, here: usize, goal: usize, like: &CandidateEgress, candidates: &mut Vec<CandidateEgress>) {
        let left = self.weight(here, goal);
        for exit in &self.exits[here] {
            if exit.weight + self.weight(exit.router, goal) == left {
                candidates.push(CandidateEgress { port: exit.port, ..like.clone() });
            }
        }
    }

    /// Add the links to a neighbour, on each of some channels.
    fn add_links(
        &self,
        here: usize,
        neighbour: usize,
        channels: Range<usize>,
        label: i32,
        candidates: &mut Vec<CandidateEgress>,
    ) {
        let exits = &self.exits[here];
        let first = exits.partition_point(|exit| exit.router < neighbour);
        for exit in exits[first..].iter().take_while(|exit| exit.router == neighbour) {
            for channel in channels.clone() {
                candidates.push(CandidateEgress { label, ..CandidateEgress::new(exit.port, channel) });
            }
        }
    }

    /// `chosen` has the packet's turn, and a bit for each dimension that says which way it goes if both are as short.
    fn in_dimension_order(&self, here: usize, goal: usize, chosen: &[i32]) -> Vec<CandidateEgress> {
        let mut candidates = Vec::new();
        let (turn, drawn) = (chosen[0], chosen[1] as u32);
        let step = self.grid().in_order(here, goal, self.tie, drawn);
        let half = self.channels / 2;
        let channels = match (self.grid().has_rings(), step.behind) {
            (false, _) => 0..self.channels,
            (true, false) => 0..half,
            (true, true) => half..self.channels,
        };
        self.add_links(here, step.router, channels, turn, &mut candidates);
        candidates
    }

    fn through_the_grid(&self, here: usize, goal: usize, hops: usize) -> Vec<CandidateEgress> {
        let mut candidates = Vec::new();
        let channels = if self.escapes() { 1..self.channels } else { self.channel_of_hop(hops) };
        for router in self.grid().adaptively(here, goal) {
            self.add_links(here, router, channels.clone(), USUAL, &mut candidates);
        }
        if self.escapes() {
            let step = self.grid().in_order(here, goal, self.tie, 0);
            self.add_links(here, step.router, 0..1, ESCAPE, &mut candidates);
        }
        candidates
    }

    fn through_the_tree(&self, here: usize, goal: usize, node: usize) -> Vec<CandidateEgress> {
        let mut candidates = Vec::new();
        let tree = self.tree.as_ref().expect("initialize has made a tree");
        if let Some(next) = tree.next(here, goal, node) {
            self.add_links(here, next, 0..self.channels, USUAL, &mut candidates);
        }
        candidates
    }

    fn up_and_down(&self, here: usize, goal: usize) -> Vec<CandidateEgress> {
        let mut candidates = Vec::new();
        for channel in 0..self.channels {
            let like = CandidateEgress { label: USUAL, ..CandidateEgress::new(0, channel) };
            self.add_lightest(here, goal, &like, &mut candidates);
        }
        candidates
    }

    /// Minimal, Valiant and UGAL: `chosen` has the router drawn, and a second entry while nothing is decided.
    fn by_hops(
        &self,
        here: usize,
        goal: usize,
        hops: usize,
        chosen: &[i32],
        topology: &dyn Topology,
    ) -> Vec<CandidateEgress> {
        let mut candidates = Vec::new();
        let mut like = CandidateEgress::new(0, self.channel_of_hop(hops).start);
        if chosen.len() != 1 {
            if self.kind == Kind::Ugal {
                like.estimated_remaining_hops = Some(topology.distance(here, goal));
            }
            self.add_lightest(here, goal, &like, &mut candidates);
        }
        if let Some(&middle) = chosen.first() {
            let middle = middle as usize;
            if self.kind == Kind::Ugal {
                let through = topology.distance(here, middle) + topology.distance(middle, goal);
                like.estimated_remaining_hops = Some(through);
            }
            like.label = THROUGH_MIDDLE;
            self.add_lightest(here, middle, &like, &mut candidates);
        }
        candidates
    }

    /// Whether channel 0 is an escape for adaptive packets.
    fn escapes(&self) -> bool {
        self.kind == Kind::Adaptive && self.layout.grid.as_ref().map_or(false, |grid| !grid.has_rings())
    }

    fn channel_of_hop(&self, hops: usize) -> Range<usize> {
        let channel = hops.min(self.channels - 1);
        channel..channel + 1
    }

    /// The channels on which a packet may leave for its node.
    fn last_channels(&self, hops: usize) -> Range<usize> {
        let any = match self.kind {
            Kind::DimensionOrder | Kind::DModK => true,
            Kind::Adaptive => self.escapes() || self.layout.level.is_some(),
            Kind::Minimal | Kind::Valiant | Kind::Ugal => false,
        };
        if any {
            0..self.channels
        } else {
            self.channel_of_hop(hops)
        }
    }

    fn find_exits(&mut self, topology: &dyn Topology) {
        self.node_port = vec![0; topology.num_servers()];
        for router in 0..topology.num_routers() {
            let mut exits = Vec::new();
            for port in 0..topology.ports(router) {
                match topology.neighbour(router, port) {
                    (Location::RouterPort { router_index, .. }, class) => {
                        let weight = self.class_weight.get(class).expect("Routes needs a class_weight for each class");
                        exits.push(Exit { router: router_index, port, weight: *weight });
                    }
                    (Location::ServerPort(node), _) => self.node_port[node] = port,
                    (Location::None, _) => (),
                }
            }
            if exits.len() < topology.ports(router) {
                self.routers_with_nodes.push(router);
            }
            exits.sort_by_key(|exit| exit.router);
            self.exits.push(exits);
        }
    }

    fn find_ways(&self, topology: &dyn Topology) -> Ways {
        let fixed = match self.kind {
            Kind::DimensionOrder | Kind::DModK => true,
            Kind::Adaptive => self.layout.grid.is_some(),
            Kind::Minimal | Kind::Valiant | Kind::Ugal => false,
        };
        if fixed {
            Ways::Fixed
        } else if self.layout.grid.is_some() && self.class_weight.iter().all(|&weight| weight == 1) {
            Ways::Grid
        } else {
            Ways::Lightest(Lightest::to(&self.routers_with_nodes, topology, &self.class_weight))
        }
    }

    fn find_tree(&self) -> Result<Tree, BadFile> {
        let level = self.layout.level.clone().ok_or_else(|| BadFile("d-mod-k needs the levels of a tree".into()))?;
        let neighbours = |exits: &Vec<Exit>| {
            let mut routers: Vec<usize> = exits.iter().map(|exit| exit.router).collect();
            routers.dedup();
            routers
        };
        let neighbours: Vec<Vec<usize>> = self.exits.iter().map(neighbours).collect();
        Tree::new(level, &neighbours, &self.routers_with_nodes)
    }

    /// Make sure that the machine and the channels are such as the kind needs.
    fn check(&self) {
        let grid = self.layout.grid.as_ref();
        let least = match (self.kind, grid) {
            (Kind::DimensionOrder, None) => panic!("dimension-order needs the dimensions of a grid"),
            (Kind::DimensionOrder, Some(grid)) if grid.has_rings() => 2,
            (Kind::Adaptive, Some(grid)) if !grid.has_rings() => 2,
            _ => 1,
        };
        assert!(self.channels >= least, "channels of Routes is at least {} here", least);
    }
}

impl Routing for Routes {
    fn next(
        &self,
        routing_info: &RoutingInfo,
        topology: &dyn Topology,
        current_router: usize,
        target_router: usize,
        target_server: Option<usize>,
        _num_virtual_channels: usize,
        _rng: &mut StdRng,
    ) -> Result<RoutingNextCandidates, Error> {
        let (here, goal) = (current_router, target_router);
        let node = target_server.expect("Routes leads to a node");
        let hops = routing_info.hops;
        if here == goal {
            let channels = self.last_channels(hops);
            let candidates = channels.map(|channel| CandidateEgress::new(self.node_port[node], channel)).collect();
            return Ok(RoutingNextCandidates { candidates, idempotent: true });
        }
        let chosen = routing_info.selections.as_deref().unwrap_or(&[]);
        let candidates = match self.kind {
            Kind::DimensionOrder => self.in_dimension_order(here, goal, chosen),
            Kind::DModK => self.through_the_tree(here, goal, node),
            Kind::Adaptive if self.layout.grid.is_some() => self.through_the_grid(here, goal, hops),
            Kind::Adaptive if self.layout.level.is_some() => self.up_and_down(here, goal),
            _ => self.by_hops(here, goal, hops, chosen, topology),
        };
        Ok(RoutingNextCandidates { candidates, idempotent: self.kind != Kind::Ugal || chosen.len() < 2 })
    }

    fn initialize_routing_info(
        &self,
        routing_info: &RefCell<RoutingInfo>,
        _topology: &dyn Topology,
        current_router: usize,
        target_router: usize,
        target_server: Option<usize>,
        rng: &mut StdRng,
    ) {
        if current_router == target_router {
            return;
        }
        let selections = match self.kind {
            Kind::DimensionOrder => {
                let node = target_server.expect("Routes leads to a node");
                let drawn = if self.tie == Tie::Split { rng.gen() } else { 0 };
                Some(vec![self.turns.take(current_router, node), drawn])
            }
            Kind::Valiant | Kind::Ugal => {
                let middle = self.routers_with_nodes[rng.gen_range(0..self.routers_with_nodes.len())];
                match (middle == current_router || middle == target_router, self.kind) {
                    (true, _) => None,
                    // A second entry: not decided yet.
                    (false, Kind::Ugal) => Some(vec![middle as i32, 0]),
                    (false, _) => Some(vec![middle as i32]),
                }
            }
            _ => None,
        };
        routing_info.borrow_mut().selections = selections;
    }

    fn update_routing_info(
        &self,
        routing_info: &RefCell<RoutingInfo>,
        _topology: &dyn Topology,
        current_router: usize,
        current_port: usize,
        _target_router: usize,
        target_server: Option<usize>,
        _rng: &mut StdRng,
    ) {
        if let (Some(node), Some(link)) = (target_server, self.layout.entering[current_router][current_port]) {
            shares::count(node, link);
        }
        if self.kind == Kind::Valiant || self.kind == Kind::Ugal {
            let mut info = routing_info.borrow_mut();
            if info.selections.as_deref() == Some(&[current_router as i32]) {
                info.selections = None;
            }
        }
    }

    fn initialize(&mut self, topology: &dyn Topology, _rng: &mut StdRng) {
        self.layout = graph::layout();
        self.find_exits(topology);
        self.check();
        self.ways = self.find_ways(topology);
        if self.kind == Kind::DModK {
            self.tree = Some(self.find_tree().unwrap_or_else(|bad| std::panic::panic_any(bad)));
        }
    }

    fn performed_request(
        &self,
        requested: &CandidateEgress,
        routing_info: &RefCell<RoutingInfo>,
        _topology: &dyn Topology,
        _current_router: usize,
        _target_router: usize,
        _target_server: Option<usize>,
        _num_virtual_channels: usize,
        _rng: &mut StdRng,
    ) {
        let mut info = routing_info.borrow_mut();
        let undecided = self.kind == Kind::Ugal && info.selections.as_ref().map_or(false, |chosen| chosen.len() > 1);
        if undecided {
            let mut chosen = take(&mut info.selections).expect("there are two");
            chosen.truncate(1);
            info.selections = if requested.label == THROUGH_MIDDLE { Some(chosen) } else { None };
        }
    }
}
