//! The finished report, in its three forms.

use crate::conditions::conditions;
use crate::digest::RunDigest;
use crate::figure::Figure;
use crate::figure_file::{FigureFile, Owned, name_files};
use crate::figures::requested;
use crate::harm::{self, Harm};
use crate::input::StudyInfo;
use crate::palette::Palette;
use crate::svg::{self, Medium, Setting};
use crate::sweep::{self, LevelComparison};
use crate::{answer, html, terminal};
use maud::Markup;
use std::borrow::Cow;
use std::collections::BTreeSet;
use wirespeed_scenario::FigureRequest;

/// A report over the runs of a study.
#[derive(Debug)]
pub struct Report {
    pub(crate) study: StudyInfo,
    pub(crate) runs: Vec<RunDigest>,
    /// Id and reason.
    pub(crate) incomplete: Vec<(String, String)>,
    pub(crate) palette: Palette,
    /// Across runs.
    pub(crate) figures: Vec<Figure>,
}

impl Report {
    /// One page that needs nothing else: no network, no other file.
    pub fn html(&self) -> String {
        html::page(self, &Markup::default())
    }

    /// The same with `above` over it, such as the links of a program that serves it.
    pub fn html_below(&self, above: &Markup) -> String {
        html::page(self, above)
    }

    /// The figures that `request` asks for, on a page with `above` over them. A request for which the runs have no data gives a
    /// sentence with the reason.
    pub fn figure_page(&self, request: &FigureRequest, above: &Markup) -> String {
        html::figures_page(self, &requested(&self.runs, request), above)
    }

    /// The same figures as SVG, one for each panel; those without data are left out.
    pub fn figure_svgs(&self, request: &FigureRequest) -> Vec<String> {
        let figures = requested(&self.runs, request);
        let drawn = figures.iter().filter(|figure| figure.is_drawn());
        let setting =
            Setting { palette: &self.palette, medium: Medium::Screen, conditions: &self.conditions() };
        drawn.map(|figure| svg::render(figure, setting)).collect()
    }

    /// Every figure that has something to draw, to be written as a file: first those over all runs, then those of each run.
    pub fn figure_files(&self) -> Vec<FigureFile<'_>> {
        let all = self.conditions();
        let across = self.figures.iter().map(move |figure| ("study", figure, all.clone()));
        let of_runs = self.runs.iter().flat_map(|run| {
            let line = conditions(&[&run.info]);
            run.figures.iter().map(move |figure| (&*run.info.id, figure, line.clone()))
        });
        let owned = across.chain(of_runs).map(|(owner, figure, conditions)| Owned {
            owner: owner.into(),
            figure: Cow::Borrowed(figure),
            conditions,
        });
        name_files(owned, &self.palette)
    }

    /// The conditions that all runs have in common.
    fn conditions(&self) -> String {
        conditions(&self.runs.iter().map(|run| &run.info).collect::<Vec<_>>())
    }

    /// The same as (file name, SVG for a browser).
    pub fn svgs(&self) -> Vec<(String, String)> {
        self.figure_files().iter().map(|file| (format!("{}.svg", file.name()), file.svg())).collect()
    }

    /// The table for a terminal, at most `width` columns (at least 40 are used), and below it what one has to know.
    /// `colour`: with ANSI colours; nothing is said by colour alone.
    pub fn terminal(&self, width: usize, colour: bool) -> String {
        terminal::table(self, width, colour)
    }

    /// The answer in sentences, as the page and the terminal have it.
    pub fn answer(&self) -> Vec<String> {
        answer::sentences(self)
    }

    /// The mean of every metric in every setting, as CSV: a row for each, in the order of the runs. Metrics of groups of flows
    /// (`group.LABEL.METRIC`) follow those of the run. The first columns are the
    /// factors by their keys. Then follow `metric`, `unit`, `n` (observations), `mean`, `low` and `high` (95 % interval, with
    /// its `method`; empty with fewer than two observations), `least`, `largest` and `outliers` (names of runs, separated by
    /// `;`). Numbers are in `unit`, with all their digits.
    pub fn means_csv(&self) -> String {
        sweep::means::csv(self)
    }

    /// The levels of each factor with all else equal, by the leading metric: goodput, or throughput without it. Factor by factor,
    /// first over all settings of the other factors, then by setting.
    pub fn comparisons(&self) -> Vec<LevelComparison> {
        sweep::comparisons(self)
    }

    /// The harm to each group of flows in each setting that has runs of the group alone (`run.only`).
    pub fn harm(&self) -> Vec<Harm> {
        harm::all(&self.runs)
    }

    /// The runs with figures, ledgers and events, in their order.
    pub(crate) fn detailed(&self) -> impl Iterator<Item = &RunDigest> {
        self.runs.iter().filter(|run| run.is_detailed)
    }

    /// Keys of all factors, sorted.
    pub(crate) fn factor_keys(&self) -> Vec<String> {
        let keys: BTreeSet<&String> = self.runs.iter().flat_map(|run| run.info.factors.keys()).collect();
        keys.into_iter().cloned().collect()
    }

    /// Names and units of all metrics, headline ones first, otherwise in the order of the runs.
    pub(crate) fn metric_columns(&self) -> Vec<MetricColumn> {
        let mut columns = metric_columns(&self.runs);
        columns.sort_by_key(|column| !column.headline);
        columns
    }

    /// Names (`group.LABEL.METRIC`) and units of the metrics of groups of flows, of runs that have several groups.
    pub(crate) fn group_metric_columns(&self) -> Vec<MetricColumn> {
        let mut seen = BTreeSet::new();
        let mut columns = Vec::new();
        let several = self.runs.iter().filter(|run| run.per_group.len() > 1);
        for found in several.flat_map(|run| &run.per_group) {
            for metric in found.metrics.iter() {
                let name = format!("group.{}.{}", found.group.label, metric.name);
                if seen.insert(name.clone()) {
                    columns.push(MetricColumn { name, unit: metric.unit.into(), headline: false });
                }
            }
        }
        columns
    }

    /// Whether any setting was run more than once.
    pub(crate) fn has_repeats(&self) -> bool {
        self.runs.iter().any(|run| run.info.repeat > 0)
    }
}

/// A column of metrics.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricColumn {
    pub name: String,
    pub unit: String,
    pub headline: bool,
}

/// All metrics of `runs`, in their order.
pub(crate) fn metric_columns<'a>(runs: impl IntoIterator<Item = &'a RunDigest>) -> Vec<MetricColumn> {
    let mut columns: Vec<MetricColumn> = Vec::new();
    for metric in runs.into_iter().flat_map(|run| run.metrics.iter()) {
        match columns.iter_mut().find(|column| column.name == metric.name) {
            Some(column) => column.headline |= metric.headline,
            None => columns.push(MetricColumn {
                name: metric.name.into(),
                unit: metric.unit.into(),
                headline: metric.headline,
            }),
        }
    }
    columns
}
