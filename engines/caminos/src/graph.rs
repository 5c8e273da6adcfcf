//! Topology `Graph { filename: "..." }`: any graph of routers, with nodes and link classes, from a file.
//!
//! The file has one item a line: `graph 1`, `routers R`, `classes C`, `nodes N`, N lines `ROUTER`, `cables M`,
//! M lines `TAIL HEAD CLASS COUNT`. CAMINOS' server i is node i. Classes 0..C are those of the cables, class C is
//! that of the links between nodes and routers. COUNT parallel cables are as many ports. Cable i makes two
//! directed links: 2i from tail to head, 2i+1 from head to tail.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem::{size_of, size_of_val};
use std::rc::Rc;

use caminos_lib::quantify::Quantifiable;
use caminos_lib::topology::cartesian::CartesianData;
use caminos_lib::topology::{Location, Topology, TopologyBuilderArgument};
use rand::rngs::StdRng;

use crate::input::{BadFile, Lines};

/// For each port of each router, the directed link that enters the router there; none at ports to nodes.
pub type EnteringLinks = Vec<Vec<Option<usize>>>;

thread_local! {
    /// The links of the topology built last: CAMINOS keeps the topology behind a trait that has no place for them.
    static ENTERING: RefCell<Rc<EnteringLinks>> = RefCell::default();
}

/// The links of the topology built last.
pub fn entering_links() -> Rc<EnteringLinks> {
    ENTERING.with(|entering| entering.borrow().clone())
}

/// Build the topology from its file.
///
/// # Panics
/// With a `BadFile` if the file is not such a graph.
pub fn build(argument: TopologyBuilderArgument) -> Box<dyn Topology> {
    match Graph::read(&crate::filename(argument.cv, "Graph")) {
        Ok((graph, entering)) => {
            ENTERING.with(|place| *place.borrow_mut() = Rc::new(entering));
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
    /// Hops between routers, row by row.
    hops: Vec<u16>,
}

impl Graph {
    fn read(name: &str) -> Result<(Graph, EnteringLinks), BadFile> {
        let mut lines = Lines::open(name)?;
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
        lines.end()?;
        let (mut graph, entering) = Graph::wire(routers, classes, &node_router, &cables);
        graph.hops = graph.all_hops();
        if graph.hops.contains(&u16::MAX) {
            return Err(BadFile(format!("{}: not every router can be reached from every other", name)));
        }
        Ok((graph, entering))
    }

    fn wire(routers: usize, node_class: usize, node_router: &[usize], cables: &[Cable]) -> (Graph, EnteringLinks) {
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
        (Graph { ports, degree, node_port, node_class, hops: Vec::new() }, entering)
    }

    /// Router and class at the other end of each port to a router.
    fn exits(&self, router: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.ports[router].iter().filter_map(|(location, class)| match location {
            Location::RouterPort { router_index, .. } => Some((*router_index, *class)),
            _ => None,
        })
    }

    fn all_hops(&self) -> Vec<u16> {
        let mut hops = Vec::with_capacity(self.ports.len() * self.ports.len());
        for origin in 0..self.ports.len() {
            let mut row = vec![u16::MAX; self.ports.len()];
            row[origin] = 0;
            let mut queue = VecDeque::from(vec![origin]);
            while let Some(router) = queue.pop_front() {
                for (neighbour, _) in self.exits(router) {
                    if row[neighbour] == u16::MAX {
                        row[neighbour] = row[router] + 1;
                        queue.push_back(neighbour);
                    }
                }
            }
            hops.extend(row);
        }
        hops
    }
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
        self.hops.iter().copied().max().unwrap_or(0).into()
    }
    fn distance(&self, origin: usize, destination: usize) -> usize {
        self.hops[origin * self.ports.len() + destination].into()
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
        size_of::<Graph>() + ports + size_of_val(&self.hops[..]) + size_of_val(&self.node_port[..])
    }
    fn print_memory_breakdown(&self) {
        println!("graph: {} bytes", self.total_memory());
    }
    fn forecast_total_memory(&self) -> usize {
        self.total_memory()
    }
}
