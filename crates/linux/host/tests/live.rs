//! This machine, in a network namespace of the test's own. Needs the right to make one; without it each test is
//! skipped by name with the reason.

use std::net::UdpSocket;
use std::time::Duration;
use wirespeed_host::{Root, Snapshot, Unavailable, Unit, Way, take};
use wirespeed_record::Stage;
use wirespeed_testbed::in_new_namespace;

fn taken(root: &mut Root) -> (Snapshot, Vec<Unavailable>) {
    let (snapshot, unavailable) = take(root);
    for one in &unavailable {
        assert!(!one.remedy.is_empty(), "{one}");
    }
    (snapshot, unavailable)
}

#[test]
fn datagrams_that_find_no_room_are_counted_exactly() {
    in_new_namespace("datagrams_that_find_no_room_are_counted_exactly", || {
        const SENT: u64 = 500;
        let mut root = Root::live();
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (before, _) = taken(&mut root);
        for _ in 0..SENT {
            sender.send_to(&[0; 1400], receiver.local_addr().unwrap()).unwrap();
        }
        let (after, _) = taken(&mut root);
        receiver.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let mut arrived = 0;
        while receiver.recv(&mut [0; 2000]).is_ok() {
            arrived += 1;
        }
        let changes = after.since(&before);
        let (lost, _) = changes.lost(Stage::RcvBuf, Way::Rx);
        assert!(lost > 0, "the default buffer does not hold {SENT} datagrams");
        assert_eq!(arrived + lost, SENT);
        let elsewhere: Vec<_> = changes
            .losses()
            .filter(|(r, _)| r.sense.stage != Some(Stage::RcvBuf) && r.place.device().is_some())
            .collect();
        assert!(elsewhere.is_empty(), "nothing else was lost in this namespace: {elsewhere:?}");
        assert!(changes.interval_ns > 0);
        let port = receiver.local_addr().unwrap().port();
        let of_socket = changes.changes.iter().find(|change| {
            change.reading.counter == "drops"
                && matches!(&change.reading.place, wirespeed_host::Place::Socket(s) if s.local.port() == port)
        });
        let of_socket = of_socket.expect("sock_diag lists the socket");
        assert_eq!((of_socket.delta.at_least(), of_socket.reading.sense.unit), (lost, Unit::Buffers));
    });
}

#[test]
fn a_packet_on_the_loopback_is_seen_by_interface_and_protocol() {
    in_new_namespace("a_packet_on_the_loopback_is_seen_by_interface_and_protocol", || {
        let mut root = Root::live();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (before, _) = taken(&mut root);
        socket.send_to(&[0; 100], socket.local_addr().unwrap()).unwrap();
        let (after, _) = taken(&mut root);
        let changes = after.since(&before);
        let grown = |source: &str, counter: &str| {
            let found =
                changes.changes.iter().find(|c| c.reading.source == source && c.reading.counter == counter);
            found.unwrap_or_else(|| panic!("no {source}/{counter}")).delta.at_least()
        };
        // 100 bytes and the headers of UDP and IP; the loopback leaves Ethernet's out.
        assert_eq!((grown("link", "rx_packets"), grown("link", "rx_bytes")), (1, 128));
        assert_eq!(grown("protocols", "UdpOutDatagrams"), 1);
        assert_eq!(grown("protocols", "IpExtInNoECTPkts"), 1);
    });
}
