//! What a link is made of, in the model's own terms.

use wirespeed_units::{Bytes, Rate, SimTime, Span};

/// One direction of a link with the queue before it.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkSettings {
    /// Of the transmitter; not zero.
    pub rate: Rate,
    /// Propagation, from the end of a frame's transmission to its arrival.
    pub delay: Span,
    /// Where frames wait for the transmitter.
    pub queue: QueueSettings,
    /// What is lost on the way at random.
    pub loss: LossSettings,
    /// Of the link's random streams. The loss stream of [`LossSettings::Random`] is that of sch_wire.c with this
    /// seed; the others derive from it by name.
    pub seed: u64,
    /// The most packets merged into one train; 1 is the reference mode, in which every packet is an event.
    pub train_limit: u32,
    /// Times from (included) to (excluded) in which what the transmitter ends to send is lost; ordered, disjoint.
    pub outages: Vec<(SimTime, SimTime)>,
    /// Packets that arrive later than in their turn.
    pub reorder: Option<ReorderSettings>,
    /// Packets that arrive twice.
    pub duplicate: Option<DuplicateSettings>,
    /// Forward error correction; for a link that keeps the order of packets, with a queue that decides when they come. Packets are
    /// one event each.
    pub fec: Option<FecSettings>,
    /// Limits what enters the queue.
    pub policer: Option<PolicerSettings>,
    /// Limits what leaves the transmitter.
    pub port_limit: Option<PortLimitSettings>,
    /// Transmit descriptors of a host's interface, in packets: so many of those that wait have left the queueing
    /// discipline, and one that finds them all taken goes back there once (drop-tail in packets, FQ-CoDel, fq).
    pub ring: Option<u32>,
    /// A frame is through when its transmission starts, and the next one waits as long as it lasts: a token bucket of one
    /// frame (sch_tbf.c), which is what limits a host without a machine on the kernel.
    pub bucket: bool,
    /// Later states in order of time; empty: it never changes. For a link between routers.
    pub changes: Vec<ChangeSettings>,
}

/// Packets that arrive later than in their turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReorderSettings {
    /// Probability, of each packet that is not lost.
    pub probability: f64,
    /// So much later.
    pub delay: Span,
    /// Of the random stream, which is that of sch_wire.c with this seed.
    pub seed: u64,
}

/// Packets that arrive twice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuplicateSettings {
    /// Probability, of each packet that is not lost.
    pub probability: f64,
    /// Time from the arrival of a packet to that of its copy. Zero: the copy follows directly.
    pub delay: Span,
    /// Of the random stream, which is that of sch_wire.c with this seed.
    pub seed: u64,
}

/// Forward error correction by layered interleaving.
#[derive(Debug, Clone, PartialEq)]
pub struct FecSettings {
    /// Packets of a full group.
    pub data: u32,
    /// Of each layer, in packets.
    pub interleave: Vec<u32>,
    /// The pause after which all groups end.
    pub flush: Span,
    /// The longest time that packets wait behind a missing one.
    pub hold: Span,
}

/// State of a link from a moment on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeSettings {
    /// Since the start; later than the one before.
    pub at: SimTime,
    /// Of the transmitter; of zero, it stands still.
    pub rate: Rate,
    /// Propagation of what ends to be sent from now on. Packets keep their order.
    pub delay: Span,
    /// Probability that a packet that ends to be sent from now on is lost; with [`LossSettings`] other than `None` and `Random`,
    /// that stays as it is.
    pub loss: f64,
    /// Room for waiting frames of a queue that is bounded in bytes.
    pub limit: Bytes,
}

impl LinkSettings {
    /// A link without losses, as sch_wire.c makes one: a drop-tail queue of `limit`, packets one by one.
    pub fn new(rate: Rate, delay: Span, limit: Bytes) -> LinkSettings {
        LinkSettings {
            rate,
            delay,
            queue: QueueSettings::DropTailBytes { limit: limit.get(), ecn_threshold: None },
            loss: LossSettings::None,
            seed: 0,
            train_limit: 1,
            outages: Vec::new(),
            reorder: None,
            duplicate: None,
            fec: None,
            policer: None,
            port_limit: None,
            ring: None,
            bucket: false,
            changes: Vec::new(),
        }
    }
}

/// Where frames wait for the transmitter. The frame being sent no longer counts.
#[derive(Debug, Clone, PartialEq)]
pub enum QueueSettings {
    /// First in, first out; what does not fit is dropped (kernel/qdisc/sch_wire.c).
    DropTailBytes {
        /// Room for waiting frames, bytes.
        limit: u64,
        /// A frame that finds more than this waiting, in bytes, is marked if its flow is ECN-capable (K of DCTCP;
        /// Alizadeh et al., SIGCOMM 2010, section 3.1).
        ecn_threshold: Option<u64>,
    },
    /// First in, first out, in packets (Linux sch_fifo's pfifo).
    DropTailPackets {
        /// Packets that may wait.
        limit: u32,
        /// As for [`QueueSettings::DropTailBytes`], in bytes.
        ecn_threshold: Option<u64>,
    },
    /// First in, first out, in an array of packets (Linux `pfifo_fast` since 4.16, commit c5ad119fb6c0).
    PtrRing {
        /// Places in the array (`tx_queue_len`).
        size: u32,
    },
    /// Random early detection.
    Red(RedSettings),
    /// Controlled delay.
    CoDel(CoDelSettings),
    /// Fair queueing with controlled delay.
    FqCodel(FqCodelSettings),
    /// Two coupled queues.
    DualPi2(DualPi2Settings),
    /// A host's fair queueing, which keeps packets until they are due.
    Fq(FqSettings),
}

impl QueueSettings {
    /// Room for waiting frames, where it is counted in bytes.
    pub(crate) fn limit_bytes(&self) -> Option<u64> {
        match self {
            QueueSettings::DropTailBytes { limit, .. } | QueueSettings::Red(RedSettings { limit, .. }) => {
                Some(*limit)
            }
            _ => None,
        }
    }
}

/// Random early detection (Floyd, Jacobson: Random early detection gateways for congestion avoidance, ToN 1993).
#[derive(Debug, Clone, PartialEq)]
pub struct RedSettings {
    /// Average below which nothing happens, bytes.
    pub min: u64,
    /// Average from which everything is dropped or marked, bytes (with `gentle`: at twice this).
    pub max: u64,
    /// Probability just below `max`.
    pub max_probability: f64,
    /// Weight of the newest length in the average.
    pub weight: f64,
    /// Room for waiting frames, bytes.
    pub limit: u64,
    /// Between `max` and twice `max` the probability grows from `max_probability` to 1 (Floyd, 2000).
    pub gentle: bool,
    /// Marks instead of dropping where the flow is ECN-capable.
    pub ecn: bool,
}

/// CoDel (RFC 8289; Linux sch_codel).
#[derive(Debug, Clone, PartialEq)]
pub struct CoDelSettings {
    /// Acceptable standing delay; 5 ms in the RFC and in Linux.
    pub target: Span,
    /// In which the delay must have been below `target` once; 100 ms in the RFC and in Linux.
    pub interval: Span,
    /// Packets that may wait; 1000 in Linux.
    pub limit: u32,
    /// Marks instead of dropping where the flow is ECN-capable.
    pub ecn: bool,
}

/// FQ-CoDel (RFC 8290; Linux sch_fq_codel), with a queue of its own for every flow instead of hashing.
#[derive(Debug, Clone, PartialEq)]
pub struct FqCodelSettings {
    /// Bytes a flow may send per round; one frame of 1514 in Linux.
    pub quantum: u32,
    /// As for CoDel, for each flow.
    pub target: Span,
    /// As for CoDel, for each flow.
    pub interval: Span,
    /// Packets (Linux: skbs, GSO packets where there are such) that may wait in all queues together; 10240 in Linux.
    pub limit: u32,
    /// Marks instead of dropping where the flow is ECN-capable; on in Linux.
    pub ecn: bool,
    /// What it is beside that in the host of its senders; `None`: a router's.
    pub host: Option<HostQueue>,
}

/// DualPI2 (RFC 9332, appendix A; Linux sch_dualpi2).
#[derive(Debug, Clone, PartialEq)]
pub struct DualPi2Settings {
    /// Delay that the controller aims at in the classic queue; 15 ms in Linux.
    pub target: Span,
    /// Time between updates of the probability; 16 ms in Linux.
    pub tupdate: Span,
    /// Integral gain of the controller, 1/s; 0.16 in Linux.
    pub alpha_per_s: f64,
    /// Proportional gain, 1/s; 3.2 in Linux.
    pub beta_per_s: f64,
    /// Coupling factor k; 2 in Linux.
    pub coupling: f64,
    /// Threshold of the low-latency queue.
    pub step: StepSettings,
    /// The step is applied to packets that find at least so many before them there; 0 in Linux.
    pub min_qlen_step: u32,
    /// Weight of the classic queue in the scheduler, percent; 10 in Linux.
    pub classic_protection_percent: u8,
    /// Packets are dropped when all marks of the low-latency queue are not enough; `false`: the probability ends there.
    pub drops_overload: bool,
    /// Packets that may wait in both queues together; 10,000 in Linux.
    pub limit: u32,
    /// Bytes of the largest frame: below two of them nothing is dropped or marked by the controller.
    pub largest_frame: u32,
}

/// Threshold of DualPI2's low-latency queue: a packet beyond it is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepSettings {
    /// Time in the queue; 1 ms in Linux.
    Time(Span),
    /// Packets that still wait when it leaves.
    Packets(u32),
}

/// What a host's own queue knows of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostQueue {
    /// Memory that they may take, bytes; 32 MiB in Linux (`memory_limit`).
    pub memory_limit: u64,
    /// Memory that each packet of Linux takes beside its bytes (`skb->truesize`).
    pub overhead: u64,
    /// Packets of TCP data that are one for the queue (GSO): served, counted, marked and dropped together.
    pub piece: u32,
}

/// Linux' sch_fq, with a queue of its own for every flow instead of hashing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqSettings {
    /// Bytes a flow may send per round; two frames of the largest size in Linux.
    pub quantum: u32,
    /// Bytes a flow may send at once in its first round; ten such frames in Linux.
    pub initial_quantum: u32,
    /// GSO packets (Linux: skbs) that may wait in all queues together; 10,000 in Linux.
    pub limit: u32,
    /// GSO packets of one flow that may wait; 100 in Linux.
    pub flow_limit: u32,
    /// The highest rate of each flow; `None`: unlimited, as in Linux.
    pub max_rate: Option<Rate>,
    /// A GSO packet is one packet here; `false`: what stands before the queue has split it.
    pub whole: bool,
}

/// What is lost on the way at random. A lost frame still takes its time of the transmitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LossSettings {
    /// Nothing.
    None,
    /// Each packet alike.
    Random {
        /// From 0 to 1.
        probability: f64,
    },
    /// Each bit alike; a frame with a wrong bit is discarded at the far end.
    BitError {
        /// Per bit of the frame as counted in [`Train::frame`](super::Train::frame).
        rate: f64,
    },
    /// Two states, changed at random after each packet; it starts in the good one (Gilbert: BSTJ 39, 1960;
    /// Elliott: BSTJ 42, 1963).
    GilbertElliott {
        /// Probability of the change to the bad state, per packet.
        good_to_bad: f64,
        /// Probability of the change to the good state, per packet.
        bad_to_good: f64,
        /// Loss probability of a packet in the good state.
        loss_good: f64,
        /// Loss probability of a packet in the bad state.
        loss_bad: f64,
    },
}

/// A token bucket that drops what exceeds it, before the queue. It starts full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PolicerSettings {
    /// At which it fills; not zero.
    pub rate: Rate,
    /// What it holds. A frame larger than this never passes.
    pub burst: Bytes,
}

/// The real capacity of a port behind its queue.
///
/// The study `onl-wiki` (ARL Open Network Laboratory, "Some Gigabit TCP Experiments") found that a port set to
/// 1 Gbit/s really carries 970 Mbit/s, and that its TX block drops the excess *after* the queue, unseen by the
/// queue's statistics: no queue builds up, and flows lose packets all the same. So packets leave the queue at
/// [`LinkSettings::rate`], and a bucket of what the port really carries drops what it has no token for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortLimitSettings {
    /// What the port really carries; not zero.
    pub rate: Rate,
    /// The buffer of its TX block: how far the port may run ahead of `rate`.
    pub burst: Bytes,
}
