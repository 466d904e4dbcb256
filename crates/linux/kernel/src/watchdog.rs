//! Notices a guest that no longer gets anywhere. A sign of life is a file that changed in the writable folder,
//! or output on the console; CPU time is none, since a kernel that hangs in a loop uses it all.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A pause between two looks counts as no more than this: when the host slept or we were stopped, the guest
/// had no chance either.
const LONGEST_STEP: Duration = Duration::from_secs(2);

/// Watches files for changes.
pub struct Watchdog {
    watched: Vec<PathBuf>,
    limit: Duration,
    every: Duration,
    seen: u64,
    looked: Instant,
    still: Duration,
}

impl Watchdog {
    /// Watches files and folders (with all below); `limit` is the wall time without a sign of life that is
    /// too long.
    pub fn new(watched: &[&Path], limit: Duration) -> Self {
        let watched: Vec<PathBuf> = watched.iter().map(|p| p.to_path_buf()).collect();
        let every = (limit / 10).clamp(Duration::from_millis(10), Duration::from_secs(1));
        let seen = signature(&watched);
        Watchdog { watched, limit, every, seen, looked: Instant::now(), still: Duration::ZERO }
    }

    /// To be called often; the time without a sign of life, once it is too long.
    pub fn hung(&mut self) -> Option<Duration> {
        let step = self.looked.elapsed();
        if step < self.every {
            return None;
        }
        self.looked = Instant::now();
        let now = signature(&self.watched);
        if now != self.seen {
            self.seen = now;
            self.still = Duration::ZERO;
            return None;
        }
        self.still += step.min(LONGEST_STEP);
        (self.still >= self.limit).then_some(self.still)
    }
}

/// Changes when a file appears, goes, grows or is written to.
fn signature(watched: &[PathBuf]) -> u64 {
    let mut hash = DefaultHasher::new();
    for path in watched {
        hash_file(path, &mut hash);
    }
    hash.finish()
}

fn hash_file(path: &Path, hash: &mut DefaultHasher) {
    // A file that went away between listing and looking is a change, seen at the next look.
    let Ok(meta) = path.symlink_metadata() else { return };
    (path, meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ino()).hash(hash);
    if meta.is_dir() {
        let mut below: Vec<_> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
        below.sort();
        for path in below {
            hash_file(&path, hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    const STEP: Duration = Duration::from_millis(12);

    #[test]
    fn no_change_for_the_limit_is_a_hang() {
        let folder = tempfile::tempdir().unwrap();
        let mut dog = Watchdog::new(&[folder.path()], Duration::from_millis(50));
        let start = Instant::now();
        while dog.hung().is_none() {
            sleep(STEP);
        }
        assert!(start.elapsed() >= Duration::from_millis(50));
    }

    #[test]
    fn a_file_that_grows_deep_in_the_folder_is_life() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("raw")).unwrap();
        let mut dog = Watchdog::new(&[folder.path()], Duration::from_millis(50));
        for n in 0..20 {
            fs::write(folder.path().join("raw/heartbeat"), "x".repeat(n)).unwrap();
            sleep(STEP);
            assert_eq!(dog.hung(), None);
        }
    }
}
