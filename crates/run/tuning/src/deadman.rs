//! The dead-man timer: a process that puts everything back unless a confirmation comes in time.

use crate::Host;
use crate::folder::{Folder, FolderError, Lock};
use crate::journal::{Journal, Mark, State};
use crate::observer::Observer;
use crate::revert::{Report, RevertError, revert};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The end of a timer.
#[derive(Debug)]
pub enum TimerOutcome {
    /// The confirmation came in time.
    Confirmed,
    /// The transaction was put back by another command.
    AlreadyReverted,
    /// The time was over, and everything was put back.
    TimedOut(Report),
}

/// A confirmation that has no effect.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmError {
    /// No transaction waits for it.
    #[error("no transaction waits for a confirmation; `wirespeed tune status` lists them")]
    NothingWaits,
    /// The time was over.
    #[error("too late: the changes of {} were put back; apply them again with more time", .0.display())]
    TooLate(PathBuf),
    /// Not all changes were made.
    #[error("the transaction in {} is not finished; run `wirespeed tune revert` or `wirespeed tune apply --resume`", .0.display())]
    Unfinished(PathBuf),
    /// The journals cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// How often the journal is read.
const INTERVAL: Duration = Duration::from_millis(100);
/// The time for which a confirmation waits for the lock.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time that an applying process gets to restore everything itself, before and after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

/// Waits for a confirmation of the transaction in `path`; without one in time, puts everything back, also values that
/// another program has changed since. A process that still applies the transaction is ended.
///
/// # Errors
/// If the journal cannot be read, or the settings cannot be reached.
pub fn wait_for_confirmation(
    host: &mut dyn Host,
    folder: &Folder,
    path: &Path,
    within: Duration,
    observer: &mut dyn Observer,
) -> Result<TimerOutcome, RevertError> {
    let began = Instant::now();
    loop {
        if let Some(outcome) = decided(&Journal::read(path)?) {
            return Ok(outcome);
        }
        if began.elapsed() >= within {
            break;
        }
        std::thread::sleep(INTERVAL.min(within.saturating_sub(began.elapsed())));
    }
    let _lock = lock_at_last(folder, path)?;
    let mut journal = Journal::read(path)?;
    if let Some(outcome) = decided(&journal) {
        return Ok(outcome);
    }
    Ok(TimerOutcome::TimedOut(revert(host, &mut journal, true, observer)?))
}

fn decided(journal: &Journal) -> Option<TimerOutcome> {
    match journal.state() {
        State::Reverted => Some(TimerOutcome::AlreadyReverted),
        _ if journal.is_confirmed() => Some(TimerOutcome::Confirmed),
        _ => None,
    }
}

/// The lock. The process that applies the transaction gets SIGTERM, then SIGKILL, if it holds the lock for too long.
fn lock_at_last(folder: &Folder, path: &Path) -> Result<Lock, RevertError> {
    let applying = Journal::read(path)?.header().identity.process;
    for signal in [None, Some(libc::SIGTERM), Some(libc::SIGKILL)] {
        if let Some(signal) = signal.filter(|_| applying.is_running()) {
            // SAFETY: a call without pointers; number and start time are those of the process in the journal.
            unsafe { libc::kill(applying.pid as libc::pid_t, signal) };
        }
        match lock_within(folder, GRACE) {
            Err(FolderError::Locked { .. }) => {}
            other => return Ok(other?),
        }
    }
    Ok(folder.lock()?)
}

fn lock_within(folder: &Folder, patience: Duration) -> Result<Lock, FolderError> {
    let began = Instant::now();
    loop {
        match folder.lock() {
            Err(FolderError::Locked { .. }) if began.elapsed() < patience => std::thread::sleep(INTERVAL),
            other => return other,
        }
    }
}

/// Confirms the transaction that waits for it.
///
/// # Errors
/// If none waits.
pub fn confirm(folder: &Folder) -> Result<Journal, ConfirmError> {
    let _lock = lock_within(folder, PATIENCE)?;
    let last = folder.journals()?.pop().filter(|journal| journal.header().confirm_within_s.is_some());
    let mut journal = last.ok_or(ConfirmError::NothingWaits)?;
    let path = || journal.path().to_owned();
    match journal.state() {
        State::Unconfirmed => {}
        State::Reverted => return Err(ConfirmError::TooLate(path())),
        State::Unfinished => return Err(ConfirmError::Unfinished(path())),
        State::Applied => return Err(ConfirmError::NothingWaits),
    }
    journal.mark(Mark::Confirmed)?;
    Ok(journal)
}
