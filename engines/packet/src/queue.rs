//! The queue of events: a wheel of buckets, of which the present one is sorted; later events wait in a heap.
//!
//! Events of a bucket are a list in one slab, so memory is that of the events that are planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens at a time, which is the upper 62 bits of `key`; the lower two are its kind. Events of one time
/// are sorted by kind and then by `b` and `a`, so that results do not depend on the order in which they were planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub key: u64,
    pub b: u32,
    pub a: u32,
}

impl Event {
    pub fn time(self) -> u64 {
        self.key >> 2
    }
}

const END: u32 = u32::MAX;

pub struct Queue {
    shift: u32,
    mask: u64,
    /// Number of the present bucket, counted from time 0.
    now: u64,
    /// Events of the present bucket, the next one last.
    current: Vec<Event>,
    heads: Vec<u32>,
    filled: Vec<u64>,
    in_wheel: usize,
    slab: Vec<(Event, u32)>,
    free: u32,
    far: BinaryHeap<Reverse<Event>>,
}

impl Queue {
    /// Return an empty queue with buckets of about `bucket_ps`, `2^log_buckets` of them.
    pub fn new(bucket_ps: u64, log_buckets: u32) -> Queue {
        let buckets = 1usize << log_buckets.max(6);
        Queue {
            shift: 64 - (bucket_ps * 4).max(4).leading_zeros() - 1,
            mask: buckets as u64 - 1,
            now: 0,
            current: Vec::new(),
            heads: vec![END; buckets],
            filled: vec![0; buckets / 64],
            in_wheel: 0,
            slab: Vec::new(),
            free: END,
            far: BinaryHeap::new(),
        }
    }

    #[inline]
    pub fn push(&mut self, event: Event) {
        let bucket = event.key >> self.shift;
        if bucket <= self.now {
            let position = self.current.iter().rposition(|other| *other > event).map_or(0, |last| last + 1);
            self.current.insert(position, event);
        } else if bucket - self.now <= self.mask {
            let slot = (bucket & self.mask) as usize;
            let entry = (event, self.heads[slot]);
            self.heads[slot] = if self.free == END {
                self.slab.push(entry);
                self.slab.len() as u32 - 1
            } else {
                let entry_at = self.free;
                self.free = std::mem::replace(&mut self.slab[entry_at as usize], entry).1;
                entry_at
            };
            self.filled[slot / 64] |= 1 << (slot % 64);
            self.in_wheel += 1;
        } else {
            self.far.push(Reverse(event));
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        if self.current.is_empty() && !self.advance() {
            return None;
        }
        self.current.pop()
    }

    /// Return the next event if its key is below `end`; it may only be asked for within the time of the event popped last.
    #[inline]
    pub fn pop_below(&mut self, end: u64) -> Option<Event> {
        match self.current.last() {
            Some(event) if event.key < end => self.current.pop(),
            _ => None,
        }
    }

    /// Go on to the next bucket with events; return whether there is one.
    fn advance(&mut self) -> bool {
        let near = self.next_filled();
        let far = self.far.peek().map(|event| event.0.key >> self.shift);
        let next = match (near, far) {
            (None, None) => return false,
            (Some(one), None) | (None, Some(one)) => one,
            (Some(near), Some(far)) => near.min(far),
        };
        self.now = next;
        if near == Some(next) {
            let slot = (next & self.mask) as usize;
            let mut entry_at = std::mem::replace(&mut self.heads[slot], END);
            self.filled[slot / 64] &= !(1 << (slot % 64));
            while entry_at != END {
                let (event, after) = self.slab[entry_at as usize];
                self.current.push(event);
                self.slab[entry_at as usize].1 = self.free;
                self.free = entry_at;
                entry_at = after;
            }
            self.in_wheel -= self.current.len();
        }
        while self.far.peek().map_or(false, |event| event.0.key >> self.shift == next) {
            self.current.extend(self.far.pop().map(|event| event.0));
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by(|one, other| other.cmp(one));
        }
        true
    }

    fn next_filled(&self) -> Option<u64> {
        if self.in_wheel == 0 {
            return None;
        }
        let start = (self.now + 1) & self.mask;
        let words = self.filled.len();
        let mut word = (start / 64) as usize;
        let mut bits = self.filled[word] & (!0u64 << (start % 64));
        while bits == 0 {
            word = (word + 1) % words;
            bits = self.filled[word];
        }
        let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
        Some(self.now + 1 + (slot.wrapping_sub(start) & self.mask))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use library::random::Random;

    #[test]
    fn events_come_in_order_whatever_the_buckets() {
        for (bucket, log) in [(1, 6), (16, 6), (1000, 8), (1 << 40, 6)] {
            let (mut queue, mut random) = (Queue::new(bucket, log), Random::new(bucket));
            let mut heap = BinaryHeap::new();
            let mut now = 0;
            for round in 0..20_000u32 {
                if round % 3 < 2 {
                    let later = [3, 100, 5_000, 1_000_000][random.below(4)];
                    let event = Event { key: now + random.below(later) as u64, b: random.below(9) as u32, a: round };
                    queue.push(event);
                    heap.push(Reverse(event));
                } else {
                    let expected = heap.pop().map(|event| event.0);
                    assert_eq!(queue.pop(), expected);
                    now = expected.map_or(now, |event| event.key);
                }
            }
            while let Some(Reverse(event)) = heap.pop() {
                assert_eq!(queue.pop(), Some(event));
            }
            assert_eq!(queue.pop(), None);
        }
    }
}
