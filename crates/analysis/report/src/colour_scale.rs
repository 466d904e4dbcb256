//! Colours for values: from dark blue through grey to light yellow, at equal steps of perceived colour.
//!
//! The scale is a straight line in Oklab (Ottosson 2020, "A perceptual color space for image processing"). Its lightness
//! grows with the value, and its hue changes between blue and yellow only, so that it reads the same with the common
//! colour-vision deficiencies and in print.

/// A colour of the scale, the same on light and dark pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shade {
    /// Red, green and blue of sRGB.
    pub rgb: [u8; 3],
    /// Whether light text is read on it better than dark text.
    pub is_dark: bool,
}

/// The ends: lightness, and the coordinates from green to red and from blue to yellow.
const LOW: [f64; 3] = [0.30, -0.01, -0.11];
const HIGH: [f64; 3] = [0.93, -0.02, 0.15];
/// From this lightness on, black text has the better contrast; below it, white text.
const LIGHT_FROM: f64 = 0.565;

/// The shade of a share of the scale, from 0 to 1.
pub(crate) fn shade(share: f64) -> Shade {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let at = |i: usize| LOW[i] + (HIGH[i] - LOW[i]) * share;
    let (lightness, a, b) = (at(0), at(1), at(2));
    let cone = |ka: f64, kb: f64| (lightness + ka * a + kb * b).powi(3);
    let long = cone(0.396_337_777_4, 0.215_803_757_3);
    let medium = cone(-0.105_561_345_8, -0.063_854_172_8);
    let short = cone(-0.089_484_177_5, -1.291_485_548_0);
    let linear = [
        4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short,
        -1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short,
        -0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701_0 * short,
    ];
    Shade { rgb: linear.map(encoded), is_dark: lightness < LIGHT_FROM }
}

/// A linear component as sRGB encodes it (IEC 61966-2-1).
fn encoded(linear: f64) -> u8 {
    let linear = linear.clamp(0.0, 1.0);
    let value = if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    (value * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.1).
    fn luminance(shade: Shade) -> f64 {
        let linear = shade.rgb.map(|c| (f64::from(c) / 255.0).powf(2.2));
        0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    #[test]
    fn lightness_grows_with_the_value_from_blue_to_yellow() {
        let steps: Vec<f64> = (0..=32).map(|i| luminance(shade(f64::from(i) / 32.0))).collect();
        assert!(steps.windows(2).all(|pair| pair[1] > pair[0]), "{steps:?}");
        let ([r0, _, b0], [r1, _, b1]) = (shade(0.0).rgb, shade(1.0).rgb);
        assert!(b0 > r0 && r1 > b1, "{:?} {:?}", shade(0.0), shade(1.0));
        assert_eq!(shade(f64::NAN), shade(0.0));
    }

    #[test]
    fn text_has_a_contrast_above_4_on_every_shade() {
        for i in 0..=100 {
            let shade = shade(f64::from(i) / 100.0);
            let ground = luminance(shade);
            let contrast = if shade.is_dark { 1.05 / (ground + 0.05) } else { (ground + 0.05) / 0.05 };
            assert!(contrast > 4.0, "{i}: {shade:?} has {contrast}");
        }
    }
}
