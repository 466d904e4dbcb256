//! The playground: the model as a module in WebAssembly, for a page that needs no server.
//!
//! [`answer`] takes the text of a scenario and returns its time series as JSON. [`tables`] returns every row that the model
//! recorded, to compare builds. [`choices`] lists what the page offers. `make playground` compiles this crate for
//! `wasm32-unknown-unknown` and puts the module, with `assets/`, into one HTML file. All functions also run natively, and
//! return the same bytes.

mod answer;
#[cfg(target_family = "wasm")]
mod boundary;
mod choices;
mod series;
mod tables;

pub use answer::answer;
pub use choices::choices;
pub use tables::tables;
