//! Grids of routers: where a packet may go next in each dimension.
//!
//! Router numbers count coordinates with the first dimension fastest. A dimension is a line, a ring, or a line with
//! express links: coordinate c is joined to c +- 1 and to c +- (1 + m * gap).

use std::collections::VecDeque;

/// What dimension order does with a packet that has to go exactly half-way round a ring.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tie {
    /// Half of the packets up, half of them down, as drawn for each.
    Split,
    /// Up.
    Positive,
    /// Up from even coordinates, down from odd ones.
    Alternate,
}

/// The next router of a packet, and whether the link to it stands behind the dateline of its ring or before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    pub router: usize,
    pub behind: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Dimension {
    pub length: usize,
    pub wrap: bool,
    /// 0 where there are no express links.
    pub gap: usize,
}

impl Dimension {
    /// Coordinates joined to `at`.
    fn joined(self, at: usize) -> Vec<usize> {
        let length = self.length;
        let near = |to: usize| {
            let far = at.abs_diff(to);
            let ring = self.wrap && far == length - 1;
            let express = self.gap > 0 && far > 0 && (far - 1) % self.gap == 0;
            far == 1 || far > 0 && (ring || express)
        };
        (0..length).filter(|&to| near(to)).collect()
    }

    /// Hops between coordinates, row by row.
    fn hops(self) -> Vec<u16> {
        let mut hops = vec![u16::MAX; self.length * self.length];
        for origin in 0..self.length {
            let row = &mut hops[origin * self.length..(origin + 1) * self.length];
            row[origin] = 0;
            let mut queue = VecDeque::from([origin]);
            while let Some(at) = queue.pop_front() {
                for to in self.joined(at) {
                    if row[to] == u16::MAX {
                        row[to] = row[at] + 1;
                        queue.push_back(to);
                    }
                }
            }
        }
        hops
    }

    /// How far the link leads that dimension order takes over a distance on a line: the longest not past the end.
    fn stride(self, distance: usize) -> usize {
        match self.gap {
            0 => 1,
            _ if distance == 1 => 1,
            gap if (distance - 1) % gap == 0 => distance,
            gap => 1 + (distance - 2) / gap * gap,
        }
    }
}

#[derive(Debug)]
pub struct Grid {
    dimensions: Vec<Dimension>,
    /// Difference of the numbers of two routers that are neighbours in each dimension.
    unit: Vec<usize>,
    /// Hops between the coordinates of each dimension, row by row.
    hops: Vec<Vec<u16>>,
    /// Coordinates of the routers, router by router.
    coordinates: Vec<usize>,
}

impl Grid {
    pub fn new(dimensions: Vec<Dimension>) -> Grid {
        let mut unit = vec![1];
        for dimension in &dimensions {
            unit.push(unit[unit.len() - 1] * dimension.length);
        }
        let hops = dimensions.iter().map(|dimension| dimension.hops()).collect();
        let of_router = |router: usize| dimensions.iter().zip(&unit).map(move |(d, unit)| router / unit % d.length);
        let coordinates = (0..unit[dimensions.len()]).flat_map(of_router).collect();
        Grid { dimensions, unit, hops, coordinates }
    }

    pub fn has_rings(&self) -> bool {
        self.dimensions.iter().any(|dimension| dimension.wrap)
    }

    fn coordinate(&self, router: usize, dimension: usize) -> usize {
        self.coordinates[router * self.dimensions.len() + dimension]
    }

    fn moved(&self, router: usize, dimension: usize, to: usize) -> usize {
        router + to * self.unit[dimension] - self.coordinate(router, dimension) * self.unit[dimension]
    }

    /// Routers that a router is joined to, in order of their numbers.
    pub fn neighbours(&self, router: usize) -> Vec<usize> {
        let along = |dimension: usize| {
            let joined = self.dimensions[dimension].joined(self.coordinate(router, dimension));
            joined.into_iter().map(move |to| self.moved(router, dimension, to))
        };
        let mut neighbours: Vec<usize> = (0..self.dimensions.len()).flat_map(along).collect();
        neighbours.sort_unstable();
        neighbours
    }

    pub fn distance(&self, from: usize, to: usize) -> usize {
        let along = |d: usize| {
            usize::from(self.hops[d][self.coordinate(from, d) * self.dimensions[d].length + self.coordinate(to, d)])
        };
        (0..self.dimensions.len()).map(along).sum()
    }

    /// Return the step of dimension order; `upwards` says which way to go where both ways round a ring are as short, and
    /// packets draw one.
    pub fn in_order(&self, here: usize, goal: usize, tie: Tie, upwards: impl Fn(u8) -> bool) -> Step {
        let differs = |&d: &usize| self.coordinate(here, d) != self.coordinate(goal, d);
        let d = (0..self.dimensions.len()).find(differs).expect("the packet has not arrived");
        let upwards = match (self.directions(here, goal, d), tie) {
            ((true, true), Tie::Split) => upwards(d as u8),
            ((true, true), Tie::Positive) => true,
            ((true, true), Tie::Alternate) => self.coordinate(here, d) % 2 == 0,
            ((upwards, _), _) => upwards,
        };
        self.step(here, goal, d, upwards)
    }

    /// Take the next routers of adaptive routing: those of dimension order in each dimension, both ways half-way round a
    /// ring, and by the short hop where an express link does not lead to the goal's coordinate.
    pub fn adaptively(&self, here: usize, goal: usize, mut take: impl FnMut(usize)) {
        for d in 0..self.dimensions.len() {
            let (from, to) = (self.coordinate(here, d), self.coordinate(goal, d));
            let (upwards, downwards) = self.directions(here, goal, d);
            for &up in [true, false].iter().filter(|&&up| if up { upwards } else { downwards }) {
                let router = self.step(here, goal, d, up).router;
                take(router);
                let reached = self.coordinate(router, d);
                if reached != to && reached.abs_diff(from) > 1 && !self.dimensions[d].wrap {
                    take(self.moved(here, d, if up { from + 1 } else { from - 1 }));
                }
            }
        }
    }

    /// Whether the goal is reached as fast upwards and downwards; neither where the coordinates are equal.
    fn directions(&self, here: usize, goal: usize, dimension: usize) -> (bool, bool) {
        let (from, to) = (self.coordinate(here, dimension), self.coordinate(goal, dimension));
        let Dimension { length, wrap, .. } = self.dimensions[dimension];
        if from == to || !wrap {
            return (from < to, from > to);
        }
        let up = (to + length - from) % length;
        (2 * up <= length, 2 * up >= length)
    }

    /// A step in one direction. The dateline of a ring is the link between its last coordinate and its first.
    fn step(&self, here: usize, goal: usize, dimension: usize, upwards: bool) -> Step {
        let (from, to) = (self.coordinate(here, dimension), self.coordinate(goal, dimension));
        let Dimension { length, wrap, .. } = self.dimensions[dimension];
        let stride = if wrap { 1 } else { self.dimensions[dimension].stride(from.abs_diff(to)) };
        let next = if upwards { (from + stride) % length } else { (from + length - stride) % length };
        let ahead = wrap && (if upwards { from > to } else { from < to });
        Step { router: self.moved(here, dimension, next), behind: !ahead }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RING: Dimension = Dimension { length: 6, wrap: true, gap: 0 };
    const EXPRESS: Dimension = Dimension { length: 8, wrap: false, gap: 3 };

    #[test]
    fn adaptive_routing_may_go_on_in_every_unfinished_dimension() {
        let grid = Grid::new(vec![RING, EXPRESS]);
        let next = |here, goal| {
            let mut next = Vec::new();
            grid.adaptively(here, goal, |router| next.push(router));
            next
        };
        // To coordinate 3 both ways round the ring; to 6 by the express link to 4 or the short one.
        assert_eq!(next(0, 3 + 6 * 6), [1, 5, 24, 6]);
        assert_eq!(next(3, 3 + 6 * 7), [3 + 42]);
    }
}
