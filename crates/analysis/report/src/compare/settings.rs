//! What the folders were told to do differently, besides what was swept.

use super::cells::Match;
use super::side::{Side, SideRun};
use crate::digest::factor_text;
use crate::number::MISSING;
use serde_json::Value;
use std::collections::BTreeMap;
use wirespeed_record::SubstrateKind;

/// A setting of the resolved scenario that is not the same everywhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    /// `links.bottleneck.forward.loss`.
    pub path: String,
    /// By folder.
    pub values: Vec<String>,
}

/// Keys that name a run, and decide nothing but chance.
const NAMES: [&str; 6] = ["study", "about", "id", "factors", "repeat", "seed"];
/// Stands for a value that is another one in each run.
const SEVERAL: &str = "several";

/// The Linux that ran. Folders of which one had no kernel do not differ in it.
const RELEASE: &str = "kernel release";

/// All settings in which matched runs differ.
pub(super) fn differing(sides: &[Side], matches: &[Match]) -> Vec<Setting> {
    let mut found: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    for matched in matches {
        let flat: Vec<Option<BTreeMap<String, String>>> = matched
            .runs
            .iter()
            .enumerate()
            .map(|(side, run)| run.map(|run| settings(&sides[side].runs[run])))
            .collect();
        let paths: std::collections::BTreeSet<&String> =
            flat.iter().flatten().flat_map(BTreeMap::keys).collect();
        for path in paths {
            let value = |side: &BTreeMap<String, String>| side.get(path).cloned().unwrap_or(MISSING.into());
            let values: Vec<Option<String>> = flat.iter().map(|side| side.as_ref().map(&value)).collect();
            let mut known = values.iter().flatten();
            let first = known.next();
            if known.any(|value| Some(value) != first) {
                let row = found.entry(path.clone()).or_insert_with(|| vec![None; sides.len()]);
                row.iter_mut().zip(values).for_each(|(before, value)| join(before, value));
            }
        }
    }
    let words = |values: Vec<Option<String>>| values.into_iter().map(|v| v.unwrap_or(MISSING.into()));
    let settings = found.into_iter().map(|(path, values)| Setting { path, values: words(values).collect() });
    let has_no_kernel = |setting: &Setting| setting.values.iter().any(|value| value == MISSING);
    settings.filter(|setting| setting.path != RELEASE || !has_no_kernel(setting)).collect()
}

fn join(before: &mut Option<String>, value: Option<String>) {
    match (&before, value) {
        (_, None) => {}
        (None, value) => *before = value,
        (Some(known), Some(value)) if *known == value => {}
        (Some(_), Some(_)) => *before = Some(SEVERAL.into()),
    }
}

/// All settings of a run by their path.
fn settings(run: &SideRun) -> BTreeMap<String, String> {
    let info = &run.digest.info;
    let mut leaves = flatten(&run.scenario);
    if info.substrate == SubstrateKind::Hosts {
        // The path is measured, and so is what follows from its rate and round-trip time.
        leaves.retain(|path, _| !path.starts_with("links."));
        for host in info.hosts.iter() {
            let set = host.settings.iter().filter(|(name, _)| !is_found_anew(name));
            leaves.extend(set.map(|(name, value)| (format!("{}: {name}", host.name), value.clone())));
        }
    }
    if let Some(kernel) = info.kernel.as_ref().filter(|kernel| !kernel.release.is_empty()) {
        leaves.insert(RELEASE.into(), kernel.release.clone());
    }
    leaves
}

/// Whether a line among a host's settings says what was measured, or another thing after each boot.
fn is_found_anew(name: &str) -> bool {
    ["clock.", "iperf3.", "machine.boot_id"].iter().any(|prefix| name.starts_with(prefix))
}

/// A resolved scenario without [`NAMES`], so that repeats have the same.
pub(super) fn without_names(scenario: &Value) -> Value {
    let mut scenario = scenario.clone();
    if let Value::Object(top) = &mut scenario {
        top.retain(|key, _| !NAMES.contains(&key.as_str()));
    }
    scenario
}

/// Every leaf of a resolved scenario by its path; members of lists go by their name or label.
fn flatten(scenario: &Value) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    if let Value::Object(top) = scenario {
        for (key, value) in top {
            walk(key.clone(), value, &mut leaves);
        }
    }
    leaves
}

fn walk(path: String, value: &Value, leaves: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                walk(format!("{path}.{key}"), value, leaves);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_object) => {
            for (index, value) in list.iter().enumerate() {
                let name = ["name", "label"].iter().find_map(|key| value.get(key)?.as_str());
                let name = name.map_or_else(|| index.to_string(), String::from);
                walk(format!("{path}.{name}"), value, leaves);
            }
        }
        Value::Array(list) => {
            let words: Vec<String> = list.iter().map(factor_text).collect();
            leaves.insert(path, words.join(", "));
        }
        leaf => {
            leaves.insert(path, factor_text(leaf));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use crate::input::RunResult;
    use serde_json::json;
    use wirespeed_record::{HostInfo, KernelInfo, Recording, RunInfo};

    #[test]
    fn a_scenario_is_flat_and_without_names_of_the_run() {
        let scenario = json!({
            "id": "x", "seed": 7, "duration": "3 s",
            "links": [{ "name": "bottleneck", "forward": { "loss": 1e-5 } }],
            "hosts": [{ "tcp": { "rmem": ["4 KiB", "128 KiB"] } }],
        });
        let leaves: Vec<(String, String)> = flatten(&without_names(&scenario)).into_iter().collect();
        let expected = [
            ("duration", "3 s"),
            ("hosts.0.tcp.rmem", "4 KiB, 128 KiB"),
            ("links.bottleneck.forward.loss", "1e-5"),
            ("links.bottleneck.name", "bottleneck"),
        ];
        assert_eq!(leaves, expected.map(|(path, value)| (path.to_string(), value.to_string())));
    }

    #[test]
    fn real_hosts_differ_by_what_was_read_from_them() {
        let host = |name: &str, value: &str| HostInfo {
            name: "b".into(),
            settings: [(name.to_owned(), value.to_owned()), ("clock.error".into(), value.into())].into(),
            ..HostInfo::default()
        };
        let info = |substrate| RunInfo {
            substrate,
            scenario: json!({ "links": [{ "name": "bottleneck", "rate": "1 Gbit/s" }], "sample": "1 ms" }),
            hosts: vec![host("net.ipv4.tcp_rmem", "1 2 3")],
            ..Default::default()
        };
        let names = |substrate| {
            let recording = Recording { info: info(substrate), ..Recording::default() };
            let result = RunResult::of(&recording);
            let run = SideRun::new(result, String::new(), 100, &mut Pool::default()).unwrap();
            settings(&run).into_keys().collect::<Vec<_>>()
        };
        assert_eq!(names(SubstrateKind::Hosts), ["b: net.ipv4.tcp_rmem", "sample"]);
        assert_eq!(names(SubstrateKind::Model), ["links.bottleneck.name", "links.bottleneck.rate", "sample"]);
    }

    #[test]
    fn the_release_of_a_kernel_is_a_setting() {
        let kernel = KernelInfo { release: "6.1.192".into(), ..KernelInfo::default() };
        let info =
            RunInfo { kernel: Some(kernel), scenario: json!({ "sample": "1 ms" }), ..RunInfo::default() };
        let recording = Recording { info, ..Recording::default() };
        let run = SideRun::new(RunResult::of(&recording), String::new(), 100, &mut Pool::default()).unwrap();
        assert_eq!(settings(&run).get(RELEASE).map(String::as_str), Some("6.1.192"));
    }

    #[test]
    fn settings_that_differ_between_runs_are_several() {
        let mut value = None;
        join(&mut value, Some("1".into()));
        join(&mut value, None);
        assert_eq!(value.as_deref(), Some("1"));
        join(&mut value, Some("2".into()));
        assert_eq!(value.as_deref(), Some(SEVERAL));
    }
}
