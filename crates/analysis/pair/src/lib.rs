//! Two captures of the same connections, at two points of their path.
//!
//! [`read`] reads both files twice. The first pass analyzes each capture alone ([`wirespeed_trace`]), and collects what connects
//! them: addresses, initial sequence numbers, and a sample of packets that both have. The second pass reads both files side
//! by side, and finds for each packet of one capture its counterpart in the other.
//!
//! The result has every packet that was lost between the captures, delays in both directions, reordering, duplicates, and what
//! devices on the path changed. docs/explanation/trace.md explains the method and how exact it is.

mod alignment;
mod change;
mod clock;
mod connections;
mod delay;
mod envelope;
mod error;
mod feed;
mod lane;
mod matcher;
mod pieces;
mod read;
mod received;
mod reordering;
mod result;
mod sample;
mod sighting;
mod steps;
mod survey;
pub mod text;

pub use change::{Change, Changes, Rewritten};
pub use clock::{Clock, Step};
pub use delay::Delays;
pub use error::PairError;
pub use read::{Options, Side, read, read_with};
pub use reordering::Reordering;
pub use result::{Counts, Direction, LostPacket, PairTrace, PairedConnection, Path, Point};
