//! Statistics of repeats: plain numbers in, plain numbers out.
//!
//! Every interval has its level and its [`Method`]. Every function returns `None` where the values do not show what chance
//! does: with fewer than two values, or if all repeats are equal. `tests/reference/make.py` computes the same numbers with
//! SciPy and statsmodels, and `tests/reference.rs` compares. `examples/coverage.rs` prints how often the intervals contain
//! the true value.

pub mod blocks;
pub mod bootstrap;
mod interval;
mod level;
pub mod multiple;
pub mod outliers;
pub mod paired;
mod random;
mod sample;
pub mod sequential;
pub mod unpaired;

pub use interval::{Estimate, Interval, Method, student_t};
pub use level::Level;
pub use random::Random;
pub use sample::{mean, quantile, standard_deviation, student};
