//! L4S: TCP Prague and Accurate ECN through a queue `dualpi2`, against the equations and the aims of RFC 9332.

mod support;

use support::{carry_out, goodput, mean, outcome, runs_of, samples, scenario};
use wirespeed_record::{QueueClass, QueueDelay};
use wirespeed_scenario::Run;
use wirespeed_sim::Outcome;

const QUEUE: &str = "bottleneck/forward";

fn seconds(s: i64) -> i64 {
    s * 1_000_000_000
}

/// What left a class of the queue from a time on.
struct Class {
    delay_ms: f64,
    delay_q99_ms: f64,
    marked: f64,
    dropped: f64,
}

fn class(outcome: &Outcome, class: QueueClass, from_ns: i64) -> Class {
    let of = |row: &&QueueDelay| row.queue == QUEUE && row.class == class && row.t_ns > from_ns;
    let mut rows: Vec<&QueueDelay> = outcome.queue_delays.iter().filter(of).collect();
    rows.sort_by_key(|row| row.up_to_ns);
    let sum = |value: fn(&QueueDelay) -> u64| rows.iter().map(|row| value(row)).sum::<u64>() as f64;
    let packets = sum(|row| row.packets);
    let mut within = 0.0;
    let q99 = rows.iter().find(|row| {
        within += row.packets as f64;
        within >= 0.99 * packets
    });
    Class {
        delay_ms: rows.iter().map(|row| row.sum_ns).sum::<i64>() as f64 / packets / 1e6,
        delay_q99_ms: q99.map_or(0.0, |row| row.up_to_ns as f64 / 1e6),
        marked: sum(|row| row.marked_packets) / packets,
        dropped: sum(|row| row.dropped_packets) / packets,
    }
}

/// Sent bits over what the link could have sent, from a time on.
fn utilisation(outcome: &Outcome, run: &Run, from_ns: i64) -> f64 {
    let rows: Vec<_> =
        outcome.queues.iter().filter(|row| row.queue == QUEUE && row.t_ns >= from_ns).collect();
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let bits = (last.sent_bytes - first.sent_bytes) as f64 * 8.0;
    bits / (run.links[0].forward.rate.get() as f64 * (last.t_ns - first.t_ns) as f64 / 1e9)
}

/// A path with a queue `dualpi2` and room for 20,000 packets, which no run fills.
fn dual_pi2(rate: &str, rtt_ms: u32) -> String {
    format!("rate = \"{rate}\"\nrtt = \"{rtt_ms} ms\"\nbuffer = \"20000 packets\"\nqueue = \"dualpi2\"")
}

const PRAGUE: &str = "congestion = \"prague\"";
const CUBIC: &str = "congestion = \"cubic\"";

#[test]
fn prague_alone_fills_the_link_and_waits_less_than_a_millisecond() {
    for (rate, rtt_ms) in
        [("40 Mbit/s", 5), ("40 Mbit/s", 20), ("40 Mbit/s", 50), ("200 Mbit/s", 10), ("1 Gbit/s", 5)]
    {
        let (run, outcome) =
            carry_out(&scenario(&dual_pi2(rate, rtt_ms), &[PRAGUE], "duration = \"30 s\"", ""));
        let from = seconds(10);
        let used = utilisation(&outcome, &run, from);
        assert!(used > 0.95, "{rate}, {rtt_ms} ms: {used}");
        let low = class(&outcome, QueueClass::LowLatency, from);
        // The step is at 1 ms: what exceeds it is marked, and the sender backs off within a round trip.
        assert!(
            low.delay_ms < 1.0 && low.delay_q99_ms < 1.5,
            "{rate}, {rtt_ms} ms: {} ms, {} ms",
            low.delay_ms,
            low.delay_q99_ms
        );
        assert!(low.marked > 0.0 && low.dropped == 0.0, "{rate}, {rtt_ms} ms");
        assert_eq!(samples(&outcome, 0).last().and_then(|row| row.retrans_packets), Some(0));
    }
}

/// Steady-state windows in packets of the two by their own probability. A flow of CUBIC has sqrt(1.5 / p) in its Reno-friendly
/// region, and 1.054 (RTT / p)^(3/4) beyond (RFC 9438, sections 4.3 and 5.1, with C = 0.4 and a decrease to 0.7). One of Prague has
/// x (1 - p) / p:
///
/// - x = 2 if it is cut in every round trip (De Schepper et al., PI2, CoNEXT 2016, appendix A): the least.
/// - If marks fall at random, the cut after one reduction waits a round trip and then for the next mark, p w packets a round trip:
///   x / 2 = (1 + 1 / x), so x = 1 + sqrt(3).
/// - If p changes faster than alpha follows, there are no cuts while it is low. With p either 0 or m times its mean, E(p^2) = m E(p)^2
///   and x^2 = 2 (m x + 1): x = m + sqrt(m^2 + 2), the most.
#[test]
fn prague_beside_cubic_gets_the_share_that_the_coupled_probabilities_give_it() {
    for (rate, rtt_ms) in [("40 Mbit/s", 50), ("40 Mbit/s", 100), ("100 Mbit/s", 50)] {
        let name = format!("{rate}, {rtt_ms} ms");
        let (run, outcome) =
            carry_out(&scenario(&dual_pi2(rate, rtt_ms), &[PRAGUE, CUBIC], "duration = \"200 s\"", ""));
        let from = seconds(40);
        let used = utilisation(&outcome, &run, from);
        assert!(used > 0.95, "{name}: {used}");
        let low = class(&outcome, QueueClass::LowLatency, from);
        let classic = class(&outcome, QueueClass::Classic, from);
        assert!(low.delay_ms < 1.0 && low.delay_q99_ms < 1.5, "{name}: {} ms", low.delay_ms);
        assert!((1.0..20.0).contains(&classic.delay_ms), "{name}: {} ms", classic.delay_ms);
        // Both follow one base probability p': p_L = 2 p', p_C = p'^2. What is measured are means of p' and of its square, which
        // is larger than the square of the mean by the variance of p'.
        let coupled = classic.dropped / (low.marked / 2.0).powi(2);
        assert!((0.7..2.5).contains(&coupled), "{name}: p_C is {coupled} of (p_L / 2)^2");
        let window =
            |flow: u32| mean(&outcome, flow, from, |row| row.cwnd_bytes.map(|bytes| bytes as f64 / 1448.0));
        let rtt_s = f64::from(rtt_ms) / 1e3 + classic.delay_ms / 1e3;
        let law = (1.5 / classic.dropped).sqrt().max(1.054 * (rtt_s / classic.dropped).powf(0.75));
        let of_cubic = window(1) / law;
        assert!((0.8..1.25).contains(&of_cubic), "{name}: CUBIC has {of_cubic} of its window");
        let of_prague = window(0) * low.marked / (1.0 - low.marked);
        let most = coupled.max(1.0) + (coupled.max(1.0).powi(2) + 2.0).sqrt();
        assert!(
            (2.0 * 0.9..most * 1.1).contains(&of_prague),
            "{name}: Prague has {of_prague} / p, not {most}"
        );
        // RFC 9332, section 1.2: roughly equal rates.
        let ratio = goodput(&outcome, 0, from) / goodput(&outcome, 1, from);
        assert!((0.5..2.0).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn accurate_ecn_counts_every_mark_although_acknowledgements_are_lost() {
    for (more, congestion) in
        [("", "prague"), ("reverse.loss = 0.3", "prague"), ("reverse.loss = 0.3\nloss = 1e-4", "cubic")]
    {
        let path = format!("{}\n{more}", dual_pi2("20 Mbit/s", 20)).replace("20000 packets", "100 packets");
        let path = path.replace("queue = \"dualpi2\"", "queue = { kind = \"dualpi2\", target = \"2 ms\" }");
        let flow = format!("congestion = \"{congestion}\"\nbytes = \"20 MB\"");
        let hosts = "[host.sender]\necn = 3\n[host.receiver]\necn = 3";
        let (_, outcome) = carry_out(&scenario(&path, &[&flow], "duration = \"60 s\"", hosts));
        let arrived =
            outcome.counters.iter().find(|row| row.host == "receiver" && row.counter == "IpExtInCEPkts");
        let arrived = arrived.map_or(0, |row| row.after);
        assert!(arrived > 10, "{congestion}, {more}: only {arrived} marks");
        let last = samples(&outcome, 0).last().map(|row| (row.delivered_ce_packets, row.acked_bytes));
        let Some((Some(counted), Some(20_000_000))) = last else { panic!("{congestion}, {more}: {last:?}") };
        if congestion == "prague" {
            assert_eq!(counted, arrived, "{more}");
        } else {
            // With SACK blocks an ACK has no room for the option. If those before it were lost, ACE may have wrapped, and the sender
            // assumes the most that is possible (RFC 9768, section 3.2.2.5.2).
            assert!(counted >= arrived && (counted - arrived) % 8 == 0, "{more}: {counted}, not {arrived}");
        }
        let marked = outcome.queues.iter().rfind(|row| row.queue == QUEUE).and_then(|row| row.marked_packets);
        if more.is_empty() {
            assert_eq!(marked, Some(arrived), "no marked packet was lost");
        }
    }
}

#[test]
fn an_overload_of_the_low_latency_queue_leaves_the_classic_flow_its_share() {
    let flood = "kind = \"udp\"\nrate = \"60 Mbit/s\"\necn = \"ect1\"";
    let (run, outcome) =
        carry_out(&scenario(&dual_pi2("40 Mbit/s", 20), &[flood, CUBIC], "duration = \"40 s\"", ""));
    let from = seconds(10);
    assert!(utilisation(&outcome, &run, from) > 0.95);
    // Marking everything changes nothing for a flow that does not listen: it is dropped with p'^2, as all others are.
    let low = class(&outcome, QueueClass::LowLatency, from);
    let classic = class(&outcome, QueueClass::Classic, from);
    assert!(low.marked > 0.99, "{}", low.marked);
    assert!(low.dropped > 0.3 && classic.dropped > 0.0, "{} {}", low.dropped, classic.dropped);
    assert!(classic.delay_ms < 60.0, "{}", classic.delay_ms);
}

#[test]
fn a_step_in_time_before_a_plain_queue_marks_as_one_in_bytes() {
    let step = |mark: &str| {
        let path = format!(
            "rate = \"40 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"200 packets\"\nqueue = {{ kind = \"drop-tail\", {mark} }}"
        );
        carry_out(&scenario(&path, &[PRAGUE], "duration = \"20 s\"", ""))
    };
    // 40 Mbit/s send 5000 bytes in a millisecond.
    let (run, outcome) = step("mark_after = \"1 ms\"");
    let (other, _) = step("mark_above = \"5000 B\"");
    assert_eq!(run.links[0].forward.queue, other.links[0].forward.queue);
    let used = utilisation(&outcome, &run, seconds(5));
    assert!(used > 0.95, "{used}");
    let rows = outcome.queues.iter().filter(|row| row.queue == QUEUE && row.t_ns >= seconds(5));
    let longest = rows.map(|row| row.backlog_bytes).max().unwrap_or(0);
    assert!(longest < 3 * 5000, "{longest}");
}

#[test]
fn without_marks_prague_is_a_paced_reno() {
    let path = "rate = \"40 Mbit/s\"\nrtt = \"50 ms\"\nbuffer = \"1 bdp\"";
    let (run, outcome) = carry_out(&scenario(path, &[PRAGUE, CUBIC], "duration = \"120 s\"", ""));
    let from = seconds(20);
    assert!(utilisation(&outcome, &run, from) > 0.95);
    let ratio = goodput(&outcome, 0, from) / goodput(&outcome, 1, from);
    // CUBIC in its Reno-friendly region has sqrt(1.5 / p), Reno sqrt(1.5 / p) as well (RFC 8312, section 4.2), but both do not lose
    // with each other's probability: one loss of several hits the flow with more packets in the queue.
    assert!((0.2..1.5).contains(&ratio), "{ratio}");
    let marks = samples(&outcome, 0).last().and_then(|row| row.delivered_ce_packets);
    assert_eq!(marks, Some(0));
}

#[test]
fn a_flow_can_send_any_code_point_that_its_hosts_agree_on() {
    let hosts = "[host.sender]\necn = 3\n[host.receiver]\necn = 3";
    let text = |flow: &str| scenario(&dual_pi2("40 Mbit/s", 10), &[flow], "duration = \"5 s\"", hosts);
    for (flow, counter, other) in [
        ("congestion = \"cubic\"", "IpExtInECT0Pkts", "IpExtInECT1Pkts"),
        ("congestion = \"dctcp\"\necn = \"ect1\"", "IpExtInECT1Pkts", "IpExtInECT0Pkts"),
        ("congestion = \"cubic\"\necn = \"not-ect\"", "IpExtInNoECTPkts", "IpExtInECT0Pkts"),
    ] {
        let arrived = outcome(&runs_of(&text(flow), &[])[0]);
        let count = |name: &str| {
            let row = arrived.counters.iter().find(|row| row.host == "receiver" && row.counter == name);
            row.map_or(0, |row| row.after)
        };
        assert!(count(counter) > 1000 && count(other) == 0, "{flow}: {} {}", count(counter), count(other));
    }
}
