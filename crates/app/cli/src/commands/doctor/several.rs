//! Several hosts side by side, with outliers marked.

use super::judged::Judged;
use std::collections::BTreeMap;
use std::fmt::Write;
use wirespeed_diagnosis::audit::rules;

/// Characters of a cell; longer values are cut.
const CELL: usize = 24;

/// A table with a row for each rule that some host has a finding of. A star marks a host that differs from most.
pub fn of(hosts: &[Judged]) -> String {
    let mut rows = vec![row("rule", hosts.iter().map(|host| host.host.clone()))];
    let mut outliers: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in rules() {
        let values: Vec<String> = hosts.iter().map(|host| value(host, rule.id)).collect();
        if values.iter().all(|value| value == GOOD) {
            continue;
        }
        let usual = most_frequent(&values);
        let cells = hosts.iter().zip(&values).map(|(host, value)| {
            if usual.is_none_or(|usual| usual == value) {
                return value.clone();
            }
            *outliers.entry(host.host.as_str()).or_default() += 1;
            format!("* {value}")
        });
        let cells: Vec<String> = cells.collect();
        rows.push(row(rule.id, cells.into_iter()));
    }
    let mut out = table(&rows);
    for (host, count) in &outliers {
        let _ = writeln!(out, "\n{host} differs from most hosts in {count} rules.");
    }
    let last = match rows.len() {
        1 => "No findings on any host. Next: measure the paths with `wirespeed probe`.".to_owned(),
        _ => "Next: repeat the command for one host to see formulas and commands.".to_owned(),
    };
    let _ = write!(out, "\n{last}\n");
    out
}

const GOOD: &str = "good";

/// The values found by a rule on a host.
fn value(host: &Judged, rule: &str) -> String {
    let found: Vec<&str> = host
        .findings
        .iter()
        .filter(|finding| finding.rule == rule)
        .map(|finding| finding.found.as_str())
        .collect();
    if found.is_empty() { GOOD.into() } else { found.join(", ") }
}

/// The value of more than half of the hosts.
fn most_frequent(values: &[String]) -> Option<&String> {
    values.iter().find(|value| values.iter().filter(|other| other == value).count() * 2 > values.len())
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> Vec<String> {
    let cut = |cell: String| match cell.chars().count() > CELL {
        true => cell.chars().take(CELL - 3).collect::<String>() + "...",
        false => cell,
    };
    std::iter::once(name.to_owned()).chain(cells.map(cut)).collect()
}

fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_most_hosts_is_usual() {
        let values = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(most_frequent(&values(&["a", "b", "a"])).unwrap(), "a");
        assert_eq!(most_frequent(&values(&["a", "b"])), None, "of two hosts neither is an outlier");
    }
}
