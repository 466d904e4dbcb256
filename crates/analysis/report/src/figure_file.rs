//! Figures that can be written as files.

use crate::figure::Figure;
use crate::palette::Palette;
use crate::svg::{self, Medium, Setting};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// A figure of a report or of a comparison, drawn when it is written.
#[derive(Debug, Clone)]
pub struct FigureFile<'a> {
    name: String,
    figure: Cow<'a, Figure>,
    palette: &'a Palette,
    conditions: String,
}

/// A figure and that which it is of.
pub(crate) struct Owned<'a> {
    /// Beginning of the file's name, such as a run.
    pub owner: Cow<'a, str>,
    pub figure: Cow<'a, Figure>,
    /// Conditions of the runs in it.
    pub conditions: String,
}

impl FigureFile<'_> {
    /// Name of the file without its extension, such as `study-goodput`: unique in its report, safe in any file system.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the figure, such as `cwnd`: the same in all runs.
    pub fn figure_name(&self) -> &str {
        &self.figure.id
    }

    /// Title above the figure.
    pub fn title(&self) -> &str {
        &self.figure.title
    }

    /// SVG for a browser: light, or dark where the reader prefers that.
    pub fn svg(&self) -> String {
        self.render(Medium::Screen)
    }

    /// SVG for print, and for conversion to other formats: always light.
    pub fn print_svg(&self) -> String {
        self.render(Medium::Paper)
    }

    fn render(&self, medium: Medium) -> String {
        svg::render(&self.figure, Setting { palette: self.palette, medium, conditions: &self.conditions })
    }
}

/// The figures that can be drawn of some owners, such as runs, with the names of their files.
pub(crate) fn name_files<'a>(
    owned: impl Iterator<Item = Owned<'a>>,
    palette: &'a Palette,
) -> Vec<FigureFile<'a>> {
    let mut taken = BTreeSet::new();
    let mut files = Vec::new();
    for Owned { owner, figure, conditions } in owned.filter(|owned| owned.figure.is_drawn()) {
        let stem = format!("{}-{}", file_safe(&owner), figure.id);
        let name = (1..)
            .map(|n| if n == 1 { stem.clone() } else { format!("{stem}-{n}") })
            .find(|name| !taken.contains(name))
            .unwrap_or_default();
        taken.insert(name.clone());
        files.push(FigureFile { name, figure, palette, conditions });
    }
    files
}

fn file_safe(text: &str) -> String {
    let safe = text.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' });
    let name: String = safe.take(120).collect();
    // A leading dot would hide the file.
    name.trim_start_matches('.').to_string()
}
