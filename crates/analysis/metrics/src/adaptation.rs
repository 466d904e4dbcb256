//! How flows follow a link that changes.

use crate::link::bottleneck;
use crate::registry::{Better, Metric};
use crate::view::{ANY_GAP, View};
use wirespeed_record::{LinkInfo, QueueSample};
use wirespeed_statistics::mean;

/// How near goodput has to come to what it is later.
const NEAR: f64 = 0.1;
/// Base round-trip times, and steps of the sampling grid, of goodput that is looked at as one.
const WINDOW: i64 = 5;
/// Changes that are no further apart than so many of those windows are one: a ramp, or more than flows could follow.
const APART: i64 = 4;

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "reconvergence_time_ns",
        unit: "ns",
        definition: "Time from a change of the bottleneck's rate or round-trip time to the end of the first window in which flows have \
                     adapted. A window is five base round-trip times, or five steps of the sampling grid if that is longer. Flows have \
                     adapted when the goodput of all is within 10 % of its later mean, and the queue is not longer than its later \
                     maximum; later is the second half of the time up to the next change. Changes less than four windows apart are \
                     one, at the last of them. Mean over the changes in the measurement window; absent without changes, or if flows \
                     do not adapt to one of them in the first half.",
        reference: "RFC 5166, section 2.3 (response times, fluctuations of the bandwidth); the bounds are ours",
        better: Better::Lower,
        headline: false,
        compute: |view| {
            let changes = changes(view);
            mean(&changes.iter().map(|change| change.adapted_after(view)).collect::<Option<Vec<f64>>>()?)
        },
    },
    Metric {
        name: "queue_overshoot_bytes",
        unit: "bytes",
        definition: "Longest queue before the bottleneck in the first half of the time from a change to the next, less the longest in \
                     the second half, at least 0. The largest of the changes of reconvergence_time_ns.",
        reference: "RFC 5166, section 2.3; by halves is ours",
        better: Better::Lower,
        headline: false,
        compute: |view| {
            let overshoots =
                changes(view).iter().filter_map(|change| change.overshoot(view)).collect::<Vec<f64>>();
            overshoots.into_iter().reduce(f64::max)
        },
    },
    Metric {
        name: "dropped_while_adapting_packets",
        unit: "packets",
        definition: "Packets that the bottleneck's queue drops in the first half of the time from a change to the next, less those of \
                     the second half, at least 0. The sum over the changes of reconvergence_time_ns.",
        reference: "RFC 5166, section 2.3; by halves is ours",
        better: Better::Lower,
        headline: false,
        compute: |view| changes(view).iter().filter_map(|change| change.dropped(view)).reduce(|a, b| a + b),
    },
];

/// A change of the bottleneck, and the time that flows have to adapt to it.
struct Change {
    at: i64,
    until: i64,
    /// Goodput is looked at over so long.
    window: i64,
}

impl Change {
    fn middle(&self) -> i64 {
        self.at + (self.until - self.at) / 2
    }

    fn adapted_after(&self, view: &View) -> Option<f64> {
        let queue = bottleneck(view)?.queue;
        let backlog = |from, to| queue.largest(view, QueueSample::backlog_bytes, (from, to));
        let (later, longest) =
            (goodput(view, self.middle(), self.until)?, backlog(self.middle(), self.until)?);
        let step = view.recording.info.sample_ns.max(1);
        let mut from = self.at;
        while from + self.window <= self.middle() {
            let to = from + self.window;
            let is_near = (goodput(view, from, to)? - later).abs() <= NEAR * later;
            if is_near && backlog(from, to).is_some_and(|backlog| backlog <= longest) {
                return Some((to - self.at) as f64);
            }
            from += step;
        }
        None
    }

    fn overshoot(&self, view: &View) -> Option<f64> {
        let queue = bottleneck(view)?.queue;
        let longest = |range| queue.largest(view, QueueSample::backlog_bytes, range);
        Some((longest((self.at, self.middle()))? - longest((self.middle(), self.until))?).max(0.0))
    }

    fn dropped(&self, view: &View) -> Option<f64> {
        let counter = bottleneck(view)?.queue.counter(view, QueueSample::dropped_packets);
        let first = counter.growth(self.at, self.middle(), ANY_GAP)?;
        Some((first - counter.growth(self.middle(), self.until, ANY_GAP)?).max(0.0))
    }
}

/// Goodput of all flows between two times, in payload bytes per nanosecond.
fn goodput(view: &View, from: i64, to: i64) -> Option<f64> {
    let payload = view.sum(|flow| flow.payload.growth(from, to, ANY_GAP))?;
    (to > from).then(|| payload / (to - from) as f64)
}

/// The changes of the bottleneck to which flows have time to adapt.
fn changes(view: &View) -> Vec<Change> {
    let Some(bottleneck) = bottleneck(view) else { return Vec::new() };
    let LinkInfo { rate_bps, rtt_ns, ref changes, .. } = *bottleneck.link;
    let longest = changes.iter().map(|change| change.rtt_ns).fold(rtt_ns, i64::max);
    let window = WINDOW * longest.max(view.recording.info.sample_ns).max(1);
    let mut before = (rate_bps, rtt_ns);
    let concern = changes.iter().filter(|change| {
        let now = (change.rate_bps, change.rtt_ns);
        std::mem::replace(&mut before, now) != now
    });
    let times: Vec<i64> = concern.map(|change| change.t_ns).collect();
    let ends = times.iter().skip(1).copied().chain([view.to_ns]);
    let changes =
        times.iter().zip(ends).map(|(&at, next)| Change { at, until: next.min(view.to_ns), window });
    changes.filter(|change| change.at >= view.from_ns && change.until - change.at > APART * window).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wirespeed_record::{FlowInfo, FlowSample, LinkChange, Recording};

    const MS: i64 = 1_000_000;

    /// Ten seconds at some 1 Mbit/s; from 2 s on the link has 2 Mbit/s and the flow follows in a second; from 6 s on it has 1 again.
    fn recording() -> Recording {
        let mut recording = Recording::default();
        recording.info.duration_ns = 10_000 * MS;
        recording.info.sample_ns = 10 * MS;
        recording.info.flows = vec![FlowInfo { stop_ns: 10_000 * MS, ..FlowInfo::default() }];
        let change =
            |ms: i64, rate_bps| LinkChange { t_ns: ms * MS, rate_bps, buffer_bytes: 0, rtt_ns: 2 * MS };
        recording.info.links = vec![LinkInfo {
            name: "l".into(),
            rate_bps: 1_000_000,
            rtt_ns: 2 * MS,
            forward_queue: "l/forward".into(),
            changes: vec![change(2000, 2_000_000), change(6000, 1_000_000)],
            ..LinkInfo::default()
        }];
        let (mut flows, mut queues) = (Vec::new(), Vec::new());
        for ms in (0..=10_000).step_by(10) {
            // Bytes: 125 per ms at 1 Mbit/s.
            let delivered = match ms {
                0..3000 => 130 * ms,
                3000..6000 => 390_000 + 250 * (ms - 3000),
                _ => 1_140_000 + 125 * (ms - 6000),
            };
            let backlog = if (6000..6500).contains(&ms) { 9_000 } else { 3_000 };
            let dropped = 7 * u64::from(ms > 6000);
            flows.push(sample(ms, delivered));
            queues.push(json!({
                "t_ns": ms * MS, "queue": "l/forward", "kind": "wire", "backlog_bytes": backlog, "backlog_packets": 0,
                "sent_bytes": delivered, "sent_packets": 0, "dropped_packets": dropped, "requeues": 0, "overlimits": 0,
            }));
        }
        recording.flows = flows;
        recording.queues = queues.into_iter().map(|row| serde_json::from_value(row).unwrap()).collect();
        recording
    }

    fn sample(ms: i64, delivered: i64) -> FlowSample {
        serde_json::from_value(json!({
            "t_ns": ms * MS, "flow": 0, "delivered_bytes": delivered, "goodput_bytes": delivered,
        }))
        .unwrap()
    }

    fn metric(name: &str, view: &View) -> Option<f64> {
        let row = ROWS.iter().find(|row| row.name == name).unwrap();
        (row.compute)(view)
    }

    #[test]
    fn flows_have_adapted_when_goodput_and_queue_are_as_later() {
        let recording = recording();
        let view = View::new(&recording).unwrap();
        // Windows of 50 ms. The first within 10 % of the later rate has 40 of them: it ends 1040 ms after the change. The queue
        // is long for 500 ms after the second.
        assert_eq!(metric("reconvergence_time_ns", &view), Some((1040 + 550) as f64 * 1e6 / 2.0));
        assert_eq!(metric("queue_overshoot_bytes", &view), Some(6_000.0));
        assert_eq!(metric("dropped_while_adapting_packets", &view), Some(7.0));
    }

    #[test]
    fn a_link_that_never_changes_or_always_does_has_no_adaptation() {
        let mut recording = recording();
        let often = (0..1000).map(|i| LinkChange {
            t_ns: i * 10 * MS,
            rate_bps: 1 + i as u64,
            ..LinkChange::default()
        });
        recording.info.links[0].changes = often.collect();
        assert_eq!(metric("reconvergence_time_ns", &View::new(&recording).unwrap()), None);
        recording.info.links[0].changes.clear();
        let view = View::new(&recording).unwrap();
        assert!(ROWS.iter().all(|row| (row.compute)(&view).is_none()));
    }
}
