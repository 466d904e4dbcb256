//! From claims and figures to runs, none of them twice.

use super::folder::StudyFiles;
use super::settings::FigureRow;
use super::setup::sets;
use crate::claims::Claim;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use wirespeed_record::SubstrateKind;
use wirespeed_scenario::{Run, ScenarioError, parse};

/// What is to be run, and for what.
#[derive(Debug, Default)]
pub struct Plan {
    /// Every run once; those of the claims first.
    pub runs: Vec<Run>,
    /// The claims, in their order.
    pub claims: Vec<ClaimPlan>,
    /// The figures that are drawn.
    pub figures: Vec<FigurePlan>,
    /// What is allowed but probably not meant.
    pub warnings: BTreeSet<String>,
    /// C files of own congestion controls.
    pub own_controls: BTreeSet<PathBuf>,
    index: BTreeMap<[u8; 32], usize>,
    names: BTreeSet<String>,
}

/// A claim and its runs.
#[derive(Debug)]
pub struct ClaimPlan {
    /// The claim.
    pub claim: Claim,
    /// The metric that stands for the claim's.
    pub metric: String,
    /// The factor of its order or ratio, by its path in the scenario.
    pub over: Option<String>,
    /// What is measured begins with the first drop.
    pub after_first_drop: bool,
    /// Its settings, or why they cannot be made.
    pub cells: Result<Vec<CellPlan>, String>,
    /// The figure in which all of its settings are drawn.
    pub drawn_in: Option<String>,
    /// Hosts that have an inside, unless the claim holds whatever that is.
    pub inside: BTreeSet<String>,
}

/// Substrates on which the inside of a host costs nothing.
const FREE_HOSTS: [SubstrateKind; 2] = [SubstrateKind::Kernel, SubstrateKind::Netns];

impl ClaimPlan {
    /// Why a substrate cannot judge it, even if it carries out its runs.
    pub fn lacks(&self, substrate: SubstrateKind) -> Option<String> {
        lacks(&self.inside, substrate)
    }

    fn needs(&self, run: usize) -> bool {
        self.cells.iter().flatten().any(|cell| cell.runs.contains(&run))
    }
}

fn lacks(inside: &BTreeSet<String>, substrate: SubstrateKind) -> Option<String> {
    if inside.is_empty() || !FREE_HOSTS.contains(&substrate) {
        return None;
    }
    let hosts = inside.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Some(format!(
        "it lacks the inside of hosts (rings, interrupts, cores, memory), which decides here: {hosts}"
    ))
}

/// The runs of one setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellPlan {
    /// Factors as a person writes them.
    pub factors: BTreeMap<String, String>,
    /// Indices of its repetitions in the plan's runs.
    pub runs: Vec<usize>,
}

/// A figure and its runs.
#[derive(Debug)]
pub struct FigurePlan {
    /// The figure.
    pub figure: FigureRow,
    /// Its settings.
    pub cells: Vec<CellPlan>,
}

/// What of a study is wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// This figure only.
    pub figure: Option<String>,
    /// These claims only; all if empty.
    pub claims: Vec<String>,
    /// Only what claims need, and no other run of the study's files.
    pub only_claims: bool,
    /// Shortened.
    pub quick: bool,
    /// Further settings.
    pub set: Vec<(String, String)>,
    /// A claim that cannot be set up is a mistake of its file; otherwise it has no number.
    pub refuse: bool,
}

impl FigurePlan {
    /// Whether it is the claim's figure, and has each of its settings.
    fn shows(&self, claim: &ClaimPlan) -> bool {
        let Some(draw) = &self.figure.draw else { return false };
        let is_drawn =
            |cell: &CellPlan| draw.filter.iter().all(|(path, value)| cell.factors.get(path) == Some(value));
        let drawn: BTreeSet<usize> = self
            .cells
            .iter()
            .filter(|cell| is_drawn(cell))
            .flat_map(|cell| cell.runs.iter().copied())
            .collect();
        let has = |cell: &CellPlan| cell.runs.iter().any(|run| drawn.contains(run));
        is_of_figure(&claim.claim, &self.figure.id)
            && claim.cells.as_ref().is_ok_and(|cells| !cells.is_empty() && cells.iter().all(has))
    }
}

/// Whether a claim is about a figure; it may be about several (`8b/10`, `6,7`).
fn is_of_figure(claim: &Claim, id: &str) -> bool {
    claim.figure == id || claim.figure.split(['/', ',']).any(|part| part.trim() == id)
}

impl Wanted {
    fn takes(&self, claim: &Claim) -> bool {
        self.figure.as_ref().is_none_or(|id| is_of_figure(claim, id))
            && (self.claims.is_empty() || self.claims.contains(&claim.id))
    }
}

impl Plan {
    /// Adds a study's claims, and unless they alone are wanted the runs of its files.
    pub fn add(&mut self, study: &StudyFiles, wanted: &Wanted) -> Result<(), ScenarioError> {
        let (claims_before, figures_before) = (self.claims.len(), self.figures.len());
        for claim in study.claims.iter().filter(|claim| wanted.takes(claim)) {
            self.add_claim(study, claim, wanted)?;
        }
        let only_claims = wanted.only_claims || !wanted.claims.is_empty();
        for figure in &study.settings.figures {
            if wanted.figure.as_ref().is_none_or(|id| *id == figure.id) && figure.draw.is_some() {
                let scenario = study.settings.scenario(&figure.scenario);
                let sets = sets(&study.settings, &scenario, wanted);
                let cells = match self.cells(study, &figure.scenario, &sets, !only_claims) {
                    // Settings for some claims need not suit the scenarios of other figures.
                    Err(_) if only_claims => continue,
                    cells => cells?,
                };
                self.figures.push(FigurePlan { figure: figure.clone(), cells });
            }
        }
        for claim in &mut self.claims[claims_before..] {
            let shown = self.figures[figures_before..].iter().find(|figure| figure.shows(claim));
            claim.drawn_in = shown.map(|figure| figure.figure.id.clone());
        }
        if !only_claims && wanted.figure.is_none() {
            for file in study.scenarios.keys() {
                let sets = sets(&study.settings, &study.settings.scenario(file), wanted);
                self.cells(study, file, &sets, true)?;
            }
        }
        Ok(())
    }

    /// Why a run means nothing on a substrate: no claim that can be judged there needs it.
    pub fn lacks(&self, run: usize, substrate: SubstrateKind) -> Option<String> {
        let why = lacks(&inside(&self.runs[run]), substrate)?;
        let is_needed = self.claims.iter().any(|claim| claim.lacks(substrate).is_none() && claim.needs(run));
        (!is_needed).then_some(why)
    }

    /// The settings of a file under `sets`, their runs added; without `add`, only those that are planned already.
    pub(super) fn cells(
        &mut self,
        study: &StudyFiles,
        file: &str,
        sets: &[(String, String)],
        add: bool,
    ) -> Result<Vec<CellPlan>, ScenarioError> {
        let text = study.scenarios.get(file).map_or("", String::as_str);
        let parsed = parse(text, file, sets, None)?;
        self.warnings.extend(parsed.warnings);
        self.own_controls.extend(parsed.own_controls);
        let mut cells: Vec<CellPlan> = Vec::new();
        let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for run in parsed.runs {
            let factors: BTreeMap<String, String> =
                run.factors.iter().map(|(path, value)| (path.clone(), value.to_string())).collect();
            let Some(index) = self.index_of(run, &stem, add) else { continue };
            match cells.iter_mut().find(|cell| cell.factors == factors) {
                Some(cell) => cell.runs.push(index),
                None => cells.push(CellPlan { factors, runs: vec![index] }),
            }
        }
        Ok(cells)
    }

    fn index_of(&mut self, mut run: Run, stem: &str, add: bool) -> Option<usize> {
        let content = content(&run);
        if let Some(index) = self.index.get(&content) {
            return Some(*index);
        }
        if !add {
            return None;
        }
        run.id = format!("{stem},{}", run.id);
        if !self.names.insert(run.id.clone()) {
            // The same factors with other settings beside them.
            let hash: String = content[..4].iter().map(|byte| format!("{byte:02x}")).collect();
            run.id = format!("{},{hash}", run.id);
            self.names.insert(run.id.clone());
        }
        self.index.insert(content, self.runs.len());
        self.runs.push(run);
        Some(self.runs.len() - 1)
    }
}

/// The run's hosts that have an inside.
pub(super) fn inside(run: &Run) -> BTreeSet<String> {
    run.hosts.iter().filter(|host| host.hardware.is_some()).map(|host| host.name.clone()).collect()
}

/// What makes two runs the same: all but what they are called.
fn content(run: &Run) -> [u8; 32] {
    Sha256::digest(run.settings_but(&["study", "about", "id", "factors", "repeat"])).into()
}
