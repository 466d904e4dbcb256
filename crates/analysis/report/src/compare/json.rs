//! The comparison as data.

use super::cells::{Cell, Match};
use super::difference::{Difference, Spread, Test, Verdict};
use super::{Comparison, answer, ledger};
use serde_json::{Map, Value, json};

/// See [`Comparison::json`]. Lists that are by folder stand in the order of `folders`.
pub(super) fn value(comparison: &Comparison) -> Value {
    json!({
        "answer": answer::sentences(comparison),
        "warnings": comparison.warnings(),
        "folders": comparison.sides.iter().map(|side| json!({
            "name": side.name,
            "path": side.path,
            "study": side.studies(),
            "substrate": side.substrates(),
            "kernel": side.kernels(),
            "tool": side.tools(),
            "runs": side.runs.len(),
            "incomplete": side.incomplete.iter().map(|(id, reason)| json!({ "id": id, "reason": reason })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "settings": comparison.settings.iter().map(|setting| json!({
            "path": setting.path, "values": setting.values,
        })).collect::<Vec<_>>(),
        "cells": comparison.cells.iter().enumerate().map(|(index, cell)| one(comparison, index, cell)).collect::<Vec<_>>(),
    })
}

fn one(comparison: &Comparison, index: usize, cell: &Cell) -> Value {
    let metric = |name: &str, unit: &str| {
        let spreads = cell.spreads(&comparison.sides, name);
        let differences = Cell::differences(&spreads);
        json!({
            "unit": unit,
            "folders": spreads.iter().map(|s| s.as_ref().map(spread)).collect::<Vec<_>>(),
            "differences": differences.iter().map(|d| d.as_ref().map(difference)).collect::<Vec<_>>(),
        })
    };
    let metrics: Map<String, Value> = comparison
        .columns
        .iter()
        .map(|column| (column.name.clone(), metric(&column.name, &column.unit)))
        .collect();
    let sheets = comparison.sheets(|side| cell.of(&comparison.sides, side).collect());
    let matches = comparison.matches.iter().filter(|matched| matched.cell == index);
    json!({
        "name": cell.name,
        "factors": cell.factors,
        "matched": cell.is_matched(),
        "runs": cell.runs.iter().map(Vec::len).collect::<Vec<_>>(),
        "observations": (0..cell.runs.len())
            .map(|side| cell.observations(&comparison.sides, side).len())
            .collect::<Vec<_>>(),
        "metrics": metrics,
        "ledger": ledger::json(&sheets),
        "matches": matches.map(|matched| pair(comparison, matched)).collect::<Vec<_>>(),
    })
}

fn spread(spread: &Spread) -> Value {
    json!({ "mean": spread.mean, "min": spread.least, "max": spread.largest, "values": spread.values })
}

fn difference(difference: &Difference) -> Value {
    let (test, verdict) = (difference.test.as_ref(), difference.verdict());
    let within = match verdict {
        Verdict::Equivalent(share) => Some(share),
        _ => None,
    };
    json!({
        "absolute": difference.absolute,
        "relative": difference.relative,
        "confidence_95": test.map(|Test { interval: (low, high), .. }| [low, high]),
        "detectable": test.map(|test| test.detectable),
        "detectable_relative": test.and_then(|test| difference.share(test.detectable)),
        "verdict": verdict.word(),
        "equivalent_within": within,
        "beyond_repeats": test.map(|_| verdict == Verdict::Different),
    })
}

/// The runs that lie over each other, with the lines that the page draws.
fn pair(comparison: &Comparison, matched: &Match) -> Value {
    let run = |(side, run): (usize, &Option<usize>)| {
        let run = &comparison.sides[side].runs[(*run)?];
        let info = &run.digest.info;
        let series = run.lines.named().into_iter().map(|(name, points)| {
            let t: Vec<f64> = points.iter().map(|p| p.0).collect();
            let value: Vec<Option<f64>> =
                points.iter().map(|p| Some(p.1).filter(|v| v.is_finite())).collect();
            (name.to_string(), json!({ "t_ns": t, "value": value }))
        });
        Some(json!({
            "id": info.id,
            "directory": run.directory,
            "seed": info.seed,
            "cost": info.cost,
            "series": series.collect::<Map<String, Value>>(),
        }))
    };
    let sheets = comparison
        .sheets(|side| matched.runs[side].map(|run| &comparison.sides[side].runs[run]).into_iter().collect());
    json!({
        "repeat": matched.repeat,
        "folders": matched.runs.iter().enumerate().map(run).collect::<Vec<_>>(),
        "ledger": ledger::json(&sheets),
    })
}
