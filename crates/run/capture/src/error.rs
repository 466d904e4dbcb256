//! Errors that keep a capture from being read at all. Damage within a file is a fact of the capture instead.

use std::io;
use std::path::PathBuf;

/// A capture that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The start of the file cannot be read.
    #[error("cannot read the start of the capture")]
    Start(#[source] io::Error),
    /// The file is empty, or too short for its header.
    #[error("the capture has {bytes} bytes, which is too short for the header of pcap or pcapng")]
    TooShort {
        /// Bytes after decompression.
        bytes: usize,
    },
    /// A format for which another program exists.
    #[error("the file is {format}, which is not read: convert it with {remedy}")]
    OtherFormat {
        /// The format.
        format: &'static str,
        /// The command to type.
        remedy: &'static str,
    },
    /// An unknown format.
    #[error(
        "the file begins with bytes {:02x} {:02x} {:02x} {:02x}: it is not pcap, pcapng, or one of them in gzip or Zstandard",
        start[0], start[1], start[2], start[3]
    )]
    NotACapture {
        /// The first bytes, after decompression.
        start: [u8; 4],
    },
}
