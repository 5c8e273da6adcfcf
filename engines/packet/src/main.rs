//! Packets through buffered routers, event by event, in continuous time; see `network.rs` for the model.
//!
//! `fabricstudy-packet SETTINGS MACHINE TRAFFIC RESULT` writes the result as JSON; TRAFFIC has operations of jobs, or
//! destinations of offered traffic; for exit codes see the library's `program.rs`.

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

use std::process::exit;

use library::graph::Graph;
use library::input::{BadFile, Lines};
use library::operation_file::OperationFile;
use library::program;

use jobs::Jobs;
use network::Network;
use offered::OfferedTraffic;
use routes::Routes;
use settings::Settings;

fn main() {
    exit(program::run("fabricstudy-packet SETTINGS MACHINE TRAFFIC RESULT", &version(), simulate));
}

fn version() -> String {
    format!("{}, sources {}", env!("CARGO_PKG_VERSION"), env!("SOURCES"))
}

fn simulate([settings, machine, traffic]: [&str; 3]) -> Result<Result<String, String>, BadFile> {
    let (version, settings) = (version(), Settings::read(Lines::open(settings)?)?);
    let graph = Graph::read(Lines::open(machine)?, settings.links.class_weight.len())?;
    let ports = graph.node_router.len();
    let network = Network::new(&settings, Routes::new(&settings, graph)?);
    if let Some(offered) = settings.offered.clone() {
        let targets = library::offered::read(Lines::open(traffic)?, ports)?;
        let mut traffic = OfferedTraffic::new(network, targets, offered, &settings);
        traffic.run();
        return Ok(Ok(traffic.to_json(&version)));
    }
    let file = OperationFile::read(Lines::open(traffic)?, ports)?;
    let mut jobs = Jobs::new(network, file, &settings);
    Ok(jobs.run().map(|()| jobs.to_json(&version)))
}
