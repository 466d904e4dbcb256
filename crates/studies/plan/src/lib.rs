//! Plans for a path: its needs, the rate by congestion control and number of flows, the budgets of loss, round-trip time and buffer,
//! and surfaces of the rate over two of these.
//!
//! A [`Question`] describes the path. [`answer`] chooses the experiments, a [`Laboratory`] runs them, and the [`Answer`] has
//! each number with its interval and the scenario that repeats it.

mod answer;
mod bench;
mod budget;
mod experiment;
mod needs;
mod page;
mod point;
mod question;
mod risk;
mod surface;
mod text;

pub use answer::{Answer, Rate, answer};
pub use bench::Measured;
pub use budget::{Axis, Budget, Crossing};
pub use experiment::{Experiment, Laboratory, Length, Reading};
pub use needs::NeedRow;
pub use page::page;
pub use point::Point;
pub use question::{Effort, Question, QuestionError};
pub use risk::Risk;
pub use surface::{Surface, Tile};
pub use text::text;
