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
        let Sent { by_router, in_all, senders } = &mut self.jobs[job];
        if by_router.len() <= router {
            by_router.resize(router + 1, 0);
        }
        let sent = &mut by_router[router];
        *senders += u64::from(*sent == 0);
        *sent += 1;
        *in_all += 1;
        u32::try_from(now * *sent * *senders / *in_all).unwrap_or(u32::MAX)
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
