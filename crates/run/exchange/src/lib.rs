//! Exchange of recordings with other tools.
//!
//! [`exports`] lists the formats that a recording can be written in, [`imports`] those that a recording can be made of. Each
//! format is one file and one row of its list. A value that was not recorded is left out, or is null where other programs
//! need the key.

mod clock;
mod cumulative;
mod export;
mod import;

pub use clock::Moment;
pub use export::{Export, ExportError, Planned, exports};
pub use import::{Content, Import, ImportError, MOST_BYTES, MOST_FLOWS, Source, imports, recording};
