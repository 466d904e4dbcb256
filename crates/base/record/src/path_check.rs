//! Whether an emulated path was what had been asked for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One property of a link, measured before the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PathCheck {
    /// Name of the link.
    pub link: String,
    /// `rtt`, `rate` or `queue`.
    pub quantity: String,
    /// Unit of the numbers.
    pub unit: String,
    /// What was asked for.
    pub asked: f64,
    /// What was found; `None` if it could not be measured.
    pub measured: Option<f64>,
    /// How far off it may be.
    pub tolerance: f64,
}

impl PathCheck {
    /// Whether it is farther off than it may be.
    pub fn is_off(&self) -> bool {
        self.measured.is_some_and(|measured| (measured - self.asked).abs() > self.tolerance)
    }

    /// Whether it is another path: off by more than half of what was asked, and by far more than it may be.
    pub fn is_grossly_off(&self) -> bool {
        const FAR: f64 = 5.0;
        self.measured.is_some_and(|measured| {
            let off = (measured - self.asked).abs();
            off > self.asked / 2.0 && off > self.tolerance * FAR
        })
    }
}

impl fmt::Display for PathCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PathCheck { link, quantity, unit, asked, tolerance, .. } = self;
        let (scale, unit) = match unit.as_str() {
            "ns" => (1e-6, "ms"),
            "bit/s" => (1e-6, "Mbit/s"),
            "B" => (1e-3, "kB"),
            other => (1.0, other),
        };
        let measured =
            self.measured.map_or("not measured".into(), |v| format!("measured {:.3} {unit}", v * scale));
        write!(
            f,
            "{link}: {quantity} asked {:.3} {unit}, {measured}, may be off by {:.3} {unit}",
            asked * scale,
            tolerance * scale
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_is_beyond_the_tolerance_and_gross_is_another_path() {
        let check = |measured: Option<f64>| PathCheck {
            link: "l".into(),
            quantity: "rate".into(),
            unit: "bit/s".into(),
            asked: 1e9,
            measured,
            tolerance: 3e7,
        };
        assert!(!check(Some(9.8e8)).is_off());
        assert!(check(Some(9.6e8)).is_off() && !check(Some(9.6e8)).is_grossly_off());
        assert!(check(Some(4e8)).is_grossly_off());
        assert!(!check(None).is_off());
        let told = check(Some(4e8)).to_string();
        assert_eq!(
            told,
            "l: rate asked 1000.000 Mbit/s, measured 400.000 Mbit/s, may be off by 30.000 Mbit/s"
        );
    }
}
