//! Trees of routers with levels: up by the digits of the destination's number, then straight down (D-mod-K).

use crate::input::BadFile;

const NO_WAY: u32 = u32::MAX;

#[derive(Debug)]
pub struct Tree {
    level: Vec<usize>,
    /// Routers of the next level that a router is joined to, in order of their numbers.
    parents: Vec<Vec<usize>>,
    /// For each level, by what a node's number is divided there.
    divisor: Vec<usize>,
    /// For each router, the child that leads down to each of the routers with nodes.
    down: Vec<Vec<u32>>,
    /// Place of each router among those with nodes.
    place: Vec<Option<usize>>,
}

impl Tree {
    /// Find the ways up and down.
    ///
    /// # Parameters
    /// `neighbours`: routers that each router is joined to, in order of their numbers; `with_nodes`: routers.
    pub fn new(level: Vec<usize>, neighbours: &[Vec<usize>], with_nodes: &[usize]) -> Result<Tree, BadFile> {
        let routers = level.len();
        let mut place = vec![None; routers];
        for (index, &router) in with_nodes.iter().enumerate() {
            place[router] = Some(index);
        }
        let mut parents = vec![Vec::new(); routers];
        for (router, next) in neighbours.iter().enumerate() {
            for &other in next {
                if level[other] == level[router] + 1 {
                    parents[router].push(other);
                } else if level[other] + 1 != level[router] {
                    return Err(BadFile(format!(
                        "a tree joins routers of levels {} and {}",
                        level[router], level[other]
                    )));
                }
            }
        }
        let mut divisor = vec![1];
        for l in 0..level.iter().copied().max().unwrap_or(0) {
            let most = (0..routers).filter(|&router| level[router] == l).map(|router| parents[router].len()).max();
            divisor.push(divisor[l] * most.unwrap_or(0).max(1));
        }
        let mut tree = Tree { level, parents, divisor, down: vec![vec![NO_WAY; with_nodes.len()]; routers], place };
        tree.find_ways_down()?;
        Ok(tree)
    }

    fn find_ways_down(&mut self) -> Result<(), BadFile> {
        let mut order: Vec<usize> = (0..self.level.len()).collect();
        order.sort_by_key(|&router| self.level[router]);
        for child in order {
            for leaf in 0..self.down[child].len() {
                if self.place[child] != Some(leaf) && self.down[child][leaf] == NO_WAY {
                    continue;
                }
                for &parent in &self.parents[child] {
                    if self.down[parent][leaf] != NO_WAY {
                        return Err(BadFile(format!("router {} of the tree has two ways down to a router", parent)));
                    }
                    self.down[parent][leaf] = child as u32;
                }
            }
        }
        Ok(())
    }

    /// The next router on the way from `here` to a node on another router; none if there is no way.
    pub fn next(&self, here: usize, goal: usize, node: usize) -> Option<usize> {
        let way = self.down[here][self.place[goal]?];
        if way != NO_WAY {
            return Some(way as usize);
        }
        let parents = &self.parents[here];
        match parents.len() {
            0 => None,
            many => Some(parents[node / self.divisor[self.level[here]] % many]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves 0 to 3, in pods of two below 4, 5 and 6, 7, which both see the cores 8, 9 and 10, 11.
    fn fat_tree() -> Tree {
        let level = vec![0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
        let mut neighbours = vec![Vec::new(); 12];
        let links = [(0, 4), (0, 5), (1, 4), (1, 5), (2, 6), (2, 7), (3, 6), (3, 7), (4, 8), (4, 9), (5, 10), (5, 11)];
        for (low, high) in links.into_iter().chain([(6, 8), (6, 9), (7, 10), (7, 11)]) {
            neighbours[low].push(high);
            neighbours[high].push(low);
        }
        Tree::new(level, &neighbours, &[0, 1, 2, 3]).expect("a tree")
    }

    fn way(tree: &Tree, from: usize, to: usize, node: usize) -> Vec<usize> {
        let mut way = vec![from];
        while *way.last().expect("not empty") != to {
            way.push(tree.next(*way.last().expect("not empty"), to, node).expect("a way"));
        }
        way
    }

    #[test]
    fn the_way_up_goes_by_the_digits_of_the_node() {
        let tree = fat_tree();
        // Digits of nodes 4 to 7 in base 2, lowest first: 00, 10, 01, 11.
        assert_eq!(way(&tree, 0, 2, 4), [0, 4, 8, 6, 2]);
        assert_eq!(way(&tree, 0, 2, 5), [0, 5, 10, 7, 2]);
        assert_eq!(way(&tree, 1, 3, 6), [1, 4, 9, 6, 3]);
        assert_eq!(way(&tree, 1, 3, 7), [1, 5, 11, 7, 3]);
    }

    #[test]
    fn within_a_pod_no_core_is_visited() {
        assert_eq!(way(&fat_tree(), 0, 1, 3), [0, 5, 1]);
    }

    #[test]
    fn links_that_skip_a_level_are_refused() {
        assert!(Tree::new(vec![0, 2], &[vec![1], vec![0]], &[0]).is_err());
    }

    #[test]
    fn two_ways_down_are_refused() {
        let neighbours = [vec![1, 2], vec![0, 3], vec![0, 3], vec![1, 2]];
        assert!(Tree::new(vec![0, 1, 1, 2], &neighbours, &[0]).is_err());
    }

    #[test]
    fn at_the_top_there_is_no_way_to_a_router_that_is_not_below() {
        let tree = Tree::new(vec![0, 0, 1], &[vec![2], vec![], vec![0]], &[0, 1]).expect("a forest");
        assert_eq!(tree.next(2, 1, 1), None);
    }
}
