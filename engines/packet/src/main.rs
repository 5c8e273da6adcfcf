//! Packets through buffered routers, event by event, in continuous time; see `network.rs` for the model.
//!
//! `fabricstudy-packet SETTINGS MACHINE TRAFFIC RESULT` writes the result as JSON; TRAFFIC has operations of jobs, or
//! destinations of offered traffic. Exit codes: 0 the result is written; 1 it cannot be written; 2 a file is bad (or the
//! command line); 3 the jobs did not finish; 101 a panic. The result appears in one piece, and only with exit code 0.

mod background;
mod congestion;
mod fair;
mod jobs;
mod network;
mod offered;
mod pool;
mod queue;
mod routes;
mod settings;
#[cfg(test)]
mod small_networks;
mod ugal;

use std::path::Path;
use std::process::exit;

use library::graph::Graph;
use library::input::{BadFile, Lines};
use library::operation_file::OperationFile;
use library::result;

use jobs::Jobs;
use network::Network;
use offered::OfferedTraffic;
use routes::Routes;
use settings::Settings;

const BAD_FILE: i32 = 2;
const NOT_FINISHED: i32 = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => println!("{}", version()),
        [settings, machine, traffic, result] => exit(simulate([settings, machine, traffic], Path::new(result))),
        _ => {
            eprintln!("usage: fabricstudy-packet SETTINGS MACHINE TRAFFIC RESULT | --version");
            exit(BAD_FILE);
        }
    }
}

fn version() -> String {
    format!("{}, sources {}", env!("CARGO_PKG_VERSION"), env!("SOURCES"))
}

fn simulate(files: [&str; 3], path: &Path) -> i32 {
    let (text, code) = match run(files) {
        Ok(Ok(json)) => match result::write(&json, path) {
            Ok(()) => return 0,
            Err(error) => (format!("{}: cannot be written: {error}", path.display()), 1),
        },
        Ok(Err(reason)) => (reason, NOT_FINISHED),
        Err(bad) => (bad.to_string(), BAD_FILE),
    };
    eprintln!("{text}");
    code
}

/// Read all files and simulate; return the result as JSON, or why the jobs do not finish.
fn run([settings, machine, traffic]: [&str; 3]) -> Result<Result<String, String>, BadFile> {
    let settings = Settings::read(settings)?;
    let graph = Graph::read(Lines::open(machine)?, settings.class_weight.len())?;
    let ports = graph.node_router.len();
    let network = Network::new(&settings, Routes::new(&settings, graph)?);
    if let Some(offered) = settings.offered.clone() {
        let targets = library::offered::read(Lines::open(traffic)?, ports)?;
        let mut traffic = OfferedTraffic::new(network, targets, offered, &settings);
        traffic.run();
        return Ok(Ok(traffic.to_json(&version())));
    }
    let file = OperationFile::read(Lines::open(traffic)?, ports)?;
    let mut jobs = Jobs::new(network, file, &settings);
    Ok(jobs.run().map(|()| jobs.to_json(&version())))
}
