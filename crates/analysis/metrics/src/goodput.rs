//! Goodput over bins, as a traffic generator prints it, and when packets were first lost.

use crate::LONG_BIN_NS;
use crate::registry::{Better, Metric};
use crate::series::rate;
use crate::view::{FlowSeries, View, bins};
use wirespeed_record::FlowSample;
use wirespeed_statistics::quantile;

macro_rules! quantile_row {
    ($name:literal, $what:literal, $q:literal) => {
        Metric {
            name: $name,
            unit: "bit/s",
            definition: concat!(
                $what,
                " over 1 s bins of goodput_bps: what iperf3 prints every second. Bins count from \
                 the start of the measurement window; those whose borders lie in a gap of samples longer than a bin \
                 by more than 5 % are left out."
            ),
            reference: "quantiles: Hyndman and Fan 1996, type 7; ulm-2016 (box plots of iperf3's intervals)",
            better: Better::Higher,
            headline: false,
            compute: |view| quantile(&bin_rates(view), $q),
        }
    };
}

pub(crate) const ROWS: &[Metric] = &[
    quantile_row!("goodput_min_1s_bps", "Least", 0.0),
    quantile_row!("goodput_q25_1s_bps", "25 % quantile", 0.25),
    quantile_row!("goodput_q50_1s_bps", "Median", 0.5),
    quantile_row!("goodput_q75_1s_bps", "75 % quantile", 0.75),
    quantile_row!("goodput_max_1s_bps", "Largest", 1.0),
    Metric {
        name: "goodput_range_1s_bps",
        unit: "bit/s",
        definition: "Largest less least over 1 s bins of goodput_bps, bins as for goodput_q50_1s_bps.",
        reference: "ulm-2016, figure 7b (extremes)",
        better: Better::Lower,
        headline: false,
        compute: |view| {
            let rates = bin_rates(view);
            Some(quantile(&rates, 1.0)? - quantile(&rates, 0.0)?)
        },
    },
    Metric {
        name: "first_retransmission_ns",
        unit: "ns",
        definition: "Time from the start of the run until a sample of any flow first shows a retransmission; the \
                     whole run counts, what is omitted from rates included. Resolved to the sampling grid. Absent if \
                     nothing was retransmitted.",
        reference: "ulm-2016, figure 6a (after the first drop)",
        better: Better::Neither,
        headline: false,
        compute: |view| {
            let retransmitted = view.flow_samples.column(FlowSample::retrans_packets);
            let times = view.flow_samples.times().iter().zip(retransmitted.iter());
            Some(times.filter(|(_, packets)| **packets > 0.0).map(|(t, _)| *t).min()? as f64)
        },
    },
];

fn bin_rates(view: &View) -> Vec<f64> {
    let counted: Vec<&FlowSeries> = view.counted().collect();
    if counted.is_empty() {
        return Vec::new();
    }
    let together = |(from, to)| counted.iter().map(|flow| rate(&flow.payload, from, to)).sum::<Option<f64>>();
    bins(view.from_ns, view.to_ns, LONG_BIN_NS).filter_map(together).collect()
}
