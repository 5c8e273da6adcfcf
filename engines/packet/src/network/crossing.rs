//! Crossing a router: which packet gets which output lane.

use super::*;

impl Network {
    /// Let all packets ask whose heads are there now, in random order.
    pub(super) fn ask_all(&mut self, first: u32) {
        let mut asking = std::mem::take(&mut self.asking);
        asking.push(first);
        while let Some(event) = self.queue.pop_below(self.now << 2 | TASK) {
            asking.push(event.a);
        }
        self.shuffle(&mut asking, |network, number| match network.has_lanes {
            true => network.draw_once(u64::from(network.inputs[number as usize].ticket), u64::from(number)),
            false => {
                let Packet { key, input, .. } = network.packets[number as usize];
                network.draw_once(0, u64::from(key) << 32 | u64::from(input))
            }
        });
        for &number in &asking {
            if self.has_lanes {
                self.advance(number);
            } else {
                self.enter_queue(number);
            }
        }
        asking.clear();
        self.asking = asking;
    }

    /// Put numbers into a random order that does not depend on their present one.
    pub(super) fn shuffle(&mut self, numbers: &mut [u32], draw: impl Fn(&Network, u32) -> u64) {
        if numbers.len() < 2 {
            return;
        }
        let mut ranked = std::mem::take(&mut self.ranked);
        ranked.extend(numbers.iter().map(|&number| (draw(self, number), number)));
        ranked.sort_unstable();
        for (place, (_, number)) in numbers.iter_mut().zip(ranked.drain(..)) {
            *place = number;
        }
        self.ranked = ranked;
    }

    /// Put a packet into the queue of its outputs, and let it ask if it is the first one.
    pub(super) fn enter_queue(&mut self, packet: u32) {
        let Packet { input: port, stage, traffic_class, .. } = self.packets[packet as usize];
        let here = self.router_of[port as usize];
        let ways = match stage {
            Stage::Undecided => self.commit(packet, here),
            _ => self.find_ways(packet, here),
        };
        let outputs = outputs_of(&ways, traffic_class);
        let found = self.queues_of[port as usize].iter().find(|(known, _)| *known == outputs);
        if let Some(&(_, queue)) = found {
            let queue = &mut self.inputs[queue as usize];
            self.packets[queue.tail as usize].next = packet;
            queue.tail = packet;
            self.count_awaiting(&ways, packet, true);
        } else if let Some(output) = self.choose(&ways, packet) {
            self.cross(packet, output);
        } else {
            let input = self.new_queue(port, outputs, packet);
            self.count_awaiting(&ways, packet, true);
            self.wait(input, &ways);
        }
        self.ways = ways;
    }

    /// Count the bytes of a packet that begins or ends to wait in a virtual output queue, in equal parts at its ports.
    fn count_awaiting(&mut self, ways: &[Way], packet: u32, begins: bool) {
        let part = self.packets[packet as usize].size / ways.len() as u32;
        for way in ways {
            let awaiting = &mut self.ports[way.port as usize].awaiting;
            *awaiting = if begins { *awaiting + part } else { *awaiting - part };
        }
    }

    /// Return a new virtual output queue with a packet.
    pub(super) fn new_queue(&mut self, port: u32, outputs: u64, packet: u32) -> u32 {
        let mut queue = InputQueue::new(port, outputs);
        (queue.head, queue.tail) = (packet, packet);
        let number = match self.free_inputs.pop() {
            Some(number) => {
                queue.ticket = self.inputs[number as usize].ticket;
                self.inputs[number as usize] = queue;
                number
            }
            None => {
                self.inputs.push(queue);
                self.inputs.len() as u32 - 1
            }
        };
        self.queues_of[port as usize].push((outputs, number));
        number
    }

    /// Let the first packets of a queue have output lanes, until one waits for some.
    pub(super) fn advance(&mut self, input: u32) {
        loop {
            let InputQueue { head, port, outputs, .. } = self.inputs[input as usize];
            if head == NONE {
                if !self.has_lanes {
                    self.queues_of[port as usize].retain(|(known, _)| *known != outputs);
                    self.free_inputs.push(input);
                }
                return;
            }
            if self.has_lanes && self.packets[head as usize].stage == Stage::Undecided {
                if !self.decide(input) {
                    let ways = self.all_ways(input);
                    self.wait(input, &ways);
                    return;
                }
            } else {
                let mut ways = self.find_ways(head, self.router_of[port as usize]);
                let chosen = self.choose(&ways, head);
                match chosen {
                    Some(output) => self.grant(input, output),
                    None => self.wait(input, &ways),
                }
                ways.clear();
                self.ways = ways;
                if chosen.is_none() {
                    return;
                }
            }
            if self.has_lanes {
                // The next packet asks when this one has crossed.
                return;
            }
        }
    }

    /// Return the ways of a packet at a router, in the vector `ways`.
    pub(crate) fn find_ways(&mut self, packet: u32, here: u32) -> Vec<Way> {
        let mut ways = std::mem::take(&mut self.ways);
        ways.clear();
        let packet = &self.packets[packet as usize];
        if packet.goal == here {
            let last_class = self.routes.classes as u8 - 1;
            ways.push(Way { port: self.node_port[packet.node as usize], first_class: 0, last_class, escape: false });
        } else {
            let Packet { goal, node, via, hop, skipped, stage, .. } = *packet;
            let standing = Standing { goal, node, via, hop, skipped, on_detour: stage == Stage::Detour };
            self.routes.find(here as usize, standing, &mut ways);
        }
        ways
    }

    #[inline]
    pub(crate) fn router_of_queue(&self, input: u32) -> u32 {
        self.router_of[self.inputs[input as usize].port as usize]
    }

    #[inline]
    pub(crate) fn router_behind(&self, port: u32) -> Option<u32> {
        match self.ports[port as usize].end {
            End::Router(to) => Some(self.router_of[to as usize]),
            End::Node => None,
        }
    }

    #[inline]
    pub(super) fn lanes_of(&self, way: &Way, traffic_class: u8) -> u64 {
        let first = usize::from(traffic_class) * self.routes.classes;
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
            if !self.out_pools.has_room(port, unit, self.packet_bytes) {
                open &= !of_unit;
            }
        }
        open
    }

    /// Return an open output lane for a packet: any, or under adaptive routing one of a port with the least queue.
    pub(crate) fn choose(&mut self, ways: &[Way], packet: u32) -> Option<u32> {
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
                // One of so many that are as good, each with the same probability.
                if count == 1 || below(self.draw(way.port, u64::from(key)), count) == 0 {
                    best = (way.port, open);
                }
            }
        }
        self.drawn_lane(best.0, best.1, key)
    }

    /// Return one of the open lanes of a port.
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
    pub(crate) fn wait(&mut self, input: u32, ways: &[Way]) {
        let lane = &mut self.inputs[input as usize];
        lane.waiting = true;
        let (ticket, packet) = (lane.ticket, lane.head);
        let traffic_class = self.packets[packet as usize].traffic_class;
        for way in ways {
            let waiter = Waiter { lanes: self.lanes_of(way, traffic_class), input, ticket };
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
        self.shuffle(&mut opened, |network, port| network.draw(port, 1 << 41));
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
        loop {
            let inputs = &self.inputs;
            waiters.retain(|waiter| inputs[waiter.input as usize].ticket == waiter.ticket);
            let Waiter { input, lanes, .. } = match self.first_to_go(port, &waiters, &declined) {
                Some(waiter) => waiter,
                None => break,
            };
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
        for waiter in waiters {
            let packet = &self.packets[self.inputs[waiter.input as usize].head as usize];
            let priority = if self.fair.is_some() { packet.priority } else { 0 };
            if declined.contains(&waiter.input) || self.open_lanes(port, waiter.lanes) == 0 {
                continue;
            }
            let InputQueue { port: from, outputs, .. } = self.inputs[waiter.input as usize];
            let name = if self.has_lanes { u64::from(waiter.input) } else { outputs ^ u64::from(from) << 32 };
            let rank = (priority, self.draw(port, mix(name)), waiter.input);
            if first.map_or(true, |(best, _)| rank < best) {
                first = Some((rank, *waiter));
            }
        }
        first.map(|(_, waiter)| waiter)
    }

    /// Let the first packet of a queue cross to an output lane.
    pub(crate) fn grant(&mut self, input: u32, output: u32) {
        let InputQueue { head: packet, port, .. } = self.inputs[input as usize];
        if !self.has_lanes {
            let ways = self.find_ways(packet, self.router_of[port as usize]);
            self.count_awaiting(&ways, packet, false);
            self.ways = ways;
        }
        let next = std::mem::replace(&mut self.packets[packet as usize].next, NONE);
        let end = self.cross(packet, output);
        let queue = &mut self.inputs[input as usize];
        queue.head = next;
        queue.busy_until = end;
        queue.waiting = false;
        queue.ticket = queue.ticket.wrapping_add(1);
        if next != NONE && self.has_lanes {
            let time = self.packets[next as usize].head.max(end);
            self.queue.push(Event { key: time << 2 | ASK, a: input, b: 0 });
        }
    }

    /// Let a packet cross to an output lane; return when it has.
    pub(super) fn cross(&mut self, packet: u32, output: u32) -> u64 {
        let (port, lane) = (output / self.lanes, output % self.lanes);
        let state = &mut self.packets[packet as usize];
        let (size, from, unit) = (state.size, state.input, u32::from(state.unit));
        let end = (self.now + rounded(f64::from(size) * self.ps_per_byte_crossbar)).max(state.tail);
        state.tail = end;
        let out_lane = &mut self.outputs[output as usize];
        out_lane.busy_until = end;
        let last = std::mem::replace(&mut out_lane.tail, packet);
        if out_lane.head == NONE {
            out_lane.head = packet;
        } else {
            self.packets[last as usize].next = packet;
        }
        self.out_pools.take(port, self.unit_of_lane[lane as usize], size);
        if self.management.is_some() {
            let Port { end, queued, latency, .. } = self.ports[port as usize];
            let state = &mut self.packets[packet as usize];
            state.latency = state.latency.saturating_add(latency as u32);
            state.is_marked |= end == End::Node && queued > THRESHOLD_PACKETS * self.packet_bytes;
        }
        let port_state = &mut self.ports[port as usize];
        port_state.granted = port_state.granted.wrapping_add(1);
        port_state.filled |= 1 << lane;
        port_state.crossing |= 1 << lane;
        port_state.queued += size;
        self.give_credit(from, unit, end, size);
        self.send(port);
        self.plan(port);
        end
    }
}
