//! Files of anybody are read whatever is in them: each is imported or refused, and what is imported can be exported.

#[path = "support/import.rs"]
mod import;
mod support;

use import::import;
use proptest::prelude::*;
use std::fs;
use wirespeed_exchange::{Content, Source, recording};

/// The fixtures as texts, decompressed.
fn texts() -> Vec<String> {
    let mut files: Vec<_> =
        fs::read_dir(support::fixtures()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| Content::new(fs::read(path).unwrap()).unwrap().text().to_owned()).collect()
}

/// Numbers that break what is careless.
const VALUES: [&str; 14] = [
    "0",
    "-1",
    "1e18",
    "1e300",
    "-5e18",
    "0.5",
    "18446744073709551615",
    "null",
    "\"x\"",
    "[]",
    "{}",
    "true",
    "1795739821.5",
    "TCP upload::1",
];

/// The text with the value of its `at`-th field replaced: of JSON, or of ss.
fn with_value(text: &str, at: usize, value: &str) -> String {
    let places: Vec<usize> = text.match_indices(':').map(|(at, _)| at + 1).collect();
    let from = places[at % places.len()];
    let rest = &text[from..];
    let to = from + rest.find([',', '\n', '}', ' ']).unwrap_or(rest.len());
    format!("{}{value}{}", &text[..from], &text[to..])
}

#[test]
fn every_fixture_is_imported() {
    let texts = texts();
    assert!(texts.len() >= 5, "{} fixtures", texts.len());
    for text in texts {
        let content = Content::new(text.clone().into_bytes()).unwrap();
        assert!(recording(&[Source { name: "x".into(), content }]).is_ok());
        import(text.into_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in ".{0,300}") {
        import(text.into_bytes());
    }

    #[test]
    fn any_bytes_with_the_head_of_gzip(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        import([&[0x1f, 0x8b, 8, 0][..], &bytes].concat());
    }

    #[test]
    fn a_file_with_other_values(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<usize>(), prop::sample::select(&VALUES[..])), 1..6),
    ) {
        let texts = texts();
        let mut text = texts[which.index(texts.len())].clone();
        for (at, value) in changes {
            text = with_value(&text, at, value);
        }
        import(text.into_bytes());
    }

    #[test]
    fn a_file_that_is_cut_or_damaged(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        byte in 32u8..127,
        cut in any::<bool>(),
    ) {
        let texts = texts();
        let mut bytes = texts[which.index(texts.len())].clone().into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        import(bytes);
    }

    #[test]
    fn a_log_of_any_lines(lines in prop::collection::vec(
        "(ESTAB |tcp ESTAB |)[0-9]{1,3} 0 (10.0.0.[12]|\\[::1\\]):[12] 10.0.0.[12]:[0-9*]{1,6}( [a-z_]{1,12}:?[0-9./]{0,9}){0,5}|# [0-9]{9,10}\\.[0-9]{0,9}|\t.{0,40}",
        0..12,
    )) {
        import(lines.join("\n").into_bytes());
    }
}
