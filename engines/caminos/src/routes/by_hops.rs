//! Minimal, Valiant and UGAL: hop k uses the channels of class k, along the lightest paths to the goal or to what a packet drew.

use std::ops::Range;
use std::rc::Rc;

use caminos_lib::routing::prelude::*;
use caminos_lib::topology::Topology;
use rand::rngs::StdRng;
use rand::Rng;

use super::{Distances, Exit, Kind, Routes, Via, DETOUR, MINIMAL, UNDECIDED};
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
            let entry = |from| self.entries(from, group).next().expect("a group has routers");
            let left = |from| self.weight(from, entry(from));
            let begins = |exit: &&Exit| exit.weight + left(exit.router) == left(here);
            let hop = |exit: &Exit| Hop { port: exit.port, class: HopClass::Usual, way: None };
            self.exits[here].iter().filter(begins).map(hop).collect()
        })
    }

    /// The nearest routers of a group.
    fn entries(&self, from: usize, group: usize) -> impl Iterator<Item = usize> + '_ {
        match &self.distances {
            Distances::Searched(paths) => paths.nearest(from, &self.group_routers[group]),
            _ => unreachable!("paths to groups are searched"),
        }
    }

    /// What a packet draws; none if that is where it comes from or goes to. Under UGAL it draws again then: a packet
    /// whose draw left it nothing but the minimal path would wait for that one, and hold up all behind it. So it does,
    /// between two groups, where it draws a router of either: most such detours cross the link of the minimal path.
    pub fn draw(&self, here: usize, goal: usize, rng: &mut StdRng) -> Option<usize> {
        let among = match self.via {
            Via::Router => &self.routers_with_nodes,
            Via::Group => &self.groups_with_nodes,
        };
        let ends = [self.place(here), self.place(goal)];
        let leads_away = |drawn: usize| match (self.kind, self.via, &self.layout.group) {
            (Kind::Ugal, Via::Router, Some(group)) if group[here] != group[goal] => {
                ![group[here], group[goal]].contains(&group[drawn])
            }
            _ => !ends.contains(&drawn),
        };
        let again = self.kind == Kind::Ugal && among.iter().any(|&drawn| leads_away(drawn));
        loop {
            let drawn = among[rng.gen_range(0..among.len())];
            if leads_away(drawn) {
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

    /// Minimal, Valiant and UGAL: `chosen` has the place that a packet goes through, the class in which a minimal one began,
    /// or what it may choose from.
    pub fn by_hops(
        &self,
        here: usize,
        goal: usize,
        hops: usize,
        chosen: &[i32],
        topology: &dyn Topology,
    ) -> Vec<CandidateEgress> {
        let channels = self.channels_of_hop(hops);
        match *chosen {
            [] => candidates(&self.lightest(here, goal), channels, 0, None).collect(),
            [skipped] if skipped <= MINIMAL => {
                let channels = self.channels_of_hop(hops + (MINIMAL - skipped) as usize);
                candidates(&self.lightest(here, goal), channels, 0, None).collect()
            }
            [place] if place != UNDECIDED => {
                candidates(&self.towards(here, place as usize), channels, 0, None).collect()
            }
            [ref drawn @ .., _] => {
                let length = self.hops_between(here, goal);
                let minimal = self.lightest(here, goal);
                // Among several outputs one queue would block packets that go elsewhere. With a single one a second queue
                // would let minimal packets pile up before detours are taken.
                let last = hops + usize::from(minimal.len() > 1);
                let final_channels = self.channels_of(hops..(last + 1).min(self.hop_classes));
                let mut ways = Vec::new();
                for hop in minimal.iter() {
                    let again = self.chooses_again(topology, here, hop.port, goal);
                    let channels = if again { channels.clone() } else { final_channels.clone() };
                    ways.extend(candidates(&Rc::from([*hop].as_slice()), channels, 0, Some(length)));
                }
                for (label, &place) in (DETOUR..).zip(drawn) {
                    let place = place as usize;
                    let through = |middle| self.hops_between(here, middle) + self.hops_between(middle, goal);
                    let length = match self.via {
                        Via::Router => through(place),
                        Via::Group => self.entries(here, place).map(through).max().expect("a group has routers"),
                    };
                    // From a switch without nodes it may be further than between routers with nodes.
                    if hops + length > self.hop_classes {
                        continue;
                    }
                    ways.extend(candidates(&self.towards(here, place), channels.clone(), label, Some(length)));
                }
                ways
            }
        }
    }

    /// The links with which the lightest paths to a place begin: a router, or a group.
    fn towards(&self, here: usize, place: usize) -> Rc<[Hop]> {
        match self.via {
            Via::Router => self.lightest(here, place),
            Via::Group => self.lightest_into_group(here, place),
        }
    }
}

/// Ports on some channels, all with the same label and length of the way ahead.
fn candidates(
    ports: &Rc<[Hop]>,
    channels: Range<usize>,
    label: i32,
    estimated_remaining_hops: Option<usize>,
) -> impl Iterator<Item = CandidateEgress> {
    let ports = ports.clone();
    (0..ports.len()).flat_map(move |index| {
        let port = ports[index].port;
        channels.clone().map(move |channel| CandidateEgress {
            label,
            estimated_remaining_hops,
            ..CandidateEgress::new(port, channel)
        })
    })
}

#[cfg(test)]
mod tests {
    //! UGAL on three routers that are all joined, a node on each: a packet from 0 to 1 may go straight, or through 2.

    use std::cell::RefCell;

    use super::*;
    use crate::session::Session;
    use crate::{parse, plugs};
    use caminos_lib::Simulation;

    const CONFIGURATION: &str = r#"Configuration {
        random_seed: 1, warmup: 0, measured: 100, server_queue_size: 1, maximum_packet_size: 1,
        topology: Graph { filename: "FOLDER/graph" },
        traffic: TaskGraph { filename: "FOLDER/operations", injection: 1, packet: 1, times: false },
        router: Switch {
            virtual_channels: 2, virtual_channel_policies: [Ugal { bias: 1, threshold: 0 }], crossbar_frequency_divisor: 1,
            buffer_size: 32, output_buffer_size: 16, flit_size: 1, bubble: false, allow_request_busy_port: true,
            intransit_priority: false, allocator: Random, maximal: true,
        },
        routing: Routes { kind: "ugal", tie: "split", via: "router", detours: 1, progressive: false, class_weight: [1], channels: 2,
            hop_classes: 2 },
        link_classes: [LinkClass { delay: 1, frequency_divisor: 1 }, LinkClass { delay: 1, frequency_divisor: 1 }],
    }"#;

    fn with_simulation<T>(name: &str, test: impl FnOnce(&mut Simulation) -> T) -> T {
        let folder = std::env::temp_dir().join(format!("fabricstudy-{}-{}", name, std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let graph = "graph 1\nrouters 3\nclasses 1\nnodes 3\n0\n1\n2\ncables 3\n0 1 0 1\n0 2 0 1\n1 2 0 1\n";
        std::fs::write(folder.join("graph"), graph).expect("written");
        std::fs::write(folder.join("operations"), "operations 1\njobs 0\n").expect("written");
        let text = CONFIGURATION.replace("FOLDER", folder.to_str().expect("a name"));
        let plugs = plugs();
        let mut simulation = Rc::new(Session::default()).during(|| Simulation::new(&parse(&text), &plugs));
        let result = test(&mut simulation);
        std::fs::remove_dir_all(&folder).expect("removed");
        result
    }

    #[test]
    fn ways_of_a_packet_that_has_not_chosen_have_their_lengths() {
        with_simulation("lengths", |simulation| {
            let (shared, rng) = (&simulation.shared, &mut simulation.mutable.rng);
            let topology = shared.network.topology.as_ref();
            let mut undecided = RoutingInfo::new();
            undecided.selections = Some(vec![2, UNDECIDED]);
            let found = shared.routing.next(&undecided, topology, 0, 1, Some(1), 2, rng).expect("ways");
            let ways = found
                .candidates
                .iter()
                .map(|way| (way.port, way.virtual_channel, way.label, way.estimated_remaining_hops));
            assert_eq!(ways.collect::<Vec<_>>(), [(0, 0, 0, Some(1)), (1, 0, DETOUR, Some(2))]);
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
                assert_eq!(info.borrow().selections, Some(vec![2, UNDECIDED]));
            }
        });
    }

    #[test]
    fn a_packet_keeps_to_what_it_decided() {
        with_simulation("decided", |simulation| {
            let (shared, rng) = (&simulation.shared, &mut simulation.mutable.rng);
            let topology = shared.network.topology.as_ref();
            for (label, port, channel, then) in [(0, 0, 0, MINIMAL), (0, 0, 1, MINIMAL - 1), (DETOUR, 1, 0, 2)] {
                let info = RefCell::new(RoutingInfo::new());
                info.borrow_mut().selections = Some(vec![2, UNDECIDED]);
                let asked = CandidateEgress { label, ..CandidateEgress::new(port, channel) };
                shared.routing.performed_request(&asked, &info, topology, 0, 1, Some(1), 2, rng);
                assert_eq!(info.borrow().selections, Some(vec![then]));
                let next = shared.routing.next(&info.borrow(), topology, 0, 1, Some(1), 2, rng).expect("a way");
                let ways: Vec<_> = next.candidates.iter().map(|way| (way.port, way.virtual_channel)).collect();
                assert_eq!(ways, [(port, channel)]);
            }
        });
    }
}
