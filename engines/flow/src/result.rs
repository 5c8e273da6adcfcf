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
        ("job_waiting_ns", &outcome.waiting_ns),
        ("job_sent_bytes", &outcome.sent_bytes),
        ("job_arrived_bytes", &outcome.arrived_bytes),
        ("link_bytes", &outcome.link_bytes),
    ] {
        let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        write!(text, ", \"{name}\": [{}]", values.join(", ")).expect("text takes everything");
    }
    let (mean_ns, p99_ns): (Vec<String>, Vec<String>) =
        outcome.message_ns.iter().map(|times_ns| mean_and_p99(times_ns)).unzip();
    write!(text, ", \"job_message_mean_ns\": [{}]", mean_ns.join(", ")).expect("text takes everything");
    write!(text, ", \"job_message_p99_ns\": [{}]", p99_ns.join(", ")).expect("text takes everything");
    if let Some(times_ns) = &outcome.times_ns {
        let times_ns: Vec<String> = times_ns.iter().map(|(start, arrival)| format!("{start:?}, {arrival:?}")).collect();
        write!(text, ", \"message_ns\": [{}]", times_ns.join(", ")).expect("text takes everything");
    }
    text.push_str("}\n");
    text
}

/// The mean, and the least time that 99 % of the times do not exceed; null without any.
fn mean_and_p99(times_ns: &[f64]) -> (String, String) {
    if times_ns.is_empty() {
        return ("null".into(), "null".into());
    }
    let mut sorted_ns = times_ns.to_vec();
    sorted_ns.sort_unstable_by(f64::total_cmp);
    let place = (sorted_ns.len() * 99 + 99) / 100 - 1;
    (format!("{:?}", times_ns.iter().sum::<f64>() / times_ns.len() as f64), format!("{:?}", sorted_ns[place]))
}
