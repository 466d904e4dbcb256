//! A table of text whose cells are wrapped.

use super::layout::{Cells, GAP, wrapped, write_block};

/// A table of `rows` below `heads`, at most `total` characters wide. `shares` are the widths of the columns in percent.
/// The last column also takes what the others do not need.
pub fn text_table<const N: usize>(
    heads: [String; N],
    rows: &[[String; N]],
    shares: [usize; N],
    total: usize,
) -> String {
    let room = total.saturating_sub(GAP * N.saturating_sub(1));
    let mut widths = shares.map(|share| room * share / 100);
    if let Some((last, others)) = widths.split_last_mut() {
        for (column, width) in others.iter_mut().enumerate() {
            let texts = rows.iter().chain([&heads]).map(|row| row[column].chars().count());
            let needed = texts.max().unwrap_or(0).min(*width);
            *last += *width - needed;
            *width = needed;
        }
    }
    let lines = |row: &[String; N]| {
        let cells: Vec<Vec<String>> =
            row.iter().zip(widths).map(|(text, width)| wrapped(text, width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        cells.into_iter().map(move |mut cell| {
            cell.resize(height, String::new());
            cell
        })
    };
    let mut columns: Vec<Cells> =
        lines(&heads).zip(widths).map(|(head, width)| Cells::wrapped(head, width)).collect();
    for row in rows {
        columns.iter_mut().zip(lines(row)).for_each(|(column, cell)| column.extend(cell));
    }
    let mut out = String::new();
    write_block(&mut out, &columns.iter().collect::<Vec<_>>(), total, false);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_wrapped_and_the_last_column_takes_the_rest() {
        let row = |texts: [&str; 3]| texts.map(String::from);
        let rows = [row(["c1", "at least 9 Gbit/s", "differs"]), row(["", "", "agrees"])];
        let table = text_table(row(["claim", "published value", "verdict"]), &rows, [30, 30, 40], 36);
        let lines = [
            "claim  published  verdict",
            "       value",
            "─────  ─────────  ────────────────",
            "c1     at least   differs",
            "       9 Gbit/s",
            "                  agrees",
        ];
        assert_eq!(table.lines().collect::<Vec<_>>(), lines, "{table}");
    }
}
