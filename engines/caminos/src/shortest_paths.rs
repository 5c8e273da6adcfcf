//! Weights of the lightest paths between routers, and their hops.

use caminos_lib::topology::{Location, Topology};

/// Weights of the lightest paths to the routers that packets go to.
#[derive(Debug, Default)]
pub struct ShortestPaths {
    /// Row of each of these routers.
    row: Vec<usize>,
    routers: usize,
    /// Row by row; links weigh the same in both directions.
    weight: Vec<u16>,
    /// Most hops of a path of that weight, likewise; empty where each link weighs 1.
    hops: Vec<u16>,
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
        let mut hops = Vec::new();
        for (index, &goal) in goals.iter().enumerate() {
            row[goal] = index;
            let to_goal = topology.bfs(goal, Some(class_weight));
            let heaviest = to_goal.iter().max().copied().unwrap_or(0);
            assert!(heaviest <= u16::MAX.into(), "class_weight of Routes makes paths that weigh more than 65535");
            weight.extend(to_goal.iter().map(|&heavy| heavy as u16));
            if class_weight.iter().any(|&weight| weight != 1) {
                hops.extend(most_hops(&to_goal, topology, class_weight));
            }
        }
        ShortestPaths { row, routers, weight, hops }
    }

    /// Those of some routers that are nearest to `from`.
    pub fn nearest<'a>(&'a self, from: usize, some: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let least = some.iter().map(|&goal| self.weight(from, goal)).min().expect("there is one");
        some.iter().copied().filter(move |&goal| self.weight(from, goal) == least)
    }

    /// Weight of the lightest path from any router to one of the goals.
    pub fn weight(&self, from: usize, goal: usize) -> usize {
        self.weight[self.row[goal] * self.routers + from].into()
    }

    /// Hops of the lightest path from any router to one of the goals; of several the one with most.
    pub fn hops(&self, from: usize, goal: usize) -> usize {
        let counted = if self.hops.is_empty() { &self.weight } else { &self.hops };
        counted[self.row[goal] * self.routers + from].into()
    }
}

/// Most hops of a lightest path from each router to a goal, given the weights of these paths.
fn most_hops(weight: &[usize], topology: &dyn Topology, class_weight: &[usize]) -> Vec<u16> {
    let mut nearest_first: Vec<usize> = (0..weight.len()).collect();
    nearest_first.sort_unstable_by_key(|&router| weight[router]);
    let mut hops = vec![0; weight.len()];
    for &router in &nearest_first[1..] {
        let behind = |port| match topology.neighbour(router, port) {
            (Location::RouterPort { router_index, .. }, class) => {
                (weight[router_index] + class_weight[class] == weight[router]).then(|| 1 + hops[router_index])
            }
            _ => None,
        };
        hops[router] = (0..topology.ports(router)).filter_map(behind).max().expect("a lightest path begins somewhere");
    }
    hops
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
    fn of_equally_light_paths_that_with_most_hops_counts() {
        let paths = ShortestPaths::to(&[0], &graph(RING), &[1, 2, 1]);
        assert_eq!((0..5).map(|from| paths.weight(from, 0)).collect::<Vec<_>>(), [0, 1, 2, 3, 2]);
        assert_eq!((0..5).map(|from| paths.hops(from, 0)).collect::<Vec<_>>(), [0, 1, 2, 3, 1]);
    }

    #[test]
    fn equal_weights_count_hops() {
        let paths = ShortestPaths::to(&[0], &graph(RING), &[1, 1, 1]);
        assert_eq!((0..5).map(|from| paths.weight(from, 0)).collect::<Vec<_>>(), [0, 1, 2, 2, 1]);
        assert_eq!((0..5).map(|from| paths.hops(from, 0)).collect::<Vec<_>>(), [0, 1, 2, 2, 1]);
    }

    #[test]
    fn the_nearest_of_some_routers_are_all_those_of_least_weight() {
        let paths = ShortestPaths::to(&[0, 2, 3], &graph(RING), &[1, 100, 1]);
        let nearest = |from| paths.nearest(from, &[0, 2]).collect::<Vec<_>>();
        assert_eq!((0..5).map(nearest).collect::<Vec<_>>(), [vec![0], vec![0, 2], vec![2], vec![2], vec![2]]);
    }

    #[test]
    #[should_panic(expected = "65535")]
    fn paths_that_are_too_heavy_are_refused() {
        ShortestPaths::to(&[0], &graph(RING), &[30_000, 65_000, 1]);
    }
}
