//! Sets of lanes of a router: a lane is a virtual channel of a port, numbered port by port.

/// A set of small numbers, listed in ascending order.
#[derive(Debug)]
pub struct LaneSet(Vec<u64>);

impl LaneSet {
    /// The empty set of numbers below `lanes`.
    pub fn new(lanes: usize) -> LaneSet {
        LaneSet(vec![0; lanes / 64 + 1])
    }

    pub fn insert(&mut self, lane: usize) {
        self.0[lane / 64] |= 1 << (lane % 64);
    }

    pub fn remove(&mut self, lane: usize) {
        self.0[lane / 64] &= !(1 << (lane % 64));
    }

    /// The least member from `least` on; the set may change between two calls.
    pub fn next(&self, least: usize) -> Option<usize> {
        let first = least / 64;
        let mut word = *self.0.get(first)? & (u64::MAX << (least % 64));
        for index in first.. {
            if word != 0 {
                return Some(64 * index + word.trailing_zeros() as usize);
            }
            word = *self.0.get(index + 1)?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_listed_in_order_across_words() {
        let mut set = LaneSet::new(200);
        for lane in [199, 0, 63, 64, 130, 65] {
            set.insert(lane);
        }
        set.remove(130);
        let (mut listed, mut least) = (Vec::new(), 0);
        while let Some(lane) = set.next(least) {
            listed.push(lane);
            least = lane + 1;
        }
        assert_eq!(listed, [0, 63, 64, 65, 199]);
        assert_eq!(LaneSet::new(64).next(64), None);
    }
}
