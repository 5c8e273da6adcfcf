//! Routing `Routes { kind: "minimal", tie: "split", via: "router", class_weight: [1, 100], channels: 3 }`; kinds:
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
//! * ugal: at its first router a packet takes the minimal path or a detour as Valiant makes them, though never through
//!   its first or last router or group, whichever has the lower product of queue and hops, as seen by CAMINOS' policy
//!   `LowestSinghWeight`, and keeps to it (UGAL-L; Singh 2005).
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
use std::ops::Range;
use std::rc::Rc;

use caminos_lib::routing::prelude::*;
use caminos_lib::topology::{Location, Topology};
use rand::rngs::StdRng;
use rand::Rng;

use crate::configuration::Fields;
use crate::fair_arbitration::FairArbitration;
use crate::grid::{Grid, Tie};
use crate::input::BadFile;
use crate::layout::Layout;
use crate::next_hops::{Hop, HopClass, NextHops};
use crate::session::Session;
use crate::shortest_paths::ShortestPaths;
use crate::tree::Tree;

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
    class_weight: Vec<usize>,
    channels: usize,
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
    fair: RefCell<FairArbitration>,
}

const KINDS: [(&str, Kind); 6] = [
    ("minimal", Kind::Minimal),
    ("dimension-order", Kind::DimensionOrder),
    ("d-mod-k", Kind::DModK),
    ("adaptive", Kind::Adaptive),
    ("valiant", Kind::Valiant),
    ("ugal", Kind::Ugal),
];

const VIAS: [(&str, Via); 2] = [("router", Via::Router), ("group", Via::Group)];

const TIES: [(&str, Tie); 3] = [("split", Tie::Split), ("positive", Tie::Positive), ("alternate", Tie::Alternate)];

/// Build the routing.
///
/// # Panics
/// If a field is missing or wrong, as CAMINOS' own builders do.
pub fn build(argument: RoutingBuilderArgument) -> Box<dyn Routing> {
    let fields = Fields::of(argument.cv, &["kind", "tie", "via", "class_weight", "channels"]);
    Box::new(Routes {
        session: Session::of_builder(),
        kind: fields.choice("kind", &KINDS),
        tie: fields.choice("tie", &TIES),
        via: fields.choice("via", &VIAS),
        class_weight: fields.numbers("class_weight"),
        channels: fields.count("channels"),
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

    /// The links with which the lightest paths from `here` to `goal` begin.
    fn lightest(&self, here: usize, goal: usize) -> Rc<[Hop]> {
        self.next_hops.get(here, goal, || {
            let left = self.weight(here, goal);
            let begins = |exit: &&Exit| exit.weight + self.weight(exit.router, goal) == left;
            let hop = |exit: &Exit| Hop { port: exit.port, class: HopClass::Usual, way: None };
            self.exits[here].iter().filter(begins).map(hop).collect()
        })
    }

    /// The links with which the lightest paths from `here` to the nearest routers of a group begin.
    fn lightest_into_group(&self, here: usize, group: usize) -> Rc<[Hop]> {
        self.into_group.get(here, group, || {
            let left = |from: usize| self.weight(from, self.entry(from, group));
            let begins = |exit: &&Exit| exit.weight + left(exit.router) == left(here);
            let hop = |exit: &Exit| Hop { port: exit.port, class: HopClass::Usual, way: None };
            self.exits[here].iter().filter(begins).map(hop).collect()
        })
    }

    /// The nearest router of a group.
    fn entry(&self, from: usize, group: usize) -> usize {
        match &self.distances {
            Distances::Searched(paths) => paths.nearest(from, &self.group_routers[group]),
            _ => unreachable!("paths to groups are searched"),
        }
    }

    /// What a packet draws; none if that is where it comes from or goes to. Under UGAL it draws again then: a packet
    /// whose draw left it nothing but the minimal path would wait for that one, and hold up all behind it.
    fn draw(&self, here: usize, goal: usize, rng: &mut StdRng) -> Option<usize> {
        let among = match self.via {
            Via::Router => &self.routers_with_nodes,
            Via::Group => &self.groups_with_nodes,
        };
        let ends = [self.place(here), self.place(goal)];
        let again = self.kind == Kind::Ugal && among.iter().any(|place| !ends.contains(place));
        loop {
            let drawn = among[rng.gen_range(0..among.len())];
            if !ends.contains(&drawn) {
                return Some(drawn);
            }
            if !again {
                return None;
            }
        }
    }

    /// Of a router what packets draw: itself, or its group.
    fn place(&self, router: usize) -> usize {
        match (self.via, &self.layout.group) {
            (Via::Group, Some(group)) => group[router],
            _ => router,
        }
    }

    /// The ports to a neighbour.
    fn ports(&self, here: usize, neighbour: usize) -> impl Iterator<Item = usize> + '_ {
        let exits = &self.exits[here];
        let first = exits.partition_point(|exit| exit.router < neighbour);
        exits[first..].iter().take_while(move |exit| exit.router == neighbour).map(|exit| exit.port)
    }

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
    fn in_dimension_order(&self, here: usize, goal: usize, chosen: &[i32]) -> Vec<CandidateEgress> {
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

    /// The links of adaptive routing in a grid, and the escape where there is one.
    fn adaptively(&self, here: usize, goal: usize) -> Rc<[Hop]> {
        self.next_hops.get(here, goal, || {
            let hop = |class| move |port| Hop { port, class, way: None };
            let mut hops = Vec::new();
            for router in self.grid().adaptively(here, goal) {
                hops.extend(self.ports(here, router).map(hop(HopClass::Usual)));
            }
            if self.escapes() {
                let (step, _) = self.grid().in_order(here, goal, Tie::Positive)[0];
                hops.extend(self.ports(here, step.router).map(hop(HopClass::Escape)));
            }
            hops
        })
    }

    fn through_the_grid(&self, here: usize, goal: usize, hops: usize) -> Vec<CandidateEgress> {
        let channels = if self.escapes() { 1..self.channels } else { self.channel_of_hop(hops) };
        let mut candidates = Vec::new();
        for hop in self.adaptively(here, goal).iter() {
            match hop.class {
                HopClass::Escape => candidates.extend(on_channels(hop.port, 0..1, ESCAPE)),
                _ => candidates.extend(on_channels(hop.port, channels.clone(), USUAL)),
            }
        }
        candidates
    }

    fn through_the_tree(&self, here: usize, goal: usize, node: usize) -> Vec<CandidateEgress> {
        let tree = self.tree.as_ref().expect("initialize has made a tree");
        let next = tree.next(here, goal, node).into_iter();
        next.flat_map(|next| self.ports(here, next))
            .flat_map(|port| on_channels(port, 0..self.channels, USUAL))
            .collect()
    }

    fn up_and_down(&self, here: usize, goal: usize) -> Vec<CandidateEgress> {
        let hops = self.lightest(here, goal);
        let on = |channel| hops.iter().flat_map(move |hop| on_channels(hop.port, channel..channel + 1, USUAL));
        (0..self.channels).flat_map(on).collect()
    }

    /// Minimal, Valiant and UGAL: `chosen` has what was drawn, and a second entry while nothing is decided.
    fn by_hops(
        &self,
        here: usize,
        goal: usize,
        hops: usize,
        chosen: &[i32],
        topology: &dyn Topology,
    ) -> Vec<CandidateEgress> {
        match *chosen {
            [] => self.straight(here, goal, hops, topology).collect(),
            [middle] => self.through(here, goal, middle as usize, hops, topology).collect(),
            [middle, ..] => {
                let through = self.through(here, goal, middle as usize, hops, topology);
                self.straight(here, goal, hops, topology).chain(through).collect()
            }
        }
    }

    fn straight<'a>(
        &'a self,
        here: usize,
        goal: usize,
        hops: usize,
        topology: &dyn Topology,
    ) -> impl Iterator<Item = CandidateEgress> + 'a {
        let length = (self.kind == Kind::Ugal).then(|| topology.distance(here, goal));
        let channel = self.channel_of_hop(hops).start;
        candidates(self.lightest(here, goal), channel, 0, length)
    }

    fn through<'a>(
        &'a self,
        here: usize,
        goal: usize,
        middle: usize,
        hops: usize,
        topology: &dyn Topology,
    ) -> impl Iterator<Item = CandidateEgress> + 'a {
        let length = (self.kind == Kind::Ugal).then(|| {
            let middle = if self.via == Via::Group { self.entry(here, middle) } else { middle };
            topology.distance(here, middle) + topology.distance(middle, goal)
        });
        let ports = match self.via {
            Via::Router => self.lightest(here, middle),
            Via::Group => self.lightest_into_group(here, middle),
        };
        let channel = self.channel_of_hop(hops).start;
        candidates(ports, channel, THROUGH_MIDDLE, length)
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

    fn find_groups(&mut self) {
        if let Some(group) = &self.layout.group {
            self.group_routers = vec![Vec::new(); group.iter().max().map_or(0, |last| last + 1)];
            for (router, &group) in group.iter().enumerate() {
                self.group_routers[group].push(router);
            }
            self.groups_with_nodes = self.routers_with_nodes.iter().map(|&router| group[router]).collect();
            self.groups_with_nodes.sort_unstable();
            self.groups_with_nodes.dedup();
        }
    }

    fn find_distances(&self, topology: &dyn Topology) -> Distances {
        let fixed = match self.kind {
            Kind::DimensionOrder | Kind::DModK => true,
            Kind::Adaptive => self.layout.grid.is_some(),
            Kind::Minimal | Kind::Valiant | Kind::Ugal => false,
        };
        if fixed {
            Distances::Unused
        } else if self.via == Via::Router
            && self.layout.grid.is_some()
            && self.class_weight.iter().all(|&weight| weight == 1)
        {
            Distances::Grid
        } else {
            let all: Vec<usize> = (0..topology.num_routers()).collect();
            let goals = if self.via == Via::Group { &all } else { &self.routers_with_nodes };
            Distances::Searched(ShortestPaths::to(goals, topology, &self.class_weight))
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
        assert!(self.via == Via::Router || self.layout.group.is_some(), "via group needs the groups of the routers");
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
                let job = self.session.job_link_packets.borrow().job_of(node);
                let priority = self.fair.borrow_mut().priority(job, current_router, self.session.now.get());
                Some(vec![priority, drawn])
            }
            Kind::Valiant | Kind::Ugal => {
                let drawn = self.draw(current_router, target_router, rng).map(|drawn| drawn as i32);
                // A second entry: not decided yet.
                drawn.map(|drawn| if self.kind == Kind::Ugal { vec![drawn, 0] } else { vec![drawn] })
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
            self.session.job_link_packets.borrow_mut().count(node, link);
        }
        if self.kind == Kind::Valiant || self.kind == Kind::Ugal {
            let mut info = routing_info.borrow_mut();
            if info.selections.as_deref() == Some(&[self.place(current_router) as i32]) {
                info.selections = None;
            }
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
        if let (Kind::Ugal, Some([middle, _])) = (self.kind, info.selections.as_deref()) {
            let middle = *middle;
            info.selections = if requested.label == THROUGH_MIDDLE { Some(vec![middle]) } else { None };
        }
    }
}

/// Ports on one channel, all with the same label and length of the way ahead.
fn candidates(
    ports: Rc<[Hop]>,
    channel: usize,
    label: i32,
    estimated_remaining_hops: Option<usize>,
) -> impl Iterator<Item = CandidateEgress> {
    (0..ports.len()).map(move |index| CandidateEgress {
        label,
        estimated_remaining_hops,
        ..CandidateEgress::new(ports[index].port, channel)
    })
}

/// A port on each of some channels.
fn on_channels(port: usize, channels: Range<usize>, label: i32) -> impl Iterator<Item = CandidateEgress> {
    channels.map(move |channel| CandidateEgress { label, ..CandidateEgress::new(port, channel) })
}

#[cfg(test)]
mod tests {
    //! UGAL on three routers that are all joined, a node on each: a packet from 0 to 1 may go straight, or through 2.

    use super::*;
    use crate::{parse, plugs};
    use caminos_lib::policies::{new_virtual_channel_policy, RequestInfo, VCPolicyBuilderArgument};
    use caminos_lib::{Message, Packet, Phit, Simulation};

    const CONFIGURATION: &str = r#"Configuration {
        random_seed: 1, warmup: 0, measured: 100, server_queue_size: 1, maximum_packet_size: 1,
        topology: Graph { filename: "FOLDER/graph" },
        traffic: MessageList { filename: "FOLDER/messages", injection: 1, packet: 1 },
        router: InputOutput {
            virtual_channels: 2, virtual_channel_policies: [Random], delay: 0, crossbar_frequency_divisor: 1,
            buffer_size: 32, output_buffer_size: 16, flit_size: 1, bubble: false, allow_request_busy_port: true,
            intransit_priority: false, neglect_busy_output: false, allocator: Random,
        },
        routing: Routes { kind: "ugal", tie: "split", via: "router", class_weight: [1], channels: 2 },
        link_classes: [LinkClass { delay: 1, frequency_divisor: 1 }, LinkClass { delay: 1, frequency_divisor: 1 }],
    }"#;

    /// The same words that the adapter writes.
    const POLICY: &str = "LowestSinghWeight { extra_congestion: 1, aggregate: true, use_internal_space: true }";

    fn with_simulation<T>(name: &str, test: impl FnOnce(&mut Simulation) -> T) -> T {
        let folder = std::env::temp_dir().join(format!("fabricstudy-{}-{}", name, std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let graph = "graph 1\nrouters 3\nclasses 1\nnodes 3\n0\n1\n2\ncables 3\n0 1 0 1\n0 2 0 1\n1 2 0 1\n";
        std::fs::write(folder.join("graph"), graph).expect("written");
        std::fs::write(folder.join("messages"), "messages 1\njobs 0\n").expect("written");
        let text = CONFIGURATION.replace("FOLDER", folder.to_str().expect("a name"));
        let plugs = plugs();
        let mut simulation = Rc::new(Session::default()).during(|| Simulation::new(&parse(&text), &plugs));
        let result = test(&mut simulation);
        std::fs::remove_dir_all(&folder).expect("removed");
        result
    }

    fn phit() -> Rc<Phit> {
        let message = Rc::new(Message { origin: 0, destination: 1, size: 1, creation_cycle: 0 });
        let packet = Packet {
            size: 1,
            routing_info: RefCell::new(RoutingInfo::new()),
            message,
            index: 0,
            cycle_into_network: RefCell::new(0),
            extra: RefCell::new(None),
        };
        Rc::new(Phit { packet: packet.into_ref(), index: 0, virtual_channel: RefCell::new(Some(0)) })
    }

    /// Where a packet may go for given phits that wait at the ports to routers 1 and 2: (port, label).
    fn choices(simulation: &mut Simulation, waiting: [usize; 2]) -> Vec<(usize, i32)> {
        let (shared, rng) = (&simulation.shared, &mut simulation.mutable.rng);
        let topology = shared.network.topology.as_ref();
        let mut undecided = RoutingInfo::new();
        undecided.selections = Some(vec![2, 0]);
        let found = shared.routing.next(&undecided, topology, 0, 1, Some(1), 2, rng).expect("ways");
        assert!(!found.idempotent);
        let queues = vec![waiting[0], waiting[1], 0];
        let request = RequestInfo {
            target_router_index: 1,
            entry_port: 2,
            entry_virtual_channel: 0,
            performed_hops: 0,
            server_ports: None,
            port_average_neighbour_queue_length: None,
            port_last_transmission: None,
            port_occupied_output_space: Some(&queues),
            port_available_output_space: None,
            virtual_channel_occupied_output_space: None,
            virtual_channel_available_output_space: None,
            time_at_front: None,
            current_cycle: 0,
            phit: phit(),
        };
        let policy = match caminos_lib::config_parser::parse(POLICY) {
            Ok(caminos_lib::config_parser::Token::Value(cv)) => {
                new_virtual_channel_policy(VCPolicyBuilderArgument { cv: &cv, plugs: simulation.plugs })
            }
            _ => panic!("no policy"),
        };
        let router = shared.network.routers[0].borrow();
        let left = policy.filter(found.candidates, &*router, &request, topology, rng);
        left.iter().map(|candidate| (candidate.port, candidate.label)).collect()
    }

    #[test]
    fn the_lower_product_of_hops_and_queue_wins() {
        const STRAIGHT: (usize, i32) = (0, 0);
        const DETOUR: (usize, i32) = (1, THROUGH_MIDDLE);
        with_simulation("products", |simulation| {
            // Straight 1 hop times queue + 1, the detour 2 hops times queue + 1.
            assert_eq!(choices(simulation, [0, 0]), [STRAIGHT]); // 1 < 2
            assert_eq!(choices(simulation, [1, 0]), [STRAIGHT, DETOUR]); // 2 = 2
            assert_eq!(choices(simulation, [2, 0]), [DETOUR]); // 3 > 2
            assert_eq!(choices(simulation, [2, 1]), [STRAIGHT]); // 3 < 4
            assert_eq!(choices(simulation, [3, 1]), [STRAIGHT, DETOUR]); // 4 = 4
            assert_eq!(choices(simulation, [9, 4]), [STRAIGHT, DETOUR]); // 10 = 10
            assert_eq!(choices(simulation, [10, 4]), [DETOUR]); // 11 > 10
        });
    }

    #[test]
    fn a_packet_always_has_a_detour_to_compare() {
        with_simulation("draws", |simulation| {
            let (shared, rng) = (&simulation.shared, &mut simulation.mutable.rng);
            for _ in 0..50 {
                let info = RefCell::new(RoutingInfo::new());
                shared.routing.initialize_routing_info(&info, shared.network.topology.as_ref(), 0, 1, Some(1), rng);
                // Router 2: the only one that is neither its first nor its last.
                assert_eq!(info.borrow().selections, Some(vec![2, 0]));
            }
        });
    }

    #[test]
    fn a_packet_keeps_to_what_it_decided() {
        with_simulation("decided", |simulation| {
            let (shared, rng) = (&simulation.shared, &mut simulation.mutable.rng);
            let topology = shared.network.topology.as_ref();
            for (label, port, then) in [(0, 0, None), (THROUGH_MIDDLE, 1, Some(vec![2]))] {
                let info = RefCell::new(RoutingInfo::new());
                info.borrow_mut().selections = Some(vec![2, 0]);
                let asked = CandidateEgress { label, ..CandidateEgress::new(port, 0) };
                shared.routing.performed_request(&asked, &info, topology, 0, 1, Some(1), 2, rng);
                assert_eq!(info.borrow().selections, then);
                let next = shared.routing.next(&info.borrow(), topology, 0, 1, Some(1), 2, rng).expect("a way");
                assert_eq!(next.candidates.iter().map(|candidate| candidate.port).collect::<Vec<_>>(), [port]);
            }
        });
    }
}
