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
