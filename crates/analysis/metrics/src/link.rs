//! Use of the links, and which of them is the bottleneck.

use crate::capacity::Capacity;
use crate::registry::{Better, Metric};
use crate::view::{ANY_GAP, QueueSeries, View};
use wirespeed_record::LinkInfo;

pub(crate) const ROWS: &[Metric] = &[Metric {
    name: "link_utilisation",
    unit: "",
    definition: "Bytes sent through the link's forward queue (left to right) in the measurement window over what \
                 the link can carry in that time, at each rate that it has in it. Of several links the most used one, which is then the \
                 bottleneck of the other metrics. Where the queue was not sampled at a border of the window, \
                 both are taken between its first and last sample.",
    reference: "RFC 5136, IP-layer link utilisation, here counted over Ethernet frames as the link's rate is",
    better: Better::Higher,
    headline: true,
    compute: |view| bottleneck(view).map(|b| b.utilisation),
}];

/// The most used link.
#[derive(Debug)]
pub struct Bottleneck<'v, 'a> {
    /// The link.
    pub link: &'a LinkInfo,
    /// Its forward queue.
    pub queue: &'v QueueSeries,
    /// The metric `link_utilisation`.
    pub utilisation: f64,
}

/// The link that is most used left to right in the measurement window, the first of equals.
pub fn bottleneck<'v, 'a>(view: &'v View<'a>) -> Option<Bottleneck<'v, 'a>> {
    let measured = view.recording.info.links.iter().filter_map(|link| {
        let queue = view.queues.get(link.forward_queue.as_str())?;
        Some(Bottleneck { link, queue, utilisation: utilisation(view, link, queue)? })
    });
    measured.reduce(|best, other| if other.utilisation > best.utilisation { other } else { best })
}

fn utilisation(view: &View, link: &LinkInfo, queue: &QueueSeries) -> Option<f64> {
    let (first, last) = queue.sent.span()?;
    let (from, to) = (view.from_ns.max(first), view.to_ns.min(last));
    let capacity = Capacity::of(link).mean_rate(from, to) * crate::view::seconds(from, to)?;
    (capacity > 0.0).then_some(queue.sent.growth(from, to, ANY_GAP)? * 8.0 / capacity)
}
