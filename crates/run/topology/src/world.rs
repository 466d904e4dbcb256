//! Builds a layout in this kernel: namespaces, wires, addresses, routes, qdiscs, settings.

use crate::device::{self, Hop, Port};
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::qdisc::{self, Spec};
use crate::steering;
use crate::tunnel::{self, Protected, TunnelEnd};
use netlink_packet_route::tc::TcHandle;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use wirespeed_scenario::layout::{Egress, Layout};
use wirespeed_scenario::run::{Direction, Emulator, Host, LinkState, Moderation, Offloads, Queue, Run};
use wirespeed_units::{Bytes, Rate, Span};

/// Bytes of an Ethernet header, which Linux counts as part of a packet in qdiscs.
pub const ETHERNET_HEADER: u64 = 14;

/// Whose kernel a world is built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// A guest of ours in virtual time: everything may be set, and what we do takes no time.
    Guest,
    /// This machine's, in namespaces of our own, those of mounts included: what is one for all of it stays as it is, and
    /// there is no qdisc `wire`.
    Machine,
}

/// A built layout.
pub struct World {
    /// One per node, in the layout's order.
    pub nodes: Vec<BuiltNode>,
    /// What the reader of the results has to know.
    pub warnings: Vec<String>,
}

/// A node that exists.
pub struct BuiltNode {
    /// Its network namespace.
    pub namespace: Namespace,
    /// A netlink socket inside.
    pub netlink: Netlink,
    /// Its interfaces, by index, as (name, what leaves there).
    pub ports: BTreeMap<u32, (String, Egress)>,
    /// Ends of links with forward error correction. The caller serves them.
    pub tunnels: Vec<TunnelEnd>,
    /// For hosts: settings read back after they were applied.
    pub settings: BTreeMap<String, String>,
}

impl World {
    /// Sets the start of the run, from which changes of links count: a time of CLOCK_MONOTONIC, ns.
    ///
    /// # Errors
    /// The kernel's answer, with the link's name.
    pub fn start(&mut self, start_ns: i64) -> io::Result<()> {
        for BuiltNode { netlink, ports, .. } in &mut self.nodes {
            for (index, (_, egress)) in ports {
                if let Egress::Link { direction, queue, .. } = egress
                    && !direction.changes.is_empty()
                {
                    named(qdisc::start(netlink, *index, FIRST, start_ns), || queue.clone())?;
                }
            }
        }
        Ok(())
    }

    /// The links on this machine that change; the caller sets each state in its time.
    ///
    /// # Errors
    /// As `netlink(7)`.
    pub fn changing_links(&self, run: &Run) -> io::Result<Vec<ChangingLink>> {
        let mut links = Vec::new();
        for node in &self.nodes {
            for (index, (_, egress)) in &node.ports {
                let Egress::Link { direction, seed, .. } = egress else { continue };
                if direction.changes.is_empty() {
                    continue;
                }
                links.push(ChangingLink {
                    states: direction.states().collect(),
                    netlink: node.namespace.within(Netlink::open)?,
                    index: *index,
                    mtu: largest_packet(run, direction),
                    direction: (**direction).clone(),
                    seed: *seed,
                });
            }
        }
        Ok(links)
    }
}

/// The discipline at the root of an interface.
const FIRST: TcHandle = TcHandle { major: 1, minor: 0 };
/// The place for another discipline below it, and the handle of that.
const BELOW: TcHandle = TcHandle { major: 1, minor: 1 };
const SECOND: TcHandle = TcHandle { major: 2, minor: 0 };

fn named<T>(result: io::Result<T>, what: impl FnOnce() -> String) -> io::Result<T> {
    result.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", what())))
}

/// Builds everything. The namespaces vanish with the returned value (and with the guest, on substrate `kernel`).
/// `scratch` is an empty folder to mount something on.
///
/// # Errors
/// What could not be built, and the kernel's reason.
pub fn build(run: &Run, layout: &Layout, ground: Ground, scratch: &Path) -> io::Result<World> {
    let mut warnings = Vec::new();
    if ground == Ground::Guest {
        apply_global(run, &mut warnings)?;
    }
    let namespaces = layout
        .nodes
        .iter()
        .map(|node| named(Namespace::create(), || format!("network namespace of {}", node.name)))
        .collect::<io::Result<Vec<_>>>()?;
    let mut here = Netlink::open()?;
    for (wire, pair) in layout.wires.iter().enumerate() {
        let ports = [0, 1].map(|side| port(run, layout, &namespaces, wire, side));
        named(device::create_pair(&mut here, &ports), || {
            let [a, b] = pair.ends.each_ref().map(|end| &layout.nodes[end.node].name);
            format!("veth pair between {a} and {b}")
        })?;
    }
    let mut nodes = Vec::new();
    let mut steered = Ok(());
    for (index, namespace) in namespaces.into_iter().enumerate() {
        let built = namespace.within(|| {
            let mut netlink = Netlink::open()?;
            let Configured { ports, tunnels } = configure(run, layout, index, ground, &mut netlink)?;
            let settings = match run.hosts.get(index) {
                Some(host) => apply_host(host)?,
                None => BTreeMap::new(),
            };
            // With GRO a veth has a queue of its own, whose order is kept.
            let merges = run.hosts.get(index).is_some_and(|host| host.offloads.gro);
            if ground == Ground::Machine && steering::is_needed() && !merges && steered.is_ok() {
                steered = steering::steer(scratch, index, ports.values().map(|(name, _)| name.as_str()));
            }
            Ok((netlink, ports, tunnels, settings))
        });
        let (netlink, ports, tunnels, settings) = named(built, || layout.nodes[index].name.clone())?;
        nodes.push(BuiltNode { namespace, netlink, ports, tunnels, settings });
    }
    if let Err(error) = steered {
        warnings.push(format!(
            "packets may overtake each other between the cores of this machine, and TCP may take that for loss: {error} \
             (run it as root to keep them in order)"
        ));
    }
    Ok(World { nodes, warnings })
}

fn largest_mtu(run: &Run) -> Bytes {
    run.hosts.iter().map(|host| host.mtu).max().unwrap_or(Bytes::new(1500))
}

/// The largest packet of a direction, without its Ethernet header.
fn largest_packet(run: &Run, direction: &Direction) -> Bytes {
    largest_mtu(run) + direction.fec.as_ref().map_or(Bytes::ZERO, tunnel::repair_overhead)
}

fn mac(wire: usize, side: usize) -> [u8; 6] {
    [2, 0, 0, (wire >> 8) as u8, wire as u8, side as u8 + 1]
}

fn port(run: &Run, layout: &Layout, namespaces: &[Namespace], wire: usize, side: usize) -> Port {
    let end = &layout.wires[wire].ends[side];
    // A router's interface takes whatever the largest host sends, and repair packets.
    let host = run.hosts.get(end.node);
    let links = layout.wires[wire].ends.iter().filter_map(|end| match &end.egress {
        Egress::Link { direction, .. } => Some(largest_packet(run, direction)),
        Egress::Host(_) | Egress::Access { .. } => None,
    });
    let largest = links.max().unwrap_or_else(|| largest_mtu(run));
    Port {
        name: end.device.clone(),
        namespace: namespaces[end.node].raw(),
        mac: mac(wire, side),
        mtu: host.map_or(largest, |host| host.mtu).get() as u32,
        txqueuelen: host.map_or(1000, |host| host.txqueuelen),
    }
}

/// Interfaces of a node.
struct Configured {
    ports: BTreeMap<u32, (String, Egress)>,
    tunnels: Vec<TunnelEnd>,
}

/// Configures the interfaces of one node; the calling thread is in its namespace.
fn configure(
    run: &Run,
    layout: &Layout,
    node: usize,
    ground: Ground,
    netlink: &mut Netlink,
) -> io::Result<Configured> {
    if ground == Ground::Machine {
        // No packet but those of the run.
        quiet()?;
    }
    let listed = device::list(netlink)?;
    let (mut ports, mut tunnels, mut protected) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
    for interface in &listed {
        let (name, index) = (&*interface.device.name, interface.device.index);
        if name == "lo" {
            device::up(netlink, index)?;
            continue;
        }
        let found = layout.find(node, name);
        let (wire, side) = found.expect("a namespace of ours has only interfaces of the layout");
        let end = &layout.wires[wire].ends[side];
        let offloads = match end.egress {
            Egress::Host(host) => run.hosts[host].offloads,
            // A router hands on what it gets; merging or leaving packets merged would hide them from the queue.
            _ => Offloads { tso: false, gso: false, gro: false },
        };
        named(device::set_offloads(name, offloads), || name.to_owned())?;
        let peer = &layout.wires[wire].ends[1 - side];
        let moderation = match peer.egress {
            Egress::Host(host) => run.hosts[host].moderation,
            _ => None,
        };
        named(install(run, netlink, index, ground, &end.egress, moderation), || name.to_owned())?;
        device::add_address(netlink, index, end.address)?;
        device::up(netlink, index)?;
        device::add_neighbour(netlink, index, peer.address, mac(wire, 1 - side))?;
        ports.insert(index, (name.to_owned(), end.egress.clone()));
        let [encodes, decodes] = [end, peer].map(|end| {
            let fec = end.egress.fec()?.clone();
            Some(Protected { queue: end.egress.queue(run), fec })
        });
        if encodes.is_some() || decodes.is_some() {
            let (leaves_here, tunnel) = (encodes.is_some(), end.tunnel());
            let plan = tunnel::Plan {
                name: &tunnel,
                index,
                peer: mac(wire, 1 - side),
                mtu: largest_mtu(run).get() as u32,
                encodes,
                decodes,
            };
            let (built, device) = named(tunnel::build(netlink, plan), || tunnel.clone())?;
            if leaves_here {
                protected.insert(peer.address, device);
            }
            tunnels.push(built);
            // Packets from the tunnel have the source address of a host that is reached by the link.
            for interface in ["all", &tunnel] {
                set(&format!("net.ipv4.conf.{interface}.rp_filter"), "0")?;
            }
        }
    }
    if layout.nodes[node].forwards {
        set("net.ipv4.ip_forward", "1")?;
    }
    for (destination, via) in &layout.nodes[node].routes {
        let hop = protected.get(via).map_or(Hop::Neighbour(*via), |tunnel| Hop::Interface(*tunnel));
        named(device::add_route(netlink, *destination, hop), || format!("route to {destination} via {via}"))?;
    }
    Ok(Configured { ports, tunnels })
}

/// Puts a queueing discipline before an interface; `moderation`: of the interface at the other end.
fn install(
    run: &Run,
    netlink: &mut Netlink,
    index: u32,
    ground: Ground,
    egress: &Egress,
    moderation: Option<Moderation>,
) -> io::Result<()> {
    let mut add = |parent, handle, spec: &Spec| qdisc::install(netlink, index, parent, handle, spec);
    let bucket = |rate, mtu, room| bucket(ground, rate, mtu, room);
    match egress {
        Egress::Host(host) => {
            let host = &run.hosts[*host];
            let own = Spec::of(host);
            match host.nic_rate {
                None => add(TcHandle::ROOT, FIRST, &own),
                Some(rate) => {
                    add(TcHandle::ROOT, FIRST, &bucket(rate, host.mtu, None))?;
                    add(BELOW, SECOND, &own)
                }
            }
        }
        Egress::Link { direction, .. } if ground == Ground::Machine && is_bare(direction) => add(
            TcHandle::ROOT,
            FIRST,
            &bucket(direction.rate, largest_packet(run, direction), Some(direction.buffer)),
        ),
        Egress::Link { direction, seed, emulator: Emulator::Wire, .. } if ground == Ground::Guest => {
            let (direction, seed) = ((**direction).clone(), *seed);
            let Queue::DualPi2(settings) = direction.queue else {
                return add(TcHandle::ROOT, FIRST, &Spec::Link { direction, seed, moderation });
            };
            let (buffer, frame) = (direction.buffer, largest_mtu(run) + Bytes::new(ETHERNET_HEADER));
            add(TcHandle::ROOT, FIRST, &Spec::Line { direction, seed, frame })?;
            add(BELOW, SECOND, &Spec::DualPi2 { settings, buffer, frame })
        }
        Egress::Link { direction, seed, .. } => {
            add(TcHandle::ROOT, FIRST, &Spec::Netem { direction: (**direction).clone(), seed: *seed })?;
            add(
                BELOW,
                SECOND,
                &bucket(direction.rate, largest_packet(run, direction), Some(direction.buffer)),
            )
        }
        Egress::Access { delay: Span::ZERO, .. } if moderation.is_none() => Ok(()),
        Egress::Access { delay, .. } => {
            // Fast enough to be no queue: a frame of 64 KiB takes half a nanosecond.
            let rate = Rate::gbit(1_000_000);
            let direction = Direction::plain(rate, *delay, 0.0, Bytes::new(u64::MAX));
            let spec = match ground {
                Ground::Guest => Spec::Link { direction, seed: 0, moderation },
                Ground::Machine => Spec::Netem { direction, seed: 0 },
            };
            add(TcHandle::ROOT, FIRST, &spec)
        }
    }
}

/// A token bucket that sends at a rate.
fn bucket(ground: Ground, rate: Rate, mtu: Bytes, room: Option<Bytes>) -> Spec {
    let frame = mtu + Bytes::new(ETHERNET_HEADER);
    // In real time a timer is late; what could have been sent until then follows at once.
    let late = if ground == Ground::Machine { TIMER_LATENCY } else { Span::ZERO };
    Spec::Bucket { rate, frame, burst: frame + rate.volume(late), room }
}

/// A direction of a link on this machine that changes during a run.
pub struct ChangingLink {
    /// Its state at the start, and after each change.
    pub states: Vec<LinkState>,
    netlink: Netlink,
    index: u32,
    mtu: Bytes,
    direction: Direction,
    seed: u64,
}

impl ChangingLink {
    /// Sets its present state. netem uses the new delay for packets that come later, which may overtake earlier ones.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn set(&mut self, state: &LinkState) -> io::Result<()> {
        let LinkState { at, rate, delay, loss, buffer } = *state;
        let (netlink, index) = (&mut self.netlink, self.index);
        let bucket = bucket(Ground::Machine, rate, self.mtu, Some(buffer));
        if is_bare(&self.direction) {
            return qdisc::change(netlink, index, TcHandle::ROOT, FIRST, &bucket);
        }
        // With each change netem begins another sequence of random numbers.
        let seed = self.seed ^ at.nanoseconds() as u64;
        let direction = Direction::plain(rate, delay, loss, buffer);
        qdisc::change(netlink, index, TcHandle::ROOT, FIRST, &Spec::Netem { direction, seed })?;
        qdisc::change(netlink, index, BELOW, SECOND, &bucket)
    }
}

/// How late a kernel timer may be, with a processor that has slept: so much does a token bucket save up. Idle states of
/// servers take up to 100 us to leave (drivers/idle/intel_idle.c).
const TIMER_LATENCY: Span = Span::us(100);

/// Whether a direction is a rate and a queue, without delay or loss.
pub fn is_bare(direction: &Direction) -> bool {
    direction.states().all(|state| state.delay == Span::ZERO && state.loss == 0.0)
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

fn set(name: &str, value: &str) -> io::Result<()> {
    named(fs::write(sysctl_path(name), value), || format!("sysctl {name} = {value}"))
}

/// Keeps IPv6 from announcing itself in the calling thread's namespace.
fn quiet() -> io::Result<()> {
    for set in ["all", "default"] {
        match self::set(&format!("net.ipv6.conf.{set}.disable_ipv6"), "1") {
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result?,
        }
    }
    Ok(())
}

/// Settings of which Linux has one for all namespaces.
fn apply_global(run: &Run, warnings: &mut Vec<String>) -> io::Result<()> {
    /// Name, and its value on a host.
    type Global = (&'static str, fn(&Host) -> u64);
    const GLOBALS: [Global; 3] = [
        ("net.core.netdev_max_backlog", |host| u64::from(host.netdev_max_backlog)),
        ("net.core.rmem_max", |host| host.tcp.rmem_max.get()),
        ("net.core.wmem_max", |host| host.tcp.wmem_max.get()),
    ];
    for (name, value) in GLOBALS {
        let values: Vec<u64> = run.hosts.iter().map(value).collect();
        let largest = values.iter().copied().max().unwrap_or(0).min(i32::MAX as u64);
        set(name, &largest.to_string())?;
        if values.iter().any(|v| *v != values[0]) {
            warnings.push(format!(
                "{name} is one value for the whole kernel; hosts ask for different ones and all got {largest}"
            ));
        }
    }
    // The guest's memory is sized for the run; TCP must not think it is short of it.
    set("net.ipv4.tcp_mem", "2147483647 2147483647 2147483647")
}

/// The largest send buffer that is set. Linux counts what a socket has queued in an `int` (`sk_wmem_queued`). A buffer of 2 GiB lets
/// the count wrap, and then the writer never blocks: at one instant of virtual time it fills all memory. A quarter is left for
/// the last write and for the descriptions of segments that losses cut apart; a window of 1 GiB, TCP's largest, fits.
pub const SEND_BUFFER_MOST: u64 = 3 << 29;

/// Three sizes as a sysctl has them, each at most `most`.
fn sizes(values: &[Bytes; 3], most: u64) -> String {
    values.map(|size| size.get().min(most).to_string()).join(" ")
}

fn apply_host(host: &Host) -> io::Result<BTreeMap<String, String>> {
    let flag = |v: bool| u8::from(v).to_string();
    let mut wanted: Vec<(String, String)> = [
        ("net.ipv4.tcp_rmem", sizes(&host.tcp.rmem, i32::MAX as u64)),
        ("net.ipv4.tcp_wmem", sizes(&host.tcp.wmem, SEND_BUFFER_MOST)),
        ("net.ipv4.tcp_timestamps", flag(host.tcp.timestamps)),
        ("net.ipv4.tcp_sack", flag(host.tcp.sack)),
        ("net.ipv4.tcp_window_scaling", flag(host.tcp.window_scaling)),
        ("net.ipv4.tcp_ecn", host.tcp.ecn.to_string()),
        ("net.ipv4.tcp_no_metrics_save", flag(host.tcp.no_metrics_save)),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into();
    // Kernels that do not look at it have the file as well; the substrate warns that it has no effect there.
    if let Some(scale) = host.tcp.adv_win_scale {
        wanted.push(("net.ipv4.tcp_adv_win_scale".into(), scale.to_string()));
    }
    wanted.extend(host.sysctls.clone());
    let mut settings = BTreeMap::new();
    for (name, value) in &wanted {
        set(name, value)?;
        let read = fs::read_to_string(sysctl_path(name))?;
        settings.insert(name.clone(), read.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let nic_rate = host.nic_rate.map_or("not a limit".into(), |rate| rate.to_string());
    let on = |v| if v { "on" } else { "off" }.to_string();
    settings.extend(
        [
            ("interface.mtu", host.mtu.get().to_string()),
            ("interface.qdisc", host.qdisc.name().into()),
            ("interface.rate", nic_rate),
            ("interface.txqueuelen", host.txqueuelen.to_string()),
            ("offload.gro", on(host.offloads.gro)),
            ("offload.gso", on(host.offloads.gso)),
            ("offload.tso", on(host.offloads.tso)),
        ]
        .map(|(name, value)| (name.to_string(), value)),
    );
    if let Some(fq) = host.fq {
        let maxrate = fq.maxrate.map_or("unlimited".into(), |rate| rate.to_string());
        settings.extend(
            [
                ("interface.fq.flow_limit", fq.flow_limit.to_string()),
                ("interface.fq.maxrate", maxrate),
                ("interface.fq.quantum", fq.quantum.get().to_string()),
            ]
            .map(|(name, value)| (name.to_string(), value)),
        );
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_buffer_never_lets_the_count_of_queued_bytes_wrap() {
        let asked = [4096, 16384, 10_000_000_000].map(Bytes::new);
        assert_eq!(sizes(&asked, SEND_BUFFER_MOST), "4096 16384 1610612736");
        // A window of 65535 << 14 bytes in GSO packets of 65536 bytes, each with 1 KiB of description, fits.
        let window = 65_535_u64 << 14;
        assert!(window + (window >> 16) * 1024 < SEND_BUFFER_MOST);
    }
}
