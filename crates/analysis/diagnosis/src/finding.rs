//! The type of a finding, for people and for programs.

use crate::audit::AuditFinding;
use crate::id::{Id, Severity};
use crate::thresholds::Threshold;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A finding. Its sentence is [`Finding::text`], which `Display` writes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Its stable name.
    pub id: Id,
    /// How much it matters.
    pub severity: Severity,
    /// The flow, core, interface or other thing with the finding.
    pub subject: Subject,
    /// The finding as a sentence, without its full stop.
    pub text: String,
    /// The numbers behind it.
    pub evidence: Vec<Evidence>,
    /// The next step in the imperative, with the command to type if there is one.
    pub remedy: String,
    /// The counter, document or measurement that the finding is based on.
    pub source: &'static str,
    /// Settings of the hosts that explain it, the most direct first. Only recordings with the inventory of the hosts have any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
}

/// A setting of a host of the run that does not fit the path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// Name of the host in the run.
    pub host: String,
    /// The finding of the audit about it.
    #[serde(flatten)]
    pub finding: AuditFinding,
}

/// The thing that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// All of the run.
    Run,
    /// A flow.
    Flow {
        /// Its number.
        flow: u32,
        /// Its label.
        label: String,
    },
    /// A host.
    Host {
        /// Its name.
        host: String,
    },
    /// A core of a host.
    Core {
        /// Name of the host.
        host: String,
        /// Number of the core.
        core: u32,
    },
    /// An interface of a host, or one of its queues.
    Interface {
        /// Name of the host.
        host: String,
        /// Its name, if the recording has it.
        interface: Option<String>,
        /// Number of the queue, if it is about one.
        queue: Option<u32>,
    },
    /// A place of the [ledger](wirespeed_record::LedgerRow::place): a queue of the network, a buffer of a host.
    Place {
        /// As in the ledger.
        place: String,
    },
    /// A link between hosts or routers.
    Link {
        /// Its name.
        link: String,
    },
}

/// A number behind a finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// A metric, a counter, or a part of the time.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// `ratio`, `packets`, `bit/s`, `core` or another unit.
    pub unit: Cow<'static, str>,
    /// The bound that it crossed, if it decides.
    pub threshold: Option<Threshold>,
}

impl Evidence {
    /// A value that decides nothing by itself.
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Evidence {
        Evidence { name: name.into(), value, unit: unit.into(), threshold: None }
    }

    /// A value that crossed a threshold.
    pub fn beyond(name: impl Into<String>, value: f64, unit: &'static str, threshold: Threshold) -> Evidence {
        Evidence { threshold: Some(threshold), ..Evidence::new(name, value, unit) }
    }
}

impl Finding {
    /// With severity, remedy and source of its id.
    pub fn new(id: Id, subject: Subject, text: impl Into<String>, evidence: Vec<Evidence>) -> Finding {
        Finding {
            id,
            severity: id.severity(),
            subject,
            text: text.into(),
            evidence,
            remedy: id.remedy().to_owned(),
            source: id.source(),
            settings: Vec::new(),
        }
    }

    /// With a remedy for the case at hand.
    #[must_use]
    pub fn with_remedy(self, remedy: impl Into<String>) -> Finding {
        Finding { remedy: remedy.into(), ..self }
    }

    /// The value of its evidence of that name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.evidence.iter().find(|evidence| evidence.name == name).map(|evidence| evidence.value)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::LEAST_LOSS;
    use serde_json::json;

    #[test]
    fn json_has_every_field() {
        let place = Subject::Interface { host: "b".into(), interface: Some("eth2".into()), queue: Some(3) };
        let loss = Evidence::beyond("lost_ratio", 0.5, "ratio", LEAST_LOSS);
        let finding = Finding::new(Id::LossRxRing, place, "half", vec![loss]).with_remedy("Do it.");
        assert_eq!(
            serde_json::to_value(&finding).unwrap(),
            json!({
                "id": "loss.rx-ring",
                "severity": "warning",
                "subject": { "kind": "interface", "host": "b", "interface": "eth2", "queue": 3 },
                "text": "half",
                "evidence": [{
                    "name": "lost_ratio", "value": 0.5, "unit": "ratio",
                    "threshold": { "name": "LEAST_LOSS", "value": 1e-6 },
                }],
                "remedy": "Do it.",
                "source": Id::LossRxRing.source(),
            })
        );
        assert_eq!((finding.to_string(), finding.value("lost_ratio")), ("half".into(), Some(0.5)));
    }
}
