//! Data files of flent, compressed (`.flent.gz`) or not (`.flent`), versions 1 to 4.

use super::table::{self, flow, host, rate_bps, seconds_ns, time_ns};
use super::{Content, Import, ImportError, MOST_FLOWS, Source, only};
use crate::clock::Moment;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use wirespeed_record::{FlowInfo, FlowSample, Recording, RunInfo, SubstrateKind, Transport};

const FORMAT: &str = "flent";
/// The newest version of the file format that was seen (flent 2.3.0).
const KNOWN_VERSION: u64 = 4;
/// A series that flent computes of several has one of these at the end of its name.
const COMPUTED: [&str; 4] = [" avg", " sum", " fairness", " totals"];
/// So many names of series are listed in a message.
const MOST_LISTED: usize = 8;

/// flent.
pub struct Flent;

impl Import for Flent {
    fn name(&self) -> &'static str {
        FORMAT
    }

    fn about(&self) -> &'static str {
        "data files of flent (.flent.gz, .flent)"
    }

    fn recognises(&self, content: &Content) -> bool {
        let names_flent = ["FLENT_VERSION", "NETPERF_WRAPPER_VERSION", "BATCH_NAME", "SERIES_META"];
        ["x_values", "raw_values"].iter().any(|name| content.has_field(name))
            || content.has_field("metadata") && names_flent.iter().any(|name| content.has_inner_field(name))
    }

    fn recording(&self, sources: &[Source]) -> Result<Recording, ImportError> {
        let source = only(sources, FORMAT)?;
        // The version comes first: a newer file may differ in everything else.
        let Version { version } = source.content.json(FORMAT)?;
        let found = version
            .as_ref()
            .map_or(Some(1), Value::as_u64)
            .ok_or_else(|| field("version", "it is not a count"))?;
        if found > KNOWN_VERSION {
            return Err(ImportError::Newer { format: FORMAT, found, known: KNOWN_VERSION });
        }
        import(&source.name, source.content.json(FORMAT)?)
    }
}

#[derive(Deserialize)]
struct Version {
    version: Option<Value>,
}

#[derive(Deserialize)]
struct File {
    metadata: Map<String, Value>,
    x_values: Vec<f64>,
    results: BTreeMap<String, Vec<Option<f64>>>,
    #[serde(default)]
    raw_values: BTreeMap<String, Vec<Value>>,
}

/// A reading of a flow, by netperf or by ss. Rates are in Mbit/s and times in ms.
#[derive(Deserialize)]
struct Raw {
    t: Option<f64>,
    val: Option<f64>,
    dur: Option<f64>,
    tcp_rtt: Option<f64>,
    tcp_rtt_var: Option<f64>,
    tcp_delivery_rate: Option<f64>,
    tcp_pacing_rate: Option<f64>,
    tcp_bbr_bw: Option<f64>,
    tcp_bbr_mrtt: Option<f64>,
    tcp_bbr_pacing_gain: Option<f64>,
    tcp_bbr_cwnd_gain: Option<f64>,
}

fn field(name: &str, reason: &str) -> ImportError {
    ImportError::Field { format: FORMAT, field: name.into(), reason: reason.into() }
}

/// A series that is the payload of a flow.
struct Series<'a> {
    name: &'a str,
    kind: Transport,
    is_download: bool,
}

impl<'a> Series<'a> {
    fn of(name: &'a str) -> Option<Series<'a>> {
        let (kind, rest) = match name.split_at_checked(4)? {
            ("TCP ", rest) => (Transport::Tcp, rest),
            ("UDP ", rest) => (Transport::Udp, rest),
            _ => return None,
        };
        let is_download = rest.starts_with("download");
        let is_flow = is_download || rest.starts_with("upload");
        (is_flow && !COMPUTED.iter().any(|end| name.ends_with(end))).then_some(Series {
            name,
            kind,
            is_download,
        })
    }

    /// Orders the tenth stream behind the second.
    fn order(&self) -> (&str, u64) {
        let number =
            self.name.rsplit_once("::").and_then(|(start, number)| Some((start, number.parse().ok()?)));
        number.unwrap_or((self.name, 0))
    }
}

fn import(file_name: &str, file: File) -> Result<Recording, ImportError> {
    let File { metadata, x_values, results, raw_values } = file;
    let mut series: Vec<Series> = results.keys().filter_map(|name| Series::of(name)).collect();
    series.sort_by(|a, b| a.order().cmp(&b.order()));
    if series.is_empty() {
        let names: Vec<&str> = results.keys().take(MOST_LISTED).map(String::as_str).collect();
        let reason =
            format!("no series is the payload of a TCP or UDP flow; its series: {}", names.join(", "));
        return Err(ImportError::NothingMeasured { reason });
    }
    if series.len() > MOST_FLOWS {
        return Err(ImportError::TooManyFlows { found: series.len() });
    }
    let text = |name: &str| {
        metadata.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let near = text("LOCAL_HOST").unwrap_or_else(|| "local".into());
    let far = text("HOST").unwrap_or_else(|| "remote".into());
    let began = text("T0").or_else(|| text("TIME"));
    let zero = began.as_deref().and_then(Moment::parse);
    let (mut infos, mut rows) = (Vec::new(), Vec::new());
    for (number, series) in series.iter().enumerate() {
        let (from, to) = if series.is_download { (&far, &near) } else { (&near, &far) };
        let raw = raw(&raw_values, series.name)?;
        let mut own = match raw.iter().any(|row| row.val.is_some()) {
            true => from_raw(number as u32, series.name, &raw, zero)?,
            false => from_results(number as u32, series.name, &x_values, &results[series.name])?,
        };
        own.sort_by_key(|row| row.t_ns);
        let congestion =
            metadata.get("SERIES_META").and_then(|all| all.get(series.name)?.get("CONG_CONTROL")?.as_str());
        infos.push(FlowInfo {
            kind: series.kind,
            congestion: congestion.filter(|name| !name.is_empty()).map(str::to_owned),
            start_ns: own.first().map_or(0, |row| row.t_ns),
            stop_ns: own.last().map_or(0, |row| row.t_ns),
            ..flow(label(series.name), from, to)
        });
        rows.extend(own);
    }
    if rows.is_empty() {
        return Err(ImportError::NothingMeasured { reason: "every series is empty".into() });
    }
    let omit_ns = infos.iter().map(|info| info.start_ns).min().unwrap_or(0);
    let duration_ns = infos.iter().map(|info| info.stop_ns).max().unwrap_or(0);
    let version = text("FLENT_VERSION").or_else(|| text("NETPERF_WRAPPER_VERSION"));
    let name = text("NAME").unwrap_or_else(|| FORMAT.into());
    let info = RunInfo {
        id: format!("flent-{}", id_part(&name)),
        study: FORMAT.into(),
        about: format!(
            "flent: test {name}{}; imported from {file_name}.",
            text("TITLE").map_or(String::new(), |title| format!(" ({title})"))
        ),
        started: began.filter(|_| zero.is_some_and(|zero| zero.unix_s() > 0)),
        duration_ns,
        omit_ns,
        hosts: vec![
            host(
                &near,
                &[
                    ("imported_from", Some(file_name.to_owned())),
                    ("flent.version", version.clone()),
                    ("kernel", text("KERNEL_RELEASE")),
                ],
            ),
            host(&far, &[]),
        ],
        flows: infos,
        scenario: json!({ FORMAT: { "NAME": name, "TEST_PARAMETERS": metadata.get("TEST_PARAMETERS") } }),
        warnings: warnings(file_name, version.as_deref(), &series, &results),
        ..RunInfo::default()
    };
    table::recording(SubstrateKind::Flent, info, rows)
}

/// A label without what all labels begin with.
fn label(series: &str) -> String {
    series.replace("::", " ")
}

/// A name as a part of the name of a folder.
fn id_part(name: &str) -> String {
    const LONGEST: usize = 40;
    name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == '-').take(LONGEST).collect()
}

fn raw(all: &BTreeMap<String, Vec<Value>>, name: &str) -> Result<Vec<Raw>, ImportError> {
    let values = all.get(name).map_or(&[][..], Vec::as_slice);
    values
        .iter()
        .enumerate()
        .map(|(place, value)| {
            Raw::deserialize(value)
                .map_err(|error| field(&format!("raw_values.{name}[{place}]"), &error.to_string()))
        })
        .collect()
}

/// Rows of the readings: each has the rate over the `dur` seconds before it. Without `dur` it is the rate since the reading
/// before it.
fn from_raw(
    flow: u32,
    name: &str,
    raw: &[Raw],
    zero: Option<Moment>,
) -> Result<Vec<FlowSample>, ImportError> {
    let at = |place: usize, key: &str| format!("raw_values.{name}[{place}].{key}");
    let starts = raw.iter().filter_map(|row| Some(row.t? - row.dur.unwrap_or(0.0)));
    let first_s = starts.fold(f64::INFINITY, f64::min);
    // Times of old files are local ones, so the first reading is the start.
    let zero_s = zero
        .map(Moment::unix_seconds)
        .filter(|zero| first_s - zero > -1.0 && first_s - zero < table::LONGEST_S);
    let zero_s = zero_s.unwrap_or(first_s);
    let mut order: Vec<usize> = (0..raw.len()).filter(|place| raw[*place].t.is_some()).collect();
    order.sort_by(|a, b| raw[*a].t.unwrap_or(0.0).total_cmp(&raw[*b].t.unwrap_or(0.0)));
    let (mut rows, mut bytes, mut before_s) = (Vec::new(), 0.0, None);
    for place in order {
        let reading = &raw[place];
        let Some(t) = reading.t else { continue };
        let t_ns = seconds_ns(to_micros((t - zero_s).max(0.0)))
            .ok_or_else(|| field(&at(place, "t"), &format!("{t} s is not within a test of 100 days")))?;
        let mut row = FlowSample::empty(t_ns, flow);
        if let Some(rate) = reading.val {
            let lasted = reading.dur.or(before_s.map(|before| t - before)).unwrap_or(0.0);
            rate_bps(rate * 1e6)
                .ok_or_else(|| field(&at(place, "val"), &format!("{rate} Mbit/s is not a rate")))?;
            let lasted_ns = seconds_ns(lasted).ok_or_else(|| {
                field(&at(place, "dur"), &format!("{lasted} s is not the length of an interval"))
            })?;
            if before_s.is_none() && lasted_ns > 0 {
                let start_ns = (t_ns - lasted_ns).max(0);
                rows.push(FlowSample { delivered_bytes: Some(0), ..FlowSample::empty(start_ns, flow) });
            }
            bytes += rate * 1e6 / 8.0 * lasted;
            row.delivered_bytes = Some(bytes.round() as u64);
            before_s = Some(t);
        }
        state(&mut row, reading);
        rows.push(row);
    }
    Ok(rows)
}

/// Seconds without the digits that a time since 1970 does not have as a double.
fn to_micros(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}

/// The sender's state by ss. Impossible values are left out, since they are for figures and no count depends on them.
fn state(row: &mut FlowSample, reading: &Raw) {
    let ms = |value: Option<f64>| value.and_then(|value| time_ns(value, 1e6));
    let mbit = |value: Option<f64>| value.and_then(|value| rate_bps(value * 1e6));
    let gain = |value: Option<f64>| value.filter(|gain| (0.0..=1000.0).contains(gain));
    row.rtt_ns = ms(reading.tcp_rtt);
    row.rttvar_ns = ms(reading.tcp_rtt_var);
    row.delivery_rate_bps = mbit(reading.tcp_delivery_rate);
    row.pacing_rate_bps = mbit(reading.tcp_pacing_rate);
    row.bbr_bw_bps = mbit(reading.tcp_bbr_bw);
    row.bbr_min_rtt_ns = ms(reading.tcp_bbr_mrtt);
    row.bbr_pacing_gain_ratio = gain(reading.tcp_bbr_pacing_gain);
    row.bbr_cwnd_gain_ratio = gain(reading.tcp_bbr_cwnd_gain);
}

/// Rows of the rates at the common points of time, each over the time since the point before it.
fn from_results(
    flow: u32,
    name: &str,
    times: &[f64],
    rates: &[Option<f64>],
) -> Result<Vec<FlowSample>, ImportError> {
    let at = |place: usize| format!("results.{name}[{place}]");
    if times.len() != rates.len() {
        let reason = format!("it has {} values for {} x_values", rates.len(), times.len());
        return Err(field(&format!("results.{name}"), &reason));
    }
    let (mut rows, mut bytes, mut before): (Vec<FlowSample>, f64, Option<i64>) = (Vec::new(), 0.0, None);
    for (place, (time, rate)) in times.iter().zip(rates).enumerate() {
        let t_ns = seconds_ns(*time).filter(|t_ns| before.is_none_or(|before| *t_ns >= before)).ok_or_else(
            || {
                field(
                    &format!("x_values[{place}]"),
                    &format!("{time} s is not a time after the one before it"),
                )
            },
        )?;
        if let Some(rate) = rate {
            rate_bps(rate * 1e6).ok_or_else(|| field(&at(place), &format!("{rate} Mbit/s is not a rate")))?;
            let since_ns = before.unwrap_or(t_ns);
            if rows.is_empty() {
                rows.push(FlowSample { delivered_bytes: Some(0), ..FlowSample::empty(since_ns, flow) });
            }
            bytes += rate * 1e6 / 8.0 * (t_ns - since_ns) as f64 / 1e9;
            rows.push(FlowSample {
                delivered_bytes: Some(bytes.round() as u64),
                ..FlowSample::empty(t_ns, flow)
            });
        }
        before = Some(t_ns);
    }
    Ok(rows)
}

fn warnings(
    file_name: &str,
    version: Option<&str>,
    series: &[Series],
    results: &BTreeMap<String, Vec<Option<f64>>>,
) -> Vec<String> {
    let version = version.map_or(String::new(), |version| format!(" {version}"));
    let mut warnings = vec![format!(
        "imported from {file_name} (flent{version}): packets, queues, interfaces and counters of the hosts are \
         not in the file. Goodput of an upload is the payload that the sender wrote, and of a download the received payload"
    )];
    let others: Vec<&str> = results
        .keys()
        .map(String::as_str)
        .filter(|name| series.iter().all(|series| series.name != *name))
        .filter(|name| !COMPUTED.iter().any(|end| name.ends_with(end)))
        .collect();
    if !others.is_empty() {
        let more = others.len().saturating_sub(MOST_LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let listed = others[..others.len().min(MOST_LISTED)].join(", ");
        warnings.push(format!(
            "these series have no table in a recording, and are in the file only: {listed}{more}"
        ));
    }
    warnings
}
