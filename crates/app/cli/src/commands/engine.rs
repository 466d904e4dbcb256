//! Place and order of the execution of a campaign's runs: options and their meaning.

use super::folder::{create, create_locked, create_part_locked};
use super::run::{On, cores, quoted};
use crate::failure::Failure;
use crate::progress::Display;
use crate::{interrupt, tool};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wirespeed_campaign::{
    Budget, Campaign, Order, Outcome, Plan, PlanError, Slurm, StatusFile, Threads, shards_of,
};
use wirespeed_record::FolderLock;
use wirespeed_scenario::Run;
use wirespeed_substrates::Substrate;
use wirespeed_units::Span;

/// Shards of a campaign on a cluster, if none are given: enough for some tens of cores, and for some to end early.
const SHARDS: u32 = 32;

/// Options of commands that execute many runs.
#[derive(Debug, Clone, Default, Args)]
pub struct EngineArguments {
    /// Execute the runs here, on a cluster, or by workers of your own.
    #[arg(long, value_enum, default_value_t = Engine::Local, value_name = "ENGINE", help_heading = "Execution")]
    engine: Engine,
    /// Further options of sbatch, such as "--partition=long --cpus-per-task=2".
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, help_heading = "Execution")]
    engine_args: Option<String>,
    /// Shards of a campaign on a cluster [default: 32, at most one for each run].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Execution")]
    shards: Option<u32>,
    /// Try a run again so many times after it failed; its recording has the causes.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Execution")]
    retries: u32,
    /// Begin no run that would end later than this after the start, for example "2 h".
    #[arg(long, value_name = "TIME", help_heading = "Execution")]
    budget: Option<Span>,
}

/// Ways to execute the runs of a campaign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// On the cores of this machine.
    #[default]
    Local,
    /// As a job array of Slurm.
    Slurm,
    /// By workers that you or another scheduler start (`wirespeed campaign worker`).
    Manual,
}

/// The runs to execute, and where their results belong.
pub struct Work<'a> {
    /// Substrate that executes them.
    pub substrate: &'a dyn Substrate,
    /// The same, as the command line has it.
    pub on: On,
    /// C files of congestion control algorithms of the user's own.
    pub own_controls: &'a [PathBuf],
    /// The runs.
    pub runs: &'a [Run],
    /// Folder of the results.
    pub folder: &'a Path,
    /// Folder of the runs in it.
    pub runs_folder: &'a str,
    /// Whether complete runs are executed again.
    pub fresh: bool,
    /// Runs at a time.
    pub jobs: Option<usize>,
    /// Shows them.
    pub display: &'a Display<'a>,
    /// The command that repeats a run.
    pub command: &'a dyn Fn(&Run) -> String,
}

impl EngineArguments {
    /// Keeps other processes from writing the same results. Workers of the campaign may.
    pub fn lock(&self, folder: &Path) -> Result<FolderLock, Failure> {
        match self.engine {
            Engine::Local => create_locked(folder),
            Engine::Slurm | Engine::Manual => create_part_locked(folder, "controller"),
        }
    }

    /// Executes the runs that are missing; `None` if workers that the user starts will do so.
    pub fn carry_out(&self, work: &Work) -> Result<Option<Vec<Outcome>>, Failure> {
        create(&work.folder.join(work.runs_folder))?;
        match self.engine {
            Engine::Local => {
                let budget = self.budget.map(|time| {
                    Budget::new(Duration::from_nanos(u64::try_from(time.nanoseconds()).unwrap_or(0)))
                });
                let threads = Threads { retries: self.retries, budget, ..pool(work) };
                campaign(work, &threads, "local").map(Some)
            }
            Engine::Slurm => {
                self.plan(work)?;
                let count = self.shard_count(work);
                let slurm = Slurm {
                    folder: work.folder.to_path_buf(),
                    worker: self.worker(work)?,
                    jobs: work.jobs,
                    arguments: self
                        .engine_args
                        .iter()
                        .flat_map(|text| text.split_whitespace())
                        .map(String::from)
                        .collect(),
                    shards: shards_of(work.runs, work.substrate, count),
                    count,
                    tell: crate::tell,
                };
                campaign(work, &slurm, "controller").map(Some)
            }
            Engine::Manual => {
                self.plan(work)?;
                let (count, worker) = (self.shard_count(work), self.worker(work)?);
                let jobs = work.jobs.map_or(String::new(), |jobs| format!(" --jobs {jobs}"));
                crate::print_plain(&format!(
                    "The plan of {} runs is in {}. Start a worker for each K from 1 to {count}, on hosts that have this folder:\n\n  \
                     {worker}{jobs} --shard K/{count}\n\nThen repeat this command without --engine: it makes the report.\n",
                    work.runs.len(),
                    work.folder.display(),
                ))?;
                Ok(None)
            }
        }
    }

    fn shard_count(&self, work: &Work) -> u32 {
        let most = u32::try_from(work.runs.len()).unwrap_or(u32::MAX).max(1);
        self.shards.unwrap_or(SHARDS).min(most)
    }

    /// Writes the plan for workers.
    fn plan(&self, work: &Work) -> Result<(), Failure> {
        let reject = |message: &str, remedy: &str| {
            Err(Failure::Usage { message: message.into(), remedy: remedy.into() })
        };
        if work.substrate.one_at_a_time() {
            return reject(
                "runs in real time would disturb each other on a cluster",
                "use --engine local, or run on the model or the kernel",
            );
        }
        if self.budget.is_some() {
            return reject(
                "--budget is for --engine local",
                "limit the time of tasks with --engine-args \"--time=...\"",
            );
        }
        if work.fresh {
            return reject("--fresh is for --engine local", "write to a new folder with --out");
        }
        let plan = Plan {
            substrate: work.on.kind(),
            own_controls: work.own_controls.to_vec(),
            runs_folder: work.runs_folder.into(),
            runs: work.runs.to_vec(),
            commands: work.runs.iter().map(work.command).collect(),
        };
        Ok(plan.write(work.folder)?)
    }

    /// The command of a worker without its shard.
    fn worker(&self, work: &Work) -> Result<String, Failure> {
        let program = std::env::current_exe()
            .map_err(|source| Failure::Output { what: "own executable".into(), source })?;
        let folder = std::path::absolute(work.folder)
            .map_err(|source| Failure::Output { what: work.folder.display().to_string(), source })?;
        let [program, folder] = [program, folder].map(|path| quoted(&path.display().to_string()));
        let retries = if self.retries > 0 { format!(" --retries {}", self.retries) } else { String::new() };
        Ok(format!("{program} campaign worker {folder}{retries}"))
    }
}

/// The pool of threads for the runs of `work`.
pub fn pool<'a>(work: &Work<'a>) -> Threads<'a> {
    let jobs = if work.substrate.one_at_a_time() { 1 } else { work.jobs.unwrap_or_else(cores) };
    Threads::new(work.substrate, jobs, tool())
}

/// Executes the runs of `work` by `executor`, and writes the state of the worker `name`.
pub fn campaign(
    work: &Work,
    executor: &dyn wirespeed_campaign::Executor,
    name: &str,
) -> Result<Vec<Outcome>, Failure> {
    let status =
        StatusFile::create(work.folder, name, work.runs, work.substrate, work.display).map_err(|source| {
            Failure::Output { what: work.folder.join("campaign").display().to_string(), source }
        })?;
    let folder = work.folder.join(work.runs_folder);
    let campaign = Campaign {
        runs: work.runs,
        substrate: work.substrate,
        executor,
        folder: &folder,
        fresh: work.fresh,
        order: if work.substrate.one_at_a_time() { Order::Blocks } else { Order::Study },
        command: work.command,
    };
    let outcomes = campaign.carry_out(interrupt::flag(), &status);
    status.finish();
    work.display.finish();
    Ok(outcomes)
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Failure {
        let message = error.to_string();
        match error {
            PlanError::Missing(_) => Failure::Usage {
                message,
                remedy: "write it with `wirespeed run FILE --engine manual --out DIR`".into(),
            },
            PlanError::Damaged { .. } => {
                Failure::Usage { message, remedy: "repeat the command that wrote it".into() }
            }
            PlanError::Io { .. } => Failure::Environment(message),
        }
    }
}
