//! Random numbers for resampling and simulation. The sequence of a seed is part of the results, so it is defined here and does
//! not change with a dependency.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): one 64-bit state, period 2^64.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `below - 1`; each has the same probability up to one part in 2^64 / `below`. `below` is at least 1.
    pub fn index(&mut self, below: usize) -> usize {
        ((u128::from(self.bits()) * below as u128) >> 64) as usize
    }

    /// Uniform between 0 and 1, both excluded.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Standard normal (Box and Muller, Ann. Math. Stat. 29, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{mean, standard_deviation};

    #[test]
    fn the_sequence_is_that_of_splitmix64() {
        // The first values of seed 1234567 in the test vectors of several implementations.
        let mut random = Random::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn indices_cover_their_range_and_normal_numbers_have_deviation_one() {
        let mut random = Random::new(7);
        let mut counts = [0; 5];
        (0..50_000).for_each(|_| counts[random.index(5)] += 1);
        assert!(counts.iter().all(|n| (9_600..10_400).contains(n)), "{counts:?}");
        let normal: Vec<f64> = (0..50_000).map(|_| random.normal()).collect();
        assert!(mean(&normal).unwrap().abs() < 0.02);
        assert!((standard_deviation(&normal).unwrap() - 1.0).abs() < 0.02);
    }
}
