//! Traffic `TaskGraph { filename: "...", injection: 16, packet: 4, period: 2, times: true }`: placed jobs, and operations
//! that wait for each other; with `times` the result has the start and the end of each.
//!
//! * An operation starts in the cycle in which the last of those that it needs has ended, or started. A computation
//!   also waits for its stream, in the order in which computations could start.
//! * A send gives its message to its node, where up to `injection` messages a port are under way at once and take turns
//!   by packets of `packet` phits; see `node.rs`. What leaves by a port arrives at the port of the same number. A
//!   synchronous send has ended when all of its message has arrived, an eager one when its last phit
//!   would have left the node, one a `period` of its link, if the router had had room: CAMINOS does not tell when it has.
//! * A receive has ended when it has started and its message has arrived. Messages within a node arrive at once.
//! * A rank finishes with the last of its operations, a job with the last of its ranks.
//! * A rank of a background job begins again when its operations have ended and its messages have arrived, without a
//!   barrier, and the simulation ends when all other jobs have finished. A rank whose round can take no time has one
//!   round, and its messages are there in all rounds of others.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::mem::{size_of, size_of_val};
use std::ops::Range;
use std::rc::Rc;

use caminos_lib::quantify::Quantifiable;
use caminos_lib::topology::Topology;
use caminos_lib::traffic::{TaskTrafficState, Traffic, TrafficBuilderArgument, TrafficError};
use caminos_lib::{Message, Time};
use library::histogram::Histogram;
use library::input::Lines;
use library::operation_file::{Kind, ListedOperation, OperationFile};
use rand::rngs::StdRng;

use crate::configuration::Fields;
use crate::job_link_packets::JobLinkPackets;
use crate::node::Node;
use crate::session::Session;

/// Build the traffic from its file.
///
/// # Panics
/// With a `BadFile` if the file is not such a list, or does not fit the topology.
pub fn build(argument: TrafficBuilderArgument) -> Box<dyn Traffic> {
    let servers = argument.topology.num_servers();
    let fields = Fields::of(argument.cv, &["filename", "injection", "packet", "period", "times"]);
    let session = Session::of_builder();
    match Lines::open(fields.text("filename")).and_then(|lines| OperationFile::read(lines, servers)) {
        Ok(file) => {
            let of_port = |port| move |&(job, node): &(usize, usize)| (job, node * file.ports + port);
            let ranks: Vec<_> = (0..file.ports).flat_map(|port| file.ranks.iter().map(of_port(port))).collect();
            *session.job_link_packets.borrow_mut() =
                JobLinkPackets::new(file.jobs.len(), servers, &ranks, session.machine().graph.links);
            session.ports.set(file.ports);
            if fields.flag("times") {
                *session.operation_cycles.borrow_mut() = Some(vec![(0, 0); file.operations.len()]);
            }
            let [slots, packet, period] = ["injection", "packet", "period"].map(|name| fields.count(name));
            Box::new(TaskGraph::new(file, servers, slots, packet, period as Time, session))
        }
        Err(bad) => std::panic::panic_any(bad),
    }
}

#[derive(Debug)]
struct Operation {
    kind: Kind,
    rank: u32,
    stream: u32,
    partner: u32,
    /// Cycles or phits.
    length: u64,
    /// What it waits for before it starts, and how much of that is missing.
    needs: u32,
    missing: u32,
    /// Of a send: phits that were not given to the network, and that have not arrived.
    to_leave: u32,
    to_come: u32,
    started_at: Time,
    /// Of a receive: whether it has started, and messages that have arrived for it.
    has_started: bool,
    arrived: u32,
}

/// Messages that have arrived for a receive if its message is there in all rounds.
const ALWAYS: u32 = u32::MAX;

/// CAMINOS knows no event that is further ahead.
const LONGEST_EVENT: Time = 1000;

/// A jump of the clock costs about as much as this many cycles of a small machine.
const LEAST_JUMP: Time = 1000;

impl Operation {
    fn of(listed: &ListedOperation) -> Operation {
        let &ListedOperation { kind, rank, stream, partner, length } = listed;
        Operation {
            kind,
            rank,
            stream,
            partner,
            length,
            needs: 0,
            missing: 0,
            to_leave: 0,
            to_come: 0,
            started_at: 0,
            has_started: false,
            arrived: 0,
        }
    }
}

#[derive(Debug)]
struct Rank {
    job: usize,
    node: usize,
    /// Its number among the ranks of the node.
    number: usize,
    operations: Range<usize>,
    /// Whether it begins again when nothing is left.
    repeats: bool,
    /// Operations that have not ended; if the rank repeats them, eager messages that have not arrived, too.
    left: usize,
    /// Computations and sends that have started and not ended.
    active: usize,
    /// The cycle since which it has none, and those before in which it had none.
    inactive_since: Time,
    waited: Time,
}

/// What a rank computes one after another.
#[derive(Debug, Clone, Default)]
struct Stream {
    busy: bool,
    waiting: VecDeque<u32>,
}

#[derive(Debug)]
struct Job {
    background: bool,
    ranks_left: usize,
}

#[derive(Debug)]
struct TaskGraph {
    session: Rc<Session>,
    packet: usize,
    /// Cycles between two phits on the link of a node.
    period: Time,
    ports: usize,
    operations: Vec<Operation>,
    /// For each operation where what needs it begins; then all of that: twice its number, plus 1 if it needs the start.
    first_dependent: Vec<u32>,
    dependents: Vec<u32>,
    ranks: Vec<Rank>,
    streams: Vec<Stream>,
    nodes: Vec<Node>,
    jobs: Vec<Job>,
    /// Jobs that are not in the background and have not finished.
    jobs_left: usize,
    /// Operations that start now.
    starting: VecDeque<usize>,
    /// The send of each piece that CAMINOS has.
    pieces: HashMap<*const Message, usize>,
    /// Messages between nodes that are posted and have not arrived, and when the last one did.
    under_way: usize,
    arrived_at: Time,
    /// The cycle, as CAMINOS tells it.
    now: Cell<Time>,
}

impl TaskGraph {
    fn new(
        file: OperationFile,
        servers: usize,
        slots: usize,
        packet: usize,
        period: Time,
        session: Rc<Session>,
    ) -> TaskGraph {
        let (ports, striped) = (file.ports, file.striped);
        *session.finish_cycles.borrow_mut() = vec![None; file.jobs.len()];
        *session.rank_finish_cycles.borrow_mut() = vec![None; file.ranks.len()];
        *session.rank_waiting_cycles.borrow_mut() = vec![0; file.ranks.len()];
        *session.sent_phits.borrow_mut() = vec![0; file.jobs.len()];
        *session.arrived_phits.borrow_mut() = vec![0; file.jobs.len()];
        *session.message_times.borrow_mut() = vec![Histogram::default(); file.jobs.len()];
        let mut nodes: Vec<_> = (0..servers / ports).map(|_| Node::new(slots, striped, ports)).collect();
        let rank = |&(job, node): &(usize, usize)| Rank {
            job,
            node,
            number: nodes[node].add_rank(),
            operations: 0..0,
            repeats: false,
            left: 0,
            active: 0,
            inactive_since: 0,
            waited: 0,
        };
        let ranks = file.ranks.iter().map(rank).collect();
        let jobs: Vec<Job> = file.jobs.iter().map(|&(background, _)| Job { background, ranks_left: 0 }).collect();
        let mut traffic = TaskGraph {
            session,
            packet,
            period,
            ports,
            operations: file.operations.iter().map(Operation::of).collect(),
            first_dependent: file.first_dependent,
            dependents: file.dependents,
            ranks,
            streams: vec![Stream::default(); file.streams],
            nodes,
            jobs_left: jobs.iter().filter(|job| !job.background).count(),
            jobs,
            starting: VecDeque::new(),
            pieces: HashMap::new(),
            under_way: 0,
            arrived_at: 0,
            now: Cell::new(0),
        };
        traffic.count();
        traffic.begin_jobs();
        traffic
    }

    /// Count what operations, ranks and jobs consist of.
    fn count(&mut self) {
        for &dependent in &self.dependents {
            self.operations[dependent as usize / 2].needs += 1;
        }
        let mut begin = 0;
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            let end = begin + self.operations[begin..].partition_point(|one| one.rank as usize <= index);
            rank.operations = begin..end;
            begin = end;
            self.jobs[rank.job].ranks_left += 1;
        }
        for (index, takes_time) in self.take_time().into_iter().enumerate() {
            let rank = &mut self.ranks[index];
            rank.repeats = takes_time && self.jobs[rank.job].background;
        }
    }

    /// Whether a round of each rank takes time: it computes, has a message between nodes, or waits for such a rank.
    fn take_time(&self) -> Vec<bool> {
        let mut take_time = vec![false; self.ranks.len()];
        for (number, one) in self.operations.iter().enumerate() {
            take_time[one.rank as usize] |= match one.kind {
                Kind::Calc => one.length > 0,
                _ => self.node_of(number) != self.node_of(one.partner as usize),
            };
        }
        let mut spreads = true;
        while spreads {
            spreads = false;
            for receive in self.operations.iter().filter(|one| one.kind == Kind::Receive) {
                let (rank, sender) = (receive.rank as usize, self.operations[receive.partner as usize].rank as usize);
                spreads |= take_time[sender] && !take_time[rank];
                take_time[rank] |= take_time[sender];
            }
        }
        take_time
    }

    fn begin_jobs(&mut self) {
        for job in 0..self.jobs.len() {
            if self.jobs[job].ranks_left == 0 && !self.jobs[job].background {
                self.finish_job(job, 0);
            }
        }
        for rank in 0..self.ranks.len() {
            self.begin(rank);
            if self.ranks[rank].operations.is_empty() {
                self.finish_rank(rank, 0);
            }
        }
        self.settle(0);
    }

    /// Let a rank begin its operations, or begin them again.
    fn begin(&mut self, rank: usize) {
        let operations = self.ranks[rank].operations.clone();
        let mut left = operations.len();
        for one in &mut self.operations[operations.clone()] {
            one.missing = one.needs;
            (one.to_leave, one.to_come) = (one.length as u32, one.length as u32);
            one.has_started = false;
            left += usize::from(self.ranks[rank].repeats && one.kind == (Kind::Send { eager: true }));
        }
        self.ranks[rank].left = left;
        for number in operations {
            if self.operations[number].needs == 0 {
                self.let_start(number);
            }
        }
    }

    /// Count something that a rank had left.
    fn count_down(&mut self, rank: usize, cycle: Time) {
        self.ranks[rank].left -= 1;
        if self.ranks[rank].left > 0 {
            return;
        }
        if self.ranks[rank].repeats {
            self.begin(rank);
        } else {
            self.finish_rank(rank, cycle);
        }
    }

    fn finish_rank(&mut self, rank: usize, cycle: Time) {
        let one = &self.ranks[rank];
        let job = one.job;
        if self.jobs[job].background {
            return;
        }
        let waited = one.waited + if one.active == 0 { cycle.saturating_sub(one.inactive_since) } else { 0 };
        self.session.rank_finish_cycles.borrow_mut()[rank] = Some(cycle);
        self.session.rank_waiting_cycles.borrow_mut()[rank] = waited;
        self.jobs[job].ranks_left -= 1;
        if self.jobs[job].ranks_left == 0 {
            self.finish_job(job, cycle);
        }
    }

    fn finish_job(&mut self, job: usize, cycle: Time) {
        self.session.finish_cycles.borrow_mut()[job] = Some(cycle);
        self.jobs_left -= 1;
    }

    /// Start all operations that may start in this cycle.
    fn settle(&mut self, cycle: Time) {
        while let Some(number) = self.starting.pop_front() {
            self.start(number, cycle);
        }
    }

    /// Note that an operation waits for nothing more, except for its stream.
    fn let_start(&mut self, number: usize) {
        let one = &self.operations[number];
        if one.kind == Kind::Calc {
            let stream = &mut self.streams[one.stream as usize];
            if stream.busy {
                stream.waiting.push_back(number as u32);
                return;
            }
            stream.busy = true;
        }
        self.starting.push_back(number);
    }

    /// Tell what needs an operation that it has ended, or started.
    fn release(&mut self, number: usize, start: bool) {
        for index in self.first_dependent[number]..self.first_dependent[number + 1] {
            let (dependent, of_start) = (self.dependents[index as usize] / 2, self.dependents[index as usize] % 2 == 1);
            if of_start == start {
                let one = &mut self.operations[dependent as usize];
                one.missing -= 1;
                if one.missing == 0 {
                    self.let_start(dependent as usize);
                }
            }
        }
    }

    fn node_of(&self, number: usize) -> usize {
        self.ranks[self.operations[number].rank as usize].node
    }

    fn start(&mut self, number: usize, cycle: Time) {
        self.release(number, true);
        if let Some(cycles) = &mut *self.session.operation_cycles.borrow_mut() {
            cycles[number].0 = cycle;
        }
        let Operation { kind, rank, partner, length, .. } = self.operations[number];
        let (node, partner) = (self.node_of(number), partner as usize);
        match kind {
            Kind::Calc if length == 0 => self.end(number, cycle),
            Kind::Calc => {
                let until = cycle + length;
                self.activate(rank as usize, cycle);
                self.nodes[node].end_at(until, number);
                self.session.computing_until.set(until.max(self.session.computing_until.get()));
            }
            Kind::Send { .. } if self.node_of(partner) == node => {
                self.end(number, cycle);
                self.arrive(partner, cycle);
            }
            Kind::Send { .. } => {
                self.activate(rank as usize, cycle);
                self.operations[number].started_at = cycle;
                self.nodes[node].post(self.ranks[rank as usize].number, number, length as usize);
                self.under_way += 1;
            }
            Kind::Receive => {
                self.operations[number].has_started = true;
                self.receive_arrived(number, cycle);
            }
        }
    }

    /// Let the message of a receive arrive.
    fn arrive(&mut self, receive: usize, cycle: Time) {
        let Operation { kind, rank, .. } = self.operations[self.operations[receive].partner as usize];
        let sender = &self.ranks[rank as usize];
        let is_there_always = self.jobs[sender.job].background && !sender.repeats;
        let is_counted = sender.repeats && kind == (Kind::Send { eager: true });
        let one = &mut self.operations[receive];
        one.arrived = if is_there_always { ALWAYS } else { one.arrived + 1 };
        self.receive_arrived(receive, cycle);
        if is_counted {
            self.count_down(rank as usize, cycle);
        }
    }

    /// End a receive that has started if a message has arrived for it.
    fn receive_arrived(&mut self, number: usize, cycle: Time) {
        let one = &mut self.operations[number];
        if one.has_started && one.arrived > 0 {
            one.has_started = false;
            one.arrived -= u32::from(one.arrived != ALWAYS);
            self.end(number, cycle);
        }
    }

    fn activate(&mut self, rank: usize, cycle: Time) {
        let rank = &mut self.ranks[rank];
        if rank.active == 0 {
            rank.waited += cycle.saturating_sub(rank.inactive_since);
        }
        rank.active += 1;
    }

    /// End what was activated.
    fn end_active(&mut self, number: usize, cycle: Time) {
        let rank = &mut self.ranks[self.operations[number].rank as usize];
        rank.active -= 1;
        rank.inactive_since = cycle;
        self.end(number, cycle);
    }

    fn end(&mut self, number: usize, cycle: Time) {
        let Operation { kind, rank, stream, .. } = self.operations[number];
        if let Some(cycles) = &mut *self.session.operation_cycles.borrow_mut() {
            cycles[number].1 = cycle;
        }
        if kind == Kind::Calc {
            let stream = &mut self.streams[stream as usize];
            match stream.waiting.pop_front() {
                Some(next) => self.starting.push_back(next as usize),
                None => stream.busy = false,
            }
        }
        self.release(number, false);
        self.count_down(rank as usize, cycle);
    }

    /// Go on with what ended on a node by `cycle`, each as of the cycle in which it did: CAMINOS does not ask a node
    /// whose queue is full.
    fn wake(&mut self, node: usize, cycle: Time) {
        while let Some((end, number)) = self.nodes[node].take_ended(cycle) {
            self.end_active(number, end);
            self.settle(end);
        }
    }

    /// Take what a port sends in a cycle.
    fn send(&mut self, server: usize, cycle: Time) -> Option<Rc<Message>> {
        let (node, port) = (server / self.ports, server % self.ports);
        let (send, phits) = self.nodes[node].send(port, self.packet)?;
        let one = &mut self.operations[send];
        one.to_leave -= phits as u32;
        let ends = one.to_leave == 0 && one.kind == (Kind::Send { eager: true });
        let partner = one.partner as usize;
        let destination = &self.ranks[self.operations[partner].rank as usize];
        self.session.sent_phits.borrow_mut()[destination.job] += phits as u64;
        let destination = destination.node * self.ports + port;
        let message = Rc::new(Message { origin: server, destination, size: phits, creation_cycle: cycle });
        self.pieces.insert(Rc::as_ptr(&message), send);
        let leaves = self.nodes[node].leave(port, cycle, phits, self.period);
        if ends {
            self.nodes[node].end_at(leaves, send);
        }
        Some(message)
    }

    /// Whether nothing moves from the next cycle on until a computation ends, a while ahead. Such cycles differ in their
    /// number only, and `main` jumps over them.
    fn waits_for_a_computation(&self) -> bool {
        let now = self.now.get() + 1;
        if self.under_way > 0 || now < self.arrived_at + LONGEST_EVENT {
            return false;
        }
        let next = self.nodes.iter().filter_map(Node::next_end).min().filter(|&end| end >= now + LEAST_JUMP);
        self.session.jump_to.set(next);
        next.is_some()
    }

    /// Count a piece as arrived; false if no port sent it.
    fn receive(&mut self, message: &Rc<Message>, cycle: Time) -> bool {
        let (phits, send) = match self.pieces.remove(&Rc::as_ptr(message)) {
            Some(send) => (message.size, send),
            None => return false,
        };
        let receive = self.operations[send].partner as usize;
        for node in [self.node_of(send), self.node_of(receive)] {
            self.wake(node, cycle);
        }
        let job = self.ranks[self.operations[receive].rank as usize].job;
        self.session.arrived_phits.borrow_mut()[job] += phits as u64;
        self.operations[send].to_come -= phits as u32;
        if self.operations[send].to_come == 0 {
            self.under_way -= 1;
            self.arrived_at = cycle;
            self.session.message_times.borrow_mut()[job].add(cycle - self.operations[send].started_at);
            if self.operations[send].kind == (Kind::Send { eager: false }) {
                self.end_active(send, cycle);
            }
            self.arrive(receive, cycle);
            self.settle(cycle);
        }
        true
    }
}

impl Traffic for TaskGraph {
    fn generate_message(
        &mut self,
        origin: usize,
        cycle: Time,
        _topology: &dyn Topology,
        _rng: &mut StdRng,
    ) -> Result<Rc<Message>, TrafficError> {
        self.wake(origin / self.ports, cycle);
        self.send(origin, cycle).ok_or(TrafficError::OriginOutsideTraffic)
    }
    fn probability_per_cycle(&self, task: usize) -> f32 {
        f32::from(u8::from(self.nodes[task / self.ports].can_send(task % self.ports)))
    }
    fn should_generate(&self, task: usize, cycle: Time, _rng: &mut StdRng) -> bool {
        self.now.set(cycle);
        let node = &self.nodes[task / self.ports];
        node.can_send(task % self.ports) || node.next_end().map_or(false, |end| end <= cycle)
    }
    fn try_consume(
        &mut self,
        _task: usize,
        message: Rc<Message>,
        cycle: Time,
        _topology: &dyn Topology,
        _rng: &mut StdRng,
    ) -> bool {
        self.receive(&message, cycle)
    }
    fn is_finished(&self) -> bool {
        self.jobs_left == 0 || self.waits_for_a_computation()
    }
    /// Only a traffic that is made of others asks for it.
    fn task_state(&self, task: usize, _cycle: Time) -> TaskTrafficState {
        match self.probability_per_cycle(task) > 0.0 {
            true => TaskTrafficState::Generating,
            false => TaskTrafficState::WaitingData,
        }
    }
    fn number_tasks(&self) -> usize {
        self.nodes.len() * self.ports
    }
}

impl Quantifiable for TaskGraph {
    fn total_memory(&self) -> usize {
        size_of::<TaskGraph>() + size_of_val(&self.operations[..]) + size_of_val(&self.dependents[..])
    }
    fn print_memory_breakdown(&self) {
        println!("task graph: {} bytes", self.total_memory());
    }
    fn forecast_total_memory(&self) -> usize {
        self.total_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(jobs: &[&str], nodes: usize) -> TaskGraph {
        of_text(format!("operations 1\njobs {}\n{}", jobs.len(), jobs.concat()), nodes)
    }

    fn of_text(text: String, servers: usize) -> TaskGraph {
        let file = OperationFile::read(Lines::of_text(Box::leak(text.into_boxed_str())), servers).expect("a file");
        TaskGraph::new(file, servers, 16, 2, 1, Rc::default())
    }

    /// Rank 0 of a job sends messages of these phits to rank 1 at once.
    fn sends(nodes: [usize; 2], phits: &[usize]) -> String {
        let count = phits.len();
        let sent = phits.iter().enumerate().map(|(number, phits)| format!("3 0 0 {phits} {}\n", count + number));
        let received = (0..count).map(|number| format!("2 1 0 0 {number}\n"));
        let operations: String = sent.chain(received).collect();
        let [first, second] = nodes;
        format!("ranks 2\n{first}\n{second}\nstreams 0\noperations {}\n{operations}dependencies 0\n", 2 * count)
    }

    /// In the background each round two messages from nodes 2 and 4 to 3, and then one from 3 to 2; all of two phits.
    /// After its send and receive rank 0 begins again.
    fn background(kind: usize) -> String {
        format!(
            "background 3\n2\n3\n4\nstreams 0\noperations 6\n{kind} 0 0 2 2\n2 0 0 0 4\n2 1 0 0 0\n2 1 0 0 5\n\
             {kind} 1 0 2 1\n{kind} 2 0 2 3\ndependencies 2\n2 4 0\n3 4 0\n"
        )
    }

    /// The pieces that a node sends, one a cycle from `from` on.
    fn drain(graph: &mut TaskGraph, node: usize, from: Time) -> Vec<Rc<Message>> {
        (from..).map_while(|cycle| graph.send(node, cycle)).collect()
    }

    /// Destinations and phits.
    fn ends(pieces: &[Rc<Message>]) -> Vec<(usize, usize)> {
        pieces.iter().map(|piece| (piece.destination, piece.size)).collect()
    }

    /// Whether the first piece, and the second a cycle later, were sent.
    fn receive(graph: &mut TaskGraph, pieces: &[Rc<Message>], from: Time) -> bool {
        pieces.iter().zip(from..).all(|(piece, cycle)| graph.receive(piece, cycle))
    }

    /// Whether a node sends one message, and its piece arrives at another some cycles later.
    fn sends_and_receives(graph: &mut TaskGraph, node: usize, other: usize, from: Time, cycles: Time) -> bool {
        let pieces = drain(graph, node, from);
        pieces.len() == 1 && pieces[0].destination == other && receive(graph, &pieces, from + cycles)
    }

    fn finish_cycles(graph: &TaskGraph) -> Vec<Option<Time>> {
        graph.session.rank_finish_cycles.borrow().clone()
    }

    /// Rank 0 sends three phits and then computes for 5 cycles; rank 1 computes for 10 cycles before it receives.
    fn pair(kind: usize) -> TaskGraph {
        let lists = format!(
            "ranks 2\n0\n1\nstreams 2\noperations 4\n{kind} 0 0 3 3\n0 0 0 5 0\n0 1 1 10 0\n2 1 0 0 0\n\
             dependencies 2\n0 1 0\n2 3 0\n"
        );
        graph(&[&lists], 2)
    }

    #[test]
    fn an_eager_send_ends_when_it_has_left() {
        let mut graph = pair(1);
        let pieces = drain(&mut graph, 0, 0);
        assert_eq!(ends(&pieces), [(1, 2), (1, 1)]);
        graph.wake(0, 3);
        assert_eq!(graph.nodes[0].next_end(), Some(8));
        assert!(receive(&mut graph, &pieces, 20));
        assert_eq!(finish_cycles(&graph), [Some(8), Some(21)]);
        assert_eq!(*graph.session.rank_waiting_cycles.borrow(), [0, 11]);
        assert!(graph.is_finished());
    }

    #[test]
    fn a_synchronous_send_ends_when_it_has_arrived() {
        let mut graph = pair(3);
        let pieces = drain(&mut graph, 0, 0);
        assert!(receive(&mut graph, &pieces, 20));
        graph.wake(0, 26);
        assert_eq!(finish_cycles(&graph), [Some(26), Some(21)]);
    }

    #[test]
    fn a_message_may_be_there_before_its_receive() {
        let mut graph = pair(1);
        let pieces = drain(&mut graph, 0, 0);
        assert!(receive(&mut graph, &pieces, 5));
        graph.wake(1, 10);
        assert_eq!(finish_cycles(&graph)[1], Some(10));
    }

    #[test]
    fn a_chain_waits_for_ends_or_for_starts() {
        for (when, end) in [(0, 30), (1, 10)] {
            let calcs: String = (0..3).map(|stream| format!("0 0 {stream} 10 0\n")).collect();
            let lists = format!("ranks 1\n0\nstreams 3\noperations 3\n{calcs}dependencies 2\n0 1 {when}\n1 2 {when}\n");
            let mut graph = graph(&[&lists], 1);
            graph.wake(0, 99);
            assert_eq!(finish_cycles(&graph), [Some(end)]);
        }
    }

    #[test]
    fn operations_have_a_start_and_an_end() {
        let mut graph = pair(1);
        *graph.session.operation_cycles.borrow_mut() = Some(vec![(0, 0); 4]);
        let pieces = drain(&mut graph, 0, 0);
        assert!(receive(&mut graph, &pieces, 20));
        assert_eq!(*graph.session.operation_cycles.borrow(), Some(vec![(0, 3), (3, 8), (0, 10), (10, 21)]));
    }

    #[test]
    fn a_stream_computes_one_thing_at_a_time() {
        let mut graph =
            graph(&["ranks 1\n0\nstreams 2\noperations 3\n0 0 0 7 0\n0 0 0 3 0\n0 0 1 6 0\ndependencies 0\n"], 1);
        graph.wake(0, 99);
        assert_eq!(finish_cycles(&graph), [Some(10)]);
    }

    #[test]
    fn messages_within_a_node_take_no_time() {
        let lists = "ranks 2\n0\n0\nstreams 1\noperations 3\n0 0 0 7 0\n1 0 0 9 2\n2 1 0 0 1\ndependencies 1\n0 1 0\n";
        let mut graph = graph(&[lists], 1);
        assert!(!graph.nodes[0].can_send(0));
        graph.wake(0, 7);
        assert_eq!(finish_cycles(&graph), [Some(7), Some(7)]);
    }

    #[test]
    fn what_was_never_sent_or_has_arrived_is_not_received() {
        let mut graph = graph(&[&sends([0, 1], &[3, 3])], 2);
        let pieces = drain(&mut graph, 0, 10);
        let never = Rc::new(Message { origin: 0, destination: 1, size: 2, creation_cycle: 10 });
        assert!(!graph.receive(&never, 20) && graph.receive(&pieces[1], 20) && !graph.receive(&pieces[1], 20));
    }

    #[test]
    fn what_leaves_by_a_port_arrives_at_the_port_of_the_same_number() {
        // Ports of node 0 are 0 and 1, of node 1 they are 2 and 3; packets have two phits.
        let job = sends([0, 1], &[3, 1, 5]);
        let mut divided = of_text(format!("operations 1\nstripes 2\njobs 1\n{job}"), 4);
        let sent: Vec<_> = (0..6).map(|cycle| divided.send(cycle % 2, cycle as Time).expect("a packet")).collect();
        assert_eq!(ends(&sent), [(2, 2), (3, 1), (2, 2), (3, 1), (2, 2), (3, 1)]);
        assert!(sent.iter().all(|piece| divided.receive(piece, 9)));
        assert_eq!(finish_cycles(&divided), [Some(9), Some(9)]);
    }

    #[test]
    fn a_background_job_repeats_until_the_others_have_finished() {
        let mut graph = graph(&[&sends([0, 1], &[2]), &background(3)], 5);
        let first = drain(&mut graph, 0, 0);
        for round in (0..90).step_by(30) {
            for sender in [2, 4] {
                assert!(sends_and_receives(&mut graph, sender, 3, round, 5));
            }
            assert!(sends_and_receives(&mut graph, 3, 2, round + 10, 10));
        }
        assert!(!graph.is_finished());
        assert!(receive(&mut graph, &first, 95));
        assert!(graph.is_finished() && graph.nodes[2].can_send(0));
        assert_eq!(*graph.session.finish_cycles.borrow(), [Some(95), None]);
        assert_eq!(finish_cycles(&graph), [Some(95), Some(95), None, None, None]);
        assert_eq!(*graph.session.sent_phits.borrow(), [2, 18]);
        assert_eq!(*graph.session.arrived_phits.borrow(), [2, 18]);
    }

    #[test]
    fn messages_of_later_rounds_do_not_stand_for_those_of_this_one() {
        let mut graph = graph(&[&sends([0, 1], &[2]), &background(3)], 5);
        let first = drain(&mut graph, 2, 0);
        for round in 0..3 {
            assert!(sends_and_receives(&mut graph, 4, 3, round, 0));
            assert!(!graph.nodes[3].can_send(0));
        }
        assert!(receive(&mut graph, &first, 10));
        // Node 4 is three rounds ahead; node 3 now waits for its own message, and then for the next from node 2.
        for round in (20..80).step_by(20) {
            assert!(sends_and_receives(&mut graph, 3, 2, round, 5));
            assert!(!graph.nodes[3].can_send(0));
            assert!(sends_and_receives(&mut graph, 2, 3, round, 10));
        }
        // Its fourth round wants a fourth message from node 4.
        assert!(!graph.nodes[3].can_send(0));
    }

    #[test]
    fn in_the_background_a_rank_begins_again_when_its_eager_messages_have_arrived() {
        let mut graph = graph(&[&sends([0, 1], &[2]), &background(1)], 5);
        let pieces = drain(&mut graph, 4, 0);
        graph.wake(4, 10);
        assert!(ends(&pieces) == [(3, 2)] && !graph.nodes[4].can_send(0));
        assert!(receive(&mut graph, &pieces, 20) && graph.nodes[4].can_send(0));
    }

    #[test]
    fn in_the_background_a_rank_computes_in_each_round() {
        let calc = "background 1\n2\nstreams 1\noperations 1\n0 0 0 10 0\ndependencies 0\n";
        let mut graph = graph(&[calc, &sends([0, 1], &[1])], 3);
        graph.wake(2, 35);
        assert_eq!(graph.nodes[2].next_end(), Some(40));
        assert!(sends_and_receives(&mut graph, 0, 1, 0, 50) && graph.is_finished());
        assert_eq!(*graph.session.finish_cycles.borrow(), [None, Some(50)]);
    }

    #[test]
    fn a_background_rank_whose_round_takes_no_time_does_not_repeat_for_ever() {
        // Ranks 0 and 1 of node 2 exchange messages; rank 2 there gets one from 1, and computes.
        let job = "background 3\n2\n2\n2\nstreams 1\noperations 7\n3 0 0 9 2\n2 0 0 0 3\n2 1 0 0 0\n3 1 0 9 1\n\
                   3 1 0 9 5\n2 2 0 0 4\n0 2 0 10 0\ndependencies 2\n2 4 0\n5 6 0\n";
        let mut graph = graph(&[job, &sends([0, 1], &[1])], 3);
        assert_eq!(graph.ranks.iter().map(|rank| rank.repeats).collect::<Vec<_>>(), [false, false, true, false, false]);
        graph.wake(2, 35);
        assert_eq!(graph.nodes[2].next_end(), Some(40));
    }

    #[test]
    fn jobs_and_ranks_without_operations_finish_at_once() {
        let graph = graph(&["ranks 1\n0\nstreams 0\noperations 0\ndependencies 0\n"], 1);
        assert_eq!(finish_cycles(&graph), [Some(0)]);
        assert_eq!(*graph.session.finish_cycles.borrow(), [Some(0)]);
    }
}
