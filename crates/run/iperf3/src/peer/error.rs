//! Why there is no test with a server.

use super::state::State;
use std::io;
use std::net::SocketAddr;
use thiserror::Error;

/// What went wrong with a server.
#[derive(Debug, Error)]
#[error("iperf3 server {server}: {reason}")]
pub struct PeerError {
    /// Which one.
    pub server: SocketAddr,
    /// What.
    pub reason: Reason,
}

/// Why there is no test, or none any more.
#[derive(Debug, Error)]
pub enum Reason {
    /// Nobody is there, or nothing gets through.
    #[error("cannot connect: {0}; is `iperf3 -s` running there, and is its port open?")]
    Connect(io::Error),
    /// The operating system refused something.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// Its reason.
        source: io::Error,
    },
    /// No answer for too long.
    #[error("timed out after {seconds} s waiting for it to {due}{}", if *.first { "; is it an iperf3 server?" } else { "" })]
    Silent {
        /// The expected state.
        due: State,
        /// Length of the wait.
        seconds: f64,
        /// It has never sent anything.
        first: bool,
    },
    /// It has closed the connection.
    #[error("it closed the connection; expected it to {due}{}", if *.first { "; is it an iperf3 server?" } else { "" })]
    Gone {
        /// The expected state.
        due: State,
        /// It has never sent anything.
        first: bool,
    },
    /// Another service.
    #[error("it is not an iperf3 server: it answers {said:?}; check the address and port")]
    NotIperf3 {
        /// The beginning of its answer.
        said: String,
    },
    /// It serves one client at a time.
    #[error("it is busy with another test; try again later")]
    Busy,
    /// It cannot do its part.
    #[error("it refuses: {}{}", words(*.code), os_words(*.errno))]
    Refused {
        /// iperf3's number for it.
        code: i32,
        /// The operating system's, 0 if it has none.
        errno: i32,
    },
    /// Somebody stopped it.
    #[error("it was stopped")]
    Stopped,
    /// An answer that the protocol does not have at this point.
    #[error("protocol error: got \"{got}\", expected \"{due}\"")]
    OutOfTurn {
        /// The received state.
        got: State,
        /// The expected state.
        due: State,
    },
    /// Its results cannot be read.
    #[error("its results: {0}")]
    Results(String),
    /// A test that no server carries out.
    #[error("{0}")]
    Test(String),
}

/// What a server's number means, where the user can do something about it. The numbers are those of iperf3's manual of
/// its library (libiperf(3)) and of its messages, the same since 3.0.
fn words(code: i32) -> String {
    let known = match code {
        5 => "the test is longer than it allows",
        6 => "the test has more streams than it allows",
        7 => "the block is larger than it allows",
        8 => "the window is larger than it allows",
        27 => "the rate of the test is above its limit (--server-bitrate-limit)",
        37 => "the test is longer than its limit",
        119 => "it found the connection of wirespeed closed",
        120 => "it was stopped",
        124 | 141 => "its kernel does not allow so large a window (net.core.rmem_max there)",
        134 => "it does not have this congestion control",
        142 => "it requires a user and a password, which wirespeed cannot send",
        _ => return format!("error {code} (`iperf3 -s` prints its meaning there)"),
    };
    known.into()
}

fn os_words(errno: i32) -> String {
    if errno > 0 { format!(" ({})", io::Error::from_raw_os_error(errno)) } else { String::new() }
}
