//! Network interfaces: packets that leave their nodes.

use super::*;

impl Network {
    pub fn interface_free_at(&self, node: u32) -> u64 {
        self.ports[(self.first_interface + node) as usize].free_at
    }

    pub fn wake_interface(&mut self, node: u32, time: u64) {
        self.wake(self.first_interface + node, time);
    }

    /// Let a network interface that is free send a packet; return when it has left, or none if there is no room for it: then
    /// the interface is ready again when there may be.
    pub fn inject(&mut self, interface: u32, piece: Piece, traffic_class: usize) -> Option<u64> {
        let port = self.first_interface + interface;
        self.collect_credits(port);
        let lane = self.lane_to_inject(port, traffic_class, piece.size);
        self.ports[port as usize].waits_for_credit = lane.is_none();
        if lane.is_none() {
            if let Some(credit) = self.credits[port as usize].front() {
                let time = credit.time;
                self.wake(port, time);
            }
        }
        let lane = lane?;
        let packet = self.new_packet(interface, piece, traffic_class);
        let state = &mut self.ports[port as usize];
        let end = state.occupy(self.now, piece.size);
        state.free_at = end;
        state.turn = ((lane + 1) % self.lanes_per_traffic_class) as u8;
        let (latency, destination) = (state.latency, state.end);
        if let Some(management) = &mut self.management {
            management.send(interface, piece.node, piece.size);
        }
        self.counts.injected_bytes += u64::from(piece.size);
        let slot = &mut self.packets[packet as usize];
        (slot.head, slot.tail, slot.latency) = (self.now + latency, end + latency, latency as u32);
        if let End::Router(to) = destination {
            self.queue_at(port, packet, to, lane);
        }
        Some(end)
    }

    /// Return the lane on which a network interface sends: the next one with room, or the lowest if each has a buffer.
    pub(super) fn lane_to_inject(&self, port: u32, traffic_class: usize, bytes: u32) -> Option<u32> {
        let (first, channels) = (traffic_class as u32 * self.lanes_per_traffic_class, self.lanes_per_traffic_class);
        let turn = if self.has_lanes { 0 } else { u32::from(self.ports[port as usize].turn) };
        let mut lanes = (0..channels).map(|step| first + (turn + step) % channels);
        lanes.find(|&lane| self.in_pools.has_room(port, self.unit_of_lane[lane as usize], bytes))
    }

    pub(super) fn new_packet(&mut self, interface: u32, piece: Piece, traffic_class: usize) -> u32 {
        let goal = self.node_router[piece.node as usize];
        let here = self.node_router[interface as usize];
        let sent = &mut self.sent_packets[interface as usize];
        let key = mix(self.seed ^ (u64::from(interface) << 32 | u64::from(*sent))) as u32;
        *sent = sent.wrapping_add(1);
        let now_ns = self.now / 1000;
        let priority = self.fair.as_mut().map_or(0, |fair| fair.priority(piece.job, here as usize, now_ns));
        let mut packet = Packet {
            next: NONE,
            key,
            message: piece.message,
            node: piece.node,
            goal,
            size: piece.size,
            priority,
            traffic_class: traffic_class as u8,
            input: NONE,
            interface,
            ..Packet::default()
        };
        if goal != here {
            self.begin_route(&mut packet, here);
        }
        if self.free == NONE {
            self.packets.push(packet);
            return self.packets.len() as u32 - 1;
        }
        let index = self.free;
        self.free = self.packets[index as usize].next;
        self.packets[index as usize] = packet;
        index
    }
}
