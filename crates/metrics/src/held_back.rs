//! What held a flow back, second by second: the kernel's own account of the sender's time (TCP_INFO's chronographs), the
//! time of the cores, losses and round-trip times. The same rules serve a model and a live host.

use crate::view::{FlowSeries, View};
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_record::{CoreSample, FlowSample, LedgerRow, Recording, Stage};

/// What held a flow back in an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The application wrote less than could have been sent.
    Application,
    /// A core of the sender was full.
    SenderCore(u32),
    /// The send buffer was full while the window had room.
    SendBuffer,
    /// The congestion window, after losses; where most packets were lost, if the ledger says.
    CwndAfterLoss(Option<Stage>),
    /// The receive window.
    ReceiveWindow,
    /// A core of the receiver was full with softirq work.
    ReceiverInterruptCore(u32),
    /// A core of the receiver was full with its application.
    ReceiverCore(u32),
    /// The path: what is sent waits there.
    Path,
    /// The congestion window, which was growing.
    Cwnd,
}

impl Holder {
    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Holder::Application => "application".into(),
            Holder::SenderCore(core) => format!("sender core {core}"),
            Holder::SendBuffer => "send buffer".into(),
            Holder::CwndAfterLoss(None) => "cwnd after loss".into(),
            Holder::CwndAfterLoss(Some(stage)) => format!("cwnd after loss at {stage}"),
            Holder::ReceiveWindow => "receive window".into(),
            Holder::ReceiverInterruptCore(core) => format!("receiver interrupt core {core}"),
            Holder::ReceiverCore(core) => format!("receiver core {core}"),
            Holder::Path => "path rate".into(),
            Holder::Cwnd => "cwnd".into(),
        }
    }
}

/// An interval of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// Number of the flow.
    pub flow: u32,
    /// From, since the start of the run.
    pub from_ns: i64,
    /// To.
    pub to_ns: i64,
    /// Payload delivered per second, in bit/s.
    pub rate_bps: f64,
    /// What held it back.
    pub holder: Holder,
}

/// A part of the time that is most of it.
const MOSTLY: f64 = 0.5;
/// A core that is busy for so large a part has no room for more.
const FULL: f64 = 0.95;
/// Data was outstanding or waiting for less than this part of the time: the application did not write.
const BUSY: f64 = 0.9;
/// A round-trip time of so many times the least is waiting.
const WAITING: f64 = 1.25;

/// What held the TCP flows of a run back, in intervals of `length_ns`; adjoining ones with the same holder are one. UDP has
/// no window, so nothing holds it back but its own rate.
pub fn held_back(view: &View, length_ns: i64) -> Vec<Interval> {
    let cores = Cores::of(view.recording);
    let worst = worst_stage(&view.recording.ledger);
    let mut all: Vec<Interval> = Vec::new();
    for flow in view.flows.iter().filter(|flow| flow.info.is_some_and(|info| info.kind == "tcp")) {
        for interval in of_flow(view, flow, length_ns, &cores, worst) {
            match all.last_mut() {
                Some(last) if (last.flow, &last.holder) == (interval.flow, &interval.holder) => {
                    let (before, now) =
                        ((last.to_ns - last.from_ns) as f64, (interval.to_ns - interval.from_ns) as f64);
                    last.rate_bps = (last.rate_bps * before + interval.rate_bps * now) / (before + now);
                    last.to_ns = interval.to_ns;
                }
                _ => all.push(interval),
            }
        }
    }
    all
}

/// Where most data was lost.
fn worst_stage(ledger: &[LedgerRow]) -> Option<Stage> {
    let lost = ledger.iter().filter(|row| {
        row.direction == wirespeed_record::Direction::Data && row.entry == "lost" && row.packets > 0
    });
    lost.max_by_key(|row| row.packets)?.stage
}

fn of_flow(
    view: &View,
    flow: &FlowSeries,
    length_ns: i64,
    cores: &Cores,
    worst: Option<Stage>,
) -> Vec<Interval> {
    let samples = &view.flow_samples;
    let range = flow.samples.clone();
    let column = |values: &crate::Values| -> Vec<f64> { values[range.clone()].to_vec() };
    let times = &samples.times()[range.clone()];
    let delivered = known_so_far(column(&samples.column(FlowSample::delivered_bytes)));
    let (busy, window, buffer) = (
        column(&samples.column(FlowSample::busy_ns)),
        column(&samples.column(FlowSample::rwnd_limited_ns)),
        column(&samples.column(FlowSample::sndbuf_limited_ns)),
    );
    let retransmitted = column(&samples.column(FlowSample::retrans_packets));
    let state = column(&samples.column(FlowSample::ca_state));
    let (rtt, least) =
        (column(&samples.column(FlowSample::rtt_ns)), column(&samples.column(FlowSample::min_rtt_ns)));
    let Some(info) = flow.info else { return Vec::new() };
    let mut out = Vec::new();
    let mut from = 0;
    for to in 1..times.len() {
        let lasted = times[to] - times[from];
        if lasted < length_ns && to + 1 < times.len() {
            continue;
        }
        let part = |values: &[f64]| (values[to] - values[from]) / lasted as f64;
        let in_between = |values: &[f64]| -> f64 {
            let here: Vec<f64> = values[from..=to].iter().copied().filter(|v| !v.is_nan()).collect();
            here.iter().sum::<f64>() / here.len().max(1) as f64
        };
        let least_rtt = least[..=to].iter().copied().filter(|v| !v.is_nan()).fold(f64::INFINITY, f64::min);
        let sender = cores.fullest(flow.number, &info.from, times[from], times[to]);
        let receiver = cores.fullest(flow.number, &info.to, times[from], times[to]);
        let lost =
            retransmitted[to] > retransmitted[from] || state[from..=to].iter().any(|state| *state >= 2.0);
        let holder = if part(&busy) < BUSY {
            // Who gets no time to write does not write.
            let starved = cores.fullest_of_application(flow.number, &info.from, times[from], times[to]);
            starved.map_or(Holder::Application, |full| Holder::SenderCore(full.core))
        } else if part(&window) >= MOSTLY {
            receiver.map_or(Holder::ReceiveWindow, |full| full.at_receiver())
        } else if part(&buffer) >= MOSTLY {
            sender.map_or(Holder::SendBuffer, |full| Holder::SenderCore(full.core))
        } else if let Some(full) = receiver {
            full.at_receiver()
        } else if let Some(full) = sender {
            Holder::SenderCore(full.core)
        } else if in_between(&rtt) > WAITING * least_rtt {
            Holder::Path
        } else if lost {
            Holder::CwndAfterLoss(worst)
        } else {
            Holder::Cwnd
        };
        let rate_bps = part(&delivered) * 8e9;
        out.push(Interval { flow: flow.number, from_ns: times[from], to_ns: times[to], rate_bps, holder });
        from = to;
    }
    out
}

/// A core that had no time left.
struct Full {
    core: u32,
    softirq: f64,
    application: f64,
}

impl Full {
    fn at_receiver(&self) -> Holder {
        if self.softirq >= self.application {
            Holder::ReceiverInterruptCore(self.core)
        } else {
            Holder::ReceiverCore(self.core)
        }
    }
}

/// The cores' samples by host and core, in order of time; and which cores of a host worked on a flow, where that is known.
struct Cores<'a> {
    samples: BTreeMap<(&'a str, u32), Vec<&'a CoreSample>>,
    used: BTreeMap<(u32, &'a str), BTreeSet<u32>>,
    applications: BTreeSet<(u32, &'a str, u32)>,
}

/// A counter that some rows do not have: it has not begun, or is what it was.
fn known_so_far(mut values: Vec<f64>) -> Vec<f64> {
    let mut last = 0.0;
    for value in &mut values {
        if value.is_nan() {
            *value = last;
        }
        last = *value;
    }
    values
}

impl<'a> Cores<'a> {
    fn of(recording: &'a Recording) -> Cores<'a> {
        let rows = &recording.cores;
        let mut by_core: BTreeMap<(&str, u32), Vec<&CoreSample>> = BTreeMap::new();
        for row in rows {
            by_core.entry((&row.host, row.core)).or_default().push(row);
        }
        by_core.values_mut().for_each(|rows| rows.sort_by_key(|row| row.t_ns));
        let mut used: BTreeMap<(u32, &str), BTreeSet<u32>> = BTreeMap::new();
        let mut applications = BTreeSet::new();
        for placement in &recording.info.placement {
            let of = |core: &u32| (placement.flow, placement.host.as_str(), *core);
            applications.extend(placement.application.keys().map(of));
            let cores = placement.application.keys().chain(placement.incoming.keys());
            used.entry((placement.flow, &placement.host)).or_default().extend(cores);
        }
        Cores { samples: by_core, used, applications }
    }

    /// The fullest core of a host, if it had no time left; not one that had nothing to do with the flow.
    fn fullest(&self, flow: u32, host: &str, from_ns: i64, to_ns: i64) -> Option<Full> {
        let used = self.used.get(&(flow, host));
        self.fullest_where(host, from_ns, to_ns, |core| used.is_none_or(|used| used.contains(&core)))
    }

    /// The same of those on which the flow's application is known to have been.
    fn fullest_of_application(&self, flow: u32, host: &str, from_ns: i64, to_ns: i64) -> Option<Full> {
        self.fullest_where(host, from_ns, to_ns, |core| self.applications.contains(&(flow, host, core)))
    }

    fn fullest_where(
        &self,
        host: &str,
        from_ns: i64,
        to_ns: i64,
        which: impl Fn(u32) -> bool,
    ) -> Option<Full> {
        let of = |((at, core), rows): (&(&str, u32), &Vec<&CoreSample>)| {
            if *at != host || !which(*core) {
                return None;
            }
            let last = |t_ns: i64| rows[..rows.partition_point(|row| row.t_ns <= t_ns)].last();
            let (before, after) = (last(from_ns), last(to_ns)?);
            let part = |of: fn(&CoreSample) -> i64| {
                (of(after) - before.map_or(0, |row| of(row))) as f64 / (to_ns - from_ns).max(1) as f64
            };
            let softirq = part(|row| row.hardirq_ns + row.softirq_ns + row.ksoftirqd_ns);
            let application = part(|row| row.app_ns);
            let all = softirq + application + part(|row| row.capture_ns + row.load_ns);
            (all >= FULL).then_some((all, Full { core: *core, softirq, application }))
        };
        let full = self.samples.iter().filter_map(of).max_by(|a, b| a.0.total_cmp(&b.0));
        full.map(|(_, full)| full)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::FlowInfo;

    /// Samples a second apart of a flow that is busy all the time, changed by `each` (second, sample).
    fn recording(seconds: i64, each: impl Fn(i64, &mut FlowSample)) -> Recording {
        let mut recording = Recording::default();
        recording.info.duration_ns = seconds * 1_000_000_000;
        recording.info.flows = vec![FlowInfo {
            label: "cubic".into(),
            kind: "tcp".into(),
            from: "sender".into(),
            to: "receiver".into(),
            stop_ns: recording.info.duration_ns,
            ..FlowInfo::default()
        }];
        for second in 0..=seconds {
            let mut sample = FlowSample::empty(second * 1_000_000_000, 0);
            sample.delivered_bytes = Some(second as u64 * 125_000_000);
            sample.busy_ns = Some(second * 1_000_000_000);
            (sample.rwnd_limited_ns, sample.sndbuf_limited_ns) = (Some(0), Some(0));
            (sample.rtt_ns, sample.min_rtt_ns) = (Some(10_000_000), Some(10_000_000));
            (sample.retrans_packets, sample.ca_state) = (Some(0), Some(0));
            each(second, &mut sample);
            recording.flows.push(sample);
        }
        recording
    }

    fn told(recording: &Recording) -> Vec<(i64, i64, String)> {
        let intervals = held_back(&View::new(recording).unwrap(), 1_000_000_000);
        let seconds = |ns: i64| ns / 1_000_000_000;
        intervals.iter().map(|i| (seconds(i.from_ns), seconds(i.to_ns), i.holder.words())).collect()
    }

    #[test]
    fn each_interval_has_its_holder_and_alike_ones_are_one() {
        let recording = recording(6, |second, sample| {
            // 0-2 growing, 2-3 the application pauses, 3-5 the receive window, 5-6 the path.
            sample.busy_ns = Some((second - i64::from(second > 2)) * 1_000_000_000);
            sample.rwnd_limited_ns = Some((second.clamp(3, 5) - 3) * 900_000_000);
            if second >= 6 {
                sample.rtt_ns = Some(30_000_000);
            }
        });
        let expected = [(0, 2, "cwnd"), (2, 3, "application"), (3, 5, "receive window"), (5, 6, "path rate")];
        assert_eq!(told(&recording), expected.map(|(from, to, words)| (from, to, words.to_owned())));
    }

    #[test]
    fn losses_are_named_with_the_stage_of_the_ledger() {
        let mut recording = recording(2, |second, sample| sample.retrans_packets = Some(second as u64 * 5));
        assert_eq!(told(&recording), [(0, 2, "cwnd after loss".to_owned())]);
        recording.ledger.push(LedgerRow {
            direction: wirespeed_record::Direction::Data,
            entry: "lost".into(),
            stage: Some(Stage::RxRing),
            place: "receiver/eth0".into(),
            packets: 10,
            source: String::new(),
        });
        assert_eq!(told(&recording), [(0, 2, "cwnd after loss at rx_ring".to_owned())]);
    }

    #[test]
    fn only_cores_that_worked_on_the_flow_count_where_they_are_known() {
        let mut recording = recording(2, |second, sample| sample.busy_ns = Some(second * 100_000_000));
        let full = |t: i64| CoreSample {
            host: "sender".into(),
            app_ns: t * 1_000_000_000,
            ..crate::core_time::softirq_sample(t * 1_000_000_000, 3, 0)
        };
        recording.cores = (0..=2).map(full).collect();
        assert_eq!(told(&recording), [(0, 2, "application".to_owned())]);
        let placed = |core: u32| wirespeed_record::Placement {
            flow: 0,
            host: "sender".into(),
            application: [(core, 10)].into(),
            ..Default::default()
        };
        recording.info.placement = vec![placed(3)];
        assert_eq!(told(&recording), [(0, 2, "sender core 3".to_owned())]);
        recording.info.placement = vec![placed(1)];
        assert_eq!(told(&recording), [(0, 2, "application".to_owned())]);
    }

    #[test]
    fn a_full_core_comes_before_what_it_causes() {
        let mut recording =
            recording(2, |second, sample| sample.rwnd_limited_ns = Some(second * 800_000_000));
        let full = |t: i64| crate::core_time::softirq_sample(t * 1_000_000_000, 3, t * 1_000_000_000);
        recording.cores = (0..=2).map(full).collect();
        assert_eq!(told(&recording), [(0, 2, "receiver interrupt core 3".to_owned())]);
    }
}
