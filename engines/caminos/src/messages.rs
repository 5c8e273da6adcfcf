//! Traffic `MessageList { filename: "...", injection: 16, packet: 4 }`: placed jobs and the messages of each rank.
//!
//! * A rank enters its first phase at cycle 0. It leaves a phase when all messages that it sends or gets in that
//!   phase have arrived, last phit included, and enters its next one in the same cycle. There is no barrier: a rank
//!   waits for its own messages only, and messages of a phase that it has not reached yet are taken and counted.
//! * A rank that computes in a phase posts its messages so many cycles after it enters it, and leaves it not before it
//!   has computed what runs beside them.
//! * Up to `injection` messages of a node are under way at once and take turns at its link, a packet of `packet` phits
//!   each time; see `injection.rs`. The ranks of a node share its interface: they take turns in filling what is free.
//! * A node may have several ports, each with slots of its own, and its messages go to them in turn; or the ports divide
//!   each message, and take turns at its packets. What leaves by a port arrives at the port of the same number.
//! * A message between two ranks of a node arrives in the cycle in which its sender posts it.
//! * A rank finishes in the cycle in which it leaves its last phase, a job in that in which its last rank does.
//! * A rank of a background job goes from its last phase to its first one again, without a barrier either, and the
//!   simulation ends when all other jobs have finished.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::mem::{size_of, size_of_val};
use std::ops::Range;
use std::rc::Rc;

use caminos_lib::quantify::Quantifiable;
use caminos_lib::topology::Topology;
use caminos_lib::traffic::{TaskTrafficState, Traffic, TrafficBuilderArgument, TrafficError};
use caminos_lib::{Message, Time};
use rand::rngs::StdRng;

use crate::configuration::Fields;
use crate::histogram::Histogram;
use crate::idle::Idle;
use crate::injection::Interface;
use crate::input::Lines;
use crate::job_link_packets::JobLinkPackets;
use crate::message_file::MessageFile;
use crate::session::Session;
use crate::under_way::UnderWay;

/// Build the traffic from its file.
///
/// # Panics
/// With a `BadFile` if the file is not such a list, or does not fit the topology.
pub fn build(argument: TrafficBuilderArgument) -> Box<dyn Traffic> {
    let servers = argument.topology.num_servers();
    let fields = Fields::of(argument.cv, &["filename", "injection", "packet"]);
    let sending = Sending { slots: fields.count("injection"), packet_phits: fields.count("packet") };
    let session = Session::of_builder();
    match Lines::open(fields.text("filename")).and_then(|lines| MessageFile::read(lines, servers)) {
        Ok(file) => {
            let of_port = |port| move |&(job, node): &(usize, usize)| (job, node * file.ports + port);
            let ranks: Vec<_> = (0..file.ports).flat_map(|port| file.ranks.iter().map(of_port(port))).collect();
            *session.job_link_packets.borrow_mut() =
                JobLinkPackets::new(file.background.len(), servers, &ranks, session.layout().links());
            session.ports.set(file.ports);
            Box::new(MessageList::new(file, servers, sending, session))
        }
        Err(bad) => std::panic::panic_any(bad),
    }
}

/// How a node sends.
#[derive(Debug, Clone, Copy)]
struct Sending {
    /// Messages under way at once.
    slots: usize,
    packet_phits: usize,
}

/// A rank's part in one phase.
#[derive(Debug, Clone)]
struct Step {
    /// Messages to other nodes, in send order.
    sends: Range<usize>,
    /// Messages to ranks of the same node.
    local_sends: Range<usize>,
    /// Cycles for which the rank computes before it posts its messages, and beside them.
    before: Time,
    beside: Time,
    /// What the rank waits for in this phase: messages that it sends or gets, and its own computation.
    awaited: usize,
    /// That of it which is not over.
    outstanding: usize,
    /// How often the rank has left it; more than once only in the background.
    round: usize,
}

#[derive(Debug)]
struct Rank {
    job: usize,
    node: usize,
    /// The step it is in, and the end of its steps.
    step: usize,
    end: usize,
    /// Where it goes from its last step: to its first one in the background, else to the end.
    after_last: usize,
    /// The message that it gives to the interface next.
    next: usize,
    /// Whether it has posted the messages of its step, and when.
    has_posted: bool,
    posted_at: Time,
}

/// A message: where it comes from, where it goes, and what of it has not arrived.
#[derive(Debug, Clone)]
struct Post {
    source: usize,
    source_step: usize,
    destination: usize,
    destination_step: usize,
    phits: usize,
    phits_to_come: usize,
}

/// The ranks of a node, and what it sends.
#[derive(Debug)]
struct Node {
    ranks: Vec<usize>,
    /// Whose turn it is to give a message to an interface.
    turn: usize,
    /// How many of the ranks have a message to give now.
    ready: usize,
    /// One for each port, or one for all, and which of them gets the next message.
    interfaces: Vec<Interface>,
    next_interface: usize,
    /// When which rank has computed.
    computing: BinaryHeap<Reverse<(Time, usize)>>,
    /// For each port the pieces of messages under way.
    under_way: Vec<UnderWay>,
}

#[derive(Debug)]
struct MessageList {
    session: Rc<Session>,
    sending: Sending,
    /// Ports of a node; CAMINOS' servers are ports.
    ports: usize,
    ranks: Vec<Rank>,
    steps: Vec<Step>,
    /// Messages between nodes, rank by rank.
    posts: Vec<Post>,
    /// Messages within nodes, rank by rank.
    local_posts: Vec<Post>,
    /// Messages that arrived for a step of a rank that is not in that round yet, by step and round.
    early: HashMap<(usize, usize), usize>,
    nodes: Vec<Node>,
    background: Vec<bool>,
    ranks_left: Vec<usize>,
    /// Jobs that are not in the background and have not finished.
    jobs_left: usize,
    idle: Idle,
}

impl Node {
    fn next_has_free_slot(&self) -> bool {
        self.interfaces[self.next_interface].has_free_slot()
    }
}

impl MessageList {
    fn new(file: MessageFile, servers: usize, sending: Sending, session: Rc<Session>) -> MessageList {
        let (ports, striped) = (file.ports, file.striped);
        let file = file.without_endless_rounds();
        let jobs = file.background.len();
        *session.finish_cycles.borrow_mut() = vec![None; jobs];
        *session.rank_finish_cycles.borrow_mut() = vec![None; file.ranks.len()];
        *session.sent_phits.borrow_mut() = vec![0; jobs];
        *session.arrived_phits.borrow_mut() = vec![0; jobs];
        *session.message_times.borrow_mut() = vec![Histogram::default(); jobs];
        let node = || Node {
            ranks: Vec::new(),
            turn: 0,
            ready: 0,
            interfaces: (0..if striped { 1 } else { ports }).map(|_| Interface::new(sending.slots, striped)).collect(),
            next_interface: 0,
            computing: BinaryHeap::new(),
            under_way: vec![UnderWay::default(); ports],
        };
        let mut traffic = MessageList {
            session,
            sending,
            ports,
            ranks: Vec::with_capacity(file.ranks.len()),
            steps: Vec::new(),
            posts: Vec::new(),
            local_posts: Vec::new(),
            early: HashMap::new(),
            nodes: (0..servers / ports).map(|_| node()).collect(),
            background: file.background.clone(),
            ranks_left: vec![0; jobs],
            jobs_left: file.background.iter().filter(|&&background| !background).count(),
            idle: Idle::default(),
        };
        let rank_phases = traffic.add_messages(&file);
        traffic.add_ranks(&file, &rank_phases);
        traffic.start();
        traffic
    }

    /// Make steps and posts; give the rank and phase of each step.
    fn add_messages(&mut self, file: &MessageFile) -> Vec<(usize, usize)> {
        let mut rank_phases: Vec<(usize, usize)> = Vec::with_capacity(2 * file.messages.len());
        rank_phases.extend(file.computations.iter().map(|one| (one.rank, one.phase)));
        rank_phases.extend(file.messages.iter().map(|m| (m.source, m.phase)));
        rank_phases.extend(file.messages.iter().map(|m| (m.destination, m.phase)));
        rank_phases.sort_unstable();
        rank_phases.dedup();
        let step_of = |rank, phase| rank_phases.binary_search(&(rank, phase)).expect("each rank and phase has a step");
        let mut order: Vec<usize> = (0..file.messages.len()).collect();
        order.sort_by_key(|&message| file.messages[message].source);

        let step = Step { sends: 0..0, local_sends: 0..0, before: 0, beside: 0, awaited: 0, outstanding: 0, round: 0 };
        self.steps = vec![step; rank_phases.len()];
        for message in order.into_iter().map(|index| &file.messages[index]) {
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
                source: message.source,
                source_step,
                destination: message.destination,
                destination_step,
                phits: message.phits,
                phits_to_come: message.phits,
            });
            range.end = list.len();
            self.steps[source_step].awaited += 1;
            self.steps[destination_step].awaited += 1;
        }
        for one in file.computations.iter().filter(|one| one.before + one.beside > 0) {
            let step = &mut self.steps[step_of(one.rank, one.phase)];
            (step.before, step.beside) = (one.before as Time, one.beside as Time);
            step.awaited += 1;
        }
        for step in &mut self.steps {
            step.outstanding = step.awaited;
        }
        rank_phases
    }

    fn add_ranks(&mut self, file: &MessageFile, rank_phases: &[(usize, usize)]) {
        for (index, &(job, node)) in file.ranks.iter().enumerate() {
            let step = rank_phases.partition_point(|&(rank, _)| rank < index);
            let end = rank_phases.partition_point(|&(rank, _)| rank <= index);
            let after_last = if file.background[job] { step } else { end };
            self.ranks.push(Rank { job, node, step, end, after_last, next: 0, has_posted: false, posted_at: 0 });
            self.nodes[node].ranks.push(index);
            self.ranks_left[job] += 1;
        }
    }

    fn start(&mut self) {
        for job in 0..self.ranks_left.len() {
            if self.ranks_left[job] == 0 && !self.background[job] {
                self.finish_job(job, 0);
            }
        }
        let mut arriving = Vec::new();
        for rank in 0..self.ranks.len() {
            self.enter(rank, 0, &mut arriving);
        }
        self.settle(arriving, 0);
    }

    fn finish_job(&mut self, job: usize, cycle: Time) {
        self.session.finish_cycles.borrow_mut()[job] = Some(cycle);
        self.jobs_left -= 1;
    }

    /// Let a rank begin its next step, or finish if there is none.
    fn enter(&mut self, rank: usize, cycle: Time, arriving: &mut Vec<Post>) {
        // All that a phase waits for may have arrived before the rank does.
        while self.ranks[rank].step < self.ranks[rank].end && self.steps[self.ranks[rank].step].outstanding == 0 {
            self.leave_step(rank);
        }
        let Rank { job, step, end, .. } = self.ranks[rank];
        if step < end {
            self.ranks[rank].has_posted = false;
            match self.steps[step].before {
                0 => self.post(rank, cycle, arriving),
                before => self.compute(rank, cycle + before),
            }
            return;
        }
        self.ranks_left[job] -= 1;
        if self.background[job] {
            return;
        }
        self.session.rank_finish_cycles.borrow_mut()[rank] = Some(cycle);
        if self.ranks_left[job] == 0 {
            self.finish_job(job, cycle);
        }
    }

    /// Let a rank compute until a later cycle.
    fn compute(&mut self, rank: usize, until: Time) {
        self.nodes[self.ranks[rank].node].computing.push(Reverse((until, rank)));
        self.session.computing_until.set(until.max(self.session.computing_until.get()));
    }

    /// When the first rank of a node has computed that does.
    fn computing_until(&self, node: usize) -> Option<Time> {
        self.nodes[node].computing.peek().map(|&Reverse((until, _))| until)
    }

    /// Go on with the ranks of a node that have computed by `cycle`, each as of the cycle in which it had: CAMINOS does
    /// not ask a node whose queue is full.
    fn wake(&mut self, node: usize, cycle: Time) {
        while self.computing_until(node).map_or(false, |until| until <= cycle) {
            let Reverse((until, rank)) = self.nodes[node].computing.pop().expect("a rank computes");
            let mut arriving = Vec::new();
            if self.ranks[rank].has_posted {
                self.end_computation(rank, until, &mut arriving);
            } else {
                self.post(rank, until, &mut arriving);
            }
            self.settle(arriving, until);
        }
    }

    /// Let a rank post the messages of its step; those within the node arrive next.
    fn post(&mut self, rank: usize, cycle: Time, arriving: &mut Vec<Post>) {
        let of_rank = &mut self.ranks[rank];
        let step = &self.steps[of_rank.step];
        of_rank.next = step.sends.start;
        of_rank.has_posted = true;
        of_rank.posted_at = cycle;
        self.nodes[of_rank.node].ready += usize::from(!step.sends.is_empty());
        self.idle.post(step.sends.len());
        arriving.extend_from_slice(&self.local_posts[step.local_sends.clone()]);
        match (step.before, step.beside) {
            (0, 0) => (),
            (_, 0) => self.end_computation(rank, cycle, arriving),
            (_, beside) => self.compute(rank, cycle + beside),
        }
    }

    /// Count what a rank computes in its step as over, and let it go on if it waits for nothing else.
    fn end_computation(&mut self, rank: usize, cycle: Time, arriving: &mut Vec<Post>) {
        let step = self.ranks[rank].step;
        if self.count_arrival(step, self.steps[step].round) {
            self.leave_step(rank);
            self.enter(rank, cycle, arriving);
        }
    }

    /// Let a rank go on to its next step, and make the one that it leaves ready for another round.
    fn leave_step(&mut self, rank: usize) {
        let rank = &mut self.ranks[rank];
        let (index, step) = (rank.step, &mut self.steps[rank.step]);
        rank.step = if index + 1 == rank.end { rank.after_last } else { index + 1 };
        if rank.after_last < rank.end {
            step.round += 1;
            step.outstanding = step.awaited - self.early.remove(&(index, step.round)).unwrap_or(0);
        }
    }

    /// Count a message of a round as arrived for a step; true if the step waits for no other one then.
    fn count_arrival(&mut self, index: usize, round: usize) -> bool {
        let step = &mut self.steps[index];
        if step.round < round {
            *self.early.entry((index, round)).or_insert(0) += 1;
            return false;
        }
        step.outstanding -= 1;
        step.outstanding == 0
    }

    /// Let messages arrive, and go on with the ranks that they set free.
    fn settle(&mut self, mut arriving: Vec<Post>, cycle: Time) {
        while let Some(post) = arriving.pop() {
            let mut free = [None; 2];
            // The source is still in the round in which it sent.
            let round = self.steps[post.source_step].round;
            let ends = [(post.source, post.source_step), (post.destination, post.destination_step)];
            for ((rank, step), free) in ends.into_iter().zip(&mut free) {
                if self.count_arrival(step, round) && self.ranks[rank].step == step {
                    self.leave_step(rank);
                    *free = Some(rank);
                }
            }
            for rank in free.into_iter().flatten() {
                self.enter(rank, cycle, &mut arriving);
            }
        }
    }

    /// Whether a port may have something to send.
    fn can_send(&self, server: usize) -> bool {
        let node = &self.nodes[server / self.ports];
        node.ready > 0 || !node.interfaces[server % self.ports % node.interfaces.len()].is_idle()
    }

    /// Take what a port sends in a cycle: destination port and phits.
    fn send(&mut self, server: usize, cycle: Time) -> Option<(usize, usize)> {
        let (node, port) = (server / self.ports, server % self.ports);
        while self.nodes[node].ready > 0 && self.nodes[node].next_has_free_slot() {
            self.fill_slot(node);
        }
        let node = &mut self.nodes[node];
        let interface = port % node.interfaces.len();
        let (post, phits) = node.interfaces[interface].take(self.sending.packet_phits)?;
        node.under_way[port].add(cycle, post);
        let destination = &self.ranks[self.posts[post].destination];
        self.session.sent_phits.borrow_mut()[destination.job] += phits as u64;
        Some((destination.node * self.ports + port, phits))
    }

    /// Give the interface whose turn it is the next message of the next rank in turn that has one.
    fn fill_slot(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        loop {
            let rank = &mut self.ranks[node.ranks[node.turn]];
            node.turn = (node.turn + 1) % node.ranks.len();
            if rank.step == rank.end || !rank.has_posted || rank.next >= self.steps[rank.step].sends.end {
                continue;
            }
            node.interfaces[node.next_interface].add(rank.next, self.posts[rank.next].phits);
            node.next_interface = (node.next_interface + 1) % node.interfaces.len();
            rank.next += 1;
            node.ready -= usize::from(rank.next == self.steps[rank.step].sends.end);
            return;
        }
    }

    /// Count phits that a port sent in the cycle `sent` as arrived; false if it sent none then.
    fn receive(&mut self, server: usize, sent: Time, phits: usize, cycle: Time) -> bool {
        let node = server / self.ports;
        let index = match self.nodes[node].under_way[server % self.ports].take(sent) {
            Some(index) => index,
            None => return false,
        };
        for node in [node, self.ranks[self.posts[index].destination].node] {
            self.wake(node, cycle);
        }
        let post = &mut self.posts[index];
        self.session.arrived_phits.borrow_mut()[self.ranks[post.destination].job] += phits as u64;
        post.phits_to_come -= phits;
        if post.phits_to_come == 0 {
            post.phits_to_come = post.phits;
            let arrived = post.clone();
            // The source is still in the step in which it posted the message.
            let source = &self.ranks[arrived.source];
            self.session.message_times.borrow_mut()[source.job].add(cycle - source.posted_at);
            self.idle.arrive(&self.session, cycle);
            self.settle(vec![arrived], cycle);
        }
        true
    }
}

impl Traffic for MessageList {
    fn generate_message(
        &mut self,
        origin: usize,
        cycle: Time,
        _topology: &dyn Topology,
        _rng: &mut StdRng,
    ) -> Result<Rc<Message>, TrafficError> {
        self.wake(origin / self.ports, cycle);
        let (destination, size) = self.send(origin, cycle).ok_or(TrafficError::OriginOutsideTraffic)?;
        Ok(Rc::new(Message { origin, destination, size, creation_cycle: cycle }))
    }
    fn probability_per_cycle(&self, task: usize) -> f32 {
        f32::from(u8::from(self.can_send(task)))
    }
    fn should_generate(&self, task: usize, cycle: Time, _rng: &mut StdRng) -> bool {
        self.session.now.set(cycle);
        self.can_send(task) || self.computing_until(task / self.ports).map_or(false, |until| until <= cycle)
    }
    fn try_consume(
        &mut self,
        _task: usize,
        message: Rc<Message>,
        cycle: Time,
        _topology: &dyn Topology,
        _rng: &mut StdRng,
    ) -> bool {
        self.receive(message.origin, message.creation_cycle, message.size, cycle)
    }
    fn is_finished(&self) -> bool {
        let next = || (0..self.nodes.len()).filter_map(|node| self.computing_until(node)).min();
        self.jobs_left == 0 || self.idle.begins(&self.session, next)
    }
    fn task_state(&self, task: usize, _cycle: Time) -> TaskTrafficState {
        let node = &self.nodes[task / self.ports];
        if self.can_send(task) {
            TaskTrafficState::Generating
        } else if !node.computing.is_empty() {
            TaskTrafficState::UnspecifiedWait
        } else if node.ranks.iter().all(|&rank| self.ranks[rank].step == self.ranks[rank].end) {
            TaskTrafficState::Finished
        } else {
            TaskTrafficState::WaitingData
        }
    }
    fn number_tasks(&self) -> usize {
        self.nodes.len() * self.ports
    }
}

impl Quantifiable for MessageList {
    fn total_memory(&self) -> usize {
        let lists = size_of_val(&self.posts[..]) + size_of_val(&self.local_posts[..]) + size_of_val(&self.steps[..]);
        size_of::<MessageList>() + lists + size_of_val(&self.ranks[..])
    }
    fn print_memory_breakdown(&self) {
        println!("message list: {} bytes", self.total_memory());
    }
    fn forecast_total_memory(&self) -> usize {
        self.total_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &'static str, nodes: usize, slots: usize) -> MessageList {
        let file = MessageFile::read(Lines::of_text(text), nodes).expect("a message file");
        MessageList::new(file, nodes, Sending { slots, packet_phits: 2 }, Rc::default())
    }

    /// What a node sends, a piece a cycle, until it has nothing more to send: destinations and phits.
    fn drain(list: &mut MessageList, node: usize, from: Time) -> Vec<(usize, usize)> {
        (from..).map_while(|cycle| list.send(node, cycle)).collect()
    }

    fn finish_cycles(list: &MessageList) -> Vec<Option<Time>> {
        list.session.finish_cycles.borrow().clone()
    }

    fn rank_finish_cycles(list: &MessageList) -> Vec<Option<Time>> {
        list.session.rank_finish_cycles.borrow().clone()
    }

    const TWO_PHASES: &str = "messages 1\njobs 1\nranks 3\n0\n1\n2\nmessages 4\n0 0 1 3\n0 0 2 3\n1 0 1 1\n0 2 0 1\n";

    #[test]
    fn one_slot_sends_message_by_message_and_more_slots_packet_by_packet() {
        assert_eq!(drain(&mut list(TWO_PHASES, 3, 1), 0, 0), [(1, 3), (2, 3)]);
        assert_eq!(drain(&mut list(TWO_PHASES, 3, 2), 0, 0), [(1, 2), (2, 2), (1, 1), (2, 1)]);
    }

    #[test]
    fn a_phase_begins_when_all_sent_and_received_messages_have_arrived() {
        let mut list = list(TWO_PHASES, 3, 2);
        drain(&mut list, 0, 10);
        drain(&mut list, 2, 10);
        for (sent, phits) in [(10, 2), (11, 2), (13, 1), (12, 1)] {
            assert!(!list.can_send(0));
            assert!(list.receive(0, sent, phits, 20));
        }
        // The message from rank 2 is still missing.
        assert!(!list.can_send(0));
        assert!(list.receive(2, 10, 1, 25));
        assert_eq!(drain(&mut list, 0, 30), [(1, 1)]);
        assert!(!list.is_finished());
        // Rank 2 has no part in the second phase.
        assert_eq!(rank_finish_cycles(&list), [None, None, Some(25)]);
        assert!(list.receive(0, 30, 1, 40));
        assert_eq!(finish_cycles(&list), [Some(40)]);
        assert_eq!(rank_finish_cycles(&list), [Some(40), Some(40), Some(25)]);
        assert!(list.is_finished());
    }

    #[test]
    fn what_was_never_sent_or_has_arrived_is_not_received() {
        let mut list = list(TWO_PHASES, 3, 2);
        drain(&mut list, 0, 10);
        assert!(!list.receive(0, 9, 2, 20) && !list.receive(0, 99, 2, 20) && !list.receive(1, 10, 2, 20));
        assert!(list.receive(0, 11, 2, 20));
        assert!(!list.receive(0, 11, 2, 20));
    }

    #[test]
    fn messages_go_to_the_ports_of_a_node_in_turn_or_are_divided_among_them() {
        let text = |word| -> &'static str {
            let messages = "ranks 2\n0\n1\nmessages 3\n0 0 1 3\n0 0 1 1\n0 0 1 5\n";
            Box::leak(format!("messages 1\n{word} 2\njobs 1\n{messages}").into_boxed_str())
        };
        // Ports of node 0 are 0 and 1, of node 1 they are 2 and 3; packets have two phits.
        let mut in_turn = list(text("ports"), 4, 16);
        assert_eq!(drain(&mut in_turn, 0, 0), [(2, 2), (2, 2), (2, 1), (2, 2), (2, 1)]);
        assert_eq!(drain(&mut in_turn, 1, 0), [(3, 1)]);
        let mut divided = list(text("stripes"), 4, 1);
        let sent: Vec<_> = (0..6).map(|cycle| divided.send(cycle % 2, cycle as Time).expect("a packet")).collect();
        assert_eq!(sent, [(2, 2), (3, 1), (2, 1), (3, 2), (2, 2), (3, 1)]);
        assert!((0..6).all(|cycle| divided.receive(cycle % 2, cycle as Time, sent[cycle].1, 9)));
        assert_eq!(finish_cycles(&divided), [Some(9)]);
    }

    #[test]
    fn ranks_of_a_node_take_turns_in_filling_the_slots() {
        let text = "messages 1\njobs 2\nranks 2\n0\n1\nmessages 3\n0 0 1 1\n0 0 1 1\n0 0 1 1\n\
                    ranks 2\n0\n2\nmessages 2\n0 0 1 1\n0 0 1 1\n";
        for slots in [1, 2, 16] {
            let sent: Vec<usize> = drain(&mut list(text, 3, slots), 0, 0).iter().map(|&(node, _)| node).collect();
            assert_eq!(sent, [1, 2, 1, 2, 1]);
        }
    }

    #[test]
    fn messages_within_a_node_arrive_at_once() {
        let text = "messages 1\njobs 1\nranks 2\n0\n0\nmessages 2\n0 0 1 9\n1 1 0 9\n";
        let list = list(text, 1, 16);
        assert!(!list.can_send(0));
        assert_eq!(finish_cycles(&list), [Some(0)]);
    }

    /// One message from node 0 to 1; in the background each round two from 2 and 4 to 3, and then one from 3 to 2.
    const DISTURBED: &str = "messages 1\njobs 2\nranks 2\n0\n1\nmessages 1\n0 0 1 2\n\
                             background 3\n2\n3\n4\nmessages 3\n0 0 1 2\n0 2 1 2\n1 1 0 2\n";

    #[test]
    fn a_background_job_repeats_until_the_others_have_finished() {
        let mut list = list(DISTURBED, 5, 16);
        assert_eq!(drain(&mut list, 0, 0), [(1, 2)]);
        for round in (0..90).step_by(30) {
            for sender in [2, 4] {
                assert_eq!(drain(&mut list, sender, round), [(3, 2)]);
                assert!(list.receive(sender, round, 2, round + 5));
            }
            assert_eq!(drain(&mut list, 3, round + 10), [(2, 2)]);
            assert!(list.receive(3, round + 10, 2, round + 20));
        }
        assert!(!list.is_finished());
        assert!(list.receive(0, 0, 2, 95));
        assert!(list.is_finished() && list.can_send(2));
        assert_eq!(finish_cycles(&list), [Some(95), None]);
        assert_eq!(rank_finish_cycles(&list), [Some(95), Some(95), None, None, None]);
        assert_eq!(*list.session.sent_phits.borrow(), [2, 18]);
        assert_eq!(*list.session.arrived_phits.borrow(), [2, 18]);
    }

    #[test]
    fn messages_of_later_rounds_do_not_stand_for_those_of_this_one() {
        let mut list = list(DISTURBED, 5, 16);
        drain(&mut list, 2, 0);
        for round in 0..3 {
            drain(&mut list, 4, round);
            assert!(list.receive(4, round, 2, round));
            assert!(!list.can_send(3));
        }
        assert!(list.receive(2, 0, 2, 10));
        // Node 4 is three rounds ahead; node 3 now waits for its own message, and then for the next from node 2.
        for round in (20..80).step_by(20) {
            assert_eq!(drain(&mut list, 3, round), [(2, 2)]);
            assert!(list.receive(3, round, 2, round + 5));
            assert!(!list.can_send(3));
            drain(&mut list, 2, round);
            assert!(list.receive(2, round, 2, round + 10));
        }
        // Its fourth round wants a fourth message from node 4.
        assert!(!list.can_send(3));
    }

    #[test]
    fn a_background_job_within_a_node_does_not_repeat_for_ever_at_once() {
        let text = "messages 1\njobs 2\nranks 1\n0\nmessages 0\n\
                    background 2\n0\n0\nmessages 2\n0 0 1 9\n1 1 0 9\n";
        assert_eq!(finish_cycles(&list(text, 1, 16)), [Some(0), None]);
        assert_eq!(rank_finish_cycles(&list(text, 1, 16)), [Some(0), None, None]);
    }

    #[test]
    fn a_rank_posts_what_it_sends_when_it_has_computed() {
        let text = "messages 1\njobs 1\nranks 2\n0\n1\ncomputes 2\n0 0 5 0\n0 1 2 0\nmessages 1\n0 0 1 2\n";
        let mut list = list(text, 2, 16);
        for cycle in 0..5 {
            list.wake(0, cycle);
            list.wake(1, cycle);
            assert!(!list.can_send(0));
        }
        list.wake(0, 5);
        assert_eq!(drain(&mut list, 0, 5), [(1, 2)]);
        assert!(list.receive(0, 5, 2, 9));
        assert_eq!(finish_cycles(&list), [Some(9)]);
    }

    #[test]
    fn what_runs_beside_the_messages_ends_the_phase_if_it_lasts_longer() {
        for (beside, end) in [(3, 9), (20, 22)] {
            let head = "messages 1\njobs 1\nranks 2\n0\n1\ncomputes 1\n";
            let text = format!("{head}0 0 2 {beside}\nmessages 1\n0 0 1 2\n");
            let mut list = list(Box::leak(text.into_boxed_str()), 2, 16);
            list.wake(0, 2);
            assert_eq!(drain(&mut list, 0, 2), [(1, 2)]);
            assert!(!list.is_finished() && list.receive(0, 2, 2, 9));
            (9..=end).for_each(|cycle| list.wake(0, cycle));
            assert_eq!(finish_cycles(&list), [Some(end)]);
            assert_eq!(list.session.computing_until.get(), 2 + beside);
        }
    }

    #[test]
    fn a_node_that_is_not_asked_has_computed_nevertheless() {
        let text = "messages 1\njobs 1\nranks 2\n0\n1\ncomputes 1\n0 1 5 0\nmessages 1\n0 0 1 2\n";
        for (arrival, end) in [(9, 9), (3, 5)] {
            let mut list = list(text, 2, 16);
            assert_eq!(drain(&mut list, 0, 0), [(1, 2)]);
            assert!(list.receive(0, 0, 2, arrival));
            list.wake(1, 20);
            assert_eq!(finish_cycles(&list), [Some(end)]);
        }
    }

    #[test]
    fn messages_within_a_node_wait_for_their_sender_to_compute() {
        let text = "messages 1\njobs 1\nranks 2\n0\n0\ncomputes 2\n0 0 4 0\n1 1 3 0\nmessages 2\n0 0 1 9\n1 1 0 9\n";
        let mut list = list(text, 1, 16);
        (0..7).for_each(|cycle| list.wake(0, cycle));
        assert_eq!(finish_cycles(&list), [None]);
        list.wake(0, 7);
        assert_eq!(finish_cycles(&list), [Some(7)]);
    }

    #[test]
    fn in_the_background_a_rank_computes_in_each_round() {
        let text = "messages 1\njobs 2\nranks 2\n0\n1\nmessages 1\n0 0 1 2\n\
                    background 2\n2\n2\ncomputes 1\n0 0 10 0\nmessages 1\n0 0 1 2\n";
        let mut list = list(text, 3, 16);
        for cycle in 0..35 {
            list.wake(2, cycle);
        }
        let round = |rank: usize| list.steps[list.ranks[rank].step].round;
        assert_eq!((round(2), round(3)), (3, 3));
    }

    #[test]
    fn jobs_without_messages_or_ranks_finish_at_once() {
        let text = "messages 1\njobs 2\nranks 0\nmessages 0\nranks 1\n0\nmessages 0\n";
        assert_eq!(finish_cycles(&list(text, 1, 1)), [Some(0), Some(0)]);
    }
}
