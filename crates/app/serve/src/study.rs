//! The report over all runs of a folder, made on request and kept until the runs change.

use crate::index::{Index, Reading};
use crate::row::RunStatus;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use wirespeed_campaign::{StudyReport, judge_run};
use wirespeed_record::StoreError;
use wirespeed_report::{Report, StudyInfo};

/// A finished report.
#[derive(Debug)]
pub(crate) struct Finished {
    /// State of the runs that it is of.
    pub generation: u64,
    pub report: Report,
    /// Its page, after the first request for it.
    pub page: OnceLock<Arc<str>>,
}

/// The report, or how far it is.
#[derive(Debug)]
pub(crate) enum Answer {
    Finished(Arc<Finished>),
    /// The state of the runs that it will have at least, and how many have been read.
    Begun {
        generation: u64,
        reading: Reading,
    },
}

/// The report of a folder.
#[derive(Debug, Clone)]
pub(crate) struct Study {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    index: Arc<Index>,
    generated_by: String,
    command: String,
    state: Mutex<State>,
    changed: Condvar,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    finished: Option<Arc<Finished>>,
    /// How far the next report is, while it is being made.
    job: Option<Reading>,
}

impl Study {
    /// Over the runs of `index`, which are those of `folder`.
    pub fn new(index: Arc<Index>, generated_by: &str, folder: &Path) -> Study {
        let shared = Shared {
            index,
            generated_by: generated_by.into(),
            command: format!("wirespeed report {}", folder.display()),
            state: Mutex::default(),
            changed: Condvar::new(),
            is_over: AtomicBool::new(false),
        };
        Study { shared: Arc::new(shared) }
    }

    /// The report over the present runs, or over those of state `at_least` and later. Begins to make it if there is none, and
    /// waits for it at most `patience`.
    pub fn get(&self, at_least: Option<u64>, patience: Duration) -> Answer {
        let until = Instant::now() + patience;
        let wanted = at_least.unwrap_or_else(|| self.shared.index.generation());
        let mut state = self.shared.lock();
        loop {
            if let Some(finished) = &state.finished {
                // While runs are still being read, a report over the first of them is not the one that was asked for.
                let is_current = at_least.is_some() || self.shared.index.reading().is_none();
                if finished.generation >= wanted && is_current {
                    return Answer::Finished(finished.clone());
                }
            }
            if state.job.is_none() {
                state.job = Some(Reading { done: 0, of: 0 });
                let shared = self.shared.clone();
                std::thread::spawn(move || shared.make());
            }
            let left = until.saturating_duration_since(Instant::now());
            let reading = state.job.unwrap_or(Reading { done: 0, of: 0 });
            if left.is_zero() {
                return Answer::Begun { generation: wanted, reading };
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The program that makes the pages, and its version.
    pub fn generated_by(&self) -> &str {
        &self.shared.generated_by
    }

    /// Ends the making of a report.
    pub fn end(&self) {
        self.shared.is_over.store(true, SeqCst);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a report over the runs as they are now.
    fn make(&self) {
        // After a panic, requests would wait for it without end.
        let report = || self.wait_for_index().then(|| self.report()).flatten();
        let made = catch_unwind(AssertUnwindSafe(report)).unwrap_or_default();
        let mut state = self.lock();
        state.job = None;
        if let Some(finished) = made {
            state.finished = Some(Arc::new(finished));
        }
        self.changed.notify_all();
    }

    /// Waits until all runs have been read once. Returns whether the server still runs.
    fn wait_for_index(&self) -> bool {
        const PAUSE: Duration = Duration::from_millis(20);
        while !self.is_over.load(SeqCst) {
            match self.index.reading() {
                None => return true,
                Some(reading) => self.lock().job = Some(reading),
            }
            std::thread::sleep(PAUSE);
        }
        false
    }

    fn report(&self) -> Option<Finished> {
        let generation = self.index.generation();
        let rows = self.index.rows();
        let mut about = StudyInfo {
            generated_by: self.generated_by.clone(),
            command: self.command.clone(),
            ..StudyInfo::default()
        };
        let mut study = StudyReport::new(StudyInfo::default());
        let of = rows.len();
        for (done, (id, row)) in rows.into_iter().enumerate() {
            if self.is_over.load(SeqCst) {
                return None;
            }
            self.lock().job = Some(Reading { done, of });
            let Some((path, _)) = self.index.run(&id) else { continue };
            if row.status != RunStatus::Complete {
                study.add_incomplete(id, row.reason.clone().unwrap_or_default());
                continue;
            }
            match add(&mut study, &path) {
                Ok((name, text)) => (about.name, about.about) = (name, text),
                Err(error) => {
                    self.index.note(&id, &error);
                    study.add_incomplete(id, error.to_string());
                }
            }
        }
        let (report, _) = study.about(about).finish();
        Some(Finished { generation, report, page: OnceLock::new() })
    }
}

/// Adds a run; returns the name and the question of its study.
fn add(study: &mut StudyReport, path: &Path) -> Result<(String, String), StoreError> {
    let judged = judge_run(path)?;
    let info = &judged.recording.info;
    let about = (info.study.clone(), info.about.clone());
    study.add(judged)?;
    Ok(about)
}
