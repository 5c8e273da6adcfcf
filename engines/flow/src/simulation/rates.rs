//! Rates of flows: max-min fair shares, and what waits in the first buffers.

use super::*;

impl Simulation {
    pub(super) fn find_rates(&mut self) {
        self.outcome.solved += 1;
        self.together.clear();
        self.groups.clear();
        self.others.clear();
        self.units.clear();
        for node in 0..self.nodes.len() {
            self.group(node);
        }
        let (flows, groups, together) = (&self.flows, &self.group_of, &self.together);
        let parts = |flow: u32| match &groups[flow as usize] {
            Some((first, end)) => &together[*first as usize..*end as usize],
            None => &flows[flow as usize].parts[..],
        };
        self.fair.solve(&self.units, parts, &mut self.rate, &mut self.full);
        for (anchor, others) in &self.groups {
            self.group_of[*anchor as usize] = None;
            for &other in &self.others[others.clone()] {
                self.rate[other as usize] = self.rate[*anchor as usize];
                self.full[other as usize] = self.full[*anchor as usize];
            }
        }
        for node in &mut self.nodes {
            let drain: f64 = node.flows.iter().map(|&flow| self.rate[flow as usize]).sum();
            let host = self.settings.links.bandwidth[self.settings.links.host()];
            let service = if node.held < self.settings.window * FULL { host } else { drain };
            node.service = if node.placed == 0 { 0.0 } else { service / node.placed as f64 };
        }
        if self.routes.chooses() {
            self.count_waiting();
        }
    }

    /// Group the flows of a node that have the same rate. While its first buffer is full, a message without bytes in it has
    /// the rate of the messages that fill it.
    fn group(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        let flows = &mut self.flows;
        node.held = 0.0;
        let (mut most, mut anchor) = (0.0, None);
        for &index in &node.flows {
            let flow = &mut flows[index as usize];
            flow.held = flow.in_buffer(node.served);
            node.held += flow.held;
            if flow.placed && flow.held > most {
                (most, anchor) = (flow.held, Some(index));
            }
        }
        let passed_s = self.passed_ns * 1e-9;
        let (rate, little) = (&self.rate, STARVED * self.settings.packet);
        let starved = |index: u32, held: f64| held <= little.max(rate[index as usize] * passed_s);
        let anchor = anchor.filter(|&anchor| node.held >= self.settings.window * FULL && !starved(anchor, most));
        let (others, first) = (self.others.len(), self.together.len());
        for &index in &node.flows {
            let flow = &flows[index as usize];
            if anchor.is_some() && flow.placed && starved(index, flow.held) {
                self.others.push(index);
                self.together.extend_from_slice(&flow.parts);
            } else {
                self.units.push(index);
            }
        }
        if let (Some(anchor), true) = (anchor, self.others.len() > others) {
            self.together.extend_from_slice(&flows[anchor as usize].parts);
            self.group_of[anchor as usize] = Some((first as u32, self.together.len() as u32));
            self.groups.push((anchor, others..self.others.len()));
        }
    }

    /// Count the packets that wait for each link: those in the first buffers of flows that other links limit.
    fn count_waiting(&mut self) {
        self.waiting.iter_mut().for_each(|waiting| *waiting = 0.0);
        for &index in &self.active {
            let flow = &self.flows[index as usize];
            let node = flow.node;
            let mut held =
                flow.rest.min(self.settings.window / self.nodes[node].flows.len() as f64) / self.settings.packet;
            if self.full[index as usize] == self.routes.injection(node) {
                held = 0.0;
            }
            for &(link, part) in &flow.parts {
                let capacity = self.routes.capacity[link as usize];
                self.waiting[link as usize] += (held + self.rate[index as usize] / capacity) * part / capacity;
            }
        }
    }
}
