//! Ways out and back over different links.

mod support;

use support::{carry_out, goodput, mean, scenario};
use wirespeed_sim::Outcome;

/// A link of 5 ms each way and one beside it, by which acknowledgements come back; `beside` is what that is made of.
fn back_over(beside: &str, flow: &str) -> Outcome {
    let path = "rate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 MB\"";
    let link = format!("[[link]]\nname = \"detour\"\nbetween = [0, 1]\n{beside}\n");
    let flow = format!("route_back = [\"detour\"]\n{flow}");
    carry_out(&scenario(path, &[&flow], "duration = \"4 s\"", &link)).1
}

fn counted(outcome: &Outcome, queue: &str, value: impl Fn(&wirespeed_record::QueueSample) -> u64) -> u64 {
    outcome.queues.iter().rfind(|row| row.queue == queue).map_or(0, value)
}

#[test]
fn the_round_trip_is_the_delay_out_and_the_delay_back() {
    // One packet at a time: 1514 bytes at 100 Mbit/s last 121.12 us, an acknowledgement of 66 at 10 Mbit/s 52.8 us.
    // With 5 ms out and 30 ms back that is 35.173920 ms.
    let beside = "rate = \"10 Mbit/s\"\nrtt = \"80 ms\"\n[link.reverse]\ndelay = \"30 ms\"";
    let outcome = back_over(beside, "congestion = \"reno\"\nwindow = \"2 packets\"");
    let rtts = support::samples(&outcome, 0).into_iter().filter_map(|row| row.min_rtt_ns).min();
    let microseconds = rtts.expect("round trips were measured") / 1000;
    // The handshake's shorter frames are a little faster: SYN and its answer of 74 bytes, 5.92 and 59.2 us.
    assert_eq!(microseconds, 35_065);
    let smoothed = mean(&outcome, 0, 1_000_000_000, |row| row.rtt_ns.map(|ns| ns as f64));
    assert!((35.0e6..35.4e6).contains(&smoothed), "{smoothed}");
    // All data by one link, all acknowledgements by the other.
    assert_eq!(counted(&outcome, "bottleneck/reverse", |row| row.sent_packets), 0);
    assert_eq!(counted(&outcome, "detour/forward", |row| row.sent_packets), 0);
    assert!(counted(&outcome, "detour/reverse", |row| row.sent_packets) > 50);
}

#[test]
fn a_bottleneck_on_the_way_back_limits_by_its_acknowledgements() {
    let beside = |rate: &str| format!("rate = \"{rate}\"\nrtt = \"10 ms\"\nbuffer = \"2000 B\"");
    let free = goodput(&back_over(&beside("100 Mbit/s"), "congestion = \"cubic\""), 0, 2_000_000_000);
    assert!(free > 94e6, "{free}");
    let outcome = back_over(&beside("500 kbit/s"), "congestion = \"cubic\"");
    // 947 acknowledgements in a second pass, of some 4,100 that are sent: the queue holds 30 and drops the others.
    let passed = counted(&outcome, "detour/reverse", |row| row.sent_packets);
    assert!((3_000..=3_800).contains(&passed), "{passed}");
    assert!(counted(&outcome, "detour/reverse", |row| row.dropped_packets) > 5_000);
    // What arrives acknowledges more at once: the data hardly suffers, but it waits for 32 ms of other acknowledgements.
    let rate = goodput(&outcome, 0, 2_000_000_000);
    assert!(rate > 0.8 * free, "{rate}");
    let rtt = mean(&outcome, 0, 2_000_000_000, |row| row.rtt_ns.map(|ns| ns as f64));
    assert!(rtt > 10e6 + 25e6, "{rtt}");
}

#[test]
fn two_ways_to_one_host_share_nothing_between() {
    let path = "rate = \"100 Mbit/s\"\nrtt = \"10 ms\"";
    let link = "[[link]]\nname = \"detour\"\nbetween = [0, 1]\nrate = \"50 Mbit/s\"\n";
    let flows = ["congestion = \"cubic\"", "congestion = \"cubic\"\nroute = [\"detour\"]"];
    let outcome = carry_out(&scenario(path, &flows, "duration = \"4 s\"", link)).1;
    // A full frame carries 1448 of its 1514 bytes.
    for (flow, rate) in [(0, 100e6), (1, 50e6)] {
        let share = goodput(&outcome, flow, 2_000_000_000) / (rate * 1448.0 / 1514.0);
        assert!((0.97..=1.001).contains(&share), "flow {flow}: {share}");
    }
}
