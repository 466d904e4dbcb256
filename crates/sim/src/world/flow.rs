//! A flow: its two ends, its route, and what its hosts count.

use super::path::Way;
use crate::due::Due;
use crate::net::{Addressing, Body, Ecn, Step, Train};
use crate::prefetch::prefetch;
use crate::tcp::PACKET_OVERHEAD;
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::Sender;
use std::rc::Rc;
use wirespeed_record::Datagram;
use wirespeed_units::{SimTime, Span};

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
    ecn: [u64; 3],
}

impl Arrived {
    /// How many.
    pub fn packets(&self) -> u64 {
        self.ecn.iter().sum()
    }

    /// By the counters of `IpExt`, which tell them by their ECN field.
    pub fn by_ecn(&self) -> impl Iterator<Item = (&'static str, u64)> {
        ["IpExtInNoECTPkts", "IpExtInECT0Pkts", "IpExtInCEPkts"].into_iter().zip(self.ecn)
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
            Endpoint::Tcp(tcp) => tcp.sender.bytes(packet),
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
            }
            (Endpoint::Tcp(tcp), Body::Handshake { step: Step::Syn, stamp, .. }) => {
                tcp.receiver.on_connect(train.at, *stamp, out);
            }
            (Endpoint::Tcp(tcp), Body::Handshake { step: Step::Confirm, .. }) => {
                tcp.receiver.on_confirm(train.at);
            }
            (Endpoint::Tcp(tcp), Body::Handshake { step: Step::Reply, window, .. }) => {
                self.established.get_or_insert(train.at);
                tcp.sender.on_reply(train.at, *window, out);
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

/// Datagrams at a constant rate.
#[derive(Debug)]
pub struct Udp {
    /// Payload of each.
    pub payload: u32,
    /// Ethernet frame of each.
    pub frame: u32,
    /// From one to the next.
    pub gap: Span,
    /// How many at most.
    pub limit: u64,
    /// Datagrams of one event at most.
    pub batch: u32,
    /// When the application began.
    began: SimTime,
    /// When it stops.
    pub stop_at: SimTime,
    /// When the next is due.
    pub next: Option<SimTime>,
    /// Sent.
    pub sent: u64,
    /// Arrived, the first time.
    pub arrived: u64,
    /// One row each.
    pub rows: Vec<Datagram>,
    highest: u64,
}

impl Udp {
    /// A source that has not started.
    pub fn new(payload: u32, frame: u32, gap: Span, limit: u64, batch: u32, stop_at: SimTime) -> Udp {
        Udp {
            payload,
            frame,
            gap,
            limit,
            batch: batch.max(1),
            began: SimTime::START,
            stop_at,
            next: None,
            sent: 0,
            arrived: 0,
            rows: Vec::new(),
            highest: 0,
        }
    }

    /// Sends the next datagrams and plans those after.
    pub fn send(&mut self, now: SimTime, flow: u32, out: &mut Vec<Train>) {
        self.next = None;
        let left = self.limit - self.sent;
        if now >= self.stop_at || left == 0 {
            return;
        }
        let until_stop = (self.stop_at - now)
            .picoseconds()
            .unsigned_abs()
            .div_ceil(self.gap.picoseconds().max(1).unsigned_abs());
        let packets = u64::from(self.batch).min(left).min(until_stop.max(1)) as u32;
        out.push(self.put_out(now, packets, flow));
        self.next = Some(now + self.gap * i64::from(packets));
    }

    /// Packets leave the application, the first at `at`.
    fn put_out(&mut self, at: SimTime, packets: u32, flow: u32) -> Train {
        let first = self.sent;
        for index in 0..packets {
            self.rows.push(Datagram {
                flow,
                sequence: first + u64::from(index),
                sent_ns: (at + self.gap * i64::from(index)).nanoseconds(),
                arrived_ns: None,
                reordered_by: 0,
                duplicate: false,
            });
        }
        self.sent += u64::from(packets);
        let body = Body::Datagram { first };
        Train { at, gap: self.gap, packets, frame: self.frame, flow, ecn: Ecn::NotCapable, body }
    }

    /// The application begins.
    pub fn begin(&mut self, now: SimTime) {
        self.began = now;
    }

    /// When the next is due by the rate, however late those before it were; `None`: at `now` there is no more to send.
    pub fn due(&self, now: SimTime) -> Option<SimTime> {
        let after = self.gap.picoseconds().saturating_mul(i64::try_from(self.sent).unwrap_or(i64::MAX));
        let due = self.began + Span::ps(after);
        (self.sent < self.limit && now.max(due) < self.stop_at).then_some(due)
    }

    /// The application's thread has sent the next.
    pub fn write(&mut self, at: SimTime, flow: u32) -> Train {
        self.put_out(at, 1, flow)
    }

    /// Sends no more.
    pub fn stop(&mut self, now: SimTime) {
        self.stop_at = self.stop_at.min(now);
        self.next = None;
    }

    /// Datagrams arrive. Routes of a run never change, so that none overtakes another.
    pub fn receive(&mut self, train: &Train, first: u64) {
        for index in 0..u64::from(train.packets) {
            let row = &mut self.rows[(first + index) as usize];
            row.arrived_ns = Some((train.at + train.gap * index as i64).nanoseconds());
            self.highest = self.highest.max(first + index);
        }
        self.arrived += u64::from(train.packets);
    }
}
