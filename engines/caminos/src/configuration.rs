//! The fields of a plug in a CAMINOS configuration. What is missing or wrong panics, as in CAMINOS' own builders.

use caminos_lib::config_parser::ConfigurationValue;
use library::input::{BadFile, Lines};

pub struct Fields<'a> {
    plug: &'a str,
    fields: &'a [(String, ConfigurationValue)],
}

impl<'a> Fields<'a> {
    /// The fields of an object; there must be no others than those that are known.
    pub fn of(value: &'a ConfigurationValue, known: &[&str]) -> Fields<'a> {
        let (plug, fields) = match value {
            ConfigurationValue::Object(plug, fields) => (plug, fields),
            _ => panic!("a plug is not an object"),
        };
        if let Some((other, _)) = fields.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            panic!("{plug} has no field {other}");
        }
        Fields { plug, fields }
    }

    /// A value; `what` says what it has to be.
    fn value<T>(&self, name: &str, what: &str, of: impl Fn(&'a ConfigurationValue) -> Option<T>) -> T {
        let found = self.fields.iter().find(|(known, _)| known == name);
        let (_, value) = found.unwrap_or_else(|| panic!("{} needs the field {name}", self.plug));
        of(value).unwrap_or_else(|| panic!("{name} of {} is {what}", self.plug))
    }

    pub fn text(&self, name: &str) -> &'a str {
        self.value(name, "a text", |value| value.as_str().ok())
    }

    pub fn number(&self, name: &str) -> f64 {
        self.value(name, "a number, at least 0", |value| value.as_f64().ok().filter(|&number| number >= 0.0))
    }

    pub fn flag(&self, name: &str) -> bool {
        self.value(name, "true or false", |value| value.as_bool().ok())
    }

    pub fn count(&self, name: &str) -> usize {
        self.value(name, "a whole number, at least 1", |value| value.as_usize().ok().filter(|&number| number > 0))
    }

    pub fn numbers(&self, name: &str) -> Vec<usize> {
        self.value(name, "a list of whole numbers", |value| {
            value.as_array().ok()?.iter().map(|value| value.as_usize().ok()).collect()
        })
    }

    /// The content of the file that `filename` names.
    ///
    /// # Panics
    /// With a `BadFile` if the file is bad.
    pub fn file<T>(&self, read: impl FnOnce(Lines) -> Result<T, BadFile>) -> T {
        Lines::open(self.text("filename")).and_then(read).unwrap_or_else(|bad| std::panic::panic_any(bad))
    }

    /// One of several words; `meanings` has what each stands for.
    pub fn choice<T: Copy>(&self, name: &str, meanings: &[(&str, T)]) -> T {
        let known: Vec<&str> = meanings.iter().map(|(known, _)| *known).collect();
        self.value(name, &format!("one of {}", known.join(", ")), |value| {
            let word = value.as_str().ok()?;
            meanings.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
        })
    }
}
