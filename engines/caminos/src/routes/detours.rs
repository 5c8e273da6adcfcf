//! Lightest paths, and detours: minimal, Valiant and UGAL; hop k uses the channels of class k.
//!
//! * valiant: minimal to a router drawn uniformly from those with nodes, then minimal to the destination; straight to
//!   the destination if the draw gives the packet's first or last router, and delivered if it comes by the latter.
//!   With `via` group a group with nodes is drawn instead, and the first leg ends at the router where the packet enters
//!   it, by a path to the nearest ones;
//! * ugal: at its first router a packet takes a minimal path or a detour as Valiant makes them, though never through its
//!   first or last router or group, and keeps to it (UGAL-L; Singh 2005). Candidates have the length of the path ahead,
//!   by which CAMINOS' `LowestSinghWeight` takes the lower product of queue and hops; minimal ones have the label 0, and
//!   those through each of the `detours` places drawn a label of their own. If `progressive`, a packet that is minimal so
//!   far chooses again at each router of its first group, unless that is its last one, too (Jiang, Kim and Dally: Indirect
//!   adaptive routing on large scale interconnection networks, ISCA 2009). A packet that is minimal does not need the
//!   classes of a detour's second leg: where several outputs are minimal it may skip one class, and goes on from there
//!   (bonus cards: Boppana and Chalasani, ISCA 1993).

use caminos_lib::routing::prelude::*;
use library::graph::Exit;
use library::places::Places;
use library::settings::{Kind, Via};
use rand::rngs::StdRng;
use rand::Rng;

use super::Routes;

/// Label of the candidates that lead through the place drawn first; those of further ones follow.
const DETOUR: i32 = 1;
/// What follows the places that a packet drew under UGAL, and what it asked for last, until it has left the router where
/// it chooses: `InputOutput` tells what a packet asks for in each cycle, and the last of that is what it is granted.
const UNDECIDED: i32 = -1;
/// What a minimal packet under UGAL has instead, less the class in which its hop 0 would have been.
const MINIMAL: i32 = -2;

/// Of the lightest paths from each router to one: their weight, and the hops of the longest.
type PathLengths = (Box<[u32]>, Box<[u16]>);

/// How far it is from all routers to some, or to groups.
#[derive(Debug, Default)]
pub struct Distances {
    /// To each router that packets go to; none in a grid whose links all weigh the same.
    to_router: Vec<Option<PathLengths>>,
    /// Weights to the nearest router of each group.
    to_group: Vec<Box<[u32]>>,
    /// What packets draw, if they draw any.
    places: Option<Places>,
}

impl Routes {
    pub fn find_distances(&self) -> Distances {
        let graph = self.graph();
        let mut distances = Distances::default();
        match self.kind {
            Kind::Minimal | Kind::Valiant | Kind::Ugal => (),
            Kind::Adaptive if graph.grid.is_none() => (),
            _ => return distances,
        }
        let mut goals = graph.routers_with_nodes();
        let places = Places::new(graph, self.via);
        if self.via == Via::Group {
            let to_group = |routers: &Vec<usize>| graph.weights_to(routers, &self.class_weight);
            distances.to_group = places.group_routers.iter().map(to_group).collect();
            goals = (0..graph.routers()).collect();
        }
        distances.places = Some(places);
        if graph.grid.is_none() || self.via == Via::Group || self.class_weight.iter().any(|&weight| weight != 1) {
            distances.to_router = vec![None; graph.routers()];
            for goal in goals {
                let weights = graph.weights_to(&[goal], &self.class_weight);
                let hops = graph.most_hops(&weights, &self.class_weight);
                distances.to_router[goal] = Some((weights, hops));
            }
        }
        distances
    }

    fn to_router(&self, goal: usize) -> Option<&PathLengths> {
        let known = self.distances.to_router.get(goal)?;
        Some(known.as_ref().expect("packets go to routers with nodes"))
    }

    fn weight(&self, from: usize, goal: usize) -> u32 {
        self.to_router(goal).map_or_else(|| self.grid().distance(from, goal) as u32, |(weights, _)| weights[from])
    }

    fn hops_between(&self, from: usize, goal: usize) -> usize {
        self.to_router(goal).map_or_else(|| self.grid().distance(from, goal), |(_, hops)| hops[from] as usize)
    }

    /// The links with which the paths begin that have the least weight, given that of all routers.
    fn begins(&self, here: usize, weight: impl Fn(usize) -> u32) -> Vec<Exit> {
        self.graph().lightest(here, &self.class_weight, weight).copied().collect()
    }

    /// The links with which the lightest paths to a router begin.
    pub fn lightest(&self, here: usize, goal: usize) -> Vec<Exit> {
        self.begins(here, |router| self.weight(router, goal))
    }

    /// The links with which the lightest paths to a place begin: a router, or the nearest ones of a group.
    fn towards(&self, here: usize, place: usize) -> Vec<Exit> {
        match self.via {
            Via::Router => self.lightest(here, place),
            Via::Group => self.begins(here, |router| self.distances.to_group[place][router]),
        }
    }

    /// Hops of the way through a place; of several the most.
    fn hops_through(&self, here: usize, place: usize, goal: usize) -> usize {
        let through = |middle| self.hops_between(here, middle) + self.hops_between(middle, goal);
        if self.via == Via::Router {
            return through(place);
        }
        let nearest = self.distances.to_group[place][here];
        let entries = self.places().group_routers[place].iter().filter(|&&entry| self.weight(here, entry) == nearest);
        entries.map(|&entry| through(entry)).max().expect("a group has routers")
    }

    fn places(&self) -> &Places {
        self.distances.places.as_ref().expect("packets draw places")
    }

    pub fn draw_detours(&self, here: usize, goal: usize, rng: &mut StdRng) -> Option<Vec<i32>> {
        if self.kind == Kind::Valiant {
            return self.draw(here, goal, rng).map(|place| vec![place as i32]);
        }
        let mut drawn = Vec::new();
        drawn.extend((0..self.detours).filter_map(|_| self.draw(here, goal, rng)).map(|place| place as i32));
        drawn.extend([UNDECIDED, UNDECIDED]);
        Some(drawn)
    }

    /// What a packet draws; none if that is where it comes from or goes to.
    fn draw(&self, here: usize, goal: usize, rng: &mut StdRng) -> Option<usize> {
        let leads_away = |drawn| self.places().leads_away(self.kind, [here, goal], drawn);
        self.places().draw(self.kind == Kind::Ugal, leads_away, |end| rng.gen_range(0..end))
    }

    /// `chosen` has the place that a packet goes through, the class in which a minimal one began, or what it may choose
    /// from.
    pub fn through_what_it_drew(&self, here: usize, goal: usize, hops: usize, chosen: &[i32]) -> Vec<CandidateEgress> {
        let channels = self.channels_of_hop(hops);
        match *chosen {
            [] => self.candidates(&self.lightest(here, goal), channels, 0, 1),
            [skipped] if skipped <= MINIMAL => {
                let channels = self.channels_of_hop(hops + (MINIMAL - skipped) as usize);
                self.candidates(&self.lightest(here, goal), channels, 0, 1)
            }
            [place] => self.candidates(&self.towards(here, place as usize), channels, 0, 1),
            [ref drawn @ .., _, _] => {
                let mut ways = self.minimal_ways(here, goal, hops);
                for (label, &place) in (DETOUR..).zip(drawn) {
                    let length = self.hops_through(here, place as usize, goal);
                    // From a switch without nodes it may be further than between routers with nodes.
                    if hops + length <= self.hop_classes {
                        let exits = self.towards(here, place as usize);
                        ways.extend(self.candidates(&exits, channels.clone(), label, length));
                    }
                }
                ways
            }
        }
    }

    /// The minimal ways of a packet that has not chosen.
    fn minimal_ways(&self, here: usize, goal: usize, hops: usize) -> Vec<CandidateEgress> {
        let (length, minimal) = (self.hops_between(here, goal), self.lightest(here, goal));
        // Among several outputs one queue would block packets that go elsewhere. With a single one a second queue
        // would let minimal packets pile up before detours are taken.
        let last = hops + usize::from(minimal.len() > 1);
        let of_exit = |exit: &Exit| {
            let last = if self.chooses_again(here, exit.router as usize, goal) { hops } else { last };
            self.candidates([exit], self.channels_of(hops..(last + 1).min(self.hop_classes)), 0, length)
        };
        minimal.iter().flat_map(of_exit).collect()
    }

    /// Whether a packet that is minimal so far chooses again at the next router: still in its first group.
    fn chooses_again(&self, here: usize, next: usize, goal: usize) -> bool {
        self.progressive && self.graph().is_in_first_group(here, next, goal)
    }

    /// Note what a packet that has not chosen asks for.
    pub fn ask(&self, requested: &CandidateEgress, info: &mut RoutingInfo, here: usize, goal: usize) {
        let hops = info.hops;
        if let Some([drawn @ .., asked, UNDECIDED]) = info.selections.as_deref_mut() {
            let next = self.machine().behind(here, requested.port);
            *asked = if requested.label >= DETOUR {
                drawn[(requested.label - DETOUR) as usize]
            } else if next.map_or(false, |next| self.chooses_again(here, next, goal)) {
                UNDECIDED
            } else {
                MINIMAL - (self.class_of(requested.virtual_channel) - hops) as i32
            };
        }
    }

    /// Let a packet that comes to a router keep to what it was granted, until it has been at the place that it drew.
    pub fn keep(&self, info: &mut RoutingInfo, here: usize) {
        match info.selections.as_deref() {
            Some(&[.., asked, UNDECIDED]) if asked != UNDECIDED => info.selections = Some(vec![asked]),
            _ => (),
        }
        if info.selections.as_deref() == Some(&[self.places().place(here) as i32]) {
            info.selections = None;
        }
    }
}

#[cfg(test)]
mod tests {
    //! UGAL on three routers that are all joined, a node on each: a packet from 0 to 1 may go straight, or through 2.

    use std::cell::RefCell;
    use std::rc::Rc;

    use caminos_lib::Simulation;

    use super::*;
    use crate::session::Session;
    use crate::{parse, plugs};

    const CONFIGURATION: &str = r#"Configuration {
        random_seed: 1, warmup: 0, measured: 100, server_queue_size: 1, maximum_packet_size: 1,
        topology: Graph { filename: "FOLDER/graph", classes: 1 },
        traffic: TaskGraph { filename: "FOLDER/operations", injection: 1, packet: 1, period: 1, times: false },
        router: InputOutput {
            virtual_channels: 2, virtual_channel_policies: [LowestSinghWeight { extra_congestion: 1 }, Random],
            buffer_size: 32, output_buffer_size: 16, flit_size: 1, bubble: false, allow_request_busy_port: true,
            intransit_priority: false, allocator: Random,
        },
        routing: Routes { kind: "ugal", by_hops: true, tie: "split", via: "router", detours: 1, progressive: false,
            class_weight: [1], channels: 2, hop_classes: 2 },
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
            undecided.selections = Some(vec![2, UNDECIDED, UNDECIDED]);
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
                assert_eq!(info.borrow().selections, Some(vec![2, UNDECIDED, UNDECIDED]));
            }
        });
    }

    #[test]
    fn a_packet_keeps_to_what_it_asked_for_last() {
        with_simulation("decided", |simulation| {
            let (shared, rng) = (&simulation.shared, &mut simulation.mutable.rng);
            let topology = shared.network.topology.as_ref();
            for (label, port, channel, behind, then) in
                [(0, 0, 0, 1, Some(MINIMAL)), (0, 0, 1, 1, Some(MINIMAL - 1)), (DETOUR, 1, 0, 2, None)]
            {
                let info = RefCell::new(RoutingInfo::new());
                info.borrow_mut().selections = Some(vec![2, UNDECIDED, UNDECIDED]);
                for (label, port, channel) in [(DETOUR, 1, 0), (0, 0, 0), (label, port, channel)] {
                    let asked = CandidateEgress { label, ..CandidateEgress::new(port, channel) };
                    shared.routing.performed_request(&asked, &info, topology, 0, 1, Some(1), 2, rng);
                    let found = shared.routing.next(&info.borrow(), topology, 0, 1, Some(1), 2, rng).expect("ways");
                    assert_eq!(found.candidates.len(), 2);
                }
                info.borrow_mut().hops = 1;
                shared.routing.update_routing_info(&info, topology, behind, 0, 1, Some(1), rng);
                // A packet that comes to the router through which its detour leads goes on minimally.
                assert_eq!(info.borrow().selections, then.map(|then| vec![then]));
            }
        });
    }
}
