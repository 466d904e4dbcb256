//! Figures and tables from recordings and metrics.
//!
//! A [`Builder`] takes the runs of a study one after the other and keeps little of each; the finished [`Report`] is one
//! self-contained HTML page, the same figures as files ([`FigureFile`]), and a table for the terminal.
//!
//! A [`Comparer`] takes the runs of several folders in the same way; its [`Comparison`] holds them beside each other.
//!
//! A figure is one file in `figures/` and one row in its registry. It says *what* is to be seen (`figure.rs`);
//! `html/` (with plotly in the browser) and `svg/` know how to draw.

mod adaptation;
mod answer;
mod builder;
mod characters;
pub mod claims;
mod colour_scale;
mod compare;
mod conditions;
mod core_time;
mod details;
mod diagnosis;
mod digest;
mod distribution;
mod drawing;
mod ended_early;
mod estimate;
mod exchanges;
mod factors;
mod facts;
mod figure;
mod figure_file;
mod figures;
mod flow_groups;
mod flow_lines;
mod harm;
mod html;
mod input;
mod kept;
mod ledger;
mod link_share;
mod number;
mod number_axis;
mod observations;
mod pairs;
mod palette;
mod plan;
pub mod planning;
mod ranges;
mod rate_series;
mod report;
mod rings;
mod run_metrics;
mod scatter;
mod shorten;
mod source;
mod steadiness;
mod svg;
mod sweep;
mod terminal;
mod thin;

pub use builder::Builder;
pub use compare::{Comparer, Comparison};
pub use diagnosis::{Section, diagnosis, missed};
pub use digest::{factor_head, factor_number, factor_text, metric_words};
pub use figure_file::FigureFile;
pub use harm::Harm;
pub use input::{ExpectOutcome, GroupResult, MetricValue, RunResult, StudyInfo};
pub use number::with_unit;
pub use report::Report;
pub use scatter::{Scatter, ScatterGroup, ScatterMark};
pub use svg::escape;
pub use sweep::{LevelComparison, Pairing, Scale};
pub use terminal::text_table;
pub use wirespeed_scenario::{DistributionOf, FigureKind, FigureRequest};

/// The style sheet of every page, with the colours of both themes, for a program that serves pages of its own beside them.
pub fn page_style() -> String {
    html::style()
}

/// The text of every script that a page carries. A program that serves pages can allow these and no others.
pub fn page_scripts() -> [&'static str; 2] {
    html::scripts()
}
