//! Losses of the measurement window, by stage.

use crate::finding::{Evidence, Finding, Subject};
use crate::id::Id;
use crate::limiting_factor::is_queued_before_losses;
use crate::resources::Busy;
use crate::share::share;
use crate::thresholds::{FULL_CORE, LEAST_LOSS};
use wirespeed_metrics::View;
use wirespeed_metrics::core_time::CoreTime;
use wirespeed_record::{Cause, Direction, Entry, LedgerRow, Stage};

/// Losses that are worth a report, the largest part first. Without a ledger of the measurement window they are those of the
/// whole run, and the text has this.
pub(crate) fn losses(view: &View, cores: &[CoreTime]) -> Vec<Finding> {
    let (rows, of_run) = match &view.window_ledger {
        Some(rows) => (rows, ""),
        None => (&view.recording.ledger, " (whole run)"),
    };
    let sent = |direction: Direction| {
        // Without a count of sent packets, the arrived ones are near enough.
        let of = |entry: Entry| rows.iter().find(|row| row.direction == direction && row.entry == entry);
        of(Entry::Sent).or(of(Entry::Delivered)).map_or(0, |row| row.packets).max(1) as f64
    };
    let mut lost: Vec<(&LedgerRow, Stage, f64)> = rows
        .iter()
        .filter(|row| row.entry == Entry::Lost)
        .filter_map(|row| Some((row, row.stage?, row.packets as f64 / sent(row.direction))))
        .filter(|(.., part)| *part >= LEAST_LOSS.value)
        .collect();
    lost.sort_by(|a, b| b.2.total_cmp(&a.2));
    lost.into_iter().map(|(row, stage, part)| loss(view, cores, row, stage, part, of_run)).collect()
}

fn loss(view: &View, cores: &[CoreTime], row: &LedgerRow, stage: Stage, part: f64, of_run: &str) -> Finding {
    let (what, counter) = match row.direction {
        Direction::Data => ("packets", "lost_packets"),
        Direction::Ack => ("ACKs", "lost_ack_packets"),
    };
    let mut evidence = vec![
        Evidence::beyond("lost_ratio", part, "ratio", LEAST_LOSS),
        Evidence::new(counter, row.packets as f64, "packets"),
    ];
    let is_read_there = matches!(stage, Stage::TcpBacklog | Stage::RcvBuf);
    let starved = starved_reader(&row.place, cores).filter(|_| is_read_there);
    let mut meaning = match (starved, row.cause) {
        (Some(softirq), _) => {
            evidence.push(Evidence::new("softirq_ratio", softirq, "ratio"));
            format!("softirq takes {:.0} % of the reader's core", softirq * 100.0)
        }
        // A full queue of the host itself has another meaning than one of the network.
        (None, Some(cause)) if (stage, cause) != (Stage::Qdisc, Cause::QueueFull) => {
            cause.advice().to_owned()
        }
        _ => meaning(stage).to_owned(),
    };
    let mut remedy = remedy(stage, row, starved.is_some());
    if (stage, row.direction, row.cause) == (Stage::Network, Direction::Data, None)
        && let Some(queued) = is_queued_before_losses(view, crate::SECOND_NS)
    {
        // Round trips show the kind of losses in a network without counters.
        let (hint, step) = before_losses(queued);
        meaning = hint.to_owned();
        remedy = Some(step.to_owned());
    }
    if !meaning.is_empty() {
        meaning.insert_str(0, ": ");
    }
    let at = Cause::at(&row.place, row.cause);
    let text = format!("{} of {what} lost at {stage} ({at}){meaning}{of_run}", share(part));
    let finding = Finding::new(Id::of_loss(stage), subject(stage, &row.place), text, evidence);
    match remedy {
        Some(remedy) => finding.with_remedy(remedy),
        None => finding,
    }
}

/// A ring is one of an interface. All other places are as in the ledger.
fn subject(stage: Stage, place: &str) -> Subject {
    match (stage, place.split_once('/')) {
        (Stage::RxRing | Stage::TxRing, Some((host, ring))) => {
            let number = |prefix: &str| ring.strip_prefix(prefix)?.parse().ok();
            let queue = number("rx").or_else(|| number("tx"));
            let interface = queue.is_none().then(|| ring.to_owned());
            Subject::Interface { host: host.to_owned(), interface, queue }
        }
        _ => Subject::Place { place: place.to_owned() },
    }
}

/// The remedy for a known cause or place; `None` if that of the stage is enough.
fn remedy(stage: Stage, row: &LedgerRow, is_starved: bool) -> Option<String> {
    if is_starved {
        return Some(
            "Move the interrupts away from the reader's core (`/proc/irq/N/smp_affinity_list`), or the reader: \
             `taskset -c CORE`."
                .into(),
        );
    }
    // A full queue of the host itself has the remedy of its stage.
    if let Some(cause) = row.cause.filter(|cause| (stage, *cause) != (Stage::Qdisc, Cause::QueueFull)) {
        return Some(of_cause(cause).to_owned());
    }
    match subject(stage, &row.place) {
        Subject::Interface { interface: Some(device), .. } => {
            Some(Id::of_loss(stage).remedy().replace("DEV", &device))
        }
        _ => None,
    }
}

/// The remedy for losses with a known cause.
const fn of_cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Policer => {
            "Pace the senders below the policer's rate: `tc qdisc replace dev DEV root fq maxrate RATE`, or `--max-rate`."
        }
        Cause::QueueFull => {
            "Enlarge the buffer, pace the senders (`--max-rate`), or use an algorithm with short queues: `--congestion bbr`."
        }
        Cause::Red | Cause::CoDel | Cause::Pi2 => {
            "Enable ECN at both hosts (`sysctl -w net.ipv4.tcp_ecn=1`), so that packets are marked and not dropped."
        }
        Cause::PortLimit => {
            "Shape the senders to the rate of the port: `tc qdisc replace dev DEV root fq maxrate RATE`."
        }
        Cause::RandomLoss | Cause::BurstLoss => {
            "Check cables, optics and FEC counters (`ethtool -S DEV`) along the path, and ask the operator."
        }
        Cause::BitErrors => {
            "Clean or replace cables and optics, and compare CRC counters before and after: `ethtool -S DEV`."
        }
        Cause::Outage => {
            "Find the reason for the outage: `ip -s link show DEV`, `dmesg`, the counters of the switch."
        }
    }
}

/// Meaning and remedy of losses in a network without counters, by whether packets queued before them.
const fn before_losses(is_queued: bool) -> (&'static str, &'static str) {
    if is_queued {
        (
            "packets queued before them, so a buffer of the path is full",
            "Ask the operator for the size of the buffer, and pace the flows: `--max-rate`, or `tc qdisc replace dev DEV \
             root fq maxrate RATE`.",
        )
    } else {
        (
            "no queue built up before them: a policer, a shallow buffer or damaged packets; a lower pacing rate \
             (--max-rate) shows which",
            "Repeat the test at several rates, and compare the losses: `wirespeed probe A B --max-rate \"1 Gbit/s,4 \
             Gbit/s\"`.",
        )
    }
}

/// Meaning and remedy of losses at a stage, in short.
const fn meaning(stage: Stage) -> &'static str {
    match stage {
        Stage::IpOut => "there was no route or no neighbour, or packets were larger than the MTU",
        Stage::Qdisc => {
            "the host's own queue is too short for its bursts: raise its limit or txqueuelen, or pace the flow"
        }
        Stage::NetworkOrHost => {
            "the counters of the server's host show which: compare its UdpRcvbufErrors (nstat)"
        }
        Stage::RxRing => {
            "the host empties the ring too late: enlarge it (ethtool -G) or spread its interrupts"
        }
        Stage::SoftnetBacklog => {
            "one core takes in more than it can: raise net.core.netdev_max_backlog or spread the packets (RSS, RPS)"
        }
        Stage::Netfilter => {
            "a packet filter of the host drops them: see `nft list ruleset` and `iptables -nvL`"
        }
        Stage::TcpBacklog => "the reader held the socket for too long: give it a core of its own",
        Stage::TcpOfo => "packets out of order found no room: raise net.ipv4.tcp_rmem",
        Stage::RcvBuf => {
            "the application reads too slowly for this buffer: raise net.core.rmem_max and the socket's buffer, or read faster"
        }
        Stage::SndBuf | Stage::TxRing | Stage::Network | Stage::App => "",
    }
}

/// Softirq's part of the core with most of a host's application, if that core is full and softirq has the larger part of it.
/// The application could read faster with a core of its own.
fn starved_reader(host: &str, cores: &[CoreTime]) -> Option<f64> {
    let reads = cores.iter().filter(|core| core.host == host).map(|core| (Busy::of(core), core.busy()));
    let (busy, whole) = reads.max_by(|a, b| a.0.application.total_cmp(&b.0.application))?;
    let is_starved = busy.application > 0.0 && whole >= FULL_CORE.value && busy.softirq > busy.application;
    is_starved.then_some(busy.softirq)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose;
    use crate::testing::{busy_flow, softirq_sample};
    use wirespeed_record::{LedgerInterval, Recording};

    fn limiting(view: &View) -> Option<String> {
        diagnose(view).sentence()
    }

    fn row(entry: Entry, stage: Option<Stage>, place: &str, packets: i64) -> LedgerRow {
        LedgerRow {
            direction: Direction::Data,
            entry,
            stage,
            place: place.into(),
            cause: None,
            packets,
            source: String::new(),
        }
    }

    #[test]
    fn full_core_and_its_ring_are_in_the_sentence() {
        let mut recording = Recording::default();
        recording.info.duration_ns = 1_000;
        recording.cores = vec![softirq_sample(0, 3, 0), softirq_sample(1_000, 3, 1_000)];
        recording.ledger = vec![
            row(Entry::Sent, None, "sender", 10_000),
            row(Entry::Lost, Some(Stage::RxRing), "receiver/rx3", 40),
        ];
        assert_eq!(
            limiting(&View::new(&recording).unwrap()).as_deref(),
            Some(
                "receiver core 3: softirq 100 % busy; 0.40 % of packets lost at rx_ring (receiver/rx3): the host \
                 empties the ring too late: enlarge it (ethtool -G) or spread its interrupts"
            )
        );
    }

    /// The sentence about a receive buffer that overflows at a reader whose core is full, with this time of softirq.
    fn lost_at_the_buffer(softirq_ns: i64) -> Option<String> {
        let mut recording = Recording::default();
        recording.info.duration_ns = 1_000;
        let (before, mut after) = (softirq_sample(0, 0, 0), softirq_sample(1_000, 0, softirq_ns));
        after.app_ns = 1_000 - softirq_ns;
        recording.cores = vec![before, after];
        recording.ledger = vec![
            row(Entry::Sent, None, "sender", 10_000),
            row(Entry::Lost, Some(Stage::RcvBuf), "receiver", 3_500),
        ];
        limiting(&View::new(&recording).unwrap())
    }

    #[test]
    fn reader_that_softirq_starves_is_not_called_slow() {
        assert_eq!(
            lost_at_the_buffer(910).as_deref(),
            Some(
                "receiver core 0: softirq 91 %, application 9 % busy; 35 % of packets lost at rcvbuf (receiver): \
                 softirq takes 91 % of the reader's core"
            )
        );
        assert_eq!(
            lost_at_the_buffer(200).as_deref(),
            Some(
                "receiver core 0: softirq 20 %, application 80 % busy; 35 % of packets lost at rcvbuf (receiver): \
                 the application reads too slowly for this buffer: raise net.core.rmem_max and the socket's buffer, or \
                 read faster"
            )
        );
    }

    /// Losses at a link to these causes.
    fn lost_at_a_link(lost: &[(Cause, i64)]) -> Recording {
        let mut recording = Recording::default();
        (recording.info.omit_ns, recording.info.duration_ns) = (0, 2_000);
        recording.ledger = vec![row(Entry::Sent, None, "sender", 10_000)];
        recording.ledger.extend(lost.iter().map(|(cause, packets)| LedgerRow {
            cause: Some(*cause),
            ..row(Entry::Lost, Some(Stage::Network), "bottleneck/forward", *packets)
        }));
        recording
    }

    #[test]
    fn losses_have_the_name_and_the_advice_of_their_cause() {
        for cause in Cause::ALL {
            let told = limiting(&View::new(&lost_at_a_link(&[(*cause, 300)])).unwrap()).unwrap();
            let (name, advice) = (cause.name(), cause.advice());
            assert_eq!(
                told,
                format!("3.0 % of packets lost at network (bottleneck/forward: {name}): {advice}")
            );
        }
        // The host's own queue has advice of its own.
        let mut recording = lost_at_a_link(&[(Cause::QueueFull, 300)]);
        recording.ledger[1].stage = Some(Stage::Qdisc);
        let told = limiting(&View::new(&recording).unwrap()).unwrap();
        assert!(told.contains("queue full): the host's own queue is too short for its bursts"), "{told}");
    }

    #[test]
    fn only_losses_of_the_measurement_window_limit_it() {
        let mut recording = lost_at_a_link(&[(Cause::QueueFull, 3_000), (Cause::RandomLoss, 5)]);
        let interval = |from_ns: i64, row: &LedgerRow, packets| LedgerInterval {
            from_ns,
            to_ns: from_ns + 1_000,
            direction: row.direction,
            entry: row.entry,
            stage: row.stage,
            place: row.place.clone(),
            cause: row.cause,
            packets,
            uncertain_packets: 0,
        };
        let [sent, full, random] = &recording.ledger[..] else { unreachable!("three rows were made") };
        recording.ledger_intervals = vec![
            interval(0, sent, 5_000),
            interval(0, full, 3_000),
            interval(1_000, sent, 5_000),
            interval(1_000, random, 5),
        ];
        let told = |recording: &Recording| limiting(&View::new(recording).unwrap()).unwrap();
        assert!(
            told(&recording).starts_with("30 % of packets lost at network (bottleneck/forward: queue full)")
        );
        recording.info.omit_ns = 1_000;
        let advice = Cause::RandomLoss.advice();
        let expected =
            format!("0.10 % of packets lost at network (bottleneck/forward: random loss): {advice}");
        assert_eq!(told(&recording), expected);
        // The ledger was not read where the window begins.
        recording.info.omit_ns = 1_500;
        assert!(told(&recording).contains("this buffer (whole run); 5.0e-2 %"), "{}", told(&recording));
    }

    /// The findings about losses of a run that loses 3 % at a stage.
    fn found(stage: Stage, place: &str, cause: Option<Cause>) -> Finding {
        let mut recording = Recording::default();
        recording.info.duration_ns = 2_000;
        let lost = LedgerRow { cause, ..row(Entry::Lost, Some(stage), place, 300) };
        recording.ledger = vec![row(Entry::Sent, None, "sender", 10_000), lost];
        let mut findings = diagnose(&View::new(&recording).unwrap()).findings;
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings.remove(0)
    }

    #[test]
    fn every_stage_has_its_finding() {
        for stage in Stage::ALL {
            let loss = found(*stage, "receiver/x", None);
            assert_eq!(loss.id, Id::of_loss(*stage));
            assert_eq!((loss.value("lost_ratio"), loss.value("lost_packets")), (Some(0.03), Some(300.0)));
        }
    }

    #[test]
    fn every_cause_in_the_network_has_its_remedy() {
        let remedies: std::collections::BTreeSet<String> = Cause::ALL
            .iter()
            .map(|cause| found(Stage::Network, "bottleneck/forward", Some(*cause)).remedy)
            .collect();
        // Random losses and bursts of them have the same, as RED, CoDel and PI2 have.
        assert_eq!(remedies.len(), Cause::ALL.len() - 3);
        assert!(remedies.iter().all(|remedy| remedy != Id::LossNetwork.remedy()));
    }

    #[test]
    fn ring_is_one_of_an_interface_and_its_remedy_has_the_name() {
        let ring = found(Stage::RxRing, "receiver/eth2", None);
        let interface = |interface: Option<&str>, queue| Subject::Interface {
            host: "receiver".into(),
            interface: interface.map(str::to_owned),
            queue,
        };
        assert_eq!(ring.subject, interface(Some("eth2"), None));
        assert!(ring.remedy.contains("`ethtool -G eth2 rx 8192`"), "{}", ring.remedy);
        let ring = found(Stage::RxRing, "receiver/rx3", None);
        assert_eq!(ring.subject, interface(None, Some(3)));
        assert!(ring.remedy.contains("`ethtool -G DEV rx 8192`"), "{}", ring.remedy);
    }

    #[test]
    fn full_queue_of_the_host_and_of_the_network_have_different_remedies() {
        let [host, network] =
            [Stage::Qdisc, Stage::Network].map(|stage| found(stage, "sender/x", Some(Cause::QueueFull)));
        assert!(host.remedy.contains("txqueuelen"), "{}", host.remedy);
        assert!(network.remedy.contains("--max-rate"), "{}", network.remedy);
    }

    #[test]
    fn round_trips_show_the_kind_of_losses_without_a_counter() {
        let lossy = |rtt_ns: i64| {
            let mut recording = busy_flow(2, |second, sample| {
                sample.rtt_ns = Some(rtt_ns);
                sample.retrans_packets = Some(second as u64);
            });
            recording.ledger = vec![
                row(Entry::Sent, None, "sender", 10_000),
                row(Entry::Lost, Some(Stage::Network), "network", 300),
            ];
            let findings = diagnose(&View::new(&recording).unwrap()).findings;
            findings.into_iter().find(|finding| finding.id == Id::LossNetwork).unwrap()
        };
        let (queued, dropped) = (lossy(30_000_000), lossy(10_000_000));
        assert!(queued.text.contains("packets queued before them"), "{queued}");
        assert!(queued.remedy.contains("pace the flows"), "{}", queued.remedy);
        assert!(dropped.text.contains("no queue built up before them"), "{dropped}");
        assert!(dropped.remedy.contains("several rates"), "{}", dropped.remedy);
    }
}
