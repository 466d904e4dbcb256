//! `wirespeed campaign`: workers of a campaign, its state, and its end.

use super::engine::{Work, campaign, pool};
use super::folder::create_part_locked;
use super::report::width;
use super::run::{On, quoted, substrate};
use crate::failure::Failure;
use crate::print_plain;
use crate::progress::Display;
use clap::{Args, Subcommand};
use indicatif::HumanDuration;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wirespeed_campaign::{
    Outcome, Plan, Shard, SlurmError, Status, Threads, campaigns_in, cancel_job, queue_of, read_statuses,
};
use wirespeed_report::text_table;
use wirespeed_scenario::Run;

/// Examples of all actions.
pub const EXAMPLES: &str = "\
Examples:
  wirespeed run sweep.toml --out results --engine slurm        # submit, wait, report
  wirespeed run sweep.toml --out results --engine manual       # only write the plan for workers
  wirespeed campaign worker results --shard 3/16               # the third of sixteen workers
  wirespeed campaign status results                            # from elsewhere: finished runs and time left
  wirespeed campaign cancel results                            # cancel the job of Slurm; complete runs are kept";

/// Actions of `wirespeed campaign`.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Execute one shard of a planned campaign.
    Worker(Worker),
    /// Print what the workers of a campaign have done.
    Status(Folder),
    /// Cancel the job of a campaign on Slurm.
    Cancel(Folder),
}

/// Arguments of `wirespeed campaign worker`.
#[derive(Debug, Args)]
pub struct Worker {
    /// Folder of results with a plan (`--engine manual` or `slurm`).
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The part of the runs for this worker, K of N; every worker needs the same N.
    #[arg(long, value_name = "K/N")]
    shard: Shard,
    /// Runs at a time [default: one a core].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Try a run again so many times after it failed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,
}

/// The folder of a campaign.
#[derive(Debug, Args)]
pub struct Folder {
    /// Folder of results.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Carries the command out.
pub fn run(action: &Action) -> Result<(), Failure> {
    match action {
        Action::Worker(arguments) => worker(arguments),
        Action::Status(arguments) => status(arguments),
        Action::Cancel(arguments) => cancel(arguments),
    }
}

fn worker(arguments: &Worker) -> Result<(), Failure> {
    let plan = Plan::read(&arguments.folder)?;
    let on = On::of_kind(plan.substrate).ok_or_else(|| Failure::Usage {
        message: format!("the plan is for substrate {}, which workers do not execute", plan.substrate.word()),
        remedy: "plan the campaign on the model or the kernel".into(),
    })?;
    let substrate = substrate(on, &plan.own_controls, &plan.runs)?;
    let runs = arguments.shard.select(&plan.runs, &*substrate);
    let name = format!("shard-{}", arguments.shard.to_string().replace('/', "-"));
    let _lock = create_part_locked(&arguments.folder, &name)?;
    let commands: HashMap<&str, &String> =
        plan.runs.iter().map(|run| run.id.as_str()).zip(&plan.commands).collect();
    let command = |run: &Run| commands[run.id.as_str()].clone();
    let display = Display::new(&runs, &*substrate, false, None);
    let work = Work {
        substrate: &*substrate,
        on,
        own_controls: &plan.own_controls,
        runs: &runs,
        folder: &arguments.folder,
        runs_folder: &plan.runs_folder,
        fresh: false,
        jobs: arguments.jobs,
        display: &display,
        command: &command,
    };
    let threads = Threads { retries: arguments.retries, ..pool(&work) };
    let outcomes = campaign(&work, &threads, &name)?;
    let failed = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Failed(_))).count();
    if outcomes.iter().any(|outcome| matches!(outcome, Outcome::Interrupted | Outcome::Cut(_))) {
        Err(Failure::Interrupted)
    } else if failed > 0 {
        Err(Failure::Runs { failed, total: outcomes.len() })
    } else {
        Ok(())
    }
}

fn status(arguments: &Folder) -> Result<(), Failure> {
    let folder = located(&arguments.folder)?;
    let (statuses, damaged) = read_statuses(&folder).map_err(|source| unreadable(&folder, &source))?;
    if statuses.is_empty() && damaged.is_empty() {
        return Err(no_campaign(&folder));
    }
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&serde_json::json!({ "workers": statuses, "damaged": damaged }))
                .expect("a state is plain data");
        return crate::print(&format!("{text}\n"));
    }
    let heads =
        ["worker", "host", "state", "done", "kept", "failed", "of", "left", "updated"].map(String::from);
    let rows: Vec<[String; 9]> = statuses.iter().map(row).collect();
    let mut text = text_table(heads, &rows, [16, 16, 12, 8, 8, 8, 8, 8, 16], width());
    for line in statuses.iter().flat_map(|status| &status.failures).chain(&damaged) {
        text.push_str(&format!("failed: {line}\n"));
    }
    match queue_of(&folder) {
        Ok(Some(job)) => text.push_str(&format!("Job {job} of Slurm is in the queue.\n")),
        Ok(None) => {}
        Err(error) => text.push_str(&format!("note: {error}\n")),
    }
    print_plain(&text)
}

fn row(status: &Status) -> [String; 9] {
    let state = match (status.is_over, status.running.len()) {
        (true, _) => "ended".to_owned(),
        (false, 0) => "begun".to_owned(),
        (false, running) => format!("{running} running"),
    };
    let left = status.left_s.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let left = left.map_or(String::new(), |left| format!("{:#}", HumanDuration(left)));
    let counts = [status.done, status.kept, status.failed, status.total].map(|count| count.to_string());
    let [done, kept, failed, total] = counts;
    let [worker, host, updated] = [&status.worker, &status.host, &status.updated].map(Clone::clone);
    [worker, host, state, done, kept, failed, total, left, updated]
}

fn cancel(arguments: &Folder) -> Result<(), Failure> {
    let folder = located(&arguments.folder)?;
    let job = cancel_job(&folder).map_err(|error| match error {
        SlurmError::NoJob(_) => no_campaign(&folder),
        other => Failure::Environment(other.to_string()),
    })?;
    print_plain(&format!(
        "Job {job} is cancelled. Complete runs are kept; the command of the campaign resumes it.\n"
    ))
}

/// The folder of the campaign in `folder`, which may be that of a reproduced study.
fn located(folder: &Path) -> Result<PathBuf, Failure> {
    let mut found = match campaigns_in(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(unreadable(folder, &error)),
    };
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(no_campaign(folder)),
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            let names: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::Usage {
                message: format!("{} has {} campaigns", folder.display(), names.len()),
                remedy: format!("name one of {}", names.join(", ")),
            })
        }
    }
}

fn unreadable(folder: &Path, source: &io::Error) -> Failure {
    Failure::Environment(format!("cannot read {}: {source}", folder.display()))
}

fn no_campaign(folder: &Path) -> Failure {
    let shown = quoted(&folder.display().to_string());
    Failure::Usage {
        message: format!("{} has no campaign", folder.display()),
        remedy: format!("start one with `wirespeed run FILE --out {shown}`"),
    }
}
