//! What qdiscs count besides packets and drops: the private statistics of each kind, by offset (linux/pkt_sched.h).

use crate::netlink::{u32_at, u64_at};
use crate::reading::{CounterMeaning, Row, Unit, Way, row};
use wirespeed_record::Stage;

/// A field of a kind's private statistics.
pub struct Field {
    /// Where it begins, in bytes.
    at: usize,
    /// Bytes it has: 4 or 8.
    size: usize,
    /// Its name and meaning.
    pub row: Row,
}

impl Field {
    /// Its value; `None` if an older kernel's answer ends before it.
    pub fn value(&self, bytes: &[u8]) -> Option<u64> {
        if self.size == 8 { u64_at(bytes, self.at) } else { u32_at(bytes, self.at).map(u64::from) }
    }

    /// Whether it counts modulo 2^32.
    pub fn is_32_bits(&self) -> bool {
        self.size == 4
    }
}

const fn field(
    at: usize,
    size: usize,
    name: &'static str,
    sense: CounterMeaning,
    about: &'static str,
) -> Field {
    Field { at, size, row: row(name, sense).about(about) }
}

/// A part of what the qdisc counts as drops.
const fn part(at: usize, size: usize, name: &'static str, unit: Unit, about: &'static str) -> Field {
    let sense = CounterMeaning::loss(Stage::Qdisc, Way::Tx).unit(unit).software();
    Field { at, size, row: row(name, sense).duplicate_of(&["qdisc/drops"]).about(about) }
}

const HINT: CounterMeaning = CounterMeaning::hint().at(Stage::Qdisc).tx().software();
const MARK: CounterMeaning = HINT.unit(Unit::Buffers);
const LEVEL: CounterMeaning = CounterMeaning::gauge(Unit::Number).at(Stage::Qdisc).tx();

/// `struct tc_fq_qd_stats`.
const FQ: &[Field] = &[
    field(24, 8, "fq.throttled", HINT, "flows set aside until their pacing lets the next packet go"),
    part(32, 8, "fq.flows_plimit", Unit::Buffers, "a flow had its limit of packets waiting"),
    field(40, 8, "fq.pkts_too_long", HINT, "packets longer than the quantum assumed"),
    field(48, 8, "fq.allocation_errors", HINT, "no memory for a flow"),
    field(64, 4, "fq.flows", LEVEL, "flows known"),
    field(72, 4, "fq.throttled_flows", LEVEL, "flows set aside at the moment"),
    field(80, 8, "fq.ce_mark", MARK, "packets marked with congestion experienced, having waited too long"),
    part(88, 8, "fq.horizon_drops", Unit::Buffers, "packets to be sent too far in the future"),
    field(96, 8, "fq.horizon_caps", HINT, "packets whose time was brought forward to the horizon"),
];

/// `struct tc_fq_codel_xstats`, of which the first word says that it is the qdisc's.
const FQ_CODEL: &[Field] = &[
    field(
        4,
        4,
        "fq_codel.maxpacket",
        CounterMeaning::gauge(Unit::Bytes).at(Stage::Qdisc).tx(),
        "largest packet seen",
    ),
    part(8, 4, "fq_codel.drop_overlimit", Unit::Buffers, "more packets waited than the limit"),
    field(12, 4, "fq_codel.ecn_mark", MARK, "packets marked instead of dropped"),
    field(16, 4, "fq_codel.new_flow_count", HINT, "packets that began a flow"),
    field(20, 4, "fq_codel.new_flows_len", LEVEL, "new flows at the moment"),
    field(24, 4, "fq_codel.old_flows_len", LEVEL, "old flows at the moment"),
    field(28, 4, "fq_codel.ce_mark", MARK, "packets marked for having waited longer than ce_threshold"),
    field(
        32,
        4,
        "fq_codel.memory_usage",
        CounterMeaning::gauge(Unit::Bytes).at(Stage::Qdisc).tx(),
        "memory of what waits",
    ),
    part(36, 4, "fq_codel.drop_overmemory", Unit::Buffers, "what waited needed more memory than the limit"),
];

/// `struct tc_codel_xstats`.
const CODEL: &[Field] = &[
    part(20, 4, "codel.drop_overlimit", Unit::Buffers, "more packets waited than the limit"),
    field(24, 4, "codel.ecn_mark", MARK, "packets marked instead of dropped"),
    field(32, 4, "codel.ce_mark", MARK, "packets marked for having waited longer than ce_threshold"),
];

/// `struct tc_red_xstats`.
const RED: &[Field] = &[
    part(0, 4, "red.early", Unit::Buffers, "dropped at random"),
    part(4, 4, "red.pdrop", Unit::Buffers, "the queue was full"),
    field(12, 4, "red.marked", MARK, "packets marked instead of dropped"),
];

/// `struct tc_pie_xstats`.
const PIE: &[Field] = &[
    part(24, 4, "pie.dropped", Unit::Buffers, "dropped at random"),
    part(28, 4, "pie.overlimit", Unit::Buffers, "the queue was full"),
    field(36, 4, "pie.ecn_mark", MARK, "packets marked instead of dropped"),
];

/// Every kind whose private statistics are read.
pub const KINDS: &[(&str, &[Field])] =
    &[("fq", FQ), ("fq_codel", FQ_CODEL), ("codel", CODEL), ("red", RED), ("pie", PIE)];

/// The fields of a kind.
pub fn fields(kind: &str) -> &'static [Field] {
    KINDS.iter().find(|(name, _)| *name == kind).map_or(&[], |(_, fields)| *fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_kernels_shorter_answer_leaves_the_rest_out() {
        let old = [0u8; 88];
        let found: Vec<_> =
            FQ.iter().filter_map(|field| field.value(&old).map(|_| field.row.pattern)).collect();
        assert_eq!(found.last(), Some(&"fq.ce_mark"));
    }
}
