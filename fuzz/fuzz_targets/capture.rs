//! Bytes as a capture, up to its connections (crates/run/capture/tests/hostile.rs), and their explanation as text.
#![no_main]

#[path = "../../crates/run/capture/tests/support/any.rs"]
mod any;

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use wirespeed_capture::{Input, Settings};
use wirespeed_trace::{Options, text};

fuzz_target!(|bytes: &[u8]| {
    any::capture(bytes);
    let input = Input::Reader(Box::new(Cursor::new(bytes.to_vec())));
    let options = Options { rtp_hz: Some(90_000), ..Options::default() };
    let Ok((trace, facts)) = wirespeed_trace::read(input, &Settings::default(), options) else { return };
    text::summary(&trace, &facts, text::USUAL_ROWS);
    trace.connections.iter().for_each(|connection| drop(text::connection(connection)));
    trace.streams.iter().for_each(|stream| drop(text::stream(stream)));
});
