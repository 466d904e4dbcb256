//! Kinds of retransmissions, and the rules that distinguish them.

use serde::Serialize;

/// The reason for a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RetransmissionKind {
    /// At least three duplicate acknowledgments, or SACK blocks for as much data above (RFC 6675), or within a
    /// recovery that began so.
    Fast,
    /// SACK blocks above, but for less data: found by time (RACK, RFC 8985), or an early retransmit. A repeated loss within a
    /// fast recovery is one of these, too.
    Rack,
    /// Retransmission timeout.
    Timeout,
    /// Sent in the recovery after a timeout.
    AfterTimeout,
    /// Tail loss probe (RFC 8985, 7): the newest data, after about two RTTs without an acknowledgment.
    TailLossProbe,
    /// SYN or SYN-ACK.
    Handshake,
    /// The capture has no sufficient evidence.
    Unclear,
}

/// Evidence that a retransmission was not necessary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spurious {
    /// The receiver reported the data as received twice (RFC 2883).
    Dsack,
    /// The acknowledgment echoed the timestamp of the first transmission (RFC 3522, Eifel).
    Timestamps,
    /// The capture has an acknowledgment or a SACK block for the data before the retransmission.
    AlreadyAcknowledged,
}

/// A retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Retransmission {
    /// Time.
    pub t_ns: i64,
    /// Number of the packet in the file, from 1, as Wireshark counts.
    pub packet: u64,
    /// First byte, relative to the initial sequence number.
    pub start: i64,
    /// Payload in bytes.
    pub bytes: u32,
    /// Packets after segmentation.
    pub packets: u32,
    /// Reason.
    pub kind: RetransmissionKind,
    /// The capture has an earlier transmission: a loss is then behind the capture point.
    pub original_seen: bool,
    /// Evidence that it was not necessary.
    pub spurious: Option<Spurious>,
}

impl Retransmission {
    /// So many retransmissions of a flow are listed. All are counted.
    pub const MOST: usize = 10_000;
}

/// Packets retransmitted, by kind. Spurious ones are counted by kind, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RetransmissionCounts {
    /// All packets retransmitted.
    pub packets: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// [`RetransmissionKind::Fast`].
    pub fast: u64,
    /// [`RetransmissionKind::Rack`].
    pub rack: u64,
    /// [`RetransmissionKind::Timeout`].
    pub timeout: u64,
    /// [`RetransmissionKind::AfterTimeout`].
    pub after_timeout: u64,
    /// [`RetransmissionKind::TailLossProbe`].
    pub tail_loss_probe: u64,
    /// [`RetransmissionKind::Handshake`].
    pub handshake: u64,
    /// [`RetransmissionKind::Unclear`].
    pub unclear: u64,
    /// Spurious by DSACK.
    pub spurious_dsack: u64,
    /// Spurious by timestamps.
    pub spurious_timestamps: u64,
    /// For data that the capture shows as acknowledged, by number or by SACK.
    pub spurious_acknowledged: u64,
}

impl RetransmissionCounts {
    pub(crate) fn add(&mut self, kind: RetransmissionKind, packets: u64, bytes: u64) {
        self.packets += packets;
        self.bytes += bytes;
        let count = match kind {
            RetransmissionKind::Fast => &mut self.fast,
            RetransmissionKind::Rack => &mut self.rack,
            RetransmissionKind::Timeout => &mut self.timeout,
            RetransmissionKind::AfterTimeout => &mut self.after_timeout,
            RetransmissionKind::TailLossProbe => &mut self.tail_loss_probe,
            RetransmissionKind::Handshake => &mut self.handshake,
            RetransmissionKind::Unclear => &mut self.unclear,
        };
        *count += packets;
    }

    pub(crate) fn add_spurious(&mut self, evidence: Spurious, packets: u64) {
        let count = match evidence {
            Spurious::Dsack => &mut self.spurious_dsack,
            Spurious::Timestamps => &mut self.spurious_timestamps,
            Spurious::AlreadyAcknowledged => &mut self.spurious_acknowledged,
        };
        *count += packets;
    }

    /// Retransmitted packets that were not necessary.
    pub fn spurious(&self) -> u64 {
        self.spurious_dsack + self.spurious_timestamps + self.spurious_acknowledged
    }
}

/// All that decides the kind of a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Situation {
    /// Duplicate acknowledgments since the last new one.
    pub duplicate_acks: u32,
    /// Bytes above the segment that SACK blocks cover, up to the highest edge.
    pub sacked_above: i64,
    /// Payload of a full packet.
    pub mss: i64,
    /// It is the first that is not acknowledged.
    pub is_head: bool,
    /// It ends with the newest data.
    pub is_tail: bool,
    /// It was retransmitted before in this recovery.
    pub is_repeated: bool,
    /// The open recovery.
    pub recovery: Option<Recovery>,
    /// Nanoseconds since the timer was restarted: by an acknowledgment of new data, or by the last transmission of this segment.
    pub since_restart: i64,
    /// Nanoseconds since the last data packet of the flow.
    pub since_data: i64,
    /// Smoothed RTT in nanoseconds, whole path.
    pub srtt: Option<i64>,
    /// RTT variation in nanoseconds.
    pub rttvar: i64,
}

/// A recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recovery {
    /// Newest data when it began: the acknowledgment of it ends the recovery.
    pub end: i64,
    /// It began with a timeout.
    pub after_timeout: bool,
}

/// Least retransmission timeout of Linux (`TCP_RTO_MIN`).
const MIN_RTO_NS: i64 = 200_000_000;
/// Timers are late, seldom early; RTT estimates of a capture point are not those of the sender.
const EARLY: f64 = 0.85;

impl Situation {
    /// The estimate of the retransmission timeout, in nanoseconds (RFC 6298 with Linux's least value).
    fn timeout(&self) -> i64 {
        // RFC 6298, 2.1: one second without an RTT.
        self.srtt.map_or(1_000_000_000, |srtt| srtt + (4 * self.rttvar).max(MIN_RTO_NS))
    }

    /// The kind of the retransmission.
    pub(crate) fn kind(&self) -> RetransmissionKind {
        let timed_out = self.is_head && self.since_restart as f64 >= EARLY * self.timeout() as f64;
        if timed_out {
            return RetransmissionKind::Timeout;
        }
        if let Some(recovery) = self.recovery {
            return match (recovery.after_timeout, self.is_repeated) {
                (true, false) => RetransmissionKind::AfterTimeout,
                (false, false) => RetransmissionKind::Fast,
                (_, true) => RetransmissionKind::Rack,
            };
        }
        if self.duplicate_acks >= 3 || self.sacked_above >= 3 * self.mss {
            return RetransmissionKind::Fast;
        }
        if self.duplicate_acks > 0 || self.sacked_above > 0 {
            return RetransmissionKind::Rack;
        }
        let two_rtts = self.srtt.map(|srtt| (2.0 * EARLY * srtt as f64) as i64);
        if self.is_tail && two_rtts.is_some_and(|two| self.since_data >= two) {
            return RetransmissionKind::TailLossProbe;
        }
        RetransmissionKind::Unclear
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn situation() -> Situation {
        Situation {
            duplicate_acks: 0,
            sacked_above: 0,
            mss: 1448,
            is_head: true,
            is_tail: false,
            is_repeated: false,
            recovery: None,
            since_restart: 10 * MS,
            since_data: MS,
            srtt: Some(20 * MS),
            rttvar: MS,
        }
    }

    #[test]
    fn three_duplicates_or_as_much_sacked_data_make_it_fast() {
        let s = situation();
        assert_eq!(Situation { duplicate_acks: 3, ..s }.kind(), RetransmissionKind::Fast);
        assert_eq!(Situation { sacked_above: 3 * 1448, ..s }.kind(), RetransmissionKind::Fast);
        assert_eq!(Situation { sacked_above: 1448, ..s }.kind(), RetransmissionKind::Rack);
        assert_eq!(s.kind(), RetransmissionKind::Unclear);
    }

    #[test]
    fn silence_of_the_timeout_wins_over_earlier_duplicates() {
        let s = Situation { since_restart: 215 * MS, duplicate_acks: 5, ..situation() };
        assert_eq!(s.kind(), RetransmissionKind::Timeout);
        let later = Recovery { end: 1 << 20, after_timeout: true };
        let s = Situation { recovery: Some(later), ..situation() };
        assert_eq!(s.kind(), RetransmissionKind::AfterTimeout);
        assert_eq!(Situation { is_repeated: true, ..s }.kind(), RetransmissionKind::Rack);
    }

    #[test]
    fn newest_data_after_two_rtts_is_a_probe() {
        let s = Situation { is_head: false, is_tail: true, since_data: 42 * MS, ..situation() };
        assert_eq!(s.kind(), RetransmissionKind::TailLossProbe);
        assert_eq!(Situation { since_data: 10 * MS, ..s }.kind(), RetransmissionKind::Unclear);
    }
}
