//! A scenario as text, and as the tree that reading this text would give.

use super::{Header, Scenario, Setting, Table};
use crate::tree::{Entry, Node, Place, Source, Value};
use std::fmt::Write;
use std::sync::Arc;

/// The text, and the tree with its places in `source`, which has to hold this very text.
pub(super) fn layout(scenario: &Scenario, source: &Arc<Source>) -> (String, Node) {
    let mut writer = Writer { text: String::new(), source };
    writer.comment(&scenario.top);
    let mut root = writer.lines(&scenario.top);
    for (header, table) in &scenario.tables {
        writer.text.push('\n');
        writer.comment(table);
        let from = writer.text.len();
        match header {
            Header::Single(name) => {
                let at = writer.header("[", &[name], "]").swap_remove(0);
                let whole = writer.heading(from);
                let entries = writer.lines(table);
                root.push(entry(name, at, whole, Value::Table(entries)));
            }
            Header::Host(name) => {
                let mut at = writer.header("[", &["host", name], "]");
                let (own, whole) = (at.swap_remove(1), writer.heading(from));
                let entries = writer.lines(table);
                let host = entry(name, own, whole, Value::Table(entries));
                let hosts = named(&mut root, "host", at.swap_remove(0), || Value::Table(Vec::new()));
                if let Value::Table(hosts) = hosts {
                    hosts.push(host);
                }
            }
            Header::Flow => {
                let at = writer.header("[[", &["flow"], "]]").swap_remove(0);
                let flow = Node { at: writer.heading(from), value: Value::Table(writer.lines(table)) };
                if let Value::Array(flows) = named(&mut root, "flow", at, || Value::Array(Vec::new())) {
                    flows.push(flow);
                }
            }
        }
    }
    let first_line = 0..writer.text.lines().next().map_or(0, str::len);
    (writer.text, Node { at: Place::new(source, first_line), value: Value::Table(root) })
}

fn entry(key: &str, at: Place, value_at: Place, value: Value) -> Entry {
    Entry { key: key.to_owned(), at, node: Node { at: value_at, value } }
}

/// The value under a key, which is made if it is not there yet.
fn named<'a>(entries: &'a mut Vec<Entry>, key: &str, at: Place, new: impl Fn() -> Value) -> &'a mut Value {
    let index = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
        entries.push(entry(key, at.clone(), at, new()));
        entries.len() - 1
    });
    &mut entries[index].node.value
}

struct Writer<'a> {
    text: String,
    source: &'a Arc<Source>,
}

impl Writer<'_> {
    fn comment(&mut self, table: &Table) {
        for line in table.comment.lines() {
            self.text.push_str("# ");
            self.text.extend(line.chars().filter(|c| !c.is_control()));
            self.text.push('\n');
        }
    }

    /// The heading of a table; the places of the keys in it.
    fn header(&mut self, open: &str, keys: &[&str], close: &str) -> Vec<Place> {
        self.text.push_str(open);
        let mut places = Vec::new();
        for (index, key) in keys.iter().enumerate() {
            if index > 0 {
                self.text.push('.');
            }
            places.push(self.key(key));
        }
        self.text.push_str(close);
        self.text.push('\n');
        places
    }

    /// A setting each line.
    fn lines(&mut self, table: &Table) -> Vec<Entry> {
        let line = |(key, setting): &(String, Setting)| {
            let entry = self.setting(key, setting);
            self.text.push('\n');
            entry
        };
        table.settings.iter().map(line).collect()
    }

    fn setting(&mut self, key: &str, setting: &Setting) -> Entry {
        let at = self.key(key);
        self.text.push_str(" = ");
        Entry { key: key.to_owned(), at, node: self.value(setting) }
    }

    fn key(&mut self, key: &str) -> Place {
        let from = self.text.len();
        let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if !key.is_empty() && key.chars().all(is_bare) {
            self.text.push_str(key);
        } else {
            self.quoted(key);
        }
        self.since(from)
    }

    fn value(&mut self, setting: &Setting) -> Node {
        let from = self.text.len();
        let value = match setting {
            Setting::Bool(value) => {
                let _ = write!(self.text, "{value}");
                Value::Bool(*value)
            }
            Setting::Integer(value) => {
                let _ = write!(self.text, "{value}");
                Value::Integer(*value)
            }
            Setting::Float(value) => {
                self.text.push_str(&shortest(*value));
                Value::Float(*value)
            }
            Setting::Text(value) => {
                self.quoted(value);
                Value::Text(value.clone())
            }
            Setting::List(settings) => {
                self.text.push('[');
                let mut items = Vec::new();
                for (index, setting) in settings.iter().enumerate() {
                    self.text.push_str(if index > 0 { ", " } else { "" });
                    items.push(self.value(setting));
                }
                self.text.push(']');
                Value::Array(items)
            }
            Setting::Table(table) => {
                self.text.push('{');
                let mut entries = Vec::new();
                for (index, (key, setting)) in table.settings.iter().enumerate() {
                    self.text.push_str(if index > 0 { ", " } else { " " });
                    entries.push(self.setting(key, setting));
                }
                self.text.push_str(" }");
                Value::Table(entries)
            }
        };
        Node { at: self.since(from), value }
    }

    /// A basic string of TOML.
    fn quoted(&mut self, text: &str) {
        self.text.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => self.text.extend(['\\', c]),
                '\n' => self.text.push_str("\\n"),
                '\t' => self.text.push_str("\\t"),
                c if c.is_control() => {
                    let _ = write!(self.text, "\\u{:04X}", u32::from(c));
                }
                c => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    /// The heading that began there, without the end of its line.
    fn heading(&self, from: usize) -> Place {
        Place::new(self.source, from..self.text.len() - 1)
    }

    /// The place of the text written since `from`.
    fn since(&self, from: usize) -> Place {
        Place::new(self.source, from..self.text.len())
    }
}

/// A number that TOML reads as a float: with a point or an exponent, whichever is shorter.
fn shortest(value: f64) -> String {
    let (plain, scientific) = (value.to_string(), format!("{value:e}"));
    if plain.contains('.') && plain.len() < scientific.len() { plain } else { scientific }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;
    use crate::tree::parse_document;
    use wirespeed_units::{Bytes, Rate, Span};

    /// Every form of a setting and of a heading.
    fn scenario() -> Scenario {
        let host = |ssh: &str| Table::new().set("ssh", ssh).set("mtu", Bytes::new(9000));
        Scenario::new("all-forms")
            .comment("A comment,\nin two lines.")
            .about("Are \"quotes\", \\ and \u{7f}\u{1} kept?")
            .path(
                Table::new()
                    .comment("The path.")
                    .set("rate", Rate::gbit(10))
                    .set("rtt", "0.2 ms")
                    .set("loss", 1e-6)
                    .set("queue", Table::new().set("kind", "codel").set("target", Span::ms(3))),
            )
            .host("sender", host("a").set("tso", false))
            .host("receiver", host("b").set_if("port", Some(6001)).set_if("address", None::<&str>))
            .flow(Table::new().set("congestion", "reno").set("count", 2))
            .flow(Table::new().set("congestion", Table::new().set("name", "bic").set("low_window", 20)))
            .run(Table::new().set("duration", Span::secs(4)).set("seed", 7))
            .sweep(
                Table::new()
                    .set("flow.0.stagger", vec!["10 ms", "11 ms"])
                    .set("path.loss", vec![0.0, 0.01, 0.5]),
            )
    }

    /// The texts of all keys and values, by their paths.
    fn places(node: &Node, path: &str, all: &mut Vec<String>) {
        let text = |place: &Place| place.source.text[place.span.clone()].to_owned();
        all.push(format!("{path}: {} at {}", text(&node.at), node.at.span.start));
        for entry in node.entries() {
            all.push(format!("{path}.{}: {} at {}", entry.key, text(&entry.at), entry.at.span.start));
            places(&entry.node, &format!("{path}.{}", entry.key), all);
        }
        node.elements().iter().for_each(|element| places(element, &format!("{path}[]"), all));
    }

    #[test]
    fn tree_equals_that_of_its_text_with_all_places() {
        let scenario = scenario();
        let source = Source::new("x.toml", scenario.text());
        let (built, read) = (layout(&scenario, &source).1, parse_document(&source).unwrap());
        let [built_places, read_places] = [&built, &read].map(|root| {
            let mut all = Vec::new();
            places(root, "", &mut all);
            all
        });
        assert_eq!(built_places, read_places);
        assert_eq!(built, read);
    }

    #[test]
    fn study_equals_that_of_its_text() {
        let (scenario, overrides) = (scenario(), [("path.rtt".to_owned(), "20 ms".to_owned())]);
        let study = scenario.study("x.toml", &overrides, Some(3)).unwrap();
        assert_eq!(study, parse(&scenario.text(), "x.toml", &overrides, Some(3)).unwrap());
        assert_eq!(study.runs.len(), 6);
    }

    #[test]
    fn text_has_comments_headings_and_settings_in_their_order() {
        let text = Scenario::new("t")
            .comment("First.")
            .path(Table::new().comment("Second.").set("loss", 1e-3).set("rtt", "1 ms").set("loss", 0.25))
            .host("a b", Table::new().set("fq", Table::new().set("flow_limit", 700)))
            .sweep(Table::new())
            .text();
        let wanted = "# First.\nschema = 1\nname = \"t\"\n\n# Second.\n[path]\nloss = 0.25\nrtt = \"1 ms\"\n\n\
                      [host.\"a b\"]\nfq = { flow_limit = 700 }\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn mistake_is_shown_in_the_text() {
        let wrong = scenario().host("sender", Table::new().set("ssh", "a\nb = \"c"));
        let message = |error: crate::ScenarioError| error.to_string();
        let built = wrong.study("x.toml", &[], None).map_err(message).unwrap_err();
        assert_eq!(built, parse(&wrong.text(), "x.toml", &[], None).map_err(message).unwrap_err());
        assert!(built.contains("is not a valid host name"), "{built}");
    }

    #[test]
    fn floats_have_the_shorter_form() {
        let numbers = [1e-6, 0.001, 0.1, 0.25, 9.5, 1e300, 9_007_199_254_740_994.0];
        let wanted = ["1e-6", "1e-3", "0.1", "0.25", "9.5", "1e300", "9.007199254740994e15"];
        assert_eq!(numbers.map(shortest), wanted);
        assert_eq!(Setting::from(3.0), Setting::Integer(3));
        assert_eq!(Setting::from(f64::NAN), Setting::Text("NaN".into()));
    }
}
