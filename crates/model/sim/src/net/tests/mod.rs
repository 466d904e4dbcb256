//! The link against a packet-by-packet reference, and against theory.

mod accounts;
mod behind;
mod causes;
mod changing;
mod duplicate;
mod fec;
mod fq;
mod loss;
mod managed;
pub(crate) mod reference;
mod reorder;
mod speed;
mod tap;
mod theory;
mod train;
mod wire;
