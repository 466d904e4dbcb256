//! Reads flows, queues, interfaces and counters on the sampling grid.

use super::Part;
use super::error_correction::Counters;
use super::tcp_info::{self, TcpInfo};
use super::udp;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use wirespeed_host::Interface;
use wirespeed_host::sources::{protocols, softnet};
use wirespeed_record::{Cause, Counter, FlowSample, HostSample, QueueSample};
use wirespeed_scenario::layout::{Egress, Layout};
use wirespeed_scenario::run::{FlowKind, Run};
use wirespeed_topology::device;
use wirespeed_topology::line::Bin;
use wirespeed_topology::qdisc::{self, Statistics};
use wirespeed_topology::world::World;

/// What counters that only the whole kernel has stand under, in place of a host.
pub const WHOLE: &str = "kernel";

/// A 32-bit kernel counter continued in 64 bits.
#[derive(Debug, Default, Clone, Copy)]
pub struct Long(u64);

impl Long {
    fn follow(&mut self, now: u32) -> u64 {
        self.0 += u64::from(now.wrapping_sub(self.0 as u32));
        self.0
    }
}

/// Everything at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// When all was read.
    pub t_ns: i64,
    /// A row per flow that has started.
    pub flows: Vec<FlowSample>,
    /// A row per queue.
    pub queues: Vec<QueueSample>,
    /// A row per interface.
    pub hosts: Vec<HostSample>,
    /// Packets on their way, per queue.
    pub in_flight: Vec<(String, u64)>,
    /// Packets dropped and lost by cause, of queues with several causes.
    pub drops: Vec<(String, Vec<(Cause, u64)>)>,
    /// Packets that have left by class and time, of queues with classes.
    pub bins: Vec<(String, Vec<Bin>)>,
}

/// The sampler.
pub struct Sampler<'a> {
    run: &'a Run,
    layout: &'a Layout,
    world: &'a mut World,
    parts: &'a [Arc<Part>],
    /// Of directions with forward error correction, by queue.
    corrections: &'a BTreeMap<String, Arc<Counters>>,
    packets: Vec<[Long; 2]>,
}

impl<'a> Sampler<'a> {
    /// Samples the flows `parts` in `world`. `corrections`: of directions with forward error correction, by queue.
    pub fn new(
        run: &'a Run,
        layout: &'a Layout,
        world: &'a mut World,
        parts: &'a [Arc<Part>],
        corrections: &'a BTreeMap<String, Arc<Counters>>,
    ) -> Self {
        let packets = vec![[Long::default(); 2]; parts.len()];
        Sampler { run, layout, world, parts, corrections, packets }
    }

    /// Reads everything once. `now` is the time of the samples.
    ///
    /// # Errors
    /// If the kernel refuses an answer.
    pub fn sample(&mut self, now: impl Fn() -> i64) -> io::Result<Snapshot> {
        let flows = self.flows(&now);
        let t_ns = flows.last().map_or_else(now, |row| row.t_ns);
        let (queues, hosts, in_flight) = (Vec::new(), Vec::new(), Vec::new());
        let (drops, bins) = (Vec::new(), Vec::new());
        let mut snapshot = Snapshot { t_ns, flows, queues, hosts, in_flight, drops, bins };
        for node in 0..self.world.nodes.len() {
            self.queues(t_ns, node, &mut snapshot)?;
        }
        self.interfaces(t_ns, &mut snapshot)?;
        Ok(snapshot)
    }

    /// Reads until two readings in a row are equal: reading takes a few nanoseconds of the guest's time, in which
    /// a packet may move from one counter to the next.
    ///
    /// # Errors
    /// If the kernel refuses an answer.
    pub fn consistent(&mut self, t_ns: i64) -> io::Result<Snapshot> {
        const ATTEMPTS: usize = 50;
        let mut last = self.sample(|| t_ns)?;
        for _ in 0..ATTEMPTS {
            // Encoders and decoders have packets that came at this instant.
            std::thread::yield_now();
            let again = self.sample(|| t_ns)?;
            if again == last {
                break;
            }
            last = again;
        }
        Ok(last)
    }

    /// A row per flow that has started.
    pub fn flows(&mut self, now: impl Fn() -> i64) -> Vec<FlowSample> {
        let parts = self.parts.iter().zip(&mut self.packets);
        let begun = parts.filter(|(part, _)| part.state.sender().get().is_some());
        begun.map(|(part, packets)| flow_row(part, packets, &now)).collect()
    }

    fn queues(&mut self, t_ns: i64, node: usize, snapshot: &mut Snapshot) -> io::Result<()> {
        let built = &mut self.world.nodes[node];
        let found = qdisc::statistics(&mut built.netlink)?;
        for (index, (_, egress)) in &built.ports {
            let here = || found.iter().filter(|s| s.index == *index);
            let Some(root) = here().find(|s| s.is_root) else { continue };
            let queue = egress.queue(self.run);
            // An interface of limited rate has a token bucket in front, which shows all that waits and is dropped
            // below it; but its name is not what the user asked for.
            let below = here().find(|s| !s.is_root);
            let kind = below.unwrap_or(root).kind.clone();
            let whole = match below {
                Some(bucket) if root.kind == "netem" => &qdisc::joined(root, bucket),
                _ => root,
            };
            let correction = self.corrections.get(&queue);
            let held = correction.map_or(0, |counters| counters.held.load(Relaxed));
            snapshot.in_flight.push((queue.clone(), in_flight(whole) + held));
            snapshot.drops.extend(drops(whole).map(|drops| (queue.clone(), drops)));
            if !whole.bins.is_empty() {
                snapshot.bins.push((queue.clone(), whole.bins.clone()));
            }
            if !matches!(egress, Egress::Access { .. }) {
                let read =
                    |of: fn(&Counters) -> &AtomicU64| correction.map(|counters| of(counters).load(Relaxed));
                snapshot.queues.push(QueueSample {
                    repair_packets: read(|counters| &counters.repair),
                    decoded_packets: read(|counters| &counters.decoded),
                    recovered_packets: read(|counters| &counters.recovered),
                    ..queue_sample(t_ns, queue, kind, whole)
                });
            }
        }
        Ok(())
    }

    fn interfaces(&mut self, t_ns: i64, snapshot: &mut Snapshot) -> io::Result<()> {
        let mut rows = BTreeMap::new();
        for (node, built) in self.world.nodes.iter_mut().enumerate() {
            for listed in device::list(&mut built.netlink)? {
                if &*listed.device.name != "lo" {
                    rows.insert((node, listed.device.name.to_string()), listed);
                }
            }
        }
        for ((node, name), counters) in &rows {
            // A veth that finds the peer's softnet backlog full counts a dropped transmission.
            let peer =
                self.layout.find(*node, name).map(|(wire, side)| &self.layout.wires[wire].ends[1 - side]);
            let softnet = peer
                .and_then(|end| rows.get(&(end.node, end.device.clone())))
                .map(|c| c.statistic("tx_dropped"));
            let host = &self.layout.nodes[*node].name;
            snapshot.hosts.push(HostSample { softnet_dropped: softnet, ..host_sample(t_ns, host, counters) });
        }
        Ok(())
    }

    /// Protocol counters of every host, and what only the whole kernel counts under the host `kernel`.
    ///
    /// # Errors
    /// If /proc cannot be read.
    pub fn protocol_counters(&self) -> io::Result<BTreeMap<(String, String), u64>> {
        let mut counters = BTreeMap::new();
        for (node, built) in self.layout.nodes.iter().zip(&self.world.nodes) {
            let text = built.namespace.within(|| {
                Ok(fs::read_to_string("/proc/thread-self/net/snmp")?
                    + &fs::read_to_string("/proc/thread-self/net/netstat")?)
            })?;
            for (name, value) in protocols::parse(&text) {
                counters.insert((node.name.clone(), name), value);
            }
        }
        let cpus = softnet::parse(&fs::read_to_string("/proc/net/softnet_stat")?);
        let dropped = cpus.iter().map(|cpu| u64::from(cpu.dropped)).sum();
        let squeezed = cpus.iter().map(|cpu| u64::from(cpu.time_squeeze)).sum();
        counters.insert((WHOLE.into(), "SoftnetDropped".into()), dropped);
        counters.insert((WHOLE.into(), "SoftnetTimeSqueezed".into()), squeezed);
        Ok(counters)
    }
}

/// Reads the ends of a flow that are here. `packets`: its packet counters so far, out and in. `now` is asked after the answer,
/// since a socket at work answers late: after 100 ms and more on a busy machine.
pub fn flow_row(part: &Part, packets: &mut [Long; 2], now: impl Fn() -> i64) -> FlowSample {
    let state = &part.state;
    let mut sample = FlowSample::empty(0, part.index as u32);
    match &part.flow().kind {
        FlowKind::Udp { .. } => {
            sample.delivered_bytes = Some(state.delivered_bytes.load(Relaxed));
            let sent = udp::sent(part);
            sample.sent_bytes = Some(udp::payload_of(part, sent));
            sample.data_packets_out = Some(sent);
            sample.data_packets_in = Some(state.datagrams_in.load(Relaxed));
        }
        FlowKind::Tcp { congestion, .. } => {
            let [out, arrived] = packets;
            if let Some(sender) = state.sender().get() {
                if let Some(info) = TcpInfo::of(sender) {
                    sample.data_packets_out = Some(out.follow(info.data_packets_out()));
                    info.fill_sender(&mut sample);
                }
                tcp_info::fill_private(sender, &congestion.name, &mut sample);
            }
            if let Some(info) = state.receiver().get().and_then(TcpInfo::of) {
                sample.data_packets_in = Some(arrived.follow(info.data_packets_in()));
                info.fill_receiver(&mut sample);
            }
        }
    }
    // Last: what lies there unread is then not more than it is, however long reading takes.
    sample.read_bytes = Some(state.read_bytes.load(Relaxed));
    sample.t_ns = now();
    sample
}

/// Rows of the counter table from two readings; what stayed zero is left out.
pub fn counters_since(
    before: &BTreeMap<(String, String), u64>,
    after: BTreeMap<(String, String), u64>,
) -> impl Iterator<Item = Counter> {
    after.into_iter().filter_map(move |(key, after)| {
        let before = before.get(&key).copied().unwrap_or(0);
        let (host, counter) = key;
        (before != 0 || after != 0).then_some(Counter { host, counter, before, after })
    })
}

fn in_flight(root: &Statistics) -> u64 {
    root.backlog_packets + root.link.map_or(0, |link| link.flight_packets)
}

/// Packets that a link has dropped and lost by cause, where the queue's management (of DualPI2) has its own count.
fn drops(root: &Statistics) -> Option<Vec<(Cause, u64)>> {
    let link = root.link?;
    let managed = link.managed_packets?;
    let full = root.dropped_packets.saturating_sub(managed);
    Some(vec![(Cause::QueueFull, full), (Cause::Pi2, managed), (Cause::RandomLoss, link.lost_packets)])
}

/// The row of an interface; what it cannot tell of the receive path behind it is null.
pub fn host_sample(t_ns: i64, host: &str, interface: &Interface) -> HostSample {
    HostSample {
        t_ns,
        host: host.to_owned(),
        device: interface.device.name.to_string(),
        rx_packets: interface.statistic("rx_packets"),
        rx_bytes: interface.statistic("rx_bytes"),
        rx_dropped: interface.statistic("rx_dropped"),
        tx_packets: interface.statistic("tx_packets"),
        tx_bytes: interface.statistic("tx_bytes"),
        tx_dropped: interface.statistic("tx_dropped"),
        softnet_dropped: None,
        softnet_squeezed: None,
    }
}

/// The row of a queue, by its root discipline.
pub fn queue_sample(t_ns: i64, queue: String, kind: String, root: &Statistics) -> QueueSample {
    QueueSample {
        t_ns,
        queue,
        kind,
        backlog_bytes: root.backlog_bytes,
        backlog_packets: root.backlog_packets,
        sent_bytes: root.sent_bytes,
        sent_packets: root.sent_packets,
        dropped_packets: root.dropped_packets,
        lost_packets: root.link.map(|link| link.lost_packets),
        copied_packets: root.link.and_then(|link| link.copied_packets),
        repair_packets: None,
        decoded_packets: None,
        recovered_packets: None,
        requeues: root.requeues,
        overlimits: root.overlimits,
        marked_packets: root.link.and_then(|link| link.marked_packets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_goes_on_where_32_bits_end() {
        let mut long = Long::default();
        assert_eq!(long.follow(u32::MAX), u64::from(u32::MAX));
        assert_eq!(long.follow(3), (1 << 32) + 3);
        assert_eq!(long.follow(3), (1 << 32) + 3);
    }
}
