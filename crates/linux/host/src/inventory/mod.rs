//! Reads a host into an [`Inventory`]: its processors, memory, interfaces and settings.
//!
//! Each part has a file of its own. No part fails: a value that cannot be read is left out, and becomes a [`Missing`]
//! with the reason and the remedy. A setting that a device does not have is not missing.

mod addresses;
mod cpu;
mod interfaces;
mod interrupts;
mod knobs;
mod links;
mod lldp;
mod managers;
mod memory;
mod modules;
mod pci;
mod qdiscs;
mod queues;
mod routes;
mod sysctls;
mod system;

pub use managers::managers;

use crate::root::Root;
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, SystemTime};
use wirespeed_inventory::{CpuSet, FORMAT_VERSION, Inventory, Missing};

/// Reads the host of `root`. Interfaces, routes and the settings of networking are those of the network namespace of
/// the calling thread.
pub fn inventory(root: &mut Root) -> Inventory {
    root.refresh();
    let mut notes = Notes::default();
    let facts = root.facts();
    let system = system::read(root, &facts, &mut notes);
    let cpu = cpu::read(root, &mut notes);
    let nodes = memory::nodes(root, &mut notes);
    let memory = memory::read(root, &facts, &mut notes);
    let links = links::read(root, &mut notes);
    let interfaces = interfaces::read(root, &links, &mut notes);
    let sysctls = sysctls::read(root, &mut notes);
    let congestion = sysctls::congestion(root, &sysctls, &facts.kernel);
    let routes = routes::read(root, &links, &mut notes);
    let neighbours = lldp::read(root, &links);
    let managers = managers::read(root, &system, &mut notes);
    let taken = root.clock().ok().and_then(|clock| u64::try_from(clock.realtime_ns).ok());
    let taken = taken.map(|ns| wirespeed_record::rfc3339(SystemTime::UNIX_EPOCH + Duration::from_nanos(ns)));
    if facts.kernel.is_empty() {
        notes.add("kernel and host name", "it gives no name", "mount /proc");
    }
    Inventory {
        format_version: FORMAT_VERSION,
        tool: format!("wirespeed {}", env!("CARGO_PKG_VERSION")),
        taken,
        host: facts.host,
        system,
        cpu,
        nodes,
        memory,
        interfaces,
        sysctls,
        routes,
        neighbours,
        congestion,
        managers,
        missing: notes.0.into_iter().collect(),
    }
}

/// Everything that could not be read, each part once.
#[derive(Debug, Default)]
struct Notes(BTreeSet<Missing>);

impl Notes {
    fn add(&mut self, what: impl Into<String>, reason: &str, remedy: &str) {
        self.0.insert(Missing { what: what.into(), reason: reason.into(), remedy: remedy.into() });
    }

    /// Notes an error of the kernel. Without the permission, `remedy` is to become root.
    fn error(&mut self, what: impl Into<String>, error: &io::Error, remedy: &str) {
        let denied = error.kind() == io::ErrorKind::PermissionDenied;
        self.add(what, &error.to_string(), if denied { "run as root" } else { remedy });
    }

    /// The value, or a note why there is none. Nothing is noted if the device does not have the setting, or the kernel
    /// not the file.
    fn unless_absent<T>(&mut self, what: impl Into<String>, found: io::Result<T>, remedy: &str) -> Option<T> {
        match found {
            Ok(value) => Some(value),
            Err(error) if is_absent(&error) => None,
            Err(error) => {
                self.error(what, &error, remedy);
                None
            }
        }
    }
}

/// Whether the answer is that the device or kernel does not have the thing.
fn is_absent(error: &io::Error) -> bool {
    const ABSENT: [i32; 5] = [libc::EOPNOTSUPP, libc::ENOTTY, libc::ENOENT, libc::ENODEV, libc::ENXIO];
    error.raw_os_error().is_some_and(|number| ABSENT.contains(&number))
}

/// The text of a file without the white space around it; `None` if it cannot be read or is empty.
fn word(root: &mut Root, path: &str) -> Option<String> {
    let text = root.text(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The number in a file.
fn number(root: &mut Root, path: &str) -> Option<u64> {
    word(root, path)?.parse().ok()
}

/// The CPU list in a file; empty if there is none.
fn cpus(root: &mut Root, path: &str) -> CpuSet {
    word(root, path).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// The numbers at the end of names that begin with `prefix`, such as those of `cpu0`, `cpu1`; in ascending order.
fn numbered(root: &mut Root, folder: &str, prefix: &str) -> io::Result<Vec<u32>> {
    let names = root.names(folder)?;
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
