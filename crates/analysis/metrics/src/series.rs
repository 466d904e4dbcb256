//! Rates over time, for figures and for the metrics that need them.
//!
//! Bins start at 0 and cover the whole run, what is omitted from metrics included. The time of a value is the
//! start of its bin. A bin whose borders lie in a gap of samples longer than the bin by more
//! than 5 % has no value.

use crate::capacity::Capacity;
use crate::cumulative::Cumulative;
use crate::statistics::jain;
use crate::view::{FlowSeries, View, bins};
use wirespeed_record::{LinkInfo, QueueSample};

/// Weight of the newest bin in the short-term average (ulm-2016).
pub const LAMBDA: f64 = 0.1;

/// Throughput of a flow in bit/s, by bin, while it lives: frames as in `throughput_bps`. Empty for an unknown flow.
pub fn throughput_series(view: &View, flow: u32, bin_ns: i64) -> Vec<(i64, f64)> {
    view.flow(flow).map_or_else(Vec::new, |f| while_alive(view, f, &f.frames, bin_ns))
}

/// Goodput of a flow in bit/s, by bin, while it lives. Empty for an unknown flow.
pub fn goodput_series(view: &View, flow: u32, bin_ns: i64) -> Vec<(i64, f64)> {
    view.flow(flow).map_or_else(Vec::new, |f| while_alive(view, f, &f.payload, bin_ns))
}

/// Throughput of all flows together in bit/s, by bin. Before its start and after its end a flow adds 0.
pub fn sum_throughput_series(view: &View, bin_ns: i64) -> Vec<(i64, f64)> {
    sum_over(&view.measured().collect::<Vec<_>>(), 0, view.to_ns, bin_ns)
}

/// Jain's index over the throughput of the flows that live through the whole bin, by bin; bins with fewer than
/// two such flows, or in which nothing arrived, have no value.
pub fn jain_over_time(view: &View, bin_ns: i64) -> Vec<(i64, f64)> {
    jain_over(view, 0, view.to_ns, bin_ns)
}

/// Share of the capacity of the link of that name used left to right, by bin. Empty for an unknown link.
pub fn utilisation_series(view: &View, link: &str, bin_ns: i64) -> Vec<(i64, f64)> {
    let Some(link) = view.recording.info.links.iter().find(|l| l.name == link && l.rate_bps > 0) else {
        return Vec::new();
    };
    let Some(queue) = view.queues.get(link.forward_queue.as_str()) else { return Vec::new() };
    let capacity = Capacity::of(link);
    let shares = bins(0, view.to_ns, bin_ns).filter_map(|(a, b)| {
        let mean = Some(capacity.mean_rate(a, b)).filter(|mean| *mean > 0.0)?;
        Some((a, rate(&queue.sent, a, b)? / mean))
    });
    shares.collect()
}

/// The short-term average throughput of a flow in bit/s (ulm-2016): u(t+d) = (1-L) u(t) + L bytes/d with
/// L = [`LAMBDA`], d = `bin_ns` and u = 0 at the flow's start. Bins start at the flow's start, and here the time
/// of a value is the *end* of its bin. A bin without a value leaves u as it is.
pub fn short_term_average(view: &View, flow: u32, bin_ns: i64) -> Vec<(i64, f64)> {
    let Some(flow) = view.flow(flow) else { return Vec::new() };
    let mut average = 0.0;
    let living = bins(flow.start_ns, flow.own.1, bin_ns);
    let rates = living.filter_map(|(a, b)| Some((b, rate(&flow.frames, a, b)?)));
    rates
        .map(|(t, rate)| {
            average = (1.0 - LAMBDA) * average + LAMBDA * rate;
            (t, average)
        })
        .collect()
}

/// Queueing delay before a link in ns, at each sample of the queue: the time in which the link sends the backlog.
pub fn queue_delay_series(view: &View, link: &LinkInfo) -> Vec<(i64, f64)> {
    let queue = view.queues.get(link.forward_queue.as_str()).filter(|_| link.rate_bps > 0);
    let samples = queue.map_or(0..0, |queue| queue.samples.clone());
    let (times, backlog) =
        (view.queue_samples.times(), view.queue_samples.column(QueueSample::backlog_bytes));
    let capacity = Capacity::of(link);
    samples.filter_map(|i| Some((times[i], capacity.time_ns(times[i], backlog[i] * 8.0)?))).collect()
}

pub(crate) fn sum_over(flows: &[&FlowSeries], from: i64, to: i64, bin_ns: i64) -> Vec<(i64, f64)> {
    if flows.is_empty() {
        return Vec::new();
    }
    let total = |(a, b)| flows.iter().map(|f| rate(&f.frames, a, b)).sum::<Option<f64>>();
    bins(from, to, bin_ns).filter_map(|bin| Some((bin.0, total(bin)?))).collect()
}

pub(crate) fn jain_over(view: &View, from: i64, to: i64, bin_ns: i64) -> Vec<(i64, f64)> {
    let index = |(a, b)| {
        let alive = view.counted().filter(|f| f.start_ns <= a && f.end_ns >= b);
        let rates: Option<Vec<f64>> = alive.map(|f| rate(&f.frames, a, b)).collect();
        jain(&rates?)
    };
    bins(from, to, bin_ns).filter_map(|bin| Some((bin.0, index(bin)?))).collect()
}

fn while_alive(view: &View, flow: &FlowSeries, bytes: &Cumulative, bin_ns: i64) -> Vec<(i64, f64)> {
    let living = bins(0, view.to_ns, bin_ns).filter(|(a, b)| *b > flow.start_ns && *a < flow.end_ns);
    living.filter_map(|(a, b)| Some((a, rate(bytes, a, b)?))).collect()
}

/// A sample that is late by so small a part of a bin leaves no gap: a clock of the real world is never on the grid.
const LATE: i64 = 20;

/// Mean rate of a counter of bytes over a bin, bit/s.
pub(crate) fn rate(bytes: &Cumulative, from: i64, to: i64) -> Option<f64> {
    let longest = (to - from) + (to - from) / LATE;
    Some(bytes.growth(from, to, longest)? * 8e9 / (to - from) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use wirespeed_record::{FlowInfo, FlowSample, Recording, Transport};

    const BIN: i64 = 100_000_000;

    /// `packets` of 1,000 B payload have arrived; 1,066 B frames.
    fn sample(bin: i64, flow: u32, packets: u64) -> FlowSample {
        let bytes = packets * 1000;
        let row: Value = json!({
            "t_ns": bin * BIN, "flow": flow, "delivered_bytes": bytes / 2, "read_bytes": 0, "sent_bytes": bytes,
            "data_packets_out": packets, "data_packets_in": packets,
        });
        serde_json::from_value(row).unwrap()
    }

    /// Flow 0: 10, 20, 30 packets in three bins; flow 1 starts with the second: 20, 30. The link is idle at first.
    fn recording() -> Recording {
        let flows = [(0, 0, 0), (1, 0, 10), (2, 0, 30), (3, 0, 60), (1, 1, 0), (2, 1, 20), (3, 1, 50)];
        let mut recording = Recording::default();
        recording.info.duration_ns = 3 * BIN;
        recording.info.omit_ns = 2 * BIN;
        recording.info.sample_ns = BIN;
        recording.info.flows = vec![FlowInfo::default(), FlowInfo { start_ns: BIN, ..FlowInfo::default() }];
        recording.info.links = vec![LinkInfo {
            name: "l".into(),
            rate_bps: 80_000,
            forward_queue: "l/forward".into(),
            ..LinkInfo::default()
        }];
        recording.flows = flows.map(|(bin, flow, packets)| sample(bin, flow, packets)).into();
        let queue = |bin: i64, sent: u64| -> QueueSample {
            let row: Value = json!({
                "t_ns": bin * BIN, "queue": "l/forward", "kind": "tbf", "backlog_bytes": sent / 2,
                "backlog_packets": 0, "sent_bytes": sent, "sent_packets": 0, "dropped_packets": 0, "requeues": 0,
                "overlimits": 0,
            });
            serde_json::from_value(row).unwrap()
        };
        recording.queues = vec![queue(0, 0), queue(1, 0), queue(2, 1000), queue(3, 1500)];
        recording
    }

    fn close(found: Vec<(i64, f64)>, expected: &[(i64, f64)]) {
        let same = |a: &(i64, f64), b: &(i64, f64)| a.0 == b.0 && (a.1 - b.1).abs() <= 1e-9 * b.1.abs();
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| same(a, b)),
            "{found:?} is not {expected:?}"
        );
    }

    #[test]
    fn rates_cover_the_life_of_a_flow_and_the_omitted_time() {
        let recording = recording();
        let view = View::new(&recording).unwrap();
        // A packet a bin: 1066 B x 8 / 0.1 s.
        let p = 85_280.0;
        close(throughput_series(&view, 0, BIN), &[(0, 10.0 * p), (BIN, 20.0 * p), (2 * BIN, 30.0 * p)]);
        close(throughput_series(&view, 1, BIN), &[(BIN, 20.0 * p), (2 * BIN, 30.0 * p)]);
        close(goodput_series(&view, 1, BIN), &[(BIN, 800_000.0), (2 * BIN, 1_200_000.0)]);
        close(sum_throughput_series(&view, BIN), &[(0, 10.0 * p), (BIN, 40.0 * p), (2 * BIN, 60.0 * p)]);
        assert!(throughput_series(&view, 7, BIN).is_empty());
        assert!(throughput_series(&view, 0, 0).is_empty());
        assert!(throughput_series(&view, 0, BIN / 2).is_empty(), "bins finer than the samples");
    }

    #[test]
    fn jain_compares_the_flows_that_live() {
        let recording = recording();
        close(jain_over_time(&View::new(&recording).unwrap(), BIN), &[(BIN, 1.0), (2 * BIN, 1.0)]);
    }

    #[test]
    fn the_average_starts_at_the_flow_and_its_times_are_ends_of_bins() {
        let recording = recording();
        let p = 85_280.0;
        close(
            short_term_average(&View::new(&recording).unwrap(), 1, BIN),
            &[(2 * BIN, 2.0 * p), (3 * BIN, 4.8 * p)],
        );
    }

    #[test]
    fn a_link_of_80_kbit_carries_1000_bytes_a_bin() {
        let recording = recording();
        let view = View::new(&recording).unwrap();
        close(utilisation_series(&view, "l", BIN), &[(0, 0.0), (BIN, 1.0), (2 * BIN, 0.5)]);
        assert!(utilisation_series(&view, "none", BIN).is_empty());
        let delays = queue_delay_series(&view, &recording.info.links[0]);
        close(delays, &[(0, 0.0), (BIN, 0.0), (2 * BIN, 5e7), (3 * BIN, 7.5e7)]);
    }

    #[test]
    fn datagrams_that_nobody_read_for_a_while_are_no_negative_rate() {
        let mut recording = recording();
        recording.info.flows[0].kind = Transport::Udp;
        for row in recording.flows.iter_mut().filter(|row| row.flow == 0 && row.t_ns == 2 * BIN) {
            // Nothing was read since, and the sender was seen between counting a datagram and its bytes.
            (row.data_packets_in, row.sent_bytes) = (Some(10), Some(29_000));
        }
        let found = throughput_series(&View::new(&recording).unwrap(), 0, BIN);
        // 1042 B frames: UDP has shorter headers.
        close(found, &[(0, 833_600.0), (BIN, 0.0), (2 * BIN, 4_168_000.0)]);
    }
}
