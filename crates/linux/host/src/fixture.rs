//! Records a host as a fixture, by reading it once and keeping all that was read.

use crate::inventory::inventory;
use crate::root::Root;
use crate::snapshot::take;
use crate::source::Unavailable;
use std::fs;
use std::io;
use std::path::Path;

/// Reads every source and the inventory once, and writes all that was read to a new folder, from which [`Root::recorded`] reads it again.
/// Addresses of sockets and interfaces are kept as they are: look at the folder before you give it away.
///
/// # Errors
/// `AlreadyExists` if the folder is there and holds something, or as the file system says.
pub fn record_fixture(root: &mut Root, folder: &Path) -> io::Result<Vec<Unavailable>> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        let text = format!("{} holds something already; name a new folder", folder.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    fs::create_dir_all(folder)?;
    root.copy_to(Some(folder));
    let (_, unavailable) = take(root);
    inventory(root);
    root.copy_to(None);
    Ok(unavailable)
}
