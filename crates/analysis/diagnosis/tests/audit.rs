//! Snapshots of hosts, and the findings that an expert expects: precision and recall of the rules.
//!
//! `audit/NAME.json` is an inventory. `audit/NAME.expected.toml` has the path, and the findings with their wanted values. These lists
//! were written by hand from the sources before the rules ran.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use wirespeed_diagnosis::Subject;
use wirespeed_diagnosis::audit::{Audit, AuditFinding, Path, Profile};
use wirespeed_inventory::Inventory;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    profile: Profile,
    interface: String,
    path: Path,
    #[serde(default)]
    finding: Vec<ExpectedFinding>,
}

#[derive(Deserialize, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
struct ExpectedFinding {
    rule: String,
    /// `host`, or the name of an interface.
    subject: String,
    wanted: String,
}

fn folder() -> PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("tests/audit")
}

fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).unwrap();
    let names = entries.filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".json").map(str::to_owned)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn inventory(name: &str) -> Inventory {
    let text = fs::read_to_string(folder().join(format!("{name}.json"))).unwrap();
    Inventory::from_json(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn expected(name: &str) -> Expected {
    let text = fs::read_to_string(folder().join(format!("{name}.expected.toml"))).unwrap();
    toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn form(finding: &AuditFinding) -> ExpectedFinding {
    let subject = match &finding.subject {
        Subject::Host { .. } => "host".to_owned(),
        _ => finding.place(),
    };
    ExpectedFinding { rule: finding.rule.into(), subject, wanted: finding.wanted.clone() }
}

#[test]
#[expect(clippy::print_stdout, reason = "`--nocapture` shows precision and recall of each snapshot")]
fn every_snapshot_gives_the_findings_that_were_expected() {
    let names = names();
    assert!(names.len() >= 14, "only {} snapshots were found", names.len());
    let (mut wrong, mut all) = (Vec::new(), [0, 0, 0]);
    for name in &names {
        let (inventory, expected) = (inventory(name), expected(name));
        let audit =
            Audit::new(&inventory, expected.path, expected.profile, Some(&expected.interface)).unwrap();
        let wanted: BTreeSet<ExpectedFinding> = expected.finding.iter().cloned().collect();
        assert_eq!(wanted.len(), expected.finding.len(), "{name} lists a finding twice");
        let findings = audit.findings();
        let found: BTreeSet<ExpectedFinding> = findings.iter().map(form).collect();
        assert_eq!(found.len(), findings.len(), "{name}: a rule reports the same thing twice");
        let right = found.intersection(&wanted).count();
        let ratio = |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
        println!(
            "{name:20} precision {:.2} ({right} of {}), recall {:.2} ({right} of {})",
            ratio(right, found.len()),
            found.len(),
            ratio(right, wanted.len()),
            wanted.len()
        );
        all = [all[0] + right, all[1] + found.len(), all[2] + wanted.len()];
        wrong.extend(found.difference(&wanted).map(|finding| format!("{name}: not expected {finding:?}")));
        wrong.extend(wanted.difference(&found).map(|finding| format!("{name}: not found {finding:?}")));
    }
    let [right, found, wanted] = all;
    println!(
        "in all: {right} of {found} findings were expected, {right} of {wanted} expected ones were found"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(right > 50, "only {right} findings were compared");
}

#[test]
fn every_finding_has_all_of_its_parts() {
    for name in names() {
        let (inventory, expected) = (inventory(&name), expected(&name));
        let audit =
            Audit::new(&inventory, expected.path, expected.profile, Some(&expected.interface)).unwrap();
        for finding in audit.findings() {
            let place = format!("{name}: {}", finding.rule);
            assert!(!finding.text.ends_with('.') && !finding.text.is_empty(), "{place}");
            assert!(!finding.found.is_empty() && !finding.wanted.is_empty(), "{place}");
            assert!(!finding.formula.is_empty() && !finding.source.is_empty(), "{place}");
            assert!(!finding.commands().is_empty(), "{place} has no command");
            assert!(finding.changes.iter().all(|change| change.rule == finding.rule), "{place}");
        }
    }
}

/// Applying the changes of the sysctls leaves no finding about them: the wanted values are those that the rules accept.
#[test]
fn wanted_sysctls_are_accepted_by_their_rules() {
    let mut compared = 0;
    for name in names() {
        let (mut inventory, expected) = (inventory(&name), expected(&name));
        let audit = |inventory: &Inventory| {
            Audit::new(inventory, expected.path, expected.profile, Some(&expected.interface))
                .unwrap()
                .findings()
        };
        let before = audit(&inventory);
        let sysctls: Vec<_> = before
            .iter()
            .filter(|finding| finding.changes.len() == 1)
            .filter_map(|finding| match &finding.changes[0].setting {
                wirespeed_inventory::Setting::Sysctl { name } => {
                    Some((finding.rule, name.clone(), finding.changes[0].value.clone()))
                }
                _ => None,
            })
            .collect();
        for (_, name, value) in &sysctls {
            inventory.sysctls.insert(name.clone(), value.clone());
        }
        let after = audit(&inventory);
        for (rule, name, _) in &sysctls {
            // The algorithm in use is not read from the sysctl.
            if name != "net.ipv4.tcp_congestion_control" {
                assert!(after.iter().all(|finding| finding.rule != *rule), "{rule} rejects its own value");
                compared += 1;
            }
        }
    }
    assert!(compared > 30, "only {compared} sysctls were compared");
}

/// No two findings want different values for one setting.
#[test]
fn changes_do_not_contradict_each_other() {
    let mut compared = 0;
    for name in names() {
        let (inventory, expected) = (inventory(&name), expected(&name));
        let audit =
            Audit::new(&inventory, expected.path, expected.profile, Some(&expected.interface)).unwrap();
        let mut values = BTreeMap::new();
        for change in audit.findings().into_iter().flat_map(|finding| finding.changes) {
            compared += 1;
            let earlier = values.insert(change.setting.clone(), change.value.clone());
            let is_same = earlier.as_ref().is_none_or(|earlier| *earlier == change.value);
            assert!(is_same, "{name}: {} to {earlier:?} and {}", change.setting, change.value);
        }
    }
    assert!(compared > 100, "only {compared} changes were compared");
}

#[test]
fn empty_inventory_gives_no_finding_about_the_host() {
    let (inventory, expected) = (Inventory::default(), expected("kit-2019-before"));
    for profile in Profile::ALL {
        let audit = Audit::new(&inventory, expected.path, profile, None).unwrap();
        assert_eq!(audit.findings(), [], "unknown is not wrong");
    }
}

#[test]
fn unknown_interface_is_rejected_with_those_that_exist() {
    let (inventory, expected) = (inventory("laptop-e1000e"), expected("laptop-e1000e"));
    let error = Audit::new(&inventory, expected.path, expected.profile, Some("eth9")).unwrap_err();
    assert_eq!(error.to_string(), "notebook has no interface `eth9`; choose one of lo, enp0s31f6, wlp2s0");
    let audit = Audit::new(&inventory, expected.path, expected.profile, None).unwrap();
    assert_eq!(audit.interface().unwrap().name, "enp0s31f6", "the fastest that is up");
}
