//! An iperf3 server at the other end of this host's flows. It is asked for the test and connected to while this host
//! prepares, so that what is wrong there shows before the start; what it received or sent it tells when the run is over.
//! A server that sends begins when it has its last connection, which therefore is made at the flows' start.

use super::message::{Message, Received};
use super::{Part, is_tcp, tcp, udp};
use crate::iperf3_server::{Server, server};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use wirespeed_iperf3::peer::{COOKIE, Results, Session, StreamResult, Streams};
use wirespeed_record::{EventKind, FlowSample};
use wirespeed_scenario::run::Run;

/// How long the server may take for an answer: less than a controller waits for an agent.
const PATIENCE: Duration = Duration::from_secs(5);

/// From the last acknowledgement to the end of the test: what the server's kernel has, its program still has to read.
pub const SETTLE: Duration = Duration::from_millis(300);

/// The test with the server.
pub struct Peer {
    session: Session,
    host: String,
    connections: Vec<Option<Connection>>,
}

/// Sets what has to be set before a receiver's socket is connected to a server.
fn set_up_receiver(part: &Part, socket: &OwnedFd) -> io::Result<()> {
    if is_tcp(part) { tcp::set_up_receiver(part, socket) } else { udp::set_up_receiver(part, socket) }
}

/// Receives what a server sends; runs in its own thread.
///
/// # Errors
/// What the kernel refused.
pub fn receive(part: &Part, connection: Connection) -> io::Result<()> {
    // A server begins when it has the last connection.
    part.clock.sleep_until(part.flow().start.nanoseconds());
    let socket = match connection {
        Connection::Made(socket) => socket,
        Connection::Due(streams) => streams.connect(|socket| set_up_receiver(part, socket))?,
    };
    part.log.event(part.clock.now(), EventKind::FlowStart, part.index, &part.flow().to, "connected");
    if is_tcp(part) { tcp::receive_connected(part, socket) } else { udp::receive(part, socket) }
}

/// The connection of a flow.
pub enum Connection {
    /// It is there.
    Made(OwnedFd),
    /// It is to be made when the flow begins.
    Due(Streams),
}

impl Connection {
    /// The socket, if it is there.
    pub fn made(self) -> Option<OwnedFd> {
        match self {
            Connection::Made(socket) => Some(socket),
            Connection::Due(_) => None,
        }
    }
}

impl Peer {
    /// Begins the test that the flows of `host` need, if an iperf3 server is their other end. `addresses` are those of the run's
    /// hosts; `part` makes a flow's own.
    ///
    /// # Errors
    /// If nobody is there, it is busy, or it refuses.
    pub fn begin(
        run: &Run,
        host: &str,
        addresses: &[IpAddr],
        part: impl Fn(usize) -> Part,
    ) -> io::Result<Option<Peer>> {
        let Some(Server { host: name, agent, port, test, .. }) = server(run).map_err(io::Error::other)?
        else {
            return Ok(None);
        };
        if agent != host {
            return Ok(None);
        }
        let address =
            |name: &str| addresses[run.hosts.iter().position(|host| host.name == name).unwrap_or(0)];
        let to = SocketAddr::new(address(name), port);
        let mut session =
            Session::open(to, Some(address(agent)), test, PATIENCE).map_err(io::Error::other)?;
        let prepare = |index: usize, socket: &OwnedFd| {
            let part = part(index);
            match () {
                () if part.from_iperf3 => set_up_receiver(&part, socket),
                () if is_tcp(&part) => tcp::set_up(&part, socket),
                () => Ok(()),
            }
        };
        let connections = if session.test().reverse {
            let (streams, last) = (session.streams(), session.test().streams as usize - 1);
            let made = (0..last).map(|index| streams.connect(|socket| prepare(index, socket)));
            let mut made: Vec<Connection> =
                made.map(|socket| socket.map(Connection::Made)).collect::<io::Result<_>>()?;
            session.watch().map_err(io::Error::other)?;
            made.push(Connection::Due(streams));
            made
        } else {
            let sockets = session.connect(prepare).map_err(io::Error::other)?;
            session.start().map_err(io::Error::other)?;
            sockets.into_iter().map(Connection::Made).collect()
        };
        let connections = connections.into_iter().map(Some).collect();
        Ok(Some(Peer { session, host: name.into(), connections }))
    }

    /// The connection of a flow, once.
    pub fn connection(&mut self, flow: usize) -> Option<Connection> {
        self.connections.get_mut(flow)?.take()
    }

    /// Whether the server sends, and goes on until it is told to end.
    pub fn sends(&self) -> bool {
        self.session.test().reverse
    }

    /// Whether the server is still there, without waiting.
    ///
    /// # Errors
    /// If it is not, or gave up.
    pub fn watch(&mut self) -> io::Result<()> {
        self.session.watch().map_err(io::Error::other)
    }

    /// Ends the test. `rows` are the last of the flows, by which it tells the server what was sent, or received.
    ///
    /// # Errors
    /// If the server is gone, or its results cannot be read.
    pub fn finish(self, rows: &[FlowSample], parts: &[Arc<Part>], lasted: Duration) -> io::Result<Message> {
        let datagrams = self.session.test().protocol == wirespeed_iperf3::Protocol::Udp;
        let moved = |row: &FlowSample| match () {
            () if self.session.test().reverse => row.delivered_bytes,
            () if datagrams => row.sent_bytes,
            () => acknowledged(row),
        };
        let known = |flow: u32| {
            let part = parts.iter().find(|part| part.index as u32 == flow);
            part.map_or(0, |part| part.state.datagrams_known.load(Relaxed))
        };
        let told = |row: &FlowSample| {
            let (packets, lost) = match () {
                () if !datagrams => (0, 0),
                () if !self.session.test().reverse => (row.data_packets_out.unwrap_or(0), 0),
                () => (known(row.flow), known(row.flow) as i64 - row.data_packets_in.unwrap_or(0) as i64),
            };
            StreamResult {
                bytes: moved(row).unwrap_or(0),
                retransmits: row.retrans_packets,
                packets,
                lost,
                lasted_s: lasted.as_secs_f64(),
                ..StreamResult::default()
            }
        };
        let of = |index: u32| rows.iter().find(|row| row.flow == index).map(told).unwrap_or_default();
        let streams = (0..self.session.test().streams).map(of).collect();
        let told = self
            .session
            .finish(|| Results { streams, ..Results::default() })
            .map_err(|error| io::Error::other(format!("{error}; the receiver's counts are missing")))?;
        let ns = |seconds: f64| (seconds * 1e9) as i64;
        let received = told.streams.iter().enumerate().map(|(index, stream)| Received {
            flow: index as u32,
            bytes: stream.bytes,
            again: stream.retransmits,
            packets: stream.packets,
            missing: stream.lost,
            jitter_ns: ns(stream.jitter_s),
            lasted_ns: ns(stream.lasted_s),
        });
        Ok(Message::Received {
            host: self.host,
            flows: received.collect(),
            cpu_percent: told.cpu_percent[0],
            congestion: told.congestion,
        })
    }
}

/// Payload of a flow to an iperf3 server that its kernel has acknowledged in order, in bytes.
pub fn acknowledged(row: &FlowSample) -> Option<u64> {
    /// Linux counts the acknowledgement of the SYN as a byte.
    const SYN: u64 = 1;
    // What iperf3 needs to know the connection is no payload.
    row.acked_bytes.map(|bytes| bytes.saturating_sub(SYN + COOKIE as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_a_syn_nor_a_cookie_is_payload() {
        let of = |bytes| acknowledged(&FlowSample { acked_bytes: bytes, ..FlowSample::empty(0, 0) });
        assert_eq!([of(None), of(Some(38)), of(Some(1038))], [None, Some(0), Some(1000)]);
    }
}
