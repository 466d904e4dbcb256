//! A history that somebody has edited, or that is none, is read without harm. `PROPTEST_CASES=10000` tries more.

#[path = "support/history.rs"]
mod history;

use proptest::prelude::*;

/// A line as it is written, with names of anybody and numbers of any size.
fn line() -> impl Strategy<Value = String> {
    let number = prop::sample::select(vec![0u64, 1, 1000, 86_400_000_000_000, i64::MAX as u64, u64::MAX]);
    let name = prop::sample::select(vec!["a", "b", "", "a\\n# x", "\\\"", "\u{fc}"]);
    (prop::array::uniform5(number), name.clone(), name).prop_map(|([at, sent, lost, late, twice], from, to)| {
        format!(
            "{{\"at\":{at},\"from\":\"{from}\",\"to\":\"{to}\",\"sent\":{sent},\"lost\":{lost},\"stages\":{{\"qdisc\":{lost}}},\
             \"reordered\":{late},\"duplicates\":{twice}}}"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text(text in ".{0,300}") {
        history::read(&text);
    }

    #[test]
    fn any_numbers_and_names(lines in prop::collection::vec(line(), 0..12)) {
        history::read(&lines.join("\n"));
    }

    #[test]
    fn damaged_lines(lines in prop::collection::vec(line(), 1..4), at in any::<prop::sample::Index>(), by in 32u8..127) {
        let mut bytes = lines.join("\n").into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = by;
        history::read(&String::from_utf8_lossy(&bytes));
    }
}
