//! Where the time of cores went, as parts of the measurement window.

use std::collections::BTreeMap;
use wirespeed_record::{CoreSample, Recording};

/// What a core does, in the order of [`CoreTime::parts`].
pub const KINDS: [&str; 6] = ["hardirq", "softirq", "ksoftirqd", "application", "capture", "other work"];

/// The time of one core by [`KINDS`], as parts of the measurement window.
#[derive(Debug, Clone, PartialEq)]
pub struct CoreTime<'a> {
    /// Name of its host.
    pub host: &'a str,
    /// Number of the core in its host.
    pub core: u32,
    /// NUMA node that the core belongs to.
    pub node: u32,
    /// Part of the window for each of [`KINDS`], 0 to 1.
    pub parts: [f64; KINDS.len()],
    /// Softirq rounds that used up their budget in the window.
    pub squeezed: u64,
}

impl CoreTime<'_> {
    /// The part of the window in which it worked at all.
    pub fn busy(&self) -> f64 {
        self.parts.iter().sum()
    }

    /// Each kind that it worked on with its percentage, most first.
    pub fn kinds(&self) -> Vec<(&'static str, f64)> {
        let all = KINDS.iter().zip(self.parts).map(|(name, part)| (*name, part * 100.0));
        let mut kinds: Vec<_> = all.filter(|(_, percent)| *percent > 0.0).collect();
        kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
        kinds
    }
}

/// Every core that worked in the measurement window: hosts in the order of the recording, their cores by number.
pub fn core_times(recording: &Recording) -> Vec<CoreTime<'_>> {
    let info = &recording.info;
    let mut ends: BTreeMap<(&str, u32), (Option<&CoreSample>, &CoreSample)> = BTreeMap::new();
    let (mut from, mut to) = (None, info.omit_ns);
    for row in &recording.cores {
        let before = (row.t_ns <= info.omit_ns).then_some(row);
        from = from.max(before.map(|row| row.t_ns));
        to = to.max(row.t_ns);
        let key = (row.host.as_str(), row.core);
        let end = ends.entry(key).or_insert((before, row));
        // Rows may come in any order.
        if before.is_some_and(|row| end.0.is_none_or(|known| known.t_ns <= row.t_ns)) {
            end.0 = before;
        }
        if end.1.t_ns <= row.t_ns {
            end.1 = row;
        }
    }
    // Counters start at 0 with the run, so a core without a row before the window did nothing before it.
    let window = (to - from.unwrap_or(info.omit_ns)).max(1) as f64;
    let mut times: Vec<CoreTime> = ends
        .into_iter()
        .map(|((host, core), (before, after))| {
            let spent = |row: &CoreSample| {
                [row.hardirq_ns, row.softirq_ns, row.ksoftirqd_ns, row.app_ns, row.capture_ns, row.load_ns]
            };
            let (then, now) = (before.map_or([0; KINDS.len()], spent), spent(after));
            let mut parts = [0.0; KINDS.len()];
            for (part, (now, then)) in parts.iter_mut().zip(now.into_iter().zip(then)) {
                *part = (now - then).max(0) as f64 / window;
            }
            let squeezed = after.squeezed.saturating_sub(before.map_or(0, |row| row.squeezed));
            CoreTime { host, core, node: after.node, parts, squeezed }
        })
        .filter(|core| core.busy() > 0.0)
        .collect();
    let order = |host: &str| info.hosts.iter().position(|known| known.name == host).unwrap_or(usize::MAX);
    times.sort_by_key(|time| (order(time.host), time.host, time.core));
    times
}

/// A row of a core of the receiver that has done softirq work only.
#[cfg(test)]
pub(crate) fn softirq_sample(t_ns: i64, core: u32, softirq_ns: i64) -> CoreSample {
    CoreSample { softirq_ns, ..CoreSample::idle(t_ns, "receiver", core) }
}

#[cfg(test)]
mod tests {
    use super::softirq_sample as row;
    use super::*;

    #[test]
    fn time_before_the_window_does_not_count() {
        let mut recording = Recording::default();
        (recording.info.omit_ns, recording.info.duration_ns) = (1_000, 2_000);
        recording.cores = vec![row(500, 1, 400), row(1_000, 1, 900), row(2_000, 1, 1_150)];
        // This one began to work after the omitted time; that one stopped before.
        recording.cores.extend([row(2_000, 2, 500), row(1_000, 3, 70), row(2_000, 3, 70)]);
        let times = core_times(&recording);
        let found: Vec<_> = times.iter().map(|time| (time.core, time.busy())).collect();
        assert_eq!(found, [(1, 0.25), (2, 0.5)]);
        let mut other = recording.clone();
        other.cores.reverse();
        assert_eq!(core_times(&other), times, "the order of rows does not matter");
    }
}
