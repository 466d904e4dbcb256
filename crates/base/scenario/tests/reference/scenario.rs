//! The page of the keys of a scenario file, from its JSON Schema.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use wirespeed_scenario::json_schema;

const ABOUT: &str = "\
Look up here every key of a scenario file: its form, its default and what it sets. A key without a default is optional
unless it is marked as required. [Write a scenario](../how-to/write-a-scenario.md) shows how the keys work together, and
[Presets](presets.md) lists the values of each preset. `wirespeed schema` prints the same as JSON Schema, for editors.

In this page `[path]` is a table, `[[flow]]` one of several tables of that name, and `NAME` a name that you choose.";

/// A type of the schema that has a section of its own: its title, and the place of its keys in the file.
struct Section {
    definition: &'static str,
    title: &'static str,
    place: &'static str,
}

const fn section(definition: &'static str, title: &'static str, place: &'static str) -> Section {
    Section { definition, title, place }
}

/// In the order of the page, after the keys outside of tables.
const TABLES: [Section; 29] = [
    section("RunTable", "`[run]`", "run"),
    section("PathTable", "`[path]`", "path"),
    section("DirectionTable", "`[path.forward]` and `[path.reverse]`", "path.forward"),
    section("QueueTable", "`path.queue`", "path.queue"),
    section("LossTable", "`path.loss_model`", "path.loss_model"),
    section("BucketTable", "`path.policer` and `path.port_limit`", "path.policer"),
    section("ChangeTable", "`path.change`", "path.change"),
    section("ScheduleTable", "`path.schedule`", "path.schedule"),
    section("ReorderTable", "`path.reorder`", "path.reorder"),
    section("DuplicateTable", "`path.duplicate`", "path.duplicate"),
    section("FecTable", "`path.fec`", "path.fec"),
    section("TopologyTable", "`[topology]`", "topology"),
    section("LinkTable", "`[[link]]`", "link"),
    section("FlowTable", "`[[flow]]`", "flow"),
    section("ArrivalsTable", "`flow.arrivals`", "flow.arrivals"),
    section("SizesTable", "`flow.sizes`", "flow.sizes"),
    section("FilesTable", "`flow.files`", "flow.files"),
    section("RequestsTable", "`flow.requests`", "flow.requests"),
    section("Congestion", "`flow.congestion`", "flow.congestion"),
    section("OwnControl", "`[congestion.NAME]`", "congestion"),
    section("HostTable", "`[host.NAME]`", "host"),
    section("FqTable", "`host.NAME.fq`", "host.fq"),
    section("MachineTable", "`[host.NAME.machine]`", "host.machine"),
    section("CostsTable", "`[host.NAME.costs]`", "host.costs"),
    section("LoadTable", "`[[host.NAME.load]]`", "host.load"),
    section("BusTable", "`host.NAME.nic_bus`", "host.nic_bus"),
    section("Bound", "`[expect]`", "expect"),
    section("FigureRequest", "`[[figure]]`", "figure"),
    section("CaptureTable", "`[[capture]]`", "capture"),
];

/// Types of values, with the name that keys use for each, and an example as in a file.
const FORMS: [(&str, &str, &str); 16] = [
    ("Rate", "rate", r#""9.5 Gbit/s""#),
    ("Span", "duration", r#""6.2 ms""#),
    ("Bytes", "size", r#""8 MiB""#),
    ("Room", "size of a buffer", r#""1 bdp""#),
    ("Files", "files", r#"["1 GB", "20 MB"]"#),
    ("Dscp", "DSCP", r#""ef""#),
    ("KernelChoice", "kernel", r#""6.1""#),
    ("KernelVersion", "kernel version", r#""4.15""#),
    ("CoreSet", "cores", r#""0-3,8""#),
    ("AppsChoice", "cores of applications", r#""free""#),
    ("IrqChoice", "cores of interrupts", r#""balanced""#),
    ("BusChoice", "bus", r#"{ kind = "pcie", generation = 3, lanes = 16 }"#),
    ("Setting", "value of a sysctl", "0"),
    ("Factor", "value of a factor", r#""bbr""#),
    ("Bounds", "bounds", r#"{ min = 0.9, where = { "flow.congestion" = "bbr" } }"#),
    ("Limit", "limit", r#""5 Gbit/s""#),
];

/// What is written about a key: its form, its default, and the rest of its description.
struct Key {
    name: String,
    facts: Vec<String>,
    about: String,
    /// The values of a choice, each with its description.
    values: Vec<String>,
}

struct Page<'a> {
    definitions: &'a Value,
}

impl Page<'_> {
    fn definition(&self, reference: &Value) -> Option<(&str, &Value)> {
        let name = reference.as_str()?.strip_prefix("#/$defs/")?;
        self.definitions.as_object()?.get_key_value(name).map(|(name, schema)| (name.as_str(), schema))
    }

    /// The form of a value in words.
    fn form(&self, schema: &Value) -> String {
        if let Some((name, referred)) = self.definition(&schema["$ref"]) {
            if let Some((_, word, _)) = FORMS.iter().find(|(form, ..)| *form == name) {
                return format!("[{word}](#form.{})", anchor(word));
            }
            if let Some(table) = TABLES.iter().find(|table| table.definition == name) {
                let kind = if referred["properties"].is_object() { "table" } else { "name or table" };
                return format!("{kind}, see [{}](#table.{})", table.title, table.place);
            }
            return self.form(referred);
        }
        for choices in [&schema["anyOf"], &schema["oneOf"]] {
            if let Some(choices) = choices.as_array() {
                let forms =
                    choices.iter().filter(|choice| choice["type"] != "null").map(|choice| self.form(choice));
                return forms.collect::<Vec<_>>().join(" or ");
            }
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.iter().map(code).collect::<Vec<_>>().join(" or ");
        }
        if !schema["const"].is_null() {
            return code(&schema["const"]);
        }
        let types = match &schema["type"] {
            Value::Array(types) => {
                types.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
            }
            kind => Vec::from_iter(kind.as_str()),
        };
        types.iter().map(|kind| self.form_of_type(kind, schema)).collect::<Vec<_>>().join(" or ")
    }

    fn form_of_type(&self, kind: &str, schema: &Value) -> String {
        match kind {
            "string" if schema["format"] == "ip" => "IP address".into(),
            "string" => "text".into(),
            "boolean" => "`true` or `false`".into(),
            "integer" => format!("whole number{}", range(schema)),
            "number" => format!("number{}", range(schema)),
            "array" => match schema["prefixItems"].as_array() {
                Some(items) => {
                    format!(
                        "list ({})",
                        items.iter().map(|item| self.form(item)).collect::<Vec<_>>().join(", ")
                    )
                }
                None => {
                    let number =
                        schema["minItems"].as_u64().map_or(String::new(), |number| format!("{number} "));
                    let list = if number.is_empty() { "list of " } else { "list of exactly " };
                    format!("{list}{number}{}", plural(&self.form(&schema["items"])))
                }
            },
            "object" => match &schema["additionalProperties"] {
                Value::Object(_) => {
                    let of = self.form(&schema["additionalProperties"]);
                    format!("table of names, each with: {}", if of.is_empty() { "table" } else { &of })
                }
                _ => "table".into(),
            },
            other => panic!("a type that this page does not know: {other}"),
        }
    }

    /// The values of a choice that are described one by one.
    fn values(&self, schema: &Value) -> Vec<String> {
        if let Some((name, referred)) = self.definition(&schema["$ref"]) {
            let elsewhere =
                FORMS.iter().any(|form| form.0 == name) || TABLES.iter().any(|t| t.definition == name);
            return if elsewhere { Vec::new() } else { self.values(referred) };
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            return choices.iter().flat_map(|choice| self.values(choice)).collect();
        }
        let choices =
            schema["oneOf"].as_array().into_iter().flatten().filter(|choice| !choice["const"].is_null());
        choices
            .map(|choice| format!("- {}: {}", code(&choice["const"]), one_line(&choice["description"])))
            .collect()
    }

    fn key(&self, name: &str, schema: &Value, required: bool) -> Key {
        let (default, about) = without_default(&one_line(&schema["description"]));
        let form = self.form(schema);
        let is_switch = form == "`true` or `false`";
        let mut facts = vec![format!("**Form:** {form}")];
        if required {
            facts.push("**Required**".into());
        }
        let in_schema = &schema["default"];
        let empty =
            in_schema == &Value::from("") || in_schema.as_object().is_some_and(|table| table.is_empty());
        let default = default.or_else(|| (!in_schema.is_null() && !empty).then(|| code(in_schema)));
        facts.extend(
            default.map(|default| {
                format!("**Default:** {}", if is_switch { switch(&default) } else { default })
            }),
        );
        Key { name: name.into(), facts, about, values: self.values(schema) }
    }

    /// The keys of a table, in the order of the schema.
    fn keys(&self, table: &Value) -> Vec<Key> {
        let required: BTreeSet<&str> =
            table["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = table["properties"].as_object().into_iter().flatten();
        let described = properties.filter(|(_, schema)| schema["const"].is_null());
        described.map(|(name, schema)| self.key(name, schema, required.contains(name.as_str()))).collect()
    }

    fn headings(&self, out: &mut String, place: &str, table: &Value) {
        for Key { name, facts, about, values } in self.keys(table) {
            let id = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            let _ = write!(out, "\n<a id=\"{id}\"></a>\n### `{name}`\n\n{}\n", facts.join(" · "));
            if !about.is_empty() {
                let _ = write!(out, "\n{about}\n");
            }
            if !values.is_empty() {
                let _ = write!(out, "\n{}\n", values.join("\n"));
            }
        }
    }

    /// A name or a table with that name: a heading for each name, and its keys below it.
    fn variants(&self, out: &mut String, place: &str, choices: &[Value]) {
        for choice in choices {
            let properties = choice["properties"].as_object().into_iter().flatten();
            let Some((tag, name)) =
                properties.filter_map(|(tag, schema)| Some((tag, schema["const"].as_str()?))).next()
            else {
                continue;
            };
            let about = one_line(&choice["description"]);
            let _ = write!(out, "\n<a id=\"{place}.{name}\"></a>\n### `{name}`\n\n");
            let _ = writeln!(
                out,
                "`\"{name}\"` or `{{ {tag} = \"{name}\", ... }}`. {}.",
                about.trim_end_matches('.')
            );
            let keys = self.keys(choice);
            if !keys.is_empty() {
                out.push('\n');
            }
            for Key { name: key, facts, about, .. } in keys {
                let facts = facts.join(" · ");
                let _ = writeln!(out, "- <a id=\"{place}.{name}.{key}\"></a>`{key}`: {facts}. {about}");
            }
        }
    }
}

/// A name as a part of an anchor.
fn anchor(word: &str) -> String {
    word.to_lowercase().replace(' ', "-")
}

fn code(value: &Value) -> String {
    value.as_str().map_or_else(|| format!("`{value}`"), |text| format!("`{text}`"))
}

/// The plural of the forms that occur in lists.
fn plural(form: &str) -> String {
    match form {
        "text" => "texts".into(),
        "whole number" => "whole numbers".into(),
        other => match (other.strip_prefix("table, "), other.strip_prefix("list (")) {
            (Some(table), _) => format!("tables, {table}"),
            (_, Some(list)) => format!("lists ({list}"),
            _ => other.replace("[size]", "[sizes]").replace("[value of", "[values of"),
        },
    }
}

fn range(schema: &Value) -> String {
    let bound = |key: &str| schema[key].as_f64().filter(|bound| bound.abs() < f64::from(i32::MAX));
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) if least == most => format!(", {least}"),
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) if least != 0.0 => format!(", {least} or more"),
        _ => String::new(),
    }
}

/// A description without its line breaks.
fn one_line(description: &Value) -> String {
    description.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentence of a description that states the default, and the others.
fn without_default(text: &str) -> (Option<String>, String) {
    let Some(start) =
        text.match_indices("Default").map(|(at, _)| at).find(|at| *at == 0 || text[..*at].ends_with(". "))
    else {
        return (None, text.into());
    };
    let length = text[start..].find(". ").map_or(text.len() - start, |end| end + 1);
    let (sentence, rest) = text[start..].split_at(length);
    let default = sentence["Default".len()..].trim_start_matches(':').trim().trim_end_matches('.');
    (Some(default.into()), format!("{}{}", &text[..start], rest.trim_start()).trim().into())
}

/// Descriptions call the values of a switch `on` and `off`, the file `true` and `false`.
fn switch(default: &str) -> String {
    for (word, value) in [("off", "`false`"), ("on", "`true`"), ("false", "`false`"), ("true", "`true`")] {
        if let Some(rest) = default.strip_prefix(word) {
            return format!("{value}{rest}");
        }
    }
    default.into()
}

/// The section on the forms of values.
fn forms(page: &Page) -> String {
    let mut out = String::from("\n<a id=\"form\"></a>\n## Forms of values\n");
    for (name, word, example) in FORMS {
        let schema = &page.definitions[name];
        let about = one_line(&schema["description"]);
        let _ = write!(
            out,
            "\n<a id=\"form.{}\"></a>\n### {}{}\n\n{about}\n",
            anchor(word),
            word[..1].to_uppercase(),
            &word[1..]
        );
        let form = Some(page.form(schema)).filter(|form| form != "text");
        let form = form.map_or(String::new(), |form| format!("**Form:** {form} · "));
        let _ = write!(out, "\n{form}**Example:** `{example}`\n");
    }
    out
}

fn page() -> String {
    let schema = json_schema();
    let page = Page { definitions: &schema["$defs"] };
    let mut out = super::head("Scenario file", ABOUT);
    out.push_str(
        "\n<a id=\"table\"></a>\n## Top level\n\nKeys before the first table, and the tables themselves.\n",
    );
    page.headings(&mut out, "", &schema);
    for Section { definition, title, place } in TABLES {
        let table = &page.definitions[definition];
        let about = one_line(&table["description"]);
        let _ = write!(out, "\n<a id=\"table.{place}\"></a>\n## {title}\n");
        if !about.is_empty() {
            let _ = write!(out, "\n{about}\n");
        }
        match [&table["oneOf"], &table["anyOf"]].into_iter().find_map(Value::as_array) {
            Some(choices) => page.variants(&mut out, place, choices),
            None => page.headings(&mut out, place, table),
        }
    }
    out + &forms(&page)
}

#[test]
fn page_of_scenario_keys_is_up_to_date() {
    super::compare("scenario.md", &page());
}

/// Every property of the schema, and every type, has a place on the page.
#[test]
fn page_of_scenario_keys_has_every_key() {
    let (schema, page) = (json_schema(), page());
    let mut keys = 0;
    for (definition, place) in
        [("", "")].into_iter().chain(TABLES.iter().map(|table| (table.definition, table.place)))
    {
        let table = if definition.is_empty() { &schema } else { &schema["$defs"][definition] };
        for name in table["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
            let id = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
            assert_eq!(page.matches(&format!("<a id=\"{id}\">")).count(), 1, "{id}");
            keys += 1;
        }
    }
    assert!(keys > 150, "only {keys} keys were found");
    let shown: BTreeSet<&str> =
        TABLES.iter().map(|table| table.definition).chain(FORMS.map(|form| form.0)).collect();
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        let is_choice_of_words = definition["enum"].is_array()
            || definition["oneOf"]
                .as_array()
                .is_some_and(|all| all.iter().all(|one| !one["const"].is_null()));
        assert!(is_choice_of_words || shown.contains(name.as_str()), "{name} is not on the page");
    }
}

#[test]
fn anchors_that_the_page_links_exist() {
    let page = page();
    let links: BTreeSet<&str> = page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() > 10, "only {} links were found", links.len());
    for link in links {
        assert!(page.contains(&format!("<a id=\"{link}\">")), "#{link}");
    }
}
