//! Crossing a router: which packet gets which output lane.

use super::*;

impl Network {
    /// Let a packet, or the first one of an input lane, request an output: its head has arrived.
    pub(super) fn ask(&mut self, number: u32) {
        if self.has_lanes {
            self.advance(number);
        } else {
            self.enter_queue(number);
        }
    }

    /// Plan that a packet, or the first one of an input lane, asks at a time, in random order with others.
    pub(super) fn push_ask(&mut self, time: u64, number: u32) {
        let random = if self.has_lanes {
            self.draw_once(u64::from(self.inputs[number as usize].ticket), u64::from(number))
        } else {
            let Packet { key, input, .. } = self.packets[number as usize];
            self.draw_once(0, u64::from(key) << 32 | u64::from(input))
        };
        self.queue.push(Event { key: time << 2 | ASK, b: (random >> 32) as u32, a: number });
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
                let ways = self.ways_of_queue(input);
                let chosen = self.choose(&ways, head);
                if chosen.is_none() {
                    self.wait(input, &ways);
                }
                self.ways = ways;
                match chosen {
                    Some(output) => self.grant(input, output),
                    None => return,
                }
            }
            if self.has_lanes {
                // The next packet asks when this one has crossed.
                return;
            }
        }
    }

    /// Return the ways of a packet at a router, in the vector `ways`.
    pub(super) fn find_ways(&mut self, packet: u32, here: u32) -> Vec<Way> {
        let mut ways = std::mem::take(&mut self.ways);
        ways.clear();
        let packet = &self.packets[packet as usize];
        if packet.goal == here {
            let last_class = self.routes.settings.classes as u8 - 1;
            ways.push(Way { port: self.node_port[packet.node as usize], first_class: 0, last_class, escape: false });
        } else {
            self.routes.find(here as usize, packet, &mut ways);
        }
        ways
    }

    /// Return the ways of the first packet of a queue, in the vector `ways`.
    fn ways_of_queue(&mut self, input: u32) -> Vec<Way> {
        let InputQueue { head, port, outputs, .. } = self.inputs[input as usize];
        match only_way(outputs) {
            Some(way) if !self.has_lanes => {
                let mut ways = std::mem::take(&mut self.ways);
                ways.clear();
                ways.push(way);
                ways
            }
            _ => self.find_ways(head, self.router_of[port as usize]),
        }
    }

    #[inline]
    pub(super) fn router_of_queue(&self, input: u32) -> u32 {
        self.router_of[self.inputs[input as usize].port as usize]
    }

    #[inline]
    pub(super) fn router_behind(&self, port: u32) -> Option<u32> {
        match self.ports[port as usize].end {
            End::Router(to) => Some(self.router_of[to as usize]),
            End::Node => None,
        }
    }

    /// Let the first packet of a queue cross to an output lane.
    pub(super) fn grant(&mut self, input: u32, output: u32) {
        let packet = self.inputs[input as usize].head;
        if !self.has_lanes {
            let ways = self.ways_of_queue(input);
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
            self.push_ask(time, input);
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
            let threshold = THRESHOLD_PACKETS * self.packet_bytes();
            let Port { end, queued, latency, .. } = self.ports[port as usize];
            let state = &mut self.packets[packet as usize];
            state.latency = state.latency.saturating_add(latency as u32);
            state.is_marked |= end == End::Node && queued > threshold;
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
