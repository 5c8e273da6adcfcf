//! What is measured of traffic that nodes offer in open loop: messages are due at times that do not depend on the network,
//! and wait in an unbounded queue of their node. The latency, from the due time to the arrival of the last byte, includes
//! this queue.
//!
//! After the warm-up follow batches of equal length. Messages due in a batch are measured; load continues until all of
//! them have arrived, for at most `drain` times the length of the window; not at all if the backlog has grown in the
//! second half of the window: then the load is not sustained, and latencies grow with the length of the run.

use crate::histogram::Histogram;
use crate::result::Fields;

/// When what is measured, in picoseconds or cycles.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub warmup: u64,
    pub batch: u64,
    pub batches: u64,
    pub drain: u64,
}

impl Window {
    pub fn end(&self) -> u64 {
        self.warmup + self.batch * self.batches
    }

    /// Return when the load ends at the latest.
    pub fn limit(&self) -> u64 {
        self.end() + self.drain * self.batch * self.batches
    }

    /// Return the beginning, the middle and the end; the middle is the end of a batch.
    fn moments(&self) -> [u64; 3] {
        [self.warmup, self.warmup + self.batch * (self.batches / 2), self.end()]
    }

    /// Return the batch of a time; none before and behind the window.
    fn batch_of(&self, time: u64) -> Option<usize> {
        (self.warmup..self.end()).contains(&time).then(|| ((time - self.warmup) / self.batch) as usize)
    }
}

#[derive(Debug, Clone, Default)]
struct Batch {
    /// Messages due in it, their size, and the size of those that arrived in it, whenever they were due.
    created: u64,
    created_size: u64,
    arrived_size: u64,
    /// Integral over its time of the messages that were due and had not arrived.
    backlog: u128,
    /// Of the messages due in it: how many have arrived, and the sum of their latencies.
    measured: u64,
    latency: u64,
    longest: u64,
    latencies: Histogram,
}

#[derive(Debug)]
pub struct Measured {
    pub window: Window,
    batches: Vec<Batch>,
    /// Messages due and not arrived: now, and at the beginning, in the middle and at the end of the window.
    backlog: u64,
    backlog_at: [u64; 3],
    /// Measured messages that have not arrived.
    awaited: u64,
    counted_until: u64,
    /// Of each node the size of the messages due, and of those of its messages that arrived, within the window.
    node_created: Vec<u64>,
    node_arrived: Vec<u64>,
}

impl Measured {
    pub fn new(window: Window, nodes: usize) -> Measured {
        Measured {
            window,
            batches: vec![Batch::default(); window.batches as usize],
            backlog: 0,
            backlog_at: [0; 3],
            awaited: 0,
            counted_until: 0,
            node_created: vec![0; nodes],
            node_arrived: vec![0; nodes],
        }
    }

    pub fn count_until(&mut self, time: u64) {
        for (at, moment) in self.window.moments().into_iter().enumerate() {
            if self.counted_until < moment && moment <= time {
                self.backlog_at[at] = self.backlog;
            }
        }
        let Window { warmup, batch: length, .. } = self.window;
        while self.counted_until < time {
            let batch = self.window.batch_of(self.counted_until);
            let until = match batch {
                Some(batch) => warmup + length * (batch as u64 + 1),
                None if self.counted_until < warmup => warmup,
                None => time,
            };
            let until = until.min(time);
            if let Some(batch) = batch {
                self.batches[batch].backlog += u128::from(self.backlog) * u128::from(until - self.counted_until);
            }
            self.counted_until = until;
        }
    }

    pub fn create(&mut self, node: usize, due: u64, size: u32) {
        self.backlog += 1;
        if let Some(batch) = self.window.batch_of(due) {
            self.batches[batch].created += 1;
            self.batches[batch].created_size += u64::from(size);
            self.awaited += 1;
            self.node_created[node] += u64::from(size);
        }
    }

    /// Count a message of a node that arrives now; return the batch in which it was due, if it is measured.
    pub fn arrive(&mut self, node: usize, due: u64, now: u64, size: u32) -> Option<usize> {
        self.backlog -= 1;
        if let Some(batch) = self.window.batch_of(now) {
            self.batches[batch].arrived_size += u64::from(size);
            self.node_arrived[node] += u64::from(size);
        }
        let number = self.window.batch_of(due)?;
        self.awaited -= 1;
        let (batch, latency) = (&mut self.batches[number], now - due);
        batch.measured += 1;
        batch.latency += latency;
        batch.longest = batch.longest.max(latency);
        batch.latencies.add(latency);
        Some(number)
    }

    /// Return whether load continues after the window: unless the backlog has grown by more than 1 % of what was created in
    /// the second half of the window, and than so many standard deviations of the difference of two counts.
    pub fn goes_on(&self, now: u64, deviations: f64) -> bool {
        let created: u64 = self.batches[self.batches.len() / 2..].iter().map(|batch| batch.created).sum();
        let [_, middle, end] = self.backlog_at;
        let noise = deviations * ((middle + end) as f64).sqrt();
        let is_growing = end.saturating_sub(middle) as f64 > (0.01 * created as f64).max(noise);
        !is_growing && self.awaited > 0 && now < self.window.limit()
    }

    /// Add counts, and times in a unit, to a result; names of sizes end in `of_size`, which is empty where each message
    /// counts as 1.
    pub fn add_to(&self, fields: &mut Fields, unit: &str, of_size: &str) {
        let batches = &self.batches;
        fields.number("awaited", self.awaited);
        fields.list("backlog", self.backlog_at);
        fields.list(&format!("node_created{of_size}"), &self.node_created);
        fields.list(&format!("node_arrived{of_size}"), &self.node_arrived);
        fields.list("created", batches.iter().map(|batch| batch.created));
        if !of_size.is_empty() {
            fields.list(&format!("created{of_size}"), batches.iter().map(|batch| batch.created_size));
        }
        fields.list(&format!("arrived{of_size}"), batches.iter().map(|batch| batch.arrived_size));
        fields.list(&format!("backlog_{unit}"), batches.iter().map(|batch| batch.backlog));
        fields.list("measured", batches.iter().map(|batch| batch.measured));
        fields.list(&format!("latency_{unit}"), batches.iter().map(|batch| batch.latency));
        fields.list(&format!("longest_{unit}"), batches.iter().map(|batch| batch.longest));
        fields.lists("twice_latency_counts", batches.iter().map(|batch| batch.latencies.listed()));
    }
}
