//! A guest is two processes that take turns: the kernel's and the one that stands for the guest's programs. On
//! one processor a turn is a switch; on two it wakes an idle one, which takes several times as long.

use std::fs::{File, TryLockError};
use std::mem;

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
        // SAFETY: no arguments.
        let user = unsafe { libc::getuid() };
        // Interrupts of the machine tend to be served by the first ones.
        allowed().into_iter().rev().find_map(|number| {
            let path = std::env::temp_dir().join(format!("wirespeed-{user}-processor-{number}.lock"));
            let file = File::options().create(true).truncate(false).write(true).open(path).ok()?;
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
    fn a_thread_that_is_pinned_stays() {
        let last = *allowed().last().expect("a process runs somewhere");
        let after = std::thread::spawn(move || {
            pin(last);
            allowed()
        });
        assert_eq!(after.join().unwrap(), [last]);
    }
}
