//! Routes that the machine's file lists, of routings that are not implemented here: next hops, or paths.
//!
//! `node_hops H` or `router_hops H`, and H lines `ROUTER GOAL LINK CHANNEL WEIGHT`, list the directed links by which packets
//! at a router continue to a goal, which is a node or a router; lines of the same ROUTER and GOAL follow each other. CHANNEL is
//! a class of virtual channels. Where all weights are 0, a packet may take any of the links, else it draws one by weight.
//!
//! `paths P`, P lines `SOURCE GOAL WEIGHT HOPS`, `path_routers N` and N lines `ROUTER` list paths between routers: those of
//! the same SOURCE and GOAL follow each other, and each has HOPS routers after SOURCE, up to GOAL.

use std::collections::HashMap;
use std::ops::Range;

use crate::input::{BadFile, Lines};

/// A next hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListedHop {
    pub link: usize,
    pub class: usize,
    pub weight: usize,
}

#[derive(Debug)]
pub struct HopTable {
    pub by_node: bool,
    goals: usize,
    /// Equal lists are kept once.
    ways: Vec<Vec<ListedHop>>,
    /// For each router and then each goal the index of its list plus 1; 0 if there is none.
    list: Vec<u32>,
}

impl HopTable {
    /// Read `count` lines; `tail` has the router that each directed link leaves.
    pub fn read(
        lines: &mut Lines, count: usize, by_node: bool, goals: usize, routers: usize, tail: &[usize],
    ) -> Result<HopTable, BadFile> {
        let mut table = HopTable { by_node, goals, ways: Vec::new(), list: vec![0; routers * goals] };
        let mut known: HashMap<Vec<ListedHop>, u32> = HashMap::new();
        let mut way: Vec<ListedHop> = Vec::new();
        let mut last = None;
        for _ in 0..count {
            let [router, goal, link, class, weight] = lines.numbers("ROUTER GOAL LINK CHANNEL WEIGHT")?;
            if goal >= goals || tail.get(link) != Some(&router) {
                return Err(lines.bad("GOAL must exist, and LINK leave ROUTER"));
            }
            let entry = router * goals + goal;
            if last != Some(entry) {
                table.keep(last, &mut way, &mut known);
                if table.list[entry] > 0 {
                    return Err(lines.bad("lines of the same ROUTER and GOAL follow each other"));
                }
                last = Some(entry);
            }
            way.push(ListedHop { link, class, weight });
        }
        table.keep(last, &mut way, &mut known);
        Ok(table)
    }

    fn keep(&mut self, entry: Option<usize>, way: &mut Vec<ListedHop>, known: &mut HashMap<Vec<ListedHop>, u32>) {
        if let Some(entry) = entry {
            let way = std::mem::take(way);
            let ways = &mut self.ways;
            self.list[entry] = *known.entry(way).or_insert_with_key(|way| {
                ways.push(way.clone());
                ways.len() as u32
            });
        }
    }

    /// The links from a router to a node at a router `goal`.
    ///
    /// # Panics
    /// If the file lists none.
    pub fn hops(&self, router: usize, goal: usize, node: usize) -> &[ListedHop] {
        let goal = if self.by_node { node } else { goal };
        match self.list[router * self.goals + goal] {
            0 => panic!("no next hop is listed at router {router} for {goal}"),
            list => &self.ways[list as usize - 1],
        }
    }
}

/// Draw one of some hops by weight, with a number below the one given; none where all weights are 0.
pub fn drawn(hops: &[ListedHop], below: impl FnOnce(usize) -> usize) -> Option<usize> {
    let total = hops.iter().map(|hop| hop.weight).sum();
    let mut number = if total > 0 { below(total) } else { return None };
    hops.iter().position(|hop| {
        let is_drawn = number < hop.weight;
        number = number.saturating_sub(hop.weight);
        is_drawn
    })
}

#[derive(Debug, Default)]
pub struct PathTable {
    of_pair: HashMap<(u32, u32), Range<usize>>,
    /// Sum of the weights up to each path of its pair.
    weights: Vec<usize>,
    /// Where the routers of each path begin, and where those of the last one end.
    first: Vec<usize>,
    routers: Vec<u32>,
}

impl PathTable {
    pub fn read(lines: &mut Lines, count: usize, routers: usize) -> Result<PathTable, BadFile> {
        let mut table = PathTable { first: vec![0], ..PathTable::default() };
        for path in 0..count {
            let [source, goal, weight, hops] = lines.numbers("SOURCE GOAL WEIGHT HOPS")?;
            let pair = (source as u32, goal as u32);
            let range = table.of_pair.entry(pair).or_insert(path..path);
            if range.end != path || source >= routers || goal >= routers || hops == 0 {
                return Err(lines.bad("SOURCE and GOAL must exist, and lines of the same ones follow each other"));
            }
            let before = if range.start < path { table.weights[path - 1] } else { 0 };
            range.end = path + 1;
            table.weights.push(before + weight);
            table.first.push(table.first[path] + hops);
        }
        let listed = lines.header("path_routers")?;
        for _ in 0..listed {
            let [router] = lines.numbers("ROUTER")?;
            table.routers.push(router as u32);
        }
        let ends = |(&(_, goal), range): (&(u32, u32), &Range<usize>)| {
            range
                .clone()
                .all(|path| table.first[path + 1] <= listed && table.routers[table.first[path + 1] - 1] == goal)
                && range.clone().last().map_or(false, |last| table.weights[last] > 0)
        };
        if table.first[count] != listed || !table.of_pair.iter().all(ends) {
            return Err(lines.bad("each path must end at its GOAL, and one of each pair have a WEIGHT"));
        }
        Ok(table)
    }

    /// Draw a path between two routers by weight, with a number below the one given.
    ///
    /// # Panics
    /// If the file lists none.
    pub fn draw(&self, source: usize, goal: usize, below: impl FnOnce(usize) -> usize) -> usize {
        let paths = match self.of_pair.get(&(source as u32, goal as u32)) {
            Some(range) => range.clone(),
            None => panic!("no path is listed from router {} to {}", source, goal),
        };
        let drawn = below(self.weights[paths.end - 1]);
        paths.start + self.weights[paths].partition_point(|&up_to| up_to <= drawn)
    }

    /// The routers of a path after its source.
    pub fn routers(&self, path: usize) -> &[u32] {
        &self.routers[self.first[path]..self.first[path + 1]]
    }
}
