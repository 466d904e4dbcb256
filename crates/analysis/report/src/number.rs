//! Numbers for people: one unit a column or axis, as many digits as tell values apart.

/// What a number measures, so far as it changes the way it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Quantity {
    Rate,
    Bytes,
    Seconds,
    /// A share, usually of 1; written as it is.
    Ratio,
    /// Anything else, with its unit as given.
    Plain(String),
}

/// A divisor from base units and the name of the unit it leads to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scale {
    pub divisor: f64,
    pub unit: String,
}

const RATES: &[(f64, &str)] =
    &[(1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
// Decimal, so that rate times round-trip time can be read off two figures.
const BYTES: &[(f64, &str)] = &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];
const SECONDS: &[(f64, &str)] = &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];

impl Quantity {
    /// The quantity of a unit as metrics spell it, and what one such unit is in base units.
    pub fn of_unit(unit: &str) -> (Quantity, f64) {
        match unit {
            "bit/s" | "bps" => (Quantity::Rate, 1.0),
            "Gbit/s" => (Quantity::Rate, 1e9),
            "Mbit/s" => (Quantity::Rate, 1e6),
            "byte" | "bytes" | "B" => (Quantity::Bytes, 1.0),
            "s" => (Quantity::Seconds, 1.0),
            "ms" => (Quantity::Seconds, 1e-3),
            "us" | "µs" => (Quantity::Seconds, 1e-6),
            "ns" => (Quantity::Seconds, 1e-9),
            "ratio" | "1" | "" | "-" => (Quantity::Ratio, 1.0),
            other => (Quantity::Plain(other.into()), 1.0),
        }
    }

    /// The scale in which `reference` (in base units, usually the largest value) reads well.
    pub fn scale(&self, reference: f64) -> Scale {
        let choices = match self {
            Quantity::Rate => RATES,
            Quantity::Bytes => BYTES,
            Quantity::Seconds => SECONDS,
            Quantity::Ratio => return Scale { divisor: 1.0, unit: String::new() },
            Quantity::Plain(unit) => return Scale { divisor: 1.0, unit: unit.clone() },
        };
        let size = reference.abs();
        let smallest = choices[choices.len() - 1];
        // What is zero throughout is zero of the plain unit.
        let plain = choices.iter().copied().find(|(d, _)| *d == 1.0).unwrap_or(smallest);
        let (divisor, unit) = if size == 0.0 || !size.is_finite() {
            plain
        } else {
            choices.iter().copied().find(|(d, _)| size >= *d * 0.9995).unwrap_or(smallest)
        };
        Scale { divisor, unit: unit.into() }
    }

    /// `value` (in base units) with the unit that suits it.
    pub fn text(&self, value: f64) -> String {
        let scale = self.scale(value);
        let number = significant(value / scale.divisor, 3);
        if scale.unit.is_empty() { number } else { format!("{number} {}", scale.unit) }
    }
}

/// A value in a metric's own unit, as text with a unit: `4.31 Gbit/s`.
pub fn with_unit(value: f64, unit: &str) -> String {
    let (quantity, factor) = Quantity::of_unit(unit);
    quantity.text(value * factor)
}

/// A column of numbers of one metric: one unit for the head, one number of decimals for the cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    /// For the head; empty for a plain ratio.
    pub unit: String,
    quantity: Quantity,
    to_base: f64,
    divisor: f64,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Decimals(usize),
    Exponent,
}

impl Column {
    /// Chooses unit and decimals for `values`, given in `unit`.
    pub fn new(unit: &str, values: impl Iterator<Item = f64>) -> Self {
        let (quantity, to_base) = Quantity::of_unit(unit);
        let sizes: Vec<f64> = values.filter(|v| v.is_finite()).map(|v| (v * to_base).abs()).collect();
        let scale = quantity.scale(sizes.iter().copied().fold(0.0, f64::max));
        let form = Form::of(&quantity, &sizes, scale.divisor);
        Column { unit: scale.unit, quantity, to_base, divisor: scale.divisor, form }
    }

    /// A column of the same unit with the decimals that suit `values`; exponents stay.
    pub fn refit(&self, values: impl Iterator<Item = f64>) -> Self {
        let sizes: Vec<f64> = values.filter(|v| v.is_finite()).map(|v| (v * self.to_base).abs()).collect();
        let form = match self.form {
            Form::Exponent => Form::Exponent,
            Form::Decimals(_) => Form::of(&self.quantity, &sizes, self.divisor),
        };
        Column { form, ..self.clone() }
    }

    /// A cell; `None` and what is not finite are missing.
    pub fn cell(&self, value: Option<f64>) -> String {
        let scaled = |v: f64| v * self.to_base / self.divisor;
        match (value.filter(|v| v.is_finite()), self.form) {
            (None, _) => MISSING.into(),
            (Some(v), Form::Decimals(n)) => fixed(scaled(v), n),
            (Some(0.0), Form::Exponent) => "0".into(),
            (Some(v), Form::Exponent) => format!("{:.2e}", scaled(v)),
        }
    }
}

impl Form {
    /// For values of these sizes in base units.
    fn of(quantity: &Quantity, sizes: &[f64], divisor: f64) -> Self {
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let smallest = sizes.iter().copied().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        let whole = sizes.iter().all(|v| v.fract() == 0.0);
        let (high, low) = (largest / divisor, smallest / divisor);
        if matches!(quantity, Quantity::Plain(_)) && whole {
            Form::Decimals(0)
        } else if largest > 0.0 && (high < 1e-3 || *quantity == Quantity::Ratio && high < 0.1 && low < 1e-3) {
            Form::Exponent
        } else {
            let for_high = 2 - magnitude(high);
            // The least value keeps two digits, unless that needs an absurd number of decimals.
            let for_low = if low.is_finite() { 1 - magnitude(low) } else { 0 };
            Form::Decimals(for_high.max(for_low.min(4)).max(0) as usize)
        }
    }
}

/// Stands where nothing was measured.
pub(crate) const MISSING: &str = "–";

fn magnitude(value: f64) -> i32 {
    if value > 0.0 { value.log10().floor() as i32 } else { 0 }
}

/// `decimals` decimals and thin groups of three before the point.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let sign = if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) { "-" } else { "" };
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", grouped(whole))
}

fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A whole number with groups of three.
pub(crate) fn whole(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(&value.unsigned_abs().to_string()))
}

/// A whole number where there is little room: from a thousand million on rounded.
pub(crate) fn count(value: i64) -> String {
    const LONG: u64 = 1_000_000_000;
    if value.unsigned_abs() < LONG {
        return whole(value);
    }
    format!("{} G", significant(value as f64 / LONG as f64, 4))
}

/// `digits` significant digits, in exponent form where the value is tiny.
pub(crate) fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let size = magnitude(value.abs());
    if size < -3 {
        return format!("{:.*e}", (digits - 1).max(0) as usize, value);
    }
    let text = fixed(value, (digits - 1 - size).max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_in_the_unit_it_reaches() {
        assert_eq!(with_unit(4_312_345_678.0, "bit/s"), "4.31 Gbit/s");
        assert_eq!(with_unit(12_200_000.0, "ns"), "12.2 ms");
        assert_eq!(with_unit(0.0, "bit/s"), "0 bit/s");
        assert_eq!(with_unit(0.45, "ratio"), "0.45");
        assert_eq!(with_unit(1e-5, "ratio"), "1.00e-5");
    }

    #[test]
    fn a_column_has_one_unit_and_keeps_small_values_apart() {
        let values = [9.1e9, 620.0e6, 4.31e9];
        let column = Column::new("bit/s", values.into_iter());
        assert_eq!(column.unit, "Gbit/s");
        assert_eq!(values.map(|v| column.cell(Some(v))), ["9.10", "0.62", "4.31"]);
        assert_eq!(column.cell(None), MISSING);
        assert_eq!(column.cell(Some(f64::NAN)), MISSING);
    }

    #[test]
    fn counts_are_whole_and_tiny_ratios_have_exponents() {
        let counts = Column::new("packet", [1_234_567.0, 3.0].into_iter());
        assert_eq!(counts.cell(Some(1_234_567.0)), "1,234,567");
        assert_eq!(counts.cell(Some(3.0)), "3");
        let ratios = Column::new("ratio", [1e-5, 1.25e-6].into_iter());
        assert_eq!(ratios.cell(Some(1.25e-6)), "1.25e-6");
    }

    #[test]
    fn a_column_fitted_anew_keeps_its_unit() {
        let column = Column::new("packets", [7.25, 24_296.3].into_iter());
        assert_eq!(column.cell(Some(36_445.0)), "36,445.0");
        assert_eq!(column.refit([36_445.0, 4.0].into_iter()).cell(Some(36_445.0)), "36,445");
        let rates = Column::new("bit/s", [0.9e9].into_iter());
        assert_eq!(rates.refit([1.2e9].into_iter()).unit, "Mbit/s");
    }

    #[test]
    fn long_counts_are_rounded() {
        assert_eq!([999_999_999, 12_345_678_901].map(count), ["999,999,999", "12.35 G"]);
    }

    #[test]
    fn rounding_never_prints_minus_zero() {
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(significant(-1234.5, 3), "-1,234");
    }
}
