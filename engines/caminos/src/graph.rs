//! Topology `Graph { filename: "..." }`: any graph of routers, with nodes and link classes, from a file.
//!
//! The file has one item a line: `graph 1`, `routers R`, `classes C`, `nodes N`, N lines `ROUTER`, `cables M`,
//! M lines `TAIL HEAD CLASS COUNT`. CAMINOS' server i is node i. Classes 0..C are those of the cables, class C is
//! that of the links between nodes and routers. COUNT parallel cables are as many ports. Cable i makes two
//! directed links: 2i from tail to head, 2i+1 from head to tail.
//!
//! Parts may follow, for routings that need them. `dimensions D` and D lines `LENGTH WRAP GAP` make it a grid (see
//! `grid.rs`): WRAP is 1 for a ring and 0 for a line, GAP is 0 where there are no express links, and the cables must
//! be those of such a grid. `levels R` and R lines `LEVEL` make it a tree. `groups R` and R lines `GROUP` say which routers
//! belong together. `node_hops`, `router_hops` and `paths` list routes (see `listed_routes.rs`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::{size_of, size_of_val};
use std::rc::Rc;

use caminos_lib::quantify::Quantifiable;
use caminos_lib::topology::cartesian::CartesianData;
use caminos_lib::topology::{Location, Topology, TopologyBuilderArgument};
use rand::rngs::StdRng;

use crate::configuration::Fields;
use crate::grid::{Dimension, Grid};
use crate::input::{BadFile, Lines};
use crate::layout::{EnteringLinks, Layout};
use crate::listed_routes::{HopTable, PathTable};
use crate::session::Session;

/// Build the topology from its file.
///
/// # Panics
/// With a `BadFile` if the file is not such a graph.
pub fn build(argument: TopologyBuilderArgument) -> Box<dyn Topology> {
    let filename = Fields::of(argument.cv, &["filename"]).text("filename");
    match Lines::open(filename).and_then(Graph::read) {
        Ok(graph) => {
            Session::of_builder().set_layout(graph.layout.clone());
            Box::new(graph)
        }
        Err(bad) => std::panic::panic_any(bad),
    }
}

struct Cable {
    tail: usize,
    head: usize,
    class: usize,
    count: usize,
}

#[derive(Debug)]
struct Graph {
    /// Neighbour and class of each port; a router's ports to routers come before its ports to nodes.
    ports: Vec<Vec<(Location, usize)>>,
    /// Number of ports to routers of each router.
    degree: Vec<usize>,
    /// Router and port of each node.
    node_port: Vec<(usize, usize)>,
    /// The class of the links to nodes.
    node_class: usize,
    layout: Rc<Layout>,
}

impl Graph {
    fn read(mut lines: Lines) -> Result<Graph, BadFile> {
        lines.format("graph")?;
        let routers = lines.header("routers")?;
        let classes = lines.header("classes")?;
        let nodes = lines.header("nodes")?;
        let mut node_router = Vec::new();
        for _ in 0..nodes {
            let [router] = lines.numbers("ROUTER")?;
            if router >= routers {
                return Err(lines.bad("there is no such router"));
            }
            node_router.push(router);
        }
        let mut cables = Vec::new();
        for _ in 0..lines.header("cables")? {
            let [tail, head, class, count] = lines.numbers("TAIL HEAD CLASS COUNT")?;
            if tail >= routers || head >= routers || tail == head {
                return Err(lines.bad("TAIL and HEAD must be two routers that exist"));
            }
            if class >= classes || count == 0 {
                return Err(lines.bad("CLASS must exist and COUNT be at least 1"));
            }
            cables.push(Cable { tail, head, class, count });
        }
        let mut layout = Layout::default();
        while let Some((word, count)) = lines.section()? {
            match (word.as_str(), count == routers) {
                ("dimensions", _) => layout.grid = Some(read_grid(&mut lines, count, routers)?),
                ("levels", true) => layout.level = Some(read_below(&mut lines, routers, "LEVEL")?),
                ("groups", true) => layout.group = Some(read_below(&mut lines, routers, "GROUP")?),
                ("node_hops", _) => {
                    layout.hops = Some(HopTable::read(&mut lines, count, true, nodes, routers, &tails(&cables))?)
                }
                ("router_hops", _) => {
                    layout.hops = Some(HopTable::read(&mut lines, count, false, routers, routers, &tails(&cables))?)
                }
                ("paths", _) => layout.paths = Some(PathTable::read(&mut lines, count, routers)?),
                _ => {
                    return Err(lines.bad(
                        "should be 'dimensions NUMBER', 'levels ROUTERS', 'groups ROUTERS', 'node_hops NUMBER', \
                         'router_hops NUMBER' or 'paths NUMBER'",
                    ))
                }
            }
        }
        let graph = Graph::wire(layout, routers, classes, &node_router, &cables);
        if graph.bfs(0, None).contains(&usize::MAX) {
            return Err(lines.bad_file("not every router can be reached from every other"));
        }
        graph.check_grid().map_err(|problem| lines.bad_file(&problem))?;
        Ok(graph)
    }

    fn wire(mut layout: Layout, routers: usize, node_class: usize, node_router: &[usize], cables: &[Cable]) -> Graph {
        let mut ports: Vec<Vec<(Location, usize)>> = vec![Vec::new(); routers];
        let mut entering: EnteringLinks = vec![Vec::new(); routers];
        for (row, cable) in cables.iter().enumerate() {
            for _ in 0..cable.count {
                let (tail_port, head_port) = (ports[cable.tail].len(), ports[cable.head].len());
                let to_head = Location::RouterPort { router_index: cable.head, router_port: head_port };
                let to_tail = Location::RouterPort { router_index: cable.tail, router_port: tail_port };
                ports[cable.tail].push((to_head, cable.class));
                ports[cable.head].push((to_tail, cable.class));
                entering[cable.tail].push(Some(2 * row + 1));
                entering[cable.head].push(Some(2 * row));
            }
        }
        let degree = ports.iter().map(Vec::len).collect();
        let mut node_port = Vec::new();
        for (node, &router) in node_router.iter().enumerate() {
            node_port.push((router, ports[router].len()));
            ports[router].push((Location::ServerPort(node), node_class));
            entering[router].push(None);
        }
        layout.entering = entering;
        Graph { ports, degree, node_port, node_class, layout: Rc::new(layout) }
    }

    /// Make sure that the cables are those of the grid, if there is one.
    fn check_grid(&self) -> Result<(), String> {
        if let Some(grid) = &self.layout.grid {
            for router in 0..self.ports.len() {
                let mut joined: Vec<usize> = self.exits(router).map(|(other, _)| other).collect();
                joined.sort_unstable();
                joined.dedup();
                if joined != grid.neighbours(router) {
                    return Err(format!("the cables of router {} are not those of the grid", router));
                }
            }
        }
        Ok(())
    }

    /// Router and class at the other end of each port to a router.
    fn exits(&self, router: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.ports[router].iter().filter_map(|(location, class)| match location {
            Location::RouterPort { router_index, .. } => Some((*router_index, *class)),
            _ => None,
        })
    }
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

/// The router that each directed link leaves.
fn tails(cables: &[Cable]) -> Vec<usize> {
    cables.iter().flat_map(|cable| [cable.tail, cable.head]).collect()
}

/// A number below `routers` for each router.
fn read_below(lines: &mut Lines, routers: usize, what: &str) -> Result<Vec<usize>, BadFile> {
    let mut numbers = Vec::new();
    for _ in 0..routers {
        let [number] = lines.numbers(what)?;
        if number >= routers {
            return Err(lines.bad(&format!("there cannot be so large a {what}")));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

impl Topology for Graph {
    fn num_routers(&self) -> usize {
        self.ports.len()
    }
    fn num_servers(&self) -> usize {
        self.node_port.len()
    }
    fn neighbour(&self, router_index: usize, port: usize) -> (Location, usize) {
        self.ports[router_index][port].clone()
    }
    fn server_neighbour(&self, server_index: usize) -> (Location, usize) {
        let (router_index, router_port) = self.node_port[server_index];
        (Location::RouterPort { router_index, router_port }, self.node_class)
    }
    fn diameter(&self) -> usize {
        unimplemented!("no routing of ours asks for the diameter of a Graph")
    }
    fn distance(&self, _origin: usize, _destination: usize) -> usize {
        unimplemented!("no routing of ours asks a Graph for distances")
    }
    fn amount_shortest_paths(&self, _origin: usize, _destination: usize) -> usize {
        unimplemented!("a Graph does not count its shortest paths")
    }
    fn average_amount_shortest_paths(&self) -> f32 {
        unimplemented!("a Graph does not count its shortest paths")
    }
    fn maximum_degree(&self) -> usize {
        self.degree.iter().copied().max().unwrap_or(0)
    }
    fn minimum_degree(&self) -> usize {
        self.degree.iter().copied().min().unwrap_or(0)
    }
    fn degree(&self, router_index: usize) -> usize {
        self.degree[router_index]
    }
    fn ports(&self, router_index: usize) -> usize {
        self.ports[router_index].len()
    }
    fn cartesian_data(&self) -> Option<&CartesianData> {
        None
    }
    fn coordinated_routing_record(&self, _a: &[usize], _b: &[usize], _rng: Option<&mut StdRng>) -> Vec<i32> {
        unimplemented!("a Graph has no coordinates")
    }
    fn up_down_distance(&self, _origin: usize, _destination: usize) -> Option<(usize, usize)> {
        None
    }
    /// Dijkstra's algorithm: CAMINOS' own search is right only if all paths to a router weigh the same.
    fn bfs(&self, origin: usize, class_weight: Option<&[usize]>) -> Vec<usize> {
        let mut weights = vec![usize::MAX; self.ports.len()];
        weights[origin] = 0;
        let mut queue = BinaryHeap::from(vec![Reverse((0, origin))]);
        while let Some(Reverse((weight, router))) = queue.pop() {
            if weight > weights[router] {
                continue;
            }
            for (neighbour, class) in self.exits(router) {
                let next = weight + class_weight.map_or(1, |of| of[class]);
                if next < weights[neighbour] {
                    weights[neighbour] = next;
                    queue.push(Reverse((next, neighbour)));
                }
            }
        }
        weights
    }
}

impl Quantifiable for Graph {
    fn total_memory(&self) -> usize {
        let ports: usize = self.ports.iter().map(|ports| size_of_val(&ports[..])).sum();
        size_of::<Graph>() + ports + size_of_val(&self.node_port[..])
    }
    fn print_memory_breakdown(&self) {
        println!("graph: {} bytes", self.total_memory());
    }
    fn forecast_total_memory(&self) -> usize {
        self.total_memory()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The topology that a machine file describes.
    pub fn graph(text: &'static str) -> impl Topology {
        Graph::read(Lines::of_text(text)).expect("a graph")
    }

    fn problem(text: &'static str) -> String {
        Graph::read(Lines::of_text(text)).expect_err("no graph").0
    }

    /// Two routers joined by two parallel cables, with a node on the first and two on the second.
    const PAIR: &str = "graph 1\nrouters 2\nclasses 1\nnodes 3\n0\n1\n1\ncables 1\n0 1 0 2\n";

    #[test]
    fn parallel_cables_are_as_many_ports_and_come_before_nodes() {
        let graph = graph(PAIR);
        assert_eq!((graph.ports(0), graph.ports(1), graph.degree(1)), (3, 4, 2));
        let ends: Vec<_> = (0..4).map(|port| graph.neighbour(1, port)).collect();
        assert!(matches!(ends[1], (Location::RouterPort { router_index: 0, router_port: 1 }, 0)));
        assert!(matches!(ends[2], (Location::ServerPort(1), 1)));
        assert!(matches!(graph.server_neighbour(2), (Location::RouterPort { router_index: 1, router_port: 3 }, 1)));
    }

    #[test]
    fn bad_lines_are_named() {
        assert_eq!(problem("graph 2\n"), "text:1: has a version other than 1");
        assert_eq!(problem("graph 1\nrouters 1\nclasses 1\nnodes 1\n1\n"), "text:5: there is no such router");
        assert!(problem("graph 1\nrouters 2\nclasses 1\nnodes 0\ncables 0\n").starts_with("text: not every router"));
    }

    #[test]
    fn cables_must_be_those_of_the_grid() {
        let line = "graph 1\nrouters 3\nclasses 1\nnodes 0\ncables 2\n0 1 0 1\n1 2 0 1\ndimensions 1\n3 1 0\n";
        assert!(problem(line).contains("not those of the grid"));
    }
}
