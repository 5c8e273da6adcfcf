//! Background jobs that offer a stated load in open loop: each rank posts messages drawn from its sends at times of a Poisson
//! process until all other jobs have finished; they wait in an unbounded queue of the rank.

use library::operations::{Operations, Posted};
use library::random::{mix, Random};

/// A rank that posts messages.
#[derive(Debug)]
struct Source {
    node: usize,
    /// Its number among the ranks of the node.
    number: usize,
    sends: Vec<u32>,
    gap_ps: f64,
    next: f64,
    random: Random,
}

/// All sources, and their messages under way, whose numbers follow those of operations.
#[derive(Debug)]
pub struct Background {
    first: u32,
    sources: Vec<Source>,
    /// The send of which each message is a copy, and when it was posted.
    messages: Vec<(u32, u64)>,
    free: Vec<u32>,
    /// Messages posted so far, counted on from the operations.
    pub copies: u32,
}

impl Background {
    /// `gaps_ps` are the mean gaps between the messages of each rank that offers a load; 0 if it sends none. `first` is the
    /// number of operations.
    pub fn new(gaps_ps: &[Option<u64>], operations: &Operations, first: u32, seed: u64) -> Background {
        let source = |(rank, gap_ps): (usize, &Option<u64>)| {
            let gap_ps = gap_ps.filter(|&gap_ps| gap_ps > 0)? as f64;
            let (node, number, sends) = operations.sends_of(rank);
            let mut random = Random::new(mix(seed << 32 | rank as u64));
            let next = gap_ps * random.exponential();
            Some(Source { node, number, sends, gap_ps, next, random })
        };
        let sources = gaps_ps.iter().enumerate().filter_map(source).collect();
        Background { first, sources, messages: Vec::new(), free: Vec::new(), copies: first }
    }

    /// Return the time and the timer of the first message of each source.
    pub fn timers(&self) -> Vec<(u64, u32)> {
        (0..self.sources.len() as u32).map(|number| self.timer(number)).collect()
    }

    fn timer(&self, number: u32) -> (u64, u32) {
        (self.sources[number as usize].next.ceil() as u64, self.first + number)
    }

    /// Return whether a message or a timer is one of these.
    pub fn has(&self, number: u32) -> bool {
        number >= self.first
    }

    /// Return the send of which a message is a copy, or the send itself.
    pub fn send_of(&self, message: u32) -> u32 {
        if self.has(message) {
            self.messages[(message - self.first) as usize].0
        } else {
            message
        }
    }

    /// Draw the message that is due, and return it with the next timer of its source.
    pub fn post(&mut self, timer: u32, now: u64, operations: &Operations) -> (Posted, (u64, u32)) {
        let number = timer - self.first;
        let source = &mut self.sources[number as usize];
        let send = source.sends[source.random.below(source.sends.len())];
        source.next += source.gap_ps * source.random.exponential();
        let (node, rank, bytes) = (source.node, source.number, operations.bytes_of(send) as u32);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.messages.push((0, 0));
            self.messages.len() as u32 - 1
        });
        self.messages[slot as usize] = (send, now);
        self.copies = self.copies.wrapping_add(1);
        (Posted { node, rank, send: self.first + slot, bytes }, self.timer(number))
    }

    /// Forget a message that has arrived; return its send, and when it was posted.
    pub fn arrive(&mut self, message: u32) -> (u32, u64) {
        let slot = message - self.first;
        self.free.push(slot);
        self.messages[slot as usize]
    }
}
