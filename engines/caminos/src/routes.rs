//! Routing `Routes { kind: "minimal", tie: "split", via: "router", detours: 1, progressive: false, class_weight: [1, 100],
//! channels: 6, hop_classes: 3 }`; kinds:
//!
//! * minimal: paths of least weight, the sum of `class_weight` over their links;
//! * dimension-order: one dimension of a grid after the other (see `grid.rs`); `tie` is split, positive or alternate,
//!   for packets that have to go exactly half-way round a ring; routers go by `fair_arbitration.rs`;
//! * d-mod-k: up and down a tree (see `tree.rs`);
//! * adaptive: in a grid every link that dimension order would take in some dimension, elsewhere the links of minimal;
//!   the policies of the router choose;
//! * valiant: minimal to a router drawn uniformly from those with nodes, then minimal to the destination; straight to
//!   the destination if the draw gives the packet's first or last router, and delivered if it comes by the latter.
//!   With `via` group a group with nodes is drawn instead, and the first leg ends at the router where the packet enters
//!   it, by a path to the nearest ones;
//! * ugal: at its first router a packet takes a minimal path or a detour as Valiant makes them, though never through its
//!   first or last router or group, whichever has the lower product of queue and hops by the policy `Ugal` of the router
//!   (`switch.rs`), and keeps to it (UGAL-L; Singh 2005). `detours` places are drawn, of which the best one counts. If
//!   `progressive`, a packet that is minimal so far chooses again at each router of its first group, unless that is its
//!   last one, too (Jiang, Kim and Dally: Indirect adaptive routing on large scale interconnection networks, ISCA 2009);
//! * table, and table-by-hops: the next hops that the machine's file lists; any of several, or one that a packet draws by
//!   weight as it comes to a router;
//! * paths: the paths that the file lists, of which a packet draws one at its first router.
//!
//! Virtual channels, `channels` of them:
//!
//! * dimension-order: any on a grid of lines; with rings the first half before a ring's dateline, the second behind it
//!   (Dally and Seitz 1987);
//! * d-mod-k, and adaptive on a tree: any, since what goes down never turns up again;
//! * table: the channels are divided among `hop_classes` classes, and a listed hop uses those of its class;
//! * adaptive on a grid of lines: any but the first; that one, with a higher label, is an escape by dimension order,
//!   open to every packet everywhere (Duato 1993). On rings this carries a third less than the next rule;
//! * else: the channels are divided among `hop_classes` classes of hops, and hop k of a packet uses those of class k, or of
//!   the last one. A packet that is minimal under UGAL does not need the classes of a detour's second leg: where
//!   several outputs are minimal it may skip one class, and goes on from there (bonus cards: Boppana and Chalasani, ISCA
//!   1993).
//!
//! To its node a packet leaves by any channel: a node takes all that comes, so nothing can wait in a circle there.
//!
//! CAMINOS' own `WeighedShortest` and `Valiant` inside `ChannelsPerHop` take the same routes. This plug takes less time,
//! and tells the policy how long a path through a drawn router is, which `Sum` of those two does not.

mod adaptive;
mod by_hops;
mod d_mod_k;
mod dimension_order;
mod listed;
mod setup;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use caminos_lib::routing::prelude::*;
use caminos_lib::topology::{Location, Topology};
use rand::rngs::StdRng;
use rand::Rng;

use crate::configuration::Fields;
use crate::fair_arbitration::FairArbitration;
use crate::grid::{Grid, Tie};
use crate::layout::Layout;
use crate::next_hops::NextHops;
use crate::session::Session;
use crate::shortest_paths::ShortestPaths;
use crate::tree::Tree;

/// Label of the candidates that lead through the place drawn first; those of further ones follow.
const DETOUR: i32 = 1;
/// What follows the places that a packet drew under UGAL, until it has chosen.
const UNDECIDED: i32 = -1;
/// What a minimal packet under UGAL has instead, less the class in which its hop 0 would have been.
const MINIMAL: i32 = -2;
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
    Table,
    TableByHops,
    Paths,
}

/// What Valiant and UGAL draw for a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Via {
    Router,
    Group,
}

/// A link to another router.
#[derive(Debug)]
struct Exit {
    router: usize,
    port: usize,
    weight: usize,
}

/// How far it is to a goal.
#[derive(Debug)]
enum Distances {
    /// In a grid whose links all weigh the same.
    Grid,
    Searched(ShortestPaths),
    /// The kind does not ask.
    Unused,
}

#[derive(Debug)]
struct Routes {
    session: Rc<Session>,
    kind: Kind,
    tie: Tie,
    via: Via,
    /// Places that a packet draws under UGAL, and whether it may choose again on its way through its first group.
    detours: usize,
    progressive: bool,
    class_weight: Vec<usize>,
    channels: usize,
    hop_classes: usize,
    layout: Rc<Layout>,
    /// Sorted by router.
    exits: Vec<Vec<Exit>>,
    /// Port to each node.
    node_port: Vec<usize>,
    routers_with_nodes: Vec<usize>,
    /// The routers of each group, and the groups that have nodes.
    group_routers: Vec<Vec<usize>>,
    groups_with_nodes: Vec<usize>,
    distances: Distances,
    next_hops: NextHops,
    into_group: NextHops,
    tree: Option<Tree>,
    /// The ports of each directed link, where the file lists next hops.
    ports_of_link: Vec<Vec<usize>>,
    fair: RefCell<FairArbitration>,
}

const KINDS: [(&str, Kind); 9] = [
    ("minimal", Kind::Minimal),
    ("dimension-order", Kind::DimensionOrder),
    ("d-mod-k", Kind::DModK),
    ("adaptive", Kind::Adaptive),
    ("valiant", Kind::Valiant),
    ("ugal", Kind::Ugal),
    ("table", Kind::Table),
    ("table-by-hops", Kind::TableByHops),
    ("paths", Kind::Paths),
];

const VIAS: [(&str, Via); 2] = [("router", Via::Router), ("group", Via::Group)];

const TIES: [(&str, Tie); 3] = [("split", Tie::Split), ("positive", Tie::Positive), ("alternate", Tie::Alternate)];

/// Build the routing.
///
/// # Panics
/// If a field is missing or wrong, as CAMINOS' own builders do.
pub fn build(argument: RoutingBuilderArgument) -> Box<dyn Routing> {
    let fields = Fields::of(
        argument.cv,
        &["kind", "tie", "via", "detours", "progressive", "class_weight", "channels", "hop_classes"],
    );
    Box::new(Routes {
        session: Session::of_builder(),
        kind: fields.choice("kind", &KINDS),
        tie: fields.choice("tie", &TIES),
        via: fields.choice("via", &VIAS),
        detours: fields.count("detours"),
        progressive: fields.flag("progressive"),
        class_weight: fields.numbers("class_weight"),
        channels: fields.count("channels"),
        hop_classes: fields.count("hop_classes"),
        layout: Rc::default(),
        exits: Vec::new(),
        node_port: Vec::new(),
        routers_with_nodes: Vec::new(),
        group_routers: Vec::new(),
        groups_with_nodes: Vec::new(),
        distances: Distances::Unused,
        next_hops: NextHops::default(),
        into_group: NextHops::default(),
        tree: None,
        ports_of_link: Vec::new(),
        fair: RefCell::default(),
    })
}

impl Routes {
    fn grid(&self) -> &Grid {
        self.layout.grid.as_ref().expect("initialize has seen a grid")
    }

    fn weight(&self, from: usize, to: usize) -> usize {
        match &self.distances {
            Distances::Grid => self.grid().distance(from, to),
            Distances::Searched(paths) => paths.weight(from, to),
            Distances::Unused => unreachable!("no paths are searched"),
        }
    }

    /// Hops of the lightest path; of several the one with most.
    fn hops_between(&self, from: usize, to: usize) -> usize {
        match &self.distances {
            Distances::Grid => self.grid().distance(from, to),
            Distances::Searched(paths) => paths.hops(from, to),
            Distances::Unused => unreachable!("no paths are searched"),
        }
    }

    /// The ports to a neighbour.
    fn ports(&self, here: usize, neighbour: usize) -> impl Iterator<Item = usize> + '_ {
        let exits = &self.exits[here];
        let first = exits.partition_point(|exit| exit.router < neighbour);
        exits[first..].iter().take_while(move |exit| exit.router == neighbour).map(|exit| exit.port)
    }

    /// Whether a packet that is minimal so far chooses again behind a port: still in its first group.
    fn chooses_again(&self, topology: &dyn Topology, here: usize, port: usize, goal: usize) -> bool {
        match (topology.neighbour(here, port).0, &self.layout.group) {
            (Location::RouterPort { router_index, .. }, Some(group)) => {
                self.progressive && group[router_index] == group[here] && group[here] != group[goal]
            }
            _ => false,
        }
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
            let port = self.node_port[node];
            let candidates = (0..self.channels).map(|channel| CandidateEgress::new(port, channel)).collect();
            return Ok(RoutingNextCandidates { candidates, idempotent: true });
        }
        let chosen = routing_info.selections.as_deref().unwrap_or(&[]);
        let candidates = match self.kind {
            Kind::DimensionOrder => self.in_dimension_order(here, goal, chosen),
            Kind::DModK => self.through_the_tree(here, goal, node / self.session.ports.get()),
            Kind::Table | Kind::TableByHops => self.by_table(here, goal, node, hops, chosen),
            Kind::Paths => self.along_path(here, hops, chosen),
            Kind::Adaptive if self.layout.grid.is_some() => self.through_the_grid(here, goal, hops),
            Kind::Adaptive if self.layout.level.is_some() => self.up_and_down(here, goal),
            _ => self.by_hops(here, goal, hops, chosen, topology),
        };
        Ok(RoutingNextCandidates { candidates, idempotent: true })
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
                let job = self.session.job_link_packets.borrow().job_of(node);
                let priority = self.fair.borrow_mut().priority(job, current_router, self.session.now.get());
                Some(vec![priority, drawn])
            }
            Kind::Valiant => self.draw(current_router, target_router, rng).map(|place| vec![place as i32]),
            Kind::Ugal => {
                let draws = (0..self.detours).filter_map(|_| self.draw(current_router, target_router, rng));
                let mut drawn: Vec<i32> = draws.map(|place| place as i32).collect();
                drawn.push(UNDECIDED);
                Some(drawn)
            }
            Kind::Table | Kind::TableByHops => self.draw_hop(current_router, target_router, target_server, rng),
            Kind::Paths => Some(vec![self.draw_path(current_router, target_router, rng)]),
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
        target_router: usize,
        target_server: Option<usize>,
        rng: &mut StdRng,
    ) {
        if let (Some(node), Some(link)) = (target_server, self.layout.entering[current_router][current_port]) {
            self.session.job_link_packets.borrow_mut().count(node, link);
        }
        if self.kind == Kind::Valiant || self.kind == Kind::Ugal {
            let mut info = routing_info.borrow_mut();
            if info.selections.as_deref() == Some(&[self.place(current_router) as i32]) {
                info.selections = None;
            }
        }
        if matches!(self.kind, Kind::Table | Kind::TableByHops) && current_router != target_router {
            routing_info.borrow_mut().selections = self.draw_hop(current_router, target_router, target_server, rng);
        }
    }

    fn initialize(&mut self, topology: &dyn Topology, _rng: &mut StdRng) {
        self.layout = self.session.layout();
        self.find_exits(topology);
        self.check();
        self.find_groups();
        self.distances = self.find_distances(topology);
        self.next_hops = NextHops::new(topology.num_routers());
        self.into_group = NextHops::new(topology.num_routers());
        if self.kind == Kind::DModK {
            self.tree = Some(self.find_tree().unwrap_or_else(|bad| std::panic::panic_any(bad)));
        }
        if matches!(self.kind, Kind::Table | Kind::TableByHops) {
            self.ports_of_link = self.find_ports_of_links();
        }
    }

    fn performed_request(
        &self,
        requested: &CandidateEgress,
        routing_info: &RefCell<RoutingInfo>,
        topology: &dyn Topology,
        current_router: usize,
        target_router: usize,
        _target_server: Option<usize>,
        _num_virtual_channels: usize,
        _rng: &mut StdRng,
    ) {
        let mut info = routing_info.borrow_mut();
        let drawn = match info.selections.as_deref() {
            Some([drawn @ .., UNDECIDED]) => drawn,
            _ => return,
        };
        if requested.label >= DETOUR {
            info.selections = Some(vec![drawn[(requested.label - DETOUR) as usize]]);
        } else if !self.chooses_again(topology, current_router, requested.port, target_router) {
            let skipped = self.class_of(requested.virtual_channel) - info.hops;
            info.selections = Some(vec![MINIMAL - skipped as i32]);
        }
    }
}

/// A port on each of some channels.
fn on_channels(port: usize, channels: Range<usize>, label: i32) -> impl Iterator<Item = CandidateEgress> {
    channels.map(move |channel| CandidateEgress { label, ..CandidateEgress::new(port, channel) })
}
