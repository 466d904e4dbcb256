//! The table of groups of flows, on the page and in the terminal.

use crate::digest::{Group, factor_head, factor_text, metric_words};
use crate::estimate::Estimate;
use crate::harm;
use crate::number::{Column, MISSING};
use crate::report::Report;
use maud::{Markup, html};
use std::collections::BTreeSet;
use wirespeed_record::{FlowClass, FlowGroup};
use wirespeed_scenario::run::ONLY_KEY;

/// Rows on the page; the JSON has all.
const MOST_ROWS: usize = 500;
/// From this many rows on, a table scrolls in itself.
const TALL: usize = 17;

/// The columns of the table.
const METRICS: &[&str] = &[
    "goodput_bps",
    "flow_goodput_mean_bps",
    super::SHARE,
    "jain_index",
    "retransmission_ratio",
    super::COMPLETION,
    "fct_q99_ns",
    "unfinished_flows",
    "udp_loss_fraction",
    harm::GOODPUT,
    harm::COMPLETION,
];

/// A column of the table of groups.
pub(crate) struct GroupColumn {
    /// In words.
    pub head: String,
    /// The name of the metric or of the factor.
    pub title: String,
    /// Empty for names.
    pub unit: String,
    pub is_number: bool,
    pub cells: Vec<String>,
}

/// A row for each group of each setting that has several; `None` if none has. At most `most` rows, and how many are left out.
pub(crate) fn table(report: &Report, most: usize) -> Option<(Vec<GroupColumn>, usize)> {
    let mut rows: Vec<(Group, &str)> = Vec::new();
    for setting in Group::all(&report.runs) {
        let first = setting.runs[0];
        let groups = first.per_group.iter().filter(|_| first.per_group.len() > 1);
        rows.extend(groups.map(|found| (Group { runs: setting.runs.clone() }, found.group.label.as_str())));
    }
    let left_out = rows.len().saturating_sub(most);
    rows.truncate(most);
    let name = |head: &str, title: &str, cells| GroupColumn {
        head: head.into(),
        title: title.into(),
        unit: String::new(),
        is_number: false,
        cells,
    };
    let mut keys = report.factor_keys();
    // Rows are of runs with all groups.
    keys.retain(|key| key != ONLY_KEY);
    let mut columns = Vec::new();
    for key in &keys {
        let text =
            |row: &(Group, &str)| row.0.runs[0].info.factors.get(key).map_or(MISSING.into(), factor_text);
        columns.push(name(&factor_head(key, &keys), key, rows.iter().map(text).collect()));
    }
    columns.push(name("group", "group of flows", rows.iter().map(|row| row.1.to_owned()).collect()));
    let classes: BTreeSet<FlowClass> = rows.iter().filter_map(of_row).map(|group| group.class).collect();
    if classes.len() > 1 {
        let class = |row: &(Group, &str)| of_row(row).map_or("", |group| class_words(group.class)).to_owned();
        columns.push(name("kind", "TCP with or without a size, or UDP", rows.iter().map(class).collect()));
    }
    let counts: Vec<usize> =
        rows.iter().map(|row| of_row(row).map_or(0, |group| group.flows.len())).collect();
    let has_several = counts.iter().any(|count| *count > 1);
    if has_several {
        let cells = counts.iter().map(usize::to_string).collect();
        columns.push(GroupColumn { is_number: true, ..name("flows", "number of flows", cells) });
    }
    for metric in METRICS.iter().filter(|metric| has_several || **metric != "flow_goodput_mean_bps") {
        let full = |row: &(Group, &str)| format!("group.{}.{metric}", row.1);
        let means: Vec<Option<Estimate>> =
            rows.iter().map(|row| Estimate::of(&row.0.runs, &full(row))).collect();
        let is_of_interest = |value: f64| *metric != "unfinished_flows" || value > 0.0;
        if !means.iter().flatten().any(|mean| is_of_interest(mean.mean)) {
            continue;
        }
        let unit =
            rows.iter().map(|row| row.0.runs[0].unit(&full(row)).to_owned()).find(|unit| !unit.is_empty());
        let form = Column::new(&unit.unwrap_or_default(), means.iter().flatten().map(|mean| mean.mean));
        let cell = |mean: &Option<Estimate>| {
            let half = mean.and_then(|mean| mean.half_width);
            let half = half.map_or(String::new(), |half| format!(" ±{}", form.cell(Some(half))));
            format!("{}{half}", form.cell(mean.map(|mean| mean.mean)))
        };
        columns.push(GroupColumn {
            head: metric_words(metric),
            title: (*metric).into(),
            unit: form.unit.clone(),
            is_number: true,
            cells: means.iter().map(cell).collect(),
        });
    }
    (!rows.is_empty()).then_some((columns, left_out))
}

/// The group that a row of the table is about.
fn of_row<'a>(row: &(Group<'a>, &str)) -> Option<&'a FlowGroup> {
    row.0.runs[0].group(row.1).map(|found| &*found.group)
}

fn class_words(class: FlowClass) -> &'static str {
    match class {
        FlowClass::Endless => "TCP",
        FlowClass::Finite => "TCP with a size",
        FlowClass::Udp => "UDP",
        FlowClass::Leg => "TCP to a splitter",
    }
}

/// The section of the page.
pub(crate) fn section(report: &Report) -> Markup {
    let table = table(report, MOST_ROWS);
    html! {
        @if let Some((columns, left_out)) = &table {
            @let rows = columns.first().map_or(0, |column| column.cells.len());
            section #groups {
                h2 { "Groups of flows" }
                p.hint {
                    "Shares are of the goodput of all TCP flows. "
                    @if report.has_repeats() { "Means over repeats, ± half of their 95 % confidence interval." }
                }
                div.scroll.tall[rows >= TALL] {
                    table {
                        thead {
                            tr {
                                @for column in columns {
                                    th.number[column.is_number] title=(column.title) {
                                        (column.head)
                                        @if !column.unit.is_empty() { " " small { (column.unit) } }
                                    }
                                }
                            }
                        }
                        tbody {
                            @for row in 0..rows {
                                tr { @for column in columns { td.number[column.is_number] { (column.cells[row]) } } }
                            }
                        }
                    }
                }
                @if *left_out > 0 { p.hint { "And " (left_out) " more rows, which means.csv and the JSON have." } }
            }
        }
    }
}
