//! The link against a packet-by-packet reference, and against theory.

pub(crate) mod reference;
mod speed;
mod wire;
