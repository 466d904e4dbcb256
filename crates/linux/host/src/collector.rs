//! Gathers what the sources read, and decides which of several counters of the same packets is the one to count.

use crate::pattern::matches;
use crate::reading::{CounterMeaning, Place, Reading, Row};
use crate::source::Unavailable;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;

/// Where sources put what they read.
#[derive(Debug, Default)]
pub struct Collector {
    readings: Vec<Reading>,
    unavailable: Vec<Unavailable>,
    /// Readings whose rows say that others may count the same packets.
    open: Vec<(usize, &'static Row)>,
}

/// No interface has this index: the kernel begins at 1.
const ANY_DEVICE: u32 = 0;

/// Interface index (none: the whole host) and source.
type Group<'a> = (Option<u32>, &'a str);

impl Collector {
    /// Adds a reading that repeats no other.
    pub fn push(&mut self, reading: Reading) {
        self.readings.push(reading);
    }

    /// Adds a reading of 64 bits with the meaning of its row; without a row its meaning is unknown.
    pub fn push_row(
        &mut self,
        source: &'static str,
        place: Place,
        counter: impl Into<Cow<'static, str>>,
        value: u64,
        row: Option<&'static Row>,
    ) {
        if let Some(row) = row.filter(|row| !row.duplicate_of.is_empty()) {
            self.open.push((self.readings.len(), row));
        }
        let sense = row.map_or(CounterMeaning::unknown(), |row| row.sense);
        self.readings.push(Reading::new(source, place, counter, value, sense));
    }

    /// The same, of 32 bits.
    pub fn push_row32(
        &mut self,
        source: &'static str,
        place: Place,
        counter: &'static str,
        value: u32,
        row: Option<&'static Row>,
    ) {
        self.push_row(source, place, counter, u64::from(value), row);
        if let Some(last) = self.readings.pop() {
            self.readings.push(last.bits32());
        }
    }

    /// Notes what could not be read.
    pub fn unavailable(
        &mut self,
        source: &'static str,
        what: impl Into<String>,
        error: &io::Error,
        remedy: &'static str,
    ) {
        self.unavailable.push(Unavailable::new(source, what, error, remedy));
    }

    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        self.readings.is_empty()
    }

    /// All readings, each with the counter that it repeats, and what could not be read. A counter repeats another
    /// one that is there, even if both are 0: what matters is that it is read. One of a device may be part of the
    /// host's, and one of the host part of those of its devices.
    pub fn finish(self) -> (Vec<Reading>, Vec<Unavailable>) {
        let Collector { mut readings, unavailable, open } = self;
        let found: Vec<(usize, String)> = {
            let mut names: HashMap<Group, HashSet<&str>> = HashMap::new();
            if !open.is_empty() {
                for reading in &readings {
                    let device = reading.place.device().map(|device| device.index);
                    for at in [device].into_iter().chain(device.map(|_| Some(ANY_DEVICE))) {
                        names.entry((at, &reading.source)).or_default().insert(&reading.counter);
                    }
                }
            }
            let mut known = HashMap::new();
            let mut first = |group: Group<'_>, source: &'static str, pattern: &'static str| {
                let key = (group.0, source, pattern);
                known.entry(key).or_insert_with(|| first_match(names.get(&group), pattern)).clone()
            };
            let repeated = |(at, row): &(usize, &'static Row)| {
                let reading = readings.get(*at)?;
                let device = reading.place.device().map(|device| device.index);
                row.duplicate_of.iter().find_map(|pattern| {
                    let (source, pattern) = pattern.split_once('/')?;
                    let other = if device.is_some() { None } else { Some(ANY_DEVICE) };
                    let name = first((device, source), source, pattern)
                        .or_else(|| first((other, source), source, pattern))?;
                    let itself = name == reading.counter && source == reading.source;
                    (!itself).then(|| (*at, format!("{source}/{name}")))
                })
            };
            open.iter().filter_map(repeated).collect()
        };
        for (at, duplicate_of) in found {
            readings[at].duplicate_of = Some(Cow::Owned(duplicate_of));
        }
        (readings, unavailable)
    }
}

/// The least name that matches, so that the answer does not depend on the order of a set.
fn first_match(names: Option<&HashSet<&str>>, pattern: &str) -> Option<String> {
    let names = names?;
    if !pattern.contains(['{', '*']) {
        return names.get(pattern).map(|name| (*name).to_owned());
    }
    names.iter().filter(|name| matches(pattern, name).is_some()).min().map(|name| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Device, Way, row};
    use wirespeed_record::Stage;

    const TOTAL: Row = row("total", CounterMeaning::loss(Stage::RxRing, Way::Rx));
    const PART: Row =
        row("rx{queue}_drops", CounterMeaning::loss(Stage::RxRing, Way::Rx)).duplicate_of(&["nic/total"]);

    fn on(index: u32) -> Place {
        Place::Device(Device { index, name: "eth0".into() })
    }

    #[test]
    fn a_part_counts_only_where_the_total_is_not_read() {
        let mut collector = Collector::default();
        collector.push_row("nic", on(1), "rx0_drops", 5, Some(&PART));
        collector.push_row("nic", on(1), "total", 0, Some(&TOTAL));
        collector.push_row("nic", on(2), "rx0_drops", 5, Some(&PART));
        let (readings, _) = collector.finish();
        let counted: Vec<_> = readings.iter().map(Reading::is_the_count_of_a_loss).collect();
        assert_eq!(counted, [false, true, true]);
        assert_eq!(readings[0].duplicate_of.as_deref(), Some("nic/total"));
    }

    #[test]
    fn a_devices_counter_and_the_hosts_may_repeat_each_other() {
        const HOSTS: Row = row("host", CounterMeaning::lost(Way::Tx)).duplicate_of(&["nic/total"]);
        const DEVICES: Row = row("part", CounterMeaning::lost(Way::Rx)).duplicate_of(&["ip/whole"]);
        let mut collector = Collector::default();
        collector.push_row("ip", Place::Host, "host", 1, Some(&HOSTS));
        collector.push_row("nic", on(3), "total", 1, None);
        collector.push_row("nic", on(3), "part", 1, Some(&DEVICES));
        collector.push_row("ip", Place::Host, "whole", 1, None);
        let duplicate_of: Vec<_> = collector.finish().0.iter().map(|r| r.duplicate_of.clone()).collect();
        assert_eq!(duplicate_of, [Some("nic/total".into()), None, Some("ip/whole".into()), None]);
    }
}
