//! Lightest paths: which links begin one.

use caminos_lib::topology::Topology;

/// Weights of the lightest paths to the routers that packets go to.
#[derive(Debug, Default)]
pub struct Lightest {
    /// Row of each of these routers.
    row: Vec<usize>,
    routers: usize,
    /// Row by row; links weigh the same in both directions.
    weight: Vec<u16>,
}

impl Lightest {
    /// Search from all `goals`.
    ///
    /// # Panics
    /// If a path is too heavy.
    pub fn to(goals: &[usize], topology: &dyn Topology, class_weight: &[usize]) -> Lightest {
        let routers = topology.num_routers();
        let mut row = vec![usize::MAX; routers];
        let mut weight = Vec::with_capacity(goals.len() * routers);
        for (index, &goal) in goals.iter().enumerate() {
            row[goal] = index;
            for heavy in topology.bfs(goal, Some(class_weight)) {
                assert!(heavy <= u16::MAX.into(), "class_weight of Routes makes paths that weigh more than 65535");
                weight.push(heavy as u16);
            }
        }
        Lightest { row, routers, weight }
    }

    /// Weight of the lightest path from any router to one of the goals.
    pub fn weight(&self, from: usize, goal: usize) -> usize {
        self.weight[self.row[goal] * self.routers + from].into()
    }
}
