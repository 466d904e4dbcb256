//! Bytes as a part of somebody's recording, up to its report: the first says which part (crates/studies/campaign/tests/recordings.rs).
#![no_main]

#[path = "../../crates/studies/campaign/tests/support/recording.rs"]
mod recording;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match bytes {
        [0, which, rest @ ..] => recording::damaged(*which, Some(rest), &[]),
        [1, which, rest @ ..] => recording::damaged(*which, None, rest),
        [2, rest @ ..] => recording::with_changed_analysis(rest),
        rest => recording::with_rows(rest),
    }
});
