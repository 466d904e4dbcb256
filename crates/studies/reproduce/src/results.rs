//! What has been found so far, on either substrate: `claims.json` in the output folder.

use super::conclusion::{Conclusion, ConclusionRow};
use super::measure::{Found, values, verdict};
use super::plan::{ClaimPlan, FigurePlan};
use super::recorded::Recorded;
use super::settings::{Form, Settings};
use crate::claims::{Claim, Judgement, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use wirespeed_metrics::find;
use wirespeed_record::SubstrateKind;

/// Claims and figures with what was found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Results {
    /// The study, or the file of claims.
    pub study: String,
    /// Program and version.
    pub generated_by: String,
    /// Every claim, in order.
    pub claims: Vec<ClaimResult>,
    /// The conclusions of the study.
    #[serde(default)]
    pub conclusions: Vec<Conclusion>,
    /// Numbers of the figures, by figure.
    pub figures: BTreeMap<String, BTreeMap<SubstrateKind, Vec<FigureCell>>>,
    /// By substrate: how many claims came to what.
    pub summary: BTreeMap<SubstrateKind, Summary>,
    /// By substrate: how the runs were made, and what they cost.
    pub carried_out: BTreeMap<SubstrateKind, CarriedOut>,
}

/// A claim with what was found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Unique name.
    pub id: String,
    /// The study it is from.
    pub study: String,
    /// Figure or table.
    pub figure: String,
    /// What was found there, in a sentence.
    pub finding: String,
    /// The published side in a few words.
    pub published: String,
    /// The metric, as the claim calls it, and what stands for it.
    pub metric: [String; 2],
    /// What a reader has to know.
    pub note: String,
    /// Not published: ours.
    pub own: bool,
    /// Constants of the model were fitted to it.
    pub calibration: bool,
    /// Why it differs: the mechanism.
    pub explanation: String,
    /// By substrate.
    pub results: BTreeMap<SubstrateKind, Entry>,
}

/// What was found for a claim on a substrate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Numbers and verdict.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// How the runs differ from the study's, e.g. `quick`; empty if they do not.
    pub mode: String,
    /// Not run into this folder: kept with the study.
    #[serde(default)]
    pub recorded: bool,
}

/// The runs of one setting in a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FigureCell {
    /// Factors as a person writes them.
    pub factors: BTreeMap<String, String>,
    /// The figure's metrics, a value for each repetition.
    pub values: BTreeMap<String, Vec<f64>>,
    /// Recording of the first repetition, of a figure over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<PathBuf>,
}

/// How many claims came to what on a substrate; claims of ours and shapes are counted apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Published claims with a verdict by number.
    pub judged: usize,
    /// Of these, the ones that hold.
    pub agree: usize,
    /// Of the judged, the ones used for calibration.
    pub calibration: usize,
    /// Of these, the ones that hold.
    pub calibration_agree: usize,
    /// Differ, while the kernel differs too (not on the kernel itself).
    pub refuted_by_kernel: usize,
    /// Our own readings with a verdict by number.
    pub own_judged: usize,
    /// Of these, the ones that hold.
    pub own_agree: usize,
    /// Shapes: drawn.
    pub drawn: usize,
    /// This substrate cannot run them.
    pub not_runnable: usize,
    /// Without a number, or with nothing that decides by it.
    pub missing: usize,
}

/// What an invocation carried out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CarriedOut {
    /// How the runs differ from the study's; empty if they do not.
    pub mode: String,
    /// Runs in all.
    pub runs: usize,
    /// Of these, carried out now and not kept from before.
    pub now: usize,
    /// Of all, copies of another one: repetitions in which nothing draws.
    #[serde(default)]
    pub copies: usize,
    /// Wall-clock time of the invocation's runs.
    pub wall_s: f64,
    /// CPU time of all runs, also those kept; copies cost none.
    pub cpu_s: f64,
    /// Data packets of all runs, also those kept; copies carry none.
    pub packets: u64,
    /// Time simulated in all runs.
    pub virtual_s: f64,
}

impl Entry {
    /// What was found, and where it is from if it is a recorded number; empty if nothing was.
    pub(super) fn words(&self) -> String {
        let found = &self.judgement.measured;
        match self.mode.as_str() {
            _ if !self.recorded || found.is_empty() => found.clone(),
            "" => format!("{found} (recorded)"),
            mode => format!("{found} (recorded with {mode})"),
        }
    }
}

impl Results {
    /// What an earlier invocation found stays, for the same claims.
    pub fn continue_from(&mut self, earlier: Results) {
        if earlier.study != self.study {
            return;
        }
        for claim in &mut self.claims {
            if let Some(old) =
                earlier.claims.iter().find(|old| old.id == claim.id && old.published == claim.published)
            {
                let own = old.results.iter().filter(|(_, entry)| !entry.recorded);
                claim.results.extend(own.map(|(substrate, entry)| (*substrate, entry.clone())));
            }
        }
        self.figures = earlier.figures;
        self.carried_out = earlier.carried_out;
    }

    /// Adds what one substrate gave.
    pub fn add(
        &mut self,
        substrate: SubstrateKind,
        mode: &str,
        claims: &[ClaimPlan],
        figures: &[FigurePlan],
        found: &[Found],
    ) {
        for plan in claims {
            let entry =
                Entry { judgement: verdict(plan, substrate, found), mode: mode.to_owned(), recorded: false };
            if let Some(claim) = self.claims.iter_mut().find(|claim| claim.id == plan.claim.id) {
                claim.results.insert(substrate, entry);
            }
        }
        for plan in figures {
            let Some(draw) = &plan.figure.draw else { continue };
            let metrics: Vec<&String> = draw.metrics.iter().chain(&draw.spread).collect();
            let cells: Vec<FigureCell> = plan
                .cells
                .iter()
                .filter(|cell| draw.filter.iter().all(|(path, value)| cell.factors.get(path) == Some(value)))
                .map(|cell| FigureCell {
                    factors: cell.factors.clone(),
                    values: metrics.iter().map(|name| ((*name).clone(), values(cell, found, name))).collect(),
                    run: match draw.form {
                        Form::OverTime => cell
                            .runs
                            .iter()
                            .find_map(|run| Some(found[*run].as_ref().ok()?.directory.clone())),
                        _ => None,
                    },
                })
                .filter(|cell| cell.run.is_some() || cell.values.values().any(|values| !values.is_empty()))
                .collect();
            // A part of the runs does not take the place of all.
            let figure = self.figures.entry(plan.figure.id.clone()).or_default();
            if !cells.is_empty() && figure.get(&substrate).is_none_or(|old| old.len() <= cells.len()) {
                figure.insert(substrate, cells);
            }
        }
    }

    /// Counts, for every substrate there are results of, and judges the conclusions of the study.
    pub fn summarise(&mut self, conclusions: &[ConclusionRow]) {
        // A file of other claims has none that a conclusion of the study rests on.
        let is_here = |row: &&ConclusionRow| self.claims.iter().any(|claim| row.rests_on.contains(&claim.id));
        let here = conclusions.iter().filter(is_here);
        self.conclusions = here.map(|row| Conclusion::new(row, &self.claims)).collect();
        let substrates = self.claims.iter().flat_map(|claim| claim.results.keys().copied());
        self.summary = substrates.map(|substrate| (substrate, self.count(substrate))).collect();
    }

    fn count(&self, substrate: SubstrateKind) -> Summary {
        let mut summary = Summary::default();
        for claim in &self.claims {
            let Some(entry) = claim.results.get(&substrate) else { continue };
            let agrees = match entry.judgement.verdict {
                Verdict::Agrees => true,
                Verdict::Differs { .. } => false,
                Verdict::Drawn => {
                    summary.drawn += 1;
                    continue;
                }
                Verdict::NotRunnable { .. } => {
                    summary.not_runnable += 1;
                    continue;
                }
                Verdict::Missing { .. } | Verdict::NotJudged { .. } => {
                    summary.missing += 1;
                    continue;
                }
            };
            if claim.own {
                summary.own_judged += 1;
                summary.own_agree += usize::from(agrees);
                continue;
            }
            summary.judged += 1;
            summary.agree += usize::from(agrees);
            summary.calibration += usize::from(claim.calibration);
            summary.calibration_agree += usize::from(claim.calibration && agrees);
            let kernel = claim.results.get(&SubstrateKind::Kernel).map(|entry| &entry.judgement.verdict);
            let refuted = matches!(kernel, Some(Verdict::Differs { .. }));
            let is_kernel = substrate == SubstrateKind::Kernel;
            summary.refuted_by_kernel += usize::from(!agrees && refuted && !is_kernel);
        }
        summary
    }

    /// Claims without a verdict that they hold or an explanation why not, on any substrate.
    pub fn unexplained(&self) -> usize {
        let open = |entry: &Entry| {
            use Verdict::{Differs, Missing, NotJudged};
            matches!(entry.judgement.verdict, Differs { .. } | Missing { .. } | NotJudged { .. })
        };
        self.claims.iter().filter(|c| c.explanation.is_empty() && c.results.values().any(open)).count()
    }
}

impl ClaimResult {
    /// A claim before anything was run, with what is recorded of it.
    pub fn new(claim: &Claim, settings: &Settings, recorded: &Recorded) -> Self {
        let known = settings.claims.get(&claim.id).cloned().unwrap_or_default();
        let metric = settings.metrics.get(&claim.metric).unwrap_or(&claim.metric).clone();
        let unit = find(&metric).map_or("", |metric| metric.unit);
        ClaimResult {
            id: claim.id.clone(),
            study: claim.study.clone(),
            figure: claim.figure.clone(),
            finding: claim.finding.clone(),
            published: claim.published(unit),
            metric: [claim.metric.clone(), metric],
            note: claim.note.clone(),
            own: claim.own,
            calibration: known.calibration,
            explanation: known.explanation,
            results: recorded.of(claim).collect(),
        }
    }

    /// The verdict in a few words; both substrates where they say different things.
    pub fn verdict(&self) -> String {
        let word = |entry: &Entry, on: &str| match &entry.judgement.verdict {
            Verdict::Agrees => "agrees".to_owned(),
            Verdict::Differs { by } => format!("differs: {by}"),
            Verdict::Missing { why } => format!("no number: {why}"),
            Verdict::NotRunnable { why } => format!("not runnable{on}: {why}"),
            Verdict::NotJudged { why } => format!("not judged: {why}"),
            Verdict::Drawn => "drawn (shape)".to_owned(),
        };
        if let [(name, entry)] = self.results.iter().collect::<Vec<_>>()[..] {
            return word(entry, &format!(" on {name}"));
        }
        let words: Vec<(&SubstrateKind, String)> =
            self.results.iter().map(|(name, e)| (name, word(e, ""))).collect();
        match words.as_slice() {
            [] => "not run".into(),
            [(_, first), rest @ ..] if rest.iter().all(|(_, word)| word == first) => first.clone(),
            all => all.iter().map(|(name, word)| format!("{name} {word}")).collect::<Vec<_>>().join(". "),
        }
    }
}
