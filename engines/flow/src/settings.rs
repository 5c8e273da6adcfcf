//! What the file of settings says: one word and its values a line, in this order.
//!
//! `flow 1`, `seed N`, `routing KIND TIE VIA`, `class_weight W...`, `bandwidth_Bps B...`, `latency_ns L...`, the last two
//! for each class of cables and then for the links to nodes, `router_latency_ns L`, `packet_bytes N`, `window_bytes N`,
//! `injection N`, `batching E`.

use std::fs;
use std::str::FromStr;

use crate::grid::Tie;
use crate::input::BadFile;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Minimal,
    DimensionOrder,
    DModK,
    Adaptive,
    Valiant,
    Ugal,
    /// Next hops of the machine's file, by their shares; by what waits for them; and its paths.
    Table,
    AdaptiveTable,
    Paths,
}

/// What Valiant and UGAL draw for a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Via {
    Router,
    Group,
}

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
}

const KINDS: [(&str, Kind); 9] = [
    ("minimal", Kind::Minimal),
    ("dimension-order", Kind::DimensionOrder),
    ("d-mod-k", Kind::DModK),
    ("adaptive", Kind::Adaptive),
    ("valiant", Kind::Valiant),
    ("ugal", Kind::Ugal),
    ("table", Kind::Table),
    ("adaptive-table", Kind::AdaptiveTable),
    ("paths", Kind::Paths),
];
const TIES: [(&str, Tie); 3] = [("split", Tie::Split), ("positive", Tie::Positive), ("alternate", Tie::Alternate)];
const VIAS: [(&str, Via); 2] = [("router", Via::Router), ("group", Via::Group)];

impl Settings {
    pub fn read(name: &str) -> Result<Settings, BadFile> {
        let text = fs::read_to_string(name).map_err(|error| BadFile(format!("{name}: cannot be read: {error}")))?;
        Settings::of_text(name, &text)
    }

    pub fn of_text(name: &str, text: &str) -> Result<Settings, BadFile> {
        let mut lines = Words { name, lines: text.lines(), number: 0 };
        let [version]: [u64; 1] = lines.values("flow")?;
        if version != 1 {
            return Err(lines.bad("has a version other than 1"));
        }
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
        })
    }
}

struct Words<'a> {
    name: &'a str,
    lines: std::str::Lines<'a>,
    number: usize,
}

impl Words<'_> {
    fn bad(&self, problem: &str) -> BadFile {
        BadFile(format!("{}:{}: {}", self.name, self.number, problem))
    }

    fn list<T: FromStr>(&mut self, word: &str) -> Result<Vec<T>, BadFile> {
        self.number += 1;
        let mut words = self.lines.next().unwrap_or("").split_ascii_whitespace();
        let values = if words.next() == Some(word) { words.map(|value| value.parse().ok()).collect() } else { None };
        values.ok_or_else(|| self.bad(&format!("should be '{word}' and its values")))
    }

    fn values<T: FromStr, const N: usize>(&mut self, word: &str) -> Result<[T; N], BadFile> {
        let values = self.list(word)?;
        values.try_into().map_err(|_| self.bad(&format!("'{word}' has {N} values")))
    }

    fn choice<T: Copy>(&self, word: &str, meanings: &[(&str, T)]) -> Result<T, BadFile> {
        let found = meanings.iter().find(|(known, _)| *known == word);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| self.bad(&format!("knows no {word}")))
    }
}
