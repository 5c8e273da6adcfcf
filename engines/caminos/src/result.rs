//! The result of a simulation as JSON: whole numbers, lists of them, and the version of caminos-lib; the finish
//! cycles of a background job and of its ranks are null.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use caminos_lib::{get_version_number, Simulation, Time};

use crate::session::Session;

/// Write the result of a simulation under a temporary name, then rename it.
pub fn write(json: &str, path: &Path) -> io::Result<()> {
    let partial = path.with_extension("partial");
    fs::write(&partial, json)?;
    fs::rename(&partial, path)
}

pub fn to_json(simulation: &Simulation, session: &Session) -> String {
    let measured = &simulation.statistics.current_measurement;
    let mut text = format!("{{\"caminos_lib\": \"{}\"", get_version_number());
    add_number(&mut text, "cycles", simulation.shared.cycle);
    add_list(&mut text, "job_finish_cycles", &or_null(&session.finish_cycles.borrow()));
    add_list(&mut text, "rank_finish_cycles", &or_null(&session.rank_finish_cycles.borrow()));
    add_list(&mut text, "link_phits", &link_phits(simulation, session));
    add_number(&mut text, "injected_phits", measured.created_phits as u64);
    add_number(&mut text, "ejected_phits", measured.consumed_phits as u64);
    add_list(&mut text, "job_sent_phits", &session.sent_phits.borrow());
    add_list(&mut text, "job_arrived_phits", &session.arrived_phits.borrow());
    add_list(&mut text, "rank_waiting_cycles", &session.rank_waiting_cycles.borrow());
    if let Some(cycles) = &*session.operation_cycles.borrow() {
        add_list(
            &mut text,
            "operation_cycles",
            &cycles.iter().flat_map(|&(start, end)| [start, end]).collect::<Vec<_>>(),
        );
    }
    let packets: Vec<u64> = measured.total_packet_per_hop_count.iter().map(|&count| count as u64).collect();
    add_list(&mut text, "packets_by_hops", &packets);
    let of_jobs: Vec<String> =
        session.message_times.borrow().iter().map(|of_job| format!("{:?}", of_job.listed())).collect();
    add_list(&mut text, "job_twice_message_counts", &of_jobs);
    if let Some(packets) = session.job_link_packets.borrow().listed() {
        add_list(&mut text, "job_link_packets", &packets);
    }
    text.push_str("}\n");
    text
}

fn or_null(cycles: &[Option<Time>]) -> Vec<String> {
    cycles.iter().map(|cycle| cycle.map_or("null".into(), |at| at.to_string())).collect()
}

/// Phits that crossed each directed link between routers, all its parallel cables together.
pub fn link_phits(simulation: &Simulation, session: &Session) -> Vec<u64> {
    let machine = session.machine();
    let mut phits = vec![0; machine.graph.links];
    for (router, statistics) in simulation.statistics.link_statistics.iter().enumerate() {
        for (port, arrived) in statistics.iter().enumerate() {
            if let Some(link) = machine.entering(router, port) {
                phits[link] += arrived.phit_arrivals as u64;
            }
        }
    }
    phits
}

pub fn add_number(text: &mut String, name: &str, value: u64) {
    write!(text, ", \"{}\": {}", name, value).expect("text takes everything");
}

pub fn add_list(text: &mut String, name: &str, values: &[impl ToString]) {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    write!(text, ", \"{}\": [{}]", name, values.join(", ")).expect("text takes everything");
}
