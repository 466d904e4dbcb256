//! `wirespeed validate`: the validation grid.

use super::run::{On, cores, create, substrate};
use crate::failure::Failure;
use crate::{interrupt, print, tool};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use wirespeed_campaign::validation::compare::Compared;
use wirespeed_campaign::validation::{
    Causes, Cell, Collector, Comparison, Ended, Page, QUANTITIES, Row, Task, data, distances, grid, missing,
    of_data, other_programs, page, pages, scatter,
};
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
    /// The first N cells of the grid only; with --extend, make the grid that large. [default: as many as there are]
    #[arg(long, value_name = "N")]
    cells: Option<usize>,
    /// off: run everything a second time with trains of one packet, and show how far the results differ.
    #[arg(long, value_enum, default_value_t = Trains::On, conflicts_with = "extend")]
    trains: Trains,
    /// Runs at a time [default: as many as there are cores].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// The kernel's data; the grid and the page are in its folder.
    #[arg(long, value_name = "FILE", default_value = "docs/validation/kernel.csv")]
    data: PathBuf,
    /// Folder for runs while they go on.
    #[arg(long, value_name = "DIR", default_value = "wirespeed-out/validation")]
    scratch: PathBuf,
    /// Print the scenario of this cell, to be run with `wirespeed run`; needs --print.
    #[arg(long, value_name = "N", requires = "print", conflicts_with = "extend")]
    cell: Option<usize>,
    /// Print the scenario of --cell.
    #[arg(long, requires = "cell")]
    print: bool,
    /// Print the comparison as JSON.
    #[arg(long, conflicts_with = "extend")]
    json: bool,
}

/// How the model moves packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Trains {
    /// In trains.
    On,
    /// One by one, too.
    Off,
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(number) = arguments.cell {
        return show(number);
    }
    let on = arguments.on.map_or_else(model, Ok)?;
    create(&arguments.scratch)?;
    if arguments.extend { extend(arguments, on) } else { compare(arguments, on) }
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
    let folder = folder(arguments);
    create(folder)?;
    let cells = cells(&folder.join("grid.csv"), arguments.cells)?;
    let tasks = missing(&cells, &data::read(&arguments.data)?)?;
    let collector = Collector {
        build: substrate.build().unwrap_or_default(),
        substrate: &*substrate,
        scratch: &arguments.scratch,
        jobs: arguments.jobs.unwrap_or_else(cores),
    };
    let failed = carry_out(&collector, &tasks, |row| Ok(data::append(&arguments.data, ORIGIN, &row)?))?;
    outcome(failed, tasks.len())
}

/// Where the grid and the page are.
fn folder(arguments: &Arguments) -> &Path {
    match arguments.data.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The grid of the file, or the one asked for, which then is in the file.
fn cells(path: &Path, wanted: Option<usize>) -> Result<Vec<Cell>, Failure> {
    let there = if path.exists() { grid::read(path)? } else { Vec::new() };
    let count = wanted.unwrap_or(if there.is_empty() { grid::committed_size() } else { there.len() });
    let cells = grid::generate(count);
    if cells.len() > there.len() {
        write(path, &grid::render(&cells))?;
    }
    Ok(cells)
}

/// Runs what the data has, and says how it agrees.
fn compare(arguments: &Arguments, on: On) -> Result<(), Failure> {
    let rows = complete(data::read(&arguments.data)?, arguments.cells.unwrap_or(usize::MAX));
    if rows.is_empty() {
        return Err(Failure::Usage {
            message: format!("{} has no complete cell", arguments.data.display()),
            remedy: "make the kernel's data: wirespeed validate --on kernel --extend".into(),
        });
    }
    let substrate = substrate(on, &[])?;
    let collector = Collector {
        build: substrate.build().unwrap_or_else(|| match substrate.program() {
            Some(program) => format!("{}+{program}", tool().version),
            None => tool().version,
        }),
        substrate: &*substrate,
        scratch: &arguments.scratch,
        jobs: arguments.jobs.unwrap_or_else(cores),
    };
    let name = substrate.name();
    let own = folder(arguments).join(format!("{name}.csv"));
    let without = folder(arguments).join(format!("{name}-without-trains.csv"));
    // A part of the grid must not pass for the whole, nor the kernel for something else.
    let is_whole = arguments.cells.is_none() && on != On::Kernel;

    let (model, mut failed) = collect(&collector, &rows, &[])?;
    let mut single = if is_whole { data::read(&without)? } else { Vec::new() };
    if arguments.trains == Trains::Off {
        let (found, more) = collect(&collector, &rows, &[("run.trains".into(), "false".into())])?;
        (single, failed) = (found, failed + more);
    }
    let comparison = Comparison::new(&rows, &model);
    let trains = if single.is_empty() { Vec::new() } else { distances(&single, &model) };
    let programs = other_programs(&model, &single);
    if let Some(difference) = &programs {
        eprintln!("warning: {}: {difference}", without.display());
    }
    let causes = Causes::read(&folder(arguments).join("causes.toml"))?;
    if is_whole {
        let comment = |how: &str| {
            format!("Substrate {name} over the validation grid. Made by: wirespeed validate{how}")
        };
        write(&own, &data::render(&comment(""), &model))?;
        if arguments.trains == Trains::Off {
            write(&without, &data::render(&comment(" --trains off"), &single))?;
        }
        let builds: BTreeSet<String> = rows.iter().map(|row| row.build.clone()).collect();
        let builds: Vec<String> = builds.into_iter().collect();
        let page = Page {
            other: name,
            comparison: &comparison,
            causes: &causes,
            trains: &trains,
            builds: &builds,
            programs: programs.as_deref(),
        };
        for (index, quantity) in QUANTITIES.iter().enumerate() {
            let plot = scatter::plot(&comparison, index, name);
            write(&folder(arguments).join(page::plot_name(quantity)), &plot)?;
        }
        write(&folder(arguments).join("README.md"), &page.render())?;
        if on == On::Model {
            write_pages(folder(arguments), &comparison, &causes)?;
        }
    }
    if arguments.json {
        let text = serde_json::to_string_pretty(&as_json(name, &comparison, &causes)).expect("plain data");
        print(&format!("{text}\n"))?;
    } else {
        print(&as_text(&comparison))?;
        if is_whole {
            eprintln!("Page: {}", folder(arguments).join("README.md").display());
        }
    }
    outcome(failed, rows.len())?;
    if comparison.agrees() { Ok(()) } else { Err(Failure::Expectation) }
}

/// Puts into the pages of the congestion controls what was found of each.
fn write_pages(validation: &Path, comparison: &Comparison, causes: &Causes) -> Result<(), Failure> {
    let Some(folder) = pages::folder(validation) else { return Ok(()) };
    for control in &comparison.controls {
        let path = folder.join(format!("{}.md", control.name));
        let Ok(page) = std::fs::read_to_string(&path) else { continue };
        let section = pages::section(&control.name, "model", comparison, causes);
        if let Some(text) = section.and_then(|section| pages::put(&page, &section)) {
            write(&path, &text)?;
        }
    }
    Ok(())
}

/// The rows of the first cells, without cells of which runs are missing.
fn complete(rows: Vec<Row>, cells: usize) -> Vec<Row> {
    let wanted = wirespeed_campaign::validation::cell::STAGGERS_MS.len();
    let count = |row: &Row| rows.iter().filter(|other| other.cell.number == row.cell.number).count();
    let keep = rows.iter().filter(|row| row.cell.number as usize <= cells && count(row) == wanted);
    keep.cloned().collect()
}

/// The runs of `rows`, carried out anew, and how many failed.
fn collect(
    collector: &Collector,
    rows: &[Row],
    overrides: &[(String, String)],
) -> Result<(Vec<Row>, usize), Failure> {
    let mut found = Vec::new();
    let failed = carry_out(collector, &of_data(rows, overrides)?, |row| {
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
    let (total, begin) = (tasks.iter().map(|task| task.cell.packets()).sum::<f64>(), Instant::now());
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
            Ended::Row(row) => keep(*row),
            Ended::Failed(_) => Ok(()),
        }
    })?;
    if interrupt::flag().load(Relaxed) { Err(Failure::Interrupted) } else { Ok(failed) }
}

fn outcome(failed: usize, total: usize) -> Result<(), Failure> {
    if failed > 0 { Err(Failure::Runs { failed, total }) } else { Ok(()) }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    replace_file(path, text.as_bytes())
        .map_err(|source| Failure::Output { what: path.display().to_string(), source })
}

/// What is asked, what was found, and what disagrees.
fn as_text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for cell in comparison.outside() {
        text.push_str(&format!(
            "cell {:>3}  {:+6.1} %  {}\n",
            cell.cell.number,
            cell.error() * 100.0,
            cell.cell.title()
        ));
    }
    for criterion in comparison.criteria() {
        let verdict = if criterion.is_met { "met    " } else { "NOT met" };
        text.push_str(&format!("{verdict}  {}: {}\n", criterion.asked, criterion.found));
    }
    text
}

fn as_json(other: &str, comparison: &Comparison, causes: &Causes) -> Value {
    let cell = |c: &Compared| {
        let pairs: serde_json::Map<String, Value> = QUANTITIES
            .iter()
            .zip(c.pairs)
            .filter_map(|(quantity, pair)| {
                let pair = pair?;
                let side = |e: wirespeed_campaign::validation::statistics::Estimate| {
                    json!({ "mean": e.mean, "half_width": e.half_width })
                };
                let both = json!({
                    "kernel": side(pair.kernel), "other": side(pair.other), "error_ratio": pair.error()
                });
                Some((quantity.metric.to_owned(), both))
            })
            .collect();
        json!({
            "cell": c.cell.number, "title": c.cell.title(), "agrees": c.agrees(),
            "cause": causes.of(c.cell.number), "metrics": pairs,
        })
    };
    json!({
        "substrate": other,
        "agrees": comparison.agrees(),
        "criteria": comparison.criteria().iter().map(|c| json!({
            "asked": c.asked, "found": c.found, "met": c.is_met,
        })).collect::<Vec<_>>(),
        "controls": comparison.controls.iter().map(|s| json!({
            "name": s.name, "cells": s.cells, "outside": s.outside,
            "median_error_ratio": s.median_errors[0],
        })).collect::<Vec<_>>(),
        "cells": comparison.cells.iter().map(cell).collect::<Vec<_>>(),
    })
}
