//! Inventories of hosts that were recorded or described by hand, of namespaces of this machine, and without privileges.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use wirespeed_host::{Root, inventory};
use wirespeed_inventory::{Feature, InterfaceKind, Inventory, Rings};

/// A recorded host: paths with their content.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Tree {
        Tree(tempfile::tempdir().unwrap())
    }

    fn put(&self, path: impl AsRef<Path>, content: impl AsRef<str>) {
        let file = self.0.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content.as_ref()).unwrap();
    }

    fn put_all(&self, folder: &str, files: &[(&str, &str)]) {
        files.iter().for_each(|(name, content)| self.put(Path::new(folder).join(name), content));
    }

    /// Sockets of cores with two threads: threads of a core are `all` apart, as on most servers.
    fn cpus(&self, sockets: u32, cores: u32) {
        let all = sockets * cores;
        self.put("sys/devices/system/cpu/online", format!("0-{}\n", 2 * all - 1));
        self.put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Test CPU\nflags\t\t: fpu avx2\n");
        for cpu in 0..2 * all {
            let (core, socket) = (cpu % all, cpu % all / cores);
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            self.put(format!("{folder}/topology/physical_package_id"), format!("{socket}\n"));
            self.put(format!("{folder}/topology/thread_siblings_list"), format!("{core},{}\n", core + all));
            let first = socket * cores;
            let list = format!("{first}-{},{}-{}\n", first + cores - 1, first + all, first + all + cores - 1);
            self.put_all(
                &format!("{folder}/cache/index3"),
                &[("level", "3\n"), ("type", "Unified\n"), ("size", "36864K\n"), ("shared_cpu_list", &list)],
            );
            self.put_all(
                &format!("sys/devices/system/node/node{socket}"),
                &[
                    ("cpulist", &list),
                    ("distance", "10 21\n"),
                    ("meminfo", "Node 0 MemTotal: 134217728 kB\n"),
                ],
            );
        }
    }

    fn inventory(&self) -> Inventory {
        inventory(&mut Root::recorded(self.0.path()))
    }
}

/// Two sockets, and a ConnectX-5 on the second behind a bridge with half of its lanes.
fn dual_socket() -> Tree {
    let tree = Tree::new();
    tree.cpus(2, 8);
    tree.put("facts", "host: dtn1\nkernel: 6.12.9\narchitecture: x86_64\npage_bytes: 4096\n");
    tree.put("processes", "812 irqbalance\n900 tuned\n");
    tree.put("etc/tuned/active_profile", "network-throughput\n");
    tree.put("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
    tree.put("proc/sys/net/ipv4/tcp_fastopen_key", "secret\n");
    tree.put("proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic\n");
    tree.put("lib/modules/6.12.9/kernel/net/ipv4/tcp_bbr.ko.xz", "");
    tree.put("lib/modules/6.12.9/kernel/net/ipv4/tcp_cubic.ko.xz", "");
    tree.put_all(
        "sys/class/net/ens3f0np0",
        &[
            ("ifindex", "4\n"),
            ("type", "1\n"),
            ("mtu", "9000\n"),
            ("tx_queue_len", "1000\n"),
            ("operstate", "up\n"),
            ("device.link", "sys/devices/pci0000:b0/0000:b0:02.0/0000:b1:00.0\n"),
            ("device/numa_node", "1\n"),
            ("queues/rx-10/rps_cpus", "0000,00000000\n"),
            ("queues/rx-9/rps_cpus", "0000,00000101\n"),
        ],
    );
    tree.put("sys/class/net/bonding_masters", "\n");
    let link = |address: &str, speed: &str, width: &str| {
        tree.put_all(
            &format!("sys/bus/pci/devices/{address}"),
            &[
                ("vendor", "0x15b3\n"),
                ("device", "0x1019\n"),
                ("current_link_speed", speed),
                ("current_link_width", width),
                ("max_link_speed", "16.0 GT/s PCIe\n"),
                ("max_link_width", "16\n"),
            ],
        );
    };
    link("0000:b1:00.0", "8.0 GT/s PCIe\n", "16\n");
    link("0000:b0:02.0", "8.0 GT/s PCIe\n", "8\n");
    tree.put_all(
        "ethtool/ens3f0np0",
        &[
            (
                "driver",
                "driver: mlx5_core\nversion: 6.12.9\nfirmware-version: 16.35.3006\nbus-info: 0000:b1:00.0\n",
            ),
            ("link", "speed: 100000\n"),
            ("rings", "rx: 1024\nrx-max: 8192\ntx: 1024\ntx-max: 8192\n"),
            ("channels", "combined: 16\ncombined-max: 32\nrx: 0\nrx-max: 0\ntx: 0\ntx-max: 0\n"),
            ("coalescing", "rx-usecs: 8\nadaptive-rx: on\n"),
            ("pause", "autoneg: off\nrx: on\ntx: off\n"),
            ("features", "rx-gro: on\nrx-lro: off [fixed]\n"),
            ("fec", "active: RS\n"),
            ("rss", "queue-0: 64\nqueue-1: 64\nkey: 6d5a56da\n"),
            ("statistics", "NIC statistics:\n     rx_symbol_err_phy: 17\n     rx_packets: 5\n"),
        ],
    );
    tree.put(
        "proc/interrupts",
        "      CPU0 CPU1\n 90:  7  0  PCI-MSIX-0000:b1:00.0  1-edge  mlx5_comp0@pci:0000:b1:00.0\n\
          91:  0  0  PCI-MSIX-0000:b1:00.0  0-edge  mlx5_async0@pci:0000:b1:00.0\n 92: 5 5 IO-APIC 5-edge ttyS0\n",
    );
    tree.put_all("proc/irq/90", &[("smp_affinity_list", "8-9\n"), ("effective_affinity_list", "8\n")]);
    tree
}

#[test]
fn server_with_two_sockets_is_read_with_its_slow_bridge() {
    let host = dual_socket().inventory();
    assert_eq!((host.host.as_str(), host.system.kernel.as_str()), ("dtn1", "6.12.9"));
    let packages: Vec<String> = host.cpu.packages.iter().map(|package| package.cpus.to_string()).collect();
    assert_eq!(packages, ["0-7,16-23", "8-15,24-31"]);
    assert_eq!((host.cpu.siblings.len(), host.cpu.caches.len(), host.nodes.len()), (16, 2, 2));
    assert_eq!(host.nodes[1].memory_bytes, Some(128 << 30));
    let nic = host.interface("ens3f0np0").unwrap();
    assert_eq!((nic.kind, nic.node, nic.mtu_bytes), (InterfaceKind::Hardware, Some(1), Some(9000)));
    assert_eq!(nic.speed_bps, Some(100_000_000_000));
    let pcie = nic.pcie.as_ref().unwrap();
    assert_eq!((pcie.id.as_str(), pcie.width, pcie.speed_gt_s), ("15b3:1019", Some(16), Some(8.0)));
    assert_eq!(pcie.bottleneck.as_deref(), Some("0000:b0:02.0 at 8 GT/s x8"));
    assert_eq!(nic.rings, Some(Rings { rx: 1024, rx_max: 8192, tx: 1024, tx_max: 8192 }));
    assert_eq!(nic.coalescing.unwrap().adaptive_rx, Some(true));
    assert_eq!(nic.coalescing.unwrap().tx_usecs, None);
    assert_eq!(nic.features["rx-lro"], Feature { is_on: false, is_fixed: true });
    assert_eq!(nic.rss.as_ref().unwrap().entries_by_queue.len(), 2);
    assert_eq!(nic.fec.as_ref().unwrap().active, "RS");
    assert_eq!(nic.errors.get("rx_symbol_err_phy"), Some(&17));
    assert!(!nic.errors.contains_key("rx_packets"));
    let steering: Vec<String> = nic.receive_queues.iter().map(|queue| queue.rps_cpus.to_string()).collect();
    assert_eq!(steering, ["0,8", ""], "queue 9 comes before queue 10");
}

#[test]
fn interrupts_belong_to_the_interface_of_their_device() {
    let host = dual_socket().inventory();
    let nic = host.interface("ens3f0np0").unwrap();
    let found: Vec<_> = nic.interrupts.iter().map(|line| (line.irq, line.queue)).collect();
    assert_eq!(found, [(90, Some(0)), (91, None)], "the line of ttyS0 belongs to no interface");
    let line = &nic.interrupts[0];
    assert_eq!((line.affinity.to_string(), line.effective.to_string()), ("8-9".into(), "8".into()));
    assert_eq!(line.fired, [(0, 7)].into());
}

#[test]
fn settings_have_single_spaces_and_no_keys() {
    let host = dual_socket().inventory();
    assert_eq!(host.sysctls["net.ipv4.tcp_rmem"], "4096 131072 6291456");
    assert!(host.sysctls.keys().all(|name| !name.contains("key")), "{:?}", host.sysctls);
    assert_eq!(host.congestion.available, ["reno", "cubic"]);
    assert_eq!(host.congestion.loadable, ["bbr"]);
    let managers: Vec<_> = host.managers.iter().map(|m| (m.name.as_str(), m.detail.as_deref())).collect();
    assert_eq!(managers, [("irqbalance", None), ("tuned", Some("network-throughput"))]);
}

#[test]
fn laptop_has_frequencies_and_no_numa_node() {
    let tree = Tree::new();
    tree.cpus(1, 4);
    fs::remove_dir_all(tree.0.path().join("sys/devices/system/node")).unwrap();
    tree.put_all(
        "sys/devices/system/cpu/cpufreq/policy0",
        &[
            ("affected_cpus", "0 4\n"),
            ("scaling_driver", "intel_pstate\n"),
            ("scaling_governor", "powersave\n"),
            ("scaling_available_governors", "performance powersave\n"),
            ("scaling_max_freq", "4700000\n"),
        ],
    );
    tree.put("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
    tree.put_all(
        "sys/devices/system/cpu/cpu0/cpuidle/state2",
        &[("name", "C6\n"), ("latency", "170\n"), ("disable", "0\n")],
    );
    tree.put("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    tree.put("sys/class/net/wlp2s0/ifindex", "3\n");
    tree.put("sys/class/net/wlp2s0/uevent", "DEVTYPE=wlan\nINTERFACE=wlp2s0\n");
    tree.put("sys/class/net/wlp2s0/device.link", "sys/devices/pci0000:00/0000:00:14.3\n");
    let host = tree.inventory();
    assert_eq!(host.nodes, []);
    let policy = &host.cpu.frequency[0];
    assert_eq!((policy.cpus.to_string().as_str(), policy.governor.as_str()), ("0,4", "powersave"));
    assert_eq!((policy.max_khz, policy.min_khz, host.cpu.boost), (Some(4_700_000), None, Some(false)));
    assert_eq!(host.cpu.idle_states[0].exit_latency_us, 170);
    assert_eq!(host.memory.transparent_huge_pages.as_deref(), Some("always"));
    let rings =
        host.missing.iter().find(|missing| missing.what == "wlp2s0: rings").expect("they are not there");
    assert!(!rings.remedy.is_empty() && rings.reason.contains("not in the fixture"), "{rings:?}");
}

#[test]
fn virtual_machine_is_read_from_its_recording() {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/virtio_net-6.18");
    let host = inventory(&mut Root::recorded(folder));
    let nic = host.interface("eth0").unwrap();
    assert_eq!(
        (nic.kind, nic.driver.as_ref().unwrap().name.as_str()),
        (InterfaceKind::Hardware, "virtio_net")
    );
    assert_eq!(nic.root_qdisc().unwrap().kind, "pfifo_fast");
    let queues: Vec<_> = nic.interrupts.iter().map(|line| line.queue).collect();
    assert_eq!(queues, [None, Some(0), Some(0)]);
    assert_eq!(host.interface("lo").unwrap().kind, InterfaceKind::Loopback);
    assert_eq!(host.interface("ifb0").unwrap().kind, InterfaceKind::Virtual);
}

#[test]
fn empty_root_gives_a_list_of_everything_and_no_wrong_value() {
    let host = Tree::new().inventory();
    assert_eq!((&host.interfaces, &host.nodes, &host.cpu.packages), (&vec![], &vec![], &vec![]));
    assert!(host.sysctls.is_empty() && host.routes.is_empty() && host.host.is_empty());
    let names: Vec<&str> = host.missing.iter().map(|missing| missing.what.as_str()).collect();
    for part in [
        "interfaces",
        "memory",
        "interrupts",
        "routes",
        "qdiscs",
        "kernel and host name",
        "/proc/sys/net/core",
    ] {
        assert!(names.contains(&part), "{part}: {names:?}");
    }
    assert!(host.missing.iter().all(|missing| !missing.reason.is_empty() && !missing.remedy.is_empty()));
    assert_eq!(Inventory::from_json(&host.to_json()).unwrap(), host);
}

/// Runs `work` in a thread of its own after `prepare`; skips the test by name if that fails.
fn in_thread(test: &str, prepare: fn() -> io::Result<()>, work: fn()) {
    let ran = thread::spawn(move || prepare().map(|()| work())).join();
    match ran {
        Ok(Ok(())) => {}
        // Past the capture of libtest, which hides the output of a test that passes.
        Ok(Err(reason)) => drop(writeln!(io::stderr(), "{test} skipped: {reason}")),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn command(words: &str) -> io::Result<String> {
    let mut words = words.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

fn veth_in_a_namespace() -> io::Result<()> {
    // SAFETY: unshare takes no pointers; only this thread's namespace changes, and it ends with the thread.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(io::Error::last_os_error());
    }
    command("ip link add v0 mtu 1400 txqueuelen 777 type veth peer name v1")?;
    command("ip address add 192.0.2.1/24 dev v0")?;
    command("ip link set v1 up")?;
    command("ip link set v0 up")?;
    command("ip route add 198.51.100.0/24 via 192.0.2.2 initcwnd 32").map(drop)
}

#[test]
fn namespace_has_the_values_that_ip_and_tc_print() {
    in_thread("namespace_has_the_values_that_ip_and_tc_print", veth_in_a_namespace, || {
        let begin = Instant::now();
        let host = inventory(&mut Root::live());
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
        let names: Vec<&str> = host.interfaces.iter().map(|interface| interface.name.as_str()).collect();
        assert!(names.contains(&"v0") && names.contains(&"lo") && names.len() == 3, "{names:?}");
        let v0 = host.interface("v0").unwrap();
        assert_eq!((v0.kind, v0.mtu_bytes, v0.tx_queue_length), (InterfaceKind::Veth, Some(1400), Some(777)));
        assert!(v0.addresses.contains(&"192.0.2.1/24".to_owned()), "{:?}", v0.addresses);
        assert_eq!((v0.rings, v0.speed_bps, v0.interrupts.len()), (None, None, 0));
        let shown = command("ip -d link show dev v0").unwrap();
        let gso = v0.gso_max_bytes.unwrap();
        assert!(shown.contains(&format!("gso_max_size {gso}")), "{shown}");
        let shown = command("tc qdisc show dev v0").unwrap();
        let root = v0.root_qdisc().unwrap();
        assert!(shown.starts_with(&format!("qdisc {} {}", root.kind, root.handle)), "{shown}");
        let route = host.routes.iter().find(|route| route.destination == "198.51.100.0/24").unwrap();
        assert_eq!((route.gateway.as_deref(), route.interface.as_str()), (Some("192.0.2.2"), "v0"));
        assert_eq!(route.metrics["initcwnd"], "32");
        let rings = host.missing.iter().find(|missing| missing.what.contains("rings"));
        assert_eq!(rings, None, "a veth has no rings, which is not a finding");
        // /sys is that of another namespace, and nothing of it is taken for this one's.
        assert!(v0.receive_queues.is_empty());
        let queues = host.missing.iter().find(|missing| missing.what.starts_with("queues"));
        assert!(queues.is_some_and(|missing| missing.remedy.contains("ip netns exec")), "{:?}", host.missing);
    });
}

fn become_nobody() -> io::Result<()> {
    const NOBODY: libc::uid_t = 65_534;
    // SAFETY: the system call takes no pointers. Unlike libc's function it changes this thread only.
    match unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[test]
fn user_without_privileges_reads_all_but_what_root_owns() {
    in_thread("user_without_privileges_reads_all_but_what_root_owns", become_nobody, || {
        let host = inventory(&mut Root::live());
        assert!(!host.system.is_privileged);
        assert!(!host.interfaces.is_empty() && !host.cpu.online.is_empty());
        assert!(host.sysctls.contains_key("net.ipv4.tcp_rmem"));
        let lo = host.interface("lo").unwrap();
        assert!(!lo.features.is_empty(), "ethtool reads features without privileges");
        let denied = host.missing.iter().filter(|missing| missing.reason.contains("ermission denied"));
        assert!(denied.clone().all(|missing| missing.remedy == "run as root"), "{:?}", host.missing);
    });
}

#[test]
fn recording_of_this_host_is_read_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    wirespeed_host::record_fixture(&mut Root::live(), &copy).unwrap();
    let recorded = inventory(&mut Root::recorded(&copy));
    let live = inventory(&mut Root::live());
    assert_eq!(recorded.cpu, live.cpu);
    assert_eq!((&recorded.system, &recorded.host), (&live.system, &live.host));
    let names = |host: &Inventory| host.interfaces.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&recorded), names(&live));
    let parts = |host: &Inventory| {
        let one = |i: &wirespeed_inventory::Interface| {
            (i.rings, i.features.clone(), i.qdiscs.clone(), i.pcie.clone())
        };
        host.interfaces.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(parts(&recorded), parts(&live));
}
