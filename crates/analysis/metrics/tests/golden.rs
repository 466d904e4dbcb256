//! Hand-checked recordings (`golden/*.toml`) and the numbers they must give.
//!
//! A case lists only the columns it is about. The rest of a row is 0 where the column cannot be null, and null
//! otherwise. `[expect]` holds metrics of the run, `[expect_flow.N]` those of flow N, `[expect_group.LABEL]` those of
//! a group; `"absent"` means no value.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use wirespeed_metrics::{View, all, evaluate, find, loss, per_flow, per_group};
use wirespeed_record::{
    Datagram, Event, Exchange, FlowInfo, FlowSample, HostInfo, LedgerInterval, LedgerRow, LinkInfo,
    QueueDelay, QueueSample, Recording, Row, RunInfo,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    info: Info,
    #[serde(default)]
    flows: Vec<Table>,
    #[serde(default)]
    queues: Vec<Table>,
    #[serde(default)]
    events: Vec<Table>,
    #[serde(default)]
    datagrams: Vec<Table>,
    #[serde(default)]
    exchanges: Vec<Table>,
    #[serde(default)]
    queue_delays: Vec<Table>,
    #[serde(default)]
    ledger: Vec<Table>,
    #[serde(default)]
    ledger_intervals: Vec<Table>,
    expect: BTreeMap<String, Value>,
    #[serde(default)]
    expect_flow: BTreeMap<String, BTreeMap<String, Value>>,
    #[serde(default)]
    expect_group: BTreeMap<String, BTreeMap<String, Value>>,
    #[serde(default)]
    expect_by_stage: BTreeMap<String, BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Info {
    duration_ns: i64,
    omit_ns: i64,
    sample_ns: i64,
    #[serde(default)]
    links: Vec<Table>,
    #[serde(default)]
    hosts: Vec<Table>,
    #[serde(default)]
    flows: Vec<Table>,
}

fn cases() -> Vec<(PathBuf, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let case = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, case)
    };
    paths.into_iter().map(read).collect()
}

/// `sparse` over `defaults`; a key that no default has and that is not in `optional` is a typing error.
fn filled<T: DeserializeOwned>(sparse: &Table, defaults: &Table, optional: &[&str]) -> T {
    let mut table = defaults.clone();
    for (key, value) in sparse {
        assert!(
            defaults.contains_key(key) || optional.contains(&key.as_str()),
            "no column `{key}`: {sparse}"
        );
        table.insert(key.clone(), value.clone());
    }
    table.try_into().unwrap_or_else(|error| panic!("{sparse}: {error}"))
}

fn rows<R: Row + DeserializeOwned>(sparse: &[Table], defaults: &str) -> Vec<R> {
    let defaults: Table = toml::from_str(defaults).unwrap();
    let columns: Vec<&str> = R::COLUMNS.iter().map(|c| c.name).collect();
    sparse.iter().map(|row| filled(row, &defaults, &columns)).collect()
}

fn parts<T: DeserializeOwned + Default + serde::Serialize>(sparse: &[Table], more: &[&str]) -> Vec<T> {
    let defaults = Table::try_from(T::default()).unwrap();
    sparse.iter().map(|part| filled(part, &defaults, more)).collect()
}

fn recording(case: &Case) -> Recording {
    Recording {
        info: RunInfo {
            duration_ns: case.info.duration_ns,
            omit_ns: case.info.omit_ns,
            sample_ns: case.info.sample_ns,
            links: parts::<LinkInfo>(&case.info.links, &["changes"]),
            hosts: parts::<HostInfo>(&case.info.hosts, &[]),
            flows: parts::<FlowInfo>(
                &case.info.flows,
                &["congestion", "group", "bytes", "leg", "application"],
            ),
            ..RunInfo::default()
        },
        flows: rows::<FlowSample>(
            &case.flows,
            "flow = 0\ndelivered_bytes = 0\nread_bytes = 0\nsent_bytes = 0\ndata_packets_out = 0\ndata_packets_in = 0",
        ),
        queues: rows::<QueueSample>(
            &case.queues,
            "kind = ''\nbacklog_bytes = 0\nbacklog_packets = 0\nsent_bytes = 0\nsent_packets = 0\n\
             dropped_packets = 0\nrequeues = 0\noverlimits = 0",
        ),
        events: rows::<Event>(&case.events, "detail = ''"),
        datagrams: rows::<Datagram>(&case.datagrams, "flow = 0\nreordered_by = 0\nduplicate = false"),
        exchanges: rows::<Exchange>(&case.exchanges, "flow = 0\nbytes = 1"),
        queue_delays: rows::<QueueDelay>(
            &case.queue_delays,
            "packets = 0\nbytes = 0\nsum_ns = 0\nmarked_packets = 0\ndropped_packets = 0",
        ),
        ledger: rows::<LedgerRow>(&case.ledger, "direction = 'data'\nplace = ''\nsource = ''"),
        ledger_intervals: rows::<LedgerInterval>(
            &case.ledger_intervals,
            "direction = 'data'\nplace = ''\nuncertain_packets = 0",
        ),
        ..Recording::default()
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|n| n as f64))
}

/// Says what is wrong with `found` where `expected` is a number or `"absent"`.
fn differs(name: &str, expected: &Value, found: Option<f64>) -> Option<String> {
    let fits = match (number(expected), found) {
        (Some(expected), Some(found)) => (expected - found).abs() <= 1e-9 * expected.abs(),
        (None, found) => expected.as_str() == Some("absent") && found.is_none(),
        (Some(_), None) => false,
    };
    (!fits).then(|| format!("{name}: expected {expected}, found {found:?}"))
}

#[test]
fn golden_recordings_give_the_numbers_worked_out_by_hand() {
    let mut wrong = Vec::new();
    for (path, case) in cases() {
        let recording = recording(&case);
        let view = View::new(&recording).unwrap();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut check =
            |what: &str, expect: &BTreeMap<String, Value>, found: &dyn Fn(&str) -> Option<f64>| {
                let misses = expect.iter().filter_map(|(name, value)| differs(name, value, found(name)));
                wrong.extend(misses.map(|miss| format!("{file}{what}: {miss}")));
            };
        let run = evaluate(&recording).unwrap();
        check("", &case.expect, &|name| run.get(name).copied());
        for (flow, expect) in &case.expect_flow {
            let values = per_flow::evaluate_flow(&view, flow.parse().unwrap()).unwrap();
            check(&format!(" flow {flow}"), expect, &|name| values.get(name).copied());
        }
        let groups = per_group::evaluate_groups(&view).unwrap();
        for (label, expect) in &case.expect_group {
            let found = groups.iter().find(|found| found.group.label == *label);
            let values = &found.unwrap_or_else(|| panic!("{file}: no group {label}")).values;
            check(&format!(" group {label}"), expect, &|name| values.get(name).copied());
        }
        for (family, expect) in &case.expect_by_stage {
            let values =
                loss::by_stage(&view, family).unwrap_or_else(|| panic!("{file}: no family {family}"));
            assert!(values.keys().eq(expect.keys()), "{file} {family}: {values:?}");
            check(&format!(" {family}"), expect, &|key| values.get(key).copied());
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_metric_has_a_golden_number() {
    let with_numbers =
        |expect: BTreeMap<String, Value>| expect.into_iter().filter(|(_, v)| number(v).is_some());
    let covered: BTreeSet<String> =
        cases().into_iter().flat_map(|(_, c)| with_numbers(c.expect)).map(|e| e.0).collect();
    // A run has no share of itself, and harm needs two runs.
    let of_parts = ["goodput_share", "goodput_harm", "fct_harm"];
    let missing: Vec<_> = all()
        .iter()
        .map(|m| m.name)
        .filter(|name| !covered.contains(*name) && !of_parts.contains(name))
        .collect();
    assert!(missing.is_empty(), "without a golden case: {}", missing.join(", "));
}

#[test]
fn every_metric_of_a_group_has_a_golden_number() {
    let of_case = |c: Case| c.expect_group.into_values().flatten().filter(|(_, v)| number(v).is_some());
    let covered: BTreeSet<String> = cases().into_iter().flat_map(|(_, c)| of_case(c)).map(|e| e.0).collect();
    let missing: Vec<_> = per_group::names().filter(|name| !covered.contains(*name)).collect();
    assert!(missing.is_empty(), "without a golden case for a group: {}", missing.join(", "));
}

#[test]
fn every_metric_of_a_flow_has_a_golden_number() {
    let of_case = |c: Case| c.expect_flow.into_values().flatten().filter(|(_, v)| number(v).is_some());
    let covered: BTreeSet<String> = cases().into_iter().flat_map(|(_, c)| of_case(c)).map(|e| e.0).collect();
    let missing: Vec<_> = per_flow::names().filter(|name| !covered.contains(*name)).collect();
    assert!(missing.is_empty(), "without a golden case for a flow: {}", missing.join(", "));
}

#[test]
fn golden_cases_name_only_metrics_that_exist() {
    for (path, case) in cases() {
        let parts = case.expect_flow.values().chain(case.expect_group.values());
        let of_parts = parts.flat_map(BTreeMap::keys);
        for name in case.expect.keys().chain(of_parts) {
            assert!(find(name).is_some(), "{}: no metric `{name}`", path.display());
        }
    }
}

#[test]
fn an_empty_recording_has_no_metrics() {
    assert_eq!(evaluate(&Recording::default()).unwrap(), BTreeMap::new());
}
