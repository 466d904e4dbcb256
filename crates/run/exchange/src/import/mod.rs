//! The formats that a recording can be made of.

mod content;
mod error;
mod flent;
mod iperf3;
mod pscheduler;
mod ss;
mod table;

pub use content::{Content, MOST_BYTES};
pub use error::ImportError;

use wirespeed_record::Recording;

/// A recording of another program has at most so many flows.
pub const MOST_FLOWS: usize = 1024;

/// A file of another program.
#[derive(Debug, Clone)]
pub struct Source {
    /// Name of the file, for readers of the recording.
    pub name: String,
    /// Its content.
    pub content: Content,
}

/// A format that recordings are made of. A new one is a file with a type that implements this, and a row in [`imports`].
pub trait Import: Sync {
    /// Name of the program that writes it.
    fn name(&self) -> &'static str;
    /// Its files, and the command that writes one.
    fn about(&self) -> &'static str;
    /// Whether a file is of this format, be it damaged or not.
    fn recognises(&self, content: &Content) -> bool;
    /// Makes a recording. `tool` and `command` are the caller's to fill in.
    ///
    /// # Errors
    /// The part of a file that is not as the program writes it.
    fn recording(&self, sources: &[Source]) -> Result<Recording, ImportError>;
}

/// Every format. A file is of the first that recognises it.
pub fn imports() -> &'static [&'static dyn Import] {
    &[&flent::Flent, &pscheduler::Pscheduler, &iperf3::Iperf3, &ss::Ss]
}

/// Makes a recording of files whose format is recognised from their content.
///
/// # Errors
/// If the format is unknown, the files are of several, or one is not as its program writes it.
pub fn recording(sources: &[Source]) -> Result<Recording, ImportError> {
    let mut format: Option<(&str, &'static dyn Import)> = None;
    for Source { name, content } in sources {
        let found = imports().iter().find(|format| format.recognises(content));
        let found = *found.ok_or_else(|| ImportError::Unknown { reason: content.not_json() })?;
        match format {
            Some((other, format)) if format.name() != found.name() => {
                return Err(ImportError::SeveralFormats {
                    files: [other.into(), name.clone()],
                    formats: [format.name(), found.name()],
                });
            }
            _ => format = Some((name, found)),
        }
    }
    let (_, format) = format.ok_or(ImportError::NoFile)?;
    format.recording(sources)
}

/// The only file of a test.
fn only<'a>(sources: &'a [Source], format: &'static str) -> Result<&'a Source, ImportError> {
    match sources {
        [only] => Ok(only),
        _ => Err(ImportError::OneFile { format, files: sources.len() }),
    }
}
