//! The findings for programs: JSON, JUnit, Prometheus.

use super::judged::Judged;
use serde_json::{Value, json};
use std::fmt::Write;
use wirespeed_diagnosis::Severity;
use wirespeed_diagnosis::audit::{AuditFinding, rules};
use wirespeed_report::escape;

/// One object with a list of hosts.
pub fn json(hosts: &[Judged]) -> String {
    let finding = |finding: &AuditFinding| {
        let mut value = json!(finding);
        value["commands"] = json!(finding.commands());
        value
    };
    let host = |host: &Judged| {
        let mut value = json!({
            "host": host.host,
            "interface": host.interface,
            "path": host.path,
            "profile": host.profile,
            "assumed": host.assumed,
            "ceilings": host.ceilings,
            "findings": host.findings.iter().map(finding).collect::<Vec<Value>>(),
            "missing": host.missing,
        });
        if let Some(differences) = &host.differences {
            value["differences"] = json!(differences);
        }
        value
    };
    let value = json!({ "hosts": hosts.iter().map(host).collect::<Vec<Value>>() });
    format!("{value:#}\n")
}

/// A test suite for each host, and a test case for each rule. Findings of severity warning or higher are failures.
pub fn junit(hosts: &[Judged]) -> String {
    let mut out =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"wirespeed doctor\">\n");
    for host in hosts {
        let rules = rules();
        let is_failure = |finding: &&AuditFinding| finding.severity >= Severity::Warning;
        let failed = rules
            .iter()
            .filter(|rule| host.findings.iter().filter(is_failure).any(|finding| finding.rule == rule.id))
            .count();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\">",
            escape(&host.host),
            rules.len()
        );
        for rule in rules {
            let _ = write!(out, "    <testcase classname=\"{}\" name=\"{}\">", escape(&host.host), rule.id);
            let own: Vec<&AuditFinding> =
                host.findings.iter().filter(|finding| finding.rule == rule.id).collect();
            // A test case has one failure at most; its text has all findings.
            let lines: Vec<String> = own.iter().map(|finding| escape(&line(finding))).collect();
            let lines = lines.join("\n");
            match own.iter().find(|finding| is_failure(finding)) {
                Some(first) => {
                    let _ = write!(out, "<failure message=\"{}\">{lines}</failure>", escape(&first.text));
                }
                None if !own.is_empty() => _ = write!(out, "<system-out>{lines}</system-out>"),
                None => {}
            }
            out.push_str("</testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn line(finding: &AuditFinding) -> String {
    format!("{}: {}; found {}, wanted {}", finding.place(), finding.text, finding.found, finding.wanted)
}

/// Gauges in the text format 0.0.4: one for each finding, and the number of findings by severity.
pub fn prometheus(hosts: &[Judged]) -> String {
    let mut out = String::from(
        "# HELP wirespeed_doctor_finding 1 for a finding of a rule.\n# TYPE wirespeed_doctor_finding gauge\n",
    );
    for host in hosts {
        for finding in &host.findings {
            let _ = writeln!(
                out,
                "wirespeed_doctor_finding{{host=\"{}\",place=\"{}\",rule=\"{}\",severity=\"{}\"}} 1",
                label(&host.host),
                label(&finding.place()),
                finding.rule,
                finding.severity.word()
            );
        }
    }
    out.push_str(
        "# HELP wirespeed_doctor_findings Findings by severity.\n# TYPE wirespeed_doctor_findings gauge\n",
    );
    for host in hosts {
        for severity in [Severity::Critical, Severity::Warning, Severity::Info] {
            let (name, word, count) = (label(&host.host), severity.word(), host.count(severity));
            let _ = writeln!(out, "wirespeed_doctor_findings{{host=\"{name}\",severity=\"{word}\"}} {count}");
        }
    }
    out
}

/// The value of a label: backslash, quote and line feed are escaped.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_are_escaped() {
        assert_eq!(label("a\"b\\c\n"), "a\\\"b\\\\c\\n");
    }
}
