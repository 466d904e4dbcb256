//! Settings of this host: read, written and read back, saved and restored exactly.
//!
//! [`read`] gives the value as canonical text, so that two reads of an unchanged host are equal. [`write()`] sets a value
//! and reads it back. [`save`] takes the value with all state that a change would disturb. Of a qdisc this is the whole
//! tree, and of channels the steering of all queues. [`restore`] puts it back.

mod companions;
mod error;
mod ethtool;
mod features;
mod files;
mod link;
pub mod qdisc;
mod service;
mod steering;
mod sysctl;

pub use error::{Place, SettingError};

use qdisc::Tree;
use serde::{Deserialize, Serialize};
use wirespeed_inventory::Setting;

/// The state of a setting that [`restore`] puts back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    /// The value as [`read`] gives it.
    pub value: String,
    /// State that the value leaves open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact: Option<Exact>,
    /// Other settings that the kernel or driver may change with this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<(Setting, Saved)>,
}

/// State of a setting beyond its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Exact {
    /// The qdiscs of the interface.
    Qdiscs(Tree),
    /// Whether the offload was asked for. It may be off while another offload, which it needs, is off.
    Requested(bool),
}

/// The present value.
///
/// # Errors
/// If this host has no such setting, or it cannot be read.
pub fn read(setting: &Setting) -> Result<String, SettingError> {
    let place = Place::of(setting);
    match setting {
        Setting::Sysctl { name } => sysctl::read(&place, name),
        Setting::Ring { interface, way } => ethtool::ring(&place, interface, *way),
        Setting::Channels { interface } => ethtool::channels(&place, interface),
        Setting::Coalescing { interface, parameter } => ethtool::coalescing(&place, interface, *parameter),
        Setting::Feature { interface, name } => features::read(&place, interface, name),
        Setting::Pause { interface, way } => ethtool::pause(&place, interface, *way),
        Setting::Mtu { interface } => link::mtu(&place, interface),
        Setting::TxQueueLength { interface } => link::tx_queue_length(&place, interface),
        Setting::Qdisc { interface } => Ok(qdisc::tree(&place, interface)?.leaf_kinds()),
        Setting::InterruptAffinity { irq } => steering::affinity(&place, *irq),
        Setting::Rps { interface, queue } => steering::rps(&place, interface, *queue),
        Setting::Xps { interface, queue } => steering::xps(&place, interface, *queue),
        Setting::Governor { cpus } => steering::governor(&place, cpus),
        Setting::Service { name } => service::read(&place, name),
    }
}

/// Sets a value, then reads it back.
///
/// # Errors
/// If the kernel rejects the value, or reads back as another one ([`SettingError::Differs`]).
pub fn write(setting: &Setting, value: &str) -> Result<(), SettingError> {
    let place = Place::of(setting);
    let wanted = canonical(setting, value)?;
    match setting {
        Setting::Sysctl { name } => sysctl::write(&place, name, &wanted),
        Setting::Ring { interface, way } => ethtool::set_ring(&place, interface, *way, &wanted),
        Setting::Channels { interface } => ethtool::set_channels(&place, interface, &wanted),
        Setting::Coalescing { interface, parameter } => {
            ethtool::set_coalescing(&place, interface, *parameter, &wanted)
        }
        Setting::Feature { interface, name } => features::write(&place, interface, name, &wanted),
        Setting::Pause { interface, way } => ethtool::set_pause(&place, interface, *way, &wanted),
        Setting::Mtu { interface } => link::set_mtu(&place, interface, &wanted),
        Setting::TxQueueLength { interface } => link::set_tx_queue_length(&place, interface, &wanted),
        Setting::Qdisc { interface } => qdisc::set_leaves(&place, interface, &wanted),
        Setting::InterruptAffinity { irq } => steering::set_affinity(&place, *irq, &wanted),
        Setting::Rps { interface, queue } => steering::set_rps(&place, interface, *queue, &wanted),
        Setting::Xps { interface, queue } => steering::set_xps(&place, interface, *queue, &wanted),
        Setting::Governor { cpus } => steering::set_governor(&place, cpus, &wanted),
        Setting::Service { name } => service::write(&place, name, &wanted),
    }?;
    let found = read(setting)?;
    if found != wanted {
        return Err(SettingError::Differs { place, wanted, found });
    }
    Ok(())
}

/// A value in the form in which [`read`] gives it.
///
/// # Errors
/// If the text cannot be a value of the setting.
pub fn canonical(setting: &Setting, value: &str) -> Result<String, SettingError> {
    let place = Place::of(setting);
    match setting {
        Setting::Sysctl { .. } => Ok(sysctl::canonical(value)),
        Setting::InterruptAffinity { .. } | Setting::Rps { .. } | Setting::Xps { .. } => {
            Ok(steering::cpus(&place, value)?.to_string())
        }
        _ => Ok(value.trim().to_owned()),
    }
}

/// Everything that [`restore`] needs to put the setting back.
///
/// # Errors
/// As [`read`]; also if the state could not be restored, such as a qdisc tree with classes.
pub fn save(setting: &Setting) -> Result<Saved, SettingError> {
    let mut saved = save_alone(setting)?;
    for companion in companions::of(setting) {
        match save_alone(&companion) {
            Ok(found) => saved.companions.push((companion, found)),
            // A companion that this host does not have cannot be disturbed.
            Err(SettingError::Unsupported { .. } | SettingError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(saved)
}

fn save_alone(setting: &Setting) -> Result<Saved, SettingError> {
    let place = Place::of(setting);
    let (value, exact) = match setting {
        Setting::Qdisc { interface } => {
            let tree = qdisc::tree(&place, interface)?;
            tree.check_restorable(&place, interface)?;
            (tree.leaf_kinds(), Some(Exact::Qdiscs(tree)))
        }
        Setting::Feature { interface, name } => {
            let requested = features::is_requested(&place, interface, name)?;
            (read(setting)?, Some(Exact::Requested(requested)))
        }
        _ => (read(setting)?, None),
    };
    Ok(Saved { value, exact, companions: Vec::new() })
}

/// Puts back what [`save`] gave, and reads it back.
///
/// # Errors
/// If the kernel rejects it, or something reads back differently.
pub fn restore(setting: &Setting, saved: &Saved) -> Result<(), SettingError> {
    restore_alone(setting, saved)?;
    for (companion, before) in &saved.companions {
        restore_alone(companion, before)?;
    }
    Ok(())
}

fn restore_alone(setting: &Setting, saved: &Saved) -> Result<(), SettingError> {
    let place = Place::of(setting);
    let same = save_alone(setting).is_ok_and(|now| now.value == saved.value && now.exact == saved.exact);
    if same {
        return Ok(());
    }
    match (setting, &saved.exact) {
        (Setting::Qdisc { interface }, Some(Exact::Qdiscs(tree))) => {
            qdisc::restore(&place, interface, tree)?;
        }
        (Setting::Feature { interface, name }, Some(Exact::Requested(requested))) => {
            features::request(&place, interface, name, *requested)?;
        }
        _ => return write(setting, &saved.value),
    }
    let found = read(setting)?;
    if found != saved.value {
        return Err(SettingError::Differs { place, wanted: saved.value.clone(), found });
    }
    Ok(())
}
