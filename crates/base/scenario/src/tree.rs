//! The file as a tree of values that know where they were written.
//!
//! Layers (preset, file, sweep, `--set`) are merged here, before anything is decoded, so that whatever turns out
//! to be wrong later can be shown at the place it was written: in the file, on the command line or in a preset.

use crate::error::Complaint;
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// Where something was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: Arc<Source>,
    /// Bytes of `source.text`.
    pub span: Range<usize>,
}

/// A text that values come from.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's name, `--set` or the preset's name.
    pub name: String,
    /// All of it.
    pub text: String,
}

impl Source {
    /// A text and what messages call it.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Source { name: name.into(), text: text.into() })
    }
}

impl Place {
    /// These bytes of a text.
    pub fn new(source: &Arc<Source>, span: Range<usize>) -> Self {
        Place { source: source.clone(), span }
    }

    /// The first line of a text, for what is missing from all of it.
    pub fn start(source: &Arc<Source>) -> Self {
        Place::new(source, 0..source.text.lines().next().map_or(0, str::len))
    }
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it was written.
    pub at: Place,
    /// What it is.
    pub value: Value,
}

/// What a file can hold. Dates are refused on reading: nothing here is one.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number, finite.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    Array(Vec<Node>),
    /// In the order of the file.
    Table(Vec<Entry>),
}

/// A key of a table, its place, and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key is.
    pub at: Place,
    /// Its value.
    pub node: Node,
}

/// Reads a whole document.
///
/// # Errors
/// If it is not TOML, or holds what no file of ours has.
pub fn parse_document(source: &Arc<Source>) -> Result<Node, Complaint> {
    let table = DeTable::parse(&source.text).map_err(|error| not_toml(source, &error))?;
    let entries = entries(table.get_ref(), source)?;
    Ok(Node { at: Place::start(source), value: Value::Table(entries) })
}

/// Reads one value that starts at byte `offset` of `source`.
pub(crate) fn parse_value(source: &Arc<Source>, offset: usize) -> Result<Node, Complaint> {
    let value = DeValue::parse(&source.text[offset..]).map_err(|error| not_toml(source, &error))?;
    node(value.get_ref(), Place::new(source, offset..source.text.len()), source)
}

impl Node {
    /// A table without keys.
    pub fn empty_table(at: Place) -> Self {
        Node { at, value: Value::Table(Vec::new()) }
    }

    /// The keys of a table; none of anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// What a list holds; nothing of anything else.
    pub fn elements(&self) -> &[Node] {
        match &self.value {
            Value::Array(elements) => elements,
            _ => &[],
        }
    }

    /// The string, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value under a key, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The entry of a key, to change it.
    pub fn entry(&mut self, key: &str) -> Option<&mut Entry> {
        match &mut self.value {
            Value::Table(entries) => entries.iter_mut().find(|e| e.key == key),
            _ => None,
        }
    }

    /// The place of the value under a path of keys, or of the innermost table on the way that exists.
    pub fn place_of(&self, path: &[&str]) -> Place {
        let mut here = self;
        for key in path {
            match here.get(key) {
                Some(next) => here = next,
                None => break,
            }
        }
        here.at.clone()
    }

    /// Takes a key out of a table.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let Value::Table(entries) = &mut self.value else { return None };
        let index = entries.iter().position(|e| e.key == key)?;
        Some(entries.remove(index))
    }

    /// What kind of thing it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Bool(_) => "a truth value",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Text(_) => "a string",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Lays `upper` over `lower`: tables merge key by key, anything else is replaced. A table of another `kind` is
/// something else: the settings of the one do not belong to the other.
///
/// This is the one place where layers meet. Presets lie below the file; the sweep's value and `--set` have been
/// written into the file's tree by then (in this order), so the order is `--set` > sweep > file > preset, and what
/// no layer gives takes the default of its decoded struct.
pub(crate) fn layer(lower: &Node, upper: &Node) -> Node {
    let (Value::Table(below), Value::Table(above)) = (&lower.value, &upper.value) else {
        return upper.clone();
    };
    if upper.get("kind").is_some_and(|kind| lower.get("kind").is_some_and(|old| old.value != kind.value)) {
        return upper.clone();
    }
    let mut merged = below.clone();
    for entry in above {
        match merged.iter_mut().find(|e| e.key == entry.key) {
            Some(old) => *old = Entry { node: layer(&old.node, &entry.node), ..entry.clone() },
            None => merged.push(entry.clone()),
        }
    }
    Node { at: upper.at.clone(), value: Value::Table(merged) }
}

fn entries(table: &DeTable<'_>, source: &Arc<Source>) -> Result<Vec<Entry>, Complaint> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let at = Place::new(source, key.span());
        // A table opened by a header or by dotted keys is best shown at its name.
        let value_at = match value.get_ref() {
            DeValue::Table(_) | DeValue::Array(_) if !opens_inline(source, value.span()) => at.clone(),
            _ => Place::new(source, value.span()),
        };
        entries.push(Entry {
            key: key.get_ref().to_string(),
            at,
            node: node(value.get_ref(), value_at, source)?,
        });
    }
    // The parser sorts by name; the order of the file matters for sweeps.
    entries.sort_by_key(|e| e.at.span.start);
    Ok(entries)
}

fn opens_inline(source: &Source, span: Range<usize>) -> bool {
    let text = source.text.get(span).unwrap_or_default();
    text.starts_with('{') || (text.starts_with('[') && !is_header(text))
}

/// Whether a table's text is a `[header]` or `[[header]]` line and not a list.
fn is_header(text: &str) -> bool {
    let bare = |c: char| c.is_ascii_alphanumeric() || "-_.\"' ".contains(c);
    let inner = text.trim_start_matches('[');
    let name = inner.trim_end_matches(']');
    text.starts_with("[[") && !name.contains([',', '[']) && name.chars().all(bare) && text.ends_with("]]")
}

fn node(value: &DeValue<'_>, at: Place, source: &Arc<Source>) -> Result<Node, Complaint> {
    let too_large = |text: &dyn std::fmt::Display| {
        Complaint::at(&at, format!("`{text}` does not fit a 64-bit number")).label("too large")
    };
    let value = match value {
        DeValue::Boolean(v) => Value::Bool(*v),
        DeValue::String(v) => Value::Text(v.to_string()),
        DeValue::Integer(v) => match i64::from_str_radix(v.as_str(), v.radix()) {
            Ok(v) => Value::Integer(v),
            Err(_) => return Err(too_large(v)),
        },
        DeValue::Float(v) => match v.as_str().parse::<f64>() {
            Ok(v) if v.is_finite() => Value::Float(v),
            _ => return Err(Complaint::at(&at, format!("`{v}` is not a finite number")).label("not finite")),
        },
        DeValue::Datetime(v) => {
            return Err(Complaint::at(&at, format!("`{v}` is a date; a scenario has no dates"))
                .help("put it in quotes if you mean text"));
        }
        DeValue::Array(items) => {
            let nodes = items.iter().map(|v| node(v.get_ref(), Place::new(source, v.span()), source));
            Value::Array(nodes.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Table(entries(table, source)?),
    };
    Ok(Node { at, value })
}

/// What the TOML reader says, at its place, in this house's words where they help more.
fn not_toml(source: &Arc<Source>, error: &toml::de::Error) -> Complaint {
    let span = error.span().unwrap_or(0..0);
    let at = Place::new(source, span.clone());
    if error.message().starts_with("duplicate key") {
        let name = source.text.get(span.clone()).unwrap_or_default();
        let start = source.text[..span.start].rfind('\n').map_or(0, |i| i + 1);
        if source.text[start..].trim_start().starts_with("[host.") {
            return Complaint::at(&at, format!("two hosts of one name: [host.{name}] is there twice"))
                .label("already described above")
                .help("join the two tables, or give one of the hosts another name");
        }
        return Complaint::at(&at, format!("`{name}` is there twice"))
            .label("already set above")
            .help("remove one of them; to compare values, list them in [sweep]");
    }
    Complaint::at(&at, format!("not TOML: {}", error.message()))
        .label("here")
        .help("a scenario is a TOML file (https://toml.io): `key = value` lines under [table] headings, text and quantities in quotes")
}
