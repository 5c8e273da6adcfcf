//! Fair arbitration: of the packets that compete for an output, the one whose source router has sent least of its
//! job's packets goes first.
//!
//! Arbitration that looks at no more than one router is unfair to nodes far away, and past saturation starves them
//! (Abts and Weisser, SC 2007): then the links that only they use stand idle. The priority of a packet is an estimate
//! of the time at which the routers of its job, on average, had sent as many packets as its source router has sent by
//! now; so jobs that send little have no advantage over those that send much.

/// Packets that have entered the network, job by job.
#[derive(Debug, Default)]
pub struct FairArbitration {
    jobs: Vec<Sent>,
}

#[derive(Debug, Default)]
struct Sent {
    /// Packets of each router that has sent one.
    by_router: Vec<u64>,
    in_all: u64,
    senders: u64,
}

impl FairArbitration {
    /// Count a packet of a job that enters at a router now, and give its priority: lower goes first.
    pub fn priority(&mut self, job: usize, router: usize, now: u64) -> u32 {
        if self.jobs.len() <= job {
            self.jobs.resize_with(job + 1, Sent::default);
        }
        self.jobs[job].priority(router, now).min(u64::from(u32::MAX)) as u32
    }
}

impl Sent {
    fn priority(&mut self, router: usize, now: u64) -> u64 {
        if self.by_router.len() <= router {
            self.by_router.resize(router + 1, 0);
        }
        let sent = &mut self.by_router[router];
        self.senders += u64::from(*sent == 0);
        *sent += 1;
        self.in_all += 1;
        now * *sent * self.senders / self.in_all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_sends_little_has_no_advantage() {
        let mut fair = FairArbitration::default();
        for now in 1..=50 {
            fair.priority(0, 0, now);
        }
        assert_eq!(fair.priority(0, 0, 60), fair.priority(1, 1, 60));
    }
}
