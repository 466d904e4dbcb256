//! A claim's setup laid over a study's scenario: which file it is run on, and what is set in it.

use super::folder::StudyFiles;
use super::plan::{CellPlan, ClaimPlan, Plan, Wanted, inside};
use super::settings::{ClaimRow, ScenarioRow, Settings, plain};
use crate::claims::{Claim, Factor};
use std::collections::BTreeSet;
use wirespeed_scenario::document::{Complaint, Node, Source, Value, parse_document};
use wirespeed_scenario::{ScenarioError, congestion_control, parse};

/// A factor to be set: its path in the scenario, its values, and whether its list goes with others value by value.
struct Setting<'a> {
    factor: &'a Factor,
    path: String,
    values: Vec<Node>,
    is_together: bool,
}

impl Plan {
    /// Adds a claim and its runs. What cannot be set up has no number, or is refused.
    pub(super) fn add_claim(
        &mut self,
        study: &StudyFiles,
        claim: &Claim,
        wanted: &Wanted,
    ) -> Result<(), ScenarioError> {
        let settings = &study.settings;
        let known = settings.claims.get(&claim.id).cloned().unwrap_or_default();
        let mut plan = ClaimPlan {
            claim: claim.clone(),
            metric: settings.metrics.get(&claim.metric).unwrap_or(&claim.metric).clone(),
            over: None,
            after_first_drop: claim.setup.iter().any(is_first_drop),
            cells: Ok(Vec::new()),
            drawn_in: None,
            inside: BTreeSet::new(),
        };
        let cells = scenario(study, claim, &known).and_then(|scenario| {
            let over = claim.expect.over.as_deref().or(known.over.as_deref()).or_else(|| {
                let ratio = claim.expect.ratio.as_ref()?;
                congestion_control(&ratio.to).map(|_| "flow.congestion")
            });
            plan.over = over.map(|over| settings.path(&scenario, over).to_owned());
            self.claim_cells(study, &scenario, claim, &known.together, plan.over.as_deref(), wanted)
        });
        plan.cells = match cells {
            Err(complaint) if wanted.refuse => return Err(complaint.into()),
            cells => cells.map_err(|complaint| in_a_line(&complaint)),
        };
        if !known.any_host {
            let runs = plan.cells.iter().flatten().flat_map(|cell| &cell.runs);
            plan.inside = runs.flat_map(|run| inside(&self.runs[*run])).collect();
        }
        self.claims.push(plan);
        Ok(())
    }

    fn claim_cells(
        &mut self,
        study: &StudyFiles,
        scenario: &ScenarioRow,
        claim: &Claim,
        together: &[String],
        over: Option<&str>,
        wanted: &Wanted,
    ) -> Result<Vec<CellPlan>, Complaint> {
        let settings = &study.settings;
        let fault = |reason: &str| Complaint::at(&claim.at, format!("claim {}: {reason}", claim.id));
        let text = study.scenarios.get(&scenario.file).map_or("", String::as_str);
        let as_written = parse(text, &scenario.file, &[], None)
            .map_err(|error| fault(&format!("{} cannot be read: {error:#}", scenario.file)))?;
        let swept: BTreeSet<String> =
            as_written.runs.iter().flat_map(|run| run.factors.keys().cloned()).collect();
        let mut factors = to_set(settings, scenario, claim, together);
        let mut sets = sets(settings, scenario, wanted);
        if let Some(over) = over {
            // What is compared is run, whether the setup names it or not.
            let levels = claim.expect.levels();
            let named = |values: &[Node]| {
                levels.iter().all(|level| values.iter().any(|value| plain(value) == *level))
            };
            if !factors.iter().any(|setting| setting.path == over && named(&setting.values)) {
                factors.retain(|setting| setting.path != over);
                let levels: Vec<_> = levels.iter().map(|level| level_toml(level)).collect();
                sets.push(set(over, &levels, &swept));
            }
        }
        let steps =
            factors.iter().filter(|factor| factor.is_together).map(|factor| factor.values.len()).max();
        let mut cells: Vec<CellPlan> = Vec::new();
        for step in 0..steps.unwrap_or(1) {
            let mut sets = sets.clone();
            for Setting { path, values, is_together, .. } in &factors {
                let values: Vec<String> = match is_together {
                    true => vec![toml(
                        values.get(step).ok_or(fault("lists that go together are not of one length"))?,
                    )],
                    false => values.iter().map(toml).collect(),
                };
                sets.push(set(path, &values, &swept));
            }
            let added = self.cells(study, &scenario.file, &sets, true);
            cells.extend(added.map_err(|error| {
                let of_factor = refused_factor(text, settings, scenario, claim, &factors, &swept);
                of_factor.unwrap_or_else(|| fault(&format!("{}: {}", scenario.file, words(&error))))
            })?);
        }
        Ok(cells)
    }
}

/// The scenario that a claim is run on: the one it names, or the study's settings do, or that of its figure.
fn scenario(study: &StudyFiles, claim: &Claim, known: &ClaimRow) -> Result<ScenarioRow, Complaint> {
    let settings = &study.settings;
    let files = || study.scenarios.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let own = Some(claim.scenario.as_str()).filter(|name| !name.is_empty());
    let named = own.or(known.scenario.as_deref()).or_else(|| settings.file_of(&claim.figure));
    // A study of one scenario needs no list of figures.
    let only = study.scenarios.keys().next().filter(|_| study.scenarios.len() == 1);
    let complaint = |reason: &str, help: String| {
        Complaint::at(&claim.at, format!("claim {}: {reason}", claim.id))
            .label("on which scenario?")
            .help(help)
    };
    match named.or(only.map(String::as_str)) {
        Some(file) if study.scenarios.contains_key(file) => Ok(settings.scenario(file)),
        Some(file) => Err(complaint(
            &format!("study {} has no scenario {file}", claim.study),
            format!("there are: {}", files()),
        )),
        None if claim.figure.is_empty() => Err(complaint(
            &format!("it names neither a figure nor a scenario of {}", claim.study),
            format!("add a line scenario = \"...\"; there are: {}", files()),
        )),
        None => {
            let figures: Vec<&str> = settings.figures.iter().map(|figure| figure.id.as_str()).collect();
            Err(complaint(
                &format!("study {} has no scenario for figure {}", claim.study, claim.figure),
                format!("figures: {}; or add a line scenario = \"...\": {}", figures.join(", "), files()),
            ))
        }
    }
}

/// The factors that the scenario does not have as they are wanted.
fn to_set<'a>(
    settings: &Settings,
    scenario: &ScenarioRow,
    claim: &'a Claim,
    together: &[String],
) -> Vec<Setting<'a>> {
    let mut factors = Vec::new();
    for factor in claim.setup.iter().filter(|factor| !is_first_drop(factor)) {
        let values = match &factor.value.value {
            Value::Array(list) => list.clone(),
            _ => vec![factor.value.clone()],
        };
        let given = scenario.given.get(&factor.name);
        if given.is_some_and(|given| values.iter().all(|value| plain(value) == *given)) {
            continue;
        }
        factors.push(Setting {
            factor,
            path: settings.path(scenario, &factor.name).to_owned(),
            values: values.iter().map(|value| settings.value(factor, value)).collect(),
            is_together: together.contains(&factor.name),
        });
    }
    factors
}

/// The first factor that the scenario refuses by itself, and what it has.
fn refused_factor(
    text: &str,
    settings: &Settings,
    scenario: &ScenarioRow,
    claim: &Claim,
    factors: &[Setting],
    swept: &BTreeSet<String>,
) -> Option<Complaint> {
    factors.iter().find_map(|Setting { factor, path, values, .. }| {
        let values: Vec<String> = values.iter().map(toml).collect();
        let error = parse(text, &scenario.file, &[set(path, &values, swept)], None).err()?;
        let (name, file) = (&factor.name, &scenario.file);
        let message =
            format!("claim {}: factor `{name}` cannot be set on {file}: {}", claim.id, words(&error));
        let help = format!(
            "can be set there: {}, and every key of a scenario by its path, for example \"path.rtt\"",
            named_factors(text, settings, scenario, swept).into_iter().collect::<Vec<_>>().join(", ")
        );
        Some(Complaint::at(&factor.at, message).label("not a factor of it").help(help))
    })
}

/// The factors that a scenario has names for: those it sweeps, its variants, and what the study calls by another name.
fn named_factors(
    text: &str,
    settings: &Settings,
    scenario: &ScenarioRow,
    swept: &BTreeSet<String>,
) -> BTreeSet<String> {
    let root = parse_document(&Source::new(&scenario.file, text)).ok();
    let variants = root.iter().filter_map(|root| root.get("variant")).flat_map(Node::entries);
    let variants = variants.map(|variant| variant.key.clone());
    let names = settings.names.keys().chain(scenario.names.keys()).chain(swept);
    variants.chain(names.cloned()).collect()
}

/// What is wrong and the remedy, without a place: that is in text that the user has not written.
fn words(error: &ScenarioError) -> String {
    match error.mistake() {
        None => error.to_string(),
        Some(mistake) => match &mistake.help {
            None => mistake.message.clone(),
            Some(help) => format!("{} ({help})", mistake.message),
        },
    }
}

fn in_a_line(complaint: &Complaint) -> String {
    let help = complaint.help.iter().map(|help| format!(" ({help})"));
    complaint.message.clone() + &help.collect::<String>()
}

fn is_first_drop(factor: &Factor) -> bool {
    factor.name == "run.omit" && factor.value.text() == Some("first drop")
}

/// The settings of `--quick` and `--set`.
pub(super) fn sets(settings: &Settings, scenario: &ScenarioRow, wanted: &Wanted) -> Vec<(String, String)> {
    let quick = settings.quick.iter().chain(&scenario.quick).filter(|_| wanted.quick);
    let quick = quick.map(|(path, value)| (path.clone(), toml(value)));
    quick.chain(wanted.set.iter().cloned()).collect()
}

/// A factor of a claim as `--set`: what is swept narrows; what is not becomes a factor of its own.
fn set(path: &str, values: &[String], swept: &BTreeSet<String>) -> (String, String) {
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
