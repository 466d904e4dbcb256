//! The words of a diagnosis: stages of the ledger, limiting factors, causes of losses and the kernel's drop reasons.

use wirespeed_diagnosis::LIMITS;
use wirespeed_record::{Cause, Stage};

/// The meaning of a word of a diagnosis, and what to do; `None` for other words. Numbers, places in brackets and case do not matter:
/// `sender core 3` and `cwnd after loss at qdisc (queue full)` are found, too.
pub fn explain(word: &str) -> Option<String> {
    let asked = plain(word);
    let stage = Stage::ALL.iter().find(|stage| plain(stage.word()) == asked);
    let cause = Cause::ALL.iter().find(|cause| [plain(cause.word()), plain(cause.name())].contains(&asked));
    let limit =
        LIMITS.iter().filter(|limit| asked.starts_with(&plain(limit))).max_by_key(|limit| limit.len());
    let entry = ENTRIES.iter().find(|(name, _)| plain(name) == asked);
    let reason = REASONS.iter().find(|(name, _)| plain(name) == asked);
    let found = [
        stage.map(|stage| format!("stage {stage}: {}\n", of_stage(*stage))),
        cause.map(|cause| format!("cause {}: {}.\n", cause.name(), cause.advice())),
        limit.map(|limit| format!("limiting factor {limit}: {}\n", of_limit(limit))),
        entry.map(|(name, about)| format!("{name}: {about}\n")),
        reason.map(|(name, about)| format!("drop reason {name}: {about}\n")).or_else(|| unknown_reason(word)),
    ];
    let found: Vec<String> = found.into_iter().flatten().collect();
    (!found.is_empty()).then(|| found.concat())
}

/// Small letters and single spaces, without what stands in brackets, after a colon or as a number at the end.
fn plain(word: &str) -> String {
    let text = word.split(['(', ':']).next().unwrap_or_default().replace('_', " ").to_lowercase();
    let parts: Vec<&str> = text.split_whitespace().collect();
    let numbered = parts.last().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
    parts[..parts.len() - usize::from(numbered)].join(" ")
}

fn of_stage(stage: Stage) -> &'static str {
    match stage {
        Stage::SndBuf => {
            "the send buffer of the socket. Nothing is lost there; a flow waits there if net.ipv4.tcp_wmem is too small."
        }
        Stage::IpOut => {
            "between TCP and the queue of the interface. Packets are dropped there without a route or a neighbour, or if \
             they are larger than the MTU. Look at `ip route get ADDRESS` and `ip neigh`."
        }
        Stage::Qdisc => {
            "the queueing discipline of the sending host. It drops what finds its limit reached. Raise its limit or \
             txqueuelen, use fq, or pace the flow. Look at `tc -s qdisc show dev DEVICE`."
        }
        Stage::TxRing => {
            "the transmit descriptors of the interface. A full ring hands packets back to the qdisc, so losses are rare."
        }
        Stage::Network => {
            "everything between the two hosts: packets that were sent, that did not arrive, and that no counter of either \
             host explains. Ask the operator of the path."
        }
        Stage::NetworkOrHost => {
            "the network, or a host on which no agent runs (an iperf3 server): it is not known which. Compare the \
             counters of that host, such as UdpRcvbufErrors in `nstat`, with the number of lost packets."
        }
        Stage::RxRing => {
            "the receive descriptors of the interface. The host emptied the ring too late. Enlarge it with `ethtool -G`, \
             or spread interrupts over cores."
        }
        Stage::SoftnetBacklog => {
            "the backlog of a core between interface and stack. One core takes in more than it can. Raise \
             net.core.netdev_max_backlog, or spread packets with RSS or RPS."
        }
        Stage::Netfilter => {
            "packet filters of a host (nftables, iptables, tc, XDP) and its checks of routes and addresses. Look at `nft \
             list ruleset`, `iptables -nvL` and net.ipv4.conf.*.rp_filter. Only BPF sees these drops: the agent has to \
             run as root."
        }
        Stage::TcpBacklog => {
            "the backlog of a socket while its reader holds the lock. Give the reader a core of its own."
        }
        Stage::TcpOfo => {
            "the queue of packets that arrived out of order and found no room. Raise net.ipv4.tcp_rmem, or find what \
             reorders packets."
        }
        Stage::RcvBuf => {
            "the receive buffer of the socket. Its reader was too slow for its size. UDP: raise net.core.rmem_max and the \
             socket's buffer. TCP: raise net.ipv4.tcp_rmem."
        }
        Stage::App => {
            "the receiving application: no process listened on the port, or it did not accept the connection."
        }
    }
}

fn of_limit(limit: &str) -> &'static str {
    match limit {
        "application" => {
            "the sending application wrote less than could have been sent. Of a flow of wirespeed: its thread waited."
        }
        "receiving application" => {
            "data lay unread in the receive buffer, and no core was full. The receiving thread waited for something else."
        }
        "sender core" => {
            "the core of the sending thread had no time left. `shared with other processes`: the processes are listed \
             under `Other load on the hosts`. Move them, or pin the test to another core."
        }
        "receiver core" => "the core of the receiving thread had no time left while data lay unread.",
        "receiver interrupt core" => {
            "the core that brings packets to the receiving socket had no time left. Spread its interrupts (RSS, RPS), or \
             enable GRO."
        }
        "send buffer" => {
            "TCP reports that the send buffer was full while the window had room (sndbuf_limited). Raise the third value \
             of net.ipv4.tcp_wmem at the sender."
        }
        "receive window" => {
            "TCP reports that the receiver's window stopped it (rwnd_limited) although the receiving application had read \
             what arrived. Raise the third value of net.ipv4.tcp_rmem at the receiver to twice the rate times the \
             round-trip time."
        }
        "path rate" => {
            "packets wait in a queue of the path: the round-trip time stays above its minimum. The path carries no more."
        }
        "cwnd after loss" => {
            "the congestion window, reduced after losses. The stage that lost most packets is named after `at`."
        }
        "cwnd" => {
            "the congestion window, which was still growing, or which is as large as its algorithm lets it be."
        }
        "nothing delivered" => {
            "there was something to send, and the receiver got nothing in the whole interval. The reason is named if it \
             is known: a link that was down, or an MTU that is too large."
        }
        _ => "a core was full, and processes of others had a part of it.",
    }
}

/// Entries of the ledger, and other words around it.
const ENTRIES: &[(&str, &str)] = &[
    ("sent", "packets that the sending sockets put out, retransmissions included."),
    ("delivered", "packets that arrived at the receiving sockets and were not dropped there."),
    ("lost", "packets that were sent and not delivered, by the stage that lost them."),
    ("in flight", "packets on their way when the counters were read."),
    ("unseen", "packets whose arrival is not counted, as an iperf3 server counts bytes only."),
    (
        "unexplained",
        "packets that the counters do not account for. Negative: the hosts count more losses than packets are missing, \
         since other traffic was lost, too.",
    ),
    ("held back", "the factor that limited a flow in an interval: column `by` of `held_back` in --json."),
    ("other load", "processes that are not of the test and used at least a fifth of a core during the run."),
];

/// Reasons of the kernel (include/net/dropreason-core.h) that a test meets.
const REASONS: &[(&str, &str)] = &[
    ("NETFILTER_DROP", "a rule of nftables or iptables dropped the packet: stage netfilter."),
    ("TC_INGRESS", "a tc filter or action dropped the packet on arrival: stage netfilter."),
    ("TC_EGRESS", "a tc filter or action dropped the packet before the queue: stage netfilter."),
    ("XDP", "an XDP program dropped the packet: stage netfilter."),
    ("BPF_CGROUP_EGRESS", "a BPF program of a cgroup dropped the packet: stage netfilter."),
    ("SOCKET_FILTER", "a filter of the socket dropped the packet: stage netfilter."),
    ("XFRM_POLICY", "the IPsec policy dropped the packet: stage netfilter."),
    (
        "IP_RPFILTER",
        "the host would not answer to that source by this interface (rp_filter): stage netfilter.",
    ),
    ("IP_LOCAL_SOURCE", "the packet came from outside with an address of this host: stage netfilter."),
    ("IP_INVALID_SOURCE", "the source address cannot be one: stage netfilter."),
    ("IP_INNOROUTES", "the host has no route for the packet: stage netfilter."),
    ("IP_INADDRERRORS", "the address is none of this host's: stage netfilter."),
    ("UNICAST_IN_L2_MULTICAST", "a unicast packet came in a multicast frame: stage netfilter."),
    (
        "QDISC_DROP",
        "the queueing discipline dropped the packet, mostly as its limit was reached: stage qdisc.",
    ),
    ("NEIGH_FAILED", "the next hop did not answer ARP: stage ip_out."),
    ("NEIGH_CREATEFAIL", "the neighbour table had no room: stage ip_out."),
    ("NEIGH_DEAD", "the neighbour's entry was removed: stage ip_out."),
    ("NEIGH_QUEUEFULL", "too many packets waited for ARP: stage ip_out."),
    ("SOCKET_RCVBUFF", "the receive buffer of the socket was full: stage rcvbuf."),
    ("SOCKET_BACKLOG", "the backlog of the socket was full: stage tcp_backlog."),
    ("CPU_BACKLOG", "the backlog of a core was full: stage softnet_backlog."),
    ("TCP_OFO_DROP", "out of order, and no memory in the receive buffer: stage tcp_ofo."),
    ("TCP_ZEROWINDOW", "data came into a closed window: stage rcvbuf."),
    ("TCP_OVERWINDOW", "data came beyond the window: stage rcvbuf."),
    ("TCP_OLD_DATA", "a duplicate: the receiver had that payload. Nothing was lost."),
    ("TCP_OLD_SEQUENCE", "a duplicate: the receiver had that payload. Nothing was lost."),
    ("TCP_OFOMERGE", "a duplicate: the receiver had that payload out of order. Nothing was lost."),
    ("TCP_RFC7323_PAWS", "an old duplicate, by its time stamp. Nothing was lost."),
    ("TCP_RFC7323_PAWS_ACK", "an old acknowledgement, by its time stamp. Nothing was lost."),
    ("TCP_OLD_ACK", "an acknowledgement of what had been acknowledged. Nothing was lost."),
    ("TCP_TOO_OLD_ACK", "an acknowledgement older than the largest window. Nothing was lost."),
    ("TCP_ACK_UNSENT_DATA", "an acknowledgement of what had not been sent. Nothing was lost."),
    ("TCP_CLOSE", "a packet of a connection that had ended. Nothing was lost."),
    ("TCP_RESET", "a packet that reset a connection. Nothing was lost."),
    ("TCP_FLAGS", "a packet whose flags did not fit the state of the connection."),
    (
        "NOT_SPECIFIED",
        "the kernel names no reason, as of GSO packets whose packets were dropped one by one before.",
    ),
    ("NO_SOCKET", "no process listened on the port."),
];

/// A reason of the kernel that has no line here.
fn unknown_reason(word: &str) -> Option<String> {
    let is_reason = word.contains('_')
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    is_reason.then(|| {
        format!("drop reason {word}: a name of the kernel; include/net/dropreason-core.h of its source explains it\n")
    })
}

#[cfg(feature = "linux")]
#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::{DUPLICATES, WITHOUT_PAYLOAD};

    #[test]
    fn every_word_of_a_diagnosis_is_explained() {
        let stages = Stage::ALL.iter().map(|stage| stage.word());
        let causes = Cause::ALL.iter().flat_map(|cause| [cause.word(), cause.name()]);
        let reasons = REASONS.iter().map(|(name, _)| *name);
        let entries = ENTRIES.iter().map(|(name, _)| *name);
        let all = stages.chain(causes).chain(LIMITS).chain(reasons).chain(entries);
        for word in all
            .chain(DUPLICATES)
            .chain(WITHOUT_PAYLOAD)
            .chain(wirespeed_ledger::hosts::drop_reasons::drop_reasons())
        {
            let told = explain(word).unwrap_or_else(|| panic!("{word}"));
            assert!(told.split_whitespace().count() > 4, "{told}");
        }
        for limit in LIMITS {
            assert!(limit == "shared" || !of_limit(limit).starts_with("a core was full, and"), "{limit}");
        }
    }

    #[test]
    fn numbers_and_places_do_not_matter() {
        for (word, start) in [
            ("sender core 3", "limiting factor sender core:"),
            ("cwnd after loss at qdisc (queue full)", "limiting factor cwnd after loss:"),
            (
                "receiver interrupt core 0 (shared with other processes)",
                "limiting factor receiver interrupt core:",
            ),
            ("Receive Window", "limiting factor receive window:"),
            ("queue full", "cause queue full:"),
            ("FQ_BAND_LIMIT", "drop reason FQ_BAND_LIMIT:"),
        ] {
            assert!(explain(word).unwrap().starts_with(start), "{word}");
        }
        assert_eq!(explain("goodput_bps"), None);
        assert_eq!(explain(""), None);
    }
}
