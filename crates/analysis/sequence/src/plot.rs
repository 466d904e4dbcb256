//! Files for xplot: which there are, and their names.

use crate::{Subject, xplot};
use std::io::{self, Write};

/// A file for xplot (<https://www.xplot.org>) and jPlot.
#[derive(Debug, Clone)]
pub struct Plot<'a> {
    subject: Subject<'a>,
    kind: Kind,
    is_reverse: bool,
}

/// The graph of a file, as tcptrace distinguishes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    TimeSequence,
    Owin,
    Rtt,
    Throughput,
}

impl<'a> Plot<'a> {
    /// The files of a connection: four graphs for each direction with data.
    pub fn all(subject: Subject<'a>) -> Vec<Plot<'a>> {
        const KINDS: [Kind; 4] = [Kind::TimeSequence, Kind::Owin, Kind::Rtt, Kind::Throughput];
        let directions = subject.directions().len();
        let of = |number| KINDS.map(|kind| Plot { subject, kind, is_reverse: number > 0 });
        (0..directions).flat_map(of).collect()
    }

    /// Name of the file. The direction with less data has `-reverse` in it.
    pub fn file_name(&self) -> String {
        let name = match self.kind {
            Kind::TimeSequence => "time-sequence",
            Kind::Owin => "owin",
            Kind::Rtt => "rtt",
            Kind::Throughput => "throughput",
        };
        format!("{name}{}.xpl", if self.is_reverse { "-reverse" } else { "" })
    }

    /// Writes the content.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.subject.directions().get(usize::from(self.is_reverse)) {
            Some(direction) => xplot::write(out, self.kind, direction),
            None => Ok(()),
        }
    }
}
