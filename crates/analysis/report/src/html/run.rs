//! One run at a time: its figures above each other, its ledger, hosts, kernel, warnings and cost.

use super::{escape, figures};
use crate::digest::{Group, RunDigest, metric_words};
use crate::flow_lines::CROWD;
use crate::ledger::{Account, Balance, Extent, Line};
use crate::number::{Column, significant, whole, with_unit};
use crate::palette::Palette;
use crate::report::Report;
use std::collections::BTreeSet;
use std::fmt::Write;
use wirespeed_record::{Entry, Stage};

/// From this many runs on a list to choose from is better than buttons.
const MOST_BUTTONS: usize = 10;

/// The section of single runs with its selector; none if there are none.
pub(super) fn section(out: &mut String, report: &Report) {
    if report.runs.is_empty() {
        return;
    }
    out.push_str("<section id=\"runs\"><h2>Run by run</h2>");
    let names: Vec<String> = report.runs.iter().map(|run| name(run, report)).collect();
    selector(out, &names);
    for (index, run) in report.runs.iter().enumerate() {
        let hidden = if index == 0 { "" } else { " hidden" };
        let _ = write!(out, "<div class=\"run\" data-panel=\"{index}\"{hidden}>");
        panel(out, run, index, &report.palette);
        out.push_str("</div>\n");
    }
    out.push_str("</section>\n");
}

/// To choose one of several runs with.
pub(crate) fn selector(out: &mut String, names: &[String]) {
    if names.len() < 2 {
        return;
    }
    if names.len() <= MOST_BUTTONS {
        out.push_str("<div class=\"selector\" role=\"group\" aria-label=\"Run\">");
        for (index, name) in names.iter().enumerate() {
            let pressed = index == 0;
            let _ = write!(
                out,
                "<button type=\"button\" data-run=\"{index}\" aria-pressed=\"{pressed}\">{}</button>",
                escape(name)
            );
        }
        out.push_str("</div>");
    } else {
        out.push_str("<div class=\"selector\"><label>Run <select id=\"run-select\">");
        for (index, name) in names.iter().enumerate() {
            let _ = write!(out, "<option value=\"{index}\">{}</option>", escape(name));
        }
        out.push_str("</select></label><button type=\"button\" data-step=\"-1\">‹ previous</button><button type=\"button\" data-step=\"1\">next ›</button></div>");
    }
}

fn name(run: &RunDigest, report: &Report) -> String {
    let name = Group { runs: vec![run] }.name(&[]);
    if report.has_repeats() { format!("{name} · repeat {}", run.info.repeat) } else { name }
}

fn panel(out: &mut String, run: &RunDigest, index: usize, palette: &Palette) {
    let _ =
        write!(out, "<p class=\"hint\">Run <code>{}</code>, seed {}.", escape(&run.info.id), run.info.seed);
    if !run.figures.is_empty() {
        out.push_str(
            " The figures share one time axis: drag over any of them to zoom all, double-click to return.",
        );
    }
    out.push_str("</p>");
    if let Some(unsteady) = &run.unsteady {
        let _ = write!(out, "<p class=\"warning\">Not steady: {}.</p>", escape(&unsteady.words()));
    }
    if let Some(region) = &run.info.validated_region {
        let _ = write!(out, "<p class=\"hint\">{}.</p>", escape(&region.to_string()));
    }
    for warning in &run.info.warnings {
        let _ = write!(out, "<p class=\"warning\">{}</p>", escape(warning));
    }
    diagnosis(out, run);
    out.push_str("<div class=\"stack\">");
    for figure in &run.figures {
        figures::frame(out, figure, palette, &index.to_string(), true);
    }
    out.push_str("</div>");
    flows(out, run);
    for account in &run.accounts {
        let window = run.measured.accounts.iter().find(|window| window.direction == account.direction);
        ledger(out, account, window.filter(|_| run.measured.extent == Extent::Window));
    }
    events(out, run);
    hosts(out, run);
    kernel(out, run);
    cost(out, run);
    if !run.info.command.is_empty() {
        let command = escape(&run.info.command);
        let _ = write!(out, "<h3>This run again</h3><pre class=\"command\">{command}</pre>");
    }
}

/// What the terminal says of the run; warnings stand above it.
fn diagnosis(out: &mut String, run: &RunDigest) {
    let sections = run.diagnosis.iter().filter(|section| section.title != "Warnings");
    for section in sections {
        let lines = section.lines.join("\n");
        let _ = write!(
            out,
            "<h3>{}</h3><pre class=\"diagnosis\">{}</pre>",
            escape(&section.title),
            escape(&lines)
        );
    }
}

fn flows(out: &mut String, run: &RunDigest) {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for metric in run.per_flow.iter().flatten() {
        if !columns.iter().any(|(name, _)| *name == metric.name) {
            columns.push((&metric.name, &metric.unit));
        }
    }
    if run.info.flows.is_empty() {
        return;
    }
    let value = |flow: usize, name: &str| {
        run.per_flow.get(flow).and_then(|ms| ms.iter().find(|m| m.name == name)).map(|m| m.value)
    };
    let forms: Vec<Column> = columns
        .iter()
        .map(|(name, unit)| Column::new(unit, (0..run.per_flow.len()).filter_map(|flow| value(flow, name))))
        .collect();
    out.push_str("<h3>Flows</h3>");
    let is_crowd = run.info.flows.len() > CROWD;
    if is_crowd {
        let _ = write!(out, "<details><summary>All {} flows</summary>", whole(run.info.flows.len() as i64));
    }
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>Flow</th><th>Control</th><th>From, to</th><th class=\"number\">Start</th>");
    for ((name, _), form) in columns.iter().zip(&forms) {
        let unit = if form.unit.is_empty() {
            String::new()
        } else {
            format!("<small>{}</small>", escape(&form.unit))
        };
        let _ = write!(
            out,
            "<th class=\"number\" title=\"{}\">{}{unit}</th>",
            escape(name),
            escape(&metric_words(name))
        );
    }
    out.push_str("</tr></thead><tbody>");
    for (number, flow) in run.info.flows.iter().enumerate() {
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{} → {}</td><td class=\"number\">{}</td>",
            escape(&flow.label),
            escape(flow.congestion.as_deref().unwrap_or(flow.kind.word())),
            escape(&flow.from),
            escape(&flow.to),
            escape(&with_unit(flow.start_ns as f64, "ns"))
        );
        for ((name, _), form) in columns.iter().zip(&forms) {
            let _ = write!(out, "<td class=\"number\">{}</td>", escape(&form.cell(value(number, name))));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    if is_crowd {
        out.push_str("</details>");
    }
}

/// The account of the whole run, with a column of what of it is of the measurement window if that is less.
fn ledger(out: &mut String, account: &Account, window: Option<&Account>) {
    let what = account.packets;
    let verdict = match account.balance {
        Balance::Even => "<span class=\"pass\">✓ balances: every packet is accounted for</span>".into(),
        Balance::Unexplained(n) => {
            format!("<span class=\"fail\">✗ {} packets unexplained</span>", whole(n))
        }
        Balance::Unseen(n) => format!("{} packets whose arrival nobody counts", whole(n)),
        Balance::Wrong(n) => {
            format!("<span class=\"fail\">✗ does not add up: off by {} packets</span>", whole(n))
        }
        Balance::Open => "<span class=\"fail\">✗ cannot balance: what was sent is not recorded</span>".into(),
    };
    let of_window = match window {
        Some(_) => "<th class=\"number\">In the measurement window</th>",
        None => "",
    };
    let _ = write!(
        out,
        "<div class=\"head\"><h3>Loss ledger, {what}</h3>{verdict}</div><p class=\"hint\">sent = delivered + lost by stage + in flight + unexplained</p><div class=\"scroll\"><table class=\"ledger\"><thead><tr><th>Entry</th><th>Stage</th><th>Place</th><th class=\"number\">Packets</th>{of_window}<th class=\"number\">Share of sent</th><th>Read from</th></tr></thead><tbody>"
    );
    for line in &account.lines {
        let share = match account.sent {
            Some(sent) if sent > 0 && line.packets != 0 => share(line.packets, sent),
            _ => String::new(),
        };
        let of_window = window.map_or(String::new(), |window| {
            let same = |other: &&Line| Line { packets: line.packets, ..(*other).clone() } == *line;
            let packets = window.lines.iter().find(same).map_or(0, |line| line.packets);
            format!("<td class=\"number\">{}</td>", whole(packets))
        });
        let class = if line.entry == Entry::Lost && line.packets > 0 { " class=\"lost\"" } else { "" };
        let _ = write!(
            out,
            "<tr{class}><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td>{of_window}<td class=\"number\">{share}</td><td class=\"source\">{}</td></tr>",
            line.entry.word().replace('_', " "),
            line.stage.map_or("", Stage::word),
            escape(&line.at()),
            whole(line.packets),
            escape(&line.source)
        );
    }
    out.push_str("</tbody></table></div>");
}

/// Percent, or `1 in n` where percents would be zeros.
pub(crate) fn share(packets: i64, sent: i64) -> String {
    let share = packets.abs() as f64 / sent as f64;
    if share >= 1e-3 {
        format!("{} %", significant(share * 100.0, 4))
    } else {
        format!("1 in {}", significant(1.0 / share, 3))
    }
}

fn events(out: &mut String, run: &RunDigest) {
    if run.events.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<details><summary>Events ({})</summary><div class=\"scroll\"><table><tbody>",
        run.events.len()
    );
    for (t, text) in &run.events {
        let _ = write!(
            out,
            "<tr><td class=\"number\">{:.6} s</td><td class=\"wrap\">{}</td></tr>",
            *t as f64 / 1e9,
            escape(text)
        );
    }
    out.push_str("</tbody></table></div></details>");
}

fn hosts(out: &mut String, run: &RunDigest) {
    let settings: BTreeSet<&String> = run.info.hosts.iter().flat_map(|host| host.settings.keys()).collect();
    if settings.is_empty() {
        return;
    }
    out.push_str("<details><summary>Host settings, as read back</summary><div class=\"scroll\"><table><thead><tr><th>Setting</th>");
    for host in &run.info.hosts {
        let _ = write!(out, "<th>{}</th>", escape(&host.name));
    }
    out.push_str("</tr></thead><tbody>");
    for setting in settings {
        let _ = write!(out, "<tr><td><code>{}</code></td>", escape(setting));
        for host in &run.info.hosts {
            let value = host.settings.get(setting).map_or(crate::number::MISSING, String::as_str);
            let _ = write!(out, "<td>{}</td>", escape(value));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div></details>");
}

fn kernel(out: &mut String, run: &RunDigest) {
    let Some(kernel) = &run.info.kernel else { return };
    let _ = write!(
        out,
        "<details><summary>Kernel {}</summary><dl><dt>Version</dt><dd>{}</dd><dt>Build</dt><dd><code>{}</code></dd>",
        escape(&kernel.release),
        escape(&kernel.version),
        escape(&kernel.build)
    );
    let edits: String = kernel.edits.iter().map(|edit| format!("<li>{}</li>", escape(edit))).collect();
    let edits = if edits.is_empty() { "none".into() } else { format!("<ul>{edits}</ul>") };
    let _ = write!(out, "<dt>Changes to its sources</dt><dd>{edits}</dd></dl></details>");
}

fn cost(out: &mut String, run: &RunDigest) {
    let cost = &run.info.cost;
    let mut facts = Vec::new();
    if cost.wall_s > 0.0 {
        facts.push(format!("{} of wall time", with_unit(cost.wall_s, "s")));
    }
    if cost.cpu_s > 0.0 {
        facts.push(format!("{} of CPU", with_unit(cost.cpu_s, "s")));
    }
    if cost.packets > 0 {
        facts.push(format!("{} data packets", whole(cost.packets.min(i64::MAX as u64) as i64)));
        if cost.wall_s > 0.0 {
            facts.push(format!("{} packets a second", whole((cost.packets as f64 / cost.wall_s) as i64)));
        }
    }
    if cost.peak_rss_bytes > 0 {
        facts.push(format!("{} of memory at most", with_unit(cost.peak_rss_bytes as f64, "bytes")));
    }
    if let Some(started) = &run.info.started {
        facts.push(format!("begun {started}"));
    }
    let by = match run.info.tool.version.as_str() {
        "" => String::new(),
        version => format!("by wirespeed {version} {}", run.info.tool.git),
    };
    let text = match (facts.is_empty(), by.is_empty()) {
        (true, true) => return,
        (true, false) => format!("Recorded {by}"),
        (false, _) => {
            facts.extend((!by.is_empty()).then_some(by));
            format!("Cost of this run: {}", facts.join(", "))
        }
    };
    let _ = write!(out, "<p class=\"cost\">{}.</p>", escape(text.trim()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_read_as_percent_or_as_one_in_many() {
        assert_eq!(share(50, 100), "50 %");
        assert_eq!(share(1, 98_000), "1 in 98,000");
    }
}
