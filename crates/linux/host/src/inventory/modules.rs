//! Memory modules as the firmware describes them (SMBIOS, Memory Device, type 17).

use super::Notes;
use crate::netlink::{u16_at, u32_at};
use crate::root::Root;
use wirespeed_inventory::MemoryModule;

pub(super) fn read(root: &mut Root, notes: &mut Notes) -> Vec<MemoryModule> {
    let table = root.bytes("sys/firmware/dmi/tables/DMI");
    notes
        .unless_absent("memory modules", table, "read it on the host")
        .map_or(Vec::new(), |table| parse(&table))
}

/// The modules in an SMBIOS table. Slots without one are left out.
fn parse(table: &[u8]) -> Vec<MemoryModule> {
    const MEMORY_DEVICE: u8 = 17;
    let mut rest = table;
    let mut found = Vec::new();
    while let [kind, length, ..] = *rest {
        let Some(fields) = rest.get(..usize::from(length)).filter(|fields| fields.len() >= 4) else { break };
        let after = &rest[fields.len()..];
        let Some(end) = after.windows(2).position(|pair| pair == [0, 0]) else { break };
        if kind == MEMORY_DEVICE {
            found.extend(module(fields, &after[..end]));
        }
        rest = &after[end + 2..];
    }
    found
}

/// Offsets are those of SMBIOS 3.7, section 7.18.
fn module(fields: &[u8], strings: &[u8]) -> Option<MemoryModule> {
    let string = |at: usize| {
        let number = usize::from(*fields.get(at)?).checked_sub(1)?;
        let text = strings.split(|byte| *byte == 0).nth(number)?;
        Some(String::from_utf8_lossy(text).trim().to_owned())
    };
    const MIB: u64 = 1 << 20;
    let size_bytes = match u16_at(fields, 0x0c)? {
        // No module, or one of unknown size.
        0 | 0xffff => return None,
        0x7fff => u64::from(u32_at(fields, 0x1c)? & 0x7fff_ffff) * MIB,
        kib if kib & 0x8000 != 0 => u64::from(kib & 0x7fff) * 1024,
        mib => u64::from(mib) * MIB,
    };
    let speed = |at: usize| u16_at(fields, at).filter(|speed| ![0, 0xffff].contains(speed)).map(u64::from);
    Some(MemoryModule {
        locator: string(0x10).unwrap_or_default(),
        bank: string(0x11).unwrap_or_default(),
        size_bytes,
        megatransfers_per_s: speed(0x20).or_else(|| speed(0x15)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_read_and_empty_slots_left_out() {
        let device = |size: u16| {
            let mut fields = vec![0; 0x28];
            (fields[0], fields[1]) = (17, 0x28);
            fields[0x0c..0x0e].copy_from_slice(&size.to_le_bytes());
            (fields[0x10], fields[0x11]) = (1, 2);
            fields[0x1c..0x20].copy_from_slice(&65_536_u32.to_le_bytes());
            fields[0x20..0x22].copy_from_slice(&3200_u16.to_le_bytes());
            fields.extend(b"DIMM_A1\0BANK 0\0\0");
            fields
        };
        let other = [&[1_u8, 4, 0, 0][..], b"\0\0"].concat();
        let table = [other, device(0x7fff), device(0), device(16_384), vec![17, 200, 0]].concat();
        let found = parse(&table);
        let sizes: Vec<u64> = found.iter().map(|module| module.size_bytes >> 30).collect();
        assert_eq!(sizes, [64, 16]);
        assert_eq!((found[0].locator.as_str(), found[0].bank.as_str()), ("DIMM_A1", "BANK 0"));
        assert_eq!(found[0].megatransfers_per_s, Some(3200));
    }
}
