//! Processors: sockets, cores, caches, frequencies, idle states and mitigations.

use super::{Notes, cpus, number, numbered, word};
use crate::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_inventory::{Cache, Cpu, CpuPackage, CpuSet, FrequencyPolicy, IdleState};

const CPU: &str = "sys/devices/system/cpu";

pub(super) fn read(root: &mut Root, notes: &mut Notes) -> Cpu {
    let info = root.text("proc/cpuinfo");
    if let Err(error) = &info {
        notes.error("CPU model", error, "mount /proc");
    }
    let info = info.unwrap_or_default();
    let mut cpu = Cpu {
        model: model(&info),
        online: cpus(root, &format!("{CPU}/online")),
        isolated: cpus(root, &format!("{CPU}/isolated")),
        // The kernel writes `(null)` if there are none.
        nohz_full: cpus(root, &format!("{CPU}/nohz_full")),
        ..Cpu::default()
    };
    if cpu.online.is_empty() {
        notes.add("cores, caches and frequencies", "/sys/devices/system/cpu cannot be read", "mount /sys");
        (cpu.online, cpu.packages) = from_cpuinfo(&info);
        return cpu;
    }
    cores(root, &mut cpu);
    cpu.caches = caches(root, &cpu.online);
    cpu.frequency = frequency(root, notes);
    cpu.boost = boost(root);
    cpu.idle_states = idle_states(root);
    cpu.mitigations = mitigations(root);
    cpu
}

/// The first `model name`; some architectures have other words.
fn model(info: &str) -> String {
    let value = |key: &str| {
        let mut pairs = info.lines().filter_map(|line| line.split_once(':'));
        pairs.find(|(found, _)| found.trim() == key).map(|(_, value)| value.trim().to_owned())
    };
    ["model name", "cpu", "uarch", "Hardware"].iter().find_map(|key| value(key)).unwrap_or_default()
}

/// CPUs and sockets as /proc/cpuinfo lists them.
fn from_cpuinfo(info: &str) -> (CpuSet, Vec<CpuPackage>) {
    let mut current = None;
    let mut online = Vec::new();
    let mut packages: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (key, value) in info.lines().filter_map(|line| line.split_once(':')) {
        let value = value.trim().parse::<u32>().ok();
        match (key.trim(), value) {
            ("processor", Some(number)) => {
                current = Some(number);
                online.push(number);
            }
            ("physical id", Some(package)) => packages.entry(package).or_default().extend(current),
            _ => {}
        }
    }
    (online.into_iter().collect(), packages_of(packages))
}

fn packages_of(packages: BTreeMap<u32, Vec<u32>>) -> Vec<CpuPackage> {
    let package = |(id, cpus): (u32, Vec<u32>)| CpuPackage { id, cpus: cpus.into_iter().collect() };
    packages.into_iter().map(package).collect()
}

fn cores(root: &mut Root, cpu: &mut Cpu) {
    let mut packages: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut siblings = BTreeSet::new();
    for number_of in cpu.online.iter() {
        let topology = format!("{CPU}/cpu{number_of}/topology");
        // -1 where the firmware gives none, as on some ARM boards.
        let package = number(root, &format!("{topology}/physical_package_id"));
        let package = package.and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        packages.entry(package).or_default().push(number_of);
        let twins = cpus(root, &format!("{topology}/thread_siblings_list"));
        if twins.len() > 1 {
            siblings.insert(twins);
        }
    }
    cpu.packages = packages_of(packages);
    cpu.siblings = siblings.into_iter().collect();
    cpu.siblings.sort_by_key(|twins| twins.iter().next());
}

/// Each cache once: one that a CPU shares with a lower one has been read.
fn caches(root: &mut Root, online: &CpuSet) -> Vec<Cache> {
    let mut found: Vec<Cache> = Vec::new();
    for cpu in online.iter() {
        let folder = format!("{CPU}/cpu{cpu}/cache");
        for index in numbered(root, &folder, "index").unwrap_or_default() {
            let shared = cpus(root, &format!("{folder}/index{index}/shared_cpu_list"));
            if shared.iter().next() != Some(cpu) {
                continue;
            }
            let value = |root: &mut Root, file: &str| word(root, &format!("{folder}/index{index}/{file}"));
            let level = value(root, "level").and_then(|text| text.parse().ok());
            let size = value(root, "size").and_then(|text| size(&text));
            let kind = value(root, "type").unwrap_or_default();
            if let (Some(level), Some(size_bytes)) = (level, size) {
                found.push(Cache { level, kind, size_bytes, cpus: shared });
            }
        }
    }
    found
}

/// `32768K` in bytes.
fn size(text: &str) -> Option<u64> {
    let (digits, factor) = match text.strip_suffix('K') {
        Some(digits) => (digits, 1024),
        None => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn frequency(root: &mut Root, notes: &mut Notes) -> Vec<FrequencyPolicy> {
    let folder = format!("{CPU}/cpufreq");
    let found = numbered(root, &folder, "policy");
    let policies = notes.unless_absent("CPU frequencies", found, "mount /sys").unwrap_or_default();
    let policy = |number_of: u32| {
        let mut value = |file: &str| word(root, &format!("{folder}/policy{number_of}/{file}"));
        let cpus = value("affected_cpus").or_else(|| value("related_cpus")).unwrap_or_default();
        let khz = |text: Option<String>| text.and_then(|text| text.parse().ok());
        FrequencyPolicy {
            cpus: cpus.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect(),
            driver: value("scaling_driver").unwrap_or_default(),
            governor: value("scaling_governor").unwrap_or_default(),
            governors: value("scaling_available_governors")
                .map(|text| text.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            min_khz: khz(value("scaling_min_freq")),
            max_khz: khz(value("scaling_max_freq")),
            hardware_max_khz: khz(value("cpuinfo_max_freq")),
        }
    };
    policies.into_iter().map(policy).collect()
}

fn boost(root: &mut Root) -> Option<bool> {
    let no_turbo = number(root, &format!("{CPU}/intel_pstate/no_turbo"));
    no_turbo
        .map(|value| value == 0)
        .or_else(|| number(root, &format!("{CPU}/cpufreq/boost")).map(|value| value == 1))
}

fn idle_states(root: &mut Root) -> Vec<IdleState> {
    let folder = format!("{CPU}/cpu0/cpuidle");
    let states = numbered(root, &folder, "state").unwrap_or_default();
    let state = |index: u32| {
        let mut value = |file: &str| word(root, &format!("{folder}/state{index}/{file}"));
        Some(IdleState {
            name: value("name")?,
            exit_latency_us: value("latency")?.parse().ok()?,
            is_disabled: value("disable").is_some_and(|text| text != "0"),
        })
    };
    states.into_iter().filter_map(state).collect()
}

fn mitigations(root: &mut Root) -> BTreeMap<String, String> {
    let folder = format!("{CPU}/vulnerabilities");
    let names = root.names(&folder).unwrap_or_default();
    let state = |name: String| Some((name.clone(), word(root, &format!("{folder}/{name}"))?));
    names.into_iter().filter_map(state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_those_of_cpuinfo_without_sysfs() {
        let info = "processor\t: 0\nmodel name\t: A\nphysical id\t: 0\n\nprocessor\t: 1\nphysical id\t: 1\n";
        let (online, packages) = from_cpuinfo(info);
        assert_eq!((online.to_string(), packages.len(), model(info)), ("0-1".into(), 2, "A".into()));
        assert_eq!(packages[1], CpuPackage { id: 1, cpus: "1".parse().unwrap() });
    }

    #[test]
    fn cache_sizes_have_a_unit() {
        assert_eq!((size("48K"), size("512"), size("big")), (Some(49_152), Some(512), None));
    }
}
