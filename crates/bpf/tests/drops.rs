//! Drops on this machine's kernel, counted against what the kernel itself counts.

#[path = "support/bed.rs"]
mod bed;

use bed::{Bed, RECEIVER, SENDER, flow, skip, within};
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;
use wirespeed_bpf::Reason;
use wirespeed_bpf::drops::{Dropped, Filter, Protocol, Watch, WatchError, can_watch, this_namespace};

const PORT: u16 = 5_201;

/// The three machines, and a watch of one of them or of all; `None`, and why is told, where that cannot be.
fn bed(test: &str) -> Option<Bed> {
    match can_watch() {
        Ok(()) => Bed::new(test),
        Err(reason) => {
            skip(test, &reason.to_string());
            None
        }
    }
}

fn filter(namespace: Option<u32>) -> Filter {
    Filter { ports: vec![PORT..=PORT + 9], namespace, measure: true, ranges: true }
}

fn watch(namespace: Option<u32>) -> Watch {
    Watch::start(&filter(namespace)).unwrap_or_else(|error| panic!("{error}"))
}

fn datagrams(bed: &Bed, count: usize, bytes: usize) {
    within(&bed.sender, || {
        let socket = UdpSocket::bind(SocketAddrV4::new(SENDER, PORT + 1)).unwrap();
        let data = vec![3; bytes];
        for _ in 0..count {
            socket.send_to(&data, SocketAddrV4::new(RECEIVER, PORT)).unwrap();
        }
    });
    // What is under way between namespaces is delivered by softirqs of this machine.
    std::thread::sleep(Duration::from_millis(100));
}

fn sum(rows: &[Dropped], reason: &str) -> (u64, u64) {
    let of = rows.iter().filter(|row| row.reason.starts_with(reason));
    of.fold((0, 0), |(packets, bytes), row| (packets + row.packets, bytes + row.bytes))
}

fn queue_drops(bed: &Bed) -> u64 {
    let text = bed.told(&bed.router, "tc -s qdisc show dev right");
    let (_, rest) = text.split_once("dropped ").unwrap_or_else(|| panic!("{text}"));
    rest.split(',').next().unwrap().parse().unwrap()
}

fn device(bed: &Bed, name: &str, device: &str) -> u32 {
    bed.told(name, &format!("cat /sys/class/net/{device}/ifindex")).trim().parse().unwrap()
}

#[test]
fn a_queue_that_overflows_is_counted_as_the_queue_counts_it() {
    let Some(bed) = bed("a_queue_that_overflows_is_counted_as_the_queue_counts_it") else { return };
    bed.inside(&bed.router, "tc qdisc add dev right root tbf rate 20mbit burst 20kb limit 30kb").unwrap();
    let inode = bed.inode(&bed.router);
    let (here, elsewhere) = (watch(Some(inode)), watch(Some(bed.inode(&bed.sender))));
    let others = Watch::start(&Filter { ports: vec![9..=9], ..Filter::default() }).unwrap();
    datagrams(&bed, 2_000, 1_000);
    let rows = here.read().unwrap();
    let (packets, bytes) = sum(&rows, "QDISC");
    assert!(packets > 1_000, "{rows:?}");
    assert_eq!(packets, queue_drops(&bed));
    assert_eq!(bytes, packets * 1_028, "payload, UDP and IP");
    let right = device(&bed, &bed.router, "right");
    for row in &rows {
        assert_eq!((row.namespace, row.device), (Some(inode), Some(right)), "{row:?}");
        assert_eq!(row.flow.to_string(), format!("UDP {SENDER}:{} > {RECEIVER}:{PORT}", PORT + 1));
    }
    assert_eq!(elsewhere.read().unwrap(), [], "that was not there");
    assert_eq!(others.read().unwrap(), [], "those were not its ports");
    let cost = here.cost().unwrap();
    let (runs, time) = cost.runs.expect("root may have the time taken");
    assert!(runs >= packets && !time.is_zero() && cost.missed == 0, "{cost:?}");
    assert_eq!(others.cost().unwrap().runs, None, "nobody asked for it");
}

#[test]
fn a_socket_that_does_not_read_is_counted_as_the_host_counts_it() {
    let Some(bed) = bed("a_socket_that_does_not_read_is_counted_as_the_host_counts_it") else { return };
    let inode = bed.inode(&bed.receiver);
    let watch = watch(Some(inode));
    let socket = within(&bed.receiver, || UdpSocket::bind(SocketAddrV4::new(RECEIVER, PORT)).unwrap());
    socket.set_nonblocking(true).unwrap();
    datagrams(&bed, 1_500, 1_200);
    let rows = watch.read().unwrap();
    let lost = bed.counter(&bed.receiver, "Udp", "RcvbufErrors");
    assert!(lost > 0, "the socket took them all");
    assert_eq!(sum(&rows, "SOCKET_RCVBUFF"), (lost, lost * 1_228));
    assert!(rows.iter().all(|row| row.namespace == Some(inode)), "{rows:?}");
    let mut data = [0; 2_000];
    let read = std::iter::from_fn(|| socket.recv(&mut data).ok()).count() as u64;
    assert_eq!(read + lost, 1_500, "every packet is accounted for");
}

#[test]
fn what_tcp_loses_and_sends_again_is_counted_as_the_hosts_count_it() {
    let Some(bed) = bed("what_tcp_loses_and_sends_again_is_counted_as_the_hosts_count_it") else { return };
    bed.inside(&bed.router, "tc qdisc add dev right root tbf rate 300mbit burst 1600 limit 120kb").unwrap();
    let watch = watch(None);
    let sent = flow(&bed, PORT, 16 << 20, Some("cubic")).unwrap();
    let again = watch.retransmitted().unwrap();
    assert!(sent.retransmitted > 0, "the queue was long enough");
    let [again] = &again[..] else { panic!("one flow: {again:?}") };
    assert_eq!((again.flow.protocol, again.flow.target.port()), (Protocol::Tcp, PORT));
    assert_eq!(again.packets, bed.counter(&bed.sender, "Tcp", "RetransSegs"));
    assert_eq!(again.packets, u64::from(sent.retransmitted));
    assert_eq!(again.namespace, bed.inode(&bed.sender));
    // Trains are longer than the bucket, so the queue cuts them, and each packet of one is lost by itself.
    let rows = watch.read().unwrap();
    assert_eq!(sum(&rows, "QDISC").0, queue_drops(&bed), "{rows:?}");
    assert_eq!(watch.cost().unwrap().missed, 0);
    // Each of them is told by its sequence numbers, too.
    let (ranges, failed) = watch.ranges();
    assert!(failed.is_none(), "{failed:?}");
    assert_eq!(watch.unlisted().unwrap(), 0);
    let packets = |reason: Option<&str>| -> u64 {
        let of = ranges.iter().filter(|range| range.reason.as_deref() == reason);
        of.map(|range| u64::from(range.packets)).sum()
    };
    assert_eq!(packets(None), again.packets);
    assert_eq!(packets(Some("QDISC_DROP")), sum(&rows, "QDISC_DROP").0);
    let dropped = |sequence: u32| {
        let drops = ranges.iter().filter(|range| range.reason.is_some());
        drops.into_iter().any(|range| sequence.wrapping_sub(range.sequence) < range.bytes)
    };
    let first = ranges.iter().find(|range| range.reason.is_none()).unwrap();
    assert!(dropped(first.sequence), "what is sent again first was dropped: {first:?}");
}

#[test]
fn a_train_that_is_dropped_whole_counts_as_its_packets() {
    let Some(bed) = bed("a_train_that_is_dropped_whole_counts_as_its_packets") else { return };
    let watch = watch(Some(bed.inode(&bed.receiver)));
    within(&bed.sender, || {
        let socket = UdpSocket::bind(SocketAddrV4::new(SENDER, PORT + 1)).unwrap();
        let segment: libc::c_int = 500;
        // SAFETY: the kernel reads as many bytes as a number has.
        let result = unsafe {
            let at = (&raw const segment).cast();
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, at, 4)
        };
        assert_eq!(result, 0);
        // Nobody listens there.
        socket.send_to(&[1; 4_700], SocketAddrV4::new(RECEIVER, PORT)).unwrap();
    });
    std::thread::sleep(Duration::from_millis(50));
    // Nine of 500 bytes and one of 200, each with its headers.
    assert_eq!(sum(&watch.read().unwrap(), "NO_SOCKET"), (10, 4_700 + 10 * 28));
}

#[test]
fn an_ordinary_user_is_told_what_is_missing() {
    if let Err(reason) = can_watch() {
        return skip("an_ordinary_user_is_told_what_is_missing", &reason.to_string());
    }
    let thread = std::thread::spawn(|| {
        const NOBODY: libc::uid_t = 65_534;
        // SAFETY: a system call without pointers; called past the C library it concerns this thread only.
        let result = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        Watch::start(&filter(this_namespace())).map(drop)
    });
    let error = thread.join().unwrap().unwrap_err();
    assert!(matches!(error, WatchError::Cannot(Reason::NotPermitted { .. })), "{error}");
    assert!(error.to_string().contains("cap_perfmon"), "{error}");
}
