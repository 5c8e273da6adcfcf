//! Ranks, nodes and their messages as flows.
//!
//! * A rank enters its first phase at time 0. It leaves a phase when all messages that it sends or gets in it have
//!   arrived, and enters its next one at the same time. There is no barrier. A message within a node takes no time.
//! * Up to `injection` messages of a node are under way at once. In a packet network a message leaves its place when its
//!   last packet has left the node, and then up to `window` bytes of the node wait in the buffer of its router, an equal
//!   part for each place. So here a message leaves its place when no more than `window / injection` bytes of it have to
//!   arrive, and the messages that have left theirs hold no more than `window` bytes.
//! * The ranks of a node take turns in filling free places, each in its send order.
//! * Flows get max-min fair rates, anew whenever one begins or ends. Ends within `batching` of a flow's mean life are
//!   taken together, at the last of them: no link carries more than it can.
//! * A message has arrived when its last byte has: after its flow has ended, and the latency of its way.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::take;
use std::ops::Range;

use crate::max_min::{Finite, MaxMin, Part};
use crate::message_file::MessageFile;
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

/// A rank's part in one phase.
#[derive(Debug, Clone, Default)]
struct Step {
    /// Messages to other nodes, in send order.
    sends: Range<usize>,
    /// Messages to ranks of the same node.
    local_sends: Range<usize>,
    /// Messages that it sends or gets in this phase, and that have not arrived.
    outstanding: usize,
}

#[derive(Debug)]
struct Rank {
    job: usize,
    node: usize,
    step: usize,
    end: usize,
    /// The message that it gives to the node's interface next.
    next: usize,
    /// When it posted the messages of its step.
    posted_ns: f64,
}

#[derive(Debug, Clone, Copy)]
struct Post {
    source: u32,
    source_step: u32,
    destination: u32,
    destination_step: u32,
    size: f64,
}

#[derive(Debug, Default)]
struct Node {
    ranks: Vec<usize>,
    /// Whose turn it is to give a message to the interface.
    turn: usize,
    /// How many of the ranks have a message to give now.
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
    post: usize,
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
    /// For each job when its last rank left its last phase.
    pub finish_ns: Vec<f64>,
    pub link_bytes: Vec<f64>,
    pub sent_bytes: Vec<f64>,
    pub arrived_bytes: Vec<f64>,
    /// For each job the times from posting a message to its arrival at another node.
    pub message_ns: Vec<Vec<f64>>,
    pub solved: u64,
}

pub struct Simulation {
    settings: Settings,
    routes: Routes,
    fair: MaxMin,
    ranks: Vec<Rank>,
    steps: Vec<Step>,
    posts: Vec<Post>,
    local_posts: Vec<Post>,
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
    /// Messages whose flow has ended, by the time of their arrival.
    arriving: BinaryHeap<Reverse<(Finite, usize)>>,
    now_ns: f64,
    passed_ns: f64,
    ranks_left: Vec<usize>,
    outcome: Outcome,
}

impl Simulation {
    pub fn new(settings: Settings, routes: Routes, file: &MessageFile) -> Simulation {
        let jobs = file.background.len();
        let links = routes.graph.capacity.len();
        let nodes = routes.graph.node_router.len();
        let mut simulation = Simulation {
            settings,
            fair: MaxMin::new(routes.graph.capacity.clone()),
            ranks: Vec::new(),
            steps: Vec::new(),
            posts: Vec::new(),
            local_posts: Vec::new(),
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
            arriving: BinaryHeap::new(),
            now_ns: 0.0,
            passed_ns: 0.0,
            ranks_left: vec![0; jobs],
            outcome: Outcome {
                finish_ns: vec![0.0; jobs],
                message_ns: vec![Vec::new(); jobs],
                link_bytes: vec![0.0; routes.graph.cable_links],
                sent_bytes: vec![0.0; jobs],
                arrived_bytes: vec![0.0; jobs],
                solved: 0,
            },
            routes,
        };
        let rank_phases = simulation.add_messages(file);
        simulation.add_ranks(file, &rank_phases);
        simulation
    }

    /// Make steps and posts; give the rank and phase of each step.
    fn add_messages(&mut self, file: &MessageFile) -> Vec<(usize, usize)> {
        let mut rank_phases: Vec<(usize, usize)> = Vec::new();
        rank_phases.extend(file.messages.iter().map(|m| (m.source, m.phase)));
        rank_phases.dedup();
        rank_phases.extend(file.messages.iter().map(|m| (m.destination, m.phase)));
        rank_phases.sort_unstable();
        rank_phases.dedup();
        let step_of = |rank, phase| rank_phases.binary_search(&(rank, phase)).expect("each rank and phase has a step");
        let mut order: Vec<u32> = (0..file.messages.len() as u32).collect();
        order.sort_by_key(|&message| file.messages[message as usize].source);
        self.steps = vec![Step::default(); rank_phases.len()];
        for message in order.into_iter().map(|index| &file.messages[index as usize]) {
            let source_step = step_of(message.source, message.phase);
            let destination_step = step_of(message.destination, message.phase);
            let local = file.ranks[message.source].1 == file.ranks[message.destination].1;
            let step = &mut self.steps[source_step];
            let (list, range) =
                if local { (&mut self.local_posts, &mut step.local_sends) } else { (&mut self.posts, &mut step.sends) };
            if range.start == range.end {
                range.start = list.len();
            }
            list.push(Post {
                source: message.source as u32,
                source_step: source_step as u32,
                destination: message.destination as u32,
                destination_step: destination_step as u32,
                size: message.phits as f64,
            });
            range.end = list.len();
            self.steps[source_step].outstanding += 1;
            self.steps[destination_step].outstanding += 1;
        }
        rank_phases
    }

    fn add_ranks(&mut self, file: &MessageFile, rank_phases: &[(usize, usize)]) {
        for (index, &(job, node)) in file.ranks.iter().enumerate() {
            let step = rank_phases.partition_point(|&(rank, _)| rank < index);
            let end = rank_phases.partition_point(|&(rank, _)| rank <= index);
            self.ranks.push(Rank { job, node, step, end, next: 0, posted_ns: 0.0 });
            self.nodes[node].ranks.push(index);
            self.ranks_left[job] += 1;
        }
    }

    pub fn run(mut self) -> Result<Outcome, String> {
        let mut arrived = Vec::new();
        for rank in 0..self.ranks.len() {
            self.enter(rank, 0.0, &mut arrived);
        }
        self.settle(arrived, 0.0);
        loop {
            self.fill_places();
            if self.active.is_empty() && self.arriving.is_empty() {
                break;
            }
            self.find_rates();
            let until_ns = self.next_ns();
            self.advance(until_ns);
        }
        match self.ranks_left.iter().sum::<usize>() {
            0 => Ok(self.outcome),
            left => Err(format!("{left} ranks wait for messages that nobody sends")),
        }
    }

    /// Let a rank begin its next step, or finish if there is none; its messages within the node arrive next.
    fn enter(&mut self, rank: usize, at_ns: f64, arrived: &mut Vec<Post>) {
        let rank = &mut self.ranks[rank];
        // All that a phase waits for may have arrived before the rank does.
        while rank.step < rank.end && self.steps[rank.step].outstanding == 0 {
            rank.step += 1;
        }
        if rank.step < rank.end {
            let step = &self.steps[rank.step];
            rank.next = step.sends.start;
            rank.posted_ns = at_ns;
            self.nodes[rank.node].ready += usize::from(!step.sends.is_empty());
            arrived.extend_from_slice(&self.local_posts[step.local_sends.clone()]);
            let node = rank.node;
            self.mark(node);
            return;
        }
        let job = rank.job;
        self.ranks_left[job] -= 1;
        self.outcome.finish_ns[job] = self.outcome.finish_ns[job].max(at_ns);
    }

    /// Let messages arrive, and go on with the ranks that they set free.
    fn settle(&mut self, mut arrived: Vec<Post>, at_ns: f64) {
        while let Some(post) = arrived.pop() {
            let ends = [(post.source, post.source_step), (post.destination, post.destination_step)];
            let mut free = [None; 2];
            for ((rank, step), free) in ends.into_iter().zip(&mut free) {
                let (rank, step) = (rank as usize, step as usize);
                self.steps[step].outstanding -= 1;
                if self.steps[step].outstanding == 0 && self.ranks[rank].step == step {
                    self.ranks[rank].step += 1;
                    *free = Some(rank);
                }
            }
            for rank in free.into_iter().flatten() {
                self.enter(rank, at_ns, &mut arrived);
            }
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
        for node in take(&mut self.changed) {
            self.nodes[node].changed = false;
            self.give_back_places(node);
            while self.nodes[node].ready > 0 && self.nodes[node].placed < self.settings.injection {
                let post = self.next_post(node);
                self.start(node, post);
                self.give_back_places(node);
            }
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
            }
        }
    }

    /// The next message of the next rank in turn that has one.
    fn next_post(&mut self, node: usize) -> usize {
        let node = &mut self.nodes[node];
        loop {
            let rank = &mut self.ranks[node.ranks[node.turn]];
            node.turn = (node.turn + 1) % node.ranks.len();
            if rank.step == rank.end || rank.next >= self.steps[rank.step].sends.end {
                continue;
            }
            rank.next += 1;
            node.ready -= usize::from(rank.next == self.steps[rank.step].sends.end);
            return rank.next - 1;
        }
    }

    /// Begin a flow.
    fn start(&mut self, node: usize, post: usize) {
        let index = self.free_flows.pop().unwrap_or_else(|| {
            self.flows.push(Flow::default());
            self.rate.push(0.0);
            self.full.push(0);
            self.group_of.push(None);
            self.flows.len() as u32 - 1
        });
        let Post { size, source, .. } = self.posts[post];
        self.outcome.sent_bytes[self.ranks[source as usize].job] += size;
        let flow = &mut self.flows[index as usize];
        (flow.post, flow.rest, flow.placed) = (post, size, true);
        (flow.size, flow.began) = (size, self.nodes[node].served);
        self.active.push(index);
        self.nodes[node].flows.push(index);
        self.nodes[node].placed += 1;
        self.choose(index);
    }

    /// Give a flow its links, and say when to look at it again.
    fn choose(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Post { source, destination, size, .. } = self.posts[flow.post];
        let [source, destination] = [source, destination].map(|rank| self.ranks[rank as usize].node);
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
            let node = self.ranks[self.posts[flow.post].source as usize].node;
            let mut held =
                flow.rest.min(self.settings.window / self.nodes[node].flows.len() as f64) / self.settings.packet;
            if self.full[index as usize] == self.routes.graph.injection(node) {
                held = 0.0;
            }
            for &(link, part) in &flow.parts {
                let capacity = self.routes.graph.capacity[link as usize];
                self.waiting[link as usize] += (held + self.rate[index as usize] / capacity) * part / capacity;
            }
        }
    }

    /// The time up to which events are taken together.
    fn next_ns(&mut self) -> f64 {
        self.list_events();
        if let Some(Reverse((at_ns, _))) = self.arriving.peek() {
            self.events.push(at_ns.0 - self.now_ns);
        }
        let turnover: f64 =
            self.active.iter().map(|&flow| self.rate[flow as usize] / self.flows[flow as usize].size).sum();
        let life_ns = if turnover > 0.0 { 1e9 * self.active.len() as f64 / turnover } else { 0.0 };
        let first_ns = self.events.iter().copied().fold(f64::INFINITY, f64::min);
        let limit_ns = first_ns + self.settings.batching * life_ns;
        let last_ns = self.events.iter().copied().filter(|&in_ns| in_ns <= limit_ns).fold(first_ns, f64::max);
        self.now_ns + last_ns.max(0.0)
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
                    if node.ready > 0 {
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
            let node = &self.nodes[self.ranks[self.posts[flow.post].source as usize].node];
            let mut moved = passed_ns * rate;
            if flow.placed {
                moved = moved.min(flow.held + node.service * 1e-9 * passed_ns);
            }
            flow.rest -= moved;
            let size = self.posts[flow.post].size;
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
        let mut arrived = Vec::new();
        while let Some(&Reverse((at_ns, post))) = self.arriving.peek() {
            if at_ns.0 > until_ns {
                break;
            }
            self.arriving.pop();
            let post = self.posts[post];
            let source = &self.ranks[post.source as usize];
            self.outcome.arrived_bytes[source.job] += post.size;
            // The source is still in the step in which it posted the message.
            self.outcome.message_ns[source.job].push(at_ns.0 - source.posted_ns);
            arrived.push(post);
            self.settle(take(&mut arrived), at_ns.0);
        }
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
        self.arriving.push(Reverse((Finite(at_ns + flow.latency_ns), flow.post)));
        let index_of_node = self.ranks[self.posts[flow.post].source as usize].node;
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
