//! A metric over all settings: what a table shows as a group of rows.

use super::Comparison;
use super::cells::Cell;
use super::difference::Spread;
use crate::number::Column;
use crate::report::MetricColumn;

/// One metric, with the forms in which its numbers are written.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub metric: &'a MetricColumn,
    /// The matched cells, each with its values by folder.
    pub rows: Vec<(&'a Cell, Vec<Option<Spread>>)>,
    /// For means.
    pub form: Column,
    /// For differences, in the same unit: they may be much smaller.
    pub difference: Column,
    /// For single runs, in the same unit: counts are whole there.
    single: Column,
}

impl<'a> Group<'a> {
    /// The metric over the cells that can be compared.
    pub fn of(comparison: &'a Comparison, metric: &'a MetricColumn) -> Self {
        let row = |cell: &'a Cell| (cell, cell.spreads(&comparison.sides, &metric.name));
        let rows: Vec<_> = comparison.matched().map(row).collect();
        let all = || rows.iter().flat_map(|(_, spreads)| spreads).flatten();
        let form = Column::new(&metric.unit, all().map(|spread| spread.mean));
        let differences: Vec<f64> =
            rows.iter().flat_map(|(_, s)| Cell::differences(s)).flatten().map(|d| d.absolute.abs()).collect();
        // Three digits of the largest: what vanishes beside it is none worth showing.
        let difference = form.refit(differences.into_iter().reduce(f64::max).into_iter());
        let single = form.refit(all().flat_map(|spread| spread.values.iter().copied()));
        Group { metric, rows, form, difference, single }
    }

    /// The forms of means and of differences.
    pub fn forms(&self) -> [&Column; 2] {
        [&self.form, &self.difference]
    }

    /// From where to where the repeats of a cell lie; none if it ran once.
    pub fn range(&self, spread: &Spread) -> Option<[String; 2]> {
        let text = |value| self.single.cell(Some(value));
        (spread.values.len() > 1).then(|| [text(spread.least), text(spread.largest)])
    }
}
