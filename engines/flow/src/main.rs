//! Messages as flows: the times that max-min fair shares of the links give them.
//!
//! `fabricstudy-flow SETTINGS MACHINE OPERATIONS RESULT` writes the result as JSON. Exit codes: 0 all jobs finished, and the
//! result is written; 1 it cannot be written; 2 a file is bad (or the command line); 3 the jobs did not finish; 101 a
//! panic. The result appears in one piece, and only with exit code 0.

mod max_min;
mod result;
mod routes;
mod settings;
mod simulation;

use std::path::Path;
use std::process::exit;

use library::graph::Graph;
use library::input::{BadFile, Lines};
use library::operation_file::OperationFile;

use routes::Routes;
use settings::Settings;
use simulation::Simulation;

const BAD_FILE: i32 = 2;
const NOT_FINISHED: i32 = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => println!("{}, sources {}", env!("CARGO_PKG_VERSION"), env!("SOURCES")),
        [settings, machine, jobs, result] => exit(simulate([settings, machine, jobs], Path::new(result))),
        _ => {
            eprintln!("usage: fabricstudy-flow SETTINGS MACHINE OPERATIONS RESULT | --version");
            exit(BAD_FILE);
        }
    }
}

fn simulate(files: [&str; 3], result: &Path) -> i32 {
    let simulation = match prepare(files) {
        Ok(simulation) => simulation,
        Err(bad) => {
            eprintln!("{bad}");
            return BAD_FILE;
        }
    };
    match simulation.run() {
        Err(reason) => {
            eprintln!("{reason}");
            NOT_FINISHED
        }
        Ok(outcome) => match result::write(&outcome, result) {
            Ok(()) => 0,
            Err(error) => {
                eprintln!("{}: cannot be written: {error}", result.display());
                1
            }
        },
    }
}

fn prepare([settings, machine, jobs]: [&str; 3]) -> Result<Simulation, BadFile> {
    let settings = Settings::read(settings)?;
    let graph = Graph::read(Lines::open(machine)?, settings.class_weight.len())?;
    let operations = OperationFile::read(Lines::open(jobs)?, graph.node_router.len())?;
    let routes = Routes::new(&settings, graph)?;
    Ok(Simulation::new(settings, routes, operations))
}
