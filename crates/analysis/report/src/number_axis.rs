//! Axes of numbers: unit, range, and whether they are logarithmic.

use crate::figure::{Axis, AxisKind, From, titled};
use crate::number::Quantity;

/// An axis, and the place of values on it.
#[derive(Debug, Clone)]
pub(crate) struct NumberAxis {
    pub axis: Axis,
    divisor: f64,
}

/// The values of an axis.
pub(crate) struct Values<'a> {
    /// The measured thing, without its unit.
    pub what: &'a str,
    /// The unit of `values`, as metrics and factors spell it.
    pub unit: &'a str,
    pub values: Vec<f64>,
}

/// When an axis is logarithmic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Spread {
    /// As the request has it.
    Asked(bool),
    /// If the values above 0 span more than this factor.
    From(f64),
}

impl Spread {
    /// As asked, or from this factor on.
    pub fn new(asked: Option<bool>, from: f64) -> Spread {
        asked.map_or(Spread::From(from), Spread::Asked)
    }
}

impl NumberAxis {
    /// The axis on which all of `values` have a place. On a logarithmic one 0 stands left of the least value.
    pub fn new(Values { what, unit, values }: Values, spread: Spread, from: From) -> NumberAxis {
        let (quantity, to_base) = Quantity::of_unit(unit);
        let finite: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        let least = finite.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (least, largest) = if finite.is_empty() { (0.0, 1.0) } else { (least, largest) };
        let scale = quantity.scale(largest.abs().max(least.abs()) * to_base);
        let divisor = scale.divisor / to_base;
        let title = titled(what, &scale);
        let positive = finite.iter().copied().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        let can_be_log = least >= 0.0 && positive.is_finite();
        let is_log = can_be_log
            && match spread {
                Spread::Asked(asked) => asked,
                Spread::From(factor) => largest / positive >= factor,
            };
        let (least, largest) = (least / divisor, largest / divisor);
        let axis = if is_log {
            let positive = positive / divisor;
            let room = (largest / positive).powf(0.04).max(1.05);
            let zero = (least == 0.0).then(|| positive / (largest / positive).powf(0.12).max(3.0));
            let low = zero.unwrap_or(positive);
            Axis { title, kind: AxisKind::Log { zero }, range: (low / room, largest * room) }
        } else {
            let range = match from {
                From::Zero if least >= 0.0 => (0.0, if largest > 0.0 { largest * 1.08 } else { 1.0 }),
                _ => {
                    let room = ((largest - least) * 0.06).max(largest.abs() * 0.02).max(f64::MIN_POSITIVE);
                    let low = least - room;
                    (if least >= 0.0 { low.max(0.0) } else { low }, largest + room)
                }
            };
            Axis { title, kind: AxisKind::Linear, range }
        };
        NumberAxis { axis, divisor }
    }

    /// The place of a value. A value without one on a logarithmic axis is at its lower end.
    pub fn at(&self, value: f64) -> f64 {
        let value = value / self.divisor;
        match self.axis.kind {
            AxisKind::Log { zero: Some(zero) } if value <= 0.0 => zero,
            AxisKind::Log { .. } if value <= 0.0 => self.axis.range.0,
            _ => value,
        }
    }

    /// Whether it is logarithmic.
    pub fn is_log(&self) -> bool {
        matches!(self.axis.kind, AxisKind::Log { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64], spread: Spread) -> NumberAxis {
        NumberAxis::new(Values { what: "Loss", unit: "", values: values.to_vec() }, spread, From::Least)
    }

    #[test]
    fn an_axis_is_logarithmic_if_the_values_span_much() {
        assert!(axis(&[1e-6, 1e-3], Spread::From(15.0)).is_log());
        assert!(!axis(&[1.0, 3.0], Spread::From(15.0)).is_log());
        assert!(axis(&[1.0, 3.0], Spread::Asked(true)).is_log());
        assert!(!axis(&[-1.0, 3.0], Spread::Asked(true)).is_log(), "what is below 0 has no logarithm");
    }

    #[test]
    fn zero_has_a_place_left_of_the_least_value() {
        let axis = axis(&[0.0, 1e-6, 1e-3], Spread::From(15.0));
        let zero = axis.at(0.0);
        assert!(axis.axis.range.0 < zero && zero < 1e-6 / 2.0, "{:?}", axis.axis);
        assert_eq!(axis.axis.kind, AxisKind::Log { zero: Some(zero) });
    }

    #[test]
    fn values_are_in_the_unit_of_the_axis() {
        let axis = NumberAxis::new(
            Values { what: "RTT", unit: "ns", values: vec![2e6, 5e6] },
            Spread::From(15.0),
            From::Zero,
        );
        assert_eq!((axis.axis.title.as_str(), axis.at(5e6)), ("RTT (ms)", 5.0));
    }
}
