use super::*;
use crate::net::Body;
use wirespeed_units::{SimTime, Span};

const FRAME: u32 = 1500;

fn settings() -> DualPi2Settings {
    DualPi2Settings {
        target: Span::ms(15),
        tupdate: Span::ms(16),
        alpha_per_s: 0.16,
        beta_per_s: 3.2,
        coupling: 2.0,
        step: StepSettings::Time(Span::ms(1)),
        min_qlen_step: 0,
        classic_protection_percent: 10,
        drops_overload: true,
        limit: 10_000,
        largest_frame: FRAME,
    }
}

fn packets(ecn: Ecn, packets: u32, at: Span) -> Train {
    Train {
        at: SimTime::START + at,
        gap: Span::ZERO,
        packets,
        frame: FRAME,
        flow: 0,
        ecn,
        body: Body::Datagram { first: 0 },
    }
}

/// A queue whose base probability stays what it is.
fn at_probability(probability: f64, settings: &DualPi2Settings) -> DualQueue {
    let mut queue = DualQueue::new(settings, 7);
    queue.controller = Controller { probability, last_delay: 0, next: i64::MAX };
    queue
}

/// Shares of packets marked and dropped of `count` that leave while others of the same kind wait.
fn fate(queue: &mut DualQueue, ecn: Ecn, count: u32) -> (f64, f64) {
    let (mut marked, mut tally) = (0_u32, Tally::new(false));
    let mut seen = 0;
    while seen < count {
        queue.put(&packets(ecn, 100, Span::ZERO));
        // At the time at which they came: the step is not met.
        while queue.packets() > 50 {
            let sent = queue.dequeue(0, &mut tally).expect("packets wait");
            seen += 1;
            marked += u32::from(sent.ecn == Ecn::Marked);
        }
    }
    let all = f64::from(seen) + tally.dropped as f64;
    (f64::from(marked) / all, tally.dropped as f64 / all)
}

/// Four standard deviations of a share of 40,000 draws.
fn near(share: f64, probability: f64) {
    let deviation = (probability * (1.0 - probability) / 40_000.0).sqrt();
    assert!((share - probability).abs() <= 4.0 * deviation, "{share}, not {probability}");
}

#[test]
fn the_classic_probability_is_the_square_of_the_coupled_one_over_k() {
    for (base, coupling) in [(0.1, 2.0), (0.3, 2.0), (0.2, 4.0), (0.45, 1.0)] {
        let settings = DualPi2Settings { coupling, ..settings() };
        let (coupled, _) = fate(&mut at_probability(base, &settings), Ecn::Scalable, 40_000);
        near(coupled, coupling * base);
        // RFC 9332, equation (2): p_C = (p_CL / k)^2, marks of ECT(0) and drops of what is not capable alike.
        let (marked, dropped) = fate(&mut at_probability(base, &settings), Ecn::Capable, 40_000);
        near(marked, base * base);
        assert_eq!(dropped, 0.0);
        let (marked, dropped) = fate(&mut at_probability(base, &settings), Ecn::NotCapable, 40_000);
        near(dropped, base * base);
        assert_eq!(marked, 0.0);
    }
}

#[test]
fn under_overload_both_queues_drop_alike_or_marks_stop_at_one() {
    // k p' = 1.2: what is not dropped of the low-latency queue is marked.
    let (marked, dropped) = fate(&mut at_probability(0.6, &settings()), Ecn::Scalable, 40_000);
    near(dropped, 0.36);
    assert_eq!(marked, 1.0 - dropped);
    let (_, dropped) = fate(&mut at_probability(0.6, &settings()), Ecn::Capable, 40_000);
    near(dropped, 0.36);
    let overflow = DualPi2Settings { drops_overload: false, ..settings() };
    let mut queue = DualQueue::new(&overflow, 1);
    queue.put(&packets(Ecn::NotCapable, 10, Span::ZERO));
    queue.update(Span::secs(60).picoseconds());
    assert_eq!(queue.controller.probability, 0.5, "1 / k");
    let (marked, dropped) = fate(&mut at_probability(0.5, &overflow), Ecn::Scalable, 40_000);
    assert_eq!((marked, dropped), (1.0, 0.0));
}

#[test]
fn the_probability_follows_the_delay_of_the_head_by_both_gains() {
    let mut queue = DualQueue::new(&settings(), 1);
    queue.put(&packets(Ecn::NotCapable, 5, Span::ms(2)));
    queue.update(Span::ms(16).picoseconds());
    // The head has waited 14 ms: 0.16 (14 - 15) ms + 3.2 (14 - 0) ms.
    let first = 0.16 * -0.001 + 3.2 * 0.014;
    assert!((queue.controller.probability - first).abs() < 1e-12, "{}", queue.controller.probability);
    queue.update(Span::ms(47).picoseconds());
    // At 32 ms it has waited 30 ms.
    let second = first + 0.16 * 0.015 + 3.2 * 0.016;
    assert!((queue.controller.probability - second).abs() < 1e-12, "{}", queue.controller.probability);
}

#[test]
fn the_longer_of_two_head_delays_counts() {
    for (first, second) in [(Ecn::Scalable, Ecn::NotCapable), (Ecn::NotCapable, Ecn::Scalable)] {
        let mut queue = DualQueue::new(&settings(), 1);
        queue.put(&packets(first, 1, Span::ZERO));
        queue.put(&packets(second, 1, Span::ms(10)));
        queue.update(Span::ms(16).picoseconds());
        assert_eq!(queue.controller.last_delay, Span::ms(16).picoseconds());
    }
}

#[test]
fn an_empty_queue_takes_no_time_to_stay_empty() {
    let mut queue = DualQueue::new(&settings(), 1);
    queue.update(Span::secs(1_000_000).picoseconds());
    assert_eq!(queue.controller.probability, 0.0);
    assert_eq!(queue.controller.next % Span::ms(16).picoseconds(), 0);
    assert!(queue.controller.next > Span::secs(1_000_000).picoseconds());
}

#[test]
fn the_step_marks_what_has_waited_longer_or_leaves_more_behind() {
    let mut tally = Tally::new(false);
    let mut leaving = |settings: &DualPi2Settings, ecn: Ecn, now: Span| {
        let mut queue = at_probability(0.0, settings);
        queue.put(&packets(ecn, 3, Span::ZERO));
        queue.dequeue(now.picoseconds(), &mut tally).map(|packet| packet.ecn)
    };
    let by_time = settings();
    assert_eq!(leaving(&by_time, Ecn::Scalable, Span::ms(1)), Some(Ecn::Scalable));
    assert_eq!(leaving(&by_time, Ecn::Scalable, Span::us(1001)), Some(Ecn::Marked));
    assert_eq!(leaving(&by_time, Ecn::Capable, Span::ms(100)), Some(Ecn::Capable), "the other queue");
    let by_packets = |packets: u32| DualPi2Settings { step: StepSettings::Packets(packets), ..settings() };
    assert_eq!(leaving(&by_packets(1), Ecn::Scalable, Span::ZERO), Some(Ecn::Marked));
    assert_eq!(leaving(&by_packets(2), Ecn::Scalable, Span::ms(100)), Some(Ecn::Scalable));
    let short = DualPi2Settings { min_qlen_step: 1, ..settings() };
    assert_eq!(leaving(&short, Ecn::Scalable, Span::ms(100)), Some(Ecn::Scalable), "it found none before it");
}

#[test]
fn marked_packets_stay_in_the_low_latency_queue_and_are_counted_where_they_were_marked() {
    let mut queue = at_probability(0.0, &settings());
    let mut tally = Tally::new(false);
    queue.put(&packets(Ecn::Marked, 1, Span::ZERO));
    queue.put(&packets(Ecn::Scalable, 1, Span::ZERO));
    assert_eq!(queue.low_latency.packets(), 2);
    for _ in 0..2 {
        queue.dequeue(Span::ms(2).picoseconds(), &mut tally);
    }
    assert_eq!(tally.marked, 1, "the other came marked");
    let served = queue.take_served().low_latency;
    let (_, delays) = served.by_delay().next().expect("two left after 2 ms");
    assert_eq!((delays.packets, delays.marked_packets, delays.sum_ns), (2, 1, 4_000_000));
}

#[test]
fn the_classic_queue_has_its_tenth_of_the_line_while_both_wait() {
    let mut queue = at_probability(0.0, &settings());
    let mut tally = Tally::new(false);
    queue.put(&packets(Ecn::NotCapable, 3000, Span::ZERO));
    queue.put(&packets(Ecn::Scalable, 3000, Span::ZERO));
    let first = queue.dequeue(0, &mut tally).map(|packet| packet.ecn);
    assert_eq!(first, Some(Ecn::Scalable), "the low-latency queue begins");
    let classic = (0..2000)
        .filter(|_| queue.dequeue(0, &mut tally).is_some_and(|packet| packet.ecn == Ecn::NotCapable));
    let classic = classic.count();
    assert!((199..=201).contains(&classic), "{classic} of 2000");
}

#[test]
fn the_controller_leaves_a_queue_of_less_than_two_frames_alone() {
    let mut queue = at_probability(1.0, &settings());
    let mut tally = Tally::new(false);
    for ecn in [Ecn::NotCapable, Ecn::Scalable] {
        queue.put(&packets(ecn, 2, Span::ZERO));
        let sent = queue.dequeue(0, &mut tally).expect("it leaves");
        assert_eq!(sent.ecn, ecn);
        queue.dequeue(0, &mut tally);
    }
    assert_eq!((tally.dropped, tally.marked), (0, 0));
}

#[test]
fn both_queues_share_the_room() {
    let mut queue = DualQueue::new(&DualPi2Settings { limit: 10, ..settings() }, 1);
    assert_eq!(queue.put(&packets(Ecn::Scalable, 6, Span::ZERO)), 0);
    assert_eq!(queue.put(&packets(Ecn::NotCapable, 6, Span::ZERO)), 2);
    assert_eq!((queue.low_latency.packets(), queue.classic.packets()), (6, 4));
}
