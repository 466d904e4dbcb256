//! From claims and figures to runs, none of them twice.

use super::folder::StudyFiles;
use super::settings::{FigureRow, ScenarioRow, Settings, plain};
use crate::claims::{Claim, Factor};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use wirespeed_scenario::document::{Node, Value};
use wirespeed_scenario::{Run, congestion_control, parse};

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
}

impl Wanted {
    fn takes(&self, claim: &Claim) -> bool {
        let of_figure =
            |id: &String| claim.figure == *id || claim.figure.split(['/', ',']).any(|part| part.trim() == id);
        self.figure.as_ref().is_none_or(of_figure)
            && (self.claims.is_empty() || self.claims.contains(&claim.id))
    }
}

impl Plan {
    /// Adds a study's claims, and unless they alone are wanted the runs of its files.
    pub fn add(
        &mut self,
        study: &StudyFiles,
        wanted: &Wanted,
    ) -> Result<(), wirespeed_scenario::ScenarioError> {
        for claim in study.claims.iter().filter(|claim| wanted.takes(claim)) {
            self.add_claim(study, claim, wanted);
        }
        let only_claims = wanted.only_claims || !wanted.claims.is_empty();
        for figure in &study.settings.figures {
            if wanted.figure.as_ref().is_none_or(|id| *id == figure.id) && figure.draw.is_some() {
                let scenario = study.settings.scenario(&figure.scenario);
                let sets = self::sets(&study.settings, &scenario, wanted);
                let cells = match self.cells(study, &figure.scenario, &sets, !only_claims) {
                    // Settings for some claims need not suit the scenarios of other figures.
                    Err(_) if only_claims => continue,
                    cells => cells?,
                };
                self.figures.push(FigurePlan { figure: figure.clone(), cells });
            }
        }
        if !only_claims && wanted.figure.is_none() {
            for file in study.scenarios.keys() {
                let sets = self::sets(&study.settings, &study.settings.scenario(file), wanted);
                self.cells(study, file, &sets, true)?;
            }
        }
        Ok(())
    }

    fn add_claim(&mut self, study: &StudyFiles, claim: &Claim, wanted: &Wanted) {
        let settings = &study.settings;
        let known = settings.claims.get(&claim.id).cloned().unwrap_or_default();
        let named = known.scenario.as_deref().or_else(|| settings.file_of(&claim.figure));
        // A study of one scenario needs no list of figures.
        let only = study.scenarios.keys().next().filter(|_| study.scenarios.len() == 1);
        let mut plan = ClaimPlan {
            claim: claim.clone(),
            metric: settings.metrics.get(&claim.metric).unwrap_or(&claim.metric).clone(),
            over: None,
            after_first_drop: claim.setup.iter().any(is_first_drop),
            cells: Ok(Vec::new()),
        };
        let Some(file) = named.or(only.map(String::as_str)) else {
            plan.cells = Err(format!("the study has no scenario for figure {} yet", claim.figure));
            self.claims.push(plan);
            return;
        };
        let scenario = settings.scenario(file);
        let over = claim.expect.over.as_deref().or(known.over.as_deref()).or_else(|| {
            let ratio = claim.expect.ratio.as_ref()?;
            congestion_control(&ratio.to).map(|_| "flow.congestion")
        });
        plan.over = over.map(|over| settings.path(&scenario, over).to_owned());
        plan.cells = self.claim_cells(study, &scenario, claim, &known.together, plan.over.as_deref(), wanted);
        self.claims.push(plan);
    }

    fn claim_cells(
        &mut self,
        study: &StudyFiles,
        scenario: &ScenarioRow,
        claim: &Claim,
        together: &[String],
        over: Option<&str>,
        wanted: &Wanted,
    ) -> Result<Vec<CellPlan>, String> {
        let settings = &study.settings;
        let text = study.scenarios.get(&scenario.file).ok_or(format!("there is no {}", scenario.file))?;
        let plain_study = parse(text, &scenario.file, &[], None).map_err(|e| format!("{e:#}"))?;
        let swept: BTreeSet<String> =
            plain_study.runs.iter().flat_map(|run| run.factors.keys().cloned()).collect();
        let mut factors: Vec<(String, Vec<Node>, bool)> = Vec::new();
        for factor in claim.setup.iter().filter(|factor| !is_first_drop(factor)) {
            let values = match &factor.value.value {
                Value::Array(list) => list.clone(),
                _ => vec![factor.value.clone()],
            };
            if let Some(given) = scenario.given.get(&factor.name) {
                if values.iter().all(|value| plain(value) == *given) {
                    continue;
                }
                return Err(format!("{} has {} = {given}", scenario.file, factor.name));
            }
            let values = values.iter().map(|value| settings.value(factor, value)).collect();
            let path = settings.path(scenario, &factor.name).to_owned();
            factors.push((path, values, together.contains(&factor.name)));
        }
        let mut sets = self::sets(settings, scenario, wanted);
        if let Some(over) = over {
            // What is compared is run, whether the setup names it or not.
            let levels = claim.expect.levels();
            let named = |values: &[Node]| {
                levels.iter().all(|level| values.iter().any(|value| plain(value) == *level))
            };
            if !factors.iter().any(|(path, values, _)| path == over && named(values)) {
                factors.retain(|(path, ..)| path != over);
                let levels: Vec<_> = levels.iter().map(|level| level_toml(level)).collect();
                sets.push(setting(over, &levels, &swept));
            }
        }
        let steps = factors.iter().filter(|f| f.2).map(|f| f.1.len()).max().unwrap_or(1);
        let mut cells: Vec<CellPlan> = Vec::new();
        for step in 0..steps {
            let mut sets = sets.clone();
            for (path, values, is_together) in &factors {
                let values: Vec<String> = match is_together {
                    true => {
                        vec![toml(values.get(step).ok_or("lists that go together are not of one length")?)]
                    }
                    false => values.iter().map(toml).collect(),
                };
                sets.push(setting(path, &values, &swept));
            }
            cells.extend(self.cells(study, &scenario.file, &sets, true).map_err(|e| format!("{e:#}"))?);
        }
        Ok(cells)
    }

    /// The settings of a file under `sets`, their runs added; without `add`, only those that are planned already.
    fn cells(
        &mut self,
        study: &StudyFiles,
        file: &str,
        sets: &[(String, String)],
        add: bool,
    ) -> Result<Vec<CellPlan>, wirespeed_scenario::ScenarioError> {
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

/// What makes two runs the same: all but what they are called.
fn content(run: &Run) -> [u8; 32] {
    Sha256::digest(run.settings_but(&["study", "about", "id", "factors", "repeat"])).into()
}

fn is_first_drop(factor: &Factor) -> bool {
    factor.name == "run.omit" && factor.value.text() == Some("first drop")
}

/// The settings of `--quick` and `--set`.
fn sets(settings: &Settings, scenario: &ScenarioRow, wanted: &Wanted) -> Vec<(String, String)> {
    let quick = settings.quick.iter().chain(&scenario.quick).filter(|_| wanted.quick);
    let quick = quick.map(|(path, value)| (path.clone(), toml(value)));
    quick.chain(wanted.set.iter().cloned()).collect()
}

/// A factor of a claim as `--set`: what is swept narrows; what is not becomes a factor of its own.
fn setting(path: &str, values: &[String], swept: &BTreeSet<String>) -> (String, String) {
    let list = format!("[{}]", values.join(", "));
    match (swept.contains(path), values) {
        (true, [one]) => (path.to_owned(), one.clone()),
        (true, _) => (path.to_owned(), list),
        (false, _) => (format!("sweep.{}", serde_json::to_string(path).expect("text")), list),
    }
}

fn toml(node: &Node) -> String {
    match &node.value {
        Value::Float(v) => format!("{v:?}"),
        Value::Text(v) => serde_json::to_string(v).expect("text is plain data"),
        _ => plain(node),
    }
}

/// A level named in an order: a number if it reads as one.
fn level_toml(level: &str) -> String {
    match level.parse::<f64>() {
        Ok(number) if number.is_finite() => level.to_owned(),
        _ => serde_json::to_string(level).expect("text is plain data"),
    }
}
