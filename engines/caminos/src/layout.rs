//! What a `Topology` of CAMINOS has no place for: which link enters a router where, and coordinates, levels, groups and
//! tables of next hops.

use crate::grid::Grid;

/// For each port of each router, the directed link that enters the router there; none at ports to nodes.
pub type EnteringLinks = Vec<Vec<Option<usize>>>;

/// What a `Topology` of CAMINOS has no place for.
#[derive(Debug, Default)]
pub struct Layout {
    pub entering: EnteringLinks,
    pub grid: Option<Grid>,
    /// Level of each router of a tree.
    pub level: Option<Vec<usize>>,
    pub group: Option<Vec<usize>>,
    pub table: Option<Table>,
}

/// The next hop of each router for each node.
#[derive(Debug, Default)]
pub struct Table {
    /// The directed links of each way; packets take any of them.
    pub links_of_way: Vec<Vec<usize>>,
    /// For each router and then each node the way, if there is one.
    pub way: Vec<Option<u32>>,
    pub nodes: usize,
}

impl Layout {
    /// Number of directed links between routers.
    pub fn links(&self) -> usize {
        self.entering.iter().flatten().flatten().max().map_or(0, |last| last + 1)
    }
}
