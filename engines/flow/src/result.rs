//! The result as JSON: times of the jobs, and bytes.

use library::result::Fields;

use crate::simulation::Outcome;

pub fn to_json(outcome: &Outcome) -> String {
    let mut fields = Fields::default();
    fields.number("solved", outcome.solved);
    for (name, values) in [
        ("job_finish_ns", &outcome.finish_ns),
        ("job_waiting_ns", &outcome.waiting_ns),
        ("job_sent_bytes", &outcome.sent_bytes),
        ("job_arrived_bytes", &outcome.arrived_bytes),
        ("link_bytes", &outcome.link_bytes),
    ] {
        fields.list(name, values.iter().map(|value| format!("{value:?}")));
    }
    let (mean_ns, p99_ns): (Vec<String>, Vec<String>) =
        outcome.message_ns.iter().map(|times_ns| mean_and_p99(times_ns)).unzip();
    fields.list("job_message_mean_ns", mean_ns);
    fields.list("job_message_p99_ns", p99_ns);
    if let Some(times_ns) = &outcome.times_ns {
        let times_ns = times_ns.iter().flat_map(|[start, _, arrival]| [format!("{start:?}"), format!("{arrival:?}")]);
        fields.list("message_ns", times_ns);
    }
    fields.end()
}

/// The mean, and the least time that 99 % of the times do not exceed; null without any.
fn mean_and_p99(times_ns: &[f64]) -> (String, String) {
    if times_ns.is_empty() {
        return ("null".into(), "null".into());
    }
    let mut sorted_ns = times_ns.to_vec();
    sorted_ns.sort_unstable_by(f64::total_cmp);
    let rank = (sorted_ns.len() * 99 + 99) / 100 - 1;
    (format!("{:?}", times_ns.iter().sum::<f64>() / times_ns.len() as f64), format!("{:?}", sorted_ns[rank]))
}
