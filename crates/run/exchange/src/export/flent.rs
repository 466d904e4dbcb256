//! `.flent.gz`: a data file of flent, format version 4. It is one of flent's own tests with the same kind of flows,
//! so that flent's plots of that test work. The test is `tcp_nup` for TCP in one direction, `rrul_be_nflows` for TCP in both, and
//! `udp_flood_var_up` for UDP.
//!
//! Rates are in Mbit/s and times in ms, as in every file of flent. Series that were not measured, as `Ping (ms) ICMP`, are left
//! out. TCP's round-trip time is where flent keeps it, in the raw values of a flow (`tcp_rtt`).

use super::{Export, ExportError, Planned};
use crate::clock::Moment;
use crate::cumulative::{Cumulative, rows_by_flow};
use flate2::{Compression, GzBuilder};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use wirespeed_record::{FlowInfo, FlowSample, Recording, Transport};

/// The version of flent's file format that is written.
const FORMAT_VERSION: u32 = 4;
/// The version of flent that brought it.
const FLENT_VERSION: &str = "2.0.0";
/// More points of time than this are thinned out.
const MOST_POINTS: i64 = 10_000;
/// Time before the flows start and after they stop in flent's tests. Its box and bar plots leave so much out at either end. The
/// omitted time of a run is within it.
const DELAY_NS: i64 = 5_000_000_000;
/// Unit of rates in flent's files.
const RATE_UNIT: &str = "Mbits/s";

/// Data file of flent.
pub struct Flent;

impl Export for Flent {
    fn name(&self) -> &'static str {
        "flent"
    }

    fn about(&self) -> &'static str {
        "a .flent.gz file for each run, for flent and flent-gui"
    }

    fn plan<'a>(&self, run: &'a Recording) -> Result<Vec<Planned<'a>>, ExportError> {
        let (id, format) = (run.info.id.clone(), self.name());
        if run.info.flows.is_empty() {
            return Err(ExportError::NoFlows { run: id, format });
        }
        super::with_series(run, format)?;
        let flows = flows(run);
        if flows.is_empty() {
            return Err(ExportError::NothingDelivered { run: id, format });
        }
        let name = format!("{id}.flent.gz");
        let file_name = name.clone();
        Ok(vec![Planned::new(name, move |into| write(run, &flows, file_name, into))])
    }
}

fn write(run: &Recording, flows: &[Flow], file_name: String, into: &mut dyn Write) -> io::Result<()> {
    // Without a time in the header the same recording gives the same file.
    let mut gzip = GzBuilder::new().mtime(0).write(into, Compression::default());
    serde_json::to_writer(&mut gzip, &File::of(run, flows, file_name))?;
    gzip.finish()?;
    Ok(())
}

/// A flow as a series of flent.
struct Flow<'a> {
    info: &'a FlowInfo,
    name: String,
    is_download: bool,
    rows: Vec<&'a FlowSample>,
    /// Payload that reached the receiver. If that was not observed, it is the sent payload.
    bytes: Cumulative,
}

/// The tests of flent that come nearest to a run.
#[derive(Clone, Copy, PartialEq)]
enum Test {
    /// TCP in one direction.
    Upload,
    /// TCP in both directions.
    BothWays,
    /// UDP.
    Flood,
}

impl Test {
    fn of(flows: &[FlowInfo]) -> Test {
        let tcp: Vec<&FlowInfo> = flows.iter().filter(|flow| flow.kind == Transport::Tcp).collect();
        if tcp.is_empty() {
            return Test::Flood;
        }
        let receivers: BTreeSet<&str> = tcp.iter().map(|flow| flow.to.as_str()).collect();
        if tcp.iter().any(|flow| receivers.contains(flow.from.as_str())) {
            Test::BothWays
        } else {
            Test::Upload
        }
    }

    fn name(self) -> &'static str {
        match self {
            Test::Upload => "tcp_nup",
            Test::BothWays => "rrul_be_nflows",
            Test::Flood => "udp_flood_var_up",
        }
    }

    /// The name of a flow's series in this test.
    fn series(self, kind: Transport, is_download: bool, number: usize) -> String {
        let way = if is_download { "download" } else { "upload" };
        match (kind, self) {
            (Transport::Tcp, Test::BothWays) => format!("TCP {way} BE::{number}"),
            (Transport::Tcp, _) => format!("TCP {way}::{number}"),
            (Transport::Udp, _) => format!("UDP {way}::{number}"),
        }
    }
}

/// The flows of which payload was recorded. The first one is an upload, and so are those that do not start where an upload ends.
fn flows(run: &Recording) -> Vec<Flow<'_>> {
    let test = Test::of(&run.info.flows);
    let mut receivers = BTreeSet::new();
    let mut counts: BTreeMap<(Transport, bool), usize> = BTreeMap::new();
    let mut flows = Vec::new();
    for (info, rows) in run.info.flows.iter().zip(rows_by_flow(run)) {
        let counter =
            |of: fn(&FlowSample) -> Option<u64>| Cumulative::new(rows.iter().map(|row| (row.t_ns, of(row))));
        let delivered = counter(|row| row.delivered_bytes);
        let bytes = if delivered.is_sampled() { delivered } else { counter(|row| row.sent_bytes) };
        if !bytes.is_recorded() {
            continue;
        }
        let is_download = receivers.contains(&info.from);
        if !is_download {
            receivers.insert(&info.to);
        }
        let number = counts.entry((info.kind, is_download)).or_default();
        *number += 1;
        let name = test.series(info.kind, is_download, *number);
        flows.push(Flow { info, name, is_download, rows, bytes });
    }
    flows
}

#[derive(Serialize)]
struct File {
    version: u32,
    metadata: Map<String, Value>,
    x_values: Vec<f64>,
    results: BTreeMap<String, Vec<Option<f64>>>,
    raw_values: BTreeMap<String, Vec<Raw>>,
}

/// A reading of a flow. flent's own have the same keys, from netperf and ss.
#[derive(Serialize, Default)]
struct Raw {
    /// Seconds since 1970, at the end of the interval.
    t: f64,
    /// Length of the interval in seconds.
    dur: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    val: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_rtt_var: Option<f64>,
    /// In packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_cwnd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_delivery_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_pacing_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_bbr_bw: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_bbr_mrtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_bbr_pacing_gain: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp_bbr_cwnd_gain: Option<f64>,
}

impl File {
    fn of(run: &Recording, flows: &[Flow], file_name: String) -> File {
        let step_ns = step(run);
        let whole_steps = |time_ns: i64| (time_ns.max(0) + step_ns - 1) / step_ns;
        let before = whole_steps(DELAY_NS - run.info.omit_ns);
        let steps = -before..=run.info.duration_ns / step_ns + whole_steps(DELAY_NS);
        let times: Vec<i64> = steps.map(|place| place * step_ns).collect();
        let axis = Axis {
            step_ns,
            delay_ns: before * step_ns,
            // flent needs a time of day. Computed time has none, and begins with 1970.
            zero: match run.info.started.as_deref().and_then(Moment::parse) {
                Some(started) => started.after(-before * step_ns),
                None => Moment::default(),
            },
        };
        let mut results: BTreeMap<String, Vec<Option<f64>>> =
            flows.iter().map(|flow| (flow.name.clone(), flow.rates(&times, step_ns))).collect();
        let raw_values =
            flows.iter().map(|flow| (flow.name.clone(), flow.raw(&times, axis, &results[&flow.name])));
        let raw_values = raw_values.collect();
        // The first interval that ends after the omitted time.
        let measured = times.partition_point(|t_ns| *t_ns <= run.info.omit_ns);
        let mut units: Map<String, Value> = flows
            .iter()
            .map(|flow| (flow.name.clone(), series_meta(flow, &results[&flow.name][measured..])))
            .collect();
        for kind in ["TCP upload", "TCP download", "UDP upload", "UDP download"] {
            let of_kind: Vec<Vec<Option<f64>>> = flows
                .iter()
                .filter(|flow| flow.name.starts_with(kind))
                .map(|flow| results[&flow.name].clone())
                .collect();
            for (what, unit, over) in COMPUTED {
                if !of_kind.is_empty() {
                    let name = format!("{kind} {what}");
                    results.insert(name.clone(), at_each_time(&of_kind, over));
                    units.insert(name, json!({ "UNITS": unit }));
                }
            }
        }
        File {
            version: FORMAT_VERSION,
            metadata: metadata(run, flows, axis, file_name, units),
            x_values: times.iter().map(|t_ns| seconds(t_ns + axis.delay_ns)).collect(),
            results,
            raw_values,
        }
    }
}

/// The points of time of a file.
#[derive(Clone, Copy)]
struct Axis {
    step_ns: i64,
    /// From the first point of time to the start of the run.
    delay_ns: i64,
    /// The first point of time.
    zero: Moment,
}

/// Series that flent computes of several: their name, unit, and value at a point of time.
type Computed = (&'static str, &'static str, fn(&[f64]) -> f64);
const COMPUTED: [Computed; 3] = [
    ("avg", RATE_UNIT, |values| values.iter().sum::<f64>() / values.len() as f64),
    ("sum", RATE_UNIT, |values| values.iter().sum()),
    // Jain's index (RFC 5166, section 2.4); 1 while nothing is sent, when all flows have the same.
    ("fairness", "Idx", |values| {
        let squares: f64 = values.iter().map(|value| value * value).sum();
        let sum: f64 = values.iter().sum();
        if squares > 0.0 { sum * sum / (values.len() as f64 * squares) } else { 1.0 }
    }),
];

fn at_each_time(series: &[Vec<Option<f64>>], over: fn(&[f64]) -> f64) -> Vec<Option<f64>> {
    let points = series.first().map_or(0, Vec::len);
    (0..points)
        .map(|at| {
            let values: Vec<f64> = series.iter().filter_map(|values| values[at]).collect();
            (!values.is_empty()).then(|| over(&values))
        })
        .collect()
}

/// Step between the points of time: the sampling grid, or a multiple of it in a long run.
fn step(run: &Recording) -> i64 {
    let sample_ns = run.info.sample_ns.max(1);
    let samples = (run.info.duration_ns + 2 * DELAY_NS) / sample_ns;
    sample_ns * (samples / MOST_POINTS + 1)
}

impl Flow<'_> {
    /// Whether it was sending for more than half of an interval.
    fn is_alive(&self, from_ns: i64, to_ns: i64) -> bool {
        let last_ns = self.rows.last().map_or(0, |row| row.t_ns).min(self.info.stop_ns);
        let middle_ns = from_ns + (to_ns - from_ns) / 2;
        middle_ns >= self.info.start_ns && middle_ns < last_ns
    }

    /// Mbit/s over the step before each time; null before the flow starts and after it stops.
    fn rates(&self, times: &[i64], step_ns: i64) -> Vec<Option<f64>> {
        let rate = |to_ns: i64| {
            let from_ns = to_ns - step_ns;
            if from_ns < 0 || !self.is_alive(from_ns, to_ns) {
                return None;
            }
            Some(self.bytes.growth(from_ns, to_ns)? as f64 * 8.0 / seconds(step_ns) / 1e6)
        };
        times.iter().map(|to_ns| rate(*to_ns)).collect()
    }

    /// The readings of it at the end of each step.
    fn raw(&self, times: &[i64], axis: Axis, rates: &[Option<f64>]) -> Vec<Raw> {
        let mut raw = Vec::new();
        for (to_ns, rate) in times.iter().zip(rates) {
            let Some(val) = rate else { continue };
            let after = self.rows.partition_point(|row| row.t_ns <= *to_ns);
            let state = self.rows[..after].last().filter(|row| row.t_ns > to_ns - axis.step_ns);
            let ms =
                |of: fn(&FlowSample) -> Option<i64>| state.and_then(|row| of(row)).map(|ns| ns as f64 / 1e6);
            let mbit = |of: fn(&FlowSample) -> Option<u64>| {
                state.and_then(|row| of(row)).map(|bps| bps as f64 / 1e6)
            };
            raw.push(Raw {
                t: axis.zero.after(to_ns + axis.delay_ns).unix_seconds(),
                dur: seconds(axis.step_ns),
                val: Some(*val),
                tcp_rtt: ms(|row| row.rtt_ns),
                tcp_rtt_var: ms(|row| row.rttvar_ns),
                tcp_cwnd: state.and_then(|row| row.cwnd_bytes?.checked_div(row.mss_bytes?.into())),
                tcp_delivery_rate: mbit(|row| row.delivery_rate_bps),
                tcp_pacing_rate: mbit(|row| row.pacing_rate_bps),
                tcp_bbr_bw: mbit(|row| row.bbr_bw_bps),
                tcp_bbr_mrtt: ms(|row| row.bbr_min_rtt_ns),
                tcp_bbr_pacing_gain: state.and_then(|row| row.bbr_pacing_gain_ratio),
                tcp_bbr_cwnd_gain: state.and_then(|row| row.bbr_cwnd_gain_ratio),
            });
        }
        raw
    }
}

/// Unit, algorithm, and the mean rate over the measurement window.
fn series_meta(flow: &Flow, rates: &[Option<f64>]) -> Value {
    let values: Vec<f64> = rates.iter().flatten().copied().collect();
    let mean = (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let mut meta = json!({ "UNITS": RATE_UNIT, "MEAN_VALUE": mean, "FLOW_LABEL": flow.info.label });
    if let Some(congestion) = &flow.info.congestion {
        meta["CONG_CONTROL"] = json!(congestion);
    }
    meta
}

fn metadata(
    run: &Recording,
    flows: &[Flow],
    axis: Axis,
    file_name: String,
    series: Map<String, Value>,
) -> Map<String, Value> {
    let info = &run.info;
    let first = flows.first().map(|flow| flow.info);
    let hosts: BTreeSet<&str> =
        flows.iter().filter(|flow| !flow.is_download).map(|flow| flow.info.to.as_str()).collect();
    let streams = |is_download: bool| {
        let all = flows.iter().filter(|flow| flow.info.kind == Transport::Tcp);
        all.filter(|flow| flow.is_download == is_download).count().to_string()
    };
    let length = seconds(info.duration_ns);
    let all = json!({
        "NAME": Test::of(&info.flows).name(),
        "TITLE": format!("{} {}", info.study, info.id),
        "NOTE": format!("exported by wirespeed {} ({}) from a run on {}: {}", info.tool.version, info.tool.git, info.substrate, info.about),
        "TIME": axis.zero.to_string(),
        "T0": axis.zero.to_string(),
        "LENGTH": length,
        "TOTAL_LENGTH": length + seconds(axis.delay_ns) + seconds(DELAY_NS),
        "STEP_SIZE": seconds(axis.step_ns),
        "LOCAL_HOST": first.map(|flow| &flow.from),
        "HOST": first.map(|flow| &flow.to),
        "HOSTS": hosts,
        "IP_VERSION": null,
        "FLENT_VERSION": FLENT_VERSION,
        "DATA_FILENAME": file_name,
        "TEST_PARAMETERS": { "upload_streams": streams(false), "download_streams": streams(true) },
        "KERNEL_RELEASE": info.kernel.as_ref().map(|kernel| &kernel.release),
        "KERNEL_NAME": info.kernel.as_ref().map(|_| "Linux"),
        "SERIES_META": series,
    });
    let Value::Object(all) = all else { return Map::new() };
    // A value that was not recorded is left out, unless flent looks it up.
    all.into_iter().filter(|(key, value)| !value.is_null() || key == "IP_VERSION").collect()
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}
