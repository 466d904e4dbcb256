//! The run directory: written atomically, read with errors that name the file.

use crate::Recording;
use crate::checksums;
use crate::foreign::read_text;
use crate::info::{FORMAT_VERSION, FORMAT_VERSION_OF_WHOLE_SERIES, RunInfo};
use crate::kept_series::KeptSeries;
use crate::older;
use crate::platform::exchange;
use crate::reduce;
use crate::sample_files::SampleFiles;
use crate::table::Row;
use crate::wall_clock::file_stamp;
use crate::write::TableWriter;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

pub(crate) const INFO: &str = "run.json";
/// The file with the numbers and findings of a run whose series were not kept as a whole. They were computed from the whole
/// series.
pub const ANALYSIS: &str = "metrics.json";
const INCOMPLETE: &str = "INCOMPLETE";
pub(crate) const RAW: &str = "raw";

/// Why a run directory could not be written or read.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried, e.g. "write".
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The run did not finish; its directory says why.
    #[error("{} holds an unfinished run ({reason}); run the scenario again to complete it", path.display())]
    Incomplete {
        /// The directory.
        path: PathBuf,
        /// What the writer noted.
        reason: String,
    },
    /// Not a run directory at all.
    #[error("{} is not a run directory: it has no {INFO}", path.display())]
    NotARun {
        /// The directory.
        path: PathBuf,
    },
    /// A file is there and cannot be understood.
    #[error("{} is damaged: {reason}; delete the run directory and run the scenario again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process writes to the folder.
    #[error("{} is in use by {holder}; wait until it ends, or write to another folder with --out", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
        /// The process, in its own words.
        holder: String,
    },
    /// Written by a newer wirespeed.
    #[error(
        "{} has format version {found}, this program reads up to {FORMAT_VERSION}: use a newer wirespeed",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
}

pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |source| StoreError::Io { doing, path, source }
}

/// What a directory holds.
#[derive(Debug, Clone, PartialEq)]
pub enum RunState {
    /// A whole run.
    Complete(Box<RunInfo>),
    /// An unfinished one, with the reason noted in it.
    Incomplete(String),
}

/// A run directory that is being written. Until [`RunDirectory::finish`] it is marked incomplete.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// Tables that are there already, written as the run went on.
    written: Mutex<Vec<&'static str>>,
}

impl RunDirectory {
    /// Starts afresh at `path`; what an earlier attempt left there is removed.
    ///
    /// # Errors
    /// If the folder cannot be made or written.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        if path.exists() {
            fs::remove_dir_all(path).map_err(io_error("replace", path))?;
        }
        let raw = path.join(RAW);
        fs::create_dir_all(&raw).map_err(io_error("create", &raw))?;
        let directory = RunDirectory { path: path.to_path_buf(), written: Mutex::default() };
        directory.mark("the run did not come to its end")?;
        Ok(directory)
    }

    /// Where files of the substrate's own go.
    pub fn raw(&self) -> PathBuf {
        self.path.join(RAW)
    }

    /// Notes why the run stays incomplete.
    ///
    /// # Errors
    /// If the note cannot be written.
    pub fn mark(&self, reason: &str) -> Result<(), StoreError> {
        let path = self.path.join(INCOMPLETE);
        replace_file(&path, format!("{reason}\n").as_bytes()).map_err(io_error("write", &path))
    }

    /// Begins a table that is written as the run goes on, so that its rows need not be kept.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn table<R: Row>(&self) -> Result<TableWriter<R>, StoreError> {
        TableWriter::create(&self.path)
    }

    /// The table is whole: [`RunDirectory::finish`] leaves it as it is.
    ///
    /// # Errors
    /// If something cannot be written.
    pub fn close<R: Row>(&self, table: TableWriter<R>) -> Result<(), StoreError> {
        table.close()?;
        self.written.lock().unwrap_or_else(PoisonError::into_inner).push(R::TABLE);
        Ok(())
    }

    /// Writes all tables that are not there yet, then `run.json` and the checksums, and only then takes the mark away.
    ///
    /// # Errors
    /// If something cannot be written; the directory stays marked incomplete.
    pub fn finish(self, recording: &Recording) -> Result<(), StoreError> {
        self.write_tables(recording)?;
        self.conclude(&recording.info)
    }

    /// As [`RunDirectory::finish`], with fewer rows of the series. `analyse` gets the recording with whole series and returns the
    /// text of [`ANALYSIS`]. Returns the information in `run.json`.
    ///
    /// # Errors
    /// If something cannot be written, or of `analyse`; the directory stays marked incomplete.
    pub fn finish_reduced(
        self,
        mut recording: Recording,
        kept: KeptSeries,
        analyse: impl FnOnce(&Recording) -> Result<String, StoreError>,
    ) -> Result<RunInfo, StoreError> {
        self.write_tables(&recording)?;
        recording.samples_in = Some(SampleFiles::new(&self.path));
        let analysis = analyse(&recording)?;
        reduce::reduce(&self.path, kept)?;
        write_analysis(&self.path, &analysis)?;
        recording.info.series = kept;
        self.conclude(&recording.info)?;
        Ok(recording.info)
    }

    fn write_tables(&self, recording: &Recording) -> Result<(), StoreError> {
        self.write(&recording.flows)?;
        self.write(&recording.queues)?;
        self.write(&recording.hosts)?;
        self.write_if_any(&recording.cores)?;
        self.write_if_any(&recording.threads)?;
        self.write(&recording.counters)?;
        self.write(&recording.events)?;
        self.write(&recording.datagrams)?;
        self.write_if_any(&recording.exchanges)?;
        self.write_if_any(&recording.queue_delays)?;
        self.write(&recording.ledger)?;
        self.write_if_any(&recording.ledger_intervals)
    }

    fn conclude(&self, info: &RunInfo) -> Result<(), StoreError> {
        write_info(&self.path, info)?;
        checksums::write(&self.path)?;
        let mark = self.path.join(INCOMPLETE);
        fs::remove_file(&mark).map_err(io_error("remove", &mark))
    }

    /// Fills the directory with what another, whole run gave, under the name and settings of `info`.
    ///
    /// # Errors
    /// If something cannot be read or written; the directory stays marked incomplete.
    pub fn finish_as_copy(self, original: &Path, info: &RunInfo) -> Result<(), StoreError> {
        copy_files(original, &self.path)?;
        self.conclude(info)
    }

    /// A table that only some substrates fill.
    fn write_if_any<R: Row>(&self, rows: &[R]) -> Result<(), StoreError> {
        if rows.is_empty() { Ok(()) } else { self.write(rows) }
    }

    fn write<R: Row>(&self, rows: &[R]) -> Result<(), StoreError> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).contains(&R::TABLE);
        if written { Ok(()) } else { write_table(&self.path, rows) }
    }
}

/// Leaves fewer rows of the series of a complete run at `run`, which has more. `analysis` is the text of [`ANALYSIS`], computed
/// from the whole series; `None` if the run has it already. The new directory is made at `scratch` and then takes the place of
/// the old one, so that the run is complete at any time.
///
/// # Errors
/// If something cannot be read or written; the run is as it was then.
pub fn reduce_run(
    run: &Path,
    scratch: &Path,
    kept: KeptSeries,
    analysis: Option<&str>,
) -> Result<(), StoreError> {
    let info = RunInfo { series: kept, ..read_info(run)? };
    if scratch.exists() {
        fs::remove_dir_all(scratch).map_err(io_error("replace", scratch))?;
    }
    fs::create_dir_all(scratch).map_err(io_error("create", scratch))?;
    link_files(run, scratch)?;
    // Files that are written from here on replace links. Those of the run stay as they are.
    reduce::reduce(scratch, kept)?;
    if let Some(analysis) = analysis {
        write_analysis(scratch, analysis)?;
    }
    write_info(scratch, &info)?;
    checksums::write(scratch)?;
    exchange(scratch, run).map_err(io_error("replace", run))?;
    fs::remove_dir_all(scratch).map_err(io_error("remove", scratch))
}

fn write_info(directory: &Path, info: &RunInfo) -> Result<(), StoreError> {
    let path = directory.join(INFO);
    let format_version = if info.series.is_all() { FORMAT_VERSION_OF_WHOLE_SERIES } else { FORMAT_VERSION };
    let info = RunInfo { format_version, ..info.clone() };
    let json = serde_json::to_string_pretty(&info).expect("run information is plain data");
    replace_file(&path, (json + "\n").as_bytes()).map_err(io_error("write", &path))
}

fn write_analysis(directory: &Path, text: &str) -> Result<(), StoreError> {
    let path = directory.join(ANALYSIS);
    replace_file(&path, text.as_bytes()).map_err(io_error("write", &path))
}

/// Gives `to` all files of `from`: as further names of the same files, or as copies where a file system has no such names.
fn link_files(from: &Path, to: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(from).map_err(io_error("read", from))? {
        let path = entry.map_err(io_error("read", from))?.path();
        let Some(name) = path.file_name() else { continue };
        let target = to.join(name);
        if path.is_dir() {
            fs::create_dir_all(&target).map_err(io_error("create", &target))?;
            link_files(&path, &target)?;
        } else if fs::hard_link(&path, &target).is_err() {
            fs::copy(&path, &target).map_err(io_error("write", &target))?;
        }
    }
    Ok(())
}

/// Moves a complete run at `run` to a folder of earlier runs, under its name and the time of its end, so that another can be
/// written in its place. Nothing is done where there is no complete run.
///
/// # Errors
/// If the folder cannot be made, or the run cannot be moved.
pub fn set_aside(run: &Path, earlier: &Path) -> Result<(), StoreError> {
    /// So many runs of one name in one second there are not.
    const MOST: u32 = 1000;
    if !matches!(open(run), Ok(RunState::Complete(_))) {
        return Ok(());
    }
    let ended =
        fs::metadata(run.join(INFO)).and_then(|file| file.modified()).map_err(io_error("read", run))?;
    let name = run.file_name().unwrap_or_default().to_string_lossy();
    fs::create_dir_all(earlier).map_err(io_error("create", earlier))?;
    let stamp = file_stamp(ended);
    let places = (1..MOST).map(|number| match number {
        1 => earlier.join(format!("{name}-{stamp}")),
        _ => earlier.join(format!("{name}-{stamp}-{number}")),
    });
    let free = places.into_iter().find(|place| !place.exists()).unwrap_or_else(|| earlier.join(&*name));
    fs::rename(run, &free).map_err(io_error("move", run))
}

/// Writes a file as a whole or not at all: what was there stays until everything has been written.
///
/// # Errors
/// As the operating system; the file is as it was then.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_file_with(path, |file| file.write_all(content))
}

/// The same with content that `write` writes, which need not be in memory as a whole.
///
/// # Errors
/// As the operating system, or those of `write`; the file is as it was then.
pub fn replace_file_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    let partial = path.with_file_name(name);
    let written = || {
        let mut file = BufWriter::new(fs::File::create(&partial)?);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?;
        fs::rename(&partial, path)
    };
    let result = written();
    if result.is_err() {
        // What could not be written whole is of no use; that it cannot be removed either changes nothing.
        let _ = fs::remove_file(&partial);
    }
    result
}

/// All files of a run but what names it.
fn copy_files(from: &Path, to: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(from).map_err(io_error("read", from))? {
        let path = entry.map_err(io_error("read", from))?.path();
        let Some(name) = path.file_name() else { continue };
        let target = to.join(name);
        if path.is_dir() {
            fs::create_dir_all(&target).map_err(io_error("create", &target))?;
            copy_files(&path, &target)?;
        } else if name != INFO && name != INCOMPLETE {
            fs::copy(&path, &target).map_err(io_error("write", &target))?;
        }
    }
    Ok(())
}

fn write_table<R: Row>(directory: &Path, rows: &[R]) -> Result<(), StoreError> {
    let mut table = TableWriter::create(directory)?;
    table.write(rows)?;
    table.close()
}

/// What `directory` holds, reading `run.json` only.
///
/// # Errors
/// If it is no run directory, or `run.json` cannot be understood.
pub fn open(directory: &Path) -> Result<RunState, StoreError> {
    /// A reason is a sentence, and what describes a run of 10,000 flows some MB: longer ones nobody has written.
    const MOST: [u64; 2] = [1 << 16, 1 << 26];
    let mark = directory.join(INCOMPLETE);
    if let Ok(reason) = read_text(&mark, MOST[0]) {
        return Ok(RunState::Incomplete(reason.trim().into()));
    }
    let path = directory.join(INFO);
    if !path.exists() {
        return Err(StoreError::NotARun { path: directory.into() });
    }
    let text = read_text(&path, MOST[1]).map_err(io_error("read", &path))?;
    let damaged = |e: serde_json::Error| StoreError::Damaged { path: path.clone(), reason: e.to_string() };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
    let found = value.get("format_version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    if found > FORMAT_VERSION {
        return Err(StoreError::Newer { path, found });
    }
    let mut info: RunInfo = serde_json::from_value(value).map_err(damaged)?;
    older::complete_hosts(&mut info);
    match info.impossible() {
        Some(reason) => Err(StoreError::Damaged { path, reason }),
        None => Ok(RunState::Complete(Box::new(info))),
    }
}

/// The information of a complete run.
///
/// # Errors
/// As [`open`]; also if the run is incomplete.
pub fn read_info(directory: &Path) -> Result<RunInfo, StoreError> {
    match open(directory)? {
        RunState::Complete(info) => Ok(*info),
        RunState::Incomplete(reason) => Err(StoreError::Incomplete { path: directory.into(), reason }),
    }
}

/// The run directories at or directly below `directory`, or below its `runs/`, sorted by name. A folder without any that holds
/// folders with `runs/`, as those of a pair that was probed again and again, has the runs of all.
///
/// # Errors
/// If the folder cannot be listed.
pub fn find_runs(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let is_run = |path: &Path| path.join(INFO).exists() || path.join(INCOMPLETE).exists();
    if is_run(directory) {
        return Ok(vec![directory.into()]);
    }
    let nested = directory.join("runs");
    let parent = if nested.is_dir() { nested } else { directory.to_path_buf() };
    let mut found = Vec::new();
    for entry in fs::read_dir(&parent).map_err(io_error("list", &parent))? {
        let path = entry.map_err(io_error("list", &parent))?.path();
        if is_run(&path) {
            found.push(path);
        }
    }
    if found.is_empty() && parent == directory {
        for entry in fs::read_dir(directory).map_err(io_error("list", directory))? {
            let entry = entry.map_err(io_error("list", directory))?;
            // A link leads to a folder that is counted already.
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && entry.path().join("runs").is_dir() {
                found.extend(find_runs(&entry.path())?);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, Entry, LedgerRow, Stage, read};

    fn sample() -> Recording {
        Recording {
            info: RunInfo {
                id: "a".into(),
                format_version: FORMAT_VERSION_OF_WHOLE_SERIES,
                ..Default::default()
            },
            ledger: vec![
                LedgerRow {
                    direction: Direction::Data,
                    entry: Entry::Lost,
                    stage: Some(Stage::RxRing),
                    place: "receiver".into(),
                    cause: None,
                    packets: 3,
                    source: "rx_missed_errors".into(),
                },
                LedgerRow {
                    direction: Direction::Ack,
                    entry: Entry::Unexplained,
                    stage: None,
                    place: String::new(),
                    cause: None,
                    packets: -1,
                    source: String::new(),
                },
            ],
            ..Default::default()
        }
    }

    #[test]
    fn runs_of_all_measurements_of_a_pair_are_found() {
        let pair = tempfile::tempdir().unwrap();
        for stamp in ["2026-11-24T180117Z", "2026-11-24T180116Z"] {
            let run = pair.path().join(stamp).join("runs/r0");
            RunDirectory::create(&run).unwrap().finish(&sample()).unwrap();
        }
        std::os::unix::fs::symlink("2026-11-24T180117Z", pair.path().join("latest")).unwrap();
        let found = find_runs(pair.path()).unwrap();
        let stamps = ["2026-11-24T180116Z/runs/r0", "2026-11-24T180117Z/runs/r0"];
        assert_eq!(found, stamps.map(|stamp| pair.path().join(stamp)));
        assert_eq!(find_runs(&pair.path().join("latest")).unwrap().len(), 1);
    }

    #[test]
    fn complete_run_is_set_aside_and_an_unfinished_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (run, earlier) = (folder.path().join("runs/r0"), folder.path().join("earlier"));
        for count in [0, 1, 2] {
            assert_eq!(find_runs(&earlier).map_or(0, |runs| runs.len()), count);
            let directory = RunDirectory::create(&run).unwrap();
            set_aside(&run, &earlier).unwrap();
            assert!(run.exists());
            directory.finish(&sample()).unwrap();
            set_aside(&run, &earlier).unwrap();
            assert!(!run.exists());
        }
    }

    #[test]
    fn written_rows_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        RunDirectory::create(&path).unwrap().finish(&sample()).unwrap();
        assert_eq!(read(&path).unwrap(), sample());
    }

    #[test]
    fn the_same_recording_gives_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<_> = ["a", "b"]
            .iter()
            .map(|name| {
                let path = folder.path().join(name);
                RunDirectory::create(&path).unwrap().finish(&sample()).unwrap();
                fs::read(path.join("ledger.parquet")).unwrap()
            })
            .collect();
        assert_eq!(bytes[0], bytes[1]);
    }

    #[test]
    fn a_table_written_bit_by_bit_has_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let row =
            |i: i64| crate::FlowSample { cwnd_bytes: Some(i as u64 * 7), ..crate::FlowSample::empty(i, 0) };
        let recording = Recording { flows: (0..70_000).map(row).collect(), ..Default::default() };
        let whole = folder.path().join("whole");
        RunDirectory::create(&whole).unwrap().finish(&recording).unwrap();
        let bits = folder.path().join("bits");
        let directory = RunDirectory::create(&bits).unwrap();
        let mut table = directory.table().unwrap();
        let mut rows = Vec::new();
        for part in recording.flows.chunks(5_000) {
            rows.extend_from_slice(part);
            table.drain(&mut rows).unwrap();
        }
        table.write(&rows).unwrap();
        directory.close(table).unwrap();
        directory.finish(&Recording::default()).unwrap();
        assert_eq!(read(&bits).unwrap().flows, recording.flows);
        let bytes = [whole, bits].map(|path| fs::read(path.join("flows.parquet")).unwrap());
        assert!(bytes[0] == bytes[1]);
    }

    #[test]
    fn an_unfinished_run_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        RunDirectory::create(&path).unwrap().mark("kernel panic").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("kernel panic"), "{error}");
    }

    #[test]
    fn a_truncated_table_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        RunDirectory::create(&path).unwrap().finish(&sample()).unwrap();
        let table = path.join("ledger.parquet");
        let bytes = fs::read(&table).unwrap();
        fs::write(&table, &bytes[..bytes.len() / 2]).unwrap();
        let error = read(&path).unwrap_err();
        assert!(
            matches!(&error, StoreError::Damaged { path, .. } if path.ends_with("ledger.parquet")),
            "{error}"
        );
    }

    /// Every bit of every file counts; one in so many is tried.
    #[test]
    fn flipped_bit_is_found_in_every_file() {
        const STEP: usize = 97;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        RunDirectory::create(&path).unwrap().finish(&sample()).unwrap();
        for name in ["run.json", "flows.parquet", "ledger.parquet", "events.parquet"] {
            let file = path.join(name);
            let bytes = fs::read(&file).unwrap();
            for bit in (0..bytes.len() * 8).step_by(STEP) {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                fs::write(&file, flipped).unwrap();
                assert!(read(&path).is_err(), "bit {bit} of {name}");
            }
            fs::write(&file, bytes).unwrap();
        }
        read(&path).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_written_is_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        replace_file(&path, b"first").unwrap();
        // The name of the partial file is taken by a folder, so that it cannot be written.
        fs::create_dir(folder.path().join("note.partial")).unwrap();
        assert!(replace_file(&path, b"second").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }

    #[test]
    fn a_newer_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        RunDirectory::create(&path).unwrap().finish(&sample()).unwrap();
        let json = fs::read_to_string(path.join(INFO)).unwrap();
        fs::write(path.join(INFO), json.replace("\"format_version\": 1", "\"format_version\": 99")).unwrap();
        assert!(matches!(read(&path), Err(StoreError::Newer { found: 99, .. })));
    }

    #[test]
    fn reduced_run_takes_the_place_of_the_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let (run, scratch) = (folder.path().join("runs/a"), folder.path().join("reducing/a"));
        let directory = RunDirectory::create(&run).unwrap();
        fs::write(directory.raw().join("console.log"), "x").unwrap();
        let flows = (0..1000).map(|i| crate::FlowSample::empty(i * 1_000_000, 0)).collect();
        directory.finish(&Recording { flows, ..sample() }).unwrap();
        // What an earlier attempt that was killed left.
        fs::create_dir_all(&scratch).unwrap();
        fs::write(scratch.join("run.json"), "{").unwrap();
        let thin = KeptSeries::Thin { every_ns: 100_000_000 };
        reduce_run(&run, &scratch, thin, Some("{}")).unwrap();
        let found = read(&run).unwrap();
        assert_eq!((found.flows.len(), found.info.series, found.info.format_version), (11, thin, 2));
        reduce_run(&run, &scratch, KeptSeries::None, None).unwrap();
        let found = read(&run).unwrap();
        assert_eq!((found.flows.len(), found.info.series), (0, KeptSeries::None));
        assert_eq!((found.ledger, found.analysis.as_deref()), (sample().ledger, Some("{}")));
        assert_eq!(fs::read_to_string(run.join("raw/console.log")).unwrap(), "x");
        assert!(!scratch.exists());
    }

    #[test]
    fn damaged_analysis_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let directory = RunDirectory::create(&path).unwrap();
        directory.finish_reduced(sample(), KeptSeries::None, |_| Ok("{}".into())).unwrap();
        fs::write(path.join(ANALYSIS), "{ }").unwrap();
        assert!(matches!(read(&path), Err(StoreError::Damaged { path, .. }) if path.ends_with(ANALYSIS)));
        fs::remove_file(path.join(ANALYSIS)).unwrap();
        assert!(read(&path).is_err());
    }
}
