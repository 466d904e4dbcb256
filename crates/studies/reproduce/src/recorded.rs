//! Numbers of claims that are kept with a study because their runs take long: `recorded.toml` in its folder.
//!
//! What is kept are the numbers and not the verdict: a claim is judged again when the file is read.

use super::measure::{Found, cells};
use super::plan::ClaimPlan;
use super::results::Entry;
use crate::claims::{Cell, Claim, judge};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wirespeed_metrics::find;
use wirespeed_record::SubstrateKind;
use wirespeed_scenario::document::{Complaint, Source, parse_document};

/// By substrate and claim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Recorded(BTreeMap<SubstrateKind, BTreeMap<String, Numbers>>);

/// The numbers of one claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    /// How the runs differ from the study's; empty if they do not.
    #[serde(default)]
    mode: String,
    /// Program and version that ran them.
    generated_by: String,
    /// Metric of the numbers.
    metric: String,
    /// The factor of the claim's order or ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over: Option<String>,
    cells: Vec<Cell>,
}

const HEAD: &str = "\
# What claims came to on a substrate that takes long, kept so that it stands beside a quicker one. Written by
# `wirespeed reproduce STUDY --on SUBSTRATE --record FILE`, which replaces the claims that it runs; `mode` is the rest of
# the command.

";

impl Recorded {
    /// Reads the text of the file called `name`.
    ///
    /// # Errors
    /// If it is not such a file, at the place.
    pub fn read(text: &str, name: &str) -> Result<Self, Complaint> {
        let root = parse_document(&Source::new(name, text))?;
        toml::from_str(text).map_err(|error| {
            Complaint::at(&root.at, format!("these are no recorded numbers: {}", error.message()))
                .help("`wirespeed reproduce STUDY --record FILE` writes such a file")
        })
    }

    /// The file's text.
    pub fn text(&self) -> String {
        HEAD.to_owned() + &toml::to_string(self).expect("numbers by name are plain data")
    }

    /// Keeps what `substrate` gave for those of `claims` that have all their numbers, in place of what was there.
    pub fn keep(
        &mut self,
        substrate: SubstrateKind,
        mode: &str,
        generated_by: &str,
        claims: &[ClaimPlan],
        found: &[Found],
    ) {
        let of_substrate = self.0.entry(substrate).or_default();
        for plan in claims {
            let Ok(cells) = cells(plan, substrate, found) else { continue };
            let numbers = Numbers {
                mode: mode.to_owned(),
                generated_by: generated_by.to_owned(),
                metric: plan.metric.clone(),
                over: plan.over.clone(),
                cells,
            };
            of_substrate.insert(plan.claim.id.clone(), numbers);
        }
    }

    /// What is known of a claim, by substrate.
    pub(super) fn of(&self, claim: &Claim) -> impl Iterator<Item = (SubstrateKind, Entry)> {
        self.0.iter().filter_map(|(substrate, claims)| {
            let numbers = claims.get(&claim.id)?;
            let unit = find(&numbers.metric).map_or("", |metric| metric.unit);
            let judgement = judge(&claim.expect, numbers.over.as_deref(), unit, &numbers.cells);
            Some((*substrate, Entry { judgement, mode: numbers.mode.clone(), recorded: true }))
        })
    }
}
