//! A line of `ss -tin` with its details. Names are those that ss prints; [`Socket`] has them as the table of flows has.

use std::fmt;
use wirespeed_record::FlowSample;

/// States of TCP as ss names them.
const STATES: [&str; 12] = [
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "UNCONN",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "UNKNOWN",
];
/// States in which a socket has a peer and counts data.
const WITH_DATA: [&str; 6] = ["ESTAB", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT", "LAST-ACK", "CLOSING"];
/// Words of a socket's details that are neither a value nor its congestion control algorithm.
const FLAGS: [&str; 12] = [
    "ts",
    "sack",
    "ecn",
    "ecnseen",
    "fastopen",
    "app_limited",
    "unlimited",
    "app-limited",
    "tcp-ulp-mptcp",
    "tcp-ulp-tls",
    "cong_control",
    "timer",
];

/// An address and a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// Without the brackets of IPv6, the interface, and the prefix of IPv4 in IPv6.
    pub host: String,
    pub port: u16,
}

impl Address {
    fn parse(text: &str) -> Option<Address> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let host = host.split('%').next().unwrap_or(host);
        let host = host.strip_prefix("::ffff:").filter(|host| host.contains('.')).unwrap_or(host);
        let is_address = !host.is_empty() && host.len() <= 64 && !host.contains(char::is_whitespace);
        is_address.then(|| Address { host: host.into(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// A socket at one time. Values that ss does not print are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Socket {
    pub local: Address,
    pub peer: Address,
    pub congestion: Option<String>,
    pub sent_bytes: Option<u64>,
    pub acked_bytes: Option<u64>,
    pub received_bytes: Option<u64>,
    /// Everything else, under the names and in the units of the table of flows.
    row: FlowSample,
    cwnd_packets: Option<u64>,
    ssthresh_packets: Option<u64>,
    /// Whether ss printed any detail.
    has_details: bool,
}

/// Whether a line begins a socket: its state (unless ss was asked for one state), two queue lengths and two addresses.
pub fn is_socket_line(line: &str) -> bool {
    head(line).is_some()
}

/// State, addresses, and what follows them.
fn head(line: &str) -> Option<(Option<&str>, &str, &str, &str)> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let mut rest = line;
    let mut next = move || {
        rest = rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then_some((word, after))
    };
    let (mut word, _) = next()?;
    if word == "tcp" {
        (word, _) = next()?;
    }
    let state = STATES.into_iter().find(|state| *state == word);
    if state.is_some() {
        (word, _) = next()?;
    }
    let is_count = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    if !is_count(word) || !is_count(next()?.0) {
        return None;
    }
    let (local, peer) = (next()?.0, next()?);
    let is_address = |word: &str| word.contains(':');
    (is_address(local) && is_address(peer.0)).then_some((state, local, peer.0, peer.1))
}

impl Socket {
    /// The socket of a line; `None` if it has no peer, as one that listens.
    ///
    /// # Errors
    /// If a value is not as ss writes it, in words.
    pub fn parse(line: &str) -> Result<Option<Socket>, String> {
        let Some((state, local, peer, details)) = head(line) else { return Ok(None) };
        if state.is_some_and(|state| !WITH_DATA.contains(&state)) {
            return Ok(None);
        }
        let (Some(local), Some(peer)) = (Address::parse(local), Address::parse(peer)) else {
            return Ok(None);
        };
        let mut socket = Socket {
            local,
            peer,
            congestion: None,
            sent_bytes: None,
            acked_bytes: None,
            received_bytes: None,
            row: FlowSample::default(),
            cwnd_packets: None,
            ssthresh_packets: None,
            has_details: false,
        };
        socket.fill(details)?;
        Ok(Some(socket))
    }

    /// Takes the details of a line.
    ///
    /// # Errors
    /// If a value is not as ss writes it, in words.
    pub fn fill(&mut self, details: &str) -> Result<(), String> {
        let mut words = details.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "send" | "max_pacing_rate" => drop(words.next()),
                "pacing_rate" => self.row.pacing_rate_bps = words.next().map(rate).transpose()?.flatten(),
                "delivery_rate" => self.row.delivery_rate_bps = words.next().map(rate).transpose()?.flatten(),
                "app_limited" => self.row.delivery_app_limited = Some(true),
                _ => match word.split_once(':') {
                    Some((name, value)) => {
                        self.take(name, value).ok_or_else(|| format!("`{word}` is not as ss writes it"))?
                    }
                    // The first word that is none of its flags is the algorithm.
                    None if self.congestion.is_none() && !FLAGS.contains(&word) && is_algorithm(word) => {
                        self.congestion = Some(word.into());
                    }
                    None => {}
                },
            }
        }
        Ok(())
    }

    /// Takes a value; `None` if it is not as ss writes it. Names that are not needed are skipped.
    fn take(&mut self, name: &str, value: &str) -> Option<()> {
        let row = &mut self.row;
        let count = || value.parse::<u64>().ok().filter(|count| *count < 1 << 62);
        let small = || value.parse::<u32>().ok();
        match name {
            "bytes_sent" => self.sent_bytes = Some(count()?),
            "bytes_acked" => self.acked_bytes = Some(count()?),
            "bytes_received" => self.received_bytes = Some(count()?),
            "bytes_retrans" => row.retrans_bytes = Some(count()?),
            "data_segs_out" => row.data_packets_out = Some(count()?),
            "data_segs_in" => row.data_packets_in = Some(count()?),
            "delivered" => row.delivered_packets = Some(count()?),
            "delivered_ce" => row.delivered_ce_packets = Some(count()?),
            "retrans" => {
                let (now, total) = value.split_once('/')?;
                row.retrans_out_packets = Some(now.parse().ok()?);
                row.retrans_packets = Some(total.parse().ok()?);
            }
            "cwnd" => self.cwnd_packets = Some(count()?),
            "ssthresh" => self.ssthresh_packets = Some(count()?),
            "mss" => row.mss_bytes = Some(small()?),
            "rtt" => {
                let (mean, deviation) = value.split_once('/')?;
                (row.rtt_ns, row.rttvar_ns) = (Some(ms(mean)?), Some(ms(deviation)?));
            }
            "minrtt" => row.min_rtt_ns = Some(ms(value)?),
            "rto" => row.rto_ns = Some(ms(value)?),
            "rcv_rtt" => row.rcv_rtt_ns = Some(ms(value)?),
            "unacked" => row.unacked_packets = Some(small()?),
            "sacked" => row.sacked_packets = Some(small()?),
            "lost" => row.lost_packets = Some(small()?),
            "backoff" => row.backoff = Some(small()?),
            "reordering" => row.reordering_packets = Some(small()?),
            "reord_seen" => row.reordering_seen = Some(small()?),
            "dsack_dups" => row.dsack_dups = Some(small()?),
            "rcv_ooopack" => row.ooo_packets = Some(small()?),
            "rcv_space" => row.rcv_space_bytes = Some(small()?),
            "notsent" => row.notsent_bytes = Some(small()?),
            "snd_wnd" => row.snd_wnd_bytes = Some(small()?),
            "busy" => row.busy_ns = Some(limited(value)?),
            "rwnd_limited" => row.rwnd_limited_ns = Some(limited(value)?),
            "sndbuf_limited" => row.sndbuf_limited_ns = Some(limited(value)?),
            "bbr" => bbr(row, value)?,
            _ => return Some(()),
        }
        self.has_details = true;
        Some(())
    }

    /// Fills in the columns of the sending end.
    pub fn fill_sender(&self, row: &mut FlowSample) {
        let FlowSample { t_ns, flow, .. } = *row;
        let own = self.row.clone();
        // ss leaves out a count that is 0. `bytes_sent` came with Linux 4.19, after most of them.
        let zero = self.sent_bytes.map(|_| 0u32);
        let packets =
            |packets: Option<u64>| packets.and_then(|packets| packets.checked_mul(own.mss_bytes?.into()));
        *row = FlowSample {
            t_ns,
            flow,
            sent_bytes: self.sent_bytes,
            acked_bytes: self.acked_bytes,
            cwnd_bytes: packets(self.cwnd_packets),
            ssthresh_bytes: packets(self.ssthresh_packets),
            retrans_packets: own.retrans_packets.or(self.has_details.then_some(0)),
            retrans_out_packets: own.retrans_out_packets.or(self.has_details.then_some(0)),
            unacked_packets: own.unacked_packets.or(self.has_details.then_some(0)),
            sacked_packets: own.sacked_packets.or(self.has_details.then_some(0)),
            lost_packets: own.lost_packets.or(self.has_details.then_some(0)),
            retrans_bytes: own.retrans_bytes.or(zero.map(Into::into)),
            notsent_bytes: own.notsent_bytes.or(zero),
            reordering_seen: own.reordering_seen.or(zero),
            dsack_dups: own.dsack_dups.or(zero),
            busy_ns: own.busy_ns.or(zero.map(Into::into)),
            rwnd_limited_ns: own.rwnd_limited_ns.or(zero.map(Into::into)),
            sndbuf_limited_ns: own.sndbuf_limited_ns.or(zero.map(Into::into)),
            delivery_app_limited: own.delivery_rate_bps.map(|_| own.delivery_app_limited.unwrap_or(false)),
            // These are the receiver's.
            data_packets_in: None,
            ooo_packets: None,
            rcv_space_bytes: None,
            rcv_rtt_ns: None,
            ..own
        };
    }

    /// Fills in the columns of the receiving end.
    pub fn fill_receiver(&self, row: &mut FlowSample) {
        row.delivered_bytes = self.received_bytes.or(self.has_details.then_some(0));
        row.data_packets_in = self.row.data_packets_in;
        row.ooo_packets = self.row.ooo_packets;
        row.rcv_space_bytes = self.row.rcv_space_bytes;
        row.rcv_rtt_ns = self.row.rcv_rtt_ns;
    }
}

fn is_algorithm(word: &str) -> bool {
    const LONGEST: usize = 16;
    word.len() < LONGEST
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// `12.5` milliseconds.
fn ms(text: &str) -> Option<i64> {
    super::table::time_ns(text.parse().ok()?, 1e6)
}

/// `12ms`, or `12ms(34.5%)`.
fn limited(text: &str) -> Option<i64> {
    ms(text.split('(').next()?.strip_suffix("ms")?)
}

/// `1234bps`, or `1.5Gbps` as older versions write it.
fn rate(text: &str) -> Result<Option<u64>, String> {
    rate_bps(text).map(Some).ok_or_else(|| format!("`{text}` is not a rate as ss writes it"))
}

fn rate_bps(text: &str) -> Option<u64> {
    let number = text.strip_suffix("bps")?;
    let (digits, unit) = match number.chars().last()? {
        'K' => (&number[..number.len() - 1], 1e3),
        'M' => (&number[..number.len() - 1], 1e6),
        'G' => (&number[..number.len() - 1], 1e9),
        'T' => (&number[..number.len() - 1], 1e12),
        _ => (number, 1.0),
    };
    super::table::rate_bps(digits.parse::<f64>().ok()? * unit)
}

/// `(bw:1234bps,mrtt:0.5,pacing_gain:1.25,cwnd_gain:2)`.
fn bbr(row: &mut FlowSample, text: &str) -> Option<()> {
    for part in text.strip_prefix('(')?.strip_suffix(')')?.split(',') {
        let (name, value) = part.split_once(':')?;
        let gain = || value.parse::<f64>().ok().filter(|gain| (0.0..=1000.0).contains(gain));
        match name {
            "bw" => row.bbr_bw_bps = Some(rate_bps(value)?),
            "mrtt" => row.bbr_min_rtt_ns = Some(ms(value)?),
            "pacing_gain" => row.bbr_pacing_gain_ratio = Some(gain()?),
            "cwnd_gain" => row.bbr_cwnd_gain_ratio = Some(gain()?),
            _ => {}
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "ESTAB 0      0               10.0.0.1:40800          10.0.0.2:5277  cubic wscale:10,10 rto:204 \
        rtt:12.5/0.022 mss:1448 cwnd:18 ssthresh:9 bytes_sent:2896 bytes_retrans:1448 bytes_acked:1449 segs_out:3 \
        data_segs_out:2 send 62863680000bps pacing_rate 1.5Gbps delivery_rate 52386400bps app_limited busy:4ms \
        rwnd_limited:2ms(50.0%) retrans:1/2 minrtt:0.007 snd_wnd:1114112";

    #[test]
    fn a_line_is_read_in_the_units_of_the_table() {
        let socket = Socket::parse(LINE).unwrap().unwrap();
        let mut row = FlowSample::empty(5, 3);
        socket.fill_sender(&mut row);
        assert_eq!((row.t_ns, row.flow), (5, 3));
        assert_eq!(socket.congestion.as_deref(), Some("cubic"));
        assert_eq!((row.cwnd_bytes, row.ssthresh_bytes), (Some(18 * 1448), Some(9 * 1448)));
        assert_eq!(
            (row.rtt_ns, row.rttvar_ns, row.min_rtt_ns),
            (Some(12_500_000), Some(22_000), Some(7_000))
        );
        assert_eq!(
            (row.sent_bytes, row.retrans_bytes, row.acked_bytes),
            (Some(2896), Some(1448), Some(1449))
        );
        assert_eq!((row.retrans_out_packets, row.retrans_packets), (Some(1), Some(2)));
        assert_eq!((row.pacing_rate_bps, row.delivery_rate_bps), (Some(1_500_000_000), Some(52_386_400)));
        assert_eq!(
            (row.busy_ns, row.rwnd_limited_ns, row.sndbuf_limited_ns),
            (Some(4_000_000), Some(2_000_000), Some(0))
        );
        assert_eq!(row.delivery_app_limited, Some(true));
    }

    #[test]
    fn a_count_that_ss_leaves_out_is_zero_only_where_ss_would_print_it() {
        let mut row = FlowSample::empty(0, 0);
        let old = Socket::parse("ESTAB 0 0 [::1]:5000 [::ffff:10.0.0.2]:5001 reno rtt:1/1 cwnd:10")
            .unwrap()
            .unwrap();
        old.fill_sender(&mut row);
        assert_eq!((row.retrans_packets, row.retrans_bytes, row.busy_ns), (Some(0), None, None));
        assert_eq!(
            (row.cwnd_bytes, row.min_rtt_ns),
            (None, None),
            "without a segment size a window is not known"
        );
        assert_eq!((old.local.host.as_str(), old.peer.host.as_str()), ("::1", "10.0.0.2"));
    }

    #[test]
    fn sockets_without_a_peer_and_other_lines_are_none() {
        assert_eq!(Socket::parse("LISTEN 0 4096 0.0.0.0:22 0.0.0.0:*"), Ok(None));
        assert_eq!(Socket::parse("TIME-WAIT 0 0 10.0.0.1:40800 10.0.0.2:5277"), Ok(None));
        assert!(
            is_socket_line("0 0 10.0.0.1:1 10.0.0.2:2"),
            "ss leaves out the state where one was asked for"
        );
        for line in ["", "State Recv-Q Send-Q", "a b c d", "1 2 3 4", "ESTAB 0 x 1:2 3:4"] {
            assert!(!is_socket_line(line), "{line}");
        }
    }

    #[test]
    fn a_damaged_value_is_named() {
        let error = Socket::parse("ESTAB 0 0 10.0.0.1:1 10.0.0.2:2 cubic rtt:abc/1").unwrap_err();
        assert!(error.contains("rtt:abc/1"), "{error}");
        assert!(Socket::parse("ESTAB 0 0 10.0.0.1:1 10.0.0.2:2 pacing_rate fast").is_err());
    }
}
