//! Queueing disciplines: what we ask of the kernel, and what it counts.

use crate::netlink::Netlink;
use netlink_packet_core::DefaultNla;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use std::io;
use wirespeed_host::sources::qdisc as host;
use wirespeed_scenario::run::{Direction, Fq, Host, Qdisc};
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

/// The kernel's name of a host discipline.
pub fn kernel_name(qdisc: Qdisc) -> &'static str {
    match qdisc {
        Qdisc::PfifoFast => "pfifo_fast",
        Qdisc::Fq => "fq",
        Qdisc::FqCodel => "fq_codel",
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
    let (kind, options) = match spec {
        Spec::Host(qdisc) => (kernel_name(*qdisc), None),
        Spec::Fq(settings) => (kernel_name(Qdisc::Fq), Some(fq(settings))),
        Spec::Bucket { rate, frame, burst, room } => {
            ("tbf", Some(token_bucket(*rate, *frame, *burst, *room)))
        }
        Spec::Link { direction, seed } => ("wire", Some(wire(direction, *seed))),
        Spec::Netem { direction, seed } => ("netem", Some(netem(direction, *seed))),
    };
    let mut message = TcMessage::with_index(index as i32);
    message.header.parent = parent;
    message.header.handle = handle;
    message.attributes.push(TcAttribute::Kind(kind.into()));
    message.attributes.extend(options);
    netlink
        .create(RouteNetlinkMessage::NewQueueDiscipline(message))
        .map_err(|e| io::Error::new(e.kind(), format!("qdisc {kind}: {e}")))
}

/// `struct tc_wire_qopt` of kernel/qdisc/sch_wire.c.
fn wire(direction: &Direction, seed: u64) -> TcAttribute {
    // 2^64 does not fit; a probability of 1 loses one packet in 2^64 fewer than all.
    let loss = (direction.loss * 2f64.powi(64)) as u64;
    let words =
        [direction.rate.get(), direction.delay.nanoseconds() as u64, direction.buffer.get(), loss, seed];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, bytes))
}

const TCA_OPTIONS: u16 = 2;

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
}

/// What only a link counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Packets lost on the link.
    pub lost_packets: u64,
    /// Packets being sent or in propagation.
    pub flight_packets: u64,
}

/// One direction of a link of netem with a bucket below it, as one queue. netem counts what the bucket drops as
/// its own drop, and what waits in the bucket as its own backlog.
pub fn joined(netem: &Statistics, bucket: &Statistics) -> Statistics {
    Statistics {
        is_root: true,
        link: Some(LinkStatistics {
            lost_packets: netem.dropped_packets.saturating_sub(bucket.dropped_packets),
            flight_packets: netem.backlog_packets.saturating_sub(bucket.backlog_packets),
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
        };
        if statistics.kind == "wire" && !qdisc.private.is_empty() {
            decode_wire(&qdisc.private, &mut statistics);
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
    into.link = Some(LinkStatistics { lost_packets, flight_packets });
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::Nla;
    use wirespeed_units::Span;

    #[test]
    fn a_link_is_encoded_as_the_kernel_side_reads_it() {
        let direction = Direction::plain(Rate::gbit(10), Span::ms(5), 0.5, Bytes::new(1000));
        let TcAttribute::Other(nla) = wire(&direction, 7) else { panic!("raw options") };
        let mut bytes = vec![0; nla.value_len()];
        nla.emit_value(&mut bytes);
        let words: Vec<u64> = bytes.chunks(8).map(|w| u64::from_ne_bytes(w.try_into().unwrap())).collect();
        assert_eq!(words, [10_000_000_000, 5_000_000, 1000, 1 << 63, 7]);
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
        let words: Vec<u8> = [100u64, 2, 30, 4, 5, 60, 700].iter().flat_map(|w| w.to_ne_bytes()).collect();
        decode_wire(&words, &mut statistics);
        assert_eq!((statistics.backlog_bytes, statistics.backlog_packets), (100, 2));
        assert_eq!(
            (statistics.dropped_packets, statistics.sent_packets, statistics.sent_bytes),
            (4, 60, 700)
        );
        assert_eq!(statistics.link, Some(LinkStatistics { lost_packets: 5, flight_packets: 30 }));
    }
}
