//! Next hops, found once for each router and goal: packets that wait ask again in every cycle.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A port on a way to a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hop {
    pub port: usize,
    /// What sets the hop apart from others; the kind of routing says what it means.
    pub class: HopClass,
    /// Where both ways round a ring are as short: the dimension, and whether this is the way up.
    pub way: Option<(u8, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HopClass {
    Usual,
    /// Before the dateline of a ring.
    BeforeDateline,
    Escape,
}

/// The table. Lists that are equal are kept once; there are few.
#[derive(Debug, Default)]
pub struct NextHops {
    routers: usize,
    /// For each goal that somebody has asked for, and each router, the place of the list plus 1; 0 if nobody has.
    place: RefCell<Vec<Vec<u32>>>,
    lists: RefCell<Lists>,
}

#[derive(Debug, Default)]
struct Lists {
    all: Vec<Rc<[Hop]>>,
    place: HashMap<Rc<[Hop]>, u32>,
}

impl NextHops {
    pub fn new(routers: usize) -> NextHops {
        NextHops { routers, place: RefCell::new(vec![Vec::new(); routers]), lists: RefCell::default() }
    }

    /// The hops from `here` to `goal`, which `find` finds.
    pub fn get(&self, here: usize, goal: usize, find: impl FnOnce() -> Vec<Hop>) -> Rc<[Hop]> {
        let known = self.place.borrow()[goal].get(here).copied().unwrap_or(0);
        if known > 0 {
            return self.lists.borrow().all[known as usize - 1].clone();
        }
        let (place, list) = self.lists.borrow_mut().keep(find());
        let row = &mut self.place.borrow_mut()[goal];
        row.resize(self.routers, 0);
        row[here] = place + 1;
        list
    }
}

impl Lists {
    fn keep(&mut self, hops: Vec<Hop>) -> (u32, Rc<[Hop]>) {
        if let Some((list, &place)) = self.place.get_key_value(&hops[..]) {
            return (place, list.clone());
        }
        let (place, list) = (self.all.len() as u32, Rc::<[Hop]>::from(hops));
        self.all.push(list.clone());
        self.place.insert(list.clone(), place);
        (place, list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(port: usize) -> Hop {
        Hop { port, class: HopClass::Usual, way: None }
    }

    #[test]
    fn each_pair_is_searched_once_and_keeps_its_own_list() {
        let (table, searched) = (NextHops::new(3), RefCell::new(0));
        for _ in 0..2 {
            for (here, goal) in [(0, 1), (1, 0), (2, 0)] {
                let found = table.get(here, goal, || {
                    *searched.borrow_mut() += 1;
                    vec![hop(here), hop(10 + goal)]
                });
                assert_eq!(&found[..], [hop(here), hop(10 + goal)]);
            }
        }
        assert_eq!(*searched.borrow(), 3);
    }

    #[test]
    fn equal_lists_are_kept_once() {
        let table = NextHops::new(2);
        let (one, two) = (table.get(0, 1, || vec![hop(4)]), table.get(1, 0, || vec![hop(4)]));
        assert!(Rc::ptr_eq(&one, &two));
    }
}
