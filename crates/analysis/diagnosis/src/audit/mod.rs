//! The audit: rules that compare a host with what a path needs.
//!
//! A [`Path`] and a [`Profile`] give the wanted values (`needs`). Each [`Rule`] compares values of an
//! [`Inventory`] with them, and returns [`AuditFinding`]s. A value that the inventory does not have gives
//! no finding.

mod baseline;
mod ceilings;
pub mod conflicts;
mod finding;
pub mod needs;
mod path;
pub mod persist;
mod reference;
mod rule;
mod rules;

pub use baseline::{Difference, differences};
pub use ceilings::{Ceiling, ceilings};
pub use finding::AuditFinding;
pub use path::{Path, Profile};
pub use reference::{reference, wanted_values};
pub use rule::{Rule, rule, rules, subjects};

use crate::finding::Subject;
use wirespeed_inventory::{Interface, InterfaceKind, Inventory};

/// A host that is judged for a path.
#[derive(Debug)]
pub struct Audit<'a> {
    /// The host.
    pub inventory: &'a Inventory,
    /// The path.
    pub path: Path,
    /// Parameters of the rules.
    pub profile: Profile,
    /// The interface that the path uses.
    interface: Option<&'a Interface>,
}

/// A host that cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// The interface is not in the inventory.
    #[error("{host} has no interface `{name}`; choose one of {choices}")]
    Interface {
        /// The host.
        host: String,
        /// The name.
        name: String,
        /// Interfaces of the host.
        choices: String,
    },
}

impl<'a> Audit<'a> {
    /// An audit of an interface, or of the fastest one that is up.
    ///
    /// # Errors
    /// If the host does not have the interface.
    pub fn new(
        inventory: &'a Inventory,
        path: Path,
        profile: Profile,
        interface: Option<&str>,
    ) -> Result<Audit<'a>, AuditError> {
        let interface = match interface {
            None => fastest(inventory),
            Some(name) => Some(inventory.interface(name).ok_or_else(|| {
                let names: Vec<&str> = inventory.interfaces.iter().map(|found| found.name.as_str()).collect();
                AuditError::Interface {
                    host: inventory.host.clone(),
                    name: name.into(),
                    choices: names.join(", "),
                }
            })?),
        };
        Ok(Audit { inventory, path, profile, interface })
    }

    /// The interface that the path uses; none if the host has no interface that is up.
    pub fn interface(&self) -> Option<&'a Interface> {
        self.interface
    }

    /// All findings, the most severe first, then in the order of the registry.
    pub fn findings(&self) -> Vec<AuditFinding> {
        let mut found: Vec<AuditFinding> = rules().iter().flat_map(|rule| (rule.check)(rule, self)).collect();
        for finding in &mut found {
            finding.conflicts = conflicts::of_rule(finding.rule);
        }
        found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        found
    }

    /// The devices below the interface: of a VLAN its parent, of a bond its ports, otherwise the interface.
    fn hardware(&self) -> Vec<&'a Interface> {
        // A VLAN on a bond has two levels; a loop in a damaged snapshot ends after eight.
        let mut found: Vec<&Interface> = self.interface.into_iter().collect();
        for _ in 0..8 {
            if found.iter().all(|interface| interface.lower.is_empty()) {
                break;
            }
            let below = |interface: &&'a Interface| -> Vec<&'a Interface> {
                match interface.lower.is_empty() {
                    true => vec![*interface],
                    false => {
                        interface.lower.iter().filter_map(|name| self.inventory.interface(name)).collect()
                    }
                }
            };
            found = found.iter().flat_map(below).collect();
        }
        found
    }

    /// The interface and the devices below it, each once.
    fn stack(&self) -> Vec<&'a Interface> {
        let mut found: Vec<&Interface> = self.interface.into_iter().collect();
        for interface in self.hardware() {
            if found.iter().all(|other| other.name != interface.name) {
                found.push(interface);
            }
        }
        found
    }

    /// Major and minor version of the kernel.
    fn kernel(&self) -> Option<(u32, u32)> {
        let mut numbers = self.inventory.system.kernel.split(|c: char| !c.is_ascii_digit());
        let major = numbers.next()?.parse().ok()?;
        Some((major, numbers.next()?.parse().ok()?))
    }

    /// Whether the kernel is at least as new; `otherwise` if its version is unknown.
    fn has_kernel(&self, least: (u32, u32), otherwise: bool) -> bool {
        self.kernel().map_or(otherwise, |version| version >= least)
    }

    /// `tcp_adv_win_scale`, where the kernel uses it.
    fn adv_win_scale(&self) -> Option<i64> {
        if self.has_kernel((6, 6), false) {
            return None;
        }
        self.inventory.sysctls.get("net.ipv4.tcp_adv_win_scale")?.trim().parse().ok()
    }

    fn host(&self) -> Subject {
        Subject::Host { host: self.inventory.host.clone() }
    }

    fn on(&self, interface: &Interface) -> Subject {
        let (host, name) = (self.inventory.host.clone(), interface.name.clone());
        Subject::Interface { host, interface: Some(name), queue: None }
    }
}

/// The fastest interface that is up. Loopback counts as none.
pub fn fastest(inventory: &Inventory) -> Option<&Interface> {
    let is_candidate = |interface: &&Interface| {
        interface.kind != InterfaceKind::Loopback && interface.is_up() && interface.master.is_none()
    };
    let speed = |interface: &&Interface| (interface.speed_bps, !interface.addresses.is_empty());
    // Of equal ones the first.
    inventory.interfaces.iter().filter(is_candidate).rev().max_by_key(speed)
}
