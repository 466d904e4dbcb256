//! Whole hosts, recorded on Linux 6.18, 6.12 and 6.1: everything is read again, and what was lost stands at its stage.

use std::path::{Path, PathBuf};
use wirespeed_host::{Meaning, Place, Reading, Root, Snapshot, record_fixture, take};
use wirespeed_record::Stage;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn read(name: &str) -> Snapshot {
    let (snapshot, unavailable) = take(&mut Root::recorded(fixture(name)));
    assert!(unavailable.is_empty(), "{name}: {unavailable:?}");
    snapshot
}

fn at<'a>(snapshot: &'a Snapshot, source: &str, counter: &str) -> &'a Reading {
    let mut found = snapshot.readings.iter().filter(|r| r.source == source && r.counter == counter);
    found.next().unwrap_or_else(|| panic!("no {source}/{counter}"))
}

#[test]
fn every_source_reads_a_recorded_host() {
    let snapshot = read("virtio_net-6.18");
    for source in wirespeed_host::sources() {
        let has = snapshot.readings.iter().any(|reading| reading.source == source.name());
        // This machine's interfaces have no PAUSE, FEC or IEEE counters, which is not reported.
        assert!(has || source.name() == "standard", "{} read nothing", source.name());
        assert!(source.can_run(&mut Root::recorded(fixture("virtio_net-6.18"))).is_ok());
    }
    assert!(snapshot.clock.realtime_ns > 0);
}

#[test]
fn a_queues_interrupt_is_found_with_the_cpu_that_serves_it() {
    let snapshot = read("virtio_net-6.18");
    let of_queue = snapshot.readings.iter().find(|reading| {
        reading.counter == "effective_cpu"
            && matches!(&reading.place, Place::Interrupt { name, .. } if &**name == "virtio2-input.0")
    });
    let place = &of_queue.expect("the line of the receive queue").place;
    assert!(
        matches!(place, Place::Interrupt { queue: Some(0), device: Some(device), .. } if &*device.name == "eth0"),
        "{place:?}"
    );
}

/// A token bucket of 20 Mbit/s with room for 30 kB stood before a TCP flow; `tc -s qdisc` said 408 drops.
#[test]
fn a_senders_drops_are_those_of_its_qdisc() {
    let snapshot = read("veth-6.18-sender");
    let drops = snapshot.readings.iter().find(|reading| {
        reading.counter == "drops"
            && matches!(&reading.place, Place::Qdisc { kind, device, .. } if &**kind == "tbf" && &*device.name == "v0")
    });
    let drops = drops.expect("the bucket is read");
    assert_eq!(
        (drops.value, drops.sense.stage, drops.is_the_count_of_a_loss()),
        (408, Some(Stage::Qdisc), true)
    );
    let again = at(&snapshot, "protocols", "TcpRetransSegs");
    assert_eq!(again.sense.meaning, Meaning::Retransmission);
    assert!(again.value > 0);
    let fast = at(&snapshot, "protocols", "TcpExtTCPFastRetrans");
    assert_eq!(fast.duplicate_of.as_deref(), Some("protocols/TcpRetransSegs"));
}

/// Datagrams came faster than a socket with a buffer of 4608 bytes was read: /proc/net/snmp said 56.
#[test]
fn a_receivers_lost_datagrams_stand_at_its_buffer_once() {
    let snapshot = read("veth-6.18-receiver");
    let lost = at(&snapshot, "protocols", "UdpRcvbufErrors");
    assert_eq!(
        (lost.value, lost.sense.stage, lost.is_the_count_of_a_loss()),
        (56, Some(Stage::RcvBuf), true)
    );
    assert_eq!(
        at(&snapshot, "protocols", "UdpInErrors").duplicate_of.as_deref(),
        Some("protocols/UdpRcvbufErrors")
    );
    let of_socket = snapshot.readings.iter().find(|reading| {
        reading.counter == "drops"
            && matches!(&reading.place, Place::Socket(s) if s.protocol == "udp" && s.local.port() == 5000)
    });
    let of_socket = of_socket.expect("the socket has a row");
    assert_eq!((of_socket.value, of_socket.is_the_count_of_a_loss()), (56, false));
}

#[test]
fn nothing_is_lost_between_a_snapshot_and_itself() {
    let snapshot = read("veth-6.18-sender");
    let changes = snapshot.since(&snapshot);
    assert_eq!(changes.losses().count(), 0);
    assert_eq!(changes.changes.len(), snapshot.readings.len());
}

#[test]
fn a_recording_of_a_recording_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    for name in ["veth-6.18-sender", "virtio_net-6.18"] {
        let copy = copy.join(name);
        record_fixture(&mut Root::recorded(fixture(name)), &copy).unwrap();
        let (again, unavailable) = take(&mut Root::recorded(&copy));
        assert_eq!(unavailable, []);
        assert_eq!(again, read(name));
        let refused = record_fixture(&mut Root::recorded(fixture(name)), &copy).unwrap_err();
        assert!(refused.to_string().contains("name a new folder"), "{refused}");
    }
}

/// What is not there is said with a remedy, and the rest is read.
#[test]
fn a_host_without_anything_lacks_everything_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (snapshot, unavailable) = take(&mut Root::recorded(folder.path()));
    assert!(snapshot.readings.is_empty());
    for source in wirespeed_host::sources() {
        let unavailable = unavailable.iter().find(|one| one.source_name == source.name());
        let unavailable = unavailable.unwrap_or_else(|| panic!("{} says nothing", source.name()));
        assert!(!unavailable.remedy.is_empty() && !unavailable.why.is_empty(), "{unavailable}");
        assert!(source.can_run(&mut Root::recorded(folder.path())).is_err());
    }
}

/// Linux 6.12 in virtual time: a bucket of 100 Mbit/s above fq, ECN on. `tc -s qdisc` said 60 marks, 10 flows
/// throttled and 2337 overlimits.
#[test]
fn marks_and_throttling_of_fq_are_read_below_its_bucket() {
    let snapshot = read("veth-6.12-fq");
    let of = |kind: &str, counter: &str| {
        let found = snapshot.readings.iter().find(|reading| {
            reading.counter == counter
                && matches!(&reading.place, Place::Qdisc { kind: found, .. } if &**found == kind)
        });
        found.unwrap_or_else(|| panic!("no {counter} of {kind}"))
    };
    let marks = of("fq", "fq.ce_mark");
    assert_eq!((marks.value, marks.sense.meaning), (60, Meaning::Hint));
    assert_eq!(of("fq", "fq.throttled").value, 10);
    assert_eq!(of("tbf", "overlimits").value, 2337);
    assert_eq!(of("fq", "sent_packets").value, of("tbf", "sent_packets").value);
    // What fq drops shows in the bucket as well.
    assert_eq!(of("fq", "inner_drops").duplicate_of.as_deref(), Some("qdisc/drops"));
    assert_eq!(of("fq", "fq.flows_plimit").duplicate_of.as_deref(), Some("qdisc/drops"));
    assert!(of("tbf", "drops").is_the_count_of_a_loss());
    // After a mark the receiver's acknowledgements say so until the sender has answered (RFC 3168, 6.1.3), and all they
    // acknowledge is counted.
    let told = at(&snapshot, "protocols", "TcpExtTCPDeliveredCE").value;
    assert!(told >= marks.value, "{told}");
}

/// Debian's Linux 6.1 under QEMU, with its e1000e, two sockets and four CPUs.
const DEBIAN: &str = "e1000e-6.1";

#[test]
fn an_older_kernel_lacks_one_source_and_says_which_kernel_has_it() {
    let (snapshot, unavailable) = take(&mut Root::recorded(fixture(DEBIAN)));
    assert_eq!(unavailable.len(), 1, "{unavailable:?}");
    assert_eq!(unavailable[0].source_name, "qstats");
    assert!(unavailable[0].remedy.contains("6.9"), "{}", unavailable[0]);
    assert!(snapshot.readings.len() > 500);
    let qstats = wirespeed_host::source("qstats").unwrap();
    assert_eq!(qstats.can_run(&mut Root::recorded(fixture(DEBIAN))), Err(unavailable[0].clone()));
}

/// Two frames were too short. The driver says so in three counters, the interface in two.
#[test]
fn damaged_frames_are_counted_once_however_often_they_are_told() {
    let (snapshot, _) = take(&mut Root::recorded(fixture(DEBIAN)));
    let of_line = |r: &&Reading| {
        r.sense.meaning == Meaning::Loss
            && r.place.device().is_some_and(|d| &*d.name == "eth1")
            && r.value > 0
    };
    let told: Vec<_> = snapshot.readings.iter().filter(of_line).collect();
    assert_eq!(told.len(), 5, "{told:#?}");
    let counted: Vec<_> = told.iter().filter(|r| r.is_the_count_of_a_loss()).collect();
    assert_eq!(counted.len(), 1, "{counted:#?}");
    assert_eq!((&*counted[0].counter, counted[0].value), ("rx_short_length_errors", 2));
    assert_eq!(counted[0].sense.stage, Some(Stage::Network));
}

#[test]
fn the_core_that_serves_a_queue_is_the_one_that_was_squeezed() {
    let (snapshot, _) = take(&mut Root::recorded(fixture(DEBIAN)));
    let serves = snapshot.readings.iter().find(|reading| {
        reading.counter == "effective_cpu"
            && matches!(&reading.place, Place::Interrupt { name, queue: Some(0), .. } if &**name == "eth1-rx-0")
    });
    let core = serves.expect("the queue has a line").value as u32;
    let squeezed: Vec<u64> = (0..4)
        .map(|cpu| {
            let on_cpu = |r: &&Reading| r.counter == "time_squeeze" && r.place == Place::Cpu(cpu);
            snapshot.readings.iter().find(on_cpu).expect("every CPU has a line").value
        })
        .collect();
    assert_eq!((core, squeezed), (3, vec![0, 0, 19, 250]));
}

/// A program sent 229253 datagrams as fast as it could; the rest are ARP and neighbour discovery.
#[test]
fn packets_of_a_program_equal_drops_of_the_qdisc_and_packets_of_the_interface() {
    let (snapshot, _) = take(&mut Root::recorded(fixture("virtio_net-6.1-mq")));
    let dropped = snapshot.readings.iter().filter(|r| r.source == "qdisc" && r.counter == "drops");
    let dropped: u64 = dropped.map(|r| r.value).sum();
    let sent = at(&snapshot, "ethtool", "tx_queue_0_packets").value;
    let datagrams = at(&snapshot, "protocols", "UdpOutDatagrams").value;
    assert_eq!((datagrams, dropped, sent), (229_253, 614, 228_651));
    assert!((datagrams..datagrams + 20).contains(&(dropped + sent)));
}

/// Debian's Linux 6.1 under QEMU, with a vmxnet3 whose receive ring of 32 was too small for 12423 datagrams.
#[test]
fn a_full_ring_is_counted_at_the_queue_that_has_it() {
    let (snapshot, _) = take(&mut Root::recorded(fixture("vmxnet3-6.1")));
    let of_rings = |r: &&Reading| {
        r.is_the_count_of_a_loss() && r.sense.stage == Some(Stage::RxRing) && r.place.device().is_some()
    };
    let told: Vec<_> = snapshot.readings.iter().filter(of_rings).filter(|r| r.value > 0).collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    let (counter, queue) = match &told[0].place {
        Place::Queue { queue, .. } => (&*told[0].counter, *queue),
        other => panic!("{other:?}"),
    };
    assert_eq!((counter, queue, told[0].value), ("pkts rx OOB", 0, 3604));
    // The flow ended before: what was not lost was read, but for two that the socket had no room for.
    let of_protocol = |counter| at(&snapshot, "protocols", counter).value;
    assert_eq!((of_protocol("UdpInDatagrams"), of_protocol("UdpRcvbufErrors")), (12_423 - 3604 - 2, 2));
    let of_driver = at(&snapshot, "ethtool", "tx timeout count");
    assert!(matches!(of_driver.place, Place::Device(_)), "{of_driver:?}");
}
