//! The interface to execute the runs of a campaign, and the outcome of each.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use wirespeed_scenario::Run;
use wirespeed_substrates::{Progress, SubstrateError};

/// A run to execute.
#[derive(Debug, Clone)]
pub struct Task<'a> {
    /// Its number in the campaign, from 0, for the observer.
    pub index: usize,
    /// The run, with nothing left to decide.
    pub run: &'a Run,
    /// The run directory to write. An earlier attempt in it is replaced.
    pub directory: PathBuf,
    /// The command that repeats the run, for its recording.
    pub command: String,
}

/// Executes runs: on threads of this process ([`crate::Threads`]), or elsewhere, such as in jobs of a batch system that
/// call `wirespeed execute`. The campaign decides which runs are missing. An executor decides only where and when they are
/// executed.
pub trait Executor {
    /// Executes each task once, and returns their outcomes in the order of `tasks`. Reports start, progress and end of each
    /// to `observer`. Setting `cancel` stops the tasks that are being executed; those that have not begun are
    /// [`Outcome::Interrupted`].
    fn execute(&self, tasks: &[Task<'_>], cancel: &AtomicBool, observer: &dyn Observer) -> Vec<Outcome>;
}

/// The outcome of a run.
#[derive(Debug)]
pub enum Outcome {
    /// Executed now.
    Done(PathBuf),
    /// An earlier campaign has executed the very same run.
    Kept(PathBuf),
    /// It was stopped early; the recording has the measurements until then.
    Cut(PathBuf),
    /// It has no recording.
    Failed(SubstrateError),
    /// The campaign was interrupted before it or in it.
    Interrupted,
    /// The campaign's time would have ended before it; it was not begun.
    Postponed,
}

impl Outcome {
    /// The folder of the recording, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Outcome::Done(path) | Outcome::Kept(path) | Outcome::Cut(path) => Some(path),
            Outcome::Failed(_) | Outcome::Interrupted | Outcome::Postponed => None,
        }
    }

    /// The reason that there is no recording; `None` if there is one.
    pub fn reason(&self) -> Option<String> {
        match self {
            Outcome::Done(_) | Outcome::Kept(_) | Outcome::Cut(_) => None,
            Outcome::Failed(error) => Some(error.to_string()),
            Outcome::Interrupted => Some("interrupted".into()),
            Outcome::Postponed => {
                Some("not begun, as the time of --budget would have ended before it".into())
            }
        }
    }
}

/// Follows a campaign; called from several threads.
pub trait Observer: Sync {
    /// Run number `index` has begun.
    fn started(&self, index: usize);
    /// It has come this far.
    fn progressed(&self, index: usize, progress: Progress);
    /// Attempt `attempt` of `of` failed, and another one follows.
    fn failed_attempt(&self, _index: usize, _attempt: u32, _of: u32, _error: &SubstrateError) {}
    /// It has ended.
    fn ended(&self, index: usize, outcome: &Outcome);
}
