//! How often intervals contain the true value, by simulation with fixed seeds.

#![allow(dead_code, reason = "the example prints names and bounds nothing, the tests the other way round")]

use wirespeed_statistics::{Interval, Random};

/// A distribution of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Mean 1, deviation 0.1.
    Normal,
    /// Logarithm with deviation 0.5: a long tail upwards.
    LogNormal,
    /// 1 in seven cases of ten, else 0.3, both with a deviation of 0.01: as if a run sometimes loses a packet early.
    Bimodal,
}

impl Shape {
    pub const ALL: [Shape; 3] = [Shape::Normal, Shape::LogNormal, Shape::Bimodal];
    /// Share of the upper mode.
    pub const UPPER: f64 = 0.7;

    pub fn name(self) -> &'static str {
        match self {
            Shape::Normal => "normal",
            Shape::LogNormal => "log-normal",
            Shape::Bimodal => "bimodal",
        }
    }

    pub fn draw(self, random: &mut Random) -> f64 {
        match self {
            Shape::Normal => 1.0 + 0.1 * random.normal(),
            Shape::LogNormal => (0.5 * random.normal()).exp(),
            Shape::Bimodal => {
                let mode = if random.uniform() < Shape::UPPER { 1.0 } else { 0.3 };
                mode + 0.01 * random.normal()
            }
        }
    }

    pub fn true_mean(self) -> f64 {
        match self {
            Shape::Normal => 1.0,
            Shape::LogNormal => 0.125_f64.exp(),
            Shape::Bimodal => Shape::UPPER + 0.3 * (1.0 - Shape::UPPER),
        }
    }

    pub fn sample(self, n: usize, random: &mut Random) -> Vec<f64> {
        (0..n).map(|_| self.draw(random)).collect()
    }
}

/// The share of `cases` samples of `n` whose interval contains `truth`.
pub fn coverage(cases: usize, truth: f64, mut interval: impl FnMut(&mut Random) -> Option<Interval>) -> f64 {
    let mut random = Random::new(20_260_727);
    let hits = (0..cases).filter(|_| interval(&mut random).is_some_and(|found| found.contains(truth)));
    hits.count() as f64 / cases as f64
}

/// Four standard errors of a share near `share` from so many cases.
pub fn tolerance(share: f64, cases: usize) -> f64 {
    4.0 * (share * (1.0 - share) / cases as f64).sqrt()
}
