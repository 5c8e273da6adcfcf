//! Packets of each job on each link, where there are several jobs and no node belongs to two of them.

#[derive(Debug, Default)]
pub struct JobLinkPackets {
    /// Job of each node; empty if nothing is counted.
    job_of_node: Vec<Option<usize>>,
    /// For each job and then each link.
    of_job: Vec<Vec<u32>>,
}

impl JobLinkPackets {
    /// Nothing counted yet; `ranks` has the job and node of each rank.
    pub fn new(jobs: usize, nodes: usize, ranks: &[(usize, usize)], links: usize) -> JobLinkPackets {
        match jobs_of_nodes(nodes, ranks) {
            Some(job_of_node) if jobs > 1 => JobLinkPackets { job_of_node, of_job: vec![vec![0; links]; jobs] },
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
        if self.of_job.is_empty() {
            return None;
        }
        let mut listed = Vec::new();
        for (job, links) in self.of_job.iter().enumerate() {
            for (link, &count) in links.iter().enumerate().filter(|(_, &count)| count > 0) {
                listed.extend_from_slice(&[job as u64, link as u64, u64::from(count)]);
            }
        }
        Some(listed)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_for_the_job_of_their_destination() {
        let mut packets = JobLinkPackets::new(2, 4, &[(0, 0), (0, 1), (1, 3)], 5);
        for (node, link) in [(1, 4), (3, 4), (3, 4), (3, 0)] {
            packets.count(node, link);
        }
        assert_eq!(packets.listed(), Some(vec![0, 4, 1, 1, 0, 1, 1, 4, 2]));
    }

    #[test]
    fn one_job_or_a_shared_node_is_not_counted() {
        for ranks in [&[(0, 0), (0, 1)][..], &[(0, 0), (1, 0)][..]] {
            let mut packets = JobLinkPackets::new(1 + ranks[1].0, 2, ranks, 3);
            packets.count(0, 1);
            assert_eq!(packets.listed(), None);
        }
    }
}
