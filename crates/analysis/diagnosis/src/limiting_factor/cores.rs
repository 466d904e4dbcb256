//! Cores that had no time left, and threads that were short of one.

use super::LimitingFactor;
use crate::thresholds::{FULL_CORE, LATE_THREAD, OWN_WORK, SPENT_THREAD};
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_record::{CoreSample, HostInfo, Recording, ThreadSample};

/// A core that had no time left.
#[derive(Clone, Copy)]
pub(super) struct Full {
    pub(super) core: u32,
    softirq: f64,
    application: f64,
    /// The application of the test's other end, if that is on the same machine.
    other_end: f64,
    /// All of it, what others had of it included.
    all: f64,
}

impl Full {
    fn own(&self) -> f64 {
        self.softirq + self.application
    }

    /// The test alone filled it.
    pub(super) fn by_itself(&self) -> bool {
        self.own() + self.other_end >= FULL_CORE.value
    }

    /// The core limits the test. If other processes used a part of it, the thread of the flow's end decides.
    /// `ready` is the time of that thread on a core or waiting for one. Without a record of it, the test's part of the core decides.
    pub(super) fn is_short(&self, ready: Option<Ready>) -> bool {
        match ready {
            _ if self.by_itself() || self.softirq >= OWN_WORK.value * self.all => true,
            Some(ready) => ready.is_spent(),
            None => self.own() >= OWN_WORK.value * self.all,
        }
    }

    pub(super) fn factor(&self, factor: LimitingFactor) -> LimitingFactor {
        if self.by_itself() { factor } else { LimitingFactor::Shared(Box::new(factor)) }
    }

    pub(super) fn at_receiver(&self) -> LimitingFactor {
        self.factor(if self.softirq >= self.application {
            LimitingFactor::ReceiverInterruptCore(self.core)
        } else {
            LimitingFactor::ReceiverCore(self.core)
        })
    }
}

/// The cores' samples by host and core, in order of time, and the recorded cores of each flow.
pub(super) struct Cores<'a> {
    samples: BTreeMap<(&'a str, u32), Vec<&'a CoreSample>>,
    used: BTreeMap<(u32, &'a str), BTreeSet<u32>>,
    applications: BTreeSet<(u32, &'a str, u32)>,
    /// The core on which a flow's application was found most often.
    homes: BTreeMap<(u32, &'a str), u32>,
    /// Hosts that are one machine, by its boot ID.
    machines: BTreeMap<&'a str, &'a str>,
}

impl<'a> Cores<'a> {
    pub(super) fn of(recording: &'a Recording) -> Cores<'a> {
        let rows = &recording.cores;
        let mut by_core: BTreeMap<(&str, u32), Vec<&CoreSample>> = BTreeMap::new();
        for row in rows {
            by_core.entry((&row.host, row.core)).or_default().push(row);
        }
        by_core.values_mut().for_each(|rows| rows.sort_by_key(|row| row.t_ns));
        let mut used: BTreeMap<(u32, &str), BTreeSet<u32>> = BTreeMap::new();
        let mut applications = BTreeSet::new();
        let mut homes = BTreeMap::new();
        for placement in &recording.info.placement {
            let of = |core: &u32| (placement.flow, placement.host.as_str(), *core);
            applications.extend(placement.application.keys().map(of));
            let home = placement.application_core();
            homes.extend(home.map(|core| ((placement.flow, placement.host.as_str()), core)));
            let cores = placement.application.keys().chain(placement.incoming.keys());
            used.entry((placement.flow, &placement.host)).or_default().extend(cores);
        }
        let machine =
            |host: &'a HostInfo| Some((host.name.as_str(), host.settings.get("machine.boot_id")?.as_str()));
        let machines = recording.info.hosts.iter().filter_map(machine).collect();
        Cores { samples: by_core, used, applications, homes, machines }
    }

    /// The hosts are machines, whose cores were recorded.
    pub(super) fn are_known(&self) -> bool {
        !self.samples.is_empty()
    }

    /// The full core of a host with most of the test's work, among the cores of the flow.
    pub(super) fn fullest(&self, flow: u32, host: &str, from_ns: i64, to_ns: i64) -> Option<Full> {
        let used = self.used.get(&(flow, host));
        self.fullest_where(host, from_ns, to_ns, |core| used.is_none_or(|used| used.contains(&core)))
    }

    /// The same of those on which the flow's application is known to have been.
    pub(super) fn fullest_of_application(
        &self,
        flow: u32,
        host: &str,
        from_ns: i64,
        to_ns: i64,
    ) -> Option<Full> {
        self.fullest_where(host, from_ns, to_ns, |core| self.applications.contains(&(flow, host, core)))
    }

    /// The factor of a flow whose thread had no time left, though no core was full: the thread moved from core to core. The
    /// core is the one with most of its samples.
    pub(super) fn spent(
        &self,
        flow: u32,
        host: &str,
        thread: Option<Ready>,
        factor: fn(u32) -> LimitingFactor,
    ) -> Option<LimitingFactor> {
        let thread = thread.filter(Ready::is_spent)?;
        let factor = factor(*self.homes.get(&(flow, host))?);
        Some(if thread.is_late() { LimitingFactor::Shared(Box::new(factor)) } else { factor })
    }

    fn fullest_where(
        &self,
        host: &str,
        from_ns: i64,
        to_ns: i64,
        which: impl Fn(u32) -> bool,
    ) -> Option<Full> {
        let of = |((at, core), rows): (&(&str, u32), &Vec<&CoreSample>)| {
            let core = *core;
            if *at != host || !which(core) {
                return None;
            }
            let last = |t_ns: i64| rows[..rows.partition_point(|row| row.t_ns <= t_ns)].last();
            let (before, after) = (last(from_ns), last(to_ns)?);
            let part = |of: fn(&CoreSample) -> i64| {
                (of(after) - before.map_or(0, |row| of(row))) as f64 / (to_ns - from_ns).max(1) as f64
            };
            let softirq = part(|row| row.hardirq_ns + row.softirq_ns + row.ksoftirqd_ns);
            let application = part(|row| row.app_ns);
            let mut other_end = 0.0;
            let all = softirq + application + part(|row| row.capture_ns + row.load_ns);
            // The other end of the test on the same machine is the test's as well.
            let others = self.samples.iter().filter(|((other, at), _)| {
                *at == core && *other != host && self.is_same_machine(other, host)
            });
            for (_, rows) in others {
                let last = |t_ns: i64| rows[..rows.partition_point(|row| row.t_ns <= t_ns)].last();
                let grown =
                    last(to_ns).map_or(0, |row| row.app_ns) - last(from_ns).map_or(0, |row| row.app_ns);
                other_end += grown as f64 / (to_ns - from_ns).max(1) as f64;
            }
            (all >= FULL_CORE.value).then_some(Full { core, softirq, application, other_end, all })
        };
        // Of several full ones that on which the test did most.
        self.samples.iter().filter_map(of).max_by(|a, b| a.own().total_cmp(&b.own()))
    }

    fn is_same_machine(&self, host: &str, other: &str) -> bool {
        self.machines.get(host).is_some_and(|machine| self.machines.get(other) == Some(machine))
    }
}

/// The accounts of the flows' threads, by flow and whether it receives, in order of time.
pub(super) struct Threads<'a>(BTreeMap<(u32, bool), Vec<&'a ThreadSample>>);

impl<'a> Threads<'a> {
    pub(super) fn of(recording: &'a Recording) -> Threads<'a> {
        let mut by_end: BTreeMap<(u32, bool), Vec<&ThreadSample>> = BTreeMap::new();
        for row in &recording.threads {
            by_end.entry((row.flow, row.receives)).or_default().push(row);
        }
        by_end.values_mut().for_each(|rows| rows.sort_by_key(|row| row.t_ns));
        Threads(by_end)
    }

    /// The parts of an interval in which the thread of a flow's end ran and waited. `None` without a record.
    pub(super) fn ready(&self, flow: u32, receives: bool, from_ns: i64, to_ns: i64) -> Option<Ready> {
        let rows = self.0.get(&(flow, receives))?;
        let mut within = rows.iter().filter(|row| (from_ns..=to_ns).contains(&row.t_ns));
        let (first, last) = (within.clone().next()?, within.next_back()?);
        let part =
            |of: fn(&ThreadSample) -> i64| (of(last) - of(first)) as f64 / (last.t_ns - first.t_ns) as f64;
        (last.t_ns > first.t_ns).then(|| Ready { run: part(|row| row.run_ns), wait: part(|row| row.wait_ns) })
    }
}

/// Parts of the time in which a thread ran, and in which it waited for a core.
#[derive(Clone, Copy)]
pub(super) struct Ready {
    run: f64,
    wait: f64,
}

impl Ready {
    /// It often waited for a core: round trips and pauses are its machine's as well.
    pub(super) fn is_late(&self) -> bool {
        self.wait >= LATE_THREAD.value
    }

    /// It ran or was ready to run all the time.
    pub(super) fn is_spent(&self) -> bool {
        self.run + self.wait >= SPENT_THREAD.value
    }

    pub(super) fn wait(&self) -> f64 {
        self.wait
    }
}
