//! What the tests of this module share.

use super::data::{METRICS, Row};
use super::grid::generate;
use super::section::sections;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wirespeed_record::{Recording, RunDirectory, SubstrateKind};
use wirespeed_scenario::Run;
use wirespeed_scenario::run::KernelChoice;
use wirespeed_substrates::{Control, Substrate, SubstrateError};

/// A row of the first section's cell of that number with this goodput.
pub fn row(cell: u32, repeat: u32, goodput_bps: f64) -> Row {
    let mut values = [Some(1.0); METRICS.len()];
    values[0] = Some(goodput_bps);
    Row {
        cell: generate(&sections()[0], cell as usize).pop().unwrap(),
        repeat,
        seed: 7,
        duration_s: 4.0,
        packets: 1000,
        values,
        build: "b".into(),
    }
}

/// A substrate that counts its runs and records nothing.
#[derive(Default)]
pub struct Fake(AtomicUsize);

impl Fake {
    pub fn count(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl Substrate for Fake {
    fn kind(&self) -> SubstrateKind {
        SubstrateKind::Model
    }
    fn build(&self, _: Option<&KernelChoice>) -> Option<String> {
        None
    }
    fn check(&self, _: &Run) -> Result<(), SubstrateError> {
        Ok(())
    }
    fn carry_out(&self, _: &Run, _: &RunDirectory, _: &Control) -> Result<Recording, SubstrateError> {
        self.0.fetch_add(1, Relaxed);
        Ok(Recording::default())
    }
}
