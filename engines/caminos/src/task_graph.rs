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
use library::input::BadFile;
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
    let file = fields.file(|lines| OperationFile::read(lines, servers));
    if file.operations.iter().any(|one| matches!(one.kind, Kind::Send { .. }) && one.length == 0) {
        let name = fields.text("filename");
        std::panic::panic_any(BadFile(format!("{name}: a send needs a phit, since CAMINOS has no empty messages")));
    }
    *session.job_link_packets.borrow_mut() = JobLinkPackets::new(&file, servers, session.machine().graph.links);
    session.ports.set(file.ports);
    let [slots, packet, period] = ["injection", "packet", "period"].map(|name| fields.count(name));
    let pace = Pace { slots, packet: packet as u32, period: period as Time };
    Box::new(TaskGraph::new(file, servers, pace, fields.flag("times"), session))
}

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

/// CAMINOS has no event that is further ahead.
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
        let mut traffic = TaskGraph {
            nodes: (file.ranks_of_nodes(servers / ports).into_iter())
                .map(|ranks| Node::new(ranks, pace.slots, file.striped, ports))
                .collect(),
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

    /// Start the timers and post the messages of operations that have started.
    fn take_actions(&mut self) {
        let mut operations = self.session.operations.borrow_mut();
        for (end, calculation) in take(&mut operations.timers) {
            self.ending[operations.job_and_node(calculation).1].push(Reverse((end, calculation)));
            self.session.computing_until.set(end.max(self.session.computing_until.get()));
        }
        for Posted { node, rank, send, bytes: phits } in take(&mut operations.posted) {
            (self.to_leave[send as usize], self.to_come[send as usize]) = (phits, phits);
            self.nodes[node].waiting.post(rank, send, phits);
            self.under_way += 1;
        }
    }

    /// When the first of what has started on a node ends, as far as that is known.
    fn next_end(&self, node: usize) -> Option<Time> {
        self.ending[node].peek().map(|&Reverse((end, _))| end)
    }

    /// End operations of a node that are due by `cycle`, each at its own cycle: CAMINOS does not ask a node with a full queue.
    fn wake(&mut self, node: usize, cycle: Time) {
        while self.next_end(node).map_or(false, |end| end <= cycle) {
            if let Some(Reverse((end, operation))) = self.ending[node].pop() {
                self.session.operations.borrow_mut().end_active(operation, end);
                self.take_actions();
            }
        }
    }

    fn send(&mut self, server: usize, cycle: Time) -> Option<Rc<Message>> {
        let (node, port) = (server / self.ports, server % self.ports);
        let (send, phits) = self.nodes[node].next(port, self.pace.packet, |_, _| true)?;
        self.nodes[node].send(port, phits);
        let operations = self.session.operations.borrow();
        let (job, destination) = operations.job_and_node(operations.receive_of(send));
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

    /// Whether nothing moves from the next cycle until a computation ends; `main` skips these cycles.
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
        let (job, _) = operations.job_and_node(send);
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
        &mut self, origin: usize, cycle: Time, _topology: &dyn Topology, _rng: &mut StdRng,
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
        &mut self, _task: usize, message: Rc<Message>, cycle: Time, _topology: &dyn Topology, _rng: &mut StdRng,
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
