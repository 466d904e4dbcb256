//! The journal of a transaction: every old value, on the disk before the first change, then a mark for each action.

use crate::folder::FolderError;
use crate::identity::{Identity, Process};
use crate::persist::FileRecord;
use crate::plan::Step;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Version of the format. A reader rejects others.
const FORMAT: u32 = 1;

/// The first line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of the format.
    pub format: u32,
    /// Boot, namespace and process of the transaction.
    pub identity: Identity,
    /// When it began, in seconds since 1970 (UTC).
    pub began_unix_s: u64,
    /// The changes in their order, with the states before.
    pub steps: Vec<Step>,
    /// Files that make the changes persistent.
    pub files: Vec<FileRecord>,
    /// The folder below which the files are; `/` but for tests.
    pub root: PathBuf,
    /// Seconds from the begin within which a confirmation must come.
    pub confirm_within_s: Option<u64>,
}

/// A line after the first: an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The dead-man timer runs as this process.
    Timer(Process),
    /// The change of a step begins, or its restoration: the setting may have any state from now on.
    Started(usize),
    /// The step is changed and verified.
    Done(usize),
    /// The setting of a step is as before.
    Restored(usize),
    /// The setting of a step was left: it does not exist any more, or another boot has put it back.
    Left(usize),
    /// No restoration has disturbed another one.
    Settled,
    /// The writing of a file begins.
    FileStarted(usize),
    /// A file is removed.
    FileRemoved(usize),
    /// All steps are done.
    Applied,
    /// The user has confirmed.
    Confirmed,
    /// Everything is as before.
    Reverted,
}

/// Progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Not changed yet.
    Waiting,
    /// Perhaps changed.
    Started,
    /// Changed and verified.
    Done,
    /// As before, or left.
    Restored,
}

/// State of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It was ended before all changes were made, or while they were put back.
    Unfinished,
    /// All changes are made, and the dead-man timer waits for a confirmation.
    Unconfirmed,
    /// All changes are made.
    Applied,
    /// Everything is as before.
    Reverted,
}

/// A journal on the disk.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    header: Header,
    marks: Vec<Mark>,
    /// Bytes of complete lines; a crash may leave a part of another.
    complete: u64,
    file: Option<File>,
}

impl Journal {
    /// Writes a new journal to the disk, whole or not at all.
    pub(crate) fn create(path: PathBuf, header: Header) -> Result<Journal, FolderError> {
        let failed = |error| FolderError::io(&path)(error);
        let header = Header { format: FORMAT, ..header };
        let mut text = serde_json::to_string(&header).map_err(|error| failed(error.into()))?;
        text.push('\n');
        let temporary = path.with_extension("new");
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let write = || -> io::Result<()> {
            let mut file = options.open(&temporary)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(failed)?;
        Ok(Journal { path, header, marks: Vec::new(), complete: text.len() as u64, file: None })
    }

    /// Reads a journal. A part of a line at the end is what a crash left; it is ignored.
    ///
    /// # Errors
    /// If it cannot be read, or a complete line is damaged.
    pub fn read(path: &Path) -> Result<Journal, FolderError> {
        let bytes = fs::read(path).map_err(FolderError::io(path))?;
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(&bytes[..complete]);
        let mut lines = text.lines().enumerate();
        let damaged = |line: usize, reason: String| FolderError::Damaged {
            path: path.to_owned(),
            line: line + 1,
            reason,
        };
        let (_, first) = lines.next().ok_or_else(|| damaged(0, "the file is empty".into()))?;
        let header: Header = serde_json::from_str(first).map_err(|error| damaged(0, error.to_string()))?;
        if header.format != FORMAT {
            let reason = format!("format {}, but this program reads format {FORMAT}", header.format);
            return Err(damaged(0, reason));
        }
        let (steps, files) = (header.steps.len(), header.files.len());
        let mark = |(line, text): (usize, &str)| {
            let mark: Mark = serde_json::from_str(text).map_err(|error| damaged(line, error.to_string()))?;
            let in_range = match mark {
                Mark::Started(step) | Mark::Done(step) | Mark::Restored(step) | Mark::Left(step) => {
                    step < steps
                }
                Mark::FileStarted(file) | Mark::FileRemoved(file) => file < files,
                Mark::Timer(_) | Mark::Settled | Mark::Applied | Mark::Confirmed | Mark::Reverted => true,
            };
            in_range.then_some(mark).ok_or_else(|| damaged(line, "there is no such step".into()))
        };
        let marks = lines.map(mark).collect::<Result<_, _>>()?;
        Ok(Journal { path: path.to_owned(), header, marks, complete: complete as u64, file: None })
    }

    /// Appends a mark; it is on the disk when the call returns.
    pub(crate) fn mark(&mut self, mark: Mark) -> Result<(), FolderError> {
        let failed = FolderError::io(&self.path);
        let mut write = || -> io::Result<()> {
            let file = match &mut self.file {
                Some(file) => file,
                none => {
                    let file = OpenOptions::new().append(true).open(&self.path)?;
                    file.set_len(self.complete)?;
                    none.insert(file)
                }
            };
            let mut line = serde_json::to_string(&mark)?;
            line.push('\n');
            file.write_all(line.as_bytes())?;
            file.sync_data()?;
            self.complete += line.len() as u64;
            Ok(())
        };
        write().map_err(failed)?;
        self.marks.push(mark);
        Ok(())
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Progress of each step.
    pub fn steps(&self) -> Vec<(&Step, StepState)> {
        let mut states = vec![StepState::Waiting; self.header.steps.len()];
        for mark in &self.marks {
            match *mark {
                Mark::Started(step) => states[step] = StepState::Started,
                Mark::Done(step) => states[step] = StepState::Done,
                Mark::Restored(step) | Mark::Left(step) => states[step] = StepState::Restored,
                _ => {}
            }
        }
        self.header.steps.iter().zip(states).collect()
    }

    /// Steps that were put back, and that a later restoration may have disturbed since.
    pub(crate) fn unsettled(&self) -> Vec<usize> {
        let mut steps = Vec::new();
        for mark in &self.marks {
            match *mark {
                Mark::Restored(step) => steps.push(step),
                Mark::Started(step) => steps.retain(|other| *other != step),
                Mark::Settled => steps.clear(),
                _ => {}
            }
        }
        steps
    }

    /// Numbers of the files that may exist.
    pub(crate) fn files(&self) -> Vec<usize> {
        let mut present = std::collections::BTreeSet::new();
        for mark in &self.marks {
            match *mark {
                Mark::FileStarted(file) => _ = present.insert(file),
                Mark::FileRemoved(file) => _ = present.remove(&file),
                _ => {}
            }
        }
        present.into_iter().collect()
    }

    /// The process of the dead-man timer.
    pub fn timer(&self) -> Option<Process> {
        self.marks.iter().rev().find_map(|mark| match mark {
            Mark::Timer(process) => Some(*process),
            _ => None,
        })
    }

    /// State of the transaction.
    pub fn state(&self) -> State {
        let has = |wanted: Mark| self.marks.contains(&wanted);
        let all_done = self.steps().iter().all(|(_, state)| *state == StepState::Done);
        match () {
            () if has(Mark::Reverted) => State::Reverted,
            () if !all_done || !has(Mark::Applied) => State::Unfinished,
            () if self.header.confirm_within_s.is_some() && !has(Mark::Confirmed) => State::Unconfirmed,
            () => State::Applied,
        }
    }

    /// Whether some of its changes may be in effect.
    pub fn is_open(&self) -> bool {
        self.state() != State::Reverted
    }

    /// Whether the user has confirmed it.
    pub fn is_confirmed(&self) -> bool {
        self.marks.contains(&Mark::Confirmed)
    }

    /// Whether it was written since the last start of this host.
    pub fn is_of_boot(&self, here: &Identity) -> bool {
        self.header.identity.boot_id == here.boot_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_host::settings::Saved;
    use wirespeed_inventory::{Change, Setting};

    fn header() -> Header {
        let change = Change {
            setting: Setting::Mtu { interface: "e".into() },
            value: "9000".into(),
            rule: "r".into(),
            reason: "r".into(),
        };
        let before = Saved { value: "1500".into(), exact: None, companions: Vec::new() };
        Header {
            format: 0,
            identity: Identity::here().unwrap(),
            began_unix_s: 1,
            steps: vec![Step { change, before }],
            files: Vec::new(),
            root: "/".into(),
            confirm_within_s: None,
        }
    }

    #[test]
    fn a_journal_is_read_as_written_also_with_a_part_of_a_line_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0001.journal");
        let mut journal = Journal::create(path.clone(), header()).unwrap();
        journal.mark(Mark::Started(0)).unwrap();
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"don").unwrap();
        let mut read = Journal::read(&path).unwrap();
        assert_eq!((read.header(), read.steps()[0].1), (journal.header(), StepState::Started));
        assert_eq!(read.state(), State::Unfinished);
        read.mark(Mark::Done(0)).unwrap();
        read.mark(Mark::Applied).unwrap();
        let read = Journal::read(&path).unwrap();
        assert_eq!((read.steps()[0].1, read.state()), (StepState::Done, State::Applied));
    }

    #[test]
    fn damaged_journals_are_rejected_with_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0001.journal");
        Journal::create(path.clone(), header()).unwrap();
        let good = fs::read_to_string(&path).unwrap();
        for (text, line) in [
            (String::new(), 1),
            ("{}\n".into(), 1),
            (good.replace("\"format\":1", "\"format\":7"), 1),
            (format!("{good}\"applied\"\nnonsense\n"), 3),
            (format!("{good}{{\"done\":5}}\n"), 2),
        ] {
            fs::write(&path, text).unwrap();
            let error = Journal::read(&path).unwrap_err();
            assert!(matches!(error, FolderError::Damaged { line: found, .. } if found == line), "{error}");
        }
    }
}
