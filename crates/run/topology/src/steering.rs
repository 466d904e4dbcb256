//! Keeps packets in order on this machine's virtual interfaces.
//!
//! A veth hands each packet to the backlog of the core that happens to send it, and a qdisc may be emptied by several cores in
//! turn: packets of one flow overtake each other, which no wire does. Receive packet steering (Documentation/networking/
//! scaling.rst of the kernel) puts all that comes to an interface into one core's backlog.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether packets can overtake each other at all.
pub fn is_needed() -> bool {
    cores().len() > 1
}

/// Gives each interface of the calling thread's namespace among `devices` one core, which `node` chooses. `folder` is an
/// empty one, in a mount namespace of our own: the interfaces' files are seen there for a moment.
///
/// # Errors
/// An ordinary user may not.
pub fn steer<'a>(folder: &Path, node: usize, devices: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
    let cores = cores();
    let Some(core) = cores.get(node % cores.len().max(1)) else { return Ok(()) };
    let mounted = Mounted::sysfs(folder)?;
    for device in devices {
        let file = mounted.0.join(format!("class/net/{device}/queues/rx-0/rps_cpus"));
        fs::write(&file, mask(*core))
            .map_err(|error| io::Error::new(error.kind(), format!("{device}: rps_cpus: {error}")))?;
    }
    Ok(())
}

/// Cores this process may use, by number.
pub fn cores() -> Vec<usize> {
    // SAFETY: a cpu_set_t is an array of bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set has the size given.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: every number below CPU_SETSIZE is a bit of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|core| unsafe { libc::CPU_ISSET(*core, &set) }).collect()
}

/// The kernel's notation of a set with one core: groups of 32 bits, the highest first.
fn mask(core: usize) -> String {
    let mut groups = vec![format!("{:x}", 1u32 << (core % 32))];
    groups.extend((0..core / 32).map(|_| "00000000".to_owned()));
    groups.join(",")
}

/// A mount that goes with its value.
struct Mounted<'a>(&'a Path);

impl Mounted<'_> {
    /// The part of /sys that belongs to the calling thread's network namespace.
    fn sysfs(folder: &Path) -> io::Result<Mounted<'_>> {
        let target = CString::new(folder.as_os_str().as_bytes())?;
        // SAFETY: all strings end with a NUL and live through the call.
        let result = unsafe {
            libc::mount(c"sysfs".as_ptr(), target.as_ptr(), c"sysfs".as_ptr(), 0, std::ptr::null())
        };
        if result != 0 {
            let error = io::Error::last_os_error();
            return Err(io::Error::new(error.kind(), format!("mount sysfs: {error}")));
        }
        Ok(Mounted(folder))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if let Ok(target) = CString::new(self.0.as_os_str().as_bytes()) {
            // SAFETY: the string ends with a NUL and lives through the call.
            unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_a_bit_in_groups_of_32() {
        assert_eq!(mask(0), "1");
        assert_eq!(mask(5), "20");
        assert_eq!(mask(32), "1,00000000");
        assert_eq!(mask(70), "40,00000000,00000000");
    }

    #[test]
    fn this_process_may_use_a_core() {
        assert!(!cores().is_empty());
    }
}
