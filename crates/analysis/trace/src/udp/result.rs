//! The result about a stream.

use super::{Jitter, Known, Numbering, State, Stream};
use crate::distribution::{Bucket, Quantiles};
use serde::Serialize;
use wirespeed_capture::{Connection, Direction};

/// Datagrams in one direction between two ports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UdpStream {
    /// Number of the stream in the order of first packets, from 1.
    pub number: u64,
    /// Address and port of the sender.
    pub from: String,
    /// Address and port of the receiver.
    pub to: String,
    /// Time of the first packet, in nanoseconds since the first packet of the capture.
    pub first_ns: i64,
    /// Time of the last packet.
    pub last_ns: i64,
    /// Packets, as captured.
    pub packets: u64,
    /// Packets that were several datagrams on the wire (UDP segmentation offload), as far as their numbers show it.
    pub super_packets: u64,
    /// Datagrams on the wire.
    pub datagrams: u64,
    /// Payload, in bytes.
    pub payload_bytes: u64,
    /// Frames with all headers, as captured, in bytes.
    pub wire_bytes: u64,
    /// Largest payload of a captured packet, in bytes.
    pub largest_payload_bytes: u32,
    /// Payload by the time from the first to the last packet, in bits per second. `None` of a single packet.
    pub payload_rate_bps: Option<f64>,
    /// Time between packets at the capture point. `None` of a single packet.
    pub gaps: Option<Gaps>,
    /// Losses, reordering and duplicates, if the datagrams have numbers that are read.
    pub numbers: Option<Numbers>,
}

/// Times between a packet and the next of its stream (inter-arrival times), in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gaps {
    /// The distribution in a few numbers.
    #[serde(flatten)]
    pub quantiles: Quantiles,
    /// Quantile 0.01, as exact as the median.
    pub p01: i64,
    /// Quantile 0.99.
    pub p99: i64,
    /// Quantile 0.999.
    pub p999: i64,
    /// The distribution. Ranges without a value are left out. Of more than 64 values, the limits are exact to 3 %.
    pub histogram: Vec<Bucket>,
}

/// Sequence numbers of a stream at the capture point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Numbers {
    /// Program or protocol that numbered the datagrams.
    pub numbering: Numbering,
    /// Lowest number. Losses before it do not show.
    pub lowest: u64,
    /// Highest number; of RTP beyond 16 bits. Losses after it do not show.
    pub highest: u64,
    /// Numbers from the lowest to the highest.
    pub expected: u64,
    /// Of these, numbers that were not captured.
    pub lost: u64,
    /// `lost` by `expected`, from 0 to 1.
    pub loss_share: f64,
    /// Runs of lost numbers.
    pub loss_runs: u64,
    /// Numbers in the longest run.
    pub longest_loss_run: u64,
    /// Datagrams that came again with a number that had arrived.
    pub duplicates: u64,
    /// Datagrams that came after one with a higher number (RFC 4737), the first time.
    pub reordered: u64,
    /// Largest reordering extent (RFC 4737, 4.2.2), in datagrams.
    pub max_extent: u64,
    /// Largest delay of a reordered datagram after the first with a higher number, in nanoseconds.
    pub max_late_ns: i64,
    /// Datagrams so late that it is not known whether they were duplicates. Their numbers are among the lost.
    pub too_late: u64,
    /// Times at which the numbers began again: another test between the same ports.
    pub restarts: u64,
    /// Packets without a number, such as those of a handshake.
    pub unnumbered: u64,
    /// Jitter, if datagrams have their time of sending.
    pub jitter: Option<Jitter>,
}

impl Known {
    fn finish(mut self) -> Numbers {
        self.extend_range(self.sequence.range());
        let counts = self.sequence.finish();
        let (lowest, highest) = self.range.unwrap_or_default();
        let lost = counts.expected - counts.unique;
        Numbers {
            numbering: self.numbering,
            lowest,
            highest,
            expected: counts.expected,
            lost,
            loss_share: lost as f64 / counts.expected.max(1) as f64,
            loss_runs: counts.loss_runs,
            longest_loss_run: counts.longest_run,
            duplicates: counts.duplicates,
            reordered: counts.reordered,
            max_extent: counts.max_extent,
            max_late_ns: counts.max_late_ns,
            too_late: counts.too_late,
            restarts: counts.restarts,
            unnumbered: self.unnumbered,
            jitter: self.jitter.finish(),
        }
    }
}

impl Stream {
    pub(super) fn finish(
        mut self,
        connection: &Connection,
        direction: Direction,
        rtp_hz: Option<u32>,
    ) -> UdpStream {
        self.decide(rtp_hz);
        let (from, to) = match direction {
            Direction::ClientToServer => (connection.client, connection.server),
            Direction::ServerToClient => (connection.server, connection.client),
        };
        let duration_ns = self.last_ns - self.first_ns;
        let (super_packets, derived) = match &self.state {
            State::Known(known) => (known.super_packets, known.derived),
            _ => (0, 0),
        };
        let quantile = |share| self.gaps.quantile(share).unwrap_or(0);
        let gaps = self.gaps.quantiles().map(|quantiles| Gaps {
            quantiles,
            p01: quantile(0.01),
            p99: quantile(0.99),
            p999: quantile(0.999),
            histogram: self.gaps.histogram(),
        });
        UdpStream {
            number: self.number,
            from: from.to_string(),
            to: to.to_string(),
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            packets: self.packets,
            super_packets,
            datagrams: self.packets + derived,
            payload_bytes: self.payload_bytes,
            wire_bytes: self.wire_bytes,
            largest_payload_bytes: self.largest,
            payload_rate_bps: (duration_ns > 0).then(|| self.payload_bytes as f64 * 8e9 / duration_ns as f64),
            gaps,
            numbers: match self.state {
                State::Known(known) => Some(known.finish()),
                _ => None,
            },
        }
    }
}
