//! Files of settings: one word and its values a line, in a fixed order; and what the settings of routings mean.

use std::fs;
use std::str::FromStr;

use crate::grid::Tie;
use crate::input::BadFile;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Lightest paths, of which the hash of a flow selects one.
    Ecmp,
}

/// What Valiant and UGAL draw for a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
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
    pub fn read(lines: &mut Words) -> Result<Routing, BadFile> {
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
    pub fn read(lines: &mut Words) -> Result<Links, BadFile> {
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

/// The lines of a file of settings.
pub struct Words {
    name: String,
    lines: std::vec::IntoIter<String>,
    number: usize,
}

impl Words {
    /// Read a file whose first line is `format` and the only version known, 1.
    pub fn open(name: &str, format: &str) -> Result<Words, BadFile> {
        let text = fs::read_to_string(name).map_err(|error| BadFile(format!("{name}: cannot be read: {error}")))?;
        Words::of_text(name, &text, format)
    }

    pub fn of_text(name: &str, text: &str, format: &str) -> Result<Words, BadFile> {
        let lines: Vec<String> = text.lines().map(String::from).collect();
        let mut words = Words { name: name.to_string(), lines: lines.into_iter(), number: 0 };
        let [version]: [u64; 1] = words.values(format)?;
        match version {
            1 => Ok(words),
            _ => Err(words.bad("has a version other than 1")),
        }
    }

    /// Return an error at the line read last.
    pub fn bad(&self, problem: &str) -> BadFile {
        BadFile(format!("{}:{}: {}", self.name, self.number, problem))
    }

    /// Return whether all lines have been read.
    pub fn is_at_end(&self) -> bool {
        self.lines.as_slice().is_empty()
    }

    /// Read a line of `word` and any number of values.
    pub fn list<T: FromStr>(&mut self, word: &str) -> Result<Vec<T>, BadFile> {
        self.number += 1;
        let line = self.lines.next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let values = if words.next() == Some(word) { words.map(|value| value.parse().ok()).collect() } else { None };
        values.ok_or_else(|| self.bad(&format!("should be '{word}' and its values")))
    }

    /// Read a line of `word` and `N` values.
    pub fn values<T: FromStr, const N: usize>(&mut self, word: &str) -> Result<[T; N], BadFile> {
        let values = self.list(word)?;
        values.try_into().map_err(|_| self.bad(&format!("'{word}' has {N} values")))
    }

    /// Return the meaning of a word of the line read last.
    pub fn choice<T: Copy>(&self, word: &str, meanings: &[(&str, T)]) -> Result<T, BadFile> {
        let found = meanings.iter().find(|(known, _)| *known == word);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| self.bad(&format!("knows no {word}")))
    }
}
