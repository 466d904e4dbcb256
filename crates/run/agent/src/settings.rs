//! What a real host is set to, as far as it decides what a test gives: read, never changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use wirespeed_host::ethtool;
use wirespeed_topology::netlink::Netlink;
use wirespeed_topology::{device, qdisc};

/// Sysctls by their dotted names.
const SYSCTLS: &[&str] = &[
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
];

/// Settings of an interface that go by the name `offload`, as on the other substrates.
const OFFLOADS: &[&str] = &["tso", "gso", "gro", "lro", "scatter_gather", "rx_checksum", "tx_checksum"];

/// All that can be read of this host and of the interface that carries the test, by name. What cannot be read is left out.
pub fn settings(device: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut set = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            found.insert(name.to_owned(), value);
        }
    };
    for name in SYSCTLS {
        set(name, words(format!("/proc/sys/{}", name.replace('.', "/"))));
    }
    set("host.name", words("/proc/sys/kernel/hostname"));
    set("cpu.model", cpu_model(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()));
    set("cpu.governor", words("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    set("cpu.online", words("/sys/devices/system/cpu/online"));
    set("interface.device", Some(device.to_owned()));
    set("interface.mtu", attribute(device, "mtu"));
    set("interface.txqueuelen", attribute(device, "tx_queue_len"));
    set("interface.numa_node", attribute(device, "device/numa_node").filter(|node| node != "-1"));
    set("interface.qdisc", queueing(device));
    if let Ok(text) = ethtool::driver(device) {
        for (key, name) in [
            ("driver", "interface.driver"),
            ("version", "interface.driver_version"),
            ("firmware-version", "interface.firmware"),
            ("bus-info", "interface.bus"),
        ] {
            set(name, ethtool::parse_driver(&text, key));
        }
    }
    for (name, value) in ethtool::settings(device) {
        set(
            &format!("{}.{name}", if OFFLOADS.contains(&name) { "offload" } else { "interface" }),
            Some(value),
        );
    }
    found
}

/// The words of a file, with single spaces between them.
fn words(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Documentation/ABI/testing/sysfs-class-net of the kernel.
fn attribute(device: &str, name: &str) -> Option<String> {
    words(Path::new("/sys/class/net").join(device).join(name))
}

/// The queueing disciplines of an interface, that below `mq` included.
fn queueing(device: &str) -> Option<String> {
    let mut netlink = Netlink::open().ok()?;
    let found = device::list(&mut netlink).ok()?.into_iter().find(|found| *found.device.name == *device)?;
    let all = qdisc::statistics(&mut netlink).ok()?;
    let root = all.iter().find(|qdisc| qdisc.index == found.device.index && qdisc.is_root)?;
    Some(qdisc::kind(&all, root))
}

/// What x86 calls `model name`, and Arm does not tell.
fn cpu_model(text: &str) -> Option<String> {
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = pairs.find(|(key, _)| matches!(key.trim(), "model name" | "cpu model" | "Processor"))?;
    Some(value.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_this_host_are_those_of_its_files() {
        let found = settings("lo");
        let rmem = fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem").unwrap();
        assert_eq!(
            found["net.ipv4.tcp_rmem"].split(' ').collect::<Vec<_>>(),
            rmem.split_whitespace().collect::<Vec<_>>()
        );
        for name in ["host.name", "interface.mtu", "interface.txqueuelen", "interface.qdisc", "offload.gso"] {
            assert!(found.contains_key(name), "{name}: {found:?}");
        }
    }

    #[test]
    fn model_of_a_processor_has_single_spaces() {
        let text = "processor\t: 0\nmodel name\t: Intel(R)  Xeon(R) CPU\n";
        assert_eq!(cpu_model(text).as_deref(), Some("Intel(R) Xeon(R) CPU"));
        assert_eq!(cpu_model("processor : 0\n"), None);
    }
}
