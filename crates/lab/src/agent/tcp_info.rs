//! `struct tcp_info` (linux/tcp.h) and the private information of congestion controls, read by offset so that
//! an older kernel's shorter answer leaves the rest null.

use super::socket;
use std::os::fd::RawFd;
use wirespeed_record::FlowSample;

/// A kernel's answer to TCP_INFO.
pub struct TcpInfo(Vec<u8>);

impl TcpInfo {
    /// Asks the kernel about a socket; `None` if it has no answer.
    pub fn of(fd: RawFd) -> Option<Self> {
        socket::get_bytes(fd, libc::IPPROTO_TCP, libc::TCP_INFO, 512).ok().map(TcpInfo)
    }

    fn u8(&self, at: usize) -> Option<u32> {
        self.0.get(at).map(|v| u32::from(*v))
    }

    fn u16(&self, at: usize) -> Option<u32> {
        Some(u32::from(u16::from_ne_bytes(self.0.get(at..at + 2)?.try_into().ok()?)))
    }

    fn u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_ne_bytes(self.0.get(at..at + 4)?.try_into().ok()?))
    }

    fn u64(&self, at: usize) -> Option<u64> {
        Some(u64::from_ne_bytes(self.0.get(at..at + 8)?.try_into().ok()?))
    }

    fn ns_of_us32(&self, at: usize) -> Option<i64> {
        Some(i64::from(self.u32(at)?) * 1000)
    }

    fn ns_of_us64(&self, at: usize) -> Option<i64> {
        Some(self.u64(at)? as i64 * 1000)
    }

    /// Data packets sent, retransmissions included (`tcpi_data_segs_out`).
    pub fn data_packets_out(&self) -> u32 {
        self.u32(156).unwrap_or(0)
    }

    /// Data packets received (`tcpi_data_segs_in`).
    pub fn data_packets_in(&self) -> u32 {
        self.u32(152).unwrap_or(0)
    }

    /// Segments sent and received, those without data included (`tcpi_segs_out`, `tcpi_segs_in`).
    pub fn segments(&self) -> [u32; 2] {
        [self.u32(136).unwrap_or(0), self.u32(140).unwrap_or(0)]
    }

    /// Payload received in order (`tcpi_bytes_received`, less the FIN, which the kernel counts as a byte).
    pub fn bytes_received(&self) -> u64 {
        /// TCP_CLOSE_WAIT (net/tcp_states.h): the peer's FIN has come and we have not closed, which we never do.
        const CLOSE_WAIT: u32 = 8;
        let fin = u64::from(self.u8(0) == Some(CLOSE_WAIT));
        self.u64(128).unwrap_or(0).saturating_sub(fin)
    }

    /// Fills what the sender's side knows.
    pub fn fill_sender(&self, sample: &mut FlowSample) {
        const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
        let mss = self.u32(16);
        let packets = |count: Option<u32>| Some(u64::from(count?) * u64::from(mss?));
        sample.mss_bytes = mss;
        sample.ca_state = self.u8(1);
        sample.backoff = self.u8(4);
        sample.delivery_app_limited = self.u8(7).map(|bits| bits & 1 != 0);
        sample.rto_ns = self.ns_of_us32(8);
        sample.unacked_packets = self.u32(24);
        sample.sacked_packets = self.u32(28);
        sample.lost_packets = self.u32(32);
        sample.retrans_out_packets = self.u32(36);
        sample.rtt_ns = self.ns_of_us32(68).filter(|rtt| *rtt > 0);
        sample.rttvar_ns = sample.rtt_ns.and_then(|_| self.ns_of_us32(72));
        sample.ssthresh_bytes = packets(self.u32(76).filter(|v| *v < INFINITE_SSTHRESH));
        sample.cwnd_bytes = packets(self.u32(80));
        sample.reordering_packets = self.u32(88);
        sample.retrans_packets = self.u32(100).map(u64::from);
        sample.pacing_rate_bps = self.u64(104).filter(|v| *v != u64::MAX).map(|v| v * 8);
        sample.acked_bytes = self.u64(120);
        sample.notsent_bytes = self.u32(144);
        sample.min_rtt_ns = self.u32(148).filter(|v| *v != u32::MAX).map(|v| i64::from(v) * 1000);
        sample.delivery_rate_bps = self.u64(160).map(|v| v * 8);
        sample.busy_ns = self.ns_of_us64(168);
        sample.rwnd_limited_ns = self.ns_of_us64(176);
        sample.sndbuf_limited_ns = self.ns_of_us64(184);
        sample.delivered_packets = self.u32(192).map(u64::from);
        sample.delivered_ce_packets = self.u32(196).map(u64::from);
        sample.sent_bytes = self.u64(200).unwrap_or(0);
        sample.retrans_bytes = self.u64(208);
        sample.dsack_dups = self.u32(216);
        sample.reordering_seen = self.u32(220);
        sample.snd_wnd_bytes = self.u32(228);
        sample.rto_count = self.u16(240);
    }

    /// Fills what the receiver's side knows.
    pub fn fill_receiver(&self, sample: &mut FlowSample) {
        sample.delivered_bytes = self.bytes_received();
        sample.rcv_rtt_ns = self.ns_of_us32(92).filter(|v| *v > 0);
        sample.rcv_space_bytes = self.u32(96);
        sample.ooo_packets = self.u32(224);
    }
}

/// Fills what the congestion control itself tells (TCP_CC_INFO), by its name.
pub fn fill_private(fd: RawFd, congestion: &str, sample: &mut FlowSample) {
    const TCP_CC_INFO: i32 = 26;
    if !matches!(congestion, "bbr" | "vegas" | "veno" | "yeah" | "nv" | "dctcp") {
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
        "dctcp" => {
            /// DCTCP_MAX_ALPHA of net/ipv4/tcp_dctcp.c.
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
