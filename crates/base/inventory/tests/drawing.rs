//! Drawings of hosts of several sizes: within their width, complete, and as reviewed in `drawings/`.

use std::path::Path;
use wirespeed_inventory::{
    Cache, CpuPackage, CpuSet, Driver, Interface, Interrupt, Inventory, Missing, Node, PcieLink, drawing,
};

fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

/// A host with `sockets` of `cores` cores with two threads each, and a NIC with a queue on each core of the last node.
fn host(sockets: u32, cores: u32) -> Inventory {
    let all = sockets * cores;
    let mut host = Inventory { host: "dtn1".into(), ..Inventory::default() };
    host.cpu.model = "Intel(R) Xeon(R) Gold 6346 CPU @ 3.10GHz".into();
    host.cpu.online = (0..2 * all).collect();
    host.cpu.siblings = (0..all).map(|core| [core, core + all].into_iter().collect()).collect();
    host.memory.total_bytes = Some(u64::from(sockets) * (128 << 30));
    (host.system.kernel, host.system.distribution) = ("6.12.9".into(), Some("Debian GNU/Linux 13".into()));
    for id in 0..sockets {
        let cpus: CpuSet = (id * cores..(id + 1) * cores).flat_map(|core| [core, core + all]).collect();
        host.cpu.packages.push(CpuPackage { id, cpus: cpus.clone() });
        let cache = Cache { level: 3, kind: "Unified".into(), size_bytes: 36 << 20, cpus: cpus.clone() };
        host.cpu.caches.push(cache);
        host.nodes.push(Node { id, cpus, memory_bytes: Some(128 << 30), distances: vec![] });
    }
    let first = (sockets - 1) * cores;
    let line = |queue: u32| Interrupt {
        irq: 100 + queue,
        name: format!("mlx5_comp{queue}@pci:0000:b1:00.0"),
        queue: Some(queue),
        affinity: [first + queue].into_iter().collect(),
        effective: [first + queue].into_iter().collect(),
        fired: [(first + queue, if queue == 0 { 9_000 } else { 1_000 })].into(),
    };
    let pcie = PcieLink {
        address: "0000:b1:00.0".into(),
        id: "15b3:101d".into(),
        speed_gt_s: Some(8.0),
        width: Some(16),
        max_speed_gt_s: Some(16.0),
        max_width: Some(16),
        bottleneck: None,
    };
    host.interfaces.push(Interface {
        name: "ens3f0np0".into(),
        driver: Some(Driver { name: "mlx5_core".into(), ..Driver::default() }),
        speed_bps: Some(100_000_000_000),
        node: Some(sockets - 1),
        pcie: Some(pcie),
        operational_state: Some("up".into()),
        interrupts: (0..cores.min(8)).map(line).collect(),
        ..Interface::default()
    });
    host
}

fn reviewed(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drawings").join(name);
    if std::env::var_os("WIRESPEED_BLESS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(text, expected, "{name} differs; WIRESPEED_BLESS=1 writes it again");
}

#[test]
fn drawings_are_as_reviewed() {
    let applications = [("iperf3".to_owned(), set("9-10"))];
    reviewed("two-sockets.txt", &drawing::terminal(&host(2, 8), &applications));
    reviewed("two-sockets.svg", &drawing::svg(&host(2, 8), &applications));
    reviewed("one-core.txt", &drawing::terminal(&host(1, 1), &[]));
    reviewed("128-cores.txt", &drawing::terminal(&host(2, 64), &[]));
}

#[test]
fn every_line_fits_and_every_cpu_is_drawn() {
    for (sockets, cores) in [(1, 1), (1, 2), (2, 8), (2, 20), (2, 64), (8, 8)] {
        let text = drawing::terminal(&host(sockets, cores), &[]);
        let wide = text.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{sockets} x {cores}");
        let picture = drawing::svg(&host(sockets, cores), &[]);
        let drawn = picture.matches("class=\"core box\"").count();
        assert_eq!(drawn, (sockets * cores) as usize);
        assert!(text.lines().count() < 20 + 9 * sockets as usize * (cores as usize / 8 + 1), "{text}");
    }
}

#[test]
fn interfaces_beyond_the_alphabet_have_no_letter() {
    let mut many = host(1, 2);
    many.interfaces = vec![many.interfaces[0].clone(); 300];
    let text = drawing::terminal(&many, &[]);
    assert_eq!(text.matches("ens3f0np0").count(), 300);
    assert!(text.contains("Z  ens3f0np0"), "{text}");
}

#[test]
fn a_core_shows_the_share_of_the_interrupts() {
    let text = drawing::terminal(&host(2, 8), &[]);
    assert!(text.contains("A56%"), "9 of 16 thousand: {text}");
    assert!(text.contains("A6%"), "{text}");
}

#[test]
fn interrupts_that_are_only_allowed_have_a_small_letter() {
    let mut one = host(1, 8);
    one.interfaces[0].interrupts.truncate(2);
    one.interfaces[0].interrupts[1].fired.clear();
    let text = drawing::terminal(&one, &[]);
    assert!(text.contains("A100%") && text.contains("│a "), "{text}");
}

#[test]
fn nothing_is_drawn_of_an_empty_inventory_but_the_end_of_a_line() {
    assert_eq!(drawing::terminal(&Inventory::default(), &[]), "\n");
    assert!(drawing::svg(&Inventory::default(), &[]).starts_with("<svg"));
    assert_eq!(drawing::interfaces(&Inventory::default()), "");
}

#[test]
fn missing_parts_are_listed_with_reason_and_remedy() {
    let missing = Missing {
        what: "memory modules".into(),
        reason: "Permission denied (os error 13)".into(),
        remedy: "run as root".into(),
    };
    let host = Inventory { missing: vec![missing], ..Inventory::default() };
    let expected = "Not read:\n  memory modules: Permission denied (os error 13); run as root\n";
    assert_eq!(drawing::missing(&host), expected);
    assert_eq!(drawing::missing(&Inventory::default()), "");
}
