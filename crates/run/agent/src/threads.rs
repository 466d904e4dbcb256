//! What the threads of flows ran and waited for a core: whether an end had enough of its machine.

use super::Part;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use wirespeed_record::ThreadSample;

/// Reads the scheduler's account of the threads of flows.
#[derive(Default)]
pub struct Threads {
    /// The account of each thread, by flow and whether it receives; `None` where the kernel has none (`CONFIG_SCHED_INFO`).
    accounts: BTreeMap<(usize, bool), Option<File>>,
}

impl Threads {
    /// A row for each end of `parts` whose thread works.
    pub fn sample(&mut self, t_ns: i64, parts: &[Arc<Part>]) -> Vec<ThreadSample> {
        let mut rows = Vec::new();
        for part in parts {
            for (receives, end) in [(false, part.state.sender()), (true, part.state.receiver())] {
                let Some(thread) = end.thread() else { continue };
                let open = || File::open(format!("/proc/self/task/{thread}/schedstat")).ok();
                let account = self.accounts.entry((part.index, receives)).or_insert_with(open);
                // A thread that has ended has no account any more.
                let Some([run_ns, wait_ns]) = account.as_ref().and_then(read) else { continue };
                rows.push(ThreadSample {
                    t_ns,
                    host: if receives { part.flow().to.clone() } else { part.flow().from.clone() },
                    flow: part.index as u32,
                    receives,
                    run_ns,
                    wait_ns,
                });
            }
        }
        rows
    }
}

/// Time on a core and time ready for one, in nanoseconds (Documentation/scheduler/sched-stats.rst).
fn read(account: &File) -> Option<[i64; 2]> {
    let mut text = [0; 64];
    let length = account.read_at(&mut text, 0).ok()?;
    let mut numbers = std::str::from_utf8(&text[..length]).ok()?.split_whitespace();
    let mut next = || numbers.next()?.parse().ok();
    Some([next()?, next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_of_this_thread_grows_while_it_runs() {
        let Ok(account) = File::open("/proc/thread-self/schedstat") else { return };
        let Some([before, _]) = read(&account) else { return };
        let began = std::time::Instant::now();
        while began.elapsed() < std::time::Duration::from_millis(20) {}
        let [after, waited] = read(&account).expect("it was there");
        assert!(after > before && waited >= 0, "{before} {after} {waited}");
    }
}
