//! Putting the old values back: after a failure, on demand, and after a crash.

use crate::Host;
use crate::folder::FolderError;
use crate::identity::Identity;
use crate::journal::{Journal, Mark, State, StepState};
use crate::observer::{Flow, Observer, Point};
use crate::persist::{self, PersistError};
use crate::plan::Step;
use std::io;
use std::path::PathBuf;
use wirespeed_host::settings::{Saved, SettingError};
use wirespeed_inventory::{Change, Setting};

/// Something that was not put back.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Another program or person changed the value since.
    #[error(
        "{}: left as it is: it reads `{present}`, but wirespeed set `{}`. `--force` puts `{before}` back",
        change.setting, change.value
    )]
    Conflict {
        /// The change.
        change: Box<Change>,
        /// The present value.
        present: String,
        /// The value before.
        before: String,
    },
    /// The kernel rejects the old value.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A file cannot be removed.
    #[error(transparent)]
    File(#[from] PersistError),
    /// The journal cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// The outcome of a restoration.
#[derive(Debug, Default)]
pub struct Report {
    /// Settings that were put back, in this order.
    pub restored: Vec<Setting>,
    /// Settings that do not exist any more, which `force` leaves out.
    pub gone: Vec<Setting>,
    /// Files that were removed.
    pub removed: Vec<PathBuf>,
    /// Everything that was not put back.
    pub failed: Vec<Failed>,
}

/// A restoration that did not begin.
#[derive(Debug, thiserror::Error)]
pub enum RevertError {
    /// Its settings are those of another network namespace.
    #[error(
        "the transaction in {} changed another network namespace (net:[{namespace}]); run the command in that one, \
         for example with `nsenter --net`",
        path.display()
    )]
    Namespace {
        /// The journal.
        path: PathBuf,
        /// Inode of its namespace.
        namespace: u64,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// /proc cannot be read.
    #[error("/proc: {0}; mount it")]
    Identity(io::Error),
    /// The observer stopped it.
    #[error("stopped; `wirespeed tune revert` puts the rest back")]
    Stopped,
}

/// Puts all old values of a transaction back, and removes its files. A value that another program has changed since is left,
/// unless `force` is set. The caller holds the lock of the folder.
///
/// After another boot, only values that are still as the transaction set them are put back.
///
/// # Errors
/// If the transaction belongs to another namespace. The report has each setting that could not be put back.
pub fn revert(
    host: &mut dyn Host,
    journal: &mut Journal,
    force: bool,
    observer: &mut dyn Observer,
) -> Result<Report, RevertError> {
    let here = Identity::here().map_err(RevertError::Identity)?;
    let same_boot = journal.is_of_boot(&here);
    if same_boot && journal.header().identity.namespace != here.namespace {
        let namespace = journal.header().identity.namespace;
        return Err(RevertError::Namespace { path: journal.path().to_owned(), namespace });
    }
    let selected = |step: &Step, present: Option<&str>| {
        // Each boot numbers the interrupts again.
        let is_known = !matches!(step.change.setting, Setting::InterruptAffinity { .. });
        same_boot || is_known && present == Some(step.change.value.as_str())
    };
    put_back(host, journal, &selected, force, observer).ok_or(RevertError::Stopped)
}

/// Changes of a journal that are still in effect.
pub fn still_set(host: &mut dyn Host, journal: &Journal) -> Vec<Change> {
    let steps = journal.steps().into_iter();
    let in_effect = steps.filter(|(_, state)| matches!(state, StepState::Started | StepState::Done));
    let mut changes: Vec<Change> = in_effect.map(|(step, _)| step.change.clone()).collect();
    changes.retain(|change| host.read(&change.setting).is_ok_and(|value| value == change.value));
    changes
}

/// Decides by the present value whether a step is put back.
type Selected<'a> = &'a dyn Fn(&Step, Option<&str>) -> bool;

/// Puts back every step that was begun, last first. `None` if the observer stopped it.
pub(crate) fn put_back(
    host: &mut dyn Host,
    journal: &mut Journal,
    selected: Selected<'_>,
    force: bool,
    observer: &mut dyn Observer,
) -> Option<Report> {
    let mut report = Report::default();
    if journal.state() == State::Reverted {
        return Some(report);
    }
    // Files first: a boot in between would set the values again.
    remove_files(journal, force, &mut report, observer)?;
    let steps: Vec<(Step, StepState)> =
        journal.steps().into_iter().map(|(step, state)| (step.clone(), state)).collect();
    let mut postponed = Vec::new();
    for (at, (step, state)) in steps.iter().enumerate().rev() {
        if !matches!(state, StepState::Started | StepState::Done) {
            continue;
        }
        match decide(host, step, *state, selected, force) {
            Ok(Put::Back) => {
                if restore_step(host, journal, (at, step), &mut report, observer)?.is_err() {
                    postponed.push(at);
                }
            }
            Ok(put) => {
                if matches!(put, Put::Gone) {
                    report.gone.push(step.change.setting.clone());
                }
                if let Err(error) = journal.mark(Mark::Left(at)) {
                    report.failed.push(error.into());
                }
            }
            Err(failed) => report.failed.push(failed),
        }
    }
    // A qdisc tree of four queues needs the four channels that were restored after it.
    for at in postponed {
        let outcome = restore_step(host, journal, (at, &steps[at].0), &mut report, observer)?;
        report.failed.extend(outcome.err().map(Failed::from));
    }
    let unsettled = journal.unsettled();
    let done: Vec<(&Setting, &Saved)> =
        unsettled.into_iter().map(|at| (&steps[at].0.change.setting, &steps[at].0.before)).collect();
    settle(host, &done, &mut report);
    if let Err(error) = journal.mark(Mark::Settled) {
        report.failed.push(error.into());
    }
    if report.failed.is_empty()
        && let Err(error) = journal.mark(Mark::Reverted)
    {
        report.failed.push(error.into());
    }
    Some(report)
}

/// Puts the setting of one step back. `None` if the observer stopped it.
fn restore_step(
    host: &mut dyn Host,
    journal: &mut Journal,
    (at, step): (usize, &Step),
    report: &mut Report,
    observer: &mut dyn Observer,
) -> Option<Result<(), SettingError>> {
    let setting = &step.change.setting;
    // A crash in the middle of it must not look like a change by another program.
    if let Err(error) = journal.mark(Mark::Started(at)) {
        report.failed.push(error.into());
    }
    passed(observer, Point::PuttingBack(setting))?;
    if let Err(error) = host.restore(setting, &step.before) {
        return Some(Err(error));
    }
    report.restored.push(setting.clone());
    passed(observer, Point::PutBack(setting))?;
    if let Err(error) = journal.mark(Mark::Restored(at)) {
        report.failed.push(error.into());
    }
    passed(observer, Point::Restored(setting))?;
    Some(Ok(()))
}

/// `None` if the observer stops. A restoration that has begun is not interrupted.
fn passed(observer: &mut dyn Observer, point: Point<'_>) -> Option<()> {
    (observer.reached(point) != Flow::Stop).then_some(())
}

fn remove_files(
    journal: &mut Journal,
    force: bool,
    report: &mut Report,
    observer: &mut dyn Observer,
) -> Option<()> {
    let root = journal.header().root.clone();
    for at in journal.files() {
        let file = journal.header().files[at].clone();
        match persist::remove(&root, &file, force) {
            Ok(()) => {
                passed(observer, Point::FileRemoved(&file.path.to_string_lossy()))?;
                if let Err(error) = journal.mark(Mark::FileRemoved(at)) {
                    report.failed.push(error.into());
                }
                report.removed.push(file.path);
            }
            Err(error) => report.failed.push(error.into()),
        }
    }
    Some(())
}

/// The decision about one setting.
enum Put {
    /// The state before is put back.
    Back,
    /// It is left: after another boot it has another value.
    Left,
    /// It does not exist any more.
    Gone,
}

fn decide(
    host: &mut dyn Host,
    step: &Step,
    state: StepState,
    selected: Selected<'_>,
    force: bool,
) -> Result<Put, Failed> {
    let Step { change, before } = step;
    let present = match host.read(&change.setting) {
        Err(SettingError::NotFound { .. }) if force => return Ok(Put::Gone),
        present => present,
    };
    if !selected(step, present.as_ref().ok().map(String::as_str)) {
        return Ok(Put::Left);
    }
    // A step that was only begun may have left any state of its own.
    if !force && state == StepState::Done {
        let present = present?;
        if present != change.value && present != before.value {
            let (change, before) = (Box::new(change.clone()), before.value.clone());
            return Err(Failed::Conflict { change, present, before });
        }
    }
    Ok(Put::Back)
}

/// Restores until nothing disturbs another: a change of channels spreads interrupts again.
fn settle(host: &mut dyn Host, done: &[(&Setting, &Saved)], report: &mut Report) {
    const PASSES: usize = 3;
    for pass in 1..=PASSES {
        let mut disturbed = 0;
        for (setting, before) in done {
            if host.save(setting).is_ok_and(|now| now == **before) {
                continue;
            }
            disturbed += 1;
            match host.restore(setting, before) {
                Err(error) if pass == PASSES => report.failed.push(error.into()),
                _ => {}
            }
        }
        if disturbed == 0 {
            return;
        }
    }
    let different =
        done.iter().filter(|(setting, before)| host.read(setting).ok().as_ref() != Some(&before.value));
    let places: Vec<&Setting> = different.map(|(setting, _)| *setting).collect();
    for setting in places {
        let error = io::Error::other("it does not keep its old value; another program may change it");
        let place = wirespeed_host::settings::Place::of(setting);
        report.failed.push(SettingError::Io { place, source: error }.into());
    }
}
