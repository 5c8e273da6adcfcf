//! Minimal, Valiant and UGAL by the rules of the library's `detours.rs`; hop k uses the channels of class k.
//!
//! Under UGAL the candidates of a packet have the length of the path ahead, by which CAMINOS' `LowestSinghWeight` takes the
//! lower product of queue and hops; minimal ones have the label 0, and those through each of the `detours` a label of their
//! own. If `progressive`, a packet that is minimal so far chooses again at each router of its first group, unless that
//! is its last one, too (Jiang, Kim and Dally: Indirect adaptive routing on large scale interconnection networks, ISCA 2009).
//! A minimal packet does not need the classes of a detour's second leg: with several minimal outputs it may skip one class
//! (bonus cards: Boppana and Chalasani, ISCA 1993).

use caminos_lib::routing::prelude::*;
use library::graph::Exit;
use library::settings::Kind;
use rand::rngs::StdRng;
use rand::Rng;

use super::Routes;

/// Label of the candidates that lead through the intermediate drawn first; those of further ones follow.
const DETOUR: i32 = 1;
/// What follows the intermediates that a packet drew under UGAL, and what it asked for last, until it has left the router
/// where it chooses: `InputOutput` tells what a packet asks for in each cycle, and the last of that is what it is granted.
const UNDECIDED: i32 = -1;
/// What a minimal packet under UGAL has instead, less the class in which its hop 0 would have been.
const MINIMAL: i32 = -2;

impl Routes {
    /// The links with which the lightest paths to a goal begin.
    pub fn lightest(&self, here: usize, goal: usize) -> Vec<Exit> {
        self.paths.borrow_mut().lightest(self.graph(), here, goal)
    }

    /// The links with which the lightest paths to an intermediate begin.
    fn lightest_to_intermediate(&self, here: usize, intermediate: usize) -> Vec<Exit> {
        let goal = self.paths.borrow().towards(intermediate);
        self.lightest(here, goal)
    }

    pub fn draw_detours(&self, here: usize, goal: usize, rng: &mut StdRng) -> Option<Vec<i32>> {
        if self.kind == Kind::Valiant {
            return self.draw(here, goal, rng).map(|intermediate| vec![intermediate as i32]);
        }
        let mut drawn = Vec::new();
        drawn.extend(
            (0..self.detours).filter_map(|_| self.draw(here, goal, rng)).map(|intermediate| intermediate as i32),
        );
        drawn.extend([UNDECIDED, UNDECIDED]);
        Some(drawn)
    }

    /// What a packet draws; none if that is where it comes from or goes to.
    fn draw(&self, here: usize, goal: usize, rng: &mut StdRng) -> Option<usize> {
        self.paths.borrow().draw([here, goal], |end| rng.gen_range(0..end))
    }

    /// `chosen` has the intermediate that a packet goes through, the class in which a minimal one began, or what it may
    /// choose from.
    pub fn through_what_it_drew(&self, here: usize, goal: usize, hops: usize, chosen: &[i32]) -> Vec<CandidateEgress> {
        let channels = self.channels_of_hop(hops);
        match *chosen {
            [] => self.candidates(&self.lightest(here, goal), channels, 0, 1),
            [skipped] if skipped <= MINIMAL => {
                let channels = self.channels_of_hop(hops + (MINIMAL - skipped) as usize);
                self.candidates(&self.lightest(here, goal), channels, 0, 1)
            }
            [intermediate] => {
                self.candidates(&self.lightest_to_intermediate(here, intermediate as usize), channels, 0, 1)
            }
            [ref drawn @ .., _, _] => {
                let mut ways = self.minimal_ways(here, goal, hops);
                for (label, &intermediate) in (DETOUR..).zip(drawn) {
                    let length =
                        self.paths.borrow_mut().hops_through(self.graph(), here, intermediate as usize, goal) as usize;
                    // From a switch without nodes it may be further than between routers with nodes.
                    if hops + length <= self.hop_classes {
                        let exits = self.lightest_to_intermediate(here, intermediate as usize);
                        ways.extend(self.candidates(&exits, channels.clone(), label, length));
                    }
                }
                ways
            }
        }
    }

    /// The minimal ways of a packet that has not chosen.
    fn minimal_ways(&self, here: usize, goal: usize, hops: usize) -> Vec<CandidateEgress> {
        let length = self.paths.borrow_mut().hops(self.graph(), here, goal) as usize;
        let minimal = self.lightest(here, goal);
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

    /// Let a packet that comes to a router keep to what it was granted, until it has been at its intermediate.
    pub fn keep(&self, info: &mut RoutingInfo, here: usize) {
        match info.selections.as_deref() {
            Some(&[.., asked, UNDECIDED]) if asked != UNDECIDED => info.selections = Some(vec![asked]),
            _ => (),
        }
        if info.selections.as_deref() == Some(&[self.paths.borrow().intermediate_of(here) as i32]) {
            info.selections = None;
        }
    }
}
