//! Traffic `TaskGraph { filename: "...", injection: 16, packet: 4, period: 2, times: true }`: placed jobs, and operations
//! that wait for each other (see the library's `operations.rs`), in cycles and phits; with `times` the result has the start
//! and the end of each.
//!
//! * A computation ends in the cycle in which its length is over.
//! * A send gives its message to its node, where up to `injection` messages a port are under way at once and take turns by
//!   packets of `packet` phits (see the library's `network_interface.rs`); with one alone CAMINOS gets whole messages, unless
//!   several ports divide them. What leaves by a port arrives at the port of the same number. An eager send has ended when
//!   its last phit would have left the node, one a `period` of its link, if the router had had room: CAMINOS does not tell
//!   when it has.
//! * The simulation ends when all jobs that are not in the background have finished.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::mem::take;
use std::rc::Rc;

use caminos_lib::topology::Topology;
use caminos_lib::traffic::{TaskTrafficState, Traffic, TrafficBuilderArgument, TrafficError};
use caminos_lib::{Message, Time};
use library::histogram::Histogram;
use library::input::{BadFile, Lines};
use library::job_link_packets::JobLinkPackets;
use library::network_interface::Node;
use library::operation_file::{Kind, OperationFile};
use library::operations::{Operations, Posted};
use rand::rngs::StdRng;

use crate::configuration::Fields;
use crate::session::{without_memory, Session};

/// Build the traffic from its file.
///
/// # Panics
/// With a `BadFile` if the file is not such a list, or does not fit the topology.
pub fn build(argument: TrafficBuilderArgument) -> Box<dyn Traffic> {
    let servers = argument.topology.num_servers();
    let fields = Fields::of(argument.cv, &["filename", "injection", "packet", "period", "times"]);
    let session = Session::of_builder();
    let without_phits = |file: &OperationFile| {
        file.operations.iter().any(|one| matches!(one.kind, Kind::Send { .. }) && one.length == 0)
    };
    match Lines::open(fields.text("filename")).and_then(|lines| OperationFile::read(lines, servers)) {
        Ok(file) if without_phits(&file) => {
            let name = fields.text("filename");
            std::panic::panic_any(BadFile(format!("{name}: a send needs a phit, since CAMINOS has no empty messages")));
        }
        Ok(file) => {
            *session.job_link_packets.borrow_mut() = JobLinkPackets::new(&file, servers, session.machine().graph.links);
            session.ports.set(file.ports);
            let [slots, packet, period] = ["injection", "packet", "period"].map(|name| fields.count(name));
            let pace = Pace { slots, packet: packet as u32, period: period as Time };
            Box::new(TaskGraph::new(file, servers, pace, fields.flag("times"), session))
        }
        Err(bad) => std::panic::panic_any(bad),
    }
}

/// How messages leave a node.
#[derive(Debug)]
struct Pace {
    slots: usize,
    /// Phits that CAMINOS gets at once.
    packet: u32,
    /// Cycles between two phits on the link of a node.
    period: Time,
}

#[derive(Debug)]
struct TaskGraph {
    /// It has the operations.
    session: Rc<Session>,
    pace: Pace,
    ports: usize,
    nodes: Vec<Node>,
    /// When which computation or eager send of each node ends.
    ending: Vec<BinaryHeap<Reverse<(Time, u32)>>>,
    /// When each port would be free again if its router had room for all that it has sent.
    free_at: Vec<Time>,
    /// Of each send: phits that were not given to the network, and that have not arrived.
    to_leave: Vec<u32>,
    to_come: Vec<u32>,
    /// The send of each piece that CAMINOS has.
    pieces: HashMap<*const Message, u32>,
    /// Messages between nodes that are posted and have not arrived, and when the last one did.
    under_way: usize,
    arrived_at: Time,
    /// The cycle, as CAMINOS tells it.
    now: Cell<Time>,
}

/// CAMINOS knows no event that is further ahead.
const LONGEST_EVENT: Time = 1000;

/// A jump of the clock costs about as much as this many cycles of a small machine.
const LEAST_JUMP: Time = 1000;

impl TaskGraph {
    fn new(file: OperationFile, servers: usize, mut pace: Pace, times: bool, session: Rc<Session>) -> TaskGraph {
        let (ports, jobs, operations) = (file.ports, file.jobs.len(), file.operations.len());
        *session.sent_phits.borrow_mut() = vec![0; jobs];
        *session.arrived_phits.borrow_mut() = vec![0; jobs];
        *session.message_times.borrow_mut() = vec![Histogram::default(); jobs];
        if pace.slots == 1 && !file.striped {
            pace.packet = u32::MAX;
        }
        let mut ranks = vec![0; servers / ports];
        file.ranks.iter().for_each(|&(_, node)| ranks[node] += 1);
        let mut traffic = TaskGraph {
            nodes: ranks.iter().map(|&ranks| Node::new(ranks, pace.slots, file.striped, ports)).collect(),
            pace,
            ports,
            ending: vec![BinaryHeap::new(); servers / ports],
            free_at: vec![0; servers],
            to_leave: vec![0; operations],
            to_come: vec![0; operations],
            pieces: HashMap::new(),
            under_way: 0,
            arrived_at: 0,
            now: Cell::new(0),
            session,
        };
        *traffic.session.operations.borrow_mut() = Operations::new(file, times);
        traffic.take_actions();
        traffic
    }

    /// Do what operations that started have asked for.
    fn take_actions(&mut self) {
        let mut operations = self.session.operations.borrow_mut();
        for (end, calculation) in take(&mut operations.timers) {
            self.ending[operations.place_of(calculation).1].push(Reverse((end, calculation)));
            self.session.computing_until.set(end.max(self.session.computing_until.get()));
        }
        for Posted { node, rank, send, bytes: phits } in take(&mut operations.posted) {
            (self.to_leave[send as usize], self.to_come[send as usize]) = (phits, phits);
            self.nodes[node].post(rank, send, phits);
            self.under_way += 1;
        }
    }

    /// When the first of what has started on a node ends, as far as that is known.
    fn next_end(&self, node: usize) -> Option<Time> {
        self.ending[node].peek().map(|&Reverse((end, _))| end)
    }

    /// Go on with what ended on a node by `cycle`, each as of the cycle in which it did: CAMINOS does not ask a node
    /// whose queue is full.
    fn wake(&mut self, node: usize, cycle: Time) {
        while self.next_end(node).map_or(false, |end| end <= cycle) {
            if let Some(Reverse((end, operation))) = self.ending[node].pop() {
                self.session.operations.borrow_mut().end_active(operation, end);
                self.take_actions();
            }
        }
    }

    /// Take what a port sends in a cycle.
    fn send(&mut self, server: usize, cycle: Time) -> Option<Rc<Message>> {
        let (node, port) = (server / self.ports, server % self.ports);
        let (send, phits) = self.nodes[node].next(port, self.pace.packet)?;
        self.nodes[node].send(port, phits);
        let operations = self.session.operations.borrow();
        let (job, destination) = operations.place_of(operations.receive_of(send));
        self.session.sent_phits.borrow_mut()[job] += u64::from(phits);
        let destination = destination * self.ports + port;
        let message = Rc::new(Message { origin: server, destination, size: phits as usize, creation_cycle: cycle });
        self.pieces.insert(Rc::as_ptr(&message), send);
        let (free_at, period) = (&mut self.free_at[server], self.pace.period);
        *free_at = (*free_at).max((cycle + period - 1) / period * period) + Time::from(phits) * period;
        self.to_leave[send as usize] -= phits;
        if self.to_leave[send as usize] == 0 && operations.is_eager(send) {
            self.ending[node].push(Reverse((*free_at, send)));
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
        let ends = (0..self.nodes.len()).filter_map(|node| self.next_end(node));
        let next = ends.min().filter(|&end| end >= now + LEAST_JUMP);
        self.session.jump_to.set(next);
        next.is_some()
    }

    /// Count a piece as arrived; false if no port sent it.
    fn receive(&mut self, message: &Rc<Message>, cycle: Time) -> bool {
        let send = match self.pieces.remove(&Rc::as_ptr(message)) {
            Some(send) => send,
            None => return false,
        };
        for server in [message.origin, message.destination] {
            self.wake(server / self.ports, cycle);
        }
        let mut operations = self.session.operations.borrow_mut();
        let (job, _) = operations.place_of(send);
        self.session.arrived_phits.borrow_mut()[job] += message.size as u64;
        self.to_come[send as usize] -= message.size as u32;
        if self.to_come[send as usize] == 0 {
            self.under_way -= 1;
            self.arrived_at = cycle;
            self.session.message_times.borrow_mut()[job].add(cycle - operations.posted_at(send));
            operations.arrive(send, cycle);
            drop(operations);
            self.take_actions();
        }
        true
    }

    fn can_send(&self, server: usize) -> bool {
        self.nodes[server / self.ports].can_send(server % self.ports)
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
        f32::from(u8::from(self.can_send(task)))
    }
    fn should_generate(&self, task: usize, cycle: Time, _rng: &mut StdRng) -> bool {
        self.now.set(cycle);
        self.can_send(task) || self.next_end(task / self.ports).map_or(false, |end| end <= cycle)
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
        self.session.operations.borrow().are_finished() || self.waits_for_a_computation()
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

without_memory!(TaskGraph);

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(job: &str, servers: usize, ports: &str, pace: Pace) -> TaskGraph {
        let text = format!("operations 1\n{ports}jobs 1\n{job}");
        let file = OperationFile::read(Lines::of_text(text), servers).expect("a file");
        TaskGraph::new(file, servers, pace, true, Rc::default())
    }

    fn pace(slots: usize, period: Time) -> Pace {
        Pace { slots, packet: 2, period }
    }

    /// Rank 0 sends messages of these phits to rank 1 at once.
    fn sends(phits: &[usize]) -> String {
        let count = phits.len();
        let sent = phits.iter().enumerate().map(|(number, phits)| format!("3 0 0 {phits} {}\n", count + number));
        let received = (0..count).map(|number| format!("2 1 0 0 {number}\n"));
        let operations: String = sent.chain(received).collect();
        format!("ranks 2\n0\n1\nstreams 0\noperations {}\n{operations}dependencies 0\n", 2 * count)
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

    fn finish_cycles(graph: &TaskGraph) -> Vec<Option<Time>> {
        graph.session.operations.borrow().rank_finish.clone()
    }

    /// Rank 0 sends three phits and then computes for 5 cycles; rank 1 computes for 10 cycles before it receives.
    fn pair(period: Time) -> TaskGraph {
        let lists = "ranks 2\n0\n1\nstreams 2\noperations 4\n1 0 0 3 3\n0 0 0 5 0\n0 1 1 10 0\n2 1 0 0 0\n\
                     dependencies 2\n0 1 0\n2 3 0\n";
        graph(lists, 2, "", pace(16, period))
    }

    #[test]
    fn an_eager_send_ends_when_its_last_phit_would_have_left() {
        for period in [1, 4] {
            let mut graph = pair(period);
            let pieces = drain(&mut graph, 0, 0);
            assert_eq!(ends(&pieces), [(1, 2), (1, 1)]);
            let left = 3 * period;
            graph.wake(0, left);
            assert_eq!(graph.next_end(0), Some(left + 5));
            assert!(receive(&mut graph, &pieces, 20) && graph.is_finished());
            assert_eq!(finish_cycles(&graph), [Some(left + 5), Some(21)]);
            let operations = graph.session.operations.borrow();
            assert_eq!(operations.rank_waiting, [0, 11]);
            assert_eq!(operations.times, Some(vec![[0, left, 21], [left, left + 5, left], [0, 10, 0], [10, 21, 10]]));
        }
    }

    #[test]
    fn what_was_never_sent_or_has_arrived_is_not_received() {
        let mut graph = graph(&sends(&[3, 3]), 2, "", pace(16, 1));
        let pieces = drain(&mut graph, 0, 10);
        let never = Rc::new(Message { origin: 0, destination: 1, size: 2, creation_cycle: 10 });
        assert!(!graph.receive(&never, 20) && graph.receive(&pieces[1], 20) && !graph.receive(&pieces[1], 20));
    }

    #[test]
    fn one_message_at_a_time_leaves_as_a_whole() {
        assert_eq!(ends(&drain(&mut graph(&sends(&[3, 1]), 2, "", pace(1, 1)), 0, 0)), [(1, 3), (1, 1)]);
    }

    #[test]
    fn what_leaves_by_a_port_arrives_at_the_port_of_the_same_number() {
        // Ports of node 0 are 0 and 1, of node 1 they are 2 and 3; packets have two phits.
        for slots in [1, 16] {
            let mut divided = graph(&sends(&[3, 1]), 4, "stripes 2\n", pace(slots, 1));
            let sent: Vec<_> = (0..3).map(|cycle| divided.send(cycle % 2, cycle as Time).expect("a packet")).collect();
            // With more slots the second message has its turn before the rest of the first.
            assert_eq!(ends(&sent), [(2, 2), (3, 1), (2, 1)]);
            assert!(sent.iter().all(|piece| divided.receive(piece, 9)));
            assert_eq!(finish_cycles(&divided), [Some(9), Some(9)]);
        }
    }
}
