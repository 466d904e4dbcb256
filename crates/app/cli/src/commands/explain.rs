//! `wirespeed explain`.

mod words;

use crate::failure::Failure;
use crate::print;
use clap::Args;
use std::fmt::Write;
use wirespeed_scenario::run::KernelVersion;
use wirespeed_scenario::{CongestionControl, Parameter, Preset, When, congestion_control, presets};

/// Arguments of `wirespeed explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed explain jain_index     # a metric
  wirespeed explain cubic          # a congestion control, with its parameters
  wirespeed explain rx_ring        # a stage of the loss ledger
  wirespeed explain tcp.rmem       # a rule of `wirespeed doctor`")]
pub struct Arguments {
    /// Name of a metric, congestion control, preset, audit rule, table, column or term of a diagnosis. Such a term is a
    /// stage, limiting factor, cause or drop reason.
    #[arg(required = true)]
    name: Vec<String>,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let name = arguments.name.join(" ");
    let name = name.as_str();
    let mut found: Vec<String> = Vec::new();
    found.extend(wirespeed_metrics::find(name).map(wirespeed_metrics::explain));
    found.extend(congestion_control(name).map(explain_congestion));
    found.extend(presets().iter().filter(|preset| preset.name == name).map(explain_preset));
    found.extend(wirespeed_diagnosis::audit::rule(name).map(|rule| rule.explain()));
    found.extend(words::explain(name));
    for (table, about, columns) in wirespeed_record::tables() {
        if table == name {
            let listed: String = columns.iter().map(|c| format!("  {:24} {}\n", c.name, c.doc)).collect();
            found.push(format!("table {table}: {about}\n{listed}"));
        }
        let column = columns.iter().filter(|column| column.name == name);
        found.extend(column.map(|column| format!("column {name} of table {table}: {}\n", column.doc)));
    }
    if found.is_empty() {
        let near = wirespeed_metrics::suggest(name).join(", ");
        let near = if near.is_empty() { String::new() } else { format!("near it: {near}; ") };
        return Err(Failure::Usage {
            message: format!("nothing is called `{name}`"),
            remedy: format!("{near}`wirespeed list metrics|cc|presets|rules|tables` shows all"),
        });
    }
    print(&found.join("\n"))
}

fn explain_congestion(control: &CongestionControl) -> String {
    let mut text = format!("congestion control {}: {}\n\n", control.name, control.about);
    let mut fact = |head: &str, words: &str| {
        let _ = writeln!(text, "  {head:<11} {words}");
    };
    fact("reference", control.reference);
    fact("model", "yes");
    fact("kernel", &in_kernel(control));
    fact("bpf", &in_running_kernel(control));
    if control.needs_pacing {
        fact("needs", "pacing, which its socket does");
    }
    if control.ecn.is_required() {
        fact("needs", "ECN, for which it asks, and queues that mark");
    }
    fact("equations", &format!("docs/models/congestion/{}.md", control.name));
    fact("validation", &validation(control));
    if control.parameters.is_empty() {
        text.push_str("\nIt has no parameters.\n");
        return text;
    }
    text.push_str("\nParameters:\n");
    for parameter in control.parameters {
        text.push_str(&explain_parameter(parameter, control));
    }
    let first = &control.parameters[0];
    let _ = writeln!(
        text,
        "\nIn a scenario: congestion = {{ name = \"{}\", {} = {} }}",
        control.name, first.name, first.default
    );
    text
}

/// Where a kernel has it.
fn in_kernel(control: &CongestionControl) -> String {
    match control.linux {
        None => "no: Linux does not have it; a C file of your own can add it".into(),
        Some("reno") => "yes, as reno: part of every Linux".into(),
        Some(name) if control.needs_l4s() => {
            format!("yes, as {name}: module tcp_{name} of ours, with run.kernel = \"{}\"", KernelVersion::L4S)
        }
        Some(name) => format!("yes, as {name}: module tcp_{name}"),
    }
}

/// Whether a running kernel can take it.
#[cfg(feature = "linux")]
fn in_running_kernel(control: &CongestionControl) -> String {
    match wirespeed_bpf::control(control.name) {
        None => "no: a running kernel can use it only if it has it".into(),
        Some(bpf) if bpf.needs.is_empty() => {
            format!("yes: `wirespeed cc load {}`; default parameters", bpf.name)
        }
        Some(bpf) => {
            format!("yes: `wirespeed cc load {}`; default parameters; needs {}", bpf.name, bpf.needs)
        }
    }
}

#[cfg(not(feature = "linux"))]
fn in_running_kernel(_: &CongestionControl) -> String {
    "unknown to this build, which has the model only".into()
}

fn explain_parameter(parameter: &Parameter, control: &CongestionControl) -> String {
    let Parameter { name, alias, about, default, min, max, linux } = *parameter;
    let range = if max == i64::from(i32::MAX) { format!("from {min}") } else { format!("{min} to {max}") };
    let place = match (control.linux, linux) {
        (Some(_), Some(When::Running)) => "model and kernel",
        (Some(_), Some(When::Loading)) => "model and kernel (there at boot: one value in a run)",
        _ => "model only",
    };
    let alias = if alias.is_empty() { String::new() } else { format!(", also called {alias}") };
    format!("  {name:<22} {about}\n  {:<22} default {default}, {range}; {place}{alias}\n", "")
}

/// What the validation says of it, from the page that `wirespeed validate` writes.
fn validation(control: &CongestionControl) -> String {
    match validated(VALIDATION, control.name) {
        Some(found) => format!("against the kernel: {found}; docs/validation/README.md"),
        None if control.linux.is_none() => "not against the kernel, which does not have it".into(),
        None => "not compared with the kernel yet".into(),
    }
}

/// The row of a control in the page's table by congestion control: `15 cells, 1 outside, ...`.
fn validated(page: &str, name: &str) -> Option<String> {
    let (_, section) = page.split_once("\n## By congestion control\n")?;
    let section = section.split("\n## ").next()?;
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
    };
    let mut rows = section.lines().filter(|line| line.starts_with('|')).map(cells);
    let heads = rows.next()?;
    let row = rows.find(|row| row[0] == name)?;
    let word = |(head, value): (&String, &String)| match head.strip_prefix("error of ") {
        Some(what) => format!("{what} off by {value}"),
        None => format!("{value} {head}"),
    };
    Some(heads.iter().zip(&row).skip(1).map(word).collect::<Vec<_>>().join(", "))
}

include!(concat!(env!("OUT_DIR"), "/validation.rs"));

fn explain_preset(preset: &Preset) -> String {
    format!(
        "preset {}: {}\nSource: {}\n\n{}\n",
        preset.name,
        preset.about,
        preset.source,
        preset.settings.trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_validation_is_read_off_its_page() {
        let page = "# Validation\n\n## By congestion control\n\nErrors are medians.\n\n\
                    | congestion control | cells | outside | error of goodput |\n|---|--:|--:|--:|\n\
                    | cubic | 15 | 1 | 2.1 % |\n| reno | 15 | 0 | 1.0 % |\n\n## Cells outside\n\n| bic | 1 |\n";
        assert_eq!(validated(page, "cubic").as_deref(), Some("15 cells, 1 outside, goodput off by 2.1 %"));
        assert_eq!(validated(page, "bic"), None, "that row is of another table");
        assert_eq!(validated("", "cubic"), None);
    }
}
