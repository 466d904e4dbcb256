//! What a bus carries, by its build.

use super::{check_rate, within};
use crate::error::Complaint;
use crate::file::{BusChoice, BusKind, BusTable};
use crate::tree::{Node, Place};
use std::ops::RangeInclusive;
use wirespeed_units::Rate;

/// Generations of PCI Express with a line code: transfers a second of a lane in millions, and bits of data in bits on
/// the line (PCI Express Base Specification 1.0 to 5.0).
const GENERATIONS: [(u64, u64, u64); 5] =
    [(2_500, 8, 10), (5_000, 8, 10), (8_000, 128, 130), (16_000, 128, 130), (32_000, 128, 130)];
/// What kit-2019 takes off for the bus's own packets.
const OVERHEAD: u64 = 1_000_000_000;
/// Widths of links (PCI Express Base Specification, section on link width).
const LANES: [u32; 7] = [1, 2, 4, 8, 12, 16, 32];
/// From a slow PCI to the fastest PCI-X 2.0 that was specified.
const MHZ: RangeInclusive<u64> = 1..=1066;

/// Rate of a host's bus and whether both ways share it.
pub(super) fn bus(
    choice: Option<&BusChoice>,
    merged: &Node,
    what: &str,
) -> Result<(Option<Rate>, bool), Complaint> {
    let what = format!("{what}.nic_bus");
    match choice {
        None => Ok((None, false)),
        Some(BusChoice::Rate(rate)) => {
            check_rate(*rate, &what, merged.place_of(&["nic_bus"])).map(|()| (Some(*rate), false))
        }
        Some(BusChoice::Build(table)) => {
            let build = Build { table, merged, what: &what };
            let (rate, shared) = match table.kind {
                Some(BusKind::Pcie) => (build.pcie()?, false),
                Some(BusKind::Pci) => (build.pci()?, true),
                None => return Err(build.lacks("kind", "\"pcie\", or \"pci\" for PCI and PCI-X")),
            };
            Ok((Some(rate), table.shared.unwrap_or(shared)))
        }
    }
}

struct Build<'a> {
    table: &'a BusTable,
    merged: &'a Node,
    what: &'a str,
}

impl Build<'_> {
    fn at(&self, key: &str) -> Place {
        self.merged.place_of(&["nic_bus", key])
    }

    fn strange(&self, key: &str, given: bool, kind: &str, takes: &str) -> Result<(), Complaint> {
        if !given {
            return Ok(());
        }
        Err(Complaint::at(&self.at(key), format!("{}.{key}: a {kind} bus has no `{key}`", self.what))
            .label("does not belong here")
            .help(format!("{kind} takes {takes}")))
    }

    fn needed(&self, key: &str, value: Option<u32>, example: u32) -> Result<u32, Complaint> {
        value.ok_or_else(|| self.lacks(key, &example.to_string()))
    }

    fn lacks(&self, key: &str, example: &str) -> Complaint {
        Complaint::at(&self.merged.place_of(&["nic_bus"]), format!("`{key}` is missing in {}", self.what))
            .label("in this table")
            .help(format!("add {key} = {example}"))
    }

    fn pcie(&self) -> Result<Rate, Complaint> {
        const TAKES: &str = "`generation` and `lanes`";
        self.strange("mhz", self.table.mhz.is_some(), "pcie", TAKES)?;
        self.strange("bits", self.table.bits.is_some(), "pcie", TAKES)?;
        let generation = self.needed("generation", self.table.generation, 3)?;
        let lanes = self.needed("lanes", self.table.lanes, 16)?;
        let name = format!("{}.generation", self.what);
        within(generation.into(), 1..=GENERATIONS.len() as u64, &name, &self.at("generation"))?;
        if !LANES.contains(&lanes) {
            return Err(Complaint::at(
                &self.at("lanes"),
                format!("{}.lanes: no slot has {lanes} lanes", self.what),
            )
            .label("not a width")
            .help("write 1, 2, 4, 8, 12, 16 or 32"));
        }
        let (transfers, data, line) = GENERATIONS[generation as usize - 1];
        let bits = u64::from(lanes) * transfers * 1_000_000 * data / line;
        Ok(Rate::bps(bits - OVERHEAD))
    }

    fn pci(&self) -> Result<Rate, Complaint> {
        const TAKES: &str = "`mhz` and `bits`";
        self.strange("generation", self.table.generation.is_some(), "pci", TAKES)?;
        self.strange("lanes", self.table.lanes.is_some(), "pci", TAKES)?;
        let (mhz, bits) =
            (self.needed("mhz", self.table.mhz, 133)?, self.needed("bits", self.table.bits, 64)?);
        within(mhz.into(), MHZ, &format!("{}.mhz", self.what), &self.at("mhz"))?;
        if ![32, 64].contains(&bits) {
            return Err(Complaint::at(
                &self.at("bits"),
                format!("{}.bits: no PCI bus has {bits}", self.what),
            )
            .label("not a width")
            .help("write 32 or 64"));
        }
        Ok(Rate::bps(u64::from(mhz) * u64::from(bits) * 1_000_000))
    }
}
