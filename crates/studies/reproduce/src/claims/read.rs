//! Reads a file of claims; whatever is wrong is shown at its place.

use super::expect::{Bound, Expect, Ratio, Trend};
use super::{Claim, Factor, Order};
use std::collections::BTreeMap;
use wirespeed_scenario::ScenarioError;
use wirespeed_scenario::document::{
    Complaint, Entry, Node, Source, Value, choices, parse_document, quantity,
};

/// The keys of a claim.
pub const CLAIM_KEYS: &[&str] =
    &["id", "study", "figure", "scenario", "finding", "setup", "metric", "expect", "note"];
const EXPECT_KEYS: &[&str] =
    &["value", "rtol", "min", "max", "order", "falls", "rises", "within", "over", "ratio", "zero", "shape"];
const RATIO_KEYS: &[&str] = &["of", "to", "min", "max", "value", "rtol"];

/// Reads claims from a text; `own`: they are ours, not published.
///
/// # Errors
/// The first mistake, at its place.
pub fn read(text: &str, name: &str, own: bool) -> Result<Vec<Claim>, ScenarioError> {
    let source = Source::new(name, text);
    let root = parse_document(&source)?;
    only(&root, &["claim"], "a file of claims", "a claim begins with a line [[claim]]")?;
    let mut claims: Vec<Claim> = Vec::new();
    let Some(list) = root.get("claim") else {
        return Err(Complaint::at(&root.at, "there is no claim in this file")
            .label("in this file")
            .help("write [[claim]] and below it id, study, finding, setup, metric and expect")
            .into());
    };
    for node in list.elements() {
        let claim = claim(node, own)?;
        if claims.iter().any(|other| other.id == claim.id) {
            return Err(Complaint::at(&claim.at, format!("claim `{}` is there twice", claim.id))
                .label("already claimed above")
                .help("give it an id of its own")
                .into());
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn claim(node: &Node, own: bool) -> Result<Claim, Complaint> {
    only(node, CLAIM_KEYS, "a claim", "claims.toml of a study shows each of them")?;
    let (id, at) = match node.get("id") {
        Some(id) => (required_text(node, "id", "a claim")?, id.at.clone()),
        None => (required_text(node, "id", "a claim")?, node.at.clone()),
    };
    let what = format!("claim {id}");
    let metric = required_text(node, "metric", &what)?;
    let Some(expected) = node.get("expect") else {
        return Err(Complaint::at(&at, format!("{what}: `expect` is missing"))
            .label("in this claim")
            .help("say what has to come out, for example expect = { min = \"9.4 Gbit/s\" }"));
    };
    let setup = match node.get("setup") {
        None => Vec::new(),
        Some(table) => factors(table, &what)?,
    };
    Ok(Claim {
        study: required_text(node, "study", &what)?,
        figure: optional_text(node, "figure", &what)?,
        scenario: optional_text(node, "scenario", &what)?,
        finding: required_text(node, "finding", &what)?,
        note: optional_text(node, "note", &what)?,
        expect: expect(expected, &metric, &what)?,
        setup,
        metric,
        id,
        at,
        own,
    })
}

fn factors(table: &Node, what: &str) -> Result<Vec<Factor>, Complaint> {
    let Value::Table(entries) = &table.value else {
        return Err(Complaint::at(&table.at, format!("{what}: setup is {}, not a table", table.kind()))
            .help("write setup = { \"path.rtt\" = \"6.2 ms\" }"));
    };
    for Entry { key, at, node } in entries {
        let list = matches!(node.value, Value::Array(_));
        let nested =
            node.elements().iter().any(|value| matches!(value.value, Value::Array(_) | Value::Table(_)));
        if matches!(node.value, Value::Table(_)) || nested {
            return Err(Complaint::at(
                at,
                format!("{what}: factor `{key}` is not a value or a list of values"),
            )
            .label("not a factor")
            .help("write the whole path in quotes, for example \"path.rtt\" = \"6.2 ms\""));
        }
        if list && node.elements().is_empty() {
            return Err(Complaint::at(&node.at, format!("{what}: factor `{key}` has no value"))
                .label("an empty list")
                .help("give at least one value, or leave the factor out"));
        }
    }
    let factor = |e: &Entry| Factor { name: e.key.clone(), at: e.at.clone(), value: e.node.clone() };
    Ok(entries.iter().map(factor).collect())
}

/// What has to come out; quantities are in the unit of `metric`.
pub(crate) fn expect(node: &Node, metric: &str, what: &str) -> Result<Expect, Complaint> {
    only(node, EXPECT_KEYS, &format!("{what}: expect"), "see docs/how-to/reproduce-a-study.md")?;
    let expect = Expect {
        value: value_and_tolerance(node, metric, what)?,
        min: bound(node, "min", metric, what)?,
        max: bound(node, "max", metric, what)?,
        order: match node.get("order") {
            None => None,
            Some(order) => Some(Order::parse(text(order, "order", what)?).map_err(|reason| {
                Complaint::at(&order.at, format!("{what}: order: {reason}")).label("not an order").help(
                    "write \"a > b > c\"; `~` between what is within 5 %, `,` between what is not compared",
                )
            })?),
        },
        trend: trend(node, what)?,
        over: node.get("over").map(|over| text(over, "over", what).map(str::to_owned)).transpose()?,
        ratio: node.get("ratio").map(|table| ratio(table, what)).transpose()?,
        zero: node.get("zero").map_or(Ok(Vec::new()), |list| texts(list, "zero", what))?,
        shape: node.get("shape").map(|shape| text(shape, "shape", what).map(str::to_owned)).transpose()?,
    };
    if !expect.is_by_number() && expect.shape.is_none() {
        return Err(Complaint::at(&node.at, format!("{what}: expect says nothing"))
            .label("expects nothing")
            .help("give value and rtol, min, max, order, falls, rises, ratio, zero or shape"));
    }
    if let (Some(Bound::One(min)), Some(Bound::One(max))) = (&expect.min, &expect.max)
        && min > max
    {
        return Err(Complaint::at(&node.at, format!("{what}: min is above max, which no value can meet"))
            .label("cannot be met")
            .help("exchange the two"));
    }
    Ok(expect)
}

fn trend(node: &Node, what: &str) -> Result<Option<Trend>, Complaint> {
    let (key, levels) = match (node.get("falls"), node.get("rises"), node.get("within")) {
        (None, None, None) => return Ok(None),
        (Some(levels), None, _) => ("falls", levels),
        (None, Some(levels), _) => ("rises", levels),
        (Some(_), Some(both), _) => {
            return Err(Complaint::at(&both.at, format!("{what}: it falls and rises"))
                .label("one of the two")
                .help("claim each of them by itself"));
        }
        (None, None, Some(within)) => {
            return Err(Complaint::at(&within.at, format!("{what}: `within` without `falls` or `rises`"))
                .label("of what?")
                .help("add the levels, for example falls = [\"1 ms\", \"10 ms\", \"100 ms\"]"));
        }
    };
    let within = match node.get("within") {
        None => 0.0,
        Some(within) => quantity("", &format!("{what}: within"), within)?,
    };
    let trend = Trend { rises: key == "rises", levels: texts(levels, key, what)?, within };
    if trend.levels.len() < 2 || !(0.0..1.0).contains(&trend.within) {
        return Err(Complaint::at(
            &levels.at,
            format!("{what}: {key}: over which levels, and how strictly?"),
        )
        .label("not whole")
        .help(
            "give two levels or more in their order, and `within` below 1: 0.05 lets a step back of 5 % be",
        ));
    }
    Ok(Some(trend))
}

fn value_and_tolerance(node: &Node, metric: &str, what: &str) -> Result<Option<(f64, f64)>, Complaint> {
    match (node.get("value"), node.get("rtol")) {
        (None, None) => Ok(None),
        (Some(value), Some(tolerance)) => {
            let rtol = quantity("", &format!("{what}: rtol"), tolerance)?;
            if !(0.0..10.0).contains(&rtol) {
                return Err(Complaint::at(&tolerance.at, format!("{what}: a relative tolerance of {rtol}"))
                    .label("not a tolerance")
                    .help("0.1 is 10 % of the value"));
            }
            Ok(Some((quantity(metric, &format!("{what}: value"), value)?, rtol)))
        }
        (Some(value), None) => Err(Complaint::at(&value.at, format!("{what}: `value` without `rtol`"))
            .label("how near?")
            .help("add the relative tolerance, for example rtol = 0.1")),
        (None, Some(rtol)) => Err(Complaint::at(&rtol.at, format!("{what}: `rtol` without `value`"))
            .label("of what?")
            .help("add `value`")),
    }
}

fn bound(node: &Node, key: &str, metric: &str, what: &str) -> Result<Option<Bound>, Complaint> {
    let Some(limit) = node.get(key) else { return Ok(None) };
    let Value::Table(entries) = &limit.value else {
        return Ok(Some(Bound::One(quantity(metric, &format!("{what}: {key}"), limit)?)));
    };
    let stages = entries.iter().map(|entry| {
        Ok((entry.key.clone(), quantity(metric, &format!("{what}: {key}.{}", entry.key), &entry.node)?))
    });
    Ok(Some(Bound::ByStage(stages.collect::<Result<BTreeMap<_, _>, Complaint>>()?)))
}

fn ratio(node: &Node, what: &str) -> Result<Ratio, Complaint> {
    only(
        node,
        RATIO_KEYS,
        &format!("{what}: ratio"),
        "write ratio = { of = \"cubic\", to = \"htcp\", min = 0.5 }",
    )?;
    let number =
        |key: &str| node.get(key).map(|n| quantity("", &format!("{what}: ratio.{key}"), n)).transpose();
    let of = match node.get("of") {
        Some(list @ Node { value: Value::Array(_), .. }) => texts(list, "ratio.of", what)?,
        Some(one) => vec![text(one, "ratio.of", what)?.to_owned()],
        None => Vec::new(),
    };
    let ratio = Ratio {
        of,
        to: required_text(node, "to", &format!("{what}: ratio"))?,
        min: number("min")?,
        max: number("max")?,
        value: value_and_tolerance(node, "", &format!("{what}: ratio"))?,
    };
    if ratio.of.is_empty() || (ratio.min, ratio.max, ratio.value) == (None, None, None) {
        return Err(Complaint::at(&node.at, format!("{what}: a ratio of what to what, and how large?"))
            .label("not whole")
            .help(
                "write ratio = { of = \"cubic\", to = \"htcp\", value = 0.71, rtol = 0.2 }, or min, or max",
            ));
    }
    Ok(ratio)
}

/// Only these keys.
pub(crate) fn only(node: &Node, keys: &[&str], what: &str, hint: &str) -> Result<(), Complaint> {
    if !matches!(node.value, Value::Table(_)) {
        return Err(Complaint::at(&node.at, format!("{what}: expected a table, found {}", node.kind()))
            .label("not a table")
            .help(hint));
    }
    match node.entries().iter().find(|entry| !keys.contains(&entry.key.as_str())) {
        None => Ok(()),
        Some(stranger) => Err(Complaint::at(&stranger.at, format!("{what} has no key `{}`", stranger.key))
            .label("not a key here")
            .help(choices(&stranger.key, "keys here", keys))),
    }
}

fn text<'a>(node: &'a Node, key: &str, what: &str) -> Result<&'a str, Complaint> {
    node.text().ok_or_else(|| {
        Complaint::at(&node.at, format!("{what}: {key}: expected text in quotes, found {}", node.kind()))
            .label("not text")
            .help("put it in quotes")
    })
}

fn texts(node: &Node, key: &str, what: &str) -> Result<Vec<String>, Complaint> {
    match &node.value {
        Value::Array(items) => items.iter().map(|item| text(item, key, what).map(str::to_owned)).collect(),
        _ => Err(Complaint::at(&node.at, format!("{what}: {key}: expected a list, found {}", node.kind()))
            .label("not a list")
            .help("write [\"a\", \"b\"]")),
    }
}

/// The text of a key that has to be there.
pub(crate) fn required_text(node: &Node, key: &str, what: &str) -> Result<String, Complaint> {
    match node.get(key) {
        Some(value) => text(value, key, what).map(str::to_owned),
        None => Err(Complaint::at(&node.at, format!("{what}: `{key}` is missing"))
            .label("in this table")
            .help(format!("add a line {key} = \"...\""))),
    }
}

/// The text of a key; empty if it is not there.
pub(crate) fn optional_text(node: &Node, key: &str, what: &str) -> Result<String, Complaint> {
    node.get(key).map_or(Ok(String::new()), |value| text(value, key, what).map(str::to_owned))
}

/// A list of texts; empty if it is not there.
pub(crate) fn optional_texts(node: &Node, key: &str, what: &str) -> Result<Vec<String>, Complaint> {
    node.get(key).map_or(Ok(Vec::new()), |value| texts(value, key, what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const GOOD: &str = r#"[[claim]]
id = "a"
study = "s"
figure = "1"
finding = "It is so."
setup = { "path.rtt" = ["1 ms", "2 ms"], flows = 2 }
metric = "throughput_bps"
expect = { min = "9.4 Gbit/s", max = "9.5 Gbit/s" }
"#;

    fn wrong(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        format!("{:#}", read(&GOOD.replace(from, to), "claims.toml", false).expect_err(to))
    }

    #[test]
    fn quantities_come_in_the_unit_of_the_metric() {
        let claims = read(GOOD, "claims.toml", true).unwrap();
        let [claim] = &claims[..] else { panic!("one claim") };
        assert_eq!(claim.expect.min, Some(Bound::One(9.4e9)));
        assert_eq!(claim.setup.len(), 2);
        assert!(claim.own);
        assert_eq!(claim.published("bit/s"), "9.4 Gbit/s to 9.5 Gbit/s");
    }

    #[test]
    fn mistakes_are_shown_at_their_place() {
        let expect = "{ min = \"9.4 Gbit/s\", max = \"9.5 Gbit/s\" }";
        let all = [
            wrong("[[claim]]", "[[claims]]"),
            wrong("id = \"a\"\n", ""),
            wrong("finding", "findng"),
            wrong("metric = \"throughput_bps\"\n", ""),
            wrong(expect, "{}"),
            wrong(expect, "{ minimum = 3 }"),
            wrong(expect, "{ value = \"9 Gbit/s\" }"),
            wrong(expect, "{ rtol = 0.1 }"),
            wrong(expect, "{ value = \"9 Gbit/s\", rtol = 50 }"),
            wrong(expect, "{ min = \"9.4 ms\" }"),
            wrong(expect, "{ min = 3, max = 2 }"),
            wrong(expect, "{ order = \"a > \", over = \"flow.congestion\" }"),
            wrong(expect, "{ ratio = { of = \"a\", to = \"b\" } }"),
            wrong(expect, "{ ratio = { of = \"a\", by = \"b\" } }"),
            wrong(expect, "{ zero = \"network\" }"),
            wrong(expect, "{ falls = [\"a\"] }"),
            wrong(expect, "{ falls = [\"a\", \"b\"], rises = [\"a\", \"b\"] }"),
            wrong(expect, "{ within = 0.05, min = 3 }"),
            wrong("[\"1 ms\", \"2 ms\"]", "[]"),
            wrong("\"path.rtt\" = [\"1 ms\", \"2 ms\"]", "path.rtt = 1"),
            format!("{:#}", read(&format!("{GOOD}{GOOD}"), "claims.toml", false).expect_err("twice")),
            format!("{:#}", read("", "claims.toml", false).expect_err("empty")),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }

    /// The claims of every study that comes with wirespeed can be read.
    #[test]
    fn every_study_has_readable_claims() {
        let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../studies");
        let mut seen = 0;
        for entry in std::fs::read_dir(studies).unwrap() {
            let path = entry.unwrap().path().join("claims.toml");
            if let Ok(text) = std::fs::read_to_string(&path) {
                read(&text, &path.display().to_string(), false).unwrap_or_else(|e| panic!("{e:#}"));
                seen += 1;
            }
        }
        assert!(seen > 0);
    }
}
