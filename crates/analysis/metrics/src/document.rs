//! The registry as text: for `wirespeed explain`, and as the reference page.

use crate::registry::{Better, Metric, all};
use crate::{per_flow, per_group};
use std::fmt::Write;

const WIDTH: usize = 88;

/// What a metric is, for a terminal: name, definition wrapped to 88 columns, unit, direction, reference.
pub fn explain(metric: &Metric) -> String {
    let mut text = format!("{}\n\n", metric.name);
    for line in wrap(metric.definition, WIDTH - 2) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = write!(
        text,
        "\n  unit       {}\n  better     {}\n  per flow   {}\n  per group  {}\n",
        unit(metric),
        better(metric),
        if is_per_flow(metric) { "yes" } else { "no" },
        if is_per_group(metric) { "yes" } else { "no" },
    );
    for (i, line) in wrap(metric.reference, WIDTH - 13).iter().enumerate() {
        let _ = writeln!(text, "  {:<9}  {line}", if i == 0 { "reference" } else { "" });
    }
    text
}

/// The reference page of all metrics in Markdown: `docs/reference/metrics.md`.
pub fn reference() -> String {
    let mut page = String::from(
        "# Metrics\n\n\
         <!-- Generated from crates/analysis/metrics by `WIRESPEED_BLESS=1 cargo test -p wirespeed-metrics`. Do not edit. -->\n\n\
         A metric is a number of one run. The measurement window is `run.omit` to the end of the run. What a \
         recording does not give is absent, never 0.\n\n\
         The last column says whether the same name also exists for each flow (`flow.LABEL.METRIC`) and for each group \
         of flows (`group.LABEL.METRIC`). The rate of a flow is over its own time in the window, from its start to its \
         end, and that of a group over the whole window.\n\n\
         | name | unit | better | definition | reference | also of |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for metric in all() {
        let cells = [metric.name, unit(metric), better(metric), metric.definition, metric.reference];
        let [name, unit, better, definition, reference] = cells.map(|cell| cell.replace('|', "\\|"));
        let also = match (is_per_flow(metric), is_per_group(metric)) {
            (true, true) => "flow, group",
            (true, false) => "flow",
            (false, true) => "group",
            (false, false) => "",
        };
        let _ = writeln!(page, "| `{name}` | {unit} | {better} | {definition} | {reference} | {also} |");
    }
    page
}

fn is_per_flow(metric: &Metric) -> bool {
    per_flow::names().any(|name| name == metric.name)
}

fn is_per_group(metric: &Metric) -> bool {
    per_group::names().any(|name| name == metric.name)
}

fn unit(metric: &Metric) -> &'static str {
    if metric.unit.is_empty() { "none" } else { metric.unit }
}

fn better(metric: &Metric) -> &'static str {
    match metric.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither",
    }
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_are_whole_and_fit_the_terminal() {
        for metric in all() {
            let text = explain(metric);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(&metric.definition.split_whitespace().collect::<Vec<_>>().join(" ")));
            assert!(words.contains(metric.reference), "{text}");
        }
    }
}
