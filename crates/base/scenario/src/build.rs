//! Scenarios that programs make: the same settings, checks and messages as those of a file, but no text is parsed.

mod text;

use crate::error::ScenarioError;
use crate::run::Family;
use crate::study::{Study, study};
use crate::tree::Source;
use std::net::IpAddr;
use wirespeed_units::{Bytes, Rate, Span};

/// A value of a scenario: what TOML can hold, without dates.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// A string: a word, a name, or a quantity with its unit.
    Text(String),
    /// A list.
    List(Vec<Setting>),
    /// A table inside a line, such as `{ flow_limit = 700 }`.
    Table(Table),
}

/// Settings by their keys, in the order in which they were set. The keys are those of a scenario file
/// (`wirespeed schema`). An unknown key is an error when the scenario is resolved, as in a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    comment: String,
    settings: Vec<(String, Setting)>,
}

impl Table {
    /// A table without settings.
    pub fn new() -> Self {
        Table::default()
    }

    /// Sets a key; a later value replaces an earlier one in its place.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl Into<Setting>) -> Self {
        let value = value.into();
        match self.settings.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.settings.push((key.to_owned(), value)),
        }
        self
    }

    /// The same where there is a value.
    #[must_use]
    pub fn set_if(self, key: &str, value: Option<impl Into<Setting>>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// Lines above the table in the text, each of which becomes a comment.
    #[must_use]
    pub fn comment(self, comment: &str) -> Self {
        Table { comment: comment.to_owned(), ..self }
    }
}

/// A scenario in the making. [`Scenario::study`] resolves it, and [`Scenario::text`] is the file that means the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    top: Table,
    /// Tables below the top level, in the order of the text.
    tables: Vec<(Header, Table)>,
}

/// The heading of a table.
#[derive(Debug, Clone, PartialEq)]
enum Header {
    /// `[topology]`, `[path]`, `[run]` or `[sweep]`.
    Single(&'static str),
    /// `[host.NAME]`.
    Host(String),
    /// `[[flow]]`.
    Flow,
}

impl Scenario {
    /// A scenario of that name, which is also that of its study.
    pub fn new(name: &str) -> Self {
        Scenario { top: Table::new().set("schema", crate::SCHEMA).set("name", name), tables: Vec::new() }
    }

    /// The question that it asks.
    #[must_use]
    pub fn about(self, about: &str) -> Self {
        Scenario { top: self.top.set("about", about), ..self }
    }

    /// Lines at the top of the text, each of which becomes a comment.
    #[must_use]
    pub fn comment(self, comment: &str) -> Self {
        Scenario { top: self.top.comment(comment), ..self }
    }

    /// The path between the hosts: `[path]`.
    #[must_use]
    pub fn path(self, path: Table) -> Self {
        self.with(Header::Single("path"), path)
    }

    /// How hosts and links are joined: `[topology]`.
    #[must_use]
    pub fn topology(self, topology: Table) -> Self {
        self.with(Header::Single("topology"), topology)
    }

    /// Settings of a host: `[host.NAME]`.
    #[must_use]
    pub fn host(self, name: &str, host: Table) -> Self {
        self.with(Header::Host(name.to_owned()), host)
    }

    /// One more transfer, or several alike: `[[flow]]`.
    #[must_use]
    pub fn flow(mut self, flow: Table) -> Self {
        self.tables.push((Header::Flow, flow));
        self
    }

    /// Duration, sampling, seed and repetitions: `[run]`.
    #[must_use]
    pub fn run(self, run: Table) -> Self {
        self.with(Header::Single("run"), run)
    }

    /// Factors by their dotted paths, each with the list of its values: `[sweep]`. An empty table sweeps nothing.
    #[must_use]
    pub fn sweep(self, factors: Table) -> Self {
        if factors.settings.is_empty() { self } else { self.with(Header::Single("sweep"), factors) }
    }

    /// Adds a table of which there is one; a later one replaces an earlier one in its place.
    fn with(mut self, header: Header, table: Table) -> Self {
        match self.tables.iter_mut().find(|(other, _)| *other == header) {
            Some((_, old)) => *old = table,
            None => self.tables.push((header, table)),
        }
        self
    }

    /// The scenario as the text of a file.
    pub fn text(&self) -> String {
        text::layout(self, &Source::new("", "")).0
    }

    /// Resolves it as [`crate::parse`] resolves a text. `file_name` stands in messages and in [`Study::path`]; the
    /// places in messages are those of [`Scenario::text`].
    ///
    /// # Errors
    /// If a setting or an override is wrong; see [`ScenarioError`].
    pub fn study(
        &self,
        file_name: &str,
        overrides: &[(String, String)],
        seed: Option<u64>,
    ) -> Result<Study, ScenarioError> {
        let source = Source::new(file_name, self.text());
        let (_, root) = text::layout(self, &source);
        Ok(study(root, &source, overrides, seed)?)
    }
}

impl From<bool> for Setting {
    fn from(value: bool) -> Self {
        Setting::Bool(value)
    }
}

/// Whole numbers that fit.
macro_rules! whole {
    ($($type:ty),*) => { $(
        impl From<$type> for Setting {
            fn from(value: $type) -> Self {
                Setting::Integer(value.into())
            }
        }
    )* };
}

whole!(u8, u16, u32, i32, i64);

impl From<f64> for Setting {
    /// A whole number becomes one, as it is written in a file. Infinities and NaN become strings, which no key takes.
    fn from(value: f64) -> Self {
        /// Up to here a float holds each whole number.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if !value.is_finite() {
            Setting::Text(value.to_string())
        } else if value.fract() == 0.0 && value.abs() <= EXACT {
            Setting::Integer(value as i64)
        } else {
            Setting::Float(value)
        }
    }
}

impl From<&str> for Setting {
    fn from(value: &str) -> Self {
        Setting::Text(value.to_owned())
    }
}

impl From<String> for Setting {
    fn from(value: String) -> Self {
        Setting::Text(value)
    }
}

impl<T: Into<Setting>> From<Vec<T>> for Setting {
    fn from(values: Vec<T>) -> Self {
        Setting::List(values.into_iter().map(Into::into).collect())
    }
}

impl From<Table> for Setting {
    fn from(value: Table) -> Self {
        Setting::Table(value)
    }
}

/// Types that a scenario holds as strings.
macro_rules! textual {
    ($($type:ty),*) => { $(
        impl From<$type> for Setting {
            fn from(value: $type) -> Self {
                Setting::Text(value.to_string())
            }
        }
    )* };
}

textual!(Rate, Bytes, Span, IpAddr);

impl From<Family> for Setting {
    fn from(value: Family) -> Self {
        Setting::Text(value.to_string().to_lowercase())
    }
}
