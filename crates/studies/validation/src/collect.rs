//! Carries out runs of the grid and keeps of each a line.

use super::ValidationError;
use super::cell::Cell;
use super::data::Row;
use super::grid::generate;
use super::section::Section;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use wirespeed_record::RunDirectory;
use wirespeed_scenario::Run;
use wirespeed_substrates::{Control, Substrate, SubstrateError};

/// A run of a cell.
#[derive(Debug, Clone)]
pub struct Task {
    /// The cell.
    pub cell: Cell,
    /// Which of the cell's runs, from 0.
    pub repeat: u32,
    /// The run.
    pub run: Run,
}

/// What became of a task.
#[derive(Debug)]
pub enum Ended {
    /// It was carried out.
    Row(Box<Row>),
    /// It could not be.
    Failed(SubstrateError),
}

/// Every run of `cells` that `rows` do not have, cell by cell.
///
/// # Errors
/// If a row is not of the grid's cell of its number, or a cell is no scenario.
pub fn missing(cells: &[Cell], rows: &[Row]) -> Result<Vec<Task>, ValidationError> {
    Ok(tasks(cells, rows, &[])?.into_iter().filter(|(_, is_there)| !is_there).map(|(task, _)| task).collect())
}

/// Every run that `rows` of a section have, to be carried out elsewhere with settings of its scenario changed by `overrides`, as
/// `--set` does.
///
/// # Errors
/// As [`missing`].
pub fn of_data(
    section: &'static Section,
    rows: &[Row],
    overrides: &[(String, String)],
) -> Result<Vec<Task>, ValidationError> {
    let last = rows.iter().map(|row| row.cell.number).max().unwrap_or(0);
    let all = tasks(&generate(section, last as usize), rows, overrides)?;
    Ok(all.into_iter().filter(|(_, is_there)| *is_there).map(|(task, _)| task).collect())
}

/// Every run of `cells`, and whether `rows` have it.
fn tasks(
    cells: &[Cell],
    rows: &[Row],
    overrides: &[(String, String)],
) -> Result<Vec<(Task, bool)>, ValidationError> {
    let mut tasks = Vec::new();
    for cell in cells {
        let there: Vec<&Row> = rows.iter().filter(|row| row.cell.number == cell.number).collect();
        let mut known = 0;
        for (repeat, run) in (0..).zip(cell.runs(overrides)?) {
            let is_same = |row: &&Row| {
                row.repeat == repeat
                    && row.cell == *cell
                    && row.seed == run.seed
                    && row.duration_s == run.duration.nanoseconds() as f64 / 1e9
            };
            let is_there = there.iter().any(is_same);
            known += usize::from(is_there);
            tasks.push((Task { cell: cell.clone(), repeat, run }, is_there));
        }
        if known != there.len() {
            return Err(ValidationError::OtherCell { section: cell.section.name, cell: cell.number });
        }
    }
    Ok(tasks)
}

/// Carries out tasks in their order, `jobs` at a time.
pub struct Collector<'a> {
    /// What carries them out.
    pub substrate: &'a dyn Substrate,
    /// What its rows are marked with.
    pub build: String,
    /// Runs are written below this folder while they go on, and removed when they have been reduced.
    pub scratch: &'a Path,
    /// How many at a time, at least one.
    pub jobs: usize,
}

impl Collector<'_> {
    /// Calls `ended` for every task that has ended, one at a time; an error of its own stops everything, as setting
    /// `cancel` does. Tasks that were under way then are not reported.
    ///
    /// # Errors
    /// The first error of `ended`.
    pub fn carry_out<E: Send>(
        &self,
        tasks: &[Task],
        cancel: &AtomicBool,
        ended: impl FnMut(&Task, Ended) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let queue = Mutex::new((tasks.iter().enumerate(), ended, None));
        thread::scope(|scope| {
            for _ in 0..self.jobs.clamp(1, tasks.len().max(1)) {
                scope.spawn(|| {
                    loop {
                        let next = {
                            let mut queue = queue.lock().expect("no worker panics");
                            if queue.2.is_some() || cancel.load(Relaxed) { None } else { queue.0.next() }
                        };
                        let Some((index, task)) = next else { return };
                        let end = match self.one(index, task, cancel) {
                            Ok(row) => Ended::Row(Box::new(row)),
                            Err(SubstrateError::Interrupted) => return,
                            Err(error) => Ended::Failed(error),
                        };
                        let mut queue = queue.lock().expect("no worker panics");
                        if queue.2.is_none() {
                            queue.2 = (queue.1)(task, end).err();
                        }
                    }
                });
            }
        });
        let (_, _, error) = queue.into_inner().expect("no worker panics");
        error.map_or(Ok(()), Err)
    }

    fn one(&self, index: usize, task: &Task, cancel: &AtomicBool) -> Result<Row, SubstrateError> {
        let path = self.scratch.join(format!("run-{index}"));
        let directory = RunDirectory::create(&path)?;
        let control = Control { cancel, progress: &|_| () };
        // A substrate may have written its tables itself: the whole recording is what is in the folder.
        let result = self.substrate.carry_out(&task.run, &directory, &control).and_then(|recording| {
            directory.finish(&recording)?;
            Ok(wirespeed_record::read(&path)?)
        });
        // What a failed run left tells why; that the rest cannot be removed harms no result.
        if matches!(result, Ok(_) | Err(SubstrateError::Interrupted)) {
            let _ = fs::remove_dir_all(&path);
        }
        Ok(Row::reduce(task, &result?, &self.build))
    }
}

#[cfg(test)]
mod tests {
    use super::super::data;
    use super::super::section::sections;
    use super::super::testing::Fake;
    use super::*;

    fn paths() -> &'static Section {
        &sections()[0]
    }

    fn collect(fake: &Fake, tasks: &[Task], stop_after: usize) -> Vec<Row> {
        let scratch = tempfile::tempdir().unwrap();
        let collector = Collector { substrate: fake, build: "fake".into(), scratch: scratch.path(), jobs: 1 };
        let (mut rows, cancel) = (Vec::new(), AtomicBool::new(false));
        let result: Result<(), ()> = collector.carry_out(tasks, &cancel, |_, end| {
            if let Ended::Row(row) = end {
                rows.push(*row);
            }
            cancel.store(rows.len() == stop_after, Relaxed);
            Ok(())
        });
        result.unwrap();
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "runs are removed");
        rows
    }

    #[test]
    fn an_interrupted_collection_goes_on_where_it_stopped() {
        let (cells, fake) = (generate(paths(), 3), Fake::default());
        let whole = missing(&cells, &[]).unwrap();
        assert_eq!(whole.len(), 9);
        let mut rows = collect(&fake, &whole, 4);
        assert_eq!(rows.len(), 4);
        let rest = missing(&cells, &rows).unwrap();
        assert_eq!(rest.len(), 5);
        rows.extend(collect(&fake, &rest, usize::MAX));
        assert_eq!(fake.count(), 9);
        assert_eq!(
            data::render(paths(), "", &rows),
            data::render(paths(), "", &collect(&fake, &whole, usize::MAX))
        );
        assert!(missing(&cells, &rows).unwrap().is_empty());
        assert_eq!(of_data(paths(), &rows[..4], &[]).unwrap().len(), 4);
    }

    #[test]
    fn rows_of_another_grid_are_refused() {
        let cells = generate(paths(), 2);
        let mut rows = collect(&Fake::default(), &missing(&cells, &[]).unwrap(), 1);
        let right = rows.clone();
        rows[0].cell.values[5] = "7".into();
        assert!(matches!(missing(&cells, &rows), Err(ValidationError::OtherCell { cell: 1, .. })));
        rows = right;
        rows[0].seed += 1;
        assert!(matches!(of_data(paths(), &rows, &[]), Err(ValidationError::OtherCell { cell: 1, .. })));
    }

    #[test]
    fn an_error_of_the_receiver_stops_everything() {
        let (cells, fake) = (generate(paths(), 3), Fake::default());
        let scratch = tempfile::tempdir().unwrap();
        let collector =
            Collector { substrate: &fake, build: String::new(), scratch: scratch.path(), jobs: 1 };
        let tasks = missing(&cells, &[]).unwrap();
        let result = collector.carry_out(&tasks, &AtomicBool::new(false), |_, _| Err("full"));
        assert_eq!((result, fake.count()), (Err("full"), 1));
    }
}
