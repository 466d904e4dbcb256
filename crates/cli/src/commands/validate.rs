//! `wirespeed validate`: the validation grid.

use super::run::{On, cores, create, substrate};
use crate::failure::Failure;
use crate::{interrupt, print};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use wirespeed_campaign::validation::{Cell, Collector, Ended, Row, Task, data, grid, missing};
use wirespeed_record::replace_file;

/// How the data file begins.
const ORIGIN: &str = "\
The real kernel over the validation grid (grid.csv): a line per run, in the order in which the runs ended.
Made, and to be extended, by: wirespeed validate --on kernel --extend
The last column names the kernel's build; `wirespeed kernel info` tells what it is.";

/// Arguments of `wirespeed validate`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// What to run the grid on [default: model].
    #[arg(long, value_enum)]
    on: Option<On>,
    /// Make the kernel's data: carry out what the data file does not have and add it there.
    #[arg(long)]
    extend: bool,
    /// How many cells of the grid [default: as many as it has].
    #[arg(long, value_name = "N")]
    cells: Option<usize>,
    /// Runs at a time [default: as many as there are cores].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// The kernel's data; the grid and the page are in its folder.
    #[arg(long, value_name = "FILE", default_value = "docs/validation/kernel.csv")]
    data: PathBuf,
    /// Folder for runs while they go on.
    #[arg(long, value_name = "DIR", default_value = "wirespeed-out/validation")]
    scratch: PathBuf,
    /// This cell only; with --print.
    #[arg(long, value_name = "N", requires = "print", conflicts_with = "extend")]
    cell: Option<usize>,
    /// Print the scenario of --cell, to be run with `wirespeed run`.
    #[arg(long, requires = "cell")]
    print: bool,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(number) = arguments.cell {
        return show(number);
    }
    let on = arguments.on.map_or_else(model, Ok)?;
    if arguments.extend { extend(arguments, on) } else { Ok(()) }
}

/// The model, if this program has one.
fn model() -> Result<On, Failure> {
    On::from_str("model", false).map_err(|_| Failure::Usage {
        message: "this program has no model to compare with the kernel".into(),
        remedy: "give --on kernel to compare the kernel with its own data".into(),
    })
}

/// Prints a cell's scenario.
fn show(number: usize) -> Result<(), Failure> {
    match grid::generate(number).pop() {
        Some(cell) if cell.number as usize == number => print(&cell.scenario()),
        _ => Err(Failure::Usage {
            message: format!("the grid has no cell {number}"),
            remedy: format!("give a number from 1 to {}", grid::largest_size()),
        }),
    }
}

/// Makes what the data file lacks.
fn extend(arguments: &Arguments, on: On) -> Result<(), Failure> {
    if on != On::Kernel {
        return Err(Failure::Usage {
            message: "the data is the kernel's".into(),
            remedy: "give --on kernel with --extend".into(),
        });
    }
    let substrate = substrate(on, &[])?;
    let folder = arguments.data.parent().unwrap_or(Path::new("."));
    create(folder)?;
    let cells = cells(&folder.join("grid.csv"), arguments.cells)?;
    let tasks = missing(&cells, &data::read(&arguments.data)?, &[])?;
    let build = substrate.build().unwrap_or_default();
    let collector = Collector {
        substrate: &*substrate,
        build,
        scratch: &arguments.scratch,
        jobs: arguments.jobs.unwrap_or_else(cores),
    };
    create(&arguments.scratch)?;
    carry_out(&collector, &tasks, |row| Ok(data::append(&arguments.data, ORIGIN, row)?))
}

/// The grid of the file, or the one asked for, which then is in the file.
fn cells(path: &Path, wanted: Option<usize>) -> Result<Vec<Cell>, Failure> {
    let there = if path.exists() { grid::read(path)? } else { Vec::new() };
    let count = wanted.unwrap_or(if there.is_empty() { grid::committed_size() } else { there.len() });
    let cells = grid::generate(count);
    if cells.len() > there.len() {
        replace_file(path, grid::render(&cells).as_bytes())
            .map_err(|source| Failure::Output { what: path.display().to_string(), source })?;
    }
    Ok(cells)
}

/// Carries out tasks with a line on standard error for each.
fn carry_out(
    collector: &Collector,
    tasks: &[Task],
    mut keep: impl FnMut(&Row) -> Result<(), Failure> + Send,
) -> Result<(), Failure> {
    let estimate = |tasks: &[Task]| tasks.iter().map(|task| task.cell.packets()).sum::<f64>();
    let (total, begin) = (estimate(tasks), Instant::now());
    eprintln!("{} runs, about {:.2e} packets at most", tasks.len(), total);
    let (mut count, mut done, mut packets, mut failed) = (0, 0.0, 0, 0);
    collector.carry_out(tasks, interrupt::flag(), |task, ended| {
        count += 1;
        done += task.cell.packets();
        let what = match &ended {
            Ended::Row(row) => {
                packets += row.packets;
                format!("{:.3} Gbit/s", row.value("goodput_bps").unwrap_or(f64::NAN) / 1e9)
            }
            Ended::Failed(error) => {
                failed += 1;
                format!("failed: {error}")
            }
        };
        let elapsed = begin.elapsed().as_secs_f64();
        eprintln!(
            "[{count}/{}] cell {} ({}) r{}: {what}; {:.0} k packets/s, {:.0} min left",
            tasks.len(),
            task.cell.number,
            task.cell.title(),
            task.repeat,
            packets as f64 / elapsed / 1e3,
            elapsed * (total - done) / done.max(1.0) / 60.0,
        );
        match ended {
            Ended::Row(row) => keep(&row),
            Ended::Failed(_) => Ok(()),
        }
    })?;
    if interrupt::flag().load(Relaxed) {
        Err(Failure::Interrupted)
    } else if failed > 0 {
        Err(Failure::Runs { failed, total: tasks.len() })
    } else {
        Ok(())
    }
}
