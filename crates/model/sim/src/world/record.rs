//! What a world looks like at one instant, as rows of a recording.

use super::World;
use super::build::KNOWN_SYSCTLS;
use super::flow::Endpoint;
use super::path::Way;
use super::row::fill_flow;
use crate::net::Served;
use crate::simulate::Samples;
use crate::tcp::receiver::Shortage;
use std::collections::BTreeMap;
use wirespeed_record::{
    Cause, CoreSample, Counter, Datagram, Event, EventKind, Exchange, FlowSample, HostSample, QueueClass,
    QueueDelay, QueueSample,
};
use wirespeed_scenario::run::{Emulator, FlowKind, Run};
use wirespeed_units::SimTime;

/// Collects rows over a run.
#[derive(Debug)]
pub struct Recorder {
    /// What nobody has taken yet.
    pub samples: Samples,
    /// Where the time of cores went.
    pub cores: Vec<CoreSample>,
    /// How long packets waited in the classes of queues.
    pub queue_delays: Vec<QueueDelay>,
    /// Payload delivered by the last sample in bytes, all flows.
    pub delivered_bytes: u64,
    /// By host.
    traffic: Vec<Traffic>,
    /// Names of the hosts' queues.
    qdiscs: Vec<String>,
}

/// When a flow began and ended.
#[derive(Debug, Clone, Copy)]
pub struct Milestones {
    established: Option<SimTime>,
    finished: Option<SimTime>,
}

/// Packets and bytes of a host.
#[derive(Debug, Default, Clone, Copy)]
struct Traffic {
    sent: u64,
    sent_bytes: u64,
    received: u64,
    received_bytes: u64,
}

impl Recorder {
    /// Nothing is collected.
    pub fn new(run: &Run) -> Recorder {
        Recorder {
            samples: Samples::default(),
            cores: Vec::new(),
            queue_delays: Vec::new(),
            delivered_bytes: 0,
            traffic: vec![Traffic::default(); run.hosts.len()],
            qdiscs: run.hosts.iter().map(|host| format!("{}/qdisc", host.name)).collect(),
        }
    }

    /// Adds the state at `now`. Calls `take` whenever `many` rows of flows have come together, and gives up if that says
    /// so.
    pub fn sample(
        &mut self,
        run: &Run,
        world: &mut World,
        now: SimTime,
        many: usize,
        take: &mut dyn FnMut(&mut Samples) -> bool,
    ) -> bool {
        let t_ns = now.nanoseconds();
        let samples = &mut self.samples;
        self.traffic.fill(Traffic::default());
        self.delivered_bytes = 0;
        // Flows by the thousand are more than a cache holds: each is looked at once, and asked for before.
        for (index, flow) in world.flows.iter().enumerate() {
            if let Some(next) = world.flows.get(index + AHEAD) {
                next.prefetch_sample();
            }
            if let Some(next) = world.flows.get(index + 1) {
                next.prepare_sample();
            }
            if samples.flows.len() >= many && !take(samples) {
                return false;
            }
            count(&mut self.traffic, flow);
            self.delivered_bytes += delivered(&flow.endpoint);
            if flow.started.is_some_and(|at| at <= now) {
                let row = samples.flows.next(|| FlowSample::empty(t_ns, 0));
                let reader = world.hosts[flow.destination(Way::Forward)].as_deref();
                fill_flow(row, index, run, flow, reader, now);
            }
        }
        for pipe in &mut world.pipes {
            if !pipe.is_shown {
                continue;
            }
            let s = pipe.statistics(now);
            if let Some(served) = pipe.take_served() {
                self.queue_delays.extend(delays(
                    t_ns,
                    &pipe.name,
                    QueueClass::LowLatency,
                    &served.low_latency,
                ));
                self.queue_delays.extend(delays(t_ns, &pipe.name, QueueClass::Classic, &served.classic));
            }
            samples.queues.push(QueueSample {
                t_ns,
                queue: pipe.name.clone(),
                kind: pipe.kind.into(),
                backlog_bytes: s.waiting_bytes,
                backlog_packets: s.waiting_packets,
                sent_bytes: s.sent_bytes,
                sent_packets: s.sent_packets,
                dropped_packets: s.overflow_packets,
                lost_packets: (!pipe.is_host).then_some(s.lost_packets),
                copied_packets: (!pipe.is_host).then_some(s.copied_packets),
                repair_packets: pipe.corrects.then_some(s.repair_packets),
                decoded_packets: pipe.corrects.then_some(s.decoded_packets),
                recovered_packets: pipe.corrects.then_some(s.recovered_packets),
                requeues: s.requeues,
                overlimits: s.overlimits,
                marked_packets: pipe.marks.then_some(s.marked_packets),
            });
        }
        for inside in world.hosts.iter().flatten() {
            super::inside::sample_rings(inside, t_ns, &mut samples.queues);
            super::inside::sample_cores(inside, t_ns, &mut self.cores);
        }
        for (index, ((host, traffic), qdisc)) in
            run.hosts.iter().zip(&self.traffic).zip(&self.qdiscs).enumerate()
        {
            let inside = world.hosts[index].as_deref();
            let lost = inside.map(|inside| inside.lost()).unwrap_or_default();
            if super::build::egress_rate(host).is_none() {
                // An interface that is never the limit has no queue.
                samples.queues.push(QueueSample {
                    t_ns,
                    queue: qdisc.clone(),
                    kind: "unlimited".into(),
                    backlog_bytes: 0,
                    backlog_packets: 0,
                    sent_bytes: traffic.sent_bytes,
                    sent_packets: traffic.sent,
                    dropped_packets: 0,
                    lost_packets: None,
                    copied_packets: None,
                    repair_packets: None,
                    decoded_packets: None,
                    recovered_packets: None,
                    requeues: 0,
                    overlimits: 0,
                    marked_packets: None,
                });
            }
            samples.hosts.push(HostSample {
                t_ns,
                host: host.name.clone(),
                device: "eth0".into(),
                rx_packets: traffic.received,
                rx_bytes: traffic.received_bytes,
                rx_dropped: lost.rx_ring.iter().sum(),
                tx_packets: traffic.sent,
                tx_bytes: traffic.sent_bytes,
                tx_dropped: 0,
                softnet_dropped: Some(lost.softnet_backlog.iter().sum()),
                softnet_squeezed: inside.map(|inside| inside.cores().map(|core| core.squeezed).sum()),
            });
        }
        true
    }
}

/// Rows of what left a class of a queue.
fn delays<'a>(
    t_ns: i64,
    queue: &'a str,
    class: QueueClass,
    served: &'a Served,
) -> impl Iterator<Item = QueueDelay> + 'a {
    served.by_delay().map(move |(up_to_ns, delays)| QueueDelay {
        t_ns,
        queue: queue.to_owned(),
        class,
        up_to_ns: up_to_ns as i64,
        packets: delays.packets,
        bytes: delays.bytes,
        sum_ns: delays.sum_ns as i64,
        marked_packets: delays.marked_packets,
        dropped_packets: delays.dropped_packets,
    })
}

/// How many flows before its turn a flow is asked for.
const AHEAD: usize = 3;

/// Adds up what a flow's hosts, from and to, have sent and received.
fn count(traffic: &mut [Traffic], flow: &super::Flow) {
    let [from, to] = flow.path.hosts;
    for (side, out, into) in [(0, from, to), (1, to, from)] {
        traffic[out].sent += flow.departed[side].packets;
        traffic[out].sent_bytes += flow.departed[side].bytes;
        traffic[into].received += flow.arrived[side].packets();
        traffic[into].received_bytes += flow.arrived[side].bytes;
    }
}

/// What a receiver did for lack of memory, by the counters' names; the last Linux has not.
fn by_counter(shortage: &Shortage) -> [(&'static str, u64); 8] {
    [
        ("TcpExtPruneCalled", shortage.tidied),
        ("TcpExtTCPRcvCollapsed", shortage.collapsed),
        ("TcpExtOfoPruned", shortage.prunings),
        ("TcpExtRcvPruned", shortage.failed),
        ("TcpExtTCPRcvQDrop", shortage.in_order),
        ("TcpExtTCPOFODrop", shortage.out_of_order),
        ("TcpExtTCPZeroWindowDrop", shortage.closed),
        ("TcpOfoPrunedPackets", shortage.pruned),
    ]
}

/// Payload delivered by a flow in bytes.
fn delivered(endpoint: &Endpoint) -> u64 {
    match endpoint {
        Endpoint::Tcp(tcp) => tcp.receiver.delivered_bytes(),
        Endpoint::Udp(udp) => udp.arrived * u64::from(udp.payload),
    }
}

impl World {
    /// Packets on their way, by pipe.
    pub fn in_flight(&mut self, now: SimTime) -> BTreeMap<String, u64> {
        let on_the_way = |pipe: &mut super::Pipe| (pipe.name.clone(), pipe.in_flight(now));
        let mut found: BTreeMap<String, u64> = self.pipes.iter_mut().map(on_the_way).collect();
        for inside in self.hosts.iter().flatten() {
            found.insert(format!("{}/rx", inside.name), inside.held());
        }
        for interface in self.interfaces.iter().flatten() {
            found.insert(format!("{}/rx", interface.host), interface.held());
        }
        found
    }

    /// Packets dropped and lost by queues and links, by cause. Queues that do not tell causes apart are left out.
    pub fn drops(&mut self, now: SimTime) -> BTreeMap<String, Vec<(Cause, u64)>> {
        let of = |pipe: &mut super::Pipe| (pipe.name.clone(), pipe.drops(now));
        self.pipes.iter_mut().map(of).filter(|(_, drops)| !drops.is_empty()).collect()
    }

    /// Protocol counters of every host so far, by the names they have on Linux.
    pub fn counters(&self, run: &Run) -> Vec<Counter> {
        let mut counters: Vec<BTreeMap<&'static str, u64>> = vec![BTreeMap::new(); run.hosts.len()];
        let mut add = |host: usize, name, value| {
            if value > 0 {
                *counters[host].entry(name).or_default() += value;
            }
        };
        for flow in &self.flows {
            let [from, to] = flow.path.hosts;
            for (side, host) in [(0, to), (1, from)] {
                for (name, packets) in flow.arrived[side].by_ecn() {
                    add(host, name, packets);
                }
            }
            match &flow.endpoint {
                Endpoint::Tcp(tcp) => {
                    let state = tcp.sender.state();
                    let sent = state.counts();
                    add(from, "TcpOutSegs", flow.departed[0].packets - sent.retransmitted);
                    add(from, "TcpRetransSegs", sent.retransmitted);
                    add(from, "TcpExtTCPTimeouts", u64::from(sent.timeouts));
                    add(from, "TcpExtTCPLossProbes", u64::from(sent.probes));
                    add(from, "TcpExtTCPDSACKRecv", sent.duplicates);
                    add(from, "TcpExtTCPWinProbe", u64::from(sent.window_probes));
                    add(to, "TcpOutSegs", flow.departed[1].packets);
                    let received = tcp.receiver.counts();
                    add(to, "TcpExtTCPOFOQueue", received.out_of_order);
                    for (name, count) in by_counter(&tcp.receiver.shortage()) {
                        add(to, name, count);
                    }
                }
                Endpoint::Udp(udp) => {
                    add(from, "UdpOutDatagrams", udp.sent);
                    add(to, "UdpInDatagrams", udp.arrived + udp.arrived_again());
                }
            }
        }
        for (host, inside) in self.hosts.iter().enumerate() {
            if let Some(inside) = inside {
                let lost = inside.lost();
                add(host, "TcpExtTCPBacklogDrop", lost.tcp_backlog.iter().sum());
                add(host, "UdpRcvbufErrors", lost.udp_rcvbuf);
            }
        }
        // By the hosts' names, whatever their order in the scenario.
        let mut hosts: Vec<_> = run.hosts.iter().map(|host| &host.name).zip(counters).collect();
        hosts.sort_by_key(|(host, _)| *host);
        let rows = |(host, counters): (&String, BTreeMap<&'static str, u64>)| {
            let row = |(counter, after): (&str, u64)| Counter {
                host: host.clone(),
                counter: counter.into(),
                before: 0,
                after,
            };
            counters.into_iter().map(row).collect::<Vec<_>>()
        };
        hosts.into_iter().flat_map(rows).collect()
    }

    /// When each flow began and ended. Nothing else is left.
    pub fn into_milestones(self) -> Vec<Milestones> {
        let of = |flow: &super::Flow| Milestones { established: flow.established, finished: flow.finished };
        self.flows.iter().map(of).collect()
    }

    /// When a host's transmit ring was full for the first time, and which packet of its burst found it so.
    pub fn first_requeues(&mut self, now: SimTime) -> Vec<Event> {
        let of = |pipe: &mut super::Pipe| {
            let (at, packet) = pipe.statistics(now).first_requeue?;
            Some(Event {
                t_ns: at.nanoseconds(),
                kind: EventKind::Requeue,
                flow: None,
                host: pipe.name.split_once('/').map(|(host, _)| host.to_owned()),
                detail: format!("packet {packet} of a burst, the first that found no transmit descriptor"),
                burst_packet: Some(packet),
            })
        };
        self.pipes.iter_mut().filter_map(of).collect()
    }

    /// Every datagram.
    pub fn take_datagrams(&mut self) -> Vec<Datagram> {
        let take = |endpoint: &mut Endpoint| match endpoint {
            Endpoint::Udp(udp) => udp.take_rows(),
            Endpoint::Tcp(_) => Vec::new(),
        };
        self.flows.iter_mut().flat_map(|flow| take(&mut flow.endpoint)).collect()
    }

    /// Every file of data sets that was begun.
    pub fn take_exchanges(&mut self) -> Vec<Exchange> {
        self.applications.take_rows()
    }

    /// Data packets sent by all flows.
    pub fn data_packets(&self) -> u64 {
        let of = |endpoint: &Endpoint| match endpoint {
            Endpoint::Tcp(tcp) => tcp.sender.state().counts().packets_out,
            Endpoint::Udp(udp) => udp.sent,
        };
        self.flows.iter().map(|flow| of(&flow.endpoint)).sum()
    }
}

/// Lifecycle events: begin and end of every flow.
pub fn lifecycle_events(run: &Run, milestones: Vec<Milestones>) -> Vec<Event> {
    let happened = |m: &Milestones| usize::from(m.established.is_some()) + usize::from(m.finished.is_some());
    let mut events = Vec::with_capacity(milestones.iter().map(happened).sum());
    for (index, (planned, milestones)) in run.flows.iter().zip(milestones).enumerate() {
        let mut add = |at: SimTime, kind: EventKind, host: &str, detail: String| {
            events.push(Event {
                t_ns: at.nanoseconds(),
                kind,
                flow: Some(index as u32),
                host: Some(host.into()),
                detail,
                burst_packet: None,
            });
        };
        if let Some(at) = milestones.established {
            let detail = match &planned.kind {
                FlowKind::Tcp { congestion, .. } => format!("connected, {}", congestion.name),
                FlowKind::Udp { .. } => "sending".into(),
            };
            add(at, EventKind::FlowStart, &planned.from, detail);
        }
        if let Some(at) = milestones.finished {
            add(at, EventKind::FlowEnd, &planned.to, "all data read".into());
        }
    }
    events
}

/// Settings of a run that have no effect here, as warnings.
pub fn ignored(run: &Run) -> Vec<String> {
    let mut warnings = Vec::new();
    for host in &run.hosts {
        for name in host.sysctls.keys().filter(|name| !KNOWN_SYSCTLS.contains(&name.as_str())) {
            warnings.push(format!("{}: the model does not know {name}; it has no effect", host.name));
        }
    }
    for link in run.links.iter().filter(|link| link.emulator != Emulator::default()) {
        warnings
            .push(format!("link {}: the model has one kind of link; `emulator` has no effect", link.name));
    }
    for flow in &run.flows {
        if let FlowKind::Udp { rcvbuf: Some(_), .. } = flow.kind
            && run.host(&flow.to).hardware.is_none()
        {
            warnings.push(format!(
                "{}: a reader without a machine is never late; `rcvbuf` has no effect",
                flow.label
            ));
        }
    }
    warnings
}
