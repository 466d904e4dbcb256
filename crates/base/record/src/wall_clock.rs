//! Times of day as text (RFC 3339, UTC).

use std::time::{Duration, SystemTime};

/// A time of day as RFC 3339 in UTC, to the second: `2026-11-24T18:01:16Z`.
pub fn rfc3339(time: SystemTime) -> String {
    let [year, month, day, hour, minute, second] = parts(time);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The same as part of a file name, without colons: `2026-11-24T180116Z`.
pub fn file_stamp(time: SystemTime) -> String {
    rfc3339(time).replace(':', "")
}

/// Year, month, day, hour, minute and second. Times before 1970 are shown as its beginning.
fn parts(time: SystemTime) -> [u64; 6] {
    const DAY: u64 = 86_400;
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, rest) = (seconds / DAY, seconds % DAY);
    // Days since 1 March of year 0, in cycles of 400 years: civil_from_days of Howard Hinnant, "chrono-compatible low-level
    // date algorithms".
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    [year, month, day, rest / 3600, rest / 60 % 60, rest % 60]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        // By `date -u --iso-8601=seconds -d @SECONDS`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (1_795_543_276, "2026-11-24T18:01:16Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(at(seconds)), text);
        }
        assert_eq!(file_stamp(at(1_795_543_276)), "2026-11-24T180116Z");
    }
}
