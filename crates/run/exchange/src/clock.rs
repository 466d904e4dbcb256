//! Times of day, as the formats write them.

use std::fmt;

/// Seconds of a day.
const DAY_S: i64 = 86_400;
/// Nanoseconds of a second.
const SECOND_NS: i64 = 1_000_000_000;

/// An instant in UTC, in nanoseconds since 1970. Years 1970 to 2261.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment {
    /// Nanoseconds since the beginning of 1970, in UTC.
    pub unix_ns: i64,
}

impl Moment {
    /// The time of a text as `2026-11-24T18:01:16Z`, with or without a fraction of a second. A text without `Z` has no time
    /// zone, and is none.
    pub fn parse(text: &str) -> Option<Moment> {
        let (date, time) = text.trim().strip_suffix('Z')?.split_once('T')?;
        let mut date = date.splitn(3, '-').map(number);
        let (year, month, day) = (date.next()??, date.next()??, date.next()??);
        let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let mut time = whole.splitn(3, ':').map(number);
        let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
        let is_possible = (1970..=2261).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        if !is_possible || fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let seconds = days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
        let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        Some(Moment { unix_ns: seconds.checked_mul(SECOND_NS)?.checked_add(digits.parse().ok()?)? })
    }

    /// The instant so many nanoseconds later.
    pub fn after(self, ns: i64) -> Moment {
        Moment { unix_ns: self.unix_ns.saturating_add(ns) }
    }

    /// Whole seconds since 1970.
    pub fn unix_s(self) -> i64 {
        self.unix_ns.div_euclid(SECOND_NS)
    }

    /// Seconds since 1970.
    pub fn unix_seconds(self) -> f64 {
        self.unix_ns as f64 / SECOND_NS as f64
    }

    /// As iperf3 writes it: `Tue, 24 Nov 2026 18:01:16 GMT`.
    pub fn http_date(self) -> String {
        const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let (days, [year, month, day]) = self.date();
        let [hour, minute, second] = self.time();
        let weekday = WEEKDAYS[days.rem_euclid(7) as usize];
        let month = MONTHS[(month - 1) as usize];
        format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
    }

    /// Days since 1970, and year, month and day.
    fn date(self) -> (i64, [i64; 3]) {
        let days = self.unix_s().div_euclid(DAY_S);
        // civil_from_days of Howard Hinnant, "chrono-compatible low-level date algorithms".
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        (days, [year_of_era + era * 400 + i64::from(month <= 2), month, day])
    }

    fn time(self) -> [i64; 3] {
        let rest = self.unix_s().rem_euclid(DAY_S);
        [rest / 3600, rest / 60 % 60, rest % 60]
    }
}

/// As flent writes it, with microseconds: `2026-11-24T18:01:16.000000Z`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (_, [year, month, day]) = self.date();
        let [hour, minute, second] = self.time();
        let micros = self.unix_ns.rem_euclid(SECOND_NS) / 1000;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

fn number(digits: &str) -> Option<i64> {
    let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// Days since 1970 of a date: days_from_civil of the same source.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_they_are_written() {
        for (text, unix_ns) in [
            ("1970-01-01T00:00:00.000000Z", 0),
            ("2026-11-24T18:01:16.000000Z", 1_795_543_276_000_000_000),
            ("2024-02-29T23:59:59.250000Z", 1_709_251_199_250_000_000),
            ("2000-03-01T00:00:00.000000Z", 951_868_800_000_000_000),
        ] {
            assert_eq!(Moment::parse(text), Some(Moment { unix_ns }), "{text}");
            assert_eq!(Moment { unix_ns }.to_string(), text);
        }
        assert_eq!(Moment::parse("2026-11-24T18:01:16Z").unwrap().unix_s(), 1_795_543_276);
        let date = Moment { unix_ns: 1_795_543_276_000_000_000 }.http_date();
        assert_eq!(date, "Tue, 24 Nov 2026 18:01:16 GMT");
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            "Z",
            "T",
            "2026-11-24",
            "2026-11-24T18:01:16",
            "2026-13-24T18:01:16Z",
            "9999-01-01T00:00:00Z",
            "2026-11-24T18:01:16.Z",
            "2026-11-24T18:01:16.5.5Z",
            "2026-11-24T-1:01:16Z",
            "2026-11-24T18:01Z",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
