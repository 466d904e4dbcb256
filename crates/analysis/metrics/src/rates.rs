//! Goodput and throughput: means, and how they scatter over bins.

use crate::registry::{Better, Metric};
use crate::view::{ANY_GAP, FlowSeries, View};
use crate::{LONG_BIN_NS, SHORT_BIN_NS, series};
use wirespeed_statistics::{mean, quantile, standard_deviation};

macro_rules! frames {
    () => {
        "Frames are the data packets that arrived at the receiver's TCP or UDP (data_packets_in) times the mean \
         size of those sent so far: sent_bytes / data_packets_out plus headers (Ethernet 14 without preamble, FCS \
         and gap, IPv4 20 or IPv6 40, TCP 20 and 12 with timestamps, UDP 8), as link rates are counted. Retransmissions that \
         arrived count, ACKs do not."
    };
}

macro_rules! one_class {
    () => {
        "Of TCP and UDP together, the flows of TCP count; of TCP flows with and without a size, those without. The \
         others have their results as groups."
    };
}

macro_rules! bin_row {
    ($name:literal, $bin:ident, $what:literal, $better:ident, $over:expr) => {
        Metric {
            name: $name,
            unit: "bit/s",
            definition: concat!(
                $what,
                " of throughput_bps, over the same flows. Bins count from the start of the measurement window; those \
                 whose borders lie in a gap of samples longer than a bin by more than 5 % are left out."
            ),
            reference: "quantiles: Hyndman and Fan 1996, type 7; ulm-2016 (box plots), slac-sc03 (deviation)",
            better: Better::$better,
            headline: false,
            compute: |view| $over(&bin_rates(view, $bin)[..]),
        }
    };
}

macro_rules! quantile_row {
    ($name:literal, $bin:ident, $what:literal, $q:literal) => {
        bin_row!($name, $bin, $what, Higher, |bins: &[f64]| quantile(bins, $q))
    };
}

pub(crate) const ROWS: &[Metric] = &[
    Metric {
        name: "goodput_bps",
        unit: "bit/s",
        definition: concat!(
            "Payload that reached the receivers in order (growth of delivered_bytes over the measurement window, summed \
             over flows) divided by the length of the window. A flow that starts late or ends early adds what it \
             delivered; the divisor stays the whole window. ",
            one_class!()
        ),
        reference: "RFC 2647 (goodput)",
        better: Better::Higher,
        headline: true,
        compute: |view| total(view, |f| f.payload.growth(view.from_ns, view.to_ns, ANY_GAP)),
    },
    Metric {
        name: "throughput_bps",
        unit: "bit/s",
        definition: concat!(
            "Data frames that arrived in the measurement window, summed over flows, divided by the length of the \
             window; not below goodput_bps but for what was on its way. ",
            frames!(),
            " ",
            one_class!()
        ),
        reference: "ulm-2016, mean throughput; frames as in the scenario's link rate",
        better: Better::Higher,
        headline: false,
        compute: throughput,
    },
    Metric {
        name: "sum_throughput_bps",
        unit: "bit/s",
        definition: "The same as throughput_bps, which sums over flows already; the name that the studies of \
                     several flows use.",
        reference: "ulm-2016, figure 8; kit-2019, figures 1 and 9",
        better: Better::Higher,
        headline: false,
        compute: throughput,
    },
    quantile_row!("throughput_q05_bps", SHORT_BIN_NS, "5 % quantile over 100 ms bins", 0.05),
    quantile_row!("throughput_q25_bps", SHORT_BIN_NS, "25 % quantile over 100 ms bins", 0.25),
    quantile_row!("throughput_q50_bps", SHORT_BIN_NS, "Median over 100 ms bins", 0.5),
    quantile_row!("throughput_q75_bps", SHORT_BIN_NS, "75 % quantile over 100 ms bins", 0.75),
    quantile_row!("throughput_q95_bps", SHORT_BIN_NS, "95 % quantile over 100 ms bins", 0.95),
    quantile_row!("throughput_min_bps", SHORT_BIN_NS, "Least over 100 ms bins", 0.0),
    quantile_row!("throughput_max_bps", SHORT_BIN_NS, "Largest over 100 ms bins", 1.0),
    bin_row!("throughput_range_bps", SHORT_BIN_NS, "Largest less least over 100 ms bins", Lower, range),
    bin_row!(
        "throughput_sd_bps",
        SHORT_BIN_NS,
        "Sample standard deviation (divisor n - 1) over 100 ms bins",
        Lower,
        standard_deviation
    ),
    quantile_row!("throughput_q05_1s_bps", LONG_BIN_NS, "5 % quantile over 1 s bins", 0.05),
    quantile_row!("throughput_q25_1s_bps", LONG_BIN_NS, "25 % quantile over 1 s bins", 0.25),
    quantile_row!("throughput_q50_1s_bps", LONG_BIN_NS, "Median over 1 s bins", 0.5),
    quantile_row!("throughput_q75_1s_bps", LONG_BIN_NS, "75 % quantile over 1 s bins", 0.75),
    quantile_row!("throughput_q95_1s_bps", LONG_BIN_NS, "95 % quantile over 1 s bins", 0.95),
    bin_row!("throughput_range_1s_bps", LONG_BIN_NS, "Largest less least over 1 s bins", Lower, range),
    bin_row!(
        "throughput_sd_1s_bps",
        LONG_BIN_NS,
        "Sample standard deviation (divisor n - 1) over 1 s bins",
        Lower,
        standard_deviation
    ),
    Metric {
        name: "stability_index",
        unit: "",
        definition: "Standard deviation of throughput over its mean, both over the 100 ms bins of \
                     throughput_sd_bps. 0 is perfectly steady.",
        reference: "slac-sc03: standard deviation / mean of the throughput series",
        better: Better::Lower,
        headline: false,
        compute: |view| stability(&bin_rates(view, SHORT_BIN_NS)),
    },
    Metric {
        name: "stability_index_1s",
        unit: "",
        definition: "The same as stability_index, over 1 s bins.",
        reference: "slac-sc03: standard deviation / mean of the throughput series",
        better: Better::Lower,
        headline: false,
        compute: |view| stability(&bin_rates(view, LONG_BIN_NS)),
    },
];

fn throughput(view: &View) -> Option<f64> {
    total(view, |f| f.frames.growth(view.from_ns, view.to_ns, ANY_GAP))
}

fn total(view: &View, bytes: impl Fn(&FlowSeries) -> Option<f64>) -> Option<f64> {
    let bytes = view.counted().filter_map(bytes).reduce(|a, b| a + b)?;
    Some(bytes * 8.0 / view.seconds()?)
}

/// Goodput of one flow over its own time in the window, bit/s.
pub(crate) fn flow_goodput(_: &View, flow: &FlowSeries) -> Option<f64> {
    own_rate(flow, flow.payload.growth(flow.own.0, flow.own.1, ANY_GAP))
}

/// Throughput of one flow over its own time in the window, bit/s.
pub(crate) fn flow_throughput(_: &View, flow: &FlowSeries) -> Option<f64> {
    own_rate(flow, flow.frames.growth(flow.own.0, flow.own.1, ANY_GAP))
}

fn own_rate(flow: &FlowSeries, bytes: Option<f64>) -> Option<f64> {
    if flow.samples.len() < 2 { None } else { Some(bytes? * 8.0 / flow.own_seconds()?) }
}

fn bin_rates(view: &View, bin_ns: i64) -> Vec<f64> {
    let counted: Vec<&FlowSeries> = view.counted().collect();
    series::sum_over(&counted, view.from_ns, view.to_ns, bin_ns).into_iter().map(|(_, rate)| rate).collect()
}

fn range(rates: &[f64]) -> Option<f64> {
    Some(quantile(rates, 1.0)? - quantile(rates, 0.0)?)
}

fn stability(rates: &[f64]) -> Option<f64> {
    let mean = mean(rates).filter(|m| *m > 0.0)?;
    Some(standard_deviation(rates)? / mean)
}
