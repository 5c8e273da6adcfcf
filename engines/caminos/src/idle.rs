//! Cycles in which nothing moves, over which the clock jumps.
//!
//! Where ranks compute and no message is under way, cycles differ in their number only. So traffics tell CAMINOS, as a
//! trap, that they have finished; `main` sets the clock to the cycle in which the first rank has computed, if no event
//! is left either, and goes on. `--walk` leaves no cycle out.

use caminos_lib::Time;

use crate::session::Session;

/// A jump costs about as much as this many cycles of a small machine.
const LEAST_JUMP: Time = 1000;

/// What of a traffic is under way.
#[derive(Debug, Default)]
pub struct Idle {
    /// Messages between nodes that are posted and have not arrived.
    under_way: usize,
}

impl Idle {
    pub fn post(&mut self, messages: usize) {
        self.under_way += messages;
    }

    /// Count a message as arrived. Credits may be under way for some time after it.
    pub fn arrive(&mut self, session: &Session, cycle: Time) {
        self.under_way -= 1;
        session.quiet_from.set(cycle + session.settling.get());
    }

    /// Whether nothing moves from the next cycle on, until a later one that the session then knows; `next` is the cycle
    /// in which the first rank has computed.
    pub fn begins(&self, session: &Session, next: impl FnOnce() -> Option<Time>) -> bool {
        let now = session.now.get() + 1;
        if self.under_way > 0 || session.walks.get() || now < session.quiet_from.get() {
            return false;
        }
        let next = next();
        if next.map_or(true, |wake| wake < now + LEAST_JUMP) {
            // Until then the answer is the same.
            session.quiet_from.set(next.unwrap_or(now + LEAST_JUMP).max(now) + 1);
            return false;
        }
        session.jump_to.set(next);
        true
    }
}
