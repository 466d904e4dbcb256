//! Reading a guest's console log: what the kernel said last.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes at the log's end that are looked at; a panic prints less than this after its message.
const END: u64 = 64 * 1024;
/// The last line that the kernel prints. Linux 6.1 has no handler for user-mode Linux to power off (arch/um/kernel/reboot.c), and
/// kernel/reboot.c halts instead; both end the process.
const ENDS: [&str; 2] = ["reboot: Power down", "reboot: System halted"];

/// What the log says of how the kernel ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It powered off in good order.
    PoweredOff,
    /// It panicked, with this message.
    Panicked(String),
    /// It had no memory left.
    OutOfMemory,
    /// Nothing of that kind.
    Unknown,
}

/// What the log's text says.
pub fn verdict(text: &str) -> Verdict {
    let panic = text.lines().find_map(|l| l.split_once("Kernel panic - not syncing: ").map(|(_, m)| m));
    match panic {
        Some(_) if text.contains("Out of memory") || text.contains("deadlocked on memory") => {
            Verdict::OutOfMemory
        }
        Some(message) => Verdict::Panicked(message.trim().to_owned()),
        None if text.lines().any(|l| ENDS.iter().any(|end| l.ends_with(end))) => Verdict::PoweredOff,
        None => Verdict::Unknown,
    }
}

/// The end of a log; empty if it cannot be read, since its reader is about to report something worse.
pub fn end(log: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(END)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// The last lines of a log that say something.
pub fn tail(log: &Path, lines: usize) -> String {
    let text = end(log);
    let said: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect();
    said[said.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_read_with_its_message() {
        let log = "Run /x as init process\n<0>Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\nCPU: 0\n";
        let message = "Attempted to kill init! exitcode=0x00000100".to_owned();
        assert_eq!(verdict(log), Verdict::Panicked(message));
    }

    #[test]
    fn a_panic_for_want_of_memory_is_told_apart() {
        let log =
            "Out of memory: Killed process 1 (agent)\nKernel panic - not syncing: Attempted to kill init!\n";
        assert_eq!(verdict(log), Verdict::OutOfMemory);
        let log = "Kernel panic - not syncing: System is deadlocked on memory\n";
        assert_eq!(verdict(log), Verdict::OutOfMemory);
    }

    #[test]
    fn powering_off_and_silence() {
        assert_eq!(verdict("reboot: Power down\n\n"), Verdict::PoweredOff);
        assert_eq!(verdict("<0>reboot: System halted\n"), Verdict::PoweredOff);
        assert_eq!(verdict("the agent says reboot: Power down soon\n"), Verdict::Unknown);
        assert_eq!(verdict(""), Verdict::Unknown);
    }

    #[test]
    fn the_tail_has_the_last_lines_that_say_something() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "a\n\nb\r\n\n\nc\n\n").unwrap();
        assert_eq!(tail(&log, 2), "b\nc");
        assert_eq!(tail(&log, 9), "a\nb\nc");
        assert_eq!(tail(&folder.path().join("none"), 9), "");
    }
}
