//! From the swept factors to combinations, and from a combination to its identifier and seed.

use crate::address::Address;
use crate::error::Complaint;
use crate::run::Factor;
use crate::tree::{Node, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use wirespeed_units::Span;

/// One swept factor.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub address: Address,
    /// At least one; no two of them the same.
    pub values: Vec<Node>,
}

/// One value per axis, in the order of the axes.
pub(crate) type Combination<'a> = Vec<&'a Node>;

/// More than this in one study is a slip, not a campaign.
pub(crate) const MOST_RUNS: usize = 100_000;

/// Factors the study as a whole depends on.
const FIXED: &[&str] = &["schema", "name", "about", "sweep", "expect", "figure"];

/// Keys of `run` that decide nothing about a single run.
const FIXED_OF_RUN: &[&str] = &["repeat", "series", "series_every"];

/// Reads the `[sweep]` table.
pub(crate) fn axes(sweep: &Node) -> Result<Vec<Axis>, Complaint> {
    if !matches!(sweep.value, Value::Table(_)) {
        return Err(Complaint::at(&sweep.at, format!("sweep: expected a table, found {}", sweep.kind()))
            .help("write [sweep] and below it lines such as \"path.loss\" = [1e-6, 1e-5]"));
    }
    sweep.entries().iter().map(|entry| axis(Address::parse(&entry.key, &entry.at)?, &entry.node)).collect()
}

/// A factor and its list of values.
pub(crate) fn axis(address: Address, node: &Node) -> Result<Axis, Complaint> {
    let key = &address.text;
    let is_fixed = match &address.segments[..] {
        [table, name] if table == "run" => FIXED_OF_RUN.contains(&name.as_str()),
        segments => FIXED.contains(&segments[0].as_str()),
    };
    if is_fixed {
        return Err(Complaint::at(&address.at, format!("`{key}` cannot be swept"))
            .label("the same for the whole study")
            .help("sweep keys of path, host, topology, link, flow, run or capture"));
    }
    let values = match &node.value {
        Value::Array(values) => values.clone(),
        Value::Table(_) => {
            return Err(Complaint::at(&address.at, format!("[sweep] {key}: expected a list, found a table"))
                .label("a table")
                .help("write the whole path in quotes, for example \"path.loss\" = [1e-6, 1e-5]"));
        }
        _ => {
            return Err(Complaint::at(&node.at, format!("[sweep] {key}: expected a list, found {}", node.kind()))
                .label("not a list")
                .help("put the values in brackets, for example [1e-6, 1e-5]; a single value belongs where it is used"));
        }
    };
    if values.is_empty() {
        return Err(Complaint::at(
            &node.at,
            format!("[sweep] {key}: the list is empty, so there is nothing to run"),
        )
        .label("no values")
        .help("give at least one value, or remove the line"));
    }
    for (i, value) in values.iter().enumerate() {
        let word = file_name(&factor(value, key)?.to_string());
        if values[..i].iter().any(|v| factor(v, key).is_ok_and(|f| file_name(&f.to_string()) == word)) {
            return Err(Complaint::at(&value.at, format!("[sweep] {key}: `{word}` is there twice"))
                .label("already listed")
                .help("remove it; to run a combination several times, set run.repeat"));
        }
    }
    Ok(Axis { address, values })
}

/// The value of a factor; only scalars can be one.
pub(crate) fn factor(node: &Node, key: &str) -> Result<Factor, Complaint> {
    match &node.value {
        Value::Bool(v) => Ok(Factor::Bool(*v)),
        Value::Integer(v) => Ok(Factor::Integer(*v)),
        Value::Float(v) => Ok(Factor::Float(*v)),
        Value::Text(v) => Ok(Factor::Text(v.clone())),
        Value::Array(_) | Value::Table(_) => {
            let message =
                format!("{key}: a factor is a number, a truth value or a string, not {}", node.kind());
            Err(Complaint::at(&node.at, message)
                .label("cannot be a factor")
                .help("sweep the keys inside one by one, for example \"flow.congestion.max_increment\""))
        }
    }
}

/// Every combination; the first axis varies slowest.
pub(crate) fn product(axes: &[Axis]) -> impl Iterator<Item = Combination<'_>> {
    let total: usize = axes.iter().map(|a| a.values.len()).product();
    (0..total).map(move |mut index| {
        let mut combination: Combination<'_> = axes
            .iter()
            .rev()
            .map(|axis| {
                let value = &axis.values[index % axis.values.len()];
                index /= axis.values.len();
                value
            })
            .collect();
        combination.reverse();
        combination
    })
}

/// How many combinations there are, if that can be counted.
pub(crate) fn combinations(axes: &[Axis]) -> Option<usize> {
    axes.iter().try_fold(1usize, |total, axis| total.checked_mul(axis.values.len()))
}

/// The run's name: `congestion=bic,loss=1e-5,r0`. A factor is called by its last segment, by its whole path where
/// that is ambiguous; the order is that of the paths. It depends on nothing but the factors and the repetition, so
/// that a longer list of values leaves the names of the runs already made as they are.
pub(crate) fn identifier(factors: &BTreeMap<String, Factor>, repeat: u32) -> String {
    let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let mut parts: Vec<String> = factors
        .iter()
        .map(|(path, value)| {
            let ambiguous = factors.keys().filter(|other| last(other) == last(path)).count() > 1;
            let name = if ambiguous { path.clone() } else { last(path) };
            format!("{}={}", file_name(&name), file_name(&value.to_string()))
        })
        .collect();
    parts.push(format!("r{repeat}"));
    let id = parts.join(",");
    // File names end at 255 bytes; writers add a suffix of their own.
    if id.len() <= 200 {
        return id;
    }
    let digest = Sha256::digest(&id);
    let hash: String = digest[..8].iter().map(|b| format!("{b:02x}")).collect();
    let end = (0..=180).rev().find(|&i| id.is_char_boundary(i)).unwrap_or(0);
    format!("{}~{hash},r{repeat}", &id[..end])
}

/// The run's seed: the first eight bytes (little endian) of SHA-256 over the study's seed, each factor and the
/// repetition. Runs of one study are independent of each other, and a run keeps its seed when others are added.
pub(crate) fn seed(study: u64, factors: &BTreeMap<String, Factor>, repeat: u32) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"wirespeed run seed 1\n");
    hash.update(study.to_le_bytes());
    for (path, value) in factors {
        hash.update(format!("{path}={value}\n"));
    }
    hash.update(repeat.to_le_bytes());
    number(hash)
}

/// How much later flow number `index` of the run with that seed starts, in whole microseconds below `jitter`. A flow
/// keeps its time when others are added.
pub(crate) fn start_later(seed: u64, index: usize, jitter: Span) -> Span {
    let mut hash = Sha256::new();
    hash.update(b"wirespeed start jitter 1\n");
    hash.update(seed.to_le_bytes());
    hash.update((index as u64).to_le_bytes());
    let drawn = number(hash);
    let micros = jitter.picoseconds().unsigned_abs() / 1_000_000;
    // Below `micros`, which is an i64's.
    Span::us(((u128::from(drawn) * u128::from(micros)) >> 64) as i64)
}

/// The begin of the stream of random numbers that decides flows of the run with that seed: those of `[[flow]]` table `table`. A
/// table keeps its flows when others are added after it.
pub(crate) fn stream_of_flows(seed: u64, table: usize) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"wirespeed flows 1\n");
    hash.update(seed.to_le_bytes());
    hash.update((table as u64).to_le_bytes());
    number(hash)
}

/// The first eight bytes of the digest, little endian.
fn number(hash: Sha256) -> u64 {
    let digest = hash.finalize();
    u64::from_le_bytes(digest[..8].try_into().expect("a SHA-256 digest has 32 bytes"))
}

/// Letters every file system takes; blanks go, the rest becomes `-`.
fn file_name(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors(list: &[(&str, Factor)]) -> BTreeMap<String, Factor> {
        list.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect()
    }

    #[test]
    fn names_are_short_where_they_are_clear() {
        let clear = factors(&[
            ("path.loss", Factor::Float(1e-5)),
            ("flow.congestion", Factor::Text("bic".into())),
            ("path.rate", Factor::Text("9.5 Gbit/s".into())),
        ]);
        assert_eq!(identifier(&clear, 0), "congestion=bic,loss=1e-5,rate=9.5Gbit-s,r0");
        let ambiguous =
            factors(&[("path.forward.loss", Factor::Integer(0)), ("path.reverse.loss", Factor::Float(0.5))]);
        assert_eq!(identifier(&ambiguous, 3), "path.forward.loss=0,path.reverse.loss=0.5,r3");
        assert_eq!(identifier(&BTreeMap::new(), 1), "r1");
    }

    #[test]
    fn long_names_fit_a_file_system_and_stay_apart() {
        let long =
            |end: &str| identifier(&factors(&[("flow.label", Factor::Text("x".repeat(300) + end))]), 0);
        assert!(long("a").len() < 255);
        assert_ne!(long("a"), long("b"));
    }

    #[test]
    fn every_part_counts_for_the_seed() {
        let bic = factors(&[("flow.congestion", Factor::Text("bic".into()))]);
        let reno = factors(&[("flow.congestion", Factor::Text("reno".into()))]);
        let seeds = [seed(7, &bic, 0), seed(8, &bic, 0), seed(7, &reno, 0), seed(7, &bic, 1)];
        for (i, one) in seeds.iter().enumerate() {
            assert!(!seeds[..i].contains(one));
        }
        assert_eq!(seed(7, &bic, 0), seeds[0]);
    }
}
