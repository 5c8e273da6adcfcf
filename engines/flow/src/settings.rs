//! What the file of settings says: one word and its values a line, in this order.
//!
//! `flow 1`, `seed N`, `routing KIND TIE VIA`, `class_weight W...`, `bandwidth_Bps B...`, `latency_ns L...`, the last two
//! for each class of cables and then for the links to nodes, `router_latency_ns L`, `packet_bytes N`, `window_bytes N`,
//! `injection N`, `batching E`, `record 0|1`.

use library::grid::Tie;
use library::input::BadFile;
pub use library::settings::{Kind, Via};
use library::settings::{Words, KINDS, TIES, VIAS};

#[derive(Debug, Clone)]
pub struct Settings {
    pub seed: u64,
    pub kind: Kind,
    pub tie: Tie,
    pub via: Via,
    pub class_weight: Vec<u32>,
    pub bandwidth: Vec<f64>,
    pub latency_ns: Vec<f64>,
    pub router_latency_ns: f64,
    pub packet: f64,
    /// Bytes of a node that the network may hold while the node counts them as sent.
    pub window: f64,
    /// Messages of a node that are under way at once.
    pub injection: usize,
    /// Events within this part of a flow's life are taken together.
    pub batching: f64,
    /// Whether times of messages are in the result.
    pub record: bool,
}

impl Settings {
    pub fn read(name: &str) -> Result<Settings, BadFile> {
        Settings::of_words(Words::open(name, "flow")?)
    }

    pub fn of_words(mut lines: Words) -> Result<Settings, BadFile> {
        let [seed] = lines.values("seed")?;
        let [kind, tie, via]: [String; 3] = lines.values("routing")?;
        let (kind, tie, via) = (lines.choice(&kind, &KINDS)?, lines.choice(&tie, &TIES)?, lines.choice(&via, &VIAS)?);
        let class_weight = lines.list("class_weight")?;
        let bandwidth: Vec<f64> = lines.list("bandwidth_Bps")?;
        let latency_ns: Vec<f64> = lines.list("latency_ns")?;
        let fits = bandwidth.len() == class_weight.len() + 1 && latency_ns.len() == bandwidth.len();
        if !fits || !bandwidth.iter().all(|&bandwidth| bandwidth > 0.0) {
            return Err(lines.bad("weights are for each class, bandwidths and latencies for one more"));
        }
        let [router_latency_ns] = lines.values("router_latency_ns")?;
        let [packet] = lines.values("packet_bytes")?;
        let [window] = lines.values("window_bytes")?;
        let [injection] = lines.values("injection")?;
        let [batching] = lines.values("batching")?;
        let [record]: [u8; 1] = lines.values("record")?;
        Ok(Settings {
            seed,
            kind,
            tie,
            via,
            class_weight,
            bandwidth,
            latency_ns,
            router_latency_ns,
            packet,
            window,
            injection,
            batching,
            record: record != 0,
        })
    }
}
