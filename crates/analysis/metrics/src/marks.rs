//! Congestion marks, and what packets waited in the classes of the bottleneck's queue.

use crate::link::bottleneck;
use crate::registry::{Better, Metric};
use crate::view::{FlowSeries, View};
use wirespeed_record::{FlowSample, QueueClass, QueueDelay};

macro_rules! class_rows {
    ($($class:ident $word:literal $packets:literal,)+) => {
        pub(crate) const CLASS_ROWS: &[Metric] = &[$(
            Metric {
                name: concat!($word, "_delay_mean_ns"),
                unit: "ns",
                definition: concat!(
                    "Mean time in the bottleneck's forward queue of ", $packets, ", over the packets that left it in the \
                     measurement window: sum_ns over packets of queue_delays, of the class ", $word, ". Absent if the queue has no \
                     classes. The bottleneck is the link of link_utilisation."
                ),
                reference: "RFC 9332, section 1.1 (queuing delay)",
                better: Better::Lower,
                headline: false,
                compute: |view| delay_mean(view, QueueClass::$class),
            },
            Metric {
                name: concat!($word, "_delay_q99_ns"),
                unit: "ns",
                definition: concat!(
                    "99 % quantile of what ", $word, "_delay_mean_ns is the mean of: the least up_to_ns within which 99 % of the \
                     packets are, at most 1/16 too long."
                ),
                reference: "RFC 9332, section 1.1 (queuing delay)",
                better: Better::Lower,
                headline: false,
                compute: |view| delay_quantile(view, QueueClass::$class, 0.99),
            },
            Metric {
                name: concat!($word, "_marked_fraction"),
                unit: "",
                definition: concat!(
                    "Of ", $packets, " that left the bottleneck's forward queue in the measurement window, the part that it \
                     marked: marked_packets over packets of queue_delays. Absent if the queue has no classes or none left."
                ),
                reference: "RFC 9332, section 2.1 (p_L and p_C)",
                better: Better::Neither,
                headline: false,
                compute: |view| fraction(view, QueueClass::$class, |row| row.marked_packets, |row| row.packets),
            },
            Metric {
                name: concat!($word, "_dropped_fraction"),
                unit: "",
                definition: concat!(
                    "Of ", $packets, " that the bottleneck's forward queue took in, the part that its management dropped in the \
                     measurement window: dropped_packets over packets and dropped_packets of queue_delays. Absent as \
                     ", $word, "_marked_fraction."
                ),
                reference: "RFC 9332, section 2.1 (p_C)",
                better: Better::Lower,
                headline: false,
                compute: |view| {
                    let all = |row: &QueueDelay| row.packets + row.dropped_packets;
                    fraction(view, QueueClass::$class, |row| row.dropped_packets, all)
                },
            },
        )+];
    };
}
class_rows!(
    LowLatency "low_latency" "packets with ECT(1) or CE",
    Classic "classic" "packets without ECT(1) and CE",
);

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "ce_marked_packets",
        unit: "packets",
        definition: "Packets that arrived with a congestion mark in the measurement window, as senders know by ECN feedback \
                     (growth of delivered_ce_packets), summed over flows. Without Accurate ECN senders know only which \
                     acknowledgements carry an echo. Absent if no flow has seen a mark.",
        reference: "tcpi_delivered_ce; RFC 9768, section 3.2",
        better: Better::Neither,
        headline: false,
        compute: |view| view.sum(|flow| flow_marked(view, flow)),
    },
    Metric {
        name: "ce_marked_fraction",
        unit: "",
        definition: "ce_marked_packets over the packets delivered (growth of delivered_packets) of the flows that have seen a mark.",
        reference: "tcpi_delivered_ce and tcpi_delivered; RFC 8257, section 3.3 (M)",
        better: Better::Neither,
        headline: false,
        compute: |view| {
            let parts = view.flows.iter().filter_map(|flow| parts(view, flow));
            let (marked, delivered) = parts.reduce(|a, b| (a.0 + b.0, a.1 + b.1))?;
            (delivered > 0.0).then(|| marked / delivered)
        },
    },
];

/// Marks of one flow; `None` if it never saw one.
pub(crate) fn flow_marked(view: &View, flow: &FlowSeries) -> Option<f64> {
    let counter = flow.counter(view, FlowSample::delivered_ce_packets);
    let (first, last) = counter.span()?;
    counter.steps(first, last).filter(|marks| *marks > 0.0)?;
    flow.count(view, FlowSample::delivered_ce_packets)
}

pub(crate) fn flow_marked_fraction(view: &View, flow: &FlowSeries) -> Option<f64> {
    let (marked, delivered) = parts(view, flow)?;
    (delivered > 0.0).then(|| marked / delivered)
}

fn parts(view: &View, flow: &FlowSeries) -> Option<(f64, f64)> {
    Some((flow_marked(view, flow)?, flow.count(view, FlowSample::delivered_packets)?))
}

/// Rows of a class of the bottleneck's forward queue, of intervals within the measurement window.
fn rows<'v>(view: &'v View, class: QueueClass) -> Option<impl Iterator<Item = &'v QueueDelay>> {
    let queue = bottleneck(view)?.link.forward_queue.as_str();
    let (from, to) = (view.from_ns, view.to_ns);
    let of_class = move |row: &&QueueDelay| row.queue == queue && row.class == class;
    let rows = view.recording.queue_delays.iter().filter(of_class);
    Some(rows.filter(move |row| row.t_ns > from && row.t_ns <= to))
}

fn fraction(
    view: &View,
    class: QueueClass,
    part: fn(&QueueDelay) -> u64,
    whole: fn(&QueueDelay) -> u64,
) -> Option<f64> {
    let (part, whole) = rows(view, class)?.fold((0, 0), |sum, row| (sum.0 + part(row), sum.1 + whole(row)));
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn delay_mean(view: &View, class: QueueClass) -> Option<f64> {
    let sums = rows(view, class)?.fold((0, 0), |sum, row| (sum.0 + row.sum_ns, sum.1 + row.packets));
    (sums.1 > 0).then(|| sums.0 as f64 / sums.1 as f64)
}

fn delay_quantile(view: &View, class: QueueClass, q: f64) -> Option<f64> {
    let mut delays: Vec<(i64, u64)> =
        rows(view, class)?.filter(|row| row.packets > 0).map(|row| (row.up_to_ns, row.packets)).collect();
    delays.sort_unstable();
    let wanted = q * delays.iter().map(|(_, packets)| packets).sum::<u64>() as f64;
    let mut within = 0;
    let reaches = |(up_to, packets): &(i64, u64)| {
        within += packets;
        (within as f64 >= wanted).then_some(*up_to as f64)
    };
    delays.iter().find_map(reaches)
}
