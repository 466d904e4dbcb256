//! The state of a campaign as files in its folder, so that another process can follow it.

use crate::executor::{Observer, Outcome};
use crate::remaining::Remaining;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};
use wirespeed_record::{replace_file, rfc3339};
use wirespeed_scenario::Run;
use wirespeed_substrates::{Progress, Substrate, SubstrateError};

/// The folder of the files of a campaign (plan, states, job), in that of the results.
pub(crate) const FOLDER: &str = "campaign";
/// How often a worker writes its file at most.
const INTERVAL: Duration = Duration::from_secs(1);
/// Failures that a file lists; the rest is counted.
const MOST_FAILURES: usize = 20;

/// The finished and the present runs of one worker of a campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Name of the worker: `run`, or its shard.
    pub worker: String,
    /// Name of the host that it is on.
    pub host: String,
    /// Its process there.
    pub pid: u32,
    /// Begin, in UTC (RFC 3339).
    pub started: String,
    /// Time of this state, in UTC (RFC 3339).
    pub updated: String,
    /// Whether it has ended, and not by being killed.
    pub is_over: bool,
    /// Its runs.
    pub total: usize,
    /// Runs that were executed.
    pub done: usize,
    /// Runs that an earlier campaign had executed.
    pub kept: usize,
    /// Runs that failed.
    pub failed: usize,
    /// The first failures, as `RUN: REASON`.
    pub failures: Vec<String>,
    /// Runs that are being executed.
    pub running: Vec<String>,
    /// Expected time until the end, in seconds; `None` before the first run has been executed.
    pub left_s: Option<f64>,
}

/// Writes the state of a worker while it follows its runs; passes everything on to another observer.
pub struct StatusFile<'a> {
    next: &'a dyn Observer,
    runs: &'a [Run],
    path: PathBuf,
    remaining: Remaining,
    state: Mutex<State>,
}

struct State {
    status: Status,
    written: Option<Instant>,
}

impl<'a> StatusFile<'a> {
    /// For the worker `worker` that executes `runs` on `substrate` for the results in `folder`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(
        folder: &Path,
        worker: &str,
        runs: &'a [Run],
        substrate: &dyn Substrate,
        next: &'a dyn Observer,
    ) -> io::Result<StatusFile<'a>> {
        let name: String = worker.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let folder = folder.join(FOLDER);
        fs::create_dir_all(&folder)?;
        let now = rfc3339(SystemTime::now());
        let status = Status {
            worker: worker.into(),
            host: fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().into(),
            pid: std::process::id(),
            started: now.clone(),
            updated: now,
            is_over: false,
            total: runs.len(),
            done: 0,
            kept: 0,
            failed: 0,
            failures: Vec::new(),
            running: Vec::new(),
            left_s: None,
        };
        let file = StatusFile {
            next,
            runs,
            path: folder.join(format!("{name}.json")),
            remaining: Remaining::of(runs, substrate),
            state: Mutex::new(State { status, written: None }),
        };
        file.write(&mut file.state.lock().expect("nothing panics holding it"))?;
        Ok(file)
    }

    /// Notes that the worker has ended.
    pub fn finish(&self) {
        self.change(true, |status| {
            status.is_over = true;
            status.running.clear();
            status.left_s = None;
        });
    }

    fn change(&self, at_once: bool, change: impl FnOnce(&mut Status)) {
        let mut state = self.state.lock().expect("nothing panics holding it");
        change(&mut state.status);
        if at_once || state.written.is_none_or(|written| written.elapsed() >= INTERVAL) {
            // A state that cannot be written must not end the campaign: the results matter more.
            let _ = self.write(&mut state);
        }
    }

    fn write(&self, state: &mut State) -> io::Result<()> {
        state.status.updated = rfc3339(SystemTime::now());
        if !state.status.is_over {
            state.status.left_s = self.remaining.time().map(|time| time.as_secs_f64());
        }
        state.written = Some(Instant::now());
        let text = serde_json::to_string_pretty(&state.status).expect("a state is plain data") + "\n";
        replace_file(&self.path, text.as_bytes())
    }
}

impl Observer for StatusFile<'_> {
    fn started(&self, index: usize) {
        let id = self.runs[index].id.clone();
        self.change(false, |status| status.running.push(id));
        self.next.started(index);
    }

    fn progressed(&self, index: usize, progress: Progress) {
        self.change(false, |_| {});
        self.next.progressed(index, progress);
    }

    fn failed_attempt(&self, index: usize, attempt: u32, of: u32, error: &SubstrateError) {
        self.next.failed_attempt(index, attempt, of, error);
    }

    fn ended(&self, index: usize, outcome: &Outcome) {
        let run = &self.runs[index];
        self.remaining.ended(index, outcome);
        self.change(false, |status| {
            status.running.retain(|id| *id != run.id);
            match outcome {
                Outcome::Done(_) => status.done += 1,
                Outcome::Kept(_) => status.kept += 1,
                Outcome::Failed(error) => {
                    status.failed += 1;
                    if status.failures.len() < MOST_FAILURES {
                        status.failures.push(format!("{}: {error}", run.id));
                    }
                }
                Outcome::Cut(_) | Outcome::Interrupted | Outcome::Postponed => {}
            }
        });
        self.next.ended(index, outcome);
    }
}

/// The folders of results in `folder` that have a campaign: itself, or else those directly in it. A reproduced study has one
/// for each substrate.
///
/// # Errors
/// If the folder cannot be listed.
pub fn campaigns_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if folder.join(FOLDER).is_dir() {
        return Ok(vec![folder.to_path_buf()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.join(FOLDER).is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The states of all workers of the campaign in `folder`, by name. A file that cannot be read is left out with its reason.
///
/// # Errors
/// If the folder cannot be listed.
pub fn read_statuses(folder: &Path) -> io::Result<(Vec<Status>, Vec<String>)> {
    let (mut statuses, mut damaged) = (Vec::new(), Vec::new());
    let listed = match fs::read_dir(folder.join(FOLDER)) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((statuses, damaged)),
        Err(error) => return Err(error),
    };
    for entry in listed {
        let path = entry?.path();
        let is_status = path.extension().is_some_and(|extension| extension == "json")
            && path.file_name().is_some_and(|name| name != crate::slurm::JOB_FILE);
        if !is_status {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| error.to_string());
        match text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string())) {
            Ok(status) => statuses.push(status),
            Err(reason) => damaged.push(format!("{}: {reason}", path.display())),
        }
    }
    statuses.sort_by(|a: &Status, b: &Status| a.worker.cmp(&b.worker));
    Ok((statuses, damaged))
}
