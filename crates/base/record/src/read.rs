//! Tables from files: whole, or one column at a time.

use crate::cell::Cell;
use crate::checksums;
use crate::foreign::read_text;
use crate::kept_series::KeptSeries;
use crate::older;
use crate::sample_files::{SampleFiles, path_of};
use crate::store::{ANALYSIS, StoreError, read_info};
use crate::table::{self, ColumnOf, Row};
use crate::table_file::{TableFile, damaged};
use crate::{FlowSample, HostSample, QueueSample, Recording};
use std::path::Path;

/// A table to be read column by column. Its rows are in memory, or stay in the file: then a column takes the memory of
/// a page while it is read, whatever the table's length.
#[derive(Debug)]
pub struct Table<'a, R> {
    source: Source<'a, R>,
}

#[derive(Debug)]
enum Source<'a, R> {
    Rows(&'a [R]),
    Files(&'a SampleFiles),
}

impl<'a, R: Row> Table<'a, R> {
    fn new(rows: &'a [R], files: Option<&'a SampleFiles>) -> Self {
        let source = match files {
            Some(files) if rows.is_empty() && files.are_there() => Source::Files(files),
            _ => Source::Rows(rows),
        };
        Table { source }
    }

    /// Number of rows.
    ///
    /// # Errors
    /// If the file is missing or damaged.
    pub fn rows(&self) -> Result<usize, StoreError> {
        match &self.source {
            Source::Rows(rows) => Ok(rows.len()),
            Source::Files(files) => Ok(files.open::<R>()?.rows()),
        }
    }

    /// Calls `take` with every value of a column, row by row.
    ///
    /// # Errors
    /// If the file is missing or damaged.
    pub fn each<T: Cell>(&self, column: ColumnOf<R, T>, mut take: impl FnMut(T)) -> Result<(), StoreError> {
        match &self.source {
            Source::Rows(rows) => rows.iter().for_each(|row| take((column.get)(row).clone())),
            Source::Files(files) => {
                let file = files.open::<R>()?;
                for batch in file.batches(Some(column.name))? {
                    table::read(&batch?, column.name)
                        .map_err(|e| damaged(file.path(), e))?
                        .into_iter()
                        .for_each(&mut take);
                }
            }
        }
        Ok(())
    }
}

impl Recording {
    /// The flow table, wherever its rows are.
    pub fn flow_table(&self) -> Table<'_, FlowSample> {
        Table::new(&self.flows, self.samples_in.as_ref())
    }

    /// The queue table, wherever its rows are.
    pub fn queue_table(&self) -> Table<'_, QueueSample> {
        Table::new(&self.queues, self.samples_in.as_ref())
    }

    /// The host table, wherever its rows are.
    pub fn host_table(&self) -> Table<'_, HostSample> {
        Table::new(&self.hosts, self.samples_in.as_ref())
    }
}

/// A whole recording. Of series that were not kept as a whole it has the rows that are there ([`RunInfo::series`]).
///
/// [`RunInfo::series`]: crate::RunInfo::series
///
/// # Errors
/// If the directory is no complete run, or a table is missing or damaged.
pub fn read(directory: &Path) -> Result<Recording, StoreError> {
    let mut recording = read_lazily(directory)?;
    if recording.info.series != KeptSeries::None {
        recording.flows = rows(directory)?;
        recording.queues = rows(directory)?;
        recording.hosts = rows(directory)?;
    }
    Ok(Recording { samples_in: None, ..recording })
}

/// A recording whose samples stay in the directory, which is to be left as it is meanwhile; metrics and figures read
/// them column by column. All other tables are in memory.
///
/// # Errors
/// As [`read`]. Of the tables of samples only the end of the file is looked at.
pub fn read_lazily(directory: &Path) -> Result<Recording, StoreError> {
    let info = read_info(directory)?;
    checksums::check(directory)?;
    let mut events = rows(directory)?;
    older::complete_events(&mut events);
    let series = info.series;
    let analysis = if series.is_all() { None } else { Some(read_analysis(directory)?) };
    let samples_in = match series {
        KeptSeries::None => SampleFiles::dropped(directory),
        _ => SampleFiles::new(directory),
    };
    let recording = Recording {
        info,
        analysis,
        // Only hosts that show their inside have cores.
        cores: rows_if_any(directory)?,
        // Only real hosts have threads.
        threads: rows_if_any(directory)?,
        counters: rows(directory)?,
        events,
        datagrams: if series.is_all() { rows(directory)? } else { Vec::new() },
        // Only flows with an application.
        exchanges: rows_if_any(directory)?,
        // Only queues with classes.
        queue_delays: rows_if_any(directory)?,
        ledger: rows(directory)?,
        // Only hosts whose counters are read while the run goes on.
        ledger_intervals: rows_if_any(directory)?,
        samples_in: Some(samples_in),
        ..Default::default()
    };
    recording.flow_table().rows()?;
    recording.queue_table().rows()?;
    recording.host_table().rows()?;
    Ok(recording)
}

/// The stored analysis of a run.
fn read_analysis(directory: &Path) -> Result<Box<str>, StoreError> {
    /// The limiting factors of a run of 10,000 flows are some MB.
    const MOST: u64 = 1 << 28;
    let path = directory.join(ANALYSIS);
    let text = read_text(&path, MOST).map_err(|error| damaged(&path, error.to_string()))?;
    Ok(text.into_boxed_str())
}

/// Rows of a table that not every run has.
fn rows_if_any<R: Row>(directory: &Path) -> Result<Vec<R>, StoreError> {
    if path_of::<R>(directory).exists() { rows(directory) } else { Ok(Vec::new()) }
}

fn rows<R: Row>(directory: &Path) -> Result<Vec<R>, StoreError> {
    let file = TableFile::open(&path_of::<R>(directory))?;
    let mut rows = Vec::new();
    for batch in file.batches(None)? {
        R::from_batch(&batch?, &mut rows).map_err(|e| damaged(file.path(), e))?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunDirectory;
    use crate::table_file::can_hold;
    use std::fs;
    use std::path::PathBuf;

    /// A flow table of 300,000 rows, in three row groups.
    fn written(folder: &Path) -> PathBuf {
        let path = folder.join("run");
        let directory = RunDirectory::create(&path).unwrap();
        let mut table = directory.table().unwrap();
        let mut rows = Vec::new();
        for i in 0..300_000 {
            let row = FlowSample::empty(i, (i % 7) as u32);
            let rtt_ns = (i % 3 > 0).then_some(i * i - 5);
            let (vegas_enabled, dctcp_alpha_ratio) = (Some(i % 2 == 0), Some(i as f64 / 7.0));
            rows.push(FlowSample { rtt_ns, vegas_enabled, dctcp_alpha_ratio, ..row });
            if rows.len() == 5000 {
                table.drain(&mut rows).unwrap();
            }
        }
        table.write(&rows).unwrap();
        directory.close(table).unwrap();
        directory.finish(&Recording::default()).unwrap();
        path
    }

    #[test]
    fn columns_of_a_file_are_those_of_its_rows() {
        fn column<T: Cell>(recording: &Recording, column: ColumnOf<FlowSample, T>) -> Vec<T> {
            let mut values = Vec::new();
            recording.flow_table().each(column, |value| values.push(value)).unwrap();
            values
        }
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let lazy = read_lazily(&path).unwrap();
        assert!(lazy.flows.is_empty());
        assert_eq!(lazy.flow_table().rows().unwrap(), 300_000);
        assert!(column(&lazy, FlowSample::t_ns).into_iter().eq(0..300_000));
        let rtts = (0..300_000i64).map(|i| (i % 3 > 0).then_some(i * i - 5));
        assert!(column(&lazy, FlowSample::rtt_ns).into_iter().eq(rtts));
        let whole = read(&path).unwrap();
        assert_eq!(column(&lazy, FlowSample::flow), column(&whole, FlowSample::flow));
        assert_eq!(column(&lazy, FlowSample::vegas_enabled), column(&whole, FlowSample::vegas_enabled));
        assert_eq!(
            column(&lazy, FlowSample::dctcp_alpha_ratio),
            column(&whole, FlowSample::dctcp_alpha_ratio)
        );
        assert!(column(&lazy, FlowSample::bbr_bw_bps).iter().all(Option::is_none));
    }

    #[test]
    fn a_table_in_which_only_time_goes_on_is_far_from_what_no_file_can_hold() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let row = |i: i64| crate::Event {
            t_ns: i * 1_000_000,
            kind: crate::EventKind::Requeue,
            flow: None,
            host: None,
            detail: String::new(),
            burst_packet: None,
        };
        let recording = Recording { events: (0..1_000_000).map(row).collect(), ..Recording::default() };
        RunDirectory::create(&path).unwrap().finish(&recording).unwrap();
        let bytes = fs::metadata(path.join("events.parquet")).unwrap().len();
        assert!(can_hold(bytes / 4, 1_000_000) && !can_hold(bytes, u64::MAX), "{bytes} bytes");
        assert_eq!(read(&path).unwrap().events.len(), 1_000_000);
    }

    #[test]
    fn damage_in_the_middle_is_found_when_the_column_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path());
        let table = path.join("flows.parquet");
        let mut bytes = fs::read(&table).unwrap();
        let middle = bytes.len() / 2;
        bytes[..middle].fill(0xff);
        fs::write(&table, bytes).unwrap();
        // Runs of earlier versions have no checksums.
        fs::remove_file(path.join("SHA256SUMS")).unwrap();
        let lazy = read_lazily(&path).unwrap();
        let error = lazy.flow_table().each(FlowSample::t_ns, |_| ()).unwrap_err();
        assert!(
            matches!(&error, StoreError::Damaged { path, .. } if path.ends_with("flows.parquet")),
            "{error}"
        );
    }

    #[test]
    fn a_file_damaged_at_any_byte_is_damaged_or_has_other_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let row = |(i, kind): (usize, crate::EventKind)| crate::Event {
            t_ns: i as i64,
            kind,
            flow: Some(0),
            host: Some("sender".into()),
            detail: String::new(),
            burst_packet: None,
        };
        let events = [crate::EventKind::FlowStart, crate::EventKind::Requeue, crate::EventKind::FlowEnd]
            .into_iter()
            .enumerate()
            .map(row)
            .collect();
        RunDirectory::create(&path).unwrap().finish(&Recording { events, ..Recording::default() }).unwrap();
        let table = path.join("events.parquet");
        let whole = fs::read(&table).unwrap();
        let mut damaged = 0;
        for place in 0..whole.len() {
            for byte in [0, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] = byte;
                fs::write(&table, bytes).unwrap();
                match rows::<crate::Event>(&path) {
                    Ok(_) => {}
                    Err(StoreError::Damaged { .. }) => damaged += 1,
                    Err(other) => panic!("byte {place} as {byte}: {other}"),
                }
            }
        }
        assert!(damaged > whole.len() / 2, "{damaged} of {}", 3 * whole.len());
    }
}
