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
    /// No word for too long.
    #[error("no word for {seconds} s where it was to {due}{}", if *.first { "; is it an iperf3 server?" } else { "" })]
    Silent {
        /// What it was to say.
        due: State,
        /// For how long it was waited for.
        seconds: f64,
        /// It has never said anything.
        first: bool,
    },
    /// It has closed the connection.
    #[error("it closed the connection where it was to {due}{}", if *.first { "; is it an iperf3 server?" } else { "" })]
    Gone {
        /// What it was to say.
        due: State,
        /// It has never said anything.
        first: bool,
    },
    /// Another service.
    #[error("it is no iperf3 server: it answers {said:?}")]
    NotIperf3 {
        /// What it said, the beginning.
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
    /// It says what it was not asked.
    #[error("it wants to {got} where it was to {due}")]
    OutOfTurn {
        /// What it said.
        got: State,
        /// What it was to say.
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
        5 => "it does not take so long a test",
        6 => "it does not take so many streams",
        7 => "it does not take so large a block",
        8 => "it does not take so large a window",
        27 => "it limits the rate of a test, and this one has more (--server-bitrate-limit)",
        37 => "it limits the length of a test, and this one takes longer",
        119 => "it thinks that we have ended",
        120 => "it was stopped",
        124 | 141 => "its kernel does not give it so large a window (net.core.rmem_max there)",
        134 => "it does not have this congestion control",
        142 => "it wants a user and a password, which wirespeed does not send",
        _ => return format!("its error {code} (`iperf3 -s` prints the words there)"),
    };
    known.into()
}

fn os_words(errno: i32) -> String {
    if errno > 0 { format!(" ({})", io::Error::from_raw_os_error(errno)) } else { String::new() }
}
