//! The two ends of a flow: sockets with what a run says of their hosts, or a source of datagrams.

use super::build::{
    ETHERNET, Unsupported, egress_rate, holds_packets, largest_frame, moves_trains, shortest_trip, splits,
};
use super::flow::{Endpoint, Tcp};
use super::limits::{LONGEST_TRAIN, Limit, TRAIN_BYTES};
use super::udp::Udp;
use crate::host::SocketRules;
use crate::net::{Ecn, Random};
use crate::tcp::Feedback;
use crate::tcp::receiver::{self, BufferSettings, Receiver};
use crate::tcp::sender::{self, Sender, Stream};
use std::collections::BTreeMap;
use std::rc::Rc;
use wirespeed_congestion::{Algorithm, algorithm};
use wirespeed_scenario::run::{
    Congestion, EcnFeedback, EcnField, Factor, Flow as Planned, FlowKind, Host, KernelVersion, Qdisc, Run,
};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

/// IPv4 and TCP headers without options.
const IP_TCP: u64 = 40;
/// IPv4 and UDP headers.
const IP_UDP: u64 = 28;
/// RFC 7323 timestamps with their padding.
const TIMESTAMPS: u64 = 12;
/// A window up to which packets may fill all of it.
const TCP_MSS_DEFAULT: u64 = 536;
/// The least payload of a full segment.
const TCP_MIN_MSS: u64 = 88;
/// Packets of a relayed stream without an end: more than any run sends. A stream with a number of packets sends only bytes that
/// the relay has written.
const MOST_RELAYED: u64 = 1 << 44;
/// SOCK_MIN_RCVBUF, half of SOCK_MIN_SNDBUF (TCP_SKB_MIN_TRUESIZE of include/net/sock.h, 64 bit).
const SOCK_MIN: u64 = 2304;

/// The congestion control that a run names.
pub(super) fn find(congestion: &Congestion) -> Result<&'static Algorithm, Unsupported> {
    if congestion.own {
        return Err(Unsupported(format!(
            "congestion control {} is a C source, which the model cannot run; run it on the kernel",
            congestion.name
        )));
    }
    algorithm(&congestion.name).ok_or_else(|| {
        Unsupported(format!(
            "congestion control {} is not in the model; run it on the kernel",
            congestion.name
        ))
    })
}

/// Its parameters as numbers.
pub(super) fn parameters(congestion: &Congestion) -> Result<BTreeMap<String, i64>, Unsupported> {
    let number = |name: &String, value: &Factor| match value {
        Factor::Integer(v) => Ok((name.clone(), *v)),
        Factor::Bool(v) => Ok((name.clone(), i64::from(*v))),
        other => Err(Unsupported(format!("{}: {name} = {other} is not a whole number", congestion.name))),
    };
    congestion.parameters.iter().map(|(name, value)| number(name, value)).collect()
}

/// Settings that connections of one kind share: with a thousand of them they are in the cache once.
type Shared = (Rc<sender::Settings>, Rc<receiver::Settings>);

/// Makes the ends of a run's flows, in their order.
pub(super) struct Connections<'a> {
    run: &'a Run,
    /// The flow made last, with its settings: those after it mostly are of its kind.
    last: Option<(&'a Planned, Shared)>,
}

impl<'a> Connections<'a> {
    /// Of a run.
    pub fn of(run: &'a Run) -> Self {
        Connections { run, last: None }
    }

    /// The ends of flow number `index`.
    ///
    /// # Errors
    /// What it asks for that the model lacks.
    pub fn endpoint(&mut self, index: usize) -> Result<Endpoint, Unsupported> {
        let (run, flow) = (self.run, &self.run.flows[index]);
        match &flow.kind {
            FlowKind::Tcp { .. } => self.tcp(flow, index as u32),
            FlowKind::Udp { rate, datagram, .. } => {
                let frame = datagram.get() + IP_UDP + ETHERNET;
                let gap =
                    Span::ps((datagram.bits() * 1_000_000_000_000 / u128::from(rate.get().max(1))) as i64);
                let limit = flow.bytes.map_or(u64::MAX, |bytes| bytes.get().div_ceil(datagram.get().max(1)));
                let by_time = LONGEST_TRAIN.picoseconds() / gap.picoseconds().max(1);
                let batch =
                    if moves_trains(run) { (TRAIN_BYTES / frame).min(by_time.max(1) as u64) } else { 1 };
                let stop = SimTime::START + flow.stop;
                let ecn = field(run.ecn_field(flow));
                let mut udp = Udp::new(datagram.get() as u32, frame as u32, gap, limit, batch as u32, stop);
                udp.ecn = ecn;
                Ok(Endpoint::Udp(Box::new(udp)))
            }
        }
    }

    fn tcp(&mut self, flow: &'a Planned, index: u32) -> Result<Endpoint, Unsupported> {
        let (sender, receiver) = self.settings(flow)?;
        let mss = u64::from(sender.mss);
        let bytes = flow.bytes.map(|bytes| bytes.get().max(1));
        let seed = self.run.seed;
        let stream = Stream {
            flow: index,
            packets: match bytes {
                // It has no message yet.
                _ if flow.application.is_some() => 0,
                Some(bytes) => bytes.div_ceil(mss),
                None if flow.is_relayed() => MOST_RELAYED,
                None => u64::MAX,
            },
            last_bytes: bytes.map_or(sender.mss, |bytes| ((bytes - 1) % mss + 1) as u32),
            stays_open: flow.application.is_some(),
            peer_stamp_offset: (Random::derived(seed, &format!("{} stamps", flow.label)).draw() >> 32) as u32,
            // By the flow's name, so that another flow shifts nothing.
            seed: seed ^ Random::name_hash(&flow.label),
        };
        let (sender, receiver) = (Sender::new(sender, stream), Receiver::new(receiver, index));
        Ok(Endpoint::Tcp(Tcp { sender, receiver }))
    }

    /// The settings of a flow, which are those of the last one if nothing differs that they depend on.
    fn settings(&mut self, flow: &'a Planned) -> Result<Shared, Unsupported> {
        if let Some((last, shared)) = &self.last
            && (&last.kind, &last.from, &last.to, &last.route)
                == (&flow.kind, &flow.from, &flow.to, &flow.route)
            && last.ecn == flow.ecn
        {
            return Ok(shared.clone());
        }
        let shared = settings(self.run, flow)?;
        self.last = Some((flow, shared.clone()));
        Ok(shared)
    }
}

fn settings(run: &Run, flow: &Planned) -> Result<Shared, Unsupported> {
    let FlowKind::Tcp { congestion, window, max_rate, .. } = &flow.kind else {
        unreachable!("called for TCP flows only")
    };
    let (from, to) = (run.host(&flow.from), run.host(&flow.to));
    let both = |f: fn(&Host) -> bool| f(from) && f(to);
    let (timestamps, sack) = (both(|h| h.tcp.timestamps), both(|h| h.tcp.sack));
    let scaling = both(|h| h.tcp.window_scaling);
    let algorithm = find(congestion)?;
    let (feedback, ecn) = (feedback(run.ecn_feedback(flow)), field(run.ecn_field(flow)));
    let options = if timestamps { TIMESTAMPS } else { 0 };
    let payload = |mtu: Bytes| mtu.get().saturating_sub(IP_TCP + options).max(TCP_MIN_MSS);
    let announced = payload(from.mtu.min(to.mtu));
    let handshake = (ETHERNET + IP_TCP + if timestamps { 20 } else { 12 }) as u32;
    let headers = (ETHERNET + IP_TCP + options) as u32;
    // The kernel doubles what SO_SNDBUF and SO_RCVBUF ask for, within the ceilings and not below a least.
    let fixed = |ceiling: u64, least: u64| window.map(|w| (w.get().min(ceiling) * 2).max(least));
    let idle = from.sysctls.get("net.ipv4.tcp_slow_start_after_idle").is_none_or(|value| value != "0");
    let buffer = BufferSettings {
        fixed: fixed(to.tcp.rmem_max.get(), SOCK_MIN),
        range: (to.tcp.rmem[1].get(), to.tcp.rmem[2].get()),
        ceiling: to.tcp.rmem_max.get(),
        own_mss: payload(to.mtu),
        scaling,
        // As our reader on a kernel does (crates/run/agent/src/tcp.rs). A relay takes what there is.
        low_water: (to.hardware.is_none() && to.splitter.is_none()).then_some((16, 1 << 20)),
        packet_memory: super::inside::packet_memory(to),
        adv_win_scale: to.tcp.adv_win_scale,
        rules: SocketRules::of(kernel(to)),
        send_buffer: fixed(to.tcp.wmem_max.get(), 2 * SOCK_MIN)
            .unwrap_or_else(|| sender::initial_send_buffer(to.tcp.wmem[1].get(), announced + options)),
    };
    let mss = fitting(announced, buffer.largest_window()) as u32;
    let (line, train) = first_line(run, flow);
    let queued = egress_rate(from).is_some();
    let sender = sender::Settings {
        mss,
        mss_clamp: (announced + options) as u32,
        headers,
        handshake_frame: handshake,
        timestamps,
        sack,
        feedback,
        ecn,
        // A modelled host without segmentation offload sends packet by packet; other hosts always have Linux' own.
        gso_packets: if from.hardware.is_some() && !(from.offloads.tso || from.offloads.gso) {
            1
        } else {
            (sender::GSO_BYTES / u64::from(mss)).max(1) as u32
        },
        train_packets: if from.hardware.is_some() || queued { 0 } else { train.shared },
        line: line.serialisation(Bytes::new(u64::from(headers + mss))),
        send_buffer: fixed(from.tcp.wmem_max.get(), 2 * SOCK_MIN),
        send_buffer_range: (from.tcp.wmem[1].get(), from.tcp.wmem[2].get()),
        paced: from.qdisc == Qdisc::Fq || max_rate.is_some(),
        queued,
        split: splits(from),
        held: holds_packets(from),
        max_pacing: max_rate.map_or(u64::MAX, |rate| rate.bytes_per_second()),
        small_queues: from.tcp.small_queues,
        stretch_acks: from.tcp.stretch_acks,
        stretch_slow_start: kernel(from) >= KernelVersion::new(3, 13, 0),
        era: sender::Era::of(kernel(from)),
        initial_window: from.tcp.initial_window.map_or(sender::INITIAL_WINDOW, u64::from),
        slow_start_after_idle: idle,
        algorithm,
        parameters: own(parameters(congestion)?, algorithm, kernel(from)),
    };
    let receiver = receiver::Settings {
        mss,
        ack_frame: headers,
        handshake_frame: handshake,
        timestamps,
        sack,
        feedback,
        // Acknowledgements are ECN-capable, too (ECN++), only with Accurate ECN.
        ack_ecn: if feedback == Feedback::Accurate { ecn } else { Ecn::NotCapable },
        buffer,
    };
    Ok((Rc::new(sender), Rc::new(receiver)))
}

fn feedback(negotiated: EcnFeedback) -> Feedback {
    match negotiated {
        EcnFeedback::Off => Feedback::Off,
        EcnFeedback::Classic => Feedback::Classic,
        EcnFeedback::ExactEcho => Feedback::ExactEcho,
        EcnFeedback::Accurate => Feedback::Accurate,
    }
}

fn field(field: EcnField) -> Ecn {
    match field {
        EcnField::NotEct => Ecn::NotCapable,
        EcnField::Ect0 => Ecn::Capable,
        EcnField::Ect1 => Ecn::Scalable,
    }
}

/// The parameters of an algorithm as its kernel has it: before commit ae27e98a5152, 2.6.29, CUBIC had no HyStart.
fn own(
    mut parameters: BTreeMap<String, i64>,
    algorithm: &Algorithm,
    kernel: KernelVersion,
) -> BTreeMap<String, i64> {
    if algorithm.name == "cubic" && kernel < KernelVersion::new(2, 6, 29) {
        parameters.entry("hystart".to_owned()).or_insert(0);
    }
    parameters
}

/// The kernel of a host: today's where nothing says another.
pub(super) fn kernel(host: &Host) -> KernelVersion {
    host.hardware.as_ref().map_or(KernelVersion::TODAY, |inside| inside.machine.kernel)
}

/// The rate at which packets of a flow leave its host, or that of the first link where nothing limits the host, and how
/// long trains there may be.
fn first_line(run: &Run, flow: &Planned) -> (Rate, Limit) {
    let frame = largest_frame(run);
    if let Some(rate) = egress_rate(run.host(&flow.from)) {
        return (rate, Limit::of_frame(frame).within(run));
    }
    let (link, rightwards) = *run.way_out(flow).first().expect("a flow's hosts are at different routers");
    let direction = if rightwards { &run.links[link].forward } else { &run.links[link].reverse };
    let limit = Limit::of_link(frame, direction, shortest_trip(run, link, direction));
    (direction.greatest_rate(), limit.within(run))
}

/// Payload of a full segment where `announced` bytes do not fit into the peer's largest window: half of that
/// (`tcp_bound_to_half_wnd`). Linux bounds every segment to half of the largest window it has seen.
fn fitting(announced: u64, window: u64) -> u64 {
    if announced <= window {
        return announced;
    }
    let cutoff = if window > TCP_MSS_DEFAULT { window / 2 } else { window };
    cutoff.max(TCP_MIN_MSS)
}
