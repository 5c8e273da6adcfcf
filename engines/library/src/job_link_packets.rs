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

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(ports: usize, jobs: usize, ranks: &[(usize, usize)]) -> JobLinkPackets {
        let jobs = vec![(false, 0); jobs];
        let file = OperationFile { ports, jobs, ranks: ranks.to_vec(), ..OperationFile::default() };
        JobLinkPackets::new(&file, 8, 5)
    }

    #[test]
    fn packets_are_counted_for_the_job_of_their_destination() {
        let mut packets = packets(2, 2, &[(0, 0), (0, 1), (1, 3)]);
        for (node, link) in [(1, 4), (7, 4), (6, 4), (7, 0), (4, 0)] {
            packets.count(node, link);
        }
        assert_eq!(packets.listed(), Some(vec![0, 4, 1, 1, 0, 1, 1, 4, 2]));
    }

    #[test]
    fn one_job_or_a_shared_node_is_not_counted() {
        for (jobs, ranks) in [(1, [(0, 0), (0, 1)]), (2, [(0, 0), (1, 0)])] {
            let mut packets = packets(1, jobs, &ranks);
            packets.count(0, 1);
            assert_eq!(packets.listed(), None);
        }
    }
}
