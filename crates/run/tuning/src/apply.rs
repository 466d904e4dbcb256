//! Applying a plan: the journal first, then each change, and everything back on any failure.

use crate::folder::{Folder, FolderError};
use crate::identity::{Identity, Process};
use crate::journal::{Header, Journal, Mark, State, StepState};
use crate::observer::{Flow, Observer, Point};
use crate::persist::{self, PersistError, PersistentFile};
use crate::plan::Plan;
use crate::revert::{Report, put_back};
use crate::{Failed, Host};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wirespeed_host::settings::{Place, SettingError};

/// The dead-man timer of a transaction.
pub struct Timer<'a> {
    /// Everything is put back unless a confirmation comes within this time.
    pub within: Duration,
    /// Starts the process that waits, for the journal at this path.
    pub start: &'a mut dyn FnMut(&Path) -> io::Result<Process>,
}

/// Options of [`apply`].
pub struct Options<'a> {
    /// Files that make the changes persistent.
    pub files: &'a [PersistentFile],
    /// The folder below which the files are written; `/` but for tests.
    pub root: &'a Path,
    /// The dead-man timer.
    pub timer: Option<Timer<'a>>,
}

/// A transaction that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// An earlier transaction was ended by a crash.
    #[error(
        "the transaction in {} was not finished; end it with `wirespeed tune revert` or `wirespeed tune apply --resume`",
        .0.display()
    )]
    Unfinished(PathBuf),
    /// An earlier transaction waits for its confirmation.
    #[error("the transaction in {} waits for `wirespeed tune confirm` or `wirespeed tune revert`", .0.display())]
    Unconfirmed(PathBuf),
    /// The plan has changes that cannot be made or that another program owns.
    #[error("{} of the changes cannot be made; `wirespeed tune plan` prints the reasons", .0)]
    Obstacles(usize),
    /// There is nothing to resume.
    #[error("no transaction is unfinished; `wirespeed tune status` lists them")]
    NothingToResume,
    /// The unfinished transaction is of another boot or network namespace.
    #[error("the transaction in {} belongs to another {what}; `wirespeed tune revert` ends it", path.display())]
    Elsewhere {
        /// The journal.
        path: PathBuf,
        /// Boot or network namespace.
        what: &'static str,
    },
    /// A setting has neither the value before nor the wanted one, so that its old value is no longer known.
    #[error(
        "{setting}: now `{found}`, but `{before}` is in the journal; run `wirespeed tune revert` instead"
    )]
    Moved {
        /// The setting.
        setting: String,
        /// The present value.
        found: String,
        /// The value in the journal.
        before: String,
    },
    /// A file cannot be written; nothing was changed.
    #[error(transparent)]
    File(#[from] PersistError),
    /// A journal cannot be read or written; nothing was changed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Boot, namespace or process cannot be read from /proc; nothing was changed.
    #[error("/proc: {0}; mount it")]
    Identity(io::Error),
    /// A change failed or was interrupted; the report has the restoration.
    #[error("{cause}; {}", outcome(report))]
    Failed {
        /// The first error.
        cause: Cause,
        /// The restoration.
        report: Box<Report>,
    },
    /// The observer stopped the transaction; nothing was put back.
    #[error("stopped; `wirespeed tune revert` puts everything back")]
    Stopped,
}

/// The first error of a transaction.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// A change was rejected.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] PersistError),
    /// The journal cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The dead-man timer cannot be started.
    #[error("the process of the dead-man timer cannot be started: {0}")]
    Timer(io::Error),
    /// Ctrl-C or SIGTERM.
    #[error("interrupted")]
    Interrupted,
    /// The observer stopped the transaction.
    #[error("stopped")]
    Stopped,
}

fn outcome(report: &Report) -> String {
    if report.failed.is_empty() {
        return match report.restored.len() {
            0 => "nothing was changed".to_owned(),
            1 => "the change that was made is put back".to_owned(),
            count => format!("all {count} changes that were made are put back"),
        };
    }
    let failed: Vec<String> = report.failed.iter().map(Failed::to_string).collect();
    format!("and not everything could be put back: {}", failed.join("; "))
}

/// Makes the changes of a plan. The caller holds the lock of the folder.
///
/// # Errors
/// If something fails. Then everything is put back, but for what [`ApplyError::Failed`] reports.
pub fn apply(
    host: &mut dyn Host,
    folder: &Folder,
    plan: Plan,
    options: Options<'_>,
    observer: &mut dyn Observer,
) -> Result<Journal, ApplyError> {
    let obstacles = plan.conflicts.len() + plan.impossible.len();
    if obstacles > 0 {
        return Err(ApplyError::Obstacles(obstacles));
    }
    check_ready(folder)?;
    let files = persist::check(options.root, options.files)?;
    let header = Header {
        format: 0,
        identity: Identity::here().map_err(ApplyError::Identity)?,
        began_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        steps: plan.steps,
        files,
        root: options.root.to_owned(),
        confirm_within_s: options.timer.as_ref().map(|timer| timer.within.as_secs()),
    };
    let mut journal = Journal::create(folder.next_file()?, header)?;
    let begun = match options.timer {
        None => Ok(()),
        Some(timer) => (timer.start)(journal.path())
            .map_err(Cause::Timer)
            .and_then(|process| Ok(journal.mark(Mark::Timer(process))?)),
    };
    let done = begun
        .and_then(|()| check_flow(observer, Point::JournalWritten))
        .and_then(|()| make_changes(host, &mut journal, observer));
    finish(host, journal, done, observer)
}

/// Whether a new transaction may begin.
///
/// # Errors
/// If an earlier one is unfinished, or waits for its confirmation.
pub fn check_ready(folder: &Folder) -> Result<(), ApplyError> {
    let Some(open) = folder.newest_open()? else { return Ok(()) };
    match open.state() {
        State::Unfinished => Err(ApplyError::Unfinished(open.path().to_owned())),
        State::Unconfirmed => Err(ApplyError::Unconfirmed(open.path().to_owned())),
        State::Applied | State::Reverted => Ok(()),
    }
}

/// Completes the newest transaction, which a crash left unfinished. The caller holds the lock of the folder.
///
/// # Errors
/// As [`apply`]; also if there is no such transaction, or another program has changed a setting since.
pub fn resume(
    host: &mut dyn Host,
    folder: &Folder,
    observer: &mut dyn Observer,
) -> Result<Journal, ApplyError> {
    let mut journal = folder
        .newest_open()?
        .filter(|journal| journal.state() == State::Unfinished)
        .ok_or(ApplyError::NothingToResume)?;
    let here = Identity::here().map_err(ApplyError::Identity)?;
    let elsewhere = |what| ApplyError::Elsewhere { path: journal.path().to_owned(), what };
    if !journal.is_of_boot(&here) {
        return Err(elsewhere("boot"));
    }
    if journal.header().identity.namespace != here.namespace {
        return Err(elsewhere("network namespace"));
    }
    // A driver may have disturbed them while it made a change; they are set now, and restored with that change.
    let disturbed: Vec<_> = journal
        .steps()
        .into_iter()
        .filter(|(_, state)| matches!(state, StepState::Started | StepState::Done))
        .flat_map(|(step, _)| step.before.companions.iter().map(|(setting, _)| setting))
        .collect();
    for (step, state) in journal.steps() {
        // A step that was begun may have left any state; those before and after are known.
        let known = matches!(state, StepState::Waiting | StepState::Restored)
            && !disturbed.contains(&&step.change.setting);
        let found = host.read(&step.change.setting).map_err(|error| ApplyError::Moved {
            setting: step.change.setting.to_string(),
            found: error.to_string(),
            before: step.before.value.clone(),
        })?;
        if known && found != step.before.value && found != step.change.value {
            return Err(ApplyError::Moved {
                setting: step.change.setting.to_string(),
                found,
                before: step.before.value.clone(),
            });
        }
    }
    let done = make_changes(host, &mut journal, observer);
    finish(host, journal, done, observer)
}

fn check_flow(observer: &mut dyn Observer, point: Point<'_>) -> Result<(), Cause> {
    match observer.reached(point) {
        Flow::Continue => Ok(()),
        Flow::Interrupt => Err(Cause::Interrupted),
        Flow::Stop => Err(Cause::Stopped),
    }
}

/// Makes every change that is not done yet, writes the files, and reads everything back.
fn make_changes(
    host: &mut dyn Host,
    journal: &mut Journal,
    observer: &mut dyn Observer,
) -> Result<(), Cause> {
    let steps: Vec<_> =
        journal.steps().into_iter().map(|(step, state)| (step.change.clone(), state)).collect();
    for (at, (change, state)) in steps.iter().enumerate() {
        let setting = &change.setting;
        if *state == StepState::Done && host.read(setting)? == change.value {
            continue;
        }
        journal.mark(Mark::Started(at))?;
        check_flow(observer, Point::Starting(setting))?;
        host.write(setting, &change.value)?;
        check_flow(observer, Point::Changed(setting))?;
        journal.mark(Mark::Done(at))?;
        check_flow(observer, Point::Done(setting))?;
    }
    let (root, files) = (journal.header().root.clone(), journal.header().files.clone());
    for (at, file) in files.iter().enumerate() {
        journal.mark(Mark::FileStarted(at))?;
        persist::write(&root, file)?;
        check_flow(observer, Point::FileWritten(&file.path.to_string_lossy()))?;
    }
    // A later change may have disturbed an earlier one.
    for (change, _) in &steps {
        let found = host.read(&change.setting)?;
        if found != change.value {
            let (place, wanted) = (Place::of(&change.setting), change.value.clone());
            return Err(SettingError::Differs { place, wanted, found }.into());
        }
    }
    journal.mark(Mark::Applied)?;
    Ok(())
}

/// The journal if everything went well. Otherwise everything is put back.
fn finish(
    host: &mut dyn Host,
    mut journal: Journal,
    done: Result<(), Cause>,
    observer: &mut dyn Observer,
) -> Result<Journal, ApplyError> {
    let cause = match done {
        Ok(()) => return Ok(journal),
        Err(Cause::Stopped) => return Err(ApplyError::Stopped),
        Err(cause) => cause,
    };
    match put_back(host, &mut journal, &|_, _| true, true, observer) {
        Some(report) => Err(ApplyError::Failed { cause, report: Box::new(report) }),
        None => Err(ApplyError::Stopped),
    }
}
