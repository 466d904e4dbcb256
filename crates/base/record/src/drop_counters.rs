//! Names of counters of drops and retransmissions that BPF watches.

/// Before the name of a counter of packets that the kernel dropped, by its own reason.
pub const DROPPED: &str = "bpf/dropped ";
/// Packets that the watch missed: they are counted elsewhere, without a reason.
pub const MISSED: &str = "bpf/missed";
/// Before the name of a counter of retransmitted packets, by the kernel's reason for dropping them before, at the host that did.
pub const SENT_AGAIN_FOR: &str = "bpf/sent_again for ";
/// Packets retransmitted without a recorded drop: they were lost elsewhere, or the retransmission was spurious. At the sender.
pub const SENT_AGAIN_UNMATCHED: &str = "bpf/sent_again unmatched";
/// Packets retransmitted without a recorded drop, which the receiver then dropped because it had their payload. At the sender.
pub const SENT_AGAIN_SPURIOUS: &str = "bpf/sent_again spurious";

/// Reasons for which a receiver drops payload that it has (net/ipv4/tcp_input.c: `tcp_sequence`, `tcp_data_queue`,
/// `tcp_data_queue_ofo`, PAWS). Such packets arrived as duplicates: nothing was lost by it, and it explains no retransmission.
pub const DUPLICATES: [&str; 5] =
    ["TCP_OLD_SEQUENCE", "TCP_OLD_DATA", "TCP_OFOMERGE", "TCP_RFC7323_PAWS", "TCP_RFC7323_PAWS_ACK"];
/// Reasons that concern acknowledgements without payload, or connections that have ended: nothing was lost by it either.
pub const WITHOUT_PAYLOAD: [&str; 6] =
    ["TCP_OLD_ACK", "TCP_TOO_OLD_ACK", "TCP_ACK_UNSENT_DATA", "TCP_CLOSE", "TCP_RESET", "TCP_FLAGS"];
