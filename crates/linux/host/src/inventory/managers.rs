//! Programs that change settings of a host by themselves, by the names of their processes.

use super::system::sees_kernel_threads;
use super::{Notes, word};
use crate::root::Root;
use wirespeed_inventory::{Manager, System};

/// Process names, which the kernel cuts to 15 characters, with the name of the program.
const MANAGERS: [(&str, &str); 11] = [
    ("irqbalance", "irqbalance"),
    ("tuned", "tuned"),
    ("tuned-ppd", "tuned-ppd"),
    ("NetworkManager", "NetworkManager"),
    ("systemd-network", "systemd-networkd"),
    ("bpftune", "bpftune"),
    ("power-profiles-", "power-profiles-daemon"),
    ("thermald", "thermald"),
    ("numad", "numad"),
    ("lldpad", "lldpad"),
    ("auto-cpufreq", "auto-cpufreq"),
];

pub(super) fn read(root: &mut Root, system: &System, notes: &mut Notes) -> Vec<Manager> {
    let names = MANAGERS.map(|(name, _)| name);
    let found = match root.processes(&names) {
        Ok(found) => found,
        Err(error) => {
            notes.error("programs that manage settings", &error, "mount /proc");
            return Vec::new();
        }
    };
    if system.container.is_some() && !sees_kernel_threads(root) {
        let reason = "a container has no processes of its host";
        notes.add("programs that manage settings", reason, "run it on the host");
    }
    let mut managers: Vec<Manager> = Vec::new();
    for (pid, process) in found {
        let name = MANAGERS.iter().find(|(short, _)| *short == process).map_or("", |(_, name)| name);
        if managers.iter().all(|manager| manager.name != name) {
            managers.push(Manager { name: name.to_owned(), pid: Some(pid), detail: detail(root, name) });
        }
    }
    managers
}

/// The TuneD profile, or the options of irqbalance.
fn detail(root: &mut Root, name: &str) -> Option<String> {
    match name {
        "tuned" => word(root, "etc/tuned/active_profile"),
        "irqbalance" => {
            let files = ["etc/default/irqbalance", "etc/sysconfig/irqbalance"];
            let text = files.iter().find_map(|file| root.text(file).ok())?;
            let lines = text.lines().map(str::trim).filter(|line| line.starts_with("IRQBALANCE_"));
            let lines: Vec<&str> = lines.collect();
            Some(lines.join(" ")).filter(|text| !text.is_empty())
        }
        _ => None,
    }
}
