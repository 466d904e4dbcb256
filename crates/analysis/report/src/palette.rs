//! Colours: one accent palette, after Okabe and Ito, "Color Universal Design" (2008), whose hues stay apart under the common
//! colour-vision deficiencies; lightness adjusted so that each stands out from a white and from a dark page.

use crate::figure::Ink;
use std::collections::BTreeMap;

/// An accent: its colour on a light and on a dark page.
struct Accent {
    light: [u8; 3],
    dark: [u8; 3],
}

const ACCENTS: [Accent; 8] = [
    Accent { light: [0, 114, 178], dark: [76, 160, 224] }, // blue
    Accent { light: [213, 94, 0], dark: [240, 125, 50] },  // vermilion
    Accent { light: [0, 145, 106], dark: [38, 190, 145] }, // bluish green
    Accent { light: [187, 95, 148], dark: [222, 143, 187] }, // reddish purple
    Accent { light: [219, 143, 0], dark: [240, 178, 50] }, // orange
    Accent { light: [76, 168, 219], dark: [150, 211, 245] }, // sky blue
    Accent { light: [140, 126, 0], dark: [236, 225, 92] }, // yellow, as olive on white
    Accent { light: [85, 85, 95], dark: [184, 186, 196] }, // neutral
];

/// Names of the shades of an accent: itself, and lighter and darker ones for flows of one congestion control.
const SUFFIXES: [&str; 4] = ["", "b", "c", "d"];

const PAGE_LIGHT: [u8; 3] = [255, 255, 255];
const PAGE_DARK: [u8; 3] = [24, 27, 33];
const TEXT_LIGHT: [u8; 3] = [28, 32, 38];
const TEXT_DARK: [u8; 3] = [230, 233, 238];

/// The accents that the well-known controls have in every report, if no other control of the study has taken it.
const PREFERRED: &[(&str, usize)] = &[
    ("cubic", 0),
    ("bbr", 1),
    ("bic", 2),
    ("reno", 3),
    ("dctcp", 4),
    ("vegas", 5),
    ("htcp", 4),
    ("scalable", 6),
    ("highspeed", 5),
    ("illinois", 6),
    ("westwood", 7),
];

/// A colour of the page, by the name of its CSS variable (without `--`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Swatch(String);

impl Swatch {
    /// The variable's name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// Which accent each congestion control (or, if the study has only one, each flow label) has throughout the report.
#[derive(Debug, Clone, Default)]
pub(crate) struct Palette {
    by_congestion: BTreeMap<String, usize>,
    by_label: BTreeMap<String, usize>,
}

impl Palette {
    /// For all flows of a study, as (congestion control, label). UDP flows have no control.
    pub fn new<'a>(flows: impl Iterator<Item = (Option<&'a str>, &'a str)>) -> Self {
        let mut controls = Vec::new();
        let mut labels = Vec::new();
        for (congestion, label) in flows {
            let control = congestion.unwrap_or(UDP).to_string();
            if !controls.contains(&control) {
                controls.push(control);
            }
            if !labels.iter().any(|l| l == label) {
                labels.push(label.to_string());
            }
        }
        let by_label = labels.into_iter().enumerate().map(|(i, label)| (label, i)).collect();
        controls.sort();
        let mut by_congestion = BTreeMap::new();
        let mut taken = Vec::new();
        for control in &controls {
            let preferred = PREFERRED.iter().find(|(name, _)| name == control).map(|(_, accent)| *accent);
            if let Some(accent) = preferred.filter(|accent| !taken.contains(accent)) {
                taken.push(accent);
                by_congestion.insert(control.clone(), accent);
            }
        }
        for control in controls {
            by_congestion.entry(control).or_insert_with(|| {
                // Beyond eight controls accents repeat, in another shade.
                let accent = (0..).find(|accent| !taken.contains(accent)).unwrap_or(0);
                taken.push(accent);
                accent
            });
        }
        Palette { by_congestion, by_label }
    }

    /// The colour of `ink`.
    pub fn swatch(&self, ink: &Ink) -> Swatch {
        let (accent, twin) = match ink {
            Ink::Total => return Swatch("text".into()),
            Ink::Muted => return Swatch("muted".into()),
            // From the far end of the palette, away from the colours that controls get first.
            Ink::Place(n) => ([6, 1, 5, 3, 4, 0, 2, 7][n % 8], n / 8),
            Ink::Flow { congestion, label, twin } => {
                if self.by_congestion.len() > 1 {
                    let control = congestion.as_deref().unwrap_or(UDP);
                    (self.by_congestion.get(control).copied().unwrap_or(7), *twin)
                } else {
                    (
                        self.by_label.get(label).copied().unwrap_or(0),
                        *twin * usize::from(self.by_label.len() <= 1),
                    )
                }
            }
        };
        let shade = (twin + accent / ACCENTS.len()) % SUFFIXES.len();
        Swatch(format!("a{}{}", accent % ACCENTS.len(), SUFFIXES[shade]))
    }
}

const UDP: &str = "udp";

/// Every colour of figures by name, as `#rrggbb`, for a light or a dark page.
pub(crate) fn colours(dark: bool) -> Vec<(String, String)> {
    let (page, text) = if dark { (PAGE_DARK, TEXT_DARK) } else { (PAGE_LIGHT, TEXT_LIGHT) };
    let mut out = vec![
        ("page".into(), hex(page)),
        ("text".into(), hex(text)),
        ("muted".into(), hex(mix(text, page, 0.42))),
        ("grid".into(), hex(mix(text, page, 0.88))),
        ("axis".into(), hex(mix(text, page, 0.65))),
    ];
    for (number, accent) in ACCENTS.iter().enumerate() {
        let colour = if dark { accent.dark } else { accent.light };
        let shades = [colour, mix(colour, text, 0.45), mix(colour, page, 0.45), mix(colour, text, 0.7)];
        for (suffix, shade) in SUFFIXES.into_iter().zip(shades) {
            out.push((format!("a{number}{suffix}"), hex(shade)));
        }
    }
    out
}

/// The same as CSS variables.
pub(crate) fn declarations(dark: bool) -> String {
    colours(dark).into_iter().map(|(name, colour)| format!("--{name}:{colour};")).collect()
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn mix(from: [u8; 3], to: [u8; 3], share: f64) -> [u8; 3] {
    [0, 1, 2].map(|i| (f64::from(from[i]) * (1.0 - share) + f64::from(to[i]) * share).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(congestion: &str, label: &str, twin: usize) -> Ink {
        Ink::Flow { congestion: Some(congestion.into()), label: label.into(), twin }
    }

    #[test]
    fn a_control_keeps_its_colour_whatever_the_flow_is_called() {
        let palette = Palette::new([(Some("bic"), "a"), (Some("reno"), "b"), (Some("bic"), "c")].into_iter());
        assert_eq!(palette.swatch(&flow("bic", "a", 0)), palette.swatch(&flow("bic", "z", 0)));
        assert_ne!(palette.swatch(&flow("bic", "a", 0)), palette.swatch(&flow("reno", "b", 0)));
        assert_ne!(palette.swatch(&flow("bic", "a", 0)), palette.swatch(&flow("bic", "c", 1)));
    }

    #[test]
    fn with_one_control_the_flows_get_colours_of_their_own() {
        let palette = Palette::new((0..4).map(|i| (Some("cubic"), ["a", "b", "c", "d"][i])));
        let mut swatches: Vec<_> =
            (0..4).map(|i| palette.swatch(&flow("cubic", ["a", "b", "c", "d"][i], i)).0).collect();
        swatches.dedup();
        assert_eq!(swatches.len(), 4);
    }

    #[test]
    fn nine_and_more_controls_still_differ() {
        let names: Vec<String> = (0..12).map(|i| format!("cc{i}")).collect();
        let palette = Palette::new(names.iter().map(|n| (Some(n.as_str()), "f")));
        let swatches: std::collections::BTreeSet<_> =
            names.iter().map(|n| palette.swatch(&flow(n, "f", 0)).0).collect();
        assert_eq!(swatches.len(), 12);
    }

    #[test]
    fn every_swatch_is_declared_for_both_pages() {
        for css in [declarations(false), declarations(true)] {
            for place in 0..32 {
                let swatch = Palette::default().swatch(&Ink::Place(place));
                assert!(css.contains(&format!("--{}:", swatch.name())), "{swatch:?}");
            }
        }
    }
}
