//! Settings whose work differs, so that the cost of each kind can be separated from the others.

use serde::{Deserialize, Serialize};
use std::fmt;
use wirespeed_units::{Bytes, Rate};

/// A test over the pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// MTU of both interfaces.
    pub mtu: Bytes,
    /// Whether the interface takes GSO packets of up to 64 KiB.
    pub gso: bool,
    /// Bytes of a call of writer and reader.
    pub call: Bytes,
    /// Number of flows.
    pub flows: u32,
    /// The most that each flow may send (`SO_MAX_PACING_RATE`); `None`: as fast as it can.
    pub rate: Option<Rate>,
    /// Whether the data of many calls goes into one GSO packet (`TCP_CORK`).
    pub corked: bool,
    /// A reader sleeps until so many bytes wait (`SO_RCVLOWAT`); `None`: until there are any.
    pub low_water: Option<Bytes>,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Setting { mtu, gso, call, flows, rate, corked, low_water } = self;
        let gso = if *gso { "GSO" } else { "no GSO" };
        write!(f, "MTU {mtu}, {gso}, calls of {call}, {flows} flow{}", if *flows == 1 { "" } else { "s" })?;
        if let Some(rate) = rate {
            write!(f, " of {rate}")?;
        }
        if *corked {
            f.write_str(", corked")?;
        }
        low_water.as_ref().map_or(Ok(()), |bytes| write!(f, ", wakes at {bytes}"))
    }
}

/// A row of the table of settings.
struct Row {
    mtu: u64,
    gso: bool,
    call_kib: u64,
    flows: u32,
    mbit: Option<u64>,
    corked: bool,
    low_water_kib: Option<u64>,
}

/// MTU, GSO, KiB of a call, flows; the rest is as it comes.
const fn row(mtu: u64, gso: bool, call_kib: u64, flows: u32) -> Row {
    Row { mtu, gso, call_kib, flows, mbit: None, corked: false, low_water_kib: None }
}

impl Row {
    const fn paced(self, mbit: u64) -> Row {
        Row { mbit: Some(mbit), ..self }
    }

    const fn corked(self) -> Row {
        Row { corked: true, ..self }
    }

    const fn wakes_at(self, kib: u64) -> Row {
        Row { low_water_kib: Some(kib), ..self }
    }
}

const ROWS: [Row; 24] = [
    row(1500, true, 128, 1),
    row(1500, true, 8, 1),
    row(1500, true, 1, 1),
    row(1500, true, 1024, 4),
    row(1500, true, 32, 1).paced(2_000),
    row(1500, true, 128, 4).paced(250),
    row(1500, true, 1, 1).corked(),
    row(1500, true, 4, 1).corked().wakes_at(256),
    row(1500, true, 128, 1).wakes_at(512),
    row(9000, true, 128, 1),
    row(9000, true, 4, 1),
    row(9000, true, 512, 4),
    row(9000, true, 16, 1).paced(4_000),
    row(9000, true, 2, 1).corked().wakes_at(64),
    row(1500, false, 128, 1),
    row(1500, false, 8, 1),
    row(1500, false, 64, 4),
    row(1500, false, 128, 1).paced(1_000),
    row(1500, false, 2, 1).corked(),
    row(9000, false, 128, 1),
    row(9000, false, 8, 1),
    row(9000, false, 64, 4),
    row(9000, false, 128, 1).paced(4_000),
    row(9000, false, 64, 1).wakes_at(512),
];

/// The settings of a calibration. Each kind of work is varied against every other: calls against bytes by their size and by corks, packets
/// against bytes by MTU and GSO, wake-ups by the reader's low-water mark, idle time by pacing.
pub fn settings() -> Vec<Setting> {
    const KIB: u64 = 1024;
    let setting = |row: &Row| Setting {
        mtu: Bytes::new(row.mtu),
        gso: row.gso,
        call: Bytes::new(row.call_kib * KIB),
        flows: row.flows,
        rate: row.mbit.map(|mbit| Rate::bps(mbit * 1_000_000)),
        corked: row.corked,
        low_water: row.low_water_kib.map(|kib| Bytes::new(kib * KIB)),
    };
    ROWS.iter().map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_differ_and_are_told_in_words() {
        let all = settings();
        assert!(all.iter().enumerate().all(|(at, setting)| !all[..at].contains(setting)));
        let told = |at: usize| all[at].to_string();
        assert_eq!(told(5), "MTU 1.5 kB, GSO, calls of 128 KiB, 4 flows of 250 Mbit/s");
        assert_eq!(told(7), "MTU 1.5 kB, GSO, calls of 4 KiB, 1 flow, corked, wakes at 256 KiB");
    }
}
