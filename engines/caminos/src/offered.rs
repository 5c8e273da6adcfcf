//! Traffic `Offered { filename: "...", seed: 1, arrivals: "poisson", burst: 8, load: 0.3, message: 8, warmup: 1000,
//! batch: 500, batches: 20, drain: 20 }`: messages that nodes offer without end, and what happens to them.
//!
//! Open loop: messages are due at times drawn independently of the network and wait in an unbounded queue of their
//! node, so the latency, from the due time to the arrival of the last phit, includes the source queue. For the file, the
//! arrivals and the random numbers see the library's `offered.rs`: the packet engine offers the same messages.
//!
//! After `warmup` cycles follow `batches` of `batch` cycles each. Messages due in a batch are measured; load goes on
//! until all of them have arrived, for as many measured windows as `drain` at most; not at all if the backlog has grown
//! by more than 1 % of the messages created in the second half of the window.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::mem::size_of;
use std::rc::Rc;

use caminos_lib::quantify::Quantifiable;
use caminos_lib::topology::Topology;
use caminos_lib::traffic::{TaskTrafficState, Traffic, TrafficBuilderArgument, TrafficError};
use caminos_lib::{Message, Simulation, Time};
use library::histogram::Histogram;
use library::input::Lines;
use library::offered::{read, Arrivals, Source};
use library::result::Fields;
use rand::rngs::StdRng;

use crate::configuration::Fields as Configuration;
use crate::result::link_phits;
use crate::session::Session;

/// When what is measured, in cycles.
#[derive(Debug, Clone, Copy)]
struct Window {
    warmup: Time,
    batch: Time,
    batches: Time,
}

impl Window {
    fn end(&self) -> Time {
        self.warmup + self.batch * self.batches
    }

    /// The beginning, the middle and the end; the middle is the end of a batch.
    fn moments(&self) -> [Time; 3] {
        [self.warmup, self.warmup + self.batch * (self.batches / 2), self.end()]
    }

    /// The batch of a cycle; none before and behind the window.
    fn batch_of(&self, cycle: Time) -> Option<usize> {
        (self.warmup..self.end()).contains(&cycle).then(|| ((cycle - self.warmup) / self.batch) as usize)
    }
}

/// What is measured in one batch.
#[derive(Debug, Clone, Default)]
struct Batch {
    /// Messages due in it, and messages that arrived in it, whenever they were due.
    created: u64,
    arrived: u64,
    /// Sum over its cycles of the messages that were due and had not arrived.
    backlog: u64,
    /// Of the messages due in it: how many have arrived, and the sum of their cycles.
    measured: u64,
    latency: u64,
    longest: Time,
    latencies: Histogram,
}

#[derive(Debug, Default)]
struct Node {
    /// In cycles; none if it sends nothing.
    source: Option<Source>,
    /// Cycles and destinations of messages that are due and have not been given to CAMINOS.
    due: VecDeque<(Time, usize)>,
    /// Messages due, and of its messages those that arrived, within the window.
    created: u64,
    arrived: u64,
}

/// What the traffic shares with whoever runs the simulation.
#[derive(Debug)]
pub struct Offered {
    nodes: Vec<Node>,
    /// When each message was due that CAMINOS has.
    under_way: HashMap<*const Message, Time>,
    message_phits: usize,
    window: Window,
    drain: Time,
    batches: Vec<Batch>,
    /// Messages due and not arrived: now, and at the beginning, in the middle and at the end of the window.
    backlog: u64,
    backlog_at: [u64; 3],
    /// Measured messages that have not arrived.
    awaited: u64,
    now: Time,
}

/// Build the traffic from its file.
///
/// # Panics
/// With a `BadFile` if the file is not such a list, or does not fit the topology.
pub fn build(argument: TrafficBuilderArgument) -> Box<dyn Traffic> {
    let known =
        ["filename", "seed", "arrivals", "burst", "load", "message", "period", "warmup", "batch", "batches", "drain"];
    let fields = Configuration::of(argument.cv, &known);
    let arrivals = match fields.text("arrivals") {
        "poisson" => Arrivals::Poisson,
        "periodic" => Arrivals::Periodic,
        "bursts" => Arrivals::Bursts(fields.number("burst").max(1.0)),
        other => panic!("Offered has no arrivals {other}"),
    };
    let (load, message_phits) = (fields.number("load"), fields.count("message"));
    let message_cycles = (message_phits * fields.count("period")) as f64;
    let window = Window {
        warmup: fields.number("warmup") as Time,
        batch: fields.count("batch") as Time,
        batches: fields.count("batches") as Time,
    };
    let servers = argument.topology.num_servers();
    let targets = Lines::open(fields.text("filename")).and_then(|lines| read(lines, servers));
    let targets = targets.unwrap_or_else(|bad| std::panic::panic_any(bad));
    let seed = fields.number("seed") as u64;
    let node = |(index, targets)| {
        let source = Source::new(index, seed, targets, arrivals, load, message_cycles);
        Node { source, ..Node::default() }
    };
    let offered = Offered {
        nodes: targets.into_iter().enumerate().map(node).collect(),
        under_way: HashMap::new(),
        message_phits,
        window,
        drain: fields.count("drain") as Time,
        batches: vec![Batch::default(); window.batches as usize],
        backlog: 0,
        backlog_at: [0; 3],
        awaited: 0,
        now: 0,
    };
    let (session, shared) = (Session::of_builder(), Rc::new(RefCell::new(offered)));
    session.ports.set(1);
    *session.offered.borrow_mut() = Some(shared.clone());
    Box::new(OfferedTraffic { shared })
}

impl Offered {
    /// Count the cycles up to `cycle`, with the messages that wait in them.
    fn advance(&mut self, cycle: Time) {
        while self.now < cycle {
            if let Some(batch) = self.window.batch_of(self.now) {
                self.batches[batch].backlog += self.backlog;
            }
            self.now += 1;
            for (at, moment) in self.window.moments().into_iter().enumerate() {
                if self.now == moment {
                    self.backlog_at[at] = self.backlog;
                }
            }
        }
    }

    /// Queue the messages of a node that are due; return whether any waits.
    fn queue_due(&mut self, index: usize, cycle: Time) -> bool {
        let node = &mut self.nodes[index];
        while let Some(source) = node.source.as_mut().filter(|source| source.due() <= cycle) {
            let due = source.due();
            node.due.push_back((due, source.take()));
            self.backlog += 1;
            if let Some(batch) = self.window.batch_of(due) {
                self.batches[batch].created += 1;
                self.awaited += 1;
                node.created += 1;
            }
        }
        !node.due.is_empty()
    }

    /// Whether the backlog has grown by more than 1 % of what was created in the second half of the window.
    fn is_growing(&self) -> bool {
        let created: u64 = self.batches[self.batches.len() / 2..].iter().map(|batch| batch.created).sum();
        100 * self.backlog_at[2].saturating_sub(self.backlog_at[1]) > created
    }

    fn send(&mut self, origin: usize, cycle: Time) -> Option<Rc<Message>> {
        let (due, destination) = self.nodes[origin].due.pop_front()?;
        let message = Rc::new(Message { origin, destination, size: self.message_phits, creation_cycle: cycle });
        self.under_way.insert(Rc::as_ptr(&message), due);
        Some(message)
    }

    fn arrive(&mut self, message: &Rc<Message>, cycle: Time) {
        self.advance(cycle);
        self.backlog -= 1;
        let due = self.under_way.remove(&Rc::as_ptr(message)).expect("a message that was sent");
        if let Some(batch) = self.window.batch_of(cycle) {
            self.batches[batch].arrived += 1;
            self.nodes[message.origin].arrived += 1;
        }
        if let Some(batch) = self.window.batch_of(due) {
            self.awaited -= 1;
            let (batch, latency) = (&mut self.batches[batch], cycle - due);
            batch.measured += 1;
            batch.latency += latency;
            batch.longest = batch.longest.max(latency);
            batch.latencies.add(latency);
        }
    }
}

/// Simulate the window, and then until all that was due in it has arrived; give the phits of each link in the window.
pub fn run(simulation: &mut Simulation, session: &Session, offered: &RefCell<Offered>) -> Vec<u64> {
    let (window, drain) = (offered.borrow().window, offered.borrow().drain);
    simulation.statistics.columns.clear();
    let run_to = |cycle: Time, simulation: &mut Simulation| {
        simulation.measured = cycle;
        simulation.run();
        offered.borrow_mut().advance(cycle);
        link_phits(simulation, session)
    };
    let before = run_to(window.warmup, simulation);
    let after = run_to(window.end(), simulation);
    let limit = window.end() + drain * window.batch * window.batches;
    // A growing backlog means that the load is not sustained: then latencies grow with the length of the run.
    while !offered.borrow().is_growing() && offered.borrow().awaited > 0 && simulation.shared.cycle < limit {
        run_to((simulation.shared.cycle + window.batch).min(limit), simulation);
    }
    after.iter().zip(&before).map(|(after, before)| after - before).collect()
}

/// The result as JSON: counts, and sums of cycles.
pub fn to_json(simulation: &Simulation, offered: &Offered, phits: &[u64]) -> String {
    let (nodes, batches) = (&offered.nodes, &offered.batches);
    let mut fields = Fields::new("caminos_lib", caminos_lib::get_version_number());
    fields.number("cycles", simulation.shared.cycle);
    fields.number("awaited", offered.awaited);
    fields.list("backlog", offered.backlog_at);
    fields.list("link_phits", phits);
    fields.list("node_created", nodes.iter().map(|node| node.created));
    fields.list("node_arrived", nodes.iter().map(|node| node.arrived));
    fields.list("created", batches.iter().map(|batch| batch.created));
    fields.list("arrived", batches.iter().map(|batch| batch.arrived));
    fields.list("backlog_cycles", batches.iter().map(|batch| batch.backlog));
    fields.list("measured", batches.iter().map(|batch| batch.measured));
    fields.list("latency_cycles", batches.iter().map(|batch| batch.latency));
    fields.list("longest_cycles", batches.iter().map(|batch| batch.longest));
    fields.list("packets_by_hops", &simulation.statistics.current_measurement.total_packet_per_hop_count);
    fields.lists("twice_latency_counts", batches.iter().map(|batch| batch.latencies.listed()));
    fields.end()
}

#[derive(Debug)]
struct OfferedTraffic {
    shared: Rc<RefCell<Offered>>,
}

impl Traffic for OfferedTraffic {
    fn generate_message(
        &mut self,
        origin: usize,
        cycle: Time,
        _topology: &dyn Topology,
        _rng: &mut StdRng,
    ) -> Result<Rc<Message>, TrafficError> {
        self.shared.borrow_mut().send(origin, cycle).ok_or(TrafficError::OriginOutsideTraffic)
    }
    fn probability_per_cycle(&self, task: usize) -> f32 {
        f32::from(u8::from(!self.shared.borrow().nodes[task].due.is_empty()))
    }
    fn should_generate(&self, task: usize, cycle: Time, _rng: &mut StdRng) -> bool {
        let mut shared = self.shared.borrow_mut();
        if task == 0 {
            shared.advance(cycle);
        }
        shared.queue_due(task, cycle)
    }
    fn try_consume(
        &mut self,
        _task: usize,
        message: Rc<Message>,
        cycle: Time,
        _topology: &dyn Topology,
        _rng: &mut StdRng,
    ) -> bool {
        self.shared.borrow_mut().arrive(&message, cycle);
        true
    }
    fn is_finished(&self) -> bool {
        false
    }
    fn task_state(&self, _task: usize, _cycle: Time) -> TaskTrafficState {
        TaskTrafficState::Generating
    }
    fn number_tasks(&self) -> usize {
        self.shared.borrow().nodes.len()
    }
}

impl Quantifiable for OfferedTraffic {
    fn total_memory(&self) -> usize {
        size_of::<Offered>() + self.shared.borrow().nodes.len() * size_of::<Node>()
    }
    fn print_memory_breakdown(&self) {
        println!("offered traffic: {} bytes", self.total_memory());
    }
    fn forecast_total_memory(&self) -> usize {
        self.total_memory()
    }
}
