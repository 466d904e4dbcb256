//! The costs as text for a terminal.

use crate::fit::{Estimate, Fit};
use std::fmt::Write;

/// Costs with their intervals, and the settings that they explain worst.
pub fn text(fit: &Fit) -> String {
    /// Settings that are listed.
    const WORST: usize = 5;
    let mut text = String::from("Cost of one, in ns                    95 % interval        counted by\n");
    for estimate in &fit.estimates {
        let Estimate { cost, ns, half_width_ns } = *estimate;
        let interval = format!("{} to {}", digits((ns - half_width_ns).max(0.0)), digits(ns + half_width_ns));
        let known = if estimate.is_known() { "" } else { " (not separated from others)" };
        let _ =
            writeln!(text, "{:<30} {:>7}  {interval:<20} {}{known}", cost.words(), digits(ns), cost.origin());
    }
    let _ = writeln!(
        text,
        "\nThe costs explain the busy time of {} cores within {:.1} % (root mean square). Furthest off:",
        fit.residuals.len(),
        fit.rms * 100.0
    );
    let mut rows: Vec<_> = fit.residuals.iter().collect();
    let off = |row: &crate::fit::Residual| (row.fitted / row.measured - 1.0).abs();
    rows.sort_by(|a, b| off(b).total_cmp(&off(a)));
    for row in rows.into_iter().take(WORST) {
        let _ = writeln!(
            text,
            "  {}, {}: {:.0} % of its core measured, {:.0} % fitted",
            row.setting,
            row.side.word(),
            row.measured * 100.0,
            row.fitted * 100.0
        );
    }
    text
}

/// Three digits.
pub(crate) fn digits(ns: f64) -> String {
    let after = if ns == 0.0 { 0 } else { (2 - ns.abs().log10().floor() as i32).clamp(0, 6) };
    format!("{ns:.*}", after as usize)
}
