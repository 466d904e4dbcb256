//! The report page's side of results: plain data for crate `report`.

use super::results::{ClaimResult, Entry, FigureCell, Results};
use super::settings::{DrawRow, Form, Settings};
use super::table::summary_lines;
use crate::claims::Verdict;
use std::collections::BTreeMap;
use wirespeed_metrics::find;
use wirespeed_record::SubstrateKind;
use wirespeed_report::claims::{ClaimRow, ClaimsPage, Outcome, OverTime, Panel, Series, StudyFigure, Style};

/// The page over all results.
pub fn page(results: &Results, settings: &Settings, command: &str) -> ClaimsPage {
    let modes = results.carried_out.iter().filter(|(_, carried)| !carried.mode.is_empty());
    ClaimsPage {
        name: results.study.clone(),
        title: settings.title.clone(),
        reference: settings.reference.clone(),
        built: settings.built.clone(),
        assumptions: settings.assumptions.clone(),
        notices: modes
            .map(|(name, carried)| format!("The runs on {name} are not the study's: {}.", carried.mode))
            .collect(),
        summary: summary_lines(results),
        claims: results.claims.iter().map(row).collect(),
        figures: settings
            .figures
            .iter()
            .filter_map(|figure| {
                let draw = figure.draw.as_ref()?;
                let found = results.figures.get(&figure.id)?;
                Some(StudyFigure {
                    id: figure.id.clone(),
                    title: figure.title.clone(),
                    text: figure.text.clone(),
                    panels: found
                        .iter()
                        .filter_map(|(substrate, cells)| panel(*substrate, cells, draw))
                        .collect(),
                    runs: found
                        .iter()
                        .flat_map(|(substrate, cells)| over_time(*substrate, cells, draw))
                        .collect(),
                })
            })
            .collect(),
        command: command.to_owned(),
        generated_by: results.generated_by.clone(),
    }
}

fn row(claim: &ClaimResult) -> ClaimRow {
    let outcome = |entry: &Entry| match &entry.judgement.verdict {
        Verdict::Agrees => Outcome::Agrees,
        Verdict::Differs { .. } => Outcome::Differs,
        Verdict::Drawn => Outcome::Drawn,
        Verdict::Missing { .. } | Verdict::NotRunnable { .. } | Verdict::NotJudged { .. } => Outcome::None,
    };
    let measured = |substrate| claim.results.get(&substrate).map(|entry| (entry.words(), outcome(entry)));
    let [metric, stands] = &claim.metric;
    ClaimRow {
        id: claim.id.clone(),
        figure: claim.figure.clone(),
        finding: claim.finding.clone(),
        metric: if metric == stands { metric.clone() } else { format!("{metric}, as {stands}") },
        published: claim.published.clone(),
        kernel: measured(SubstrateKind::Kernel),
        model: measured(SubstrateKind::Model),
        verdict: claim.verdict(),
        note: claim.note.clone(),
        explanation: claim.explanation.clone(),
        own: claim.own,
        calibration: claim.calibration,
    }
}

/// The runs of a figure over time. One whose recording is gone, or cannot be read, is left out: the page is of what has
/// been found, which outlives the runs.
fn over_time(substrate: SubstrateKind, cells: &[FigureCell], draw: &DrawRow) -> Vec<OverTime> {
    let mut runs = Vec::new();
    for cell in cells {
        let Some(Ok(recording)) = cell.run.as_deref().map(wirespeed_record::read_lazily) else { continue };
        let settings = cell.factors.values().cloned();
        let name = std::iter::once(substrate.to_string()).chain(settings).collect::<Vec<_>>().join(", ");
        let of = |kind: &String| OverTime::of(&recording, kind, name.clone()).ok().flatten();
        runs.extend(draw.metrics.iter().filter_map(of));
    }
    runs
}

fn panel(substrate: SubstrateKind, cells: &[FigureCell], draw: &DrawRow) -> Option<Panel> {
    let style = match draw.form {
        Form::Lines => Style::Lines,
        Form::Boxes => Style::Boxes,
        Form::Bars => Style::Bars,
        Form::OverTime => return None,
    };
    let metric = &draw.metrics[0];
    let mut series: Vec<Series> = Vec::new();
    for cell in cells {
        let by = cell.factors.get(&draw.by).cloned().unwrap_or_default();
        let x = cell.factors.get(&draw.x).cloned().unwrap_or_default();
        let index = series.iter().position(|s| s.name == by).unwrap_or_else(|| {
            series.push(Series { name: by, points: Vec::new(), spread: Vec::new() });
            series.len() - 1
        });
        let values = match draw.form {
            // Least, quartiles, largest: each the mean over the repetitions.
            Form::Boxes => draw.metrics.iter().filter_map(|name| mean(&cell.values, name)).collect(),
            _ => cell.values.get(metric).cloned().unwrap_or_default(),
        };
        if let Some(spread) = draw.spread.as_ref().and_then(|name| mean(&cell.values, name)) {
            series[index].spread.push((x.clone(), spread));
        }
        series[index].points.push((x, values));
    }
    Some(Panel {
        substrate: substrate.to_string(),
        style,
        metric: metric.clone(),
        unit: find(metric).map_or("", |row| row.unit).to_owned(),
        spread: draw
            .spread
            .as_ref()
            .map(|name| (name.clone(), find(name).map_or("", |row| row.unit).to_owned())),
        x: draw.x.clone(),
        series,
    })
}

fn mean(values: &BTreeMap<String, Vec<f64>>, name: &str) -> Option<f64> {
    wirespeed_statistics::mean(values.get(name)?)
}
