//! Parts of a whole, as text.

/// A part as a percentage of two digits.
pub(crate) fn share(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p >= 10.0 => format!("{p:.0} %"),
        p if p >= 1.0 => format!("{p:.1} %"),
        p if p >= 0.1 => format!("{p:.2} %"),
        p => format!("{p:.1e} %"),
    }
}
