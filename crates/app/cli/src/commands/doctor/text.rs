//! The findings of one host for people.

use super::judged::Judged;
use std::fmt::Write;
use wirespeed_diagnosis::Severity;
use wirespeed_diagnosis::audit::{AuditFinding, needs};

/// Commands of one finding that are printed; a finding about every core has hundreds.
const MOST_COMMANDS: usize = 4;

/// Values that changed and are printed.
const MOST_DIFFERENCES: usize = 40;

/// The page of a host. Its last line is the next step.
pub fn of(host: &Judged) -> String {
    let mut out = head(host);
    for finding in &host.findings {
        out.push('\n');
        out.push_str(&one(finding));
    }
    changed(&mut out, host);
    if let Some(first) = host.missing.first() {
        let more = match host.missing.len() {
            1 => String::new(),
            count => format!(", and {} more values", count - 1),
        };
        let _ = write!(out, "\nNot read: {}{more}. Rules about them were skipped.\n", first.what);
    }
    let _ = write!(out, "\n{}\n", next_step(host));
    out
}

/// The host and its path in one line, then assumptions and limits.
fn head(host: &Judged) -> String {
    let path = &host.path;
    let mut out = format!(
        "{}{}: {}, {}, MTU {} bytes, {} {}, profile {}\n",
        host.host,
        host.interface.as_deref().map(|name| format!(" {name}")).unwrap_or_default(),
        needs::rate(path.rate_bps),
        needs::time(path.rtt_ns),
        path.mtu_bytes,
        path.flows,
        if path.flows == 1 { "flow" } else { "flows" },
        host.profile.word()
    );
    for assumption in &host.assumed {
        let _ = writeln!(out, "  assumed  {assumption}");
    }
    for ceiling in &host.ceilings {
        let each = if ceiling.is_per_flow { " a flow" } else { "" };
        let _ = writeln!(out, "  limit    {}{each}: {}", needs::rate(ceiling.rate_bps), ceiling.name);
    }
    out
}

fn one(finding: &AuditFinding) -> String {
    let unit = if finding.unit.is_empty() { String::new() } else { format!(" {}", finding.unit) };
    let word = finding.severity.word().to_uppercase();
    let mut out = format!("{word:8} {:24} {}\n", finding.rule, finding.text);
    let mut line = |head: &str, text: &str| {
        let _ = writeln!(out, "  {head:7} {text}");
    };
    line("found", &format!("{}{unit}", finding.found));
    line("wanted", &format!("{}{unit}", finding.wanted));
    line("because", &finding.formula);
    line("effect", finding.effect);
    let commands = finding.commands();
    for command in commands.iter().take(MOST_COMMANDS) {
        line("do", command);
    }
    if commands.len() > MOST_COMMANDS {
        line("", &format!("and {} more; `--shell` prints all", commands.len() - MOST_COMMANDS));
    }
    for guide in &finding.conflicts {
        line("guide", &format!("{}: {}", guide.guide, guide.value));
    }
    line("source", finding.source);
    out
}

fn changed(out: &mut String, host: &Judged) {
    let Some(differences) = &host.differences else { return };
    if differences.is_empty() {
        out.push_str("\nNothing changed since the baseline.\n");
        return;
    }
    let _ = write!(out, "\nChanged since the baseline: {} values\n", differences.len());
    for difference in differences.iter().take(MOST_DIFFERENCES) {
        let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "not recorded".into());
        let (before, after) = (word(&difference.before), word(&difference.after));
        let _ = writeln!(out, "  {}: {after}, was {before}", difference.place);
    }
    if differences.len() > MOST_DIFFERENCES {
        let _ = writeln!(out, "  and {} more; `--json` prints all", differences.len() - MOST_DIFFERENCES);
    }
}

/// The counts and the next step.
fn next_step(host: &Judged) -> String {
    let counts: Vec<String> = [Severity::Critical, Severity::Warning, Severity::Info]
        .into_iter()
        .map(|severity| (host.count(severity), severity.word()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let counts = counts.join(", ");
    // `tune` leaves out those of severity info, which are decisions.
    let is_due = |finding: &AuditFinding| finding.severity != Severity::Info && !finding.changes.is_empty();
    let has_changes = host.findings.iter().any(is_due);
    let has_critical = host.count(Severity::Critical) > 0;
    match () {
        () if host.findings.is_empty() => {
            "No findings. Next: measure the path with `wirespeed probe`.".into()
        }
        () if has_critical => {
            format!("Findings: {counts}. Next: repair the critical ones first; no setting makes up for them.")
        }
        () if has_changes => format!(
            "Findings: {counts}. Next: repeat the command with `--json > changes.json`, then `wirespeed tune plan --changes \
             changes.json`."
        ),
        () => format!("Findings: {counts}. Next: decide about each step above; no setting has to change."),
    }
}
