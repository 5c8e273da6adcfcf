//! Advancing the clock at constant rates.

use super::*;

impl Simulation {
    /// Return the time up to which events are processed together.
    pub(super) fn next_ns(&mut self) -> f64 {
        self.list_events();
        if let Some(Reverse((at_ns, _))) = self.coming.peek() {
            self.events.push(at_ns.0 - self.now_ns);
        }
        let turnover: f64 =
            self.active.iter().map(|&flow| self.rate[flow as usize] / self.flows[flow as usize].size).sum();
        let life_ns = if turnover > 0.0 { 1e9 * self.active.len() as f64 / turnover } else { 0.0 };
        let first_ns = self.events.iter().copied().fold(f64::INFINITY, f64::min);
        let limit_ns = first_ns + self.settings.batching * life_ns;
        let last_ns = self.events.iter().copied().filter(|&in_ns| in_ns <= limit_ns).fold(first_ns, f64::max);
        // A wait that is shorter than the resolution of the clock would never end.
        (self.now_ns + last_ns.max(0.0)).max(self.now_ns * (1.0 + f64::EPSILON))
    }

    /// List the next events at the present rates: flows end or choose again, messages leave their slots, buffers fill and
    /// messages drain from them.
    fn list_events(&mut self) {
        let (events, little) = (&mut self.events, STARVED * self.settings.packet);
        events.clear();
        for node in &self.nodes {
            let full = node.held >= self.settings.window * FULL;
            let mut fills = node.service * node.placed as f64;
            for &index in &node.flows {
                let (flow, mut rate) = (&self.flows[index as usize], self.rate[index as usize]);
                fills -= rate;
                if flow.placed {
                    let eager = self.operations.is_eager(flow.send);
                    if eager || !node.waiting.is_empty() {
                        events.push(1e9 * (flow.size - flow.left(node.served)) / node.service);
                    }
                    if flow.held <= little {
                        rate = rate.min(node.service);
                    } else if full && rate > node.service * (1.0 + 1e-6) {
                        events.push(1e9 * flow.held / (rate - node.service));
                    }
                }
                if rate > 0.0 {
                    events.push(1e9 * (flow.rest - flow.until) / rate);
                }
            }
            if !full && node.placed > 0 && fills > 0.0 {
                events.push(1e9 * (self.settings.window - node.held) / fills);
            }
        }
    }

    /// Advance to a time, and process the events until then.
    pub(super) fn advance(&mut self, until_ns: f64) {
        let passed_ns = until_ns - self.now_ns;
        self.passed_ns = passed_ns;
        let mut position = 0;
        while position < self.active.len() {
            let index = self.active[position];
            let flow = &mut self.flows[index as usize];
            let rate = self.rate[index as usize] * 1e-9;
            let ends_ns = self.now_ns + flow.rest / rate;
            let node = &self.nodes[flow.node];
            let mut moved = passed_ns * rate;
            if flow.placed {
                moved = moved.min(flow.held + node.service * 1e-9 * passed_ns);
            }
            flow.rest -= moved;
            let little = LITTLE * flow.size;
            if flow.rest <= flow.until + little {
                if flow.rest <= little {
                    self.active.swap_remove(position);
                    self.end(index, ends_ns.min(until_ns));
                    continue;
                }
                self.again(index);
            }
            position += 1;
        }
        for index in 0..self.nodes.len() {
            let node = &mut self.nodes[index];
            if node.placed > 0 {
                let held: f64 = node.flows.iter().map(|&flow| self.flows[flow as usize].in_buffer(node.served)).sum();
                let room = (self.settings.window - held).max(0.0) / node.placed as f64;
                let host = self.settings.links.bandwidth[self.settings.links.host()] / node.placed as f64;
                node.served += room.min(host * 1e-9 * passed_ns);
                for &flow in &node.flows {
                    let flow = &mut self.flows[flow as usize];
                    // Rounding.
                    if flow.placed && flow.in_buffer(node.served) < 0.0 {
                        flow.began = node.served - (flow.size - flow.rest);
                    }
                }
                self.mark(index);
            }
        }
        self.now_ns = until_ns;
        self.happen();
    }

    fn again(&mut self, index: u32) {
        let flow = &self.flows[index as usize];
        if self.routes.chooses() && flow.rest <= flow.chosen_at - flow.size / CHOICES + LITTLE * flow.size {
            self.count_bytes(index);
            self.choose(index);
        } else {
            self.plan(index);
        }
    }

    fn end(&mut self, index: u32, at_ns: f64) {
        self.flows[index as usize].rest = 0.0;
        self.count_bytes(index);
        let flow = &mut self.flows[index as usize];
        flow.parts.clear();
        self.coming.push(Reverse((Finite(at_ns + flow.latency_ns), Event::Arrival(flow.send))));
        if flow.placed && self.operations.is_eager(flow.send) {
            self.coming.push(Reverse((Finite(at_ns), Event::End(flow.send))));
        }
        let index_of_node = flow.node;
        let node = &mut self.nodes[index_of_node];
        node.placed -= usize::from(flow.placed);
        node.flows.retain(|&other| other != index);
        self.mark(index_of_node);
        self.free_flows.push(index);
    }

    /// Count what has crossed the links since they were chosen.
    fn count_bytes(&mut self, index: u32) {
        let flow = &self.flows[index as usize];
        let moved = flow.chosen_at - flow.rest;
        for &(link, part) in &flow.parts {
            if let Some(bytes) = self.outcome.link_bytes.get_mut(link as usize) {
                *bytes += part * moved;
            }
        }
    }
}
