//! Traffic `Offered { filename: "...", seed: 1, arrivals: "poisson", burst: 8, load: 0.3, message: 8, warmup: 1000,
//! batch: 500, batches: 20, drain: 20 }`: messages that nodes offer without end, and what happens to them.
//!
//! Open loop: messages are due at times drawn independently of the network and wait in an unbounded queue of their
//! node, so the latency, from the due time to the arrival of the last phit, includes the source queue. The file lists
//! the destinations: after `offered 1`, `nodes N` and `rows R` come R lines `NODE WEIGHT FIRST LAST`, sorted by node: of
//! the load, in units of 2^-30, NODE sends WEIGHT to nodes drawn uniformly from FIRST to LAST, itself left out. A node
//! with weights of 1 in all offers `load` of the bandwidth of its link.
//!
//! Arrivals of a node: `poisson`; `periodic`, with a random phase; or `bursts`, on-off: messages at the full rate of the
//! link, `burst` of them on average (geometric), with exponential gaps between bursts. Each node has its own random
//! numbers, so that all routings and all loads see the same sequence.
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
use library::input::{BadFile, Lines};
use library::result::Fields;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::configuration::Fields as Configuration;
use crate::result::link_phits;
use crate::session::Session;

/// The weight of all messages that a node sends at the load of its link.
const FULL_WEIGHT: f64 = (1 << 30) as f64;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Arrivals {
    Poisson,
    Periodic,
    /// Mean number of messages of a burst.
    Bursts(f64),
}

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

/// Cumulated weight, first and last node of a row.
type Target = (u64, usize, usize);

#[derive(Debug)]
struct Node {
    rng: StdRng,
    targets: Vec<Target>,
    /// Mean cycles from one message to the next; infinite if it sends none.
    interval: f64,
    /// When its next message is due, and how many follow at once in a burst.
    next: f64,
    in_burst: u64,
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
    arrivals: Arrivals,
    /// Cycles that a message needs on the link of its node.
    message_cycles: f64,
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
    let rows = Lines::open(fields.text("filename")).and_then(|lines| read(lines, servers));
    let rows = rows.unwrap_or_else(|bad| std::panic::panic_any(bad));
    let seed = fields.number("seed") as u64;
    let node = |(index, targets): (usize, Vec<Target>)| {
        let rate = load * targets.last().map_or(0.0, |&(weight, ..)| weight as f64 / FULL_WEIGHT);
        Node {
            rng: StdRng::seed_from_u64(seed << 32 | index as u64),
            targets,
            interval: message_cycles / rate,
            next: 0.0,
            in_burst: 0,
            due: VecDeque::new(),
            created: 0,
            arrived: 0,
        }
    };
    let mut offered = Offered {
        nodes: rows.into_iter().enumerate().map(node).collect(),
        under_way: HashMap::new(),
        arrivals,
        message_cycles,
        message_phits,
        window,
        drain: fields.count("drain") as Time,
        batches: vec![Batch::default(); window.batches as usize],
        backlog: 0,
        backlog_at: [0; 3],
        awaited: 0,
        now: 0,
    };
    offered.start();
    let (session, shared) = (Session::of_builder(), Rc::new(RefCell::new(offered)));
    session.ports.set(1);
    *session.offered.borrow_mut() = Some(shared.clone());
    Box::new(OfferedTraffic { shared })
}

/// Cumulated weights and ranges of destinations of each node.
fn read(mut lines: Lines, servers: usize) -> Result<Vec<Vec<Target>>, BadFile> {
    lines.format("offered")?;
    if lines.header("nodes")? != servers {
        return Err(lines.bad("the machine has another number of nodes"));
    }
    let mut targets: Vec<Vec<Target>> = vec![Vec::new(); servers];
    for _ in 0..lines.header("rows")? {
        let [node, weight, first, last] = lines.numbers("NODE WEIGHT FIRST LAST")?;
        if node >= servers || first > last || last >= servers || weight == 0 || first == node && last == node {
            return Err(lines.bad("nodes must exist, FIRST not be above LAST, and WEIGHT not be 0"));
        }
        let before = targets[node].last().map_or(0, |&(weight, ..)| weight);
        targets[node].push((before + weight as u64, first, last));
    }
    lines.end()?;
    Ok(targets)
}

impl Node {
    /// Move the next due time on by a gap.
    fn draw_gap(&mut self, arrivals: Arrivals, message_cycles: f64) {
        let exponential = |rng: &mut StdRng| -(1.0 - rng.gen::<f64>()).ln();
        self.next += match arrivals {
            Arrivals::Poisson => self.interval * exponential(&mut self.rng),
            Arrivals::Periodic => self.interval,
            Arrivals::Bursts(_) if self.in_burst > 0 => {
                self.in_burst -= 1;
                message_cycles
            }
            Arrivals::Bursts(mean) => {
                // Geometric from 1 on; the mean gap makes up for messages that follow at the rate of the link.
                let draw = 1.0 - self.rng.gen::<f64>();
                self.in_burst = if mean > 1.0 { (draw.ln() / (1.0 - 1.0 / mean).ln()) as u64 } else { 0 };
                message_cycles + mean * (self.interval - message_cycles).max(0.0) * exponential(&mut self.rng)
            }
        };
    }

    fn draw_destination(&mut self, node: usize) -> usize {
        let all = self.targets.last().expect("a node that sends has destinations").0;
        let weight = self.rng.gen_range(0..all);
        let row = self.targets.partition_point(|&(cumulated, ..)| cumulated <= weight);
        let (_, first, last) = self.targets[row];
        if (first..=last).contains(&node) {
            let drawn = self.rng.gen_range(first..last);
            return if drawn < node { drawn } else { drawn + 1 };
        }
        self.rng.gen_range(first..=last)
    }
}

impl Offered {
    fn start(&mut self) {
        let (arrivals, message_cycles) = (self.arrivals, self.message_cycles);
        for node in &mut self.nodes {
            if node.interval.is_finite() {
                match arrivals {
                    Arrivals::Poisson => node.draw_gap(arrivals, message_cycles),
                    _ => node.next = node.interval * node.rng.gen::<f64>(),
                }
            } else {
                node.next = f64::INFINITY;
            }
        }
    }

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
        let (arrivals, message_cycles) = (self.arrivals, self.message_cycles);
        let node = &mut self.nodes[index];
        while node.next <= cycle as f64 {
            let due = node.next.ceil() as Time;
            let destination = node.draw_destination(index);
            node.due.push_back((due, destination));
            self.backlog += 1;
            if let Some(batch) = self.window.batch_of(due) {
                self.batches[batch].created += 1;
                self.awaited += 1;
                node.created += 1;
            }
            node.draw_gap(arrivals, message_cycles);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn node(interval: f64) -> Node {
        Node {
            rng: StdRng::seed_from_u64(7),
            targets: vec![(3, 0, 0), (4, 2, 4)],
            interval,
            next: 0.0,
            in_burst: 0,
            due: VecDeque::new(),
            created: 0,
            arrived: 0,
        }
    }

    /// Mean gap of 100,000 messages, and the share of gaps of exactly 8 cycles.
    fn gaps(arrivals: Arrivals) -> (f64, f64) {
        let (mut node, mut close) = (node(20.0), 0);
        for _ in 0..100_000 {
            let before = node.next;
            node.draw_gap(arrivals, 8.0);
            close += usize::from((node.next - before - 8.0).abs() < 1e-6);
        }
        (node.next / 1e5, close as f64 / 1e5)
    }

    #[test]
    fn all_arrivals_have_the_rate_that_is_offered() {
        for arrivals in [Arrivals::Poisson, Arrivals::Periodic, Arrivals::Bursts(1.0), Arrivals::Bursts(5.0)] {
            let mean = gaps(arrivals).0;
            assert!((mean - 20.0).abs() < 0.5, "{arrivals:?}: {mean}");
        }
    }

    #[test]
    fn messages_of_a_burst_follow_each_other_at_once() {
        let close = gaps(Arrivals::Bursts(5.0)).1;
        assert!((close - 0.8).abs() < 0.01, "{close}");
    }

    #[test]
    fn destinations_follow_the_weights_and_leave_out_the_sender() {
        let (mut node, mut drawn) = (node(1.0), [0; 5]);
        for _ in 0..40_000 {
            drawn[node.draw_destination(3)] += 1;
        }
        assert_eq!((drawn[1], drawn[3]), (0, 0));
        assert!((drawn[0] as f64 / 30_000.0 - 1.0).abs() < 0.02, "{drawn:?}");
        assert!((drawn[2] as f64 / drawn[4] as f64 - 1.0).abs() < 0.06, "{drawn:?}");
    }

    #[test]
    fn bad_rows_are_named() {
        let problem = |text| read(Lines::of_text(text), 3).expect_err("no destinations").0;
        assert_eq!(problem("offered 1\nnodes 2\n"), "text:2: the machine has another number of nodes");
        assert!(problem("offered 1\nnodes 3\nrows 1\n0 5 0 0\n").starts_with("text:4"));
        assert!(problem("offered 1\nnodes 3\nrows 1\n0 5 1 3\n").starts_with("text:4"));
    }
}
