//! What can be wrong with a scenario, shown at its place.

use crate::tree::Place;
use miette::{Diagnostic, LabeledSpan, NamedSource, Severity, SourceCode, SourceSpan};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Why a scenario could not be used.
#[derive(Debug, Error, Diagnostic)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read scenario {}: {source}", path.display())]
    #[diagnostic(help(
        "give the path of a scenario file; `wirespeed list scenarios` shows the ones that come with wirespeed"
    ))]
    Read {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file, or what was laid over it, says something that cannot be meant.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Invalid(Box<Mistake>),
}

impl ScenarioError {
    /// The mistake and its place, unless the file could not be read at all.
    pub fn mistake(&self) -> Option<&Mistake> {
        match self {
            ScenarioError::Invalid(mistake) => Some(mistake),
            ScenarioError::Read { .. } => None,
        }
    }
}

/// Something wrong at a place of a text. `{}` prints `file:line:column: message`, `{:#}` adds the remedy in
/// parentheses; as a [`miette::Diagnostic`] it carries the remedy as help, the text and the marked span.
#[derive(Debug)]
pub struct Mistake {
    /// What is wrong, naming the object.
    pub message: String,
    /// How to put it right, with the allowed values.
    pub help: Option<String>,
    /// The word at the marked span.
    pub label: String,
    /// The text's name: the file, `--set`, `--seed` or a preset.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Marked bytes of the text.
    pub span: SourceSpan,
    source: NamedSource<String>,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        match &self.help {
            Some(help) if f.alternate() => write!(f, " ({help})"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for Mistake {}

impl Diagnostic for Mistake {
    fn severity(&self) -> Option<Severity> {
        Some(Severity::Error)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(LabeledSpan::new_with_span(Some(self.label.clone()), self.span))))
    }
}

/// A [`Mistake`] in the making; it becomes a [`ScenarioError`].
#[derive(Debug, Clone, PartialEq)]
pub struct Complaint {
    /// Where.
    pub at: Place,
    /// What is wrong, naming the object.
    pub message: String,
    /// The word at the marked span.
    pub label: String,
    /// How to put it right.
    pub help: Option<String>,
}

impl Complaint {
    /// Something is wrong at this place.
    pub fn at(at: &Place, message: impl Into<String>) -> Self {
        Complaint { at: at.clone(), message: message.into(), label: "here".into(), help: None }
    }

    /// With a word at the marked span.
    pub fn label(self, label: impl Into<String>) -> Self {
        Complaint { label: label.into(), ..self }
    }

    /// With a remedy.
    pub fn help(self, help: impl Into<String>) -> Self {
        Complaint { help: Some(help.into()), ..self }
    }
}

impl From<Complaint> for ScenarioError {
    fn from(complaint: Complaint) -> Self {
        let Complaint { at, message, label, help } = complaint;
        let text = &at.source.text;
        let start =
            (0..=at.span.start.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let length = at.span.end.clamp(start, text.len()) - start;
        ScenarioError::Invalid(Box::new(Mistake {
            message,
            help,
            label,
            file: at.source.name.clone(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            span: (start, length).into(),
            source: NamedSource::new(&at.source.name, text.clone()).with_language("TOML"),
        }))
    }
}
