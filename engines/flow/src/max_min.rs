//! Max-min fair rates of flows that spread over links.
//!
//! Flow f puts `weight * rate` on each of its links. All rates grow equally until a link is full; the flows on it keep
//! their rates, and the others grow on (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2). Links fill in the
//! order of the shares that they have for flows without a rate; a share only grows when other links fill, so a heap with
//! old shares tells which link to look at next.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A link of a flow and how much of the flow crosses it.
pub type Part = (u32, f64);

/// Rate of a flow that has none yet.
const NONE: f64 = -1.0;

/// A number that can be compared; never NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finite(pub f64);

impl Eq for Finite {}

impl PartialOrd for Finite {
    fn partial_cmp(&self, other: &Finite) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Finite {
    fn cmp(&self, other: &Finite) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// What is left of a link that some flow uses.
#[derive(Debug, Default, Clone, Copy)]
struct Rest {
    free: f64,
    /// Weights and number of the flows without a rate.
    weight: f64,
    waiting: u32,
    /// Where the flows of the link stand in the list.
    first: u32,
    end: u32,
}

impl Rest {
    fn share(&self) -> Finite {
        Finite((self.free / self.weight).max(0.0))
    }
}

/// Solves problems on the same links, one after the other.
#[derive(Debug)]
pub struct MaxMin {
    capacity: Vec<f64>,
    rest: Vec<Rest>,
    flows: Vec<u32>,
    used: Vec<u32>,
    heap: BinaryHeap<Reverse<(Finite, u32)>>,
}

impl MaxMin {
    pub fn new(capacity: Vec<f64>) -> MaxMin {
        let rest = vec![Rest::default(); capacity.len()];
        MaxMin { capacity, rest, flows: Vec::new(), used: Vec::new(), heap: BinaryHeap::new() }
    }

    /// Find the rates of the flows `active`. `parts` gives the links of a flow, each once; `full` gets the link that
    /// holds each flow back.
    pub fn solve<'a>(&mut self, active: &[u32], parts: impl Fn(u32) -> &'a [Part], rate: &mut [f64], full: &mut [u32]) {
        self.list_flows(active, &parts);
        active.iter().for_each(|&flow| rate[flow as usize] = NONE);
        let mut heap = std::mem::take(&mut self.heap).into_vec();
        heap.extend(self.used.iter().map(|&link| Reverse((self.rest[link as usize].share(), link))));
        self.heap = BinaryHeap::from(heap);
        while let Some(Reverse((_, link))) = self.heap.pop() {
            let rest = self.rest[link as usize];
            if rest.waiting == 0 {
                continue;
            }
            let share = rest.share();
            if matches!(self.heap.peek(), Some(Reverse((next, _))) if share > *next) {
                self.heap.push(Reverse((share, link)));
                continue;
            }
            for index in rest.first..rest.end {
                let flow = self.flows[index as usize];
                if rate[flow as usize] == NONE {
                    rate[flow as usize] = share.0;
                    full[flow as usize] = link;
                    self.take(parts(flow), share.0);
                }
            }
        }
        for link in self.used.drain(..) {
            self.rest[link as usize] = Rest::default();
        }
    }

    /// List the flows of each link.
    fn list_flows<'a>(&mut self, active: &[u32], parts: &impl Fn(u32) -> &'a [Part]) {
        for &(link, weight) in active.iter().flat_map(|&flow| parts(flow)) {
            let rest = &mut self.rest[link as usize];
            if rest.waiting == 0 {
                rest.free = self.capacity[link as usize];
                self.used.push(link);
            }
            rest.weight += weight;
            rest.waiting += 1;
        }
        let mut end = 0;
        for &link in &self.used {
            let rest = &mut self.rest[link as usize];
            (rest.first, rest.end) = (end, end);
            end += rest.waiting;
        }
        self.flows.resize(end as usize, 0);
        for &flow in active {
            for &(link, _) in parts(flow) {
                let rest = &mut self.rest[link as usize];
                self.flows[rest.end as usize] = flow;
                rest.end += 1;
            }
        }
    }

    fn take(&mut self, parts: &[Part], rate: f64) {
        for &(link, weight) in parts {
            let rest = &mut self.rest[link as usize];
            rest.free -= weight * rate;
            rest.weight -= weight;
            rest.waiting -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use library::random::Random;

    fn rates(capacity: &[f64], flows: &[Vec<Part>]) -> (Vec<f64>, Vec<u32>) {
        let active: Vec<u32> = (0..flows.len() as u32).collect();
        let (mut rate, mut full) = (vec![0.0; flows.len()], vec![0; flows.len()]);
        let mut problem = MaxMin::new(capacity.to_vec());
        // Twice, since nothing may be left of the first time.
        for _ in 0..2 {
            problem.solve(&active, |flow| &flows[flow as usize], &mut rate, &mut full);
        }
        (rate, full)
    }

    /// Rates are max-min fair exactly if no link carries more than it can, and each flow crosses a full link on which no
    /// flow has a higher rate.
    #[test]
    fn random_problems_have_the_certificate_of_max_min_fairness() {
        let mut random = Random::new(7);
        for links in [1, 3, 10, 60] {
            for _ in 0..100 {
                let capacity: Vec<f64> = (0..links).map(|_| 0.1 + random.unit()).collect();
                let flow = |random: &mut Random| {
                    let crosses: Vec<u32> = (0..links as u32).filter(|_| random.below(4) == 0).collect();
                    let crosses = if crosses.is_empty() { vec![random.below(links) as u32] } else { crosses };
                    crosses.into_iter().map(|link| (link, 0.01 + random.unit())).collect()
                };
                let flows: Vec<Vec<Part>> = (0..1 + random.below(40)).map(|_| flow(&mut random)).collect();
                let (rate, full) = rates(&capacity, &flows);
                let mut load = vec![0.0; links];
                let mut highest = vec![0.0_f64; links];
                for (parts, &rate) in flows.iter().zip(&rate) {
                    for &(link, weight) in parts {
                        load[link as usize] += weight * rate;
                        highest[link as usize] = highest[link as usize].max(rate);
                    }
                }
                assert!(load.iter().zip(&capacity).all(|(load, capacity)| *load <= capacity * (1.0 + 1e-12)));
                for (flow, &link) in full.iter().enumerate() {
                    let link_of_flow = flows[flow].iter().any(|part| part.0 == link);
                    let link = link as usize;
                    assert!(link_of_flow && load[link] >= capacity[link] * (1.0 - 1e-12));
                    assert!(rate[flow] >= highest[link] * (1.0 - 1e-12));
                }
            }
        }
    }
}
