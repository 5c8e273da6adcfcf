//! Packets of each job on each link, where there are several jobs and no node belongs to two of them.

use std::cell::RefCell;

thread_local! {
    /// The count of the simulation built last: CAMINOS has no place for it.
    static PACKETS: RefCell<Packets> = RefCell::default();
}

#[derive(Default)]
struct Packets {
    /// Job of each node; empty if nothing is counted.
    job_of_node: Vec<Option<usize>>,
    /// For each job and then each link.
    of_job: Vec<Vec<u32>>,
}

/// Count from now on; `ranks` has the job and node of each rank.
pub fn watch(jobs: usize, nodes: usize, ranks: &[(usize, usize)], links: usize) {
    let packets = match jobs_of_nodes(nodes, ranks) {
        Some(job_of_node) if jobs > 1 => Packets { job_of_node, of_job: vec![vec![0; links]; jobs] },
        _ => Packets::default(),
    };
    PACKETS.with(|place| *place.borrow_mut() = packets);
}

/// None if a node belongs to two jobs.
fn jobs_of_nodes(nodes: usize, ranks: &[(usize, usize)]) -> Option<Vec<Option<usize>>> {
    let mut jobs = vec![None; nodes];
    for &(job, node) in ranks {
        if jobs[node].map_or(false, |other| other != job) {
            return None;
        }
        jobs[node] = Some(job);
    }
    Some(jobs)
}

/// Job of a node; 0 where jobs are not told apart.
pub fn job_of(node: usize) -> usize {
    PACKETS.with(|place| place.borrow().job_of_node.get(node).map_or(0, |job| job.unwrap_or(0)))
}

/// Count a packet to a node that has crossed a link.
pub fn count(destination: usize, link: usize) {
    PACKETS.with(|place| {
        let mut packets = place.borrow_mut();
        if let Some(&Some(job)) = packets.job_of_node.get(destination) {
            packets.of_job[job][link] += 1;
        }
    })
}

/// Job, link and packets of all that is not 0, one after the other; none if nothing was counted.
pub fn listed() -> Option<Vec<u64>> {
    PACKETS.with(|place| {
        let packets = place.borrow();
        let mut listed = Vec::new();
        for (job, links) in packets.of_job.iter().enumerate() {
            for (link, &count) in links.iter().enumerate().filter(|(_, &count)| count > 0) {
                listed.extend_from_slice(&[job as u64, link as u64, u64::from(count)]);
            }
        }
        if packets.of_job.is_empty() {
            None
        } else {
            Some(listed)
        }
    })
}
