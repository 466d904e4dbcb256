//! The tables of a recording. Units are in the column names; what was not measured is null, never 0.

use crate::cause::Cause;
use crate::event_kind::EventKind;
use crate::queue_class::QueueClass;
use crate::stage::{Direction, Entry, Stage};
use crate::table::table;

table! {
    /// State of a flow at one instant of the sampling grid; sender and receiver share one clock.
    /// TCP columns are null for UDP, and what only an end knows that was not observed is null too. Counters are cumulative since
    /// the flow's start.
    #[derive(Default)]
    "flows" FlowSample {
        /// Time since the start of the run.
        t_ns: i64,
        /// Number of the flow.
        flow: u32,
        /// Payload that reached the receiver in order, cumulative (`tcpi_bytes_received`; UDP: payload of distinct datagrams).
        delivered_bytes: Option<u64>,
        /// Payload that the receiving application has read, cumulative.
        read_bytes: Option<u64>,
        /// Payload put on the wire, retransmissions included (`tcpi_bytes_sent`).
        sent_bytes: Option<u64>,
        /// Payload acknowledged (`tcpi_bytes_acked`, RFC 4898 tcpEStatsAppHCThruOctetsAcked; the kernel counts SYN and FIN as a byte each).
        acked_bytes: Option<u64>,
        /// Payload retransmitted (`tcpi_bytes_retrans`).
        retrans_bytes: Option<u64>,
        /// Data packets sent, retransmissions included (`tcpi_data_segs_out`).
        data_packets_out: Option<u64>,
        /// Data packets that arrived at the receiver's TCP (`tcpi_data_segs_in` of the receiver).
        data_packets_in: Option<u64>,
        /// Packets retransmitted (`tcpi_total_retrans`).
        retrans_packets: Option<u64>,
        /// Congestion window (`tcpi_snd_cwnd` x `tcpi_snd_mss`).
        cwnd_bytes: Option<u64>,
        /// Slow-start threshold; null while it is infinite.
        ssthresh_bytes: Option<u64>,
        /// Smoothed round-trip time (`tcpi_rtt`).
        rtt_ns: Option<i64>,
        /// Round-trip time variation (`tcpi_rttvar`).
        rttvar_ns: Option<i64>,
        /// Least round-trip time seen in the filter's window (`tcpi_min_rtt`).
        min_rtt_ns: Option<i64>,
        /// Retransmission timeout (`tcpi_rto`).
        rto_ns: Option<i64>,
        /// Sender's maximum segment size (`tcpi_snd_mss`).
        mss_bytes: Option<u32>,
        /// Packets outstanding (`tcpi_unacked`).
        unacked_packets: Option<u32>,
        /// Packets selectively acknowledged (`tcpi_sacked`).
        sacked_packets: Option<u32>,
        /// Packets presumed lost and not yet retransmitted (`tcpi_lost`).
        lost_packets: Option<u32>,
        /// Retransmitted packets outstanding (`tcpi_retrans`).
        retrans_out_packets: Option<u32>,
        /// Congestion state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss (`tcpi_ca_state`).
        ca_state: Option<u32>,
        /// Backed-off retransmission timeouts in a row (`tcpi_backoff`).
        backoff: Option<u32>,
        /// Packets delivered, as the sender knows (`tcpi_delivered`).
        delivered_packets: Option<u64>,
        /// Packets delivered with a congestion mark (`tcpi_delivered_ce`).
        delivered_ce_packets: Option<u64>,
        /// Most recent delivery rate sample (`tcpi_delivery_rate`).
        delivery_rate_bps: Option<u64>,
        /// Whether that sample was limited by the application.
        delivery_app_limited: Option<bool>,
        /// Pacing rate; null while unlimited (`tcpi_pacing_rate`).
        pacing_rate_bps: Option<u64>,
        /// Time with data outstanding or to send (`tcpi_busy_time`).
        busy_ns: Option<i64>,
        /// Time stalled by the receive window (`tcpi_rwnd_limited`).
        rwnd_limited_ns: Option<i64>,
        /// Time stalled by the send buffer (`tcpi_sndbuf_limited`).
        sndbuf_limited_ns: Option<i64>,
        /// Reordering distance assumed (`tcpi_reordering`).
        reordering_packets: Option<u32>,
        /// Reordering events seen (`tcpi_reord_seen`).
        reordering_seen: Option<u32>,
        /// DSACK blocks received: what was retransmitted for nothing (`tcpi_dsack_dups`).
        dsack_dups: Option<u32>,
        /// Retransmission timeouts (`tcpi_total_rto`).
        rto_count: Option<u32>,
        /// Bytes written by the application and not sent yet (`tcpi_notsent_bytes`).
        notsent_bytes: Option<u32>,
        /// Peer's advertised window (`tcpi_snd_wnd`).
        snd_wnd_bytes: Option<u32>,
        /// Receiver's out-of-order packets so far (`tcpi_rcv_ooopack` of the receiver).
        ooo_packets: Option<u32>,
        /// Receiver's target for its buffer (`tcpi_rcv_space` of the receiver).
        rcv_space_bytes: Option<u32>,
        /// Receiver's estimate of the round-trip time (`tcpi_rcv_rtt` of the receiver).
        rcv_rtt_ns: Option<i64>,
        /// BBR's bottleneck bandwidth estimate.
        bbr_bw_bps: Option<u64>,
        /// BBR's propagation round-trip time estimate.
        bbr_min_rtt_ns: Option<i64>,
        /// BBR's pacing gain.
        bbr_pacing_gain_ratio: Option<f64>,
        /// BBR's window gain.
        bbr_cwnd_gain_ratio: Option<f64>,
        /// Vegas: whether it is in its delay-based mode.
        vegas_enabled: Option<bool>,
        /// Vegas: round-trip times counted in this window.
        vegas_rtt_count: Option<u32>,
        /// Vegas: least round-trip time of the connection (`tcpv_rtt`).
        vegas_rtt_ns: Option<i64>,
        /// Vegas: least round-trip time of the round trip that is measured (`tcpv_minrtt`).
        vegas_min_rtt_ns: Option<i64>,
        /// DCTCP: smoothed fraction of marked bytes.
        dctcp_alpha_ratio: Option<f64>,
    }
}

impl CoreSample {
    /// A core of node 0 that has done nothing so far.
    pub fn idle(t_ns: i64, host: &str, core: u32) -> CoreSample {
        CoreSample {
            t_ns,
            host: host.to_owned(),
            core,
            node: 0,
            hardirq_ns: 0,
            softirq_ns: 0,
            ksoftirqd_ns: 0,
            app_ns: 0,
            capture_ns: 0,
            load_ns: 0,
            squeezed: 0,
        }
    }
}

impl FlowSample {
    /// A sample with nothing measured.
    pub fn empty(t_ns: i64, flow: u32) -> FlowSample {
        FlowSample { t_ns, flow, ..FlowSample::default() }
    }
}

table! {
    /// A queue (a queueing discipline, or the model's equal) at one instant. Counters are cumulative.
    "queues" QueueSample {
        /// Time since the start of the run.
        t_ns: i64,
        /// Name of the queue: `HOST/qdisc` at an end host, `LINK/forward` or `LINK/reverse` at a link.
        queue: String,
        /// What implements it, e.g. `pfifo_fast`, `fq`, `tbf`.
        kind: String,
        /// Bytes waiting.
        backlog_bytes: u64,
        /// Packets waiting.
        backlog_packets: u64,
        /// Bytes sent, cumulative.
        sent_bytes: u64,
        /// Packets sent, cumulative.
        sent_packets: u64,
        /// Packets dropped before the transmitter, cumulative: by the full queue, its management (RED, CoDel) or the policer.
        dropped_packets: u64,
        /// Packets lost behind the queue, cumulative: at random, to bit errors, in an outage or at the port's limit; null at an end host.
        lost_packets: Option<u64>,
        /// Packets that the link delivered twice, cumulative. Null at end hosts and links without this counter.
        copied_packets: Option<u64>,
        /// Repair packets that the link's encoder sent, cumulative; null without forward error correction.
        repair_packets: Option<u64>,
        /// Repair packets that reached the link's decoder, cumulative; null without forward error correction.
        decoded_packets: Option<u64>,
        /// Lost packets that the link's decoder recovered, cumulative; null without forward error correction.
        recovered_packets: Option<u64>,
        /// Packets handed back by a busy device, cumulative.
        requeues: u64,
        /// Times it had to wait for its own rate, cumulative.
        overlimits: u64,
        /// Packets marked with congestion experienced, cumulative; null where the queue cannot mark.
        marked_packets: Option<u64>,
    }
}

table! {
    /// An interface of a host and the host's receive path at one instant. Counters are cumulative.
    "hosts" HostSample {
        /// Time since the start of the run.
        t_ns: i64,
        /// Host (or router).
        host: String,
        /// Interface.
        device: String,
        /// Packets received.
        rx_packets: u64,
        /// Bytes received.
        rx_bytes: u64,
        /// Packets dropped on receive, by the interface.
        rx_dropped: u64,
        /// Packets sent.
        tx_packets: u64,
        /// Bytes sent.
        tx_bytes: u64,
        /// Packets dropped on transmit, by the interface.
        tx_dropped: u64,
        /// Packets dropped because the softnet backlog was full; null where it cannot be told by host.
        softnet_dropped: Option<u64>,
        /// Times the softnet budget ran out with work left; null where it cannot be told by host.
        softnet_squeezed: Option<u64>,
    }
}

table! {
    /// Where the time of a core went, cumulative since the start of the run. Cores that never worked have no rows.
    "cores" CoreSample {
        /// Time since the start of the run.
        t_ns: i64,
        /// Host.
        host: String,
        /// Number of the core.
        core: u32,
        /// NUMA node it is on.
        node: u32,
        /// In interrupts.
        hardirq_ns: i64,
        /// In softirq at the end of an interrupt.
        softirq_ns: i64,
        /// In softirq handed to the thread ksoftirqd.
        ksoftirqd_ns: i64,
        /// In applications that send or receive, system calls included.
        app_ns: i64,
        /// In a packet capture.
        capture_ns: i64,
        /// In other work.
        load_ns: i64,
        /// Softirq rounds that used up their budget (`time_squeeze` of softnet_stat).
        squeezed: u64,
    }
}

table! {
    /// Time of the thread that sends or receives a flow on a real host, cumulative since the thread began (field 1 and 2 of
    /// `/proc/PID/task/TID/schedstat`). A thread that waits for data or for room in a buffer is neither running nor waiting.
    "threads" ThreadSample {
        /// Time since the start of the run.
        t_ns: i64,
        /// Host.
        host: String,
        /// Number of the flow.
        flow: u32,
        /// Whether it receives; otherwise it sends.
        receives: bool,
        /// Running on a core.
        run_ns: i64,
        /// Ready to run while all cores it may use were taken.
        wait_ns: i64,
    }
}

table! {
    /// A protocol counter (SNMP, TcpExt, ...) of a host at the start and the end of the run.
    "counters" Counter {
        /// Host.
        host: String,
        /// Name as the kernel gives it, e.g. `TcpExtTCPBacklogDrop`.
        counter: String,
        /// Value before the first flow.
        before: u64,
        /// Value at the end.
        after: u64,
    }
}

table! {
    /// Something that happened once.
    "events" Event {
        /// When.
        t_ns: i64,
        /// What happened: `flow_start`, `flow_written`, `flow_end`, `flow_error`, `requeue`, `link_down`, `link_up`, `mtu_black_hole`,
        /// `other_load` or `iperf3_error`.
        kind: EventKind,
        /// Number of the flow, if it concerns one.
        flow: Option<u32>,
        /// Host, if it concerns one.
        host: Option<String>,
        /// What a person wants to know.
        detail: String,
        /// Number of the packet in its burst, from 1; null unless `kind` is `requeue`. A burst is what a host sends between two pauses of
        /// its interface.
        burst_packet: Option<u64>,
    }
}

table! {
    /// A datagram of a UDP flow. Every datagram that was sent has a row, so has every duplicate.
    "datagrams" Datagram {
        /// Number of the flow.
        flow: u32,
        /// Number of the datagram within the flow, from 0.
        sequence: u64,
        /// When it was sent.
        sent_ns: i64,
        /// When it arrived; null if it never did.
        arrived_ns: Option<i64>,
        /// How many datagrams with a higher number had arrived before it (0: in order).
        reordered_by: u32,
        /// Whether the same datagram had arrived before.
        duplicate: bool,
    }
}

table! {
    /// A file of a data set, or the response to a request. Files that no stream has begun have no row.
    "exchanges" Exchange {
        /// Number of the flow.
        flow: u32,
        /// Number of the file in its data set, or of the request on its connection, from 0.
        number: u64,
        /// Bytes of the file or of the response.
        bytes: u64,
        /// When the sender began the file, or when the receiver wrote the request.
        begin_ns: i64,
        /// When the receiver had read the first byte; null if that was not noted.
        first_ns: Option<i64>,
        /// When the receiver had read the last byte; null if it never did.
        end_ns: Option<i64>,
    }
}

table! {
    /// Packets that left a class of a queue since the sample before, by the time that they had waited there. Times within a sixteenth
    /// of each other share a row. Only of queues with classes (`dualpi2`).
    "queue_delays" QueueDelay {
        /// End of the interval, since the start of the run.
        t_ns: i64,
        /// Name of the queue: `LINK/forward` or `LINK/reverse`.
        queue: String,
        /// Class: `low_latency` (ECT(1) and CE) or `classic`.
        class: QueueClass,
        /// The longest of the times that the row stands for.
        up_to_ns: i64,
        /// Packets that were sent.
        packets: u64,
        /// Bytes of their frames.
        bytes: u64,
        /// Sum of the times that they had waited.
        sum_ns: i64,
        /// Of these packets, those that the queue marked with congestion experienced.
        marked_packets: u64,
        /// Packets that the queue's management dropped after such a time, beside those that were sent.
        dropped_packets: u64,
    }
}

table! {
    /// The loss ledger: where packets went. For each direction, sent + copied + repair + recovered = delivered + decoded + lost + in flight + unexplained.
    "ledger" LedgerRow {
        /// Data (the way the flows send) or ACKs.
        direction: Direction,
        /// Which side of the account: `sent`, `delivered`, `lost`, `in_flight`, `unexplained`. `copied`: copies made by the network. `repair`, `decoded`, `recovered`: repair packets sent and decoded by forward error correction, and lost packets that it recovered. `unseen`: not counted after it was sent.
        entry: Entry,
        /// Where it was lost or is in flight; null for the other entries.
        stage: Option<Stage>,
        /// The queue, host or interface concerned, e.g. `sender/qdisc`.
        place: String,
        /// Why a link or a queue dropped or lost the packets, e.g. `queue_full`, `policer`; null where that is not known, and for the other entries.
        cause: Option<Cause>,
        /// Packets. Negative only for `unexplained`, when more arrived than can be accounted for.
        packets: i64,
        /// The counter it was read from.
        source: String,
    }
}

table! {
    /// The loss ledger by interval, where the hosts' counters were read while the run went on: in each interval and direction, sent = delivered + lost +
    /// in flight + unexplained. For every direction, entry, stage, place and cause the packets of all intervals add up to those of the ledger. What is 0 in an
    /// interval has no row, but for `sent` and `delivered`.
    "ledger_intervals" LedgerInterval {
        /// Start of the interval, since the start of the run.
        from_ns: i64,
        /// Its end. The last one has what came to an end after the run, too.
        to_ns: i64,
        /// Data (the way the flows send) or ACKs.
        direction: Direction,
        /// As in the ledger. `in_flight` is by how much more was on its way at the end of the interval than at its start, as
        /// far as both ends were read in one instant: negative if less.
        entry: Entry,
        /// As in the ledger.
        stage: Option<Stage>,
        /// As in the ledger.
        place: String,
        /// As in the ledger.
        cause: Option<Cause>,
        /// Packets.
        packets: i64,
        /// The interval's account of this direction is known within so many packets: those on their way at its borders, and those that passed while
        /// the hosts' counters were read and their clocks did not agree.
        uncertain_packets: u64,
    }
}
