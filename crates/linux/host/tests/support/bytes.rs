//! Any bytes through every parser: nothing may panic, and what is read must be plausible.

use std::collections::HashSet;
use wirespeed_host::sources::{
    cores, interrupts, link, protocols, qdisc, qstats, sockets, softirqs, softnet,
};
use wirespeed_host::{ethtool, netlink, pattern};

/// As answers of the kernel.
pub fn netlink(bytes: &[u8]) {
    for message in netlink::messages(bytes) {
        assert!(message.payload.len() <= bytes.len());
        let _ = netlink::attributes(message.payload).count();
    }
    let interfaces = link::parse(bytes);
    assert!(interfaces.iter().all(|i| !i.device.name.contains('/')), "a name is no path");
    let found = interfaces.len()
        + qdisc::parse(bytes).len()
        + qstats::parse(bytes).len()
        + sockets::parse(bytes, "tcp").len();
    assert!(found <= 4 * (bytes.len() / 16 + 1), "more was found than fits");
}

/// As text of /proc or of ethtool.
pub fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = softnet::parse(&text);
    let _ = protocols::parse(&text);
    let _ = protocols::parse_v6(&text);
    let _ = softirqs::parse(&text);
    let _ = cores::parse(&text);
    let cpus: HashSet<u32> =
        interrupts::parse(&text).iter().flat_map(|line| line.counts.iter().map(|(cpu, _)| *cpu)).collect();
    assert!(cpus.len() <= text.len());
    for line in text.lines() {
        let _ = interrupts::queue(line);
        let _ = pattern::matches("rx{queue}_*_drops", line);
    }
    let statistics = ethtool::parse_statistics(&text);
    let again = ethtool::parse_statistics(&ethtool::print_statistics(&statistics));
    assert_eq!(again, statistics, "what is printed is read again");
    let _ = ethtool::parse_driver(&text, "driver");
}
