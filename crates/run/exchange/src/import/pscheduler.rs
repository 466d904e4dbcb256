//! Results of throughput tests of pScheduler (perfSONAR): the result alone, a run of the API, or what archivers get.

use super::table::{self, flow, host, rate_bps, seconds_ns, time_ns};
use super::{Content, Import, ImportError, Source, only};
use crate::clock::Moment;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wirespeed_record::{FlowInfo, FlowSample, Recording, RunInfo, SubstrateKind, Transport};

const FORMAT: &str = "pScheduler";
/// The newest version of the result's schema (pScheduler 5.2).
const KNOWN_SCHEMA: u64 = 1;
/// The only type of test that measures the payload of flows.
const THROUGHPUT: &str = "throughput";

/// pScheduler.
pub struct Pscheduler;

impl Import for Pscheduler {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn about(&self) -> &'static str {
        "results of throughput tests of pScheduler (`pscheduler result --format json RUN`)"
    }

    fn recognises(&self, content: &Content) -> bool {
        let has = |name| content.has_field(name);
        let is_result =
            has("intervals") && ["summary", "diags", "succeeded"].into_iter().any(has) && !has("start");
        let is_run = has("result-merged") || has("result-full");
        let is_archived = has("result") && has("test") || has("run") && has("task");
        is_result || is_run || is_archived || has("succeeded") && has("diags")
    }

    fn recording(&self, sources: &[Source]) -> Result<Recording, ImportError> {
        let source = only(sources, FORMAT)?;
        let value = match source.content.json::<Value>(FORMAT)? {
            Value::Array(all) => match <[Value; 1]>::try_from(all) {
                Ok([only]) => only,
                Err(all) => return Err(ImportError::SeveralTests { count: all.len() }),
            },
            value => value,
        };
        let outer = serde_path_to_error::deserialize(&value)
            .map_err(|error| field(&error.path().to_string(), &error.inner().to_string()))?;
        import(&source.name, outer)
    }
}

/// A result, or what a result is wrapped in.
#[derive(Deserialize)]
struct Outer {
    test: Option<Test>,
    tool: Option<Value>,
    task: Option<Box<Outer>>,
    run: Option<Box<Outer>>,
    result: Option<Value>,
    #[serde(rename = "result-merged")]
    merged: Option<Value>,
    #[serde(rename = "result-full")]
    full: Option<Vec<Value>>,
    #[serde(rename = "start-time")]
    start_time: Option<String>,
    schedule: Option<Schedule>,
    #[serde(default)]
    participants: Vec<Value>,
    intervals: Option<Value>,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct Test {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    spec: Value,
}

#[derive(Deserialize)]
struct Schedule {
    start: Option<String>,
}

#[derive(Deserialize)]
struct Outcome {
    schema: Option<u64>,
    succeeded: Option<bool>,
    error: Option<String>,
    #[serde(default)]
    intervals: Vec<Interval>,
    summary: Option<Interval>,
    mss: Option<u32>,
}

#[derive(Deserialize)]
struct Interval {
    #[serde(default)]
    streams: Vec<Stream>,
}

/// A stream in an interval. Times are in seconds, round-trip times in microseconds, windows in bytes.
#[derive(Deserialize)]
struct Stream {
    #[serde(rename = "stream-id")]
    id: Option<Value>,
    start: f64,
    end: f64,
    #[serde(rename = "throughput-bits")]
    bits_per_second: Option<f64>,
    #[serde(rename = "throughput-bytes")]
    bytes: Option<f64>,
    #[serde(rename = "tcp-window-size")]
    window_bytes: Option<f64>,
    retransmits: Option<f64>,
    rtt: Option<f64>,
    lost: Option<f64>,
    sent: Option<f64>,
    #[serde(default)]
    omitted: bool,
}

/// A test without its result.
#[derive(Default)]
struct Known {
    spec: Value,
    tool: Option<String>,
    started: Option<String>,
    participants: Vec<String>,
    result: Option<Value>,
}

impl Known {
    /// Takes the facts of an object, and of those in it. A fact that was found before stays.
    fn take(&mut self, outer: Outer) -> Result<(), ImportError> {
        if let Some(test) = outer.test {
            if test.kind != THROUGHPUT {
                return Err(ImportError::OtherTest { format: FORMAT, found: test.kind, wanted: THROUGHPUT });
            }
            self.spec = test.spec;
        }
        let tool = outer.tool.and_then(|tool| tool.get("name").unwrap_or(&tool).as_str().map(str::to_owned));
        self.tool = self.tool.take().or(tool);
        let started = outer.start_time.or(outer.schedule.and_then(|schedule| schedule.start));
        self.started = self.started.take().or(started.filter(|text| Moment::parse(text).is_some()));
        let names: Vec<String> =
            outer.participants.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if self.participants.is_empty() {
            self.participants = names;
        }
        // The result of both sides together comes before that of one side.
        let full = outer.full.and_then(|all| all.into_iter().find(|side| side.get("intervals").is_some()));
        let plain = outer.intervals.map(|intervals| {
            let mut result = outer.rest;
            result.insert("intervals".into(), intervals);
            Value::Object(result)
        });
        let found =
            [outer.merged, outer.result, plain, full].into_iter().flatten().find(|value| !value.is_null());
        self.result = self.result.take().or(found);
        for inner in [outer.task, outer.run].into_iter().flatten() {
            self.take(*inner)?;
        }
        Ok(())
    }

    fn of_spec(&self, name: &str) -> Option<String> {
        self.spec.get(name)?.as_str().map(str::to_owned)
    }

    fn has_option(&self, name: &str) -> bool {
        self.spec.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

fn import(file_name: &str, outer: Outer) -> Result<Recording, ImportError> {
    let mut known = Known::default();
    known.take(outer)?;
    let result = known.result.take().ok_or_else(|| ImportError::NothingMeasured {
        reason: "the run has no result; was it finished?".into(),
    })?;
    let outcome: Outcome = serde_path_to_error::deserialize(&result)
        .map_err(|error| field(&error.path().to_string(), &error.inner().to_string()))?;
    if let Some(found) = outcome.schema.filter(|schema| *schema > KNOWN_SCHEMA) {
        return Err(ImportError::Newer { format: FORMAT, found, known: KNOWN_SCHEMA });
    }
    if outcome.succeeded == Some(false) {
        let reason = outcome.error.unwrap_or_else(|| "pScheduler gives no reason".into());
        return Err(ImportError::NothingMeasured { reason: format!("the test failed: {}", reason.trim()) });
    }
    let flows = flows(&outcome)?;
    if flows.is_empty() {
        return Err(ImportError::NothingMeasured { reason: "it has no intervals".into() });
    }
    let source = known.of_spec("source").or_else(|| known.participants.first().cloned());
    let dest = known.of_spec("dest").or_else(|| known.participants.get(1).cloned());
    let source = source.unwrap_or_else(|| "source".into());
    let dest = dest.unwrap_or_else(|| "dest".into());
    let is_reversed = known.has_option("reverse");
    let (from, to) = if is_reversed { (&dest, &source) } else { (&source, &dest) };
    let is_udp = known.has_option("udp")
        || outcome
            .intervals
            .iter()
            .flat_map(|interval| &interval.streams)
            .any(|stream| stream.lost.is_some());
    let end_ns = flows.iter().map(|flow| flow.end_ns).max().unwrap_or(0);
    let omit_ns = flows.iter().map(|flow| flow.omitted_ns).max().unwrap_or(0);
    let infos = flows.iter().map(|of| FlowInfo {
        kind: if is_udp { Transport::Udp } else { Transport::Tcp },
        congestion: known.of_spec("congestion"),
        stop_ns: end_ns,
        ..flow(format!("stream {}", of.id), from, to)
    });
    let infos: Vec<FlowInfo> = infos.collect();
    let tool = known.tool.clone().unwrap_or_else(|| "an unknown tool".into());
    let hosts = [&source, &dest].map(|name| host(name, &[("imported_from", Some(file_name.to_owned()))]));
    let info = RunInfo {
        id: "pscheduler".into(),
        study: "pscheduler".into(),
        about: format!("pScheduler: throughput from {from} to {to} by {tool}; imported from {file_name}."),
        started: known.started.clone(),
        duration_ns: end_ns,
        omit_ns,
        hosts: hosts.into(),
        flows: infos,
        scenario: json!({ "pscheduler": known.spec }),
        warnings: warnings(file_name, &tool, &outcome),
        ..RunInfo::default()
    };
    let mss_bytes = outcome.mss.filter(|mss| *mss > 0 && !is_udp);
    let rows = flows.into_iter().flat_map(|flow| flow.rows).map(|row| FlowSample { mss_bytes, ..row });
    table::recording(SubstrateKind::Pscheduler, info, rows.collect())
}

/// A stream over all intervals.
struct Flow {
    id: String,
    rows: Vec<FlowSample>,
    bytes: f64,
    retransmits: Option<u64>,
    packets: Option<i64>,
    /// The time at which the measurement starts.
    omitted_ns: i64,
    end_ns: i64,
}

fn flows(outcome: &Outcome) -> Result<Vec<Flow>, ImportError> {
    let mut flows: Vec<Flow> = Vec::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for (number, interval) in outcome.intervals.iter().enumerate() {
        for (place, stream) in interval.streams.iter().enumerate() {
            let id = match &stream.id {
                Some(Value::String(id)) => id.clone(),
                Some(Value::Number(id)) => id.to_string(),
                _ => (place + 1).to_string(),
            };
            let at = match numbers.get(&id) {
                Some(at) => *at,
                None if flows.len() == super::MOST_FLOWS => {
                    return Err(ImportError::TooManyFlows { found: flows.len() + 1 });
                }
                None => {
                    numbers.insert(id.clone(), flows.len());
                    flows.push(Flow::new(id, flows.len() as u32, stream));
                    flows.len() - 1
                }
            };
            flows[at].add(at as u32, stream, &format!("intervals[{number}].streams[{place}]"))?;
        }
    }
    Ok(flows)
}

impl Flow {
    fn new(id: String, number: u32, first: &Stream) -> Flow {
        let mut zero = FlowSample { delivered_bytes: Some(0), ..FlowSample::empty(0, number) };
        zero.retrans_packets = first.retransmits.map(|_| 0);
        Flow {
            id,
            rows: vec![zero],
            bytes: 0.0,
            retransmits: first.retransmits.map(|_| 0),
            packets: first.sent.zip(first.lost).map(|_| 0),
            omitted_ns: 0,
            end_ns: 0,
        }
    }

    fn add(&mut self, number: u32, stream: &Stream, name: &str) -> Result<(), ImportError> {
        let wrong = |key: &str, value: f64, what: &str| {
            field(&format!("{name}.{key}"), &format!("{value} is not {what}"))
        };
        let time = |key, value: f64| {
            seconds_ns(value).ok_or_else(|| wrong(key, value, "a time of a test in seconds"))
        };
        // iperf3 starts to count time again where the measurement starts.
        let zero_ns = if stream.omitted { 0 } else { self.omitted_ns };
        let (from_ns, to_ns) = (zero_ns + time("start", stream.start)?, zero_ns + time("end", stream.end)?);
        if to_ns < from_ns || to_ns < self.end_ns {
            return Err(wrong("end", stream.end, "after the interval before it"));
        }
        if stream.omitted {
            self.omitted_ns = to_ns;
        }
        self.end_ns = to_ns;
        let rate = stream.bits_per_second;
        if let Some(rate) = rate {
            rate_bps(rate).ok_or_else(|| wrong("throughput-bits", rate, "a rate in bit/s"))?;
        }
        let by_rate = rate.map(|rate| rate / 8.0 * (to_ns - from_ns) as f64 / 1e9);
        let bytes = stream
            .bytes
            .or(by_rate)
            .ok_or_else(|| field(&format!("{name}.throughput-bytes"), "it is missing"))?;
        self.bytes += amount(bytes).ok_or_else(|| wrong("throughput-bytes", bytes, "a number of bytes"))?;
        let more = stream.retransmits.and_then(amount);
        self.retransmits = self.retransmits.zip(more).map(|(sum, more)| sum.saturating_add(more as u64));
        let arrived = stream.sent.and_then(amount).zip(stream.lost.and_then(amount));
        self.packets =
            self.packets.zip(arrived).map(|(sum, (sent, lost))| sum.saturating_add((sent - lost) as i64));
        self.rows.push(FlowSample {
            delivered_bytes: Some(self.bytes.round() as u64),
            retrans_packets: self.retransmits,
            cwnd_bytes: stream
                .window_bytes
                .and_then(amount)
                .filter(|bytes| *bytes > 0.0)
                .map(|bytes| bytes as u64),
            rtt_ns: stream.rtt.filter(|rtt| *rtt > 0.0).and_then(|rtt| time_ns(rtt, 1e3)),
            data_packets_in: self.packets.and_then(|packets| packets.try_into().ok()),
            ..FlowSample::empty(to_ns, number)
        });
        Ok(())
    }
}

/// A count or an amount; `None` if no test moves so much.
fn amount(value: f64) -> Option<f64> {
    const MOST: f64 = 1e18;
    (0.0..=MOST).contains(&value).then_some(value)
}

fn field(name: &str, reason: &str) -> ImportError {
    ImportError::Field { format: FORMAT, field: name.into(), reason: reason.into() }
}

fn warnings(file_name: &str, tool: &str, outcome: &Outcome) -> Vec<String> {
    let mut warnings = vec![format!(
        "imported from {file_name} (pScheduler, {tool}): packets, queues, interfaces and counters of the hosts are not in the \
         file. Goodput over time is the rate that the tool reports, as a rule of the payload that the sender wrote"
    )];
    let summary: f64 =
        outcome.summary.iter().flat_map(|all| &all.streams).filter_map(|stream| stream.bytes).sum();
    let measured =
        outcome.intervals.iter().flat_map(|interval| &interval.streams).filter(|stream| !stream.omitted);
    let by_interval: f64 = measured.filter_map(|stream| stream.bytes).sum();
    if summary > 0.0 && (summary - by_interval).abs() > summary * 0.01 {
        warnings.push(format!(
            "the summary has {summary} bytes and the intervals {by_interval}; the recording is made of the intervals"
        ));
    }
    warnings
}
