//! What was found, as text and as JSON.

use super::found::Found;
use serde_json::{Map, Value, json};
use wirespeed_validation::QUANTITIES;
use wirespeed_validation::compare::Compared;
use wirespeed_validation::statistics::Estimate;

/// What is asked, what was found, and what disagrees.
pub fn as_text(found: &Found) -> String {
    let mut text = format!("Section {}: {} cells\n", found.section.name, found.comparison.all.cells);
    for cell in found.comparison.outside() {
        text.push_str(&format!(
            "cell {:>3}  {:+6.1} %  {}\n",
            cell.cell.number,
            cell.error(0) * 100.0,
            cell.cell.title()
        ));
    }
    for criterion in found.criteria() {
        let verdict = if criterion.is_met { "met    " } else { "NOT met" };
        text.push_str(&format!("{verdict}  {}: {}\n", criterion.asked, criterion.found));
    }
    text
}

/// The same with every cell, for programs.
pub fn as_json(found: &Found) -> Value {
    let comparison = &found.comparison;
    let side = |e: Estimate| json!({ "mean": e.mean, "half_width": e.half_width, "runs": e.runs });
    let cell = |c: &Compared| {
        let pairs: Map<String, Value> = QUANTITIES
            .iter()
            .zip(c.pairs)
            .filter_map(|(quantity, pair)| {
                let pair = pair?;
                let both = json!({
                    "kernel": side(pair.kernel), "other": side(pair.other), "error_ratio": pair.error()
                });
                Some((quantity.metric.to_owned(), both))
            })
            .collect();
        json!({
            "cell": c.cell.number, "title": c.cell.title(), "agrees": c.agrees(),
            "cause": found.causes.of(c.cell.number), "metrics": pairs,
        })
    };
    json!({
        "section": found.section.name,
        "substrate": found.other,
        "agrees": found.agrees(),
        "criteria": found.criteria().iter().map(|c| json!({
            "asked": c.asked, "found": c.found, "met": c.is_met,
        })).collect::<Vec<_>>(),
        "controls": comparison.blocks.iter().map(|s| json!({
            "name": s.name, "cells": s.cells, "outside": s.outside,
            "median_error_ratio": s.median_errors[0],
        })).collect::<Vec<_>>(),
        "cells": comparison.cells.iter().map(cell).collect::<Vec<_>>(),
    })
}
