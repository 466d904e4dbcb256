//! The registry of the audit's rules.

use super::Audit;
use super::finding::AuditFinding;
use super::rules::SUBJECTS;
use crate::id::Severity;

/// A rule of the audit.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its stable name: `tcp.rmem`.
    pub id: &'static str,
    /// The thing that it judges, in a few words.
    pub title: &'static str,
    /// The values of the inventory that it reads. A missing value gives no finding.
    pub reads: &'static str,
    /// The hosts and paths that it applies to.
    pub applies: &'static str,
    /// The wanted value as a formula.
    pub wanted: &'static str,
    /// Unit of the value; empty for words.
    pub unit: &'static str,
    /// How much a finding matters.
    pub severity: Severity,
    /// The expected effect of the wanted value.
    pub effect: &'static str,
    /// The study, document or standard behind it.
    pub source: &'static str,
    /// Judges a host.
    pub(super) check: fn(&Rule, &Audit) -> Vec<AuditFinding>,
}

/// All rules, by subject.
pub fn rules() -> Vec<&'static Rule> {
    SUBJECTS.iter().flat_map(|(_, rules)| rules.iter()).collect()
}

/// All rules with their subject.
pub fn subjects() -> &'static [(&'static str, &'static [Rule])] {
    SUBJECTS
}

/// The rule of an id.
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().into_iter().find(|rule| rule.id == id)
}

impl Rule {
    /// The rule as text for people.
    pub fn explain(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
        let lines = [
            ("reads", self.reads.to_owned()),
            ("applies", self.applies.to_owned()),
            ("wanted", format!("{}{unit}", self.wanted)),
            ("severity", self.severity.word().to_owned()),
            ("effect", self.effect.to_owned()),
            ("source", self.source.to_owned()),
        ];
        let lines: String = lines.iter().map(|(head, text)| format!("  {head:<9} {text}\n")).collect();
        let guides = super::conflicts::of_rule(self.id);
        let guides: String = guides
            .iter()
            .map(|value| format!("    {}: {} ({})\n", value.guide, value.value, value.source))
            .collect();
        let guides = if guides.is_empty() { guides } else { format!("  guides\n{guides}") };
        format!("rule {}: {}\n\n{lines}{guides}", self.id, self.title)
    }
}
