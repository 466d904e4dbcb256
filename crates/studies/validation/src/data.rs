//! What runs of the grid gave, as a file: one line a run, appended as runs end.

use super::ValidationError;
use super::cell::Cell;
use super::collect::Task;
use super::grid;
use super::section::Section;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use wirespeed_metrics::evaluate;
use wirespeed_record::Recording;

/// The numbers kept of a run, by the names of their metrics; an empty column where a run does not give one. A file
/// made before a metric was kept lacks its column.
pub const METRICS: [&str; 12] = [
    "goodput_bps",
    "cwnd_mean_bytes",
    "rtt_mean_ns",
    "retransmissions_packets",
    "spurious_retransmissions_packets",
    "rto_count",
    "queue_delay_mean_ns",
    "slow_start_exit_ns",
    "jain_index",
    "qdisc_drops",
    "fct_mean_ns",
    "slowdown_q99",
];

/// Columns before and behind the metrics.
const BEFORE: &str = "repeat,seed,duration_s";
const BEHIND: &str = "packets_sent,build";

/// A run of a cell, reduced.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was run.
    pub cell: Cell,
    /// Which of the cell's runs.
    pub repeat: u32,
    /// The run's seed.
    pub seed: u64,
    /// How long it lasted, seconds.
    pub duration_s: f64,
    /// Data packets sent, retransmissions included.
    pub packets: u64,
    /// Its numbers, in the order of [`METRICS`].
    pub values: [Option<f64>; METRICS.len()],
    /// What made it: the kernel's build, or the program.
    pub build: String,
}

impl Row {
    /// What is kept of a recording.
    pub fn reduce(task: &Task, recording: &Recording, build: &str) -> Row {
        let numbers = evaluate(recording).expect("a run of the grid is read whole");
        Row {
            cell: task.cell.clone(),
            repeat: task.repeat,
            seed: task.run.seed,
            duration_s: task.run.duration.nanoseconds() as f64 / 1e9,
            packets: recording.info.cost.packets,
            values: METRICS.map(|name| numbers.get(name).copied()),
            build: build.into(),
        }
    }

    /// The value of one of [`METRICS`].
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values[METRICS.iter().position(|metric| *metric == name)?]
    }

    /// As a line of a file that keeps these of [`METRICS`].
    fn line(&self, metrics: &[usize]) -> String {
        let mut text = format!("{},{},{},{}", self.cell.columns(), self.repeat, self.seed, self.duration_s);
        for metric in metrics {
            text.push(',');
            if let Some(value) = self.values[*metric] {
                let _ = write!(text, "{}", (value * PRECISION[*metric]).round() / PRECISION[*metric]);
            }
        }
        let _ = writeln!(text, ",{},{}", self.packets, self.build);
        text
    }

    fn parse(section: &'static Section, metrics: &[usize], line: &str) -> Option<Row> {
        let columns: Vec<&str> = line.split(',').collect();
        let (cell, rest) = columns.split_at_checked(1 + section.columns().count())?;
        let [repeat, seed, duration_s, numbers @ .., packets, build] = rest else { return None };
        if numbers.len() != metrics.len() {
            return None;
        }
        let mut values = [None; METRICS.len()];
        for (metric, word) in metrics.iter().zip(numbers) {
            values[*metric] = if word.is_empty() { None } else { Some(word.parse().ok()?) };
        }
        Some(Row {
            cell: Cell::parse(section, cell)?,
            repeat: repeat.parse().ok()?,
            seed: seed.parse().ok()?,
            duration_s: duration_s.parse().ok()?,
            packets: packets.parse().ok()?,
            values,
            build: (*build).into(),
        })
    }
}

/// One part of the last digit kept of each of [`METRICS`].
const PRECISION: [f64; METRICS.len()] = [1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e3, 1e6, 1e3, 1e3, 1e6];

/// The line that names the columns of a file with these of [`METRICS`].
fn columns(section: &Section, metrics: &[usize]) -> String {
    let names: Vec<&str> = metrics.iter().map(|metric| METRICS[*metric]).collect();
    format!("{},{BEFORE},{},{BEHIND}", grid::columns(section), names.join(","))
}

/// Which of [`METRICS`] a line names that is the one [`columns`] writes; `None` if it is another.
fn metrics_of(section: &Section, line: &str) -> Option<Vec<usize>> {
    let before = format!("{},{BEFORE},", grid::columns(section));
    let names = line.strip_prefix(&before)?.strip_suffix(&format!(",{BEHIND}"))?;
    names.split(',').map(|name| METRICS.iter().position(|metric| *metric == name)).collect()
}

/// All of [`METRICS`].
fn every_metric() -> Vec<usize> {
    (0..METRICS.len()).collect()
}

/// Reads a data file of a section; one that is not there has no rows.
///
/// # Errors
/// If it cannot be read, or a line of it cannot be understood.
pub fn read(section: &'static Section, path: &Path) -> Result<Vec<Row>, ValidationError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(ValidationError::io("read", path))?,
    };
    let damaged = |index: usize| ValidationError::Line { path: path.to_owned(), line: index + 1 };
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    let Some((index, header)) = lines.next() else { return Ok(Vec::new()) };
    let metrics = metrics_of(section, header).ok_or_else(|| damaged(index))?;
    lines.map(|(index, line)| Row::parse(section, &metrics, line).ok_or_else(|| damaged(index))).collect()
}

/// Adds a row; a file that is not there begins with `comment`, each line of it behind a `#`. One that is there keeps
/// the metrics it has.
///
/// # Errors
/// If the file cannot be written.
pub fn append(path: &Path, comment: &str, row: &Row) -> Result<(), ValidationError> {
    let section = row.cell.section;
    let there = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        text => Some(text.map_err(ValidationError::io("read", path))?),
    };
    let metrics = there.as_ref().and_then(|text| text.lines().find_map(|line| metrics_of(section, line)));
    let text = match (there, metrics) {
        (Some(_), Some(metrics)) => row.line(&metrics),
        _ => head(section, comment) + &row.line(&every_metric()),
    };
    // One write: an interrupted program leaves a whole line or none.
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(ValidationError::io("write", path))
}

/// A whole file, sorted by cell and repetition.
pub fn render(section: &Section, comment: &str, rows: &[Row]) -> String {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| (row.cell.number, row.repeat));
    sorted.iter().fold(head(section, comment), |text, row| text + &row.line(&every_metric()))
}

fn head(section: &Section, comment: &str) -> String {
    let comment: String = comment.lines().map(|line| format!("# {line}\n")).collect();
    format!("{comment}{}\n", columns(section, &every_metric()))
}

#[cfg(test)]
mod tests {
    use super::super::section::sections;
    use super::super::testing::row;
    use super::*;

    fn paths() -> &'static Section {
        &sections()[0]
    }

    #[test]
    fn rows_are_read_as_they_were_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        assert_eq!(read(paths(), &path).unwrap(), []);
        let mut rows = vec![row(1, 0, 9.5e9), row(1, 1, 9.25e9)];
        rows[1].values[5] = None;
        for row in &rows {
            append(&path, "made by\nhand", row).unwrap();
        }
        assert_eq!(read(paths(), &path).unwrap(), rows);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# made by\n# hand\ncell,congestion,"), "{text}");
        assert_eq!(text, render(paths(), "made by\nhand", &rows));
    }

    #[test]
    fn a_file_without_a_metric_is_read_and_extended_without_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        let old: Vec<usize> = (0..8).collect();
        let first = row(1, 0, 9.5e9);
        fs::write(&path, format!("{}\n{}", columns(paths(), &old), first.line(&old))).unwrap();
        append(&path, "", &row(1, 1, 9.25e9)).unwrap();
        let rows = read(paths(), &path).unwrap();
        assert_eq!((rows.len(), rows[1].value("goodput_bps")), (2, Some(9.25e9)));
        assert_eq!((rows[0].value("jain_index"), rows[1].value("jain_index")), (None, None));
    }

    #[test]
    fn a_line_that_is_cut_off_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        let whole = render(paths(), "c", &[row(1, 0, 1e9)]);
        fs::write(&path, &whole[..whole.len() - 30]).unwrap();
        let error = read(paths(), &path).unwrap_err().to_string();
        assert!(error.contains("data.csv:3"), "{error}");
    }
}
