//! Boot, network namespace and process of a transaction.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

/// A process. A number alone is used again by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its start in clock ticks since boot (field 22 of /proc/PID/stat, proc(5)).
    pub start_ticks: u64,
}

impl Process {
    /// The process of a number, if it runs.
    pub fn of(pid: u32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold spaces and parentheses; the state follows the last one.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?;
        let start_ticks = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Process { pid, start_ticks })
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        Process::of(self.pid) == Some(*self)
    }
}

/// The place in which old values are valid, and the process that recorded them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// /proc/sys/kernel/random/boot_id.
    pub boot_id: String,
    /// Inode of the network namespace.
    pub namespace: u64,
    /// The process.
    pub process: Process,
}

impl Identity {
    /// That of the calling thread.
    ///
    /// # Errors
    /// If /proc is not mounted.
    pub fn here() -> io::Result<Identity> {
        let pid = std::process::id();
        let process = Process::of(pid)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/self/stat cannot be read"))?;
        Ok(Identity {
            boot_id: fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned(),
            namespace: fs::metadata("/proc/thread-self/ns/net")?.ino(),
            process,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_runs_until_it_has_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        assert!(process.is_running());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!process.is_running());
        let here = Identity::here().unwrap();
        assert!(here.process.is_running() && here.boot_id.len() == 36);
        let other = Process { start_ticks: here.process.start_ticks + 1, ..here.process };
        assert!(!other.is_running(), "a number that is used again is another process");
    }
}
