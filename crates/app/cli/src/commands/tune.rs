//! `wirespeed tune`: changes of this host's settings as a transaction.

mod changes;
mod output;
mod persist;
mod prove;
mod timer;

use crate::failure::Failure;
use crate::{interrupt, print_plain};
use clap::{Args, Subcommand};
use output::note;
use std::path::PathBuf;
use std::sync::atomic::Ordering::SeqCst;
use wirespeed_tuning::{
    ApplyError, Cause, ConfirmError, DEFAULT_FOLDER, Flow, Folder, FolderError, Journal, Options, Plan,
    PlanError, Point, Report, RevertError, ThisHost, Timer, apply, check_ready, confirm, plan, resume,
    revert,
};
use wirespeed_units::Span;

pub const EXAMPLES: &str = "\
Examples:
  wirespeed tune plan --changes changes.json         # print old and new values
  sudo wirespeed tune apply --changes changes.json   # make all changes or none
  sudo wirespeed tune apply --changes changes.json --confirm-within 60s
  sudo wirespeed tune confirm                        # without it they are put back after 60 s
  sudo wirespeed tune apply --changes changes.json --persist
  sudo wirespeed tune apply --resume                 # finish after a crash
  wirespeed tune prove dtn1 dtn2 --receiver changes.json                 # which of them help on this path?
  sudo wirespeed tune revert                         # put the old values back
  wirespeed tune status";

/// Subcommands of `wirespeed tune`.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Print the changes that make a difference, with old values and reasons; change nothing.
    Plan(PlanArguments),
    /// Make the changes; if one of them fails, put everything back.
    Apply(ApplyArguments),
    /// Put the old values of the newest transaction back, and remove its files.
    Revert(RevertArguments),
    /// Measure between two hosts with and without each change, keep those that help, and put the others back.
    Prove(prove::Arguments),
    /// Keep the changes that were applied with --confirm-within.
    Confirm(State),
    /// Print the transactions, and the changes that are still in effect.
    Status(StatusArguments),
    /// The process of the dead-man timer.
    #[command(hide = true)]
    Watch(timer::Arguments),
}

/// The folder of the journals.
#[derive(Debug, Args)]
pub struct State {
    /// Folder of the journals with the old values.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    state: PathBuf,
}

/// Arguments of `wirespeed tune plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// JSON file with the changes, as `doctor --json` prints them; - is standard input.
    #[arg(long, value_name = "FILE")]
    changes: PathBuf,
    /// Also change settings that this running manager owns: irqbalance, tuned, NetworkManager or bpftune.
    #[arg(long = "override", value_name = "MANAGER")]
    overridden: Vec<String>,
    /// Print the plan as JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `wirespeed tune apply`.
#[derive(Debug, Args)]
pub struct ApplyArguments {
    /// JSON file with the changes, as `doctor --json` prints them; - is standard input.
    #[arg(long, value_name = "FILE", required_unless_present = "resume")]
    changes: Option<PathBuf>,
    /// Also change settings that this running manager owns: irqbalance, tuned, NetworkManager or bpftune.
    #[arg(long = "override", value_name = "MANAGER")]
    overridden: Vec<String>,
    /// Leave out changes that are in conflict or not possible here.
    #[arg(long)]
    partial: bool,
    /// Put everything back after this time unless `wirespeed tune confirm` comes, also if the session ends.
    #[arg(long, value_name = "TIME", value_parser = timer::time)]
    confirm_within: Option<Span>,
    /// Also write files that set the values at the next boot.
    #[arg(long)]
    persist: bool,
    /// Complete the transaction that a crash left unfinished.
    #[arg(long, conflicts_with_all = ["changes", "persist", "confirm_within", "partial", "overridden"])]
    resume: bool,
    #[command(flatten)]
    state: State,
    /// Folder in the place of / for the files of --persist.
    #[arg(long, hide = true, default_value = "/")]
    root: PathBuf,
    /// Kill this process at the Nth point, for tests.
    #[arg(long, hide = true)]
    kill_at: Option<usize>,
}

/// Arguments of `wirespeed tune revert`.
#[derive(Debug, Args)]
pub struct RevertArguments {
    /// Also put back values that another program or person has changed since.
    #[arg(long)]
    force: bool,
    /// Put back all transactions, the newest first.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    state: State,
    /// Kill this process at the Nth point, for tests.
    #[arg(long, hide = true)]
    kill_at: Option<usize>,
}

/// Arguments of `wirespeed tune status`.
#[derive(Debug, Args)]
pub struct StatusArguments {
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: State,
}

/// Carries the command out.
pub fn run(action: &Action) -> Result<(), Failure> {
    match action {
        Action::Plan(arguments) => {
            let plan = make_plan(&arguments.changes, &arguments.overridden)?;
            print_plain(&if arguments.json { output::json(&plan)? } else { plan.to_string() })
        }
        Action::Apply(arguments) => run_apply(arguments),
        Action::Prove(arguments) => prove::run(arguments),
        Action::Revert(arguments) => run_revert(arguments),
        Action::Confirm(state) => {
            require_root("confirm")?;
            let journal = confirm(&Folder::new(&state.state)).map_err(|error| match error {
                ConfirmError::NothingWaits => {
                    Failure::Usage { message: error.to_string(), remedy: "wirespeed tune status".into() }
                }
                _ => Failure::Environment(error.to_string()),
            })?;
            note(&format!("confirmed: the changes of {} stay", journal.path().display()));
            Ok(())
        }
        Action::Status(arguments) => {
            let journals = Folder::new(&arguments.state.state).journals().map_err(unusable)?;
            print_plain(&output::status(&journals, arguments.json)?)
        }
        Action::Watch(arguments) => timer::watch(arguments),
    }
}

fn make_plan(file: &std::path::Path, overridden: &[String]) -> Result<Plan, Failure> {
    let changes = changes::changes(file)?;
    let running = wirespeed_host::managers(&mut wirespeed_host::Root::live()).map_err(|error| {
        Failure::Environment(format!(
            "the programs that run on this host cannot be listed: {error}; mount /proc"
        ))
    })?;
    plan(&mut ThisHost, changes, &running, overridden).map_err(|error| match error {
        PlanError::Contradiction { .. } => Failure::Usage {
            message: error.to_string(),
            remedy: "a list of changes has each setting once".into(),
        },
    })
}

/// Settings of a host are root's.
fn require_root(command: &str) -> Result<(), Failure> {
    // SAFETY: the call has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        return Ok(());
    }
    Err(Failure::Environment(format!(
        "`wirespeed tune {command}` changes settings of this host, which needs root; run it with sudo"
    )))
}

fn unusable(error: FolderError) -> Failure {
    Failure::Environment(error.to_string())
}

/// An observer that prints progress, and ends the process at a point if a test asks for that.
fn observer(kill_at: Option<usize>) -> impl FnMut(Point<'_>) -> Flow {
    let interrupted = interrupt::flag();
    let mut seen = 0;
    move |point: Point<'_>| {
        if kill_at == Some(seen) {
            // SAFETY: calls without pointers; they end this process.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        }
        seen += 1;
        match point {
            Point::Done(setting) => note(&format!("changed: {setting}")),
            Point::Restored(setting) => note(&format!("put back: {setting}")),
            Point::FileWritten(path) => note(&format!("written: {path}")),
            Point::FileRemoved(path) => note(&format!("removed: {path}")),
            _ => {}
        }
        if interrupted.load(SeqCst) { Flow::Interrupt } else { Flow::Continue }
    }
}

fn run_apply(arguments: &ApplyArguments) -> Result<(), Failure> {
    require_root("apply")?;
    let mut observer = observer(arguments.kill_at);
    let folder = Folder::new(&arguments.state.state);
    let lock = folder.lock().map_err(unusable)?;
    let result = match &arguments.changes {
        Some(file) if !arguments.resume => {
            // Before the plan: after a crash its values may be in effect already.
            check_ready(&folder).map_err(failed)?;
            let mut plan = make_plan(file, &arguments.overridden)?;
            print_plain(&plan.to_string())?;
            if arguments.partial {
                plan = plan.without_obstacles();
            }
            if plan.steps.is_empty() && plan.conflicts.is_empty() && plan.impossible.is_empty() {
                note("nothing was changed");
                return Ok(());
            }
            let files = if arguments.persist { persist::files(&plan)? } else { Vec::new() };
            let mut start = |journal: &std::path::Path| {
                timer::start(folder.path(), journal, arguments.confirm_within.unwrap_or(Span::ZERO))
            };
            let timer = arguments
                .confirm_within
                .map(|within| Timer { within: timer::duration(within), start: &mut start });
            let options = Options { files: &files, root: &arguments.root, timer };
            apply(&mut ThisHost, &folder, plan, options, &mut observer)
        }
        _ => resume(&mut ThisHost, &folder, &mut observer),
    };
    drop(lock);
    let journal = result.map_err(failed)?;
    let count = journal.header().steps.len();
    note(&format!("{count} changes are in effect; `wirespeed tune revert` puts the old values back"));
    if let Some(within) = journal.header().confirm_within_s.filter(|_| !journal.is_confirmed()) {
        note(&format!("run `wirespeed tune confirm` within {within} s, or everything is put back"));
    }
    Ok(())
}

fn failed(error: ApplyError) -> Failure {
    match error {
        ApplyError::Failed { cause: Cause::Interrupted, report } if report.failed.is_empty() => {
            Failure::InterruptedTune
        }
        ApplyError::NothingToResume => {
            Failure::Usage { message: error.to_string(), remedy: "wirespeed tune status".into() }
        }
        other => Failure::Environment(other.to_string()),
    }
}

fn run_revert(arguments: &RevertArguments) -> Result<(), Failure> {
    require_root("revert")?;
    let mut observer = observer(arguments.kill_at);
    let folder = Folder::new(&arguments.state.state);
    let _lock = folder.lock().map_err(unusable)?;
    let mut open = folder.journals().map_err(unusable)?;
    open.retain(Journal::is_open);
    if open.is_empty() {
        note("no transaction is open; nothing was changed");
        return Ok(());
    }
    let count = if arguments.all { open.len() } else { 1 };
    for mut journal in open.into_iter().rev().take(count) {
        let report = revert(&mut ThisHost, &mut journal, arguments.force, &mut observer)
            .map_err(|error: RevertError| Failure::Environment(error.to_string()))?;
        finished(&journal, &report)?;
    }
    Ok(())
}

/// Prints the outcome of a reversion.
fn finished(journal: &Journal, report: &Report) -> Result<(), Failure> {
    for setting in &report.gone {
        note(&format!("{setting}: does not exist any more"));
    }
    if report.failed.is_empty() {
        let path = journal.path().display();
        note(&match report.restored.len() {
            1 => format!("1 setting is as before the transaction in {path}"),
            count => format!("{count} settings are as before the transaction in {path}"),
        });
        return Ok(());
    }
    let failed: Vec<String> = report.failed.iter().map(|failed| format!("  {failed}")).collect();
    Err(Failure::Environment(format!("not everything could be put back:\n{}", failed.join("\n"))))
}
