//! What TCP_INFO and congestion controls tell of a flow; what an older kernel's shorter answer leaves out stays null.

use super::socket;
use std::os::fd::RawFd;
use wirespeed_host::tcp_info::{self, Field};
use wirespeed_record::FlowSample;

/// A kernel's answer to TCP_INFO.
pub struct TcpInfo(Vec<u8>);

impl TcpInfo {
    /// Asks the kernel about a socket; `None` if it has no answer.
    pub fn of(fd: RawFd) -> Option<Self> {
        socket::get_bytes(fd, libc::IPPROTO_TCP, libc::TCP_INFO, 512).ok().map(TcpInfo)
    }

    fn u64(&self, field: Field) -> Option<u64> {
        field.of(&self.0)
    }

    fn u32(&self, field: Field) -> Option<u32> {
        self.u64(field).map(|value| value as u32)
    }

    fn ns(&self, microseconds: Field) -> Option<i64> {
        Some(self.u64(microseconds)? as i64 * 1000)
    }

    /// Data packets sent, retransmissions included (`tcpi_data_segs_out`).
    pub fn data_packets_out(&self) -> u32 {
        self.u32(tcp_info::DATA_SEGS_OUT).unwrap_or(0)
    }

    /// Data packets received (`tcpi_data_segs_in`).
    pub fn data_packets_in(&self) -> u32 {
        self.u32(tcp_info::DATA_SEGS_IN).unwrap_or(0)
    }

    /// Segments sent and received, those without data included (`tcpi_segs_out`, `tcpi_segs_in`).
    pub fn segments(&self) -> [u32; 2] {
        [tcp_info::SEGS_OUT, tcp_info::SEGS_IN].map(|field| self.u32(field).unwrap_or(0))
    }

    /// Payload received in order (`tcpi_bytes_received`, less the FIN, which the kernel counts as a byte).
    pub fn bytes_received(&self) -> u64 {
        /// TCP_CLOSE_WAIT (net/tcp_states.h): the peer's FIN has come and we have not closed, which we never do.
        const CLOSE_WAIT: u32 = 8;
        let fin = u64::from(self.u32(tcp_info::STATE) == Some(CLOSE_WAIT));
        self.u64(tcp_info::BYTES_RECEIVED).unwrap_or(0).saturating_sub(fin)
    }

    /// Fills what the sender's side knows.
    pub fn fill_sender(&self, sample: &mut FlowSample) {
        const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
        let mss = self.u32(tcp_info::SND_MSS);
        let packets = |count: Option<u32>| Some(u64::from(count?) * u64::from(mss?));
        sample.mss_bytes = mss;
        sample.ca_state = self.u32(tcp_info::CA_STATE);
        sample.backoff = self.u32(tcp_info::BACKOFF);
        sample.delivery_app_limited = self.u32(tcp_info::APP_LIMITED).map(|bits| bits & 1 != 0);
        sample.rto_ns = self.ns(tcp_info::RTO);
        sample.unacked_packets = self.u32(tcp_info::UNACKED);
        sample.sacked_packets = self.u32(tcp_info::SACKED);
        sample.lost_packets = self.u32(tcp_info::LOST);
        sample.retrans_out_packets = self.u32(tcp_info::RETRANS);
        sample.rtt_ns = self.ns(tcp_info::RTT).filter(|rtt| *rtt > 0);
        sample.rttvar_ns = sample.rtt_ns.and_then(|_| self.ns(tcp_info::RTTVAR));
        sample.ssthresh_bytes = packets(self.u32(tcp_info::SND_SSTHRESH).filter(|v| *v < INFINITE_SSTHRESH));
        sample.cwnd_bytes = packets(self.u32(tcp_info::SND_CWND));
        sample.reordering_packets = self.u32(tcp_info::REORDERING);
        sample.retrans_packets = self.u32(tcp_info::TOTAL_RETRANS).map(u64::from);
        sample.pacing_rate_bps = self.u64(tcp_info::PACING_RATE).filter(|v| *v != u64::MAX).map(|v| v * 8);
        sample.acked_bytes = self.u64(tcp_info::BYTES_ACKED);
        sample.notsent_bytes = self.u32(tcp_info::NOTSENT_BYTES);
        sample.min_rtt_ns =
            self.u32(tcp_info::MIN_RTT).filter(|v| *v != u32::MAX).map(|v| i64::from(v) * 1000);
        sample.delivery_rate_bps = self.u64(tcp_info::DELIVERY_RATE).map(|v| v * 8);
        sample.busy_ns = self.ns(tcp_info::BUSY_TIME);
        sample.rwnd_limited_ns = self.ns(tcp_info::RWND_LIMITED);
        sample.sndbuf_limited_ns = self.ns(tcp_info::SNDBUF_LIMITED);
        sample.delivered_packets = self.u32(tcp_info::DELIVERED).map(u64::from);
        sample.delivered_ce_packets = self.u32(tcp_info::DELIVERED_CE).map(u64::from);
        sample.sent_bytes = self.u64(tcp_info::BYTES_SENT);
        sample.retrans_bytes = self.u64(tcp_info::BYTES_RETRANS);
        sample.dsack_dups = self.u32(tcp_info::DSACK_DUPS);
        sample.reordering_seen = self.u32(tcp_info::REORD_SEEN);
        sample.snd_wnd_bytes = self.u32(tcp_info::SND_WND);
        sample.rto_count = self.u32(tcp_info::TOTAL_RTO);
    }

    /// Fills what the receiver's side knows.
    pub fn fill_receiver(&self, sample: &mut FlowSample) {
        sample.delivered_bytes = Some(self.bytes_received());
        sample.rcv_rtt_ns = self.ns(tcp_info::RCV_RTT).filter(|v| *v > 0);
        sample.rcv_space_bytes = self.u32(tcp_info::RCV_SPACE);
        sample.ooo_packets = self.u32(tcp_info::RCV_OOOPACK);
    }
}

/// Copies what only the receiver's side of a flow knows.
pub fn copy_receiver(from: &FlowSample, into: &mut FlowSample) {
    into.read_bytes = from.read_bytes;
    into.data_packets_in = from.data_packets_in;
    into.delivered_bytes = from.delivered_bytes;
    into.rcv_rtt_ns = from.rcv_rtt_ns;
    into.rcv_space_bytes = from.rcv_space_bytes;
    into.ooo_packets = from.ooo_packets;
}

/// Fills what the congestion control itself tells (TCP_CC_INFO), by its name.
pub fn fill_private(fd: RawFd, congestion: &str, sample: &mut FlowSample) {
    const TCP_CC_INFO: i32 = 26;
    if !matches!(congestion, "bbr" | "vegas" | "veno" | "yeah" | "nv" | "dctcp" | "prague") {
        return;
    }
    let Ok(bytes) = socket::get_bytes(fd, libc::IPPROTO_TCP, TCP_CC_INFO, 64) else { return };
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at * 4..at * 4 + 4)?.try_into().ok()?));
    let ns = |at| Some(i64::from(word(at)?) * 1000);
    match congestion {
        "bbr" => {
            /// BBR_UNIT of net/ipv4/tcp_bbr.c.
            const UNIT: f64 = 256.0;
            sample.bbr_bw_bps =
                word(0).zip(word(1)).map(|(low, high)| (u64::from(high) << 32 | u64::from(low)) * 8);
            sample.bbr_min_rtt_ns = ns(2);
            sample.bbr_pacing_gain_ratio = word(3).map(|gain| f64::from(gain) / UNIT);
            sample.bbr_cwnd_gain_ratio = word(4).map(|gain| f64::from(gain) / UNIT);
        }
        "dctcp" | "prague" => {
            /// DCTCP_MAX_ALPHA of net/ipv4/tcp_dctcp.c, and the same in kernel/cc/tcp_prague.c.
            const MAX_ALPHA: f64 = 1024.0;
            sample.dctcp_alpha_ratio = word(1).map(|alpha| f64::from(alpha) / MAX_ALPHA);
        }
        _ => {
            /// "No round-trip time yet" of struct tcpvegas_info.
            const UNKNOWN: i64 = 0x7fff_ffff * 1000;
            sample.vegas_enabled = word(0).map(|v| v != 0);
            sample.vegas_rtt_count = word(1);
            sample.vegas_rtt_ns = ns(2).filter(|v| *v < UNKNOWN);
            sample.vegas_min_rtt_ns = ns(3).filter(|v| *v < UNKNOWN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fin_is_no_payload() {
        let mut bytes = vec![0u8; 248];
        bytes[128..136].copy_from_slice(&1001u64.to_ne_bytes());
        bytes[0] = 1;
        assert_eq!(TcpInfo(bytes.clone()).bytes_received(), 1001);
        bytes[0] = 8;
        assert_eq!(TcpInfo(bytes).bytes_received(), 1000);
    }

    #[test]
    fn a_short_answer_of_an_old_kernel_leaves_the_rest_null() {
        let mut bytes = vec![0u8; 104];
        bytes[16..20].copy_from_slice(&1448u32.to_ne_bytes());
        bytes[80..84].copy_from_slice(&10u32.to_ne_bytes());
        bytes[76..80].copy_from_slice(&0x7fff_ffffu32.to_ne_bytes());
        let mut sample = wirespeed_record::FlowSample::empty(0, 0);
        TcpInfo(bytes).fill_sender(&mut sample);
        assert_eq!(sample.cwnd_bytes, Some(14_480));
        assert_eq!(sample.ssthresh_bytes, None);
        assert_eq!(sample.retrans_packets, Some(0));
        assert_eq!(sample.acked_bytes, None);
        assert_eq!(sample.rto_count, None);
    }
}
