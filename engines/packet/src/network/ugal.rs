//! What a packet draws and decides on its way.
//!
//! Under UGAL a packet takes a minimal path or a detour, whichever has the lower product of queue and hops (UGAL-L:
//! Singh, thesis, Stanford, 2005). The queue of a port is the number of bytes that wait for it: in virtual output
//! queues, in the output, and at the other end of its link. A packet decides when its head is at its first router. If
//! `progressive`, a packet that is minimal so far decides again at each router of its first group, unless that is its
//! last one, too (Jiang, Kim and Dally, ISCA 2009). If an input has lanes, the packets that wait there are not counted;
//! so the first packet of a lane decides again whenever one of its ways opens, until it gets one of the kind that it
//! prefers.

use library::detours::better_detour;
use library::listed_routes::drawn;
use library::random::Random;

use super::*;
use crate::routes::{Leg, ANY_HOP};

impl Network {
    /// Draw what a packet needs at its first router, which is not its last one.
    pub(super) fn begin_route(&mut self, packet: &mut Packet, here: u32) {
        let (here, goal) = (here as usize, packet.goal as usize);
        match self.routes.settings.routing.kind {
            Kind::Valiant => {
                if let Some(intermediate) = self.draw_intermediate(packet.key, 0, here, goal) {
                    (packet.stage, packet.via) = (Stage::Detour, intermediate);
                }
            }
            Kind::Ugal => {
                let detours = self.routes.settings.detours;
                let first = self.free_intermediates.pop().unwrap_or_else(|| {
                    self.intermediates.resize(self.intermediates.len() + detours, 0);
                    (self.intermediates.len() - detours) as u32
                });
                (packet.stage, packet.via) = (Stage::Undecided, first);
                for index in 0..detours {
                    let drawn = self.draw_intermediate(packet.key, index, here, goal);
                    self.intermediates[first as usize + index] = drawn.unwrap_or(u32::MAX);
                }
            }
            // A bit for each dimension: which way round a ring where both are as short.
            Kind::DimensionOrder => packet.via = mix(u64::from(packet.key)) as u32,
            Kind::Table => packet.via = self.draw_hop(packet, here),
            Kind::Ecmp => {
                let hash = self.routes.graph.flow_hash();
                let number = self.arrivals[packet.message as usize].number;
                packet.via = hash.flow(packet.interface as usize, packet.node as usize, number);
            }
            Kind::Paths => {
                let mut random = Random::new(u64::from(packet.key));
                packet.via = self.routes.graph.paths().draw(here, goal, |total| random.below(total)) as u32;
            }
            _ => {}
        }
    }

    /// Draw an intermediate that leads away from both ends.
    fn draw_intermediate(&self, key: u32, index: usize, here: usize, goal: usize) -> Option<u32> {
        let mut bits = u64::from(key) << 8 | index as u64;
        let below_end = |end: usize| {
            bits = mix(bits);
            below(bits, end as u32) as usize
        };
        self.routes.detours.draw([here, goal], below_end).map(|intermediate| intermediate as u32)
    }

    /// Draw one of the listed hops by weight; where all weights are 0, a packet may take any.
    fn draw_hop(&self, packet: &Packet, here: usize) -> u32 {
        let hops = self.routes.graph.hops().hops(here, packet.goal as usize, packet.node as usize);
        let mut random = Random::new(u64::from(packet.key) << 8 | u64::from(packet.hop));
        drawn(hops, |total| random.below(total)).map_or(ANY_HOP, |index| index as u32)
    }

    #[inline]
    pub(super) fn enter_router(&mut self, packet: u32, here: u32, is_goal: bool) {
        let state = self.packets[packet as usize];
        if state.stage == Stage::Detour && self.routes.detours.intermediate_of(here as usize) == state.via as usize {
            self.packets[packet as usize].stage = Stage::Direct;
        }
        if self.routes.settings.routing.kind == Kind::Table && !is_goal {
            self.packets[packet as usize].via = self.draw_hop(&state, here as usize);
        }
    }

    /// Let an undecided packet decide as it comes to a router, and return the ways of its choice.
    pub(super) fn commit(&mut self, packet: u32, here: u32) -> Vec<Way> {
        let Packet { goal, interface, .. } = self.packets[packet as usize];
        if !self.may_choose(interface, here, goal) {
            self.settle(packet, Stage::Direct, 0);
            return self.find_ways(packet, here);
        }
        let (mut minimal, detours, hops) = self.alternatives(packet, here);
        if let Some(detour) = self.better_detour(&minimal, &detours, hops) {
            let Detour { intermediate, ways, .. } = &detours[detour];
            self.settle(packet, Stage::Detour, *intermediate);
            return ways.clone();
        }
        if !minimal.iter().any(|way| self.chooses_again(here, way.port, packet)) {
            self.settle(packet, Stage::Direct, 0);
        }
        minimal.iter_mut().for_each(|way| way.last_class = way.first_class);
        minimal
    }

    /// Return whether an undecided packet may decide at a router: its first one, or another one of its first group.
    fn may_choose(&self, interface: u32, here: u32, goal: u32) -> bool {
        let first = self.node_router[interface as usize];
        first == here || self.routes.graph.is_in_first_group(first as usize, here as usize, goal as usize)
    }

    fn settle(&mut self, packet: u32, stage: Stage, via: u32) {
        let state = &mut self.packets[packet as usize];
        self.free_intermediates.push(std::mem::replace(&mut state.via, via));
        state.stage = stage;
        self.counts.minimal[usize::from(stage == Stage::Detour)] += 1;
    }

    /// Return the detour that is better than the minimal ways, if any.
    fn better_detour(&mut self, minimal: &[Way], detours: &[Detour], hops: u32) -> Option<usize> {
        let minimal = (hops, self.least_demand(minimal));
        let (bias, threshold) = (self.routes.settings.bias, self.routes.settings.threshold_bytes);
        let detours = detours.iter().map(|detour| (detour.hops, self.least_demand(&detour.ways)));
        better_detour(minimal, detours, bias, threshold)
    }

    pub(super) fn all_ways(&mut self, input: u32) -> Vec<Way> {
        let (minimal, detours, _) = self.alternatives(self.inputs[input as usize].head, self.router_of_queue(input));
        minimal.into_iter().chain(detours.into_iter().flat_map(|detour| detour.ways)).collect()
    }

    /// Let an undecided packet take an open way of the kind that it prefers; return whether there was one.
    pub(super) fn decide(&mut self, input: u32) -> bool {
        let packet = self.inputs[input as usize].head;
        let (minimal, detours, hops) = self.alternatives(packet, self.router_of_queue(input));
        let chosen = self.better_detour(&minimal, &detours, hops).map(|index| &detours[index]);
        let ways = chosen.map_or(&minimal, |detour| &detour.ways);
        let output = match self.choose(ways, packet) {
            Some(output) => output,
            None => return false,
        };
        let (port, lane) = (output / self.lanes, output % self.lanes);
        let again = chosen.is_none() && self.chooses_again(self.router_of_queue(input), port, packet);
        if let Some(detour) = chosen {
            self.settle(packet, Stage::Detour, detour.intermediate);
        } else if !again {
            self.settle(packet, Stage::Direct, 0);
            // Its further hops use the classes after the one that it may have skipped to.
            let class = self.class_of_channel[(lane % self.lanes_per_traffic_class) as usize];
            let state = &mut self.packets[packet as usize];
            state.skipped = class.saturating_sub(state.hop.min(self.routes.settings.classes as u8 - 1));
        }
        self.grant(input, output);
        true
    }

    /// Return the bytes that wait for the emptiest of some ways, with the packet itself.
    fn least_demand(&mut self, ways: &[Way]) -> f64 {
        let least = ways.iter().map(|way| self.demand(way.port)).min().unwrap_or(u32::MAX);
        f64::from(least) + f64::from(self.packet_bytes())
    }

    /// Return the minimal ways of an undecided packet, its detours, and the hops of the minimal path.
    fn alternatives(&mut self, packet: u32, here: u32) -> (Vec<Way>, Vec<Detour>, u32) {
        let Packet { goal, via, hop, .. } = self.packets[packet as usize];
        let (at, goal) = (here as usize, goal as usize);
        let way = |hop: u8, leg, routes: &Routes| {
            let class = routes.class_of_hop(usize::from(hop), at, goal, leg);
            Way { port: 0, first_class: class, last_class: class, escape: false }
        };
        let mut minimal = Vec::new();
        let direct = way(hop, Leg::Direct, &self.routes);
        self.routes.find_lightest(at, goal, direct, &mut minimal);
        let undecided = way(hop, Leg::Undecided, &self.routes);
        // Among several outputs one queue would block packets that go elsewhere: there a minimal packet, which does not need
        // the classes of a detour's second leg, may skip one (bonus cards: Boppana and Chalasani, ISCA 1993). With a single
        // output a second queue would let minimal packets pile up before detours are taken.
        let next = (minimal.len() > 1).then(|| way(hop + 1, Leg::Direct, &self.routes).first_class);
        for way in &mut minimal {
            if self.chooses_again(here, way.port, packet) {
                *way = Way { port: way.port, ..undecided };
            } else {
                way.last_class = next.unwrap_or(way.last_class);
            }
        }
        let mut detours = Vec::new();
        for index in 0..self.routes.settings.detours {
            let intermediate = self.intermediates[via as usize + index];
            if intermediate == u32::MAX {
                continue;
            }
            let hops = self.routes.detours.hops_through(&self.routes.graph, at, intermediate as usize, goal);
            // From a switch without nodes it may be further than between routers with nodes.
            if !self.routes.has_classes(usize::from(hop) + hops as usize) {
                continue;
            }
            let mut ways = Vec::new();
            let towards = self.routes.detours.towards(intermediate as usize);
            let of_detour = way(hop, Leg::Detour(intermediate as usize), &self.routes);
            self.routes.find_lightest(at, towards, of_detour, &mut ways);
            detours.push(Detour { intermediate, hops, ways });
        }
        let hops = self.routes.detours.hops(&self.routes.graph, at, goal);
        (minimal, detours, hops)
    }

    /// Return whether a packet that takes a port decides again behind it.
    fn chooses_again(&self, here: u32, port: u32, packet: u32) -> bool {
        let goal = self.packets[packet as usize].goal as usize;
        let is_in_first = |next: u32| self.routes.graph.is_in_first_group(here as usize, next as usize, goal);
        self.routes.settings.progressive && self.router_behind(port).map_or(false, is_in_first)
    }
}

struct Detour {
    intermediate: u32,
    hops: u32,
    ways: Vec<Way>,
}
