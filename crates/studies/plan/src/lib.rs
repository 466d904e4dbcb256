//! Plans for a path: its needs, the rate by congestion control and number of flows, and the budgets of loss, round-trip time and
//! buffer. Surfaces have the rate over two factors, with recorded runs on them.
//!
//! A [`Question`] describes the path. [`answer`] chooses the experiments, a [`Laboratory`] runs them, and the [`Answer`] has
//! each number with its interval and the scenario that repeats it.

mod answer;
mod axis;
mod bench;
mod beside;
mod budget;
mod experiment;
mod grid;
mod host;
mod misfit;
mod needs;
mod page;
mod point;
mod question;
mod recorded;
mod risk;
mod surface;
mod text;

pub use answer::{Answer, Rate, answer};
pub use axis::Axis;
pub use bench::Measured;
pub use beside::{Apart, Beside, Compared};
pub use budget::{Budget, Crossing};
pub use experiment::{Experiment, Laboratory, Length, Reading};
pub use misfit::Misfit;
pub use needs::NeedRow;
pub use page::page;
pub use point::Point;
pub use question::{Effort, Question, QuestionError};
pub use recorded::RecordedRun;
pub use risk::Risk;
pub use surface::{Surface, Tile};
pub use text::text;
