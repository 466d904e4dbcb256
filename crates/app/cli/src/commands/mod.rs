//! One file per command.

#[cfg(feature = "linux")]
pub mod agent;
mod analysis;
pub mod bundle;
#[cfg(feature = "linux")]
pub mod calibrate;
pub mod campaign;
#[cfg(feature = "linux")]
pub mod cc;
pub mod compare;
pub mod doctor;
mod engine;
pub mod execute;
pub mod explain;
pub mod export;
mod figures;
mod folder;
pub mod import;
#[cfg(feature = "linux")]
pub mod inventory;
mod inventory_source;
#[cfg(feature = "linux")]
pub mod kernel;
#[cfg(feature = "linux")]
mod linux;
pub mod list;
#[cfg(feature = "linux")]
mod measurement;
#[cfg(feature = "linux")]
pub mod mesh;
pub mod plan;
#[cfg(feature = "linux")]
pub mod probe;
mod repeat;
pub mod report;
pub mod reproduce;
mod results;
pub mod run;
pub mod serve;
#[cfg(feature = "linux")]
pub mod serve_agent;
pub mod shell;
pub mod trace;
#[cfg(feature = "linux")]
pub mod tune;
mod until_certain;
pub mod validate;

use crate::failure::Failure;

pub const SCHEMA_EXAMPLES: &str = "\
Examples:
  wirespeed schema > scenario.schema.json   # editors complete and check scenario files with it";

/// `wirespeed schema`.
pub fn schema() -> Result<(), Failure> {
    let schema = wirespeed_scenario::json_schema();
    let text = serde_json::to_string_pretty(&schema).expect("a schema is plain data");
    crate::print(&format!("{text}\n"))
}
