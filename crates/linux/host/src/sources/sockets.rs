//! Memory, drops and TCP's own view of each socket (sock_diag, NETLINK_INET_DIAG).

use super::row_of;
use crate::collector::Collector;
use crate::netlink::{Request, attributes, messages, text, u32_at};
use crate::reading::{CounterMeaning, Place, Row, Socket, Unit, Way, row};
use crate::root::Root;
use crate::source::Source;
use crate::tcp_info::{self, Field};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use wirespeed_record::Stage;

/// The source `sockets`.
pub struct Sockets;

const NAME: &str = "sockets";
const REMEDY: &str =
    "a kernel with CONFIG_INET_DIAG, CONFIG_INET_TCP_DIAG and CONFIG_INET_UDP_DIAG (`modprobe udp_diag`)";

const fn memory(stage: Stage) -> CounterMeaning {
    CounterMeaning::gauge(Unit::Bytes).at(stage)
}

/// In the order of SK_MEMINFO_* (linux/sock_diag.h).
const MEMORY: &[&str] = &[
    "rmem_alloc",
    "rcvbuf",
    "wmem_alloc",
    "sndbuf",
    "fwd_alloc",
    "wmem_queued",
    "optmem",
    "backlog",
    "drops",
];

const MICROSECOND: u64 = 1000;

/// Fields of TCP_INFO, and what one is of the unit of its row.
const TCP_INFO: &[(Field, u64)] = &[
    (tcp_info::TOTAL_RETRANS, 1),
    (tcp_info::SEGS_OUT, 1),
    (tcp_info::SEGS_IN, 1),
    (tcp_info::DELIVERED_CE, 1),
    (tcp_info::DSACK_DUPS, 1),
    (tcp_info::REORD_SEEN, 1),
    (tcp_info::RCV_OOOPACK, 1),
    (tcp_info::RTT, MICROSECOND),
    (tcp_info::SND_CWND, 1),
    (tcp_info::BYTES_ACKED, 1),
    (tcp_info::BYTES_RECEIVED, 1),
    (tcp_info::BUSY_TIME, MICROSECOND),
    (tcp_info::RWND_LIMITED, MICROSECOND),
    (tcp_info::SNDBUF_LIMITED, MICROSECOND),
];

/// Datagrams are dropped for want of room, but for those with a wrong checksum.
const UDP_DROPS: Row =
    row("drops", CounterMeaning::loss(Stage::RcvBuf, Way::Rx).unit(Unit::Buffers).software())
        .duplicate_of(&["protocols/UdpRcvbufErrors"])
        .about("of UDP: the receive buffer was full, or the checksum wrong");

const ROWS: &[Row] = &[
    row("rmem_alloc", memory(Stage::RcvBuf)).about("memory of what was received and not read"),
    row("rcvbuf", memory(Stage::RcvBuf)).about("its limit"),
    row("wmem_alloc", memory(Stage::SndBuf)).about("memory of what is on its way to the device"),
    row("sndbuf", memory(Stage::SndBuf)).about("limit of wmem_queued"),
    row("fwd_alloc", CounterMeaning::gauge(Unit::Bytes)).about("memory reserved and not used"),
    row("wmem_queued", memory(Stage::SndBuf)).about("memory of what was written and not acknowledged"),
    row("optmem", CounterMeaning::gauge(Unit::Bytes)),
    row("backlog", memory(Stage::TcpBacklog)).about("memory of what waits for the socket's lock"),
    row("drops", CounterMeaning::lost(Way::Rx).unit(Unit::Buffers).software())
        .about("of TCP: dropped at this socket, whatever the reason; the host's counters tell the reasons"),
    UDP_DROPS,
    row("tcpi_total_retrans", CounterMeaning::retransmission().software())
        .duplicate_of(&["protocols/TcpRetransSegs"])
        .about("packets sent again"),
    row("tcpi_segs_out", CounterMeaning::packets(Way::Tx).software()),
    row("tcpi_segs_in", CounterMeaning::packets(Way::Rx).software()),
    row("tcpi_delivered_ce", CounterMeaning::hint().at(Stage::Network).tx().unit(Unit::Packets).software())
        .about("packets whose acknowledgement told of congestion experienced, as TcpExtTCPDeliveredCE"),
    row("tcpi_dsack_dups", CounterMeaning::hint().at(Stage::Network).tx().unit(Unit::Packets).software())
        .about("packets that arrived twice: sent again for nothing"),
    row("tcpi_reord_seen", CounterMeaning::hint().at(Stage::Network).tx().software())
        .about("times reordering was seen"),
    row("tcpi_rcv_ooopack", CounterMeaning::hint().at(Stage::TcpOfo).rx().unit(Unit::Packets).software())
        .about("packets that arrived out of order"),
    row("tcpi_rtt", CounterMeaning::gauge(Unit::Nanoseconds)).about("smoothed round-trip time"),
    row("tcpi_snd_cwnd", CounterMeaning::gauge(Unit::Packets)).about("congestion window"),
    row("tcpi_bytes_acked", CounterMeaning::bytes(Way::Tx).software()),
    row("tcpi_bytes_received", CounterMeaning::bytes(Way::Rx).software()),
    row("tcpi_busy_time", CounterMeaning::work().tx().unit(Unit::Nanoseconds).software())
        .about("time with something to send"),
    row("tcpi_rwnd_limited", CounterMeaning::hint().at(Stage::App).tx().unit(Unit::Nanoseconds).software())
        .about("time in which the receiver's window held it back"),
    row(
        "tcpi_sndbuf_limited",
        CounterMeaning::hint().at(Stage::SndBuf).tx().unit(Unit::Nanoseconds).software(),
    )
    .about("time in which the send buffer held it back"),
];

impl Source for Sockets {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "memory, drops and TCP's own view of each socket of a network namespace, by sock_diag (INET_DIAG_SKMEMINFO, INFO, CONG)"
    }

    fn needs(&self) -> &'static str {
        "a kernel with CONFIG_INET_DIAG; sockets of other users are seen too"
    }

    fn documented(&self) -> &'static str {
        "include/uapi/linux/inet_diag.h, sock_diag.h, tcp.h"
    }

    fn rows(&self) -> &'static [Row] {
        ROWS
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        for question in QUESTIONS {
            match root.ask(&question.request()) {
                Ok(answer) => {
                    parse(&answer, question.protocol_name).iter().for_each(|found| found.report(into))
                }
                Err(error) => into.unavailable(NAME, question.name, &error, REMEDY),
            }
        }
    }
}

/// Sockets of one protocol and address family.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    name: &'static str,
    family: u8,
    protocol: u8,
    protocol_name: &'static str,
}

const fn question(name: &'static str, family: i32, protocol: i32, protocol_name: &'static str) -> Question {
    Question { name, family: family as u8, protocol: protocol as u8, protocol_name }
}

/// All of them.
pub const QUESTIONS: &[Question] = &[
    question("sockets-tcp4", libc::AF_INET, libc::IPPROTO_TCP, "tcp"),
    question("sockets-tcp6", libc::AF_INET6, libc::IPPROTO_TCP, "tcp"),
    question("sockets-udp4", libc::AF_INET, libc::IPPROTO_UDP, "udp"),
    question("sockets-udp6", libc::AF_INET6, libc::IPPROTO_UDP, "udp"),
];

const INFO: u16 = 2; // INET_DIAG_INFO
const CONGESTION: u16 = 4; // INET_DIAG_CONG
const MEMORY_INFO: u16 = 7; // INET_DIAG_SKMEMINFO

impl Question {
    /// `struct inet_diag_req_v2`: every state, every address.
    fn request(&self) -> Request {
        const SOCK_DIAG_BY_FAMILY: u16 = 20;
        let wanted = [INFO, CONGESTION, MEMORY_INFO].iter().fold(0u8, |set, bit| set | 1 << (bit - 1));
        let mut payload = vec![self.family, self.protocol, wanted, 0];
        payload.extend(u32::MAX.to_ne_bytes());
        payload.extend([0; 48]);
        Request::dump(self.name, libc::NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, payload)
    }
}

/// Every TCP and UDP socket of the namespace.
///
/// # Errors
/// What the kernel answered, for the first protocol that it refuses.
pub fn list(root: &mut Root) -> io::Result<Vec<Found>> {
    let mut found = Vec::new();
    for question in QUESTIONS {
        found.extend(parse(&root.ask(&question.request())?, question.protocol_name));
    }
    Ok(found)
}

/// A socket in the kernel's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which one it is.
    pub socket: Arc<Socket>,
    /// Its state (TCP_ESTABLISHED is 1, TCP_LISTEN 10; net/tcp_states.h).
    pub state: u8,
    /// Bytes received and not read; of a listening socket, connections that wait to be accepted.
    pub receive_queue: u32,
    /// Bytes written and not acknowledged; of a listening socket, the most that may wait.
    pub send_queue: u32,
    /// User it belongs to.
    pub user: u32,
    /// SK_MEMINFO_*; empty if the kernel did not say.
    pub memory: Vec<u32>,
    /// `struct tcp_info`, as long as the kernel has it; empty for UDP.
    pub info: Vec<u8>,
    /// Name of the congestion control; `None` for UDP.
    pub congestion: Option<String>,
}

impl Found {
    fn report(&self, into: &mut Collector) {
        let place = Place::Socket(Arc::clone(&self.socket));
        for (name, value) in MEMORY.iter().zip(&self.memory) {
            let row = if *name == "drops" && self.socket.protocol == "udp" {
                Some(const { &UDP_DROPS })
            } else {
                row_of(ROWS, name)
            };
            into.push_row32(NAME, place.clone(), name, *value, row);
        }
        for (field, scale) in TCP_INFO {
            let Some(value) = field.of(&self.info) else { continue };
            let row = row_of(ROWS, field.name);
            match u32::try_from(value) {
                Ok(value) if field.is_32_bits() && *scale == 1 => {
                    into.push_row32(NAME, place.clone(), field.name, value, row);
                }
                _ => into.push_row(NAME, place.clone(), field.name, value.saturating_mul(*scale), row),
            }
        }
    }
}

/// The sockets in an answer (`struct inet_diag_msg`, linux/inet_diag.h).
pub fn parse(answer: &[u8], protocol: &'static str) -> Vec<Found> {
    messages(answer).filter_map(|message| socket(message.payload, protocol)).collect()
}

fn socket(message: &[u8], protocol: &'static str) -> Option<Found> {
    const FIXED: usize = 72;
    let family = i32::from(*message.first()?);
    let inside = message.get(FIXED..)?;
    let port = |at: usize| Some(u16::from_be_bytes(*message.get(at..)?.first_chunk()?));
    let address = |at: usize| -> Option<IpAddr> {
        let bytes: &[u8; 16] = message.get(at..)?.first_chunk()?;
        Some(if family == libc::AF_INET {
            Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()
        } else {
            Ipv6Addr::from(*bytes).into()
        })
    };
    let socket = Socket {
        protocol: protocol.into(),
        local: SocketAddr::new(address(8)?, port(4)?),
        remote: SocketAddr::new(address(24)?, port(6)?),
        cookie: u64::from(u32_at(message, 44)?) | u64::from(u32_at(message, 48)?) << 32,
    };
    let mut found = Found {
        socket: Arc::new(socket),
        state: *message.get(1)?,
        receive_queue: u32_at(message, 56)?,
        send_queue: u32_at(message, 60)?,
        user: u32_at(message, 64)?,
        memory: Vec::new(),
        info: Vec::new(),
        congestion: None,
    };
    for (kind, value) in attributes(inside) {
        match kind {
            INFO => found.info = value.to_vec(),
            CONGESTION => found.congestion = Some(text(value)),
            MEMORY_INFO => found.memory = value.chunks_exact(4).filter_map(|word| u32_at(word, 0)).collect(),
            _ => {}
        }
    }
    Some(found)
}
