//! What other processes of this machine had of its cores.

use std::collections::BTreeMap;
use std::fs;
use wirespeed_host::Root;

/// The CPU time of all processes at an instant.
pub struct Others(BTreeMap<u32, Process>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    name: String,
    ticks: u64,
    core: u32,
}

/// CPU time of a process that is not of the test.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The core it was on last.
    pub core: u32,
    /// Of one core.
    pub part: f64,
    /// Its name and number.
    pub process: String,
}

impl Others {
    /// Reads them.
    pub fn read() -> Others {
        let own = std::process::id();
        let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbered = folders.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let process = |pid: u32| {
            let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, parse(&text)?))
        };
        Others(numbered.filter(|pid| *pid != own).filter_map(process).collect())
    }

    /// Those that used more than a fifth of a core since an earlier reading, most first.
    pub fn since(&self, before: &Others, lasted_ns: i64) -> Vec<Load> {
        const LEAST: f64 = 0.2;
        let second = Root::live().ticks_per_second() as f64 * lasted_ns as f64 / 1e9;
        let load = |(pid, process): (&u32, &Process)| {
            let earlier = before.0.get(pid).map_or(0, |process| process.ticks);
            let part = process.ticks.saturating_sub(earlier) as f64 / second.max(1.0);
            let name = format!("{} (pid {pid})", process.name);
            (part >= LEAST && !is_of_the_test(&process.name)).then_some(Load {
                core: process.core,
                part,
                process: name,
            })
        };
        let mut loads: Vec<Load> = self.0.iter().filter_map(load).collect();
        loads.sort_by(|a, b| b.part.total_cmp(&a.part));
        loads
    }
}

/// An agent of this program, which may be the other end, or the kernel's own threads, whose time is of packets.
fn is_of_the_test(name: &str) -> bool {
    name.starts_with("wirespeed") || name.starts_with("agent-") || name.starts_with("ksoftirqd")
}

/// Name, user and system time, and the last core (proc_pid_stat(5)).
fn parse(text: &str) -> Option<Process> {
    let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
    let field = |number: usize| rest.split_whitespace().nth(number - 3)?.parse::<u64>().ok();
    let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
    Some(Process { name, ticks: field(14)? + field(15)?, core: field(39)? as u32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_its_name_its_time_and_its_core() {
        let rest: Vec<String> = (4..=52).map(|number| number.to_string()).collect();
        let found = parse(&format!("7 (a (b) c) R {}\n", rest.join(" "))).unwrap();
        assert_eq!(found, Process { name: "a (b) c".into(), ticks: 14 + 15, core: 39 });
    }

    #[test]
    fn a_process_that_worked_is_named_and_an_agent_is_not() {
        let all = |ticks: [u64; 2]| {
            let of = |name: &str, ticks| Process { name: name.into(), ticks, core: 1 };
            Others([(5, of("bash", ticks[0])), (6, of("agent-0", ticks[1]))].into())
        };
        let second = Root::live().ticks_per_second();
        let loads = all([10 + second, second]).since(&all([10, 0]), 1_000_000_000);
        assert_eq!(loads.len(), 1);
        assert_eq!((loads[0].core, loads[0].process.as_str()), (1, "bash (pid 5)"));
    }
}
