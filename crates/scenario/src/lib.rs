//! The experiment file and what it resolves to.

pub mod run;
