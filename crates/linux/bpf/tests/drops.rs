//! Drops on this machine's kernel, counted against what the kernel itself counts.

#[path = "support/bed.rs"]
mod bed;

use bed::{Bed, RECEIVER, RECEIVER_V6, SENDER, SENDER_V6, Sent, flow, flow_to, skip, within};
use std::io::Write;
use std::net::{IpAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;
use wirespeed_bpf::Reason;
use wirespeed_bpf::drops::{
    Buffers, Dropped, Filter, Protocol, Range, Watch, WatchError, can_watch, this_namespace,
};

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

/// Of ten ports from `port` on.
fn filter(port: u16, namespace: Option<u32>) -> Filter {
    Filter { ports: vec![port..=port + 9], namespace, measure: true, ranges: true }
}

fn watch(port: u16, namespace: Option<u32>) -> Watch {
    Watch::start(&filter(port, namespace)).unwrap_or_else(|error| panic!("{error}"))
}

/// The namespaces, the watch and what `traffic` returned, of an attempt in which everything was seen. Where the kernel is
/// interrupted while it counts a drop, and drops another meanwhile, it says that it missed that one; and some kernels run no
/// programs on top of a process they protect, and do not say so. `numbers` are those told and those counted: never more are
/// told, and once in five times as many.
fn watched<T>(
    test: &str,
    prepare: impl Fn(&Bed) -> Watch,
    traffic: impl Fn(&Bed) -> T,
    numbers: impl Fn(&Bed, &Watch, &T) -> (u64, u64),
) -> Option<(Bed, Watch, T)> {
    for _ in 0..5 {
        let bed = bed(test)?;
        let watch = prepare(&bed);
        let made = traffic(&bed);
        let (recorded, counted) = numbers(&bed, &watch, &made);
        assert!(recorded <= counted, "{recorded} recorded, {counted} counted");
        let missed = watch.cost().unwrap().missed;
        if missed == 0 && recorded == counted {
            return Some((bed, watch, made));
        }
        let _ =
            writeln!(std::io::stderr(), "{test} retried: {recorded} of {counted} recorded, {missed} missed");
    }
    panic!("each of five times some were not seen");
}

fn datagrams(bed: &Bed, count: usize, bytes: usize) {
    datagrams_between(bed, [SENDER.into(), RECEIVER.into()], count, bytes);
}

fn datagrams_between(bed: &Bed, [from, to]: [IpAddr; 2], count: usize, bytes: usize) {
    within(&bed.sender, || {
        let socket = UdpSocket::bind((from, PORT + 1)).unwrap();
        let data = vec![3; bytes];
        for _ in 0..count {
            socket.send_to(&data, (to, PORT)).unwrap();
        }
    });
    // What is under way between namespaces is delivered by softirqs of this machine.
    std::thread::sleep(Duration::from_millis(100));
}

fn sum(rows: &[Dropped], reason: &str) -> (u64, u64) {
    let of = rows.iter().filter(|row| row.reason.starts_with(reason));
    of.fold((0, 0), |(packets, bytes), row| (packets + row.packets, bytes + row.bytes))
}

fn sent_again(watch: &Watch) -> u64 {
    watch.retransmitted().unwrap().iter().map(|row| row.packets).sum()
}

fn queue_drops(bed: &Bed) -> u64 {
    let text = bed.output(&bed.router, "tc -s qdisc show dev right").unwrap();
    let (_, rest) = text.split_once("dropped ").unwrap_or_else(|| panic!("{text}"));
    rest.split(',').next().unwrap().parse().unwrap()
}

fn device(bed: &Bed, name: &str, device: &str) -> u32 {
    bed.output(name, &format!("cat /sys/class/net/{device}/ifindex")).unwrap().trim().parse().unwrap()
}

#[test]
fn a_queue_that_overflows_is_counted_as_the_queue_counts_it() {
    let test = "a_queue_that_overflows_is_counted_as_the_queue_counts_it";
    let prepare = |bed: &Bed| {
        bed.inside(&bed.router, "tc qdisc add dev right root tbf rate 20mbit burst 20kb limit 30kb").unwrap();
        watch(PORT, Some(bed.inode(&bed.router)))
    };
    let traffic = |bed: &Bed| {
        let elsewhere = watch(PORT, Some(bed.inode(&bed.sender)));
        let others = Watch::start(&Filter { ports: vec![9..=9], ..Filter::default() }).unwrap();
        datagrams(bed, 2_000, 1_000);
        (elsewhere, others)
    };
    let numbers =
        |bed: &Bed, watch: &Watch, _: &_| (sum(&watch.read().unwrap(), "QDISC").0, queue_drops(bed));
    let Some((bed, here, (elsewhere, others))) = watched(test, prepare, traffic, numbers) else { return };
    let inode = bed.inode(&bed.router);
    let rows = here.read().unwrap();
    let (packets, bytes) = sum(&rows, "QDISC");
    assert!(packets > 1_000, "{rows:?}");
    assert_eq!(bytes, packets * 1_028, "payload, UDP and IP");
    let right = device(&bed, &bed.router, "right");
    for row in &rows {
        assert_eq!((row.namespace, row.device), (Some(inode), Some(right)), "{row:?}");
        assert_eq!(row.flow.to_string(), format!("UDP {SENDER}:{} > {RECEIVER}:{PORT}", PORT + 1));
    }
    assert_eq!(elsewhere.read().unwrap(), [], "that was not there");
    assert_eq!(others.read().unwrap(), [], "those were not its ports");
    let of_all_flows = |watch: &Watch| -> u64 {
        let rows = watch.read_all_flows().unwrap();
        let at_the_queue = |row: &&Buffers| row.device == Some(right) && row.reason.starts_with("QDISC");
        rows.iter().filter(at_the_queue).map(|row| row.buffers).sum()
    };
    assert_eq!((of_all_flows(&here), of_all_flows(&others)), (packets, packets));
    let cost = here.cost().unwrap();
    let (runs, time) = cost.runs.expect("root may have the time taken");
    assert!(runs >= packets && !time.is_zero(), "{cost:?}");
    assert_eq!(others.cost().unwrap().runs, None, "nobody asked for it");
}

#[test]
fn a_socket_that_does_not_read_is_counted_as_the_host_counts_it() {
    let test = "a_socket_that_does_not_read_is_counted_as_the_host_counts_it";
    let prepare = |bed: &Bed| watch(PORT, Some(bed.inode(&bed.receiver)));
    let traffic = |bed: &Bed| {
        let socket = within(&bed.receiver, || UdpSocket::bind(SocketAddrV4::new(RECEIVER, PORT)).unwrap());
        socket.set_nonblocking(true).unwrap();
        datagrams(bed, 1_500, 1_200);
        socket
    };
    let lost = |bed: &Bed| bed.count(&bed.receiver, "Udp", "RcvbufErrors");
    let numbers =
        |bed: &Bed, watch: &Watch, _: &_| (sum(&watch.read().unwrap(), "SOCKET_RCVBUFF").0, lost(bed));
    let Some((bed, watch, socket)) = watched(test, prepare, traffic, numbers) else { return };
    let inode = bed.inode(&bed.receiver);
    let rows = watch.read().unwrap();
    let lost = lost(&bed);
    assert!(lost > 0, "the socket took them all");
    assert_eq!(sum(&rows, "SOCKET_RCVBUFF"), (lost, lost * 1_228));
    assert!(rows.iter().all(|row| row.namespace == Some(inode)), "{rows:?}");
    let mut data = [0; 2_000];
    let read = std::iter::from_fn(|| socket.recv(&mut data).ok()).count() as u64;
    assert_eq!(read + lost, 1_500, "every packet is accounted for");
}

#[test]
fn losses_and_retransmissions_are_counted_as_the_hosts_count_them() {
    let test = "losses_and_retransmissions_are_counted_as_the_hosts_count_them";
    // All namespaces, where other tests have other ports.
    let port = PORT + 10;
    let prepare = |bed: &Bed| {
        bed.inside(&bed.router, "tc qdisc add dev right root tbf rate 300mbit burst 1600 limit 120kb")
            .unwrap();
        watch(port, None)
    };
    let traffic = |bed: &Bed| flow(bed, port, 16 << 20, Some("cubic")).unwrap();
    let numbers = |bed: &Bed, watch: &Watch, sent: &Sent| {
        let dropped = sum(&watch.read().unwrap(), "QDISC").0;
        (sent_again(watch) + dropped, u64::from(sent.retransmitted) + queue_drops(bed))
    };
    let Some((bed, watch, sent)) = watched(test, prepare, traffic, numbers) else { return };
    let again = watch.retransmitted().unwrap();
    assert!(sent.retransmitted > 0, "the queue was long enough");
    let [again] = &again[..] else { panic!("one flow: {again:?}") };
    assert_eq!((again.flow.protocol, again.flow.target.port()), (Protocol::Tcp, port));
    assert_eq!(again.packets, bed.count(&bed.sender, "Tcp", "RetransSegs"));
    assert_eq!(again.packets, u64::from(sent.retransmitted));
    assert_eq!(again.namespace, bed.inode(&bed.sender));
    // Trains are longer than the bucket, so the queue cuts them, and each packet of one is lost by itself.
    let rows = watch.read().unwrap();
    assert_eq!(sum(&rows, "QDISC").0, queue_drops(&bed), "{rows:?}");
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
fn retransmissions_into_a_full_queue_are_counted_as_the_sender_counts_them() {
    let test = "retransmissions_into_a_full_queue_are_counted_as_the_sender_counts_them";
    let port = PORT + 20;
    let prepare = |bed: &Bed| {
        bed.inside(&bed.router, "tc qdisc add dev right root tbf rate 100mbit burst 1600 limit 120kb")
            .unwrap();
        watch(port, None)
    };
    // For a while the router loses everything, and what is then sent again finds a queue that has room for nothing.
    let faults = |bed: &Bed| {
        std::thread::sleep(Duration::from_millis(300));
        bed.inside(&bed.router, "ip route add blackhole 10.77.1.2/32").unwrap();
        bed.inside(&bed.sender, "tc qdisc add dev right root tbf rate 8kbit burst 1600 limit 100").unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        bed.inside(&bed.sender, "tc qdisc del dev right root").unwrap();
        bed.inside(&bed.router, "ip route del blackhole 10.77.1.2/32").unwrap();
    };
    let traffic = |bed: &Bed| {
        std::thread::scope(|scope| {
            scope.spawn(|| faults(bed));
            flow(bed, port, 16 << 20, Some("cubic")).unwrap()
        })
    };
    if can_watch().is_ok() && !watch(port, None).tells_refused() {
        return skip(test, "this kernel does not tell of what its own queue refused");
    }
    let numbers = |_: &Bed, watch: &Watch, sent: &Sent| (sent_again(watch), u64::from(sent.retransmitted));
    let Some((bed, watch, _)) = watched(test, prepare, traffic, numbers) else { return };
    assert!(bed.count(&bed.sender, "TcpExt", "TCPRetransFail") > 0, "the queue had room");
    // Each stands after the drop that it makes good and before its own.
    let (mut ranges, _) = watch.ranges();
    ranges.sort_by_key(|range| range.monotonic_ns);
    let sender = Some(bed.inode(&bed.sender));
    let mut seen = 0;
    for (place, refused) in ranges.iter().enumerate() {
        let of_it = |range: &&Range| refused.sequence.wrapping_sub(range.sequence) < range.bytes;
        let last = ranges[..place].iter().rfind(of_it);
        if refused.reason.is_some()
            && refused.namespace == sender
            && last.is_some_and(|last| last.namespace != sender)
        {
            panic!("dropped at the router and then here, but not sent again between: {refused:?} {last:?}");
        }
        seen += usize::from(refused.reason.is_some() && last.is_some_and(|last| last.reason.is_none()));
    }
    assert!(seen > 0, "what was refused is told: {ranges:?}");
}

#[test]
fn a_train_that_is_dropped_whole_counts_as_its_packets() {
    let test = "a_train_that_is_dropped_whole_counts_as_its_packets";
    let prepare = |bed: &Bed| watch(PORT, Some(bed.inode(&bed.receiver)));
    let send = || {
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
    };
    let traffic = |bed: &Bed| {
        within(&bed.sender, send);
        std::thread::sleep(Duration::from_millis(50));
    };
    // Nine of 500 bytes and one of 200, each with its headers.
    let numbers = |_: &Bed, watch: &Watch, _: &_| (sum(&watch.read().unwrap(), "NO_SOCKET").0, 10);
    let Some((_bed, watch, ())) = watched(test, prepare, traffic, numbers) else { return };
    assert_eq!(sum(&watch.read().unwrap(), "NO_SOCKET").1, 4_700 + 10 * 28);
}

#[test]
fn dropped_datagrams_of_ipv6_are_counted_as_the_queue_counts_them() {
    let test = "dropped_datagrams_of_ipv6_are_counted_as_the_queue_counts_them";
    let prepare = |bed: &Bed| {
        bed.add_ipv6().unwrap();
        bed.inside(&bed.router, "tc qdisc add dev right root tbf rate 20mbit burst 20kb limit 30kb").unwrap();
        watch(PORT, Some(bed.inode(&bed.router)))
    };
    let traffic = |bed: &Bed| datagrams_between(bed, [SENDER_V6.into(), RECEIVER_V6.into()], 2_000, 1_000);
    let numbers =
        |bed: &Bed, watch: &Watch, (): &_| (sum(&watch.read().unwrap(), "QDISC").0, queue_drops(bed));
    let Some((_bed, watch, ())) = watched(test, prepare, traffic, numbers) else { return };
    let rows = watch.read().unwrap();
    let (packets, bytes) = sum(&rows, "QDISC");
    assert!(packets > 1_000, "{rows:?}");
    assert_eq!(bytes, packets * 1_048, "payload, UDP and IPv6");
    let flow = format!("UDP [{SENDER_V6}]:{} > [{RECEIVER_V6}]:{PORT}", PORT + 1);
    assert!(rows.iter().all(|row| row.flow.to_string() == flow), "{rows:?}");
}

#[test]
fn retransmissions_over_ipv6_follow_the_drops_they_make_good() {
    let test = "retransmissions_over_ipv6_follow_the_drops_they_make_good";
    let port = PORT + 30;
    let prepare = |bed: &Bed| {
        bed.add_ipv6().unwrap();
        bed.inside(&bed.router, "tc qdisc add dev right root tbf rate 300mbit burst 1600 limit 120kb")
            .unwrap();
        watch(port, None)
    };
    let traffic = |bed: &Bed| flow_to(bed, (RECEIVER_V6.into(), port), 16 << 20, Some("cubic")).unwrap();
    let numbers = |bed: &Bed, watch: &Watch, sent: &Sent| {
        let dropped = sum(&watch.read().unwrap(), "QDISC").0;
        (sent_again(watch) + dropped, u64::from(sent.retransmitted) + queue_drops(bed))
    };
    let Some((bed, watch, sent)) = watched(test, prepare, traffic, numbers) else { return };
    let again = watch.retransmitted().unwrap();
    let [again] = &again[..] else { panic!("one flow: {again:?}") };
    assert_eq!((again.flow.target.ip(), again.packets), (RECEIVER_V6.into(), sent.retransmitted.into()));
    assert_eq!(again.flow.source.ip(), IpAddr::from(SENDER_V6));
    assert_eq!(again.namespace, bed.inode(&bed.sender));
    let (ranges, failed) = watch.ranges();
    assert!(failed.is_none(), "{failed:?}");
    let first = ranges.iter().find(|range| range.reason.is_none()).expect("something was retransmitted");
    let mut drops = ranges.iter().filter(|range| range.reason.is_some() && range.flow == first.flow);
    assert!(drops.any(|range| first.sequence.wrapping_sub(range.sequence) < range.bytes), "{first:?}");
}

#[test]
fn an_ordinary_user_gets_a_list_of_missing_rights() {
    if let Err(reason) = can_watch() {
        return skip("an_ordinary_user_gets_a_list_of_missing_rights", &reason.to_string());
    }
    let thread = std::thread::spawn(|| {
        const NOBODY: libc::uid_t = 65_534;
        // SAFETY: a system call without pointers; called past the C library it concerns this thread only.
        let result = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
        assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        Watch::start(&filter(PORT, this_namespace())).map(drop)
    });
    let error = thread.join().unwrap().unwrap_err();
    assert!(matches!(error, WatchError::Cannot(Reason::NotPermitted { .. })), "{error}");
    assert!(error.to_string().contains("cap_perfmon"), "{error}");
}
