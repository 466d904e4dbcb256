//! Settings below /proc/sys, and congestion control algorithms.

use super::Notes;
use crate::root::Root;
use std::collections::BTreeMap;
use std::io;
use wirespeed_inventory::CongestionControls;

/// Folders below /proc/sys, and beginnings of the names that are read in them.
const FOLDERS: [(&str, &[&str]); 5] = [
    ("net/core", &[""]),
    ("net/ipv4", &["tcp_", "udp_", "ip_local_port_range", "ip_forward", "ip_no_pmtu_disc", "ipfrag_"]),
    ("net/mptcp", &["enabled"]),
    ("vm", &["swappiness", "zone_reclaim_mode", "min_free_kbytes", "nr_hugepages"]),
    (
        "kernel",
        &["numa_balancing", "nmi_watchdog", "sched_rt_runtime_us", "timer_migration", "perf_event_paranoid"],
    ),
];

/// Keys of cryptography, and settings of the BPF compiler that only root can read and that no rule needs.
const LEFT_OUT: [&str; 3] = ["tcp_fastopen_key", "netdev_rss_key", "bpf_jit_"];

pub(super) fn read(root: &mut Root, notes: &mut Notes) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (folder, beginnings) in FOLDERS {
        let names = match root.names(&format!("proc/sys/{folder}")) {
            Ok(names) => names,
            // A kernel without MPTCP has no such folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder == "net/mptcp" => continue,
            Err(error) => {
                notes.error(format!("/proc/sys/{folder}"), &error, "mount /proc");
                continue;
            }
        };
        let wanted = |name: &&String| {
            beginnings.iter().any(|beginning| name.starts_with(beginning))
                && !LEFT_OUT.iter().any(|beginning| name.starts_with(beginning))
        };
        for name in names.iter().filter(wanted) {
            let dotted = format!("{}.{name}", folder.replace('/', "."));
            match root.text(&format!("proc/sys/{folder}/{name}")) {
                Ok(text) => {
                    let words: Vec<&str> = text.split_whitespace().collect();
                    found.insert(dotted, words.join(" "));
                }
                // Folders, and values that can be written only.
                Err(error) if error.raw_os_error() == Some(libc::EISDIR) => {}
                Err(error) => notes.error(dotted, &error, "mount /proc"),
            }
        }
    }
    found
}

/// Algorithms that are loaded, allowed and loadable. Those on disk are modules `tcp_NAME.ko`.
pub(super) fn congestion(
    root: &mut Root,
    sysctls: &BTreeMap<String, String>,
    kernel: &str,
) -> CongestionControls {
    let value = |name: &str| sysctls.get(&format!("net.ipv4.tcp_{name}")).cloned().unwrap_or_default();
    let words = |name: &str| value(name).split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let available = words("available_congestion_control");
    let modules = root.names(&format!("lib/modules/{kernel}/kernel/net/ipv4")).unwrap_or_default();
    let module = |name: &String| {
        let (name, _) = name.strip_prefix("tcp_")?.split_once(".ko")?;
        // tcp_diag reports sockets.
        (name != "diag" && !available.iter().any(|one| one == name)).then(|| name.to_owned())
    };
    CongestionControls {
        default: value("congestion_control"),
        loadable: modules.iter().filter_map(module).collect(),
        allowed: words("allowed_congestion_control"),
        available,
    }
}
