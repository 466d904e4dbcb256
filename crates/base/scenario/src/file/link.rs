//! Links as they are written.

use super::change::{ChangeTable, ScheduleTable};
use super::fec::FecTable;
use crate::room::Room;
use crate::run::{Emulator, Overload};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use wirespeed_units::{Rate, Span};

/// A link: rate, delay, queue and losses, and what differs by direction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PathTable {
    /// A named set of settings that this table's own lines override.
    #[expect(dead_code, reason = "taken from the tree when the preset is laid under it")]
    pub preset: Option<String>,
    /// Rate of both directions, counted over Ethernet frames without preamble, FCS and gap.
    pub rate: Option<Rate>,
    /// Base round-trip time: propagation both ways, half of it each way unless a direction gives its `delay`.
    pub rtt: Option<Span>,
    /// Probability that a packet is lost, each independently, in the FORWARD direction (left to right) only:
    /// the studies drop data, not acknowledgements. `reverse.loss` drops on the way back. Default 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: Option<f64>,
    /// How random losses fall if not by `loss`; as `loss`, in the FORWARD direction only. Model only.
    pub loss_model: Option<LossTable>,
    /// Packets that others overtake; as `loss`, in the FORWARD direction only.
    pub reorder: Option<ReorderTable>,
    /// Packets that arrive twice; as `loss`, in the FORWARD direction only.
    pub duplicate: Option<DuplicateTable>,
    /// Forward error correction over the link; as `loss`, in the FORWARD direction only. Not between real hosts.
    pub fec: Option<FecTable>,
    /// Room before the link, both directions, whatever the queue's discipline: bytes, "1 bdp" (rate x base
    /// round-trip time of this link) or packets (of the largest MTU + 14 bytes). Default "1 bdp".
    pub buffer: Option<Room>,
    /// Discipline of the queue before the link, both directions. Default "drop-tail"; any other is model only.
    pub queue: Option<QueueTable>,
    /// Times from and to, since the run's start, in which the link loses all it sends, both directions. Model only.
    pub outages: Option<Vec<(Span, Span)>>,
    /// Drops before the queue what exceeds a rate, both directions. Model only.
    pub policer: Option<BucketTable>,
    /// Drops after the queue what exceeds what the port really carries, both directions. Model only.
    pub port_limit: Option<BucketTable>,
    /// Changes of the link during the run: a `[[path.change]]` for each.
    pub change: Option<Vec<ChangeTable>>,
    /// The same from a file, both directions.
    pub schedule: Option<ScheduleTable>,
    /// What differs from left to right, the way of the data by default.
    #[serde(default)]
    pub forward: DirectionTable,
    /// What differs from right to left.
    #[serde(default)]
    pub reverse: DirectionTable,
    /// What stands for the link on a Linux kernel: `wire`, our own exact queueing discipline (the default), or
    /// mainline `netem` with `tbf`.
    pub emulator: Option<Emulator>,
}

/// One direction of a link.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DirectionTable {
    /// Rate of this direction.
    pub rate: Option<Rate>,
    /// One-way delay of this direction; the other direction has the rest of `rtt`.
    pub delay: Option<Span>,
    /// Probability that a packet is lost in this direction.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: Option<f64>,
    /// How random losses fall in this direction. Model only.
    pub loss_model: Option<LossTable>,
    /// Packets that others overtake in this direction.
    pub reorder: Option<ReorderTable>,
    /// Packets that arrive twice in this direction.
    pub duplicate: Option<DuplicateTable>,
    /// Forward error correction in this direction. Not between real hosts.
    pub fec: Option<FecTable>,
    /// Room before this direction.
    pub buffer: Option<Room>,
    /// Discipline of the queue before this direction.
    pub queue: Option<QueueTable>,
    /// Times in which this direction loses all it sends. Model only.
    pub outages: Option<Vec<(Span, Span)>>,
    /// Drops before the queue of this direction. Model only.
    pub policer: Option<BucketTable>,
    /// Drops after the queue of this direction. Model only.
    pub port_limit: Option<BucketTable>,
    /// Changes of this direction during the run, from a file.
    pub schedule: Option<ScheduleTable>,
}

/// Packets that arrive later than in their turn.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReorderTable {
    /// Probability that a packet is overtaken, each independently.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// It arrives so much later. Packets that are sent meanwhile overtake it.
    pub delay: Span,
}

/// Packets that arrive twice.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DuplicateTable {
    /// Probability that a packet arrives twice, each independently.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// Time from the arrival of the packet to that of the copy. Default "0 ms": the copy follows directly.
    #[serde(default)]
    pub delay: Span,
}

/// One link of several: a name, and what differs from `path`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the name is taken from the tree, the rest is decoded as part of a PathTable")]
pub(crate) struct LinkTable {
    /// Unique name; `link1`, `link2`, ... if left out.
    pub name: Option<String>,
    /// The two routers it joins, the left one first, in any topology: a link beside the chain, which only flows cross
    /// whose `route` or `route_back` names it. Left out: the next link of the chain. Model only.
    pub between: Option<[usize; 2]>,
    /// Rate of both directions.
    pub rate: Option<Rate>,
    /// Base round-trip time of this link.
    pub rtt: Option<Span>,
    /// Probability that a packet is lost in the forward direction.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: Option<f64>,
    /// How random losses fall in the forward direction. Model only.
    pub loss_model: Option<LossTable>,
    /// Packets that others overtake in the forward direction.
    pub reorder: Option<ReorderTable>,
    /// Packets that arrive twice in the forward direction.
    pub duplicate: Option<DuplicateTable>,
    /// Forward error correction in the forward direction. Not between real hosts.
    pub fec: Option<FecTable>,
    /// Room before the link, both directions.
    pub buffer: Option<Room>,
    /// Discipline of the queue before the link, both directions.
    pub queue: Option<QueueTable>,
    /// Times in which the link loses all it sends, both directions. Model only.
    pub outages: Option<Vec<(Span, Span)>>,
    /// Drops before the queue, both directions. Model only.
    pub policer: Option<BucketTable>,
    /// Drops after the queue, both directions. Model only.
    pub port_limit: Option<BucketTable>,
    /// Changes of the link during the run: a `[[link.change]]` for each.
    pub change: Option<Vec<ChangeTable>>,
    /// The same from a file, both directions.
    pub schedule: Option<ScheduleTable>,
    /// What differs from left to right.
    #[serde(default)]
    pub forward: DirectionTable,
    /// What differs from right to left.
    #[serde(default)]
    pub reverse: DirectionTable,
}

/// The discipline of the queue before a link: its name, or a table of its name under `kind` and its settings.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind", transform = or_any_queue)]
pub(crate) enum QueueTable {
    /// First in, first out; what does not fit into `buffer` is dropped.
    DropTail {
        /// ECN-capable packets that arrive while more than this waits are marked, as DCTCP wants it (RFC 8257).
        /// A size as of `buffer`. Model and kernel.
        mark_above: Option<Room>,
        /// The same as a time, in place of `mark_above`: what the link sends in it at its rate, that of its start if it changes.
        /// Model and kernel.
        mark_after: Option<Span>,
    },
    /// First in, first out; the room is counted in packets, whatever their size. Model only.
    DropTailPackets {
        /// How many packets may wait; as many of the largest as `buffer` holds if left out.
        #[schemars(range(min = 1))]
        packets: Option<u32>,
        /// As for `drop-tail`.
        mark_above: Option<Room>,
        /// As for `drop-tail`.
        mark_after: Option<Span>,
    },
    /// Random early detection (Floyd, Jacobson 1993), as Linux sch_red without its options. Model only.
    Red {
        /// Average queue from which on packets are picked at random. Default: a third of `max` (tc-red).
        min: Option<Room>,
        /// Average queue from which on every packet is picked. Default: a quarter of `buffer`, or three times
        /// `min` if that is given (tc-red).
        max: Option<Room>,
        /// Probability that a packet is picked as the average comes near `max`. Default 0.02 (tc-red).
        #[schemars(range(min = 0.0, max = 1.0))]
        probability: Option<f64>,
        /// Weight of the newest queue length in the average. Default: the largest power of 1/2 by which a burst of
        /// (2 `min` + `max`) / 3 into an empty queue leaves the average at `min` or below.
        #[schemars(range(min = 0.0, max = 1.0))]
        weight: Option<f64>,
        /// Mark picked packets that are ECN-capable instead of dropping them. Default false (tc-red).
        ecn: Option<bool>,
    },
    /// Controlled delay (RFC 8289). Model only.
    #[serde(rename = "codel")]
    CoDel {
        /// Time in the queue that is acceptable for good. Default 5 ms (RFC 8289).
        target: Option<Span>,
        /// How long it may be exceeded. Default 100 ms (RFC 8289).
        interval: Option<Span>,
        /// Mark packets that are ECN-capable instead of dropping them. Default false (Linux).
        ecn: Option<bool>,
    },
    /// Two coupled queues for L4S (RFC 9332, Linux 6.17). Packets with ECT(1) or CE are in the low-latency queue, and are marked.
    /// All others are in the classic queue, and are marked or dropped. Model, and substrate kernel with
    /// `run.kernel = "7.2"`, where times are whole microseconds.
    #[serde(rename = "dualpi2")]
    DualPi2 {
        /// Delay that the controller aims at in the classic queue. Default 15 ms (Linux).
        target: Option<Span>,
        /// Time between two updates of the probability. Default 16 ms (Linux).
        tupdate: Option<Span>,
        /// Integral gain in 1/s. Default 0.16 (Linux).
        #[schemars(range(min = 0.0))]
        alpha: Option<f64>,
        /// Proportional gain in 1/s. Default 3.2 (Linux).
        #[schemars(range(min = 0.0))]
        beta: Option<f64>,
        /// Coupling factor k: the low-latency queue marks with k times the base probability. Default 2 (RFC 9332).
        #[schemars(range(min = 1.0))]
        coupling: Option<f64>,
        /// Time in the low-latency queue beyond which packets are marked. Default 1 ms (RFC 9332).
        step: Option<Span>,
        /// The same as a number of packets that wait there, in place of `step`.
        step_packets: Option<u32>,
        /// Packets that find fewer than this in the low-latency queue pass the step. Default 0 (Linux).
        min_qlen_step: Option<u32>,
        /// Share of the link that the classic queue has for sure, in percent. Default 10 (Linux).
        #[schemars(range(min = 0, max = 100))]
        classic_protection: Option<u8>,
        /// When marks are not enough: `drop` packets of both queues, or let the buffer `overflow`. Default `drop` (Linux).
        overload: Option<Overload>,
    },
    /// A queue for each flow, served in turn, controlled delay in each (RFC 8290). Model only.
    FqCodel {
        /// As for `codel`.
        target: Option<Span>,
        /// As for `codel`.
        interval: Option<Span>,
        /// Frame bytes a flow may send in its turn. Default "1514 B" (RFC 8290).
        quantum: Option<Room>,
        /// Mark packets that are ECN-capable instead of dropping them. Default true (Linux).
        ecn: Option<bool>,
    },
}

/// How random losses fall: "independent", or a table of a model's name under `kind` and its settings.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind", transform = or_independent)]
pub(crate) enum LossTable {
    /// Each packet by itself, with probability `loss`; the default.
    Independent {},
    /// Each bit of a frame by itself; a frame with a wrong bit is lost, so long ones more often.
    BitError {
        /// Probability that a bit is wrong.
        #[schemars(range(min = 0.0, max = 1.0))]
        rate: f64,
    },
    /// Losses in bursts: a good and a bad state that change from packet to packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability, per packet, to go from the good state to the bad one.
        #[schemars(range(min = 0.0, max = 1.0))]
        good_to_bad: f64,
        /// Probability, per packet, to come back: a bad stretch lasts 1 / this packets on average.
        #[schemars(range(min = 0.0, max = 1.0))]
        bad_to_good: f64,
        /// Probability that a packet is lost in the good state. Default 0 (Gilbert).
        #[schemars(range(min = 0.0, max = 1.0))]
        loss_good: Option<f64>,
        /// Probability that a packet is lost in the bad state. Default 1 (tc-netem).
        #[schemars(range(min = 0.0, max = 1.0))]
        loss_bad: Option<f64>,
    },
}

/// A token bucket: it fills at a rate, starts full, and what it does not hold is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BucketTable {
    /// What may pass for good, in frame bytes as the link's rate.
    pub rate: Rate,
    /// What may pass beyond that in one go: a size as of `buffer`, at least the largest frame.
    pub burst: Room,
}

/// Every setting of every queue has a default, so that its name alone will do.
fn or_any_queue(schema: &mut Schema) {
    or_a_word(schema, |_| true);
}

fn or_independent(schema: &mut Schema) {
    or_a_word(schema, |kind| kind == "independent");
}

/// Lets the schema of a table that is told apart by its `kind` also take those kinds as a word.
pub(super) fn or_a_word(schema: &mut Schema, suits: impl Fn(&str) -> bool) {
    let tables = schema.get("oneOf").and_then(|v| v.as_array()).into_iter().flatten();
    let kinds = tables.filter_map(|table| table.pointer("/properties/kind/const")?.as_str());
    let words: Vec<String> = kinds.filter(|kind| suits(kind)).map(str::to_owned).collect();
    let word = serde_json::json!({ "type": "string", "enum": words });
    if let Some(serde_json::Value::Array(choices)) = schema.get_mut("oneOf") {
        choices.insert(0, word);
    }
}
