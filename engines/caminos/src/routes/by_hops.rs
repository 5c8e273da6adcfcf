//! Minimal, Valiant and UGAL: hop k uses channel k, along the lightest paths to the goal or to what a packet drew.

use std::rc::Rc;

use caminos_lib::routing::prelude::*;
use caminos_lib::topology::Topology;
use rand::rngs::StdRng;
use rand::Rng;

use super::{Distances, Exit, Kind, Routes, Via, THROUGH_MIDDLE};
use crate::next_hops::{Hop, HopClass};

impl Routes {
    /// The links with which the lightest paths from `here` to `goal` begin.
    pub fn lightest(&self, here: usize, goal: usize) -> Rc<[Hop]> {
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
    pub fn entry(&self, from: usize, group: usize) -> usize {
        match &self.distances {
            Distances::Searched(paths) => paths.nearest(from, &self.group_routers[group]),
            _ => unreachable!("paths to groups are searched"),
        }
    }

    /// What a packet draws; none if that is where it comes from or goes to. Under UGAL it draws again then: a packet
    /// whose draw left it nothing but the minimal path would wait for that one, and hold up all behind it.
    pub fn draw(&self, here: usize, goal: usize, rng: &mut StdRng) -> Option<usize> {
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
    pub fn place(&self, router: usize) -> usize {
        match (self.via, &self.layout.group) {
            (Via::Group, Some(group)) => group[router],
            _ => router,
        }
    }

    /// Minimal, Valiant and UGAL: `chosen` has what was drawn, and a second entry while nothing is decided.
    pub fn by_hops(
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

#[cfg(test)]
mod tests {
    //! UGAL on three routers that are all joined, a node on each: a packet from 0 to 1 may go straight, or through 2.

    use std::cell::RefCell;

    use super::*;
    use crate::session::Session;
    use crate::{parse, plugs};
    use caminos_lib::policies::{new_virtual_channel_policy, RequestInfo, VCPolicyBuilderArgument};
    use caminos_lib::{Message, Packet, Phit, Simulation};

    const CONFIGURATION: &str = r#"Configuration {
        random_seed: 1, warmup: 0, measured: 100, server_queue_size: 1, maximum_packet_size: 1,
        topology: Graph { filename: "FOLDER/graph" },
        traffic: MessageList { filename: "FOLDER/messages", injection: 1, packet: 1 },
        router: Switch {
            virtual_channels: 2, virtual_channel_policies: [Random], crossbar_frequency_divisor: 1,
            buffer_size: 32, output_buffer_size: 16, flit_size: 1, bubble: false, allow_request_busy_port: true,
            intransit_priority: false, allocator: Random,
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
