//! The limiting factor of a flow, second by second. TCP's own account of the sender's time comes first (the chronographs of
//! TCP_INFO). The cores follow, as far as they worked for the test, then round-trip times and losses. The same rules serve a
//! model and a live host.

mod cores;
mod evidence;
mod places;

use crate::id::Id;
use crate::stored::{read_number, write_number};
use crate::thresholds::{
    BUSY_SENDER, HEAVY_LOSS, MOSTLY, READER_PAUSE, SCHEDULER_DELAY, UNREAD_BUFFER, WAITING,
};
use cores::{Cores, Full, Ready, Threads};
use evidence::{Evidence, evidence};
use places::{Stalls, WorstStages};
use serde::{Deserialize, Serialize};
use wirespeed_metrics::View;
use wirespeed_record::{Cause, Stage};

/// The resource that limited a flow in an interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitingFactor {
    /// Nothing was delivered, though there was data to send; the reason, if it was recorded.
    Stalled(Option<String>),
    /// The sending application wrote less than could have been sent.
    Application,
    /// The receiving application read less than arrived.
    Reader,
    /// A core of the sender was full.
    SenderCore(u32),
    /// The send buffer was full while the window had room.
    SendBuffer,
    /// The congestion window, after losses. Stage and cause are those with most lost packets in the ledger.
    CwndAfterLoss(Option<(Stage, Option<Cause>)>),
    /// The receive window.
    ReceiveWindow,
    /// A core of the receiver was full with softirq work.
    ReceiverInterruptCore(u32),
    /// A core of the receiver was full with its application.
    ReceiverCore(u32),
    /// The path: packets wait in its queue.
    Path,
    /// The congestion window, which was growing.
    Cwnd,
    /// A core was full, and other processes used a part of it.
    Shared(Box<LimitingFactor>),
}

/// How the words of each [`LimitingFactor`] begin.
pub const LIMITS: [&str; 12] = [
    "nothing delivered",
    "application",
    "receiving application",
    "sender core",
    "send buffer",
    "cwnd after loss",
    "receive window",
    "receiver interrupt core",
    "receiver core",
    "path rate",
    "cwnd",
    "shared",
];

impl LimitingFactor {
    /// Its finding, if it limits a flow for most of the time.
    pub fn id(&self) -> Id {
        match self {
            LimitingFactor::Stalled(_) => Id::LimitNothingDelivered,
            LimitingFactor::Application => Id::LimitApplication,
            LimitingFactor::Reader => Id::LimitReceivingApplication,
            LimitingFactor::SenderCore(_) => Id::LimitSenderCore,
            LimitingFactor::SendBuffer => Id::LimitSendBuffer,
            LimitingFactor::CwndAfterLoss(_) => Id::LimitCwndAfterLoss,
            LimitingFactor::ReceiveWindow => Id::LimitReceiveWindow,
            LimitingFactor::ReceiverInterruptCore(_) => Id::LimitReceiverInterruptCore,
            LimitingFactor::ReceiverCore(_) => Id::LimitReceiverCore,
            LimitingFactor::Path => Id::LimitPathRate,
            LimitingFactor::Cwnd => Id::LimitCwnd,
            LimitingFactor::Shared(factor) => factor.id(),
        }
    }

    /// The core that was full.
    pub fn core(&self) -> Option<u32> {
        match self {
            LimitingFactor::SenderCore(core)
            | LimitingFactor::ReceiverCore(core)
            | LimitingFactor::ReceiverInterruptCore(core) => Some(*core),
            LimitingFactor::Shared(factor) => factor.core(),
            _ => None,
        }
    }

    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            LimitingFactor::Stalled(None) => "nothing delivered (0 bit/s)".into(),
            LimitingFactor::Stalled(Some(why)) => format!("nothing delivered (0 bit/s): {why}"),
            LimitingFactor::Shared(factor) => format!("{} (shared with other processes)", factor.words()),
            LimitingFactor::Application => "application".into(),
            LimitingFactor::Reader => "receiving application".into(),
            LimitingFactor::SenderCore(core) => format!("sender core {core}"),
            LimitingFactor::SendBuffer => "send buffer".into(),
            LimitingFactor::CwndAfterLoss(None) => "cwnd after loss".into(),
            LimitingFactor::CwndAfterLoss(Some((stage, None))) => format!("cwnd after loss at {stage}"),
            LimitingFactor::CwndAfterLoss(Some((stage, Some(cause)))) => {
                format!("cwnd after loss at {stage} ({})", cause.name())
            }
            LimitingFactor::ReceiveWindow => "receive window".into(),
            LimitingFactor::ReceiverInterruptCore(core) => format!("receiver interrupt core {core}"),
            LimitingFactor::ReceiverCore(core) => format!("receiver core {core}"),
            LimitingFactor::Path => "path rate".into(),
            LimitingFactor::Cwnd => "cwnd".into(),
        }
    }
}

/// An interval of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Number of the flow.
    pub flow: u32,
    /// From, since the start of the run.
    pub from_ns: i64,
    /// To.
    pub to_ns: i64,
    /// Payload delivered per second, in bit/s.
    #[serde(serialize_with = "write_number", deserialize_with = "read_number")]
    pub rate_bps: f64,
    /// Its limiting factor.
    pub factor: LimitingFactor,
}

/// The limiting factors of the TCP flows of a run, in intervals of `length_ns`. Adjoining intervals with the same factor are
/// one. UDP has no window, so only its own rate limits it.
pub fn limiting_factors(view: &View, length_ns: i64) -> Vec<Interval> {
    let (cores, threads) = (Cores::of(view.recording), Threads::of(view.recording));
    let worst = WorstStages::of(view.recording);
    let stalls = Stalls::of(view.recording);
    let mut all: Vec<Interval> = Vec::new();
    for told in evidence(view, length_ns) {
        let interval = told.interval(&cores, &threads, &worst, &stalls);
        match all.last_mut() {
            Some(last) if (last.flow, &last.factor) == (interval.flow, &interval.factor) => {
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

/// Whether a queue grew on the path before losses, in most of the intervals of `length_ns` with losses. `None` without round
/// trips. A full buffer delays packets before it drops them, and a policer or a damaged cable does not.
pub(crate) fn is_queued_before_losses(view: &View, length_ns: i64) -> Option<bool> {
    let lossy: Vec<bool> = evidence(view, length_ns)
        .iter()
        .filter(|told| told.lost && told.low_rtt.is_finite() && told.least_rtt.is_finite())
        .map(Evidence::is_queued)
        .collect();
    let queued = lossy.iter().filter(|queued| **queued).count();
    (!lossy.is_empty()).then_some(2 * queued > lossy.len())
}

impl Evidence<'_> {
    fn interval(&self, cores: &Cores, threads: &Threads, worst: &WorstStages, stalls: &Stalls) -> Interval {
        let (from_ns, to_ns) = (self.from_ns, self.to_ns);
        let lasted = (to_ns - from_ns) as f64;
        let sender = cores.fullest(self.flow, &self.info.from, from_ns, to_ns);
        let receiver = cores.fullest(self.flow, &self.info.to, from_ns, to_ns);
        let [sends, reads] = [false, true].map(|end| threads.ready(self.flow, end, from_ns, to_ns));
        // The end whose thread waited for a core, if one did; the one that waited longer of two.
        let waits = |ready: Option<Ready>| ready.filter(Ready::is_late).map_or(0.0, |ready| ready.wait());
        let late = (waits(sends) + waits(reads) > 0.0).then(|| waits(reads) > waits(sends));
        let has_queue = self.has_standing_queue(late.is_some());
        let by_sender = |full: Full| full.factor(LimitingFactor::SenderCore(full.core));
        let starved = || {
            // A thread without a core does not write.
            let full = cores.fullest_of_application(self.flow, &self.info.from, from_ns, to_ns);
            let spent = || cores.spent(self.flow, &self.info.from, sends, LimitingFactor::SenderCore);
            full.map(by_sender).or_else(spent).unwrap_or(LimitingFactor::Application)
        };
        // A thread that writes all the time and is moved from core to core fills none of them.
        let unhurried = || {
            let alone = sends.filter(|ready| !ready.is_late());
            cores.spent(self.flow, &self.info.from, alone, LimitingFactor::SenderCore)
        };
        let after_loss = || LimitingFactor::CwndAfterLoss(worst.noticed(self.from_ns, self.to_ns));
        // A loss here cannot have been by a queue of the path.
        let is_at_a_host =
            || matches!(worst.noticed(from_ns, to_ns), Some((Stage::Qdisc | Stage::Netfilter, _)));
        // A delay that a machine adds to a round trip overflows no buffer of the path.
        let is_of_the_path = has_queue && (self.is_queued() || !cores.are_known());
        let is_unread = self.unread >= UNREAD_BUFFER.value;
        // A larger receive window would only lengthen a queue of the path. A queue too long for a busy machine is the path's.
        let is_idle = receiver.is_none() && late.is_none();
        let is_long =
            self.queue_ns() > SCHEDULER_DELAY.value && receiver.is_none_or(|full| !full.by_itself());
        let would_only_wait = self.is_overfull() && !is_unread && (is_idle || is_long);
        // Threads that wait for cores cause spurious retransmissions.
        let is_spurious = worst.is_none() && late.is_some();
        let nothing_came = self.delivered <= 0.0 && self.from_ns >= self.info.start_ns;
        let factor = if nothing_came && self.busy / lasted >= MOSTLY.value && !is_unread {
            LimitingFactor::Stalled(stalls.why(self.info, from_ns, to_ns))
        } else if self.is_by_window() && !would_only_wait {
            self.window(receiver, cores, reads)
        } else if self.busy > 0.0 && self.by_buffer / self.busy >= MOSTLY.value {
            sender.filter(Full::by_itself).map_or(LimitingFactor::SendBuffer, by_sender)
        } else if self.busy / lasted < BUSY_SENDER.value && (self.is_starved() || !has_queue) {
            starved()
        } else if let Some(full) = receiver.filter(|full| full.is_short(reads)) {
            full.at_receiver()
        } else if let Some(full) = sender.filter(|full| full.is_short(sends)) {
            by_sender(full)
        } else if let Some(factor) = unhurried() {
            factor
        } else if self.lost
            && !is_spurious
            && (!is_of_the_path || self.again >= HEAVY_LOSS.value || is_at_a_host())
        {
            after_loss()
        } else if self.is_starved() {
            starved()
        } else if self.rtt > WAITING.value * self.least_rtt && (has_queue || late.is_none()) {
            LimitingFactor::Path
        } else if let Some(full) = late.and_then(|reads| if reads { receiver } else { sender }) {
            if late == Some(true) { full.at_receiver() } else { by_sender(full) }
        } else if self.lost {
            after_loss()
        } else {
            LimitingFactor::Cwnd
        };
        Interval { flow: self.flow, from_ns, to_ns, rate_bps: self.rate_bps(), factor }
    }

    /// The cause of a closed receive window: a small buffer, or a slow reader.
    fn window(&self, receiver: Option<Full>, cores: &Cores, reads: Option<Ready>) -> LimitingFactor {
        let reader = || cores.fullest_of_application(self.flow, &self.info.to, self.from_ns, self.to_ns);
        if self.unread.is_nan() {
            return receiver
                .filter(Full::by_itself)
                .map_or(LimitingFactor::ReceiveWindow, |full| full.at_receiver());
        }
        // A buffer that holds less than a reader may be away is too small, whatever the reader does.
        if self.unread < UNREAD_BUFFER.value || self.room_ns < READER_PAUSE.value {
            return LimitingFactor::ReceiveWindow;
        }
        let spent = || cores.spent(self.flow, &self.info.to, reads, LimitingFactor::ReceiverCore);
        let full = receiver.or_else(reader).map(|full| full.at_receiver());
        full.or_else(spent).unwrap_or(LimitingFactor::Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::busy_flow as recording;
    use wirespeed_record::{
        CoreSample, Direction, Entry, EventKind, FlowSample, LedgerInterval, LedgerRow, Placement, Recording,
        ThreadSample,
    };

    /// Accounts, a second apart, of a flow's thread that ran and waited for a core for these parts of the time.
    fn threads(receives: bool, run: f64, wait: f64) -> Vec<ThreadSample> {
        let sample = |second: i64| ThreadSample {
            t_ns: second * 1_000_000_000,
            host: if receives { "receiver" } else { "sender" }.into(),
            flow: 0,
            receives,
            run_ns: (second as f64 * run * 1e9) as i64,
            wait_ns: (second as f64 * wait * 1e9) as i64,
        };
        (0..=2).map(sample).collect()
    }

    fn told(recording: &Recording) -> Vec<(i64, i64, String)> {
        let intervals = limiting_factors(&View::new(recording).unwrap(), 1_000_000_000);
        let seconds = |ns: i64| ns / 1_000_000_000;
        intervals.iter().map(|i| (seconds(i.from_ns), seconds(i.to_ns), i.factor.words())).collect()
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
    fn words_begin_as_they_are_listed() {
        let all = [
            LimitingFactor::Stalled(Some("a link".into())),
            LimitingFactor::Application,
            LimitingFactor::Reader,
            LimitingFactor::SenderCore(1),
            LimitingFactor::SendBuffer,
            LimitingFactor::CwndAfterLoss(Some((Stage::Qdisc, None))),
            LimitingFactor::ReceiveWindow,
            LimitingFactor::ReceiverInterruptCore(2),
            LimitingFactor::ReceiverCore(3),
            LimitingFactor::Path,
            LimitingFactor::Cwnd,
        ];
        for (factor, limit) in all.iter().zip(LIMITS) {
            assert!(factor.words().starts_with(limit), "{limit}: {}", factor.words());
        }
    }

    #[test]
    fn nothing_delivered_is_named_with_what_stopped_it() {
        let mut recording = recording(3, |second, sample| {
            // After the first second nothing comes.
            sample.delivered_bytes = Some(125_000_000 * second.min(1) as u64);
        });
        assert_eq!(told(&recording)[1], (1, 3, "nothing delivered (0 bit/s)".to_owned()));
        recording.events = [(EventKind::LinkDown, 1), (EventKind::LinkUp, 2)]
            .map(|(kind, second)| wirespeed_record::Event {
                t_ns: second * 1_000_000_000 + 5,
                kind,
                flow: None,
                host: Some("receiver".into()),
                detail: "eth0".into(),
                burst_packet: None,
            })
            .to_vec();
        let words = "nothing delivered (0 bit/s): the link of receiver (eth0) was down";
        assert_eq!(told(&recording)[1], (1, 3, words.to_owned()));
    }

    /// A flow whose receive window stops it, on a machine whose core 3 somebody else fills; so much lies unread.
    fn by_window(unread: u64) -> Vec<(i64, i64, String)> {
        let mut recording = recording(2, |second, sample| {
            sample.rwnd_limited_ns = Some(second * 800_000_000);
            sample.snd_wnd_bytes = Some(10_000);
            sample.read_bytes = sample.delivered_bytes.map(|bytes| bytes.saturating_sub(unread));
        });
        let full = |t: i64| CoreSample {
            load_ns: t * 1_000_000_000,
            ..crate::testing::softirq_sample(t * 1_000_000_000, 3, 0)
        };
        recording.cores = (0..=2).map(full).collect();
        told(&recording)
    }

    #[test]
    fn a_window_of_more_than_the_path_holds_is_not_what_limits() {
        let at_rtt = |rtt_ns: i64| {
            told(&recording(2, |second, sample| {
                sample.rwnd_limited_ns = Some(second * 800_000_000);
                sample.rtt_ns = Some(rtt_ns);
                sample.delivery_rate_bps = Some(1_000_000_000);
            }))
        };
        assert_eq!(at_rtt(12_000_000), [(0, 2, "receive window".to_owned())]);
        assert_eq!(at_rtt(25_000_000), [(0, 2, "path rate".to_owned())]);
    }

    #[test]
    fn queue_longer_than_a_busy_machine_adds_is_the_paths() {
        let at_rtt = |rtt_ns: i64| {
            let mut recording = recording(2, |second, sample| {
                sample.rwnd_limited_ns = Some(second * 800_000_000);
                (sample.rtt_ns, sample.min_rtt_ns) = (Some(rtt_ns), Some(100_000));
                sample.delivery_rate_bps = Some(1_000_000_000);
            });
            // The reader waits for a core that others fill.
            recording.threads = threads(true, 0.2, 0.4);
            let full = |t: i64| CoreSample {
                load_ns: t * 1_000_000_000,
                ..crate::testing::softirq_sample(t * 1_000_000_000, 3, 0)
            };
            recording.cores = (0..=2).map(full).collect();
            told(&recording)
        };
        assert_eq!(at_rtt(4_000_000), [(0, 2, "receive window".to_owned())]);
        assert_eq!(at_rtt(160_000_000), [(0, 2, "path rate".to_owned())]);
    }

    #[test]
    fn a_core_that_others_fill_is_no_receive_window() {
        assert_eq!(by_window(100), [(0, 2, "receive window".to_owned())]);
        // Nobody reads, since others have the core.
        let words = "receiver interrupt core 3 (shared with other processes)";
        assert_eq!(by_window(50_000_000), [(0, 2, words.to_owned())]);
        // It could not read so fast that the buffer is large enough.
        assert_eq!(by_window(20_000), [(0, 2, "receive window".to_owned())]);
    }

    #[test]
    fn losses_are_named_with_the_stage_of_the_ledger() {
        let mut recording = recording(2, |second, sample| sample.retrans_packets = Some(second as u64 * 5));
        assert_eq!(told(&recording), [(0, 2, "cwnd after loss".to_owned())]);
        recording.ledger.push(LedgerRow {
            direction: Direction::Data,
            entry: Entry::Lost,
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
    fn spurious_retransmissions_on_a_busy_machine_are_no_loss() {
        let busy = |wait_percent: i64| {
            let mut recording =
                recording(2, |second, sample| sample.retrans_packets = Some(second as u64 * 5));
            let second = 1_000_000_000;
            let row = |entry: Entry, stage, packets| LedgerRow {
                direction: Direction::Data,
                entry,
                stage,
                place: String::new(),
                cause: None,
                packets,
                source: String::new(),
            };
            recording.ledger = vec![row(Entry::Sent, None, 100), row(Entry::Lost, Some(Stage::Network), 0)];
            recording.threads = threads(true, 0.2, wait_percent as f64 / 100.0);
            recording.cores = (0..=2)
                .map(|t| CoreSample {
                    load_ns: t * second,
                    ..crate::testing::softirq_sample(t * second, 3, 0)
                })
                .collect();
            told(&recording)
        };
        let words = "receiver interrupt core 3 (shared with other processes)";
        let [waits, rests] = [40, 1].map(busy);
        assert_eq!(waits, [(0, 2, words.to_owned())]);
        assert_eq!(rests, [(0, 2, "cwnd after loss".to_owned())]);
    }

    #[test]
    fn losses_are_named_with_the_stage_of_their_own_interval() {
        let mut recording = recording(4, |second, sample| sample.retrans_packets = Some(second as u64 * 5));
        let lost = |second: i64, stage, packets| LedgerInterval {
            from_ns: second * 1_000_000_000,
            to_ns: (second + 1) * 1_000_000_000,
            direction: Direction::Data,
            entry: Entry::Lost,
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

        // Nothing can be noticed before it was lost: the border of that interval is not exact.
        recording.ledger_intervals.iter_mut().for_each(|row| row.uncertain_packets = 9);
        let expected = [(0, 3, "cwnd after loss at rx_ring"), (3, 4, "cwnd after loss at network")];
        assert_eq!(told(&recording), expected.map(|(from, to, words)| (from, to, words.to_owned())));
    }

    #[test]
    fn only_cores_that_worked_on_the_flow_count_where_they_are_known() {
        let mut recording = recording(2, |second, sample| sample.busy_ns = Some(second * 100_000_000));
        let full = |t: i64| CoreSample {
            host: "sender".into(),
            app_ns: t * 1_000_000_000,
            ..crate::testing::softirq_sample(t * 1_000_000_000, 3, 0)
        };
        recording.cores = (0..=2).map(full).collect();
        assert_eq!(told(&recording), [(0, 2, "application".to_owned())]);
        let placed = |core: u32| Placement {
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

    /// A flow whose round trips are long, on a core that others have for the most part; its sender's thread was ready to run
    /// for this part of the time.
    fn on_a_shared_core(ready: f64) -> Vec<(i64, i64, String)> {
        let mut recording = recording(2, |_, sample| sample.rtt_ns = Some(30_000_000));
        let second = 1_000_000_000;
        let full = |t: i64| CoreSample {
            host: "sender".into(),
            app_ns: t * second / 5,
            load_ns: t * second * 4 / 5,
            ..crate::testing::softirq_sample(t * second, 3, 0)
        };
        recording.cores = (0..=2).map(full).collect();
        recording.threads = threads(false, 0.2, ready - 0.2);
        told(&recording)
    }

    #[test]
    fn core_of_others_limits_only_a_thread_that_waits_for_it() {
        let words = "sender core 3 (shared with other processes)";
        assert_eq!(on_a_shared_core(0.97), [(0, 2, words.to_owned())]);
        assert_eq!(on_a_shared_core(0.3), [(0, 2, "path rate".to_owned())]);
    }

    /// A flow whose thread is moved between two cores and has others' work on neither. The thread runs for this part of the time.
    fn moved_between_cores(run: f64, each: impl Fn(i64, &mut FlowSample)) -> Vec<(i64, i64, String)> {
        let mut recording = recording(2, each);
        let second = 1_000_000_000;
        let half = |t: i64, core| CoreSample {
            host: "sender".into(),
            app_ns: t * second / 2,
            ..crate::testing::softirq_sample(t * second, core, t * second / 4)
        };
        recording.cores = (0..=2).flat_map(|t| [half(t, 0), half(t, 1)]).collect();
        recording.threads = threads(false, run, 0.1);
        let application = [(0, 90), (1, 110)].into();
        recording.info.placement =
            vec![Placement { flow: 0, host: "sender".into(), application, ..Placement::default() }];
        told(&recording)
    }

    #[test]
    fn thread_that_always_runs_is_limited_by_its_core_wherever_that_is() {
        let waits_for_its_application = |second: i64, sample: &mut FlowSample| {
            sample.busy_ns = Some(second * 300_000_000);
            sample.notsent_bytes = Some(0);
        };
        let moved = |run| moved_between_cores(run, waits_for_its_application);
        assert_eq!(moved(0.88), [(0, 2, "sender core 1".to_owned())]);
        assert_eq!(moved(0.5), [(0, 2, "application".to_owned())]);
    }

    #[test]
    fn time_that_was_never_counted_is_unknown_and_not_the_applications() {
        let uncounted = recording(2, |_, sample| sample.busy_ns = None);
        assert_eq!(told(&uncounted), [(0, 2, "cwnd".to_owned())]);
    }

    #[test]
    fn short_queue_of_the_hosts_does_not_excuse_losses() {
        let lossy = |queue_ns: i64| {
            let has_a_queue = move |second: i64, sample: &mut FlowSample| {
                sample.rtt_ns = Some(100_000 + queue_ns);
                sample.min_rtt_ns = Some(100_000);
                (sample.retrans_packets, sample.data_packets_out) =
                    (Some(second as u64 * 9), Some(second as u64 * 80_000));
            };
            moved_between_cores(0.6, has_a_queue)
        };
        assert_eq!(lossy(100_000), [(0, 2, "cwnd after loss".to_owned())]);
        assert_eq!(lossy(400_000), [(0, 2, "path rate".to_owned())]);
    }

    #[test]
    fn queue_of_the_host_that_a_busy_thread_feeds_is_not_the_paths() {
        let has_a_queue = |_: i64, sample: &mut FlowSample| sample.rtt_ns = Some(30_000_000);
        let moved = |run| moved_between_cores(run, has_a_queue);
        assert_eq!(moved(0.85), [(0, 2, "sender core 1".to_owned())]);
        assert_eq!(moved(0.6), [(0, 2, "path rate".to_owned())]);
    }

    /// A flow with losses whose round trips are long; so fast what arrives comes, against 1 Gbit/s on the mean.
    fn with_losses(delivery_rate_bps: u64) -> Recording {
        recording(2, |second, sample| {
            sample.rtt_ns = Some(30_000_000);
            sample.retrans_packets = Some(second as u64);
            sample.data_packets_out = Some(second as u64 * 1000);
            sample.delivery_rate_bps = Some(delivery_rate_bps);
        })
    }

    #[test]
    fn long_round_trips_of_bursts_are_no_full_buffer() {
        let (queue, bursts) = (with_losses(1_000_000_000), with_losses(5_000_000_000));
        assert_eq!(told(&queue), [(0, 2, "path rate".to_owned())]);
        assert_eq!(told(&bursts), [(0, 2, "cwnd after loss".to_owned())]);
        let is_queued = |recording| is_queued_before_losses(&View::new(recording).unwrap(), 1_000_000_000);
        assert_eq!((is_queued(&queue), is_queued(&bursts)), (Some(true), Some(false)));
        let without_losses = recording(2, |_, _| {});
        assert_eq!(is_queued(&without_losses), None);
    }

    #[test]
    fn a_full_core_comes_before_what_it_causes() {
        let mut recording =
            recording(2, |second, sample| sample.rwnd_limited_ns = Some(second * 800_000_000));
        let full = |t: i64| crate::testing::softirq_sample(t * 1_000_000_000, 3, t * 1_000_000_000);
        recording.cores = (0..=2).map(full).collect();
        assert_eq!(told(&recording), [(0, 2, "receiver interrupt core 3".to_owned())]);
    }
}
