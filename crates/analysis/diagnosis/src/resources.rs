//! Links and cores that were full over the measurement window, and runs in which nothing was delivered.

use crate::finding::{Evidence, Finding, Subject};
use crate::id::Id;
use crate::limiting_factor::{Interval, LimitingFactor};
use crate::thresholds::{FULL_CORE, FULL_LINK, OWN_WORK};
use wirespeed_metrics::core_time::CoreTime;
use wirespeed_metrics::{View, bottleneck};
use wirespeed_record::{FlowSample, Recording};

/// No flow delivered anything, and the reason if an interval has one.
pub(crate) fn nothing_delivered(view: &View, intervals: &[Interval]) -> Option<Finding> {
    let delivered = view.sum(|flow| flow.count(view, FlowSample::delivered_bytes))?;
    if delivered > 0.0 {
        return None;
    }
    let why = intervals.iter().find_map(|interval| match &interval.factor {
        LimitingFactor::Stalled(why) => why.clone(),
        _ => None,
    });
    let evidence = vec![Evidence::new("delivered_bytes", delivered, "bytes")];
    let of = |text: String| Finding::new(Id::NothingDelivered, Subject::Run, text, evidence);
    Some(match why {
        None => of("nothing was delivered".to_owned()),
        Some(why) => of(format!("nothing was delivered: {why}"))
            .with_remedy(format!("Correct this, and repeat the test: {why}.")),
    })
}

/// The most used link carries all it can.
pub(crate) fn full_link(view: &View) -> Option<Finding> {
    let most = bottleneck(view).filter(|most| most.utilisation >= FULL_LINK.value)?;
    // Packets that are counted as sent ahead of their time may be on the border of the window.
    let part = most.utilisation.min(1.0);
    let name = &most.link.name;
    let text = format!("the path's rate is the limit ({name} {:.0} % used)", part * 100.0);
    let evidence = vec![
        Evidence::beyond("link_utilisation", part, "ratio", FULL_LINK),
        Evidence::new("rate_bps", most.link.rate_bps as f64, "bit/s"),
    ];
    Some(Finding::new(Id::LinkRate, Subject::Link { link: name.clone() }, text, evidence))
}

/// The time of a core, with [`KINDS`](wirespeed_metrics::core_time::KINDS) as a sentence has them.
pub(crate) struct Busy {
    pub softirq: f64,
    pub application: f64,
    pub other: f64,
}

impl Busy {
    pub(crate) fn of(core: &CoreTime) -> Busy {
        let [hardirq, softirq, ksoftirqd, application, capture, load] = core.parts;
        Busy { softirq: hardirq + softirq + ksoftirqd, application, other: capture + load }
    }
}

/// Cores that the test filled, those with most softirq work first. A core that others fill is not one of them.
pub(crate) fn full_cores(recording: &Recording, cores: &[CoreTime]) -> Vec<Finding> {
    let machine = |name: &str| {
        let host = recording.info.hosts.iter().find(|host| host.name == name)?;
        host.settings.get("machine.boot_id")
    };
    // Two hosts may be one machine: then each counts the application of its own end only.
    let own = |core: &CoreTime| {
        let twins = cores.iter().filter(|other| {
            other.host != core.host
                && other.core == core.core
                && machine(core.host).is_some_and(|id| machine(other.host) == Some(id))
        });
        let busy = Busy::of(core);
        busy.softirq + busy.application + twins.map(|other| Busy::of(other).application).sum::<f64>()
    };
    let is_full =
        |core: &&CoreTime| core.busy() >= FULL_CORE.value && own(core) >= OWN_WORK.value * core.busy();
    let mut full: Vec<&CoreTime> = cores.iter().filter(is_full).collect();
    full.sort_by(|a, b| Busy::of(b).softirq.total_cmp(&Busy::of(a).softirq));
    full.into_iter().map(full_core).collect()
}

fn full_core(core: &CoreTime) -> Finding {
    let busy = Busy::of(core);
    let kinds =
        [("softirq", busy.softirq), ("application", busy.application), ("other processes", busy.other)];
    let is_shown = |(_, part): &&(&str, f64)| *part >= 0.01;
    let words: Vec<String> =
        kinds.iter().filter(is_shown).map(|(kind, part)| format!("{kind} {:.0} %", part * 100.0)).collect();
    let text = format!("{} core {}: {} busy", core.host, core.core, words.join(", "));
    let mut evidence = vec![Evidence::beyond("busy_ratio", core.busy(), "ratio", FULL_CORE)];
    evidence.extend(
        kinds.map(|(kind, part)| Evidence::new(format!("{}_ratio", kind.replace(' ', "_")), part, "ratio")),
    );
    let finding =
        Finding::new(Id::FullCore, Subject::Core { host: core.host.into(), core: core.core }, text, evidence);
    match () {
        () if busy.softirq >= busy.application => finding.with_remedy(
            "Enable GRO (`ethtool -K DEV gro on`), and spread the interrupts over queues and cores: `ethtool -L DEV combined N`.",
        ),
        () => finding.with_remedy(
            "Give the application a core without interrupts (`taskset -c CORE`), or use several flows.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose;
    use crate::testing::{busy_flow, softirq_sample};
    use wirespeed_record::{LinkInfo, QueueSample};

    fn limiting(view: &View) -> Option<String> {
        diagnose(view).sentence()
    }

    /// The sentence about a link of 8 Gbit/s that has carried these bytes in a microsecond.
    fn carried(sent_bytes: u64) -> Option<String> {
        let mut recording = Recording::default();
        recording.info.duration_ns = 1_000;
        recording.info.links = vec![LinkInfo {
            name: "bottleneck".into(),
            rate_bps: 8_000_000_000,
            forward_queue: "bottleneck/forward".into(),
            ..LinkInfo::default()
        }];
        let sample = |t_ns, sent_bytes| QueueSample {
            t_ns,
            queue: "bottleneck/forward".into(),
            kind: "drop-tail".into(),
            backlog_bytes: 0,
            backlog_packets: 0,
            sent_bytes,
            sent_packets: 0,
            dropped_packets: 0,
            lost_packets: None,
            copied_packets: None,
            repair_packets: None,
            decoded_packets: None,
            recovered_packets: None,
            requeues: 0,
            overlimits: 0,
            marked_packets: None,
        };
        recording.queues = vec![sample(0, 0), sample(1_000, sent_bytes)];
        limiting(&View::new(&recording).unwrap())
    }

    #[test]
    fn link_that_carries_all_it_can_is_the_limit() {
        assert_eq!(carried(990).as_deref(), Some("the path's rate is the limit (bottleneck 99 % used)"));
        assert_eq!(carried(900), None);
    }

    #[test]
    fn core_with_work_of_others_is_no_limit() {
        let full = |own: i64| {
            let mut recording = Recording::default();
            recording.info.duration_ns = 1_000;
            let mut after = softirq_sample(1_000, 3, own);
            after.load_ns = 1_000 - own;
            recording.cores = vec![softirq_sample(0, 3, 0), after];
            limiting(&View::new(&recording).unwrap())
        };
        let words = "receiver core 3: softirq 60 %, other processes 40 % busy";
        assert_eq!(full(600).as_deref(), Some(words));
        assert_eq!(full(400), None);
    }

    #[test]
    fn core_that_is_not_full_is_no_limit() {
        let mut recording = Recording::default();
        recording.info.duration_ns = 1_000;
        recording.cores = vec![softirq_sample(0, 3, 0), softirq_sample(1_000, 3, 400)];
        assert_eq!(limiting(&View::new(&recording).unwrap()), None);
    }

    #[test]
    fn run_without_a_delivery_is_critical_and_has_no_other_limit() {
        let mut recording = busy_flow(2, |second, sample| {
            sample.delivered_bytes = Some(0);
            sample.rwnd_limited_ns = Some(second * 900_000_000);
        });
        recording.events = vec![wirespeed_record::Event {
            t_ns: 5,
            kind: wirespeed_record::EventKind::LinkDown,
            flow: None,
            host: Some("receiver".into()),
            detail: "eth0".into(),
            burst_packet: None,
        }];
        let diagnosis = diagnose(&View::new(&recording).unwrap());
        let words = "nothing was delivered: the link of receiver (eth0) was down";
        assert_eq!(diagnosis.sentence().as_deref(), Some(words));
        let nothing = diagnosis.findings.iter().find(|f| f.id == Id::NothingDelivered).unwrap();
        assert_eq!(nothing.severity, crate::Severity::Critical);
        assert!(nothing.remedy.contains("the link of receiver (eth0) was down"), "{}", nothing.remedy);
    }
}
