//! A UDP flow at a constant rate that accounts for every datagram.

use super::datagrams::{Arrived, Batch, HEADER, Head, Room, TOGETHER};
use super::message::{Message, Writer};
use super::port;
use super::socket;
use super::timing::Timing;
use super::{Part, set_dscp};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use wirespeed_iperf3::peer::Header;
use wirespeed_record::{Datagram, EventKind};
use wirespeed_scenario::run::{Flow, FlowKind};
use wirespeed_units::{Bytes, Rate};

/// Whoever is later than this at the end of a flow's time could not keep up with its rate.
const LATE_NS: i64 = 1_000_000;

/// Prepares the receiving end. Runs in the receiver's namespace before the start.
///
/// # Errors
/// What the kernel refused.
pub fn prepare(part: &Part) -> io::Result<OwnedFd> {
    let socket = socket::open(part.bind, libc::SOCK_DGRAM)?;
    set_up_receiver(part, &socket)?;
    port::bind(&socket, part.local(), true)?;
    Ok(socket)
}

/// Sets what a receiver's socket has to have before the first datagram comes.
///
/// # Errors
/// What the kernel refused.
pub fn set_up_receiver(part: &Part, socket: &OwnedFd) -> io::Result<()> {
    if let FlowKind::Udp { rcvbuf: Some(size), .. } = &part.flow().kind {
        let size = size.get().min(i32::MAX as u64 / 2) as i32;
        socket::set(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, size, "receive buffer")?;
    }
    socket::set(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1i32, "SO_TIMESTAMPNS")
}

/// When datagrams of a flow are due.
struct Grid {
    start_ns: i64,
    rate: Rate,
    datagram: Bytes,
}

impl Grid {
    fn of(flow: &Flow) -> Option<Grid> {
        match &flow.kind {
            FlowKind::Udp { rate, datagram, .. } => {
                Some(Grid { start_ns: flow.start.nanoseconds(), rate: *rate, datagram: *datagram })
            }
            FlowKind::Tcp { .. } => None,
        }
    }

    /// When a datagram is due. From the start each time, so that the spacing never drifts.
    fn due_ns(&self, sequence: u64) -> i64 {
        let bits = u128::from(sequence) * self.datagram.bits();
        self.start_ns + (bits * 1_000_000_000 / u128::from(self.rate.get())) as i64
    }

    /// How far one is from the next.
    fn gap_ns(&self) -> i64 {
        self.due_ns(1) - self.start_ns
    }

    /// How many are due by a time.
    fn due_by(&self, t_ns: i64) -> u64 {
        let Ok(passed_ns) = u128::try_from(t_ns - self.start_ns) else { return 0 };
        let nanobits = (passed_ns + 1) * u128::from(self.rate.get());
        nanobits.div_ceil(self.datagram.bits() * 1_000_000_000) as u64
    }
}

/// The most datagrams that a flow can be believed to have: twice what its rate makes of its time, for senders that are not
/// exact. What a packet of a stranger or a server says besides must not ask for memory.
pub fn most(flow: &Flow) -> u64 {
    Grid::of(flow).map_or(0, |grid| 1000 + 2 * grid.due_by(flow.stop.nanoseconds()))
}

fn grid(part: &Part) -> Grid {
    Grid::of(part.flow()).expect("UDP threads are started for UDP flows only")
}

/// How many datagrams a flow has sent by now: what the kernel was handed is sent when it is due.
pub fn sent(part: &Part) -> u64 {
    part.state.datagrams_out.load(Relaxed).min(grid(part).due_by(part.clock.now()))
}

/// Payload of so many datagrams of a flow, in bytes.
pub fn payload_of(part: &Part, datagrams: u64) -> u64 {
    datagrams * grid(part).datagram.get()
}

/// Sends datagrams on an exact grid; runs in its own thread, in the sender's namespace.
///
/// # Errors
/// What the kernel refused; a full send buffer only delays.
pub fn send(part: &Part, to: SocketAddr) -> io::Result<()> {
    let socket = socket::open(to.ip(), libc::SOCK_DGRAM)?;
    let timing = Timing::choose(part, &socket, to.ip(), grid(part).gap_ns());
    part.clock.sleep_until(part.flow().start.nanoseconds());
    socket::connect(&socket, to)?;
    send_timed(part, socket, timing)
}

/// The same on a socket that is connected already.
///
/// # Errors
/// As [`send`].
pub fn send_connected(part: &Part, socket: OwnedFd) -> io::Result<()> {
    let socket = UdpSocket::from(socket);
    let peer = socket.peer_addr()?.ip();
    let socket = OwnedFd::from(socket);
    let timing = Timing::choose(part, &socket, peer, grid(part).gap_ns());
    send_timed(part, socket, timing)
}

fn send_timed(part: &Part, socket: OwnedFd, timing: Timing) -> io::Result<()> {
    let (flow, grid) = (part.flow(), grid(part));
    let Grid { rate, datagram, .. } = grid;
    let size = datagram.get() as usize;
    set_dscp(part, socket.as_raw_fd(), &flow.from)?;
    if size < HEADER {
        return Err(io::Error::other(format!("flow {}: a datagram has at least {HEADER} bytes", flow.label)));
    }
    let count = flow.bytes.map_or(u64::MAX, |bytes| bytes.get().div_ceil(datagram.get()));
    part.clock.sleep_until(grid.start_ns);
    let fd = part.state.sender().keep(socket);
    let by = if timing == Timing::Own { "" } else { ", timed by the kernel" };
    part.log.event(
        part.clock.now(),
        EventKind::FlowStart,
        part.index,
        &flow.from,
        format!("{rate} of UDP{by}"),
    );
    let mut sent_at = Vec::new();
    let mut batch = Batch::new(size, part.pieces, if part.to_iperf3 { Head::Iperf3 } else { Head::Ours });
    let (mut sequence, mut leaves_ns) = (0, grid.start_ns);
    while sequence < count && grid.due_ns(sequence) < part.stop_ns() {
        part.clock.sleep_until(grid.due_ns(sequence) - timing.wakes_before_ns());
        let stop = part.stop_ns();
        let now = part.clock.now();
        if now > stop + LATE_NS {
            part.log.warn(format!(
                "flow {}: {} could not send {rate} of datagrams of {size} bytes; it was behind when its time was over",
                flow.label, flow.from
            ));
            break;
        }
        // In virtual time that is one. In real time a sleep is late by more than fast datagrams are apart.
        let last = count.min(sequence + TOGETHER as u64);
        let beyond = |due_ns: i64| due_ns > now + timing.ahead_ns() || due_ns >= stop;
        let until = (sequence + 1..last).find(|next| beyond(grid.due_ns(*next))).unwrap_or(last);
        for number in sequence..until {
            let leaves = timing.leaves_ns(grid.due_ns(number), now);
            leaves_ns = batch.push(number, leaves, leaves - now);
            // Of single datagrams an iperf3 server tells nothing: a table without arrivals would say that all were lost.
            if !part.to_iperf3 {
                sent_at.push(leaves_ns);
            }
        }
        batch.send(fd, timing.to_kernel(&part.clock))?;
        part.state.sender().note_core();
        part.state.datagrams_out.fetch_add(until - sequence, Relaxed);
        sequence = until;
    }
    // The kernel may have some of them still.
    part.clock.sleep_until(leaves_ns);
    part.state.sent_all.store(true, Relaxed);
    part.log.event(part.clock.now(), EventKind::FlowWritten, part.index, &flow.from, "last datagram sent");
    let mut datagrams = part.state.datagrams.lock().expect("no thread panics holding the datagrams");
    datagrams.extend(sent_at.iter().enumerate().map(|(sequence, sent_ns)| Datagram {
        flow: part.index as u32,
        sequence: sequence as u64,
        sent_ns: *sent_ns,
        arrived_ns: None,
        reordered_by: 0,
        duplicate: false,
    }));
    Ok(())
}

/// Number from 0 and time of sending by the sender's clock, from the front of a datagram.
fn read_head(part: &Part, head: &[u8; HEADER]) -> Option<(u64, i64)> {
    if part.from_iperf3 {
        let Header { sent, number } = Header::of_either_width(head)?;
        return Some((number - 1, part.clock.of_realtime(sent.as_secs() as i64, sent.subsec_nanos().into())));
    }
    let word = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    Some((word(0), word(8) as i64))
}

/// Receives to the end of the run; runs in its own thread. Returns only on error.
///
/// # Errors
/// What the kernel refused.
pub fn receive(part: &Part, socket: OwnedFd) -> io::Result<()> {
    let fd = part.state.receiver().keep(socket);
    let (flow, size) = (part.index as u32, grid(part).datagram.get());
    let mut guard = Guard::of(part);
    let mut room = Room::new();
    let (mut clock, mut last_ns) = (part.clock, 0);
    loop {
        let mut rows = Vec::new();
        let mut bytes = 0;
        for Arrived { header, stamp, from } in room.receive(fd)? {
            let told = read_head(part, &header);
            let Some((sequence, sent_ns, duplicate)) =
                told.and_then(|(sequence, sent_ns)| Some((sequence, sent_ns, guard.admit(from, sequence)?)))
            else {
                guard.tell(part, from);
                continue;
            };
            let arrived = stamp.map(|(s, ns)| clock.of_arrival(s, ns, last_ns));
            if !duplicate {
                bytes += size;
            }
            last_ns = arrived.unwrap_or_else(|| clock.now());
            let arrived_ns = Some(last_ns);
            part.state.datagrams_known.fetch_max(sequence + 1, Relaxed);
            rows.push(Datagram { flow, sequence, sent_ns, arrived_ns, reordered_by: 0, duplicate });
        }
        part.state.receiver().note_core();
        let got = rows.len() as u64;
        part.state.datagrams_in.fetch_add(got, Relaxed);
        part.state.read_bytes.fetch_add(got * size, Relaxed);
        part.state.delivered_bytes.fetch_add(bytes, Relaxed);
        part.state.arrivals.lock().expect("no thread panics holding the arrivals").append(&mut rows);
    }
}

/// What of the datagrams that come is taken for the flow's: a port hears everybody, and what is kept of a datagram takes memory.
struct Guard {
    peer: Option<IpAddr>,
    /// Datagrams that the flow can have.
    most: u64,
    seen: Seen,
    /// Datagrams that may still be taken. A network that gives each twice does not use it up.
    left: u64,
    told: bool,
}

impl Guard {
    fn of(part: &Part) -> Guard {
        let most = most(part.flow());
        let left = most.saturating_mul(4);
        Guard { peer: part.peer, most, seen: Seen::default(), left, told: false }
    }

    /// Whether a datagram is a duplicate; `None` if it is none of the flow.
    fn admit(&mut self, from: IpAddr, sequence: u64) -> Option<bool> {
        let ours = self.peer.is_none_or(|peer| peer == from) && sequence < self.most && self.left > 0;
        ours.then(|| {
            self.left -= 1;
            !self.seen.insert(sequence)
        })
    }

    /// Says, once, that there are others.
    fn tell(&mut self, part: &Part, from: IpAddr) {
        if std::mem::replace(&mut self.told, true) {
            return;
        }
        let flow = part.flow();
        let expected = self.peer.map_or("its own".into(), |peer| format!("those of {} as {peer}", flow.from));
        part.log.warn(format!(
            "flow {}: {} does not count datagrams from {from}, it expects {expected}; is there a translation of addresses \
             (NAT) between them, or somebody else who sends to port {}?",
            flow.label,
            flow.to,
            part.port()
        ));
    }
}

/// Which sequence numbers have arrived.
#[derive(Default)]
struct Seen {
    words: Vec<u64>,
}

impl Seen {
    /// `false` if it was there already.
    fn insert(&mut self, sequence: u64) -> bool {
        let (word, bit) = ((sequence / 64) as usize, sequence % 64);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & (1 << bit) == 0;
        self.words[word] |= 1 << bit;
        new
    }
}

/// Says rows of the datagram table.
///
/// # Errors
/// As the underlying writer.
pub fn write(rows: &[Datagram], into: &mut Writer<impl io::Write>) -> io::Result<()> {
    /// Rows a message: bounds its size.
    const ROWS: usize = 10_000;
    rows.chunks(ROWS).try_for_each(|rows| into.write(&Message::Datagrams(rows.to_vec())))
}

/// Joins what was sent with what arrived: every sent datagram has a row, every duplicate a further one.
/// Datagrams sent, of which none arrived, come from `sent`; `arrivals` are in order of arrival.
pub fn account(mut sent: Vec<Datagram>, arrivals: &[Datagram]) -> Vec<Datagram> {
    let mut tree = Fenwick::new(sent.len());
    let mut duplicates = Vec::new();
    for (before, arrival) in arrivals.iter().enumerate() {
        let Some(row) = sent.get_mut(arrival.sequence as usize) else { continue };
        // Of all that arrived before, those with a higher number.
        let higher = before as u64 - tree.up_to(arrival.sequence as usize);
        tree.add(arrival.sequence as usize);
        if arrival.duplicate {
            duplicates.push(Datagram { reordered_by: higher as u32, ..arrival.clone() });
        } else {
            row.arrived_ns = arrival.arrived_ns;
            row.reordered_by = higher as u32;
        }
    }
    sent.extend(duplicates);
    sent.sort_by_key(|row| (row.sequence, row.duplicate, row.arrived_ns));
    sent
}

/// Counts in a prefix (Fenwick 1994).
struct Fenwick(Vec<u64>);

impl Fenwick {
    fn new(length: usize) -> Self {
        Fenwick(vec![0; length + 1])
    }

    fn add(&mut self, index: usize) {
        let mut at = index + 1;
        while at < self.0.len() {
            self.0[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// How many have been added at or below `index`.
    fn up_to(&self, index: usize) -> u64 {
        let mut at = index + 1;
        let mut sum = 0;
        while at > 0 {
            sum += self.0[at];
            at -= at & at.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(sequence: u64, arrived_ns: Option<i64>, duplicate: bool) -> Datagram {
        Datagram { flow: 0, sequence, sent_ns: sequence as i64, arrived_ns, reordered_by: 0, duplicate }
    }

    #[test]
    fn loss_reordering_and_duplicates_are_exact() {
        let sent = (0..5).map(|n| row(n, None, false)).collect();
        // 0, then 3 and 4 overtake 1, 4 comes twice, 2 never.
        let arrivals = [
            row(0, Some(10), false),
            row(3, Some(11), false),
            row(4, Some(12), false),
            row(1, Some(13), false),
            row(4, Some(14), true),
        ];
        let accounted: Vec<_> = account(sent, &arrivals)
            .into_iter()
            .map(|r| (r.sequence, r.arrived_ns, r.reordered_by, r.duplicate))
            .collect();
        assert_eq!(
            accounted,
            [
                (0, Some(10), 0, false),
                (1, Some(13), 2, false),
                (2, None, 0, false),
                (3, Some(11), 0, false),
                (4, Some(12), 0, false),
                (4, Some(14), 0, true),
            ]
        );
    }

    #[test]
    fn datagrams_of_others_cost_nothing() {
        let [peer, stranger] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let mut guard = Guard { peer: Some(peer), most: 3, seen: Seen::default(), left: 4, told: false };
        assert_eq!(guard.admit(peer, 2), Some(false));
        assert_eq!(guard.admit(peer, 2), Some(true));
        // Memory for a number as large as this there is none.
        assert_eq!(guard.admit(peer, u64::MAX), None);
        assert_eq!(guard.admit(peer, 3), None);
        assert_eq!(guard.admit(stranger, 0), None);
        assert_eq!(guard.seen.words.len(), 1);
        assert_eq!(
            [guard.admit(peer, 0), guard.admit(peer, 1), guard.admit(peer, 1)],
            [Some(false), Some(false), None]
        );
    }

    #[test]
    fn a_datagram_comes_with_its_sender() {
        use std::net::Ipv6Addr;
        let sent = |to: &UdpSocket, from: &UdpSocket| {
            from.send_to(&[7; HEADER + 1], to.local_addr().unwrap()).unwrap();
            let arrived = Room::new().receive(to.as_raw_fd()).unwrap();
            assert_eq!(arrived.len(), 1);
            (arrived[0].header, arrived[0].from)
        };
        for local in [IpAddr::from([127, 0, 0, 1]), Ipv6Addr::LOCALHOST.into()] {
            // A machine may do without IPv6.
            let Ok(here) = UdpSocket::bind((local, 0)) else { continue };
            let there = UdpSocket::bind((local, 0)).unwrap();
            assert_eq!(sent(&here, &there), ([7; HEADER], local));
        }
    }

    #[test]
    fn as_many_are_due_as_were_due_one_by_one() {
        let grid = Grid { start_ns: 1000, rate: Rate::mbit(7), datagram: Bytes::new(1000) };
        assert_eq!((grid.due_by(0), grid.due_by(999), grid.due_by(1000)), (0, 0, 1));
        for sequence in 1..10_000 {
            let due_ns = grid.due_ns(sequence);
            assert_eq!((grid.due_by(due_ns - 1), grid.due_by(due_ns)), (sequence, sequence + 1));
        }
    }

    #[test]
    fn seen_remembers() {
        let mut seen = Seen::default();
        assert!(seen.insert(1000));
        assert!(!seen.insert(1000));
        assert!(seen.insert(0));
    }
}
