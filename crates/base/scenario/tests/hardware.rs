//! What the inside of a host means once it is resolved.

use wirespeed_scenario::run::{Apps, Hardware, Irq, KernelVersion, Rss};
use wirespeed_scenario::{PresetKind, Study, parse, presets};
use wirespeed_units::{Bytes, Rate, Span};

fn study(lines: &str, more: &str) -> Study {
    let text = format!(
        r#"
schema = 1
name = "t"
path = {{ rate = "100 Gbit/s", rtt = "1 ms" }}
[[flow]]
[run]
duration = "1 s"
[host.receiver]
{lines}
{more}
"#
    );
    parse(&text, "t.toml", &[], None).unwrap_or_else(|e| panic!("{e:#}\n{text}"))
}

/// The receiver's inside.
fn inside(lines: &str) -> Hardware {
    let study = study(lines, "");
    *study.runs[0].host("receiver").hardware.clone().expect("it has a machine")
}

fn kit(lines: &str) -> Hardware {
    inside(&format!("preset = \"kit-2019-tuned\"\n{lines}"))
}

#[test]
fn a_host_without_a_machine_has_no_inside() {
    let run = &study("preset = \"xeon-2015-10g\"", "").runs[0];
    assert!(run.hosts.iter().all(|host| host.hardware.is_none() && host.tcp.adv_win_scale.is_none()));
    assert!(!serde_json::to_string(run).unwrap().contains("hardware"));
}

/// Every number of a preset with a machine, as it is resolved.
#[test]
fn a_resolved_preset() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&kit("")).unwrap());
}

#[test]
fn every_machine_resolves_and_is_stored_whole() {
    let mut seen = 0;
    for preset in presets().iter().filter(|p| p.kind == PresetKind::Host && p.settings.contains("[machine]"))
    {
        let hardware = inside(&format!("preset = \"{}\"", preset.name));
        let stored = serde_json::to_string(&hardware).unwrap();
        assert_eq!(serde_json::from_str::<Hardware>(&stored).unwrap(), hardware, "{}", preset.name);
        let order = [hardware.costs.copy_cached, hardware.costs.copy_memory, hardware.costs.copy_remote];
        assert!(order.is_sorted(), "{}: nearer memory is not dearer", preset.name);
        seen += 1;
    }
    assert!(seen >= 7, "only {seen} presets have a machine");
}

#[test]
fn interrupts_and_applications_are_placed_as_operators_say() {
    let of_node_1: Vec<u32> = (8..16).chain(24..32).collect();
    assert_eq!(kit("").irq, Irq::Cores(of_node_1.clone()), "cores, then their twins");
    assert_eq!(kit("").apps, Apps::Free(of_node_1));
    assert_eq!(kit("machine = { twin_speed = 0 }").irq, Irq::Cores((8..16).collect()));
    assert_eq!(kit("irq = \"one-cpu\"").irq, Irq::Cores(vec![0]));
    assert_eq!(kit("irq = \"11-15,27-31\"").irq, Irq::Cores((11..16).chain(27..32).collect()));
    assert_eq!(kit("irq = \"balanced\"").irq, Irq::Balanced(Span::secs(10)));
    assert_eq!(kit("irq = \"balanced\"\nirqbalance_interval = \"1 s\"").irq, Irq::Balanced(Span::secs(1)));
    assert_eq!(kit("apps = \"8-10\"").apps, Apps::Pinned(vec![8, 9, 10]));
    assert_eq!(kit("apps = 8").apps, Apps::Pinned(vec![8]));
    assert_eq!(kit("apps = \"free\"").apps, Apps::Free((0..32).collect()));
    assert_eq!(kit("rps = \"0-1\"").rps, [0, 1]);
}

#[test]
fn missing_keys_have_defaults() {
    let hardware = inside(
        r#"
        machine = { cores_per_node = 2, cache = "1 MB" }
        costs = { interrupt = "1 us", poll = "1 us", rx_packet = "1 us", rx_packet_remote = "0", rx_segment = "1 us",
                  rx_datagram = "1 us", rx_ack = "1 us", tx_ack = "1 us", tx_segment = "1 us", tx_packet = "0",
                  syscall = "1 us", wakeup = "1 us", copy_cached = "0.1 ns", copy_memory = "0.12 ns",
                  copy_remote = "0.2 ns", capture = "1 us", call = "64 KiB" }
        "#,
    );
    assert_eq!((hardware.machine.nodes, hardware.machine.twin_speed, hardware.machine.speed), (1, None, 1.0));
    assert_eq!((hardware.nic.rx_ring, hardware.nic.tx_ring, hardware.nic.rx_queues), (1024, 1024, 2));
    assert_eq!((hardware.nic.rss, hardware.nic.coalesce, hardware.nic.napi), (Rss::Hash, Span::ZERO, true));
    assert_eq!((hardware.irq, hardware.apps), (Irq::Cores(vec![0, 1]), Apps::Free(vec![0, 1])));
    assert_eq!((hardware.costs.copy_memory, hardware.costs.call), (Span::ps(120), Bytes::kib(64)));
    assert_eq!((hardware.machine.memory, hardware.machine.kernel), (None, KernelVersion::TODAY));
    assert_eq!(
        (hardware.nic.rx_wqe, hardware.nic.adaptive, hardware.costs.rx_page),
        (None, false, Span::ZERO)
    );
    assert_eq!((hardware.capture, hardware.nic.bus, hardware.nic.rx_buffer), (None, None::<Rate>, None));
}

#[test]
fn the_rate_of_a_bus_follows_from_its_build() {
    let bus = |written: &str| {
        let nic = kit(&format!("nic_bus = {written}")).nic;
        (nic.bus.map(Rate::get), nic.bus_shared)
    };
    // kit-2019: 16 x 8 GT/s x 128/130 - 1 are about 125 Gbit/s.
    assert_eq!(bus("{ lanes = 16 }"), (Some(125_030_769_230), false), "the preset's is of generation 3");
    assert_eq!(bus("{ lanes = 8, shared = true }"), (Some(62_015_384_615), true));
    assert_eq!(bus("{ generation = 1, lanes = 1 }"), (Some(1_000_000_000), false), "2.5 x 8/10 - 1");
    assert_eq!(bus("{ generation = 5 }"), (Some(503_123_076_923), false));
    assert_eq!(bus("{ kind = \"pci\", mhz = 133, bits = 64 }"), (Some(8_512_000_000), true));
    assert_eq!(bus("{ kind = \"pci\", mhz = 33, bits = 32, shared = false }"), (Some(1_056_000_000), false));
    assert_eq!(bus("\"50 Gbit/s\""), (Some(50_000_000_000), false));
}

#[test]
fn every_knob_can_be_swept() {
    let sweep = r#"[sweep]
"host.receiver.irq" = ["balanced", "one-cpu", "0-3,8", 5]
"host.receiver.rx_ring" = [256, 8192]
"host.receiver.costs.copy_memory" = ["0.1 ns", "0.2 ns"]
"host.receiver.machine.twin_speed" = [0, 0.6]
"host.receiver.load.0.share" = [0, 0.5]
"host.receiver.napi" = [true, false]"#;
    let study = study("preset = \"kit-2019-tuned\"\nload = [{ core = 9, share = 1 }]", sweep);
    assert_eq!(study.runs.len(), 4 * 32);
    let last = study.runs[127].host("receiver").hardware.clone().unwrap();
    assert_eq!((last.irq, last.nic.rx_ring, last.nic.napi), (Irq::Cores(vec![5]), 8192, false));
    assert_eq!((last.costs.copy_memory, last.load[0].share), (Span::ps(200), 0.5));
    assert_eq!(study.runs[0].id.split(',').next(), Some("copy_memory=0.1ns"));
}
