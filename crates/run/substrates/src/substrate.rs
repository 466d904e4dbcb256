//! What can carry out a [`Run`].

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use thiserror::Error;
use wirespeed_record::{Recording, RunDirectory, StoreError, SubstrateKind};
use wirespeed_scenario::run::{KernelChoice, Run};

/// How far a run has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// The run's own time.
    pub reached_ns: i64,
    /// Payload delivered by then, all flows.
    pub delivered_bytes: u64,
}

/// How a caller follows and stops a run.
pub struct Control<'a> {
    /// Set it to stop the run; it ends with [`SubstrateError::Interrupted`].
    pub cancel: &'a AtomicBool,
    /// Called several times a second while the run goes on.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

/// Something that carries out runs.
pub trait Substrate: Sync {
    /// Which of the substrates it is.
    fn kind(&self) -> SubstrateKind;

    /// What identifies the kernel that it runs for this choice of `run.kernel`, if it runs one: a recording made on another
    /// one is not the same run.
    fn build(&self, kernel: Option<&KernelChoice>) -> Option<String>;

    /// What identifies the code that computes its results, if it is no kernel that has them.
    fn program(&self) -> Option<&'static str> {
        None
    }

    /// Whether it can carry out this run at all, before anything is started.
    ///
    /// # Errors
    /// What the run asks for that this substrate lacks, and the remedy.
    fn check(&self, run: &Run) -> Result<(), SubstrateError>;

    /// Whether another seed could give another result. If not, the repetitions of a run are one run.
    fn depends_on_seed(&self, _run: &Run) -> bool {
        true
    }

    /// A run as recordings of this substrate keep it.
    fn recorded(&self, run: &Run) -> serde_json::Value {
        run.recorded()
    }

    /// Whether two runs at a time would disturb each other: they share a path or processors in real time.
    fn one_at_a_time(&self) -> bool {
        false
    }

    /// Carries it out. Files of its own go to the directory's raw folder. The recording's tool and command are
    /// the caller's to fill in. A table that the substrate has written to the directory itself
    /// ([`RunDirectory::close`]) is empty in the recording: only the finished directory has everything.
    ///
    /// # Errors
    /// Why there is no recording; what was measured until then stays in the raw folder.
    fn carry_out(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Recording, SubstrateError>;
}

/// Why a run has no recording.
#[derive(Debug, Error)]
pub enum SubstrateError {
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
    /// The environment lacks something.
    #[error("{0}")]
    Environment(String),
    /// The run asks for something the substrate does not have.
    #[error("{0}")]
    Unsupported(String),
    /// The guest ended badly.
    #[cfg(feature = "linux")]
    #[error(transparent)]
    Boot(#[from] wirespeed_kernel::BootError),
    /// A host, its agent or the connection to it failed.
    #[cfg(feature = "linux")]
    #[error(transparent)]
    Transport(wirespeed_transport::TransportError),
    /// Several hosts failed. Each has a line.
    #[error("{}", lines(.0))]
    Several(Vec<SubstrateError>),
    /// The agent failed.
    #[error("the agent failed: {reason}; console log: {}", console.display())]
    Agent {
        /// The reason, as the agent reported it.
        reason: String,
        /// The guest's console.
        console: std::path::PathBuf,
    },
    /// The agent's records could not be read.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
    /// The run directory could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(feature = "linux")]
impl From<wirespeed_transport::TransportError> for SubstrateError {
    fn from(error: wirespeed_transport::TransportError) -> SubstrateError {
        match error {
            wirespeed_transport::TransportError::Interrupted => SubstrateError::Interrupted,
            error => SubstrateError::Transport(error),
        }
    }
}

impl SubstrateError {
    /// What became of `doing` something with the file or folder at `path`.
    pub(crate) fn io(doing: &str, path: &Path) -> impl FnOnce(io::Error) -> SubstrateError {
        let doing = format!("{doing} {}", path.display());
        move |source| SubstrateError::Io { doing, source }
    }
}

fn lines(errors: &[SubstrateError]) -> String {
    errors.iter().map(SubstrateError::to_string).collect::<Vec<_>>().join("\n")
}
