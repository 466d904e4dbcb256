//! The cost of a host's work: short controlled runs over a virtual pair of interfaces, a fit, and a preset of the model.
//!
//! Sender and receiver have a core each. A [`Setting`] decides which work they have. A process ([`serve`]) counts the work and its time.
//! [`fit`] finds the cost of each kind of work, and [`preset`] writes the costs as a file that scenarios name.

mod cost;
mod fit;
mod observation;
mod preset;
mod setting;
mod text;

#[cfg(target_os = "linux")]
mod bench;
#[cfg(target_os = "linux")]
mod kernel_counts;
#[cfg(target_os = "linux")]
mod pair;
#[cfg(target_os = "linux")]
mod session;

pub use cost::Cost;
pub use fit::{Estimate, Fit, FitError, fit};
pub use observation::{Counts, Observation, Side, Work};
pub use preset::{Machine, preset};
pub use setting::{Setting, settings};
pub use text::text;

#[cfg(target_os = "linux")]
pub use session::{Answer, Request, serve};
