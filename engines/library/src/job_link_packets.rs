//! Packets of each job on each link, where there are several jobs and no node belongs to two of them.

use crate::operation_file::OperationFile;

#[derive(Debug, Default)]
pub struct JobLinkPackets {
    /// Job of each node; empty if nothing is counted.
    job_of_node: Vec<Option<usize>>,
    /// For each job and then each link.
    of_job: Vec<Vec<u32>>,
}

impl JobLinkPackets {
    /// Return counts of nothing; the nodes are ports of the nodes of the file.
    pub fn new(file: &OperationFile, ports: usize, links: usize) -> JobLinkPackets {
        match jobs_of_ports(file, ports) {
            Some(job_of_node) if file.jobs.len() > 1 => {
                JobLinkPackets { job_of_node, of_job: vec![vec![0; links]; file.jobs.len()] }
            }
            _ => JobLinkPackets::default(),
        }
    }

    /// Count a packet to a node that has crossed a link.
    pub fn count(&mut self, destination: usize, link: usize) {
        if let Some(&Some(job)) = self.job_of_node.get(destination) {
            self.of_job[job][link] += 1;
        }
    }

    /// Job, link and packets of all that is not 0, one after the other; none if nothing was counted.
    pub fn listed(&self) -> Option<Vec<u64>> {
        let mut listed = Vec::new();
        for (job, links) in self.of_job.iter().enumerate() {
            for (link, &count) in links.iter().enumerate().filter(|(_, &count)| count > 0) {
                listed.extend_from_slice(&[job as u64, link as u64, u64::from(count)]);
            }
        }
        (!self.of_job.is_empty()).then_some(listed)
    }
}

/// Return none if a node belongs to two jobs.
fn jobs_of_ports(file: &OperationFile, ports: usize) -> Option<Vec<Option<usize>>> {
    let mut jobs = vec![None; ports];
    for &(job, node) in &file.ranks {
        for of_port in &mut jobs[node * file.ports..(node + 1) * file.ports] {
            if of_port.map_or(false, |other| other != job) {
                return None;
            }
            *of_port = Some(job);
        }
    }
    Some(jobs)
}
