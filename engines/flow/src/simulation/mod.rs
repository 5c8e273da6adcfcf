//! Operations of ranks, and their messages as flows.
//!
//! * Operations: see the library's `operations.rs`. An eager send has ended when its message has left its slot (see below).
//! * Up to `injection` messages of a node are under way at once. In a packet network a message leaves its slot when its
//!   last packet has left the node, and then up to `window` bytes of the node wait in the buffer of its router, an equal
//!   part for each slot. So here a message leaves its slot when no more than `window / injection` bytes of it have to
//!   arrive, and the messages that have left theirs hold no more than `window` bytes.
//! * The ranks of a node take turns in filling free slots, each in its send order.
//! * Flows have max-min fair rates, which are recomputed whenever a flow begins or ends. Ends within `batching` of the
//!   mean duration of a flow are processed together, at the last of them, so that no link exceeds its capacity.
//! * A message has arrived when its last byte has: after its flow has ended, and the latency of its way.

mod advance;
mod rates;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::take;
use std::ops::Range;

use library::network_interface::Waiting;
use library::operation_file::OperationFile;
use library::operations::{Operations, Posted};

use crate::max_min::{Finite, MaxMin, Part};
use crate::routes::{Message, Routes};
use crate::settings::Settings;

/// Adaptive routing and UGAL choose again after each such part of a message.
const CHOICES: f64 = 8.0;
/// Part of a message below which a remainder is due to rounding.
const LITTLE: f64 = 1e-9;
/// A buffer is full from this part on.
const FULL: f64 = 0.999;
/// Packets of a message in the first buffer below which it waits for more.
const STARVED: f64 = 0.01;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A computation or an eager send ends.
    End(u32),
    /// The message of a send arrives.
    Arrival(u32),
}

#[derive(Debug, Default)]
struct Node {
    /// Messages that wait for a slot.
    waiting: Waiting,
    /// Flows under way, in the order of their starts.
    flows: Vec<u32>,
    /// How many of them have a slot.
    placed: usize,
    /// Bytes that each slot has given to the network so far, and how fast it does.
    served: f64,
    service: f64,
    held: f64,
    /// Whether something has changed since free slots were filled.
    changed: bool,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    send: u32,
    node: usize,
    /// Bytes that have to arrive, and at how many of them something happens.
    rest: f64,
    until: f64,
    /// Bytes that had to arrive when the parts were chosen.
    chosen_at: f64,
    parts: Vec<Part>,
    latency_ns: f64,
    placed: bool,
    size: f64,
    /// What slots had given when it began.
    began: f64,
    /// Bytes of it in the first buffer, as of now.
    held: f64,
}

impl Flow {
    /// Bytes that have left the node, of which some wait in the first buffer.
    fn left(&self, served: f64) -> f64 {
        if self.placed {
            (served - self.began).min(self.size)
        } else {
            self.size
        }
    }

    fn in_buffer(&self, served: f64) -> f64 {
        self.left(served) - (self.size - self.rest)
    }
}

pub struct Outcome {
    /// For each job when its last operation ended.
    pub finish_ns: Vec<f64>,
    /// For each job the time in which a rank neither computes nor sends until it ends, mean over the ranks.
    pub waiting_ns: Vec<f64>,
    pub link_bytes: Vec<f64>,
    pub sent_bytes: Vec<f64>,
    pub arrived_bytes: Vec<f64>,
    /// For each job the times from posting a message to its arrival at another node.
    pub message_ns: Vec<Vec<f64>>,
    /// Start and end of each operation and the arrival of its message, if they are asked for.
    pub times_ns: Option<Vec<[f64; 3]>>,
    pub solved: u64,
}

pub struct Simulation {
    settings: Settings,
    routes: Routes,
    fair: MaxMin,
    operations: Operations<f64>,
    job_of_rank: Vec<usize>,
    nodes: Vec<Node>,
    changed: Vec<usize>,
    flows: Vec<Flow>,
    free_flows: Vec<u32>,
    active: Vec<u32>,
    rate: Vec<f64>,
    full: Vec<u32>,
    /// Flows whose rates are solved for, each the representative of flows with the same rate.
    units: Vec<u32>,
    /// Representatives of several flows, with a range of `others`; and a range of `together`, the parts of them all.
    groups: Vec<(u32, Range<usize>)>,
    others: Vec<u32>,
    group_of: Vec<Option<(u32, u32)>>,
    together: Vec<Part>,
    /// Times to the next events, in ns.
    events: Vec<f64>,
    /// Packets that wait for each link over its bandwidth, for routings that ask.
    waiting: Vec<f64>,
    coming: BinaryHeap<Reverse<(Finite, Event)>>,
    now_ns: f64,
    passed_ns: f64,
    outcome: Outcome,
}

impl Simulation {
    pub fn new(settings: Settings, routes: Routes, file: OperationFile) -> Simulation {
        let jobs = file.jobs.len();
        let links = routes.capacity.len();
        let nodes = routes.graph.node_router.len();
        let ranks = file.ranks_of_nodes(nodes).into_iter();
        Simulation {
            fair: MaxMin::new(routes.capacity.clone()),
            nodes: ranks.map(|ranks| Node { waiting: Waiting::new(ranks), ..Node::default() }).collect(),
            job_of_rank: file.ranks.iter().map(|&(job, _)| job).collect(),
            operations: Operations::new(file, settings.record),
            settings,
            changed: Vec::new(),
            flows: Vec::new(),
            free_flows: Vec::new(),
            active: Vec::new(),
            rate: Vec::new(),
            full: Vec::new(),
            units: Vec::new(),
            groups: Vec::new(),
            others: Vec::new(),
            events: Vec::new(),
            group_of: Vec::new(),
            together: Vec::new(),
            waiting: vec![0.0; links],
            coming: BinaryHeap::new(),
            now_ns: 0.0,
            passed_ns: 0.0,
            outcome: Outcome {
                finish_ns: vec![0.0; jobs],
                waiting_ns: vec![0.0; jobs],
                message_ns: vec![Vec::new(); jobs],
                times_ns: None,
                link_bytes: vec![0.0; routes.graph.links],
                sent_bytes: vec![0.0; jobs],
                arrived_bytes: vec![0.0; jobs],
                solved: 0,
            },
            routes,
        }
    }

    pub fn run(mut self) -> Result<Outcome, String> {
        self.take_actions();
        loop {
            self.fill_places();
            if !self.active.is_empty() {
                self.find_rates();
                let until_ns = self.next_ns();
                self.advance(until_ns);
            } else if let Some(&Reverse((next_ns, _))) = self.coming.peek() {
                self.now_ns = next_ns.0;
                self.happen();
            } else {
                break;
            }
        }
        if !self.operations.are_finished() {
            return Err(format!("operations wait for each other, and {}", self.operations.unfinished()));
        }
        let mut ranks = vec![0; self.outcome.finish_ns.len()];
        for (rank, &job) in self.job_of_rank.iter().enumerate() {
            let finish_ns = self.operations.rank_finish[rank].expect("its job has finished");
            self.outcome.finish_ns[job] = self.outcome.finish_ns[job].max(finish_ns);
            self.outcome.waiting_ns[job] += self.operations.rank_waiting[rank];
            ranks[job] += 1;
        }
        for (waited_ns, ranks) in self.outcome.waiting_ns.iter_mut().zip(ranks) {
            *waited_ns /= ranks.max(1) as f64;
        }
        self.outcome.times_ns = self.operations.times;
        Ok(self.outcome)
    }

    /// Process the events that are due by now, each at its own time.
    fn happen(&mut self) {
        while let Some(&Reverse((at_ns, event))) = self.coming.peek() {
            if at_ns.0 > self.now_ns {
                break;
            }
            self.coming.pop();
            match event {
                Event::End(number) => self.operations.end_active(number, at_ns.0),
                Event::Arrival(send) => {
                    let (job, _) = self.operations.job_and_node(send);
                    self.outcome.arrived_bytes[job] += self.operations.bytes_of(send) as f64;
                    self.outcome.message_ns[job].push(at_ns.0 - self.operations.posted_at(send));
                    self.operations.arrive(send, at_ns.0);
                }
            }
            self.take_actions();
        }
    }

    /// Start the timers and post the messages of operations that have started.
    fn take_actions(&mut self) {
        for (end_ns, number) in take(&mut self.operations.timers) {
            self.coming.push(Reverse((Finite(end_ns), Event::End(number))));
        }
        for Posted { node, rank, send, bytes } in take(&mut self.operations.posted) {
            self.nodes[node].waiting.post(rank, send, bytes);
            self.mark(node);
        }
    }

    fn mark(&mut self, node: usize) {
        if !self.nodes[node].changed {
            self.nodes[node].changed = true;
            self.changed.push(node);
        }
    }

    /// Fill the free slots of all nodes where something has changed.
    fn fill_places(&mut self) {
        while !self.changed.is_empty() {
            for node in take(&mut self.changed) {
                self.nodes[node].changed = false;
                self.give_back_places(node);
                while self.nodes[node].placed < self.settings.injection {
                    match self.nodes[node].waiting.take() {
                        Some((send, bytes)) => self.start(node, send, f64::from(bytes)),
                        None => break,
                    }
                    self.give_back_places(node);
                }
            }
            // The ends of eager sends.
            self.happen();
        }
    }

    /// Free the slots of messages that have left the node.
    fn give_back_places(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        for &flow in &node.flows {
            let flow = &mut self.flows[flow as usize];
            if flow.placed && flow.left(node.served) >= flow.size * (1.0 - LITTLE) {
                flow.placed = false;
                node.placed -= 1;
                if self.operations.is_eager(flow.send) {
                    self.coming.push(Reverse((Finite(self.now_ns), Event::End(flow.send))));
                }
            }
        }
    }

    fn start(&mut self, node: usize, send: u32, size: f64) {
        self.outcome.sent_bytes[self.operations.job_and_node(send).0] += size;
        if size == 0.0 {
            return self.send_empty(node, send);
        }
        let index = self.free_flows.pop().unwrap_or_else(|| {
            self.flows.push(Flow::default());
            self.rate.push(0.0);
            self.full.push(0);
            self.group_of.push(None);
            self.flows.len() as u32 - 1
        });
        let flow = &mut self.flows[index as usize];
        (flow.send, flow.node, flow.rest, flow.placed) = (send, node, size, true);
        (flow.size, flow.began) = (size, self.nodes[node].served);
        self.active.push(index);
        self.nodes[node].flows.push(index);
        self.nodes[node].placed += 1;
        self.choose(index);
    }

    fn message_of(&self, source: usize, send: u32) -> Message {
        let (_, destination) = self.operations.job_and_node(self.operations.receive_of(send));
        Message { number: send, source, destination }
    }

    /// Let a message of 0 bytes arrive after the latency of its path.
    fn send_empty(&mut self, node: usize, send: u32) {
        let message = self.message_of(node, send);
        let latency_ns = self.routes.find(message, 1.0, 0.0, &mut self.waiting).latency_ns;
        self.coming.push(Reverse((Finite(self.now_ns + latency_ns), Event::Arrival(send))));
        if self.operations.is_eager(send) {
            self.coming.push(Reverse((Finite(self.now_ns), Event::End(send))));
        }
    }

    /// Choose the links of a flow, and plan when it chooses again.
    fn choose(&mut self, index: u32) {
        let (send, source) = (self.flows[index as usize].send, self.flows[index as usize].node);
        let message = self.message_of(source, send);
        let flow = &mut self.flows[index as usize];
        let packets = flow.rest / self.settings.packet;
        let held = flow.rest.min(self.settings.window / self.nodes[source].flows.len() as f64) / self.settings.packet;
        let route = self.routes.find(message, packets, held, &mut self.waiting);
        flow.parts = route.parts;
        flow.latency_ns = route.latency_ns;
        flow.chosen_at = flow.rest;
        self.plan(index);
    }

    /// Plan at how many remaining bytes a flow ends or chooses again.
    fn plan(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let again = self.routes.chooses() && flow.size > self.settings.packet;
        flow.until = if again { (flow.chosen_at - flow.size / CHOICES).max(0.0) } else { 0.0 };
        debug_assert!(flow.until + LITTLE * flow.size < flow.rest);
    }
}
