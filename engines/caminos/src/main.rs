//! CAMINOS with four plugs: topology `Graph`, routing `Routes`, traffic `TaskGraph` and `Offered`. Router, policies,
//! allocator and clock are CAMINOS' own.
//!
//! `fabricstudy-caminos CONFIGURATION RESULT` simulates a CAMINOS configuration file and writes the result as JSON; for exit
//! codes see the library's `program.rs`.

mod configuration;
mod graph;
mod offered;
mod result;
mod routes;
mod session;
mod task_graph;

use std::any::Any;
use std::fs::File;
use std::os::unix::io::AsRawFd;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::exit;
use std::rc::Rc;

use caminos_lib::config::flatten_configuration_value;
use caminos_lib::config_parser::{self, ConfigurationValue, Token};
use caminos_lib::event::EventQueue;
use caminos_lib::quantify::Quantifiable;
use caminos_lib::{get_version_number, Plugs, Simulation, Time};

use library::input::BadFile;
use session::Session;

/// Cycles without an arrival and without computation that prove a deadlock: the longest delay in CAMINOS is 999 cycles.
const DEADLOCK_CYCLES: Time = 50_000;

/// The length of CAMINOS' event queue.
const EVENT_QUEUE_CYCLES: usize = 1000;

/// Runs take a sixth less time than with the allocator of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let version = format!("caminos-lib {}, front end {}", get_version_number(), env!("SOURCES"));
    exit(library::program::run("fabricstudy-caminos CONFIGURATION RESULT", &version, simulate));
}

fn simulate([configuration]: [&str; 1]) -> Result<Result<String, String>, BadFile> {
    let plugs = plugs();
    let session = Rc::new(Session::default());
    let mut simulation = session.during(|| prepare(configuration, &plugs))?;
    let offered = session.offered.borrow().clone();
    Ok(match offered {
        Some(offered) => {
            let phits = offered::run(&mut simulation, &session, &offered);
            let json = offered::to_json(&simulation, &offered.borrow(), &phits);
            Ok(json)
        }
        None => run(&mut simulation, &session).map(|()| result::to_json(&simulation, &session)),
    })
}

fn plugs() -> Plugs {
    let mut plugs = Plugs::default();
    plugs.add_topology("Graph".to_string(), graph::build);
    plugs.add_routing("Routes".to_string(), routes::build);
    plugs.add_traffic("TaskGraph".to_string(), task_graph::build);
    plugs.add_traffic("Offered".to_string(), offered::build);
    plugs
}

/// Read all files and build the simulation. CAMINOS panics if it refuses a configuration.
fn prepare<'a>(configuration: &str, plugs: &'a Plugs) -> Result<Simulation<'a>, BadFile> {
    let text = std::fs::read_to_string(configuration)
        .map_err(|error| BadFile(format!("{}: cannot be read: {}", configuration, error)))?;
    let print_panic = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let simulation = catch_unwind(AssertUnwindSafe(|| Simulation::new(&parse(&text), plugs)));
    std::panic::set_hook(print_panic);
    simulation.map_err(|panic| match panic.downcast::<BadFile>() {
        Ok(bad) => *bad,
        Err(panic) => BadFile(format!("{}: {}", configuration, panic_text(panic.as_ref()))),
    })
}

/// The only experiment that a configuration describes.
fn parse(text: &str) -> ConfigurationValue {
    let value = match config_parser::parse(text) {
        Ok(Token::Value(value)) => value,
        other => panic!("not a CAMINOS configuration ({:?})", other.err()),
    };
    match flatten_configuration_value(&value) {
        ConfigurationValue::Experiments(mut experiments) if experiments.len() == 1 => experiments.remove(0),
        _ => panic!("not exactly one experiment"),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "not a configuration that CAMINOS takes",
    }
}

/// Simulate jobs until the traffic is finished, or nothing moves any more. CAMINOS prints its memory each time simulation
/// resumes, and statistics every 1000 cycles: this output is discarded.
fn run(simulation: &mut Simulation, session: &Session) -> Result<(), String> {
    extern "C" {
        fn dup2(from: i32, to: i32) -> i32;
    }
    if let Ok(nothing) = File::options().write(true).open("/dev/null") {
        // SAFETY: both descriptors are open.
        unsafe { dup2(nothing.as_raw_fd(), 1) };
    }
    simulation.statistics.columns.clear();
    loop {
        let arrived = arrived_phits(simulation);
        simulation.measured = simulation.shared.cycle + DEADLOCK_CYCLES;
        simulation.run();
        let is_finished = simulation.shared.traffic.is_finished();
        if let Some(wake) = session.jump_to.take() {
            jump(simulation, wake);
            continue;
        }
        if is_finished {
            return Ok(());
        }
        let cycle = simulation.shared.cycle;
        let all_wait = session.computing_until.get() + DEADLOCK_CYCLES <= cycle;
        if all_wait && arrived_phits(simulation) == arrived {
            return Err(format!("deadlock: nothing arrived from cycle {} to {}", cycle - DEADLOCK_CYCLES, cycle));
        }
    }
}

/// Return the phits that have arrived at routers and nodes.
fn arrived_phits(simulation: &Simulation) -> usize {
    let at_routers = simulation.statistics.link_statistics.iter().flatten().map(|link| link.phit_arrivals);
    at_routers.sum::<usize>() + simulation.statistics.current_measurement.consumed_phits
}

/// Set the clock to a later cycle, if no event is left.
fn jump(simulation: &mut Simulation, cycle: Time) {
    if simulation.event_queue.total_memory() == EventQueue::new(EVENT_QUEUE_CYCLES).total_memory() {
        simulation.shared.cycle = cycle.max(simulation.shared.cycle);
    }
}
