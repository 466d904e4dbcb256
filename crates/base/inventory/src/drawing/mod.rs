//! Draws a host in the way of lstopo: sockets, NUMA nodes, cores, caches, memory, and the interfaces on their node.
//!
//! Each interface with interrupts has a letter. A core shows the share of the interface's interrupts that fired on it
//! since boot, such as `A52%`, or the letter in lower case if they are only allowed there.

mod plan;
mod svg;
mod table;
mod terminal;
mod words;

pub use svg::svg;
pub use table::{interfaces, missing};
pub use terminal::terminal;
