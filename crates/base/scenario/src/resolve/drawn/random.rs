//! Random numbers by their distribution. Those of a seed are part of the results, so they do not change with a dependency.

use wirespeed_congestion::Random;

/// From 0 on, below 1.
pub(super) fn unit(random: &mut Random) -> f64 {
    // 53 bits are all that a number from 1/2 to 1 has.
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

/// Exponential with that mean.
pub(super) fn exponential(random: &mut Random, mean: f64) -> f64 {
    -(1.0 - unit(random)).ln() * mean
}

/// Normal, with mean 0 and standard deviation 1 (Box, Muller: Ann. Math. Statist. 1958).
pub(super) fn normal(random: &mut Random) -> f64 {
    let (radius, angle) = (1.0 - unit(random), unit(random));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}
