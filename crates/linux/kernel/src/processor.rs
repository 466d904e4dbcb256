//! A guest is two processes that take turns: the kernel's and the one that stands for the guest's programs. On
//! one processor a turn is a switch; on two it wakes an idle one, which takes several times as long.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::mem;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A processor that no other guest of this user was given. Others may still run on it: it is a hint for speed
/// and decides nothing else.
#[derive(Debug)]
pub struct Processor {
    number: usize,
    /// Locked for as long as the guest runs, and unlocked by the system if we die.
    _lock: File,
}

impl Processor {
    /// Takes a free one; `None` if all are taken, or where this cannot be told.
    pub fn take() -> Option<Self> {
        let folder = lock_folder()?;
        // Interrupts of the machine tend to be served by the first ones.
        allowed().into_iter().rev().find_map(|number| {
            let path = folder.join(format!("processor-{number}.lock"));
            let mut options = File::options();
            options.create(true).truncate(false).write(true).custom_flags(libc::O_NOFOLLOW);
            let file = options.open(path).ok()?;
            match file.try_lock() {
                Ok(()) => Some(Processor { number, _lock: file }),
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
            }
        })
    }

    /// Its number, for [`pin`].
    pub fn number(&self) -> usize {
        self.number
    }
}

/// A folder for locks in which nobody else can make links; `None` where there is none.
fn lock_folder() -> Option<PathBuf> {
    // SAFETY: no arguments.
    let user = unsafe { libc::geteuid() };
    let runtime =
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| is_private(path, user));
    let folder = match runtime {
        Some(runtime) => runtime.join("wirespeed"),
        None => std::env::temp_dir().join(format!("wirespeed-{user}")),
    };
    // It may be there already, or be somebody else's.
    let _ = DirBuilder::new().mode(0o700).create(&folder);
    is_private(&folder, user).then_some(folder)
}

/// Whether a path is a folder, not a link to one, that only `user` can write to.
fn is_private(path: &Path, user: u32) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0)
}

/// The processors this process may run on.
fn allowed() -> Vec<usize> {
    // SAFETY: a cpu_set_t is an array of bits, for which zero is a value; the size given is its own.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        if libc::sched_getaffinity(0, mem::size_of_val(&set), &mut set) != 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|number| libc::CPU_ISSET(*number, &set)).collect()
    }
}

/// Keeps the calling process, and those it will make, on one processor. Makes one system call and allocates
/// nothing; a refusal is no error.
pub fn pin(number: usize) {
    // SAFETY: as in `allowed`; the number came from there and is below CPU_SETSIZE.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(number, &mut set);
        libc::sched_setaffinity(0, mem::size_of_val(&set), &set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_processor_is_given_twice() {
        // Other tests of this crate boot guests meanwhile; so take all there are, and none must come twice.
        let taken: Vec<Processor> = std::iter::from_fn(Processor::take).collect();
        let mut numbers: Vec<usize> = taken.iter().map(Processor::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), taken.len());
        assert!(taken.len() <= allowed().len());
    }

    #[test]
    fn folder_that_others_can_write_to_or_that_is_a_link_is_not_private() {
        use std::os::unix::fs::PermissionsExt;
        // SAFETY: no arguments.
        let user = unsafe { libc::geteuid() };
        let outer = std::env::temp_dir().join(format!("wirespeed-test-{}", std::process::id()));
        let (folder, link) = (outer.join("folder"), outer.join("link"));
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let set = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        set(0o700);
        assert!(is_private(&folder, user) && !is_private(&folder, user + 1) && !is_private(&link, user));
        set(0o777);
        assert!(!is_private(&folder, user));
        fs::remove_dir_all(&outer).unwrap();
    }

    #[test]
    fn a_thread_that_is_pinned_stays() {
        let last = *allowed().last().expect("a process runs somewhere");
        let after = std::thread::spawn(move || {
            pin(last);
            allowed()
        });
        assert_eq!(after.join().unwrap(), [last]);
    }
}
