//! Where the time of each CPU went (/proc/stat).

use super::row_of;
use crate::collector::Collector;
use crate::reading::{CounterMeaning, Place, Row, Unit, row};
use crate::root::Root;
use crate::source::Source;

/// The source `cores`.
pub struct Cores;

const NAME: &str = "cores";
const FILE: &str = "proc/stat";

const TIME: CounterMeaning = CounterMeaning::work().unit(Unit::Nanoseconds).software();

/// In the order of the columns. Resolved to a tick (10 ms) unless the kernel accounts exactly.
const ROWS: &[Row] = &[
    row("user", TIME).about("in programs; `guest` is a part of it"),
    row("nice", TIME).about("in programs of low priority; `guest_nice` is a part of it"),
    row("system", TIME).about("in the kernel for programs, ksoftirqd included"),
    row("idle", TIME),
    row("iowait", TIME).about("idle while a disk was waited for"),
    row("irq", TIME).about("in interrupts"),
    row("softirq", TIME).about("in softirqs, but for ksoftirqd"),
    row("steal", TIME).about("taken by the hypervisor for others"),
    row("guest", TIME),
    row("guest_nice", TIME),
];

impl Source for Cores {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "where the time of each CPU went (/proc/stat; ticks of USER_HZ, here in nanoseconds)"
    }

    fn needs(&self) -> &'static str {
        "nothing"
    }

    fn documented(&self) -> &'static str {
        "Documentation/filesystems/proc.rst"
    }

    fn rows(&self) -> &'static [Row] {
        ROWS
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        const SECOND_NS: u64 = 1_000_000_000;
        let text = match root.text(FILE) {
            Ok(text) => text,
            Err(error) => return into.unavailable(NAME, FILE, &error, "mount /proc"),
        };
        let tick_ns = SECOND_NS / root.ticks_per_second();
        for (cpu, name, ticks) in parse(&text) {
            into.push_row(NAME, Place::Cpu(cpu), name, ticks.saturating_mul(tick_ns), row_of(ROWS, name));
        }
    }
}

/// CPU, column and ticks of the lines of single CPUs.
pub fn parse(text: &str) -> Vec<(u32, &'static str, u64)> {
    let line = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split(' ');
        let cpu: u32 = words.next()?.parse().ok()?;
        let columns = ROWS.iter().zip(words.filter(|word| !word.is_empty()));
        Some(
            columns
                .filter_map(|(row, word)| Some((cpu, row.pattern, word.parse().ok()?)))
                .collect::<Vec<_>>(),
        )
    };
    text.lines().filter_map(line).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_cpus_count() {
        let found = parse("cpu  9 9 9\ncpu1 5 6 7\nintr 1 2\n");
        assert_eq!(found, [(1, "user", 5), (1, "nice", 6), (1, "system", 7)]);
    }
}
