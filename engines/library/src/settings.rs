//! Files of settings: one word and its values a line, in a fixed order; and what the settings of routings mean.

use crate::grid::Tie;
use crate::input::{BadFile, Lines};

/// Which next hops a packet may take at a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Paths of least weight, the sum of `class_weight` over their links.
    Minimal,
    /// One dimension of a grid after the other; `Tie` is for packets that go half-way round a ring.
    DimensionOrder,
    /// Up a tree by the digits of the destination, then down (see `tree.rs`).
    DModK,
    /// In a grid every link that dimension order would take in some dimension, elsewhere the links of minimal.
    Adaptive,
    /// Minimal to a router with nodes, or into a group with nodes, drawn uniformly, then minimal to the destination.
    Valiant,
    /// Minimal or a detour as Valiant makes them, though never through the first or last router or group.
    Ugal,
    /// Next hops listed in the machine's file, drawn by their weights (`Table`) or chosen by queue length
    /// (`AdaptiveTable`); or listed paths, drawn at the source router (`Paths`).
    Table,
    AdaptiveTable,
    Paths,
    /// The link of minimal routing that the hash of the flow selects.
    Ecmp,
}

/// What Valiant and UGAL draw for a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Via {
    #[default]
    Router,
    Group,
}

pub const KINDS: [(&str, Kind); 10] = [
    ("minimal", Kind::Minimal),
    ("dimension-order", Kind::DimensionOrder),
    ("d-mod-k", Kind::DModK),
    ("adaptive", Kind::Adaptive),
    ("valiant", Kind::Valiant),
    ("ugal", Kind::Ugal),
    ("table", Kind::Table),
    ("adaptive-table", Kind::AdaptiveTable),
    ("paths", Kind::Paths),
    ("ecmp", Kind::Ecmp),
];
pub const TIES: [(&str, Tie); 3] = [("split", Tie::Split), ("positive", Tie::Positive), ("alternate", Tie::Alternate)];
pub const VIAS: [(&str, Via); 2] = [("router", Via::Router), ("group", Via::Group)];

/// Which routes packets take.
#[derive(Debug, Clone)]
pub struct Routing {
    pub seed: u64,
    pub kind: Kind,
    pub tie: Tie,
    pub via: Via,
}

impl Routing {
    /// Read `seed N` and `routing KIND TIE VIA`.
    pub fn read(lines: &mut Lines) -> Result<Routing, BadFile> {
        let [seed] = lines.values("seed")?;
        let [kind, tie, via]: [String; 3] = lines.values("routing")?;
        let (kind, tie, via) = (lines.choice(&kind, &KINDS)?, lines.choice(&tie, &TIES)?, lines.choice(&via, &VIAS)?);
        Ok(Routing { seed, kind, tie, via })
    }
}

/// Links and packets; vectors have a number for each class of cables, all but `class_weight` then one for links to nodes.
#[derive(Debug, Clone)]
pub struct Links {
    pub class_weight: Vec<u32>,
    /// Bytes a second.
    pub bandwidth: Vec<f64>,
    pub latency_ns: Vec<f64>,
    pub router_latency_ns: f64,
    pub packet_bytes: u32,
}

impl Links {
    /// Read `class_weight W...`, `bandwidth_Bps B...`, `latency_ns L...`, `router_latency_ns L` and `packet_bytes N`.
    pub fn read(lines: &mut Lines) -> Result<Links, BadFile> {
        let class_weight: Vec<u32> = lines.list("class_weight")?;
        let bandwidth: Vec<f64> = lines.list("bandwidth_Bps")?;
        let latency_ns: Vec<f64> = lines.list("latency_ns")?;
        let fits = bandwidth.len() == class_weight.len() + 1 && latency_ns.len() == bandwidth.len();
        let valid = |values: &[f64]| values.iter().all(|&value| value.is_finite() && value >= 0.0);
        if !fits || !valid(&latency_ns) || !valid(&bandwidth) || bandwidth.contains(&0.0) {
            return Err(lines.bad("weights are for each class, bandwidths and latencies for one more"));
        }
        let [router_latency_ns] = lines.values("router_latency_ns")?;
        let [packet_bytes] = lines.values("packet_bytes")?;
        if packet_bytes == 0 {
            return Err(lines.bad("packets have a byte at least"));
        }
        Ok(Links { class_weight, bandwidth, latency_ns, router_latency_ns, packet_bytes })
    }

    /// Return the class of links to nodes.
    pub fn host(&self) -> usize {
        self.class_weight.len()
    }
}
