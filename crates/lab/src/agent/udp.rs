//! A UDP flow at a constant rate that accounts for every datagram.

use super::Part;
use super::datagrams::{Arrived, Batch, HEADER, Head, Room, TOGETHER};
use super::message::{Message, Writer};
use super::socket;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use wirespeed_record::Datagram;
use wirespeed_scenario::run::FlowKind;
use wirespeed_units::{Bytes, Rate};

/// Whoever is later than this at the end of a flow's time could not keep up with its rate.
const LATE_NS: i64 = 1_000_000;

fn settings(part: &Part) -> (Rate, Bytes, Option<Bytes>) {
    match &part.flow().kind {
        FlowKind::Udp { rate, datagram, rcvbuf } => (*rate, *datagram, *rcvbuf),
        FlowKind::Tcp { .. } => unreachable!("UDP threads are started for UDP flows only"),
    }
}

/// Prepares the receiving end. Runs in the receiver's namespace before the start.
///
/// # Errors
/// What the kernel refused.
pub fn prepare(part: &Part) -> io::Result<OwnedFd> {
    let (_, _, rcvbuf) = settings(part);
    let socket = socket::open(libc::SOCK_DGRAM)?;
    if let Some(size) = rcvbuf {
        let size = size.get().min(i32::MAX as u64 / 2) as i32;
        socket::set(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, size, "receive buffer")?;
    }
    socket::set(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1i32, "SO_TIMESTAMPNS")?;
    socket::bind(&socket, part.local())?;
    Ok(socket)
}

/// Sends datagrams on an exact grid; runs in its own thread, in the sender's namespace.
///
/// # Errors
/// What the kernel refused; a full send buffer only delays.
pub fn send(part: &Part, to: SocketAddrV4) -> io::Result<()> {
    let socket = socket::open(libc::SOCK_DGRAM)?;
    part.clock.sleep_until(part.flow().start.nanoseconds());
    socket::connect(&socket, to)?;
    send_connected(part, socket)
}

/// The same on a socket that is connected already.
///
/// # Errors
/// As [`send`].
pub fn send_connected(part: &Part, socket: OwnedFd) -> io::Result<()> {
    let (rate, datagram, _) = settings(part);
    let flow = part.flow();
    let size = datagram.get() as usize;
    if size < HEADER {
        return Err(io::Error::other(format!("flow {}: a datagram has at least {HEADER} bytes", flow.label)));
    }
    let count = flow.bytes.map_or(u64::MAX, |bytes| bytes.get().div_ceil(datagram.get()));
    let (start, stop) = (flow.start.nanoseconds(), flow.stop.nanoseconds());
    // From the start each time, so that the spacing never drifts.
    let due = |sequence: u64| {
        start + (u128::from(sequence) * datagram.bits() * 1_000_000_000 / u128::from(rate.get())) as i64
    };
    part.clock.sleep_until(start);
    let fd = part.state.sender().keep(socket);
    part.log.event(part.clock.now(), "flow_start", part.index, &flow.from, format!("{rate} of UDP"));
    let mut sent_at = Vec::new();
    let mut batch = Batch::new(size, part.pieces, if part.to_iperf3 { Head::Iperf3 } else { Head::Ours });
    let mut sequence = 0;
    while sequence < count && due(sequence) < stop {
        part.clock.sleep_until(due(sequence));
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
        let until = (sequence + 1..last).find(|next| due(*next) > now || due(*next) >= stop).unwrap_or(last);
        for number in sequence..until {
            batch.push(number, now);
        }
        batch.send(fd)?;
        part.state.sender().note_core();
        let sent = until - sequence;
        // Of single datagrams an iperf3 server tells nothing: a table without arrivals would say that all were lost.
        if !part.to_iperf3 {
            sent_at.extend((0..sent).map(|_| now));
        }
        part.state.datagrams_out.fetch_add(sent, Relaxed);
        part.state.sent_bytes.fetch_add(sent * size as u64, Relaxed);
        sequence = until;
    }
    part.state.sent_all.store(true, Relaxed);
    part.log.event(part.clock.now(), "flow_written", part.index, &flow.from, "last datagram sent");
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

/// Receives to the end of the run; runs in its own thread. Returns only on error.
///
/// # Errors
/// What the kernel refused.
pub fn receive(part: &Part, socket: OwnedFd) -> io::Result<()> {
    let fd = part.state.receiver().keep(socket);
    let (_, datagram, _) = settings(part);
    let mut guard = Guard::of(part);
    let mut room = Room::new();
    let (mut clock, mut last_ns) = (part.clock, 0);
    loop {
        let mut rows = Vec::new();
        let mut bytes = 0;
        for Arrived { header, stamp, from } in room.receive(fd)? {
            let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
            let (sequence, sent_ns) = (word(0), word(8) as i64);
            let Some(duplicate) = guard.admit(from, sequence) else {
                guard.tell(part, from);
                continue;
            };
            if !duplicate {
                bytes += datagram.get();
            }
            let arrived = stamp.map(|(s, ns)| clock.of_arrival(s, ns, last_ns));
            last_ns = arrived.unwrap_or_else(|| clock.now());
            let arrived_ns = Some(last_ns);
            let flow = part.index as u32;
            rows.push(Datagram { flow, sequence, sent_ns, arrived_ns, reordered_by: 0, duplicate });
        }
        part.state.receiver().note_core();
        let got = rows.len() as u64;
        part.state.datagrams_in.fetch_add(got, Relaxed);
        part.state.read_bytes.fetch_add(got * datagram.get(), Relaxed);
        part.state.delivered_bytes.fetch_add(bytes, Relaxed);
        part.state.arrivals.lock().expect("no thread panics holding the arrivals").append(&mut rows);
    }
}

/// What of the datagrams that come is taken for the flow's: a port hears everybody, and what is kept of a datagram takes memory.
struct Guard {
    peer: Option<Ipv4Addr>,
    /// Datagrams that the flow has.
    most: u64,
    seen: Seen,
    /// Datagrams that may still be taken. A network that gives each twice does not use it up.
    left: u64,
    told: bool,
}

impl Guard {
    fn of(part: &Part) -> Guard {
        let (rate, datagram, _) = settings(part);
        let flow = part.flow();
        let lasts_ns = (flow.stop - flow.start).nanoseconds().max(0) as u128;
        let by_time = lasts_ns * u128::from(rate.get()) / (datagram.bits().max(1) * 1_000_000_000) + 1;
        let by_bytes = flow.bytes.map(|bytes| bytes.get().div_ceil(datagram.get().max(1)));
        let most = u64::try_from(by_time).unwrap_or(u64::MAX).min(by_bytes.unwrap_or(u64::MAX));
        let left = most.saturating_mul(4);
        Guard { peer: part.peer, most, seen: Seen::default(), left, told: false }
    }

    /// Whether a datagram is a duplicate; `None` if it is none of the flow.
    fn admit(&mut self, from: Ipv4Addr, sequence: u64) -> Option<bool> {
        let ours = self.peer.is_none_or(|peer| peer == from) && sequence < self.most && self.left > 0;
        ours.then(|| {
            self.left -= 1;
            !self.seen.insert(sequence)
        })
    }

    /// Says, once, that there are others.
    fn tell(&mut self, part: &Part, from: Ipv4Addr) {
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
    fn whoever_sends_what_the_flow_does_not_have_costs_nothing() {
        let [peer, stranger] = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
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
        use std::net::UdpSocket;
        use std::os::fd::AsRawFd;
        let [here, there] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        there.send_to(&[7; HEADER + 1], here.local_addr().unwrap()).unwrap();
        let arrived = Room::new().receive(here.as_raw_fd()).unwrap();
        assert_eq!(arrived.len(), 1);
        assert_eq!((arrived[0].header, arrived[0].from), ([7; HEADER], Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn seen_remembers() {
        let mut seen = Seen::default();
        assert!(seen.insert(1000));
        assert!(!seen.insert(1000));
        assert!(seen.insert(0));
    }
}
