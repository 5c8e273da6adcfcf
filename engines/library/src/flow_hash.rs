//! Equal-cost multipath: which of the equal ways of a router a flow takes (Hopps: RFC 2992, 2000, by hash threshold).
//!
//! A flow has a source and a destination node. Each router hashes it for itself, so that choices are independent.

use crate::random::Random;

#[derive(Debug, Clone, Copy)]
pub struct FlowHash {
    key: u64,
}

impl FlowHash {
    pub fn new(seed: u64) -> FlowHash {
        FlowHash { key: Random::new(seed).bits() }
    }

    /// Return the hash of the flow between two nodes.
    pub fn flow(self, source: usize, destination: usize) -> u32 {
        (Random::new(self.key ^ ((source as u64) << 32) ^ destination as u64).bits() >> 32) as u32
    }

    /// Return the way that a flow takes at a router, below the number of ways.
    pub fn way(flow: u32, router: usize, ways: u64) -> usize {
        let bits = Random::new((u64::from(flow) << 32) | router as u64).bits();
        (((bits >> 32) * ways) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_select_each_way_as_often() {
        let hash = FlowHash::new(7);
        let mut counts = [0_u32; 5];
        for source in 0..100 {
            for destination in 0..100 {
                counts[FlowHash::way(hash.flow(source, destination), 3, 5)] += 1;
            }
        }
        // The standard deviation is 40.
        assert!(counts.iter().all(|&count| count.abs_diff(2000) < 160), "{counts:?}");
    }
}
