//! The formats that a recording can be written in.

mod csv;
mod flent;
mod iperf3;

use std::fmt;
use std::io::{self, Write};
use thiserror::Error;
use wirespeed_record::{KeptSeries, Recording};

/// A format that recordings can be written in. A new one is a file with a type that implements this, and a row in
/// [`exports`].
pub trait Export: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// Its files in a few words, and the programs that read them.
    fn about(&self) -> &'static str;
    /// The files that the recording becomes. Its samples have to be in memory (`wirespeed_record::read`).
    ///
    /// # Errors
    /// If the recording has nothing that the format can hold.
    fn plan<'a>(&self, run: &'a Recording) -> Result<Vec<Planned<'a>>, ExportError>;
}

/// An error for a recording whose series were not kept, of a format that needs them.
fn with_series(run: &Recording, format: &'static str) -> Result<(), ExportError> {
    match run.info.series {
        KeptSeries::None => Err(ExportError::NoSeries { run: run.info.id.clone(), format }),
        KeptSeries::All | KeptSeries::Thin { .. } => Ok(()),
    }
}

/// Every format, in the order in which help lists them.
pub fn exports() -> &'static [&'static dyn Export] {
    &[&csv::Csv, &iperf3::Iperf3, &flent::Flent]
}

/// Writes the content of a file, once.
type Writing<'a> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'a>;

/// A file that a recording becomes.
pub struct Planned<'a> {
    /// Its name, below the folder of the export. Folders are separated by `/`.
    pub name: String,
    write: Writing<'a>,
}

impl<'a> Planned<'a> {
    fn new(name: String, write: impl FnOnce(&mut dyn Write) -> io::Result<()> + 'a) -> Planned<'a> {
        Planned { name, write: Box::new(write) }
    }

    /// Writes the content of the file.
    ///
    /// # Errors
    /// As the operating system.
    pub fn write(self, into: &mut dyn Write) -> io::Result<()> {
        (self.write)(into)
    }
}

impl fmt::Debug for Planned<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Planned").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why a recording cannot be written in a format.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExportError {
    /// The run has no flows.
    #[error("run {run} has no flows, so there is nothing that {format} can hold")]
    NoFlows {
        /// Its name.
        run: String,
        /// The format.
        format: &'static str,
    },
    /// The series were not kept.
    #[error(
        "the series of run {run} were not kept (run.series), and {format} needs them; `--format csv` writes the other tables"
    )]
    NoSeries {
        /// Its name.
        run: String,
        /// The format.
        format: &'static str,
    },
    /// No payload was recorded.
    #[error(
        "run {run} has neither delivered nor sent bytes of its flows, which {format} needs; `--format csv` writes all \
         tables"
    )]
    NothingDelivered {
        /// Its name.
        run: String,
        /// The format.
        format: &'static str,
    },
}
