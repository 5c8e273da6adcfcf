//! Operations of ranks, and their messages as flows.
//!
//! * An operation starts when the last of those that it needs has ended, or started. A computation also waits for its
//!   stream, in the order in which computations could start.
//! * A receive has ended when it has started and its message has arrived; a synchronous send when its message has arrived,
//!   an eager one when that has left its place (see below). A message within a node takes no time.
//! * A rank finishes with the last of its operations, a job with the last of its ranks.
//! * Up to `injection` messages of a node are under way at once. In a packet network a message leaves its place when its
//!   last packet has left the node, and then up to `window` bytes of the node wait in the buffer of its router, an equal
//!   part for each place. So here a message leaves its place when no more than `window / injection` bytes of it have to
//!   arrive, and the messages that have left theirs hold no more than `window` bytes.
//! * The ranks of a node take turns in filling free places, each in its send order.
//! * Flows get max-min fair rates, anew whenever one begins or ends. Ends within `batching` of a flow's mean life are
//!   taken together, at the last of them: no link carries more than it can.
//! * A message has arrived when its last byte has: after its flow has ended, and the latency of its way.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem::take;
use std::ops::Range;

use library::operation_file::{Kind, OperationFile};

use crate::max_min::{Finite, MaxMin, Part};
use crate::routes::Routes;
use crate::settings::Settings;

/// Adaptive routing and UGAL choose again after each such part of a message.
const CHOICES: f64 = 8.0;
/// What is less than this part of a message is rounding.
const LITTLE: f64 = 1e-9;
/// A buffer is full from this part on.
const FULL: f64 = 0.999;
/// Packets of a message in the first buffer below which it waits for more.
const STARVED: f64 = 0.01;

/// Computations are listed in picoseconds.
const PS_PER_NS: f64 = 1000.0;

#[derive(Debug)]
struct Operation {
    kind: Kind,
    has_started: bool,
    /// Of a receive, whether its message has arrived.
    has_arrived: bool,
    rank: u32,
    stream: u32,
    partner: u32,
    /// What it still needs before it starts.
    missing: u32,
    /// Time of a computation (ns), bytes of a send.
    length: f64,
    started_ns: f64,
}

#[derive(Debug)]
struct Rank {
    job: usize,
    node: usize,
    /// Operations that have not ended.
    left: usize,
    /// Messages that it gives to the node's interface, in their order.
    to_send: VecDeque<u32>,
    /// Computations and sends that have started and not ended.
    active: usize,
    /// The time since which it has none, and that before in which it had none.
    inactive_since_ns: f64,
    waited_ns: f64,
}

/// What a rank computes one after another.
#[derive(Debug, Clone, Default)]
struct Stream {
    busy: bool,
    waiting: VecDeque<u32>,
}

/// Something that happens at a known time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A computation or an eager send ends.
    End(u32),
    /// The message of a send arrives.
    Arrival(u32),
}

#[derive(Debug, Default)]
struct Node {
    ranks: Vec<usize>,
    /// Whose turn it is to give a message to the interface.
    turn: usize,
    /// How many messages they have to give.
    ready: usize,
    /// Flows under way, in the order of their starts.
    flows: Vec<u32>,
    /// How many of them have a place.
    placed: usize,
    /// Bytes that each place has given to the network so far, and how fast it does.
    served: f64,
    service: f64,
    /// Bytes in the first buffer.
    held: f64,
    /// Whether something has changed since free places were filled.
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
    /// What places had given when it began.
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

    /// Bytes of them in the first buffer.
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
    /// Start and arrival of the message of each operation, if they are asked for.
    pub times_ns: Option<Vec<(f64, f64)>>,
    pub solved: u64,
}

pub struct Simulation {
    settings: Settings,
    routes: Routes,
    fair: MaxMin,
    operations: Vec<Operation>,
    /// For each operation where what needs it begins; then all of that: twice its number, plus 1 if it needs the start.
    first_dependent: Vec<u32>,
    dependents: Vec<u32>,
    /// Operations that start now.
    starting: VecDeque<u32>,
    ranks: Vec<Rank>,
    streams: Vec<Stream>,
    nodes: Vec<Node>,
    changed: Vec<usize>,
    flows: Vec<Flow>,
    free_flows: Vec<u32>,
    active: Vec<u32>,
    rate: Vec<f64>,
    full: Vec<u32>,
    /// What is solved for: flows, of which some stand for several that go alike.
    units: Vec<u32>,
    /// Of those that stand for several the others, as a range of `others`; and all their parts, of `together`.
    groups: Vec<(u32, Range<usize>)>,
    others: Vec<u32>,
    group_of: Vec<Option<(u32, u32)>>,
    together: Vec<Part>,
    /// In how many ns something happens.
    events: Vec<f64>,
    /// Packets that wait for each link over its bandwidth, for routings that ask.
    waiting: Vec<f64>,
    coming: BinaryHeap<Reverse<(Finite, Event)>>,
    now_ns: f64,
    passed_ns: f64,
    operations_left: usize,
    outcome: Outcome,
}

impl Simulation {
    pub fn new(settings: Settings, routes: Routes, mut file: OperationFile) -> Simulation {
        let jobs = file.jobs.len();
        let links = routes.capacity.len();
        let nodes = routes.graph.node_router.len();
        let times_ns = settings.record.then(|| vec![(0.0, 0.0); file.operations.len()]);
        let mut simulation = Simulation {
            settings,
            fair: MaxMin::new(routes.capacity.clone()),
            operations: Vec::with_capacity(file.operations.len()),
            first_dependent: std::mem::take(&mut file.first_dependent),
            dependents: std::mem::take(&mut file.dependents),
            starting: VecDeque::new(),
            ranks: Vec::new(),
            streams: vec![Stream::default(); file.streams],
            nodes: (0..nodes).map(|_| Node::default()).collect(),
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
            operations_left: file.operations.len(),
            outcome: Outcome {
                finish_ns: vec![0.0; jobs],
                waiting_ns: vec![0.0; jobs],
                message_ns: vec![Vec::new(); jobs],
                times_ns,
                link_bytes: vec![0.0; routes.graph.links],
                sent_bytes: vec![0.0; jobs],
                arrived_bytes: vec![0.0; jobs],
                solved: 0,
            },
            routes,
        };
        simulation.add(&file);
        simulation
    }

    fn add(&mut self, file: &OperationFile) {
        for (index, &(job, node)) in file.ranks.iter().enumerate() {
            self.ranks.push(Rank {
                job,
                node,
                left: 0,
                to_send: VecDeque::new(),
                active: 0,
                inactive_since_ns: 0.0,
                waited_ns: 0.0,
            });
            self.nodes[node].ranks.push(index);
        }
        for one in &file.operations {
            self.ranks[one.rank as usize].left += 1;
            self.operations.push(Operation {
                kind: one.kind,
                has_started: false,
                has_arrived: false,
                rank: one.rank,
                stream: one.stream,
                partner: one.partner,
                missing: 0,
                length: one.length as f64 / if one.kind == Kind::Calc { PS_PER_NS } else { 1.0 },
                started_ns: 0.0,
            });
        }
        for &dependent in &self.dependents {
            self.operations[dependent as usize / 2].missing += 1;
        }
    }

    pub fn run(mut self) -> Result<Outcome, String> {
        for number in 0..self.operations.len() {
            if self.operations[number].missing == 0 {
                self.let_start(number as u32);
            }
        }
        self.settle(0.0);
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
        if self.operations_left > 0 {
            return Err(format!("{} operations wait for each other", self.operations_left));
        }
        for rank in &self.ranks {
            self.outcome.waiting_ns[rank.job] += rank.waited_ns;
        }
        for (job, waited_ns) in self.outcome.waiting_ns.iter_mut().enumerate() {
            *waited_ns /= self.ranks.iter().filter(|rank| rank.job == job).count().max(1) as f64;
        }
        Ok(self.outcome)
    }

    /// Let all happen that is due by now, each as of its own time.
    fn happen(&mut self) {
        while let Some(&Reverse((at_ns, event))) = self.coming.peek() {
            if at_ns.0 > self.now_ns {
                break;
            }
            self.coming.pop();
            match event {
                Event::End(number) => self.end_active(number, at_ns.0),
                Event::Arrival(send) => {
                    let Operation { kind, rank, partner, length, started_ns, .. } = self.operations[send as usize];
                    let job = self.ranks[rank as usize].job;
                    self.outcome.arrived_bytes[job] += length;
                    self.outcome.message_ns[job].push(at_ns.0 - started_ns);
                    self.note_message(send, started_ns, at_ns.0);
                    if kind == (Kind::Send { eager: false }) {
                        self.end_active(send, at_ns.0);
                    }
                    self.arrive(partner, at_ns.0);
                }
            }
            self.settle(at_ns.0);
        }
    }

    /// Start all operations that may start.
    fn settle(&mut self, at_ns: f64) {
        while let Some(number) = self.starting.pop_front() {
            self.start_operation(number, at_ns);
        }
    }

    /// Note that an operation waits for nothing more, except for its stream.
    fn let_start(&mut self, number: u32) {
        let one = &self.operations[number as usize];
        if one.kind == Kind::Calc {
            let stream = &mut self.streams[one.stream as usize];
            if stream.busy {
                stream.waiting.push_back(number);
                return;
            }
            stream.busy = true;
        }
        self.starting.push_back(number);
    }

    /// Tell what needs an operation that it has ended, or started.
    fn release(&mut self, number: u32, start: bool) {
        for index in self.first_dependent[number as usize]..self.first_dependent[number as usize + 1] {
            let (dependent, of_start) = (self.dependents[index as usize] / 2, self.dependents[index as usize] % 2 == 1);
            if of_start == start {
                let one = &mut self.operations[dependent as usize];
                one.missing -= 1;
                if one.missing == 0 {
                    self.let_start(dependent);
                }
            }
        }
    }

    fn node_of(&self, number: u32) -> usize {
        self.ranks[self.operations[number as usize].rank as usize].node
    }

    fn start_operation(&mut self, number: u32, at_ns: f64) {
        self.release(number, true);
        let Operation { kind, partner, length, .. } = self.operations[number as usize];
        let node = self.node_of(number);
        match kind {
            Kind::Calc if length == 0.0 => self.end_operation(number, at_ns),
            Kind::Calc => {
                self.activate(number, at_ns);
                self.coming.push(Reverse((Finite(at_ns + length), Event::End(number))));
            }
            Kind::Send { .. } if self.node_of(partner) == node => {
                self.note_message(number, at_ns, at_ns);
                self.end_operation(number, at_ns);
                self.arrive(partner, at_ns);
            }
            Kind::Send { .. } => {
                self.activate(number, at_ns);
                let one = &mut self.operations[number as usize];
                one.started_ns = at_ns;
                self.ranks[one.rank as usize].to_send.push_back(number);
                self.nodes[node].ready += 1;
                self.mark(node);
            }
            Kind::Receive => {
                self.operations[number as usize].has_started = true;
                if self.operations[number as usize].has_arrived {
                    self.end_operation(number, at_ns);
                }
            }
        }
    }

    fn note_message(&mut self, send: u32, started_ns: f64, arrived_ns: f64) {
        if let Some(times_ns) = &mut self.outcome.times_ns {
            times_ns[send as usize] = (started_ns, arrived_ns);
        }
    }

    /// Let the message of a receive arrive.
    fn arrive(&mut self, receive: u32, at_ns: f64) {
        self.operations[receive as usize].has_arrived = true;
        if self.operations[receive as usize].has_started {
            self.end_operation(receive, at_ns);
        }
    }

    fn activate(&mut self, number: u32, at_ns: f64) {
        let rank = &mut self.ranks[self.operations[number as usize].rank as usize];
        if rank.active == 0 {
            rank.waited_ns += at_ns - rank.inactive_since_ns;
        }
        rank.active += 1;
    }

    /// End what was activated.
    fn end_active(&mut self, number: u32, at_ns: f64) {
        let rank = &mut self.ranks[self.operations[number as usize].rank as usize];
        rank.active -= 1;
        rank.inactive_since_ns = at_ns;
        self.end_operation(number, at_ns);
    }

    fn end_operation(&mut self, number: u32, at_ns: f64) {
        let Operation { kind, rank, stream, .. } = self.operations[number as usize];
        if kind == Kind::Calc {
            let stream = &mut self.streams[stream as usize];
            match stream.waiting.pop_front() {
                Some(next) => self.starting.push_back(next),
                None => stream.busy = false,
            }
        }
        self.release(number, false);
        self.operations_left -= 1;
        let rank = &mut self.ranks[rank as usize];
        rank.left -= 1;
        if rank.left == 0 {
            rank.waited_ns += at_ns - rank.inactive_since_ns;
            let finish_ns = &mut self.outcome.finish_ns[rank.job];
            *finish_ns = finish_ns.max(at_ns);
        }
    }

    fn mark(&mut self, node: usize) {
        if !self.nodes[node].changed {
            self.nodes[node].changed = true;
            self.changed.push(node);
        }
    }

    /// Fill the free places of all nodes where something has changed.
    fn fill_places(&mut self) {
        while !self.changed.is_empty() {
            for node in take(&mut self.changed) {
                self.nodes[node].changed = false;
                self.give_back_places(node);
                while self.nodes[node].ready > 0 && self.nodes[node].placed < self.settings.injection {
                    let send = self.next_send(node);
                    self.start(node, send);
                    self.give_back_places(node);
                }
            }
            // The ends of eager sends.
            self.happen();
        }
    }

    /// Let messages leave their places that have left the node.
    fn give_back_places(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        for &flow in &node.flows {
            let flow = &mut self.flows[flow as usize];
            if flow.placed && flow.left(node.served) >= flow.size * (1.0 - LITTLE) {
                flow.placed = false;
                node.placed -= 1;
                if self.operations[flow.send as usize].kind == (Kind::Send { eager: true }) {
                    self.coming.push(Reverse((Finite(self.now_ns), Event::End(flow.send))));
                }
            }
        }
    }

    /// The next message of the next rank in turn that has one.
    fn next_send(&mut self, node: usize) -> u32 {
        let node = &mut self.nodes[node];
        loop {
            let rank = &mut self.ranks[node.ranks[node.turn]];
            node.turn = (node.turn + 1) % node.ranks.len();
            if let Some(send) = rank.to_send.pop_front() {
                node.ready -= 1;
                return send;
            }
        }
    }

    /// Begin a flow.
    fn start(&mut self, node: usize, send: u32) {
        let index = self.free_flows.pop().unwrap_or_else(|| {
            self.flows.push(Flow::default());
            self.rate.push(0.0);
            self.full.push(0);
            self.group_of.push(None);
            self.flows.len() as u32 - 1
        });
        let Operation { length: size, rank, .. } = self.operations[send as usize];
        self.outcome.sent_bytes[self.ranks[rank as usize].job] += size;
        let flow = &mut self.flows[index as usize];
        (flow.send, flow.node, flow.rest, flow.placed) = (send, node, size, true);
        (flow.size, flow.began) = (size, self.nodes[node].served);
        self.active.push(index);
        self.nodes[node].flows.push(index);
        self.nodes[node].placed += 1;
        self.choose(index);
    }

    /// Give a flow its links, and say when to look at it again.
    fn choose(&mut self, index: u32) {
        let (send, source) = (self.flows[index as usize].send, self.flows[index as usize].node);
        let destination = self.node_of(self.operations[send as usize].partner);
        let flow = &mut self.flows[index as usize];
        let size = flow.size;
        let packets = flow.rest / self.settings.packet;
        let held = flow.rest.min(self.settings.window / self.nodes[source].flows.len() as f64) / self.settings.packet;
        let route = self.routes.find(source, destination, packets, held, &mut self.waiting);
        flow.parts = route.parts;
        flow.latency_ns = route.latency_ns;
        flow.chosen_at = flow.rest;
        self.plan(index, size);
    }

    /// Say at how many bytes to come something happens to a flow.
    fn plan(&mut self, index: u32, size: f64) {
        let flow = &mut self.flows[index as usize];
        flow.until = 0.0;
        if self.routes.chooses() && size > self.settings.packet {
            flow.until = flow.until.max(flow.chosen_at - size / CHOICES);
        }
        debug_assert!(flow.until + LITTLE * size < flow.rest);
    }

    fn find_rates(&mut self) {
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
            let host = self.settings.bandwidth[self.settings.class_weight.len()];
            let room = node.held < self.settings.window * FULL;
            node.service = if node.placed == 0 {
                0.0
            } else if room {
                host
            } else {
                drain
            } / node.placed.max(1) as f64;
        }
        if self.routes.chooses() {
            self.count_waiting();
        }
    }

    /// Say which flows of a node go alike. Once its first buffer is full, a message of which nothing waits there goes
    /// only as fast as its place is served: as fast as the messages that fill the buffer.
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

    /// What waits for each link: the packets in the first buffers of flows that the network holds back.
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

    /// The time up to which events are taken together.
    fn next_ns(&mut self) -> f64 {
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

    /// List all that is to happen at the rates of now: flows end or choose again, messages leave their places, and
    /// buffers fill and run out of a message.
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
                    let eager = self.operations[flow.send as usize].kind == (Kind::Send { eager: true });
                    if eager || node.ready > 0 {
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

    /// Go on to a time, and do what has happened by then.
    fn advance(&mut self, until_ns: f64) {
        let passed_ns = until_ns - self.now_ns;
        self.passed_ns = passed_ns;
        let mut place = 0;
        while place < self.active.len() {
            let index = self.active[place];
            let flow = &mut self.flows[index as usize];
            let rate = self.rate[index as usize] * 1e-9;
            let ends_ns = self.now_ns + flow.rest / rate;
            let node = &self.nodes[flow.node];
            let mut moved = passed_ns * rate;
            if flow.placed {
                moved = moved.min(flow.held + node.service * 1e-9 * passed_ns);
            }
            flow.rest -= moved;
            let size = flow.size;
            let little = LITTLE * size;
            if flow.rest <= flow.until + little {
                if self.flows[index as usize].rest <= little {
                    self.active.swap_remove(place);
                    self.end(index, ends_ns.min(until_ns));
                    continue;
                }
                self.again(index, size);
            }
            place += 1;
        }
        for index in 0..self.nodes.len() {
            let node = &mut self.nodes[index];
            if node.placed > 0 {
                let held: f64 = node.flows.iter().map(|&flow| self.flows[flow as usize].in_buffer(node.served)).sum();
                let room = (self.settings.window - held).max(0.0) / node.placed as f64;
                let host = self.settings.bandwidth[self.settings.class_weight.len()] / node.placed as f64;
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

    fn again(&mut self, index: u32, size: f64) {
        let flow = &self.flows[index as usize];
        if self.routes.chooses() && flow.rest <= flow.chosen_at - size / CHOICES + LITTLE * size {
            self.count_bytes(index);
            self.choose(index);
        } else {
            self.plan(index, size);
        }
    }

    fn end(&mut self, index: u32, at_ns: f64) {
        self.flows[index as usize].rest = 0.0;
        self.count_bytes(index);
        let flow = &mut self.flows[index as usize];
        flow.parts.clear();
        self.coming.push(Reverse((Finite(at_ns + flow.latency_ns), Event::Arrival(flow.send))));
        if flow.placed && self.operations[flow.send as usize].kind == (Kind::Send { eager: true }) {
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
