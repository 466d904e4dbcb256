//! The sections of the grid, a file each; [`super::section::sections`] is their table.

pub mod beside;
pub mod changing;
pub mod fast;
pub mod hosts;
pub mod paths;
pub mod sender_interface;
