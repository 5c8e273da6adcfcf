//! Weights of the lightest paths between routers.

use caminos_lib::topology::Topology;

/// Weights of the lightest paths to the routers that packets go to.
#[derive(Debug, Default)]
pub struct ShortestPaths {
    /// Row of each of these routers.
    row: Vec<usize>,
    routers: usize,
    /// Row by row; links weigh the same in both directions.
    weight: Vec<u16>,
}

impl ShortestPaths {
    /// Search from all `goals`.
    ///
    /// # Panics
    /// If a path is too heavy.
    pub fn to(goals: &[usize], topology: &dyn Topology, class_weight: &[usize]) -> ShortestPaths {
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
        ShortestPaths { row, routers, weight }
    }

    /// The router of some that is nearest to `from`; the first one of several.
    pub fn nearest(&self, from: usize, some: &[usize]) -> usize {
        *some.iter().min_by_key(|&&goal| self.weight(from, goal)).expect("there is one")
    }

    /// Weight of the lightest path from any router to one of the goals.
    pub fn weight(&self, from: usize, goal: usize) -> usize {
        self.weight[self.row[goal] * self.routers + from].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests::graph;

    /// A ring of five routers; the link between 0 and 4 is of class 1.
    const RING: &str =
        "graph 1\nrouters 5\nclasses 2\nnodes 2\n0\n3\ncables 5\n0 1 0 1\n1 2 0 1\n2 3 0 1\n3 4 0 1\n4 0 1 1\n";

    #[test]
    fn weights_are_those_of_the_lightest_path() {
        let paths = ShortestPaths::to(&[0, 3], &graph(RING), &[1, 100, 1]);
        let to = |goal| (0..5).map(|from| paths.weight(from, goal)).collect::<Vec<_>>();
        assert_eq!(to(0), [0, 1, 2, 3, 4]);
        assert_eq!(to(3), [3, 2, 1, 0, 1]);
    }

    #[test]
    fn equal_weights_count_hops() {
        let paths = ShortestPaths::to(&[0], &graph(RING), &[1, 1, 1]);
        assert_eq!((0..5).map(|from| paths.weight(from, 0)).collect::<Vec<_>>(), [0, 1, 2, 2, 1]);
    }

    #[test]
    fn the_nearest_of_some_routers_is_the_first_of_the_lightest() {
        let paths = ShortestPaths::to(&[0, 2, 3], &graph(RING), &[1, 100, 1]);
        assert_eq!((0..5).map(|from| paths.nearest(from, &[0, 2])).collect::<Vec<_>>(), [0, 0, 2, 2, 2]);
    }

    #[test]
    #[should_panic(expected = "65535")]
    fn paths_that_are_too_heavy_are_refused() {
        ShortestPaths::to(&[0], &graph(RING), &[30_000, 65_000, 1]);
    }
}
