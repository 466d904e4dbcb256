//! From a run to pipes and flows.

use super::capture::Ends;
use super::flow::{Endpoint, Flow, Tcp, Udp};
use super::path::Pipe;
use super::{LONGEST_TRAIN, TRAIN_BYTES};
use crate::net::{
    CoDelSettings, FqCodelSettings, LinkSettings, LossSettings, PolicerSettings, PortLimitSettings,
    QueueSettings, Random, RedSettings,
};
use crate::tcp::receiver::{self, BufferSettings, Receiver};
use crate::tcp::sender::{self, Sender};
use std::collections::BTreeMap;
use std::fmt;
use wirespeed_congestion::{Algorithm, algorithm};
use wirespeed_scenario::run::{
    Congestion, Direction, Factor, Flow as Planned, FlowKind, Host, LossModel, Qdisc, Queue, Run,
};
use wirespeed_units::{Rate, SimTime, Span};

/// Bytes of an Ethernet header, which Linux counts as part of a packet in qdiscs.
const ETHERNET: u64 = 14;
/// IPv4 and TCP headers without options.
const IP_TCP: u64 = 40;
/// IPv4 and UDP headers.
const IP_UDP: u64 = 28;
/// RFC 7323 timestamps with their padding.
const TIMESTAMPS: u64 = 12;
/// SOCK_MIN_RCVBUF, half of SOCK_MIN_SNDBUF (TCP_SKB_MIN_TRUESIZE of include/net/sock.h, 64 bit).
const SOCK_MIN: u64 = 2304;
/// Packets that a host's fq_codel holds at most, its default in Linux.
const FQ_CODEL_PACKETS: u32 = 10_240;

/// Packets that fq holds at most, its default in Linux.
const FQ_LIMIT: u32 = 10_000;

/// What a run asks for and the model lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Sysctls that the model follows; others that a host sets have no effect here.
pub(super) const KNOWN_SYSCTLS: &[&str] = &["net.ipv4.tcp_slow_start_after_idle"];

/// Whether the model can carry a run out.
///
/// # Errors
/// The first thing it lacks.
pub fn check(run: &Run) -> Result<(), Unsupported> {
    for flow in &run.flows {
        if let FlowKind::Tcp { congestion, .. } = &flow.kind {
            let found = find(congestion)?;
            let setup = wirespeed_congestion::Setup::new(wirespeed_units::Bytes::new(1448), 10);
            found.build(&setup, &parameters(congestion)?).map_err(|error| Unsupported(error.to_string()))?;
        }
        if run.host(&flow.from).router == run.host(&flow.to).router {
            return Err(Unsupported(format!("flow {}: its hosts are on one router", flow.label)));
        }
    }
    Ok(())
}

fn find(congestion: &Congestion) -> Result<&'static Algorithm, Unsupported> {
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

fn parameters(congestion: &Congestion) -> Result<BTreeMap<String, i64>, Unsupported> {
    let number = |name: &String, value: &Factor| match value {
        Factor::Integer(v) => Ok((name.clone(), *v)),
        Factor::Bool(v) => Ok((name.clone(), i64::from(*v))),
        other => Err(Unsupported(format!("{}: {name} = {other} is not a whole number", congestion.name))),
    };
    congestion.parameters.iter().map(|(name, value)| number(name, value)).collect()
}

/// Pipes and flows of a run.
pub(super) fn build(run: &Run) -> Result<(Vec<Pipe>, Vec<Flow>), Unsupported> {
    check(run)?;
    let mut plan =
        Plan { run, pipes: Vec::new(), links: Vec::new(), access: Vec::new(), interfaces: Vec::new() };
    plan.lay();
    let flows = run
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| {
            let routes = [plan.route(&flow.from, &flow.to), plan.route(&flow.to, &flow.from)];
            let endpoint = endpoint(run, flow)?;
            let ends = ends(run, flow, index, &endpoint);
            Ok(Flow::new(endpoint, routes, ends))
        })
        .collect::<Result<_, Unsupported>>()?;
    Ok((plan.pipes, flows))
}

fn ends(run: &Run, flow: &Planned, index: usize, endpoint: &Endpoint) -> Ends {
    match endpoint {
        Endpoint::Tcp(tcp) => {
            let state = tcp.sender.state();
            let scale = tcp.receiver.window_scale();
            Ends::of(run, flow, index, state.mss(), state.uses_timestamps(), [scale; 2])
        }
        Endpoint::Udp(udp) => Ends::of(run, flow, index, udp.payload, false, [0; 2]),
    }
}

struct Plan<'a> {
    run: &'a Run,
    pipes: Vec<Pipe>,
    /// Forward and reverse pipe of each link.
    links: Vec<[u32; 2]>,
    /// The access line toward each host.
    access: Vec<Option<u32>>,
    /// The interface of each host, where its rate is limited.
    interfaces: Vec<Option<u32>>,
}

impl Plan<'_> {
    fn add(&mut self, pipe: Pipe) -> u32 {
        self.pipes.push(pipe);
        self.pipes.len() as u32 - 1
    }

    fn frame(&self) -> u64 {
        self.run.hosts.iter().map(|host| host.mtu.get()).max().unwrap_or(1500) + ETHERNET
    }

    fn lay(&mut self) {
        let run = self.run;
        let frame = self.frame();
        // With one host on each side of one link the access delays are part of the link, as on a kernel.
        let pair = run.hosts.len() == 2 && run.links.len() == 1 && run.hosts[0].router != run.hosts[1].router;
        let extra = if pair { run.hosts.iter().map(|host| host.access_delay).sum() } else { Span::ZERO };
        for (index, link) in run.links.iter().enumerate() {
            let sides = [("forward", &link.forward, true), ("reverse", &link.reverse, false)].map(
                |(side, direction, forward)| {
                    let settings = settings(run, index, direction, forward, extra, frame);
                    let name = format!("{}/{side}", link.name);
                    let mut pipe = Pipe::link(name, direction.queue.name(), false, &settings, frame);
                    pipe.marks = marks(&direction.queue);
                    self.add(pipe)
                },
            );
            self.links.push(sides);
        }
        for host in &run.hosts {
            let access = (!pair && host.access_delay > Span::ZERO).then(|| {
                let name = format!("{}/access", host.name);
                self.add(Pipe::delay(name, false, host.access_delay * 2, run.trains, frame))
            });
            self.access.push(access);
            let interface = host.nic_rate.map(|rate| {
                let settings = interface(host, rate, run.trains, frame);
                let name = format!("{}/qdisc", host.name);
                self.add(Pipe::link(name, qdisc_name(host.qdisc), true, &settings, frame))
            });
            self.interfaces.push(interface);
        }
    }

    fn route(&self, from: &str, to: &str) -> Vec<u32> {
        let position = |name| self.run.hosts.iter().position(|host| host.name == name);
        let (from, to) =
            (position(from).expect("a run names its own hosts"), position(to).expect("as above"));
        let (a, b) = (self.run.hosts[from].router, self.run.hosts[to].router);
        let links: Vec<u32> = if a < b {
            self.links[a..b].iter().map(|sides| sides[0]).collect()
        } else {
            self.links[b..a].iter().rev().map(|sides| sides[1]).collect()
        };
        self.interfaces[from].into_iter().chain(links).chain(self.access[to]).collect()
    }
}

fn qdisc_name(qdisc: Qdisc) -> &'static str {
    match qdisc {
        Qdisc::PfifoFast => "pfifo_fast",
        Qdisc::Fq => "fq",
        Qdisc::FqCodel => "fq_codel",
    }
}

fn marks(queue: &Queue) -> bool {
    match queue {
        Queue::DropTail { mark_above } | Queue::DropTailPackets { mark_above, .. } => mark_above.is_some(),
        Queue::Red { ecn, .. } | Queue::CoDel { ecn, .. } | Queue::FqCodel { ecn, .. } => *ecn,
    }
}

/// The interface of a host: its qdisc, and the rate at which packets leave.
fn interface(host: &Host, rate: Rate, trains: bool, frame: u64) -> LinkSettings {
    // Linux counts what it hands over as one: with segmentation offload a piece of up to 64 KiB.
    let offload = host.offloads.tso || host.offloads.gso;
    let piece = if offload { (TRAIN_BYTES / frame.max(1)).max(1) as u32 } else { 1 };
    let ring = host.hardware.as_ref().map(|hardware| hardware.nic.tx_ring.saturating_mul(piece));
    let queue = match host.qdisc {
        Qdisc::PfifoFast | Qdisc::Fq => {
            // What is in the ring has left the queueing discipline.
            let waiting = match (host.qdisc, ring) {
                (Qdisc::Fq, Some(_)) => FQ_LIMIT.saturating_mul(piece),
                (_, Some(_)) => host.txqueuelen.saturating_mul(piece),
                _ => host.txqueuelen,
            };
            let limit = waiting.saturating_add(ring.unwrap_or(0));
            QueueSettings::DropTailPackets { limit, ecn_threshold: None }
        }
        Qdisc::FqCodel => QueueSettings::FqCodel(FqCodelSettings {
            quantum: frame as u32,
            target: Span::ms(5),
            interval: Span::ms(100),
            limit: FQ_CODEL_PACKETS,
            ecn: true,
        }),
    };
    LinkSettings {
        queue,
        train_limit: if trains { u32::MAX } else { 1 },
        ring,
        ..LinkSettings::new(rate, Span::ZERO, wirespeed_units::Bytes::new(0))
    }
}

fn settings(
    run: &Run,
    index: usize,
    direction: &Direction,
    forward: bool,
    extra: Span,
    frame: u64,
) -> LinkSettings {
    let limit = direction.buffer.get();
    // CoDel looks at the delay of every packet that leaves: trains would hide most of them.
    let decides_at_dequeue = matches!(direction.queue, Queue::CoDel { .. } | Queue::FqCodel { .. });
    let queue = match &direction.queue {
        Queue::DropTail { mark_above } => {
            QueueSettings::DropTailBytes { limit, ecn_threshold: mark_above.map(|b| b.get()) }
        }
        Queue::DropTailPackets { packets, mark_above } => {
            QueueSettings::DropTailPackets { limit: *packets, ecn_threshold: mark_above.map(|b| b.get()) }
        }
        Queue::Red { min, max, probability, weight, ecn } => QueueSettings::Red(RedSettings {
            min: min.get(),
            max: max.get(),
            max_probability: *probability,
            weight: *weight,
            limit,
            // Linux' sch_red drops everything beyond the upper threshold.
            gentle: false,
            ecn: *ecn,
        }),
        Queue::CoDel { target, interval, ecn } => QueueSettings::CoDel(CoDelSettings {
            target: *target,
            interval: *interval,
            limit: packets_of(limit, frame),
            ecn: *ecn,
        }),
        Queue::FqCodel { target, interval, quantum, ecn } => QueueSettings::FqCodel(FqCodelSettings {
            quantum: u32::try_from(quantum.get()).unwrap_or(u32::MAX),
            target: *target,
            interval: *interval,
            limit: packets_of(limit, frame),
            ecn: *ecn,
        }),
    };
    let loss = match direction.loss_model {
        LossModel::Independent if direction.loss > 0.0 => {
            LossSettings::Random { probability: direction.loss }
        }
        LossModel::Independent => LossSettings::None,
        LossModel::BitError { rate } => LossSettings::BitError { rate },
        LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
            LossSettings::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad }
        }
    };
    let at = |span: Span| SimTime::START + span;
    LinkSettings {
        rate: direction.rate,
        delay: direction.delay + extra,
        queue,
        loss,
        seed: run.link_seed(index, forward),
        train_limit: if run.trains && !decides_at_dequeue { u32::MAX } else { 1 },
        outages: direction.outages.iter().map(|(from, to)| (at(*from), at(*to))).collect(),
        policer: direction.policer.map(|p| PolicerSettings { rate: p.rate, burst: p.burst }),
        ring: None,
        port_limit: direction.port_limit.map(|p| PortLimitSettings { rate: p.rate, burst: p.burst }),
    }
}

fn packets_of(bytes: u64, frame: u64) -> u32 {
    u32::try_from(bytes / frame.max(1)).unwrap_or(u32::MAX)
}

fn endpoint(run: &Run, flow: &Planned) -> Result<Endpoint, Unsupported> {
    let index = run.flows.iter().position(|f| f.label == flow.label).expect("it is one of the run's flows");
    match &flow.kind {
        FlowKind::Tcp { .. } => tcp(run, flow, index as u32),
        FlowKind::Udp { rate, datagram, .. } => {
            let frame = datagram.get() + IP_UDP + ETHERNET;
            let gap = Span::ps((datagram.bits() * 1_000_000_000_000 / u128::from(rate.get().max(1))) as i64);
            let limit = flow.bytes.map_or(u64::MAX, |bytes| bytes.get().div_ceil(datagram.get().max(1)));
            let by_time = LONGEST_TRAIN.picoseconds() / gap.picoseconds().max(1);
            let batch = if run.trains { (TRAIN_BYTES / frame).min(by_time.max(1) as u64) } else { 1 };
            let stop = SimTime::START + flow.stop;
            let udp = Udp::new(datagram.get() as u32, frame as u32, gap, limit, batch as u32, stop);
            Ok(Endpoint::Udp(Box::new(udp)))
        }
    }
}

fn tcp(run: &Run, flow: &Planned, index: u32) -> Result<Endpoint, Unsupported> {
    let FlowKind::Tcp { congestion, window, max_rate } = &flow.kind else {
        unreachable!("called for TCP flows only")
    };
    let (from, to) = (run.host(&flow.from), run.host(&flow.to));
    let both = |f: fn(&Host) -> bool| f(from) && f(to);
    let (timestamps, sack) = (both(|h| h.tcp.timestamps), both(|h| h.tcp.sack));
    let scaling = both(|h| h.tcp.window_scaling);
    let algorithm = find(congestion)?;
    let ecn = algorithm.needs_ecn || (from.tcp.ecn == 1 && to.tcp.ecn >= 1);
    let options = if timestamps { TIMESTAMPS } else { 0 };
    let mss = from.mtu.min(to.mtu).get().saturating_sub(IP_TCP + options).max(88) as u32;
    let handshake = (ETHERNET + IP_TCP + if timestamps { 20 } else { 12 }) as u32;
    let headers = (ETHERNET + IP_TCP + options) as u32;
    let bytes = flow.bytes.map(|bytes| bytes.get().max(1));
    let packets = bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(u64::from(mss)));
    let last_bytes = bytes.map_or(mss, |bytes| ((bytes - 1) % u64::from(mss) + 1) as u32);
    // The kernel doubles what SO_SNDBUF and SO_RCVBUF ask for, within the ceilings and not below a least.
    let fixed = |ceiling: u64, least: u64| window.map(|w| (w.get().min(ceiling) * 2).max(least));
    let idle = from.sysctls.get("net.ipv4.tcp_slow_start_after_idle").is_none_or(|value| value != "0");
    let sender = Sender::new(sender::Settings {
        flow: index,
        mss,
        mss_clamp: mss + options as u32,
        headers,
        handshake_frame: handshake,
        timestamps,
        sack,
        ecn,
        packets,
        last_bytes,
        // A modelled host without segmentation offload sends packet by packet; other hosts always have Linux' own.
        gso_packets: if from.hardware.is_some() && !(from.offloads.tso || from.offloads.gso) {
            1
        } else {
            (sender::GSO_BYTES / u64::from(mss)).max(1) as u32
        },
        train_packets: if from.hardware.is_some() { 0 } else { sender::TRAIN_PACKETS },
        send_buffer: fixed(from.tcp.wmem_max.get(), 2 * SOCK_MIN),
        send_buffer_range: (from.tcp.wmem[1].get(), from.tcp.wmem[2].get()),
        paced: from.qdisc == Qdisc::Fq || max_rate.is_some(),
        max_pacing: max_rate.map_or(u64::MAX, |rate| rate.bytes_per_second()),
        small_queues: from.tcp.small_queues,
        stretch_acks: from.tcp.stretch_acks,
        initial_window: from.tcp.initial_window.map_or(sender::INITIAL_WINDOW, u64::from),
        slow_start_after_idle: idle,
        algorithm,
        parameters: parameters(congestion)?,
        peer_stamp_offset: (Random::derived(run.seed, &format!("{} stamps", flow.label)).draw() >> 32) as u32,
        // By the flow's name, so that another flow shifts nothing.
        seed: run.seed ^ Random::name_hash(&flow.label),
    });
    let receiver = Receiver::new(receiver::Settings {
        flow: index,
        mss,
        ack_frame: headers,
        handshake_frame: handshake,
        timestamps,
        sack,
        ecn,
        exact_ecn: algorithm.needs_ecn,
        buffer: BufferSettings {
            fixed: fixed(to.tcp.rmem_max.get(), SOCK_MIN),
            range: (to.tcp.rmem[1].get(), to.tcp.rmem[2].get()),
            ceiling: to.tcp.rmem_max.get(),
            scaling,
            // As our reader on a kernel does (crates/lab/src/agent/tcp.rs).
            low_water: to.hardware.is_none().then_some((16, 1 << 20)),
            packet_memory: super::inside::packet_memory(to),
            adv_win_scale: to.tcp.adv_win_scale,
        },
    });
    Ok(Endpoint::Tcp(Tcp { sender, receiver }))
}
