//! Recordings of anybody are read without harm. `PROPTEST_CASES=10000` tries more.

#[path = "support/recording.rs"]
mod recording;

use proptest::prelude::*;

proptest! {
    // A case makes a whole report.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn files_that_are_something_else(which in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        recording::damaged(which, Some(&bytes), &[]);
    }

    #[test]
    fn files_that_were_changed(which in any::<u8>(), changes in prop::collection::vec(any::<u8>(), 0..30)) {
        recording::damaged(which, None, &changes);
    }

    #[test]
    fn stored_analysis_that_was_changed(changes in prop::collection::vec(b'"'..=b'}', 0..12)) {
        recording::with_changed_analysis(&changes);
    }

    #[test]
    fn rows_of_any_numbers_and_names(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        recording::with_rows(&bytes);
    }
}
