//! `struct tcp_info` (linux/tcp.h), read by offset so that an older kernel's shorter answer leaves the rest out.
//! Units are the kernel's: packets, bytes, bytes a second, microseconds.

use crate::netlink::unsigned;

/// A field: its name, where it begins and how many bytes it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name in the kernel.
    pub name: &'static str,
    at: usize,
    size: usize,
}

impl Field {
    /// Its value in an answer of the kernel; `None` if that ends before it.
    pub fn of(self, info: &[u8]) -> Option<u64> {
        unsigned(info.get(self.at..self.at + self.size)?)
    }

    /// Whether it counts modulo 2^32.
    pub fn is_32_bits(self) -> bool {
        self.size == 4
    }
}

macro_rules! fields {
    ($($constant:ident = $name:literal, $at:literal, $size:literal;)+) => {
        $(
            #[doc = concat!("`", $name, "`")]
            pub const $constant: Field = Field { name: $name, at: $at, size: $size };
        )+
    };
}

fields! {
    STATE = "tcpi_state", 0, 1;
    CA_STATE = "tcpi_ca_state", 1, 1;
    BACKOFF = "tcpi_backoff", 4, 1;
    APP_LIMITED = "tcpi_delivery_rate_app_limited", 7, 1;
    RTO = "tcpi_rto", 8, 4;
    SND_MSS = "tcpi_snd_mss", 16, 4;
    UNACKED = "tcpi_unacked", 24, 4;
    SACKED = "tcpi_sacked", 28, 4;
    LOST = "tcpi_lost", 32, 4;
    RETRANS = "tcpi_retrans", 36, 4;
    RTT = "tcpi_rtt", 68, 4;
    RTTVAR = "tcpi_rttvar", 72, 4;
    SND_SSTHRESH = "tcpi_snd_ssthresh", 76, 4;
    SND_CWND = "tcpi_snd_cwnd", 80, 4;
    REORDERING = "tcpi_reordering", 88, 4;
    RCV_RTT = "tcpi_rcv_rtt", 92, 4;
    RCV_SPACE = "tcpi_rcv_space", 96, 4;
    TOTAL_RETRANS = "tcpi_total_retrans", 100, 4;
    PACING_RATE = "tcpi_pacing_rate", 104, 8;
    BYTES_ACKED = "tcpi_bytes_acked", 120, 8;
    BYTES_RECEIVED = "tcpi_bytes_received", 128, 8;
    SEGS_OUT = "tcpi_segs_out", 136, 4;
    SEGS_IN = "tcpi_segs_in", 140, 4;
    NOTSENT_BYTES = "tcpi_notsent_bytes", 144, 4;
    MIN_RTT = "tcpi_min_rtt", 148, 4;
    DATA_SEGS_IN = "tcpi_data_segs_in", 152, 4;
    DATA_SEGS_OUT = "tcpi_data_segs_out", 156, 4;
    DELIVERY_RATE = "tcpi_delivery_rate", 160, 8;
    BUSY_TIME = "tcpi_busy_time", 168, 8;
    RWND_LIMITED = "tcpi_rwnd_limited", 176, 8;
    SNDBUF_LIMITED = "tcpi_sndbuf_limited", 184, 8;
    DELIVERED = "tcpi_delivered", 192, 4;
    DELIVERED_CE = "tcpi_delivered_ce", 196, 4;
    BYTES_SENT = "tcpi_bytes_sent", 200, 8;
    BYTES_RETRANS = "tcpi_bytes_retrans", 208, 8;
    DSACK_DUPS = "tcpi_dsack_dups", 216, 4;
    REORD_SEEN = "tcpi_reord_seen", 220, 4;
    RCV_OOOPACK = "tcpi_rcv_ooopack", 224, 4;
    SND_WND = "tcpi_snd_wnd", 228, 4;
    TOTAL_RTO = "tcpi_total_rto", 240, 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_missing_in_an_older_kernel_are_none() {
        let mut info = vec![0; 104];
        info[100] = 7;
        assert_eq!(TOTAL_RETRANS.of(&info), Some(7));
        assert_eq!(PACING_RATE.of(&info), None);
    }
}
