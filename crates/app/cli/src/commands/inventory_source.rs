//! The inventory of a host: from a snapshot, from this host, or over ssh.

use crate::failure::Failure;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use wirespeed_inventory::Inventory;

/// The place that an inventory is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// This host.
    Local,
    /// A host that ssh reaches.
    Host(String),
    /// A snapshot.
    File(PathBuf),
}

/// The largest snapshot that is read, as over ssh. That of a host with 1,000 queues has 1 MiB.
const MOST_BYTES: u64 = 64 << 20;

/// Reads an inventory.
///
/// # Errors
/// If the snapshot cannot be read or is not an inventory, or if ssh or the program on the host fails. A build without
/// Linux substrates reads snapshots only.
pub fn read(source: &Source) -> Result<Inventory, Failure> {
    match source {
        Source::File(path) => snapshot(path),
        Source::Local => local(),
        Source::Host(name) => remote(name),
    }
}

#[cfg(feature = "linux")]
fn local() -> Result<Inventory, Failure> {
    Ok(wirespeed_host::inventory(&mut wirespeed_host::Root::live()))
}

#[cfg(feature = "linux")]
fn remote(host: &str) -> Result<Inventory, Failure> {
    wirespeed_transport::inventory::of_host(host).map_err(|error| Failure::Environment(error.to_string()))
}

#[cfg(not(feature = "linux"))]
fn local() -> Result<Inventory, Failure> {
    remote("this host")
}

#[cfg(not(feature = "linux"))]
fn remote(host: &str) -> Result<Inventory, Failure> {
    Err(Failure::Environment(format!(
        "cannot read the inventory of {host}: this build reads snapshots only; give one with `--from FILE`"
    )))
}

fn snapshot(path: &Path) -> Result<Inventory, Failure> {
    let cannot = |reason: String| Failure::Usage {
        message: format!("cannot read {}: {reason}", path.display()),
        remedy: "give a file that `wirespeed inventory --json > FILE` wrote".into(),
    };
    let mut text = String::new();
    let file = File::open(path).map_err(|error| cannot(error.to_string()))?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| cannot(error.to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(cannot(format!("it is larger than {} MiB", MOST_BYTES >> 20)));
    }
    let inventory = Inventory::from_json(&text).map_err(|error| cannot(error.to_string()))?;
    // Names become part of commands that a user copies into a shell.
    let is_plain = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.:@-".contains(c))
    };
    match inventory.interfaces.iter().find(|interface| !is_plain(&interface.name)) {
        Some(interface) => Err(cannot(format!("`{}` is not a plain interface name", interface.name))),
        None => Ok(inventory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_text(text: &str) -> Result<Inventory, Failure> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(&Source::File(file.path().into()))
    }

    #[test]
    fn snapshots_are_read_and_names_for_a_shell_are_checked() {
        let text = |name: &str| format!(r#"{{"format_version": 1, "interfaces": [{{"name": "{name}"}}]}}"#);
        assert_eq!(of_text(&text("bond0.100")).unwrap().interfaces.len(), 1);
        for wrong in ["eth0; reboot", "$(reboot)", "", "a b"] {
            let error = of_text(&text(wrong)).unwrap_err().to_string();
            assert!(error.contains("is not a plain interface name"), "{error}");
        }
        assert!(of_text("{").unwrap_err().to_string().contains("not an inventory"));
    }

    #[cfg(not(feature = "linux"))]
    #[test]
    fn hosts_that_cannot_be_read_are_reported_with_the_alternative() {
        for source in [Source::Local, Source::Host("dtn1".into())] {
            assert!(read(&source).unwrap_err().to_string().contains("--from FILE"));
        }
    }
}
