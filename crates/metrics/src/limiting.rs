//! What limited a run, in a sentence: from the accounts of cores, stages and windows that its recording holds. The
//! same words serve a model and a live host.

use crate::core_time::{CoreTime, core_times};
use crate::held_back::{Holder, held_back, is_queued_before_losses};
use crate::link::bottleneck;
use crate::view::View;
use wirespeed_record::{Cause, ColumnOf, Direction, Entry, FlowSample, LedgerRow, Recording, Stage};

/// A core that is busy for so large a part of the time has no room for more, and a link that is used so much.
const FULL: f64 = 0.97;
/// A part of the packets that is worth a word.
const WORTH_A_WORD: f64 = 1e-6;
/// A part of the time that a window or a buffer must have stopped a flow to be called its limit.
const MOSTLY: f64 = 0.3;
/// The test's part of a full core's time at which the core can be what limits it.
const OWN: f64 = 0.5;
/// Length of an interval of which is asked what limited a flow in it.
const SECOND_NS: i64 = 1_000_000_000;

/// One sentence about what limited the run, or `None` if the recording does not tell.
pub fn limiting(view: &View) -> Option<String> {
    let cores = core_times(view.recording);
    let mut parts: Vec<String> = full_link(view).into_iter().collect();
    if let Some(nothing) = nothing_delivered(view) {
        // A window or a core that stands still limits nothing.
        return Some([vec![nothing], losses(view, &cores)].concat().join("; "));
    }
    // TCP's own account comes first: who waits for a window does not wait for a core.
    match windows(view) {
        Some(window) => parts.push(window),
        None => parts.extend(busy_cores(view.recording, &cores)),
    }
    parts.extend(losses(view, &cores));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Why nothing was delivered, if nothing was.
fn nothing_delivered(view: &View) -> Option<String> {
    let delivered = view.sum(|flow| flow.count(view, FlowSample::delivered_bytes))?;
    if delivered > 0.0 {
        return None;
    }
    let why = held_back(view, SECOND_NS).into_iter().find_map(|interval| match interval.holder {
        Holder::Stalled(why) => why,
        _ => None,
    });
    Some(why.map_or("nothing was delivered".to_owned(), |why| format!("nothing was delivered: {why}")))
}

/// The most used link carries all that it can.
fn full_link(view: &View) -> Option<String> {
    let most = bottleneck(view).filter(|most| most.utilisation >= FULL)?;
    // A piece of work whose packets are counted as sent ahead of their time may be on the border of the window.
    let part = most.utilisation.min(1.0);
    Some(format!("the path's rate is the limit ({} {:.0} % used)", most.link.name, part * 100.0))
}

/// The time of a core that [`KINDS`](crate::core_time::KINDS) splits further than a sentence needs.
struct Busy {
    softirq: f64,
    application: f64,
    other: f64,
}

impl Busy {
    fn of(core: &CoreTime) -> Busy {
        let [hardirq, softirq, ksoftirqd, application, capture, load] = core.parts;
        Busy { softirq: hardirq + softirq + ksoftirqd, application, other: capture + load }
    }
}

/// Cores that the test filled. One that others fill says nothing of the test.
fn busy_cores(recording: &Recording, cores: &[CoreTime]) -> Vec<String> {
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
    let is_full = |core: &&CoreTime| core.busy() >= FULL && own(core) >= OWN * core.busy();
    let mut full: Vec<&CoreTime> = cores.iter().filter(is_full).collect();
    full.sort_by(|a, b| Busy::of(b).softirq.total_cmp(&Busy::of(a).softirq));
    let words = |core: &CoreTime| {
        let busy = Busy::of(core);
        let percent = |part: f64| format!("{:.0} %", part * 100.0);
        let kinds =
            [("softirq", busy.softirq), ("application", busy.application), ("other processes", busy.other)];
        let kinds: Vec<String> = kinds
            .iter()
            .filter(|(_, part)| *part >= 0.01)
            .map(|(kind, part)| format!("{kind} {}", percent(*part)))
            .collect();
        format!("{} core {}: {} busy", core.host, core.core, kinds.join(", "))
    };
    // More than two cores in a sentence say less, not more.
    let more = full.len().saturating_sub(2);
    let mut parts: Vec<String> = full.iter().take(2).map(|core| words(core)).collect();
    if more > 0 {
        let rest: Vec<String> =
            full.iter().skip(2).map(|core| format!("{} core {}", core.host, core.core)).collect();
        parts.push(format!("full as well: {}", rest.join(", ")));
    }
    parts
}

/// Where most packets of the measurement window were lost; of the whole run where the ledger is not known of the window.
fn losses(view: &View, cores: &[CoreTime]) -> Vec<String> {
    let (rows, of_run) = match &view.window_ledger {
        Some(rows) => (rows, ""),
        None => (&view.recording.ledger, " (whole run)"),
    };
    let sent = |direction: Direction| {
        // Where nobody counts what is sent, what arrived is near enough to tell what is worth a word.
        let of = |entry: Entry| rows.iter().find(|row| row.direction == direction && row.entry == entry);
        of(Entry::Sent).or(of(Entry::Delivered)).map_or(0, |row| row.packets).max(1) as f64
    };
    let mut lost: Vec<(&LedgerRow, f64)> = rows
        .iter()
        .filter(|row| row.entry == Entry::Lost)
        .map(|row| (row, row.packets as f64 / sent(row.direction)))
        .filter(|(_, part)| *part >= WORTH_A_WORD)
        .collect();
    lost.sort_by(|a, b| b.1.total_cmp(&a.1));
    let words = |(row, part): &(&LedgerRow, f64)| {
        let mut words = loss(row, row.stage?, *part, cores);
        if (row.stage, row.direction, row.cause) == (Some(Stage::Network), Direction::Data, None)
            && let Some(hint) = before_losses(view)
        {
            words = format!("{words}: {hint}");
        }
        Some(words + of_run)
    };
    lost.iter().take(2).filter_map(words).collect()
}

fn loss(row: &LedgerRow, stage: Stage, part: f64, cores: &[CoreTime]) -> String {
    let what = match row.direction {
        Direction::Data => "packets",
        Direction::Ack => "ACKs",
    };
    let reads = matches!(stage, Stage::TcpBacklog | Stage::RcvBuf);
    let hint = match (starved_reader(&row.place, cores).filter(|_| reads), row.cause) {
        (Some(softirq), _) => format!("softirq takes {:.0} % of the reader's core", softirq * 100.0),
        // A full queue of the host itself says something else than one of the network.
        (None, Some(cause)) if (stage, cause) != (Stage::Qdisc, Cause::QueueFull) => {
            cause.advice().to_owned()
        }
        _ => hint(stage).to_owned(),
    };
    let hint = if hint.is_empty() { hint } else { format!(": {hint}") };
    format!("{} of {what} lost at {stage} ({}){hint}", share(part), Cause::at(&row.place, row.cause))
}

/// What round trips say of losses in a network that nobody counts from inside. `None` if no flow measured its round trips.
fn before_losses(view: &View) -> Option<&'static str> {
    Some(match is_queued_before_losses(view, SECOND_NS)? {
        true => "packets queued before them, so a buffer of the path is full",
        false => {
            "no queue built up before them: a policer, a shallow buffer or damaged packets; a lower pacing rate \
             (--max-rate) tells which"
        }
    })
}

/// The meaning of losses at a stage, and the remedy.
fn hint(stage: Stage) -> &'static str {
    match stage {
        Stage::IpOut => "there was no route or no neighbour, or packets were larger than the MTU",
        Stage::Qdisc => {
            "the host's own queue is too short for its bursts: raise its limit or txqueuelen, or pace the flow"
        }
        Stage::NetworkOrHost => {
            "the counters of the server's host tell which: compare its UdpRcvbufErrors (nstat)"
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

/// What softirq work takes of the core on which a host's application has most of its time, if that core is full and the
/// larger part of it is softirq's: the application would read faster if it could.
fn starved_reader(host: &str, cores: &[CoreTime]) -> Option<f64> {
    let reads = cores.iter().filter(|core| core.host == host).map(|core| (Busy::of(core), core.busy()));
    let (busy, whole) = reads.max_by(|a, b| a.0.application.total_cmp(&b.0.application))?;
    (busy.application > 0.0 && whole >= FULL && busy.softirq > busy.application).then_some(busy.softirq)
}

/// A part as a percentage of two digits.
fn share(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        p if p >= 10.0 => format!("{p:.0} %"),
        p if p >= 1.0 => format!("{p:.1} %"),
        p if p >= 0.1 => format!("{p:.2} %"),
        p => format!("{p:.1e} %"),
    }
}

/// What stopped the senders for most of the measurement window: a window or a buffer.
fn windows(view: &View) -> Option<String> {
    let sum =
        |column: ColumnOf<FlowSample, Option<i64>>| view.sum(|flow| flow.count(view, column)).unwrap_or(0.0);
    let busy = sum(FlowSample::busy_ns).max(1.0);
    let (window, buffer) =
        (sum(FlowSample::rwnd_limited_ns) / busy, sum(FlowSample::sndbuf_limited_ns) / busy);
    if window.max(buffer) < MOSTLY {
        return None;
    }
    let (name, part) = if window >= buffer { ("receive window", window) } else { ("send buffer", buffer) };
    Some(format!("the {name} stopped the senders for {} of the time", share(part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_time::softirq_sample;
    use wirespeed_record::{FlowInfo, LedgerInterval, LinkInfo, QueueSample};

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
    fn a_full_core_and_its_ring_are_named() {
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

    /// What is said of a receive buffer that overflows at a reader whose core is full, so much of its time by softirq.
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
    fn a_reader_that_softirq_starves_is_not_called_slow() {
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

    /// A link of 8 Gbit/s that has carried so many bytes in a microsecond.
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
            requeues: 0,
            overlimits: 0,
            marked_packets: None,
        };
        recording.queues = vec![sample(0, 0), sample(1_000, sent_bytes)];
        limiting(&View::new(&recording).unwrap())
    }

    #[test]
    fn a_link_that_carries_all_it_can_is_the_limit() {
        assert_eq!(carried(990).as_deref(), Some("the path's rate is the limit (bottleneck 99 % used)"));
        assert_eq!(carried(900), None);
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

    #[test]
    fn a_window_that_stopped_a_flow_before_the_measurement_did_not_limit_it() {
        let mut recording = Recording::default();
        (recording.info.omit_ns, recording.info.duration_ns) = (1_000, 2_000);
        recording.info.flows = vec![FlowInfo { stop_ns: 2_000, ..FlowInfo::default() }];
        recording.flows = [0, 1_000, 2_000]
            .map(|t_ns| FlowSample {
                busy_ns: Some(t_ns),
                rwnd_limited_ns: Some(t_ns.min(1_000)),
                sndbuf_limited_ns: Some(0),
                ..FlowSample::empty(t_ns, 0)
            })
            .to_vec();
        assert_eq!(limiting(&View::new(&recording).unwrap()), None);
        recording.info.omit_ns = 0;
        let told = limiting(&View::new(&recording).unwrap());
        assert_eq!(told.as_deref(), Some("the receive window stopped the senders for 50 % of the time"));
    }

    #[test]
    fn what_did_not_limit_is_not_blamed() {
        let mut recording = Recording::default();
        recording.info.duration_ns = 1_000;
        recording.cores = vec![softirq_sample(0, 3, 0), softirq_sample(1_000, 3, 400)];
        recording.ledger =
            vec![row(Entry::Sent, None, "sender", 10_000), row(Entry::Lost, Some(Stage::RxRing), "r", 0)];
        assert_eq!(limiting(&View::new(&recording).unwrap()), None);
    }
}
