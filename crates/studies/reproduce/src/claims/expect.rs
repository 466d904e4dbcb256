//! What a claim expects, as written.

use super::order::Order;
use std::collections::BTreeMap;

/// What has to come out; everything that is given has to hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expect {
    /// A value and its relative tolerance, in the metric's unit.
    pub value: Option<(f64, f64)>,
    /// Least value.
    pub min: Option<Bound>,
    /// Largest value.
    pub max: Option<Bound>,
    /// Which levels of a factor (or which stages) give more than which.
    pub order: Option<Order>,
    /// Levels of a factor along which it falls or rises.
    pub trend: Option<Trend>,
    /// The factor of `order`, `trend` and `ratio`.
    pub over: Option<String>,
    /// The ratio of levels of a factor.
    pub ratio: Option<Ratio>,
    /// Stages at which there is nothing.
    pub zero: Vec<String>,
    /// In words: unless numbers stand beside it, the figure is drawn and decides nothing.
    pub shape: Option<String>,
}

/// A bound on the value, or on each of some stages.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// On the value.
    One(f64),
    /// By stage, for metrics that speak of all stages.
    ByStage(BTreeMap<String, f64>),
}

/// Levels along which the value falls, or rises.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trend {
    /// Upwards.
    pub rises: bool,
    /// The levels in their order.
    pub levels: Vec<String>,
    /// A step the wrong way up to this share of what it starts from is level, and no fault.
    pub within: f64,
}

/// Each of `of` over `to`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ratio {
    /// Levels above the line.
    pub of: Vec<String>,
    /// The level below it.
    pub to: String,
    /// Least ratio.
    pub min: Option<f64>,
    /// Largest ratio.
    pub max: Option<f64>,
    /// The ratio and its relative tolerance.
    pub value: Option<(f64, f64)>,
}

impl Expect {
    /// The levels of a factor that it speaks of.
    pub fn levels(&self) -> Vec<String> {
        let mut levels: Vec<String> = Vec::new();
        let ratio = self.ratio.iter().flat_map(|ratio| ratio.of.iter().chain([&ratio.to]));
        let trend = self.trend.iter().flat_map(|trend| &trend.levels);
        for level in self.order.iter().flat_map(Order::levels).chain(ratio).chain(trend) {
            if !levels.contains(level) {
                levels.push(level.clone());
            }
        }
        levels
    }

    /// Whether a number decides.
    pub fn is_by_number(&self) -> bool {
        self.value.is_some()
            || self.min.is_some()
            || self.max.is_some()
            || self.order.is_some()
            || self.ratio.is_some()
            || self.trend.is_some()
            || !self.zero.is_empty()
    }

    /// Whether it compares stages and not levels of a factor.
    pub fn is_by_stage(&self) -> bool {
        let bound = |bound: &Option<Bound>| matches!(bound, Some(Bound::ByStage(_)));
        !self.zero.is_empty() || bound(&self.min) || bound(&self.max)
    }
}
