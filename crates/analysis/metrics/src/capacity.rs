//! Capacity of a link whose rate may change, and the time that it needs for an amount of data.

use wirespeed_record::LinkInfo;

/// The rate of a link over time.
#[derive(Debug, Clone)]
pub struct Capacity {
    /// From when on, ns, and the rate then, bit/s; the first from ever.
    rates: Vec<(i64, f64)>,
}

impl Capacity {
    /// That of a link.
    pub fn of(link: &LinkInfo) -> Capacity {
        let later = link.changes.iter().map(|change| (change.t_ns, change.rate_bps as f64));
        Capacity { rates: std::iter::once((i64::MIN, link.rate_bps as f64)).chain(later).collect() }
    }

    fn at(&self, t_ns: i64) -> usize {
        self.rates.partition_point(|(from, _)| *from <= t_ns).max(1) - 1
    }

    /// Mean rate between two times, bit/s.
    pub fn mean_rate(&self, from_ns: i64, to_ns: i64) -> f64 {
        let first = self.at(from_ns);
        let steps = self.rates[first + 1..].iter().take_while(|(begin, _)| *begin < to_ns);
        let (mut begin, mut rate, mut sum) = (from_ns, self.rates[first].1, 0.0);
        if steps.clone().next().is_none() || to_ns <= from_ns {
            return rate;
        }
        for (next, new) in steps {
            sum += rate * (next - begin) as f64;
            (begin, rate) = (*next, *new);
        }
        (sum + rate * (to_ns - begin) as f64) / (to_ns - from_ns) as f64
    }

    /// How long it takes to send so many bits from a time on, ns; `None`: it never sends them.
    pub fn time_ns(&self, from_ns: i64, mut bits: f64) -> Option<f64> {
        let mut now = from_ns;
        for state in self.at(from_ns)..self.rates.len() {
            let rate = self.rates[state].1;
            let until = self.rates.get(state + 1).map(|(until, _)| *until);
            match until {
                Some(until) if bits > 0.0 && rate * (until - now) as f64 / 1e9 < bits => {
                    bits -= rate * (until - now) as f64 / 1e9;
                    now = until;
                }
                _ if bits == 0.0 => return Some((now - from_ns) as f64),
                _ if rate == 0.0 => return None,
                _ => return Some((now - from_ns) as f64 + bits * 1e9 / rate),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::LinkChange;

    fn link(changes: &[(i64, u64)]) -> Capacity {
        let changes = changes.iter().map(|(t_ns, rate_bps)| LinkChange {
            t_ns: *t_ns,
            rate_bps: *rate_bps,
            ..LinkChange::default()
        });
        Capacity::of(&LinkInfo { rate_bps: 1_000, changes: changes.collect(), ..LinkInfo::default() })
    }

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_link_that_stays_as_it_is_has_one_rate() {
        let capacity = link(&[]);
        assert_eq!((capacity.mean_rate(0, SECOND), capacity.mean_rate(5, 5)), (1_000.0, 1_000.0));
        assert_eq!(capacity.time_ns(7, 500.0), Some(5e8));
    }

    #[test]
    fn the_mean_is_over_time() {
        let capacity = link(&[(SECOND, 3_000), (2 * SECOND, 0)]);
        assert_eq!(capacity.mean_rate(0, SECOND), 1_000.0);
        assert_eq!(capacity.mean_rate(0, 2 * SECOND), 2_000.0);
        assert_eq!(capacity.mean_rate(SECOND, 4 * SECOND), 1_000.0);
        assert_eq!(capacity.mean_rate(3 * SECOND, 4 * SECOND), 0.0);
    }

    #[test]
    fn bits_wait_while_the_link_stands_still() {
        let capacity = link(&[(SECOND, 0), (3 * SECOND, 2_000)]);
        assert_eq!(capacity.time_ns(0, 1_000.0), Some(1e9));
        assert_eq!(capacity.time_ns(0, 2_000.0), Some(3.5e9));
        assert_eq!(capacity.time_ns(2 * SECOND, 0.0), Some(0.0));
        assert_eq!(link(&[(SECOND, 0)]).time_ns(0, 1_001.0), None);
    }
}
