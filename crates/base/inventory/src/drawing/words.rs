//! Quantities and sets of CPUs as short text.

use crate::{CpuSet, Interface, InterfaceKind, PcieLink};

/// Bytes with a binary unit: `188 GiB`, `1.5 MiB`.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    scaled(count as f64, 1024.0, &UNITS)
}

/// Bits per second with a decimal unit: `100 Gbit/s`.
pub(super) fn rate(bps: f64) -> String {
    const UNITS: [&str; 5] = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
    scaled(bps, 1000.0, &UNITS)
}

fn scaled(value: f64, base: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut rest = units.iter();
    let mut unit = rest.next();
    while value >= base
        && let Some(larger) = rest.next()
    {
        value /= base;
        unit = Some(larger);
    }
    let text = if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") };
    format!("{} {}", text.trim_end_matches(".0"), unit.unwrap_or(&""))
}

/// A set in the kernel's format, or `0,2..30` if it is longer and its steps are equal.
pub(super) fn cpus(set: &CpuSet) -> String {
    const LONG: usize = 12;
    let text = set.to_string();
    let all: Vec<u32> = set.iter().collect();
    match all[..] {
        [first, second, .., last] if text.len() > LONG => {
            let step = second - first;
            let is_even = all.windows(2).all(|pair| pair[1] - pair[0] == step);
            if is_even && step > 1 { format!("{first},{second}..{last}") } else { text }
        }
        _ => text,
    }
}

/// The PCI Express link, with the best one if the negotiated one is slower.
pub(super) fn pcie(link: &PcieLink) -> Option<String> {
    let (speed, width) = (link.speed_gt_s?, link.width?);
    let mut text = format!("PCIe {speed} GT/s x{width}");
    if let Some(bandwidth) = link.bandwidth_bps() {
        text += &format!(", {}", rate(bandwidth));
    }
    if let (Some(best_speed), Some(best_width)) = (link.max_speed_gt_s, link.max_width)
        && (speed < best_speed || width < best_width)
    {
        text += &format!(" (the device has {best_speed} GT/s x{best_width})");
    }
    if let Some(bottleneck) = &link.bottleneck {
        text += &format!("; slowest link {bottleneck}");
    }
    Some(text)
}

/// Driver, speed, bus and state of an interface.
pub(super) fn about(interface: &Interface) -> String {
    let driver = interface.driver.as_ref().map(|driver| driver.name.clone()).filter(|name| !name.is_empty());
    let speed = interface.speed_bps.map(|bps| rate(bps as f64));
    let bus = interface.pcie.as_ref().and_then(pcie);
    let state = interface.operational_state.clone().filter(|state| state != "up");
    let parts = [Some(interface.name.clone()), driver, speed, bus, state];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// The kind in one word.
pub(super) fn kind(kind: InterfaceKind) -> &'static str {
    match kind {
        InterfaceKind::Hardware => "hardware",
        InterfaceKind::Loopback => "loopback",
        InterfaceKind::Veth => "veth",
        InterfaceKind::Vlan => "vlan",
        InterfaceKind::Bond => "bond",
        InterfaceKind::Bridge => "bridge",
        InterfaceKind::Virtual => "virtual",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_their_unit() {
        assert_eq!((bytes(201_863_462_912), bytes(1_572_864)), ("188 GiB".into(), "1.5 MiB".into()));
        assert_eq!(
            (rate(1e11), rate(2.5e9), rate(0.0)),
            ("100 Gbit/s".into(), "2.5 Gbit/s".into(), "0 bit/s".into())
        );
    }

    #[test]
    fn sets_with_equal_steps_are_short() {
        let even: CpuSet = (0..32).step_by(2).collect();
        assert_eq!((cpus(&even), cpus(&(0..32).collect())), ("0,2..30".into(), "0-31".into()));
    }
}
