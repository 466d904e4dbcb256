//! Figures as files: options and their meaning.

use super::folder::create;
use super::run::cores;
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use std::collections::BTreeSet;
use std::path::Path;
use wirespeed_campaign::in_order;
use wirespeed_picture::{DEFAULT_DPI, LARGEST_DPI, LEAST_DPI, Painter, Picture, PictureError};
use wirespeed_record::replace_file;
use wirespeed_report::FigureFile;

/// Options of commands that draw figures.
#[derive(Debug, Clone, Args)]
pub struct FigureArguments {
    /// Write the figures as files, too, in these formats; for example svg,pdf.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FORMAT")]
    figures: Vec<Format>,
    /// Write only the figures with these names, for example "cwnd,study-*" [default: all].
    #[arg(long, value_delimiter = ',', value_name = "NAME", requires = "figures")]
    figure_names: Vec<NamePattern>,
    /// Resolution of PNG figures, in pixels an inch; most figures are 9.6 inches wide.
    #[arg(
        long,
        value_name = "DPI",
        default_value_t = DEFAULT_DPI,
        value_parser = clap::value_parser!(u32).range(i64::from(LEAST_DPI)..=i64::from(LARGEST_DPI)),
        requires = "figures"
    )]
    png_dpi: u32,
}

/// File formats of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Format {
    /// Scalable vector graphics, for web pages.
    Svg,
    /// Pixels on a white ground.
    Png,
    /// Vector graphics with text and fonts, for papers.
    Pdf,
}

impl Format {
    /// Extension of its files.
    fn extension(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Png => "png",
            Format::Pdf => "pdf",
        }
    }
}

/// Name of a figure or of its file; `*` stands for any characters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamePattern(String);

impl From<&str> for NamePattern {
    fn from(text: &str) -> Self {
        NamePattern(text.trim().to_string())
    }
}

impl NamePattern {
    fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        // A pattern has one part at least: the text before its first `*`.
        let Some(mut rest) = parts.next().and_then(|start| name.strip_prefix(start)) else { return false };
        let Some(end) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(end)
    }
}

impl Default for FigureArguments {
    fn default() -> Self {
        FigureArguments { figures: Vec::new(), figure_names: Vec::new(), png_dpi: DEFAULT_DPI }
    }
}

impl FigureArguments {
    /// Whether there are files to write.
    pub fn is_given(&self) -> bool {
        !self.figures.is_empty()
    }

    /// Writes the chosen ones of `files` into `figures/` of `out`.
    pub fn write(&self, out: &Path, files: &[FigureFile]) -> Result<(), Failure> {
        if !self.is_given() {
            return Ok(());
        }
        let chosen = self.choose(files)?;
        let formats: BTreeSet<Format> = self.figures.iter().copied().collect();
        let folder = out.join("figures");
        create(&folder)?;
        let painter = Painter::new();
        let work: Vec<(&FigureFile, Format)> =
            chosen.iter().flat_map(|file| formats.iter().map(|format| (*file, *format))).collect();
        let mut missing = BTreeSet::new();
        in_order(
            &work,
            cores(),
            |(file, format)| self.draw(&painter, file, *format),
            |(file, format), picture| {
                let path = folder.join(format!("{}.{}", file.name(), format.extension()));
                let what = path.display().to_string();
                let picture = picture.map_err(|source| Failure::Picture { what: what.clone(), source })?;
                missing.extend(picture.missing);
                replace_file(&path, &picture.bytes).map_err(|source| Failure::Output { what, source })
            },
        )?;
        if !missing.is_empty() {
            let list: Vec<String> = missing.iter().map(char::to_string).collect();
            crate::tell(&format!(
                "warning: PNG and PDF figures have boxes in place of {}; their fonts lack these characters, so use SVG",
                list.join(" ")
            ));
        }
        Ok(())
    }

    fn draw(&self, painter: &Painter, file: &FigureFile, format: Format) -> Result<Picture, PictureError> {
        match format {
            Format::Svg => Ok(Picture { bytes: file.svg().into_bytes(), missing: BTreeSet::new() }),
            Format::Png => painter.png(&file.print_svg(), self.png_dpi),
            Format::Pdf => painter.pdf(&file.print_svg(), file.title()),
        }
    }

    /// The figures with the names that were given. Each name is that of a figure.
    fn choose<'a, 'b>(&self, files: &'a [FigureFile<'b>]) -> Result<Vec<&'a FigureFile<'b>>, Failure> {
        let is_named = |pattern: &NamePattern, file: &FigureFile| {
            pattern.matches(file.figure_name()) || pattern.matches(file.name())
        };
        if let Some(unknown) =
            self.figure_names.iter().find(|pattern| !files.iter().any(|file| is_named(pattern, file)))
        {
            return Err(no_such_name(&unknown.0, files));
        }
        let is_chosen = |file: &&FigureFile| {
            self.figure_names.is_empty() || self.figure_names.iter().any(|pattern| is_named(pattern, file))
        };
        Ok(files.iter().filter(is_chosen).collect())
    }
}

fn no_such_name(name: &str, files: &[FigureFile]) -> Failure {
    let message = format!("--figure-names {name}: no figure has this name");
    let names: BTreeSet<&str> = files.iter().map(FigureFile::figure_name).collect();
    let remedy = match files.last() {
        None => "these results have no figures; leave the option out".into(),
        Some(file) => format!(
            "figures: {}; for one file, give its name, such as {}",
            names.into_iter().collect::<Vec<_>>().join(", "),
            file.name()
        ),
    };
    Failure::Usage { message, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        NamePattern::from(pattern).matches(name)
    }

    #[test]
    fn pattern_without_star_matches_the_whole_name() {
        assert!(matches("cwnd", "cwnd"));
        assert!(!matches("cwnd", "r0-cwnd") && !matches("cwnd", "cwnd-2") && !matches("", "cwnd"));
    }

    #[test]
    fn star_matches_any_characters() {
        assert!(matches("*", "cwnd") && matches("*cwnd", "cwnd") && matches("study-*", "study-goodput"));
        assert!(
            matches("*r0*cwnd", "congestion-bic-r0-cwnd") && !matches("*r1*cwnd", "congestion-bic-r0-cwnd")
        );
        assert!(matches("a*a", "aa") && !matches("a*a", "a"), "the ends do not share a character");
    }
}
