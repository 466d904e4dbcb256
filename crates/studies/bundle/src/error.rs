//! Why a bundle cannot be packed or read, with what to do.

use crate::manifest::FORMAT_VERSION;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;
use wirespeed_record::{StoreError, plain_line};

/// Why an entry of a bundle is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Problem {
    /// It starts with `/`.
    #[error("its path is absolute")]
    Absolute,
    /// It has a component `..`.
    #[error("its path leads out of the bundle")]
    LeavesTheFolder,
    /// It has empty components, backslashes or control characters.
    #[error("its path has components that no bundle has")]
    NotPlain,
    /// It has more than 1024 bytes, or a component of more than 255.
    #[error("its path is too long")]
    TooLong,
    /// It is not in the only folder of the bundle.
    #[error("it is not in the folder of the bundle")]
    Outside,
    /// It is a symbolic or a hard link.
    #[error("it is a link")]
    Link,
    /// It is a device or a pipe.
    #[error("it is a device or a pipe")]
    Device,
    /// It is of another type that bundles do not have, such as a folder or an extended header.
    #[error("it is not a regular file")]
    NotAFile,
    /// There was one of this path before.
    #[error("it is there twice")]
    Duplicate,
    /// `bundle.json` does not state it.
    #[error("bundle.json does not list it")]
    NotListed,
    /// `bundle.json` states it, and it is not there.
    #[error("bundle.json lists it, and it is missing")]
    Missing,
    /// `SHA256SUMS` has no line for it.
    #[error("SHA256SUMS does not list it")]
    WithoutSum,
    /// Its size is not the one in `bundle.json`.
    #[error("it has {found} bytes, and bundle.json states {stated}")]
    Size {
        /// Bytes by `bundle.json`.
        stated: u64,
        /// Bytes by the archive.
        found: u64,
    },
    /// Its content does not have the sum of `SHA256SUMS`.
    #[error("its checksum differs from SHA256SUMS: it was changed after it was packed")]
    Checksum,
}

/// Why a bundle cannot be packed or read.
#[derive(Debug, Error)]
pub enum BundleError {
    /// The operating system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The action, such as "read".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason of the operating system.
        source: io::Error,
    },
    /// The file is not a bundle.
    #[error("{} is not a bundle of wirespeed: {reason}", path.display())]
    NotABundle {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A newer program packed it.
    #[error("{} has version {found} of the format, and this program reads up to {FORMAT_VERSION}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// An entry is refused.
    #[error("{}: entry {}: {problem}", path.display(), plain_line(entry))]
    Entry {
        /// The bundle.
        path: PathBuf,
        /// The path of the entry.
        entry: String,
        /// The reason.
        problem: Problem,
    },
    /// The archive is truncated or damaged.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The bundle.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The sizes that it states are beyond the limits of bundles, or impossible for a file of its size.
    #[error("{} is too large: {reason}", path.display())]
    TooLarge {
        /// The bundle.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A file or folder is in the way.
    #[error("{} exists already", .0.display())]
    Occupied(PathBuf),
    /// The folder has no run.
    #[error("{} holds no complete run", .0.display())]
    NoRuns(PathBuf),
    /// Runs are not complete.
    #[error("{} of {total} runs are incomplete: {}", runs.len(), listed(runs))]
    Incomplete {
        /// Name and reason of each.
        runs: Vec<(String, String)>,
        /// All runs of the folder.
        total: usize,
    },
    /// A file of the folder is a link, a device or a pipe.
    #[error("{} is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// A file changed while it was packed.
    #[error("{} changed while it was packed", .0.display())]
    Changed(PathBuf),
    /// Text that no bundle can be called.
    #[error("`{0}` cannot name a bundle")]
    Name(String),
    /// No author is named.
    #[error("no author is named, and git has no user.name")]
    NoAuthor,
    /// Text that is not the name of an author.
    #[error("`{0}` is not the name of an author")]
    Author(String),
    /// Text that is not an SPDX identifier.
    #[error("`{0}` is not an SPDX identifier")]
    License(String),
    /// A run was changed, or cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn listed(runs: &[(String, String)]) -> String {
    const MOST: usize = 5;
    let mut names: Vec<String> =
        runs.iter().take(MOST).map(|(id, reason)| format!("{id} ({})", plain_line(reason))).collect();
    if runs.len() > MOST {
        names.push(format!("and {} more", runs.len() - MOST));
    }
    names.join(", ")
}

impl BundleError {
    /// The remedy, as a sentence for the user.
    pub fn remedy(&self) -> &'static str {
        match self {
            BundleError::Io { .. } => "check the permissions and the free space",
            BundleError::NotABundle { .. } => "give a file that `wirespeed bundle DIR` wrote",
            BundleError::Newer { .. } => "use a newer wirespeed",
            BundleError::Entry { .. } | BundleError::Damaged { .. } => {
                "get the bundle again from its source and compare the checksum of the file; nothing was unpacked"
            }
            BundleError::TooLarge { .. } => {
                "do not unpack it unless you trust its source; nothing was unpacked"
            }
            BundleError::Occupied(_) => "remove it, or name another with --out",
            BundleError::NoRuns(_) => "give the folder that `wirespeed run` wrote",
            BundleError::Incomplete { .. } => {
                "repeat the command that began them, or pack only their reasons with --allow-incomplete"
            }
            BundleError::NotRegular(_) => "replace it by a copy of the file, or remove it",
            BundleError::Changed(_) => "wait until nothing writes to the folder, and pack it again",
            BundleError::Name(_) => {
                "name the bundle by letters, digits and -, for example --out sweep.wirespeed.tar.gz"
            }
            BundleError::NoAuthor | BundleError::Author(_) => {
                "name each author, for example --author \"Doe, Jane\" --author \"The DTN team\""
            }
            BundleError::License(_) => {
                "give an identifier of https://spdx.org/licenses, for example --license CC-BY-4.0"
            }
            BundleError::Store(_) => {
                "run the scenario again into a new folder; a bundle has only results that are as they were recorded"
            }
        }
    }

    /// Whether the machine is the reason, and not what the user gave.
    pub fn is_of_the_system(&self) -> bool {
        matches!(self, BundleError::Io { .. } | BundleError::Store(StoreError::Io { .. }))
    }
}

pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BundleError {
    let path = path.to_path_buf();
    move |source| BundleError::Io { doing, path, source }
}
