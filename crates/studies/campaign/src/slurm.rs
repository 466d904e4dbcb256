//! Executes the runs of a campaign as a job array of Slurm (sbatch(1), squeue(1), scancel(1)).
//!
//! Each task of the array is a worker with one shard, which writes its runs to the common folder. This side only submits, waits
//! and looks at the folder: nothing listens, and no task reports to it. Tasks whose node died leave runs missing; their shards
//! are submitted again.

use crate::executor::{Executor, Observer, Outcome, Task};
use crate::status::FOLDER;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};
use thiserror::Error;
use wirespeed_record::{RunState, open, replace_file};
use wirespeed_substrates::SubstrateError;

/// The file there that names the job.
pub(crate) const JOB_FILE: &str = "slurm.json";
/// Time for workers to end by themselves after all runs are complete.
const GRACE: Duration = Duration::from_secs(10);
/// How often the folder and the queue are looked at.
const INTERVAL: Duration = Duration::from_secs(2);
/// How long squeue may fail, as while the controller of Slurm restarts, before it counts as an error.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often shards with missing runs are submitted again.
const RESUBMISSIONS: u32 = 3;

/// Why Slurm cannot be used.
#[derive(Debug, Error)]
pub enum SlurmError {
    /// A command of Slurm cannot be started.
    #[error("cannot start {command}: {source}")]
    Start {
        /// Its name.
        command: &'static str,
        /// The reason of the operating system.
        source: io::Error,
    },
    /// A command of Slurm failed.
    #[error("{command} failed: {reason}")]
    Failed {
        /// Its name.
        command: &'static str,
        /// Its error output.
        reason: String,
    },
    /// A file of the job cannot be written or read.
    #[error("cannot write or read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason of the operating system.
        source: io::Error,
    },
    /// The folder has no job.
    #[error("{} has no job of Slurm", .0.display())]
    NoJob(PathBuf),
}

/// A cluster with Slurm, as executor of one campaign.
pub struct Slurm {
    /// The folder of results, which every node has at the same path.
    pub folder: PathBuf,
    /// The command of a worker, for a shell, without its shard and its runs at a time.
    pub worker: String,
    /// Runs at a time of each worker; `None`: as many as Slurm gives it processors (`--cpus-per-task`).
    pub jobs: Option<usize>,
    /// Further options of sbatch.
    pub arguments: Vec<String>,
    /// For each run of the campaign, the number of its shard, from 1 (see [`crate::shards_of`]).
    pub shards: Vec<u32>,
    /// How many shards there are.
    pub count: u32,
    /// Gets a line for what happens.
    pub tell: fn(&str),
}

/// The job that is in the queue, as the folder has it.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    id: String,
    shards: u32,
}

impl Executor for Slurm {
    fn execute(&self, tasks: &[Task<'_>], cancel: &AtomicBool, observer: &dyn Observer) -> Vec<Outcome> {
        if tasks.is_empty() {
            return Vec::new();
        }
        match self.carry_out(tasks, cancel, observer) {
            Ok(outcomes) => outcomes,
            Err(error) => {
                let failed = |_: &Task| Outcome::Failed(SubstrateError::Environment(error.to_string()));
                tasks.iter().map(failed).collect()
            }
        }
    }
}

impl Slurm {
    fn carry_out(
        &self,
        tasks: &[Task<'_>],
        cancel: &AtomicBool,
        observer: &dyn Observer,
    ) -> Result<Vec<Outcome>, SlurmError> {
        let mut waiting: BTreeMap<usize, &Task> = tasks.iter().enumerate().collect();
        let mut outcomes: BTreeMap<usize, Outcome> = BTreeMap::new();
        let mut submissions = 0;
        let mut earlier = self.job_in_queue()?;
        while !waiting.is_empty() && submissions <= RESUBMISSIONS {
            let job = match earlier.take() {
                Some(job) => {
                    (self.tell)(&format!("job {job} of an earlier command is in the queue; waiting for it"));
                    job
                }
                None => {
                    submissions += 1;
                    let wanted = waiting.values().map(|task| self.shards[task.index]).collect();
                    let job = self.submit(&wanted)?;
                    (self.tell)(&format!("submitted job {job} with {} tasks", wanted.len()));
                    job
                }
            };
            let mut collect = |waiting: &mut BTreeMap<usize, &Task>| {
                waiting.retain(|place, task| match finished(&task.directory) {
                    Some(outcome) => {
                        observer.ended(task.index, &outcome);
                        outcomes.insert(*place, outcome);
                        false
                    }
                    None => true,
                });
            };
            let (mut answered, mut complete) = (Instant::now(), None);
            loop {
                if cancel.load(Relaxed) {
                    scancel(&job)?;
                    return Ok(interrupted(tasks, outcomes));
                }
                match is_in_queue(&job) {
                    Ok(true) => answered = Instant::now(),
                    Ok(false) => break,
                    Err(error) if answered.elapsed() > PATIENCE => return Err(error),
                    Err(_) => {}
                }
                collect(&mut waiting);
                // Workers end after their last run. A task that Slurm put back into the queue, as of a drained node, may stay there.
                if waiting.is_empty() && complete.get_or_insert_with(Instant::now).elapsed() > GRACE {
                    scancel(&job)?;
                    break;
                }
                sleep(INTERVAL);
            }
            collect(&mut waiting);
            if !waiting.is_empty() && submissions <= RESUBMISSIONS {
                (self.tell)(&format!("job {job} has ended, and {} runs are missing", waiting.len()));
            }
        }
        for (place, task) in waiting {
            let reason = match open(&task.directory) {
                Ok(RunState::Incomplete(reason)) => reason,
                _ => format!("no worker executed it; see {}", self.folder.join(FOLDER).display()),
            };
            let outcome = Outcome::Failed(SubstrateError::Environment(reason));
            observer.ended(task.index, &outcome);
            outcomes.insert(place, outcome);
        }
        Ok(outcomes.into_values().collect())
    }

    /// The job of an earlier command that is still in the queue.
    fn job_in_queue(&self) -> Result<Option<String>, SlurmError> {
        match read_job(&self.folder) {
            Ok(job) if job.shards == self.count && is_in_queue(&job.id)? => Ok(Some(job.id)),
            Ok(_) | Err(SlurmError::NoJob(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Submits an array with a task for each of the shards; gives the number of the job.
    fn submit(&self, shards: &BTreeSet<u32>) -> Result<String, SlurmError> {
        let folder = self.folder.join(FOLDER);
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| SlurmError::Io { path, source }
        };
        fs::create_dir_all(&folder).map_err(failed(&folder))?;
        let jobs = self.jobs.map_or("${SLURM_CPUS_PER_TASK:-1}".into(), |jobs| jobs.to_string());
        let script = format!(
            "#!/bin/sh\nexec {} --jobs \"{jobs}\" --shard \"$SLURM_ARRAY_TASK_ID/{}\"\n",
            self.worker, self.count
        );
        let numbers: Vec<String> = shards.iter().map(u32::to_string).collect();
        let mut sbatch = Command::new("sbatch");
        sbatch.args(["--parsable", "--job-name=wirespeed", &format!("--array={}", numbers.join(","))]);
        sbatch.arg(format!("--output={}", folder.join("task-%a.log").display())).args(&self.arguments);
        let printed = output("sbatch", &mut sbatch, Some(&script))?;
        // With several clusters, sbatch prints JOB;CLUSTER.
        let id = printed.trim().split(';').next().unwrap_or_default().to_owned();
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SlurmError::Failed {
                command: "sbatch",
                reason: format!("it printed no job: {printed}"),
            });
        }
        let path = folder.join(JOB_FILE);
        let text =
            serde_json::to_string(&Job { id: id.clone(), shards: self.count }).expect("a job is plain data");
        replace_file(&path, text.as_bytes()).map_err(failed(&path))?;
        Ok(id)
    }
}

/// Cancels the job of the campaign in `folder`; gives its number.
///
/// # Errors
/// If there is no job, or Slurm rejects it.
pub fn cancel_job(folder: &Path) -> Result<String, SlurmError> {
    let job = read_job(folder)?;
    scancel(&job.id)?;
    Ok(job.id)
}

/// The lines of squeue about the job of the campaign in `folder`, if it has one in the queue.
///
/// # Errors
/// If Slurm cannot be asked.
pub fn queue_of(folder: &Path) -> Result<Option<String>, SlurmError> {
    match read_job(folder) {
        Ok(job) if is_in_queue(&job.id)? => Ok(Some(job.id)),
        Ok(_) | Err(SlurmError::NoJob(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_job(folder: &Path) -> Result<Job, SlurmError> {
    let path = folder.join(FOLDER).join(JOB_FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SlurmError::NoJob(folder.into()));
        }
        Err(source) => return Err(SlurmError::Io { path, source }),
    };
    let job: Job = serde_json::from_str(&text)
        .map_err(|error| SlurmError::Io { path: path.clone(), source: io::Error::other(error) })?;
    // It becomes an argument of commands.
    if job.id.is_empty() || !job.id.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(SlurmError::Io { path, source: io::Error::other("its job is not a number") });
    }
    Ok(job)
}

/// Whether a task of the job waits or runs.
fn is_in_queue(job: &str) -> Result<bool, SlurmError> {
    let mut squeue = Command::new("squeue");
    squeue.args(["--noheader", "--format=%T", "--jobs", job]);
    match output("squeue", &mut squeue, None) {
        Ok(printed) => Ok(printed.lines().any(|state| !state.trim().is_empty())),
        // Slurm has forgotten a job that ended some minutes ago.
        Err(SlurmError::Failed { reason, .. }) if reason.contains("Invalid job id") => Ok(false),
        Err(error) => Err(error),
    }
}

fn scancel(job: &str) -> Result<(), SlurmError> {
    output("scancel", Command::new("scancel").arg(job), None).map(drop)
}

/// The output of a command, given `input`.
fn output(name: &'static str, command: &mut Command, input: Option<&str>) -> Result<String, SlurmError> {
    let start = |source| SlurmError::Start { command: name, source };
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut child =
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(start)?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // A command that ends without reading prints the reason itself.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(start)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(SlurmError::Failed { command: name, reason })
}

fn finished(directory: &Path) -> Option<Outcome> {
    match open(directory) {
        Ok(RunState::Complete(info)) if info.interrupted => Some(Outcome::Cut(directory.into())),
        Ok(RunState::Complete(_)) => Some(Outcome::Done(directory.into())),
        _ => None,
    }
}

/// The outcomes of all tasks if the campaign ends now.
fn interrupted(tasks: &[Task<'_>], mut outcomes: BTreeMap<usize, Outcome>) -> Vec<Outcome> {
    (0..tasks.len()).map(|place| outcomes.remove(&place).unwrap_or(Outcome::Interrupted)).collect()
}
