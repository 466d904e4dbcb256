//! The analysis of a run as a file, `metrics.json`.
//!
//! It has the decisions of the rules and their numbers. Texts that follow from the name of a finding or of a rule are not stored, such
//! as its source. They come from this program when the file is read.

use crate::analysis::Analysis;
use crate::audit::{AuditFinding, conflicts, rule};
use crate::diagnosis::Diagnosis;
use crate::finding::{Evidence, Finding, Setting, Subject};
use crate::id::{Id, Severity};
use crate::limiting_factor::Interval;
use crate::steadiness::Unsteady;
use crate::thresholds;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use thiserror::Error;
use wirespeed_inventory::Change;
use wirespeed_metrics::per_group::GroupValues;
use wirespeed_metrics::{Pair, find, timeline_without_retransmissions};
use wirespeed_record::Recording;

/// Version of the file.
const VERSION: u32 = 1;

/// Why a text is not the analysis of a run.
#[derive(Debug, Error)]
pub(crate) enum AnalysisError {
    #[error("{0}")]
    NotJson(#[from] serde_json::Error),
    #[error("version {0} of the format, this program reads up to {VERSION}: use a newer wirespeed")]
    Newer(u32),
    #[error(
        "it has the metrics of {found} flows and {found_groups} groups, and the run has {flows} and {groups}"
    )]
    OtherRun { found: usize, found_groups: usize, flows: usize, groups: usize },
    #[error("its {0} are impossible")]
    Impossible(&'static str),
}

type Values<'a> = BTreeMap<&'a str, f64>;

/// Of an interval and a direction: retransmitted packets, and those that receivers had already. The rest of the ledger by interval
/// is a table of the run.
type Retransmissions = (Option<u64>, Option<u64>);

#[derive(Serialize)]
struct Written<'a> {
    analysis_version: u32,
    metrics: &'a BTreeMap<&'static str, f64>,
    per_flow: &'a [BTreeMap<&'static str, f64>],
    per_group: Vec<&'a BTreeMap<&'static str, f64>>,
    limited_flows: usize,
    findings: Vec<StoredFinding>,
    limiting_factors: &'a [Interval],
    unsteady: &'a Option<Unsteady>,
    retransmissions: Vec<Retransmissions>,
    rtt_quantiles_ns: &'a [f64],
    pairs: &'a [Pair],
}

#[derive(Deserialize)]
struct Version {
    analysis_version: u32,
}

#[derive(Deserialize)]
struct Read<'a> {
    #[serde(borrow)]
    metrics: Values<'a>,
    #[serde(borrow)]
    per_flow: Vec<Values<'a>>,
    /// In the order of [`RunInfo::flow_groups`](wirespeed_record::RunInfo::flow_groups).
    #[serde(borrow)]
    per_group: Vec<Values<'a>>,
    limited_flows: usize,
    findings: Vec<StoredFinding>,
    limiting_factors: Vec<Interval>,
    unsteady: Option<Unsteady>,
    retransmissions: Vec<Retransmissions>,
    rtt_quantiles_ns: Vec<f64>,
    pairs: Vec<Pair>,
}

#[derive(Serialize, Deserialize)]
struct StoredFinding {
    id: String,
    severity: Severity,
    subject: Subject,
    text: String,
    evidence: Vec<StoredEvidence>,
    remedy: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    settings: Vec<StoredSetting>,
}

#[derive(Serialize, Deserialize)]
struct StoredEvidence {
    name: String,
    #[serde(serialize_with = "write_number", deserialize_with = "read_number")]
    value: f64,
    unit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threshold: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredSetting {
    host: String,
    rule: String,
    severity: Severity,
    subject: Subject,
    text: String,
    found: String,
    wanted: String,
    formula: String,
    changes: Vec<Change>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// The file of an analysis.
pub(crate) fn text(analysis: &Analysis) -> String {
    let written = Written {
        analysis_version: VERSION,
        metrics: &analysis.metrics,
        per_flow: &analysis.per_flow,
        per_group: analysis.per_group.iter().map(|found| &found.values).collect(),
        limited_flows: analysis.diagnosis.flows,
        findings: analysis.diagnosis.findings.iter().map(StoredFinding::of).collect(),
        limiting_factors: &analysis.diagnosis.intervals,
        unsteady: &analysis.unsteady,
        retransmissions: analysis
            .timeline
            .iter()
            .map(|moment| (moment.sent_again, moment.spurious))
            .collect(),
        rtt_quantiles_ns: &analysis.rtt_quantiles,
        pairs: &analysis.pairs,
    };
    serde_json::to_string(&written).expect("an analysis is plain data") + "\n"
}

/// The analysis of a run, with what the recording has of it.
pub(crate) fn read(text: &str, recording: &Recording) -> Result<Analysis, AnalysisError> {
    let (groups, flows) = (recording.info.flow_groups(), recording.info.flows.len());
    let Version { analysis_version } = serde_json::from_str(text)?;
    if analysis_version > VERSION {
        return Err(AnalysisError::Newer(analysis_version));
    }
    let read: Read = serde_json::from_str(text)?;
    let (found, found_groups) = (read.per_flow.len(), read.per_group.len());
    if (found, found_groups) != (flows, groups.len()) {
        return Err(AnalysisError::OtherRun { found, found_groups, flows, groups: groups.len() });
    }
    if let Some(what) = impossible(&read) {
        return Err(AnalysisError::Impossible(what));
    }
    let mut timeline = timeline_without_retransmissions(&recording.ledger_intervals);
    if timeline.len() != read.retransmissions.len() {
        return Err(AnalysisError::Impossible("intervals of the ledger"));
    }
    for (moment, retransmissions) in timeline.iter_mut().zip(&read.retransmissions) {
        (moment.sent_again, moment.spurious) = *retransmissions;
    }
    let values = read.per_group.into_iter().map(known);
    Ok(Analysis {
        metrics: known(read.metrics),
        per_flow: read.per_flow.into_iter().map(known).collect(),
        per_group: groups
            .into_iter()
            .zip(values)
            .map(|(group, values)| GroupValues { group, values })
            .collect(),
        diagnosis: Diagnosis {
            findings: read.findings.into_iter().filter_map(StoredFinding::read).collect(),
            intervals: read.limiting_factors,
            flows: read.limited_flows,
        },
        unsteady: read.unsteady,
        timeline,
        rtt_quantiles: read.rtt_quantiles_ns,
        pairs: read.pairs,
    })
}

/// The first thing that no run has, in a file that was changed.
fn impossible(read: &Read) -> Option<&'static str> {
    /// Ten years, in ns: sums of such times stay in range.
    const FAR_NS: i64 = 315_360_000_000_000_000;
    let is_near = |ns: i64| (-FAR_NS..=FAR_NS).contains(&ns);
    let is_interval = |from: i64, to: i64| is_near(from) && is_near(to) && from <= to;
    let is_steadiness = |unsteady: &Unsteady| {
        unsteady.flows > 0 && is_near(unsteady.measured_ns) && is_near(unsteady.needed_ns)
    };
    let checks = [
        ("limiting factors", read.limiting_factors.iter().all(|i| is_interval(i.from_ns, i.to_ns))),
        ("window cycles", read.unsteady.iter().all(is_steadiness)),
        ("round-trip times", read.rtt_quantiles_ns.is_sorted()),
        ("pairs of hosts", read.pairs.iter().all(|pair| pair.sent > 0 && pair.lost <= pair.sent)),
    ];
    checks.into_iter().find(|(_, is_possible)| !is_possible).map(|(what, _)| what)
}

/// The metrics that this program has.
fn known(values: Values) -> BTreeMap<&'static str, f64> {
    values.into_iter().filter_map(|(name, value)| Some((find(name)?.name, value))).collect()
}

impl StoredFinding {
    fn of(finding: &Finding) -> StoredFinding {
        let evidence = |evidence: &Evidence| StoredEvidence {
            name: evidence.name.clone(),
            value: evidence.value,
            unit: evidence.unit.to_string(),
            threshold: evidence.threshold.map(|threshold| threshold.name.to_owned()),
        };
        StoredFinding {
            id: finding.id.word().to_owned(),
            severity: finding.severity,
            subject: finding.subject.clone(),
            text: finding.text.clone(),
            evidence: finding.evidence.iter().map(evidence).collect(),
            remedy: finding.remedy.clone(),
            settings: finding.settings.iter().map(StoredSetting::of).collect(),
        }
    }

    /// `None` for a finding that this program does not have.
    fn read(self) -> Option<Finding> {
        let id = *Id::ALL.iter().find(|id| id.word() == self.id)?;
        let evidence = |stored: StoredEvidence| {
            let all = thresholds::ALL.iter();
            let threshold = stored.threshold.and_then(|name| all.copied().find(|found| found.name == name));
            Evidence { name: stored.name, value: stored.value, unit: stored.unit.into(), threshold }
        };
        Some(Finding {
            id,
            severity: self.severity,
            subject: self.subject,
            text: self.text,
            evidence: self.evidence.into_iter().map(evidence).collect(),
            remedy: self.remedy,
            source: id.source(),
            settings: self.settings.into_iter().filter_map(StoredSetting::read).collect(),
        })
    }
}

impl StoredSetting {
    fn of(Setting { host, finding }: &Setting) -> StoredSetting {
        StoredSetting {
            host: host.clone(),
            rule: finding.rule.to_owned(),
            severity: finding.severity,
            subject: finding.subject.clone(),
            text: finding.text.clone(),
            found: finding.found.clone(),
            wanted: finding.wanted.clone(),
            formula: finding.formula.clone(),
            changes: finding.changes.clone(),
            remedy: finding.remedy.clone(),
        }
    }

    /// `None` for a rule that this program does not have.
    fn read(self) -> Option<Setting> {
        let rule = rule(&self.rule)?;
        let finding = AuditFinding {
            rule: rule.id,
            severity: self.severity,
            subject: self.subject,
            text: self.text,
            found: self.found,
            wanted: self.wanted,
            unit: rule.unit,
            formula: self.formula,
            effect: rule.effect,
            source: rule.source,
            changes: self.changes,
            remedy: self.remedy,
            conflicts: conflicts::of_rule(rule.id),
        };
        Some(Setting { host: self.host, finding })
    }
}

/// JSON has no infinite numbers: they are written as text.
pub(crate) fn write_number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(*value)
    } else {
        serializer.serialize_str(&value.to_string())
    }
}

/// Reads what [`write_number`] writes.
pub(crate) fn read_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Finite(f64),
        Word(String),
    }
    match Number::deserialize(deserializer)? {
        Number::Finite(value) => Ok(value),
        Number::Word(word) => word.parse().map_err(serde::de::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_finite_are_read_back() {
        let evidence =
            |value| StoredEvidence { name: "x".into(), value, unit: String::new(), threshold: None };
        for value in [0.1 + 0.2, f64::MIN_POSITIVE, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            let text = serde_json::to_string(&evidence(value)).unwrap();
            let found: StoredEvidence = serde_json::from_str(&text).unwrap();
            assert_eq!(found.value.to_bits(), value.to_bits(), "{text}");
        }
    }

    #[test]
    fn every_finding_is_read_back() {
        for id in Id::ALL {
            let subject = Subject::Core { host: "a".into(), core: 3 };
            let evidence = Evidence::beyond("busy", 0.99, "ratio", thresholds::FULL_CORE);
            let finding = Finding::new(*id, subject, "full", vec![evidence]).with_remedy("Do it.");
            assert_eq!(StoredFinding::of(&finding).read(), Some(finding));
        }
    }
}
