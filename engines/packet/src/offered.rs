//! Offered traffic on the network, in open loop: messages are due at times that do not depend on the network, and wait in an
//! unbounded queue of their node. The latency, from the due time to the arrival of the last byte, includes this queue.
//!
//! After the warm-up follow batches of equal length. Messages due in a batch are measured; load goes on until all of them
//! have arrived, for as many measured windows as `drain` at most; not at all if the backlog has grown in the second half of
//! the window, by more than chance.

use std::collections::VecDeque;

use library::histogram::Histogram;
use library::offered::{Source, Target};
use library::result::Fields;

use crate::network::{Arrival, Happening, Network, Piece};
use crate::settings::{Offered, Settings};

/// What is measured in one batch.
#[derive(Debug, Clone, Default)]
struct Batch {
    /// Messages due in it, their bytes, and bytes of those that arrived in it, whenever they were due.
    created: u64,
    created_bytes: u64,
    arrived_bytes: u64,
    /// Integral over its time of the messages that were due and had not arrived.
    backlog_ps: u128,
    /// Of the messages due in it: how many have arrived, and the sums of their times with and without the source queue.
    measured: u64,
    latency_ps: u64,
    in_network_ps: u64,
    longest_ps: u64,
    latencies: Histogram,
}

/// A message that is due and has not arrived.
#[derive(Debug, Clone, Copy)]
struct Message {
    node: u32,
    destination: u32,
    due: u64,
    entered: u64,
    bytes: u32,
    to_leave: u32,
}

pub struct OfferedTraffic {
    network: Network,
    offered: Offered,
    sources: Vec<Option<Source>>,
    /// Messages of each node in the order in which they leave.
    queues: Vec<VecDeque<u32>>,
    messages: Vec<Message>,
    free: Vec<u32>,
    batches: Vec<Batch>,
    /// Messages due and not arrived: now, and at the beginning, in the middle and at the end of the window.
    backlog: u64,
    backlog_at: [u64; 3],
    /// Measured messages that have not arrived.
    awaited: u64,
    counted_until: u64,
    created: u32,
    node_created_bytes: Vec<u64>,
    node_arrived_bytes: Vec<u64>,
    link_bytes: Vec<u64>,
}

impl OfferedTraffic {
    /// `targets` are those of each node.
    pub fn new(network: Network, targets: Vec<Vec<Target>>, offered: Offered, settings: &Settings) -> OfferedTraffic {
        let nodes = targets.len();
        let message_ps = offered.sizes.mean_bytes * 1e12 / settings.links.bandwidth[settings.links.host()];
        let source = |(node, targets)| {
            Source::new(node, settings.routing.seed, targets, offered.arrivals, offered.load, message_ps)
        };
        OfferedTraffic {
            sources: targets.into_iter().enumerate().map(source).collect(),
            queues: vec![VecDeque::new(); nodes],
            messages: Vec::new(),
            free: Vec::new(),
            batches: vec![Batch::default(); offered.batches as usize],
            backlog: 0,
            backlog_at: [0; 3],
            awaited: 0,
            counted_until: 0,
            created: 0,
            node_created_bytes: vec![0; nodes],
            node_arrived_bytes: vec![0; nodes],
            link_bytes: Vec::new(),
            network,
            offered,
        }
    }

    fn end(&self) -> u64 {
        self.offered.warmup_ps + self.offered.batch_ps * self.offered.batches
    }

    /// Return the batch of a time; none before and behind the window.
    fn batch_of(&self, time: u64) -> Option<usize> {
        let in_window = (self.offered.warmup_ps..self.end()).contains(&time);
        in_window.then(|| ((time - self.offered.warmup_ps) / self.offered.batch_ps) as usize)
    }

    /// Simulate the window, and then until all that was due in it has arrived.
    pub fn run(&mut self) {
        // The timer behind those of the nodes.
        let clock = self.sources.len() as u32;
        for (node, source) in self.sources.iter().enumerate() {
            if let Some(source) = source {
                self.network.set_timer(source.due(), node as u32);
            }
        }
        let (warmup, end) = (self.offered.warmup_ps, self.end());
        let limit = end + self.offered.drain * self.offered.batch_ps * self.offered.batches;
        self.network.set_timer(warmup, clock);
        let mut before = Vec::new();
        while let Some(happening) = self.network.next() {
            let now = self.network.now;
            self.count_until(now);
            match happening {
                Happening::Timer(timer) if timer == clock => {
                    if now == warmup {
                        before = self.network.link_counts().0;
                        self.network.set_timer(end, clock);
                        continue;
                    }
                    if now == end {
                        let after = self.network.link_counts().0;
                        self.link_bytes = after.iter().zip(&before).map(|(after, before)| after - before).collect();
                    }
                    // A growing backlog means that the load is not sustained: then latencies grow with the length of the run.
                    if self.is_growing() || self.awaited == 0 || now >= limit {
                        return;
                    }
                    self.network.set_timer((now + self.offered.batch_ps).min(limit), clock);
                }
                Happening::Timer(node) => self.create(node),
                Happening::Ready(node) | Happening::Acknowledged(node) => self.send(node),
                Happening::Arrived(message) => self.arrive(message),
            }
        }
    }

    /// Add up the backlog until a time.
    fn count_until(&mut self, time: u64) {
        let moments = [
            self.offered.warmup_ps,
            self.offered.warmup_ps + self.offered.batch_ps * (self.offered.batches / 2),
            self.end(),
        ];
        for (at, moment) in moments.into_iter().enumerate() {
            if self.counted_until < moment && moment <= time {
                self.backlog_at[at] = self.backlog;
            }
        }
        while self.counted_until < time {
            let (until, batch) = match self.batch_of(self.counted_until) {
                Some(batch) => (self.offered.warmup_ps + self.offered.batch_ps * (batch as u64 + 1), Some(batch)),
                None if self.counted_until < self.offered.warmup_ps => (self.offered.warmup_ps, None),
                None => (time, None),
            };
            let until = until.min(time);
            if let Some(batch) = batch {
                self.batches[batch].backlog_ps += u128::from(self.backlog) * u128::from(until - self.counted_until);
            }
            self.counted_until = until;
        }
    }

    /// Queue the message of a node that is due.
    fn create(&mut self, node: u32) {
        let due = self.network.now;
        let source = self.sources[node as usize].as_mut().expect("it has a timer");
        let (destination, bytes) = source.take_sized(&self.offered.sizes);
        self.network.set_timer(source.due(), node);
        let message = Message { node, destination: destination as u32, due, entered: 0, bytes, to_leave: bytes };
        let number = match self.free.pop() {
            Some(number) => {
                self.messages[number as usize] = message;
                number
            }
            None => {
                self.messages.push(message);
                self.network.arrivals.push(Arrival::default());
                self.messages.len() as u32 - 1
            }
        };
        self.network.arrivals[number as usize] = Arrival::of(bytes, self.created);
        self.created = self.created.wrapping_add(1);
        self.queues[node as usize].push_back(number);
        self.backlog += 1;
        if let Some(batch) = self.batch_of(due) {
            self.batches[batch].created += 1;
            self.batches[batch].created_bytes += u64::from(bytes);
            self.awaited += 1;
            self.node_created_bytes[node as usize] += u64::from(bytes);
        }
        let free_at = self.network.interface_free_at(node).max(due);
        self.network.wake_interface(node, free_at);
    }

    fn send(&mut self, node: u32) {
        let (now, free_at) = (self.network.now, self.network.interface_free_at(node));
        if free_at > now {
            self.network.wake_interface(node, free_at);
            return;
        }
        let number = match self.queues[node as usize].front() {
            Some(&number) => number,
            None => return,
        };
        let Message { destination, to_leave, .. } = self.messages[number as usize];
        let size = to_leave.min(self.network.packet_bytes);
        let piece = Piece { message: number, size, node: destination, job: 0 };
        if let Some(end) = self.network.inject(node, piece, 0) {
            let message = &mut self.messages[number as usize];
            if message.to_leave == message.bytes {
                message.entered = now;
            }
            message.to_leave -= size;
            if message.to_leave == 0 {
                self.queues[node as usize].pop_front();
            }
            if !self.queues[node as usize].is_empty() {
                self.network.wake_interface(node, end);
            }
        }
    }

    fn arrive(&mut self, number: u32) {
        let now = self.network.now;
        let Message { node, due, entered, bytes, .. } = self.messages[number as usize];
        self.free.push(number);
        self.backlog -= 1;
        if let Some(batch) = self.batch_of(now) {
            self.batches[batch].arrived_bytes += u64::from(bytes);
            self.node_arrived_bytes[node as usize] += u64::from(bytes);
        }
        if let Some(batch) = self.batch_of(due) {
            self.awaited -= 1;
            let (batch, latency) = (&mut self.batches[batch], now - due);
            batch.measured += 1;
            batch.latency_ps += latency;
            batch.in_network_ps += now - entered;
            batch.longest_ps = batch.longest_ps.max(latency);
            batch.latencies.add(latency);
        }
    }

    /// Whether the backlog has grown by more than 1 % of what was created in the second half of the window, and than five
    /// standard deviations of the difference of two counts.
    fn is_growing(&self) -> bool {
        let created: u64 = self.batches[self.batches.len() / 2..].iter().map(|batch| batch.created).sum();
        let noise = 5.0 * ((self.backlog_at[1] + self.backlog_at[2]) as f64).sqrt();
        let growth = self.backlog_at[2].saturating_sub(self.backlog_at[1]) as f64;
        growth > (0.01 * created as f64).max(noise)
    }

    /// Return the result as JSON.
    pub fn to_json(&self, version: &str) -> String {
        let mut fields = Fields::new("version", version);
        let batches = &self.batches;
        fields.number("end_ps", self.network.now);
        fields.number("awaited", self.awaited);
        fields.list("backlog", self.backlog_at);
        fields.list("link_bytes", &self.link_bytes);
        fields.list("node_created_bytes", &self.node_created_bytes);
        fields.list("node_arrived_bytes", &self.node_arrived_bytes);
        fields.list("created", batches.iter().map(|batch| batch.created));
        fields.list("created_bytes", batches.iter().map(|batch| batch.created_bytes));
        fields.list("arrived_bytes", batches.iter().map(|batch| batch.arrived_bytes));
        fields.list("backlog_ps", batches.iter().map(|batch| batch.backlog_ps));
        fields.list("measured", batches.iter().map(|batch| batch.measured));
        fields.list("latency_ps", batches.iter().map(|batch| batch.latency_ps));
        fields.list("in_network_ps", batches.iter().map(|batch| batch.in_network_ps));
        fields.list("longest_ps", batches.iter().map(|batch| batch.longest_ps));
        fields.list("packets_by_hops", &self.network.counts.packets_by_hops);
        fields.list("minimal_packets", self.network.counts.minimal);
        fields.lists("twice_latency_counts", batches.iter().map(|batch| batch.latencies.listed()));
        fields.end()
    }
}
