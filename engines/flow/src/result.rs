//! The result as JSON: times of the jobs, and bytes.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use crate::simulation::Outcome;

/// Write the result under a temporary name, then give it its own.
pub fn write(outcome: &Outcome, path: &Path) -> io::Result<()> {
    let partial = path.with_extension("partial");
    fs::write(&partial, to_json(outcome))?;
    fs::rename(&partial, path)
}

fn to_json(outcome: &Outcome) -> String {
    let mut text = format!("{{\"solved\": {}", outcome.solved);
    for (name, values) in [
        ("job_finish_ns", &outcome.finish_ns),
        ("job_sent_bytes", &outcome.sent_bytes),
        ("job_arrived_bytes", &outcome.arrived_bytes),
        ("link_bytes", &outcome.link_bytes),
    ] {
        let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        write!(text, ", \"{name}\": [{}]", values.join(", ")).expect("text takes everything");
    }
    text.push_str("}\n");
    text
}
