//! What runs of the grid gave, as a file: one line a run, appended as runs end.

use super::ValidationError;
use super::collect::Task;
use super::grid::{self, Cell};
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use wirespeed_metrics::evaluate;
use wirespeed_record::Recording;

/// The numbers kept of a run, by the names of their metrics; an empty column where a run does not give one.
pub const METRICS: [&str; 8] = [
    "goodput_bps",
    "cwnd_mean_bytes",
    "rtt_mean_ns",
    "retransmissions_packets",
    "spurious_retransmissions_packets",
    "rto_count",
    "queue_delay_mean_ns",
    "slow_start_exit_ns",
];

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

    /// As a line of the file.
    pub fn line(&self) -> String {
        let mut text = format!("{},{},{},{}", self.cell.columns(), self.repeat, self.seed, self.duration_s);
        for value in self.values {
            text.push(',');
            if let Some(value) = value {
                let _ = write!(text, "{}", (value * 1e3).round() / 1e3);
            }
        }
        let _ = writeln!(text, ",{},{}", self.packets, self.build);
        text
    }

    fn parse(line: &str) -> Option<Row> {
        let columns: Vec<&str> = line.split(',').collect();
        let (cell, rest) = columns.split_at_checked(7)?;
        let [repeat, seed, duration_s, numbers @ .., packets, build] = rest else { return None };
        let numbers: &[&str; METRICS.len()] = numbers.try_into().ok()?;
        let mut values = [None; METRICS.len()];
        for (value, word) in values.iter_mut().zip(numbers) {
            *value = if word.is_empty() { None } else { Some(word.parse().ok()?) };
        }
        Some(Row {
            cell: Cell::parse(cell)?,
            repeat: repeat.parse().ok()?,
            seed: seed.parse().ok()?,
            duration_s: duration_s.parse().ok()?,
            packets: packets.parse().ok()?,
            values,
            build: (*build).into(),
        })
    }
}

/// The line that names the columns.
fn columns() -> String {
    format!("{},repeat,seed,duration_s,{},packets_sent,build", grid::COLUMNS, METRICS.join(","))
}

/// Reads a data file; one that is not there has no rows.
///
/// # Errors
/// If it cannot be read, or a line of it cannot be understood.
pub fn read(path: &Path) -> Result<Vec<Row>, ValidationError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.map_err(ValidationError::io("read", path))?,
    };
    let header = columns();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && *line != header);
    lines
        .map(|(index, line)| {
            let damaged = || ValidationError::Line { path: path.to_owned(), line: index + 1 };
            Row::parse(line).ok_or_else(damaged)
        })
        .collect()
}

/// Adds a row; a file that is not there begins with `comment`, each line of it behind a `#`.
///
/// # Errors
/// If the file cannot be written.
pub fn append(path: &Path, comment: &str, row: &Row) -> Result<(), ValidationError> {
    let mut text = String::new();
    if !path.exists() {
        text = head(comment);
    }
    text.push_str(&row.line());
    // One write: an interrupted program leaves a whole line or none.
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(ValidationError::io("write", path))
}

/// A whole file, sorted by cell and repetition.
pub fn render(comment: &str, rows: &[Row]) -> String {
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| (row.cell.number, row.repeat));
    sorted.iter().fold(head(comment), |text, row| text + &row.line())
}

fn head(comment: &str) -> String {
    let comment: String = comment.lines().map(|line| format!("# {line}\n")).collect();
    format!("{comment}{}\n", columns())
}

#[cfg(test)]
mod tests {
    use super::super::testing::row;
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        assert_eq!(read(&path).unwrap(), []);
        let mut rows = vec![row(1, 0, 9.5e9), row(1, 1, 9.25e9)];
        rows[1].values[5] = None;
        for row in &rows {
            append(&path, "made by\nhand", row).unwrap();
        }
        assert_eq!(read(&path).unwrap(), rows);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# made by\n# hand\ncell,congestion,"), "{text}");
        assert_eq!(text, render("made by\nhand", &rows));
    }

    #[test]
    fn a_line_that_is_cut_off_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        let whole = render("c", &[row(1, 0, 1e9)]);
        fs::write(&path, &whole[..whole.len() - 30]).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("data.csv:3"), "{error}");
    }
}
