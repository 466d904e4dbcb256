//! Faults that need a driver of a real interface, or parts of a kernel that this machine may lack: each is made in a
//! guest of QEMU with Debian's kernel and has to be found at its stage, with the count of the fault's own counter.

mod support;

use serde_json::Value;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};
use support::bed::Bed;
use support::guest::{in_guest, with_a_ring_that_drops, with_queues};
use support::ledger::{entry, lost, results};

/// What the program says of traffic from the first machine to the last.
fn probe(bed: &Bed, more: &[&str]) -> Value {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let out = format!("out-{}", COUNT.fetch_add(1, Relaxed));
    let ends = ["probe", bed.name(0), bed.name(-1), "--json", "--out", &out];
    let run = results(&bed.wirespeed(&[&ends, more].concat()));
    let rows = run["ledger"]["data"]["lost"].as_array().expect("a ledger has losses, if only zeros");
    let rows = rows.iter().filter(|row| row["packets"] != 0);
    println!("{}", rows.map(Value::to_string).collect::<Vec<_>>().join("\n"));
    println!("{}", run["warnings"]);
    println!("{}, {} bit/s", run["limit"], run["metrics"]["goodput_bps"]);
    run
}

/// A few packets of each flow ask first whether the way is open. They are no part of the run, and counters outside of it
/// have them.
const GREETING: i64 = 10;

/// Datagrams of 1000 bytes.
fn datagrams(bed: &Bed, rate: &str) -> Value {
    datagrams_for(bed, rate, "1 s")
}

fn datagrams_for(bed: &Bed, rate: &str, time: &str) -> Value {
    probe(bed, &["--udp", rate, "--datagram", "1000", "--time", time])
}

/// Packets for which the interface of the receiving machine had no descriptor, by its driver's own statistics.
fn out_of_descriptors(bed: &Bed) -> i64 {
    let told = bed.told(bed.name(-1), "ethtool -S left");
    let of_queues = told.lines().filter_map(|line| line.trim().strip_prefix("pkts rx OOB: "));
    of_queues.map(|value| value.parse::<i64>().expect("a number")).sum()
}

fn set_ring(bed: &Bed, descriptors: u32) {
    bed.inside(bed.name(-1), &format!("ethtool -G left rx {descriptors}")).unwrap();
}

/// What the driver counts while this happens.
fn counted<T>(bed: &Bed, during: impl FnOnce() -> T) -> (T, i64) {
    let before = out_of_descriptors(bed);
    let done = during();
    (done, out_of_descriptors(bed) - before)
}

/// The processor that serves the receive ring. The interface has four, but QEMU fills the first only.
fn serving_core(bed: &Bed) -> usize {
    let line = "$(sed -n 's/^ *\\([0-9]*\\):.*left-rxtx-0$/\\1/p' /proc/interrupts)";
    let told = bed.told(bed.name(-1), &format!("cat /proc/irq/{line}/effective_affinity_list"));
    told.trim().parse().unwrap_or_else(|_| panic!("one processor serves the ring, not {told:?}"))
}

/// Leaves a core to nobody else but for the kernel's 5 % (`sched_rt_runtime_us`) while something goes on.
fn with_a_hog_on(core: usize, during: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: a set of processors and a priority, of this thread, both written before they are passed.
            let taken = unsafe {
                let mut only: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(core, &mut only);
                let above_all = libc::sched_param { sched_priority: 50 };
                libc::sched_setaffinity(0, size_of_val(&only), &only)
                    + libc::sched_setscheduler(0, libc::SCHED_FIFO, &above_all)
            };
            assert_eq!(taken, 0, "root may take a core: {}", std::io::Error::last_os_error());
            while !done.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        during();
        done.store(true, Relaxed);
    });
}

/// What is lost in the ring is found there, all of it, and nothing is blamed on the network but for what may have waited
/// somewhere when the run ended. Returns how much the ring lost.
fn lost_in_the_ring(bed: &Bed, ring: u32, waiting: i64, run: impl FnOnce() -> Value) -> i64 {
    set_ring(bed, ring);
    let (run, dropped) = counted(bed, run);
    println!("ring of {ring}: the driver counts {dropped}, sent {}", entry(&run, "data", "sent"));
    assert!(entry(&run, "data", "sent") > 3000, "{}", run["ledger"]);
    assert_eq!(lost(&run, "rx_ring"), dropped, "{}", run["ledger"]);
    assert!((0..=waiting).contains(&lost(&run, "network")), "{}", run["ledger"]);
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
    dropped
}

#[test]
fn a_full_receive_ring_is_found_there_and_a_larger_one_loses_less() {
    in_guest("a_full_receive_ring_is_found_there_and_a_larger_one_loses_less", || {
        let bed = with_a_ring_that_drops();
        let [small, large] =
            [32, 4096].map(|ring| lost_in_the_ring(&bed, ring, 0, || datagrams(&bed, "50 Mbit/s")));
        assert!(small > 100, "{small}");
        assert!(large * 10 < small, "{large} of {small}");
    });
}

#[test]
fn what_tcp_loses_in_the_ring_is_found_there() {
    in_guest("what_tcp_loses_in_the_ring_is_found_there", || {
        let bed = with_a_ring_that_drops();
        let [small, large] =
            [32, 4096].map(|ring| lost_in_the_ring(&bed, ring, 0, || probe(&bed, &["--time", "2 s"])));
        assert!(small > 0, "{small}");
        assert!(large * 10 < small, "{large} of {small}");
    });
}

/// Packets that came in, by the interface's own count.
fn received(bed: &Bed) -> i64 {
    bed.told(bed.name(-1), "cat /sys/class/net/left/statistics/rx_packets").trim().parse().expect("a number")
}

/// The core is taken only while packets come. What still waits in the rings of the two interfaces at the end of a run
/// has neither arrived nor been dropped, and emulated cores do stand still for longer than a receiver waits.
#[test]
fn a_hog_on_the_interrupts_core_fills_the_ring() {
    in_guest("a_hog_on_the_interrupts_core_fills_the_ring", || {
        let bed = with_a_ring_that_drops();
        const TWO_RINGS: i64 = 2 * 256;
        let core = serving_core(&bed);
        let with = lost_in_the_ring(&bed, 256, TWO_RINGS, || {
            let (came, lost) = (received(&bed), out_of_descriptors(&bed));
            std::thread::scope(|scope| {
                let traffic = scope.spawn(|| datagrams_for(&bed, "50 Mbit/s", "3 s"));
                let until = |is_so: &dyn Fn() -> bool| {
                    while !traffic.is_finished() && !is_so() {
                        sleep(Duration::from_millis(10));
                    }
                };
                until(&|| received(&bed) > came + 500);
                with_a_hog_on(core, || {
                    let began = Instant::now();
                    let long_enough = || began.elapsed() > Duration::from_secs(1);
                    until(&|| out_of_descriptors(&bed) > lost + 500 || long_enough());
                });
                traffic.join().unwrap()
            })
        });
        assert!(with > 100, "{with}");
        let without = lost_in_the_ring(&bed, 256, TWO_RINGS, || datagrams(&bed, "50 Mbit/s"));
        assert!(without * 4 < with, "{without} without the hog, {with} with it");
    });
}

#[test]
fn what_netem_drops_in_the_middle_is_the_networks() {
    in_guest("what_netem_drops_in_the_middle_is_the_networks", || {
        let bed = Bed::new("netem", 1).expect("the guest has namespaces");
        // Packets, not pieces: netem counts what it was given as one drop.
        bed.inside(bed.name(0), "ip link set right gso_max_segs 1").unwrap();
        bed.inside(bed.name(1), "tc qdisc add dev right root netem loss 5%").unwrap();
        let run = datagrams(&bed, "20 Mbit/s");
        let told = bed.told(bed.name(1), "tc -s qdisc show dev right");
        let dropped = told.split("dropped ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
        let dropped: i64 = dropped.parse().unwrap();
        println!("netem counts {dropped}");
        assert!(dropped > 20 + GREETING, "{dropped}");
        let of_greeting = dropped - lost(&run, "network");
        assert!((0..GREETING).contains(&of_greeting), "{of_greeting}: {}", run["ledger"]);
        assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
    });
}

/// Packets that the backlogs of all processors dropped.
fn dropped_by_backlogs() -> i64 {
    let told = std::fs::read_to_string("/proc/net/softnet_stat").expect("/proc is there");
    let second =
        |line: &str| line.split_whitespace().nth(1).and_then(|word| i64::from_str_radix(word, 16).ok());
    told.lines().filter_map(second).sum()
}

/// What is told while packets go to other processors by their backlogs, each of which holds one. The limit is that of
/// the machine, not of a namespace, and the interface outlives the bed: both are put back.
fn with_short_backlogs<T>(bed: &Bed, during: impl FnOnce() -> T) -> T {
    const LIMIT: &str = "/proc/sys/net/core/netdev_max_backlog";
    let steer = |cores: &str| {
        let queues = "/sys/class/net/left/queues/rx-*";
        let all = format!("for queue in {queues}; do echo {cores} > $queue/rps_cpus; done");
        bed.inside(bed.name(-1), &all).unwrap();
    };
    let merge = |state: &str| {
        bed.inside(bed.name(-1), &format!("ethtool -K left gro {state} lro {state}")).unwrap();
    };
    let before = std::fs::read_to_string(LIMIT).unwrap();
    steer("f");
    merge("off");
    std::fs::write(LIMIT, "1").unwrap();
    let done = during();
    std::fs::write(LIMIT, before).unwrap();
    merge("on");
    steer("0");
    done
}

#[test]
fn a_backlog_of_one_packet_is_found_there() {
    in_guest("a_backlog_of_one_packet_is_found_there", || {
        let bed = with_a_ring_that_drops();
        let before = dropped_by_backlogs();
        let run = with_short_backlogs(&bed, || datagrams(&bed, "50 Mbit/s"));
        let dropped = dropped_by_backlogs() - before;
        println!("softnet_stat counts {dropped}");
        assert!(dropped > 100, "{dropped}");
        assert_eq!(lost(&run, "softnet_backlog"), dropped, "{}", run["ledger"]);
        assert_eq!(lost(&run, "network"), 0, "{}", run["ledger"]);
        assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
    });
}

/// Packets of each receive queue, by the driver's own statistics.
fn by_queue(bed: &Bed) -> Vec<i64> {
    let told = bed.told(bed.name(-1), "ethtool -S left");
    let of_queue = |line: &str| -> Option<i64> {
        let (name, value) = line.trim().split_once(": ")?;
        let queue = name.strip_prefix("rx_queue_")?.strip_suffix("_packets")?;
        queue.parse::<u32>().is_ok().then(|| value.parse().ok())?
    };
    told.lines().filter_map(of_queue).collect()
}

#[test]
fn flows_that_share_a_queue_are_told_by_its_counter() {
    in_guest("flows_that_share_a_queue_are_told_by_its_counter", || {
        let Some(bed) = with_queues() else { return };
        for end in [(0, "right"), (-1, "left")] {
            bed.inside(bed.name(end.0), &format!("ethtool -L {} combined 4", end.1)).unwrap();
        }
        let used_by = |flows: &str, queues: u32| {
            bed.inside(bed.name(-1), &format!("ethtool -X left equal {queues}")).unwrap();
            let before = by_queue(&bed);
            let run =
                probe(&bed, &["--udp", "5 Mbit/s", "--datagram", "1000", "--flows", flows, "--time", "1 s"]);
            let grown: Vec<i64> =
                by_queue(&bed).iter().zip(before).map(|(now, before)| now - before).collect();
            println!("{flows} flows over {queues} queues: {grown:?}");
            assert_eq!(grown.len(), 4);
            assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
            // What arrived is what the queues had.
            let arrived = entry(&run, "data", "delivered") + lost(&run, "rcvbuf") + lost(&run, "app");
            let of_greeting = grown.iter().sum::<i64>() - arrived;
            assert!((0..8 * GREETING).contains(&of_greeting), "{of_greeting}: {grown:?} {}", run["ledger"]);
            grown.iter().filter(|packets| **packets > 100).count()
        };
        assert_eq!(used_by("2", 1), 1);
        // All eight on one queue is an accident of one in 16384.
        assert!(used_by("8", 4) > 1);
    });
}
