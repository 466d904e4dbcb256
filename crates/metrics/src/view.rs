//! A recording, indexed once so that each metric is short: series by flow and by queue, with their times of life.

use crate::cumulative::Cumulative;
use serde_json::Value;
use std::collections::BTreeMap;
use wirespeed_record::{Datagram, FlowInfo, FlowSample, QueueSample, Recording, RunInfo};

/// Ethernet header without preamble, FCS and gap, as link rates count frames.
const ETHERNET_HEADER: f64 = 14.0;
/// IPv4 header without options (RFC 791).
const IPV4_HEADER: f64 = 20.0;
/// TCP header without options (RFC 9293, section 3.1).
const TCP_HEADER: f64 = 20.0;
/// Timestamps option with its padding (RFC 7323, section 3.2 and appendix A).
const TCP_TIMESTAMPS: f64 = 12.0;
/// UDP header (RFC 768).
const UDP_HEADER: f64 = 8.0;

/// Any gap between samples is bridged.
pub(crate) const ANY_GAP: i64 = i64::MAX;

/// A recording, indexed for metrics.
#[derive(Debug)]
pub struct View<'a> {
    /// The recording itself.
    pub recording: &'a Recording,
    /// Start of the measurement window: `omit_ns`.
    pub from_ns: i64,
    /// End of the measurement window: `duration_ns`.
    pub to_ns: i64,
    /// Every flow that has samples, in order of its number.
    pub flows: Vec<FlowSeries<'a>>,
    /// Every queue that has samples, by name.
    pub queues: BTreeMap<&'a str, QueueSeries<'a>>,
}

/// The samples of one flow in order of time, and when it lived.
#[derive(Debug)]
pub struct FlowSeries<'a> {
    /// Number of the flow.
    pub number: u32,
    /// What is known of it; `None` if `run.json` does not list it.
    pub info: Option<&'a FlowInfo>,
    /// Its samples, in order of time.
    pub samples: Vec<&'a FlowSample>,
    /// When it started, as planned; for a flow that `run.json` does not list, its first sample.
    pub start_ns: i64,
    /// When it ended: its `flow_end` event; else its last sample, if the sampling of others went on without
    /// it; else its planned stop or the end of the run.
    pub end_ns: i64,
    /// Payload in order at the receiver, bytes.
    pub(crate) payload: Cumulative,
    /// Data frames that arrived at the receiver, bytes; see `throughput_bps`.
    pub(crate) frames: Cumulative,
    /// Start and end of the flow's own measurement window.
    pub(crate) own: (i64, i64),
    sample_ns: i64,
}

/// The samples of one queue in order of time.
#[derive(Debug)]
pub struct QueueSeries<'a> {
    /// Its samples, in order of time.
    pub samples: Vec<&'a QueueSample>,
    /// Bytes sent.
    pub(crate) sent: Cumulative,
    sample_ns: i64,
}

impl<'a> View<'a> {
    /// Indexes a recording. Samples may be missing or out of order.
    pub fn new(recording: &'a Recording) -> Self {
        let info = &recording.info;
        let flow_times = recording.flows.iter().map(|s| s.t_ns);
        let grid_end = flow_times.chain(recording.queues.iter().map(|s| s.t_ns)).max().unwrap_or(0);

        let mut by_flow: BTreeMap<u32, Vec<&FlowSample>> = BTreeMap::new();
        recording.flows.iter().for_each(|s| by_flow.entry(s.flow).or_default().push(s));
        let flows =
            by_flow.into_iter().map(|(n, rows)| FlowSeries::new(recording, n, rows, grid_end)).collect();

        let mut by_queue: BTreeMap<&str, Vec<&QueueSample>> = BTreeMap::new();
        recording.queues.iter().for_each(|s| by_queue.entry(&s.queue).or_default().push(s));
        let queues =
            by_queue.into_iter().map(|(n, rows)| (n, QueueSeries::new(rows, info.sample_ns))).collect();

        View { recording, from_ns: info.omit_ns, to_ns: info.duration_ns, flows, queues }
    }

    /// The flow of that number, if it has samples.
    pub fn flow(&self, number: u32) -> Option<&FlowSeries<'a>> {
        self.flows.iter().find(|f| f.number == number)
    }

    /// The flows with two samples or more: one alone gives no rate.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &FlowSeries<'a>> {
        self.flows.iter().filter(|f| f.samples.len() >= 2)
    }

    /// Length of the measurement window in seconds; `None` if it is empty.
    pub(crate) fn seconds(&self) -> Option<f64> {
        seconds(self.from_ns, self.to_ns)
    }

    /// Sum of `of` over the flows that have it; `None` if none has.
    pub(crate) fn sum(&self, of: impl Fn(&FlowSeries) -> Option<f64>) -> Option<f64> {
        self.flows.iter().filter_map(of).reduce(|a, b| a + b)
    }

    /// Datagrams of the UDP flows that were sent in the measurement window.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = &'a Datagram> {
        let (from, to) = (self.from_ns, self.to_ns);
        self.recording.datagrams.iter().filter(move |d| d.sent_ns >= from && d.sent_ns < to)
    }
}

impl<'a> FlowSeries<'a> {
    fn new(recording: &'a Recording, number: u32, mut samples: Vec<&'a FlowSample>, grid_end: i64) -> Self {
        let run = &recording.info;
        samples.sort_by_key(|s| s.t_ns);
        let (first, last) = (samples[0].t_ns, samples[samples.len() - 1].t_ns);
        let info = run.flows.get(number as usize);
        let start_ns = info.map_or(first, |i| i.start_ns);
        let planned_end = info.map(|i| i.stop_ns).filter(|stop| *stop > start_ns).unwrap_or(run.duration_ns);
        let noted_end = recording.events.iter().find(|e| e.kind == "flow_end" && e.flow == Some(number));
        let end_ns = match noted_end {
            Some(event) => event.t_ns,
            // One and a half grid steps: a sample that is merely late is no end.
            None if run.sample_ns > 0 && last + run.sample_ns * 3 / 2 < grid_end => last,
            None => planned_end.min(run.duration_ns),
        };

        let headers = headers(run, info);
        let payload = samples.iter().map(|s| (s.t_ns, s.delivered_bytes as f64));
        let payload = Cumulative::new(payload).living(start_ns, end_ns);
        let frames = samples.iter().filter_map(|s| Some((s.t_ns, frame_bytes(s, headers)?)));
        let frames = Cumulative::new(frames).living(start_ns, end_ns);
        let own = (run.omit_ns.max(start_ns), run.duration_ns.min(end_ns).min(last));
        FlowSeries { number, info, samples, start_ns, end_ns, payload, frames, own, sample_ns: run.sample_ns }
    }

    /// Length of the flow's own measurement window in seconds; `None` if it is empty.
    pub(crate) fn own_seconds(&self) -> Option<f64> {
        seconds(self.own.0, self.own.1)
    }

    /// Growth of a cumulative column over the window of the run in whole steps; it was 0 when the flow started.
    pub(crate) fn count<T: Into<f64>>(
        &self,
        view: &View,
        column: fn(&FlowSample) -> Option<T>,
    ) -> Option<f64> {
        self.counter(column).steps(view.from_ns, view.to_ns)
    }

    pub(crate) fn counter<T: Into<f64>>(&self, column: fn(&FlowSample) -> Option<T>) -> Cumulative {
        let readings = self.samples.iter().filter_map(|s| Some((s.t_ns, column(s)?.into())));
        Cumulative::new(readings).living(self.start_ns, self.end_ns)
    }

    /// `(value, weight)` of a state column over the window of the run. A sample stands until the next one, at
    /// most one step of the sampling grid: a missing sample is no evidence.
    pub(crate) fn states(&self, view: &View, column: fn(&FlowSample) -> Option<f64>) -> Vec<(f64, f64)> {
        let samples = self.samples.iter().map(|s| (s.t_ns, column(s)));
        weigh(
            samples.collect(),
            (view.from_ns.max(self.start_ns), view.to_ns.min(self.end_ns)),
            self.sample_ns,
        )
    }
}

impl<'a> QueueSeries<'a> {
    fn new(mut samples: Vec<&'a QueueSample>, sample_ns: i64) -> Self {
        samples.sort_by_key(|s| s.t_ns);
        let sent = Cumulative::new(samples.iter().map(|s| (s.t_ns, s.sent_bytes as f64)));
        QueueSeries { samples, sent, sample_ns }
    }

    /// Growth of a cumulative column over the window of the run.
    pub(crate) fn count(&self, view: &View, column: fn(&QueueSample) -> u64) -> Option<f64> {
        let readings = self.samples.iter().map(|s| (s.t_ns, column(s) as f64));
        Cumulative::new(readings).steps(view.from_ns, view.to_ns)
    }

    /// `(value, weight)` of a state column over the window of the run, as for flows.
    pub(crate) fn states(&self, view: &View, column: impl Fn(&QueueSample) -> f64) -> Vec<(f64, f64)> {
        let samples = self.samples.iter().map(|s| (s.t_ns, Some(column(s))));
        weigh(samples.collect(), (view.from_ns, view.to_ns), self.sample_ns)
    }
}

/// Length in seconds; `None` unless it is positive.
pub(crate) fn seconds(from: i64, to: i64) -> Option<f64> {
    (to > from).then(|| (to - from) as f64 / 1e9)
}

/// The whole bins in `from..to`.
pub(crate) fn bins(from: i64, to: i64, bin_ns: i64) -> impl Iterator<Item = (i64, i64)> {
    let count = if bin_ns > 0 { (to - from).max(0) / bin_ns } else { 0 };
    (0..count).map(move |i| (from + i * bin_ns, from + (i + 1) * bin_ns))
}

fn weigh(samples: Vec<(i64, Option<f64>)>, (from, to): (i64, i64), sample_ns: i64) -> Vec<(f64, f64)> {
    let longest = if sample_ns > 0 { sample_ns } else { ANY_GAP };
    let next = samples.iter().skip(1).map(|s| s.0).chain([to]);
    let stands = samples.iter().zip(next).filter_map(|(&(t, value), next)| {
        let until = next.min(to).min(t.saturating_add(longest));
        Some((value?, (until - t.max(from)) as f64)).filter(|v| v.1 > 0.0)
    });
    stands.collect()
}

/// Bytes of all data frames that have arrived: their number times the mean size of those sent so far.
fn frame_bytes(sample: &FlowSample, headers: f64) -> Option<f64> {
    if sample.data_packets_in == 0 {
        return Some(0.0);
    }
    let sent = (sample.data_packets_out > 0).then_some(sample.data_packets_out as f64)?;
    Some(sample.data_packets_in as f64 * (sample.sent_bytes as f64 / sent + headers))
}

/// Bytes around the payload of one data packet of a flow, from the Ethernet header on.
fn headers(run: &RunInfo, flow: Option<&FlowInfo>) -> f64 {
    let transport = match flow {
        Some(flow) if flow.kind == "udp" => UDP_HEADER,
        Some(flow) if [&flow.from, &flow.to].iter().any(|host| timestamps(run, host) == Some(false)) => {
            TCP_HEADER
        }
        // Linux has timestamps on unless told otherwise (tcp_timestamps, ip-sysctl.rst).
        _ => TCP_HEADER + TCP_TIMESTAMPS,
    };
    ETHERNET_HEADER + IPV4_HEADER + transport
}

/// Whether a host offers TCP timestamps: as read back from it, else as the scenario asks; `None` if neither says.
fn timestamps(run: &RunInfo, host: &str) -> Option<bool> {
    let found =
        run.hosts.iter().find(|h| h.name == host).and_then(|h| h.settings.get("net.ipv4.tcp_timestamps"));
    if let Some(value) = found {
        return Some(value.trim() != "0");
    }
    let hosts = run.scenario.get("hosts")?.as_array()?;
    hosts
        .iter()
        .find(|h| h.get("name").and_then(Value::as_str) == Some(host))?
        .pointer("/tcp/timestamps")?
        .as_bool()
}
