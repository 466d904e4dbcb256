//! How flows share.

use crate::registry::{Better, Metric};
use crate::statistics::jain;
use crate::view::View;
use crate::{SHORT_BIN_NS, rates, series};
use wirespeed_statistics::mean;

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "jain_index",
        unit: "",
        definition: "(sum x)^2 / (n sum x^2) with x the throughput of each flow over its own time in the \
                     measurement window (a flow that starts later counts from its start). 1: all alike; 1/n: one \
                     has it all. Of TCP and UDP together, the flows of TCP count. Absent with fewer than two flows.",
        reference: "Jain, Chiu and Hawe 1984, DEC-TR-301; ulm-2016, fairness",
        better: Better::Higher,
        headline: true,
        compute: |view| jain(&own_rates(view, rates::flow_throughput)),
    },
    Metric {
        name: "jain_index_mean",
        unit: "",
        definition: "Mean over time of Jain's index in 100 ms bins, in each over the throughput of the flows that \
                     live through all of it. Of TCP and UDP together, the flows of TCP count. Low where flows take turns though the whole run is fair.",
        reference: "Jain, Chiu and Hawe 1984, DEC-TR-301, over time",
        better: Better::Higher,
        headline: false,
        compute: |view| {
            let over_time = series::jain_over(view, view.from_ns, view.to_ns, SHORT_BIN_NS);
            mean(&over_time.into_iter().map(|(_, index)| index).collect::<Vec<_>>())
        },
    },
    Metric {
        name: "goodput_difference_bps",
        unit: "bit/s",
        definition: "Largest less least goodput of the flows, each over its own time in the measurement window. \
                     Of TCP and UDP together, the flows of TCP count. Absent with fewer than two flows.",
        reference: "ulm-2016, figure 10",
        better: Better::Lower,
        headline: false,
        compute: |view| {
            let rates = own_rates(view, rates::flow_goodput);
            let (least, largest) =
                (rates.iter().copied().reduce(f64::min)?, rates.iter().copied().reduce(f64::max)?);
            (rates.len() >= 2).then_some(largest - least)
        },
    },
];

fn own_rates(view: &View, rate: fn(&View, &crate::FlowSeries) -> Option<f64>) -> Vec<f64> {
    view.sharing().filter_map(|f| rate(view, f)).collect()
}
