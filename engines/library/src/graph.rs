//! The machine: routers, directed links and nodes, from a file.
//!
//! The file has one item a line: `graph 1`, `routers R`, `classes C`, `nodes N`, N lines `ROUTER`, `cables M`, M lines
//! `TAIL HEAD CLASS COUNT`. Classes 0 to C-1 are those of the cables, class C is that of the links between nodes and
//! routers. Row i makes the links 2i from tail to head and 2i+1 from head to tail, each with COUNT parallel cables.
//!
//! Parts may follow, for routings that need them. `dimensions D` and D lines `LENGTH WRAP GAP` make it a grid (see
//! `grid.rs`): WRAP is 1 for a ring and 0 for a line, GAP is 0 where there are no express links, and the cables must be
//! those of such a grid. `levels R` and R lines `LEVEL` make it a tree. `groups R` and R lines `GROUP` assign routers to
//! groups. `node_hops`, `router_hops` and `paths` list routes (see `listed_routes.rs`). `pair_hash SEED` or
//! `message_hash SEED` seeds the hash by which flows select paths (see `flow_hash.rs`).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::flow_hash::FlowHash;
use crate::grid::{Dimension, Grid};
use crate::input::{BadFile, Lines};
use crate::listed_routes::{HopTable, PathTable};
use crate::settings::{Kind, Via};
use crate::tree::Tree;

/// A link to another router.
#[derive(Debug, Clone, Copy)]
pub struct Exit {
    pub router: u32,
    pub link: u32,
    pub class: u32,
    pub cables: u32,
}

#[derive(Debug, Default)]
pub struct Graph {
    /// Links that leave each router, sorted by the router that they lead to.
    pub exits: Vec<Vec<Exit>>,
    pub node_router: Vec<usize>,
    pub classes: usize,
    /// Links between routers.
    pub links: usize,
    pub grid: Option<Grid>,
    pub level: Option<Vec<usize>>,
    pub group: Option<Vec<usize>>,
    pub hops: Option<HopTable>,
    pub paths: Option<PathTable>,
    pub flow_hash: Option<FlowHash>,
}

impl Graph {
    /// Read the file of a machine with so many classes of cables.
    pub fn read(mut lines: Lines, classes: usize) -> Result<Graph, BadFile> {
        lines.format("graph")?;
        let routers = lines.header("routers")?;
        if lines.header("classes")? != classes {
            return Err(lines.bad("the settings have another number of classes"));
        }
        let mut node_router = Vec::new();
        for _ in 0..lines.header("nodes")? {
            node_router.push(below(&mut lines, routers, "ROUTER")?);
        }
        let mut graph = Graph { exits: vec![Vec::new(); routers], node_router, classes, ..Graph::default() };
        let mut tails = Vec::new();
        for _ in 0..lines.header("cables")? {
            let [tail, head, class, count] = lines.numbers("TAIL HEAD CLASS COUNT")?;
            if tail >= routers || head >= routers || tail == head {
                return Err(lines.bad("TAIL and HEAD must be two routers that exist"));
            }
            if class >= classes || count == 0 {
                return Err(lines.bad("CLASS must exist and COUNT be at least 1"));
            }
            for (from, to) in [(tail, head), (head, tail)] {
                let exit =
                    Exit { router: to as u32, link: graph.links as u32, class: class as u32, cables: count as u32 };
                graph.exits[from].push(exit);
                graph.links += 1;
            }
            tails.extend([tail, head]);
        }
        for exits in &mut graph.exits {
            exits.sort_by_key(|exit| exit.router);
        }
        while let Some((word, count)) = lines.section()? {
            match (word.as_str(), count == routers) {
                ("dimensions", _) => graph.grid = Some(read_grid(&mut lines, count, routers)?),
                ("levels", true) => graph.level = Some(read_below(&mut lines, routers, "LEVEL")?),
                ("groups", true) => graph.group = Some(read_below(&mut lines, routers, "GROUP")?),
                ("node_hops", _) => {
                    let nodes = graph.node_router.len();
                    graph.hops = Some(HopTable::read(&mut lines, count, true, nodes, routers, &tails)?)
                }
                ("router_hops", _) => {
                    graph.hops = Some(HopTable::read(&mut lines, count, false, routers, routers, &tails)?)
                }
                ("paths", _) => graph.paths = Some(PathTable::read(&mut lines, count, routers)?),
                ("pair_hash", _) => graph.flow_hash = Some(FlowHash::new(count as u64, false)),
                ("message_hash", _) => graph.flow_hash = Some(FlowHash::new(count as u64, true)),
                _ => {
                    return Err(lines.bad(
                        "should be 'dimensions NUMBER', 'levels ROUTERS', 'groups ROUTERS', 'node_hops NUMBER', \
                         'router_hops NUMBER', 'paths NUMBER', 'pair_hash SEED' or 'message_hash SEED'",
                    ))
                }
            }
        }
        if !graph.is_connected() {
            return Err(lines.bad_file("not every router can be reached from every other"));
        }
        if let Some(grid) = &graph.grid {
            if let Some(router) = (0..routers).find(|&router| grid.neighbours(router) != graph.neighbours(router)) {
                return Err(lines.bad_file(&format!("the cables of router {router} are not those of the grid")));
            }
        }
        Ok(graph)
    }

    /// Return the routers that a router is joined to, in order.
    fn neighbours(&self, router: usize) -> Vec<usize> {
        let mut routers: Vec<usize> = self.exits[router].iter().map(|exit| exit.router as usize).collect();
        routers.dedup();
        routers
    }

    fn is_connected(&self) -> bool {
        let mut reached = vec![false; self.exits.len()];
        let mut waiting = vec![0];
        while let Some(router) = waiting.pop() {
            if !std::mem::replace(&mut reached[router], true) {
                waiting.extend(self.exits[router].iter().map(|exit| exit.router as usize));
            }
        }
        reached.iter().all(|&is| is)
    }

    pub fn routers(&self) -> usize {
        self.exits.len()
    }

    pub fn groups(&self) -> usize {
        self.group.iter().flatten().max().map_or(0, |last| last + 1)
    }

    /// Return the grid, where `check_has` has seen one; so the tables and the hash.
    pub fn grid(&self) -> &Grid {
        self.grid.as_ref().expect("the machine is a grid")
    }

    pub fn hops(&self) -> &HopTable {
        self.hops.as_ref().expect("the machine's file lists next hops")
    }

    pub fn paths(&self) -> &PathTable {
        self.paths.as_ref().expect("the machine's file lists paths")
    }

    pub fn flow_hash(&self) -> FlowHash {
        self.flow_hash.expect("the machine's file has the seed of the hash")
    }

    /// Return the weights of the lightest paths between each router and the nearest of some; links weigh the same both ways.
    pub fn weights_to(&self, goals: &[usize], of_class: &[u32]) -> Box<[u32]> {
        let mut weights = vec![u32::MAX; self.routers()].into_boxed_slice();
        let mut queue = BinaryHeap::new();
        for &goal in goals {
            weights[goal] = 0;
            queue.push((Reverse(0), goal));
        }
        while let Some((Reverse(weight), router)) = queue.pop() {
            if weight > weights[router] {
                continue;
            }
            for exit in &self.exits[router] {
                let next = weight + of_class[exit.class as usize];
                if next < weights[exit.router as usize] {
                    weights[exit.router as usize] = next;
                    queue.push((Reverse(next), exit.router as usize));
                }
            }
        }
        weights
    }

    /// Return the links with which the lightest paths begin, given the weights of those from each router.
    pub fn lightest<'a>(
        &'a self, here: usize, of_class: &'a [u32], weights: &'a [u32],
    ) -> impl Iterator<Item = &'a Exit> + 'a {
        let after = move |exit: &Exit| weights[exit.router as usize] + of_class[exit.class as usize];
        self.exits[here].iter().filter(move |exit| after(exit) == weights[here])
    }

    /// Return the links with which the shortest paths in a grid begin.
    pub fn shortest_in_grid(&self, here: usize, goal: usize) -> impl Iterator<Item = &Exit> + '_ {
        let left = self.grid().distance(here, goal);
        self.exits[here].iter().filter(move |exit| self.grid().distance(exit.router as usize, goal) + 1 == left)
    }

    /// Return the most hops of a lightest path from each router to a goal, given the weights of these paths.
    pub fn most_hops(&self, weights: &[u32], of_class: &[u32]) -> Box<[u16]> {
        let mut nearest_first: Vec<usize> = (0..weights.len()).collect();
        nearest_first.sort_unstable_by_key(|&router| weights[router]);
        let mut hops = vec![0; weights.len()].into_boxed_slice();
        for &router in &nearest_first[1..] {
            let begins = self.lightest(router, of_class, weights);
            let behind = begins.map(|exit| 1 + hops[exit.router as usize]);
            hops[router] = behind.max().expect("a lightest path begins somewhere");
        }
        hops
    }

    /// Make sure that the file has what a routing needs, and the dimensions of a grid if its channels need that.
    pub fn check_has(&self, kind: Kind, via: Via, grid: bool) -> Result<(), BadFile> {
        let (is_missing, what) = match kind {
            Kind::DimensionOrder => (self.grid.is_none(), "the dimensions of a grid"),
            Kind::Table | Kind::AdaptiveTable => (self.hops.is_none(), "a list of next hops"),
            Kind::Paths => (self.paths.is_none(), "a list of paths"),
            Kind::Ecmp => (self.flow_hash.is_none(), "the seed of the flow hash"),
            _ if grid => (self.grid.is_none(), "the dimensions of a grid"),
            _ => (via == Via::Group && self.group.is_none(), "the groups of the routers"),
        };
        match is_missing {
            true => Err(BadFile(format!("this routing needs {what} in the machine's file"))),
            false => Ok(()),
        }
    }

    /// Return whether a router is in the group of the first one of a packet, and its goal is not.
    pub fn is_in_first_group(&self, first: usize, here: usize, goal: usize) -> bool {
        self.group.as_ref().map_or(false, |group| group[first] == group[here] && group[here] != group[goal])
    }

    /// Return the ways of D-mod-K.
    pub fn tree(&self) -> Result<Tree, BadFile> {
        let level = self.level.clone().ok_or_else(|| BadFile("d-mod-k needs the levels of a tree".into()))?;
        let neighbours: Vec<Vec<usize>> = (0..self.routers()).map(|router| self.neighbours(router)).collect();
        let with_nodes = BTreeSet::from_iter(self.node_router.iter().copied());
        Tree::new(level, &neighbours, &with_nodes.into_iter().collect::<Vec<_>>())
    }

    pub fn to(&self, here: usize, neighbour: usize) -> &[Exit] {
        let exits = &self.exits[here];
        let first = exits.partition_point(|exit| (exit.router as usize) < neighbour);
        let end = exits.partition_point(|exit| exit.router as usize <= neighbour);
        &exits[first..end]
    }
}

fn below(lines: &mut Lines, end: usize, what: &str) -> Result<usize, BadFile> {
    let [number] = lines.numbers(what)?;
    if number >= end {
        return Err(lines.bad(&format!("there is no such {what}")));
    }
    Ok(number)
}

fn read_below(lines: &mut Lines, routers: usize, what: &str) -> Result<Vec<usize>, BadFile> {
    (0..routers).map(|_| below(lines, routers, what)).collect()
}

fn read_grid(lines: &mut Lines, dimensions: usize, routers: usize) -> Result<Grid, BadFile> {
    let mut read = Vec::new();
    for _ in 0..dimensions {
        let [length, wrap, gap] = lines.numbers("LENGTH WRAP GAP")?;
        if length == 0 || length > routers || wrap > 1 || wrap == 1 && gap > 0 {
            return Err(lines.bad("LENGTH must be at least 1, WRAP 0 or 1, and GAP 0 in a ring"));
        }
        read.push(Dimension { length, wrap: wrap == 1, gap });
    }
    let fits = read.iter().try_fold(1, |product: usize, dimension| product.checked_mul(dimension.length));
    if fits != Some(routers) || dimensions > 32 {
        return Err(lines.bad("the dimensions must make the number of routers, and be 32 at most"));
    }
    Ok(Grid::new(read))
}
