//! Each rule by itself: a host without findings, and the one change that gives a finding of the rule.

use std::collections::BTreeSet;
use wirespeed_diagnosis::audit::{Audit, Path, Profile, rule, rules};
use wirespeed_inventory::{
    Coalescing, Feature, Fec, FrequencyPolicy, IdleState, Interrupt, Inventory, Manager, Pause, PcieLink,
    Qdisc, ReceiveQueue, Route, TransmitQueue,
};

/// The host, the path and the profile that a case changes.
struct Case {
    host: Inventory,
    path: Path,
    profile: Profile,
}

impl Case {
    fn sysctl(&mut self, name: &str, value: &str) {
        self.host.sysctls.insert(name.into(), value.into());
    }

    fn nic(&mut self) -> &mut wirespeed_inventory::Interface {
        &mut self.host.interfaces[0]
    }

    fn manager(&mut self, name: &str, detail: Option<&str>) {
        let detail = detail.map(str::to_owned);
        self.host.managers.push(Manager { name: name.into(), pid: Some(1), detail });
    }

    fn findings(&self) -> BTreeSet<&'static str> {
        let audit = Audit::new(&self.host, self.path, self.profile, Some("eth2")).unwrap();
        audit.findings().iter().map(|finding| finding.rule).collect()
    }
}

/// The tuned host of kit-2019 with one socket, and its path.
fn healthy() -> Case {
    let mut host = Inventory::from_json(include_str!("audit/kit-2019-after.json")).unwrap();
    host.cpu.packages.truncate(1);
    let path =
        Path { rate_bps: 100_000_000_000, rtt_ns: 20_000_000, mtu_bytes: 9000, flows: 4, buffer_bytes: None };
    Case { host, path, profile: Profile::Wan }
}

fn interrupts(cpus: &[u32]) -> Vec<Interrupt> {
    let line = |(queue, cpu): (usize, &u32)| Interrupt {
        irq: 100 + queue as u32,
        queue: Some(queue as u32),
        effective: [*cpu].into_iter().collect(),
        ..Default::default()
    };
    cpus.iter().enumerate().map(line).collect()
}

type Change = fn(&mut Case);

/// For each rule the change that gives its finding, and one just beside it that does not.
const CASES: &[(&str, Change, Change)] = &[
    ("path.flows", |c| c.path.flows = 2, |c| c.path.flows = 3),
    ("path.pacing", |c| c.path.buffer_bytes = Some(249_999_999), |c| c.path.buffer_bytes = Some(250_000_000)),
    (
        "path.memory",
        |c| c.host.memory.total_bytes = Some(1_999_999_999),
        |c| c.host.memory.total_bytes = Some(2_000_000_000),
    ),
    (
        "tcp.rmem",
        |c| c.sysctl("net.ipv4.tcp_rmem", "4096 87380 249999999"),
        |c| c.sysctl("net.ipv4.tcp_rmem", "4096 87380 250000000"),
    ),
    (
        "tcp.wmem",
        |c| c.sysctl("net.ipv4.tcp_wmem", "4096 87380 249999999"),
        |c| c.sysctl("net.ipv4.tcp_wmem", "4096 87380 250000000"),
    ),
    (
        "core.rmem-max",
        |c| c.sysctl("net.core.rmem_max", "62499999"),
        |c| c.sysctl("net.core.rmem_max", "62500000"),
    ),
    (
        "core.wmem-max",
        |c| c.sysctl("net.core.wmem_max", "62499999"),
        |c| c.sysctl("net.core.wmem_max", "62500000"),
    ),
    (
        "tcp.mem",
        |c| c.sysctl("net.ipv4.tcp_mem", "1 244140 300000"),
        |c| c.sysctl("net.ipv4.tcp_mem", "1 244141 300000"),
    ),
    (
        "tcp.int31",
        |c| c.sysctl("net.ipv4.tcp_rmem", "4096 87380 2147483648"),
        |c| c.sysctl("net.ipv4.tcp_rmem", "4096 87380 2147483647"),
    ),
    (
        "tcp.moderate-rcvbuf",
        |c| c.sysctl("net.ipv4.tcp_moderate_rcvbuf", "0"),
        |c| c.sysctl("net.ipv4.tcp_moderate_rcvbuf", "1"),
    ),
    (
        "tcp.window-scaling",
        |c| c.sysctl("net.ipv4.tcp_window_scaling", "0"),
        |c| c.sysctl("net.ipv4.tcp_window_scaling", "1"),
    ),
    ("tcp.sack", |c| c.sysctl("net.ipv4.tcp_sack", "0"), |c| c.sysctl("net.ipv4.tcp_sack", "1")),
    (
        "tcp.timestamps",
        |c| c.sysctl("net.ipv4.tcp_timestamps", "0"),
        |c| {
            c.sysctl("net.ipv4.tcp_timestamps", "0");
            // 4 flows of 250 Mbit/s repeat a number after 137 s.
            c.path.rate_bps = 1_000_000_000;
        },
    ),
    (
        "tcp.slow-start-after-idle",
        |c| c.sysctl("net.ipv4.tcp_slow_start_after_idle", "1"),
        |c| {
            c.sysctl("net.ipv4.tcp_slow_start_after_idle", "1");
            c.profile = Profile::Lan;
        },
    ),
    (
        "tcp.no-metrics-save",
        |c| {
            c.sysctl("net.ipv4.tcp_no_metrics_save", "0");
            c.profile = Profile::Measurement;
        },
        |c| c.sysctl("net.ipv4.tcp_no_metrics_save", "0"),
    ),
    (
        "tcp.mtu-probing",
        |c| c.sysctl("net.ipv4.tcp_mtu_probing", "0"),
        |c| {
            c.sysctl("net.ipv4.tcp_mtu_probing", "0");
            c.path.mtu_bytes = 1500;
        },
    ),
    (
        "congestion.reno",
        |c| c.host.congestion.default = "reno".into(),
        |c| {
            c.host.congestion.default = "reno".into();
            c.path.rtt_ns = 1_000_000;
        },
    ),
    ("congestion.cubic", |c| c.path.rtt_ns = 200_000_000, |c| c.path.rtt_ns = 100_000_000),
    (
        "congestion.bbr-pacing",
        |c| {
            c.host.congestion.default = "bbr".into();
            c.host.system.kernel = "4.12.0".into();
            c.nic().qdiscs[1].kind = "fq_codel".into();
        },
        |c| {
            c.host.congestion.default = "bbr".into();
            c.nic().qdiscs[1].kind = "fq_codel".into();
        },
    ),
    (
        "congestion.unavailable",
        |c| {
            let metrics = [("congctl".to_owned(), "dctcp".to_owned())].into();
            c.host.routes.push(Route {
                destination: "default".into(),
                interface: "eth2".into(),
                metrics,
                ..Default::default()
            });
        },
        |c| {
            let metrics = [("congctl".to_owned(), "bbr".to_owned())].into();
            c.host.routes.push(Route {
                destination: "default".into(),
                interface: "eth2".into(),
                metrics,
                ..Default::default()
            });
        },
    ),
    (
        "queue.backlog",
        |c| c.sysctl("net.core.netdev_max_backlog", "5532"),
        |c| c.sysctl("net.core.netdev_max_backlog", "5533"),
    ),
    (
        "queue.budget",
        |c| c.sysctl("net.core.netdev_budget", "1383"),
        |c| c.sysctl("net.core.netdev_budget", "1384"),
    ),
    (
        "queue.length",
        |c| {
            c.nic().qdiscs = vec![Qdisc { kind: "pfifo_fast".into(), ..Default::default() }];
            c.nic().tx_queue_length = Some(1000);
            c.profile = Profile::Lan;
        },
        |c| {
            c.nic().qdiscs = vec![Qdisc { kind: "pfifo_fast".into(), ..Default::default() }];
            c.nic().tx_queue_length = Some(2767);
            c.profile = Profile::Lan;
        },
    ),
    (
        "queue.fq",
        |c| c.nic().qdiscs[1].kind = "fq_codel".into(),
        |c| {
            c.nic().qdiscs[1].kind = "fq_codel".into();
            c.profile = Profile::Lan;
        },
    ),
    (
        "ring.rx",
        |c| c.nic().rings.as_mut().unwrap().rx = 4096,
        |c| {
            c.nic().rings.as_mut().unwrap().rx = 4096;
            c.profile = Profile::Lan;
        },
    ),
    (
        "ring.rx-device",
        |c| c.nic().rings.as_mut().unwrap().rx_max = 4095,
        |c| c.nic().rings.as_mut().unwrap().rx_max = 4096,
    ),
    (
        "offload.tso",
        |c| feature(c, "tx-tcp-segmentation", false, false),
        |c| feature(c, "tx-tcp-segmentation", false, true),
    ),
    (
        "offload.gso",
        |c| feature(c, "tx-generic-segmentation", false, false),
        |c| feature(c, "tx-generic-segmentation", false, true),
    ),
    ("offload.gro", |c| feature(c, "rx-gro", false, false), |c| feature(c, "rx-gro", false, true)),
    (
        "offload.lro-forwarding",
        |c| {
            feature(c, "rx-lro", true, false);
            c.sysctl("net.ipv4.ip_forward", "1");
        },
        |c| feature(c, "rx-lro", true, false),
    ),
    (
        "offload.big-tcp",
        |c| {
            c.host.system.kernel = "6.8.0".into();
            c.nic().gso_max_bytes = Some(65_536);
            c.path.rate_bps = 100_000_000_001;
        },
        |c| {
            c.host.system.kernel = "6.8.0".into();
            c.nic().gso_max_bytes = Some(65_536);
        },
    ),
    (
        "interrupts.irqbalance",
        |c| c.manager("irqbalance", None),
        |c| {
            c.manager("irqbalance", None);
            c.host.system.hypervisor = Some("kvm".into());
        },
    ),
    (
        "interrupts.moving",
        |c| {
            c.nic().interrupts = interrupts(&[8, 9]);
            c.nic().interrupts[0].fired = [(8, 8900), (9, 1100)].into();
        },
        |c| {
            c.nic().interrupts = interrupts(&[8, 9]);
            c.nic().interrupts[0].fired = [(8, 9100), (9, 900)].into();
        },
    ),
    (
        "interrupts.one-core",
        |c| c.nic().interrupts = interrupts(&[8, 8]),
        |c| c.nic().interrupts = interrupts(&[8, 9]),
    ),
    (
        "moderation.adaptive",
        |c| {
            c.nic().coalescing = Some(Coalescing { adaptive_rx: Some(true), ..Default::default() });
            c.profile = Profile::Measurement;
        },
        |c| c.nic().coalescing = Some(Coalescing { adaptive_rx: Some(true), ..Default::default() }),
    ),
    (
        "moderation.off",
        |c| {
            c.nic().coalescing =
                Some(Coalescing { rx_usecs: Some(0), adaptive_rx: Some(false), ..Default::default() });
        },
        |c| c.nic().coalescing = Some(Coalescing { rx_usecs: Some(0), ..Default::default() }),
    ),
    (
        "moderation.long",
        |c| {
            c.nic().coalescing = Some(Coalescing { rx_usecs: Some(11), ..Default::default() });
            c.profile = Profile::LowLatency;
        },
        |c| {
            c.nic().coalescing = Some(Coalescing { rx_usecs: Some(10), ..Default::default() });
            c.profile = Profile::LowLatency;
        },
    ),
    (
        "placement.interrupt-node",
        |c| c.nic().interrupts = interrupts(&[0, 8]),
        |c| c.nic().interrupts = interrupts(&[8, 9]),
    ),
    // Node 1 has 8 cores: CPUs 8 to 15 and their siblings 24 to 31. Four flows need four of them.
    (
        "placement.own-cores",
        |c| c.nic().interrupts = interrupts(&[8, 9, 10, 11, 28]),
        |c| c.nic().interrupts = interrupts(&[8, 9, 10, 27]),
    ),
    (
        "placement.socket-link",
        |c| {
            let second = c.host.cpu.packages[0].clone();
            c.host.cpu.packages.push(second);
        },
        |c| {
            let second = c.host.cpu.packages[0].clone();
            c.host.cpu.packages.push(second);
            c.path.rate_bps = 34_000_000_000;
        },
    ),
    (
        "placement.node-memory",
        |c| c.host.nodes[1].memory_bytes = Some(0),
        |c| c.host.nodes[1].memory_bytes = Some(1 << 30),
    ),
    (
        "placement.queues",
        |c| c.nic().channels = Some(channels(3, 16)),
        |c| c.nic().channels = Some(channels(4, 16)),
    ),
    (
        "placement.rps",
        |c| {
            c.nic().channels = Some(channels(8, 16));
            c.nic().receive_queues =
                vec![ReceiveQueue { rps_cpus: [8].into_iter().collect(), rps_flow_count: 0 }];
        },
        |c| {
            c.nic().channels = Some(channels(1, 1));
            c.nic().receive_queues =
                vec![ReceiveQueue { rps_cpus: [8].into_iter().collect(), rps_flow_count: 0 }];
        },
    ),
    (
        "placement.xps",
        |c| {
            c.nic().interrupts = interrupts(&[8, 9]);
            c.nic().transmit_queues = vec![TransmitQueue::default(); 2];
        },
        |c| {
            c.nic().transmit_queues = vec![TransmitQueue { xps_cpus: [8].into_iter().collect() }; 2];
        },
    ),
    (
        "placement.numa-balancing",
        |c| c.sysctl("kernel.numa_balancing", "1"),
        |c| c.sysctl("kernel.numa_balancing", "0"),
    ),
    (
        "power.governor",
        |c| c.host.cpu.frequency = vec![policy("schedutil", &["performance"])],
        |c| c.host.cpu.frequency = vec![policy("schedutil", &["schedutil"])],
    ),
    (
        "power.idle-states",
        |c| {
            c.host.cpu.idle_states =
                vec![IdleState { name: "C6".into(), exit_latency_us: 101, is_disabled: false }];
            c.profile = Profile::Measurement;
        },
        |c| {
            c.host.cpu.idle_states =
                vec![IdleState { name: "C6".into(), exit_latency_us: 101, is_disabled: true }];
            c.profile = Profile::Measurement;
        },
    ),
    (
        "power.mitigations",
        |c| {
            c.host.cpu.mitigations.insert("spectre_v2".into(), "Mitigation: IBRS".into());
            c.profile = Profile::LowLatency;
        },
        |c| {
            c.host.cpu.mitigations.insert("spectre_v2".into(), "Not affected".into());
            c.profile = Profile::LowLatency;
        },
    ),
    (
        "pcie.degraded",
        |c| c.nic().pcie.as_mut().unwrap().width = Some(8),
        |c| {
            c.nic().pcie.as_mut().unwrap().width = Some(8);
            c.nic().speed_bps = Some(40_000_000_000);
            c.path.rate_bps = 40_000_000_000;
        },
    ),
    ("pcie.bandwidth", |c| c.nic().pcie = Some(pcie(8.0, 8)), |c| c.nic().pcie = Some(pcie(16.0, 8))),
    (
        "clock.source",
        |c| c.host.system.clock_source = Some("hpet".into()),
        |c| c.host.system.clock_source = Some("tsc".into()),
    ),
    (
        "link.mtu",
        |c| c.nic().mtu_bytes = Some(8999),
        |c| {
            c.nic().mtu_bytes = Some(8999);
            c.nic().max_mtu_bytes = Some(8999);
        },
    ),
    ("link.route-mtu", |c| route(c, "lock 1500"), |c| route(c, "9000")),
    ("link.speed", |c| c.nic().speed_bps = Some(40_000_000_000), |c| c.nic().speed_bps = None),
    ("link.duplex", |c| c.nic().is_full_duplex = Some(false), |c| c.nic().is_full_duplex = Some(true)),
    (
        "link.pause",
        |c| {
            c.nic().pause = Some(Pause { rx: true, ..Default::default() });
            c.profile = Profile::Measurement;
        },
        |c| {
            c.nic().pause = Some(Pause::default());
            c.profile = Profile::Measurement;
        },
    ),
    (
        "link.fec",
        |c| c.nic().fec = Some(Fec { uncorrectable_blocks: Some(1), ..Default::default() }),
        |c| {
            c.nic().fec =
                Some(Fec { corrected_blocks: Some(9), uncorrectable_blocks: Some(0), ..Default::default() });
        },
    ),
    (
        "link.crc",
        |c| _ = c.nic().errors.insert("rx_crc_errors".into(), 1),
        |c| _ = c.nic().errors.insert("rx_missed_errors".into(), 1),
    ),
    (
        "managers.tuned",
        |c| c.manager("tuned", Some("network-throughput")),
        |c| c.manager("tuned", Some("throughput-performance")),
    ),
    (
        "managers.bpftune",
        |c| {
            c.manager("bpftune", None);
            c.profile = Profile::Measurement;
        },
        |c| c.manager("bpftune", None),
    ),
    (
        "managers.network-manager",
        |c| {
            c.manager("NetworkManager", None);
            c.nic().mtu_bytes = Some(1500);
        },
        |c| c.manager("NetworkManager", None),
    ),
    (
        "virtual.single-queue",
        |c| {
            c.host.system.hypervisor = Some("kvm".into());
            c.nic().channels = Some(channels(1, 1));
        },
        |c| c.nic().channels = Some(channels(1, 1)),
    ),
];

fn feature(case: &mut Case, name: &str, is_on: bool, is_fixed: bool) {
    case.nic().features.insert(name.into(), Feature { is_on, is_fixed });
}

fn channels(combined: u64, combined_max: u64) -> wirespeed_inventory::Channels {
    wirespeed_inventory::Channels { combined, combined_max, ..Default::default() }
}

fn policy(governor: &str, governors: &[&str]) -> FrequencyPolicy {
    let governors = governors.iter().map(|name| (*name).to_owned()).collect();
    let cpus = [0].into_iter().collect();
    FrequencyPolicy { cpus, governor: governor.into(), governors, ..Default::default() }
}

fn pcie(speed: f64, width: u32) -> PcieLink {
    PcieLink {
        speed_gt_s: Some(speed),
        width: Some(width),
        max_speed_gt_s: Some(speed),
        max_width: Some(width),
        ..Default::default()
    }
}

fn route(case: &mut Case, mtu: &str) {
    let metrics = [("mtu".to_owned(), mtu.to_owned())].into();
    let (destination, interface) = ("default".into(), "eth2".into());
    case.host.routes.push(Route { destination, interface, metrics, ..Default::default() });
}

#[test]
fn healthy_host_has_no_finding() {
    for profile in Profile::ALL {
        assert_eq!(Case { profile, ..healthy() }.findings(), BTreeSet::new(), "{profile:?}");
    }
}

#[test]
fn each_rule_reports_its_change_and_not_the_one_beside_it() {
    for (id, wrong, right) in CASES {
        let mut case = healthy();
        wrong(&mut case);
        assert!(case.findings().contains(id), "{id} is not reported; {:?} are", case.findings());
        let mut case = healthy();
        right(&mut case);
        assert!(!case.findings().contains(id), "{id} is reported beside its condition");
    }
}

#[test]
fn every_rule_has_a_case_a_source_and_an_explanation() {
    let cases: Vec<&str> = CASES.iter().map(|(id, _, _)| *id).collect();
    let ids: Vec<&str> = rules().iter().map(|rule| rule.id).collect();
    assert_eq!(cases, ids, "a case for each rule, in the order of the registry");
    for id in ids {
        let rule = rule(id).unwrap();
        let (family, name) = id.split_once('.').unwrap();
        let is_plain =
            |part: &str| part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        assert!(is_plain(family) && is_plain(name), "{id}");
        assert!(rule.effect.ends_with('.') && !rule.source.is_empty() && !rule.reads.is_empty(), "{id}");
        let text = rule.explain();
        assert!(text.contains(rule.wanted) && text.contains(rule.source), "{id}");
    }
}
