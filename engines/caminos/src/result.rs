//! The result of a simulation as JSON: whole numbers, lists of them, and the version of caminos-lib; the finish
//! cycles of a background job and of its ranks are null.

use caminos_lib::{get_version_number, Simulation};
use library::histogram::Histogram;
use library::result::Fields;

use crate::session::Session;

pub fn to_json(simulation: &Simulation, session: &Session) -> String {
    let (measured, operations) = (&simulation.statistics.current_measurement, session.operations.borrow());
    let mut fields = Fields::new("caminos_lib", get_version_number());
    fields.number("cycles", simulation.shared.cycle);
    fields.optional("job_finish_cycles", &operations.job_finish);
    fields.optional("rank_finish_cycles", &operations.rank_finish);
    fields.list("link_phits", link_phits(simulation, session));
    fields.number("injected_phits", measured.created_phits);
    fields.number("ejected_phits", measured.consumed_phits);
    fields.list("job_sent_phits", &*session.sent_phits.borrow());
    fields.list("job_arrived_phits", &*session.arrived_phits.borrow());
    fields.list("rank_waiting_cycles", &operations.rank_waiting);
    if let Some(times) = &operations.times {
        fields.list("operation_cycles", times.iter().flat_map(|&[start, end, _]| [start, end]));
    }
    fields.list("packets_by_hops", &measured.total_packet_per_hop_count);
    fields.lists("job_twice_message_counts", session.message_times.borrow().iter().map(Histogram::listed));
    if let Some(packets) = session.job_link_packets.borrow().listed() {
        fields.list("job_link_packets", packets);
    }
    fields.end()
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
