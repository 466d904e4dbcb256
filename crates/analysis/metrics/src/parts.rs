//! Metrics of parts of a run: its flows, or groups of them.

use std::collections::BTreeMap;

/// The values of each part, in their order, by the functions of `rows`. A value that is not finite is left out. Metric by metric,
/// so that each column is read once and not once a part.
pub(crate) fn of_parts<C, P>(
    rows: &[(&'static str, C)],
    parts: &[P],
    value: impl Fn(&C, &P) -> Option<f64>,
) -> Vec<BTreeMap<&'static str, f64>> {
    let mut values = vec![BTreeMap::new(); parts.len()];
    for (name, compute) in rows {
        for (part, values) in parts.iter().zip(&mut values) {
            let found = value(compute, part).filter(|value| value.is_finite());
            values.extend(found.map(|found| (*name, found)));
        }
    }
    values
}
