//! Links: what a packet meets between two routers.

use super::{Change, Fec};
use serde::{Deserialize, Serialize};
use wirespeed_units::{Bytes, Rate, Span};

/// A link between two routers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Unique name, `bottleneck` for a single link.
    pub name: String,
    /// Left to right.
    pub forward: Direction,
    /// Right to left.
    pub reverse: Direction,
    /// What stands for the link on a Linux kernel.
    pub emulator: Emulator,
    /// The routers it joins, the left one first, if it is no link of the chain but beside it. Stored only then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<[usize; 2]>,
}

/// What stands for a link on a Linux kernel; a model has links of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Emulator {
    /// The queueing discipline of kernel/qdisc/sch_wire.c: exact rate, buffer in bytes, losses told apart.
    #[default]
    Wire,
    /// Mainline netem (loss, delay) with tbf (rate, buffer in bytes) behind it; packet times are rounded to whole
    /// nanoseconds, loss probabilities to 2^-32, and a packet is delayed before the queue instead of after it.
    Netem,
}

/// One direction of a link. A packet meets, in this order: the encoder, the policer, the queue, the line at `rate`, the port's
/// limit, outages, random loss, propagation, the decoder.
///
/// What is at its default is not stored, so that a recorded run of an older file is still known as the same run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Direction {
    /// Rate, counted over Ethernet frames without preamble, FCS and gap.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Span,
    /// Probability that a packet is lost, each independently; 0 under another [`LossModel`] than `Independent`.
    pub loss: f64,
    /// Room in the queue before the link, in frame bytes, whatever its discipline: a packet that does not fit is
    /// dropped (by FQ-CoDel, packets of the longest flow). The frame being sent does not count.
    pub buffer: Bytes,
    /// What decides which packets of the queue are dropped or marked, and which is sent next.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queue: Queue,
    /// How random losses fall.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loss_model: LossModel,
    /// From and to, since the run's start, in order and apart: a packet whose last bit is sent at `from` or later
    /// and before `to` is lost. The queue goes on being served.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outages: Vec<(Span, Span)>,
    /// Packets that others overtake.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reorder: Option<Reorder>,
    /// Packets that arrive twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub duplicate: Option<Duplicate>,
    /// Repair packets before the queue, and their decoder at the far end.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fec: Option<Fec>,
    /// Drops before the queue what exceeds a rate.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policer: Option<Policer>,
    /// Drops after the queue what exceeds what the port really carries.
    #[serde(default, skip_serializing_if = "is_default")]
    pub port_limit: Option<PortLimit>,
    /// Changes during the run, in order of time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub changes: Vec<Change>,
}

impl Link {
    /// Propagation both ways.
    pub fn rtt(&self) -> Span {
        self.forward.delay + self.reverse.delay
    }

    /// Whether a direction has forward error correction.
    pub fn is_protected(&self) -> bool {
        self.forward.fec.is_some() || self.reverse.fec.is_some()
    }
}

impl Direction {
    /// A drop-tail queue, a line, independent loss and propagation; nothing else.
    pub fn plain(rate: Rate, delay: Span, loss: f64, buffer: Bytes) -> Self {
        Direction {
            rate,
            delay,
            loss,
            buffer,
            queue: Queue::default(),
            loss_model: LossModel::default(),
            outages: Vec::new(),
            reorder: None,
            duplicate: None,
            fec: None,
            policer: None,
            port_limit: None,
            changes: Vec::new(),
        }
    }
}

/// Packets of a direction that arrive later than in their turn, so that later ones overtake them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reorder {
    /// Probability that a packet is overtaken, each that is not lost independently; above 0, at most 1.
    pub probability: f64,
    /// Such a packet arrives so much later; more than 0.
    pub delay: Span,
}

impl Reorder {
    /// Seed of the choice of packets on a direction whose losses have this seed.
    pub fn seed(of_losses: u64) -> u64 {
        of_losses ^ 0x5851_f42d_4c95_7f2d
    }
}

/// Packets of a direction that arrive twice, for example after a retransmission of a link layer that was not needed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duplicate {
    /// Probability that a packet arrives twice. Applies to each packet that is not lost, independently. Above 0, at most 1.
    pub probability: f64,
    /// Time from the arrival of the packet to that of the copy. Zero: the copy follows directly.
    pub delay: Span,
}

impl Duplicate {
    /// Seed of the choice of packets on a direction whose losses have this seed.
    pub fn seed(of_losses: u64) -> u64 {
        of_losses ^ 0x2545_f491_4f6c_dd1d
    }
}

/// The discipline of the queue before a link. Sizes are frame bytes; the frame being sent counts for none of them.
/// Marking (CE of RFC 3168) concerns ECN-capable packets, in place of a drop; any other packet is dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Queue {
    /// First in, first out, within the direction's `buffer`.
    DropTail {
        /// ECN-capable packets that arrive while more than this waits are marked (the step of DCTCP, RFC 8257,
        /// section 3.1); others pass unmarked.
        mark_above: Option<Bytes>,
    },
    /// First in, first out, within a number of packets; the direction's `buffer` is what that many of the largest
    /// take, so that it never is the limit.
    DropTailPackets {
        /// A packet that arrives while this many wait is dropped. At least 1.
        packets: u32,
        /// As for `DropTail`.
        mark_above: Option<Bytes>,
    },
    /// Random early detection (Floyd, Jacobson, IEEE/ACM ToN 1993; Linux sch_red, not adaptive, not gentle).
    Red {
        /// Average queue from which on packets are picked at random.
        min: Bytes,
        /// Average queue from which on every packet is picked; more than `min`.
        max: Bytes,
        /// Probability that a packet is picked as the average comes near `max`; above 0, at most 1.
        probability: f64,
        /// Weight of the newest queue length in the average; above 0, at most 1. Linux knows powers of 1/2.
        weight: f64,
        /// Mark picked packets if they are ECN-capable.
        ecn: bool,
    },
    /// Controlled delay (RFC 8289): drops when the time in the queue stays above `target` for an `interval`.
    #[serde(rename = "codel")]
    CoDel {
        /// Time in the queue that is acceptable for good.
        target: Span,
        /// How long it may be exceeded; about the largest expected round-trip time. More than `target`.
        interval: Span,
        /// Mark instead of dropping if ECN-capable.
        ecn: bool,
    },
    /// Two coupled queues (RFC 9332): packets with ECT(1) or CE in one, all others in the other.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2),
    /// A queue for each flow, served in turn, CoDel in each (RFC 8290).
    FqCodel {
        /// As for `CoDel`.
        target: Span,
        /// As for `CoDel`.
        interval: Span,
        /// Frame bytes a flow may send in its turn. At least 1.
        quantum: Bytes,
        /// As for `CoDel`.
        ecn: bool,
    },
}

/// Settings of a queue `dualpi2`, under the names of tc-dualpi2(8) where it has them (RFC 9332, appendix A; Linux 6.17,
/// net/sched/sch_dualpi2.c).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DualPi2 {
    /// Delay that the PI controller aims at in the classic queue.
    pub target: Span,
    /// Time between two updates of its probability.
    pub tupdate: Span,
    /// Integral gain in 1/s: change of the probability in an update, for each second of delay beyond the target.
    pub alpha_per_s: f64,
    /// Proportional gain in 1/s: the same for each second by which the delay has grown since the last update.
    pub beta_per_s: f64,
    /// Coupling factor k: the low-latency queue marks with k times the base probability.
    pub coupling: f64,
    /// Beyond which every packet of the low-latency queue is marked.
    pub step: Step,
    /// The step is applied to packets that find at least so many before them in the low-latency queue.
    pub min_qlen_step: u32,
    /// Share of the link that the classic queue has for sure, in percent.
    pub classic_protection_percent: u8,
    /// The answer to more load than marks of all packets of the low-latency queue can reduce.
    pub overload: Overload,
}

/// Threshold of the low-latency queue of `dualpi2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Time in the queue.
    Time(Span),
    /// Packets that wait behind a packet when it leaves.
    Packets(u32),
}

/// The answer of `dualpi2` to overload: the coupled probability exceeds 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Overload {
    /// Packets of both queues are dropped with the classic probability, whatever their ECN field.
    #[default]
    Drop,
    /// The probability stops growing there. ECN-capable packets are marked, and the queue grows until the buffer is full.
    Overflow,
}

impl Default for Queue {
    fn default() -> Self {
        Queue::DropTail { mark_above: None }
    }
}

impl Queue {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Queue::DropTail { .. } => "drop-tail",
            Queue::DropTailPackets { .. } => "drop-tail-packets",
            Queue::Red { .. } => "red",
            Queue::CoDel { .. } => "codel",
            Queue::FqCodel { .. } => "fq-codel",
            Queue::DualPi2(_) => "dualpi2",
        }
    }
}

/// How random losses on a link fall.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossModel {
    /// Each packet is lost with the direction's `loss`, whatever happens to others.
    #[default]
    Independent,
    /// Each bit of the frame is wrong with probability `rate`, each independently; a frame with a wrong bit is
    /// lost: of n frame bytes with probability 1 - (1 - rate)^(8 n).
    BitError {
        /// Probability that a bit is wrong; 0 to below 1.
        rate: f64,
    },
    /// Two states that change from packet to packet, with a loss probability each (Gilbert 1960, Elliott 1963).
    /// It begins in the good state. A packet is lost by the probability of the state it meets; then the state
    /// may change.
    GilbertElliott {
        /// Probability, per packet, to go from the good state to the bad one.
        good_to_bad: f64,
        /// Probability, per packet, to come back.
        bad_to_good: f64,
        /// Probability that a packet is lost in the good state.
        loss_good: f64,
        /// Probability that a packet is lost in the bad state.
        loss_bad: f64,
    },
}

impl LossModel {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            LossModel::Independent => "independent",
            LossModel::BitError { .. } => "bit-error",
            LossModel::GilbertElliott { .. } => "gilbert-elliott",
        }
    }
}

/// A token bucket before the queue, full at the start: a packet for which it holds too little is dropped, one that
/// passes takes its frame bytes. It never delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Rate at which it fills, in frame bytes as the link's rate.
    pub rate: Rate,
    /// What it holds at most, in frame bytes; at least the largest frame.
    pub burst: Bytes,
}

/// A port whose real capacity is below its nominal one, the direction's `rate`: the same token bucket after the
/// line, so that its drops are seen by no queue counter (observed at 970 Mbit/s of 1 Gbit/s on the ONL testbed).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortLimit {
    /// What the port really carries, in frame bytes as the link's rate.
    pub rate: Rate,
    /// What it carries beyond that in one go, in frame bytes; at least the largest frame.
    pub burst: Bytes,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
