//! Hosts that are infinitely fast, whose interface does not interrupt with each packet.

mod support;

use support::{carry_out, goodput, samples, scenario};
use wirespeed_sim::Outcome;

/// One flow at 10 Gbit/s and 10 ms, with a window that fills the path and 0.7 of its queue: nothing is lost.
fn by(sender: &str, receiver: &str) -> Outcome {
    let path = "rate = \"10 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"2 bdp\"";
    let hosts = format!("[host.sender]\n{sender}\n[host.receiver]\n{receiver}\n");
    let flow = "congestion = \"reno\"\nwindow = \"10.5 MB\"";
    carry_out(&scenario(path, &[flow], "duration = \"1500 ms\"", &hosts)).1
}

/// Data packets for each acknowledgement, once the path is full.
fn packets_of_an_ack(outcome: &Outcome) -> f64 {
    let sent = |host: &str, after: i64| {
        let rows = outcome.hosts.iter().filter(|row| row.host == host);
        rows.filter(|row| row.t_ns <= after).map(|row| row.tx_packets).max().expect("there are samples")
    };
    let since = |host: &str| (sent(host, 1_500_000_000) - sent(host, 1_000_000_000)) as f64;
    since("sender") / since("receiver")
}

/// Packets of 1514 bytes in a millisecond at 10 Gbit/s.
const IN_A_MS: f64 = 825.6;

#[test]
fn merged_packets_of_an_interrupt_get_one_acknowledgement() {
    // A merged packet has one time stamp, and ends with the last packet of a GSO packet. At most, each interrupt is one merged
    // packet. At least, a GSO packet begins in each interrupt and ends in the next, and a new time stamp comes once.
    let expect = |pieces_in_a_ms: f64, receiver: &str| {
        let outcome = by("", &format!("{receiver}\ngro = true"));
        let packets = packets_of_an_ack(&outcome);
        let (most, least) = (IN_A_MS / pieces_in_a_ms, IN_A_MS / (2.0 * pieces_in_a_ms + 1.0));
        assert!((least..=most).contains(&packets), "{receiver}: {packets}");
        assert!(goodput(&outcome, 0, 1_000_000_000) > 9.3e9);
    };
    expect(20.0, "coalesce = \"50 us\"");
    // Of 124 packets, in three pieces: GRO merges 64 KiB at most.
    expect(3.0 * 1000.0 / 150.0, "coalesce = \"150 us\"");
    // With every 16th.
    expect(IN_A_MS / 16.0, "coalesce = \"50 us\"\ncoalesce_frames = 16");
}

#[test]
fn packets_that_are_not_merged_are_acknowledged_two_by_two() {
    for receiver in ["gro = true", ""] {
        let packets = packets_of_an_ack(&by("", receiver));
        assert!((packets - 2.0).abs() < 0.01, "{receiver}: {packets}");
    }
    // The reader runs after all packets of the interrupt. Once it is woken, those behind are acknowledged when it has read.
    let packets = packets_of_an_ack(&by("", "coalesce = \"50 us\""));
    assert!((2.01..2.1).contains(&packets), "{packets}");
}

/// One-way delays of datagrams that come so far apart, in microseconds, without those of the path alone.
fn waits(interval: &str, receiver: &str) -> Vec<i64> {
    let path = "rate = \"10 Gbit/s\"\nrtt = \"10 ms\"";
    // A datagram of 1250 bytes is 10 kbit.
    let flow = format!("kind = \"udp\"\nrate = \"{interval}\"\ndatagram = \"1250 B\"");
    let delays = |receiver: &str| {
        let hosts = format!("[host.receiver]\n{receiver}\n");
        let outcome = carry_out(&scenario(path, &[&flow], "duration = \"100 ms\"", &hosts)).1;
        let delay = |row: &wirespeed_record::Datagram| Some((row.arrived_ns? - row.sent_ns) / 1000);
        outcome.datagrams.iter().filter_map(delay).collect::<Vec<_>>()
    };
    let alone = delays("")[0];
    delays(receiver).into_iter().map(|delay| delay - alone).collect()
}

#[test]
fn a_throttle_delays_no_packet_that_comes_alone() {
    // One in 10 ms.
    let alone = waits("1 Mbit/s", "coalesce = \"1 ms\"");
    assert!(alone.len() >= 9 && alone.iter().all(|wait| *wait <= 1), "{alone:?}");
    let delayed = waits("1 Mbit/s", "coalesce = \"1 ms\"\ncoalesce_frames = 100");
    assert!(delayed.len() >= 9 && delayed.iter().all(|wait| (999..=1001).contains(wait)), "{delayed:?}");
}

#[test]
fn packets_wait_for_the_interrupt_and_no_longer() {
    // One in 10 us: with an interrupt each millisecond, 100 come together.
    let throttled = waits("1 Gbit/s", "coalesce = \"1 ms\"");
    assert_eq!(throttled.iter().max(), Some(&990));
    assert_eq!(throttled.iter().filter(|wait| **wait <= 1).count() * 100, throttled.len() + 99);
    // With the fifth: 40, 30, 20, 10 and 0 us.
    let fifth = waits("1 Gbit/s", "coalesce = \"1 ms\"\ncoalesce_frames = 5");
    assert_eq!(fifth[..10], [40, 30, 20, 10, 0, 40, 30, 20, 10, 0]);
}

#[test]
fn every_packet_is_received_once() {
    let outcome = by("coalesce = \"30 us\"", "coalesce = \"50 us\"\ncoalesce_frames = 64\ngro = true");
    let last = |host: &str| outcome.hosts.iter().rfind(|row| row.host == host).expect("there are samples");
    let flight: u64 = outcome.in_flight.values().sum();
    let (sender, receiver) = (last("sender"), last("receiver"));
    assert_eq!(
        sender.tx_packets + receiver.tx_packets,
        sender.rx_packets + receiver.rx_packets + flight,
        "nothing is lost on this path"
    );
    assert!(samples(&outcome, 0).last().is_some_and(|row| row.retrans_packets == Some(0)));
}
