//! Programs that a test runs.

use std::io;
use std::process::Command;

/// A program that did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It could not be started.
    #[error("{program}: {source}")]
    Start {
        /// Its name.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// It failed.
    #[error("{line}: {stderr}")]
    Failed {
        /// The program with its arguments.
        line: String,
        /// Its message.
        stderr: String,
    },
}

/// Runs a program to its end and returns its output.
///
/// # Errors
/// If it cannot be started, or fails.
pub fn run(program: &str, arguments: &[&str]) -> Result<String, CommandError> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|source| CommandError::Start { program: program.to_owned(), source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(CommandError::Failed {
        line: format!("{program} {}", arguments.join(" ")),
        stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
