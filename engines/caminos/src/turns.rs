//! Turns: of packets that compete, those go first whose routers lag behind the other routers of their job.
//!
//! Arbitration that looks at no more than one router is unfair to nodes far away, and past saturation starves them
//! (Abts and Weisser, SC 2007): then the links that only they use stand idle. A packet's turn is the cycle by which
//! the routers of its job, on average, had sent as many packets as its router has; so jobs that send little have no
//! advantage over those that send much.

use std::cell::RefCell;

use caminos_lib::Time;

use crate::{messages, shares};

#[derive(Debug, Default)]
pub struct Turns {
    jobs: RefCell<Vec<Sent>>,
}

/// Packets of a job that have entered the network.
#[derive(Debug, Default)]
struct Sent {
    /// Router by router, as far as they have been heard of.
    by_router: Vec<Time>,
    in_all: Time,
    senders: Time,
}

impl Turns {
    /// Turn of the next packet from a router to a node: lower goes first.
    pub fn take(&self, router: usize, destination: usize) -> i32 {
        let job = shares::job_of(destination);
        let mut jobs = self.jobs.borrow_mut();
        if jobs.len() <= job {
            jobs.resize_with(job + 1, Sent::default);
        }
        jobs[job].turn(router, messages::now()).min(i32::MAX as Time) as i32
    }
}

impl Sent {
    /// Count a packet that enters now.
    fn turn(&mut self, router: usize, now: Time) -> Time {
        if self.by_router.len() <= router {
            self.by_router.resize(router + 1, 0);
        }
        let sent = &mut self.by_router[router];
        self.senders += Time::from(*sent == 0);
        *sent += 1;
        self.in_all += 1;
        now * *sent * self.senders / self.in_all
    }
}
