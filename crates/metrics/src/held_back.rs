//! What held a flow back, second by second: the kernel's own account of the sender's time (TCP_INFO's chronographs), the
//! time of the cores, losses and round-trip times. The same rules serve a model and a live host.

use crate::samples::Values;
use crate::view::View;
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_record::{Cause, CoreSample, Direction, FlowInfo, FlowSample, Recording, Stage};

/// What held a flow back in an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The application wrote less than could have been sent.
    Application,
    /// A core of the sender was full.
    SenderCore(u32),
    /// The send buffer was full while the window had room.
    SendBuffer,
    /// The congestion window, after losses; where most packets were lost and why, if the ledger says.
    CwndAfterLoss(Option<(Stage, Option<Cause>)>),
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
            Holder::CwndAfterLoss(Some((stage, None))) => format!("cwnd after loss at {stage}"),
            Holder::CwndAfterLoss(Some((stage, Some(cause)))) => {
                format!("cwnd after loss at {stage} ({})", cause.name())
            }
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
    let worst = WorstStages::of(view.recording);
    let mut all: Vec<Interval> = Vec::new();
    for told in evidence(view, length_ns) {
        let interval = told.interval(&cores, &worst);
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
    all
}

/// Where most data was lost.
struct WorstStages {
    /// In each interval in which some was: its start, its end, where.
    intervals: Option<Vec<(i64, i64, Site)>>,
    /// In the whole run.
    run: Option<Site>,
}

/// Where packets were lost, and why if that is known.
type Site = (Stage, Option<Cause>);

impl WorstStages {
    fn of(recording: &Recording) -> WorstStages {
        let is_loss =
            |direction, entry: &str, packets| direction == Direction::Data && entry == "lost" && packets > 0;
        let mut sums: BTreeMap<(i64, i64), BTreeMap<Site, i64>> = BTreeMap::new();
        for row in &recording.ledger_intervals {
            if let Some(stage) = row.stage.filter(|_| is_loss(row.direction, &row.entry, row.packets)) {
                *sums.entry((row.from_ns, row.to_ns)).or_default().entry((stage, row.cause)).or_default() +=
                    row.packets;
            }
        }
        let worst = |sums: BTreeMap<Site, i64>| sums.into_iter().max_by_key(|(_, packets)| *packets);
        let intervals =
            sums.into_iter().filter_map(|((from, to), sums)| Some((from, to, worst(sums)?.0))).collect();
        let lost = recording.ledger.iter().filter(|row| is_loss(row.direction, &row.entry, row.packets));
        WorstStages {
            intervals: (!recording.ledger_intervals.is_empty()).then_some(intervals),
            run: lost.max_by_key(|row| row.packets).and_then(|row| Some((row.stage?, row.cause))),
        }
    }

    /// Where losses were that a sender noticed from `from_ns` to `to_ns`: then, or the last time before, since it notices
    /// later than they happen. Without a ledger by interval that of the run has to do.
    fn noticed(&self, from_ns: i64, to_ns: i64) -> Option<Site> {
        let Some(intervals) = &self.intervals else { return self.run };
        let shared = |from: i64, to: i64| to.min(to_ns) - from.max(from_ns);
        let then = intervals.iter().filter(|(from, to, _)| shared(*from, *to) > 0);
        let before = || intervals.iter().rev().find(|(from, _, _)| *from < from_ns);
        then.max_by_key(|(from, to, _)| shared(*from, *to)).or_else(before).map(|(_, _, site)| *site)
    }
}

/// What an interval of a flow shows.
struct Evidence<'a> {
    flow: u32,
    info: &'a FlowInfo,
    from_ns: i64,
    to_ns: i64,
    /// Growth of [`FlowSample::delivered_bytes`].
    delivered: f64,
    /// Growth of [`FlowSample::busy_ns`], of which so much by the receive window and the send buffer.
    busy: f64,
    by_window: f64,
    by_buffer: f64,
    lost: bool,
    /// Mean over the samples of the interval.
    rtt: f64,
    /// The least until its end.
    least_rtt: f64,
}

/// Which samples an interval lies between, and the first of its flow.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    from: usize,
    to: usize,
}

/// What each interval shows, flow by flow. Every column is read once, for all flows: it may be on disk.
fn evidence<'a>(view: &View<'a>, length_ns: i64) -> Vec<Evidence<'a>> {
    let samples = &view.flow_samples;
    let times = samples.times();
    let mut all = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    for flow in &view.flows {
        let Some(info) = flow.info.filter(|info| info.kind == "tcp") else { continue };
        let mut from = flow.samples.start;
        for to in flow.samples.clone().skip(1) {
            if times[to] - times[from] < length_ns && to + 1 < flow.samples.end {
                continue;
            }
            spans.push(Span { first: flow.samples.start, from, to });
            all.push(Evidence {
                flow: flow.number,
                info,
                from_ns: times[from],
                to_ns: times[to],
                delivered: 0.0,
                busy: 0.0,
                by_window: 0.0,
                by_buffer: 0.0,
                lost: false,
                rtt: f64::NAN,
                least_rtt: f64::INFINITY,
            });
            from = to;
        }
    }
    // A column is let go before the next one is read.
    let mut each = |values: Values, put: &dyn Fn(&mut Evidence<'a>, &[f64], Span)| {
        all.iter_mut().zip(&spans).for_each(|(evidence, span)| put(evidence, &values, *span));
    };
    let growth = |values: &[f64], span: Span| values[span.to] - values[span.from];
    each(samples.column(FlowSample::delivered_bytes), &|e, values, span| {
        // Where a sample has no count it has not begun, or is what it was.
        let until = |at: usize| values[span.first..=at].iter().rev().find(|value| !value.is_nan());
        e.delivered = until(span.to).unwrap_or(&0.0) - until(span.from).unwrap_or(&0.0);
    });
    each(samples.column(FlowSample::busy_ns), &|e, values, span| e.busy = growth(values, span));
    each(samples.column(FlowSample::rwnd_limited_ns), &|e, values, span| e.by_window = growth(values, span));
    each(samples.column(FlowSample::sndbuf_limited_ns), &|e, values, span| {
        e.by_buffer = growth(values, span)
    });
    each(samples.column(FlowSample::retrans_packets), &|e, values, span| e.lost = growth(values, span) > 0.0);
    each(samples.column(FlowSample::ca_state), &|e, values, span| {
        e.lost |= values[span.from..=span.to].iter().any(|state| *state >= 2.0);
    });
    let known = |values: &[f64], span: Span| -> Vec<f64> {
        values[span.from..=span.to].iter().copied().filter(|value| !value.is_nan()).collect()
    };
    each(samples.column(FlowSample::rtt_ns), &|e, values, span| {
        let here = known(values, span);
        e.rtt = here.iter().sum::<f64>() / here.len().max(1) as f64;
    });
    each(samples.column(FlowSample::min_rtt_ns), &|e, values, span| {
        e.least_rtt = known(values, span).into_iter().fold(f64::INFINITY, f64::min);
    });
    for index in 1..all.len() {
        if all[index - 1].flow == all[index].flow {
            all[index].least_rtt = all[index].least_rtt.min(all[index - 1].least_rtt);
        }
    }
    all
}

impl Evidence<'_> {
    fn interval(&self, cores: &Cores, worst: &WorstStages) -> Interval {
        let (from_ns, to_ns) = (self.from_ns, self.to_ns);
        let lasted = (to_ns - from_ns) as f64;
        let sender = cores.fullest(self.flow, &self.info.from, from_ns, to_ns);
        let receiver = cores.fullest(self.flow, &self.info.to, from_ns, to_ns);
        let holder = if self.busy / lasted < BUSY {
            // Who gets no time to write does not write.
            let starved = cores.fullest_of_application(self.flow, &self.info.from, from_ns, to_ns);
            starved.map_or(Holder::Application, |full| Holder::SenderCore(full.core))
        } else if self.by_window / lasted >= MOSTLY {
            receiver.map_or(Holder::ReceiveWindow, |full| full.at_receiver())
        } else if self.by_buffer / lasted >= MOSTLY {
            sender.map_or(Holder::SendBuffer, |full| Holder::SenderCore(full.core))
        } else if let Some(full) = receiver {
            full.at_receiver()
        } else if let Some(full) = sender {
            Holder::SenderCore(full.core)
        } else if self.rtt > WAITING * self.least_rtt {
            Holder::Path
        } else if self.lost {
            Holder::CwndAfterLoss(worst.noticed(self.from_ns, self.to_ns))
        } else {
            Holder::Cwnd
        };
        Interval { flow: self.flow, from_ns, to_ns, rate_bps: self.delivered / lasted * 8e9, holder }
    }
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
    use wirespeed_record::{LedgerInterval, LedgerRow};

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
            direction: Direction::Data,
            entry: "lost".into(),
            stage: Some(Stage::RxRing),
            place: "receiver/eth0".into(),
            cause: None,
            packets: 10,
            source: String::new(),
        });
        assert_eq!(told(&recording), [(0, 2, "cwnd after loss at rx_ring".to_owned())]);
        (recording.ledger[0].stage, recording.ledger[0].cause) = (Some(Stage::Network), Some(Cause::Policer));
        assert_eq!(told(&recording), [(0, 2, "cwnd after loss at network (policer)".to_owned())]);
    }

    #[test]
    fn losses_are_named_with_the_stage_of_their_own_interval() {
        let mut recording = recording(4, |second, sample| sample.retrans_packets = Some(second as u64 * 5));
        let lost = |second: i64, stage, packets| LedgerInterval {
            from_ns: second * 1_000_000_000,
            to_ns: (second + 1) * 1_000_000_000,
            direction: Direction::Data,
            entry: "lost".into(),
            stage: Some(stage),
            place: String::new(),
            cause: None,
            packets,
            uncertain_packets: 0,
        };
        recording.ledger_intervals = vec![
            lost(1, Stage::Qdisc, 5),
            lost(1, Stage::RxRing, 3),
            lost(1, Stage::RxRing, 3),
            // What is noticed in the third second was lost in the second one.
            lost(3, Stage::Network, 1),
        ];
        let expected = [
            (0, 1, "cwnd after loss"),
            (1, 3, "cwnd after loss at rx_ring"),
            (3, 4, "cwnd after loss at network"),
        ];
        assert_eq!(told(&recording), expected.map(|(from, to, words)| (from, to, words.to_owned())));
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
