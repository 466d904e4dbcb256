//! How many packets the GSO packets of a host have. Some counters count GSO packets.

use wirespeed_host::{Changes, Way};

/// Bytes of the largest GSO packet that is common (`gso_max_size` of most interfaces).
const LARGEST_BYTES: i64 = 65_536;
/// The smallest segment size of the internet in bytes (RFC 9293, 3.7.1).
const SMALLEST_MSS: i64 = 536;
/// Headers of IPv4 and of TCP with timestamps in bytes.
const HEADERS: f64 = 52.0;

/// The most packets that were in so many GSO packets of any traffic.
pub fn most_packets(gso_packets: i64) -> i64 {
    gso_packets * (LARGEST_BYTES / SMALLEST_MSS)
}

/// Packets in the GSO packets that a host sent or received.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GsoSize {
    most: i64,
    mean: Option<f64>,
}

impl GsoSize {
    /// Of any traffic.
    pub const UNKNOWN: GsoSize = GsoSize { most: LARGEST_BYTES / SMALLEST_MSS, mean: None };

    /// Of a host whose TCP has segments of `mss` bytes. Its IP counts bytes and GSO packets (RFC 4293; `/proc/net/snmp`,
    /// `/proc/net/netstat` and `/proc/net/snmp6`).
    pub fn of(changes: &Changes, way: Way, mss: Option<u32>) -> GsoSize {
        let Some(mss) = mss.filter(|mss| *mss > 0) else { return GsoSize::UNKNOWN };
        let (octets, buffers) = match way {
            Way::Tx => (["IpExtOutOctets", "Ip6OutOctets"], ["IpOutRequests", "Ip6OutRequests"]),
            Way::Rx => (["IpExtInOctets", "Ip6InOctets"], ["IpInReceives", "Ip6InReceives"]),
        };
        let sum = |names: [&str; 2]| names.map(|name| changes.of_host("protocols", name) as f64).iter().sum();
        let (octets, buffers): (f64, f64) = (sum(octets), sum(buffers));
        let mean =
            (octets > 0.0 && buffers > 0.0).then(|| ((octets / buffers - HEADERS) / f64::from(mss)).max(1.0));
        GsoSize { most: (LARGEST_BYTES / i64::from(mss)).max(1), mean }
    }

    /// The most packets in so many GSO packets.
    pub fn most(self, gso_packets: i64) -> i64 {
        gso_packets * self.most
    }

    /// Packets in so many GSO packets of mean size, if that is known.
    pub fn likely(self, gso_packets: i64) -> Option<i64> {
        let mean = self.mean.filter(|_| gso_packets > 0)?;
        Some(((gso_packets as f64 * mean).round() as i64).min(self.most(gso_packets)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::changes;
    use super::*;

    #[test]
    fn mean_size_follows_from_bytes_and_buffers_of_ip() {
        let counters = [("protocols/IpExtOutOctets", 150_000), ("protocols/IpOutRequests", 100)];
        let size = GsoSize::of(&changes("eth0", &counters), Way::Tx, Some(1448));
        assert_eq!((size.likely(3), size.most(3)), (Some(3), 135));
        let counters = [("protocols/IpExtInOctets", 100 * (10 * 1448 + 52)), ("protocols/IpInReceives", 100)];
        let all = changes("eth0", &counters);
        assert_eq!(GsoSize::of(&all, Way::Rx, Some(1448)).likely(3), Some(30));
        assert_eq!(GsoSize::of(&all, Way::Tx, Some(1448)).likely(3), None);
        assert_eq!(GsoSize::of(&all, Way::Rx, None), GsoSize::UNKNOWN);
    }

    #[test]
    fn without_gso_packets_nothing_is_estimated() {
        let counters = [("protocols/IpExtOutOctets", 150_000), ("protocols/IpOutRequests", 100)];
        assert_eq!(GsoSize::of(&changes("eth0", &counters), Way::Tx, Some(1448)).likely(0), None);
    }
}
