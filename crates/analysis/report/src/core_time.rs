//! The times of cores as figures show them: colours, which cores are worth drawing, percentages.

use crate::figure::Ink;
use wirespeed_metrics::core_time::{CoreTime, KINDS};

/// The colour of each of [`KINDS`].
pub(crate) const INKS: [Ink; KINDS.len()] =
    [Ink::Place(4), Ink::Place(5), Ink::Place(2), Ink::Place(6), Ink::Place(3), Ink::Place(7)];

/// Cores below this part of the window are counted and not shown.
const LEAST: f64 = 0.001;

/// The busiest of `cores`, at most `most`, in the order they came; and how many were left out. Who did next to nothing
/// is, but never all.
pub(crate) fn busiest(cores: Vec<CoreTime<'_>>, most: usize) -> (Vec<CoreTime<'_>>, usize) {
    let all = cores.len();
    let mut ranked: Vec<(usize, CoreTime)> = cores.into_iter().enumerate().collect();
    ranked.sort_by(|a, b| b.1.busy().total_cmp(&a.1.busy()));
    let worth = ranked.iter().filter(|(_, core)| core.busy() >= LEAST).count().max(1);
    ranked.truncate(worth.min(most));
    ranked.sort_by_key(|(place, _)| *place);
    let kept: Vec<CoreTime> = ranked.into_iter().map(|(_, core)| core).collect();
    let left_out = all - kept.len();
    (kept, left_out)
}

/// A percentage as a person reads it.
pub(crate) fn percent(value: f64) -> String {
    match value {
        v if v >= 9.95 => format!("{v:.0} %"),
        v if v >= 0.095 => format!("{v:.1} %"),
        _ => "< 0.1 %".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_short() {
        assert_eq!([99.7, 12.34, 3.21, 0.01].map(percent), ["100 %", "12 %", "3.2 %", "< 0.1 %"]);
    }
}
