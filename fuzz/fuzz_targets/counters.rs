//! Bytes as answers of the kernel and as text of /proc, through every parser of counters (crates/linux/host/tests/hostile.rs).
#![no_main]

#[path = "../../crates/linux/host/tests/support/bytes.rs"]
mod bytes;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    bytes::netlink(input);
    bytes::text(input);
});
