//! A recording, indexed once so that each metric is short: series by flow and by queue, with their times of life.

use crate::cumulative::Cumulative;
use crate::samples::{Number, Samples, Values};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;
use wirespeed_record::{
    ColumnOf, Datagram, EventKind, FlowInfo, FlowSample, LedgerRow, QueueSample, Recording, RunInfo,
    StoreError, Transport,
};

/// Ethernet header without preamble, FCS and gap, as link rates count frames.
const ETHERNET_HEADER: f64 = 14.0;
/// IPv4 header without options (RFC 791).
const IPV4_HEADER: f64 = 20.0;
/// IPv6 header without extensions (RFC 8200, section 3).
const IPV6_HEADER: f64 = 40.0;
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
    /// The recording itself. Its samples are to be read through the view: they may be on disk.
    pub recording: &'a Recording,
    /// Start of the measurement window: `omit_ns`.
    pub from_ns: i64,
    /// End of the measurement window: `duration_ns`.
    pub to_ns: i64,
    /// Every flow that has samples, in order of its number.
    pub flows: Vec<FlowSeries<'a>>,
    /// Every queue that has samples, by name.
    pub queues: BTreeMap<String, QueueSeries>,
    /// The ledger of the measurement window; `None` where it is known of the whole run only.
    pub window_ledger: Option<Vec<LedgerRow>>,
    /// When the receivers of flows had read everything, where that was noted.
    noted_ends: BTreeMap<u32, i64>,
    /// Payload of all TCP flows in the measurement window, once it was asked for.
    pub(crate) tcp_payload: OnceCell<Option<f64>>,
    /// The samples of all flows, one flow after the other.
    pub flow_samples: Samples<'a, FlowSample>,
    /// The samples of all queues, one queue after the other.
    pub queue_samples: Samples<'a, QueueSample>,
}

/// The samples of one flow in order of time, and when it lived.
#[derive(Debug)]
pub struct FlowSeries<'a> {
    /// Number of the flow.
    pub number: u32,
    /// What is known of it; `None` if `run.json` does not list it.
    pub info: Option<&'a FlowInfo>,
    /// Which of [`View::flow_samples`] are its own.
    pub samples: Range<usize>,
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
    pub own: (i64, i64),
    sample_ns: i64,
}

/// The samples of one queue in order of time.
#[derive(Debug)]
pub struct QueueSeries {
    /// Which of [`View::queue_samples`] are its own.
    pub samples: Range<usize>,
    /// Bytes sent.
    pub(crate) sent: Cumulative,
    sample_ns: i64,
}

impl<'a> View<'a> {
    /// Indexes a recording. Samples may be missing or out of order.
    ///
    /// # Errors
    /// If its samples are on disk and cannot be read.
    pub fn new(recording: &'a Recording) -> Result<Self, StoreError> {
        let info = &recording.info;
        let (flow_samples, by_flow) =
            Samples::new(recording.flow_table(), FlowSample::t_ns, &[FlowSample::flow])?;
        let (queue_samples, by_queue) =
            Samples::new(recording.queue_table(), QueueSample::t_ns, &[QueueSample::queue])?;
        let grid_end = flow_samples.times().iter().chain(queue_samples.times()).copied().max().unwrap_or(0);

        let mut noted_ends = BTreeMap::new();
        for event in recording.events.iter().filter(|e| e.kind == EventKind::FlowEnd) {
            if let Some(flow) = event.flow {
                noted_ends.entry(flow).or_insert(event.t_ns);
            }
        }
        let mut flows: Vec<FlowSeries> = by_flow
            .into_iter()
            .map(|(number, samples)| {
                let noted_end = noted_ends.get(&number[0]).copied();
                FlowSeries::new(info, number[0], flow_samples.times(), samples, noted_end, grid_end)
            })
            .collect();
        add_counters(info, &flow_samples, &mut flows)?;

        let sent = queue_samples.column(QueueSample::sent_bytes);
        let queues = by_queue.into_iter().map(|(mut name, samples)| {
            let readings = readings(queue_samples.times(), &sent, &samples);
            let series = QueueSeries { sent: Cumulative::new(readings), samples, sample_ns: info.sample_ns };
            (name.remove(0), series)
        });
        let queues = queues.collect();
        queue_samples.intact()?;
        let (from_ns, to_ns) = (info.omit_ns, info.duration_ns);
        let window_ledger = recording.window_ledger();
        Ok(View {
            recording,
            from_ns,
            to_ns,
            flows,
            queues,
            window_ledger,
            noted_ends,
            tcp_payload: OnceCell::new(),
            flow_samples,
            queue_samples,
        })
    }

    /// Whether all that was asked for could be read. Who takes numbers from a view asks this at the end: what could
    /// not be read is missing in them as if it had not been recorded.
    ///
    /// # Errors
    /// The first error, once.
    pub fn intact(&self) -> Result<(), StoreError> {
        self.flow_samples.intact().and(self.queue_samples.intact())
    }

    /// The flow of that number, if it has samples.
    pub fn flow(&self, number: u32) -> Option<&FlowSeries<'a>> {
        Some(&self.flows[self.flows.binary_search_by_key(&number, |f| f.number).ok()?])
    }

    /// The flows with two samples or more: one alone gives no rate.
    pub fn measured(&self) -> impl Iterator<Item = &FlowSeries<'a>> {
        self.flows.iter().filter(|f| f.samples.len() >= 2)
    }

    /// The flows that are compared and added up: those of the first class that the run has. The scenario decides the rate of UDP,
    /// and flows with a size leave before they have found theirs.
    pub(crate) fn sharing(&self) -> impl Iterator<Item = &FlowSeries<'a>> {
        let class = |flow: &FlowSeries| flow.info.map(FlowInfo::class);
        let first = self.flows.iter().filter_map(class).min();
        self.flows.iter().filter(move |flow| first.is_none() || class(flow) == first)
    }

    /// Those of [`View::sharing`] with two samples or more.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &FlowSeries<'a>> {
        self.sharing().filter(|flow| flow.samples.len() >= 2)
    }

    /// When the receiver of a flow had read everything, if that was noted.
    pub(crate) fn noted_end(&self, flow: u32) -> Option<i64> {
        self.noted_ends.get(&flow).copied()
    }

    /// Length of the measurement window in seconds; `None` if it is empty.
    pub(crate) fn seconds(&self) -> Option<f64> {
        seconds(self.from_ns, self.to_ns)
    }

    /// Sum of `of` over the flows that have it; `None` if none has.
    pub fn sum(&self, of: impl Fn(&FlowSeries) -> Option<f64>) -> Option<f64> {
        self.flows.iter().filter_map(of).reduce(|a, b| a + b)
    }

    /// Datagrams of the UDP flows that were sent in the measurement window.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = &'a Datagram> {
        let (from, to) = (self.from_ns, self.to_ns);
        self.recording.datagrams.iter().filter(move |d| d.sent_ns >= from && d.sent_ns < to)
    }
}

/// Sets what the flows have delivered, in payload and in frames.
fn add_counters(
    run: &RunInfo,
    samples: &Samples<FlowSample>,
    flows: &mut [FlowSeries],
) -> Result<(), StoreError> {
    let times = samples.times();
    let delivered = samples.column(FlowSample::delivered_bytes);
    for flow in &mut *flows {
        flow.payload = Cumulative::living(readings(times, &delivered, &flow.samples), flow.life());
    }
    drop(delivered);
    let arrived = samples.column(FlowSample::data_packets_in);
    let left = samples.column(FlowSample::data_packets_out);
    let sent = samples.column(FlowSample::sent_bytes);
    for flow in flows {
        let headers = headers(run, flow.info);
        // Datagrams of a flow are of one size. What was sent so far tells it badly: bytes and datagrams are not counted in
        // the same instant.
        let of_one_size = flow.info.is_some_and(|info| info.kind == Transport::Udp).then(|| {
            let last = flow.samples.clone().rev().find(|i| left[*i] > 0.0);
            last.map_or(0.0, |last| sent[last] / left[last])
        });
        let frames = flow.samples.clone().filter_map(|i| {
            let size = of_one_size.unwrap_or(sent[i] / left[i]);
            Some((times[i], frame_bytes(arrived[i], left[i], size, headers)?))
        });
        flow.frames = Cumulative::living(frames, flow.life());
        flow.frames.share_times(&flow.payload);
    }
    samples.intact()
}

impl<'a> FlowSeries<'a> {
    fn new(
        run: &'a RunInfo,
        number: u32,
        times: &[i64],
        samples: Range<usize>,
        noted_end: Option<i64>,
        grid_end: i64,
    ) -> Self {
        let (first, last) = (times[samples.start], times[samples.end - 1]);
        let info = run.flows.get(number as usize);
        let start_ns = info.map_or(first, |i| i.start_ns);
        let planned_end = info.map(|i| i.stop_ns).filter(|stop| *stop > start_ns).unwrap_or(run.duration_ns);
        let end_ns = match noted_end {
            Some(end) => end,
            // One and a half grid steps: a sample that is merely late is no end.
            None if run.sample_ns > 0 && last + run.sample_ns * 3 / 2 < grid_end => last,
            None => planned_end.min(run.duration_ns),
        };
        let own = (run.omit_ns.max(start_ns), run.duration_ns.min(end_ns).min(last));
        let nothing = Cumulative::new([].into_iter());
        let (payload, frames) = (nothing.clone(), nothing);
        FlowSeries { number, info, samples, start_ns, end_ns, payload, frames, own, sample_ns: run.sample_ns }
    }

    fn life(&self) -> (i64, i64) {
        (self.start_ns, self.end_ns)
    }

    /// Length of the flow's own measurement window in seconds; `None` if it is empty.
    pub(crate) fn own_seconds(&self) -> Option<f64> {
        seconds(self.own.0, self.own.1)
    }

    /// Payload delivered from `from` to `to`, in bytes.
    pub fn delivered_bytes(&self, from: i64, to: i64) -> Option<f64> {
        self.payload.growth(from, to, ANY_GAP)
    }

    /// Times of the first and last sample of delivered payload. Between real hosts other rows may be of the sender only.
    pub fn delivered_span(&self) -> Option<(i64, i64)> {
        self.payload.span()
    }

    /// Growth of a cumulative column over the window of the run in whole steps; it was 0 when the flow started.
    pub fn count<T: Number>(&self, view: &View, column: ColumnOf<FlowSample, T>) -> Option<f64> {
        self.counter(view, column).steps(view.from_ns, view.to_ns)
    }

    pub(crate) fn counter<T: Number>(&self, view: &View, column: ColumnOf<FlowSample, T>) -> Cumulative {
        let values = view.flow_samples.column(column);
        Cumulative::living(readings(view.flow_samples.times(), &values, &self.samples), self.life())
    }

    /// `(value, weight)` of a state column over the window of the run. A sample stands until the next one, at
    /// most one step of the sampling grid: a missing sample is no evidence.
    pub(crate) fn states<T: Number>(&self, view: &View, column: ColumnOf<FlowSample, T>) -> Vec<(f64, f64)> {
        let values = view.flow_samples.column(column);
        let window = (view.from_ns.max(self.start_ns), view.to_ns.min(self.end_ns));
        let times = &view.flow_samples.times()[self.samples.clone()];
        weigh(times, &values[self.samples.clone()], window, self.sample_ns)
    }
}

impl QueueSeries {
    /// Growth of a cumulative column over the window of the run.
    pub(crate) fn count(&self, view: &View, column: ColumnOf<QueueSample, u64>) -> Option<f64> {
        self.counter(view, column).steps(view.from_ns, view.to_ns)
    }

    /// A cumulative column.
    pub(crate) fn counter(&self, view: &View, column: ColumnOf<QueueSample, u64>) -> Cumulative {
        let values = view.queue_samples.column(column);
        Cumulative::new(readings(view.queue_samples.times(), &values, &self.samples))
    }

    /// The largest value of a state column between two times; `None` without a sample there.
    pub(crate) fn largest(
        &self,
        view: &View,
        column: ColumnOf<QueueSample, u64>,
        (from, to): (i64, i64),
    ) -> Option<f64> {
        let values = view.queue_samples.column(column);
        let times = &view.queue_samples.times()[self.samples.clone()];
        let [first, end] = [from, to].map(|time| times.partition_point(|t_ns| *t_ns < time));
        let within = &values[self.samples.clone()][first..end.max(first)];
        within.iter().copied().filter(|value| !value.is_nan()).reduce(f64::max)
    }

    /// `(value, weight)` over the window of the run, as for flows, of what follows from a sample's time and a state column; NaN is
    /// left out.
    pub(crate) fn states_of(
        &self,
        view: &View,
        column: ColumnOf<QueueSample, u64>,
        of: impl Fn(i64, f64) -> f64,
    ) -> Vec<(f64, f64)> {
        let values = view.queue_samples.column(column);
        let times = &view.queue_samples.times()[self.samples.clone()];
        let both = times.iter().zip(&values[self.samples.clone()]);
        let values: Vec<f64> = both.map(|(t_ns, value)| of(*t_ns, *value)).collect();
        weigh(times, &values, (view.from_ns, view.to_ns), self.sample_ns)
    }
}

/// Times and values of the samples that have one.
fn readings<'v>(
    times: &'v [i64],
    values: &'v Values,
    samples: &Range<usize>,
) -> impl Iterator<Item = (i64, f64)> + 'v {
    let both = times[samples.clone()].iter().copied().zip(values[samples.clone()].iter().copied());
    both.filter(|(_, value)| !value.is_nan())
}

/// Length in seconds; `None` unless it is positive.
pub(crate) fn seconds(from: i64, to: i64) -> Option<f64> {
    (to > from).then(|| (to - from) as f64 / 1e9)
}

/// The whole bins in `from..to`; none if they are so many that a recording must have been made to have them: 11 days of 100 ms.
pub(crate) fn bins(from: i64, to: i64, bin_ns: i64) -> impl Iterator<Item = (i64, i64)> {
    const MOST: i64 = 10_000_000;
    let count = if bin_ns > 0 { to.saturating_sub(from).max(0) / bin_ns } else { 0 };
    let count = if count > MOST { 0 } else { count };
    (0..count).map(move |i| (from + i * bin_ns, from + (i + 1) * bin_ns))
}

fn weigh(times: &[i64], values: &[f64], (from, to): (i64, i64), sample_ns: i64) -> Vec<(f64, f64)> {
    let longest = if sample_ns > 0 { sample_ns } else { ANY_GAP };
    let next = times.iter().skip(1).copied().chain([to]);
    let stands = times.iter().zip(values).zip(next).filter_map(|((&t, &value), next)| {
        let until = next.min(to).min(t.saturating_add(longest));
        Some((value, (until - t.max(from)) as f64)).filter(|v| !v.0.is_nan() && v.1 > 0.0)
    });
    stands.collect()
}

/// Bytes of all data frames that have arrived: their number times the mean size of their payload, and headers.
fn frame_bytes(arrived: f64, left: f64, size: f64, headers: f64) -> Option<f64> {
    if arrived == 0.0 {
        return Some(0.0);
    }
    // Where one end was not observed, nothing is known.
    (left > 0.0 && !arrived.is_nan()).then_some(arrived * (size + headers))
}

/// Bytes around the payload of one data packet of a flow, from the Ethernet header on.
fn headers(run: &RunInfo, flow: Option<&FlowInfo>) -> f64 {
    let transport = match flow {
        Some(flow) if flow.kind == Transport::Udp => UDP_HEADER,
        Some(flow) if [&flow.from, &flow.to].iter().any(|host| timestamps(run, host) == Some(false)) => {
            TCP_HEADER
        }
        // Linux has timestamps on unless told otherwise (tcp_timestamps, ip-sysctl.rst).
        _ => TCP_HEADER + TCP_TIMESTAMPS,
    };
    let is_ipv6 = flow.is_some_and(|flow| [&flow.from, &flow.to].iter().any(|host| has_ipv6(run, host)));
    ETHERNET_HEADER + if is_ipv6 { IPV6_HEADER } else { IPV4_HEADER } + transport
}

/// Whether a host's address for the test is one of IPv6: only real hosts say, as others have none.
fn has_ipv6(run: &RunInfo, host: &str) -> bool {
    let host = run.hosts.iter().find(|found| found.name == host);
    let address = host.and_then(|host| host.settings.get("interface.address")?.parse::<IpAddr>().ok());
    address.is_some_and(|address| address.is_ipv6())
}

/// Whether a host offers TCP timestamps: as read back from it, else as the run asked; `None` if neither is recorded.
fn timestamps(run: &RunInfo, host: &str) -> Option<bool> {
    let host = run.hosts.iter().find(|found| found.name == host)?;
    let read_back = host.settings.get("net.ipv4.tcp_timestamps").map(|value| value.trim() != "0");
    read_back.or(host.tcp_timestamps)
}
