//! `wirespeed validate`: the validation grid.

mod found;
mod output;

use super::folder::create;
use super::run::{On, cores, substrate};
use crate::failure::Failure;
use crate::{interrupt, print, tool};
use clap::{Args, ValueEnum};
use found::{Found, write, write_all};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use wirespeed_validation::{
    Cell, Collector, Ended, Row, Section, Task, data, grid, missing, of_data, sections,
};

/// How a section's data file begins.
fn origin(section: &Section) -> String {
    let option =
        if section.folder.is_empty() { String::new() } else { format!(" --section {}", section.name) };
    format!(
        "The real kernel over the validation grid (grid.csv): a line per run, in the order in which the runs ended.\n\
         Made, and to be extended, by: wirespeed validate --on kernel --extend{option}\n\
         The last column names the kernel's build; `wirespeed kernel info` tells what it is."
    )
}

/// Arguments of `wirespeed validate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed validate                                            # every section
  wirespeed validate --section paths --cells 20
  wirespeed validate --section fast --print-cell 7 > cell.toml  # then: wirespeed run cell.toml
  wirespeed validate --on kernel --extend                       # complete the kernel's data")]
pub struct Arguments {
    /// Substrate that the grid runs on.
    #[arg(long, value_enum, value_name = "SUBSTRATE", default_value_t = On::Model)]
    on: On,
    /// Run the cells that the kernel's data lack, and add them to the data file.
    #[arg(long)]
    extend: bool,
    /// Section of the grid, for example sender-interface [default: every section].
    #[arg(long, value_name = "NAME", value_parser = section)]
    section: Option<&'static Section>,
    /// Run only the first N cells of each section; with --extend, make the grid that large [default: all].
    #[arg(long, value_name = "N")]
    cells: Option<usize>,
    /// off: run everything a second time packet by packet, and print how far the results differ [default: off in sections
    /// whose bars need both, else on].
    #[arg(long, value_enum, conflicts_with = "extend")]
    trains: Option<Trains>,
    /// Runs at a time [default: one a core].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Folder of the validation, with kernel.csv, grid.csv and the page of each section.
    #[arg(long, value_name = "DIR", default_value = "docs/validation")]
    data: PathBuf,
    /// Folder for temporary files of the runs.
    #[arg(long, value_name = "DIR", default_value = "wirespeed-out/validation")]
    scratch: PathBuf,
    /// Print the scenario of this cell of --section [default: paths], for `wirespeed run`.
    #[arg(long, alias = "cell", value_name = "N", conflicts_with = "extend")]
    print_cell: Option<usize>,
    /// A part of the option's earlier form, `--cell N --print`.
    #[arg(long, hide = true, requires = "print_cell")]
    print: bool,
    /// Print the comparison as JSON.
    #[arg(long, conflicts_with = "extend")]
    json: bool,
}

/// How the model moves packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Trains {
    /// In segment trains.
    On,
    /// Packet by packet, too.
    Off,
}

/// The section of that name.
fn section(name: &str) -> Result<&'static Section, String> {
    let names = || sections().iter().map(|section| section.name).collect::<Vec<_>>().join(", ");
    Section::named(name).ok_or_else(|| format!("the grid has no such section; give one of {}", names()))
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(number) = arguments.print_cell {
        return show(arguments.section.unwrap_or(&sections()[0]), number);
    }
    create(&arguments.scratch)?;
    if arguments.extend { extend(arguments, arguments.on) } else { compare(arguments, arguments.on) }
}

/// The sections to run.
fn chosen(arguments: &Arguments) -> Vec<&'static Section> {
    arguments.section.map_or_else(|| sections().iter().collect(), |section| vec![section])
}

/// Prints a cell's scenario.
fn show(section: &'static Section, number: usize) -> Result<(), Failure> {
    match grid::generate(section, number).pop() {
        Some(cell) if cell.number as usize == number => print(&cell.scenario().text()),
        _ => Err(Failure::Usage {
            message: format!("section {} has no cell {number}", section.name),
            remedy: format!("give a number from 1 to {}", section.largest_size()),
        }),
    }
}

/// Makes what the data files lack.
fn extend(arguments: &Arguments, on: On) -> Result<(), Failure> {
    if on != On::Kernel {
        return Err(Failure::Usage {
            message: "the data is the kernel's".into(),
            remedy: "give --on kernel with --extend".into(),
        });
    }
    let substrate = substrate(on, &[], &[])?;
    let collector = Collector {
        build: substrate.build(None).unwrap_or_default(),
        substrate: &*substrate,
        scratch: &arguments.scratch,
        jobs: arguments.jobs.unwrap_or_else(cores),
    };
    let (mut failed, mut total) = (0, 0);
    for section in chosen(arguments) {
        let data = section.path(&arguments.data, "kernel.csv");
        create(&arguments.data.join(section.folder))?;
        let cells = cells(section, &section.path(&arguments.data, "grid.csv"), arguments.cells)?;
        let tasks = missing(&cells, &data::read(section, &data)?)?;
        failed += carry_out(&collector, &tasks, |row| Ok(data::append(&data, &origin(section), &row)?))?;
        total += tasks.len();
    }
    outcome(failed, total)
}

/// The grid of the file, or the one asked for, which then is in the file.
fn cells(section: &'static Section, path: &Path, wanted: Option<usize>) -> Result<Vec<Cell>, Failure> {
    let there = if path.exists() { grid::read(section, path)? } else { Vec::new() };
    let count = wanted.unwrap_or(if there.is_empty() { section.committed_size() } else { there.len() });
    let cells = grid::generate(section, count);
    if cells.len() > there.len() {
        write(path, &grid::render(section, &cells))?;
    }
    Ok(cells)
}

/// Runs what the data has, section by section, and says how it agrees.
fn compare(arguments: &Arguments, on: On) -> Result<(), Failure> {
    let substrate = substrate(on, &[], &[])?;
    let collector = Collector {
        build: substrate.build(None).unwrap_or_else(|| match substrate.program() {
            Some(program) => format!("{}+{program}", tool().version),
            None => tool().version,
        }),
        substrate: &*substrate,
        scratch: &arguments.scratch,
        jobs: arguments.jobs.unwrap_or_else(cores),
    };
    let name = substrate.kind();
    // A part of the grid must not pass for the whole, nor the kernel for something else.
    let is_whole = arguments.cells.is_none() && on != On::Kernel;
    let (mut failed, mut total, mut agrees, mut values) = (0, 0, true, Vec::new());
    for section in chosen(arguments) {
        let data = section.path(&arguments.data, "kernel.csv");
        let rows = complete(data::read(section, &data)?, arguments.cells.unwrap_or(usize::MAX))?;
        if rows.is_empty() {
            return Err(Failure::Usage {
                message: format!("{} has no complete cell", data.display()),
                remedy: format!(
                    "make the kernel's data: wirespeed validate --on kernel --extend --section {}",
                    section.name
                ),
            });
        }
        let default = if section.both_modes && on == On::Model { Trains::Off } else { Trains::On };
        let trains = arguments.trains.unwrap_or(default);
        let (model, more) = collect(&collector, section, &rows, &[])?;
        let path = |file: &str| section.path(&arguments.data, file);
        failed += more;
        total += rows.len();
        let mut single = Vec::new();
        if trains == Trains::Off {
            let (found, more) =
                collect(&collector, section, &rows, &[("run.trains".into(), "false".into())])?;
            (single, failed) = (found, failed + more);
        } else if is_whole {
            single = data::read(section, &path(&format!("{name}-without-trains.csv")))?;
        }
        let found = Found::new(section, name, rows, model, single, &arguments.data)?;
        if is_whole {
            found.write_data(&arguments.data, trains == Trains::Off)?;
        }
        agrees &= found.agrees();
        if arguments.json {
            values.push(output::as_json(&found));
        } else {
            print(&output::as_text(&found))?;
        }
    }
    if is_whole {
        write_all(&arguments.data, name)?;
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&values).expect("plain data");
        print(&format!("{text}\n"))?;
    } else if is_whole {
        eprintln!("Page: {}", arguments.data.join("README.md").display());
    }
    outcome(failed, total)?;
    if agrees { Ok(()) } else { Err(Failure::Expectation) }
}

/// The rows of the first cells, without cells of which runs are missing.
fn complete(rows: Vec<Row>, cells: usize) -> Result<Vec<Row>, Failure> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *counts.entry(row.cell.number).or_default() += 1);
    let mut whole = BTreeSet::new();
    for row in &rows {
        let number = row.cell.number;
        if number as usize <= cells
            && !whole.contains(&number)
            && row.cell.runs(&[])?.len() == counts[&number]
        {
            whole.insert(number);
        }
    }
    Ok(rows.into_iter().filter(|row| whole.contains(&row.cell.number)).collect())
}

/// The runs of `rows`, carried out anew, and how many failed.
fn collect(
    collector: &Collector,
    section: &'static Section,
    rows: &[Row],
    overrides: &[(String, String)],
) -> Result<(Vec<Row>, usize), Failure> {
    let mut found = Vec::new();
    let failed = carry_out(collector, &of_data(section, rows, overrides)?, |row| {
        found.push(row);
        Ok(())
    })?;
    Ok((found, failed))
}

/// Carries out tasks with a line on standard error for each; returns how many failed.
fn carry_out(
    collector: &Collector,
    tasks: &[Task],
    mut keep: impl FnMut(Row) -> Result<(), Failure> + Send,
) -> Result<usize, Failure> {
    let (total, begin) = (tasks.iter().map(|task| task.cell.packets(&task.run)).sum::<f64>(), Instant::now());
    if tasks.is_empty() {
        return Ok(0);
    }
    eprintln!("{} runs, about {:.2e} packets at most", tasks.len(), total);
    let (mut count, mut done, mut packets, mut failed) = (0, 0.0, 0, 0);
    collector.carry_out(tasks, interrupt::flag(), |task, ended| {
        count += 1;
        done += task.cell.packets(&task.run);
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
            "[{count}/{}] {} cell {} ({}) r{}: {what}; {:.0} k packets/s, {:.0} min left",
            tasks.len(),
            task.cell.section.name,
            task.cell.number,
            task.cell.title(),
            task.repeat,
            packets as f64 / elapsed / 1e3,
            elapsed * (total - done) / done.max(1.0) / 60.0,
        );
        match ended {
            Ended::Row(row) => keep(*row),
            Ended::Failed(_) => Ok(()),
        }
    })?;
    if interrupt::flag().load(Relaxed) { Err(Failure::Interrupted) } else { Ok(failed) }
}

fn outcome(failed: usize, total: usize) -> Result<(), Failure> {
    if failed > 0 { Err(Failure::Runs { failed, total }) } else { Ok(()) }
}
