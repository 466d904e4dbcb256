//! CPUs that serve interrupts and queues, and their frequency governor.

use super::{Place, SettingError, files};
use wirespeed_inventory::CpuSet;

/// A value as a set of CPUs.
pub fn cpus(place: &Place, value: &str) -> Result<CpuSet, SettingError> {
    value.parse().map_err(|error: wirespeed_inventory::CpuSetError| SettingError::Invalid {
        place: place.clone(),
        value: value.to_owned(),
        remedy: error.to_string(),
    })
}

fn affinity_path(irq: u32) -> String {
    format!("/proc/irq/{irq}/smp_affinity_list")
}

/// CPUs that an interrupt may be delivered to.
pub fn affinity(place: &Place, irq: u32) -> Result<String, SettingError> {
    Ok(cpus(place, &files::read(place, &affinity_path(irq))?)?.to_string())
}

/// Changes the CPUs of an interrupt.
pub fn set_affinity(place: &Place, irq: u32, value: &str) -> Result<(), SettingError> {
    files::write(place, &affinity_path(irq), value).map_err(|error| match error {
        // Drivers with managed interrupts give their queues to CPUs themselves (kernel/irq/manage.c).
        SettingError::Io { source, .. } if source.raw_os_error() == Some(libc::EIO) => SettingError::Denied {
            place: place.clone(),
            reason: source.to_string(),
            remedy: "the kernel manages the affinity of this interrupt; leave it out".into(),
        },
        other => other,
    })
}

/// The file of a queue. A name with a slash cannot leave the folder.
fn queue_path(place: &Place, interface: &str, file: &str) -> Result<String, SettingError> {
    if interface.is_empty() || interface.contains('/') || interface == "." || interface == ".." {
        return Err(SettingError::NotFound {
            place: place.clone(),
            missing: format!("interface `{interface}`"),
            remedy: "list the interfaces with `ip link`".into(),
        });
    }
    Ok(format!("/sys/class/net/{interface}/queues/{file}"))
}

fn read_mask(place: &Place, path: &str) -> Result<String, SettingError> {
    let text = files::read(place, path)?;
    let set = CpuSet::from_mask(&text).map_err(|error| SettingError::Invalid {
        place: place.clone(),
        value: text.trim().to_owned(),
        remedy: error.to_string(),
    })?;
    Ok(set.to_string())
}

fn write_mask(place: &Place, path: &str, value: &str) -> Result<(), SettingError> {
    files::write(place, path, &cpus(place, value)?.mask())
}

/// CPUs of receive packet steering.
pub fn rps(place: &Place, interface: &str, queue: u32) -> Result<String, SettingError> {
    read_mask(place, &queue_path(place, interface, &format!("rx-{queue}/rps_cpus"))?)
}

/// Changes the CPUs of receive packet steering.
pub fn set_rps(place: &Place, interface: &str, queue: u32, value: &str) -> Result<(), SettingError> {
    write_mask(place, &queue_path(place, interface, &format!("rx-{queue}/rps_cpus"))?, value)
}

/// CPUs of transmit packet steering.
pub fn xps(place: &Place, interface: &str, queue: u32) -> Result<String, SettingError> {
    read_mask(place, &queue_path(place, interface, &format!("tx-{queue}/xps_cpus"))?)
}

/// Changes the CPUs of transmit packet steering.
pub fn set_xps(place: &Place, interface: &str, queue: u32, value: &str) -> Result<(), SettingError> {
    write_mask(place, &queue_path(place, interface, &format!("tx-{queue}/xps_cpus"))?, value)
}

fn governor_path(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor")
}

/// The governor of all CPUs, or one for each in their order, separated by commas.
pub fn governor(place: &Place, cpus: &CpuSet) -> Result<String, SettingError> {
    let read = |cpu| Ok(files::read(place, &governor_path(cpu))?.trim().to_owned());
    let mut governors = cpus.iter().map(read).collect::<Result<Vec<String>, SettingError>>()?;
    if governors.windows(2).all(|pair| pair[0] == pair[1]) {
        governors.truncate(1);
    }
    Ok(governors.join(","))
}

/// Changes the governor of all CPUs, or of each.
pub fn set_governor(place: &Place, cpus: &CpuSet, value: &str) -> Result<(), SettingError> {
    let governors: Vec<&str> = value.split(',').collect();
    if governors.len() != 1 && governors.len() != cpus.len() {
        return Err(SettingError::Invalid {
            place: place.clone(),
            value: value.to_owned(),
            remedy: "write one governor, or one for each CPU separated by commas".into(),
        });
    }
    let all = governors.iter().cycle();
    cpus.iter().zip(all).try_for_each(|(cpu, governor)| files::write(place, &governor_path(cpu), governor))
}
