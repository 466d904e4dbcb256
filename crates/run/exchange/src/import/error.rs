//! Why no recording can be made of a file.

use super::content::MOST_BYTES;
use super::imports;
use std::io;
use thiserror::Error;

/// Why no recording can be made of files.
#[derive(Debug, Error)]
pub enum ImportError {
    /// No file was given.
    #[error("no file was given")]
    NoFile,
    /// The file is too large to be read.
    #[error("it has more than {} MiB{}", MOST_BYTES >> 20, if *.is_unpacked { " when it is decompressed" } else { "" })]
    TooLarge {
        /// Whether it is the content of a gzip file that is.
        is_unpacked: bool,
    },
    /// The gzip file cannot be decompressed.
    #[error("it is a damaged gzip file ({source}): was it copied or written completely?")]
    Gzip {
        /// The decompressor's reason.
        source: io::Error,
    },
    /// It is not text.
    #[error("it is not text (byte {at} is not UTF-8); what can be imported is: {}", understood())]
    NotText {
        /// Position of the first byte that is wrong, from 0.
        at: usize,
    },
    /// No format is recognised.
    #[error(
        "it is not in a format that can be imported{}; these are: {}",
        .reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})")),
        understood()
    )]
    Unknown {
        /// Why it is not JSON, if it is not.
        reason: Option<String>,
    },
    /// Files of two programs.
    #[error("{} is of {} and {} of {}: import each by itself", files[0], formats[0], files[1], formats[1])]
    SeveralFormats {
        /// The files.
        files: [String; 2],
        /// The programs.
        formats: [&'static str; 2],
    },
    /// Several files where a test has one.
    #[error("{files} files of {format}: a recording is made of one; import each by itself")]
    OneFile {
        /// The program.
        format: &'static str,
        /// How many were given.
        files: usize,
    },
    /// The JSON is damaged.
    #[error("line {line} is not JSON ({reason}): is the file complete?")]
    Json {
        /// Counted from 1.
        line: usize,
        /// The parser's words.
        reason: String,
    },
    /// A field is missing, or not as the program writes it.
    #[error("{field}: {reason}; this is not what {format} writes")]
    Field {
        /// The program.
        format: &'static str,
        /// The path to the field.
        field: String,
        /// The error in it.
        reason: String,
    },
    /// A line of a log is not as the program writes it.
    #[error("line {line}: {reason}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// The error in it.
        reason: String,
    },
    /// Written by a newer version of the program.
    #[error("it has version {found} of the file format of {format}; versions up to {known} can be imported")]
    Newer {
        /// The program.
        format: &'static str,
        /// Its version.
        found: u64,
        /// The newest version that can be read.
        known: u64,
    },
    /// The result of another kind of test.
    #[error("it is the result of a test of type `{found}` of {format}; recordings are made of `{wanted}`")]
    OtherTest {
        /// The program.
        format: &'static str,
        /// The type.
        found: String,
        /// The type that can be imported.
        wanted: &'static str,
    },
    /// Results of several tests.
    #[error("it holds {count} results; give each its own file")]
    SeveralTests {
        /// How many.
        count: usize,
    },
    /// Too many flows.
    #[error("it has {found} flows; at most {} can be imported", super::MOST_FLOWS)]
    TooManyFlows {
        /// How many.
        found: usize,
    },
    /// Nothing of the data is known over time.
    #[error("it has no measurement: {reason}")]
    NothingMeasured {
        /// Why.
        reason: String,
    },
    /// iperf3's JSON is not as iperf3 writes it.
    #[error("{file}: {source}")]
    Iperf3 {
        /// The file.
        file: String,
        /// The error in it.
        source: wirespeed_iperf3::ImportError,
    },
    /// Two files of iperf3 are not of one test.
    #[error(transparent)]
    Merge(#[from] wirespeed_iperf3::MergeError),
}

/// The formats, each with a few words.
fn understood() -> String {
    let formats: Vec<&str> = imports().iter().map(|format| format.about()).collect();
    formats.join("; ")
}
