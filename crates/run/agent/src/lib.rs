//! The agent: carries out a run on the kernel it finds itself on, and says what happened as a stream of
//! [`message::Message`]s. In a virtual-time guest it is process 1.

mod addresses;
mod capture;
mod clock;
mod cores;
mod datagrams;
mod drain;
mod end;
mod error_correction;
mod exchanges;
mod flow;
mod interim;
pub mod iperf3;
pub mod iperf3_server;
mod link_changes;
mod local;
pub mod message;
pub mod one_kernel;
mod open_files;
mod other_tests;
mod others;
mod pages;
mod path_mtu;
mod placement;
pub mod port;
mod queue_delays;
mod relay;
pub mod request;
mod sampler;
pub mod session;
mod settings;
mod socket;
mod stream_file;
mod tcp;
pub mod tcp_info;
pub mod temporary_bpf;
mod threads;
mod timing;
pub mod udp;

pub use clock::monotonic;
pub use end::{ABANDONED, Abandon};
pub use path_mtu::PathMtu;

use crate::iperf3_server::server;
use clock::Clock;
use exchanges::DataSets;
use flow::{FlowState, Log};
use message::{Message, Writer};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::thread;
use wirespeed_record::EventKind;
use wirespeed_scenario::run::{Dscp, EcnField, FIRST_PORT, Flow, Run};
use wirespeed_scenario::{When, congestion_control};

/// The most flows of a run: each has a port of its own.
pub const MOST_FLOWS: usize = 10_000;

/// Ports of which each packet of a run has one.
pub fn ports(run: &Run) -> Vec<RangeInclusive<u16>> {
    let beyond = run.flows.len().saturating_sub(1).try_into().unwrap_or(u16::MAX);
    let first: BTreeSet<u16> = run.flows.iter().map(|flow| first_port(run, &flow.to)).collect();
    let server = server(run).ok().flatten().map(|server| server.port..=server.port);
    first.into_iter().map(|port| port..=port.saturating_add(beyond)).chain(server).collect()
}

/// A flow that is being run, shared by its threads and the sampler.
pub struct Part {
    run: Arc<Run>,
    index: usize,
    clock: Clock,
    state: FlowState,
    data_sets: Arc<DataSets>,
    log: Arc<Log>,
    /// When the run ends, if that is earlier than planned; [`i64::MAX`] otherwise.
    cut_ns: Arc<AtomicI64>,
    /// The receiver's own address; unspecified in namespaces that have nobody else.
    bind: IpAddr,
    /// The only one whose connection it takes.
    peer: Option<IpAddr>,
    /// Whether the sender may give its kernel several datagrams as one piece.
    pieces: bool,
    /// Whether time passes by itself. In virtual time nobody is late, and no processor is busy.
    real_time: bool,
    /// Whether its receiver is an iperf3 server, which wants the connection to stay open until it has told its results.
    to_iperf3: bool,
    /// Whether its sender is an iperf3 server, which sends until it is told to end.
    from_iperf3: bool,
}

impl Part {
    fn flow(&self) -> &Flow {
        &self.run.flows[self.index]
    }

    /// Every flow has a port of its own, so that captures tell them apart.
    fn port(&self) -> u16 {
        first_port(&self.run, &self.flow().to).saturating_add(self.index as u16)
    }

    /// When it stops sending: at its time, or earlier if the run is cut short.
    fn stop_ns(&self) -> i64 {
        self.flow().stop.nanoseconds().min(self.cut_ns.load(Relaxed))
    }

    /// Where its receiver listens.
    fn local(&self) -> SocketAddr {
        SocketAddr::new(self.bind, self.port())
    }
}

/// Gives a socket of a flow's end at `host` the code point and the ECN field that the flow asks for, and notes the code point
/// among the host's settings. The ECN field of TCP is the kernel's, which keeps it.
fn set_dscp(part: &Part, fd: RawFd, host: &str) -> io::Result<()> {
    /// The setting of a host.
    const SETTING: &str = "socket.dscp";
    let (dscp, ecn) = (part.flow().dscp, part.flow().ecn.filter(|_| !is_tcp(part)));
    if dscp.is_none() && ecn.is_none() {
        return Ok(());
    }
    socket::set_traffic_class(fd, dscp.map_or(0, Dscp::byte) | ecn.map_or(0, EcnField::bits))?;
    if let Some(dscp) = dscp {
        part.log.found(host, SETTING, dscp.to_string());
    }
    Ok(())
}

fn is_tcp(part: &Part) -> bool {
    part.flow().is_tcp()
}

fn hello() -> io::Result<Message> {
    let read =
        |name| Ok::<_, io::Error>(fs::read_to_string(format!("/proc/sys/kernel/{name}"))?.trim().to_string());
    Ok(Message::Hello { release: read("osrelease")?, version: read("version")? })
}

/// Port of the first flow to a host of a run.
pub fn first_port(run: &Run, host: &str) -> u16 {
    let host = run.hosts.iter().find(|found| found.name == host);
    host.and_then(|host| host.reach.as_ref()?.port).unwrap_or(FIRST_PORT)
}

/// Whether a socket of this namespace can have a congestion control.
///
/// # Errors
/// Why not.
pub fn try_congestion(name: &str) -> io::Result<()> {
    let socket = socket::open(Ipv4Addr::UNSPECIFIED.into(), libc::SOCK_STREAM)?;
    socket::set_congestion(socket.as_raw_fd(), name)
}

/// Whether a control reads a parameter only while it is loaded: whoever boots the kernel has set it then.
pub fn is_read_while_loading(congestion: &str, parameter: &str) -> bool {
    let parameter = congestion_control(congestion).and_then(|control| control.parameter(parameter));
    parameter.is_some_and(|parameter| parameter.linux == Some(When::Loading))
}

/// What this process has used.
fn used() -> Message {
    // SAFETY: rusage is a plain structure of integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live variable of the right type.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let ns = |time: libc::timeval| (time.tv_sec * 1_000_000_000 + time.tv_usec * 1000).max(0) as u64;
    Message::Used {
        cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
        peak_rss_bytes: usage.ru_maxrss.max(0) as u64 * 1024,
    }
}

fn write_log(log: &Log, writer: &mut Writer<impl io::Write>) -> io::Result<()> {
    let (events, warnings) = log.take();
    events.into_iter().try_for_each(|event| writer.write(&Message::Event(event)))?;
    warnings.into_iter().try_for_each(|warning| writer.write(&Message::Warning(warning)))
}

/// Writes how the hosts did what their settings do not say.
fn write_found(log: &Log, writer: &mut Writer<impl io::Write>) -> io::Result<()> {
    log.all_found().into_iter().try_for_each(|(host, setting, value)| {
        writer.write(&Message::Settings { host, settings: [(setting, value)].into() })
    })
}

/// Runs one end of a flow in its own thread; what goes wrong is an event and a warning, not a silent end.
fn spawn(part: &Arc<Part>, host: String, work: impl FnOnce(&Part) -> io::Result<()> + Send + 'static) {
    let ended = |part: &Part, host: &str, error: io::Error| {
        let label = &part.flow().label;
        part.log.warn(format!("flow {label} ended early at {host}: {error}"));
        part.log.event(part.clock.now(), EventKind::FlowError, part.index, host, error.to_string());
    };
    let (own, here) = (Arc::clone(part), host.clone());
    let work = move || work(&own).unwrap_or_else(|error| ended(&own, &here, error));
    // A run may have more flows than this machine has threads.
    if let Err(error) = thread::Builder::new().spawn(work) {
        ended(part, &host, io::Error::new(error.kind(), format!("no thread for it: {error}")));
    }
}
