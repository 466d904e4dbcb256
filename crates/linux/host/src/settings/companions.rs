//! Settings that the kernel or a driver changes together with another one.

use std::fs;
use std::path::Path;
use wirespeed_inventory::Setting;

/// The settings that a change of `setting` may disturb.
pub fn of(setting: &Setting) -> Vec<Setting> {
    let sysctl = |name: String| Setting::Sysctl { name };
    match setting {
        // A default that was not allowed to all processes becomes so (tcp_set_default_congestion_control).
        Setting::Sysctl { name } if name == "net.ipv4.tcp_congestion_control" => {
            vec![sysctl("net.ipv4.tcp_allowed_congestion_control".into())]
        }
        // IPv6 takes over a new MTU (addrconf_notify); a slash stands for a dot in a name of sysctl.
        Setting::Mtu { interface } => {
            let ipv6 = sysctl(format!("net.ipv6.conf.{}.mtu", interface.replace('.', "/")));
            [ipv6].into_iter().chain(interrupts(interface)).collect()
        }
        // Drivers spread queues over CPUs again, and new transmit queues get the default qdisc.
        Setting::Channels { interface } => {
            let mut all = queues(interface);
            all.extend(interrupts(interface));
            all.push(Setting::Qdisc { interface: interface.clone() });
            all
        }
        Setting::Ring { interface, .. } | Setting::Pause { interface, .. } => interrupts(interface),
        _ => Vec::new(),
    }
}

/// Names of the entries of a folder; none if it cannot be read.
fn entries(path: &Path) -> Vec<String> {
    let found = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        found.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn of_interface(interface: &str, below: &str) -> std::path::PathBuf {
    Path::new("/sys/class/net").join(interface).join(below)
}

/// Steering of all queues.
fn queues(interface: &str) -> Vec<Setting> {
    let setting = |name: &String| {
        let interface = interface.to_owned();
        match name.split_once('-')? {
            ("rx", queue) => Some(Setting::Rps { interface, queue: queue.parse().ok()? }),
            ("tx", queue) => Some(Setting::Xps { interface, queue: queue.parse().ok()? }),
            _ => None,
        }
    };
    entries(&of_interface(interface, "queues")).iter().filter_map(setting).collect()
}

/// Affinities of the interrupts of the device. A virtio interface has them at the device above its own.
fn interrupts(interface: &str) -> Vec<Setting> {
    let folders = ["device/msi_irqs", "device/../msi_irqs"];
    let numbers = folders.iter().map(|folder| entries(&of_interface(interface, folder)));
    let found = numbers.into_iter().find(|names| !names.is_empty()).unwrap_or_default();
    let irqs = found.iter().filter_map(|name| name.parse().ok());
    // Interrupts that no driver asked for have no affinity.
    let in_use = |irq: &u32| Path::new(&format!("/proc/irq/{irq}")).is_dir();
    irqs.filter(in_use).map(|irq| Setting::InterruptAffinity { irq }).collect()
}
