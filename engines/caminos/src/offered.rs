//! Traffic `Offered { filename: "...", seed: 1, arrivals: "poisson", burst: 8, load: 0.3, message: 8, warmup: 1000,
//! batch: 500, batches: 20, drain: 20 }`: messages that nodes offer without end, and what happens to them.
//!
//! For the file, the arrivals and the random numbers see the library's `offered.rs`: the packet engine offers the same
//! messages. For what is measured, here in cycles, see its `window.rs`.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use caminos_lib::topology::Topology;
use caminos_lib::traffic::{TaskTrafficState, Traffic, TrafficBuilderArgument, TrafficError};
use caminos_lib::{Message, Simulation, Time};
use library::offered::{read, Arrivals, Sizes, Source};
use library::result::Fields;
use library::window::{Measured, Window};
use rand::rngs::StdRng;

use crate::configuration::Fields as Configuration;
use crate::result::link_phits;
use crate::session::{without_memory, Session};

#[derive(Debug, Default)]
struct Node {
    /// In cycles; none if it sends nothing.
    source: Option<Source>,
    /// Cycles and destinations of messages that are due and have not been given to CAMINOS.
    due: VecDeque<(Time, usize)>,
}

/// State shared by the traffic and `run`.
#[derive(Debug)]
pub struct Offered {
    nodes: Vec<Node>,
    /// When each message was due that CAMINOS has.
    under_way: HashMap<*const Message, Time>,
    /// In phits.
    sizes: Sizes,
    measured: Measured,
}

/// Build the traffic from its file.
///
/// # Panics
/// With a `BadFile` if the file is not such a list, or does not fit the topology.
pub fn build(argument: TrafficBuilderArgument) -> Box<dyn Traffic> {
    let known =
        ["filename", "seed", "arrivals", "burst", "load", "message", "period", "warmup", "batch", "batches", "drain"];
    let fields = Configuration::of(argument.cv, &known);
    let arrivals = Arrivals::of(fields.text("arrivals"), fields.number("burst"))
        .unwrap_or_else(|| panic!("Offered has no arrivals {}", fields.text("arrivals")));
    let (load, message_phits) = (fields.number("load"), fields.count("message") as f64);
    let message_cycles = message_phits * fields.count("period") as f64;
    let window = Window {
        warmup: fields.number("warmup") as Time,
        batch: fields.count("batch") as Time,
        batches: fields.count("batches") as Time,
        drain: fields.count("drain") as Time,
    };
    let servers = argument.topology.num_servers();
    let targets = fields.file(|lines| read(lines, servers));
    let seed = fields.number("seed") as u64;
    let node = |(index, targets)| {
        let source = Source::new(index, seed, targets, arrivals, load, message_cycles);
        Node { source, ..Node::default() }
    };
    let offered = Offered {
        nodes: targets.into_iter().enumerate().map(node).collect(),
        under_way: HashMap::new(),
        sizes: Sizes::new(message_phits, &[]).expect("a size"),
        measured: Measured::new(window, servers),
    };
    let (session, shared) = (Session::of_builder(), Rc::new(RefCell::new(offered)));
    session.ports.set(1);
    *session.offered.borrow_mut() = Some(shared.clone());
    Box::new(OfferedTraffic { shared })
}

impl Offered {
    /// Queue the messages of a node that are due; return whether any waits.
    fn queue_due(&mut self, index: usize, cycle: Time) -> bool {
        let node = &mut self.nodes[index];
        while let Some(source) = node.source.as_mut().filter(|source| source.due() <= cycle) {
            let due = source.due();
            node.due.push_back((due, source.take(&self.sizes).0));
            self.measured.create(index, due, 1);
        }
        !node.due.is_empty()
    }

    fn send(&mut self, origin: usize, cycle: Time) -> Option<Rc<Message>> {
        let (due, destination) = self.nodes[origin].due.pop_front()?;
        let message =
            Rc::new(Message { origin, destination, size: self.sizes.mean_bytes as usize, creation_cycle: cycle });
        self.under_way.insert(Rc::as_ptr(&message), due);
        Some(message)
    }

    fn arrive(&mut self, message: &Rc<Message>, cycle: Time) {
        let due = self.under_way.remove(&Rc::as_ptr(message)).expect("a message that was sent");
        self.measured.count_until(cycle);
        self.measured.arrive(message.origin, due, cycle, 1);
    }
}

/// Simulate the window, and then until all that was due in it has arrived; give the phits of each link in the window.
pub fn run(simulation: &mut Simulation, session: &Session, offered: &RefCell<Offered>) -> Vec<u64> {
    let window = offered.borrow().measured.window;
    simulation.statistics.columns.clear();
    let run_to = |cycle: Time, simulation: &mut Simulation| {
        simulation.measured = cycle;
        simulation.run();
        offered.borrow_mut().measured.count_until(cycle);
        link_phits(simulation, session)
    };
    let before = run_to(window.warmup, simulation);
    let after = run_to(window.end(), simulation);
    while offered.borrow().measured.goes_on(simulation.shared.cycle, 0.0) {
        run_to((simulation.shared.cycle + window.batch).min(window.limit()), simulation);
    }
    after.iter().zip(&before).map(|(after, before)| after - before).collect()
}

/// The result as JSON: counts, and sums of cycles.
pub fn to_json(simulation: &Simulation, offered: &Offered, phits: &[u64]) -> String {
    let mut fields = Fields::new("caminos_lib", caminos_lib::get_version_number());
    fields.number("cycles", simulation.shared.cycle);
    offered.measured.add_to(&mut fields, "cycles", "");
    fields.list("link_phits", phits);
    fields.list("packets_by_hops", &simulation.statistics.current_measurement.total_packet_per_hop_count);
    fields.end()
}

#[derive(Debug)]
struct OfferedTraffic {
    shared: Rc<RefCell<Offered>>,
}

impl Traffic for OfferedTraffic {
    fn generate_message(
        &mut self, origin: usize, cycle: Time, _topology: &dyn Topology, _rng: &mut StdRng,
    ) -> Result<Rc<Message>, TrafficError> {
        self.shared.borrow_mut().send(origin, cycle).ok_or(TrafficError::OriginOutsideTraffic)
    }
    fn probability_per_cycle(&self, task: usize) -> f32 {
        f32::from(u8::from(!self.shared.borrow().nodes[task].due.is_empty()))
    }
    fn should_generate(&self, task: usize, cycle: Time, _rng: &mut StdRng) -> bool {
        let mut shared = self.shared.borrow_mut();
        if task == 0 {
            shared.measured.count_until(cycle);
        }
        shared.queue_due(task, cycle)
    }
    fn try_consume(
        &mut self, _task: usize, message: Rc<Message>, cycle: Time, _topology: &dyn Topology, _rng: &mut StdRng,
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

without_memory!(OfferedTraffic);
