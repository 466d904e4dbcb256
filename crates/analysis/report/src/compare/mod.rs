//! Result folders beside each other: the same settings on another substrate, another kernel, with another value.
//!
//! A [`Comparer`] takes the runs of each folder and keeps little of each. Runs belong together if their factors are the
//! same; repeats are averaged, and the difference from the first folder is held against how far repeats scatter. The
//! finished [`Comparison`] is one page, a text for the terminal, and plain data.

mod answer;
mod cells;
mod difference;
mod figures;
mod group;
mod json;
mod ledger;
mod page;
mod settings;
mod side;
mod terminal;
mod worth;

use crate::builder::{POINTS_A_LINE, points_a_line};
use crate::conditions::conditions;
use crate::facts::{Pool, RunFacts};
use crate::figure_file::{FigureFile, Owned, name_files};
use crate::input::RunResult;
use crate::palette::Palette;
use crate::report::{MetricColumn, metric_columns};
use cells::{Cell, Match};
use difference::Verdict;
use ledger::Sheet;
use maud::Markup;
use settings::Setting;
use side::{Side, SideRun};
use std::borrow::Cow;
use wirespeed_record::StoreError;

/// Shown besides what every table of runs shows: that which says why a goodput is what it is.
const ALSO: [&str; 2] = ["rtt_mean_ns", "cwnd_mean_bytes"];

/// Collects the runs of the folders to compare.
#[derive(Debug)]
pub struct Comparer {
    generated_by: String,
    command: String,
    sides: Vec<Side>,
    /// Parts that several runs share.
    pool: Pool,
}

impl Comparer {
    /// For a comparison that `command` repeats, made by the program `generated_by`.
    pub fn new(generated_by: impl Into<String>, command: impl Into<String>) -> Self {
        Comparer {
            generated_by: generated_by.into(),
            command: command.into(),
            sides: Vec::new(),
            pool: Pool::default(),
        }
    }

    /// Begins a folder: what is added from here on is in it. The first one is what the others are compared with.
    pub fn folder(&mut self, path: impl Into<String>) {
        self.sides.push(Side { path: path.into(), ..Side::default() });
    }

    /// Adds a complete run of the present folder; its recording may go afterwards.
    ///
    /// # Errors
    /// If its samples are on disk and cannot be read; then it is not added.
    pub fn add(&mut self, run: RunResult, directory: impl Into<String>) -> Result<(), StoreError> {
        let run = SideRun::new(run, directory.into(), POINTS_A_LINE, &mut self.pool)?;
        self.present().runs.push(run);
        Ok(())
    }

    /// Notes a run of the present folder that did not finish, and why.
    pub fn add_incomplete(&mut self, id: impl Into<String>, reason: impl Into<String>) {
        self.present().incomplete.push((id.into(), reason.into()));
    }

    fn present(&mut self) -> &mut Side {
        if self.sides.is_empty() {
            self.folder("");
        }
        self.sides.last_mut().expect("there is one now")
    }

    /// The comparison of all that was added. `metrics`: which to show, in this order; none for the main ones.
    pub fn finish(mut self, metrics: &[String]) -> Comparison {
        if self.sides.is_empty() {
            self.folder("");
        }
        side::name_all(&mut self.sides);
        let cells = cells::cells(&self.sides);
        let matches = cells::matches(&self.sides, &cells);
        let drawn = matches.iter().flat_map(|m| m.runs.iter().enumerate());
        let weight =
            drawn.filter_map(|(side, run)| Some(self.sides[side].runs[(*run)?].lines.weight())).sum();
        if let Some(limit) = points_a_line(weight) {
            for run in self.sides.iter_mut().flat_map(|side| &mut side.runs) {
                run.lines = std::mem::take(&mut run.lines).thinned(limit);
            }
        }
        let settings = settings::differing(&self.sides, &matches);
        let columns = columns(&self.sides, &cells, metrics);
        let Comparer { generated_by, command, sides, .. } = self;
        let palette = figures::palette(&sides);
        Comparison { generated_by, command, sides, cells, matches, columns, settings, palette }
    }
}

/// Metrics of the matched runs: those asked for, or the main ones, first and as headlines.
fn columns(sides: &[Side], cells: &[Cell], wanted: &[String]) -> Vec<MetricColumn> {
    let matched = cells.iter().filter(|cell| cell.is_matched());
    let runs = matched.flat_map(|cell| (0..sides.len()).flat_map(|side| cell.of(sides, side)));
    let mut columns = metric_columns(runs.map(|run| &run.digest));
    for column in &mut columns {
        column.headline = match wanted {
            [] => column.headline || ALSO.contains(&column.name.as_str()),
            names => names.contains(&column.name),
        };
    }
    let place = |column: &MetricColumn| wanted.iter().position(|name| *name == column.name);
    columns.sort_by_key(|column| (!column.headline, place(column)));
    columns
}

/// Several folders of results, matched.
#[derive(Debug)]
pub struct Comparison {
    generated_by: String,
    command: String,
    sides: Vec<Side>,
    cells: Vec<Cell>,
    matches: Vec<Match>,
    /// Headlines first.
    columns: Vec<MetricColumn>,
    settings: Vec<Setting>,
    palette: Palette,
}

impl Comparison {
    /// One page that needs nothing else: no network, no other file.
    pub fn html(&self) -> String {
        page::page(self, &Markup::default())
    }

    /// The same with `above` over it, such as the links of a program that serves it.
    pub fn html_below(&self, above: &Markup) -> String {
        page::page(self, above)
    }

    /// Every figure of the page, to be written as a file: first the one over all settings, then those of each matched run.
    pub fn figure_files(&self) -> Vec<FigureFile<'_>> {
        let matched: Vec<&RunFacts> = self.matches.iter().flat_map(|matched| self.infos(matched)).collect();
        let across = figures::across(self).into_iter().map(|figure| Owned {
            owner: "compare".into(),
            figure: Cow::Owned(figure),
            conditions: conditions(&matched),
        });
        let of_runs = self.matches.iter().flat_map(|matched| {
            let owner = format!("compare-{}-r{}", self.cells[matched.cell].name, matched.repeat);
            let line = conditions(&self.infos(matched).collect::<Vec<_>>());
            figures::of_match(&self.sides, matched).into_iter().map(move |figure| Owned {
                owner: owner.clone().into(),
                figure: Cow::Owned(figure),
                conditions: line.clone(),
            })
        });
        name_files(across.chain(of_runs), &self.palette)
    }

    /// The answer, the table and what one has to know, at most `width` columns (at least 40 are used).
    /// `colour`: with ANSI colours; nothing is said by colour alone.
    pub fn terminal(&self, width: usize, colour: bool) -> String {
        terminal::text(self, width, colour)
    }

    /// Everything, as data.
    pub fn json(&self) -> serde_json::Value {
        json::value(self)
    }

    /// Why nothing can be compared, if so: no combination of factors of the first folder is in another one.
    pub fn mismatch(&self) -> Option<String> {
        answer::mismatch(self)
    }

    /// What speaks against the comparison without forbidding it, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        answer::warnings(self)
    }

    /// Settings and main metrics of the second folder that differ from the first by more than repeats explain. `None` if no
    /// difference could be tested: that needs two observations of a setting in each folder.
    pub fn different(&self) -> Option<Vec<(String, String)>> {
        let (mut different, mut is_tested) = (Vec::new(), false);
        for cell in self.matched() {
            for column in self.headlines() {
                let spreads = cell.spreads(&self.sides, &column.name);
                for difference in Cell::differences(&spreads).into_iter().flatten() {
                    let verdict = difference.verdict();
                    is_tested |= verdict != Verdict::Untested;
                    if verdict == Verdict::Different {
                        different.push((cell.name.clone(), column.name.clone()));
                    }
                }
            }
        }
        is_tested.then_some(different)
    }

    /// The runs that lie over each other.
    fn infos(&self, matched: &Match) -> impl Iterator<Item = &RunFacts> {
        let runs = self.sides.iter().zip(matched.runs.clone());
        runs.filter_map(|(side, run)| Some(&side.runs[run?].digest.info))
    }

    fn matched(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.is_matched())
    }

    /// The metrics of the short table.
    fn headlines(&self) -> impl Iterator<Item = &MetricColumn> {
        // If a recording has none of them, there is no short table.
        let has_headline = self.columns.iter().any(|column| column.headline);
        self.columns.iter().filter(move |column| column.headline || !has_headline)
    }

    /// The metric by which the folders are compared in a sentence: the first asked for, or the first there is.
    fn leading(&self) -> Option<&MetricColumn> {
        self.headlines().next()
    }

    /// The ledgers of some runs, given by folder.
    fn sheets<'a>(&'a self, runs: impl Fn(usize) -> Vec<&'a SideRun>) -> Vec<Sheet> {
        let accounts = |side| runs(side).into_iter().map(|run| &*run.digest.accounts).collect();
        ledger::sheets(&(0..self.sides.len()).map(accounts).collect::<Vec<Vec<_>>>())
    }
}
