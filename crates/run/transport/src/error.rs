//! Why there is no session with an agent, or it ended.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use wirespeed_record::plain_line;

/// Why a session with an agent failed.
#[derive(Debug, Error)]
pub enum TransportError {
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The host, its agent or the connection to it failed.
    #[error("host {host}: {reason}{}", kept(log.as_deref()))]
    Host {
        /// Its name in the scenario.
        host: String,
        /// The reason, on one line of printable characters. It may contain words of the agent.
        reason: String,
        /// The file with what it has measured until then, if it has.
        log: Option<PathBuf>,
    },
    /// The agent could not be copied to the machine.
    #[error("cannot copy the agent to {machine}: {reason}")]
    Copy {
        /// The name that ssh was given.
        machine: String,
        /// The message of ssh or of the machine.
        reason: String,
    },
    /// There is no ssh client.
    #[error("cannot run {program}: {source}; install an ssh client, or set {}", crate::remote::SSH_VARIABLE)]
    Ssh {
        /// The program that was tried.
        program: String,
        /// The operating system's reason.
        source: io::Error,
    },
    /// A file of this machine could not be used.
    #[error("cannot {doing}: {source}")]
    Io {
        /// The attempt, with the name of the file.
        doing: String,
        /// The operating system's reason.
        source: io::Error,
    },
}

impl TransportError {
    /// A failure of a host. `log`: the file with what it has measured until then.
    pub fn host(host: &str, reason: &str, log: Option<&Path>) -> TransportError {
        TransportError::Host {
            host: host.to_owned(),
            reason: plain_line(reason).into_owned(),
            log: log.map(Path::to_owned),
        }
    }

    /// A failure of `doing` something with the file at `path`.
    pub(crate) fn io(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> TransportError {
        let doing = format!("{doing} {}", path.display());
        move |source| TransportError::Io { doing, source }
    }
}

fn kept(log: Option<&Path>) -> String {
    log.map_or(String::new(), |log| format!("; what it measured is in {}", log.display()))
}
