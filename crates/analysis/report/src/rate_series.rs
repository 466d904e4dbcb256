//! Rates over time of the flows of a run, as points of figures.

use crate::source::Source;
use crate::thin::Point;
use std::collections::BTreeMap;
use wirespeed_metrics::series;

/// A flow's throughput in bit/s at the middle of each bin; bins without a value are a gap.
pub(crate) fn throughput(source: &Source, flow: u32) -> Vec<Point> {
    points(source, series::throughput_series(&source.view, flow, source.bin_ns))
}

/// The throughput of all flows together.
pub(crate) fn total_throughput(source: &Source) -> Vec<Point> {
    points(source, series::sum_throughput_series(&source.view, source.bin_ns))
}

/// A flow's goodput in bit/s, as its throughput.
pub(crate) fn goodput(source: &Source, flow: u32) -> Vec<Point> {
    points(source, series::goodput_series(&source.view, flow, source.bin_ns))
}

/// The goodput of all flows together; a bin in which a living flow was not measured is a gap.
pub(crate) fn total_goodput(source: &Source) -> Vec<Point> {
    let bin = source.bin_ns;
    let mut sums: BTreeMap<i64, (f64, usize)> = BTreeMap::new();
    for flow in &source.view.flows {
        for (start, rate) in series::goodput_series(&source.view, flow.number, bin) {
            let sum = sums.entry(start).or_default();
            *sum = (sum.0 + rate, sum.1 + 1);
        }
    }
    let lives = |start: i64| {
        source.view.flows.iter().filter(|f| f.start_ns < start + bin && f.end_ns > start).count()
    };
    let whole = sums.into_iter().filter(|(start, (_, flows))| *flows >= lives(*start));
    points(source, whole.map(|(start, (rate, _))| (start, rate)).collect())
}

/// Jain's index of the throughput of the flows that live through the bin.
pub(crate) fn jain_index(source: &Source) -> Vec<Point> {
    points(source, series::jain_over_time(&source.view, source.bin_ns))
}

fn points(source: &Source, series: Vec<(i64, f64)>) -> Vec<Point> {
    let bin = source.bin_ns;
    let mut out = Vec::with_capacity(series.len());
    let mut expected = None;
    for (start, value) in series {
        // A line from one side of a gap to the other would look measured.
        if expected.is_some_and(|t| start > t) {
            out.push((source.time.at(start - bin / 2), f64::NAN));
        }
        out.push((source.time.at(start + bin / 2), value));
        expected = Some(start + bin);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::Recording;

    #[test]
    fn a_missing_bin_is_a_gap_in_the_line() {
        let mut recording = Recording::default();
        recording.info.duration_ns = 10_000_000_000;
        let source = Source::new(&recording).unwrap();
        let bin = source.bin_ns;
        let points = points(&source, vec![(0, 1.0), (bin, 2.0), (3 * bin, 4.0)]);
        assert_eq!(points.iter().map(|p| p.1.is_nan()).collect::<Vec<_>>(), [false, false, true, false]);
    }
}
