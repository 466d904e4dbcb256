//! Packets that this kernel drops, by reason, flow and device; and segments that its TCP sends again.
//!
//! A program at the tracepoint `skb:kfree_skb` sees every packet that is thrown away for a reason, wherever in the kernel
//! that is: in a queueing discipline, at a socket, for want of memory. It sees each copy by itself. What never became a
//! packet of the kernel's - lost in a ring of the NIC, or beyond - it does not see.

mod ranges;
mod types;

pub use ranges::Range;

use crate::kernel::{BPF, PERFMON, Reason, kernel, permitted};
use crate::messages::listen;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};
use ranges::Ring;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use thiserror::Error;
use types::Types;

const OBJECT: &[u8] = include_bytes!("../../../../../bpf/objects/drops.bpf.o");

/// Most ranges of ports (`MOST_RANGES` of drops.bpf.c).
pub const MOST_RANGES: usize = 16;

/// Which packets count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Packets with one of these ports, as source or as target; at most [`MOST_RANGES`].
    pub ports: Vec<RangeInclusive<u16>>,
    /// Only this network namespace, by its inode ([`this_namespace`]). A packet of which the kernel no longer tells where
    /// it was counts too, with [`Dropped::namespace`] `None`: kernels before 6.11 do so for drops at sockets.
    pub namespace: Option<u32>,
    /// Measure what watching costs ([`Watch::cost`]). The kernel then takes the time of all its BPF programs, not only ours.
    pub measure: bool,
    /// Tell each range of sequence numbers ([`Watch::ranges`]), not only how many there were.
    pub ranges: bool,
}

/// The network namespace of the calling thread.
pub fn this_namespace() -> Option<u32> {
    std::fs::metadata("/proc/thread-self/ns/net").ok().and_then(|file| u32::try_from(file.ino()).ok())
}

/// A transport protocol that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// One direction of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flow {
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Where its packets come from.
    pub source: SocketAddr,
    /// Where they go.
    pub target: SocketAddr,
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let protocol = match self.protocol {
            Protocol::Tcp => "TCP",
            Protocol::Udp => "UDP",
        };
        write!(f, "{protocol} {} > {}", self.source, self.target)
    }
}

/// Packets that were dropped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dropped {
    /// The kernel's name for why: `SKB_DROP_REASON_` taken off, such as `QDISC_DROP` or `SOCKET_RCVBUFF`.
    pub reason: String,
    /// Whose they were.
    pub flow: Flow,
    /// Number of the device they were to leave by, or came in by; `None`: the kernel no longer told.
    pub device: Option<u32>,
    /// The network namespace, by its inode; `None`: the kernel no longer told.
    pub namespace: Option<u32>,
    /// How many packets of the wire.
    pub packets: u64,
    /// Their bytes from the IP header on.
    pub bytes: u64,
    /// In how many socket buffers they were: a train (GSO, GRO) is one.
    pub buffers: u64,
}

/// Dropped socket buffers of all flows, the watched ones included.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Buffers {
    /// The kernel's name for why, as in [`Dropped`].
    pub reason: String,
    /// Number of the device they were to leave by, or came in by; `None`: the kernel no longer told.
    pub device: Option<u32>,
    /// The network namespace, by its inode; `None`: the kernel no longer told.
    pub namespace: Option<u32>,
    /// How many socket buffers, which is what most counters of the kernel count.
    pub buffers: u64,
}

/// Segments that TCP sent again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Retransmitted {
    /// Whose they were.
    pub flow: Flow,
    /// The network namespace, by its inode.
    pub namespace: u32,
    /// How many, as `RetransSegs` counts them. Older kernels (6.12) do not tell those that the sender's own queue or device refused
    /// ([`Watch::tells_refused`]).
    pub packets: u64,
    /// Their payload in bytes.
    pub bytes: u64,
}

/// What watching has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Runs of our programs and the time they took; `None`: not measured ([`Filter::measure`]).
    pub runs: Option<(u64, Duration)>,
    /// Packets that were not counted, for want of room or because a program was interrupted by itself.
    pub missed: u64,
}

/// Why drops are not watched.
#[derive(Debug, Error)]
pub enum WatchError {
    /// They cannot be, here.
    #[error("drops cannot be watched: {0}")]
    Cannot(#[from] Reason),
    /// The filter lets nothing through or is too long.
    #[error("a filter has 1 to {MOST_RANGES} ranges of ports, not {0}")]
    Ports(usize),
    /// The kernel refused it, though it has what is needed.
    #[error("Linux {release} refused to have its drops watched: {source:#}\n{log}")]
    Refused {
        /// `uname -r`.
        release: String,
        /// What libbpf makes of it.
        source: libbpf_rs::Error,
        /// The last lines of what libbpf and the kernel's verifier said.
        log: String,
    },
    /// What was counted cannot be read.
    #[error("what was counted of drops cannot be read: {0}")]
    Read(#[source] libbpf_rs::Error),
}

/// Whether drops can be watched here, as far as can be told without doing it.
///
/// # Errors
/// What stands in the way, and what to change.
pub fn can_watch() -> Result<(), Reason> {
    kernel().tells_drops()?;
    permitted(&[BPF, PERFMON])
}

/// Counts from its start until it is dropped, or its process ends however it may.
#[derive(Debug)]
pub struct Watch {
    _links: Vec<Link>,
    object: Object,
    reasons: BTreeMap<u32, String>,
    ring: Option<Ring>,
    /// Open as long as the kernel is to take the time.
    timing: Option<OwnedFd>,
}

impl Watch {
    /// Starts to count.
    ///
    /// # Errors
    /// If that cannot be done here, the filter cannot be used, or the kernel refuses.
    pub fn start(filter: &Filter) -> Result<Watch, WatchError> {
        can_watch()?;
        if !(1..=MOST_RANGES).contains(&filter.ports.len()) {
            return Err(WatchError::Ports(filter.ports.len()));
        }
        let listening = listen();
        load(filter).map_err(|source| WatchError::Refused {
            release: kernel().release.clone(),
            source,
            log: listening.heard(),
        })
    }

    /// The watched flows' packets that were dropped since the start, most first.
    ///
    /// # Errors
    /// If the kernel does not return its counts.
    pub fn read(&self) -> Result<Vec<Dropped>, WatchError> {
        let row = |(key, count): (Key, Count)| {
            Some(Dropped {
                reason: self.reason(key.reason),
                flow: key.flow?,
                device: (key.device > 0).then_some(key.device),
                namespace: (key.namespace > 0).then_some(key.namespace),
                packets: count.packets,
                bytes: count.bytes,
                buffers: count.buffers,
            })
        };
        let mut rows: Vec<Dropped> = self.counts("dropped")?.into_iter().filter_map(row).collect();
        rows.sort_by(|a, b| b.packets.cmp(&a.packets).then_with(|| a.cmp(b)));
        Ok(rows)
    }

    /// The dropped buffers of all flows since the start: the kernel's own counters have all flows, too.
    ///
    /// # Errors
    /// If the kernel does not return its counts.
    pub fn read_all_flows(&self) -> Result<Vec<Buffers>, WatchError> {
        let mut all: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
        for (key, count) in self.counts("dropped")? {
            *all.entry((key.reason, key.device, key.namespace)).or_default() += count.buffers;
        }
        let row = |((reason, device, namespace), buffers): ((u32, u32, u32), u64)| Buffers {
            reason: self.reason(reason),
            device: (device > 0).then_some(device),
            namespace: (namespace > 0).then_some(namespace),
            buffers,
        };
        Ok(all.into_iter().map(row).collect())
    }

    /// What was sent again since the start, most segments first.
    ///
    /// # Errors
    /// If the kernel does not give its counts.
    pub fn retransmitted(&self) -> Result<Vec<Retransmitted>, WatchError> {
        let row = |(key, count): (Key, Count)| {
            let Key { flow, namespace, .. } = key;
            Some(Retransmitted { flow: flow?, namespace, packets: count.packets, bytes: count.bytes })
        };
        let mut rows: Vec<Retransmitted> = self.counts("sent_again")?.into_iter().filter_map(row).collect();
        rows.sort_by(|a, b| b.packets.cmp(&a.packets).then_with(|| a.cmp(b)));
        Ok(rows)
    }

    /// Whether the kernel tells of what was sent again and refused by the sender's own queue or device.
    pub fn tells_refused(&self) -> bool {
        self.object.progs().any(|program| program.name() == "again_if_sent" && program.autoload())
    }

    /// What watching has cost since the start.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn cost(&self) -> Result<Cost, WatchError> {
        let mut cost = Cost { runs: None, missed: 0 };
        let (mut runs, mut ns) = (0, 0);
        for program in self.object.progs().filter(|program| program.autoload()) {
            let info = program_info(program.as_fd().as_raw_fd()).map_err(WatchError::Read)?;
            runs += info.run_cnt;
            ns += info.run_time_ns;
            cost.missed += info.recursion_misses;
        }
        cost.runs = self.timing.is_some().then_some((runs, Duration::from_nanos(ns)));
        let missed = self.map("missed").lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY);
        for part in missed.map_err(WatchError::Read)?.into_iter().flatten() {
            cost.missed += number(&part);
        }
        Ok(cost)
    }

    /// The kernel's name of a reason.
    fn reason(&self, number: u32) -> String {
        self.reasons.get(&number).cloned().unwrap_or_else(|| format!("{number:#x}"))
    }

    fn map(&self, name: &str) -> libbpf_rs::Map<'_> {
        map(&self.object, name)
    }

    /// The counts by key, each summed over the processors.
    fn counts(&self, name: &str) -> Result<Vec<(Key, Count)>, WatchError> {
        let map = self.map(name);
        let mut rows = Vec::new();
        for key in map.keys() {
            let Some(parts) = map.lookup_percpu(&key, MapFlags::ANY).map_err(WatchError::Read)? else {
                continue;
            };
            let Some(key) = Key::of(&key) else { continue };
            let sum = |place: usize| parts.iter().map(|part| number(&part[place..])).sum();
            rows.push((key, Count { packets: sum(0), bytes: sum(8), buffers: sum(16) }));
        }
        Ok(rows)
    }
}

fn map<'o>(object: &'o Object, name: &str) -> libbpf_rs::Map<'o> {
    object.maps().find(|map| map.name() == name).expect("the object has this map")
}

fn load(filter: &Filter) -> libbpf_rs::Result<Watch> {
    let types = Types::read()?;
    let mut open = ObjectBuilder::default().open_memory(OBJECT)?;
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        program.set_autoload(types.fits(&name));
    }
    for mut map in open.maps_mut() {
        if map.name() == ".rodata.settings" {
            map.set_initial_value(&settings(filter, &types))?;
        }
    }
    let object = open.load()?;
    let timing = if filter.measure { enable_timing() } else { None };
    let links = object
        .progs_mut()
        .filter(|program| program.autoload())
        .map(|program| program.attach_trace())
        .collect::<libbpf_rs::Result<Vec<_>>>()?;
    let ring = filter.ranges.then(|| Ring::of(&object)).transpose()?;
    Ok(Watch { _links: links, object, reasons: types.reasons, ring, timing })
}

/// `struct settings` of drops.bpf.c as bytes.
fn settings(filter: &Filter, types: &Types) -> Vec<u8> {
    const NEVER: u32 = u32::MAX;
    let numbers = [
        filter.namespace.unwrap_or(0),
        types.reason("SKB_NOT_DROPPED_YET").unwrap_or(0),
        types.reason("SKB_CONSUMED").unwrap_or(NEVER),
        filter.ports.len() as u32,
        u32::from(filter.ranges),
    ];
    let mut bytes: Vec<u8> = numbers.into_iter().flat_map(u32::to_ne_bytes).collect();
    for range in &filter.ports {
        bytes.extend([*range.start(), *range.end()].into_iter().flat_map(u16::to_ne_bytes));
    }
    bytes.resize(size_of_val(&numbers) + 4 * MOST_RANGES, 0);
    bytes
}

/// Has the kernel take the time of its BPF programs as long as what is returned is open; `None`: it may not.
fn enable_timing() -> Option<OwnedFd> {
    // SAFETY: a call without pointers.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    // SAFETY: the descriptor was just made, and nobody else has it.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn program_info(program: i32) -> libbpf_rs::Result<libbpf_sys::bpf_prog_info> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of_val(&info) as u32;
    // SAFETY: the kernel fills at most as many bytes as there are.
    let result = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program, &raw mut info, &raw mut length) };
    if result < 0 { Err(libbpf_rs::Error::from_raw_os_error(-result)) } else { Ok(info) }
}

/// `struct count` of drops.bpf.c.
#[derive(Debug, Clone, Copy)]
struct Count {
    packets: u64,
    bytes: u64,
    buffers: u64,
}

/// `struct key` of drops.bpf.c.
#[derive(Debug)]
struct Key {
    reason: u32,
    /// `None`: all flows that the filter does not watch.
    flow: Option<Flow>,
    device: u32,
    namespace: u32,
}

impl Key {
    /// How many bytes it has.
    const BYTES: usize = 52;

    fn of(bytes: &[u8]) -> Option<Key> {
        let number = |place: usize| bytes.get(place..place + 4)?.try_into().ok().map(u32::from_ne_bytes);
        // In network order, as they are written; those of IPv4 are mapped.
        let address = |place: usize| -> Option<IpAddr> {
            let octets: [u8; 16] = bytes.get(place..place + 16)?.try_into().ok()?;
            Some(Ipv6Addr::from(octets).to_canonical())
        };
        let port = |place: usize| Some(u16::from_ne_bytes(bytes.get(place..place + 2)?.try_into().ok()?));
        let protocol = match number(40)? {
            0 => None,
            6 => Some(Protocol::Tcp),
            17 => Some(Protocol::Udp),
            _ => return None,
        };
        let source = SocketAddr::new(address(4)?, port(36)?);
        let target = SocketAddr::new(address(20)?, port(38)?);
        let flow = protocol.map(|protocol| Flow { protocol, source, target });
        Some(Key { reason: number(0)?, flow, device: number(44)?, namespace: number(48)? })
    }

    /// The bytes of a key as the program writes it.
    #[cfg(test)]
    fn bytes(reason: u32, ends: [Ipv6Addr; 2], ports: [u16; 2], rest: [u32; 3]) -> Vec<u8> {
        let mut bytes = reason.to_ne_bytes().to_vec();
        bytes.extend(ends.into_iter().flat_map(|end| end.octets()));
        bytes.extend(ports.into_iter().flat_map(u16::to_ne_bytes));
        bytes.extend(rest.into_iter().flat_map(u32::to_ne_bytes));
        bytes
    }
}

/// The first eight bytes as a number.
fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_the_program_writes_it() {
        let [from, to] = [1, 2].map(|last| std::net::Ipv4Addr::new(10, 0, 0, last).to_ipv6_mapped());
        let bytes = Key::bytes(6, [from, to], [5001, 80], [17, 3, 4_026_531_840]);
        assert_eq!(bytes.len(), Key::BYTES);
        let key = Key::of(&bytes).unwrap();
        assert_eq!(key.flow.unwrap().to_string(), "UDP 10.0.0.1:5001 > 10.0.0.2:80");
        assert_eq!((key.reason, key.device, key.namespace), (6, 3, 4_026_531_840));
        assert!(Key::of(&bytes[..Key::BYTES - 1]).is_none());
        let none = Ipv6Addr::UNSPECIFIED;
        let others = Key::of(&Key::bytes(6, [none, none], [0, 0], [0, 3, 1])).unwrap();
        assert_eq!((others.reason, others.flow, others.device), (6, None, 3));
        let [from, to] = [1, 2].map(|last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last));
        let key = Key::of(&Key::bytes(6, [from, to], [5001, 80], [6, 3, 1])).unwrap();
        assert_eq!(key.flow.unwrap().to_string(), "TCP [fd00::1]:5001 > [fd00::2]:80");
    }

    #[test]
    fn a_filter_needs_ports_and_not_too_many() {
        if let Err(reason) = can_watch() {
            // Said before the filter is looked at.
            assert!(
                matches!(Watch::start(&Filter::default()), Err(WatchError::Cannot(said)) if said == reason)
            );
            return;
        }
        for count in [0, MOST_RANGES + 1] {
            let filter = Filter { ports: vec![1..=2; count], ..Filter::default() };
            assert!(matches!(Watch::start(&filter), Err(WatchError::Ports(found)) if found == count));
        }
    }
}
