//! Next hops: the ports, and the channel classes on them, by which a packet may leave a router; for the kinds of routing see
//! the library's `settings.rs`.

use std::collections::HashMap;

use library::detours::Detours;
use library::flow_hash::FlowHash;
use library::graph::Graph;
use library::grid::Tie;
use library::input::BadFile;
use library::settings::{Kind, Via};
use library::tree::Tree;

use crate::network::{Packet, Stage};
use crate::settings::{Scheme, Settings};

/// Marks a stored entry that is a single port.
const ONE: u32 = 1 << 31;

/// Instead of a listed hop that was drawn: any of them.
pub const ANY_HOP: u32 = u32::MAX;

/// A port of a router, counted over all routers, and the channel classes that a packet may use on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Way {
    pub port: u32,
    pub first_class: u8,
    pub last_class: u8,
    /// Whether a packet takes it only where no other way has room.
    pub escape: bool,
}

/// A part of a path: before the packet has decided on a detour, to the intermediate of the detour, and to the goal.
#[derive(Debug, Clone, Copy)]
pub enum Leg {
    Undecided,
    Detour(usize),
    Direct,
}

pub struct Routes {
    pub settings: Settings,
    pub graph: Graph,
    tree: Option<Tree>,
    /// The first port of each router, and the end of all.
    pub first_port: Vec<u32>,
    /// First port and number of ports of each link.
    pub link_ports: Vec<(u32, u32)>,
    pub detours: Detours,
    /// For each goal, once needed, and each router: a single local port, marked, or a list of them.
    towards: Vec<Option<Box<[u32]>>>,
    lists: Vec<Box<[u32]>>,
    known_lists: HashMap<Box<[u32]>, u32>,
}

impl Routes {
    pub fn new(settings: &Settings, graph: Graph) -> Result<Routes, BadFile> {
        let routers = graph.routers();
        let detours = Detours::new(&graph, settings.routing.kind, settings.routing.via, &settings.links.class_weight);
        let tree = if settings.routing.kind == Kind::DModK { Some(graph.tree()?) } else { None };
        if settings.routing.kind == Kind::DimensionOrder && !matches!(settings.scheme, Scheme::Dateline | Scheme::One) {
            return Err(BadFile("dimension order has channels by the dateline, or one class".into()));
        }
        if settings.scheme == Scheme::GlobalHops && graph.group.is_none() {
            return Err(BadFile("classes by global hops need the groups of the routers".into()));
        }
        let needs_grid = matches!(settings.scheme, Scheme::Dateline | Scheme::Escape);
        graph.check_has(settings.routing.kind, settings.routing.via, needs_grid)?;
        let mut first_port = vec![0];
        let mut link_ports = vec![(0, 0); graph.links];
        let mut nodes_of = vec![0; routers];
        graph.node_router.iter().for_each(|&router| nodes_of[router] += 1);
        for (router, exits) in graph.exits.iter().enumerate() {
            let mut port = first_port[router];
            for exit in exits {
                link_ports[exit.link as usize] = (port, exit.cables);
                port += exit.cables;
            }
            first_port.push(port + nodes_of[router]);
        }
        Ok(Routes {
            settings: settings.clone(),
            tree,
            first_port,
            link_ports,
            towards: vec![None; routers + graph.groups()],
            detours,
            lists: Vec::new(),
            known_lists: HashMap::new(),
            graph,
        })
    }

    fn add_ports_to(&self, here: usize, neighbour: usize, way: Way, ways: &mut Vec<Way>) {
        self.graph.to(here, neighbour).iter().for_each(|exit| self.add_ports_of(exit.link as usize, way, ways));
    }

    fn add_ports_of(&self, link: usize, way: Way, ways: &mut Vec<Way>) {
        let (first, ports) = self.link_ports[link];
        ways.extend((first..first + ports).map(|port| Way { port, ..way }));
    }

    /// Return the class of a hop of a leg.
    #[inline]
    pub fn class_of_hop(&self, hop: usize, here: usize, goal: usize, leg: Leg) -> u8 {
        match self.settings.scheme {
            Scheme::Hops => hop.min(self.settings.classes - 1) as u8,
            Scheme::GlobalHops => self.class_by_groups(here, goal, leg),
            _ => 0,
        }
    }

    fn class_by_groups(&self, here: usize, goal: usize, leg: Leg) -> u8 {
        let group = self.graph.group.as_ref().expect("new has seen groups");
        let first = u8::from(self.settings.progressive);
        let through_router = self.settings.routing.via == Via::Router;
        match leg {
            Leg::Undecided => 0,
            Leg::Detour(intermediate) => first + u8::from(through_router && group[here] == group[intermediate]),
            Leg::Direct => first + 1 + u8::from(through_router) + u8::from(group[here] == group[goal]),
        }
    }

    /// Return whether the classes suffice for a path of so many hops.
    pub fn has_classes(&self, hops: usize) -> bool {
        self.settings.scheme != Scheme::Hops || hops <= self.settings.classes || self.settings.classes == 1
    }

    /// Add the ways by which a packet that is not at its goal may leave a router.
    pub fn find(&mut self, here: usize, packet: &Packet, ways: &mut Vec<Way>) {
        let (goal, node, via) = (packet.goal as usize, packet.node as usize, packet.via as usize);
        let on_detour = packet.stage == Stage::Detour;
        let leg = if on_detour { Leg::Detour(via) } else { Leg::Direct };
        let class = self.class_of_hop(usize::from(packet.hop) + usize::from(packet.skipped), here, goal, leg);
        let way = Way { port: 0, first_class: class, last_class: class, escape: false };
        match self.settings.routing.kind {
            Kind::DimensionOrder => {
                let upwards = |dimension: u8| via >> dimension & 1 == 1;
                let step = self.graph.grid().in_order(here, goal, self.settings.routing.tie, upwards);
                let class = u8::from(self.settings.scheme == Scheme::Dateline && step.behind);
                self.add_ports_to(here, step.router, Way { first_class: class, last_class: class, ..way }, ways);
            }
            Kind::DModK => {
                let tree = self.tree.as_ref().expect("new has made a tree");
                let next = tree.next(here, goal, node).expect("a tree has a way to each node");
                self.add_ports_to(here, next, way, ways);
            }
            Kind::Adaptive if self.graph.grid.is_some() => self.find_in_grid(here, goal, way, ways),
            Kind::Table | Kind::AdaptiveTable => {
                let hops = self.graph.hops().hops(here, goal, node);
                let drawn = if self.settings.routing.kind == Kind::Table && packet.via != ANY_HOP {
                    via..via + 1
                } else {
                    0..hops.len()
                };
                for hop in &hops[drawn] {
                    let class = if self.settings.scheme == Scheme::Listed { hop.class as u8 } else { class };
                    self.add_ports_of(hop.link, Way { first_class: class, last_class: class, ..way }, ways);
                }
            }
            Kind::Paths => {
                let next = self.graph.paths().routers(via)[usize::from(packet.hop)] as usize;
                self.add_ports_to(here, next, way, ways);
            }
            _ => {
                let towards = if on_detour { self.detours.towards(via) } else { goal };
                self.find_lightest(here, towards, way, ways);
                if self.settings.routing.kind == Kind::Ecmp {
                    let chosen = FlowHash::way(packet.via, here, ways.len());
                    ways.swap(0, chosen);
                    ways.truncate(1);
                }
            }
        }
    }

    /// Adaptive routing in a grid; where there are no rings the escape comes last.
    fn find_in_grid(&self, here: usize, goal: usize, way: Way, ways: &mut Vec<Way>) {
        let escapes = self.settings.scheme == Scheme::Escape;
        let class = if escapes { 1 } else { way.first_class };
        let way = Way { first_class: class, last_class: class, ..way };
        self.graph.grid().adaptively(here, goal, |next| self.add_ports_to(here, next, way, ways));
        if escapes {
            let step = self.graph.grid().in_order(here, goal, Tie::Positive, |_| true);
            self.add_ports_to(here, step.router, Way { first_class: 0, last_class: 0, escape: true, ..way }, ways);
        }
    }

    /// Add the ports with which the lightest paths to a goal begin.
    #[inline]
    pub fn find_lightest(&mut self, here: usize, goal: usize, way: Way, ways: &mut Vec<Way>) {
        if self.detours.are_computed(goal) {
            let exits = self.graph.shortest_in_grid(here, goal);
            return exits.for_each(|exit| self.add_ports_of(exit.link as usize, way, ways));
        }
        let first = self.first_port[here];
        match &self.towards[goal] {
            Some(row) if row[here] & ONE != 0 => ways.push(Way { port: first + (row[here] & !ONE), ..way }),
            Some(row) => {
                ways.extend(self.lists[row[here] as usize].iter().map(|port| Way { port: first + port, ..way }))
            }
            None => {
                self.store(goal);
                self.find_lightest(here, goal, way, ways)
            }
        }
    }

    /// Find the next hops of all routers towards a goal.
    #[inline(never)]
    fn store(&mut self, goal: usize) {
        let weights = self.detours.weights(&self.graph, goal);
        let mut row = vec![0; self.graph.routers()];
        let mut ports: Vec<u32> = Vec::new();
        for here in (0..row.len()).filter(|&here| weights[here] > 0) {
            ports.clear();
            for exit in self.graph.lightest(here, &self.settings.links.class_weight, &weights) {
                let port = self.link_ports[exit.link as usize].0 - self.first_port[here];
                ports.extend(port..port + exit.cables);
            }
            row[here] = match ports[..] {
                [one] => ONE | one,
                _ => self.list_of(&ports),
            };
        }
        self.towards[goal] = Some(row.into_boxed_slice());
    }

    fn list_of(&mut self, ports: &[u32]) -> u32 {
        if let Some(&list) = self.known_lists.get(ports) {
            return list;
        }
        let (list, ports) = (self.lists.len() as u32, Box::<[u32]>::from(ports));
        self.lists.push(ports.clone());
        self.known_lists.insert(ports, list);
        list
    }
}
