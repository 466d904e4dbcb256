//! `bundle.json`: the content of a bundle.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use wirespeed_record::{KernelInfo, SubstrateKind, ToolInfo};

/// Version of the format of bundles. A reader refuses newer ones.
pub const FORMAT_VERSION: u32 = 1;

/// The files of a run that a bundle has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// All files, with console logs and captures.
    All,
    /// `run.json` and the tables.
    Tables,
    /// `run.json`.
    Results,
}

impl Data {
    /// The value on the command line and in `bundle.json`.
    pub fn word(self) -> &'static str {
        match self {
            Data::All => "all",
            Data::Tables => "tables",
            Data::Results => "results",
        }
    }
}

/// The content of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT_VERSION`] at the time of packing.
    pub bundle_version: u32,
    /// Name of the bundle, and of the only folder at the top of the archive.
    pub name: String,
    /// Names of the studies (scenarios) that the runs belong to.
    pub studies: Vec<String>,
    /// The question of the first study, in its author's words.
    pub about: String,
    /// The files of each run that are packed.
    pub data: Data,
    /// The program that packed the bundle.
    pub packed_by: ToolInfo,
    /// The programs that made the runs.
    pub programs: Vec<ToolInfo>,
    /// The substrates of the runs.
    pub substrates: Vec<SubstrateKind>,
    /// The kernels that runs were made on, once each.
    pub kernels: Vec<KernelInfo>,
    /// The swept factors and their levels.
    pub factors: BTreeMap<String, Vec<Value>>,
    /// SPDX identifier of the licence of the data, if it was given.
    pub license: Option<String>,
    /// Scenario files and what they refer to, by path in the bundle.
    pub inputs: Vec<String>,
    /// Complete runs.
    pub runs: Vec<PackedRun>,
    /// Runs that were not complete, of which only the reason is packed.
    pub incomplete: Vec<IncompleteRun>,
    /// Parts of the folder that are not in the bundle.
    pub left_out: Vec<LeftOut>,
    /// Size in bytes of every file but `bundle.json` and `SHA256SUMS`, by path in the bundle.
    pub files: BTreeMap<String, u64>,
}

/// A complete run of a bundle. Tables and metrics are known here whether or not the tables themselves are packed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PackedRun {
    /// Its directory, by path in the bundle.
    pub folder: String,
    /// Name of the run within its study.
    pub id: String,
    /// The study.
    pub study: String,
    /// The substrate that it ran on.
    pub substrate: SubstrateKind,
    /// Repetition, from 0.
    pub repeat: u32,
    /// Seed of all randomness.
    pub seed: u64,
    /// Git commit of the program that made it.
    pub git: String,
    /// Identity of the build of its kernel, if it has one.
    pub kernel_build: Option<String>,
    /// SHA-256 of each of its tables, by file name.
    pub tables: BTreeMap<String, String>,
    /// Its metrics by name, in the units of the registry.
    pub metrics: BTreeMap<String, f64>,
}

/// A run that was not complete when the bundle was packed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncompleteRun {
    /// Its directory, by path in the bundle.
    pub folder: String,
    /// The reason.
    pub reason: String,
}

/// A part of the folder that is not in the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The part.
    pub what: String,
    /// The reason, and the option that packs it if there is one.
    pub why: String,
}
