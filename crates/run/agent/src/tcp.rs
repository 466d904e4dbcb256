//! A TCP flow: one thread that writes, one that reads.

use super::exchanges;
use super::pages::Source;
use super::port;
use super::socket;
use super::{Part, set_dscp};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering::Relaxed;
use wirespeed_record::EventKind;
use wirespeed_scenario::run::{Congestion, FlowKind};
use wirespeed_units::Bytes;

fn settings(part: &Part) -> (&Congestion, Option<Bytes>, Option<u64>) {
    match &part.flow().kind {
        FlowKind::Tcp { congestion, window, max_rate, .. } => {
            (congestion, *window, max_rate.map(|r| r.bytes_per_second()))
        }
        FlowKind::Udp { .. } => unreachable!("TCP threads are started for TCP flows only"),
    }
}

/// Fixes both buffers, as iperf's `-w` does; Linux doubles the value to make room for its own overhead.
fn fix_buffers(part: &Part, fd: RawFd, window: Option<Bytes>, host: &str) -> io::Result<()> {
    let Some(window) = window else { return Ok(()) };
    let asked = window.get().min(i32::MAX as u64 / 2) as i32;
    for (option, name, limit) in
        [(libc::SO_SNDBUF, "send", "wmem_max"), (libc::SO_RCVBUF, "receive", "rmem_max")]
    {
        socket::set(fd, libc::SOL_SOCKET, option, asked, "socket buffer")?;
        let got = socket::get_bytes(fd, libc::SOL_SOCKET, option, 4)?;
        let got = i32::from_ne_bytes(got.try_into().unwrap_or_default());
        if got < asked * 2 {
            let (flow, got) = (&part.flow().label, got / 2);
            part.log.warn(format!(
                "{flow}: the {name} buffer at {host} is {got} bytes, not {asked}: raise host.{host}.{limit}"
            ));
        }
    }
    Ok(())
}

/// Prepares the receiving end; returns the listening socket. Runs in the receiver's namespace before the start.
pub fn prepare(part: &Part) -> io::Result<OwnedFd> {
    let (congestion, window, _) = settings(part);
    let listener = socket::open(part.bind, libc::SOCK_STREAM)?;
    fix_buffers(part, listener.as_raw_fd(), window, &part.flow().to)?;
    // Inherited on accept.
    set_dscp(part, listener.as_raw_fd(), &part.flow().to)?;
    // The receiver's congestion control matters for ECN negotiation (dctcp) and is inherited on accept.
    socket::set_congestion(listener.as_raw_fd(), &congestion.name)?;
    // A run that was broken off leaves connections here that the kernel closes within a minute; another may begin at once.
    socket::set(listener.as_raw_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1i32, "SO_REUSEADDR")?;
    port::bind(&listener, part.local(), false)?;
    socket::listen(&listener)?;
    Ok(listener)
}

/// Reads everything; runs in its own thread.
pub fn receive(part: &Part, listener: &OwnedFd) -> io::Result<()> {
    let fd = accept(part, listener)?;
    read(part, fd)
}

/// Takes the connection of a flow.
pub fn accept(part: &Part, listener: &OwnedFd) -> io::Result<RawFd> {
    let accepted = socket::accept(listener, part.peer, |stranger| {
        let (flow, expected) = (part.flow(), part.peer.map_or(String::new(), |peer| peer.to_string()));
        part.log.warn(format!(
            "flow {}: {} refused a connection from {stranger}, it expects {} as {expected}; is there a translation of \
             addresses (NAT) between them?",
            flow.label, flow.to, flow.from
        ));
    })?;
    Ok(part.state.receiver().keep(accepted))
}

/// Reads everything that comes on a connection; runs in its own thread.
pub fn receive_connected(part: &Part, socket: OwnedFd) -> io::Result<()> {
    let fd = part.state.receiver().keep(socket);
    read(part, fd)
}

/// Sets what has to be set before a receiver's socket is connected.
pub fn set_up_receiver(part: &Part, socket: &OwnedFd) -> io::Result<()> {
    let (_, window, _) = settings(part);
    set_dscp(part, socket.as_raw_fd(), &part.flow().to)?;
    fix_buffers(part, socket.as_raw_fd(), window, &part.flow().to)
}

/// The most that is read at once, in bytes. A read has the socket's lock until nothing is left (`tcp_recvmsg_locked`, Linux 6.18).
/// That takes seconds if packets come as fast as they are read. Meanwhile the connection could not be sampled, and no signal
/// would be taken. More than what a large receive buffer wakes a reader for ([`LowWater`]).
const MOST_AT_ONCE: usize = 4 << 20;

/// Reads to the end.
fn read(part: &Part, fd: RawFd) -> io::Result<()> {
    if exchanges::receive(part, fd)? {
        return Ok(());
    }
    let mut low_water = LowWater::new();
    loop {
        let got = discard(fd, u64::MAX)?;
        if got == 0 {
            note_all_read(part);
            return Ok(());
        }
        part.state.receiver().note_core();
        let read = part.state.read_bytes.fetch_add(got, Relaxed) + got;
        low_water.adapt(fd, read, u64::MAX)?;
    }
}

/// Waits for data, reads up to `most` bytes of it, and answers how many; 0 at the end.
pub fn discard(fd: RawFd, most: u64) -> io::Result<u64> {
    let most = usize::try_from(most).unwrap_or(usize::MAX).min(MOST_AT_ONCE);
    loop {
        // MSG_TRUNC on TCP: take the data without copying it anywhere (tcp(7)).
        // SAFETY: with MSG_TRUNC the kernel writes nothing, so that a null buffer of any length is fine.
        let got = unsafe { libc::recv(fd, std::ptr::null_mut(), most, libc::MSG_TRUNC) };
        if let Ok(got) = u64::try_from(got) {
            return Ok(got);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(io::Error::new(error.kind(), format!("receive: {error}")));
        }
    }
}

/// The sender has ended, and all it sent has been read.
pub fn note_all_read(part: &Part) {
    part.state.read_all.store(true, Relaxed);
    part.log.event(part.clock.now(), EventKind::FlowEnd, part.index, &part.flow().to, "all data read");
}

/// Keeps the reader from being woken for every packet, which would make the run ten times slower and change
/// nothing else: it is woken when a sixteenth of the receive buffer is filled, so that the window it offers is
/// never smaller by more than that.
pub struct LowWater {
    set: i32,
    wanted: i32,
    at: u64,
}

impl LowWater {
    const MOST: i32 = 1 << 20;

    /// That of a socket that was never set.
    pub fn new() -> LowWater {
        LowWater { set: 1, wanted: 1, at: 0 }
    }

    /// Sets it for a reader that has read `read` bytes so far, and waits for `left` more.
    pub fn adapt(&mut self, fd: RawFd, read: u64, left: u64) -> io::Result<()> {
        if read >= self.at {
            let buffer = socket::get_bytes(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, 4)?;
            let buffer = i32::from_ne_bytes(buffer.try_into().unwrap_or_default());
            self.wanted = (buffer / 16).clamp(1, Self::MOST);
            // The buffer grows with the rate; look again after it could have been filled twice.
            self.at = read + buffer.max(1) as u64 * 2;
        }
        self.set(fd, self.wanted.min(i32::try_from(left).unwrap_or(i32::MAX)))
    }

    /// Lowers it to the bytes that a reader waits for.
    pub fn lower(&mut self, fd: RawFd, left: u64) -> io::Result<()> {
        self.set(fd, self.set.min(i32::try_from(left).unwrap_or(i32::MAX)))
    }

    fn set(&mut self, fd: RawFd, mark: i32) -> io::Result<()> {
        if mark != self.set {
            socket::set(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, mark, "SO_RCVLOWAT")?;
            self.set = mark;
        }
        Ok(())
    }
}

/// Connects at the flow's start and writes until its end; runs in its own thread, in the sender's namespace.
pub fn send(part: &Part, to: SocketAddr) -> io::Result<()> {
    let flow = part.flow();
    let socket = socket::open(to.ip(), libc::SOCK_STREAM)?;
    set_up(part, &socket)?;
    part.clock.sleep_until(flow.start.nanoseconds());
    socket::connect(&socket, to)?;
    let fd = started(part, socket);
    if !exchanges::send(part, fd)? {
        write(part, fd, || i64::MAX)?;
    }
    // The flow's time may have ended it already.
    if let Err(error) = socket::end_writing(fd)
        && error.kind() != io::ErrorKind::NotConnected
    {
        return Err(error);
    }
    log_end_of_writing(part);
    Ok(())
}

/// A sender has written all.
pub fn log_end_of_writing(part: &Part) {
    let detail = "no more data will be written";
    part.log.event(part.clock.now(), EventKind::FlowWritten, part.index, &part.flow().from, detail);
}

/// Sets what has to be set before a sender's socket is connected.
pub fn set_up(part: &Part, socket: &OwnedFd) -> io::Result<()> {
    let (congestion, window, max_rate) = settings(part);
    fix_buffers(part, socket.as_raw_fd(), window, &part.flow().from)?;
    set_dscp(part, socket.as_raw_fd(), &part.flow().from)?;
    socket::set_congestion(socket.as_raw_fd(), &congestion.name)?;
    match max_rate {
        Some(rate) => {
            socket::set(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate, "pacing rate")
        }
        None => Ok(()),
    }
}

/// A sender's socket is connected.
pub fn started(part: &Part, socket: OwnedFd) -> RawFd {
    let (congestion, ..) = settings(part);
    let now = part.clock.now();
    let fd = part.state.sender().keep(socket);
    part.log.event(
        now,
        EventKind::FlowStart,
        part.index,
        &part.flow().from,
        format!("connected, {}", congestion.name),
    );
    fd
}

/// Writes from the flow's start to its end to an iperf3 server, on a socket that is connected already. It is not shut
/// down: servers take that for the end of the test, or read nothing again and again.
pub fn send_connected(part: &Part, socket: OwnedFd) -> io::Result<()> {
    /// So often a writer that waits for room sees whether the flow's time is over.
    const LOOK: libc::timeval = libc::timeval { tv_sec: 0, tv_usec: 20_000 };
    let flow = part.flow();
    socket::set(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDTIMEO, LOOK, "SO_SNDTIMEO")?;
    part.clock.sleep_until(flow.start.nanoseconds());
    let fd = started(part, socket);
    let written = write(part, fd, || part.stop_ns().min(part.run.duration.nanoseconds()));
    part.state.sent_all.store(true, Relaxed);
    log_end_of_writing(part);
    written
}

/// Ends a flow at its time, while its writer may be waiting for room; runs in its own thread.
pub fn stop(part: &Part) -> io::Result<()> {
    part.clock.sleep_until(part.flow().stop.nanoseconds());
    match part.state.sender().get() {
        Some(fd) => socket::end_writing(fd),
        None => Err(io::Error::other("not connected by the time it was to stop")),
    }
}

/// Writes the flow's bytes, or until the sending side is shut down, or until it is `until_ns` of the run.
fn write(part: &Part, fd: RawFd, until_ns: impl Fn() -> i64) -> io::Result<()> {
    write_bytes(part, fd, &source(part)?, part.flow().bytes.map_or(u64::MAX, Bytes::get), false, until_ns)
        .map(drop)
}

/// The source of a flow's bytes.
pub fn source(part: &Part) -> io::Result<Source> {
    match &part.flow().kind {
        // In virtual time a copy costs nothing.
        FlowKind::Tcp { zero_copy: true, .. } if part.real_time => Source::pages(),
        _ => Ok(Source::piece()),
    }
}

/// Writes so many bytes, which `joins` makes one message ([`Source::send`]); `false` if the sending side was shut down before, or if it was `until_ns` of the run.
pub fn write_bytes(
    part: &Part,
    fd: RawFd,
    source: &Source,
    mut left: u64,
    joins: bool,
    until_ns: impl Fn() -> i64,
) -> io::Result<bool> {
    let is_over = || match until_ns() {
        i64::MAX => false,
        until_ns => part.clock.now() >= until_ns,
    };
    while left > 0 && !is_over() {
        part.state.sender().note_core();
        match source.send(fd, left, joins) {
            Ok(sent) => left -= sent,
            Err(error) => match error.kind() {
                // The latter: no room for as long as the socket was told to wait.
                io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => {}
                io::ErrorKind::BrokenPipe => return Ok(false),
                _ => return Err(io::Error::new(error.kind(), format!("send: {error}"))),
            },
        }
    }
    Ok(left == 0)
}
