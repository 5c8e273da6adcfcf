//! Which links a message takes, and with which part of its bytes; the rules are those of the CAMINOS front end.
//!
//! Oblivious routings with few paths give exact parts: minimal splits at each router in proportion to the cables that
//! lead on, dimension order halves where both ways round a ring are as short. Otherwise a message gets some paths at a
//! time, each for an equal part: Valiant draws them; adaptive routing and UGAL choose by what waits for the links. Under
//! ECMP all of a message takes the path that the hash of its flow selects.

use std::collections::{BTreeMap, HashMap};
use std::iter::once;

use library::detours::{better_detour, Detours};
use library::flow_hash::FlowHash;
use library::graph::{Exit, Graph};
use library::input::BadFile;
use library::listed_routes::ListedHop;
use library::random::Random;
use library::settings::Kind;
use library::tree::Tree;

use crate::max_min::Part;
use crate::settings::Settings;

/// Maximum number of paths of a message at a time, if they are drawn or chosen; at most one per packet. On large
/// machines, fewer are drawn: the messages of many nodes average out, and flows over many links are costly.
const MOST_DRAWN: usize = 64;
const FEWEST_DRAWN: usize = 8;
const DRAWN_OF_ALL_NODES: usize = 4608;
const CHOSEN: usize = 16;

/// Links of a message with the fraction of its bytes on each, and the latency in addition to the transmission time.
#[derive(Debug, Clone, Default)]
pub struct Route {
    pub parts: Vec<Part>,
    pub latency_ns: f64,
}

/// A message, between two nodes.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    pub number: u32,
    pub source: usize,
    pub destination: usize,
}

#[derive(Debug)]
pub struct Routes {
    settings: Settings,
    pub graph: Graph,
    /// Bytes a second and class of each link: those of cables, then of each node to its router, then from its router.
    pub capacity: Vec<f64>,
    class: Vec<u32>,
    tree: Option<Tree>,
    detours: Detours,
    known: HashMap<(u32, u32), Route>,
    random: Random,
}

impl Routes {
    pub fn new(settings: &Settings, graph: Graph) -> Result<Routes, BadFile> {
        graph.check_has(settings.routing.kind, settings.routing.via, false)?;
        let tree = if settings.routing.kind == Kind::DModK { Some(graph.tree()?) } else { None };
        let mut capacity = vec![0.0; graph.links];
        let mut class = vec![0; graph.links];
        for exit in graph.exits.iter().flatten() {
            capacity[exit.link as usize] = f64::from(exit.cables) * settings.links.bandwidth[exit.class as usize];
            class[exit.link as usize] = exit.class;
        }
        let hosts = 2 * graph.node_router.len();
        capacity.extend(std::iter::repeat(settings.links.bandwidth[graph.classes]).take(hosts));
        class.extend(std::iter::repeat(graph.classes as u32).take(hosts));
        Ok(Routes {
            settings: settings.clone(),
            detours: Detours::new(&graph, settings.routing.kind, settings.routing.via, &settings.links.class_weight),
            graph,
            capacity,
            class,
            tree,
            known: HashMap::new(),
            random: Random::new(settings.routing.seed),
        })
    }

    pub fn injection(&self, node: usize) -> u32 {
        (self.graph.links + node) as u32
    }

    fn ejection(&self, node: usize) -> u32 {
        (self.graph.links + self.graph.node_router.len() + node) as u32
    }

    /// Whether a message chooses again after each part of it.
    pub fn chooses(&self) -> bool {
        matches!(self.settings.routing.kind, Kind::Adaptive | Kind::AdaptiveTable | Kind::Ugal)
    }

    /// The route of a message of so many packets, of which the network holds some. `waiting` has the packets that wait
    /// for each link, over its bandwidth; those of this message are added where its way depends on them.
    pub fn find(&mut self, message: Message, packets: f64, held: f64, waiting: &mut [f64]) -> Route {
        let Message { source, destination, .. } = message;
        let (here, goal) = (self.graph.node_router[source], self.graph.node_router[destination]);
        let mut route = match self.settings.routing.kind {
            _ if here == goal => Route::default(),
            Kind::Minimal | Kind::DimensionOrder | Kind::DModK | Kind::Table => self.exact(here, goal, destination),
            Kind::Ecmp => self.hashed(here, goal, message),
            _ => {
                let paths = (packets.ceil() as usize).clamp(1, self.most_paths());
                self.of_paths(paths, (here, goal, destination), held, waiting)
            }
        };
        let settings = &self.settings;
        let of_host = settings.links.latency_ns[settings.links.host()];
        route.latency_ns += 2.0 * of_host + settings.links.router_latency_ns;
        route.parts.push((self.injection(source), 1.0));
        route.parts.push((self.ejection(destination), 1.0));
        route
    }

    /// All paths, each with its part, found once.
    fn exact(&mut self, here: usize, goal: usize, node: usize) -> Route {
        let by_node = self.graph.hops.as_ref().map_or(self.settings.routing.kind == Kind::DModK, |hops| hops.by_node);
        let end = if by_node { node } else { goal };
        let key = (here as u32, end as u32);
        if let Some(route) = self.known.get(&key) {
            return route.clone();
        }
        let mut parts = Vec::new();
        let mut packets = BTreeMap::from([(here, 1.0)]);
        while !packets.is_empty() {
            let mut next = BTreeMap::new();
            for (at, share) in packets {
                let ways = self.ways(at, goal, node);
                let cables: f64 = ways.iter().map(|&(_, cables)| cables).sum();
                for (exit, own) in ways {
                    let part = share * own / cables;
                    parts.push((exit.link, part));
                    if exit.router as usize != goal {
                        *next.entry(exit.router as usize).or_insert(0.0) += part;
                    }
                }
            }
            packets = next;
        }
        let route = self.route(parts);
        self.known.insert(key, route.clone());
        route
    }

    /// Add up what goes over the same link.
    fn route(&self, mut parts: Vec<Part>) -> Route {
        parts.sort_unstable_by_key(|&(link, _)| link);
        let mut merged: Vec<Part> = Vec::with_capacity(parts.len());
        for (link, part) in parts {
            match merged.last_mut() {
                Some(last) if last.0 == link => last.1 += part,
                _ => merged.push((link, part)),
            }
        }
        let of_link = |link: u32| {
            self.settings.links.latency_ns[self.class[link as usize] as usize] + self.settings.links.router_latency_ns
        };
        let latency_ns = merged.iter().map(|&(link, part)| part * of_link(link)).sum();
        Route { parts: merged, latency_ns }
    }

    /// The next links of an oblivious routing from a router, and their cables, by which packets split.
    fn ways(&mut self, here: usize, goal: usize, node: usize) -> Vec<(Exit, f64)> {
        let by_cables = |exit: &Exit| (*exit, f64::from(exit.cables));
        match self.settings.routing.kind {
            Kind::DimensionOrder => {
                let step = |up| self.graph.grid().in_order(here, goal, self.settings.routing.tie, |_| up);
                let mut steps = vec![step(true), step(false)];
                steps.dedup();
                let mut ways = Vec::new();
                for step in steps {
                    let exits = self.graph.to(here, step.router);
                    let cables: f64 = exits.iter().map(|exit| f64::from(exit.cables)).sum();
                    ways.extend(exits.iter().map(|exit| (*exit, f64::from(exit.cables) / cables)));
                }
                ways
            }
            Kind::DModK => {
                let next = self.tree.as_ref().and_then(|tree| tree.next(here, goal, node)).expect("a way");
                self.graph.to(here, next).iter().map(by_cables).collect()
            }
            Kind::Table => self.listed(here, goal, node),
            _ => self.lightest(here, goal).iter().map(by_cables).collect(),
        }
    }

    /// The next links that the machine's file lists, and by what packets split.
    fn listed(&self, here: usize, goal: usize, node: usize) -> Vec<(Exit, f64)> {
        let listed = self.graph.hops().hops(here, goal, node);
        let even = listed.iter().all(|hop| hop.weight == 0);
        let way = |hop: &ListedHop| {
            let exit = self.graph.exits[here].iter().find(|exit| exit.link as usize == hop.link).expect("an exit");
            (*exit, if even { f64::from(exit.cables) } else { hop.weight as f64 })
        };
        listed.iter().map(way).collect()
    }

    /// A listed path, drawn by weight.
    fn listed_path(&mut self, here: usize, goal: usize) -> Vec<u32> {
        let table = self.graph.paths();
        let drawn = table.draw(here, goal, |total| self.random.below(total));
        let (mut at, mut path) = (here, Vec::new());
        for next in table.routers(drawn).to_vec() {
            let exits = self.graph.to(at, next as usize).to_vec();
            path.push(self.drawn_exit(&exits).link);
            at = next as usize;
        }
        path
    }

    fn lightest(&mut self, here: usize, towards: usize) -> Vec<Exit> {
        self.detours.lightest(&self.graph, here, towards)
    }

    /// Draw the intermediate router or group of a detour, if the draw leads away.
    fn draw(&mut self, here: usize, goal: usize) -> Option<usize> {
        let random = &mut self.random;
        self.detours.draw([here, goal], |end| random.below(end))
    }

    fn hashed(&mut self, here: usize, goal: usize, message: Message) -> Route {
        let flow = self.graph.flow_hash().flow(message.source, message.destination, message.number);
        let (mut at, mut parts) = (here, Vec::new());
        while at != goal {
            let exits = self.lightest(at, goal);
            let exit = exits[FlowHash::way(flow, at, exits.len())];
            parts.push((exit.link, 1.0));
            at = exit.router as usize;
        }
        self.route(parts)
    }

    fn most_paths(&self) -> usize {
        if self.chooses() {
            return CHOSEN;
        }
        (DRAWN_OF_ALL_NODES / self.graph.node_router.len().max(1)).clamp(FEWEST_DRAWN, MOST_DRAWN)
    }

    /// Paths drawn or chosen one after the other, with equal parts of a message, each of which counts as waiting for the
    /// next.
    fn of_paths(&mut self, paths: usize, ends: (usize, usize, usize), held: f64, waiting: &mut [f64]) -> Route {
        let (here, goal, node) = ends;
        let mut parts = Vec::new();
        for _ in 0..paths {
            let path = match self.settings.routing.kind {
                Kind::Paths => self.listed_path(here, goal),
                Kind::Valiant => self.drawn_path(here, goal),
                Kind::Ugal => self.shorter_path(here, goal, waiting),
                _ => self.emptiest_path(here, goal, node, waiting),
            };
            for link in path {
                waiting[link as usize] += held / paths as f64 / self.capacity[link as usize];
                parts.push((link, 1.0 / paths as f64));
            }
        }
        self.route(parts)
    }

    fn drawn_path(&mut self, here: usize, goal: usize) -> Vec<u32> {
        let mut path = Vec::new();
        let mut at = here;
        if let Some(intermediate) = self.draw(here, goal) {
            at = self.walk(at, self.detours.towards(intermediate), goal, &mut path);
        }
        self.walk(at, goal, goal, &mut path);
        path
    }

    /// Return whether a router is a goal of lightest paths, or belongs to a group that is one.
    fn is_in(&self, router: usize, goal: usize) -> bool {
        router == goal || self.detours.towards(self.detours.intermediate_of(router)) == goal
    }

    /// Go on by links drawn from the lightest paths, until the packet is there, or has met its goal.
    fn walk(&mut self, mut at: usize, towards: usize, goal: usize, path: &mut Vec<u32>) -> usize {
        while at != goal && !self.is_in(at, towards) {
            let exits = self.lightest(at, towards);
            let exit = self.drawn_exit(&exits);
            path.push(exit.link);
            at = exit.router as usize;
        }
        at
    }

    fn drawn_exit(&mut self, exits: &[Exit]) -> Exit {
        if exits.len() == 1 {
            return exits[0];
        }
        let cables: f64 = exits.iter().map(|exit| f64::from(exit.cables)).sum();
        let mut drawn = self.random.unit() * cables;
        for exit in exits {
            drawn -= f64::from(exit.cables);
            if drawn < 0.0 {
                return *exit;
            }
        }
        exits[exits.len() - 1]
    }

    /// The links among which adaptive routing chooses.
    fn choices(&mut self, here: usize, goal: usize, node: usize) -> Vec<Exit> {
        match &self.graph.grid {
            _ if self.settings.routing.kind == Kind::AdaptiveTable => {
                self.listed(here, goal, node).into_iter().map(|(exit, _)| exit).collect()
            }
            Some(grid) => {
                let mut exits = Vec::new();
                grid.adaptively(here, goal, |next| exits.extend_from_slice(self.graph.to(here, next)));
                exits
            }
            None => self.lightest(here, goal),
        }
    }

    fn emptiest(&mut self, exits: &[Exit], waiting: &[f64]) -> Exit {
        let least = exits.iter().map(|exit| waiting[exit.link as usize]).fold(f64::INFINITY, f64::min);
        let emptiest: Vec<Exit> =
            exits.iter().filter(|exit| waiting[exit.link as usize] <= least * (1.0 + 1e-9)).copied().collect();
        self.drawn_exit(&emptiest)
    }

    fn emptiest_path(&mut self, here: usize, goal: usize, node: usize, waiting: &[f64]) -> Vec<u32> {
        let (mut at, mut path) = (here, Vec::new());
        while at != goal {
            let exits = self.choices(at, goal, node);
            let exit = self.emptiest(&exits, waiting);
            path.push(exit.link);
            at = exit.router as usize;
        }
        path
    }

    fn shorter_path(&mut self, here: usize, goal: usize, waiting: &[f64]) -> Vec<u32> {
        let mut towards = goal;
        let exits = self.lightest(here, towards);
        let mut exit = self.emptiest(&exits, waiting);
        if let Some(intermediate) = self.draw(here, goal) {
            let exits = self.lightest(here, self.detours.towards(intermediate));
            let other = self.emptiest(&exits, waiting);
            let minimal = (self.detours.hops(&self.graph, here, goal), 1.0 + self.queue(&exit, waiting));
            let hops = self.detours.hops_through(&self.graph, here, intermediate, goal);
            let detour = (hops, 1.0 + self.queue(&other, waiting));
            if better_detour(minimal, once(detour), 1.0, 0.0).is_some() {
                (exit, towards) = (other, self.detours.towards(intermediate));
            }
        }
        let mut path = vec![exit.link];
        let at = self.walk(exit.router as usize, towards, goal, &mut path);
        self.walk(at, goal, goal, &mut path);
        path
    }

    /// Packets that wait for a cable.
    fn queue(&self, exit: &Exit, waiting: &[f64]) -> f64 {
        (waiting[exit.link as usize] * self.settings.links.bandwidth[exit.class as usize]).min(48.0)
    }
}
