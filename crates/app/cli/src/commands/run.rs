//! `wirespeed run`: a scenario from file to verdict.

use super::engine::{EngineArguments, Work};
use super::figures::FigureArguments;
use super::folder::create;
use super::report::requests;
use super::results::Said;
use super::until_certain::UntilCertain;
use crate::failure::Failure;
use crate::progress::Display;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use wirespeed_campaign::{Judged, Outcome, ResultTables, StudyReport, in_order, judge};
use wirespeed_record::{StoreError, SubstrateKind, read_lazily, replace_file};
use wirespeed_report::{Report, StudyInfo};
use wirespeed_scenario::{FigureRequest, Run, Study, load};
use wirespeed_substrates::SelfChecked;
#[cfg(not(feature = "linux"))]
use wirespeed_substrates::Substrate;
use wirespeed_units::Span;

/// The folder of the scenario as it was read, in that of the results.
pub(super) const INPUTS: &str = "campaign/scenario";

/// Arguments of `wirespeed run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed run scenarios/first-look.toml                        # on the model
  wirespeed run scenarios/first-look.toml --on kernel --out k    # on Linux in virtual time
  wirespeed run lossy.toml --set path.rtt=\"50 ms\" --set run.repeat=5
  wirespeed run lossy.toml --json > results.json
  wirespeed run sweep.toml --figure \"heat-map x=rtt y=loss by=congestion\"
  wirespeed run sweep.toml --figures pdf,png --figure-names \"goodput*,cwnd\"
  wirespeed run sweep.wirespeed.tar.gz          # repeat a bundle, and compare with its results

The folder of results has report.html and the recorded runs. Complete runs are kept: the same command again runs only \
those that are missing.")]
pub struct Arguments {
    /// Scenario file, or a bundle of `wirespeed bundle`.
    pub(super) file: PathBuf,
    /// Substrate that the scenario runs on [default: model; of a bundle, its own].
    #[arg(long, value_enum, value_name = "SUBSTRATE", help_heading = "Execution")]
    pub(super) on: Option<On>,
    /// Folder for the results [default: wirespeed-out/NAME].
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(super) out: Option<PathBuf>,
    /// Replace a value of the scenario, for example path.rtt="20 ms"; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_value, help_heading = "Scenario")]
    overrides: Vec<(String, String)>,
    /// Seed of all random numbers [default: the scenario's].
    #[arg(long, value_name = "N", help_heading = "Scenario")]
    seed: Option<u64>,
    /// Runs at a time [default: one a core].
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub(super) jobs: Option<usize>,
    /// Repeat runs that are already complete.
    #[arg(long, help_heading = "Execution")]
    pub(super) fresh: bool,
    #[command(flatten)]
    pub(super) engine: EngineArguments,
    #[command(flatten)]
    until_certain: UntilCertain,
    /// Check each emulated path first, and refuse to run if it differs from the scenario (netns, kernel).
    #[arg(
        long,
        value_enum,
        default_value_t = SelfCheck::Auto,
        value_name = "WHEN",
        help_heading = "Execution",
        hide = cfg!(not(feature = "linux"))
    )]
    pub(super) self_check: SelfCheck,
    #[command(flatten, next_help_heading = "Output")]
    figures: FigureArguments,
    /// Add a figure across runs, for example "heat-map x=rtt y=loss"; may be repeated.
    #[arg(long, value_name = "REQUEST", help_heading = "Output")]
    figure: Vec<String>,
    /// Print the results as JSON instead of the table.
    #[arg(long, help_heading = "Output")]
    pub(super) json: bool,
    /// Write each run as DIR/NAME.json for `wirespeed execute`, and execute none.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "figures", "figure", "fresh"], help_heading = "Output")]
    write_runs: Option<PathBuf>,
    /// Print the rate so often.
    #[arg(skip)]
    pub(crate) interval: Option<Span>,
}

/// Substrates. The option accepts those of this build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum On {
    /// The model: a packet-exact simulation.
    Model,
    /// A real Linux kernel in virtual time (user-mode Linux).
    #[cfg_attr(not(feature = "linux"), value(skip))]
    Kernel,
    /// Network namespaces of this machine, in real time.
    #[cfg_attr(not(feature = "linux"), value(skip))]
    Netns,
    /// Real machines, reached by ssh.
    #[cfg_attr(not(feature = "linux"), value(skip))]
    Hosts,
}

impl On {
    /// The value for a substrate of this build; `None` for others, as of imports.
    pub(crate) fn of_kind(kind: SubstrateKind) -> Option<On> {
        On::value_variants().iter().copied().find(|on| on.kind() == kind)
    }

    /// The substrate, as recordings and results name it.
    pub(crate) fn kind(self) -> SubstrateKind {
        match self {
            On::Model => SubstrateKind::Model,
            On::Kernel => SubstrateKind::Kernel,
            On::Netns => SubstrateKind::Netns,
            On::Hosts => SubstrateKind::Hosts,
        }
    }
}

/// When paths are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SelfCheck {
    /// On netns, where a busy machine makes another path.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl SelfCheck {
    pub(crate) fn applies(self, on: On) -> bool {
        match self {
            SelfCheck::Auto => on == On::Netns,
            SelfCheck::On => matches!(on, On::Netns | On::Kernel),
            SelfCheck::Off => false,
        }
    }
}

impl Arguments {
    /// To run one file, whatever was made of it before.
    pub(crate) fn of_file(file: PathBuf, on: On, out: PathBuf, json: bool) -> Arguments {
        Arguments {
            file,
            on: Some(on),
            out: Some(out),
            overrides: Vec::new(),
            seed: None,
            jobs: None,
            fresh: true,
            engine: EngineArguments::default(),
            until_certain: UntilCertain::default(),
            self_check: SelfCheck::Auto,
            figures: FigureArguments::default(),
            figure: Vec::new(),
            json,
            write_runs: None,
            interval: None,
        }
    }

    /// The substrate of a scenario.
    fn on(&self) -> On {
        self.on.unwrap_or(On::Model)
    }

    /// The first option that would make another experiment of a bundle, or that only scenarios have.
    pub(super) fn option_of_scenarios(&self) -> Option<&'static str> {
        let given = [
            (!self.overrides.is_empty(), "--set"),
            (self.seed.is_some(), "--seed"),
            (self.until_certain.override_of_scenario().is_some(), "--until-ci"),
            (self.figures.is_given(), "--figures"),
            (!self.figure.is_empty(), "--figure"),
            (self.write_runs.is_some(), "--write-runs"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }
}

pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write key=value, for example path.loss=1e-5")?;
    Ok((key.trim().into(), value.trim().into()))
}

/// Carries the command out.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    if wirespeed_bundle::is_bundle(&arguments.file) {
        return super::repeat::run(&arguments);
    }
    let mut overrides = arguments.overrides.clone();
    overrides.extend(arguments.until_certain.override_of_scenario());
    let study = load(&arguments.file, &overrides, arguments.seed)?;
    carry_out(&arguments, &study, &mut |_| Ok(()))
}

/// Executes the study of `arguments.file`. `seen` gets each run that has a recording, before its results are printed.
pub(crate) fn carry_out(
    arguments: &Arguments,
    study: &Study,
    seen: &mut dyn FnMut(&Judged) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let known: Vec<(&str, &str)> = wirespeed_metrics::all().iter().map(|m| (m.name, m.unit)).collect();
    study.check_metrics(&known)?;
    requested_figures(arguments, study)?;
    let mut substrate = substrate(arguments.on(), &study.own_controls, &study.runs)?;
    if arguments.self_check.applies(arguments.on()) {
        substrate = Box::new(SelfChecked::new(substrate));
    }
    for run in &study.runs {
        substrate.check(run).map_err(|error| Failure::Usage {
            message: format!("{}: {error}", run.id),
            remedy: "change the scenario, or run it on another substrate".into(),
        })?;
    }
    for warning in &study.warnings {
        crate::tell(&format!("warning: {warning}"));
    }
    let has_real_hosts = || study.runs.iter().flat_map(|run| &run.hosts).any(|host| host.reach.is_some());
    if arguments.on() != On::Hosts && has_real_hosts() {
        // The model is the default: somebody who wrote `ssh` into the file may expect traffic between these machines.
        crate::tell(
            "note: no machine is contacted; to test between the machines that `ssh` names, add --on hosts",
        );
    }
    if let Some(folder) = &arguments.write_runs {
        return write_runs(&study.runs, folder);
    }
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("wirespeed-out").join(&study.name));
    let _lock = arguments.engine.lock(&out)?;
    keep_inputs(&out, study)?;
    let execute = |runs: &[Run]| {
        let display = Display::new(runs, &*substrate, arguments.json, arguments.interval);
        arguments.engine.carry_out(&Work {
            substrate: &*substrate,
            on: arguments.on(),
            own_controls: &study.own_controls,
            runs,
            folder: &out,
            runs_folder: "runs",
            fresh: arguments.fresh,
            jobs: arguments.jobs,
            display: &display,
            command: &|run: &Run| command_for(arguments, Some(run)),
        })
    };
    if let Some(certain) =
        arguments.until_certain.carry_out(study, &|run| substrate.depends_on_seed(run), &execute)?
    {
        return conclude(arguments, study, &certain.runs, &out, &certain.outcomes, seen);
    }
    let Some(outcomes) = execute(&study.runs)? else { return Ok(()) };
    conclude(arguments, study, &study.runs, &out, &outcomes, seen)
}

/// Keeps the scenario as it was read, with the files that it refers to, for `wirespeed bundle`.
fn keep_inputs(out: &Path, study: &Study) -> Result<(), Failure> {
    let inputs = match wirespeed_bundle::inputs_of(study) {
        Ok(inputs) => inputs,
        // The model does not need the file.
        Err(error) => {
            crate::tell(&format!("note: the scenario is not kept with the results: {error}"));
            return Ok(());
        }
    };
    let folder = out.join(INPUTS);
    let cannot_write = |source| Failure::Output { what: folder.display().to_string(), source };
    // Files of an earlier scenario would be taken for parts of this one.
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(cannot_write(error)),
        _ => {}
    }
    for input in inputs {
        let path = folder.join(&input.name);
        create(path.parent().unwrap_or(&folder))?;
        replace_file(&path, &input.content).map_err(cannot_write)?;
    }
    Ok(())
}

/// Writes resolved runs, a file each.
fn write_runs(runs: &[Run], folder: &Path) -> Result<(), Failure> {
    create(folder)?;
    for run in runs {
        let file = folder.join(format!("{}.json", run.id));
        let text = serde_json::to_string_pretty(run).expect("a run is plain data") + "\n";
        replace_file(&file, text.as_bytes())
            .map_err(|source| Failure::Output { what: file.display().to_string(), source })?;
    }
    let (count, folder) = (runs.len(), folder.display());
    crate::print_plain(&format!(
        "{count} runs are in {folder}; `wirespeed execute RUN.json --out DIR` executes one\n"
    ))
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(feature = "linux")]
pub(crate) use super::linux::substrate;

/// The substrate: this build has the model only.
#[cfg(not(feature = "linux"))]
pub(crate) fn substrate(
    on: On,
    _own_controls: &[PathBuf],
    _runs: &[Run],
) -> Result<Box<dyn Substrate>, Failure> {
    match on {
        On::Model => Ok(Box::new(wirespeed_substrates::Model)),
        other => Err(crate::absent::substrate(other.kind().word())),
    }
}

/// The command that repeats one run, or the whole study.
fn command_for(arguments: &Arguments, run: Option<&Run>) -> String {
    let mut words = vec!["wirespeed".into(), "run".into(), quoted(&arguments.file.display().to_string())];
    words.push(format!(
        "--on {}",
        arguments.on().to_possible_value().expect("every substrate has a name").get_name()
    ));
    let swept = run.map(|run| &run.factors);
    for (key, value) in &arguments.overrides {
        if swept.is_none_or(|factors| !factors.contains_key(key)) {
            words.push(format!("--set {}", quoted(&format!("{key}={value}"))));
        }
    }
    for (key, value) in swept.into_iter().flatten() {
        words.push(format!("--set {}", quoted(&format!("{key}={value}"))));
    }
    if let Some(seed) = arguments.seed {
        words.push(format!("--seed {seed}"));
    }
    words.join(" ")
}

/// For a POSIX shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:+".contains(c);
    if word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Report, table, exit code.
fn conclude(
    arguments: &Arguments,
    study: &Study,
    runs: &[Run],
    out: &Path,
    outcomes: &[Outcome],
    seen: &mut dyn FnMut(&Judged) -> Result<(), Failure>,
) -> Result<(), Failure> {
    /// Whoever ends a study of more runs does not want to wait for their report.
    const FEW: usize = 20;
    let interrupted =
        || outcomes.iter().any(|outcome| matches!(outcome, Outcome::Interrupted | Outcome::Cut(_)));
    let complete = outcomes.iter().filter(|outcome| outcome.directory().is_some()).count();
    if interrupted() && outcomes.len() > FEW {
        let folder = quoted(&out.display().to_string());
        crate::tell(&format!(
            "{complete} of {} runs are complete; `wirespeed report {folder}` makes their report",
            outcomes.len()
        ));
        return Err(Failure::Interrupted);
    }
    let mut said = Said::new(arguments.json, runs.len());
    let mut met = true;
    let info = StudyInfo {
        name: study.name.clone(),
        about: study.about.clone(),
        command: command_for(arguments, None),
        scenario_text: study.source.clone(),
        generated_by: format!("wirespeed {}", crate::VERSION),
        figures: requested_figures(arguments, study)?,
    };
    let mut results = StudyReport::new(info);
    let ended: Vec<(&Run, &Outcome)> = runs.iter().zip(outcomes).collect();
    let read = |(run, outcome): &(&Run, &Outcome)| {
        let directory = outcome.directory()?;
        Some(read_lazily(directory).and_then(|recording| judge(recording, Some(run), &study.expect)))
    };
    in_order(&ended, cores(), read, |(run, outcome), judged| {
        if let Some(judged) = judged {
            let judged = judged?;
            met &= judged.expectations.iter().all(|e| e.passed);
            said.add(&judged)?;
            seen(&judged)?;
            results.add(judged)?;
        } else if let Some(reason) = outcome.reason() {
            said.add_incomplete(&run.id, Some(&run.factors), &reason);
            results.add_incomplete(&run.id, reason);
        }
        Ok::<(), Failure>(())
    })?;
    let (report, tables) = results.finish();
    let written = write_report(out, &report).and_then(|()| write_tables(out, &tables));
    // What was found does not depend on a disk that is full.
    said.print(&study.name, &report, written.is_ok().then_some(out))?;
    written
        .and_then(|()| arguments.figures.write(out, &report.figure_files()))
        .map_err(|failure| with_recording(failure, out))?;
    let failed = outcomes.iter().filter(|o| matches!(o, Outcome::Failed(_))).count();
    if interrupted() {
        Err(Failure::Interrupted)
    } else if failed > 0 {
        Err(Failure::Runs { failed, total: outcomes.len() })
    } else if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Postponed)) {
        Err(Failure::Budget { complete, total: outcomes.len() })
    } else if !met {
        Err(Failure::Expectation)
    } else {
        Ok(())
    }
}

/// Writes the tables of results. They are not needed to read a report, so that a failure is that of the report.
pub fn write_tables(out: &Path, tables: &ResultTables) -> Result<(), Failure> {
    tables.write(out).map_err(|error| match error {
        StoreError::Io { path, source, .. } => Failure::Output { what: path.display().to_string(), source },
        other => other.into(),
    })
}

/// The figures that the command line and the scenario ask for.
fn requested_figures(arguments: &Arguments, study: &Study) -> Result<Vec<FigureRequest>, Failure> {
    let factors = study.runs.first().into_iter().flat_map(|run| run.factors.keys());
    let mut figures = requests(&arguments.figure, &factors.map(String::as_str).collect::<Vec<_>>())?;
    figures.extend(study.figures.iter().cloned());
    Ok(figures)
}

/// The failure of a report whose runs are recorded.
fn with_recording(failure: Failure, out: &Path) -> Failure {
    match failure {
        Failure::Output { what, source } => {
            let command = format!("wirespeed report {} --out DIR", quoted(&out.display().to_string()));
            Failure::Report { what, source, command }
        }
        other => other,
    }
}

/// Writes `report.html` and `means.csv`.
pub fn write_report(out: &Path, report: &Report) -> Result<(), Failure> {
    let write = |path: PathBuf, text: &str| {
        replace_file(&path, text.as_bytes())
            .map_err(|source| Failure::Output { what: path.display().to_string(), source })
    };
    write(out.join("report.html"), &report.html())?;
    write(out.join("means.csv"), &report.means_csv())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_a_meaning_to_the_shell_are_quoted() {
        assert_eq!(quoted("path.loss=1e-5"), "path.loss=1e-5");
        assert_eq!(quoted("path.rtt=20 ms"), "'path.rtt=20 ms'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
