//! Traffic that nodes offer without end: when each message is due, and where it goes.
//!
//! The file lists the destinations: after `offered 1`, `nodes N` and `rows R` come R lines `NODE WEIGHT FIRST LAST`, sorted by
//! node: of the load, in units of 2^-30, NODE sends WEIGHT to nodes drawn uniformly from FIRST to LAST, itself left out. A
//! node with weights of 1 in all offers the whole load.
//!
//! Arrivals of a node: a Poisson process; periodic, with a random phase; or bursts, on-off: messages at the full rate of the
//! link, a geometric number of them, with exponential gaps between bursts. Each node has its own random numbers, so that
//! all routings and all loads see the same sequence.

use crate::input::{BadFile, Lines};
use crate::random::Random;

/// The weight of all messages that a node sends at the whole load.
const FULL_WEIGHT: f64 = (1 << 30) as f64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    Poisson,
    Periodic,
    /// Mean number of messages of a burst.
    Bursts(f64),
}

impl Arrivals {
    /// Return the arrivals of a name; `burst` is the mean number of messages of a burst.
    pub fn of(name: &str, burst: f64) -> Option<Arrivals> {
        match name {
            "poisson" => Some(Arrivals::Poisson),
            "periodic" => Some(Arrivals::Periodic),
            "bursts" => Some(Arrivals::Bursts(burst.max(1.0))),
            _ => None,
        }
    }
}

/// Cumulated weight, first and last node of a row.
pub type Target = (u64, usize, usize);

/// Sizes of messages: one, or the inverse of a distribution function, linear in each row.
#[derive(Debug, Clone)]
pub struct Sizes {
    pub mean_bytes: f64,
    /// The share up to which a row lasts, and the sizes at its ends.
    rows: Vec<[f64; 3]>,
}

impl Sizes {
    /// Return sizes with a mean and rows of three numbers, none of one size; none if they are no distribution.
    pub fn new(mean_bytes: f64, numbers: &[f64]) -> Option<Sizes> {
        let rows: Vec<[f64; 3]> = numbers.chunks(3).map(|row| row.try_into().ok()).collect::<Option<_>>()?;
        let grows = rows.windows(2).all(|pair| pair[0][0] < pair[1][0]);
        let ends = rows.iter().all(|&[_, low, high]| 0.0 <= low && low <= high && high < f64::from(1_u32 << 31));
        let is_whole = rows.last().map_or(true, |last| last[0] == 1.0 && rows[0][0] > 0.0);
        (grows && ends && is_whole && mean_bytes > 0.0).then_some(Sizes { mean_bytes, rows })
    }

    fn draw(&self, random: &mut Random) -> u32 {
        if self.rows.is_empty() {
            return self.mean_bytes as u32;
        }
        let share = random.unit();
        let row = self.rows.partition_point(|row| row[0] <= share);
        let ([end, low, high], begin) = (self.rows[row], if row == 0 { 0.0 } else { self.rows[row - 1][0] });
        (low + (high - low) * ((share - begin) / (end - begin))).round().max(1.0) as u32
    }
}

/// The messages of a node.
#[derive(Debug)]
pub struct Source {
    node: usize,
    random: Random,
    /// Of the sizes: times and destinations are the same with any.
    random_sizes: Random,
    targets: Vec<Target>,
    arrivals: Arrivals,
    /// Mean time from one message to the next, and time of a mean message on the link, in ps.
    interval: f64,
    message: f64,
    next: f64,
    in_burst: u64,
}

impl Source {
    /// Return the source of a node; none if it sends nothing. `message_ps` is the time of a message on its link.
    pub fn new(
        node: usize, seed: u64, targets: Vec<Target>, arrivals: Arrivals, load: f64, message_ps: f64,
    ) -> Option<Source> {
        let rate = load * targets.last()?.0 as f64 / FULL_WEIGHT;
        let mut bits = Random::new(seed << 32 | node as u64);
        let (random, random_sizes) = (Random::new(bits.bits()), Random::new(bits.bits()));
        let interval = message_ps / rate;
        let mut source = Source {
            node,
            random,
            random_sizes,
            targets,
            arrivals,
            interval,
            message: message_ps,
            next: 0.0,
            in_burst: 0,
        };
        match arrivals {
            Arrivals::Poisson => source.draw_gap(message_ps),
            _ => source.next = interval * source.random.unit(),
        }
        Some(source)
    }

    pub fn due(&self) -> u64 {
        self.next.ceil() as u64
    }

    /// Take the message that is due; return its destination and bytes.
    pub fn take(&mut self, sizes: &Sizes) -> (usize, u32) {
        let destination = self.draw_destination();
        let bytes = sizes.draw(&mut self.random_sizes);
        self.draw_gap(self.message * (f64::from(bytes) / sizes.mean_bytes));
        (destination, bytes)
    }

    /// Add the gap behind a message that takes a time on the link.
    fn draw_gap(&mut self, message_ps: f64) {
        self.next += match self.arrivals {
            Arrivals::Poisson => self.interval * self.random.exponential(),
            Arrivals::Periodic => self.interval,
            Arrivals::Bursts(_) if self.in_burst > 0 => {
                self.in_burst -= 1;
                message_ps
            }
            Arrivals::Bursts(mean) => {
                // Geometric from 1 on; the mean gap makes up for messages that follow at the rate of the link.
                let continues = 1.0 - 1.0 / mean;
                while self.random.unit() < continues {
                    self.in_burst += 1;
                }
                message_ps + mean * (self.interval - self.message).max(0.0) * self.random.exponential()
            }
        };
    }

    fn draw_destination(&mut self) -> usize {
        let all = self.targets.last().expect("a source has targets").0;
        let weight = self.random.below(all as usize) as u64;
        let row = self.targets.partition_point(|&(cumulated, ..)| cumulated <= weight);
        let (_, first, last) = self.targets[row];
        if (first..=last).contains(&self.node) {
            let drawn = first + self.random.below(last - first);
            return if drawn < self.node { drawn } else { drawn + 1 };
        }
        first + self.random.below(last - first + 1)
    }
}

/// Read cumulated weights and ranges of destinations of each node.
pub fn read(mut lines: Lines, nodes: usize) -> Result<Vec<Vec<Target>>, BadFile> {
    lines.format("offered")?;
    if lines.header("nodes")? != nodes {
        return Err(lines.bad("the machine has another number of nodes"));
    }
    let mut targets: Vec<Vec<Target>> = vec![Vec::new(); nodes];
    for _ in 0..lines.header("rows")? {
        let [node, weight, first, last] = lines.numbers("NODE WEIGHT FIRST LAST")?;
        if node >= nodes || first > last || last >= nodes || weight == 0 || first == node && last == node {
            return Err(lines.bad("nodes must exist, FIRST not be above LAST, and WEIGHT not be 0"));
        }
        let before = targets[node].last().map_or(0, |&(weight, ..)| weight);
        targets[node].push((before + weight as u64, first, last));
    }
    lines.end()?;
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(arrivals: Arrivals) -> Source {
        // A load of 0.4, so that messages of 8 come every 20.
        let targets = vec![(3 << 28, 0, 0), (4 << 28, 2, 4)];
        Source::new(3, 7, targets, arrivals, 0.4, 8.0).expect("it sends")
    }

    fn one_size() -> Sizes {
        Sizes::new(8.0, &[]).expect("a size")
    }

    #[test]
    fn messages_of_a_burst_follow_each_other_at_once() {
        let (mut source, mut close, sizes) = (source(Arrivals::Bursts(5.0)), 0, one_size());
        for _ in 0..100_000 {
            let before = source.next;
            source.take(&sizes);
            close += usize::from((source.next - before - 8.0).abs() < 1e-6);
        }
        assert!((source.next / 1e5 - 20.0).abs() < 0.5 && (close as f64 / 1e5 - 0.8).abs() < 0.01, "{close}");
    }

    #[test]
    fn destinations_follow_the_weights_and_leave_out_the_sender() {
        let (mut source, mut drawn, sizes) = (source(Arrivals::Poisson), [0; 5], one_size());
        for _ in 0..40_000 {
            drawn[source.take(&sizes).0] += 1;
        }
        assert_eq!((drawn[1], drawn[3]), (0, 0));
        assert!((drawn[0] as f64 / 30_000.0 - 1.0).abs() < 0.02, "{drawn:?}");
        assert!((drawn[2] as f64 / drawn[4] as f64 - 1.0).abs() < 0.06, "{drawn:?}");
    }
}
