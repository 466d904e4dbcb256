//! The path between hosts: trains of packets, links with their queues, losses and marks.

mod train;

pub use train::{Ack, Body, Data, Ecn, Sack, Train};
