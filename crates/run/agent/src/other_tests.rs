//! Whether another test is at work on this host meanwhile: both share its interface and its cores, and are counted together
//! where only the host counts.

use super::port::user;
use std::fs;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Pause between two searches.
const EVERY: Duration = Duration::from_secs(1);

/// Looks until it goes away.
#[derive(Debug, Default)]
pub struct OtherTests(Arc<Mutex<Option<String>>>);

impl OtherTests {
    /// Begins, on a host of a run with these addresses. Where several of its hosts are here, nothing is said: their agents are
    /// those of one test.
    pub fn watch(addresses: &[IpAddr]) -> OtherTests {
        let others = OtherTests::default();
        // Nothing is sent: only an address of this host can be bound to.
        let here = addresses.iter().filter(|address| UdpSocket::bind((**address, 0)).is_ok()).count();
        if here > 1 {
            return others;
        }
        let found = Arc::clone(&others.0);
        thread::spawn(move || {
            // The last but one holder of it ends this.
            while Arc::strong_count(&found) > 1 {
                if let Some(other) = other_agent() {
                    *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(other);
                    return;
                }
                thread::sleep(EVERY);
            }
        });
        others
    }

    /// A warning for the results if another test ran.
    pub fn warning(&self) -> Option<String> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.as_ref().map(|other| {
            format!(
                "another test of wirespeed ran at the same time ({other}): the two shared the interface and the cores, and \
                 counters of the host have the packets of both"
            )
        })
    }
}

/// Another agent in this network namespace.
fn other_agent() -> Option<String> {
    let own = fs::read_link("/proc/self/ns/net").ok()?;
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let others =
        processes.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry)));
    let mut others = others.filter(|(pid, _)| *pid != std::process::id());
    let (pid, entry) = others.find(|(_, entry)| {
        let path = entry.path();
        // The cheap question first: few processes have such a name.
        is_agent(&fs::read(path.join("cmdline")).unwrap_or_default())
            && fs::read_link(path.join("ns/net")).is_ok_and(|namespace| namespace == own)
    })?;
    let uid = entry.metadata().ok()?.uid();
    Some(format!("process {pid} of user {}", user(uid)))
}

/// Whether a process is an agent, by its words (proc(5)).
pub fn is_agent(command_line: &[u8]) -> bool {
    let mut words = command_line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let (program, first, rest) = (words.next().unwrap_or_default(), words.next(), words.next());
    let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let is_ours = name.starts_with(b"agent-") || name.starts_with(b"wirespeed");
    is_ours && first == Some(b"agent") && rest.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_is_known_by_its_words() {
        assert!(is_agent(b"/root/.cache/wirespeed/agent-0123456789abcdef\0agent\0"));
        assert!(is_agent(b"wirespeed\0agent\0"));
        for other in [&b""[..], b"wirespeed\0probe\0", b"wirespeed\0agent\0--netns\0", b"ssh-agent\0agent\0"]
        {
            assert!(!is_agent(other));
        }
    }

    #[test]
    fn run_with_two_hosts_here_is_not_watched() {
        let local = [1, 2].map(|last| IpAddr::from([127, 0, 0, last]));
        assert_eq!(Arc::strong_count(&OtherTests::watch(&local).0), 1);
        assert_eq!(Arc::strong_count(&OtherTests::watch(&local[..1]).0), 2);
    }
}
