//! The claims as a table for the terminal.

use super::conclusion::Conclusion;
use super::results::{CarriedOut, Entry, Results, Summary};
use wirespeed_record::SubstrateKind;
use wirespeed_report::text_table;

/// Claim, published, kernel, model, verdict; wrapped to `width` columns, at least 80. Below it the counts.
pub fn table(results: &Results, width: usize) -> String {
    let mode = |substrate: SubstrateKind| match results.carried_out.get(&substrate) {
        Some(carried) if !carried.mode.is_empty() => format!("{substrate} ({})", carried.mode),
        _ => substrate.to_string(),
    };
    let [kernel, model] = [SubstrateKind::Kernel, SubstrateKind::Model];
    let heads = ["claim".into(), "published".into(), mode(kernel), mode(model), "verdict".into()];
    let mut rows = Vec::new();
    for claim in &results.claims {
        let measured = |substrate: SubstrateKind| {
            let words = claim.results.get(&substrate).map(Entry::words);
            words.filter(|words| !words.is_empty()).unwrap_or_else(|| "–".into())
        };
        let marks = [(claim.own, " (own reading)"), (claim.calibration, " (calibration)")];
        let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
        rows.push([
            format!("{}{marks}", claim.id),
            claim.published.clone(),
            measured(kernel),
            measured(model),
            claim.verdict(),
        ]);
    }
    let mut out = text_table(heads, &rows, [22, 20, 17, 20, 21], width.max(80));
    out.push('\n');
    for line in summary_lines(results) {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// The verdicts on the conclusions, the counts and the cost in sentences.
pub fn summary_lines(results: &Results) -> Vec<String> {
    let mut lines: Vec<String> = results.conclusions.iter().map(conclusion).collect();
    for (substrate, summary) in &results.summary {
        lines.push(counts(*substrate, summary));
    }
    for (substrate, carried) in &results.carried_out {
        lines.push(cost(*substrate, carried));
    }
    lines
}

fn conclusion(conclusion: &Conclusion) -> String {
    format!("Conclusion \"{}\": {}.", conclusion.text.trim_end_matches('.'), conclusion.words())
}

fn counts(substrate: SubstrateKind, s: &Summary) -> String {
    let mut line = format!("On {substrate} {} of {} published claims agree", s.agree, s.judged);
    if s.calibration > 0 {
        line.push_str(&format!(
            " ({} of {} used for calibration, {} of {} not)",
            s.calibration_agree,
            s.calibration,
            s.agree - s.calibration_agree,
            s.judged - s.calibration
        ));
    }
    if s.refuted_by_kernel > 0 {
        let (rest, standing) = (s.judged - s.agree, s.judged - s.refuted_by_kernel);
        line.push_str(&format!(
            "; of the {rest} others the kernel refutes {}, which leaves {} of {standing} ({:.0} %)",
            s.refuted_by_kernel,
            s.agree,
            100.0 * s.agree as f64 / standing.max(1) as f64
        ));
    }
    if s.own_judged > 0 {
        line.push_str(&format!("; {} of {} own readings", s.own_agree, s.own_judged));
    }
    let rest = [
        (s.drawn, "drawn"),
        (s.not_runnable, "not runnable here"),
        (s.missing, "without a number to judge by"),
    ];
    for (count, what) in rest.iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!("; {count} {what}"));
    }
    line + "."
}

fn cost(substrate: SubstrateKind, carried: &CarriedOut) -> String {
    let mode = if carried.mode.is_empty() { String::new() } else { format!(" ({})", carried.mode) };
    let copies = match carried.copies {
        0 => String::new(),
        copies => format!(", {copies} copies of repetitions that no seed changes"),
    };
    format!(
        "{substrate}{mode}: {} runs{copies}, {} of them now in {:.1} s of wall time; {:.0} s of CPU time, {:.3e} packets and {:.1} h of virtual time in all.",
        carried.runs,
        carried.now,
        carried.wall_s,
        carried.cpu_s,
        carried.packets as f64,
        carried.virtual_s / 3600.0
    )
}
