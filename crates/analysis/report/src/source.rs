//! A recording as the figures of a run see it.

use crate::builder::POINTS_A_LINE;
use crate::figure::{Ink, TimeAxis};
use crate::rings::{Ring, rings};
use crate::thin::{Point, thin};
use std::ops::Range;
use wirespeed_diagnosis::Analysis;
use wirespeed_metrics::{Group, Samples, Values, View};
use wirespeed_record::{FlowInfo, HostSample, KeptSeries, LinkInfo, Recording, StoreError};

/// A recording with what several figures need of it.
pub(crate) struct Source<'a> {
    pub recording: &'a Recording,
    /// Its analysis, if the series were not kept as a whole: then it cannot be computed from them.
    pub stored: Option<Analysis>,
    pub time: TimeAxis,
    /// Bins of rates, over time.
    pub bin_ns: i64,
    /// The same, indexed for metrics.
    pub view: View<'a>,
    /// The samples of all interfaces, one interface after the other.
    pub host_samples: Samples<'a, HostSample>,
    /// Host and device of each, and which samples are its own.
    pub devices: Vec<Group<String>>,
    /// The receive rings of hosts, by host and number.
    pub rings: Vec<Ring>,
}

/// Bins of throughput in runs that are long enough for it.
const RATE_BIN_NS: i64 = 100_000_000;
/// Bins of any run: more than a day has, and more than a page shows.
const MOST_BINS: i64 = 1_000_000;
/// A short run still gets about this many bins.
const BINS_OF_SHORT_RUN: i64 = 150;

impl<'a> Source<'a> {
    /// Fails if samples are on disk and cannot be read.
    pub fn new(recording: &'a Recording) -> Result<Self, StoreError> {
        let info = &recording.info;
        let view = View::new(recording)?;
        let last = view.flow_samples.times().iter().chain(view.queue_samples.times()).max();
        let duration = info.duration_ns.max(last.copied().unwrap_or(0)).max(1);
        let sample_ns = match info.series {
            KeptSeries::Thin { every_ns } => every_ns.max(info.sample_ns),
            KeptSeries::All | KeptSeries::None => info.sample_ns,
        };
        let bin_ns = rate_bin(duration, sample_ns.max(1));
        let keys = [HostSample::host, HostSample::device];
        let (host_samples, devices) = Samples::new(recording.host_table(), HostSample::t_ns, &keys)?;
        let rings = rings(recording, &view)?;
        let stored = Analysis::stored(recording)?;
        Ok(Source {
            recording,
            stored,
            time: TimeAxis::new(duration),
            bin_ns,
            view,
            host_samples,
            devices,
            rings,
        })
    }

    /// Whether all that was drawn could be read: what could not is missing.
    pub fn intact(&self) -> Result<(), StoreError> {
        self.view.intact().and(self.host_samples.intact())
    }

    /// Length of the run, at least 1.
    pub fn duration_ns(&self) -> i64 {
        (self.time.end * self.time.ns).round() as i64
    }

    /// Which of the view's samples are a flow's, in order of time, with what is known of the flow.
    pub fn flows(&self) -> impl Iterator<Item = (u32, Option<&'a FlowInfo>, &Range<usize>)> {
        self.view.flows.iter().map(|flow| (flow.number, flow.info, &flow.samples))
    }

    /// Which of the view's samples are a queue's, in order of time; the queues that feed links first.
    pub fn queues(&self) -> Vec<(&str, &Range<usize>)> {
        let links = &self.recording.info.links;
        let feeds = |queue: &str| {
            let forward = links.iter().position(|l| l.forward_queue == queue);
            forward.or(links.iter().position(|l| l.reverse_queue == queue).map(|i| i + links.len()))
        };
        let mut queues: Vec<_> =
            self.view.queues.iter().map(|(name, queue)| (name.as_str(), &queue.samples)).collect();
        queues.sort_by_key(|(name, _)| (feeds(name).unwrap_or(usize::MAX), *name));
        queues
    }

    /// Label of a flow, as in legends.
    pub fn label(&self, flow: u32) -> String {
        match self.recording.info.flows.get(flow as usize) {
            Some(FlowInfo { label, congestion: Some(control), .. }) if !label.contains(control.as_str()) => {
                format!("{label} ({control})").trim().into()
            }
            Some(info) if !info.label.is_empty() => info.label.clone(),
            _ => format!("flow {flow}"),
        }
    }

    /// Colour of a flow.
    pub fn ink(&self, flow: u32) -> Ink {
        flow_ink(&self.recording.info.flows, flow as usize)
    }

    /// The points of one column of a flow, in base units; null is a gap. With as many points as a figure keeps: of a
    /// thousand flows all would take hundreds of megabytes.
    pub fn line(&self, samples: &Range<usize>, column: &Values, unit: fn(f64) -> f64) -> Vec<Point> {
        let times = &self.view.flow_samples.times()[samples.clone()];
        let values = &column[samples.clone()];
        thin(times.iter().zip(values).map(|(t, v)| (self.time.at(*t), unit(*v))).collect(), POINTS_A_LINE)
    }

    /// Whether several flows take part.
    pub fn has_several_flows(&self) -> bool {
        self.view.flows.len() > 1
    }

    /// The narrowest link that flows cross, at the start of the run, if its rate is known.
    pub fn narrowest_link(&self) -> Option<&'a LinkInfo> {
        let known = self.recording.info.links.iter().filter(|link| !link.is_assumed && link.rate_bps > 0);
        known.min_by_key(|link| link.rate_bps)
    }

    /// Its rate, if it does not change.
    pub fn capacity_bps(&self) -> Option<u64> {
        self.narrowest_link().filter(|link| link.changes.is_empty()).map(|link| link.rate_bps)
    }
}

/// Colour of flow number `flow` of `flows`.
pub(crate) fn flow_ink(flows: &[FlowInfo], flow: usize) -> Ink {
    let Some(info) = flows.get(flow) else {
        return Ink::Place(flow);
    };
    let twin =
        flows[..flow].iter().filter(|f| f.congestion == info.congestion && f.kind == info.kind).count();
    Ink::Flow { congestion: info.congestion.clone(), label: info.label.clone(), twin }
}

/// 100 ms, finer in short runs and coarser in those of more than a day, but never finer than the samples.
fn rate_bin(duration_ns: i64, sample_ns: i64) -> i64 {
    let wanted =
        (duration_ns / BINS_OF_SHORT_RUN).min(RATE_BIN_NS).max(duration_ns / MOST_BINS).max(sample_ns);
    // A multiple of the sampling grid, so that bins end on samples.
    (wanted / sample_ns) * sample_ns
}

/// Growth of a cumulative counter in each bin, at the bin's middle; only bins between the first and last reading. Counts are
/// placed in the bin of the reading that first shows them, so that they stay whole.
pub(crate) fn growth_per_bin(readings: &[(i64, u64)], bin_ns: i64) -> Vec<(i64, u64)> {
    let (Some(&(first, _)), Some(&(last, _))) = (readings.first(), readings.last()) else {
        return Vec::new();
    };
    let bin = |t: i64| t.saturating_sub(1).div_euclid(bin_ns);
    if bin(last).saturating_sub(bin(first)) > MOST_BINS {
        // No run is as long: somebody has made the times up.
        return Vec::new();
    }
    let mut bins: Vec<(i64, u64)> =
        (bin(first + 1)..=bin(last)).map(|index| (index * bin_ns + bin_ns / 2, 0)).collect();
    for pair in readings.windows(2) {
        let index = (bin(pair[1].0) - bin(first + 1)) as usize;
        if let Some(slot) = bins.get_mut(index) {
            slot.1 += pair[1].1.saturating_sub(pair[0].1);
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_100_ms_and_finer_in_short_runs() {
        assert_eq!(rate_bin(60_000_000_000, 10_000_000), 100_000_000);
        assert_eq!(rate_bin(86_400_000_000_000, 10_000_000), 100_000_000);
        assert!(i64::MAX / rate_bin(i64::MAX, 1) <= MOST_BINS + 1);
        assert_eq!(rate_bin(2_000_000_000, 1_000_000), 13_000_000);
        assert_eq!(rate_bin(100_000_000, 10_000_000), 10_000_000);
    }

    #[test]
    fn growth_lands_in_the_bin_that_shows_it_and_none_is_lost() {
        let bins = growth_per_bin(&[(0, 5), (10, 5), (20, 9), (30, 9), (40, 12)], 20);
        assert_eq!(bins, [(10, 4), (30, 3)]);
        assert_eq!(growth_per_bin(&[], 20), []);
        assert_eq!(growth_per_bin(&[(0, 1), (i64::MAX, 2)], 20), []);
        assert_eq!(growth_per_bin(&[(7, 3)], 20).iter().map(|b| b.1).sum::<u64>(), 0);
    }
}
