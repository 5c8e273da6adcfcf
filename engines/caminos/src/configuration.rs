//! The fields of a plug in a CAMINOS configuration. What is missing or wrong panics, as in CAMINOS' own builders.

use caminos_lib::config_parser::ConfigurationValue;

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

    fn field(&self, wanted: &str) -> &'a ConfigurationValue {
        match self.fields.iter().find(|(name, _)| name == wanted) {
            Some((_, value)) => value,
            None => panic!("{} needs the field {wanted}", self.plug),
        }
    }

    pub fn text(&self, name: &str) -> &'a str {
        match self.field(name).as_str() {
            Ok(text) => text,
            Err(_) => panic!("{name} of {} is a text", self.plug),
        }
    }

    /// A number, at least 0.
    pub fn number(&self, name: &str) -> f64 {
        match self.field(name).as_f64() {
            Ok(number) if number >= 0.0 => number,
            _ => panic!("{name} of {} is a number, at least 0", self.plug),
        }
    }

    pub fn flag(&self, name: &str) -> bool {
        match self.field(name).as_bool() {
            Ok(flag) => flag,
            Err(_) => panic!("{name} of {} is true or false", self.plug),
        }
    }

    /// A whole number from 1 on.
    pub fn count(&self, name: &str) -> usize {
        match self.field(name).as_usize() {
            Ok(number) if number > 0 => number,
            _ => panic!("{name} of {} is a whole number, at least 1", self.plug),
        }
    }

    pub fn numbers(&self, name: &str) -> Vec<usize> {
        let whole = |value: &ConfigurationValue| match value.as_usize() {
            Ok(number) => number,
            Err(_) => panic!("{name} of {} is a list of whole numbers", self.plug),
        };
        match self.field(name).as_array() {
            Ok(values) => values.iter().map(whole).collect(),
            Err(_) => panic!("{name} of {} is a list of whole numbers", self.plug),
        }
    }

    /// One of several words; `meanings` has what each stands for.
    pub fn choice<T: Copy>(&self, name: &str, meanings: &[(&str, T)]) -> T {
        let word = self.text(name);
        match meanings.iter().find(|(known, _)| *known == word) {
            Some((_, meaning)) => *meaning,
            None => {
                let known: Vec<&str> = meanings.iter().map(|(known, _)| *known).collect();
                panic!("{name} of {} is one of {}", self.plug, known.join(", "))
            }
        }
    }
}
