//! The type of a finding of the audit.

use super::conflicts::GuideValue;
use super::needs::Need;
use super::rule::Rule;
use crate::finding::Subject;
use crate::id::Severity;
use serde::Serialize;
use wirespeed_inventory::{Change, Setting};

/// A setting or a state of a host that does not fit the path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AuditFinding {
    /// Id of the rule, such as `tcp.rmem`.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The host, an interface or one of its queues.
    pub subject: Subject,
    /// The finding as a sentence, without its full stop.
    pub text: String,
    /// The value found.
    pub found: String,
    /// The value wanted.
    pub wanted: String,
    /// Unit of both; empty for words.
    pub unit: &'static str,
    /// The formula of the wanted value with its numbers.
    pub formula: String,
    /// The expected effect.
    pub effect: &'static str,
    /// The study, document or standard behind the rule.
    pub source: &'static str,
    /// Changes that give the wanted value.
    pub changes: Vec<Change>,
    /// A step that no setting can do, in the imperative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Values that other guides give for the same setting.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<GuideValue>,
}

impl AuditFinding {
    /// With everything that follows from the rule.
    pub(super) fn new(rule: &Rule, subject: Subject, text: impl Into<String>) -> AuditFinding {
        AuditFinding {
            rule: rule.id,
            severity: rule.severity,
            subject,
            text: text.into(),
            found: String::new(),
            wanted: String::new(),
            unit: rule.unit,
            formula: String::new(),
            effect: rule.effect,
            source: rule.source,
            changes: Vec::new(),
            remedy: None,
            conflicts: Vec::new(),
        }
    }

    /// With the value found and the value wanted.
    pub(super) fn values(self, found: impl ToString, wanted: impl ToString) -> AuditFinding {
        AuditFinding { found: found.to_string(), wanted: wanted.to_string(), ..self }
    }

    /// With a wanted value that was computed.
    pub(super) fn needs(self, found: impl ToString, need: &Need) -> AuditFinding {
        AuditFinding { formula: need.formula.clone(), ..self.values(found, need.value) }
    }

    /// With the derivation of the wanted value.
    pub(super) fn formula(self, formula: impl Into<String>) -> AuditFinding {
        AuditFinding { formula: formula.into(), ..self }
    }

    /// With a change. Its reason is the text of the finding.
    pub(super) fn change(mut self, setting: Setting, value: impl ToString) -> AuditFinding {
        let (rule, reason) = (self.rule.to_owned(), self.text.clone());
        self.changes.push(Change { setting, value: value.to_string(), rule, reason });
        self
    }

    /// With a change of a sysctl to the wanted value.
    pub(super) fn sysctl(self, name: &str) -> AuditFinding {
        let wanted = self.wanted.clone();
        self.change(Setting::Sysctl { name: name.into() }, wanted)
    }

    /// With a step that no setting can do.
    pub(super) fn remedy(self, remedy: impl Into<String>) -> AuditFinding {
        AuditFinding { remedy: Some(remedy.into()), ..self }
    }

    /// With another severity than the rule has.
    pub(super) fn severity(self, severity: Severity) -> AuditFinding {
        AuditFinding { severity, ..self }
    }

    /// The commands to type: those of the changes, and the step that no setting can do.
    pub fn commands(&self) -> Vec<String> {
        let changes = self.changes.iter().map(|change| change.setting.command(&change.value));
        changes.chain(self.remedy.clone()).collect()
    }

    /// The subject in one word: the interface, or the host.
    pub fn place(&self) -> String {
        match &self.subject {
            Subject::Interface { interface: Some(name), queue: Some(queue), .. } => {
                format!("{name} queue {queue}")
            }
            Subject::Interface { interface: Some(name), .. } => name.clone(),
            Subject::Interface { host, .. } | Subject::Host { host } | Subject::Core { host, .. } => {
                host.clone()
            }
            Subject::Link { link } => link.clone(),
            Subject::Place { place } => place.clone(),
            Subject::Flow { label, .. } => label.clone(),
            Subject::Run => "run".into(),
        }
    }
}
