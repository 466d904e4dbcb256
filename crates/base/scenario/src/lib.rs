//! The experiment file and what it resolves to.
//!
//! A scenario is a TOML file: a path, hosts, flows, how long to run, what to vary and what to expect. [`load`]
//! turns it into a [`Study`], whose [`Run`]s leave nothing open. A program builds a [`Scenario`] instead of a file.
//!
//! Values are laid over each other in one order: command line, swept value, file, preset, default. A mistake is a
//! [`ScenarioError`], which points at the line and proposes a correction.

mod address;
mod build;
mod decode;
mod error;
mod expect;
mod factor_name;
mod figure;
mod file;
pub mod layout;
mod metric_of;
mod presets;
mod resolve;
mod room;
pub mod run;
mod study;
mod suggest;
mod sweep;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tree;
mod variant;

pub use build::{Scenario, Setting, Table};
pub use error::{Mistake, ScenarioError};
pub use expect::Expectation;
pub use figure::{DistributionOf, FigureKind, FigureRequest};
pub use metric_of::{Subject, metric_of};

/// Files of this house besides scenarios (claims, studies): the same tree of values that know their place, and the
/// same messages.
pub mod document {
    pub use crate::error::Complaint;
    pub use crate::expect::quantity;
    pub use crate::suggest::choices;
    pub use crate::tree::{Entry, Node, Place, Source, Value, parse_document};
}

pub use file::json_schema;
pub use presets::{DEFAULT_HOST_PRESET, Preset, PresetKind, preset, presets};
pub use run::{Factor, Run};
pub use study::{SCHEMA, Study, load, parse};
/// The congestion controls a scenario may name, from the model's one table of them: the model has every one,
/// [`CongestionControl::linux`] tells whether a kernel has it, and [`Parameter::linux`] whether it has a parameter.
pub use wirespeed_congestion::{
    Algorithm as CongestionControl, Parameter, When, algorithm as congestion_control,
    algorithms as congestion_controls,
};
