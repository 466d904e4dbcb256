//! What limited a flow, second by second: TCP's own account of the sender's time (the chronographs of TCP_INFO) comes first,
//! then the cores as far as they worked for the test, then round-trip times and losses. The same rules serve a model and a
//! live host.

mod cores;

use crate::samples::Values;
use crate::view::View;
use cores::{Cores, Full, Ready, Threads};
use std::collections::BTreeMap;
use wirespeed_record::{Cause, Direction, FlowInfo, FlowSample, Recording, Stage};

/// What held a flow back in an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// Nothing was delivered, though there was something to send; why, if that is known.
    Stalled(Option<String>),
    /// The sending application wrote less than could have been sent.
    Application,
    /// The receiving application read less than arrived.
    Reader,
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
    /// A core was full, and processes of others had a part of it.
    Shared(Box<Holder>),
}

/// How the words of each [`Holder`] begin.
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

impl Holder {
    /// In a few words.
    pub fn words(&self) -> String {
        match self {
            Holder::Stalled(None) => "nothing delivered (0 bit/s)".into(),
            Holder::Stalled(Some(why)) => format!("nothing delivered (0 bit/s): {why}"),
            Holder::Shared(holder) => format!("{} (shared with other processes)", holder.words()),
            Holder::Application => "application".into(),
            Holder::Reader => "receiving application".into(),
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
/// A queue that is large enough for the path loses less than this part of the packets.
const HEAVY: f64 = 0.01;
/// Where packets always wait, round trips are seldom shorter than so large a part of the middle one.
const STEADY: f64 = 0.3;
/// A machine that is short of cores adds less than this to most round trips, in nanoseconds.
pub(crate) const HOSTS_NS: f64 = 200_000.0;
/// A reader is away for so long as soon as anything else runs on its core: about a slice of the scheduler.
const PAUSE_NS: f64 = 1e6;
/// So much of what a receiver's buffer holds lies there unread if nobody reads in time.
const UNREAD: f64 = 0.5;
/// Data was outstanding or waiting for less than this part of the time: the application did not write.
const BUSY: f64 = 0.9;
/// A round-trip time of so many times the least is waiting.
const WAITING: f64 = 1.25;

/// What held the TCP flows of a run back, in intervals of `length_ns`; adjoining ones with the same holder are one. UDP has
/// no window, so nothing holds it back but its own rate.
pub fn held_back(view: &View, length_ns: i64) -> Vec<Interval> {
    let (cores, threads) = (Cores::of(view.recording), Threads::of(view.recording));
    let worst = WorstStages::of(view.recording);
    let stalls = Stalls::of(view.recording);
    let mut all: Vec<Interval> = Vec::new();
    for told in evidence(view, length_ns) {
        let interval = told.interval(&cores, &threads, &worst, &stalls);
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

/// What can stop all packets between two hosts, from the events of a recording.
struct Stalls<'a> {
    /// When the interface of a host was down: from, to, host, interface.
    down: Vec<(i64, i64, &'a str, &'a str)>,
    /// From which host packets of some sizes do not pass, in words.
    too_large: BTreeMap<&'a str, &'a str>,
}

impl<'a> Stalls<'a> {
    fn of(recording: &'a Recording) -> Stalls<'a> {
        let mut stalls = Stalls { down: Vec::new(), too_large: BTreeMap::new() };
        let mut events: Vec<_> = recording.events.iter().collect();
        events.sort_by_key(|event| event.t_ns);
        for event in events {
            let Some(host) = event.host.as_deref() else { continue };
            match event.kind.as_str() {
                "link_down" => stalls.down.push((event.t_ns, i64::MAX, host, &event.detail)),
                "link_up" => {
                    let open = stalls.down.iter_mut().rev().find(|down| down.2 == host && down.1 == i64::MAX);
                    open.into_iter().for_each(|down| down.1 = event.t_ns);
                }
                "mtu_black_hole" => drop(stalls.too_large.insert(host, &event.detail)),
                _ => {}
            }
        }
        stalls
    }

    /// What stopped the packets of a flow then. A sender waits on after its link is up again.
    fn why(&self, info: &FlowInfo, from_ns: i64, to_ns: i64) -> Option<String> {
        const WAIT_NS: i64 = 5_000_000_000;
        let of_flow = |host: &str| host == info.from || host == info.to;
        let down = self.down.iter().filter(|(from, to, host, _)| {
            of_flow(host) && *from < to_ns && to.saturating_add(WAIT_NS) > from_ns
        });
        // Where both ends of a cable are told of, the one that went first.
        let down = down.min_by_key(|(from, ..)| *from);
        down.map(|(_, _, host, device)| format!("the link of {host} ({device}) was down"))
            .or_else(|| Some((*self.too_large.get(info.from.as_str())?).to_owned()))
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
    /// The part of the packets that were retransmissions.
    again: f64,
    /// The part of the receiver's room that was filled with what nobody had read yet, 0 to 1, as in the middle sample; not a
    /// number if it is not known.
    unread: f64,
    /// So long the receiver's room lasts at the rate of the interval.
    room_ns: f64,
    /// The part of the samples in which nothing waited to be sent.
    starved: f64,
    /// The part of the congestion window that was in flight.
    in_flight: f64,
    /// Mean over the samples of the interval.
    rtt: f64,
    /// What it was at least for nine tenths of them, and for half.
    low_rtt: f64,
    middle_rtt: f64,
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
                again: 0.0,
                unread: f64::NAN,
                room_ns: f64::NAN,
                starved: 0.0,
                in_flight: f64::NAN,
                rtt: f64::NAN,
                low_rtt: f64::NAN,
                middle_rtt: f64::NAN,
                least_rtt: f64::INFINITY,
            });
            from = to;
        }
    }
    // A column is let go before the next one is read.
    let mut each = |values: Values, put: &dyn Fn(&mut Evidence<'a>, &[f64], Span)| {
        all.iter_mut().zip(&spans).for_each(|(evidence, span)| put(evidence, &values, *span));
    };
    // A counter of a flow that had not begun is 0.
    let growth = |values: &[f64], span: Span| {
        let begun = values[span.from];
        values[span.to] - if begun.is_nan() { 0.0 } else { begun }
    };
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
    each(samples.column(FlowSample::retrans_packets), &|e, values, span| {
        e.again = growth(values, span);
        e.lost = e.again > 0.0;
    });
    each(samples.column(FlowSample::data_packets_out), &|e, values, span| {
        let sent = growth(values, span);
        e.again = if sent > 0.0 { e.again / sent } else { 0.0 };
    });
    each(samples.column(FlowSample::ca_state), &|e, values, span| {
        e.lost |= values[span.from..=span.to].iter().any(|state| *state >= 2.0);
    });
    let known = |values: &[f64], span: Span| -> Vec<f64> {
        values[span.from..=span.to].iter().copied().filter(|value| !value.is_nan()).collect()
    };
    each(samples.column(FlowSample::notsent_bytes), &|e, values, span| {
        let all = known(values, span);
        let empty = all.iter().filter(|bytes| **bytes == 0.0).count();
        e.starved = if all.is_empty() { 0.0 } else { empty as f64 / all.len() as f64 };
    });
    each(samples.column(FlowSample::unacked_packets), &|e, values, span| {
        e.in_flight = mean(&values[span.from..=span.to]);
    });
    each(samples.column(FlowSample::mss_bytes), &|e, values, span| {
        e.in_flight *= mean(&values[span.from..=span.to]);
    });
    each(samples.column(FlowSample::cwnd_bytes), &|e, values, span| {
        e.in_flight /= mean(&values[span.from..=span.to]);
    });
    each(samples.column(FlowSample::rtt_ns), &|e, values, span| {
        let mut here = known(values, span);
        e.rtt = here.iter().sum::<f64>() / here.len().max(1) as f64;
        here.sort_by(f64::total_cmp);
        let at = |part: usize| here.get(here.len() * part / 10).copied().unwrap_or(f64::NAN);
        (e.low_rtt, e.middle_rtt) = (at(1), at(5));
    });
    each(samples.column(FlowSample::min_rtt_ns), &|e, values, span| {
        e.least_rtt = known(values, span).into_iter().fold(f64::INFINITY, f64::min);
    });
    // Three columns at once: only where a window asks for it.
    if all.iter().any(Evidence::is_by_window) {
        let columns =
            [FlowSample::delivered_bytes, FlowSample::read_bytes].map(|column| samples.column(column));
        let window = samples.column(FlowSample::snd_wnd_bytes);
        for (evidence, span) in all.iter_mut().zip(&spans) {
            let part = |at: usize| {
                let unread = columns[0][at] - columns[1][at];
                // Not a number stays one.
                let unread = if unread < 0.0 { 0.0 } else { unread };
                (unread / (unread + window[at] + 1.0), unread + window[at])
            };
            let mut parts: Vec<(f64, f64)> =
                (span.from..=span.to).map(part).filter(|(part, _)| !part.is_nan()).collect();
            parts.sort_by(|a, b| a.0.total_cmp(&b.0));
            let room = parts.iter().map(|(_, room)| room).sum::<f64>() / parts.len().max(1) as f64;
            evidence.room_ns =
                room / evidence.delivered.max(1.0) * (evidence.to_ns - evidence.from_ns) as f64;
            evidence.unread = parts.get(parts.len() / 2).map_or(f64::NAN, |(part, _)| *part);
        }
    }
    for index in 1..all.len() {
        if all[index - 1].flow == all[index].flow {
            all[index].least_rtt = all[index].least_rtt.min(all[index - 1].least_rtt);
        }
    }
    all
}

/// Of what is known; not a number if nothing is.
fn mean(values: &[f64]) -> f64 {
    let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    if known.is_empty() { f64::NAN } else { known.iter().sum::<f64>() / known.len() as f64 }
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
        let by_sender = |full: Full| full.holder(Holder::SenderCore(full.core));
        let starved = || {
            // Who gets no time to write does not write.
            let full = cores.fullest_of_application(self.flow, &self.info.from, from_ns, to_ns);
            full.map_or(Holder::Application, by_sender)
        };
        let after_loss = || Holder::CwndAfterLoss(worst.noticed(self.from_ns, self.to_ns));
        let is_own_queue = || matches!(worst.noticed(from_ns, to_ns), Some((Stage::Qdisc, _)));
        let is_unread = self.unread >= UNREAD;
        let nothing_came = self.delivered <= 0.0 && self.from_ns >= self.info.start_ns;
        let holder = if nothing_came && self.busy / lasted >= MOSTLY && !is_unread {
            Holder::Stalled(stalls.why(self.info, from_ns, to_ns))
        } else if self.is_by_window() {
            self.window(receiver, cores)
        } else if self.busy > 0.0 && self.by_buffer / self.busy >= MOSTLY {
            sender.filter(Full::by_itself).map_or(Holder::SendBuffer, by_sender)
        } else if self.busy / lasted < BUSY && (self.is_starved() || !has_queue) {
            starved()
        } else if let Some(full) = receiver.filter(|full| full.is_short(reads)) {
            full.at_receiver()
        } else if let Some(full) = sender.filter(|full| full.is_short(sends)) {
            by_sender(full)
        } else if self.lost && (!has_queue || self.again >= HEAVY || is_own_queue()) {
            after_loss()
        } else if self.is_starved() {
            starved()
        } else if self.rtt > WAITING * self.least_rtt && (has_queue || late.is_none()) {
            Holder::Path
        } else if let Some(full) = late.and_then(|reads| if reads { receiver } else { sender }) {
            if late == Some(true) { full.at_receiver() } else { by_sender(full) }
        } else if self.lost {
            after_loss()
        } else {
            Holder::Cwnd
        };
        Interval { flow: self.flow, from_ns, to_ns, rate_bps: self.delivered / lasted * 8e9, holder }
    }
}

impl Evidence<'_> {
    /// TCP's own account: the receive window stopped it for most of the time in which it had something to send.
    fn is_by_window(&self) -> bool {
        self.busy > 0.0 && self.by_window / self.busy >= MOSTLY
    }

    /// The application supplies less than the window takes.
    fn is_starved(&self) -> bool {
        self.starved >= MOSTLY && self.in_flight < MOSTLY
    }

    /// Packets wait on the path even when the fewest do. Round trips that only vary are no queue; nor is what a machine adds
    /// whose threads wait for a core (`is_late`).
    fn has_standing_queue(&self, is_late: bool) -> bool {
        self.low_rtt > WAITING * self.least_rtt
            && self.low_rtt >= STEADY * self.middle_rtt
            && (!is_late || self.low_rtt - self.least_rtt > HOSTS_NS)
    }

    /// The cause of a closed receive window: a small buffer, or a slow reader.
    fn window(&self, receiver: Option<Full>, cores: &Cores) -> Holder {
        let reader = || cores.fullest_of_application(self.flow, &self.info.to, self.from_ns, self.to_ns);
        if self.unread.is_nan() {
            return receiver.filter(Full::by_itself).map_or(Holder::ReceiveWindow, |full| full.at_receiver());
        }
        // A buffer that holds less than a reader may be away is too small, whatever the reader does.
        if self.unread < UNREAD || self.room_ns < PAUSE_NS {
            return Holder::ReceiveWindow;
        }
        receiver.or_else(reader).map_or(Holder::Reader, |full| full.at_receiver())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::{CoreSample, LedgerInterval, LedgerRow, ThreadSample};

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
    fn words_begin_as_they_are_listed() {
        let all = [
            Holder::Stalled(Some("a link".into())),
            Holder::Application,
            Holder::Reader,
            Holder::SenderCore(1),
            Holder::SendBuffer,
            Holder::CwndAfterLoss(Some((Stage::Qdisc, None))),
            Holder::ReceiveWindow,
            Holder::ReceiverInterruptCore(2),
            Holder::ReceiverCore(3),
            Holder::Path,
            Holder::Cwnd,
        ];
        for (holder, limit) in all.iter().zip(LIMITS) {
            assert!(holder.words().starts_with(limit), "{limit}: {}", holder.words());
        }
    }

    #[test]
    fn nothing_delivered_is_named_with_what_stopped_it() {
        let mut recording = recording(3, |second, sample| {
            // After the first second nothing comes.
            sample.delivered_bytes = Some(125_000_000 * second.min(1) as u64);
        });
        assert_eq!(told(&recording)[1], (1, 3, "nothing delivered (0 bit/s)".to_owned()));
        recording.events = [("link_down", 1), ("link_up", 2)]
            .map(|(kind, second)| wirespeed_record::Event {
                t_ns: second * 1_000_000_000 + 5,
                kind: kind.into(),
                flow: None,
                host: Some("receiver".into()),
                detail: "eth0".into(),
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
            ..crate::core_time::softirq_sample(t * 1_000_000_000, 3, 0)
        };
        recording.cores = (0..=2).map(full).collect();
        told(&recording)
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

    /// A flow whose round trips are long, on a core that others have for the most part; its sender's thread was ready to run
    /// for this part of the time.
    fn on_a_shared_core(ready: f64) -> Vec<(i64, i64, String)> {
        let mut recording = recording(2, |_, sample| sample.rtt_ns = Some(30_000_000));
        let second = 1_000_000_000;
        let full = |t: i64| CoreSample {
            host: "sender".into(),
            app_ns: t * second / 5,
            load_ns: t * second * 4 / 5,
            ..crate::core_time::softirq_sample(t * second, 3, 0)
        };
        recording.cores = (0..=2).map(full).collect();
        let thread = |t: i64| ThreadSample {
            t_ns: t * second,
            host: "sender".into(),
            flow: 0,
            receives: false,
            run_ns: t * second / 5,
            wait_ns: (t as f64 * second as f64 * (ready - 0.2)) as i64,
        };
        recording.threads = (0..=2).map(thread).collect();
        told(&recording)
    }

    #[test]
    fn core_of_others_limits_only_a_thread_that_waits_for_it() {
        let words = "sender core 3 (shared with other processes)";
        assert_eq!(on_a_shared_core(0.97), [(0, 2, words.to_owned())]);
        assert_eq!(on_a_shared_core(0.3), [(0, 2, "path rate".to_owned())]);
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
