//! Fair arbitration: of the packets that compete for an output, the one whose source router has sent least of its
//! job's packets goes first.
//!
//! Arbitration that looks at no more than one router is unfair to nodes far away, and past saturation starves them
//! (Abts and Weisser, SC 2007): then the links that only they use stand idle. A packet's priority is the time by which
//! the routers of its job, on average, had sent as many packets as its source router has; so jobs that send little have
//! no advantage over those that send much.

/// Packets that have entered the network, job by job.
#[derive(Debug, Default)]
pub struct FairArbitration {
    jobs: Vec<Sent>,
}

#[derive(Debug, Default)]
struct Sent {
    /// Router by router, as far as they have been heard of.
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
    fn a_router_that_lags_behind_goes_first() {
        let mut fair = FairArbitration::default();
        for now in 1..=10 {
            fair.priority(0, 0, now);
        }
        // Router 1 has sent 1 of 11 packets of 2 routers, then router 0 its 11th of 12: by hand 20*1*2/11, 20*11*2/12.
        assert_eq!(fair.priority(0, 1, 20), 3);
        assert_eq!(fair.priority(0, 0, 20), 36);
    }

    #[test]
    fn routers_that_send_alike_go_by_age() {
        let mut fair = FairArbitration::default();
        let first: Vec<u32> = (0..4).map(|router| fair.priority(0, router, 100)).collect();
        let second: Vec<u32> = (0..4).map(|router| fair.priority(0, router, 200)).collect();
        assert_eq!(first, [100; 4]);
        assert!(second.iter().all(|&later| later > 100));
    }

    #[test]
    fn a_job_that_sends_little_has_no_advantage() {
        let mut fair = FairArbitration::default();
        for now in 1..=50 {
            fair.priority(0, 0, now);
        }
        assert_eq!(fair.priority(0, 0, 60), fair.priority(1, 1, 60));
    }

    #[test]
    fn late_times_do_not_overflow() {
        let mut fair = FairArbitration::default();
        assert_eq!(fair.priority(0, 0, 1 << 40), u32::MAX);
    }
}
