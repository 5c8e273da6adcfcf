//! What the simulators of this project share: machines and their routes, operations of ranks, sources of traffic, results.

pub mod detours;
pub mod flow_hash;
pub mod graph;
pub mod grid;
pub mod histogram;
pub mod input;
pub mod job_link_packets;
pub mod listed_routes;
pub mod network_interface;
pub mod offered;
pub mod operation_file;
pub mod operations;
pub mod program;
pub mod random;
pub mod result;
pub mod settings;
pub mod tree;
pub mod window;
