//! Topology `Graph { filename: "...", classes: 2 }`: the machine of a file, with so many classes of cables (see the
//! library's `graph.rs`). CAMINOS' server i is node i; parallel cables are as many ports.

use std::cell::RefCell;
use std::rc::Rc;

use caminos_lib::topology::cartesian::CartesianData;
use caminos_lib::topology::{Location, Topology, TopologyBuilderArgument};
use library::graph::{Exit, Graph};

use crate::configuration::Fields;
use crate::session::{without_memory, Session};

/// Build the topology from its file.
///
/// # Panics
/// With a `BadFile` if the file is not such a graph.
pub fn build(argument: TopologyBuilderArgument) -> Box<dyn Topology> {
    let fields = Fields::of(argument.cv, &["filename", "classes"]);
    let machine = Rc::new(Machine::of(fields.file(|lines| Graph::read(lines, fields.count("classes")))));
    *Session::of_builder().machine.borrow_mut() = Some(machine.clone());
    let hops = RefCell::new(vec![None; machine.graph.routers()]);
    Box::new(Wiring { machine, hops })
}

#[derive(Debug)]
pub struct Machine {
    pub graph: Graph,
    /// Neighbour and class of each port; a router's ports to routers come before its ports to nodes.
    ports: Vec<Vec<(Location, usize)>>,
    /// The link that leaves by each port to a router.
    link: Vec<Vec<usize>>,
    first_port: Vec<usize>,
    /// Port of its router to each node.
    pub node_port: Vec<usize>,
}

impl Machine {
    pub fn of(graph: Graph) -> Machine {
        let mut first_port = vec![0; graph.links];
        let mut link = Vec::new();
        for exits in &graph.exits {
            let mut of_router = Vec::new();
            for exit in exits {
                first_port[exit.link as usize] = of_router.len();
                of_router.resize(of_router.len() + exit.cables as usize, exit.link as usize);
            }
            link.push(of_router);
        }
        // The links of a cable are 2i and 2i + 1.
        let port = |exit: &Exit, cable: u32| Location::RouterPort {
            router_index: exit.router as usize,
            router_port: first_port[exit.link as usize ^ 1] + cable as usize,
        };
        let of_router = |exits: &Vec<Exit>| {
            let cables = exits.iter().flat_map(|exit| (0..exit.cables).map(move |cable| (exit, cable)));
            cables.map(|(exit, cable)| (port(exit, cable), exit.class as usize)).collect()
        };
        let mut ports: Vec<Vec<_>> = graph.exits.iter().map(of_router).collect();
        let mut node_port = Vec::new();
        for (node, &router) in graph.node_router.iter().enumerate() {
            node_port.push(ports[router].len());
            ports[router].push((Location::ServerPort(node), graph.classes));
        }
        Machine { graph, ports, link, first_port, node_port }
    }

    pub fn ports_of(&self, exit: &Exit) -> std::ops::Range<usize> {
        let first = self.first_port[exit.link as usize];
        first..first + exit.cables as usize
    }

    /// Return the router behind a port; none if that is a node.
    pub fn behind(&self, router: usize, port: usize) -> Option<usize> {
        match self.ports[router][port].0 {
            Location::RouterPort { router_index, .. } => Some(router_index),
            _ => None,
        }
    }

    /// Return the link that enters a router by a port; none if that is of a node.
    pub fn entering(&self, router: usize, port: usize) -> Option<usize> {
        self.link[router].get(port).map(|link| link ^ 1)
    }
}

#[derive(Debug)]
struct Wiring {
    machine: Rc<Machine>,
    /// Hops from all routers to each goal that a policy has asked for.
    hops: RefCell<Vec<Option<Box<[u32]>>>>,
}

impl Wiring {
    fn degrees(&self) -> impl Iterator<Item = usize> + '_ {
        self.machine.link.iter().map(Vec::len)
    }
}

impl Topology for Wiring {
    fn num_routers(&self) -> usize {
        self.machine.ports.len()
    }
    fn num_servers(&self) -> usize {
        self.machine.node_port.len()
    }
    fn neighbour(&self, router_index: usize, port: usize) -> (Location, usize) {
        self.machine.ports[router_index][port].clone()
    }
    fn server_neighbour(&self, server_index: usize) -> (Location, usize) {
        let (router_index, router_port) =
            (self.machine.graph.node_router[server_index], self.machine.node_port[server_index]);
        (Location::RouterPort { router_index, router_port }, self.machine.graph.classes)
    }
    fn distance(&self, origin: usize, destination: usize) -> usize {
        let graph = &self.machine.graph;
        let mut hops = self.hops.borrow_mut();
        let row = hops[destination].get_or_insert_with(|| graph.weights_to(&[destination], &vec![1; graph.classes]));
        row[origin] as usize
    }
    fn diameter(&self) -> usize {
        unimplemented!("nothing that a configuration of ours names asks for the diameter")
    }
    fn amount_shortest_paths(&self, _origin: usize, _destination: usize) -> usize {
        unimplemented!("a Graph does not count its shortest paths")
    }
    fn average_amount_shortest_paths(&self) -> f32 {
        unimplemented!("a Graph does not count its shortest paths")
    }
    fn maximum_degree(&self) -> usize {
        self.degrees().max().unwrap_or(0)
    }
    fn minimum_degree(&self) -> usize {
        self.degrees().min().unwrap_or(0)
    }
    fn degree(&self, router_index: usize) -> usize {
        self.machine.link[router_index].len()
    }
    fn ports(&self, router_index: usize) -> usize {
        self.machine.ports[router_index].len()
    }
    fn cartesian_data(&self) -> Option<&CartesianData> {
        None
    }
    fn up_down_distance(&self, _origin: usize, _destination: usize) -> Option<(usize, usize)> {
        None
    }
}

without_memory!(Wiring);
