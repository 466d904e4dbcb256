//! A flow: its two ends, its route, and what its hosts count.

use super::path::Way;
use super::udp::Udp;
use crate::due::Due;
use crate::net::{Addressing, Body, Step, Train};
use crate::prefetch::prefetch;
use crate::tcp::PACKET_OVERHEAD;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use std::rc::Rc;
use wirespeed_units::SimTime;

/// The two ends.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "where a flow is, its state is: one look-up less for each packet"
)]
pub enum Endpoint {
    /// A TCP connection.
    Tcp(Tcp),
    /// Datagrams.
    Udp(Box<Udp>),
}

/// The two ends of a TCP connection.
#[derive(Debug)]
pub struct Tcp {
    /// Sends data.
    pub sender: Sender,
    /// Sends acknowledgements.
    pub receiver: Receiver,
}

/// Where a flow's packets go; flows between the same hosts share it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// The sending and the receiving host.
    pub hosts: [usize; 2],
    /// Pipes from the sender to the receiver, and back.
    pub routes: [Vec<u32>; 2],
    /// The first and the last of each, none if there is none: what is asked for with every train. To look for them in the routes
    /// took 6 % of a run with four flows.
    first: [Option<u32>; 2],
    last: [Option<u32>; 2],
    /// The sending host's queue tells when packets leave as it accepts them. It is asked about what an acknowledgement lets go before
    /// the next one is taken.
    pub tells_departures: bool,
}

impl Path {
    /// Between two hosts, along pipes to and fro.
    pub fn new(hosts: [usize; 2], routes: [Vec<u32>; 2], tells_departures: bool) -> Path {
        let first = [0, 1].map(|side| routes[side].first().copied());
        let last = [0, 1].map(|side| routes[side].last().copied());
        Path { hosts, routes, first, last, tells_departures }
    }

    /// The pipe by which data comes to the receiver.
    pub fn last_out(&self) -> Option<u32> {
        self.last[side(Way::Forward)]
    }

    /// The pipe by which acknowledgements come to the sender.
    pub fn last_back(&self) -> Option<u32> {
        self.last[side(Way::Back)]
    }
}

/// A flow. Its counts come before its ends, at whose begin is what samples read besides.
#[derive(Debug)]
#[repr(C)]
pub struct Flow {
    /// Where its packets go.
    pub(super) path: Rc<Path>,
    /// How its packets are addressed, where somebody captures them.
    pub(super) addressing: Option<Box<[Addressing; 2]>>,
    /// When it began.
    pub started: Option<SimTime>,
    /// When the sender's pending timer event is due.
    pub sender_event: Due,
    /// When the next of its sender's events is due that is pending behind that one.
    pub later_sender_event: Due,
    /// When the receiver's is.
    pub receiver_event: Due,
    /// Memory of its datagrams in its own host's queue (truesize); a TCP sender keeps that of its data itself.
    pub in_host: u64,
    /// When its connection was established.
    pub established: Option<SimTime>,
    /// When all its data had arrived.
    pub finished: Option<SimTime>,
    /// What its hosts put out, forward and back.
    pub departed: [Departed; 2],
    /// What arrived, forward and back.
    pub arrived: [Arrived; 2],
    /// Its ends.
    pub endpoint: Endpoint,
}

/// Packets that left a host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Departed {
    /// How many.
    pub packets: u64,
    /// Their frames' bytes.
    pub bytes: u64,
}

/// Packets that arrived at a host.
#[derive(Debug, Clone, Copy, Default)]
pub struct Arrived {
    /// Their frames' bytes.
    pub bytes: u64,
    /// How many, by their ECN field.
    ecn: [u64; 4],
}

impl Arrived {
    /// How many.
    pub fn packets(&self) -> u64 {
        self.ecn.iter().sum()
    }

    /// By the counters of `IpExt`, which tell them by their ECN field.
    pub fn by_ecn(&self) -> impl Iterator<Item = (&'static str, u64)> {
        ["IpExtInNoECTPkts", "IpExtInECT0Pkts", "IpExtInCEPkts", "IpExtInECT1Pkts"].into_iter().zip(self.ecn)
    }
}

/// Memory that a datagram of a train occupies in its host (truesize).
fn memory(train: &Train) -> u64 {
    u64::from(train.frame) + PACKET_OVERHEAD
}

fn side(way: Way) -> usize {
    match way {
        Way::Forward => 0,
        Way::Back => 1,
    }
}

impl Flow {
    /// Where the first byte of a packet stands in the flow's stream.
    pub(super) fn place(&self, packet: u64) -> u64 {
        match &self.endpoint {
            Endpoint::Tcp(tcp) => tcp.sender.sequence(packet),
            Endpoint::Udp(udp) => packet.saturating_mul(udp.payload.into()),
        }
    }

    /// A flow with its route.
    pub(super) fn new(endpoint: Endpoint, path: Rc<Path>, addressing: Option<Box<[Addressing; 2]>>) -> Flow {
        Flow {
            endpoint,
            path,
            addressing,
            started: None,
            sender_event: Due::NEVER,
            later_sender_event: Due::NEVER,
            receiver_event: Due::NEVER,
            in_host: 0,
            established: None,
            finished: None,
            departed: Default::default(),
            arrived: Default::default(),
        }
    }

    /// Where its packets enter the network.
    pub fn first_pipe(&self, way: Way) -> Option<u32> {
        self.path.first[side(way)]
    }

    /// Where they go on after `pipe`; `None`: they have arrived.
    pub fn next_pipe(&self, way: Way, pipe: u32) -> Option<u32> {
        // No pipe is passed twice.
        if self.path.last[side(way)] == Some(pipe) {
            return None;
        }
        let route = &self.path.routes[side(way)];
        let position = route.iter().position(|p| *p == pipe)?;
        route.get(position + 1).copied()
    }

    /// The host that its packets of a way go to.
    pub fn destination(&self, way: Way) -> usize {
        self.path.hosts[1 - side(way)]
    }

    /// The host that they come from.
    pub fn origin(&self, way: Way) -> usize {
        self.path.hosts[side(way)]
    }

    /// Brings near the end that a train of that way arrives at.
    pub fn prefetch(&self, way: Way) {
        match (&self.endpoint, way) {
            (Endpoint::Tcp(tcp), Way::Forward) => prefetch(&tcp.receiver),
            (Endpoint::Tcp(tcp), Way::Back) => prefetch(&tcp.sender),
            (Endpoint::Udp(udp), _) => prefetch(&**udp),
        }
        prefetch(&self.arrived);
    }

    /// Brings near what a train of that way will look at behind this.
    pub fn prepare(&self, way: Way) {
        if let (Endpoint::Tcp(tcp), Way::Back) = (&self.endpoint, way) {
            tcp.sender.prepare();
        }
    }

    /// Brings near what a sample will look at.
    #[inline]
    pub fn prefetch_sample(&self) {
        prefetch(&self.path);
        prefetch(&self.departed);
        prefetch(&self.arrived);
        if let Endpoint::Tcp(tcp) = &self.endpoint {
            tcp.sender.prefetch_sample();
            tcp.receiver.prefetch_sample();
        }
    }

    /// The same of what stands elsewhere.
    pub fn prepare_sample(&self) {
        if let Endpoint::Tcp(tcp) = &self.endpoint {
            tcp.sender.prepare_sample();
        }
    }

    /// How many of a train's acknowledgements the sender takes by `until` before it may have something to send; all of another
    /// train.
    #[inline]
    pub fn taken_at_once(&self, train: &Train, until: SimTime) -> u32 {
        match (&self.endpoint, &train.body) {
            (Endpoint::Tcp(tcp), Body::Ack(ack)) => {
                tcp.sender.acks_before_sending(train.at, train.gap, train.packets, ack, until)
            }
            _ => train.packets,
        }
    }

    /// As many acknowledgements as [`Flow::taken_at_once`] has said reach their sender.
    #[inline]
    pub fn take_at_once(&mut self, train: &Train, out: &mut Vec<Train>) {
        match (&mut self.endpoint, &train.body) {
            (Endpoint::Tcp(tcp), Body::Ack(ack)) => {
                tcp.sender.on_acks_before_sending(train.at, train.gap, train.packets, ack, out);
            }
            _ => self.take(train, out),
        }
    }

    /// A train reaches the socket it is for.
    #[inline(always)]
    pub fn take(&mut self, train: &Train, out: &mut Vec<Train>) {
        match (&mut self.endpoint, &train.body) {
            (Endpoint::Tcp(tcp), Body::Data(data)) => {
                tcp.receiver.on_data(train, data, out);
                if tcp.receiver.is_finished() {
                    self.finished.get_or_insert(train.at);
                }
            }
            (Endpoint::Tcp(tcp), Body::Ack(ack)) => {
                tcp.sender.on_acks(train.at, train.gap, train.packets, ack, out);
                if ack.asks {
                    tcp.sender.note_request();
                }
            }
            (Endpoint::Tcp(tcp), Body::Handshake { step: Step::Syn, stamp, .. }) => {
                tcp.receiver.on_connect(train.at, *stamp, out);
            }
            (Endpoint::Tcp(tcp), Body::Handshake { step: Step::Confirm, .. }) => {
                tcp.receiver.on_confirm(train.at);
            }
            (Endpoint::Tcp(tcp), Body::Handshake { step: Step::Reply, stamp, window, .. }) => {
                self.established.get_or_insert(train.at);
                tcp.sender.on_reply(train.at, *stamp, *window, out);
            }
            (Endpoint::Tcp(tcp), Body::WindowProbe { .. }) => tcp.receiver.on_window_probe(train.at, out),
            (Endpoint::Udp(udp), Body::Datagram { first }) => udp.receive(train, *first),
            _ => unreachable!("a flow's packets are of its own protocol"),
        }
    }

    /// Packets leave a socket.
    pub fn count_departure(&mut self, train: &Train, way: Way) {
        let departed = &mut self.departed[side(way)];
        departed.packets += u64::from(train.packets);
        departed.bytes += train.bytes();
    }

    /// Packets that had left a socket are taken back before they came to their host's queue.
    pub fn discount_departure(&mut self, train: &Train, way: Way) {
        let departed = &mut self.departed[side(way)];
        departed.packets -= u64::from(train.packets);
        departed.bytes -= train.bytes();
    }

    /// Packets arrive at a socket.
    pub fn count_arrival(&mut self, train: &Train, way: Way) {
        let arrived = &mut self.arrived[side(way)];
        arrived.bytes += train.bytes();
        arrived.ecn[train.ecn as usize] += u64::from(train.packets);
    }

    /// Datagrams enter the host's own queue, which refuses some of them.
    pub fn enter_host(&mut self, train: &Train, refused: u64) {
        self.in_host += (u64::from(train.packets) - refused) * memory(train);
    }

    /// Datagrams have left it.
    pub fn leave_host(&mut self, train: &Train) {
        self.in_host = self.in_host.saturating_sub(u64::from(train.packets) * memory(train));
    }

    /// When its sender's timer is due.
    #[inline]
    pub fn sender_deadline(&self) -> Due {
        match &self.endpoint {
            Endpoint::Tcp(tcp) => tcp.sender.deadline(),
            Endpoint::Udp(udp) => udp.next.map_or(Due::NEVER, Due::at),
        }
    }

    /// When its receiver's is.
    #[inline]
    pub fn receiver_deadline(&self) -> Due {
        match &self.endpoint {
            Endpoint::Tcp(tcp) => tcp.receiver.deadline(),
            Endpoint::Udp(_) => Due::NEVER,
        }
    }
}
