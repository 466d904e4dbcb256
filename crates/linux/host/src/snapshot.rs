//! All readings of an instant, and what changed between two.

use crate::collector::Collector;
use crate::reading::{Meaning, Place, Reading, Unit, Way, Width};
use crate::root::{Clock, Root};
use crate::source::{Source, Unavailable, sources};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use wirespeed_record::Stage;

/// All readings of an instant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// When the first source was asked; 0 where the host has no clock (an old fixture).
    pub clock: Clock,
    /// How long the reading took, in nanoseconds: the readings are that far apart at most.
    pub took_ns: i64,
    /// The readings.
    pub readings: Vec<Reading>,
}

/// Reads every source once. What cannot be read is said, with the remedy.
pub fn take(root: &mut Root) -> (Snapshot, Vec<Unavailable>) {
    take_of(root, sources())
}

/// Reads some sources once, in the order given.
pub fn take_of(root: &mut Root, of: &[&dyn Source]) -> (Snapshot, Vec<Unavailable>) {
    root.refresh();
    let mut collector = Collector::default();
    let clock = root.clock().unwrap_or_default();
    for source in of {
        source.read(root, &mut collector);
    }
    let took_ns = root.clock().map_or(0, |end| end.monotonic_ns - clock.monotonic_ns);
    let (readings, unavailable) = collector.finish();
    (Snapshot { clock, took_ns, readings }, unavailable)
}

/// How a counter changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delta {
    /// It grew by this; 0 if it stayed.
    By(u64),
    /// It was not there before; its value now.
    Appeared(u64),
    /// It is no longer there; its last value.
    Vanished(u64),
    /// It is less than before though it cannot have wrapped: it began anew (a driver was reloaded, a ring was made
    /// anew).
    Reset {
        /// Value before.
        before: u64,
        /// Value now.
        after: u64,
    },
    /// A level, not a counter.
    Level {
        /// Value before.
        before: u64,
        /// Value now.
        after: u64,
    },
}

impl Delta {
    /// The increase as far as it is certain: a counter that began anew has counted at least what it shows now; one that
    /// appeared may have counted all of it before it could be read.
    pub fn at_least(self) -> u64 {
        match self {
            Delta::By(grown) => grown,
            Delta::Reset { after, .. } => after,
            Delta::Appeared(_) | Delta::Vanished(_) | Delta::Level { .. } => 0,
        }
    }
}

/// A counter and how it changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The later reading; the earlier one if it vanished.
    pub reading: Reading,
    /// How it changed.
    pub delta: Delta,
}

/// What changed between two snapshots of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Time between the two, in nanoseconds by the host's monotonic clock.
    pub interval_ns: i64,
    /// Every counter of either snapshot, in the order of the later one, then those that vanished.
    pub changes: Vec<Change>,
}

/// A counter is the same if source, place and name are; drivers do give a name twice, then by order.
type Key<'a> = (&'a str, &'a Place, &'a str, usize);

fn keyed(readings: &[Reading]) -> impl Iterator<Item = (Key<'_>, &Reading)> {
    let mut seen: HashMap<(&str, &Place, &str), usize> = HashMap::with_capacity(readings.len());
    readings.iter().map(move |reading| {
        let (source, counter): (&str, &str) = (&reading.source, &reading.counter);
        let times = seen.entry((source, &reading.place, counter)).or_default();
        *times += 1;
        ((source, &reading.place, counter, *times), reading)
    })
}

impl Snapshot {
    /// What changed since an earlier snapshot of the same host.
    ///
    /// A 32-bit counter that is less than before has wrapped if the difference is below 2^31, else it was reset; so
    /// a difference is exact if snapshots are taken often enough, at the most 2^31 counts apart.
    pub fn since(&self, earlier: &Snapshot) -> Changes {
        let mut before: HashMap<Key, &Reading> = keyed(&earlier.readings).collect();
        let mut changes: Vec<Change> = keyed(&self.readings)
            .map(|(key, reading)| {
                let delta = match before.remove(&key) {
                    Some(earlier) => delta(earlier.value, reading),
                    None => Delta::Appeared(reading.value),
                };
                Change { reading: reading.clone(), delta }
            })
            .collect();
        let vanished = keyed(&earlier.readings).filter(|(key, _)| before.contains_key(key));
        changes.extend(
            vanished.map(|(_, reading)| Change {
                reading: reading.clone(),
                delta: Delta::Vanished(reading.value),
            }),
        );
        Changes { interval_ns: self.clock.monotonic_ns - earlier.clock.monotonic_ns, changes }
    }

    /// The value of a counter of the whole host, or of the only place that has it.
    pub fn value(&self, source: &str, counter: &str) -> Option<u64> {
        let mut found = self.readings.iter().filter(|r| r.source == source && r.counter == counter);
        let first = found.next()?;
        found.next().is_none().then_some(first.value)
    }
}

fn delta(before: u64, reading: &Reading) -> Delta {
    let after = reading.value;
    if reading.sense.meaning == Meaning::Gauge {
        return Delta::Level { before, after };
    }
    if after >= before {
        return Delta::By(after - before);
    }
    const HALF: u32 = 1 << 31;
    match reading.width {
        Width::Bits32 => {
            let wrapped = (after as u32).wrapping_sub(before as u32);
            if wrapped < HALF { Delta::By(u64::from(wrapped)) } else { Delta::Reset { before, after } }
        }
        Width::Bits64 => Delta::Reset { before, after },
    }
}

impl Changes {
    /// By how much a counter of the whole host grew at least; 0 if it was not read.
    pub fn of_host(&self, source: &str, counter: &str) -> u64 {
        let is_it = |change: &&Change| {
            let reading = &change.reading;
            reading.place == Place::Host && reading.source == source && reading.counter == counter
        };
        self.changes.iter().find(is_it).map_or(0, |change| change.delta.at_least())
    }

    /// The losses to be counted, each once: counters of losses at a stage that grew and that no other repeats.
    pub fn losses(&self) -> impl Iterator<Item = (&Reading, u64)> {
        self.changes
            .iter()
            .filter(|change| change.reading.is_the_count_of_a_loss() && change.reading.sense.stage.is_some())
            .map(|change| (&change.reading, change.delta.at_least()))
            .filter(|(_, grown)| *grown > 0)
    }

    /// What was lost at a stage on a way, and whether that is exact: it is not where the counter counts socket
    /// buffers or events, which may stand for several packets.
    pub fn lost(&self, stage: Stage, way: Way) -> (u64, bool) {
        self.losses()
            .filter(|(r, _)| r.sense.stage == Some(stage) && r.sense.way == Some(way))
            .fold((0, true), |(sum, exact), (reading, grown)| {
                (sum + grown, exact && reading.sense.unit == Unit::Packets)
            })
    }

    /// Counters that grew of a meaning.
    pub fn grown(&self, meaning: Meaning) -> impl Iterator<Item = (&Reading, u64)> {
        self.changes
            .iter()
            .filter(move |change| change.reading.sense.meaning == meaning)
            .map(|change| (&change.reading, change.delta.at_least()))
            .filter(|(_, grown)| *grown > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::CounterMeaning;

    fn snapshot(values: &[(&'static str, u64, Width)]) -> Snapshot {
        let readings = values.iter().map(|(name, value, width)| {
            let sense = CounterMeaning::loss(Stage::RcvBuf, Way::Rx);
            Reading { width: *width, ..Reading::new("test", Place::Host, *name, *value, sense) }
        });
        Snapshot { readings: readings.collect(), ..Snapshot::default() }
    }

    #[test]
    fn counters_that_appear_vanish_wrap_or_restart_are_distinguished() {
        use Width::{Bits32, Bits64};
        let before = snapshot(&[
            ("stays", 5, Bits64),
            ("wraps", (1 << 32) - 2, Bits32),
            ("reset32", 3 << 30, Bits32),
            ("reset64", u64::MAX, Bits64),
            ("goes", 9, Bits64),
        ]);
        let after = snapshot(&[
            ("stays", 5, Bits64),
            ("wraps", 3, Bits32),
            ("reset32", (3 << 30) - 1, Bits32),
            ("reset64", 4, Bits64),
            ("comes", 6, Bits64),
        ]);
        let changes = after.since(&before);
        let delta: Vec<_> = changes.changes.iter().map(|c| c.delta).collect();
        let expected = [
            Delta::By(0),
            Delta::By(5),
            Delta::Reset { before: 3 << 30, after: (3 << 30) - 1 },
            Delta::Reset { before: u64::MAX, after: 4 },
            Delta::Appeared(6),
            Delta::Vanished(9),
        ];
        assert_eq!(delta, expected);
    }

    #[test]
    fn a_name_given_twice_is_two_counters() {
        let of = |a, b| snapshot(&[("twice", a, Width::Bits64), ("twice", b, Width::Bits64)]);
        let changes = of(11, 25).since(&of(10, 20));
        assert_eq!(changes.lost(Stage::RcvBuf, Way::Rx), (6, true));
    }
}
