//! Kernel, firmware, clock, and whether the host is virtual or a container.

use super::{Notes, word};
use crate::root::{Facts, Root};
use wirespeed_inventory::System;

pub(super) fn read(root: &mut Root, facts: &Facts, notes: &mut Notes) -> System {
    let command_line = match root.text("proc/cmdline") {
        Ok(text) => Some(text.trim().to_owned()),
        Err(error) => {
            notes.error("kernel command line", &error, "mount /proc");
            None
        }
    };
    let [vendor, name] =
        ["sys_vendor", "product_name"].map(|file| word(root, &format!("sys/class/dmi/id/{file}")));
    let product = match (&vendor, name) {
        (Some(vendor), Some(name)) if name.starts_with(vendor.as_str()) => Some(name),
        (Some(vendor), Some(name)) => Some(format!("{vendor} {name}")),
        (vendor, name) => vendor.clone().or(name),
    };
    System {
        kernel: facts.kernel.clone(),
        architecture: facts.architecture.clone(),
        command_line,
        distribution: distribution(root),
        hypervisor: hypervisor(root, product.as_deref()),
        product,
        container: container(root),
        clock_source: word(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        is_privileged: is_privileged(root),
    }
}

/// `PRETTY_NAME` (os-release(5)).
fn distribution(root: &mut Root) -> Option<String> {
    let text = root.text("etc/os-release").or_else(|_| root.text("usr/lib/os-release")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// By the firmware's names, else by the CPU flag that every hypervisor on x86 sets.
fn hypervisor(root: &mut Root, product: Option<&str>) -> Option<String> {
    const NAMES: [(&str, &str); 9] = [
        ("qemu", "kvm"),
        ("kvm", "kvm"),
        ("google compute", "kvm"),
        ("amazon ec2", "kvm"),
        ("openstack", "kvm"),
        ("vmware", "vmware"),
        ("virtualbox", "virtualbox"),
        ("microsoft corporation virtual machine", "hyper-v"),
        ("xen", "xen"),
    ];
    let has_flag = word(root, "proc/cpuinfo").is_some_and(|text| {
        let mut flags = text.lines().filter(|line| line.starts_with("flags"));
        flags.next().is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
    });
    if let Some(kind) = word(root, "sys/hypervisor/type") {
        return Some(kind);
    }
    let product = product.unwrap_or_default().to_lowercase();
    let named = NAMES.iter().find(|(word, _)| product.contains(word)).map(|(_, name)| (*name).to_owned());
    match named {
        // Amazon's machines without a hypervisor have the same vendor.
        Some(_) if product.contains("amazon") && !has_flag => None,
        Some(name) => Some(name),
        None if has_flag => Some("unknown".to_owned()),
        None => None,
    }
}

/// By the files that container runtimes leave (systemd's container interface, podman, docker). A file of docker alone may
/// come from the image of a virtual machine.
fn container(root: &mut Root) -> Option<String> {
    if let Some(name) = word(root, "run/systemd/container") {
        return Some(name);
    }
    if root.text("run/.containerenv").is_ok() {
        return Some("podman".to_owned());
    }
    (root.text(".dockerenv").is_ok() && !sees_kernel_threads(root)).then(|| "docker".to_owned())
}

/// Whether the kernel's own threads are visible, as outside of all containers. Process 2 is their parent.
pub(super) fn sees_kernel_threads(root: &mut Root) -> bool {
    word(root, "proc/2/comm").as_deref() == Some("kthreadd")
}

/// Whether this thread has CAP_NET_ADMIN, capability 12 (linux/capability.h).
fn is_privileged(root: &mut Root) -> bool {
    const NET_ADMIN: u32 = 12;
    let status = root.text("proc/thread-self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> NET_ADMIN & 1 == 1)
}
