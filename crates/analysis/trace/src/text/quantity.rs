//! Numbers with units, for people.

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 packet`, `2 packets`.
pub fn things(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// With three digits. 999.6 has four when it is rounded, and so is 1.00 of the next unit.
fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let fits = |&&(_, size): &&(&str, f64)| value >= 0.9995 * size;
    let &(unit, size) = units.iter().find(fits).or(units.last()).expect("every quantity has a unit");
    let number = value / size;
    let digits = match number {
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    };
    format!("{number:.digits$} {unit}")
}

/// A rate in bits per second.
pub fn rate(bps: f64) -> String {
    scaled(bps, &[("Tbit/s", 1e12), ("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0)])
}

/// A duration in nanoseconds.
pub fn duration(ns: i64) -> String {
    match ns {
        0 => "0 s".into(),
        _ => scaled(ns as f64, &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)]),
    }
}

/// A size in bytes.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        _ => scaled(bytes as f64, &[("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)]),
    }
}

/// A share of 1 in percent.
pub fn percent(share: f64) -> String {
    let digits = usize::from(share > 0.0 && share < 0.1);
    format!("{:.digits$} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(things(1, "packet"), "1 packet");
        assert_eq!(things(1_532, "packet"), "1,532 packets");
        assert_eq!(rate(480e6), "480 Mbit/s");
        assert_eq!(rate(1.88e9), "1.88 Gbit/s");
        assert_eq!(rate(999.6e6), "1.00 Gbit/s");
        assert_eq!(rate(999.4e6), "999 Mbit/s");
        assert_eq!(rate(9.996e9), "10.0 Gbit/s");
        assert_eq!(rate(99.96e9), "100 Gbit/s");
        assert_eq!(duration(50_100_000), "50.1 ms");
        assert_eq!(duration(0), "0 s");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(23_998_976), "24.0 MB");
        assert_eq!(percent(0.034), "3.4 %");
    }
}
