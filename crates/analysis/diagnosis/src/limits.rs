//! The limiting factor of each flow over the measurement window, from its factors second by second.

use crate::finding::{Evidence, Finding, Subject};
use crate::id::Id;
use crate::limiting_factor::{Interval, LimitingFactor};
use crate::share::share;
use crate::thresholds::MOSTLY;
use std::collections::BTreeMap;
use wirespeed_metrics::{FlowSeries, View};
use wirespeed_record::{ColumnOf, FlowInfo, FlowSample};

/// The evidence of every limit: the part of the flow's time.
pub(crate) const LIMITED: &str = "limited_ratio";

/// A finding for each flow that one factor limited for most of its time.
pub(crate) fn limits(view: &View, intervals: &[Interval]) -> Vec<Finding> {
    let mut by_flow: BTreeMap<u32, Vec<(&LimitingFactor, i64)>> = BTreeMap::new();
    for interval in intervals {
        let Some(flow) = view.flow(interval.flow) else { continue };
        let length = interval.to_ns.min(flow.own.1).saturating_sub(interval.from_ns.max(flow.own.0));
        if length > 0 {
            by_flow.entry(interval.flow).or_default().push((&interval.factor, length));
        }
    }
    by_flow.iter().filter_map(|(flow, times)| limit(view, view.flow(*flow)?, times)).collect()
}

/// The number of flows with a limiting factor.
pub(crate) fn judged(view: &View, intervals: &[Interval]) -> usize {
    let with_factor = |flow: &&FlowSeries| intervals.iter().any(|interval| interval.flow == flow.number);
    view.flows.iter().filter(with_factor).count()
}

fn limit(view: &View, flow: &FlowSeries, times: &[(&LimitingFactor, i64)]) -> Option<Finding> {
    let all: i64 = times.iter().map(|(_, length)| length).sum();
    let mut by_id: BTreeMap<Id, i64> = BTreeMap::new();
    times.iter().for_each(|(factor, length)| *by_id.entry(factor.id()).or_default() += length);
    // Of equals the first in the table.
    let (id, length) = by_id.into_iter().rev().max_by_key(|(_, length)| *length)?;
    let part = length as f64 / all as f64;
    if part < MOSTLY.value {
        return None;
    }
    // Of several cores or stages the one with most of the time.
    let of = |factor: &LimitingFactor| -> i64 {
        times.iter().filter(|(other, _)| *other == factor).map(|(_, length)| length).sum()
    };
    let factor = times.iter().map(|(factor, _)| *factor).filter(|f| f.id() == id).max_by_key(|f| of(f))?;
    let label = flow.info.map_or_else(|| format!("flow {}", flow.number), |info| info.label.clone());
    let mut evidence = vec![Evidence::beyond(LIMITED, part, "ratio", MOSTLY)];
    evidence.extend(account(view, flow, id));
    evidence.extend(factor.core().map(|core| Evidence::new("core", f64::from(core), "core")));
    let text = format!("{label}: {} for {} of the time", factor.words(), share(part));
    let finding = Finding::new(id, Subject::Flow { flow: flow.number, label }, text, evidence);
    Some(match remedy(factor).or_else(|| remedy_at_splitter(flow.info?, id)) {
        Some(remedy) => finding.with_remedy(remedy),
        None => finding,
    })
}

/// TCP's own account of the measurement window, for the factors that it has.
fn account(view: &View, flow: &FlowSeries, id: Id) -> Option<Evidence> {
    let count = |column: ColumnOf<FlowSample, Option<i64>>| flow.count(view, column);
    let (name, part) = match id {
        Id::LimitReceiveWindow => (WINDOW_ACCOUNT, count(FlowSample::rwnd_limited_ns)?),
        Id::LimitSendBuffer => (BUFFER_ACCOUNT, count(FlowSample::sndbuf_limited_ns)?),
        _ => return None,
    };
    let busy = count(FlowSample::busy_ns).filter(|busy| *busy > 0.0)?;
    Some(Evidence::new(name, part / busy, "ratio"))
}

/// Time that the receive window stopped the sender, over the time in which it had data.
pub(crate) const WINDOW_ACCOUNT: &str = "rwnd_limited_ratio";
/// The same of the send buffer.
pub(crate) const BUFFER_ACCOUNT: &str = "sndbuf_limited_ratio";

fn remedy(factor: &LimitingFactor) -> Option<String> {
    match factor {
        LimitingFactor::Shared(factor) => Some(format!(
            "Move the other processes away from core {} (`taskset -cp CORE PID`), or pin the test to another core.",
            factor.core()?
        )),
        LimitingFactor::CwndAfterLoss(Some((stage, _))) => Some(format!(
            "Remove the losses at {stage}: finding `{}` has the remedy, `wirespeed explain {stage}` the background.",
            Id::of_loss(*stage).word()
        )),
        LimitingFactor::Stalled(Some(why)) => Some(format!(
            "Correct this: {why}. Then check link and MTU: `ip -s link show DEV`, `tracepath ADDRESS`."
        )),
        _ => None,
    }
}

/// The remedy where a splitter is the application of one end.
fn remedy_at_splitter(info: &FlowInfo, id: Id) -> Option<String> {
    let leg = info.leg.as_ref()?;
    let of = &leg.of;
    match id {
        Id::LimitReceiveWindow | Id::LimitReceivingApplication if leg.number < leg.legs => Some(format!(
            "Look at the next connection of {of}: the splitter reads no faster than it sends on there. Then at the receive buffer \
             of {}.",
            info.to
        )),
        Id::LimitApplication if leg.number > 1 => {
            Some(format!("Look at the connection of {of} before this one: it brings no more data."))
        }
        _ => None,
    }
}

/// The sentence about windows and buffers, if they limited most of the flows.
pub(crate) fn windows(findings: &[Finding], flows: usize) -> Option<String> {
    let of = |(id, name, account): (Id, &'static str, &str)| {
        let limited: Vec<&Finding> = findings.iter().filter(|finding| finding.id == id).collect();
        let parts: Vec<f64> = limited.iter().filter_map(|f| f.value(account)).collect();
        let mean = parts.iter().sum::<f64>() / parts.len() as f64;
        (!parts.is_empty()).then_some((name, limited.len(), mean))
    };
    let accounts = [
        (Id::LimitReceiveWindow, "receive window", WINDOW_ACCOUNT),
        (Id::LimitSendBuffer, "send buffer", BUFFER_ACCOUNT),
    ];
    // The first of equals.
    let (name, limited, part) =
        accounts.into_iter().filter_map(of).reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    let whose =
        if limited == flows { "the senders".to_owned() } else { format!("{limited} of {flows} senders") };
    (limited as f64 >= MOSTLY.value * flows as f64)
        .then(|| format!("the {name} stopped {whose} for {} of the time", share(part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose;
    use crate::testing::{busy_flow, softirq_sample};
    use wirespeed_record::{LedgerRow, Recording};

    fn found(recording: &Recording) -> Vec<Finding> {
        let findings = diagnose(&View::new(recording).unwrap()).findings;
        findings.into_iter().filter(|finding| finding.id.family() == "limit").collect()
    }

    fn only(recording: &Recording) -> Finding {
        let mut all = found(recording);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    fn sentence(recording: &Recording) -> Option<String> {
        diagnose(&View::new(recording).unwrap()).sentence()
    }

    #[test]
    fn factor_of_most_seconds_is_the_finding_of_a_flow() {
        let closed = |seconds: i64| {
            busy_flow(10, move |second, sample| {
                sample.rwnd_limited_ns = Some(second.min(seconds) * 900_000_000);
            })
        };
        let window = only(&closed(6));
        assert_eq!((window.id, window.value(LIMITED)), (Id::LimitReceiveWindow, Some(0.6)));
        assert_eq!(window.text, "cubic: receive window for 60 % of the time");
        assert_eq!(window.subject, Subject::Flow { flow: 0, label: "cubic".into() });
        assert!((window.value(WINDOW_ACCOUNT).unwrap() - 0.54).abs() < 1e-9);
        assert_eq!(only(&closed(4)).id, Id::LimitCwnd);
    }

    #[test]
    fn window_limits_a_run_from_half_of_the_time_on() {
        // The run had a threshold of its own before, 30 % of the time.
        let closed = |part: i64| {
            busy_flow(4, move |second, sample| sample.rwnd_limited_ns = Some(second * part * 10_000_000))
        };
        assert_eq!(sentence(&closed(40)), None);
        let half = "the receive window stopped the senders for 50 % of the time";
        assert_eq!(sentence(&closed(50)).as_deref(), Some(half));
    }

    #[test]
    fn window_of_more_than_the_path_holds_is_no_limit_of_the_run() {
        let mut overfull = busy_flow(4, |second, sample| {
            sample.rwnd_limited_ns = Some(second * 800_000_000);
            sample.rtt_ns = Some(25_000_000);
            sample.delivery_rate_bps = Some(1_000_000_000);
        });
        assert_eq!((only(&overfull).id, sentence(&overfull)), (Id::LimitPathRate, None));
        overfull.flows.iter_mut().for_each(|sample| sample.rtt_ns = Some(12_000_000));
        let words = "the receive window stopped the senders for 80 % of the time";
        assert_eq!(sentence(&overfull).as_deref(), Some(words));
    }

    #[test]
    fn window_before_the_measurement_is_no_limit() {
        let mut recording = busy_flow(4, |second, sample| {
            sample.rwnd_limited_ns = Some(second.min(2) * 1_000_000_000);
        });
        let words = "the receive window stopped the senders for 50 % of the time";
        assert_eq!(sentence(&recording).as_deref(), Some(words));
        recording.info.omit_ns = 2_000_000_000;
        assert_eq!(sentence(&recording), None);
    }

    #[test]
    fn window_of_a_minority_of_flows_is_no_limit_of_the_run() {
        let mut recording = busy_flow(4, |second, sample| {
            sample.rwnd_limited_ns = Some(second * 900_000_000);
        });
        let other = busy_flow(4, |_, _| {});
        let add = |recording: &mut Recording, flow: u32| {
            recording.info.flows.extend(other.info.flows.clone());
            recording.flows.extend(other.flows.iter().cloned().map(|mut sample| {
                sample.flow = flow;
                sample
            }));
        };
        add(&mut recording, 1);
        let words = "the receive window stopped 1 of 2 senders for 90 % of the time";
        assert_eq!(sentence(&recording).as_deref(), Some(words));
        add(&mut recording, 2);
        assert_eq!(sentence(&recording), None);
        assert_eq!(found(&recording).len(), 3);
    }

    #[test]
    fn stage_of_the_losses_is_in_text_and_remedy() {
        let mut recording = busy_flow(2, |second, sample| sample.retrans_packets = Some(second as u64 * 5));
        recording.ledger.push(LedgerRow {
            direction: wirespeed_record::Direction::Data,
            entry: wirespeed_record::Entry::Lost,
            stage: Some(wirespeed_record::Stage::RxRing),
            place: "receiver/eth0".into(),
            cause: None,
            packets: 10,
            source: String::new(),
        });
        let loss = only(&recording);
        assert_eq!(loss.text, "cubic: cwnd after loss at rx_ring for 100 % of the time");
        assert!(loss.remedy.contains("`loss.rx-ring`"), "{}", loss.remedy);
    }

    #[test]
    fn core_of_others_has_another_remedy_than_one_of_the_test() {
        let full = |softirq: i64| {
            let mut recording = busy_flow(2, |_, _| {});
            let second = 1_000_000_000;
            recording.cores = (0..=2)
                .map(|t| wirespeed_record::CoreSample {
                    load_ns: t * second * (100 - softirq) / 100,
                    ..softirq_sample(t * second, 3, t * second * softirq / 100)
                })
                .collect();
            only(&recording)
        };
        let (own, shared) = (full(100), full(60));
        assert_eq!((own.id, shared.id), (Id::LimitReceiverInterruptCore, Id::LimitReceiverInterruptCore));
        assert_eq!(own.value("core"), Some(3.0));
        assert!(shared.text.contains("(shared with other processes)"), "{}", shared.text);
        assert!(own.remedy.contains("ethtool -K DEV gro on"), "{}", own.remedy);
        assert!(shared.remedy.contains("away from core 3"), "{}", shared.remedy);
    }
}
