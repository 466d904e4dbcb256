//! A published study beside what was measured: claims with their verdicts, and the study's figures.

mod figures;
mod over_time;
mod page;

pub use over_time::{OverTime, kinds};

/// Everything on the page; plain data.
#[derive(Debug, Clone, Default)]
pub struct ClaimsPage {
    /// Short name of the study.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Authors, place and year.
    pub reference: String,
    /// What was built.
    pub built: String,
    /// What the study does not say and had to be assumed.
    pub assumptions: Vec<String>,
    /// What a reader has to know before anything else.
    pub notices: Vec<String>,
    /// Counts and cost in sentences.
    pub summary: Vec<String>,
    /// The claims.
    pub claims: Vec<ClaimRow>,
    /// The figures.
    pub figures: Vec<StudyFigure>,
    /// What repeats it.
    pub command: String,
    /// Program and version.
    pub generated_by: String,
}

/// A claim.
#[derive(Debug, Clone, Default)]
pub struct ClaimRow {
    /// Unique name.
    pub id: String,
    /// Figure or table of the study.
    pub figure: String,
    /// What was found there, in a sentence.
    pub finding: String,
    /// The metric, and what stands for it.
    pub metric: String,
    /// The published side in a few words.
    pub published: String,
    /// What the kernel gave.
    pub kernel: Option<(String, Outcome)>,
    /// What the model gave.
    pub model: Option<(String, Outcome)>,
    /// The verdict in words.
    pub verdict: String,
    /// What a reader has to know.
    pub note: String,
    /// Why it differs.
    pub explanation: String,
    /// Not published: a reading of ours.
    pub own: bool,
    /// Constants were fitted to it.
    pub calibration: bool,
}

/// What a claim came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Agrees,
    /// It does not.
    Differs,
    /// No number decides: see the figure.
    Drawn,
    /// There is no number.
    None,
}

/// A figure of the study, on each substrate that has runs for it.
#[derive(Debug, Clone)]
pub struct StudyFigure {
    /// As the study calls it.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What the study's text says of it.
    pub text: String,
    /// One a substrate.
    pub panels: Vec<Panel>,
    /// Runs over time.
    pub runs: Vec<OverTime>,
}

/// A figure on one substrate.
#[derive(Debug, Clone)]
pub struct Panel {
    /// The substrate.
    pub substrate: String,
    /// What it looks like.
    pub style: Style,
    /// Name of the metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Metric shown as dots beside the bars, and its unit.
    pub spread: Option<(String, String)>,
    /// The factor along the axis.
    pub x: String,
    /// Lines or bars.
    pub series: Vec<Series>,
}

/// How a panel is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line a series, with every run as a dot.
    Lines,
    /// A box a series over five numbers: least, quartiles, largest.
    Boxes,
    /// Lying bars, one for each series at each x, with every run as a dot.
    Bars,
}

/// A line, a box or the bars of one colour.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// For the legend; a congestion control gets its colour.
    pub name: String,
    /// The level of the factor along the axis, and a value for each repetition.
    pub points: Vec<(String, Vec<f64>)>,
    /// The second metric.
    pub spread: Vec<(String, f64)>,
}

impl ClaimsPage {
    /// One page that needs nothing else.
    pub fn html(&self) -> String {
        page::page(self)
    }
}

#[cfg(test)]
mod tests;
