//! Routing `Routes { kind: "minimal", by_hops: true, tie: "split", via: "router", detours: 1, progressive: false,
//! class_weight: [1, 100], channels: 6, hop_classes: 3 }`; for the kinds see the library's `settings.rs`, for UGAL also
//! `routes/detours.rs`.
//!
//! Virtual channels, `channels` of them:
//!
//! * dimension-order: any on a grid of lines; with rings the first half before a ring's dateline, the second behind it
//!   (Dally and Seitz 1987);
//! * d-mod-k, and adaptive on a tree: any, since what goes down never turns up again;
//! * table, unless `by_hops`: the channels are divided among `hop_classes` classes, and a listed hop uses those of its class;
//! * adaptive on a grid of lines: any but the first; that one, with a higher label, is an escape by dimension order,
//!   open to every packet everywhere (Duato 1993). On rings this carries a third less than the next rule;
//! * else: the channels are divided among `hop_classes` classes of hops, and hop k of a packet uses those of class k, or of
//!   the last one.
//!
//! A packet leaves to its node on any channel: nodes accept all packets, so that no cyclic dependency arises there.

mod detours;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use caminos_lib::routing::prelude::*;
use caminos_lib::topology::Topology;
use library::detours::Detours;
use library::graph::{Exit, Graph};
use library::grid::{Grid, Tie};
use library::input::BadFile;
use library::listed_routes::{drawn, ListedHop};
use library::settings::{Kind, Via, KINDS, TIES, VIAS};
use library::tree::Tree;
use rand::rngs::StdRng;
use rand::Rng;

use crate::configuration::Fields;
use crate::graph::Machine;
use crate::session::Session;

/// Label of the escape: a router that adds queues to labels takes it only where nothing else has room.
const ESCAPE: i32 = 1_000_000;

#[derive(Debug)]
struct Routes {
    session: Rc<Session>,
    kind: Kind,
    by_hops: bool,
    tie: Tie,
    via: Via,
    detours: usize,
    progressive: bool,
    class_weight: Vec<u32>,
    channels: usize,
    hop_classes: usize,
    machine: Option<Rc<Machine>>,
    paths: RefCell<Detours>,
    tree: Option<Tree>,
}

/// Build the routing.
///
/// # Panics
/// If a field is missing or wrong, as CAMINOS' own builders do.
pub fn build(argument: RoutingBuilderArgument) -> Box<dyn Routing> {
    let fields = Fields::of(
        argument.cv,
        &["kind", "by_hops", "tie", "via", "detours", "progressive", "class_weight", "channels", "hop_classes"],
    );
    Box::new(Routes {
        session: Session::of_builder(),
        kind: fields.choice("kind", &KINDS),
        by_hops: fields.flag("by_hops"),
        tie: fields.choice("tie", &TIES),
        via: fields.choice("via", &VIAS),
        detours: fields.count("detours"),
        progressive: fields.flag("progressive"),
        class_weight: fields.numbers("class_weight").into_iter().map(|weight| weight as u32).collect(),
        channels: fields.count("channels"),
        hop_classes: fields.count("hop_classes"),
        machine: None,
        paths: RefCell::default(),
        tree: None,
    })
}

impl Routes {
    fn machine(&self) -> &Machine {
        self.machine.as_ref().expect("initialize has set it")
    }

    fn graph(&self) -> &Graph {
        &self.machine().graph
    }

    fn grid(&self) -> &Grid {
        self.graph().grid()
    }

    /// Whether channel 0 is an escape for adaptive packets.
    fn escapes(&self) -> bool {
        self.kind == Kind::Adaptive && self.graph().grid.as_ref().map_or(false, |grid| !grid.has_rings())
    }

    fn prepare(&mut self) -> Result<(), BadFile> {
        let graph = self.graph();
        graph.check_has(self.kind, self.via, false)?;
        if self.class_weight.len() != graph.classes {
            return Err(BadFile("class_weight of Routes has a number for each class of cables".into()));
        }
        let dateline = self.kind == Kind::DimensionOrder && self.grid().has_rings();
        let least = self.hop_classes.max(1 + usize::from(dateline || self.escapes()));
        if self.channels < least {
            return Err(BadFile(format!("channels of Routes is at least {least} here")));
        }
        self.paths = RefCell::new(Detours::new(self.graph(), self.kind, self.via, &self.class_weight));
        if self.kind == Kind::DModK {
            self.tree = Some(self.graph().tree()?);
        }
        Ok(())
    }

    /// The channels of a hop where hops have classes.
    fn channels_of_hop(&self, hops: usize) -> Range<usize> {
        let class = hops.min(self.hop_classes - 1);
        self.channels_of(class..class + 1)
    }

    fn channels_of(&self, classes: Range<usize>) -> Range<usize> {
        let first = |class| class * self.channels / self.hop_classes;
        first(classes.start)..first(classes.end)
    }

    fn class_of(&self, channel: usize) -> usize {
        ((channel + 1) * self.hop_classes - 1) / self.channels
    }

    /// The ports of links on some channels, all with the same label, and `hops` ahead.
    fn candidates<'a>(
        &'a self, exits: impl IntoIterator<Item = &'a Exit>, channels: Range<usize>, label: i32, hops: usize,
    ) -> Vec<CandidateEgress> {
        let on = |(port, channel)| CandidateEgress {
            label,
            estimated_remaining_hops: Some(hops),
            ..CandidateEgress::new(port, channel)
        };
        let ports = exits.into_iter().flat_map(|exit| self.machine().ports_of(exit));
        ports.flat_map(|port| channels.clone().map(move |channel| (port, channel))).map(on).collect()
    }

    /// The ways of a packet that has made so many hops; `chosen` has what it drew.
    fn ways(&self, here: usize, goal: usize, node: usize, hops: usize, chosen: &[i32]) -> Vec<CandidateEgress> {
        let (graph, all) = (self.graph(), 0..self.channels);
        match self.kind {
            Kind::DimensionOrder => self.in_dimension_order(here, goal, chosen[0] as u32),
            Kind::DModK => {
                let tree = self.tree.as_ref().expect("initialize has made a tree");
                let next = tree.next(here, goal, node / self.session.ports.get()).expect("the tree leads everywhere");
                self.candidates(graph.to(here, next), all, 0, 1)
            }
            Kind::Table | Kind::AdaptiveTable => self.by_table(here, goal, node, hops, chosen),
            Kind::Paths => {
                let path = graph.paths().routers(chosen[0] as usize);
                self.candidates(graph.to(here, path[hops] as usize), self.channels_of_hop(hops), 0, 1)
            }
            Kind::Adaptive if graph.grid.is_some() => self.adaptively(here, goal, hops),
            Kind::Adaptive if graph.level.is_some() => self.candidates(&self.lightest(here, goal), all, 0, 1),
            _ => self.through_what_it_drew(here, goal, hops, chosen),
        }
    }

    /// `drawn` has a bit for each dimension that says which way a packet goes round a ring if both are as short.
    fn in_dimension_order(&self, here: usize, goal: usize, drawn: u32) -> Vec<CandidateEgress> {
        let half = self.channels / 2;
        let upwards = |dimension: u8| drawn >> dimension & 1 == 0;
        let step = self.grid().in_order(here, goal, self.tie, upwards);
        let channels = match (self.grid().has_rings(), step.behind) {
            (false, _) => 0..self.channels,
            (true, false) => 0..half,
            (true, true) => half..self.channels,
        };
        self.candidates(self.graph().to(here, step.router), channels, 0, 1)
    }

    fn adaptively(&self, here: usize, goal: usize, hops: usize) -> Vec<CandidateEgress> {
        let channels = if self.escapes() { 1..self.channels } else { self.channels_of_hop(hops) };
        let mut exits = Vec::new();
        self.grid().adaptively(here, goal, |next| exits.extend(self.graph().to(here, next)));
        let mut ways = self.candidates(exits, channels, 0, 1);
        if self.escapes() {
            let step = self.grid().in_order(here, goal, Tie::Positive, |_| true);
            ways.extend(self.candidates(self.graph().to(here, step.router), 0..1, ESCAPE, 1));
        }
        ways
    }

    fn listed(&self, here: usize, goal: usize, node: usize) -> &[ListedHop] {
        self.graph().hops().hops(here, goal, node / self.session.ports.get())
    }

    fn by_table(&self, here: usize, goal: usize, node: usize, hops: usize, drawn: &[i32]) -> Vec<CandidateEgress> {
        let mut listed = self.listed(here, goal, node);
        if let [index] = *drawn {
            listed = &listed[index as usize..index as usize + 1];
        }
        let mut ways = Vec::new();
        for hop in listed {
            let channels =
                if self.by_hops { self.channels_of_hop(hops) } else { self.channels_of(hop.class..hop.class + 1) };
            let exits = self.graph().exits[here].iter().filter(|exit| exit.link as usize == hop.link);
            ways.extend(self.candidates(exits, channels, 0, 1));
        }
        ways
    }

    /// The index of the next hop that a packet draws by weight; none where it may take any.
    fn draw_hop(&self, here: usize, goal: usize, node: usize, rng: &mut StdRng) -> Option<Vec<i32>> {
        drawn(self.listed(here, goal, node), |total| rng.gen_range(0..total)).map(|index| vec![index as i32])
    }

    fn draw_path(&self, here: usize, goal: usize, rng: &mut StdRng) -> i32 {
        self.graph().paths().draw(here, goal, |total| rng.gen_range(0..total)) as i32
    }
}

impl Routing for Routes {
    fn next(
        &self, routing_info: &RoutingInfo, _topology: &dyn Topology, current_router: usize, target_router: usize,
        target_server: Option<usize>, _num_virtual_channels: usize, _rng: &mut StdRng,
    ) -> Result<RoutingNextCandidates, Error> {
        let (here, goal) = (current_router, target_router);
        let node = target_server.expect("Routes leads to a node");
        let candidates = if here == goal {
            let port = self.machine().node_port[node];
            (0..self.channels).map(|channel| CandidateEgress::new(port, channel)).collect()
        } else {
            self.ways(here, goal, node, routing_info.hops, routing_info.selections.as_deref().unwrap_or(&[]))
        };
        Ok(RoutingNextCandidates { candidates, idempotent: true })
    }

    fn initialize_routing_info(
        &self, routing_info: &RefCell<RoutingInfo>, _topology: &dyn Topology, current_router: usize,
        target_router: usize, target_server: Option<usize>, rng: &mut StdRng,
    ) {
        if current_router == target_router {
            return;
        }
        let node = target_server.expect("Routes leads to a node");
        let selections = match self.kind {
            Kind::DimensionOrder => Some(vec![rng.gen()]),
            Kind::Valiant | Kind::Ugal => self.draw_detours(current_router, target_router, rng),
            Kind::Table | Kind::AdaptiveTable => self.draw_hop(current_router, target_router, node, rng),
            Kind::Paths => Some(vec![self.draw_path(current_router, target_router, rng)]),
            _ => None,
        };
        routing_info.borrow_mut().selections = selections;
    }

    fn update_routing_info(
        &self, routing_info: &RefCell<RoutingInfo>, _topology: &dyn Topology, current_router: usize,
        current_port: usize, target_router: usize, target_server: Option<usize>, rng: &mut StdRng,
    ) {
        let node = target_server.expect("Routes leads to a node");
        if let Some(link) = self.machine().entering(current_router, current_port) {
            self.session.job_link_packets.borrow_mut().count(node, link);
        }
        let mut info = routing_info.borrow_mut();
        match self.kind {
            Kind::Valiant | Kind::Ugal => self.keep(&mut info, current_router),
            Kind::Table | Kind::AdaptiveTable if current_router != target_router => {
                info.selections = self.draw_hop(current_router, target_router, node, rng);
            }
            _ => (),
        }
    }

    fn initialize(&mut self, _topology: &dyn Topology, _rng: &mut StdRng) {
        self.machine = Some(self.session.machine());
        self.prepare().unwrap_or_else(|bad| std::panic::panic_any(bad));
    }

    fn performed_request(
        &self, requested: &CandidateEgress, routing_info: &RefCell<RoutingInfo>, _topology: &dyn Topology,
        current_router: usize, target_router: usize, _target_server: Option<usize>, _num_virtual_channels: usize,
        _rng: &mut StdRng,
    ) {
        if self.kind == Kind::Ugal {
            self.ask(requested, &mut routing_info.borrow_mut(), current_router, target_router);
        }
    }
}
