//! Processor time and memory that a run on the model takes of this process.

#[cfg(unix)]
pub use of_unix::{peak_memory, thread_cpu};
#[cfg(not(unix))]
pub use unknown::{peak_memory, thread_cpu};

#[cfg(unix)]
mod of_unix {
    use std::time::Duration;

    /// Processor time of this thread.
    pub fn thread_cpu() -> Duration {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for the write; the clock exists on every Linux, and on macOS.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    }

    /// The largest resident memory of this process, in bytes: an upper bound if several runs execute at a time.
    pub fn peak_memory() -> u64 {
        // `getrusage` also counts the program that was this process before: a Python script is larger.
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        if let Some(kilobytes) = peak {
            return kilobytes * 1024;
        }
        /// Bytes of the unit of `ru_maxrss`: macOS counts bytes, the others kB.
        const UNIT: u64 = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
        // SAFETY: an all-zero rusage is valid, and the call only writes it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            usage
        };
        usage.ru_maxrss.unsigned_abs() * UNIT
    }
}

/// On other systems neither is measured: a recording has 0 s and 0 bytes.
#[cfg(not(unix))]
mod unknown {
    use std::time::Duration;

    /// Not measured.
    pub fn thread_cpu() -> Duration {
        Duration::ZERO
    }

    /// Not measured.
    pub fn peak_memory() -> u64 {
        0
    }
}
