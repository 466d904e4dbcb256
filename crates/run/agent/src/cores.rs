//! Where the time of this machine's cores went.

use super::Part;
use super::placement::nodes;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use wirespeed_host::Root;
use wirespeed_host::sources::cores;
use wirespeed_record::CoreSample;

/// Reads the cores' times.
pub struct Cores {
    tick_ns: u64,
    nodes: BTreeMap<u32, u32>,
    /// The cores' times when the run began.
    began: BTreeMap<u32, Ticks>,
    /// CPU time of the test's threads by core, and of each when it was last read.
    own_ns: BTreeMap<u32, i64>,
    threads: BTreeMap<(usize, bool), i64>,
    /// The test's threads are followed, so that other work is known from theirs.
    follows: bool,
}

impl Cores {
    /// Counts from now on.
    pub fn new() -> Cores {
        let tick_ns = 1_000_000_000 / Root::live().ticks_per_second();
        Cores {
            tick_ns,
            nodes: nodes(),
            began: ticks(),
            own_ns: BTreeMap::new(),
            threads: BTreeMap::new(),
            follows: false,
        }
    }

    /// Takes in what the threads of flows have used since the last time: it counts to the core on which each was last.
    pub fn follow(&mut self, parts: &[Arc<Part>]) {
        self.follows = true;
        for part in parts {
            for (receives, end) in [(false, part.state.sender()), (true, part.state.receiver())] {
                let (Some(now_ns), Some(core)) = (end.cpu_ns(), end.core()) else { continue };
                let before_ns = self.threads.insert((part.index, receives), now_ns).unwrap_or(0);
                *self.own_ns.entry(core).or_default() += now_ns - before_ns;
            }
        }
    }

    /// A row per core for each of `hosts`, which all have these cores.
    pub fn sample<'a>(&self, t_ns: i64, hosts: impl IntoIterator<Item = &'a str>) -> Vec<CoreSample> {
        let times = ticks();
        let row = |host: &str, core: u32, now: &Ticks| {
            let began = self.began.get(&core)?;
            let since = |of: fn(&Ticks) -> u64| (of(now).saturating_sub(of(began)) * self.tick_ns) as i64;
            let working = since(|ticks| ticks.working);
            // Where nobody follows its threads all work counts as the test's.
            let app_ns = match self.follows {
                false => working,
                true => self.own_ns.get(&core).copied().unwrap_or(0),
            };
            Some(CoreSample {
                t_ns,
                host: host.to_owned(),
                core,
                node: self.nodes.get(&core).copied().unwrap_or(0),
                hardirq_ns: since(|ticks| ticks.irq),
                softirq_ns: since(|ticks| ticks.softirq),
                // /proc/stat counts its time as softirq's.
                ksoftirqd_ns: 0,
                app_ns,
                capture_ns: 0,
                load_ns: (working - app_ns).max(0) + since(|ticks| ticks.stolen),
                squeezed: 0,
            })
        };
        let of_host = |host| times.iter().filter_map(move |(core, now)| row(host, *core, now));
        hosts.into_iter().flat_map(of_host).collect()
    }
}

/// A core's times, in ticks ([`Root::ticks_per_second`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Ticks {
    /// user, nice and system.
    working: u64,
    irq: u64,
    softirq: u64,
    /// By the hypervisor.
    stolen: u64,
}

/// The cores' times so far; none where they cannot be read.
fn ticks() -> BTreeMap<u32, Ticks> {
    fs::read_to_string("/proc/stat").map(|text| sorted(&cores::parse(&text))).unwrap_or_default()
}

fn sorted(times: &[(u32, &str, u64)]) -> BTreeMap<u32, Ticks> {
    let mut found: BTreeMap<u32, Ticks> = BTreeMap::new();
    for (core, kind, time) in times {
        let ticks = found.entry(*core).or_default();
        match *kind {
            "user" | "nice" | "system" => ticks.working += time,
            "irq" => ticks.irq += time,
            "softirq" => ticks.softirq += time,
            "steal" => ticks.stolen += time,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_read_by_number_and_the_sum_is_left_out() {
        let text =
            "cpu  10 0 20 300 4 1 5 0 0 0\ncpu0 5 1 10 150 2 1 4 0 0 0\ncpu11 5 0 10 150 2 0 1 7\nintr 5\n";
        let found = sorted(&cores::parse(text));
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [0, 11]);
        assert_eq!(found[&0], Ticks { working: 16, irq: 1, softirq: 4, stolen: 0 });
        assert_eq!(found[&11].stolen, 7);
    }

    #[test]
    fn this_machine_has_cores() {
        assert!(!ticks().is_empty());
    }
}
