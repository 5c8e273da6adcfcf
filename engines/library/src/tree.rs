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
    /// Index of each router among those with nodes.
    leaf_of: Vec<Option<usize>>,
}

impl Tree {
    /// Find the ways up and down.
    ///
    /// # Parameters
    /// `neighbours`: routers that each router is joined to, in order of their numbers; `with_nodes`: routers.
    pub fn new(level: Vec<usize>, neighbours: &[Vec<usize>], with_nodes: &[usize]) -> Result<Tree, BadFile> {
        let routers = level.len();
        let mut leaf_of = vec![None; routers];
        for (index, &router) in with_nodes.iter().enumerate() {
            leaf_of[router] = Some(index);
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
        let mut tree = Tree { level, parents, divisor, down: vec![vec![NO_WAY; with_nodes.len()]; routers], leaf_of };
        tree.find_ways_down()?;
        Ok(tree)
    }

    fn find_ways_down(&mut self) -> Result<(), BadFile> {
        let mut order: Vec<usize> = (0..self.level.len()).collect();
        order.sort_by_key(|&router| self.level[router]);
        for child in order {
            for leaf in 0..self.down[child].len() {
                if self.leaf_of[child] != Some(leaf) && self.down[child][leaf] == NO_WAY {
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
        let way = self.down[here][self.leaf_of[goal]?];
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
