//! Limits on what a controller accepts from an agent: sizes and numbers that a run can have. An agent may be faulty or hostile.

use wirespeed_agent::request::datagrams;
use wirespeed_host::{Changes, Delta};
use wirespeed_record::FlowSample;
use wirespeed_scenario::run::Run;

/// The limit on a count: it is exact in a double, and sums of such counts do not overflow.
pub const MOST: u64 = 1 << 53;

/// What an agent says beside what grows with the run, at most, in bytes: its counters, and what it has dropped and sent again.
pub const MOST_WORDS: u64 = 64 << 20;

/// What an agent says of a run, at most, in bytes.
pub fn most_bytes(run: &Run) -> u64 {
    /// A row of a flow, and one of a datagram.
    const ROW: u64 = 1 << 10;
    const DATAGRAM: u64 = 64;
    /// Rows of a host: a thousand cores, its interface, its queue.
    const HOST: u64 = 128 << 10;
    /// A receiver notes a datagram at most four times, a sender once.
    const TIMES: f64 = 5.0;
    let step = run.sample.nanoseconds().max(1_000_000);
    // As many again for the account of every second.
    let samples = 2 * (run.duration.nanoseconds().max(0) / step) as u64 + 2;
    let datagrams = (datagrams(run) * TIMES) as u64;
    let rows = samples.saturating_mul(HOST.saturating_add(ROW.saturating_mul(run.flows.len() as u64)));
    MOST_WORDS.saturating_add(rows).saturating_add(DATAGRAM.saturating_mul(datagrams))
}

/// Whether a time is one of the run.
pub fn is_in(run: &Run, t_ns: i64) -> bool {
    (0..=run.duration.nanoseconds()).contains(&t_ns)
}

/// Whether it is within a day of the run: so late, or so long, an agent may be that is in trouble.
pub fn is_near(run: &Run, t_ns: i64) -> bool {
    const DAY_NS: i64 = 86_400_000_000_000;
    (-DAY_NS..=run.duration.nanoseconds().saturating_add(DAY_NS)).contains(&t_ns)
}

/// A row whose counts can be added up.
pub fn row(mut row: FlowSample) -> FlowSample {
    let counts = [
        &mut row.data_packets_out,
        &mut row.data_packets_in,
        &mut row.retrans_packets,
        &mut row.sent_bytes,
        &mut row.acked_bytes,
        &mut row.delivered_bytes,
        &mut row.read_bytes,
    ];
    counts.into_iter().flatten().for_each(|count| *count = (*count).min(MOST));
    row
}

/// Changes of counters that can be added up.
pub fn changes(mut changes: Changes) -> Changes {
    for change in &mut changes.changes {
        change.reading.value = change.reading.value.min(MOST);
        match &mut change.delta {
            Delta::By(count) | Delta::Appeared(count) | Delta::Vanished(count) => *count = (*count).min(MOST),
            Delta::Reset { before, after } | Delta::Level { before, after } => {
                (*before, *after) = ((*before).min(MOST), (*after).min(MOST));
            }
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_scenario::testing::run;

    #[test]
    fn longer_runs_may_send_more_bytes() {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let short = most_bytes(&run);
        assert!((MOST_WORDS..MOST_WORDS + (200 << 20)).contains(&short), "{short}");
        run.duration = run.duration * 10;
        let long = most_bytes(&run);
        assert!(long > short && long < MOST_WORDS + (2000 << 20), "{long}");
    }

    #[test]
    fn impossible_counts_are_limited() {
        let reported = FlowSample { data_packets_out: Some(u64::MAX), ..FlowSample::empty(0, 0) };
        assert_eq!(row(reported).data_packets_out, Some(MOST));
    }
}
