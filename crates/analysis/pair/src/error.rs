//! Errors that keep two captures from being compared.

use std::path::PathBuf;
use wirespeed_capture::CaptureError;

/// Two captures that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// A capture cannot be read.
    #[error("{}: {source}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: CaptureError,
    },
    /// A capture is read twice, which standard input does not allow.
    #[error("standard input cannot be one of two captures, since both are read twice")]
    StandardInput,
    /// A capture has no TCP packets.
    #[error("{} has no TCP packets", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Both have TCP packets, but none in common.
    #[error(
        "the captures have no TCP packet in common: {} with {first_connections} and {} with {second_connections} connections",
        first.display(),
        second.display()
    )]
    NothingInCommon {
        /// The first file.
        first: PathBuf,
        /// Its TCP connections.
        first_connections: u64,
        /// The second file.
        second: PathBuf,
        /// Its TCP connections.
        second_connections: u64,
    },
}
