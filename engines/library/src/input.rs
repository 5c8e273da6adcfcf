//! Reading the text files that fabricstudy writes; every error names the file and the line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::str::FromStr;

/// What is wrong with an input file, and where.
#[derive(Debug)]
pub struct BadFile(pub String);

/// The lines of a file, each a few values, some after a word.
pub struct Lines {
    name: String,
    reader: Box<dyn BufRead>,
    line: String,
    number: usize,
}

impl Lines {
    pub fn open(name: &str) -> Result<Lines, BadFile> {
        let file = File::open(name).map_err(|error| BadFile(format!("{}: cannot be read: {}", name, error)))?;
        Ok(Lines::of(name, Box::new(BufReader::new(file))))
    }

    fn of(name: &str, reader: Box<dyn BufRead>) -> Lines {
        Lines { name: name.to_string(), reader, line: String::new(), number: 0 }
    }

    #[cfg(test)]
    pub fn of_text(text: &'static str) -> Lines {
        Lines::of("text", Box::new(text.as_bytes()))
    }

    /// An error of the file as a whole.
    pub fn bad_file(&self, problem: &str) -> BadFile {
        BadFile(format!("{}: {}", self.name, problem))
    }

    /// An error at the line read last.
    pub fn bad(&self, problem: &str) -> BadFile {
        BadFile(format!("{}:{}: {}", self.name, self.number, problem))
    }

    fn next(&mut self) -> Result<bool, BadFile> {
        self.line.clear();
        self.number += 1;
        match self.reader.read_line(&mut self.line) {
            Ok(length) => Ok(length > 0),
            Err(error) => Err(self.bad(&format!("cannot be read: {}", error))),
        }
    }

    pub fn numbers<const N: usize>(&mut self, what: &str) -> Result<[usize; N], BadFile> {
        if !self.next()? {
            return Err(self.bad(&format!("the file ends, but '{}' is expected", what)));
        }
        let mut values = [0; N];
        let mut words = self.line.split_ascii_whitespace();
        for value in values.iter_mut() {
            *value = words
                .next()
                .and_then(|word| word.parse().ok())
                .ok_or_else(|| self.bad(&format!("should be '{}'", what)))?;
        }
        match words.next() {
            None => Ok(values),
            Some(_) => Err(self.bad(&format!("should be '{}' and nothing more", what))),
        }
    }

    /// Read a line of `word` and any number of values.
    pub fn list<T: FromStr>(&mut self, word: &str) -> Result<Vec<T>, BadFile> {
        self.next()?;
        let mut words = self.line.split_ascii_whitespace();
        let values = if words.next() == Some(word) { words.map(|value| value.parse().ok()).collect() } else { None };
        values.ok_or_else(|| self.bad(&format!("should be '{word}' and its values")))
    }

    pub fn values<T: FromStr, const N: usize>(&mut self, word: &str) -> Result<[T; N], BadFile> {
        let values = self.list(word)?;
        values.try_into().map_err(|_| self.bad(&format!("'{word}' has {N} values")))
    }

    /// Return the meaning of a word of the line read last.
    pub fn choice<T: Copy>(&self, word: &str, meanings: &[(&str, T)]) -> Result<T, BadFile> {
        let found = meanings.iter().find(|(known, _)| *known == word);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| self.bad(&format!("unknown value {word}")))
    }

    /// Read a line of `word` and one whole number.
    pub fn header(&mut self, word: &str) -> Result<usize, BadFile> {
        let [number] = self.values(word)?;
        Ok(number)
    }

    /// Read a line of a word and one whole number; none at the end of the file.
    pub fn section(&mut self) -> Result<Option<(String, usize)>, BadFile> {
        if !self.next()? {
            return Ok(None);
        }
        let mut words = self.line.split_ascii_whitespace();
        match (words.next(), words.next().map(str::parse), words.next()) {
            (Some(word), Some(Ok(value)), None) => Ok(Some((word.to_string(), value))),
            _ => Err(self.bad("should be 'WORD NUMBER', or the file should have ended")),
        }
    }

    /// Read a line of one of some words and one whole number.
    pub fn word_of(&mut self, words: &[&'static str]) -> Result<(&'static str, usize), BadFile> {
        let (found, number) = self.section()?.unwrap_or_default();
        let word = words.iter().find(|word| **word == found);
        word.map(|word| (*word, number))
            .ok_or_else(|| self.bad(&format!("should be '{}' and a number", words.join("' or '"))))
    }

    /// Read a first line of `format` and the only version known, 1.
    pub fn format(&mut self, format: &str) -> Result<(), BadFile> {
        match self.header(format)? {
            1 => Ok(()),
            _ => Err(self.bad("has a version other than 1")),
        }
    }

    pub fn are_at_end(&mut self) -> bool {
        matches!(self.reader.fill_buf(), Ok([]))
    }

    pub fn end(&mut self) -> Result<(), BadFile> {
        match self.next()? {
            false => Ok(()),
            true => Err(self.bad("the file should have ended")),
        }
    }
}
