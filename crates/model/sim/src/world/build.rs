//! From a run to pipes and flows.

use super::capture::addressing;
use super::connection::{Connections, find, parameters};
use super::flow::{Flow, Path};
use super::limits::{Limit, TRAIN_BYTES};
use super::path::Pipe;
use crate::net::{
    ChangeSettings, CoDelSettings, DualPi2Settings, DuplicateSettings, FecSettings, FqCodelSettings,
    FqSettings, HostQueue, LinkSettings, LossSettings, PolicerSettings, PortLimitSettings, QueueSettings,
    RedSettings, ReorderSettings, StepSettings,
};
use crate::tcp::PACKET_OVERHEAD;
use std::fmt;
use std::rc::Rc;
use wirespeed_scenario::run::{
    Application, Crossing, Direction, Duplicate, Flow as Planned, FlowKind, Host, KERNEL_KEY, KernelVersion,
    LossModel, Overload, Qdisc, Queue, Reorder, Run, Step,
};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

/// Bytes of an Ethernet header, which Linux counts as part of a packet in qdiscs.
pub(super) const ETHERNET: u64 = 14;
/// GSO packets that a host's fq_codel holds at most, and their memory (sch_fq_codel.c: `limit`, `memory_limit`).
const FQ_CODEL_LIMIT: u32 = 10_240;
const FQ_CODEL_MEMORY: u64 = 32 << 20;

/// GSO packets that fq holds at most, and of one flow unless it is set (sch_fq.c: `limit`, `flow_limit`).
const FQ_LIMIT: u32 = 10_000;
const FQ_FLOW_LIMIT: u32 = 100;
/// Frames of the largest size that a flow sends in its turn unless it is set, and in its first (sch_fq.c: `quantum`,
/// `initial_quantum`).
const FQ_TURN: u32 = 2;
const FQ_FIRST_TURN: u32 = 10;

/// Of an interface that never limits: the fastest that a scenario can have.
const UNLIMITED: Rate = Rate::gbit(100_000);

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
    check_kernel(run)?;
    check_splitters(run)?;
    for flow in &run.flows {
        if let FlowKind::Tcp { congestion, .. } = &flow.kind {
            let found = find(congestion)?;
            let setup = wirespeed_congestion::Setup::new(wirespeed_units::Bytes::new(1448), 10);
            found.build(&setup, &parameters(congestion)?).map_err(|error| Unsupported(error.to_string()))?;
        }
        check_application(run, flow)?;
        if run.host(&flow.from).router == run.host(&flow.to).router {
            return Err(Unsupported(format!("flow {}: its hosts are on one router", flow.label)));
        }
    }
    Ok(())
}

/// Applications are those of hosts that are infinitely fast.
fn check_application(run: &Run, flow: &Planned) -> Result<(), Unsupported> {
    let key = match &flow.application {
        None => return Ok(()),
        Some(Application::DataSet { .. }) => "files",
        Some(Application::Requests { request, .. }) if *request > largest_request(run, flow) => {
            return Err(Unsupported(format!(
                "flow {}: requests of {request} are not available on the model, where they are one packet of at most {}; run it --on \
                 kernel, netns or hosts, or write a smaller requests.size",
                flow.label,
                largest_request(run, flow)
            )));
        }
        Some(Application::Requests { .. }) => "requests",
    };
    let hosts = [&flow.from, &flow.to].map(|name| run.host(name));
    let found = hosts.iter().find_map(|host| match () {
        () if host.hardware.is_some() => Some((host, "a machine", "its machine, or the preset that has one")),
        () if host.moderation.is_some() => Some((host, "coalesce", "coalesce")),
        () => None,
    });
    match found {
        None => Ok(()),
        Some((host, feature, remedy)) => Err(Unsupported(format!(
            "flow {}: {key} and a host with {feature} are not available together on the model; leave out {remedy} of host {}, or \
             run it --on kernel",
            flow.label, host.name
        ))),
    }
}

/// The payload of a packet from the receiver of a flow.
fn largest_request(run: &Run, flow: &Planned) -> Bytes {
    /// IPv4 and TCP headers with time stamps.
    const HEADERS: u64 = 52;
    Bytes::new(run.host(&flow.from).mtu.min(run.host(&flow.to).mtu).get().saturating_sub(HEADERS))
}

/// A splitter has no host model: its relay takes no time.
fn check_splitters(run: &Run) -> Result<(), Unsupported> {
    match run.hosts.iter().find_map(|host| host.splitter.as_ref().filter(|_| host.hardware.is_some())) {
        None => Ok(()),
        Some(splitter) => Err(Unsupported(format!(
            "host {}: a splitter with a machine is not available on the model; leave out its machine, or the preset that has \
             one",
            splitter.name
        ))),
    }
}

/// The kernel that a run asks for has to be the one whose TCP the model follows.
fn check_kernel(run: &Run) -> Result<(), Unsupported> {
    let follows = KernelVersion::TODAY;
    match &run.kernel {
        Some(kernel) if kernel.line() != Some(follows) => Err(Unsupported(format!(
            "{KERNEL_KEY} = \"{kernel}\" is not available on the model, which follows Linux {follows}; run it --on kernel, or \
             leave {KERNEL_KEY} out"
        ))),
        _ => Ok(()),
    }
}

/// Pipes and flows of a run.
pub(super) fn build(run: &Run) -> Result<(Vec<Pipe>, Vec<Flow>), Unsupported> {
    check(run)?;
    let mut plan =
        Plan { run, pipes: Vec::new(), links: Vec::new(), access: Vec::new(), interfaces: Vec::new() };
    plan.lay();
    let mut connections = Connections::of(run);
    let mut flows: Vec<Flow> = Vec::with_capacity(run.flows.len());
    for (index, flow) in run.flows.iter().enumerate() {
        let host = |name: &str| {
            run.hosts.iter().position(|host| host.name == name).expect("a run names only its own hosts")
        };
        let hosts = [host(&flow.from), host(&flow.to)];
        let path = match flows.last() {
            Some(last) if last.path.hosts == hosts && has_route_of_last(&run.flows, index) => {
                last.path.clone()
            }
            _ => {
                let [from, to] = hosts;
                let (out, back) = (run.way_out(flow), run.way_back(flow));
                let tells =
                    plan.interfaces[from].is_some_and(|pipe| plan.pipes[pipe as usize].tells_departures);
                Rc::new(Path::new(hosts, [plan.route(from, &out, to), plan.route(to, &back, from)], tells))
            }
        };
        let endpoint = connections.endpoint(index)?;
        // What its queue holds or refuses decides what a socket sends with the next acknowledgement: each is taken by itself,
        // unless it is known ahead what the queue will hold. A host with a machine polls them anyway.
        let from = run.host(&flow.from);
        if egress_rate(from).is_some() && from.hardware.is_none() && !path.tells_departures {
            path.last_back().iter().for_each(|pipe| plan.pipes[*pipe as usize].arrive_one_by_one());
        }
        // A splitter relays each packet at once.
        if flow.is_split() {
            path.last_out().iter().for_each(|pipe| plan.pipes[*pipe as usize].arrive_one_by_one());
        }
        if flow.is_relayed() {
            path.last_back().iter().for_each(|pipe| plan.pipes[*pipe as usize].arrive_one_by_one());
        }
        let captured = !run.captures.is_empty();
        let addressing = captured.then(|| Box::new(addressing(hosts, index, &endpoint)));
        flows.push(Flow::new(endpoint, path, addressing));
    }
    Ok((plan.pipes, flows))
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
        largest_frame(self.run)
    }

    fn lay(&mut self) {
        let run = self.run;
        let frame = self.frame();
        // With one host on each side of one link the access delays are part of the link, as on a kernel.
        let pair = run.hosts.len() == 2 && run.links.len() == 1 && run.hosts[0].router != run.hosts[1].router;
        let extra = if pair { run.hosts.iter().map(|host| host.access_delay).sum() } else { Span::ZERO };
        let of_frame = if moves_trains(run) { Limit::of_frame(frame).within(run) } else { Limit::ONE };
        for (index, link) in run.links.iter().enumerate() {
            let sides = [("forward", &link.forward, true), ("reverse", &link.reverse, false)].map(
                |(side, direction, forward)| {
                    let settings = settings(run, index, direction, forward, extra, frame);
                    let name = format!("{}/{side}", link.name);
                    let limit = Limit::of_link(frame, direction, shortest_trip(run, index, direction));
                    let limit = limit.within(run);
                    let mut pipe = Pipe::link(name, direction.queue.name(), false, &settings, limit);
                    pipe.marks = marks(&direction.queue);
                    self.add(pipe)
                },
            );
            self.links.push(sides);
        }
        for host in &run.hosts {
            let access = (!pair && host.access_delay > Span::ZERO).then(|| {
                let name = format!("{}/access", host.name);
                self.add(Pipe::delay(name, false, host.access_delay * 2, of_frame))
            });
            self.access.push(access);
            let interface = egress_rate(host).map(|rate| {
                let settings = interface(host, rate, moves_trains(run), frame);
                let name = format!("{}/qdisc", host.name);
                // The reference asks at each packet.
                // A splitter may have nothing to send with an acknowledgement.
                let tells = moves_trains(run)
                    && host.hardware.is_none()
                    && host.splitter.is_none()
                    && host.qdisc == Qdisc::PfifoFast;
                let limit = if tells { Limit::of_interface(frame).within(run) } else { of_frame };
                let mut pipe = Pipe::link(name, qdisc_name(host.qdisc), true, &settings, limit);
                pipe.marks = host.qdisc == Qdisc::FqCodel;
                pipe.tells_departures = tells;
                self.add(pipe)
            });
            self.interfaces.push(interface);
        }
    }

    /// The pipes from one host over links to another.
    fn route(&self, from: usize, over: &[Crossing], to: usize) -> Vec<u32> {
        let links = over.iter().map(|(link, rightwards)| self.links[*link][usize::from(!rightwards)]);
        self.interfaces[from].into_iter().chain(links).chain(self.access[to]).collect()
    }
}

/// Whether several packets may be one event. A repair packet protects packets by their order, and trains that overlap
/// do not keep it.
pub(super) fn moves_trains(run: &Run) -> bool {
    let protects = |direction: &Direction| direction.fec.is_some();
    run.trains && !run.links.iter().any(|link| protects(&link.forward) || protects(&link.reverse))
}

/// The shortest round trip of flows that cross a direction of a link: that link's own. Where there are several ways to a router
/// the one back may be shorter, and only the direction itself is sure.
pub(super) fn shortest_trip(run: &Run, link: usize, direction: &Direction) -> Span {
    if run.has_routes() { direction.delay } else { run.links[link].rtt() }
}

/// Whether the flow of that number crosses the same links as the one before it, as most do.
pub(super) fn has_route_of_last(flows: &[wirespeed_scenario::run::Flow], index: usize) -> bool {
    let (last, flow) = (&flows[index - 1], &flows[index]);
    (&last.route, &last.route_back) == (&flow.route, &flow.route_back)
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
        Queue::DualPi2(_) => true,
    }
}

/// Packets that Linux counts as one when it hands them over: with segmentation offload a piece of up to 64 KiB.
fn piece(host: &Host, frame: u64) -> u32 {
    let offload = host.offloads.tso || host.offloads.gso;
    if offload { (TRAIN_BYTES / frame.max(1)).max(1) as u32 } else { 1 }
}

/// How fast packets leave a host: its interface's rate, and that of the bus that carries them there; `None`: never the
/// limit, and no queue. An fq has one, whatever the interface: it keeps packets until they are due.
pub(super) fn egress_rate(host: &Host) -> Option<Rate> {
    let bus = host.hardware.as_ref().and_then(|hardware| hardware.nic.bus);
    let paced = (host.qdisc == Qdisc::Fq).then_some(UNLIMITED);
    host.nic_rate.into_iter().chain(bus).chain(paced).min()
}

/// Packets that have room in the transmit ring of a host, where it has one.
pub(super) fn ring(host: &Host, frame: u64) -> Option<u32> {
    let hardware = host.hardware.as_ref()?;
    Some(hardware.nic.tx_ring.saturating_mul(piece(host, frame)))
}

/// Whether packets leave a host in the order in which they came to its queueing discipline.
pub(super) fn keeps_order(host: &Host) -> bool {
    host.qdisc == Qdisc::PfifoFast
}

/// Whether GSO packets are split before they come to a host's queue: the rate of an interface without a host model is that
/// of a token bucket (`tbf_segment`).
pub(super) fn splits(host: &Host) -> bool {
    host.hardware.is_none() && host.nic_rate.is_some()
}

/// Whether a host's fq keeps packets until they are due.
pub(super) fn holds_packets(host: &Host) -> bool {
    host.qdisc == Qdisc::Fq
}

/// Bytes of the largest frame of a run.
pub(super) fn largest_frame(run: &Run) -> u64 {
    run.hosts.iter().map(|host| host.mtu.get()).max().unwrap_or(1500) + ETHERNET
}

/// The interface of a host: its qdisc, and the rate at which packets leave.
fn interface(host: &Host, rate: Rate, trains: bool, frame: u64) -> LinkSettings {
    let (piece, ring) = (piece(host, frame), ring(host, frame));
    let queue = match host.qdisc {
        Qdisc::Fq => {
            let largest = (host.mtu.get() + ETHERNET) as u32;
            QueueSettings::Fq(FqSettings {
                quantum: host.fq.map_or(FQ_TURN * largest, |fq| fq.quantum.get() as u32),
                initial_quantum: FQ_FIRST_TURN * largest,
                limit: FQ_LIMIT,
                flow_limit: host.fq.map_or(FQ_FLOW_LIMIT, |fq| fq.flow_limit),
                max_rate: host.fq.and_then(|fq| fq.maxrate),
                whole: !splits(host),
            })
        }
        Qdisc::PfifoFast => {
            match ring {
                // What is in the ring has left the queueing discipline.
                Some(ring) => QueueSettings::DropTailPackets {
                    limit: host.txqueuelen.saturating_mul(piece).saturating_add(ring),
                    ecn_threshold: None,
                },
                None => QueueSettings::PtrRing { size: host.txqueuelen },
            }
        }
        Qdisc::FqCodel => QueueSettings::FqCodel(FqCodelSettings {
            // `psched_mtu`.
            quantum: (host.mtu.get() + ETHERNET) as u32,
            target: Span::ms(5),
            interval: Span::ms(100),
            limit: FQ_CODEL_LIMIT,
            ecn: true,
            host: Some(HostQueue {
                memory_limit: FQ_CODEL_MEMORY,
                overhead: PACKET_OVERHEAD,
                // Other hosts send packets one by one.
                piece: if host.hardware.is_some() { piece } else { 1 },
            }),
        }),
    };
    LinkSettings {
        queue,
        train_limit: if trains { u32::MAX } else { 1 },
        ring,
        bucket: host.hardware.is_none(),
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
    let decides_at_dequeue =
        matches!(direction.queue, Queue::CoDel { .. } | Queue::FqCodel { .. } | Queue::DualPi2(_));
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
        Queue::DualPi2(dual) => QueueSettings::DualPi2(DualPi2Settings {
            target: dual.target,
            tupdate: dual.tupdate,
            alpha_per_s: dual.alpha_per_s,
            beta_per_s: dual.beta_per_s,
            coupling: dual.coupling,
            step: match dual.step {
                Step::Time(time) => StepSettings::Time(time),
                Step::Packets(packets) => StepSettings::Packets(packets),
            },
            min_qlen_step: dual.min_qlen_step,
            classic_protection_percent: dual.classic_protection_percent,
            drops_overload: dual.overload == Overload::Drop,
            limit: packets_of(limit, frame),
            largest_frame: u32::try_from(frame).unwrap_or(u32::MAX),
        }),
        Queue::FqCodel { target, interval, quantum, ecn } => QueueSettings::FqCodel(FqCodelSettings {
            quantum: u32::try_from(quantum.get()).unwrap_or(u32::MAX),
            target: *target,
            interval: *interval,
            limit: packets_of(limit, frame),
            ecn: *ecn,
            host: None,
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
        train_limit: if moves_trains(run) && !decides_at_dequeue { u32::MAX } else { 1 },
        changes: direction
            .states()
            .skip(1)
            .map(|state| ChangeSettings {
                at: at(state.at),
                rate: state.rate,
                delay: state.delay + extra,
                loss: state.loss,
                limit: state.buffer,
            })
            .collect(),
        outages: direction.outages.iter().map(|(from, to)| (at(*from), at(*to))).collect(),
        reorder: direction.reorder.map(|reorder| ReorderSettings {
            probability: reorder.probability,
            delay: reorder.delay,
            seed: Reorder::seed(run.link_seed(index, forward)),
        }),
        duplicate: direction.duplicate.map(|duplicate| DuplicateSettings {
            probability: duplicate.probability,
            delay: duplicate.delay,
            seed: Duplicate::seed(run.link_seed(index, forward)),
        }),
        fec: direction.fec.as_ref().map(|fec| FecSettings {
            data: fec.data,
            interleave: fec.interleave.clone(),
            flush: fec.flush,
            hold: fec.hold,
        }),
        policer: direction.policer.map(|p| PolicerSettings { rate: p.rate, burst: p.burst }),
        ring: None,
        bucket: false,
        port_limit: direction.port_limit.map(|p| PortLimitSettings { rate: p.rate, burst: p.burst }),
    }
}

fn packets_of(bytes: u64, frame: u64) -> u32 {
    u32::try_from(bytes / frame.max(1)).unwrap_or(u32::MAX)
}
