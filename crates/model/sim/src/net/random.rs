//! The random numbers of a link: the generator of kernel/qdisc/sch_wire.c, so that both lose the same packets.

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014). Any seed is a
/// good one. The state is a counter, so later numbers can be had without the earlier ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random(u64);

/// 2^64 divided by the golden ratio: the counter's step.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// A stream of the same seed for another purpose, told apart by `name`.
    pub fn derived(seed: u64, name: &str) -> Self {
        Random(mix(seed ^ mix(Self::name_hash(name))))
    }

    /// FNV-1a over a name: unequal names give unrelated streams.
    pub fn name_hash(name: &str) -> u64 {
        name.bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
    }

    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// How many of the next numbers precede the first below `bound`, looking at most at `most`, a multiple of 8.
    /// The numbers looked at are consumed, the one below `bound` included; without one the answer is `most`.
    pub fn before_below(&mut self, bound: u64, most: u64) -> u64 {
        debug_assert!(most.is_multiple_of(8), "the stream is searched eight numbers at a time");
        let mut seen = 0;
        while seen < most {
            // Without branches inside, so that the eight chains of multiplications overlap in the processor.
            let mut any = false;
            for i in 1..=8_u64 {
                any |= mix(self.0.wrapping_add(STEP.wrapping_mul(i))) < bound;
            }
            if any {
                while self.draw() >= bound {
                    seen += 1;
                }
                return seen;
            }
            self.0 = self.0.wrapping_add(STEP.wrapping_mul(8));
            seen += 8;
        }
        most
    }

    /// A number above 0, up to 1, of 53 random bits.
    pub fn unit(&mut self) -> f64 {
        ((self.draw() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// How many trials fail before the first that succeeds, each with `probability` (geometric distribution, by
    /// inversion). `u64::MAX` if none ever does.
    pub fn failures_before_success(&mut self, probability: f64) -> u64 {
        if probability <= 0.0 {
            return u64::MAX;
        }
        if probability >= 1.0 {
            return 0;
        }
        // P(more than k failures) = (1 - p)^(k + 1); ln_1p keeps the precision of p = 1e-15. The cast saturates.
        (self.unit().ln() / (-probability).ln_1p()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn first_numbers_of_seed_zero() {
        // Reference values of the published generator.
        let mut random = Random::new(0);
        assert_eq!(random.draw(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(random.draw(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn names_give_different_streams_and_the_same_name_the_same() {
        assert_eq!(Random::derived(7, "red"), Random::derived(7, "red"));
        assert_ne!(Random::derived(7, "red"), Random::derived(7, "loss"));
        assert_ne!(Random::derived(7, "red"), Random::derived(8, "red"));
    }

    #[test]
    fn geometric_numbers_have_their_mean() {
        let mut random = Random::new(3);
        for p in [0.9, 0.5, 0.01, 1e-4] {
            let n = 100_000;
            let sum: f64 = (0..n).map(|_| random.failures_before_success(p) as f64).sum();
            let mean = (1.0 - p) / p;
            // The standard error of the mean is sqrt(1 - p) / p / sqrt(n).
            let error = (1.0 - p).sqrt() / p / f64::from(n).sqrt();
            assert!(
                (sum / f64::from(n) - mean).abs() < 4.0 * error,
                "p = {p}: {} for {mean}",
                sum / f64::from(n)
            );
        }
        assert_eq!(random.failures_before_success(0.0), u64::MAX);
        assert_eq!(random.failures_before_success(1.0), 0);
    }

    proptest! {
        #[test]
        fn searching_equals_drawing_one_by_one(seed: u64, share in 0.0..0.2_f64, most in 1..40_u64) {
            let bound = (share * 2f64.powi(64)) as u64;
            let (mut fast, mut slow) = (Random::new(seed), Random::new(seed));
            for _ in 0..20 {
                let found = fast.before_below(bound, most * 8);
                let mut naive = 0;
                while naive < most * 8 && slow.draw() >= bound {
                    naive += 1;
                }
                prop_assert_eq!(found, naive);
                prop_assert_eq!(&fast, &slow);
            }
        }
    }
}
