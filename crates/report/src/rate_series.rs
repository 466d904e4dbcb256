//! Rates over time of the flows of a run.

use crate::source::Source;
use crate::thin::Point;
use wirespeed_record::FlowSample;

/// A flow's payload rate in bit/s at the middle of each bin; a bin in which it was not sampled is a gap.
pub(crate) fn throughput(source: &Source, samples: &[&FlowSample]) -> Vec<Point> {
    rates(samples, source.bin_ns).into_iter().map(|(t, rate)| (source.time.at(t), rate)).collect()
}

/// The sum over all flows, where at least one was sampled.
pub(crate) fn total_throughput(source: &Source) -> Vec<Point> {
    let bins = source.duration_ns() / source.bin_ns + 1;
    let mut sums = vec![f64::NAN; bins as usize];
    for (_, _, samples) in source.flows() {
        for (t, rate) in rates(samples, source.bin_ns) {
            if let Some(sum) = sums.get_mut((t / source.bin_ns) as usize) {
                *sum = if sum.is_nan() { rate } else { *sum + rate };
            }
        }
    }
    while sums.last().is_some_and(|s| s.is_nan()) {
        sums.pop();
    }
    let middle = |index: usize| source.time.at(index as i64 * source.bin_ns + source.bin_ns / 2);
    sums.into_iter().enumerate().map(|(index, sum)| (middle(index), sum)).collect()
}

/// Rates on a grid that starts at 0: (middle of the bin, bit/s).
fn rates(samples: &[&FlowSample], bin_ns: i64) -> Vec<(i64, f64)> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let (from, to) = (first.t_ns.div_euclid(bin_ns), last.t_ns.div_euclid(bin_ns));
    let mut out = Vec::new();
    for index in from..to {
        let (start, end) = ((index * bin_ns).max(first.t_ns), (index + 1) * bin_ns);
        let (a, b) = (delivered_at(samples, start), delivered_at(samples, end));
        out.push((index * bin_ns + bin_ns / 2, (b - a).max(0.0) * 8.0 / ((end - start) as f64 / 1e9)));
    }
    out
}

/// Delivered bytes at `t`, on the line between the samples around it.
fn delivered_at(samples: &[&FlowSample], t: i64) -> f64 {
    let after = samples.partition_point(|s| s.t_ns < t);
    match (after.checked_sub(1).map(|i| samples[i]), samples.get(after)) {
        (_, Some(b)) if b.t_ns == t => b.delivered_bytes as f64,
        (Some(a), Some(b)) => {
            let share = (t - a.t_ns) as f64 / (b.t_ns - a.t_ns) as f64;
            a.delivered_bytes as f64 + share * (b.delivered_bytes as f64 - a.delivered_bytes as f64)
        }
        (Some(a), None) => a.delivered_bytes as f64,
        (None, Some(b)) => b.delivered_bytes as f64,
        (None, None) => 0.0,
    }
}
