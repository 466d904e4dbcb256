//! The end hosts' own queues.

use crate::registry::{Better, Metric};
use crate::view::View;
use wirespeed_record::{ColumnOf, QueueSample};

/// What the name of an end host's queue ends with; links' queues end otherwise.
const HOST_QUEUE: &str = "/qdisc";

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "qdisc_drops",
        unit: "",
        definition: "Packets that the queueing disciplines of the end hosts dropped in the measurement window, \
                     summed over hosts, data and ACKs.",
        reference: "tc -s qdisc: dropped; onl-wiki",
        better: Better::Lower,
        headline: false,
        compute: |view| sum(view, QueueSample::dropped_packets),
    },
    Metric {
        name: "qdisc_requeues",
        unit: "",
        definition: "Packets that busy interfaces handed back to the queueing disciplines of the end hosts in the \
                     measurement window, summed over hosts. They are not lost; a capture shows them twice.",
        reference: "tc -s qdisc: requeues; onl-wiki, hardware duplicates",
        better: Better::Lower,
        headline: false,
        compute: |view| sum(view, QueueSample::requeues),
    },
];

fn sum(view: &View, column: ColumnOf<QueueSample, u64>) -> Option<f64> {
    let queues = view.queues.iter().filter(|(name, _)| name.ends_with(HOST_QUEUE));
    queues.filter_map(|(_, queue)| queue.count(view, column)).reduce(|a, b| a + b)
}
