//! A folder of results, reduced to what a comparison shows.

use super::settings;
use crate::digest::RunDigest;
use crate::facts::Pool;
use crate::input::RunResult;
use crate::rate_series::total_goodput;
use crate::source::Source;
use crate::thin::{Point, thin};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use wirespeed_diagnosis::Analysis;
use wirespeed_metrics::Number;
use wirespeed_record::{ColumnOf, FlowSample, StoreError};

/// One folder.
#[derive(Debug, Clone, Default)]
pub(super) struct Side {
    /// As given on the command line.
    pub path: String,
    /// Short, and different from that of the others.
    pub name: String,
    /// What it is called in a sentence: its substrate if no other has the same, else its name.
    pub word: String,
    pub runs: Vec<SideRun>,
    /// Id and reason.
    pub incomplete: Vec<(String, String)>,
}

/// A run of a folder.
#[derive(Debug, Clone)]
pub(super) struct SideRun {
    pub digest: RunDigest,
    /// The resolved scenario without names of the run, so that repeats share it.
    pub scenario: Arc<Value>,
    pub directory: String,
    pub lines: Lines,
}

/// What is laid over each other. Time in ns, values in base units, all flows of the run together.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines {
    pub goodput: Vec<Point>,
    pub cwnd: Vec<Point>,
    /// In seconds.
    pub rtt: Vec<Point>,
}

impl Side {
    /// Substrates of its runs, in alphabetical order.
    pub fn substrates(&self) -> String {
        self.all(|run| run.digest.info.substrate.to_string())
    }

    /// Names of its studies.
    pub fn studies(&self) -> String {
        self.all(|run| run.digest.info.study.to_string())
    }

    /// Releases of the kernels it ran on; empty for none.
    pub fn kernels(&self) -> String {
        self.all(|run| run.digest.info.kernel.as_ref().map(|k| k.release.clone()).unwrap_or_default())
    }

    /// What made it.
    pub fn tools(&self) -> String {
        let tool = |run: &SideRun| format!("{} {}", run.digest.info.tool.version, run.digest.info.tool.git);
        self.all(|run| tool(run).trim().to_string())
    }

    fn all(&self, of: impl Fn(&SideRun) -> String) -> String {
        let words: BTreeSet<String> = self.runs.iter().map(of).filter(|word| !word.is_empty()).collect();
        words.into_iter().collect::<Vec<_>>().join(", ")
    }
}

impl SideRun {
    /// Reduces a run; `limit`: most points of a line.
    ///
    /// # Errors
    /// If its samples are on disk and cannot be read.
    pub fn new(run: RunResult, directory: String, limit: usize, pool: &mut Pool) -> Result<Self, StoreError> {
        let source = Source::new(run.recording)?;
        let lines = Lines {
            goodput: total_goodput(&source).into_iter().map(|(t, y)| (t * source.time.ns, y)).collect(),
            cwnd: over_flows(&source, FlowSample::cwnd_bytes, |v| v, |sum, _| sum),
            rtt: over_flows(&source, FlowSample::rtt_ns, |v| v / 1e9, |sum, flows| sum / flows),
        };
        source.intact()?;
        let computed = match run.analysis {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(Analysis::of(run.recording)?),
        };
        let scenario = pool.scenario(settings::without_names(&run.recording.info.scenario));
        let digest = RunDigest::plain(run, &computed, pool);
        Ok(SideRun { digest, scenario, directory, lines: lines.thinned(limit) })
    }
}

impl Lines {
    /// Each line by a name that stays.
    pub fn named(&self) -> [(&'static str, &[Point]); 3] {
        [("goodput_bps", &self.goodput), ("cwnd_bytes", &self.cwnd), ("rtt_s", &self.rtt)]
    }

    /// At most about `limit` points a line.
    pub fn thinned(self, limit: usize) -> Self {
        Lines { goodput: thin(self.goodput, limit), cwnd: thin(self.cwnd, limit), rtt: thin(self.rtt, limit) }
    }

    /// How many points it holds.
    pub fn weight(&self) -> usize {
        self.named().iter().map(|(_, points)| points.len()).sum()
    }
}

/// One column over all flows at each sampled instant; `join` gets the sum and how many flows it is of.
fn over_flows<T: Number>(
    source: &Source,
    column: ColumnOf<FlowSample, T>,
    unit: fn(f64) -> f64,
    join: fn(f64, f64) -> f64,
) -> Vec<Point> {
    let mut at: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
    let values = source.view.flow_samples.column(column);
    for (t, value) in source.view.flow_samples.times().iter().zip(values.iter()) {
        let sum = at.entry(*t).or_default();
        if !value.is_nan() {
            *sum = (sum.0 + unit(*value), sum.1 + 1.0);
        }
    }
    let joined = |(sum, flows)| if flows > 0.0 { join(sum, flows) } else { f64::NAN };
    at.into_iter().map(|(t, sum)| (t as f64, joined(sum))).collect()
}

/// Names the folders by the last part of their paths, by the whole path where that part is not theirs alone.
pub(super) fn name_all(sides: &mut [Side]) {
    let last = |path: &str| {
        // What `wirespeed run` calls the folder of its runs names nothing.
        let folder = path.trim_end_matches('/');
        let folder = folder.strip_suffix("/runs").unwrap_or(folder);
        let part = folder.rsplit('/').next().unwrap_or_default();
        if part.is_empty() || part == "." || part == ".." { path.to_string() } else { part.to_string() }
    };
    let parts: Vec<String> = sides.iter().map(|side| last(&side.path)).collect();
    for (side, part) in sides.iter_mut().zip(&parts) {
        let is_alone = parts.iter().filter(|other| *other == part).count() == 1;
        side.name = if is_alone { part.clone() } else { side.path.clone() };
    }
    let substrates: Vec<String> = sides.iter().map(Side::substrates).collect();
    let speak = substrates.iter().all(|word| !word.is_empty() && !word.contains(','))
        && substrates.iter().collect::<BTreeSet<_>>().len() == sides.len();
    for (side, substrate) in sides.iter_mut().zip(substrates) {
        side.word = if speak { substrate } else { side.name.clone() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_tell_apart() {
        let named = |paths: &[&str]| {
            let mut sides: Vec<Side> =
                paths.iter().map(|path| Side { path: path.to_string(), ..Side::default() }).collect();
            name_all(&mut sides);
            sides.into_iter().map(|side| side.name).collect::<Vec<_>>()
        };
        assert_eq!(named(&["out/a/", "out/b"]), ["a", "b"]);
        assert_eq!(named(&["x/a/runs", "b/runs/", "runs"]), ["a", "b", "runs"]);
        assert_eq!(named(&["x/a", "y/a/runs", "c"]), ["x/a", "y/a/runs", "c"]);
        assert_eq!(named(&[".", "../b"]), [".", "b"]);
    }
}
