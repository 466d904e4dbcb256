//! Executes runs on threads of this process, several at a time.

use crate::budget::Budget;
use crate::executor::{Executor, Observer, Outcome, Task};
use crate::series;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;
use wirespeed_record::{RunDirectory, RunInfo, SubstrateKind, ToolInfo, set_aside};
use wirespeed_substrates::{Control, Substrate, SubstrateError};
use wirespeed_validation::region;

/// The folder beside that of the runs for earlier measurements that were replaced.
pub(crate) const EARLIER: &str = "earlier";

/// A pool of threads that execute runs on a substrate.
pub struct Threads<'a> {
    /// The substrate that executes the runs.
    pub substrate: &'a dyn Substrate,
    /// How many runs at a time, at least one.
    pub jobs: usize,
    /// How often a run is tried again after it failed.
    pub retries: u32,
    /// The time that all runs together have; `None`: no limit.
    pub budget: Option<Budget>,
    /// The program, for the recordings.
    pub tool: ToolInfo,
}

impl<'a> Threads<'a> {
    /// A pool that tries each run once, however long all take.
    pub fn new(substrate: &'a dyn Substrate, jobs: usize, tool: ToolInfo) -> Self {
        Threads { substrate, jobs, retries: 0, budget: None, tool }
    }
}

impl Executor for Threads<'_> {
    fn execute(&self, tasks: &[Task<'_>], cancel: &AtomicBool, observer: &dyn Observer) -> Vec<Outcome> {
        let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(tasks.iter().map(|_| None).collect());
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, tasks.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let place = next.fetch_add(1, Relaxed);
                        let Some(task) = tasks.get(place) else { return };
                        let outcome = self.one(task, cancel, observer);
                        observer.ended(task.index, &outcome);
                        outcomes.lock().expect("workers do not panic holding the list")[place] =
                            Some(outcome);
                    }
                });
            }
        });
        let outcomes = outcomes.into_inner().expect("workers do not panic holding the list");
        outcomes.into_iter().map(|outcome| outcome.expect("every task was taken by a worker")).collect()
    }
}

impl Threads<'_> {
    fn one(&self, task: &Task<'_>, cancel: &AtomicBool, observer: &dyn Observer) -> Outcome {
        if cancel.load(Relaxed) {
            return Outcome::Interrupted;
        }
        if self.budget.as_ref().is_some_and(|budget| !budget.allows(task.run)) {
            return Outcome::Postponed;
        }
        observer.started(task.index);
        let began = Instant::now();
        let control = Control { cancel, progress: &|progress| observer.progressed(task.index, progress) };
        let attempts = self.retries.saturating_add(1);
        // Why earlier attempts failed: the reader of a result that took several has to know.
        let mut earlier = Vec::new();
        let outcome = loop {
            match self.record(task, &earlier, &control) {
                Ok(info) if info.interrupted => break Outcome::Cut(task.directory.clone()),
                Ok(_) => break Outcome::Done(task.directory.clone()),
                Err(SubstrateError::Interrupted) => break Outcome::Interrupted,
                Err(error) => {
                    let attempt = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
                    if attempt >= attempts || cancel.load(Relaxed) {
                        break Outcome::Failed(error);
                    }
                    observer.failed_attempt(task.index, attempt, attempts, &error);
                    earlier.push(format!("attempt {attempt} of {attempts} failed: {error}"));
                }
            }
        };
        if let (Some(budget), Outcome::Done(_)) = (&self.budget, &outcome) {
            budget.learn(task.run, began.elapsed());
        }
        outcome
    }

    fn record(
        &self,
        task: &Task<'_>,
        earlier: &[String],
        control: &Control,
    ) -> Result<RunInfo, SubstrateError> {
        let (run, path) = (task.run, &task.directory);
        // A metric that needs clocks cannot be computed again.
        if self.substrate.one_at_a_time() {
            let folder = path.parent().unwrap_or(Path::new(""));
            set_aside(path, &folder.with_file_name(EARLIER))?;
        }
        let directory = RunDirectory::create(path)?;
        match self.substrate.carry_out(run, &directory, control) {
            Ok(mut recording) => {
                let program = self.substrate.program().map(str::to_owned);
                recording.info.depends_on_seed = Some(self.substrate.depends_on_seed(run));
                recording.info.tool = ToolInfo { program, ..self.tool.clone() };
                recording.info.command.clone_from(&task.command);
                recording.info.warnings.extend_from_slice(earlier);
                if self.substrate.kind() == SubstrateKind::Model {
                    recording.info.validated_region = Some(region::stamp(run));
                }
                Ok(series::finish(directory, recording, run)?)
            }
            Err(error) => {
                // The reason stays with the measurements. A failure to write it must not hide the error.
                let _ = directory.mark(&error.to_string());
                Err(error)
            }
        }
    }
}
