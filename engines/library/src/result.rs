//! Results as JSON: numbers and lists of them.

use std::fmt::{Display, Write as _};

/// An object whose fields are added one after the other.
#[derive(Default)]
pub struct Fields(String);

impl Fields {
    pub fn new(name: &str, version: &str) -> Fields {
        let mut fields = Fields::default();
        fields.number(name, format_args!("\"{version}\""));
        fields
    }

    pub fn number(&mut self, name: &str, value: impl Display) {
        let before = if self.0.is_empty() { "{" } else { ", " };
        write!(self.0, "{before}\"{name}\": {value}").expect("text takes everything");
    }

    pub fn list(&mut self, name: &str, values: impl IntoIterator<Item = impl ToString>) {
        let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
        self.number(name, format_args!("[{}]", values.join(", ")));
    }

    /// Add a list in which what is missing is null.
    pub fn optional(&mut self, name: &str, values: &[Option<u64>]) {
        self.list(name, values.iter().map(|value| value.map_or("null".into(), |number| number.to_string())));
    }

    pub fn lists(&mut self, name: &str, lists: impl IntoIterator<Item = Vec<u64>>) {
        self.list(name, lists.into_iter().map(|list| format!("{list:?}")));
    }

    pub fn end(self) -> String {
        self.0 + "}\n"
    }
}
