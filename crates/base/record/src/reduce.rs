//! Fewer rows of the tables of samples, or none.

use crate::kept_series::KeptSeries;
use crate::sample_files::path_of;
use crate::store::{StoreError, io_error};
use crate::table::Row;
use crate::table_file::{TableFile, damaged};
use crate::write::TableWriter;
use crate::{CoreSample, Datagram, FlowSample, HostSample, QueueDelay, QueueSample, ThreadSample};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The folder within a run directory for tables that are being written.
const PARTIAL: &str = "series.partial";

/// Leaves the rows that are to be kept of the tables of samples in a directory. It is marked as incomplete, or not yet in its place.
///
/// # Errors
/// If a table cannot be read or written.
pub(crate) fn reduce(directory: &Path, kept: KeptSeries) -> Result<(), StoreError> {
    let every_ns = match kept {
        KeptSeries::All => return Ok(()),
        KeptSeries::Thin { every_ns } => Some(every_ns.max(1)),
        KeptSeries::None => None,
    };
    table::<FlowSample>(directory, every_ns)?;
    table::<QueueSample>(directory, every_ns)?;
    table::<HostSample>(directory, every_ns)?;
    table::<CoreSample>(directory, every_ns)?;
    table::<ThreadSample>(directory, every_ns)?;
    remove::<Datagram>(directory)?;
    remove::<QueueDelay>(directory)
}

fn remove<R: Row>(directory: &Path) -> Result<(), StoreError> {
    let path = path_of::<R>(directory);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &path)(error)),
        _ => Ok(()),
    }
}

/// Reduces a table, if the directory has it. Without an interval its file is removed.
fn table<R: Sample>(directory: &Path, every_ns: Option<i64>) -> Result<(), StoreError> {
    let Some(every_ns) = every_ns else { return remove::<R>(directory) };
    let path = path_of::<R>(directory);
    if !path.exists() {
        return Ok(());
    }
    let mut last: BTreeMap<R::Series, usize> = BTreeMap::new();
    each_row::<R>(&path, |number, row| {
        last.insert(row.series(), number);
        Ok(())
    })?;
    let folder = directory.join(PARTIAL);
    fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
    let mut writer = TableWriter::<R>::create(&folder)?;
    let mut begun: BTreeMap<R::Series, i64> = BTreeMap::new();
    let mut rows = Vec::new();
    each_row::<R>(&path, |number, row| {
        let (series, interval) = (row.series(), row.t_ns().div_euclid(every_ns));
        let is_last = last.get(&series) == Some(&number);
        let is_first = begun.insert(series, interval) != Some(interval);
        if is_first || is_last {
            rows.push(row);
        }
        if rows.len() >= AT_ONCE { writer.drain(&mut rows) } else { Ok(()) }
    })?;
    writer.write(&rows)?;
    writer.close()?;
    fs::rename(path_of::<R>(&folder), &path).map_err(io_error("write", &path))?;
    fs::remove_dir(&folder).map_err(io_error("remove", &folder))
}

/// Rows that wait to be written.
const AT_ONCE: usize = 4096;

/// Calls `take` with each row of a file and its number, in their order.
fn each_row<R: Row>(
    path: &Path,
    mut take: impl FnMut(usize, R) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let file = TableFile::open(path)?;
    let (mut rows, mut number) = (Vec::new(), 0);
    for batch in file.batches(None)? {
        R::from_batch(&batch?, &mut rows).map_err(|e| damaged(path, e))?;
        for row in rows.drain(..) {
            take(number, row)?;
            number += 1;
        }
    }
    Ok(())
}

/// A row of a table of samples.
trait Sample: Row {
    /// Identifies a series of the table.
    type Series: Ord;

    /// When it was taken.
    fn t_ns(&self) -> i64;

    /// The series that it belongs to.
    fn series(&self) -> Self::Series;
}

macro_rules! samples {
    ($($row:ident of $($key:ident: $type:ty),+;)+) => {
        $(impl Sample for $row {
            type Series = ($($type,)+);

            fn t_ns(&self) -> i64 {
                self.t_ns
            }

            fn series(&self) -> Self::Series {
                ($(self.$key.clone(),)+)
            }
        })+
    };
}

samples! {
    FlowSample of flow: u32;
    QueueSample of queue: String;
    HostSample of host: String, device: String;
    CoreSample of host: String, core: u32;
    ThreadSample of host: String, flow: u32, receives: bool;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeptSeries, Recording, RunDirectory, RunInfo, read};

    const MS: i64 = 1_000_000;

    /// Two flows with a row every 10 ms; the second begins at 35 ms and ends at 2,345 ms.
    fn recording() -> Recording {
        let row = |t: i64, flow| FlowSample { sent_bytes: Some(t as u64), ..FlowSample::empty(t, flow) };
        let both = (0..=300).flat_map(|i| [row(i * 10 * MS, 0), row(i * 10 * MS + 5 * MS, 1)]);
        let lives = |row: &FlowSample| row.flow == 0 || (35 * MS..=2_345 * MS).contains(&row.t_ns);
        let core = |t: i64| CoreSample { app_ns: t, ..CoreSample::idle(t * MS, "a", 3) };
        let datagram = Datagram {
            flow: 0,
            sequence: 0,
            sent_ns: 1,
            arrived_ns: None,
            reordered_by: 0,
            duplicate: false,
        };
        Recording {
            info: RunInfo { id: "a".into(), ..RunInfo::default() },
            flows: both.filter(lives).collect(),
            cores: (0..3000).map(core).collect(),
            datagrams: vec![datagram],
            ..Recording::default()
        }
    }

    #[test]
    fn thin_series_have_the_first_row_of_each_interval_and_the_last_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let kept = KeptSeries::Thin { every_ns: 1_000 * MS };
        let directory = RunDirectory::create(&path).unwrap();
        let info = directory.finish_reduced(recording(), kept, |_| Ok("{}".into())).unwrap();
        assert_eq!(info.series, kept);
        let found = read(&path).unwrap();
        let rows: Vec<(i64, u32)> = found.flows.iter().map(|row| (row.t_ns / MS, row.flow)).collect();
        let expected = [(0, 0), (35, 1), (1000, 0), (1005, 1), (2000, 0), (2005, 1), (2345, 1), (3000, 0)];
        assert_eq!(rows, expected);
        assert!(found.flows.iter().all(|row| row.sent_bytes == Some(row.t_ns as u64)), "counters are exact");
        assert_eq!(found.cores.iter().map(|row| row.app_ns).collect::<Vec<_>>(), [0, 1000, 2000, 2999]);
        assert!(found.datagrams.is_empty());
        assert_eq!(found.analysis.as_deref(), Some("{}"));
        assert_eq!(fs::read_dir(&path).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir()).count(), 1);
    }

    #[test]
    fn dropped_series_have_no_file_and_the_rest_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (all, none) = (folder.path().join("all"), folder.path().join("none"));
        RunDirectory::create(&all).unwrap().finish(&recording()).unwrap();
        let directory = RunDirectory::create(&none).unwrap();
        directory.finish_reduced(recording(), KeptSeries::None, |_| Ok("{}".into())).unwrap();
        for table in ["flows", "queues", "hosts", "cores", "datagrams"] {
            assert!(!none.join(format!("{table}.parquet")).exists(), "{table}");
        }
        for name in ["events.parquet", "ledger.parquet", "counters.parquet"] {
            assert_eq!(fs::read(all.join(name)).unwrap(), fs::read(none.join(name)).unwrap());
        }
        let found = read(&none).unwrap();
        assert!(found.flows.is_empty() && found.samples_in.is_none());
        assert_eq!(crate::read_lazily(&none).unwrap().flow_table().rows().unwrap(), 0);
    }
}
