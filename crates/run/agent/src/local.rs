//! What the agent of a real host reads of that host on the sampling grid: its ends of the flows, the interface that
//! carries the test, its queue, and where the time of the cores went.

use super::Part;
use super::addresses::interfaces;
use super::cores::Cores;
use super::interim::of_losses;
use super::message::Interface;
use super::placement::{Placements, topology};
use super::sampler::{Long, flow_row, host_sample, queue_sample};
use super::tcp_info::TcpInfo;
use super::threads::Threads;
use std::io;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use wirespeed_host::{Changes, Root, Snapshot, Unavailable, take, take_of};
use wirespeed_record::{
    CoreSample, Event, EventKind, FlowSample, HostSample, Placement, QueueSample, ThreadSample, Topology,
};
use wirespeed_topology::device;
use wirespeed_topology::netlink::Netlink;
use wirespeed_topology::qdisc;

/// Everything of one instant.
#[derive(Debug)]
pub struct Sample {
    /// When it was read, on the grid.
    pub t_ns: i64,
    /// Ends of flows that are here.
    pub flows: Vec<FlowSample>,
    /// The interface's root queue.
    pub queue: Option<QueueSample>,
    /// The interface.
    pub host: Option<HostSample>,
    /// The interface went down, or came up again, since the last time.
    pub link: Option<Event>,
    /// All cores that can be read.
    pub cores: Vec<CoreSample>,
    /// The threads of flows that are here.
    pub threads: Vec<ThreadSample>,
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
    /// The interface by which packets leave to the other hosts.
    out: String,
    is_up: bool,
    cores: Cores,
    threads: Threads,
    placements: Placements,
}

impl Local {
    /// Reads host `name`, where the flows `parts` have an end, and whose `address` carries the test.
    ///
    /// # Errors
    /// If no interface has the address, or the kernel refuses an answer.
    pub fn new(name: &str, parts: Vec<Arc<Part>>, address: IpAddr, peers: &[IpAddr]) -> io::Result<Local> {
        let interfaces = interfaces()?;
        let Some(Interface { device, .. }) = interfaces.iter().find(|found| found.address == address) else {
            return Err(io::Error::other(format!(
                "no interface of {name} has the address {address} any more"
            )));
        };
        let mut netlink = Netlink::open()?;
        let listed = device::list(&mut netlink)?;
        // What is sent may leave by another interface than that of the address.
        let out =
            peers.first().and_then(|peer| device::way_out(&mut netlink, Some(address), *peer).ok().flatten());
        let out = listed.iter().find(|interface| Some(interface.device.index) == out);
        let out = out.map_or_else(|| device.clone(), |interface| interface.device.name.to_string());
        Ok(Local {
            out,
            name: name.to_owned(),
            packets: vec![[Long::default(); 2]; parts.len()],
            parts,
            netlink,
            root: Root::live(),
            device: device.clone(),
            is_up: true,
            cores: Cores::new(),
            threads: Threads::default(),
            placements: Placements::default(),
        })
    }

    /// The interface by which packets leave to the other hosts: that of the address, or another by the host's routes.
    pub fn out(&self) -> &str {
        &self.out
    }

    /// The interface that carries the test.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Reads everything once. `now` is the time of the samples.
    ///
    /// # Errors
    /// If the kernel refuses an answer.
    pub fn sample(&mut self, now: impl Fn() -> i64) -> io::Result<Sample> {
        let flows = self.flows(&now);
        let t_ns = flows.last().map_or_else(now, |row| row.t_ns);
        self.placements.look(&self.parts);
        self.cores.follow(&self.parts);
        let listed = device::list(&mut self.netlink)?;
        let queue = match listed.iter().find(|found| *found.device.name == *self.out) {
            None => None,
            Some(interface) => {
                let all = qdisc::statistics(&mut self.netlink)?;
                let root = all.iter().find(|found| found.index == interface.device.index && found.is_root);
                root.map(|root| {
                    queue_sample(t_ns, format!("{}/qdisc", self.name), qdisc::kind(&all, root), root)
                })
            }
        };
        let interface = listed.into_iter().find(|found| *found.device.name == *self.device);
        let is_up = interface.as_ref().is_some_and(|interface| is_running(interface.device.index));
        let link = (is_up != self.is_up).then(|| {
            self.is_up = is_up;
            Event {
                t_ns,
                kind: if is_up { EventKind::LinkUp } else { EventKind::LinkDown },
                flow: None,
                host: Some(self.name.clone()),
                detail: self.device.clone(),
                burst_packet: None,
            }
        });
        let host = interface.map(|interface| host_sample(t_ns, &self.name, &interface));
        let cores = self.cores.sample(t_ns, [self.name.as_str()]);
        Ok(Sample { t_ns, flows, queue, host, link, cores, threads: self.threads.sample(t_ns, &self.parts) })
    }

    /// The ends of flows that are here, and all segments of each, ACKs included: sent and received.
    pub fn totals(&mut self, t_ns: i64) -> Vec<(FlowSample, [u32; 2])> {
        let rows = self.flows(|| t_ns);
        let segments = |row: &FlowSample| {
            let part = self.parts.iter().find(|part| part.index as u32 == row.flow)?;
            let end = part.state.sender().get().or(part.state.receiver().get())?;
            TcpInfo::of(end).map(|info| info.segments())
        };
        let segments: Vec<[u32; 2]> = rows.iter().map(|row| segments(row).unwrap_or_default()).collect();
        rows.into_iter().zip(segments).collect()
    }

    /// The ends of flows that are here.
    pub fn flows(&mut self, now: impl Fn() -> i64) -> Vec<FlowSample> {
        let parts = self.parts.iter().zip(&mut self.packets);
        let begun = parts
            .filter(|(part, _)| part.state.sender().get().is_some() || part.state.receiver().get().is_some());
        begun.map(|(part, packets)| flow_row(part, packets, &now)).collect()
    }

    /// Where the ends of flows that are here were worked on, by what has changed in the run.
    pub fn placements(&mut self, changes: &Changes) -> Vec<Placement> {
        std::mem::take(&mut self.placements).told(&self.device, changes)
    }

    /// The host's cores and nodes, and that of the interface.
    pub fn topology(&self) -> Topology {
        topology(Some(&self.device))
    }

    /// What of the host's counters can tell of a loss.
    pub fn loss_counters(&mut self) -> Snapshot {
        take_of(&mut self.root, &of_losses()).0
    }

    /// Everything that the host counts, and what of it cannot be read and why.
    pub fn counters(&mut self) -> (Snapshot, Vec<Unavailable>) {
        take(&mut self.root)
    }
}

/// Whether an interface is up and has a carrier (IFF_UP and IFF_RUNNING; netdevice(7)).
fn is_running(index: u32) -> bool {
    const BOTH: i32 = libc::IFF_UP | libc::IFF_RUNNING;
    thread_local! {
        static SOCKET: Option<UdpSocket> = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok();
    }
    SOCKET.with(|socket| {
        let Some(socket) = socket else { return true };
        // SAFETY: an ifreq of zeros is one; the kernel reads its index and name, and fills the rest.
        unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            request.ifr_ifru.ifru_ifindex = index as i32;
            let fd = socket.as_raw_fd();
            // Its name may have changed, its index has not.
            if libc::ioctl(fd, libc::SIOCGIFNAME as _, &raw mut request) != 0 {
                return false;
            }
            libc::ioctl(fd, libc::SIOCGIFFLAGS as _, &raw mut request) != 0
                || i32::from(request.ifr_ifru.ifru_flags) & BOTH == BOTH
        }
    })
}
