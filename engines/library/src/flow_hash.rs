//! Equal-cost multipath: which of the equal ways of a router a flow takes (Hopps: RFC 2992, 2000, by hash threshold).
//!
//! A flow has a source and a destination node; or each message is a flow, and its number takes part. Each router hashes a
//! flow for itself, so that choices are independent.

use crate::random::{below, mix};

#[derive(Debug, Clone, Copy)]
pub struct FlowHash {
    key: u64,
    by_message: bool,
}

impl FlowHash {
    pub fn new(seed: u64, by_message: bool) -> FlowHash {
        FlowHash { key: mix(seed), by_message }
    }

    pub fn flow(self, source: usize, destination: usize, message: u32) -> u32 {
        let pair = mix(self.key ^ ((source as u64) << 32) ^ destination as u64);
        let bits = if self.by_message { mix(pair ^ u64::from(message)) } else { pair };
        (bits >> 32) as u32
    }

    /// Return the way that a flow takes at a router, below the number of ways.
    pub fn way(flow: u32, router: usize, ways: usize) -> usize {
        below(mix((u64::from(flow) << 32) | router as u64), ways as u32) as usize
    }
}
