//! The machine: routers, directed links with their capacities, nodes; see the CAMINOS front end's `graph.rs` for the file.
//!
//! Cable row i makes links 2i from tail to head and 2i+1 from head to tail, each with all its parallel cables. After
//! them come, for each node, the link to its router, and then, for each node, the one from its router.

use crate::grid::{Dimension, Grid};
use crate::input::{BadFile, Lines};
use crate::listed_routes::{HopTable, PathTable};
use crate::settings::Settings;

/// A link to another router.
#[derive(Debug, Clone, Copy)]
pub struct Exit {
    pub router: u32,
    pub link: u32,
    pub class: u32,
    pub cables: f64,
}

#[derive(Debug)]
pub struct Graph {
    /// Links that leave each router, sorted by the router that they lead to.
    pub exits: Vec<Vec<Exit>>,
    pub node_router: Vec<usize>,
    /// Bytes a second of each link.
    pub capacity: Vec<f64>,
    pub class: Vec<u32>,
    /// Links between routers.
    pub cable_links: usize,
    pub grid: Option<Grid>,
    pub level: Option<Vec<usize>>,
    pub group: Option<Vec<usize>>,
    pub hops: Option<HopTable>,
    pub paths: Option<PathTable>,
}

impl Graph {
    pub fn read(mut lines: Lines, settings: &Settings) -> Result<Graph, BadFile> {
        lines.format("graph")?;
        let routers = lines.header("routers")?;
        let classes = lines.header("classes")?;
        if classes != settings.class_weight.len() {
            return Err(lines.bad("the settings have another number of classes"));
        }
        let mut node_router = Vec::new();
        for _ in 0..lines.header("nodes")? {
            node_router.push(below(&mut lines, routers, "ROUTER")?);
        }
        let mut graph = Graph {
            exits: vec![Vec::new(); routers],
            node_router,
            capacity: Vec::new(),
            class: Vec::new(),
            cable_links: 0,
            grid: None,
            level: None,
            group: None,
            hops: None,
            paths: None,
        };
        let mut tails = Vec::new();
        for _ in 0..lines.header("cables")? {
            let [tail, head, class, count] = lines.numbers("TAIL HEAD CLASS COUNT")?;
            if tail >= routers || head >= routers || tail == head {
                return Err(lines.bad("TAIL and HEAD must be two routers that exist"));
            }
            if class >= classes || count == 0 {
                return Err(lines.bad("CLASS must exist and COUNT be at least 1"));
            }
            graph.add_cable(tail, head, class, count as f64, settings);
            tails.extend([tail, head]);
        }
        graph.cable_links = graph.capacity.len();
        let hosts = 2 * graph.node_router.len();
        graph.capacity.extend(std::iter::repeat(settings.bandwidth[classes]).take(hosts));
        graph.class.extend(std::iter::repeat(classes as u32).take(hosts));
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
                _ => {
                    return Err(lines.bad(
                        "should be 'dimensions NUMBER', 'levels ROUTERS', 'groups ROUTERS', 'node_hops NUMBER', \
                         'router_hops NUMBER' or 'paths NUMBER'",
                    ))
                }
            }
        }
        graph.check_grid().map_err(|problem| lines.bad_file(&problem))?;
        Ok(graph)
    }

    /// Make sure that the cables are those of the grid, if there is one.
    fn check_grid(&self) -> Result<(), String> {
        for (router, exits) in self.exits.iter().enumerate() {
            let mut joined: Vec<usize> = exits.iter().map(|exit| exit.router as usize).collect();
            joined.dedup();
            if self.grid.as_ref().map_or(false, |grid| grid.neighbours(router) != joined) {
                return Err(format!("the cables of router {router} are not those of the grid"));
            }
        }
        Ok(())
    }

    fn add_cable(&mut self, tail: usize, head: usize, class: usize, cables: f64, settings: &Settings) {
        for (from, to) in [(tail, head), (head, tail)] {
            let link = self.capacity.len() as u32;
            self.exits[from].push(Exit { router: to as u32, link, class: class as u32, cables });
            self.capacity.push(cables * settings.bandwidth[class]);
            self.class.push(class as u32);
        }
    }

    pub fn routers(&self) -> usize {
        self.exits.len()
    }

    pub fn injection(&self, node: usize) -> u32 {
        (self.cable_links + node) as u32
    }

    pub fn ejection(&self, node: usize) -> u32 {
        (self.cable_links + self.node_router.len() + node) as u32
    }

    /// The links to a neighbour.
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
