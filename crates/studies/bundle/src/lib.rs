//! Reproduction bundles: one file with the runs of a study and everything that is needed to repeat them.
//!
//! [`Packing::write`] packs a folder of results. [`verify`] and [`unpack`] read a bundle, which may come from an untrusted source: nothing
//! is written outside of a fresh folder, and nothing stays after an error. [`compare`] compares a repetition with the packed
//! results, run by run.
//!
//! A bundle is a gzip-compressed tar archive of regular files below one folder. Its first entry is `bundle.json`
//! ([`Manifest`]), which states every other file with its size. Its second entry is `SHA256SUMS`. The same folder of results
//! gives the same bytes: entries are sorted, and have neither times nor owners.

mod citation;
mod collect;
mod comparison;
mod digest;
mod entry_path;
mod error;
mod inputs;
mod manifest;
mod pack;
mod read;
mod readme;
mod redaction;

pub use citation::{Author, License};
pub use comparison::{MetricDifference, RunComparison, RunFacts, RunVerdict, compare};
pub use error::{BundleError, Problem};
pub use inputs::{Input, inputs_of};
pub use manifest::{Data, FORMAT_VERSION, IncompleteRun, LeftOut, Manifest, PackedRun};
pub use pack::{KernelConfig, Packed, Packing};
pub use read::{is_bundle, unpack, verify};

/// The end of a bundle's file name.
pub const EXTENSION: &str = ".wirespeed.tar.gz";
/// The folder of a bundle that is a folder of results, as `wirespeed run` writes it.
pub const RESULTS: &str = "results";
/// The folder of scenario files and what they refer to.
pub const SCENARIO: &str = "scenario";
