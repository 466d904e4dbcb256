//! The flows of a run as tests of iperf3. One process of iperf3 sends to one server, by one protocol and one congestion control
//! algorithm, and all its streams start and stop together. So flows that differ in one of these are several tests.

use crate::cumulative::{Cumulative, rows_by_flow};
use wirespeed_record::{FlowInfo, FlowSample, Recording, Transport};

/// The shortest interval of iperf3 (`-i 0.1`).
const SHORTEST_NS: i64 = 100_000_000;

/// Flows that one iperf3 client could have sent.
pub struct Test<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub protocol: Transport,
    pub congestion: Option<&'a str>,
    /// When it starts, in nanoseconds since the start of the run.
    pub start_ns: i64,
    /// When the measurement starts, at or after the start.
    pub measured_from_ns: i64,
    /// When it ends.
    pub stop_ns: i64,
    pub flows: Vec<Flow<'a>>,
    /// Borders of the intervals, the first at the start and the last at the end.
    pub borders: Vec<i64>,
}

/// A flow and what was recorded of it.
pub struct Flow<'a> {
    /// Its number in the run.
    pub number: u32,
    rows: Vec<&'a FlowSample>,
    /// Payload that the sender handed to the network for the first time.
    pub sent: Cumulative,
    /// Payload that reached the receiver.
    pub received: Cumulative,
    pub retransmitted: Cumulative,
    pub packets_out: Cumulative,
    pub packets_in: Cumulative,
}

/// The tests of a run, without those of whose flows no payload was recorded.
pub fn tests(run: &Recording) -> Vec<Test<'_>> {
    let mut tests: Vec<Test> = Vec::new();
    for (number, (info, rows)) in run.info.flows.iter().zip(rows_by_flow(run)).enumerate() {
        let flow = Flow::of(number as u32, info.kind, rows);
        if !flow.sent.is_recorded() && !flow.received.is_recorded() {
            continue;
        }
        let test = Test::of(run, info);
        match tests.iter_mut().find(|other| other.is_alike(&test)) {
            Some(found) => found.flows.push(flow),
            None => tests.push(Test { flows: vec![flow], ..test }),
        }
    }
    for test in &mut tests {
        test.borders = borders(run.info.sample_ns, test);
    }
    tests
}

impl<'a> Test<'a> {
    fn of(run: &'a Recording, info: &'a FlowInfo) -> Test<'a> {
        // After an interruption nothing was recorded, which is not the same as no bytes.
        let last_ns = || run.flows.iter().map(|row| row.t_ns).max().unwrap_or(0);
        let end_ns = if run.info.interrupted { last_ns() } else { run.info.duration_ns };
        let stop_ns = info.stop_ns.min(end_ns);
        let start_ns = info.start_ns.clamp(0, stop_ns.max(0));
        let measured_from_ns = run.info.omit_ns.clamp(start_ns, stop_ns.max(start_ns));
        Test {
            from: &info.from,
            to: &info.to,
            protocol: info.kind,
            congestion: info.congestion.as_deref(),
            start_ns,
            measured_from_ns,
            stop_ns: stop_ns.max(start_ns),
            flows: Vec::new(),
            borders: Vec::new(),
        }
    }

    fn is_alike(&self, other: &Test) -> bool {
        (self.from, self.to, self.protocol, self.congestion)
            == (other.from, other.to, other.protocol, other.congestion)
            && (self.start_ns, self.stop_ns) == (other.start_ns, other.stop_ns)
    }

    /// Whether what the receiver received was recorded as the test went on.
    pub fn is_received_sampled(&self) -> bool {
        self.flows.iter().all(|flow| flow.received.is_sampled())
    }
}

/// Borders of intervals: multiples of the sampling grid that iperf3 could have been asked for, which start again where the
/// measurement starts.
fn borders(sample_ns: i64, test: &Test) -> Vec<i64> {
    /// More samples than this in a file are avoided by longer intervals.
    const MOST_SAMPLES: usize = 1_000_000;
    let Test { start_ns, measured_from_ns, stop_ns, .. } = *test;
    let most = (MOST_SAMPLES / test.flows.len().max(1)).max(1) as i64;
    let least_ns = SHORTEST_NS.max((stop_ns - start_ns) / most);
    let step_ns = if sample_ns > 0 { (least_ns + sample_ns - 1) / sample_ns * sample_ns } else { least_ns };
    let mut borders = vec![start_ns];
    for end_ns in [measured_from_ns, stop_ns] {
        let from_ns = borders.last().copied().unwrap_or(start_ns);
        let mut next_ns = from_ns + step_ns;
        // A rest that is shorter than half an interval belongs to the last one.
        while next_ns < end_ns - step_ns / 2 {
            borders.push(next_ns);
            next_ns += step_ns;
        }
        if end_ns > from_ns {
            borders.push(end_ns);
        }
    }
    borders
}

impl<'a> Flow<'a> {
    fn of(number: u32, kind: Transport, rows: Vec<&'a FlowSample>) -> Flow<'a> {
        let counter =
            |of: fn(&FlowSample) -> Option<u64>| Cumulative::new(rows.iter().map(|row| (row.t_ns, of(row))));
        let first_sent =
            |row: &FlowSample| Some(row.sent_bytes?.saturating_sub(row.retrans_bytes.unwrap_or(0)));
        let sent = counter(if kind == Transport::Tcp { first_sent } else { |row| row.sent_bytes });
        let received = counter(|row| row.delivered_bytes);
        Flow {
            number,
            retransmitted: counter(|row| row.retrans_packets),
            packets_out: counter(|row| row.data_packets_out),
            packets_in: counter(|row| row.data_packets_in),
            // What was delivered had been sent, so it stands for what the sender sent where only that was recorded.
            sent: if sent.is_recorded() { sent } else { received.clone() },
            received,
            rows,
        }
    }

    /// The last sample in an interval that has something of TCP's state.
    pub fn state(&self, from_ns: i64, to_ns: i64) -> Option<&'a FlowSample> {
        self.within(from_ns, to_ns).rev().find(|row| row.cwnd_bytes.is_some() || row.rtt_ns.is_some())
    }

    /// The samples after an instant, and until another.
    pub fn within(&self, from_ns: i64, to_ns: i64) -> impl DoubleEndedIterator<Item = &'a FlowSample> + '_ {
        let first = self.rows.partition_point(|row| row.t_ns <= from_ns);
        let end = self.rows.partition_point(|row| row.t_ns <= to_ns);
        self.rows[first..end.max(first)].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn borders_of(sample_ns: i64, start_ns: i64, measured_from_ns: i64, stop_ns: i64) -> Vec<i64> {
        let (from, to, protocol, congestion) = ("a", "b", Transport::Tcp, None);
        let (flows, borders) = (Vec::new(), Vec::new());
        let test =
            Test { from, to, protocol, congestion, start_ns, measured_from_ns, stop_ns, flows, borders };
        super::borders(sample_ns, &test)
    }

    #[test]
    fn intervals_are_counted_anew_after_the_omitted_time() {
        assert_eq!(borders_of(10 * MS, 0, 150 * MS, 400 * MS), [0, 150 * MS, 250 * MS, 400 * MS]);
        assert_eq!(borders_of(70 * MS, 0, 0, 300 * MS), [0, 140 * MS, 300 * MS]);
        assert_eq!(borders_of(1000 * MS, 0, 0, 2500 * MS), [0, 1000 * MS, 2500 * MS]);
    }

    #[test]
    fn a_test_without_length_has_no_interval() {
        assert_eq!(borders_of(0, 5, 5, 5), [5]);
        assert_eq!(borders_of(0, 0, 0, 10), [0, 10]);
    }

    #[test]
    fn a_long_test_has_longer_intervals() {
        let borders = borders_of(10 * MS, 0, 0, 8_640_000_000 * MS);
        assert!((900_000..=1_000_001).contains(&borders.len()), "{}", borders.len());
    }
}
