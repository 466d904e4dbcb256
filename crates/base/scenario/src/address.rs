//! Dotted paths into the file: `path.loss`, `host.receiver.mtu`, `flow.congestion`, `flow.0.congestion`.

use crate::error::Complaint;
use crate::suggest;
use crate::tree::{Entry, Node, Place, Source, Value};
use std::sync::Arc;

/// A dotted path and where it was written.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    /// As written.
    pub text: String,
    pub segments: Vec<String>,
    pub at: Place,
}

/// What is done with a table and the segments that remain of a path.
type Act<'a> = dyn FnMut(&mut Node, &[String]) -> Result<(), Complaint> + 'a;

/// The lists of tables that a path may address as a whole, by index, or by the given key.
const LISTS: &[(&str, &str)] = &[("flow", "label"), ("link", "name"), ("capture", "at")];

/// Keys whose value may be a word that is short for a table with that word under another key.
const WORDS: &[(&str, &str)] =
    &[("congestion", "name"), ("queue", "kind"), ("loss_model", "kind"), ("sizes", "kind")];

/// Tables inside the tables of a list: what comes after them is a key, not a list's element.
const INNER_TABLES: &[&str] = &[
    "arrivals",
    "change",
    "congestion",
    "duplicate",
    "fec",
    "forward",
    "loss_model",
    "policer",
    "port_limit",
    "queue",
    "reorder",
    "reverse",
    "schedule",
    "sizes",
];

/// The key under which a table holds the word that would be short for it.
fn word_key(key: &str) -> Option<&'static str> {
    WORDS.iter().find(|(short, _)| *short == key).map(|(_, long)| *long)
}

/// Keys that only one carrier of a flow has: `flow.KEY` leaves the others alone.
const TCP_ONLY: &[&str] = &["congestion", "window", "max_rate", "zero_copy"];
const UDP_ONLY: &[&str] = &["rate", "datagram", "rcvbuf"];

impl Address {
    /// Reads a path by TOML's rules for dotted keys, so that a segment with dots can be quoted.
    pub fn parse(text: &str, at: &Place) -> Result<Self, Complaint> {
        let fault = || {
            Complaint::at(at, format!("`{text}` is not a path into the file"))
                .label("not a dotted path")
                .help(
                    "join table and key by dots, for example path.loss, host.receiver.mtu or flow.congestion",
                )
        };
        if text.contains(['\n', '=', '#']) {
            return Err(fault());
        }
        let source = Arc::new(Source { name: String::new(), text: format!("{text} = 0") });
        let document = crate::tree::parse_document(&source).map_err(|_| fault())?;
        let mut segments = Vec::new();
        let mut here = &document;
        while let [entry] = here.entries() {
            segments.push(entry.key.clone());
            here = &entry.node;
        }
        Ok(Address { text: text.trim().to_owned(), segments, at: at.clone() })
    }

    /// Whether both address the same, however they are written.
    pub fn same(&self, other: &Address) -> bool {
        self.segments == other.segments
    }

    /// Writes `value` at this path into a file's tree, making tables on the way as needed.
    pub fn set(&self, root: &mut Node, value: &Node) -> Result<(), Complaint> {
        let mut targets = 0;
        self.visit(root, &mut |table, rest| {
            targets += 1;
            self.set_in(table, rest, value)
        })?;
        match targets {
            0 => Err(self.unknown_path("no flow is of the kind that has this key")),
            _ => Ok(()),
        }
    }

    /// Writes `value` under this path taken as plain keys: a list is set as a whole.
    pub fn set_plain(&self, root: &mut Node, value: &Node) {
        if let (Value::Table(entries), [key]) = (&mut root.value, self.segments.as_slice()) {
            entries.push(Entry { key: key.clone(), at: self.at.clone(), node: value.clone() });
        }
    }

    /// Whether every place this path addresses holds `value`; a word may stand in the table it is short for.
    pub fn holds(&self, root: &mut Node, value: &Value) -> Result<bool, Complaint> {
        let mut all = true;
        self.visit(root, &mut |table, rest| {
            let mut here = Some(&*table);
            for key in rest {
                here = here.and_then(|node| match &node.value {
                    Value::Array(items) => key.parse::<usize>().ok().and_then(|i| items.get(i)),
                    _ => node.get(key),
                });
            }
            let word = rest.last().and_then(|key| word_key(key));
            all &= here.is_some_and(|node| {
                let inside = word.and_then(|key| node.get(key));
                node.value == *value || inside.is_some_and(|n| n.value == *value)
            });
            Ok(())
        })?;
        Ok(all)
    }

    /// Calls `act` with each table this path goes on in, and the segments that remain.
    fn visit(&self, root: &mut Node, act: &mut Act<'_>) -> Result<(), Complaint> {
        let [list, rest @ ..] = self.segments.as_slice() else { return Ok(()) };
        let Some((list, label_key)) = LISTS.iter().find(|(name, _)| name == list) else {
            return act(root, &self.segments);
        };
        let elements = match root.entry(list).map(|e| &mut e.node.value) {
            Some(Value::Array(elements)) if !elements.is_empty() => elements,
            _ => return Err(self.unknown_path(&format!("the file has no [[{list}]]"))),
        };
        let [first, after @ ..] = rest else {
            return Err(self.unknown_path(&format!("name a key of [[{list}]] too, for example {list}.0.KEY")));
        };
        if after.is_empty() {
            let mut chosen = elements.iter_mut().filter(|e| *list != "flow" || suits(e, first));
            return chosen.try_for_each(|element| act(element, rest));
        }
        let labels: Vec<String> =
            elements.iter().filter_map(|e| e.get(label_key)?.text()).map(str::to_owned).collect();
        let by_label = elements.iter().position(|e| e.get(label_key).and_then(Node::text) == Some(first));
        let count = elements.len();
        if let Some(index) = by_label.or_else(|| first.parse().ok()) {
            let Some(element) = elements.get_mut(index) else {
                return Err(self.unknown_path(&format!("the file has {count} [[{list}]], counted from 0")));
            };
            return act(element, after);
        }
        if INNER_TABLES.contains(&first.as_str()) {
            let mut chosen = elements.iter_mut().filter(|e| *list != "flow" || suits(e, first));
            return chosen.try_for_each(|element| act(element, rest));
        }
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let known = suggest::choices(first, &format!("{label_key}s in the file"), &labels);
        Err(self.unknown_path(&format!(
            "no [[{list}]] has {label_key} `{first}`; {known}, or 0 to {}",
            count - 1
        )))
    }

    fn set_in(&self, table: &mut Node, path: &[String], value: &Node) -> Result<(), Complaint> {
        let [key, rest @ ..] = path else { return Ok(()) };
        if let (Value::Array(items), Ok(index)) = (&mut table.value, key.parse::<usize>()) {
            let count = items.len();
            let Some(item) = items.get_mut(index) else {
                return Err(self.unknown_path(&format!("the list has {count} values, counted from 0")));
            };
            if rest.is_empty() {
                *item = value.clone();
                return Ok(());
            }
            return self.set_in(item, rest, value);
        }
        let Value::Table(entries) = &mut table.value else {
            return Err(self.unknown_path(&format!("`{key}` would be inside {}", table.kind())));
        };
        let index = entries.iter().position(|e| e.key == *key).unwrap_or_else(|| {
            let node = Node::empty_table(self.at.clone());
            entries.push(Entry { key: key.clone(), at: self.at.clone(), node });
            entries.len() - 1
        });
        let entry = &mut entries[index];
        if rest.is_empty() {
            entry.at = self.at.clone();
            entry.node = value.clone();
            return Ok(());
        }
        if let (Some(word), Some(_)) = (word_key(key), entry.node.text()) {
            // `congestion = "bic"` is short for a table with that name, and parameters go into the table.
            let at = entry.node.at.clone();
            let name = Entry { key: word.into(), at: at.clone(), node: entry.node.clone() };
            entry.node = Node { at, value: Value::Table(vec![name]) };
        }
        self.set_in(&mut entry.node, rest, value)
    }

    fn unknown_path(&self, why: &str) -> Complaint {
        Complaint::at(&self.at, format!("no key `{}` in this scenario", self.text))
            .label("expected a key of this scenario")
            .help(why)
    }
}

/// Whether a flow is of the kind that has this key.
fn suits(flow: &Node, key: &str) -> bool {
    let udp = flow.get("kind").and_then(Node::text) == Some("udp");
    !(udp && TCP_ONLY.contains(&key) || !udp && UDP_ONLY.contains(&key))
}
