//! What the routing has to know of the machine, found once.

use caminos_lib::topology::{Location, Topology};

use super::{Distances, Exit, Kind, Routes, Via};
use crate::input::BadFile;
use crate::shortest_paths::ShortestPaths;
use crate::tree::Tree;

impl Routes {
    pub fn find_exits(&mut self, topology: &dyn Topology) {
        self.node_port = vec![0; topology.num_servers()];
        for router in 0..topology.num_routers() {
            let mut exits = Vec::new();
            for port in 0..topology.ports(router) {
                match topology.neighbour(router, port) {
                    (Location::RouterPort { router_index, .. }, class) => {
                        let weight = self.class_weight.get(class).expect("Routes needs a class_weight for each class");
                        exits.push(Exit { router: router_index, port, weight: *weight });
                    }
                    (Location::ServerPort(node), _) => self.node_port[node] = port,
                    (Location::None, _) => (),
                }
            }
            if exits.len() < topology.ports(router) {
                self.routers_with_nodes.push(router);
            }
            exits.sort_by_key(|exit| exit.router);
            self.exits.push(exits);
        }
    }

    pub fn find_groups(&mut self) {
        if let Some(group) = &self.layout.group {
            self.group_routers = vec![Vec::new(); group.iter().max().map_or(0, |last| last + 1)];
            for (router, &group) in group.iter().enumerate() {
                self.group_routers[group].push(router);
            }
            self.groups_with_nodes = self.routers_with_nodes.iter().map(|&router| group[router]).collect();
            self.groups_with_nodes.sort_unstable();
            self.groups_with_nodes.dedup();
        }
    }

    pub fn find_distances(&self, topology: &dyn Topology) -> Distances {
        let fixed = match self.kind {
            Kind::DimensionOrder | Kind::DModK | Kind::Table | Kind::TableByHops | Kind::Paths => true,
            Kind::Adaptive => self.layout.grid.is_some(),
            Kind::Minimal | Kind::Valiant | Kind::Ugal => false,
        };
        if fixed {
            Distances::Unused
        } else if self.via == Via::Router
            && self.layout.grid.is_some()
            && self.class_weight.iter().all(|&weight| weight == 1)
        {
            Distances::Grid
        } else {
            let all: Vec<usize> = (0..topology.num_routers()).collect();
            let goals = if self.via == Via::Group { &all } else { &self.routers_with_nodes };
            Distances::Searched(ShortestPaths::to(goals, topology, &self.class_weight))
        }
    }

    pub fn find_tree(&self) -> Result<Tree, BadFile> {
        let level = self.layout.level.clone().ok_or_else(|| BadFile("d-mod-k needs the levels of a tree".into()))?;
        let neighbours = |exits: &Vec<Exit>| {
            let mut routers: Vec<usize> = exits.iter().map(|exit| exit.router).collect();
            routers.dedup();
            routers
        };
        let neighbours: Vec<Vec<usize>> = self.exits.iter().map(neighbours).collect();
        Tree::new(level, &neighbours, &self.routers_with_nodes)
    }

    /// Make sure that the machine and the channels are such as the kind needs.
    pub fn check(&self) {
        let grid = self.layout.grid.as_ref();
        let least = match (self.kind, grid) {
            (Kind::DimensionOrder, None) => panic!("dimension-order needs the dimensions of a grid"),
            (Kind::DimensionOrder, Some(grid)) if grid.has_rings() => 2,
            (Kind::Adaptive, Some(grid)) if !grid.has_rings() => 2,
            _ => 1,
        };
        assert!(self.via == Via::Router || self.layout.group.is_some(), "via group needs the groups of the routers");
        let least = least.max(self.hop_classes);
        assert!(self.channels >= least, "channels of Routes is at least {} here", least);
    }
}
