//! What the agent of a real host reads of that host on the sampling grid: its ends of the flows, the interface that
//! carries the test, its queue, and where the time of the cores went.

use super::Part;
use super::message::Interface;
use super::sampler::{Long, flow_row, host_sample, queue_sample};
use super::tcp_info::TcpInfo;
use crate::device;
use crate::netlink::Netlink;
use crate::qdisc;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use wirespeed_host::sources::cores;
use wirespeed_host::{Lack, Root, Snapshot, take};
use wirespeed_record::{CoreSample, FlowSample, HostSample, QueueSample};

/// Everything of one instant.
#[derive(Debug)]
pub struct Sample {
    /// Ends of flows that are here.
    pub flows: Vec<FlowSample>,
    /// The interface's root queue.
    pub queue: Option<QueueSample>,
    /// The interface.
    pub host: Option<HostSample>,
    /// All cores that can be read.
    pub cores: Vec<CoreSample>,
}

/// Reads one host.
pub struct Local {
    name: String,
    parts: Vec<Arc<Part>>,
    packets: Vec<[Long; 2]>,
    netlink: Netlink,
    root: Root,
    /// The interface that carries the test.
    device: String,
    nodes: BTreeMap<u32, u32>,
    /// The cores' times when the run began.
    began: BTreeMap<u32, Ticks>,
}

impl Local {
    /// Reads host `name`, where the flows `parts` have an end, and whose `address` carries the test.
    ///
    /// # Errors
    /// If no interface has the address, or the kernel refuses an answer.
    pub fn new(name: &str, parts: Vec<Arc<Part>>, address: Ipv4Addr) -> io::Result<Local> {
        let interfaces = interfaces()?;
        let Some(Interface { device, .. }) = interfaces.iter().find(|found| found.address == address) else {
            return Err(io::Error::other(format!(
                "no interface of {name} has the address {address} any more"
            )));
        };
        Ok(Local {
            name: name.to_owned(),
            packets: vec![[Long::default(); 2]; parts.len()],
            parts,
            netlink: Netlink::open()?,
            root: Root::live(),
            device: device.clone(),
            nodes: nodes(),
            began: ticks(),
        })
    }

    /// The interface that carries the test.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Reads everything once.
    ///
    /// # Errors
    /// If the kernel refuses an answer.
    pub fn sample(&mut self, t_ns: i64) -> io::Result<Sample> {
        let flows = self.flows(t_ns);
        let interface =
            device::list(&mut self.netlink)?.into_iter().find(|found| *found.device.name == *self.device);
        let queue = match &interface {
            None => None,
            Some(interface) => {
                let all = qdisc::statistics(&mut self.netlink)?;
                let root = all.iter().find(|found| found.index == interface.device.index && found.is_root);
                root.map(|root| queue_sample(t_ns, format!("{}/qdisc", self.name), kind(&all, root), root))
            }
        };
        let host = interface.map(|interface| host_sample(t_ns, &self.name, &interface));
        Ok(Sample { flows, queue, host, cores: self.cores(t_ns) })
    }

    /// The ends of flows that are here, and all segments of each, ACKs included: sent and received.
    pub fn totals(&mut self, t_ns: i64) -> Vec<(FlowSample, [u32; 2])> {
        let rows = self.flows(t_ns);
        let segments = |row: &FlowSample| {
            let part = self.parts.iter().find(|part| part.index as u32 == row.flow)?;
            let end = part.state.sender().get().or(part.state.receiver().get())?;
            TcpInfo::of(end).map(|info| info.segments())
        };
        let segments: Vec<[u32; 2]> = rows.iter().map(|row| segments(row).unwrap_or_default()).collect();
        rows.into_iter().zip(segments).collect()
    }

    /// The ends of flows that are here.
    pub fn flows(&mut self, t_ns: i64) -> Vec<FlowSample> {
        let parts = self.parts.iter().zip(&mut self.packets);
        let begun = parts
            .filter(|(part, _)| part.state.sender().get().is_some() || part.state.receiver().get().is_some());
        begun.map(|(part, packets)| flow_row(part, packets, t_ns)).collect()
    }

    fn cores(&self, t_ns: i64) -> Vec<CoreSample> {
        let tick_ns = 1_000_000_000 / self.root.ticks_per_second();
        let row = |(core, now): (u32, Ticks)| {
            let began = self.began.get(&core)?;
            let since = |of: fn(&Ticks) -> u64| (of(&now).saturating_sub(of(began)) * tick_ns) as i64;
            Some(CoreSample {
                t_ns,
                host: self.name.clone(),
                core,
                node: self.nodes.get(&core).copied().unwrap_or(0),
                hardirq_ns: since(|ticks| ticks.irq),
                softirq_ns: since(|ticks| ticks.softirq),
                // /proc/stat counts its time as softirq's.
                ksoftirqd_ns: 0,
                app_ns: since(|ticks| ticks.working),
                capture_ns: 0,
                load_ns: since(|ticks| ticks.stolen),
                squeezed: 0,
            })
        };
        ticks().into_iter().filter_map(row).collect()
    }

    /// Everything that the host counts, and what of it cannot be read and why.
    pub fn counters(&mut self) -> (Snapshot, Vec<Lack>) {
        take(&mut self.root)
    }
}

/// What the queues are: for `mq`, which only spreads over the interface's queues, what is below it.
fn kind(all: &[qdisc::Statistics], root: &qdisc::Statistics) -> String {
    let below = all.iter().find(|found| found.index == root.index && !found.is_root);
    match below {
        Some(below) if root.kind == "mq" => format!("mq, {}", below.kind),
        _ => root.kind.clone(),
    }
}

/// A core's times, in ticks ([`Root::ticks_per_second`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    /// user, nice and system.
    working: u64,
    irq: u64,
    softirq: u64,
    /// By the hypervisor.
    stolen: u64,
}

/// The cores' times so far; none where they cannot be read.
fn ticks() -> BTreeMap<u32, Ticks> {
    fs::read_to_string("/proc/stat").map(|text| sorted(&cores::parse(&text))).unwrap_or_default()
}

fn sorted(times: &[(u32, &str, u64)]) -> BTreeMap<u32, Ticks> {
    let mut found: BTreeMap<u32, Ticks> = BTreeMap::new();
    for (core, kind, time) in times {
        let ticks = found.entry(*core).or_default();
        match *kind {
            "user" | "nice" | "system" => ticks.working += time,
            "irq" => ticks.irq += time,
            "softirq" => ticks.softirq += time,
            "steal" => ticks.stolen += time,
            _ => {}
        }
    }
    found
}

/// The NUMA node of each core; empty where the kernel has none.
fn nodes() -> BTreeMap<u32, u32> {
    let numbered = |path: std::path::PathBuf, prefix: &str| -> Vec<u32> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|e| e.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()).collect()
    };
    let root = std::path::Path::new("/sys/devices/system/node");
    let mut nodes = BTreeMap::new();
    for node in numbered(root.into(), "node") {
        for core in numbered(root.join(format!("node{node}")), "cpu") {
            nodes.insert(core, node);
        }
    }
    nodes
}

/// IPv4 addresses of this host beside the loopback's, and the interfaces that have them.
///
/// # Errors
/// As `getifaddrs(3)`.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `first` is a valid place for the answer.
    if unsafe { libc::getifaddrs(&mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = first;
    // SAFETY: the list is the C library's until it is freed below; an address of family AF_INET is a sockaddr_in.
    unsafe {
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            let Some(address) = entry.ifa_addr.as_ref() else { continue };
            let loopback = entry.ifa_flags & libc::IFF_LOOPBACK as u32 != 0;
            if i32::from(address.sa_family) != libc::AF_INET || loopback {
                continue;
            }
            let address = entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
            let device = std::ffi::CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned();
            found.push((device, Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr))));
        }
        libc::freeifaddrs(first);
    }
    Ok(found.into_iter().map(|(device, address)| interface(device, address)).collect())
}

/// Documentation/ABI/testing/sysfs-class-net of the kernel.
fn interface(device: String, address: Ipv4Addr) -> Interface {
    let read = |name: &str| -> Option<i64> {
        fs::read_to_string(format!("/sys/class/net/{device}/{name}")).ok()?.trim().parse().ok()
    };
    // In Mbit/s; -1 where it is unknown.
    let rate_bps = read("speed").filter(|speed| *speed > 0).map(|speed| speed as u64 * 1_000_000);
    let mtu = read("mtu").and_then(|mtu| u32::try_from(mtu).ok());
    Interface { device, address, rate_bps, mtu }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_read_by_number_and_the_sum_is_left_out() {
        let text =
            "cpu  10 0 20 300 4 1 5 0 0 0\ncpu0 5 1 10 150 2 1 4 0 0 0\ncpu11 5 0 10 150 2 0 1 7\nintr 5\n";
        let found = sorted(&cores::parse(text));
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [0, 11]);
        assert_eq!(found[&0], Ticks { working: 16, irq: 1, softirq: 4, stolen: 0 });
        assert_eq!(found[&11].stolen, 7);
    }

    #[test]
    fn this_machine_has_cores() {
        assert!(!ticks().is_empty());
    }
}
