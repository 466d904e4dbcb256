//! Why a file is no report of iperf3.

use thiserror::Error;

/// Why a text is no report of one test.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ImportError {
    /// There is nothing in it.
    #[error("the file is empty; was iperf3 run with -J?")]
    Empty,
    /// It is not JSON.
    #[error(
        "line {line} is no JSON ({reason}); iperf3 writes JSON with -J, and only JSON if nothing else writes to the \
         same file"
    )]
    NotJson {
        /// Counted from 1.
        line: usize,
        /// The parser's words.
        reason: String,
    },
    /// It is the beginning of a report.
    #[error(
        "the file ends in the middle of the report, at line {line}: iperf3 writes it when the test is over, and was \
         perhaps killed meanwhile; what --json-stream (iperf3 3.17 or newer) has written by then can be used"
    )]
    CutOff {
        /// Counted from 1.
        line: usize,
    },
    /// It is JSON, but not iperf3's.
    #[error(
        "{field}: {reason}; this is not what `iperf3 -J` writes: is it another program's, or was it edited?"
    )]
    Field {
        /// The path to the field.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A server that goes on, or a log file that was appended to.
    #[error(
        "the file holds more than one test; give each its own: with `iperf3 -s -1` a server ends after one, and \
         `jq -s '.[0]' FILE` prints the first"
    )]
    SeveralTests,
    /// The test did not come to data.
    #[error("the test measured nothing{}", .reason.as_ref().map_or(String::new(), |words| format!(": iperf3 says \"{words}\"")))]
    NothingMeasured {
        /// The reason that iperf3 noted.
        reason: Option<String>,
    },
}
