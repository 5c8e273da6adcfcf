//! Equal-cost multipath: which of the equal ways of a router a flow takes (Hopps: RFC 2992, 2000, by hash threshold).
//!
//! A flow has a source and a destination node; or each message is a flow, and its number takes part. Each router hashes a
//! flow for itself, so that choices are independent.

use crate::random::Random;

#[derive(Debug, Clone, Copy)]
pub struct FlowHash {
    key: u64,
    by_message: bool,
}

impl FlowHash {
    pub fn new(seed: u64, by_message: bool) -> FlowHash {
        FlowHash { key: Random::new(seed).bits(), by_message }
    }

    /// Return the hash of the flow of a message between two nodes.
    pub fn flow(self, source: usize, destination: usize, message: u32) -> u32 {
        let pair = Random::new(self.key ^ ((source as u64) << 32) ^ destination as u64).bits();
        let bits = if self.by_message { Random::new(pair ^ u64::from(message)).bits() } else { pair };
        (bits >> 32) as u32
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
        for by_message in [false, true] {
            let hash = FlowHash::new(7, by_message);
            let mut counts = [0_u32; 5];
            for source in 0..100 {
                for other in 0..100 {
                    let (destination, message) = if by_message { (1, other as u32) } else { (other, 0) };
                    counts[FlowHash::way(hash.flow(source, destination, message), 3, 5)] += 1;
                }
            }
            // The standard deviation is 40.
            assert!(counts.iter().all(|&count| count.abs_diff(2000) < 160), "{counts:?}");
        }
    }

    #[test]
    fn messages_of_a_pair_are_one_flow_unless_each_is_one() {
        let flows = |by_message| (0..9).map(move |message| FlowHash::new(7, by_message).flow(1, 2, message));
        assert!(flows(false).all(|flow| flow == FlowHash::new(7, false).flow(1, 2, 0)));
        assert_eq!(flows(true).collect::<std::collections::HashSet<_>>().len(), 9);
    }
}
