//! Arbitration: which lanes are open to a packet, and which of the waiting packets goes next.

use super::*;

impl Network {
    #[inline]
    pub(super) fn lanes_of(&self, way: &Way, traffic_class: u8) -> u64 {
        let first = usize::from(traffic_class) * self.routes.settings.classes;
        let classes = &self.lanes_of_class[first + usize::from(way.first_class)..=first + usize::from(way.last_class)];
        classes.iter().fold(0, |lanes, of_class| lanes | of_class)
    }

    /// Return those of some lanes of a port that are open to a packet.
    #[inline]
    pub(super) fn open_lanes(&mut self, port: u32, lanes: u64) -> u64 {
        let first = port * self.lanes;
        let mut crossing = self.ports[port as usize].crossing & lanes;
        while crossing != 0 {
            let lane = crossing.trailing_zeros();
            if self.outputs[(first + lane) as usize].busy_until <= self.now {
                self.ports[port as usize].crossing &= !(1 << lane);
            }
            crossing &= crossing - 1;
        }
        let mut open = lanes & !self.ports[port as usize].crossing;
        if open != 0 {
            self.release(port);
        }
        let mut left = open;
        while left != 0 {
            // Lanes of a unit follow each other.
            let unit = self.unit_of_lane[left.trailing_zeros() as usize];
            let mut of_unit = 0;
            while left != 0 && self.unit_of_lane[left.trailing_zeros() as usize] == unit {
                of_unit |= left & left.wrapping_neg();
                left &= left - 1;
            }
            if !self.out_pools.has_room(port, unit, self.packet_bytes()) {
                open &= !of_unit;
            }
        }
        open
    }

    /// Return an open output lane for a packet: any, or under adaptive routing and UGAL one of a port with the least queue.
    pub(super) fn choose(&mut self, ways: &[Way], packet: u32) -> Option<u32> {
        let Packet { traffic_class, key, .. } = self.packets[packet as usize];
        if let [way] = ways {
            let open = self.open_lanes(way.port, self.lanes_of(way, traffic_class));
            return self.drawn_lane(way.port, open, key);
        }
        // An escape comes last.
        let (mut count, mut least) = (0, (true, u32::MAX));
        let mut best: (u32, u64) = (NONE, 0);
        for way in ways {
            let open = self.open_lanes(way.port, self.lanes_of(way, traffic_class));
            if open == 0 {
                continue;
            }
            let rank = (way.escape, if self.least_queue { self.queue_of(way.port) } else { 0 });
            if rank < least {
                (least, count) = (rank, 0);
            }
            if rank == least {
                count += 1;
                // Reservoir sampling: each of the equally good ways with the same probability.
                if count == 1 || below(self.draw(way.port, u64::from(key)), count) == 0 {
                    best = (way.port, open);
                }
            }
        }
        self.drawn_lane(best.0, best.1, key)
    }

    #[inline]
    pub(super) fn drawn_lane(&self, port: u32, open: u64, key: u32) -> Option<u32> {
        let count = open.count_ones();
        if count == 0 {
            return None;
        }
        let mut skipped = if count > 1 { below(self.draw(port, u64::from(key) | 1 << 40), count) } else { 0 };
        let mut open = open;
        while skipped > 0 {
            open &= open - 1;
            skipped -= 1;
        }
        Some(port * self.lanes + open.trailing_zeros())
    }

    /// Let the first packet of an input lane wait for any of its ways.
    pub(super) fn wait(&mut self, input: u32, ways: &[Way]) {
        let lane = &mut self.inputs[input as usize];
        lane.waiting = true;
        let InputQueue { ticket, head: packet, port: from, outputs, .. } = *lane;
        let name = mix(if self.has_lanes { u64::from(input) } else { outputs ^ u64::from(from) << 32 });
        let traffic_class = self.packets[packet as usize].traffic_class;
        for way in ways {
            let waiter = Waiter { lanes: self.lanes_of(way, traffic_class), name, input, ticket };
            let waiters = &mut self.waiters[way.port as usize];
            if waiters.len() >= 64 && waiters.len().is_power_of_two() {
                let inputs = &self.inputs;
                waiters.retain(|waiter| inputs[waiter.input as usize].ticket == waiter.ticket);
            }
            waiters.push(waiter);
            self.plan(way.port);
        }
    }

    /// Let ports that have looked take waiting packets, in random order.
    pub(super) fn allocate_opened(&mut self) {
        let mut opened = std::mem::take(&mut self.opened);
        opened.sort_unstable_by_key(|&port| (self.draw(port, 1 << 41), port));
        for &port in &opened {
            self.allocate(port);
            self.plan(port);
        }
        opened.clear();
        self.opened = opened;
    }

    /// Give the open lanes of a port to packets that wait.
    pub(super) fn allocate(&mut self, port: u32) {
        let mut waiters = std::mem::take(&mut self.waiters[port as usize]);
        let mut declined: Vec<u32> = Vec::new();
        let inputs = &self.inputs;
        waiters.retain(|waiter| inputs[waiter.input as usize].ticket == waiter.ticket);
        while let Some(Waiter { input, lanes, .. }) = self.first_to_go(port, &waiters, &declined) {
            let packet = self.inputs[input as usize].head;
            let Packet { key, stage, .. } = self.packets[packet as usize];
            if !self.has_lanes || stage != Stage::Undecided {
                let open = self.open_lanes(port, lanes);
                let output = self.drawn_lane(port, open, key).expect("a lane is open");
                self.grant(input, output);
            } else if !self.decide(input) {
                // It prefers to wait for another port.
                declined.push(input);
                continue;
            }
            waiters.retain(|waiter| waiter.input != input);
            if !self.has_lanes {
                self.advance(input);
            }
        }
        // The next packets of queues may have come to wait.
        waiters.append(&mut self.waiters[port as usize]);
        self.waiters[port as usize] = waiters;
    }

    /// Return the waiting lane that goes next, of those for whose first packet the port has an open lane.
    pub(super) fn first_to_go(&mut self, port: u32, waiters: &[Waiter], declined: &[u32]) -> Option<Waiter> {
        let mut first: Option<((u32, u64, u32), Waiter)> = None;
        let (mut lanes, mut are_open) = (0, false);
        for waiter in waiters {
            if lanes != waiter.lanes {
                (lanes, are_open) = (waiter.lanes, self.open_lanes(port, waiter.lanes) != 0);
            }
            if !are_open || declined.contains(&waiter.input) {
                continue;
            }
            let of_first = |input: u32| self.packets[self.inputs[input as usize].head as usize].priority;
            let priority = if self.fair.is_some() { of_first(waiter.input) } else { 0 };
            let rank = (priority, self.draw(port, waiter.name), waiter.input);
            if first.map_or(true, |(best, _)| rank < best) {
                first = Some((rank, *waiter));
            }
        }
        first.map(|(_, waiter)| waiter)
    }
}
