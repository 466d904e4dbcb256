//! The answer as text for a terminal.

use crate::answer::Answer;
use crate::axis::Axis;
use crate::beside::Beside;
use crate::budget::{Budget, Crossing};
use std::fmt::Write;
use wirespeed_report::text_table;

/// The answer in sentences, most important first.
pub(crate) fn sentences(answer: &Answer) -> Vec<String> {
    let question = &answer.question;
    let mut lines = Vec::new();
    if let Some(best) = answer.best() {
        let measured = &best.measured;
        let flows = measured.point.flows;
        lines.push(format!(
            "{flows} {} {} of the {} with {} (95 %: {} to {}). Limit: {}.",
            if flows == 1 { "flow carries" } else { "flows carry" },
            gbit(measured.goodput_bps),
            question.rate,
            measured.point.congestion,
            gbit(measured.low_bps),
            gbit(measured.high_bps),
            measured.limit
        ));
        if let Some((seconds, least, most)) = best.completion_s {
            let bytes = question.bytes.map(|bytes| Axis::Buffer.text(bytes.get() as f64)).unwrap_or_default();
            lines.push(format!(
                "A transfer of {bytes} takes {} ({} to {}).",
                time(seconds),
                time(least),
                time(most)
            ));
        }
    }
    let budgets = answer.budgets.iter().filter(|b| b.axis == Axis::Loss && b.left < 0.5);
    let told: Vec<String> = budgets
        .map(|budget| format!("{}, {}: {}", budget.congestion, counted(budget.flows), crossing(budget)))
        .collect();
    if !told.is_empty() {
        lines.push(format!("Loss rate at which 80 % of the rate is lost: {}.", told.join("; ")));
    }
    lines
}

/// A number of flows.
pub(crate) fn counted(flows: u32) -> String {
    if flows == 1 { "1 flow".into() } else { format!("{flows} flows") }
}

/// Bit/s with three digits.
pub(crate) fn gbit(bps: f64) -> String {
    if bps.is_nan() {
        return "?".into();
    }
    wirespeed_report::with_unit(bps, "bps")
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 7200.0 => format!("{:.1} hours", s / 3600.0),
        s if s >= 120.0 => format!("{:.1} minutes", s / 60.0),
        s => format!("{s:.1} s"),
    }
}

/// The end of a budget, in words.
pub(crate) fn crossing(budget: &Budget) -> String {
    let of = |number: f64| budget.axis.text(number);
    match budget.crossing {
        Crossing::At { value, low, high, is_extrapolated } => {
            let beyond = if is_extrapolated { ", extrapolated" } else { "" };
            format!("{} ({} to {}{beyond})", of(value), of(low), of(high))
        }
        Crossing::Beyond { value } if budget.axis.is_better_higher() => format!("below {}", of(value)),
        Crossing::Beyond { value } => format!("above {}", of(value)),
        Crossing::Never { value } if budget.axis.is_better_higher() => format!("not even with {}", of(value)),
        Crossing::Never { value } => format!("below {}", of(value)),
    }
}

/// Cells of the table of rates, with its heading.
pub(crate) fn rate_rows(answer: &Answer) -> ([&'static str; 7], Vec<[String; 7]>) {
    let rate = answer.question.rate.get() as f64;
    let row = |of: &crate::answer::Rate| {
        let measured = &of.measured;
        let settled = if measured.is_settled {
            String::new()
        } else {
            format!(" (in {:.1} s)", measured.duration.as_secs_f64())
        };
        [
            measured.point.congestion.clone(),
            measured.point.flows.to_string(),
            format!("{}{settled}", gbit(measured.goodput_bps)),
            format!("{} to {}", gbit(measured.low_bps), gbit(measured.high_bps)),
            format!("{:.0} %", 100.0 * measured.goodput_bps / rate),
            of.completion_s.map_or_else(|| "–".to_owned(), |(seconds, ..)| time(seconds)),
            measured.limit.clone(),
        ]
    };
    (
        ["congestion", "flows", "goodput", "95 % interval", "share", "transfer", "limit"],
        answer.rates.iter().map(row).collect(),
    )
}

/// Cells of the table of budgets, with its heading.
pub(crate) fn budget_rows(answer: &Answer) -> ([&'static str; 5], Vec<[String; 5]>) {
    let row = |budget: &Budget| {
        [
            budget.axis.name().to_owned(),
            budget.congestion.clone(),
            budget.flows.to_string(),
            format!("{:.0} %", 100.0 * budget.left),
            crossing(budget),
        ]
    };
    (["budget", "congestion", "flows", "rate left", "at"], answer.budgets.iter().map(row).collect())
}

/// Cells of the table of recorded runs, with its heading.
pub(crate) fn beside_rows(beside: &Beside) -> ([&'static str; 6], Vec<[String; 6]>) {
    let row = |of: &crate::beside::Compared| {
        [
            of.run.name.clone(),
            of.run.substrate.word().to_owned(),
            of.place(),
            gbit(of.run.goodput_bps),
            gbit(of.predicted_bps),
            format!("{:.2}", of.ratio()),
        ]
    };
    (["run", "on", "at", "measured", "surface", "ratio"], beside.compared.iter().map(row).collect())
}

/// How many runs fit no surface, with the reasons; `None` if all fit one.
pub(crate) fn apart(beside: &Beside) -> Option<String> {
    let reasons: Vec<String> =
        beside.reasons().iter().map(|(reason, count)| format!("{} ({count})", reason.words())).collect();
    let count = beside.apart.len();
    let verb = if count == 1 { "fits" } else { "fit" };
    (count > 0).then(|| format!("{count} of {} runs {verb} no surface: {}.", beside.runs, reasons.join("; ")))
}

/// The whole answer, at most `width` characters wide.
pub fn text(answer: &Answer, width: usize) -> String {
    let mut text = String::new();
    for sentence in sentences(answer) {
        let _ = writeln!(text, "{sentence}");
    }
    let (head, rows) = rate_rows(answer);
    let table = text_table(head.map(String::from), &rows, [12, 6, 22, 28, 7, 12, 13], width);
    let _ = write!(text, "\nRates:\n{table}");
    let (head, rows) = budget_rows(answer);
    let table = text_table(head.map(String::from), &rows, [12, 14, 8, 12, 54], width);
    let _ = write!(text, "\nBudgets:\n{table}");
    if let Some(beside) = &answer.beside {
        let (head, rows) = beside_rows(beside);
        text.push_str("\nMeasured beside predicted:\n");
        if !rows.is_empty() {
            text.push_str(&text_table(head.map(String::from), &rows, [18, 7, 20, 12, 12, 6], width));
        }
        if let Some(sentence) = apart(beside) {
            let _ = writeln!(text, "{sentence}");
        }
    }
    let rows: Vec<[String; 2]> =
        answer.needs.iter().map(|need| [need.what.to_owned(), need.value.clone()]).collect();
    let table = text_table(["what", "value"].map(String::from), &rows, [50, 50], width);
    let _ = write!(text, "\nNeeds of the hosts, for {}:\n{table}", counted(answer.flows));
    if !answer.risks.is_empty() {
        text.push_str("\nRisks:\n");
        for risk in &answer.risks {
            let _ = writeln!(text, "  {}: {}", risk.what, risk.text);
        }
    }
    text
}
