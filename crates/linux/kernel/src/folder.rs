//! The folder a guest's process runs in: it holds the guest's memory (a file without a name) and the links
//! through which the kernel finds init and the writable folder. It is private, short-lived, and on a file
//! system that can hold the memory.

use crate::error::BootError;
use crate::process::free_space;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wirespeed_units::Bytes;

/// Link to init.
pub const INIT: &str = "init";
/// Link to the writable folder.
pub const WRITABLE: &str = "writable";
/// User-mode Linux's own folder (its process id).
pub const UML: &str = "uml";

const PREFIX: &str = "wirespeed-guest-";
/// An abandoned folder is removed when it is older than this; a younger one may not be locked yet.
const ABANDONED: Duration = Duration::from_secs(60);

/// The folder; removed when dropped.
pub struct GuestFolder {
    folder: tempfile::TempDir,
    /// Locked while the guest runs, so that another wirespeed sees that the folder is in use.
    _lock: File,
}

impl GuestFolder {
    /// Makes it in the first place that can hold `memory`: `/dev/shm`, `$TMPDIR`, `/tmp`, `/var/tmp`.
    pub fn new(memory: Bytes, init: &Path, writable: &Path) -> Result<Self, BootError> {
        let mut places = vec![PathBuf::from("/dev/shm")];
        places.extend(std::env::var_os("TMPDIR").map(PathBuf::from).filter(|p| p.is_absolute()));
        places.extend(["/tmp", "/var/tmp"].map(PathBuf::from));
        Self::among(&places, memory, init, writable)
    }

    fn among(places: &[PathBuf], memory: Bytes, init: &Path, writable: &Path) -> Result<Self, BootError> {
        let mut tried = Vec::new();
        for place in places {
            match usable(place, memory) {
                Ok(()) => return Self::make(place, init, writable),
                Err(reason) => tried.push(format!("{} {reason}", place.display())),
            }
        }
        Err(BootError::NoMemory { memory, tried })
    }

    fn make(place: &Path, init: &Path, writable: &Path) -> Result<Self, BootError> {
        remove_abandoned(place);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place);
        let folder = folder.map_err(BootError::io("create a folder in", place))?;
        let lock = lock(folder.path()).map_err(BootError::io("lock", folder.path()))?;
        for (name, target) in [(INIT, init), (WRITABLE, writable)] {
            let link = folder.path().join(name);
            symlink(target, &link).map_err(BootError::io("create", &link))?;
        }
        Ok(GuestFolder { folder, _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Whether the guest's memory can be there, or why not.
fn usable(place: &Path, memory: Bytes) -> Result<(), String> {
    let free = free_space(place).map_err(|e| format!("cannot be used ({e})"))?;
    if free < memory {
        return Err(format!("has {free} free"));
    }
    // Nameless where the file system can do that, otherwise unlinked at once, as user-mode Linux does.
    let file = tempfile::tempfile_in(place).map_err(|e| format!("cannot be written ({e})"))?;
    file.set_len(4096).map_err(|e| format!("cannot be written ({e})"))?;
    if executable(&file) { Ok(()) } else { Err("is mounted noexec".to_owned()) }
}

/// Whether a file can be mapped as code.
fn executable(file: &File) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    // SAFETY: a new mapping at an address of the kernel's choice; nothing refers to it but the munmap below.
    unsafe {
        let map = libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_PRIVATE, file.as_raw_fd(), 0);
        map != libc::MAP_FAILED && libc::munmap(map, 4096) == 0
    }
}

fn lock(folder: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_DIRECTORY).open(folder)?;
    // SAFETY: a system call on a descriptor that is open.
    match unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(file),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Removes our folders whose wirespeed was killed. Best effort: what stays is empty but for links.
fn remove_abandoned(place: &Path) {
    // SAFETY: a system call without arguments.
    let user = unsafe { libc::geteuid() };
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        let old = entry.metadata().is_ok_and(|m| {
            let age = m.modified().ok().and_then(|t| SystemTime::now().duration_since(t).ok());
            m.is_dir() && m.uid() == user && age.is_some_and(|a| a > ABANDONED)
        });
        if old && entry.file_name().to_string_lossy().starts_with(PREFIX) && lock(&path).is_ok() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(place: &Path, memory: Bytes) -> Result<GuestFolder, BootError> {
        GuestFolder::among(&[place.to_owned()], memory, Path::new("/init"), Path::new("/out, of this"))
    }

    #[test]
    fn it_links_to_init_and_the_writable_folder_and_goes_when_dropped() {
        let place = tempfile::tempdir().unwrap();
        let folder = make(place.path(), Bytes::mib(1)).unwrap();
        assert_eq!(fs::read_link(folder.path().join(INIT)).unwrap(), Path::new("/init"));
        assert_eq!(fs::read_link(folder.path().join(WRITABLE)).unwrap(), Path::new("/out, of this"));
        drop(folder);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_place_without_room_is_named() {
        let place = tempfile::tempdir().unwrap();
        let error = make(place.path(), Bytes::new(1 << 60)).err().unwrap();
        let message = error.to_string();
        assert!(
            message.contains(&place.path().display().to_string()) && message.contains("free"),
            "{message}"
        );
        let error = make(&place.path().join("none"), Bytes::mib(1)).err().unwrap();
        assert!(error.to_string().contains("cannot be used"), "{error}");
    }

    #[test]
    fn abandoned_folders_go_and_those_in_use_stay() {
        let place = tempfile::tempdir().unwrap();
        let used = make(place.path(), Bytes::mib(1)).unwrap();
        let left = place.path().join("wirespeed-guest-left");
        let other = place.path().join("other");
        for folder in [used.path(), &left, &other] {
            fs::create_dir_all(folder).unwrap();
            let file = File::open(folder).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
        }
        remove_abandoned(place.path());
        assert!(used.path().exists() && other.exists() && !left.exists());
    }
}
