//! Queueing disciplines: what we ask of the kernel, and what it counts.

use crate::line::{self, Bin, LINE};
use crate::netlink::Netlink;
use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use std::io;
use wirespeed_host::sources::qdisc as host;
use wirespeed_scenario::run::{
    Direction, DualPi2, Duplicate, Fq, Host, LinkState, Moderation, Qdisc, Queue, Reorder,
};
use wirespeed_units::{Bytes, Rate};

/// A qdisc to install.
#[derive(Debug, Clone, PartialEq)]
pub enum Spec {
    /// A host's own discipline, with the defaults of the kernel.
    Host(Qdisc),
    /// A host's fq with settings.
    Fq(Fq),
    /// Token bucket of one frame. In front of a host's own discipline it is an interface of that rate; with a
    /// room of its own it is a drop-tail queue before a line of that rate.
    Bucket {
        /// Rate of the interface.
        rate: Rate,
        /// The largest frame it sends: what is larger is split before it is counted.
        frame: Bytes,
        /// What it saves up while it has nothing to send; at least a frame.
        burst: Bytes,
        /// Its own queue, in frame bytes; `None` if another discipline goes below it.
        room: Option<Bytes>,
    },
    /// One direction of a link (kernel/qdisc/sch_wire.c).
    Link {
        /// Its properties.
        direction: Direction,
        /// Seed of its loss process.
        seed: u64,
        /// Of the interface at its end; `None`: that takes each packet when it comes.
        moderation: Option<Moderation>,
    },
    /// One direction of a link around another discipline (kernel/qdisc/sch_line.c), which goes below it.
    Line {
        /// Its properties.
        direction: Direction,
        /// Seed of its loss process.
        seed: u64,
        /// Of the largest size.
        frame: Bytes,
    },
    /// The two coupled queues of L4S.
    DualPi2 {
        /// Its settings.
        settings: DualPi2,
        /// Room for waiting frames, of both queues together.
        buffer: Bytes,
        /// Of the largest size.
        frame: Bytes,
    },
    /// Loss and delay of a direction by netem; a [`Spec::Bucket`] goes below it.
    Netem {
        /// The direction.
        direction: Direction,
        /// Seed of its loss process.
        seed: u64,
    },
}

impl Spec {
    /// The discipline of a host.
    pub fn of(host: &Host) -> Spec {
        match host.fq {
            Some(fq) => Spec::Fq(fq),
            None => Spec::Host(host.qdisc),
        }
    }
}

/// Installs `spec` on interface `index`, below `parent`.
///
/// # Errors
/// What the kernel answered, with the discipline's name.
pub fn install(
    netlink: &mut Netlink,
    index: u32,
    parent: TcHandle,
    handle: TcHandle,
    spec: &Spec,
) -> io::Result<()> {
    let (kind, options) = encoded(spec);
    let message = message(index, parent, handle, kind, options);
    netlink
        .create(RouteNetlinkMessage::NewQueueDiscipline(message))
        .map_err(|e| io::Error::new(e.kind(), format!("qdisc {kind}: {e}")))?;
    match spec {
        Spec::Link { direction, .. } => {
            let mut states = wire_states(direction);
            states.try_for_each(|options| set(netlink, index, (parent, handle), "wire", Some(options)))
        }
        _ => Ok(()),
    }
}

/// Changes the settings of the discipline below `parent` on interface `index`. Waiting packets stay.
///
/// # Errors
/// The kernel's answer, with the discipline's name.
pub fn change(
    netlink: &mut Netlink,
    index: u32,
    parent: TcHandle,
    handle: TcHandle,
    spec: &Spec,
) -> io::Result<()> {
    let (kind, options) = encoded(spec);
    set(netlink, index, (parent, handle), kind, options)
}

/// Sets the start of the run, from which the changes of a link at the root of interface `index` count: a time of CLOCK_MONOTONIC, ns.
///
/// # Errors
/// The kernel's answer.
pub fn start(netlink: &mut Netlink, index: u32, handle: TcHandle, start_ns: i64) -> io::Result<()> {
    let options = words(WIRE_START, [start_ns as u64]);
    set(netlink, index, (TcHandle::ROOT, handle), "wire", Some(options))
}

fn set(
    netlink: &mut Netlink,
    index: u32,
    (parent, handle): (TcHandle, TcHandle),
    kind: &str,
    options: Option<TcAttribute>,
) -> io::Result<()> {
    let message = message(index, parent, handle, kind, options);
    netlink
        .change(RouteNetlinkMessage::NewQueueDiscipline(message))
        .map_err(|e| io::Error::new(e.kind(), format!("change of qdisc {kind}: {e}")))
}

fn message(
    index: u32,
    parent: TcHandle,
    handle: TcHandle,
    kind: &str,
    options: Option<TcAttribute>,
) -> TcMessage {
    let mut message = TcMessage::with_index(index as i32);
    message.header.parent = parent;
    message.header.handle = handle;
    message.attributes.push(TcAttribute::Kind(kind.into()));
    message.attributes.extend(options);
    message
}

/// The kernel's name of a discipline, and its settings.
fn encoded(spec: &Spec) -> (&'static str, Option<TcAttribute>) {
    match spec {
        Spec::Host(qdisc) => (qdisc.name(), None),
        Spec::Fq(settings) => (Qdisc::Fq.name(), Some(fq(settings))),
        Spec::Bucket { rate, frame, burst, room } => {
            ("tbf", Some(token_bucket(*rate, *frame, *burst, *room)))
        }
        Spec::Link { direction, seed, moderation } => ("wire", Some(wire(direction, *seed, *moderation))),
        Spec::Line { direction, seed, frame } => (LINE, Some(line::line(direction, *seed, *frame))),
        Spec::DualPi2 { settings, buffer, frame } => {
            ("dualpi2", Some(line::dual_pi2(settings, *buffer, *frame)))
        }
        Spec::Netem { direction, seed } => ("netem", Some(netem(direction, *seed))),
    }
}

// Kinds of options of kernel/qdisc/sch_wire.c, in their first 64 bits.
const WIRE_LINK: u64 = 0;
const WIRE_STATES: u64 = 1;
const WIRE_START: u64 = 2;

/// States of a message at most: an attribute has a length of 16 bits.
const STATES_OF_MESSAGE: usize = 1000;

fn words(what: u64, words: impl IntoIterator<Item = u64>) -> TcAttribute {
    let words = std::iter::once(what).chain(words);
    TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, words.flat_map(u64::to_ne_bytes).collect()))
}

/// `struct tc_wire_qopt` of kernel/qdisc/sch_wire.c.
fn wire(direction: &Direction, seed: u64, moderation: Option<Moderation>) -> TcAttribute {
    let (delay, loss) = (direction.delay.nanoseconds() as u64, loss_bound(direction.loss));
    let reorder = direction.reorder.map_or([0; 3], |reorder| {
        [loss_bound(reorder.probability), reorder.delay.nanoseconds() as u64, Reorder::seed(seed)]
    });
    let duplicate = direction.duplicate.map_or([0; 3], |duplicate| {
        [loss_bound(duplicate.probability), duplicate.delay.nanoseconds() as u64, Duplicate::seed(seed)]
    });
    let moderation = moderation
        .map_or([0; 2], |moderation| [moderation.interval.nanoseconds() as u64, moderation.frames.into()]);
    // A queue that does not mark: it never holds so much.
    let mark_above = match direction.queue {
        Queue::DropTail { mark_above: Some(threshold) } => threshold.get(),
        _ => u64::MAX,
    };
    words(
        WIRE_LINK,
        [direction.rate.get(), delay, direction.buffer.get(), loss, seed]
            .into_iter()
            .chain(reorder)
            .chain(duplicate)
            .chain(moderation)
            .chain([mark_above]),
    )
}

/// The changes of a direction as messages of `struct tc_wire_state`.
fn wire_states(direction: &Direction) -> impl Iterator<Item = TcAttribute> {
    let states: Vec<LinkState> = direction.states().skip(1).collect();
    let messages: Vec<TcAttribute> = states
        .chunks(STATES_OF_MESSAGE)
        .map(|states| {
            let of_state = |state: &LinkState| {
                let (at, delay) = (state.at.nanoseconds() as u64, state.delay.nanoseconds() as u64);
                [at, state.rate.get(), delay, state.buffer.get(), loss_bound(state.loss)]
            };
            words(WIRE_STATES, states.iter().flat_map(of_state))
        })
        .collect();
    messages.into_iter()
}

/// 2^64 does not fit; a probability of 1 loses one packet in 2^64 fewer than all.
pub(crate) fn loss_bound(probability: f64) -> u64 {
    (probability * 2f64.powi(64)) as u64
}

pub(crate) const TCA_OPTIONS: u16 = 2;

const TCA_FQ_FLOW_PLIMIT: u16 = 2;
const TCA_FQ_QUANTUM: u16 = 3;
const TCA_FQ_FLOW_MAX_RATE: u16 = 7;

/// Attributes of sch_fq.c, all of 32 bits.
fn fq(fq: &Fq) -> TcAttribute {
    // Without a limit all bits are ones.
    let rate = fq.maxrate.map_or(u64::from(u32::MAX), Rate::bytes_per_second);
    let options = [
        (TCA_FQ_FLOW_PLIMIT, fq.flow_limit),
        (TCA_FQ_QUANTUM, fq.quantum.get() as u32),
        (TCA_FQ_FLOW_MAX_RATE, rate.min(u64::from(u32::MAX)) as u32),
    ];
    let nla = |(kind, value): (u16, u32)| TcOption::Other(DefaultNla::new(kind, value.to_ne_bytes().into()));
    TcAttribute::Options(options.map(nla).into())
}

/// `struct tc_netem_qopt` followed by attributes (linux/pkt_sched.h).
fn netem(direction: &Direction, seed: u64) -> TcAttribute {
    const TCA_NETEM_LATENCY64: u16 = 10;
    const TCA_NETEM_PRNG_SEED: u16 = 14;
    let mut bytes = vec![0u8; 24];
    // The queue is the bucket's; what is in propagation must never be dropped.
    bytes[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
    let loss = (direction.loss * f64::from(u32::MAX)).round() as u32;
    bytes[8..12].copy_from_slice(&loss.to_ne_bytes());
    for (kind, value) in
        [(TCA_NETEM_LATENCY64, direction.delay.nanoseconds() as u64), (TCA_NETEM_PRNG_SEED, seed)]
    {
        // Length and kind of an attribute of eight bytes.
        bytes.extend(12u16.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value.to_ne_bytes());
    }
    TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, bytes))
}

/// `struct tc_tbf_qopt` and its 64-bit companions (linux/pkt_sched.h).
fn token_bucket(rate: Rate, frame: Bytes, burst: Bytes, room: Option<Bytes>) -> TcAttribute {
    const TCA_TBF_PARMS: u16 = 1;
    const TCA_TBF_RATE64: u16 = 4;
    const TCA_TBF_PRATE64: u16 = 5;
    const TCA_TBF_BURST: u16 = 6;
    const TCA_TBF_PBURST: u16 = 7;
    const LINK_LAYER_ETHERNET: u8 = 1;
    /// 8 Tbit/s: a frame of 1500 bytes takes 1.5 ns.
    const PEAK_BYTES_PER_SECOND: u64 = 1_000_000_000_000;
    let bytes_per_second = rate.bytes_per_second();
    let mut parameters = vec![0u8; 36];
    parameters[1] = LINK_LAYER_ETHERNET;
    parameters[8..12].copy_from_slice(&(bytes_per_second.min(u64::from(u32::MAX)) as u32).to_ne_bytes());
    // A limit of zero makes no queue: the discipline below is installed next.
    let limit = room.map_or(0, |room| room.get().min(u64::from(u32::MAX)) as u32);
    parameters[24..28].copy_from_slice(&limit.to_ne_bytes());
    let nla = |kind, value: &[u8]| TcOption::Other(DefaultNla::new(kind, value.to_vec()));
    let mut options = vec![
        nla(TCA_TBF_RATE64, &bytes_per_second.to_ne_bytes()),
        nla(TCA_TBF_BURST, &(burst.get().min(u64::from(u32::MAX)) as u32).to_ne_bytes()),
    ];
    if burst > frame {
        // The bucket takes pieces of any size up to its burst. A second one, of a frame and too fast to matter, has it
        // split them, so that it drops packets and not pieces (tbf_segment in net/sched/sch_tbf.c).
        parameters[13] = LINK_LAYER_ETHERNET;
        parameters[20..24].copy_from_slice(&u32::MAX.to_ne_bytes());
        options.push(nla(TCA_TBF_PRATE64, &PEAK_BYTES_PER_SECOND.max(bytes_per_second * 2).to_ne_bytes()));
        options.push(nla(TCA_TBF_PBURST, &(frame.get() as u32).to_ne_bytes()));
    }
    options.insert(0, nla(TCA_TBF_PARMS, &parameters));
    TcAttribute::Options(options)
}

/// What a qdisc counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Interface.
    pub index: u32,
    /// Whether it is the interface's root.
    pub is_root: bool,
    /// The kernel's name for it.
    pub kind: String,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes waiting.
    pub backlog_bytes: u64,
    /// Packets waiting.
    pub backlog_packets: u64,
    /// Packets dropped for want of room (or by the AQM).
    pub dropped_packets: u64,
    /// Packets given back by a busy device.
    pub requeues: u64,
    /// Times it had to wait for its rate, or was over its limit.
    pub overlimits: u64,
    /// What only a link counts.
    pub link: Option<LinkStatistics>,
    /// How it is set, as its kind encodes that.
    pub options: Vec<u8>,
    /// Packets that left it by class and time, where it has classes.
    pub bins: Vec<Bin>,
}

/// What only a link counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Packets lost on the link.
    pub lost_packets: u64,
    /// Packets being sent or in propagation.
    pub flight_packets: u64,
    /// Packets delivered twice. `None`: not counted.
    pub copied_packets: Option<u64>,
    /// Packets marked with congestion experienced. `None`: not counted.
    pub marked_packets: Option<u64>,
    /// Of the dropped packets, those that the queue's management dropped. `None`: not counted.
    pub managed_packets: Option<u64>,
}

/// One direction of a link of netem with a bucket below it, as one queue. netem counts what the bucket drops as
/// its own drop, and what waits in the bucket as its own backlog.
pub fn joined(netem: &Statistics, bucket: &Statistics) -> Statistics {
    Statistics {
        is_root: true,
        link: Some(LinkStatistics {
            lost_packets: netem.dropped_packets.saturating_sub(bucket.dropped_packets),
            flight_packets: netem.backlog_packets.saturating_sub(bucket.backlog_packets),
            copied_packets: None,
            marked_packets: None,
            managed_packets: None,
        }),
        ..bucket.clone()
    }
}

/// What the queues of an interface are: for `mq`, which only spreads over them, what is below it.
pub fn kind(all: &[Statistics], root: &Statistics) -> String {
    let below = all.iter().find(|found| found.index == root.index && !found.is_root);
    match below {
        Some(below) if root.kind == "mq" => format!("mq, {}", below.kind),
        _ => root.kind.clone(),
    }
}

/// Reads every qdisc of the socket's namespace.
///
/// # Errors
/// What the kernel answered.
pub fn statistics(netlink: &mut Netlink) -> io::Result<Vec<Statistics>> {
    let answer = netlink.ask(&host::request())?;
    Ok(host::parse(&answer).into_iter().map(Statistics::from).collect())
}

impl From<host::Qdisc> for Statistics {
    fn from(qdisc: host::Qdisc) -> Statistics {
        let mut statistics = Statistics {
            index: qdisc.index,
            is_root: qdisc.is_root(),
            sent_bytes: qdisc.sent_bytes,
            sent_packets: qdisc.sent_packets,
            backlog_bytes: u64::from(qdisc.backlog_bytes),
            backlog_packets: u64::from(qdisc.backlog_packets),
            dropped_packets: u64::from(qdisc.drops),
            requeues: u64::from(qdisc.requeues),
            overlimits: u64::from(qdisc.overlimits),
            kind: qdisc.kind,
            link: None,
            options: qdisc.options,
            bins: Vec::new(),
        };
        match &*statistics.kind {
            "wire" if !qdisc.private.is_empty() => decode_wire(&qdisc.private, &mut statistics),
            LINE if !qdisc.private.is_empty() => line::decode(&qdisc.private, &mut statistics),
            _ => {}
        }
        statistics
    }
}

/// `struct tc_wire_xstats` of kernel/qdisc/sch_wire.c.
fn decode_wire(bytes: &[u8], into: &mut Statistics) {
    let mut words = bytes.chunks_exact(8).map(|w| u64::from_ne_bytes(w.try_into().expect("eight bytes")));
    let mut word = || words.next().unwrap_or(0);
    into.backlog_bytes = word();
    into.backlog_packets = word();
    let flight_packets = word();
    into.dropped_packets = word();
    let lost_packets = word();
    into.sent_packets = word();
    into.sent_bytes = word();
    let (copied_packets, marked_packets) = (Some(word()), Some(word()));
    let managed_packets = None;
    into.link = Some(LinkStatistics {
        lost_packets,
        flight_packets,
        copied_packets,
        marked_packets,
        managed_packets,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::Nla;
    use wirespeed_scenario::run::Change;
    use wirespeed_units::Span;

    fn words_of(options: &TcAttribute) -> Vec<u64> {
        let TcAttribute::Other(nla) = options else { panic!("raw options") };
        let mut bytes = vec![0; nla.value_len()];
        nla.emit_value(&mut bytes);
        bytes.chunks(8).map(|w| u64::from_ne_bytes(w.try_into().unwrap())).collect()
    }

    #[test]
    fn a_link_is_encoded_as_the_kernel_side_reads_it() {
        let direction = Direction::plain(Rate::gbit(10), Span::ms(5), 0.5, Bytes::new(1000));
        assert_eq!(
            words_of(&wire(&direction, 7, None)),
            [0, 10_000_000_000, 5_000_000, 1000, 1 << 63, 7, 0, 0, 0, 0, 0, 0, 0, 0, u64::MAX]
        );
        let moderation = Moderation { interval: Span::us(50), frames: 64 };
        let marking =
            Direction { queue: Queue::DropTail { mark_above: Some(Bytes::new(600)) }, ..direction.clone() };
        assert_eq!(words_of(&wire(&marking, 7, Some(moderation)))[12..], [50_000, 64, 600]);
        assert_eq!(wire_states(&direction).count(), 0);
    }

    #[test]
    fn changes_follow_in_messages_that_an_attribute_has_room_for() {
        let change = |at| Change { at: Span::us(at), rate: Some(Rate::gbit(at as u64)), ..Change::default() };
        let mut direction = Direction::plain(Rate::gbit(10), Span::ms(5), 0.5, Bytes::new(1000));
        direction.changes = (1..=2001).map(change).collect();
        let messages: Vec<Vec<u64>> = wire_states(&direction).map(|options| words_of(&options)).collect();
        let lengths: Vec<usize> = messages.iter().map(Vec::len).collect();
        assert_eq!(lengths, [5001, 5001, 6]);
        assert_eq!(messages[2], [1, 2_001_000, 2_001_000_000_000, 5_000_000, 1000, 1 << 63]);
    }

    #[test]
    fn fq_is_encoded_as_the_kernel_reads_it() {
        let attributes = |settings: Fq| {
            let TcAttribute::Options(options) = fq(&settings) else { panic!("nested options") };
            let read = |option: &TcOption| {
                let mut bytes = vec![0; option.value_len()];
                option.emit_value(&mut bytes);
                (option.kind(), u32::from_ne_bytes(bytes.try_into().unwrap()))
            };
            options.iter().map(read).collect::<Vec<_>>()
        };
        let set = Fq { flow_limit: 1000, quantum: Bytes::kib(64), maxrate: Some(Rate::gbit(8)) };
        assert_eq!(attributes(set), [(2, 1000), (3, 65_536), (7, 1_000_000_000)]);
        assert_eq!(attributes(Fq { maxrate: None, ..set })[2], (7, u32::MAX));
    }

    #[test]
    fn a_links_own_counters_replace_the_generic_ones() {
        let mut statistics = Statistics { kind: "wire".into(), ..Default::default() };
        let words: Vec<u8> =
            [100u64, 2, 30, 4, 5, 60, 700, 8, 9].iter().flat_map(|w| w.to_ne_bytes()).collect();
        decode_wire(&words, &mut statistics);
        assert_eq!((statistics.backlog_bytes, statistics.backlog_packets), (100, 2));
        assert_eq!(
            (statistics.dropped_packets, statistics.sent_packets, statistics.sent_bytes),
            (4, 60, 700)
        );
        let link = LinkStatistics {
            lost_packets: 5,
            flight_packets: 30,
            copied_packets: Some(8),
            marked_packets: Some(9),
            managed_packets: None,
        };
        assert_eq!(statistics.link, Some(link));
    }
}
