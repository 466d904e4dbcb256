//! What a world looks like at one instant, as rows of a recording.

use super::World;
use super::build::KNOWN_SYSCTLS;
use super::flow::Endpoint;
use super::path::Way;
use crate::prefetch::prefetch;
use crate::simulate::Samples;
use crate::tcp::sender::State;
use std::collections::BTreeMap;
use wirespeed_congestion::{Observer, Phase};
use wirespeed_record::{CoreSample, Counter, Datagram, Event, FlowSample, HostSample, QueueSample};
use wirespeed_scenario::run::{Emulator, FlowKind, Run};
use wirespeed_units::SimTime;

/// Collects rows over a run.
#[derive(Debug)]
pub struct Recorder {
    /// What nobody has taken yet.
    pub samples: Samples,
    /// Where the time of cores went.
    pub cores: Vec<CoreSample>,
    /// Payload delivered by the last sample in bytes, all flows.
    pub delivered_bytes: u64,
    /// By host.
    traffic: Vec<Traffic>,
    /// Names of the hosts' queues.
    qdiscs: Vec<String>,
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
                prefetch(next);
            }
            if let Some(next) = world.flows.get(index + 1) {
                next.prepare(Way::Back);
            }
            if samples.flows.len() >= many && !take(samples) {
                return false;
            }
            count(&mut self.traffic, flow);
            self.delivered_bytes += delivered(&flow.endpoint);
            if flow.started.is_some_and(|at| at <= now) {
                let row = samples.flows.next(|| FlowSample::empty(t_ns, 0));
                fill_flow(row, index, run, flow, now);
            }
        }
        for pipe in &mut world.pipes {
            if !pipe.is_shown {
                continue;
            }
            let s = pipe.statistics(now);
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
            if host.nic_rate.is_none() {
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

/// Payload delivered by a flow in bytes.
fn delivered(endpoint: &Endpoint) -> u64 {
    match endpoint {
        Endpoint::Tcp(tcp) => tcp.receiver.delivered() * u64::from(tcp.sender.state().mss()),
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
        found
    }

    /// Protocol counters of every host at the end, by the names they have on Linux.
    pub fn counters(&self, run: &Run) -> Vec<Counter> {
        let mut counters: BTreeMap<(String, &'static str), u64> = BTreeMap::new();
        for (planned, flow) in run.flows.iter().zip(&self.flows) {
            let mut add = |host: &str, name, value| {
                *counters.entry((host.to_owned(), name)).or_default() += value;
            };
            for (side, host) in [(0, &planned.to), (1, &planned.from)] {
                for (name, packets) in flow.arrived[side].by_ecn() {
                    add(host, name, packets);
                }
            }
            match &flow.endpoint {
                Endpoint::Tcp(tcp) => {
                    let state = tcp.sender.state();
                    let sent = state.counts();
                    add(&planned.from, "TcpOutSegs", flow.departed[0].packets - sent.retransmitted);
                    add(&planned.from, "TcpRetransSegs", sent.retransmitted);
                    add(&planned.from, "TcpExtTCPTimeouts", u64::from(sent.timeouts));
                    add(&planned.from, "TcpExtTCPLossProbes", u64::from(sent.probes));
                    add(&planned.from, "TcpExtTCPDSACKRecv", sent.duplicates);
                    add(&planned.to, "TcpOutSegs", flow.departed[1].packets);
                    let received = tcp.receiver.counts();
                    add(&planned.to, "TcpExtTCPRcvQDrop", received.dropped);
                    add(&planned.to, "TcpExtTCPOFOQueue", received.out_of_order);
                }
                Endpoint::Udp(udp) => {
                    add(&planned.from, "UdpOutDatagrams", udp.sent);
                    add(&planned.to, "UdpInDatagrams", udp.arrived);
                }
            }
        }
        for inside in self.hosts.iter().flatten() {
            let lost = inside.lost();
            let behind = [
                ("TcpExtTCPBacklogDrop", lost.tcp_backlog.iter().sum()),
                ("UdpRcvbufErrors", lost.udp_rcvbuf),
            ];
            for (name, value) in behind {
                *counters.entry((inside.name.clone(), name)).or_default() += value;
            }
        }
        let row = |((host, counter), after): ((String, &str), u64)| Counter {
            host,
            counter: counter.into(),
            before: 0,
            after,
        };
        counters.into_iter().filter(|(_, after)| *after > 0).map(row).collect()
    }

    /// What happened once: begin and end of every flow.
    pub fn happenings(&self, run: &Run) -> Vec<Event> {
        let mut events = Vec::new();
        for (index, (planned, flow)) in run.flows.iter().zip(&self.flows).enumerate() {
            let mut add = |at: SimTime, kind: &str, host: &str, detail: String| {
                events.push(Event {
                    t_ns: at.nanoseconds(),
                    kind: kind.into(),
                    flow: Some(index as u32),
                    host: Some(host.into()),
                    detail,
                });
            };
            if let Some(at) = flow.established {
                let detail = match &planned.kind {
                    FlowKind::Tcp { congestion, .. } => format!("connected, {}", congestion.name),
                    FlowKind::Udp { .. } => "sending".into(),
                };
                add(at, "flow_start", &planned.from, detail);
            }
            if let Some(at) = flow.finished {
                add(at, "flow_end", &planned.to, "all data read".into());
            }
        }
        events
    }

    /// When a host's transmit ring was full for the first time, and which packet of its burst found it so.
    pub fn first_requeues(&mut self, now: SimTime) -> Vec<Event> {
        let of = |pipe: &mut super::Pipe| {
            let (at, packet) = pipe.statistics(now).first_requeue?;
            Some(Event {
                t_ns: at.nanoseconds(),
                kind: "requeue".into(),
                flow: None,
                host: pipe.name.split_once('/').map(|(host, _)| host.to_owned()),
                detail: format!("packet {packet} of a burst, the first that found no transmit descriptor"),
            })
        };
        self.pipes.iter_mut().filter_map(of).collect()
    }

    /// Every datagram.
    pub fn take_datagrams(&mut self) -> Vec<Datagram> {
        let take = |endpoint: &mut Endpoint| match endpoint {
            Endpoint::Udp(udp) => std::mem::take(&mut udp.rows),
            Endpoint::Tcp(_) => Vec::new(),
        };
        self.flows.iter_mut().flat_map(|flow| take(&mut flow.endpoint)).collect()
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

fn phase_number(phase: Phase) -> u32 {
    match phase {
        Phase::Open => 0,
        Phase::Disorder => 1,
        Phase::Cwr => 2,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}

/// A flow's state at `now`.
fn fill_flow(row: &mut FlowSample, index: usize, run: &Run, flow: &super::Flow, now: SimTime) {
    match &flow.endpoint {
        Endpoint::Tcp(tcp) if tcp.sender.state().established() => {
            let limit = run.flows[index].bytes.map_or(u64::MAX, |bytes| bytes.get());
            row.t_ns = now.nanoseconds();
            row.flow = index as u32;
            fill_ends(row, tcp, limit);
            fill_connection(row, tcp.sender.state(), now);
        }
        Endpoint::Tcp(tcp) => {
            let limit = run.flows[index].bytes.map_or(u64::MAX, |bytes| bytes.get());
            *row = FlowSample::empty(now.nanoseconds(), index as u32);
            fill_ends(row, tcp, limit);
        }
        Endpoint::Udp(udp) => {
            let delivered_bytes = udp.arrived * u64::from(udp.payload);
            *row = FlowSample {
                delivered_bytes,
                read_bytes: delivered_bytes,
                sent_bytes: udp.sent * u64::from(udp.payload),
                data_packets_out: udp.sent,
                data_packets_in: udp.arrived,
                ..FlowSample::empty(now.nanoseconds(), index as u32)
            };
        }
    }
}

/// What is known of a connection before it is established.
#[inline]
fn fill_ends(row: &mut FlowSample, tcp: &super::flow::Tcp, limit: u64) {
    let state = tcp.sender.state();
    let mss = u64::from(state.mss());
    let sent = state.counts();
    row.sent_bytes = sent.bytes_out;
    row.data_packets_out = sent.packets_out;
    row.retrans_bytes = Some(sent.retransmitted_bytes);
    row.retrans_packets = Some(sent.retransmitted);
    row.acked_bytes = Some((state.una() * mss).min(limit));
    row.mss_bytes = Some(state.mss());
    let received = tcp.receiver.counts();
    row.delivered_bytes = (tcp.receiver.delivered() * mss).min(limit);
    row.read_bytes = (tcp.receiver.read_packets() * mss).min(limit);
    row.data_packets_in = received.packets_in;
    row.ooo_packets = Some(received.out_of_order as u32);
    let (space, rtt_us) = tcp.receiver.tuning();
    row.rcv_space_bytes = Some(space.min(u64::from(u32::MAX)) as u32);
    row.rcv_rtt_ns = (rtt_us > 0).then_some(rtt_us * 1000);
}

/// All the rest, each column: the row may still hold another flow's.
#[inline]
fn fill_connection(row: &mut FlowSample, state: State<'_>, now: SimTime) {
    let mss = u64::from(state.mss());
    row.cwnd_bytes = Some(state.cwnd() * mss);
    row.ssthresh_bytes = state.ssthresh().map(|packets| packets.saturating_mul(mss));
    let rtt = state.rtt();
    row.rtt_ns = Some(rtt.smoothed() * 1000).filter(|rtt| *rtt > 0);
    row.rttvar_ns = Some(rtt.deviation() * 1000);
    row.min_rtt_ns = (rtt.minimum() < i64::MAX).then(|| rtt.minimum() * 1000);
    row.rto_ns = Some(rtt.rto * 1_000_000);
    let [unacked, sacked, lost, retransmitted] = state.out().map(|n| n.min(u64::from(u32::MAX)) as u32);
    row.unacked_packets = Some(unacked);
    row.sacked_packets = Some(sacked);
    row.lost_packets = Some(lost);
    row.retrans_out_packets = Some(retransmitted);
    row.ca_state = Some(phase_number(state.phase()));
    row.backoff = Some(rtt.backoff);
    let delivery = state.delivery();
    row.delivered_packets = Some(delivery.delivered);
    row.delivered_ce_packets = Some(delivery.delivered_ce);
    let latest = delivery.latest();
    row.delivery_rate_bps = latest.and_then(|(packets, micros, _)| rate_bps(packets * mss, micros));
    row.delivery_app_limited = latest.map(|(_, _, limited)| limited);
    row.pacing_rate_bps = state.pacing_rate().map(|rate| rate.saturating_mul(8));
    let [busy, window, buffer] = state.limits(now);
    row.busy_ns = Some(busy);
    row.rwnd_limited_ns = Some(window);
    row.sndbuf_limited_ns = Some(buffer);
    row.reordering_packets = Some(state.reordering() as u32);
    let counts = state.counts();
    row.reordering_seen = Some(counts.reorderings);
    row.dsack_dups = Some(counts.duplicates.min(u64::from(u32::MAX)) as u32);
    row.rto_count = Some(counts.timeouts);
    row.notsent_bytes = Some((state.unsent().saturating_mul(mss)).min(u64::from(u32::MAX)) as u32);
    row.snd_wnd_bytes = Some(state.window().min(u64::from(u32::MAX)) as u32);
    row.bbr_bw_bps = None;
    row.bbr_min_rtt_ns = None;
    row.bbr_pacing_gain_ratio = None;
    row.bbr_cwnd_gain_ratio = None;
    row.vegas_enabled = None;
    row.vegas_rtt_count = None;
    row.vegas_rtt_ns = None;
    row.vegas_min_rtt_ns = None;
    row.dctcp_alpha_ratio = None;
    if let Some(congestion) = state.congestion() {
        congestion.observe(&mut Private { row });
    }
}

/// `bytes` in `micros` microseconds, in bit/s.
#[inline]
fn rate_bps(bytes: u64, micros: i64) -> Option<u64> {
    let micros = micros.max(1).unsigned_abs();
    match bytes.checked_mul(8_000_000) {
        Some(product) => Some(product / micros),
        // A division of 128 bits is slow, and seldom needed.
        None => u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(micros)).ok(),
    }
}

/// Puts an algorithm's own state where the kernel's would stand.
struct Private<'a> {
    row: &'a mut FlowSample,
}

impl Observer for Private<'_> {
    fn value(&mut self, name: &'static str, value: f64) {
        let row = &mut *self.row;
        match name {
            "bandwidth_bps" => row.bbr_bw_bps = Some(value as u64),
            "min_rtt_us" => row.bbr_min_rtt_ns = Some((value * 1000.0) as i64),
            "pacing_gain_ratio" => row.bbr_pacing_gain_ratio = Some(value),
            "cwnd_gain_ratio" => row.bbr_cwnd_gain_ratio = Some(value),
            "alpha_ratio" => row.dctcp_alpha_ratio = Some(value),
            "base_rtt_us" => row.vegas_min_rtt_ns = Some((value * 1000.0) as i64),
            _ => {}
        }
    }
}
