//! The bus of an interface: NUMA node, PCI Express link, and the slowest link above it.

use super::links::Link;
use super::{number, word};
use crate::root::Root;
use wirespeed_inventory::{Driver, InterfaceKind, PcieLink};

/// The place of a device on the bus.
#[derive(Debug, Default)]
pub(super) struct Device {
    pub(super) node: Option<u32>,
    pub(super) pcie: Option<PcieLink>,
}

pub(super) fn device(root: &mut Root, link: &Link, has_sysfs: bool, driver: Option<&Driver>) -> Device {
    if link.kind != InterfaceKind::Hardware {
        return Device::default();
    }
    let folder = format!("sys/class/net/{}/device", link.name);
    let path = match has_sysfs {
        true => root.target(&folder).ok(),
        false => None,
    };
    // Without the path, the driver may report its address on the bus, and the bridges above it stay unknown.
    let addresses = match &path {
        Some(path) => path.split('/').filter(|part| is_address(part)).map(str::to_owned).collect(),
        None => driver.map(|driver| driver.bus.clone()).filter(|bus| is_address(bus)).into_iter().collect(),
    };
    let chain: Vec<String> = addresses;
    let node = |root: &mut Root, folder: &str| {
        // -1: the firmware gives none.
        number(root, &format!("{folder}/numa_node")).and_then(|node| u32::try_from(node).ok())
    };
    let own = chain.last().map(|address| format!("sys/bus/pci/devices/{address}"));
    let of_interface = path.as_ref().and_then(|_| node(root, &folder));
    Device {
        node: of_interface.or_else(|| node(root, own.as_deref()?)),
        pcie: chain.split_last().map(|(address, above)| link_of(root, address, above)),
    }
}

/// Whether it has the form `0000:3b:00.0`: domain, bus, device and function.
fn is_address(text: &str) -> bool {
    let is_hexadecimal =
        |part: &str, digits: usize| part.len() >= digits && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = text.split([':', '.']).collect();
    match parts[..] {
        [domain, bus, device, function] => {
            is_hexadecimal(domain, 4)
                && is_hexadecimal(bus, 2)
                && is_hexadecimal(device, 2)
                && is_hexadecimal(function, 1)
        }
        _ => false,
    }
}

/// The link of a device. `above` has the bridges from the root port down.
fn link_of(root: &mut Root, address: &str, above: &[String]) -> PcieLink {
    let mut link = read(root, address);
    if let Some(own) = link.bandwidth_bps() {
        let slower = above.iter().map(|bridge| read(root, bridge));
        let slower = slower.filter_map(|bridge| Some((bridge.bandwidth_bps()?, bridge)));
        let slowest = slower.filter(|(bandwidth, _)| *bandwidth < own).min_by(|a, b| a.0.total_cmp(&b.0));
        link.bottleneck = slowest.map(|(_, bridge)| {
            let (speed, width) = (bridge.speed_gt_s.unwrap_or(0.0), bridge.width.unwrap_or(0));
            format!("{} at {speed} GT/s x{width}", bridge.address)
        });
    }
    link
}

/// A conventional PCI device, such as a virtual one, has no speeds.
fn read(root: &mut Root, address: &str) -> PcieLink {
    let mut value = |file: &str| word(root, &format!("sys/bus/pci/devices/{address}/{file}"));
    let id = |text: Option<String>| text.unwrap_or_default().trim_start_matches("0x").to_owned();
    let (vendor, device) = (id(value("vendor")), id(value("device")));
    PcieLink {
        address: address.to_owned(),
        id: format!("{vendor}:{device}"),
        speed_gt_s: value("current_link_speed").and_then(|text| speed(&text)),
        width: value("current_link_width").and_then(|text| width(&text)),
        max_speed_gt_s: value("max_link_speed").and_then(|text| speed(&text)),
        max_width: value("max_link_width").and_then(|text| width(&text)),
        bottleneck: None,
    }
}

/// `8.0 GT/s PCIe`, in older kernels `8 GT/s`; `Unknown` is none.
fn speed(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed > 0.0)
}

/// Lanes. 0 is that of a virtual function, 255 and 63 mean unknown (PCI_EXP_LNKSTA_NLW).
fn width(text: &str) -> Option<u32> {
    text.parse().ok().filter(|width| (1..=32).contains(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_speeds_have_the_forms_of_the_kernel() {
        assert!(is_address("0000:3b:00.0") && is_address("10000:e1:1f.7"));
        assert!(!is_address("pci0000:00") && !is_address("virtio2") && !is_address("0000:zz:00.0"));
        assert_eq!((speed("8.0 GT/s PCIe"), speed("8 GT/s"), speed("Unknown")), (Some(8.0), Some(8.0), None));
        assert_eq!((width("16"), width("0"), width("255")), (Some(16), None, None));
    }
}
