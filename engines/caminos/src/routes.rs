//! Routing `Routes { kind: "minimal", class_weight: [1, 100], channels: 3 }`; kinds: minimal, valiant, ugal.
//!
//! * minimal: paths of least weight, the sum of `class_weight` over their links;
//! * valiant: minimal to a router drawn uniformly from those with nodes, then minimal to the destination; straight to
//!   the destination if the draw gives the packet's first or last router, and delivered if it comes by the latter;
//! * ugal: at its first router a packet takes either of both, whichever has the lower product of queue and hops, as
//!   seen by CAMINOS' policy `LowestSinghWeight`, and keeps to it (UGAL-L; Singh 2005).
//!
//! Hop k of a packet, the one to its node included, uses virtual channel k, or the last of `channels`.
//!
//! CAMINOS' own `WeighedShortest` and `Valiant` inside `ChannelsPerHop` take the same routes. This plug takes less time,
//! and tells the policy how long a path through a drawn router is, which `Sum` of those two does not.

use std::cell::RefCell;
use std::mem::take;

use caminos_lib::config_parser::ConfigurationValue;
use caminos_lib::routing::prelude::*;
use caminos_lib::topology::{Location, Topology};
use rand::rngs::StdRng;
use rand::Rng;

/// Label of the candidates that lead through the drawn router.
const THROUGH_MIDDLE: i32 = 1;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Minimal,
    Valiant,
    Ugal,
}

/// A link to another router.
#[derive(Debug)]
struct Exit {
    port: usize,
    router: usize,
    weight: u32,
}

#[derive(Debug)]
struct Routes {
    kind: Kind,
    class_weight: Vec<usize>,
    last_channel: usize,
    exits: Vec<Vec<Exit>>,
    /// Port to each node.
    node_port: Vec<usize>,
    routers_with_nodes: Vec<usize>,
    /// Weight of the lightest path, row by row: links weigh the same in both directions.
    weight: Vec<u32>,
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
        Ok("valiant") => Kind::Valiant,
        Ok("ugal") => Kind::Ugal,
        _ => panic!("the kind of Routes is \"minimal\", \"valiant\" or \"ugal\""),
    };
    let weights = field("class_weight").as_array().expect("class_weight of Routes is a list of whole numbers");
    let channels = field("channels").as_usize().expect("channels of Routes is a whole number");
    assert!(channels > 0, "channels of Routes is at least 1");
    Box::new(Routes {
        kind,
        class_weight: weights.iter().map(|w| w.as_usize().expect("class_weight of Routes is whole")).collect(),
        last_channel: channels - 1,
        exits: Vec::new(),
        node_port: Vec::new(),
        routers_with_nodes: Vec::new(),
        weight: Vec::new(),
    })
}

impl Routes {
    fn weight(&self, from: usize, to: usize) -> u32 {
        self.weight[to * self.exits.len() + from]
    }

    /// Add the links with which the lightest paths from `here` to `goal` begin.
    fn add_exits(&self, here: usize, goal: usize, like: &CandidateEgress, candidates: &mut Vec<CandidateEgress>) {
        let left = self.weight(here, goal);
        for exit in &self.exits[here] {
            if exit.weight + self.weight(exit.router, goal) == left {
                candidates.push(CandidateEgress { port: exit.port, ..like.clone() });
            }
        }
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
        let channel = routing_info.hops.min(self.last_channel);
        let mut candidates = Vec::new();
        if current_router == target_router {
            let node = target_server.expect("Routes leads to a node");
            candidates.push(CandidateEgress::new(self.node_port[node], channel));
            return Ok(RoutingNextCandidates { candidates, idempotent: true });
        }
        let mut like = CandidateEgress::new(0, channel);
        let middle = routing_info.selections.as_deref().and_then(|chosen| chosen.first());
        let undecided = routing_info.selections.as_ref().map_or(false, |chosen| chosen.len() > 1);
        if middle.is_none() || undecided {
            like.estimated_remaining_hops = Some(topology.distance(current_router, target_router));
            self.add_exits(current_router, target_router, &like, &mut candidates);
        }
        if let Some(&middle) = middle {
            let middle = middle as usize;
            let hops = topology.distance(current_router, middle) + topology.distance(middle, target_router);
            like.estimated_remaining_hops = Some(hops);
            like.label = THROUGH_MIDDLE;
            self.add_exits(current_router, middle, &like, &mut candidates);
        }
        Ok(RoutingNextCandidates { candidates, idempotent: !undecided })
    }

    fn initialize_routing_info(
        &self,
        routing_info: &RefCell<RoutingInfo>,
        _topology: &dyn Topology,
        current_router: usize,
        target_router: usize,
        _target_server: Option<usize>,
        rng: &mut StdRng,
    ) {
        if self.kind == Kind::Minimal || current_router == target_router {
            return;
        }
        let middle = self.routers_with_nodes[rng.gen_range(0..self.routers_with_nodes.len())];
        if middle != current_router && middle != target_router {
            let mut selections = vec![middle as i32];
            if self.kind == Kind::Ugal {
                // A second entry: not decided yet.
                selections.push(0);
            }
            routing_info.borrow_mut().selections = Some(selections);
        }
    }

    fn update_routing_info(
        &self,
        routing_info: &RefCell<RoutingInfo>,
        _topology: &dyn Topology,
        current_router: usize,
        _current_port: usize,
        _target_router: usize,
        _target_server: Option<usize>,
        _rng: &mut StdRng,
    ) {
        let mut info = routing_info.borrow_mut();
        if info.selections.as_deref() == Some(&[current_router as i32]) {
            info.selections = None;
        }
    }

    fn initialize(&mut self, topology: &dyn Topology, _rng: &mut StdRng) {
        self.node_port = vec![0; topology.num_servers()];
        for router in 0..topology.num_routers() {
            let mut exits = Vec::new();
            for port in 0..topology.ports(router) {
                match topology.neighbour(router, port) {
                    (Location::RouterPort { router_index, .. }, class) => {
                        let weight = self.class_weight.get(class).expect("Routes needs a class_weight for each class");
                        exits.push(Exit { port, router: router_index, weight: *weight as u32 });
                    }
                    (Location::ServerPort(node), _) => self.node_port[node] = port,
                    (Location::None, _) => (),
                }
            }
            if exits.len() < topology.ports(router) {
                self.routers_with_nodes.push(router);
            }
            self.exits.push(exits);
        }
        for router in 0..topology.num_routers() {
            let weights = topology.bfs(router, Some(&self.class_weight));
            self.weight.extend(weights.into_iter().map(|weight| weight as u32));
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
        if info.selections.as_ref().map_or(false, |chosen| chosen.len() > 1) {
            let mut chosen = take(&mut info.selections).expect("there are two");
            chosen.truncate(1);
            info.selections = if requested.label == THROUGH_MIDDLE { Some(chosen) } else { None };
        }
    }
}
