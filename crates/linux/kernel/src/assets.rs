//! What `kernel/` of the source tree holds, embedded by `build.rs`.

include!(concat!(env!("OUT_DIR"), "/assets.rs"));
