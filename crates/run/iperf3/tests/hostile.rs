//! Files of anybody are read whatever is in them.

#[path = "support/control.rs"]
mod control;
#[path = "support/import.rs"]
mod support;

use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn fixtures() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Numbers that break what is careless.
const NUMBERS: [&str; 12] =
    ["0", "-1", "1e18", "1e300", "-5e18", "0.5", "18446744073709551615", "null", "\"x\"", "[]", "{}", "true"];

/// The text with the value of its `at`-th field replaced.
fn with_value(text: &str, at: usize, value: &str) -> String {
    let places: Vec<usize> = text.match_indices("\":").map(|(at, _)| at + 2).collect();
    let from = places[at % places.len()];
    let rest = &text[from..];
    let to = from + rest.find([',', '\n', '}']).unwrap_or(rest.len());
    format!("{}{value}{}", &text[..from], &text[to..])
}

#[test]
fn every_fixture_is_imported_or_refused() {
    let texts = fixtures();
    assert!(texts.len() >= 10, "{} fixtures", texts.len());
    texts.iter().for_each(|text| support::import(text));
}

/// What a server says in a test to its end: states (libiperf's iperf_api.h), and results with their length.
fn said(results: &str) -> Vec<u8> {
    let length = (results.len() as u32).to_be_bytes();
    [&[9, 10, 1, 2, 13][..], &length, results.as_bytes(), &[14]].concat()
}

/// Results of two streams, with some value in the place of each number.
fn results(values: [&str; 6]) -> String {
    let [total, bytes, jitter, errors, packets, end] = values;
    let stream = |id: u32| {
        format!(
            r#"{{"id":{id},"bytes":{bytes},"retransmits":0,"jitter":{jitter},"errors":{errors},"packets":{packets},"start_time":0,"end_time":{end}}}"#
        )
    };
    format!(
        r#"{{"cpu_util_total":{total},"cpu_util_user":1,"cpu_util_system":1,"sender_has_retransmits":1,"streams":[{},{}]}}"#,
        stream(1),
        stream(3)
    )
}

proptest! {
    #[test]
    fn a_server_that_says_anything(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        control::converse(&bytes);
    }

    #[test]
    fn a_server_that_goes_wrong_somewhere(
        values in prop::array::uniform6(prop::sample::select(&NUMBERS[..])),
        at in any::<prop::sample::Index>(),
        change in prop::option::of(any::<u8>()),
    ) {
        let mut bytes = said(&results(values));
        if let Some(change) = change {
            let at = at.index(bytes.len());
            bytes[at] = change;
        }
        control::converse(&bytes);
    }

    #[test]
    fn any_text(text in ".{0,300}") {
        support::import(&text);
    }

    #[test]
    fn a_report_with_other_values(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<usize>(), prop::sample::select(&NUMBERS[..])), 1..6),
    ) {
        let texts = fixtures();
        let mut text = texts[which.index(texts.len())].clone();
        for (at, value) in changes {
            text = with_value(&text, at, value);
        }
        support::import(&text);
    }

    #[test]
    fn a_report_that_is_cut_or_damaged(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in 32u8..127,
        cut in any::<bool>(),
    ) {
        let texts = fixtures();
        let text = &texts[which.index(texts.len())];
        let at = at.index(text.len());
        prop_assume!(text.is_ascii());
        let damaged = match cut {
            true => text[..at].to_owned(),
            false => format!("{}{}{}", &text[..at], byte as char, &text[at + 1..]),
        };
        support::import(&damaged);
    }
}
