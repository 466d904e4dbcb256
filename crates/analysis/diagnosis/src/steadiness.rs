//! Whether a run has reached its steady state: how often its windows went through their cycle, and how long it would
//! have to run.

use crate::limiting_factor::{LimitingFactor, limiting_factors};
use serde::{Deserialize, Serialize};
use wirespeed_metrics::{FlowSeries, Values, View, window_cycles};
use wirespeed_record::{FlowSample, Transport};
use wirespeed_statistics::{mean, quantile};

/// Fewer cycles are not a steady state: a mean over so few depends on where in its cycle the window was at the ends. The
/// standard error of a mean over ten sawteeth is about a tenth of a sawtooth's height.
const LEAST_CYCLES: f64 = 10.0;
/// Into so many equal parts the measured time is split to see whether an equilibrium holds.
const PARTS: i64 = 10;
/// In so many of them window and rate have to be near their median: BBR leaves its equilibrium to probe (ProbeRTT).
const PARTS_AT_REST: usize = 8;
/// So near.
const AT_REST: f64 = 0.1;
/// A part lasts at least so many round trips: BBR's cycle of gains.
const ROUNDS_A_PART: i64 = 8;
/// Length of the intervals with one limiting factor each.
const INTERVAL_NS: i64 = 1_000_000_000;

/// Algorithms whose window grows until it meets a loss or a mark. All others may rest in an equilibrium.
const SAWTOOTH: &[&str] = &[
    "bic",
    "cdg",
    "compound",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "prague",
    "reno",
    "scalable",
    "veno",
    "westwood",
    "yeah",
];

/// Why a run is not steady, of the flow that is farthest from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsteady {
    /// Label of the flow.
    pub label: String,
    /// How many flows are not steady.
    pub flows: usize,
    /// Its metric `window_cycles`.
    pub cycles: u64,
    /// Whether its algorithm may rest in an equilibrium, but window and rate did not.
    pub drifts: bool,
    /// How long the flow was measured.
    pub measured_ns: i64,
    /// How long the run would have to be at least.
    pub needed_ns: i64,
}

impl Unsteady {
    /// `2 window cycles of cubic in the measured 15 s; run at least 80 s`.
    pub fn words(&self) -> String {
        let cycles = format!("{} window cycle{}", self.cycles, if self.cycles == 1 { "" } else { "s" });
        let drifts = if self.drifts { ", and its rate or window has not settled" } else { "" };
        let others = match self.flows - 1 {
            0 => String::new(),
            1 => ", and one more flow".into(),
            n => format!(", and {n} more flows"),
        };
        format!(
            "{cycles} of {} in the measured {} s{drifts}{others}; run at least {} s",
            self.label,
            seconds(self.measured_ns),
            seconds(self.needed_ns)
        )
    }
}

/// Two digits, of small times three.
fn seconds(ns: i64) -> String {
    let seconds = ns as f64 / 1e9;
    if seconds >= 10.0 { format!("{seconds:.0}") } else { format!("{}", (seconds * 100.0).round() / 100.0) }
}

/// Why the run is not steady; `None` if it is, or if none of its flows can be.
///
/// A flow is steady after ten cycles (metric `window_cycles`) of its window in its own part of the measured time, or with a
/// constant window. Unless its algorithm grows until it meets losses, it is also steady in an equilibrium. Its mean window and
/// rate then stay within 10 % of their median in eight of ten equal parts of that time. A part has at least eight round trips.
///
/// Flows of UDP and transfers that ended before the run are not judged. Neither are flows that the application, the receive
/// window, the send buffer or a processor limited for most of the time.
pub fn unsteady(view: &View) -> Option<Unsteady> {
    let restless: Vec<(&FlowSeries, u64, bool)> = view
        .measured()
        .filter(|flow| flow.info.is_some_and(|info| info.kind == Transport::Tcp) && !has_finished(view, flow))
        .filter_map(|flow| {
            let cycles = window_cycles(view, flow).filter(|cycles| *cycles < LEAST_CYCLES)?;
            let grows = flow.info?.congestion.as_deref().is_some_and(|name| SAWTOOTH.contains(&name));
            let rests = has_constant_window(view, flow) || (!grows && is_at_rest(view, flow));
            (!rests).then_some((flow, cycles as u64, !grows))
        })
        .collect();
    if restless.is_empty() {
        return None;
    }
    let limited = LimitedTime::of(view);
    let own: Vec<_> = restless.into_iter().filter(|(flow, ..)| !limited.elsewhere(flow)).collect();
    let (flow, cycles, drifts) = own.iter().min_by_key(|(_, cycles, _)| *cycles)?;
    let (from, to) = flow.own;
    // Without a cycle all that is known is that one takes longer than was measured.
    let needed = from + (to - from) / (*cycles).max(1) as i64 * LEAST_CYCLES as i64;
    Some(Unsteady {
        label: flow.info?.label.clone(),
        flows: own.len(),
        cycles: *cycles,
        drifts: *drifts,
        measured_ns: to - from,
        needed_ns: rounded_up(needed),
    })
}

/// To two digits, in nanoseconds.
fn rounded_up(ns: i64) -> i64 {
    let digits = ns.max(1).ilog10();
    let step = 10_i64.pow(digits.saturating_sub(1));
    (ns + step - 1) / step * step
}

/// A transfer that ended before it had to.
fn has_finished(view: &View, flow: &FlowSeries) -> bool {
    let stop = flow.info.map(|info| info.stop_ns).filter(|stop| *stop > flow.start_ns);
    flow.end_ns < stop.unwrap_or(view.to_ns).min(view.to_ns)
}

fn has_constant_window(view: &View, flow: &FlowSeries) -> bool {
    let windows = measured(view, flow, &view.flow_samples.column(FlowSample::cwnd_bytes), flow.own);
    !windows.is_empty() && windows.iter().all(|window| *window == windows[0])
}

/// The values of the samples in `(from, to]`.
fn measured(view: &View, flow: &FlowSeries, values: &Values, (from, to): (i64, i64)) -> Vec<f64> {
    let times = &view.flow_samples.times()[flow.samples.clone()];
    let first = times.partition_point(|t| *t <= from);
    let last = times.partition_point(|t| *t <= to);
    let values = &values[flow.samples.clone()][first..last.max(first)];
    values.iter().copied().filter(|value| !value.is_nan()).collect()
}

fn is_at_rest(view: &View, flow: &FlowSeries) -> bool {
    let (from, to) = flow.own;
    let part = (to - from) / PARTS;
    if part < ROUNDS_A_PART * flow.info.map_or(0, |info| info.base_rtt_ns) {
        return false;
    }
    let cwnd = view.flow_samples.column(FlowSample::cwnd_bytes);
    let parts: Vec<(i64, i64)> = (0..PARTS).map(|i| (from + i * part, from + (i + 1) * part)).collect();
    let windows: Vec<f64> =
        parts.iter().filter_map(|part| mean(&measured(view, flow, &cwnd, *part))).collect();
    let rates: Vec<f64> = parts.iter().filter_map(|(from, to)| flow.delivered_bytes(*from, *to)).collect();
    stays(&windows) && stays(&rates)
}

/// Whether nearly all parts are near their median.
fn stays(values: &[f64]) -> bool {
    let Some(median) = quantile(values, 0.5) else { return false };
    let near = values.iter().filter(|value| (*value - median).abs() <= AT_REST * median.abs());
    near.count() >= PARTS_AT_REST
}

/// The time of each flow by limiting factor: whether it was something other than its window and the path.
struct LimitedTime(Vec<(u32, i64, bool)>);

impl LimitedTime {
    fn of(view: &View) -> LimitedTime {
        let measured = limiting_factors(view, INTERVAL_NS).into_iter().filter_map(|interval| {
            let own = view.flow(interval.flow)?.own;
            let length = interval.to_ns.min(own.1).saturating_sub(interval.from_ns.max(own.0));
            let path = matches!(
                interval.factor,
                LimitingFactor::Path | LimitingFactor::Cwnd | LimitingFactor::CwndAfterLoss(_)
            );
            (length > 0).then_some((interval.flow, length, !path))
        });
        LimitedTime(measured.collect())
    }

    /// Whether that was most of the time.
    fn elsewhere(&self, flow: &FlowSeries) -> bool {
        let sum = |wanted: &[bool]| -> i64 {
            let own =
                self.0.iter().filter(|(number, _, other)| *number == flow.number && wanted.contains(other));
            own.map(|(_, length, _)| length).sum()
        };
        sum(&[true]) * 2 > sum(&[true, false])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::{EventKind, FlowInfo, Recording};

    const MS: i64 = 1_000_000;
    /// Payload between two samples.
    const STEP: u64 = 1_000_000;

    /// A flow of 20 s, sampled every 100 ms, of which the first 5 s are omitted: a window of so many segments at each sample,
    /// and whether packets were lost since the one before.
    fn recording(congestion: &str, window: impl Fn(i64) -> (u64, bool)) -> Recording {
        let mut recording = Recording::default();
        let info = &mut recording.info;
        (info.duration_ns, info.omit_ns, info.sample_ns) = (20_000 * MS, 5_000 * MS, 100 * MS);
        info.flows = vec![FlowInfo {
            label: congestion.into(),
            kind: Transport::Tcp,
            congestion: Some(congestion.into()),
            stop_ns: 20_000 * MS,
            base_rtt_ns: 20 * MS,
            ..Default::default()
        }];
        let mut retransmitted = 0;
        recording.flows = (0..=200)
            .map(|step| {
                let (cwnd, lost) = window(step);
                retransmitted += u64::from(lost);
                FlowSample {
                    delivered_bytes: Some(step as u64 * STEP),
                    retrans_packets: Some(retransmitted),
                    ca_state: Some(if lost { 3 } else { 0 }),
                    cwnd_bytes: Some(cwnd),
                    busy_ns: Some(step * 100 * MS),
                    rwnd_limited_ns: Some(0),
                    sndbuf_limited_ns: Some(0),
                    rtt_ns: Some(20 * MS),
                    min_rtt_ns: Some(20 * MS),
                    ..FlowSample::empty(step * 100 * MS, 0)
                }
            })
            .collect();
        recording
    }

    /// A sawtooth with a loss every so many samples.
    fn sawtooth(congestion: &str, period: i64) -> Recording {
        recording(congestion, |step| (100 + (step % period) as u64 * 10, step > 0 && step % period == 0))
    }

    fn found(recording: &Recording) -> Option<Unsteady> {
        unsteady(&View::new(recording).unwrap())
    }

    #[test]
    fn a_few_sawteeth_are_not_steady_and_the_remedy_is_said() {
        // Losses at 8, 12, 16 and 20 s of the 5 to 20 s.
        let unsteady = found(&sawtooth("reno", 40)).unwrap();
        assert_eq!((unsteady.cycles, unsteady.measured_ns), (4, 15_000 * MS));
        // 5 s + 15 s / 4 x 10 = 42.5 s.
        assert_eq!(unsteady.words(), "4 window cycles of reno in the measured 15 s; run at least 43 s");
    }

    #[test]
    fn ten_sawteeth_are_steady() {
        assert_eq!(found(&sawtooth("reno", 15)), None);
        assert_eq!(found(&sawtooth("bbr", 15)), None);
    }

    #[test]
    fn a_window_that_only_grows_is_not_steady() {
        let unsteady = found(&recording("cubic", |step| (100 + step as u64, false))).unwrap();
        assert_eq!(unsteady.words(), "0 window cycles of cubic in the measured 15 s; run at least 160 s");
    }

    #[test]
    fn a_constant_window_is_steady() {
        assert_eq!(found(&recording("cubic", |_| (100, false))), None);
    }

    #[test]
    fn recovery_that_goes_on_is_one_cycle() {
        let long = recording("reno", |step| (100 + step as u64, (60..90).contains(&step)));
        assert_eq!(found(&long).unwrap().cycles, 1);
        let mut twice = long;
        for (step, sample) in twice.flows.iter_mut().enumerate() {
            sample.ssthresh_bytes = Some(if step < 75 { 50 } else { 40 });
        }
        assert_eq!(found(&twice).unwrap().cycles, 2, "another threshold is another reduction");
    }

    #[test]
    fn cycles_between_samples_count_without_a_state() {
        let mut short = recording("reno", |step| (100 + step as u64 % 7, true));
        short.flows.iter_mut().for_each(|sample| sample.ca_state = Some(0));
        assert_eq!(found(&short), None);
        short.flows.iter_mut().for_each(|sample| sample.ca_state = None);
        assert_eq!(found(&short).unwrap().cycles, 0, "retransmissions that never pause may be one recovery");
    }

    /// A probe of two samples every ten seconds, as BBR's for the round-trip time.
    fn probing(congestion: &str, drift: u64) -> Recording {
        recording(congestion, |step| {
            (if step % 100 < 2 { 4 } else { 100 + step as u64 * drift / 200 }, false)
        })
    }

    #[test]
    fn an_equilibrium_is_steady_unless_the_algorithm_has_none() {
        assert_eq!(found(&probing("bbr", 5)), None);
        let drifting = found(&probing("vegas", 90)).unwrap();
        assert!(drifting.drifts && drifting.words().contains("has not settled"), "{}", drifting.words());
        assert!(found(&probing("cubic", 5)).is_some());
    }

    #[test]
    fn a_rate_that_falls_is_no_equilibrium() {
        let mut slower = probing("bbr", 0);
        for sample in &mut slower.flows {
            let t = sample.t_ns as u64 / 1_000_000;
            sample.delivered_bytes = Some(1_000_000_000 - (20_000 - t) * (20_000 - t));
        }
        assert!(found(&slower).unwrap().drifts);
    }

    #[test]
    fn parts_of_few_round_trips_show_no_equilibrium() {
        let mut far = probing("bbr", 0);
        far.info.flows[0].base_rtt_ns = 200 * MS;
        assert!(found(&far).is_some());
    }

    #[test]
    fn flows_that_their_hosts_hold_back_are_not_judged() {
        let growing = || recording("cubic", |step| (100 + step as u64, false));
        let limited = |by: fn(&mut FlowSample)| {
            let mut recording = growing();
            recording.flows.iter_mut().for_each(by);
            found(&recording)
        };
        assert_eq!(
            limited(|sample| sample.rwnd_limited_ns = Some(sample.t_ns * 6 / 10)),
            None,
            "receive window"
        );
        assert_eq!(
            limited(|sample| sample.sndbuf_limited_ns = Some(sample.t_ns * 6 / 10)),
            None,
            "send buffer"
        );
        assert_eq!(limited(|sample| sample.busy_ns = Some(sample.t_ns / 2)), None, "application");
        assert!(limited(|sample| sample.rwnd_limited_ns = Some(sample.t_ns / 10)).is_some());
    }

    #[test]
    fn a_transfer_that_has_ended_is_not_judged() {
        let mut done = recording("cubic", |step| (100 + step as u64, false));
        done.events = vec![wirespeed_record::Event {
            t_ns: 12_000 * MS,
            flow: Some(0),
            kind: EventKind::FlowEnd,
            host: None,
            detail: String::new(),
            burst_packet: None,
        }];
        assert_eq!(found(&done), None);
    }

    #[test]
    fn the_worst_flow_speaks_for_the_others() {
        let mut both = sawtooth("reno", 40);
        let mut second = sawtooth("cubic", 70);
        second.flows.iter_mut().for_each(|sample| sample.flow = 1);
        both.info.flows.append(&mut second.info.flows);
        both.flows.append(&mut second.flows);
        // Losses at 7, 14 and, at its end, no more than 20 s.
        assert_eq!(
            found(&both).unwrap().words(),
            "2 window cycles of cubic in the measured 15 s, and one more flow; run at least 80 s"
        );
    }
}
