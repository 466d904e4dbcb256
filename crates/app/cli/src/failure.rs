//! What ends the program other than well, and with which exit code.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use std::borrow::Cow;
use std::io::IsTerminal;
use std::process::ExitCode;
use thiserror::Error;
#[cfg(feature = "linux")]
use wirespeed_kernel::KernelError;
use wirespeed_picture::PictureError;
use wirespeed_record::{StoreError, plain};
use wirespeed_scenario::ScenarioError;
use wirespeed_validation::ValidationError;

/// Why a command did not end well.
#[derive(Debug, Error, Diagnostic)]
pub enum Failure {
    /// Something was measured and is not as it should be; it has been printed already.
    #[error("expectations were not met")]
    Expectation,
    /// What was measured is worse than the user allows, or than it was; what was measured has been printed already.
    #[error("{0}")]
    Threshold(String),
    /// Runs of a folder cannot be read; the others have been printed already.
    #[error("{failed} of {total} runs cannot be read; the report has the others")]
    Unreadable {
        /// How many.
        failed: usize,
        /// Of how many.
        total: usize,
    },
    /// The report of runs that were recorded.
    #[error("cannot write {what}: {source}")]
    #[diagnostic(help("the recording is complete; `{command}` makes its report"))]
    Report {
        /// The file.
        what: String,
        /// The operating system's reason.
        source: std::io::Error,
        /// What makes it elsewhere.
        command: String,
    },
    /// The scenario file cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Scenario(#[from] ScenarioError),
    /// The command line asks for something that is not there.
    #[error("{message}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What to do.
        #[help]
        remedy: String,
    },
    /// The kernel is missing or could not be built.
    #[cfg(feature = "linux")]
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No kernel with the user's own congestion controls.
    #[error("no virtual-time kernel with this scenario's own congestion controls in {}", cache.display())]
    #[diagnostic(help("run `{command}`"))]
    OwnKernel {
        /// Where it was looked for.
        cache: std::path::PathBuf,
        /// What builds it.
        command: String,
    },
    /// Some runs could not be carried out; the reasons have been printed already.
    #[error(
        "{failed} of {total} runs could not be carried out; run the same command again to try only those"
    )]
    Runs {
        /// How many.
        failed: usize,
        /// Of how many.
        total: usize,
    },
    /// The time of a campaign is over.
    #[error("the time of --budget is over: {complete} of {total} runs are complete")]
    #[diagnostic(help("run the same command again to resume"))]
    Budget {
        /// Complete runs.
        complete: usize,
        /// All runs.
        total: usize,
    },
    /// A run directory cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The validation grid or its data cannot be used.
    #[error(transparent)]
    Validation(#[from] ValidationError),
    /// A file cannot be written.
    #[error("cannot write {what}: {source}")]
    Output {
        /// The file.
        what: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// A figure cannot be drawn.
    #[error("cannot draw {what}: {source}")]
    Picture {
        /// The file.
        what: String,
        /// The reason.
        source: PictureError,
    },
    /// The environment lacks something.
    #[error("{0}")]
    Environment(String),
    /// A command that was started on the user's behalf did not end well; it has said why.
    #[error("{command} ended with exit code {code}")]
    Command {
        /// Its name.
        command: String,
        /// Its exit code, which becomes that of this program.
        code: u8,
    },
    /// The agent of a host could not do its part.
    #[error("the agent failed; the controller that started it prints the reason")]
    Agent,
    /// Ctrl-C or SIGTERM.
    #[error("interrupted: complete runs are kept; run the same command again to resume")]
    Interrupted,
    /// The same in a measurement, which is not resumed.
    #[error("interrupted; what was measured until then is kept")]
    InterruptedProbe,
    /// The same while settings were changed.
    #[error("interrupted; every setting that was changed is put back")]
    InterruptedTune,
}

impl Failure {
    fn code(&self) -> u8 {
        match self {
            Failure::Expectation | Failure::Threshold(_) => 1,
            Failure::Scenario(_) | Failure::Usage { .. } => 2,
            Failure::Command { code, .. } => *code,
            Failure::Interrupted | Failure::InterruptedProbe | Failure::InterruptedTune => 130,
            Failure::Budget { .. } => 124,
            #[cfg(feature = "linux")]
            Failure::Kernel(KernelError::Cancelled) => 130,
            #[cfg(feature = "linux")]
            Failure::Kernel(_) => 3,
            Failure::OwnKernel { .. }
            | Failure::Runs { .. }
            | Failure::Unreadable { .. }
            | Failure::Report { .. }
            | Failure::Agent
            | Failure::Environment(_)
            | Failure::Picture { .. }
            | Failure::Output { .. } => 3,
            // Given a folder that holds no such thing is a matter of usage; a disk that refuses is not.
            Failure::Store(StoreError::Io { .. } | StoreError::Locked { .. })
            | Failure::Validation(ValidationError::Io { .. }) => 3,
            Failure::Store(_) | Failure::Validation(_) => 2,
        }
    }

    /// Prints it on standard error.
    pub fn show(&self) -> ExitCode {
        eprint!("{}", self.text(std::io::stderr().is_terminal()));
        ExitCode::from(self.code())
    }

    fn text(&self, to_terminal: bool) -> String {
        let without_frame = self.rendered(GraphicalTheme::none());
        match plain(&without_frame) {
            // The place matters more than the frame: without a terminal, plain text.
            Cow::Borrowed(_) if to_terminal => self.rendered(GraphicalTheme::unicode()),
            // Somebody else's words may be in it, and commands to the terminal in those.
            shown => shown.into_owned(),
        }
    }

    fn rendered(&self, theme: GraphicalTheme) -> String {
        let mut text = String::new();
        // Every message says its cause, so that it stands in one line where it goes elsewhere.
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100).without_cause_chain();
        if handler.render_report(&mut text, self).is_err() {
            text = format!("{self}\n");
        }
        text
    }
}

#[cfg(feature = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let source = std::io::Error::from_raw_os_error(libc::ENOSPC);
        let text = Failure::Output { what: "report.html".into(), source }.text(false);
        assert_eq!(text.matches("No space left on device").count(), 1, "{text}");
    }

    #[test]
    fn words_of_others_have_no_commands_for_the_terminal() {
        let told = |reason: &str| {
            let (path, reason) = ("run".into(), reason.to_owned());
            Failure::Store(StoreError::Incomplete { path, reason }).text(true)
        };
        assert!(told("no more memory").contains('\u{1b}'), "a terminal has colours");
        let hostile = told("\u{1b}[2J\u{1b}[Hnothing happened");
        assert!(hostile.contains("nothing happened") && !hostile.contains('\u{1b}'), "{hostile:?}");
    }
}
