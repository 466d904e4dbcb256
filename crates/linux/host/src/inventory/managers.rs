//! Programs that change settings of a host by themselves, by the names of their processes.

use super::system::sees_kernel_threads;
use super::{Notes, word};
use crate::root::Root;
use std::io;
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
    let managers = managers(root).unwrap_or_else(|error| {
        notes.error("programs that manage settings", &error, "mount /proc");
        Vec::new()
    });
    if system.container.is_some() && !sees_kernel_threads(root) {
        let reason = "a container has no processes of its host";
        notes.add("programs that manage settings", reason, "run it on the host");
    }
    managers
}

/// Programs that run and change settings of the host by themselves, each once.
///
/// # Errors
/// If the processes cannot be listed.
pub fn managers(root: &mut Root) -> io::Result<Vec<Manager>> {
    let mut managers: Vec<Manager> = Vec::new();
    for (pid, process) in root.processes(&MANAGERS.map(|(name, _)| name))? {
        let name = MANAGERS.iter().find(|(short, _)| *short == process).map_or("", |(_, name)| name);
        if managers.iter().all(|manager| manager.name != name) {
            managers.push(Manager { name: name.to_owned(), pid: Some(pid), detail: detail(root, name) });
        }
    }
    Ok(managers)
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
