//! What a `Topology` of CAMINOS has no place for: which link enters a router where, and coordinates, levels, groups and
//! lists of routes.

use crate::grid::Grid;
use crate::listed_routes::{HopTable, PathTable};

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
    pub hops: Option<HopTable>,
    pub paths: Option<PathTable>,
}

impl Layout {
    /// Number of directed links between routers.
    pub fn links(&self) -> usize {
        self.entering.iter().flatten().flatten().max().map_or(0, |last| last + 1)
    }
}
