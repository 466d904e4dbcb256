//! Softirqs by CPU (/proc/softirqs).

use super::row_of;
use crate::collector::Collector;
use crate::reading::{CounterMeaning, Place, Row, row};
use crate::root::Root;
use crate::source::Source;

/// The source `softirqs`.
pub struct Softirqs;

const NAME: &str = "softirqs";
const FILE: &str = "proc/softirqs";

const WORK: CounterMeaning = CounterMeaning::work().software();

const ROWS: &[Row] = &[
    row("HI", WORK),
    row("TIMER", WORK),
    row("NET_TX", WORK.tx()).about("qdiscs run again and sent buffers freed"),
    row("NET_RX", WORK.rx()).about("rounds of NAPI polling"),
    row("BLOCK", WORK),
    row("IRQ_POLL", WORK),
    row("TASKLET", WORK),
    row("SCHED", WORK),
    row("HRTIMER", WORK),
    row("RCU", WORK),
];

impl Source for Softirqs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "softirqs by CPU (/proc/softirqs)"
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
        match root.text(FILE) {
            Ok(text) => {
                for (name, cpu, value) in parse(&text) {
                    let known = row_of(ROWS, &name);
                    into.push_row(NAME, Place::Cpu(cpu), name, value, known);
                }
            }
            Err(error) => into.unavailable(NAME, FILE, &error, "mount /proc"),
        }
    }
}

/// The numbers of the CPUs in the first line of a table by CPU.
pub(super) fn cpus(line: &str) -> Vec<u32> {
    line.split_whitespace().map_while(|word| word.strip_prefix("CPU")?.parse().ok()).collect()
}

/// Name, CPU and count of every cell. Counts are modulo 2^32, but as 64 bits here: they grow slowly.
pub fn parse(text: &str) -> Vec<(String, u32, u64)> {
    let mut lines = text.lines();
    let cpus = lines.next().map(cpus).unwrap_or_default();
    let line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let name = name.trim().to_owned();
        let cells = cpus.iter().zip(rest.split_whitespace());
        let cell = |(cpu, word): (&u32, &str)| Some((name.clone(), *cpu, word.parse().ok()?));
        Some(cells.filter_map(cell).collect::<Vec<_>>())
    };
    lines.filter_map(line).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_named_by_row_and_column() {
        let found = parse("        CPU0  CPU2\n  NET_RX:  5  7\n");
        assert_eq!(found, [("NET_RX".to_owned(), 0, 5), ("NET_RX".to_owned(), 2, 7)]);
    }
}
