//! Messages as flows: the times that max-min fair shares of the links give them.
//!
//! `fabricstudy-flow SETTINGS MACHINE OPERATIONS RESULT` writes the result as JSON; for exit codes see
//! the library's `program.rs`.

mod max_min;
mod result;
mod routes;
mod settings;
mod simulation;

use std::process::exit;

use library::graph::Graph;
use library::input::{BadFile, Lines};
use library::operation_file::OperationFile;
use library::program;

use routes::Routes;
use settings::Settings;
use simulation::Simulation;

fn main() {
    let version = format!("{}, sources {}", env!("CARGO_PKG_VERSION"), env!("SOURCES"));
    exit(program::run("fabricstudy-flow SETTINGS MACHINE OPERATIONS RESULT", &version, simulate));
}

fn simulate([settings, machine, jobs]: [&str; 3]) -> Result<Result<String, String>, BadFile> {
    let settings = Settings::read(settings)?;
    let graph = Graph::read(Lines::open(machine)?, settings.links.class_weight.len())?;
    let operations = OperationFile::read(Lines::open(jobs)?, graph.node_router.len())?;
    let routes = Routes::new(&settings, graph)?;
    Ok(Simulation::new(settings, routes, operations).run().map(|outcome| result::to_json(&outcome)))
}
