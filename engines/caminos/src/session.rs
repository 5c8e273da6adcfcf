//! What the plugs of one simulation share.
//!
//! CAMINOS builds each plug by a plain function of its part of the configuration, and keeps it behind a trait. The routing
//! needs the machine, and the result needs finish cycles and counts: these are in one `Session`, which builders find in a
//! thread-local that is set while CAMINOS builds.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use caminos_lib::Time;
use library::histogram::Histogram;
use library::job_link_packets::JobLinkPackets;
use library::operations::Operations;

use crate::graph::Machine;
use crate::offered::Offered;

#[derive(Debug, Default)]
pub struct Session {
    /// CAMINOS builds the topology before the traffic, and initializes the routing after it.
    pub machine: RefCell<Option<Rc<Machine>>>,
    /// Ports of a node: CAMINOS' servers are ports.
    pub ports: Cell<usize>,
    /// The cycle in which the last computation ends of those that have begun.
    pub computing_until: Cell<Time>,
    /// The cycle to which the clock may jump, if the traffic is not finished.
    pub jump_to: Cell<Option<Time>>,
    /// Operations of jobs, in cycles and phits.
    pub operations: RefCell<Operations>,
    /// Phits that each job has sent, and those of them that have arrived.
    pub sent_phits: RefCell<Vec<u64>>,
    pub arrived_phits: RefCell<Vec<u64>>,
    /// For each job the cycles from posting a message to the arrival of its last phit at another node.
    pub message_times: RefCell<Vec<Histogram>>,
    pub job_link_packets: RefCell<JobLinkPackets>,
    /// The traffic that never ends, if it is that.
    pub offered: RefCell<Option<Rc<RefCell<Offered>>>>,
}

/// Implement the report of memory, whose output is discarded.
macro_rules! without_memory {
    ($type:ident) => {
        impl caminos_lib::quantify::Quantifiable for $type {
            fn total_memory(&self) -> usize {
                0
            }
            fn print_memory_breakdown(&self) {}
            fn forecast_total_memory(&self) -> usize {
                0
            }
        }
    };
}
pub(crate) use without_memory;

thread_local! {
    static BUILDING: RefCell<Option<Rc<Session>>> = const { RefCell::new(None) };
}

impl Session {
    /// Let builders that run inside `build` find this session.
    pub fn during<T>(self: &Rc<Session>, build: impl FnOnce() -> T) -> T {
        BUILDING.with(|session| *session.borrow_mut() = Some(self.clone()));
        let built = build();
        BUILDING.with(|session| *session.borrow_mut() = None);
        built
    }

    /// The session of the simulation that is being built.
    ///
    /// # Panics
    /// If none is.
    pub fn of_builder() -> Rc<Session> {
        BUILDING.with(|session| session.borrow().clone()).expect("plugs are built inside Session::during")
    }

    pub fn machine(&self) -> Rc<Machine> {
        self.machine.borrow().clone().expect("the topology is a Graph")
    }
}
