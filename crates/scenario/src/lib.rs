//! The experiment file and what it resolves to.
//!
//! A scenario is a TOML file: a path, hosts, flows, how long to run, what to vary and what to expect. [`load`]
//! turns it into a [`Study`], whose [`Run`]s leave nothing open. Values are laid over each other in one order:
//! command line, swept value, file, preset, default. Whatever is wrong is a [`ScenarioError`] that points at the
//! line and says what would be right.

mod address;
mod congestion;
mod decode;
mod error;
mod expect;
mod file;
mod presets;
mod resolve;
mod room;
pub mod run;
mod study;
mod suggest;
mod sweep;
mod tree;

pub use congestion::{CongestionControl, Parameter, When, congestion_control, congestion_controls};
pub use error::{Mistake, ScenarioError};
pub use expect::Expectation;
pub use file::json_schema;
pub use presets::{DEFAULT_HOST_PRESET, Preset, PresetKind, preset, presets};
pub use run::{Factor, Run};
pub use study::{SCHEMA, Study, load, parse};
