//! Random early detection (Floyd, Jacobson: Random early detection gateways for congestion avoidance, ToN 1993).

use super::random::Random;
use super::settings::RedSettings;

/// The average and the marking of one queue.
#[derive(Debug, Clone)]
pub(crate) struct Red {
    settings: RedSettings,
    random: Random,
    /// Average length, bytes.
    average: f64,
    /// Packets since the last one marked or dropped, while the average is between the thresholds; -1 outside.
    count: i64,
    /// Drawn once per mark: the next mark comes when count times probability reaches it, so that marks are spread
    /// evenly instead of geometrically (section 7 of the paper, "method 2", in the form of its section 8).
    reach: f64,
}

/// What a packet that comes before a managed queue meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Pass,
    /// To be marked, or dropped if it cannot be.
    Congested,
}

impl Red {
    pub(crate) fn new(settings: &RedSettings, seed: u64) -> Red {
        let mut random = Random::derived(seed, "red");
        let reach = random.unit();
        Red { settings: settings.clone(), random, average: 0.0, count: -1, reach }
    }

    pub(crate) fn ecn(&self) -> bool {
        self.settings.ecn
    }

    /// Whether `packets` pass that each find the transmitter idle, and could have been `idle` more of them before.
    pub(crate) fn passes_idle(&mut self, packets: u32, idle: f64) -> bool {
        if self.average >= self.settings.min as f64 {
            return false;
        }
        self.average *= (1.0 - self.settings.weight).powf(idle * f64::from(packets));
        self.count = -1;
        true
    }

    /// A packet comes. `waiting`: bytes before it; `idle`: packets that could have been sent while there were none,
    /// if the transmitter is idle.
    pub(crate) fn decide(&mut self, waiting: u64, idle: Option<f64>) -> Verdict {
        let s = &self.settings;
        match idle {
            Some(packets) => self.average *= (1.0 - s.weight).powf(packets),
            None => self.average += s.weight * (waiting as f64 - self.average),
        }
        let (min, max) = (s.min as f64, s.max as f64);
        if self.average < min {
            self.count = -1;
            return Verdict::Pass;
        }
        let probability = if self.average < max {
            s.max_probability * (self.average - min) / (max - min)
        } else if s.gentle && self.average < 2.0 * max {
            s.max_probability + (1.0 - s.max_probability) * (self.average - max) / max
        } else {
            self.count = -1;
            return Verdict::Congested;
        };
        self.count += 1;
        if self.count == 0 {
            self.reach = self.random.unit();
        } else if self.count as f64 * probability >= self.reach {
            self.count = 0;
            self.reach = self.random.unit();
            return Verdict::Congested;
        }
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> RedSettings {
        RedSettings {
            min: 10_000,
            max: 30_000,
            max_probability: 0.1,
            weight: 0.5,
            limit: 100_000,
            gentle: false,
            ecn: false,
        }
    }

    #[test]
    fn the_average_follows_by_its_weight_and_decays_while_idle() {
        let mut red = Red::new(&settings(), 1);
        red.decide(8000, None);
        assert_eq!(red.average, 4000.0);
        red.decide(8000, None);
        assert_eq!(red.average, 6000.0);
        red.decide(0, Some(2.0));
        assert_eq!(red.average, 1500.0);
    }

    #[test]
    fn nothing_below_the_lower_threshold_everything_above_the_upper() {
        let mut red = Red::new(&settings(), 1);
        assert!((0..1000).all(|_| red.decide(9999, None) == Verdict::Pass));
        for _ in 0..50 {
            red.decide(30_001, None);
        }
        assert!((0..100).all(|_| red.decide(30_001, None) == Verdict::Congested));
    }

    /// At a probability p the distance between marks is uniform on 1..1/p (equation 2 of the paper).
    fn distances(gentle: bool, length: u64) -> Vec<u64> {
        let mut red = Red::new(&RedSettings { gentle, ..settings() }, 5);
        red.average = length as f64;
        let (mut distances, mut last) = (Vec::new(), None);
        for i in 0..400_000_u64 {
            if red.decide(length, None) == Verdict::Congested {
                distances.extend(last.map(|l| i - l));
                last = Some(i);
            }
        }
        distances
    }

    #[test]
    fn marks_between_the_thresholds_are_spread_evenly() {
        // Half way: p = 0.05, distances 1..=20, mean 10.5.
        let distances = distances(false, 20_000);
        assert_eq!(distances.iter().min(), Some(&1));
        assert_eq!(distances.iter().max(), Some(&20));
        let mean = distances.iter().sum::<u64>() as f64 / distances.len() as f64;
        // Standard error: sqrt((20^2 - 1) / 12 / 38000) = 0.03.
        assert!((mean - 10.5).abs() < 0.12, "{mean}");
    }

    #[test]
    fn gentle_grows_from_the_largest_probability_to_one() {
        // Half way between max and twice max: p = 0.1 + 0.9 / 2 = 0.55, distances 1 and 2, the first with 0.55.
        let distances = distances(true, 45_000);
        let ones = distances.iter().filter(|d| **d == 1).count() as f64 / distances.len() as f64;
        assert!((ones - 0.55).abs() < 0.01, "{ones}");
        assert!(distances.iter().all(|d| *d <= 2));
    }
}
