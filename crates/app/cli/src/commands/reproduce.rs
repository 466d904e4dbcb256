//! `wirespeed reproduce`: a published study, run again and held against what it says.

use super::engine::{EngineArguments, Work};
use super::folder::create;
use super::run::{On, cores, quoted, substrate};
use crate::failure::Failure;
use crate::progress::Display;
use crate::{interrupt, print};
use clap::Args;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;
use wirespeed_campaign::Outcome;
use wirespeed_record::replace_file;
use wirespeed_reproduce::claims::{Claim, read};
use wirespeed_reproduce::{
    CarriedOut, ClaimResult, Found, NoNumbers, Plan, Recorded, Results, Settings, StudyFiles, Wanted, page,
    read_all, table,
};
use wirespeed_scenario::{Run, ScenarioError};

/// Arguments of `wirespeed reproduce`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed reproduce ulm-2016 --only-claims                   # the runs that its claims need
  wirespeed reproduce ulm-2016 --claim ulm-6b-1e-6-hstcp --on model,kernel
  wirespeed list studies")]
pub struct Arguments {
    /// A study that comes with wirespeed (`wirespeed list studies`), or the folder of one.
    #[arg(required_unless_present = "claims")]
    study: Option<String>,
    /// Substrates that the study runs on; `model,kernel` shows both side by side.
    #[arg(long, value_enum, value_name = "SUBSTRATE", value_delimiter = ',', default_value = "model")]
    on: Vec<On>,
    /// Run this figure or table only, by the name it has in the study.
    #[arg(long, value_name = "ID")]
    figure: Option<String>,
    /// Check this claim only; may be repeated.
    #[arg(long = "claim", value_name = "ID")]
    only: Vec<String>,
    /// Run only what the claims need.
    #[arg(long)]
    only_claims: bool,
    /// Shorten the runs and repeat them less often; the results are marked as shortened.
    #[arg(long)]
    quick: bool,
    /// Check the claims of this file instead; its `study` is the name of a study or the path of a scenario.
    #[arg(long, value_name = "FILE")]
    claims: Option<PathBuf>,
    /// Replace a value of every scenario; the results are marked with it. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = super::run::key_value)]
    overrides: Vec<(String, String)>,
    /// Runs at a time [default: one a core].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    #[command(flatten)]
    engine: EngineArguments,
    /// Folder for the results [default: wirespeed-out/NAME]. Results of other substrates in it are kept.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Repeat runs that are already complete.
    #[arg(long)]
    fresh: bool,
    /// Write the results of the claims to this file, too: `recorded.toml` in the folder of a study is shown beside later
    /// results.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// End with exit code 1 if a claim differs and the study has no explanation for it.
    #[arg(long)]
    strict: bool,
    /// Print the results as JSON instead of the table.
    #[arg(long)]
    json: bool,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let wanted = Wanted {
        figure: arguments.figure.clone(),
        claims: arguments.only.clone(),
        only_claims: arguments.only_claims || arguments.claims.is_some(),
        quick: arguments.quick,
        set: arguments.overrides.clone(),
        refuse: arguments.claims.is_some(),
    };
    let studies = studies(arguments)?;
    let name = name(arguments, &studies);
    let mut plan = Plan::default();
    for study in &studies {
        plan.add(study, &wanted)?;
    }
    if plan.claims.is_empty() && plan.runs.is_empty() {
        return Err(nothing(arguments, &studies));
    }
    for warning in &plan.warnings {
        crate::tell(&format!("warning: {warning}"));
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("wirespeed-out").join(&name));
    create(&out)?;
    let settings = studies.first().map(|study| study.settings.clone()).unwrap_or_default();
    let mut results = Results {
        study: name,
        generated_by: format!("wirespeed {}", crate::VERSION),
        claims: every_claim(&studies),
        ..Results::default()
    };
    let file = out.join("claims.json");
    if let Some(earlier) =
        std::fs::read_to_string(&file).ok().and_then(|text| serde_json::from_str(&text).ok())
    {
        results.continue_from(earlier);
    }
    let mode = mode(arguments);
    let mut recorded = arguments.record.as_deref().map(recorded).transpose()?;
    let mut interrupted = false;
    for on in &arguments.on {
        // Workers that the user starts execute it; the same command makes the page afterwards.
        let Some((found, carried)) = carry_out(arguments, *on, &plan, &out, &mode)? else { return Ok(()) };
        interrupted |= interrupt::flag().load(std::sync::atomic::Ordering::Relaxed);
        let substrate = on.kind();
        results.add(substrate, &mode, &plan.claims, &plan.figures, &found);
        if let Some(recorded) = &mut recorded {
            recorded.keep(substrate, &mode, &results.generated_by, &plan.claims, &found);
        }
        results.carried_out.insert(substrate, carried);
        if interrupted {
            break;
        }
    }
    if let (Some(path), Some(recorded)) = (&arguments.record, &recorded) {
        replace_file(path, recorded.text().as_bytes())
            .map_err(|source| Failure::Output { what: path.display().to_string(), source })?;
    }
    results.summarise(&settings.conclusions);
    conclude(arguments, &results, &settings, &out, interrupted)
}

/// What is in the file of recorded numbers already; nothing, if it is not there.
fn recorded(path: &Path) -> Result<Recorded, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Recorded::read(&text, &path.display().to_string()).map_err(ScenarioError::from)?),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Recorded::default()),
        Err(source) => Err(ScenarioError::Read { path: path.to_owned(), source }.into()),
    }
}

/// Claims in their order, also those not wanted now: an earlier invocation may have results of them.
fn every_claim(studies: &[StudyFiles]) -> Vec<ClaimResult> {
    studies
        .iter()
        .flat_map(|study| {
            study.claims.iter().map(|claim| ClaimResult::new(claim, &study.settings, &study.recorded))
        })
        .collect()
}

fn nothing(arguments: &Arguments, studies: &[StudyFiles]) -> Failure {
    let claims = studies.iter().flat_map(|study| &study.claims);
    let known: Vec<String> = match (&arguments.figure, arguments.only.is_empty()) {
        (Some(_), true) => {
            let drawn =
                studies.iter().flat_map(|study| &study.settings.figures).map(|figure| figure.id.clone());
            drawn.chain(claims.map(|claim| claim.figure.clone())).fold(Vec::new(), |mut all, id| {
                if !all.contains(&id) {
                    all.push(id);
                }
                all
            })
        }
        _ => claims.map(|claim| claim.id.clone()).collect(),
    };
    let asked = arguments.figure.iter().chain(&arguments.only);
    let asked: Vec<String> = asked.map(|name| format!("`{name}`")).collect();
    let message = match asked.is_empty() {
        true => "no claim or figure to run".to_owned(),
        false => format!("no claim or figure matches {}", asked.join(", ")),
    };
    Failure::Usage { message, remedy: format!("choose from: {}", known.join(", ")) }
}

/// The studies to reproduce: one, or those that a file of claims speaks of.
fn studies(arguments: &Arguments) -> Result<Vec<StudyFiles>, Failure> {
    let base = arguments.study.as_deref().map(study).transpose()?;
    let Some(path) = &arguments.claims else {
        return Ok(base.into_iter().collect());
    };
    let text =
        std::fs::read_to_string(path).map_err(|source| ScenarioError::Read { path: path.clone(), source })?;
    let mut by_study: BTreeMap<String, Vec<Claim>> = BTreeMap::new();
    for claim in read(&text, &path.display().to_string(), false)? {
        by_study.entry(claim.study.clone()).or_default().push(claim);
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut studies = Vec::new();
    for (name, claims) in by_study {
        let known = base.as_ref().filter(|base| base.settings.name == name).cloned();
        let mut study = match known {
            Some(base) => base,
            None => scenario_or_study(&name, folder)?,
        };
        study.claims = claims;
        studies.push(study);
    }
    Ok(studies)
}

/// What `study` of a claim names: the path of a scenario, from the claims' folder or from here, or a study.
fn scenario_or_study(name: &str, folder: &Path) -> Result<StudyFiles, Failure> {
    let path = [folder.join(name), PathBuf::from(name)].into_iter().find(|path| path.is_file());
    let Some(path) = path else { return study(name) };
    let text = std::fs::read_to_string(&path)
        .map_err(|source| ScenarioError::Read { path: path.clone(), source })?;
    let settings = Settings { name: name.into(), title: name.into(), ..Settings::default() };
    let scenarios = [(path.display().to_string(), text)].into();
    Ok(StudyFiles { settings, claims: Vec::new(), scenarios, recorded: Recorded::default() })
}

/// A study by its folder or name.
fn study(name: &str) -> Result<StudyFiles, Failure> {
    let folder = Path::new(name);
    if folder.join("study.toml").is_file() {
        return Ok(StudyFiles::load(folder)?);
    }
    match STUDIES.iter().find(|(known, _)| *known == name) {
        Some((known, files)) => Ok(StudyFiles::new(files.iter().copied(), &format!("studies/{known}"))?),
        None => {
            let known: Vec<&str> = STUDIES.iter().map(|(name, _)| *name).collect();
            Err(Failure::Usage {
                message: format!("`{name}` is neither a study nor a folder with a study.toml"),
                remedy: format!("studies: {}", known.join(", ")),
            })
        }
    }
}

/// Name and title of every study that comes with wirespeed.
pub fn listed() -> Vec<[String; 3]> {
    STUDIES
        .iter()
        .map(|(name, files)| match StudyFiles::new(files.iter().copied(), name) {
            Ok(study) => {
                let claims = format!("{} claims", study.claims.len());
                [(*name).into(), claims, format!("{} ({})", study.settings.title, study.settings.reference)]
            }
            Err(error) => [(*name).into(), String::new(), error.to_string()],
        })
        .collect()
}

include!(concat!(env!("OUT_DIR"), "/studies.rs"));

fn name(arguments: &Arguments, studies: &[StudyFiles]) -> String {
    match (&arguments.claims, studies.first()) {
        (Some(path), _) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        (None, Some(study)) => study.settings.name.clone(),
        (None, None) => "study".into(),
    }
}

/// How the runs differ from the study's.
fn mode(arguments: &Arguments) -> String {
    let quick =
        arguments.quick.then(|| "quick: shortened, not the study's durations and repetitions".to_owned());
    let sets = arguments.overrides.iter().map(|(key, value)| format!("{key} = {value}"));
    quick.into_iter().chain(sets).collect::<Vec<_>>().join(", ")
}

/// The plan's runs on one substrate: their numbers, and what that cost.
fn carry_out(
    arguments: &Arguments,
    on: On,
    plan: &Plan,
    out: &Path,
    mode: &str,
) -> Result<Option<(Vec<Found>, CarriedOut)>, Failure> {
    let own: Vec<PathBuf> = plan.own_controls.iter().cloned().collect();
    let substrate = substrate(on, &own, &plan.runs)?;
    let mut found: Vec<Option<Found>> = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    for (index, run) in plan.runs.iter().enumerate() {
        let lacking = plan.lacks(index, on.kind());
        match lacking.map_or_else(|| substrate.check(run).map_err(|error| error.to_string()), Err) {
            Ok(()) => {
                runs.push(run.clone());
                found.push(None);
            }
            Err(why) => found.push(Some(Err(NoNumbers::NotRunnable(why)))),
        }
    }
    // Shortened runs do not take the place of whole ones.
    let folder = out.join(on.kind().word());
    let runs_folder = if mode.is_empty() { "runs" } else { "runs-shortened" };
    let began = Instant::now();
    create(&folder)?;
    let _lock = arguments.engine.lock(&folder)?;
    let jobs = arguments.jobs.unwrap_or_else(cores);
    let display = Display::new(&runs, &*substrate, arguments.json, None);
    let outcomes = arguments.engine.carry_out(&Work {
        substrate: &*substrate,
        on,
        own_controls: &own,
        runs: &runs,
        folder: &folder,
        runs_folder,
        fresh: arguments.fresh,
        jobs: arguments.jobs,
        display: &display,
        command: &|_| command(arguments),
    })?;
    drop(display);
    let Some(outcomes) = outcomes else { return Ok(None) };
    let mut numbers = read_all(&outcomes, jobs)?.into_iter();
    let found: Vec<Found> = found
        .into_iter()
        .map(|known| known.unwrap_or_else(|| numbers.next().expect("a number for every run")))
        .collect();
    let costs = || found.iter().flatten().map(|numbers| numbers.cost);
    let with_numbers = plan.runs.iter().zip(&found).filter(|(_, found)| found.is_ok());
    let carried = CarriedOut {
        mode: mode.to_owned(),
        runs: found.iter().filter(|found| found.is_ok()).count(),
        copies: found.iter().flatten().filter(|numbers| numbers.is_copy).count(),
        now: outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Done(_))).count(),
        wall_s: began.elapsed().as_secs_f64(),
        cpu_s: costs().map(|cost| cost.cpu_s).sum(),
        packets: costs().map(|cost| cost.packets).sum(),
        virtual_s: with_numbers.map(|(run, _)| run.duration.as_secs_f64()).sum(),
    };
    Ok(Some((found, carried)))
}

/// The command that repeats this.
fn command(arguments: &Arguments) -> String {
    let mut words = vec!["wirespeed reproduce".to_owned()];
    words.extend(arguments.study.iter().map(|study| quoted(study)));
    let on: Vec<&str> = arguments.on.iter().map(|on| on.kind().word()).collect();
    words.push(format!("--on {}", on.join(",")));
    words.extend(
        arguments.claims.iter().map(|path| format!("--claims {}", quoted(&path.display().to_string()))),
    );
    words.extend(arguments.figure.iter().map(|id| format!("--figure {}", quoted(id))));
    words.extend(arguments.only.iter().map(|id| format!("--claim {}", quoted(id))));
    words.extend(arguments.only_claims.then(|| "--only-claims".to_owned()));
    words.extend(arguments.quick.then(|| "--quick".to_owned()));
    words.extend(
        arguments.overrides.iter().map(|(key, value)| format!("--set {}", quoted(&format!("{key}={value}")))),
    );
    words.join(" ")
}

/// Files, table, exit code.
fn conclude(
    arguments: &Arguments,
    results: &Results,
    settings: &Settings,
    out: &Path,
    interrupted: bool,
) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(results).expect("results are plain data") + "\n";
    let report = out.join("report.html");
    let html = page(results, settings, &command(arguments)).html();
    for (path, text) in [(out.join("claims.json"), &json), (report.clone(), &html)] {
        replace_file(&path, text.as_bytes())
            .map_err(|source| Failure::Output { what: path.display().to_string(), source })?;
    }
    if arguments.json {
        print(&json)?;
    } else {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let width = columns.unwrap_or(if std::io::stdout().is_terminal() { 120 } else { 160 });
        print(&table(results, width))?;
        print(&format!("\nReport: {}\n", report.display()))?;
    }
    if interrupted {
        Err(Failure::Interrupted)
    } else if arguments.strict && results.unexplained() > 0 {
        Err(Failure::Expectation)
    } else {
        Ok(())
    }
}
