//! Offered traffic on the network; for what is measured of it see the library's `window.rs`.

use std::collections::VecDeque;

use library::offered::{Source, Target};
use library::result::Fields;
use library::window::Measured;

use crate::network::{Arrival, Network, NetworkEvent, Piece};
use crate::settings::{Offered, Settings};

/// Standard deviations that the growth of the backlog exceeds if it is more than chance.
const GROWTH_DEVIATIONS: f64 = 5.0;

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
    created: u32,
    measured: Measured,
    /// Of the messages due in each batch that have arrived, the sum of their times without the source queue.
    in_network_ps: Vec<u64>,
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
            created: 0,
            measured: Measured::new(offered.window, nodes),
            in_network_ps: vec![0; offered.window.batches as usize],
            link_bytes: Vec::new(),
            network,
            offered,
        }
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
        let window = self.offered.window;
        let (warmup, end) = (window.warmup, window.end());
        self.network.set_timer(warmup, clock);
        let mut before = Vec::new();
        while let Some(happening) = self.network.next() {
            let now = self.network.now;
            self.measured.count_until(now);
            match happening {
                NetworkEvent::Timer(timer) if timer == clock => {
                    if now == warmup {
                        before = self.network.link_counts().0;
                        self.network.set_timer(end, clock);
                        continue;
                    }
                    if now == end {
                        let after = self.network.link_counts().0;
                        self.link_bytes = after.iter().zip(&before).map(|(after, before)| after - before).collect();
                    }
                    if !self.measured.goes_on(now, GROWTH_DEVIATIONS) {
                        return;
                    }
                    self.network.set_timer((now + window.batch).min(window.limit()), clock);
                }
                NetworkEvent::Timer(node) => self.create(node),
                NetworkEvent::Ready(node) | NetworkEvent::Acknowledged(node) => self.send(node),
                NetworkEvent::Arrived(message) => self.arrive(message),
            }
        }
    }

    /// Queue the message of a node that is due.
    fn create(&mut self, node: u32) {
        let due = self.network.now;
        let source = self.sources[node as usize].as_mut().expect("it has a timer");
        let (destination, bytes) = source.take(&self.offered.sizes);
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
        self.measured.create(node as usize, due, bytes);
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
        let size = to_leave.min(self.network.packet_bytes());
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
        if let Some(batch) = self.measured.arrive(node as usize, due, now, bytes) {
            self.in_network_ps[batch] += now - entered;
        }
    }

    pub fn to_json(&self, version: &str) -> String {
        let mut fields = Fields::new("version", version);
        fields.number("end_ps", self.network.now);
        self.measured.add_to(&mut fields, "ps", "_bytes");
        fields.list("in_network_ps", &self.in_network_ps);
        fields.list("link_bytes", &self.link_bytes);
        fields.list("packets_by_hops", &self.network.counts.packets_by_hops);
        fields.list("minimal_packets", self.network.counts.minimal);
        fields.end()
    }
}
