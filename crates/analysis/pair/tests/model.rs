//! Two captures of runs of the model, compared with what the model knows.

mod support;

use support::{by_clock, capture, edited, merged, outcome, pair, shifted, translated, with_client_mss};
use wirespeed_pair::{Direction, Options, PairTrace, Point, Rewritten};
use wirespeed_sim::Outcome;

fn scenario(algorithm: &str, loss: &str, ack_loss: &str, seed: u64, seconds: f64) -> String {
    format!(
        r#"
schema = 1
name = "pair"

[path]
rate = "50 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
loss = {loss}
[path.reverse]
loss = {ack_loss}

[[flow]]
congestion = "{algorithm}"

[[capture]]
at = "sender"

[[capture]]
at = "receiver"

[run]
duration = "{seconds} s"
sample = "10 ms"
seed = {seed}
"#
    )
}

/// Packets that the model dropped and lost on links, in one direction.
fn dropped(outcome: &Outcome, direction: &str) -> u64 {
    let at_links = outcome.drops.iter().filter(|(place, _)| place.ends_with(direction));
    at_links.flat_map(|(_, causes)| causes).map(|&(_, packets)| packets).sum()
}

fn pair_of(outcome: &Outcome) -> PairTrace {
    pair(&capture(outcome, "sender"), &capture(outcome, "receiver"), Options::default())
}

/// Losses between the captures are those of the model. The last round trip is open: its packets are in flight.
fn check_losses(name: &str, pair: &PairTrace, outcome: &Outcome) {
    for (direction, place) in [(Direction::FromFirst, "/forward"), (Direction::FromSecond, "/reverse")] {
        let (counts, dropped) = (pair.path(direction).counts, dropped(outcome, place));
        assert!(
            (counts.lost..=counts.lost + counts.in_flight).contains(&dropped),
            "{name} {place}: {dropped} dropped, {counts:?}"
        );
        assert_eq!(
            counts.sent,
            counts.delivered + counts.lost + counts.in_flight + counts.missed_by_far,
            "{name}"
        );
        assert_eq!(counts.arrived, counts.delivered + counts.duplicated + counts.missed_by_near, "{name}");
        let wrong = [counts.missed_by_far, counts.missed_by_near, counts.duplicated, counts.captured_twice];
        assert_eq!(wrong, [0; 4], "{name} {place}: {counts:?}");
        assert_eq!(pair.path(direction).reordering.packets, 0, "{name} {place}");
    }
}

#[test]
fn losses_between_the_captures_are_those_of_the_model() {
    let algorithms =
        ["reno", "cubic", "bbr", "bic", "htcp", "scalable", "vegas", "westwood", "illinois", "dctcp"];
    let (losses, ack_losses) = (["0.0", "1e-3", "1e-2"], ["0.0", "0.02"]);
    let mut all = 0;
    for (number, algorithm) in algorithms.into_iter().enumerate() {
        let (loss, ack_loss) = (losses[number % 3], ack_losses[number / 2 % 2]);
        let outcome = outcome(&scenario(algorithm, loss, ack_loss, number as u64 + 1, 2.0));
        let pair = pair_of(&outcome);
        check_losses(&format!("{algorithm}, loss {loss}, ACK loss {ack_loss}"), &pair, &outcome);
        let clock = &pair.clock;
        assert!(clock.offset_ns.abs() <= clock.offset_bound_ns.unwrap(), "{algorithm}: {clock:?}");
        assert!(clock.steps.is_empty() && clock.misfit_ns == 0, "{algorithm}: {clock:?}");
        all += pair.from_first.counts.lost + pair.from_second.counts.lost;
    }
    assert!(all > 300, "{all} losses are too few for a comparison");
}

/// A full buffer causes a thousand duplicate acknowledgments with one number, which only their SACK blocks distinguish.
#[test]
fn losses_are_those_of_the_model_at_other_rates() {
    let paths = [
        ("1 Gbit/s", "20 ms", "0.3 bdp", "1e-4", 2.0),
        ("10 Gbit/s", "5 ms", "0.5 bdp", "0.0", 0.2),
        ("100 Mbit/s", "100 ms", "0.1 bdp", "1e-3", 5.0),
        ("10 Mbit/s", "1 ms", "20 bdp", "0.0", 2.0),
    ];
    for (rate, rtt, buffer, loss, seconds) in paths {
        for ack_loss in ["0.0", "0.01"] {
            let text = scenario("cubic", loss, ack_loss, 7, seconds)
                .replace("50 Mbit/s", rate)
                .replace("20 ms", rtt)
                .replace("1 bdp", buffer);
            let outcome = outcome(&text);
            check_losses(
                &format!("{rate}, {rtt}, {buffer}, ACK loss {ack_loss}"),
                &pair_of(&outcome),
                &outcome,
            );
        }
    }
}

#[test]
fn every_lost_packet_of_a_flow_that_ended_is_listed_with_its_copy() {
    let text = scenario("cubic", "2e-2", "0.02", 3, 20.0)
        .replace("[[capture]]\nat = \"sender\"", "bytes = \"4 MB\"\n\n[[capture]]\nat = \"sender\"");
    let outcome = outcome(&text);
    let pair = pair_of(&outcome);
    check_losses("ended", &pair, &outcome);
    let path = &pair.connections[0].from_first;
    assert_eq!(path.counts.lost, dropped(&outcome, "/forward"), "{:?}", path.counts);
    assert_eq!(path.lost.len() as u64, path.counts.lost);
    let again = path.lost.iter().filter(|lost| lost.copy > 1).count();
    assert!(again > 0 && again * 4 < path.lost.len(), "{again} lost retransmissions of {}", path.lost.len());
    assert_eq!(path.lost_before, Some(0));
    assert_eq!(path.lost_after, Some(0));
}

#[test]
fn clock_that_is_hours_ahead_and_skewed_changes_no_loss_and_is_found() {
    let outcome = outcome(&scenario("cubic", "1e-3", "0.01", 5, 6.0));
    let (first, second) = (capture(&outcome, "sender"), capture(&outcome, "receiver"));
    let plain = pair(&first, &second, Options::default());
    for (offset_ns, skew_ppm) in [(2 * 3_600_000_000_000 + 77, 50.0), (5_000_000, -50.0)] {
        let found = pair(&first, &by_clock(&second, offset_ns, skew_ppm), Options::default());
        check_losses("clock", &found, &outcome);
        assert_eq!(found.from_first.counts, plain.from_first.counts);
        let clock = &found.clock;
        assert!((clock.skew_ppm - skew_ppm).abs() < 1.0, "{skew_ppm}: {clock:?}");
        let bound = clock.offset_bound_ns.unwrap();
        assert!(
            (10_000_000 - 1_000_000..=10_000_000 + 1_000_000).contains(&bound),
            "half the RTT of 20 ms: {clock:?}"
        );
        for seconds in [0, 3, 6] {
            let t = seconds * 1_000_000_000;
            let truth = offset_ns + (t as f64 * skew_ppm * 1e-6) as i64;
            assert!((clock.offset_at(t) - truth).abs() <= bound, "{seconds} s: {clock:?}");
        }
        let median = |pair: &PairTrace| {
            let delays = pair.from_first.delays.unwrap();
            delays.median_ns - delays.min_ns
        };
        assert!(
            median(&found).abs_diff(median(&plain)) < 20_000,
            "variation of the delay does not depend on the clock"
        );
    }
}

#[test]
fn captures_named_the_other_way_round_have_the_same_losses() {
    let outcome = outcome(&scenario("reno", "1e-3", "0.02", 6, 2.0));
    let pair = pair(&capture(&outcome, "receiver"), &capture(&outcome, "sender"), Options::default());
    assert_eq!(pair.connections[0].client_side, Point::Second);
    let counts = pair.from_second.counts;
    assert!(
        (counts.lost..=counts.lost + counts.in_flight).contains(&dropped(&outcome, "/forward")),
        "{counts:?}"
    );
}

#[test]
fn translated_address_and_changed_identification_are_findings_and_change_no_loss() {
    let outcome = outcome(&scenario("cubic", "1e-3", "0.01", 7, 2.0));
    let second = translated(&capture(&outcome, "receiver"), [10, 0, 0, 1], [192, 0, 2, 9], 61_000);
    let pair = pair(&capture(&outcome, "sender"), &second, Options::default());
    check_losses("NAT", &pair, &outcome);
    let changes = &pair.connections[0].changes;
    let address = changes.iter().find(|change| change.field == Rewritten::Address).unwrap();
    assert_eq!((address.from.as_str(), address.to.as_str()), ("10.0.0.1:32768", "192.0.2.9:61000"));
    let ttl = changes.iter().find(|change| change.field == Rewritten::Ttl).unwrap();
    assert_eq!(ttl.packets, pair.from_first.counts.delivered, "{changes:?}");
    assert!(changes.iter().any(|change| change.field == Rewritten::IpId), "{changes:?}");
}

#[test]
fn packets_that_a_capture_dropped_are_not_losses() {
    let outcome = outcome(&scenario("cubic", "1e-3", "0.0", 8, 2.0));
    let (first, second) = (capture(&outcome, "sender"), capture(&outcome, "receiver"));
    let (mut number, mut gone) = (0, 0);
    let fewer = edited(&second, |time, frame| {
        // Data, but not the last of it: of packets in flight nothing is known.
        let is_data = frame.len() > 100 && time < 1_800_000_000;
        number += u64::from(is_data);
        let is_dropped = is_data && number.is_multiple_of(31);
        gone += u64::from(is_dropped);
        (!is_dropped).then_some(time)
    });
    let found = pair(&first, &fewer, Options::default());
    let counts = found.from_first.counts;
    assert!(gone > 30, "{gone}");
    assert_eq!(counts.missed_by_far, gone, "{counts:?}");
    assert!(
        (counts.lost..=counts.lost + counts.in_flight).contains(&dropped(&outcome, "/forward")),
        "{counts:?}"
    );
    let found = pair(&fewer, &second, Options::default());
    // Both are at one place, so that either can be the near one.
    let missed = Direction::ALL.map(|direction| {
        let counts = found.path(direction).counts;
        counts.missed_by_near + counts.missed_by_far
    });
    assert_eq!(missed.iter().sum::<u64>(), gone, "the same capture with fewer packets lacks them");
    assert_eq!(found.clock.offset_at(1_000_000_000), 0);
}

#[test]
fn step_of_a_clock_is_found_and_changes_no_loss() {
    let outcome = outcome(&scenario("cubic", "1e-3", "0.0", 9, 6.0));
    let (first, second) = (capture(&outcome, "sender"), capture(&outcome, "receiver"));
    for by in [1_800_000_000_000, -40_000_000] {
        let stepped = edited(&second, |time, _| {
            Some(3_600_000_000_000 + time + if time >= 2_500_000_000 { by } else { 0 })
        });
        let found = pair(&first, &stepped, Options::default());
        check_losses("step", &found, &outcome);
        let steps = &found.clock.steps;
        assert_eq!(steps.len(), 1, "{:?}", found.clock);
        assert!((steps[0].by_ns - by).abs() < 1_000_000, "{steps:?}");
        assert!((steps[0].t_ns - 2_500_000_000).abs() < 200_000_000, "{steps:?}");
        let plain = pair_of(&outcome);
        for direction in Direction::ALL {
            let [stepped, plain] = [&found, &plain].map(|pair| pair.path(direction).delays.unwrap());
            assert!(stepped.max_ns.abs_diff(plain.max_ns) < 3_000_000, "{stepped:?} {plain:?}");
        }
    }
}

#[test]
fn overtaken_and_duplicated_packets_are_counted_once_each() {
    let outcome = outcome(&scenario("cubic", "0.0", "0.0", 10, 1.0));
    let (first, second) = (capture(&outcome, "sender"), capture(&outcome, "receiver"));
    // Every 50th data packet arrives 5 ms late.
    let (mut data, mut late, mut records) = (0u64, 0u64, Vec::new());
    edited(&second, |time, frame| {
        data += u64::from(frame.len() > 100);
        let is_late = frame.len() > 100 && data.is_multiple_of(50) && time < 900_000_000;
        late += u64::from(is_late);
        records.push((if is_late { time + 5_000_000 } else { time }, frame.to_vec()));
        None
    });
    records.sort_by_key(|(time, _)| *time);
    let mut file = second[..24].to_vec();
    for (time, frame) in &records {
        for word in [time / 1_000_000_000, time % 1_000_000_000, frame.len() as i64, frame.len() as i64] {
            file.extend_from_slice(&(word as u32).to_le_bytes());
        }
        file.extend_from_slice(frame);
    }
    let found = pair(&first, &file, Options::default());
    let reordering = found.from_first.reordering;
    assert!(late > 20 && reordering.packets.abs_diff(late) <= 1, "{late}: {reordering:?}");
    assert!((4_000_000..=5_000_000).contains(&reordering.max_late_ns), "{reordering:?}");
    assert_eq!(found.from_first.counts.lost, pair_of(&outcome).from_first.counts.lost);
}

#[test]
fn super_packets_of_both_hosts_are_the_same_packets_on_the_wire() {
    let outcome = outcome(&scenario("cubic", "1e-3", "0.01", 11, 2.0));
    let (first, second) = (capture(&outcome, "sender"), capture(&outcome, "receiver"));
    let plain = pair(&first, &second, Options::default());
    let ((sent, one), (received, other)) = (merged(&first, 16), merged(&second, 5));
    assert!(one > 50 && other > 50, "{one} and {other} super-packets");
    let found = pair(&sent, &received, Options::default());
    check_losses("offload", &found, &outcome);
    assert_eq!(found.from_first.counts.sent, plain.from_first.counts.sent);
    assert_eq!(found.from_first.counts.lost, plain.from_first.counts.lost);
}

#[test]
fn device_that_shifts_sequence_numbers_and_clamps_the_mss_is_found() {
    let outcome = outcome(&scenario("cubic", "1e-3", "0.01", 12, 2.0));
    let (first, second) = (capture(&outcome, "sender"), capture(&outcome, "receiver"));
    let first = with_client_mss(&first, 8_960);
    let found = pair(&first, &shifted(&second, 3_000_000_000), Options::default());
    check_losses("shifted", &found, &outcome);
    let changes = &found.connections[0].changes;
    let change =
        |field| changes.iter().find(|change| change.field == field).unwrap_or_else(|| panic!("{changes:?}"));
    assert_eq!(change(Rewritten::Mss).from, "8960");
    assert_eq!(change(Rewritten::Mss).to, "1460");
    assert_eq!(change(Rewritten::InitialSequenceNumber).to, "3000000000");
}

#[test]
fn connections_side_by_side_have_the_losses_of_all_together() {
    let text = scenario("cubic", "2e-3", "0.01", 13, 2.0)
        .replace("congestion = \"cubic\"", "congestion = \"cubic\"\ncount = 5");
    let outcome = outcome(&text);
    let pair = pair_of(&outcome);
    assert_eq!((pair.total_connections, pair.only_in), (5, [0, 0]));
    check_losses("five", &pair, &outcome);
    let each: u64 = pair.connections.iter().map(|one| one.from_first.counts.lost).sum();
    assert_eq!(each, pair.from_first.counts.lost);
}

/// onl-wiki: the sender's interface hands packets back, so that its capture has them twice. None was lost after the capture.
#[test]
fn hardware_duplicates_are_no_losses_between_the_captures() {
    let study = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../studies/onl-wiki/seq.toml");
    let text = std::fs::read_to_string(study).unwrap().replace("5 s", "1.2 s");
    let outcome = outcome(&format!("{text}\n[[capture]]\nat = \"receiver\"\n"));
    let pair = pair_of(&outcome);
    let counts = pair.from_first.counts;
    assert!(counts.captured_twice > 1_000, "{counts:?}");
    assert_eq!((counts.lost, counts.duplicated, counts.missed_by_near), (0, 0, 0), "{counts:?}");
    assert_eq!(pair.from_first.reordering.packets, 0);
}

#[test]
fn captures_that_overlap_in_part_are_compared_where_both_ran() {
    let outcome = outcome(&scenario("cubic", "5e-3", "0.01", 14, 2.0));
    let (first, second) = (capture(&outcome, "sender"), capture(&outcome, "receiver"));
    let plain = pair(&first, &second, Options::default());
    let late = edited(&first, |time, _| (time >= 500_000_000).then_some(time));
    let short = edited(&second, |time, _| (time < 1_500_000_000).then_some(time));
    let found = pair(&late, &short, Options::default());
    for direction in Direction::ALL {
        let counts = found.path(direction).counts;
        assert_eq!((counts.missed_by_far, counts.missed_by_near), (0, 0), "{counts:?}");
        let (lost, all) =
            (&found.connections[0].path(direction).lost, &plain.connections[0].path(direction).lost);
        let times = |list: &[wirespeed_pair::LostPacket]| list.iter().map(|one| one.t_ns).collect::<Vec<_>>();
        let (lost, all) = (times(lost), times(all));
        assert!(lost.iter().all(|time| all.contains(time)), "{lost:?} {all:?}");
        // At the borders, packets in transit are open.
        let certain = |time: &&i64| (530_000_000..1_440_000_000).contains(*time);
        assert!(all.iter().filter(certain).all(|time| lost.contains(time)), "{lost:?} {all:?}");
        assert!(lost.len() > 3, "{lost:?}");
    }
}
