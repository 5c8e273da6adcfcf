//! Links: what a port sends, and the room at its other end.

use super::*;

impl Network {
    /// Send a credit for bytes of a unit, free from a time on, to the sender of an input.
    pub(super) fn give_credit(&mut self, input_port: u32, unit: u32, time: u64, bytes: u32) {
        let sender = self.sender_of[input_port as usize];
        let port = &self.ports[sender as usize];
        let credit = Credit { time: time + port.latency, unit, bytes };
        let waits = port.waits_for_credit;
        let credits = &mut self.credits[sender as usize];
        let mut position = credits.len();
        while position > 0 && credits[position - 1].time > credit.time {
            position -= 1;
        }
        credits.insert(position, credit);
        if waits {
            self.wake(sender, credit.time);
        }
    }

    /// Count the credits that have come back to a port.
    pub(super) fn collect_credits(&mut self, port: u32) {
        let credits = &mut self.credits[port as usize];
        while let Some(&Credit { time, unit, bytes }) = credits.front() {
            if time > self.now {
                return;
            }
            credits.pop_front();
            self.in_pools.give_back(port, unit, bytes);
            self.ports[port as usize].outstanding -= bytes;
        }
    }

    /// Return the bytes that wait for a port, in virtual output queues, in its output, and at the other end of its link or on
    /// the way there.
    pub(super) fn queue_of(&mut self, port: u32) -> u32 {
        self.collect_credits(port);
        self.release(port);
        let Port { awaiting, queued, outstanding, .. } = self.ports[port as usize];
        awaiting + queued + outstanding
    }

    /// Return the same without the bytes in flight on a fully used link.
    pub(super) fn demand(&mut self, port: u32) -> u32 {
        self.queue_of(port);
        let Port { awaiting, queued, outstanding, under_way, .. } = self.ports[port as usize];
        awaiting + queued + outstanding.saturating_sub(under_way)
    }

    /// Give back the room in the output queue of the packet that a link has sent.
    #[inline]
    pub(super) fn release(&mut self, port: u32) {
        let state = &mut self.ports[port as usize];
        if state.leaving_bytes > 0 && state.free_at <= self.now {
            let bytes = std::mem::take(&mut state.leaving_bytes);
            state.queued -= bytes;
            self.out_pools.give_back(port, state.leaving_unit, bytes);
        }
    }

    /// Let a port of a router send a packet, if its link is free; after one of 0 bytes it still is.
    pub(super) fn send(&mut self, port: u32) {
        loop {
            self.release(port);
            let state = &self.ports[port as usize];
            if state.free_at > self.now || state.filled == 0 {
                return;
            }
            self.collect_credits(port);
            let lane = self.lane_to_send(port);
            self.ports[port as usize].waits_for_credit = lane.is_none();
            match lane {
                Some(lane) => self.start(port, lane),
                None => return,
            }
        }
    }

    /// Return the lane of a port that sends next: of the traffic class that is furthest behind its share, lanes in turn.
    #[inline]
    pub(super) fn lane_to_send(&mut self, port: u32) -> Option<u32> {
        let (filled, turn) = (self.ports[port as usize].filled, self.ports[port as usize].turn);
        let later = u64::MAX << turn;
        let of_all =
            self.first_with_credit(port, filled & later).or_else(|| self.first_with_credit(port, filled & !later));
        if self.routes.settings.traffic_classes.len() == 1 || of_all.is_none() {
            return of_all;
        }
        let channels = self.lanes_per_traffic_class;
        let lanes_of = |class: usize| mask(class * channels as usize, (class + 1) * channels as usize);
        let candidates = (0..self.routes.settings.traffic_classes.len()).filter_map(|class| {
            let lanes = filled & lanes_of(class);
            let lane =
                self.first_with_credit(port, lanes & later).or_else(|| self.first_with_credit(port, lanes & !later))?;
            let served = self.served[port as usize * self.routes.settings.traffic_classes.len() + class]
                .max(self.virtual_time[port as usize]);
            Some((served, lane))
        });
        candidates.min_by(|one, other| one.partial_cmp(other).expect("numbers")).map(|(_, lane)| lane)
    }

    /// Return the first of some lanes with packets whose first one has room at the other end.
    #[inline]
    pub(super) fn first_with_credit(&self, port: u32, lanes: u64) -> Option<u32> {
        if self.ports[port as usize].end == End::Node {
            return (lanes != 0).then(|| lanes.trailing_zeros());
        }
        let mut lanes = lanes;
        while lanes != 0 {
            let lane = lanes.trailing_zeros();
            let packet = self.outputs[(port * self.lanes + lane) as usize].head;
            let size = self.packets[packet as usize].size;
            if self.in_pools.has_room(port, self.unit_of_lane[lane as usize], size) {
                return Some(lane);
            }
            lanes &= lanes - 1;
        }
        None
    }

    pub(super) fn start(&mut self, port: u32, lane: u32) {
        let out_lane = &mut self.outputs[(port * self.lanes + lane) as usize];
        let packet = out_lane.head;
        let Packet { size, tail, message, goal, hop, .. } = self.packets[packet as usize];
        out_lane.head = std::mem::replace(&mut self.packets[packet as usize].next, NONE);
        let is_last = out_lane.head == NONE;
        let unit = self.unit_of_lane[lane as usize];
        let state = &mut self.ports[port as usize];
        if is_last {
            state.filled &= !(1 << lane);
        }
        let end = state.occupy(self.now, size).max(tail);
        state.free_at = end;
        (state.leaving_unit, state.leaving_bytes) = (unit, size);
        state.turn = if lane + 1 == self.lanes { 0 } else { lane as u8 + 1 };
        let (latency, link, destination) = (state.latency, state.link, state.end);
        self.account(port, lane, size);
        match destination {
            End::Node => {
                if hop as usize >= self.counts.packets_by_hops.len() {
                    self.counts.packets_by_hops.resize(hop as usize + 1, 0);
                }
                self.counts.packets_by_hops[hop as usize] += 1;
                self.counts.ejected_bytes += u64::from(size);
                if self.management.is_some() {
                    self.acknowledge(packet, end + latency);
                }
                self.packets[packet as usize].next = self.free;
                self.free = packet;
                let arrival = &mut self.arrivals[message as usize];
                arrival.to_come -= size;
                arrival.last = arrival.last.max(end + latency);
                if arrival.to_come == 0 {
                    let last = std::mem::take(&mut arrival.last);
                    self.queue.push(Event { key: last << 2 | TASK, b: message, a: ARRIVAL });
                }
            }
            End::Router(to) => {
                let state = &mut self.packets[packet as usize];
                (state.head, state.tail, state.hop) = (self.now + latency, end + latency, hop + 1);
                if link != NONE {
                    self.job_packets.count(state.node as usize, link as usize);
                }
                let next_router = self.router_of[to as usize];
                self.enter_router(packet, next_router, next_router == goal);
                self.queue_at(port, packet, to, lane);
            }
        }
    }

    /// Send an acknowledgement of a packet that arrives at a time.
    pub(super) fn acknowledge(&mut self, packet: u32, time: u64) {
        let Packet { interface, node, size, is_marked, latency, .. } = self.packets[packet as usize];
        let acknowledgement = Acknowledgement { interface, destination: node, bytes: size, is_marked };
        if let Some(management) = &mut self.management {
            let number = management.keep(acknowledgement);
            self.queue.push(Event { key: (time + u64::from(latency)) << 2 | TASK, b: number, a: ACKNOWLEDGEMENT });
        }
    }

    /// Charge a packet to its traffic class.
    pub(super) fn account(&mut self, port: u32, lane: u32, size: u32) {
        if self.routes.settings.traffic_classes.len() > 1 {
            let class = (lane / self.lanes_per_traffic_class) as usize;
            let served = &mut self.served[port as usize * self.routes.settings.traffic_classes.len() + class];
            let begin = served.max(self.virtual_time[port as usize]);
            self.virtual_time[port as usize] = begin;
            *served = begin + f64::from(size) / self.routes.settings.traffic_classes[class];
        }
    }

    /// Put a packet that a port sends on a lane into the input at the other end.
    pub(super) fn queue_at(&mut self, port: u32, packet: u32, input_port: u32, lane: u32) {
        let unit = self.unit_of_lane[lane as usize];
        let state = &mut self.packets[packet as usize];
        (state.unit, state.input) = (unit as u8, input_port);
        let Packet { size, head, .. } = *state;
        self.in_pools.take(port, unit, size);
        self.ports[port as usize].outstanding += size;
        if !self.has_lanes {
            self.push_ask(head, packet);
            return;
        }
        let input = input_port * self.lanes + lane;
        let queue = &mut self.inputs[input as usize];
        let last = std::mem::replace(&mut queue.tail, packet);
        if queue.head == NONE {
            queue.head = packet;
            let time = head.max(queue.busy_until);
            self.push_ask(time, input);
        } else {
            self.packets[last as usize].next = packet;
        }
    }
}
