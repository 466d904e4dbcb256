//! What each CPU's softirq did with received packets (/proc/net/softnet_stat; the kernel offers no netlink for it).

use super::row_of;
use crate::collector::Collector;
use crate::reading::{CounterMeaning, Place, Row, Unit, Way, row};
use crate::root::Root;
use crate::source::Source;
use wirespeed_record::Stage;

/// The source `softnet`.
pub struct Softnet;

const NAME: &str = "softnet";
const FILE: &str = "proc/net/softnet_stat";

const SENSE: CounterMeaning = CounterMeaning::work().at(Stage::SoftnetBacklog).rx().software();

const ROWS: &[Row] = &[
    row("processed", SENSE.unit(Unit::Buffers)).about("buffers handed to the stack or put into a backlog"),
    row("dropped", CounterMeaning::loss(Stage::SoftnetBacklog, Way::Rx).unit(Unit::Buffers).software())
        .about("the backlog of the CPU was full (net.core.netdev_max_backlog), or the flow limit struck; a merged buffer counts once"),
    row("time_squeeze", CounterMeaning::hint().at(Stage::SoftnetBacklog).rx().software())
        .about("rounds that used up net.core.netdev_budget or netdev_budget_usecs with work left"),
    row("received_rps", SENSE).about("wake-ups by another CPU that steered packets here"),
    row("flow_limit", CounterMeaning::loss(Stage::SoftnetBacklog, Way::Rx).unit(Unit::Buffers).software())
        .duplicate_of(&["softnet/dropped"])
        .about("dropped because one flow filled the backlog"),
    row("backlog", CounterMeaning::gauge(Unit::Buffers).at(Stage::SoftnetBacklog).rx())
        .about("buffers waiting; without RPS only virtual interfaces use the backlog"),
];

impl Source for Softnet {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "what each CPU's softirq did with received packets (/proc/net/softnet_stat)"
    }

    fn needs(&self) -> &'static str {
        "nothing; it is of the whole kernel, not of a network namespace"
    }

    fn documented(&self) -> &'static str {
        "net/core/net-procfs.c, Documentation/admin-guide/sysctl/net.rst"
    }

    fn rows(&self) -> &'static [Row] {
        ROWS
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        let text = match root.text(FILE) {
            Ok(text) => text,
            Err(error) => return into.unavailable(NAME, FILE, &error, "mount /proc"),
        };
        for cpu in parse(&text) {
            let place = Place::Cpu(cpu.cpu);
            let mut push = |name, value: Option<u32>| {
                if let Some(value) = value {
                    into.push_row32(NAME, place.clone(), name, value, row_of(ROWS, name));
                }
            };
            push("processed", Some(cpu.processed));
            push("dropped", Some(cpu.dropped));
            push("time_squeeze", Some(cpu.time_squeeze));
            push("received_rps", cpu.received_rps);
            push("flow_limit", cpu.flow_limit);
            push("backlog", cpu.backlog);
        }
    }
}

/// A line of the file. Counters are modulo 2^32; what an older kernel does not show is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// Logical CPU: the kernel says it since 5.10; before, the number of the line, right if all CPUs are online.
    pub cpu: u32,
    /// Buffers handled.
    pub processed: u32,
    /// Buffers dropped.
    pub dropped: u32,
    /// Rounds that ended with work left.
    pub time_squeeze: u32,
    /// Wake-ups by another CPU (since 2.6.35).
    pub received_rps: Option<u32>,
    /// Buffers dropped by the flow limit (since 3.11).
    pub flow_limit: Option<u32>,
    /// Buffers waiting (since 5.10).
    pub backlog: Option<u32>,
}

/// Parses the file: a line per CPU that is online, hexadecimal columns, of which kernels have added more at the end.
pub fn parse(text: &str) -> Vec<Cpu> {
    let lines = text.lines().enumerate().filter_map(|(line, text)| {
        let columns: Vec<u32> =
            text.split_whitespace().map_while(|word| u32::from_str_radix(word, 16).ok()).collect();
        let column = |n: usize| columns.get(n).copied();
        Some(Cpu {
            cpu: column(12).unwrap_or(line as u32),
            processed: column(0)?,
            dropped: column(1)?,
            time_squeeze: column(2)?,
            received_rps: column(9),
            flow_limit: column(10),
            backlog: column(11),
        })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_came_with_the_kernels() {
        let of_3_10 = parse("0000000a 00000001 00000002 0 0 0 0 0 0 00000003\n");
        let expected = Cpu {
            cpu: 0,
            processed: 10,
            dropped: 1,
            time_squeeze: 2,
            received_rps: Some(3),
            flow_limit: None,
            backlog: None,
        };
        assert_eq!(of_3_10, [expected]);
        let of_6_12 = "000000ff 0 0 0 0 0 0 0 0 0 5 7 0000000c 7 0\n";
        let cpu = parse(of_6_12)[0];
        assert_eq!((cpu.cpu, cpu.processed, cpu.flow_limit, cpu.backlog), (12, 255, Some(5), Some(7)));
    }
}
