//! Queues that mark, drop early or decide when a packet leaves, against cases reckoned by hand.

use super::reference::{assert_conserved, data, packets, run, wake_until};
use crate::net::{
    CoDelSettings, Ecn, FqCodelSettings, HostQueue, Link, LinkSettings, QueueSettings, RedSettings, Train,
};
use wirespeed_units::{Bytes, Rate, SimTime, Span};

/// 1000 bytes last 1 ms.
fn link(queue: QueueSettings, train_limit: u32) -> Link {
    let settings = LinkSettings::new(Rate::mbit(8), Span::ms(10), Bytes::ZERO);
    Link::new(&LinkSettings { queue, train_limit, ..settings })
}

fn ms(n: i64) -> SimTime {
    SimTime::START + Span::ms(n)
}

fn capable(mut train: Train) -> Train {
    train.ecn = Ecn::Capable;
    train
}

fn numbers(trains: &[Train]) -> Vec<u64> {
    packets(trains).into_iter().map(|p| p.1).collect()
}

/// Numbers of the packets that are marked.
fn marked(trains: &[Train]) -> Vec<u64> {
    trains.iter().filter(|t| t.ecn == Ecn::Marked).flat_map(|t| numbers(std::slice::from_ref(t))).collect()
}

fn missing(trains: &[Train], offered: u64) -> Vec<u64> {
    let numbers = numbers(trains);
    (0..offered).filter(|n| !numbers.contains(n)).collect()
}

/// A burst of `n` packets at once, as trains of at most 64.
fn burst(n: u32, size: u32) -> Vec<Train> {
    (0..n.div_ceil(size)).map(|i| data(0, u64::from(i * size), size.min(n - i * size), 1000, 0, 0)).collect()
}

#[test]
fn a_threshold_marks_what_finds_more_waiting() {
    for size in [1, 10] {
        for (queue, dropped) in [
            (QueueSettings::DropTailBytes { limit: 8000, ecn_threshold: Some(4500) }, 9),
            (QueueSettings::DropTailPackets { limit: 8, ecn_threshold: Some(4500) }, 9),
        ] {
            // Packet 0 is sent at once, packet i finds i - 1 waiting; packet 9 finds 8.
            let mut link = link(queue, 64);
            let out = run(&mut link, burst(10, size).into_iter().map(capable));
            assert_eq!(marked(&out), [6, 7, 8]);
            assert_eq!(missing(&out, 10), [dropped]);
            assert_eq!(link.statistics(ms(0)).marked_packets, 3);
        }
        let queue = QueueSettings::DropTailBytes { limit: 9000, ecn_threshold: Some(4500) };
        assert!(
            marked(&run(&mut link(queue, 64), burst(10, size))).is_empty(),
            "without ECN nothing is marked"
        );
    }
}

fn codel(ecn: bool) -> QueueSettings {
    QueueSettings::CoDel(CoDelSettings { target: Span::ms(5), interval: Span::ms(100), limit: 1000, ecn })
}

#[test]
fn codel_drops_by_its_control_law() {
    // Packet i would leave at i ms with a delay of i ms. From 5 ms on the delay is above the target, at 105 ms for
    // an interval: packet 105 is dropped, the next drops follow after 100, 100 / sqrt(2), ... ms.
    for (size, limit) in [(1, 1), (64, 1), (64, 64)] {
        let mut link = link(codel(false), limit);
        let out = run(&mut link, burst(300, size));
        // At 205 ms packet 206 is in front; at 276 ms, the first after 275.7, packet 278.
        assert_eq!(missing(&out, 300), [105, 206, 278]);
        let after = packets(&out).into_iter().find(|p| p.1 == 106).unwrap();
        assert_eq!(SimTime::ps(after.2), ms(105 + 1 + 10), "the one behind a dropped one takes its place");
        let s = link.statistics(ms(1000));
        assert_conserved(300, &s);
        assert_eq!((s.overflow_packets, s.delivered_packets), (3, 297));
    }
}

#[test]
fn codel_marks_instead_if_it_can() {
    for (size, limit) in [(1, 1), (64, 64)] {
        let mut link = link(codel(true), limit);
        let out = run(&mut link, burst(300, size).into_iter().map(capable));
        assert_eq!(marked(&out), [105, 205, 276]);
        assert_eq!(missing(&out, 300), [0_u64; 0]);
    }
}

#[test]
fn codel_leaves_a_short_queue_alone() {
    // Bursts of 5 packets every 6 ms: the delay falls below the target each time.
    for limit in [1, 64] {
        let mut link = link(codel(false), limit);
        let trains = (0..500).map(|i| data(0, i * 5, 5, 1000, i as i64 * 6_000_000_000, 0));
        assert_eq!(missing(&run(&mut link, trains), 2500), [0_u64; 0]);
    }
}

#[test]
fn codel_overflows_at_its_limit() {
    let queue = CoDelSettings { target: Span::ms(5), interval: Span::secs(10), limit: 20, ecn: false };
    let mut link = link(QueueSettings::CoDel(queue), 64);
    // As in sch_codel nothing leaves while a burst comes, but the first for the idle transmitter.
    let out = run(&mut link, burst(30, 1));
    assert_eq!(missing(&out, 30), (21..30).collect::<Vec<u64>>());
}

fn fair(limit: u32) -> Link {
    let settings = FqCodelSettings {
        quantum: 1514,
        target: Span::ms(5),
        interval: Span::ms(100),
        limit,
        ecn: false,
        host: None,
    };
    link(QueueSettings::FqCodel(settings), 64)
}

#[test]
fn a_sparse_flow_overtakes_a_standing_queue() {
    let mut link = fair(1000);
    let trains = [data(1, 0, 64, 1000, 0, 0), data(2, 0, 1, 1000, 3_500_000_000, 0)];
    let out = run(&mut link, trains);
    // It comes while the fourth packet is sent, and is the next.
    let sparse = packets(&out).into_iter().find(|p| p.0 == 2).unwrap();
    assert_eq!(SimTime::ps(sparse.2), ms(4 + 1 + 10));
}

#[test]
fn flows_get_the_same_bytes_whatever_their_frames() {
    let mut link = fair(10_000);
    // Three times as many small frames: for 100 ms both flows have something to send.
    let mut small = data(1, 0, 200, 500, 0, 0);
    small.flow = 1;
    let mut out = Vec::new();
    link.offer(small, &mut out);
    link.offer(data(2, 0, 100, 1500, 0, 0), &mut out);
    wake_until(&mut link, ms(90), &mut out);
    let bytes = |flow| out.iter().filter(|t| t.flow == flow).map(Train::bytes).sum::<u64>();
    assert!(bytes(1).abs_diff(bytes(2)) <= 2 * 1514 + 1500, "{} and {}", bytes(1), bytes(2));
    assert!(bytes(1) + bytes(2) > 85_000);
}

#[test]
fn a_full_fair_queue_drops_from_the_longest() {
    let mut link = fair(100);
    let mut trains = burst(200, 1);
    trains.push(data(7, 0, 3, 1000, 1_000_000, 0));
    let out = run(&mut link, trains);
    let sparse = packets(&out).into_iter().filter(|p| p.0 == 7).count();
    assert_eq!(sparse, 3);
    let s = link.statistics(ms(10_000));
    assert_conserved(203, &s);
    // When 101 wait, half of them go: packets 1 to 51; then 51 more come, and 52 to 102 go.
    assert_eq!(s.waiting_packets, 0);
    let long: Vec<u64> = packets(&out).into_iter().filter(|p| p.0 == 0).map(|p| p.1).collect();
    assert_eq!(long, [0].into_iter().chain(103..200).collect::<Vec<u64>>());
}

/// A host's FQ-CoDel before `ring` descriptors of one packet; each frame takes 832 bytes of memory beside its own.
fn host_fair(ring: u32, limit: u32, memory_limit: u64, piece: u32, ecn: bool) -> Link {
    let queue = QueueSettings::FqCodel(FqCodelSettings {
        quantum: 1514,
        target: Span::ms(5),
        interval: Span::ms(100),
        limit,
        ecn,
        host: Some(HostQueue { memory_limit, overhead: 832, piece }),
    });
    let settings = LinkSettings::new(Rate::mbit(8), Span::ms(10), Bytes::ZERO);
    Link::new(&LinkSettings { queue, train_limit: 64, ring: Some(ring), ..settings })
}

#[test]
fn codel_does_not_see_what_waits_in_the_ring() {
    // Packet i is sent at i ms. It takes the descriptor of packet i - 11, which begins to be sent at i - 10 ms beside ten
    // others that wait, and was taken out of the queue in vain one packet earlier: at i - 11 ms, after so long. From 5 ms
    // on the delay is above the target, so that the drops of `codel_drops_by_its_control_law` are those of 11 packets later.
    for size in [1, 64] {
        let mut link = host_fair(10, 1000, 1 << 30, 1, false);
        let out = run(&mut link, burst(300, size));
        assert_eq!(missing(&out, 300), [105 + 11, 206 + 11, 278 + 11]);
        let after = packets(&out).into_iter().find(|p| p.1 == 117).unwrap();
        assert_eq!(SimTime::ps(after.2), ms(116 + 1 + 10), "the line is never idle");
        let s = link.statistics(ms(1000));
        assert_conserved(300, &s);
        // One is sent, ten find descriptors; the others of what is sent are requeued once each.
        assert_eq!((s.overflow_packets, s.delivered_packets, s.requeues), (3, 297, 297 - 11));
        assert_eq!(s.first_requeue, Some((ms(0), 12)), "the twelfth of its burst");
        let gone = link.take_gone();
        assert_eq!(numbers(&gone.iter().map(|g| g.train.clone()).collect::<Vec<_>>()), [116, 217, 289]);
        assert!(gone.iter().all(|gone| !gone.told), "nobody's call drops them");
        assert_eq!(link.refused(), 0);
    }
}

#[test]
fn a_requeued_packet_is_no_longer_in_its_flows_queue() {
    let mut link = host_fair(2, 1000, 1 << 30, 1, false);
    let mut out = Vec::new();
    link.offer(data(1, 0, 10, 1000, 0, 0), &mut out);
    // Packet 0 is sent, 1 and 2 have descriptors, 3 waits outside: what comes for another flow is served before 4 only.
    link.offer(data(2, 0, 1, 1000, 500_000_000, 0), &mut out);
    assert_eq!(link.statistics(SimTime::ps(500_000_000)).waiting_packets, 10);
    wake_until(&mut link, ms(1000), &mut out);
    let order: Vec<_> = packets(&out).into_iter().map(|p| (p.0, p.1)).collect();
    assert_eq!(order[3..6], [(1, 3), (2, 0), (1, 4)]);
}

#[test]
fn a_hosts_queue_marks_what_it_would_drop_where_that_is_possible() {
    let mut link = host_fair(10, 1000, 1 << 30, 1, true);
    let out = run(&mut link, burst(300, 64).into_iter().map(capable));
    assert_eq!((missing(&out, 300), marked(&out)), (vec![], vec![116, 216, 287]));
    assert!(link.take_gone().is_empty());
}

#[test]
fn a_gso_packet_is_dropped_as_a_whole() {
    // Pieces of four packets last 4 ms. Ring and requeue hold three of them at most.
    let mut link = host_fair(8, 1000, 1 << 30, 4, false);
    let out = run(&mut link, burst(400, 4));
    let missing = missing(&out, 400);
    assert!(missing.len() >= 8 && missing.len().is_multiple_of(4), "{missing:?}");
    assert!(missing.chunks(4).all(|four| four[0] % 4 == 0 && four[3] == four[0] + 3), "{missing:?}");
    assert_eq!(link.statistics(ms(10_000)).overflow_packets, missing.len() as u64);
}

#[test]
fn only_the_flow_that_fills_a_hosts_queue_hears_of_it() {
    // The limit in packets, and the same in memory: a hundred of 1000 bytes.
    for (limit, memory) in [(100, 1 << 30), (10_000, 100 * 1832)] {
        let mut link = host_fair(1, limit, memory, 1, false);
        let mut out = Vec::new();
        for train in burst(103, 1) {
            link.offer(train, &mut out);
        }
        // One is sent, one has the descriptor and one was requeued.
        assert_eq!((link.statistics(ms(0)).waiting_packets, link.take_gone().len()), (102, 0));
        link.offer(data(7, 0, 1, 1000, 0, 0), &mut out);
        let gone = link.take_gone();
        assert!(gone.len() == 50 && gone.iter().all(|gone| gone.train.flow == 0 && !gone.told), "{gone:?}");
        for _ in 0..51 {
            link.offer(data(0, 103, 1, 1000, 0, 0), &mut out);
        }
        let gone = link.take_gone();
        assert!(gone.len() == 50 && gone.iter().all(|gone| gone.train.flow == 0 && gone.told), "{gone:?}");
        assert_eq!(link.refused(), 0, "NET_XMIT_CN: the packet itself is let in");
    }
}

#[test]
fn red_marks_early_and_never_overflows_under_ecn() {
    let red = |ecn| {
        QueueSettings::Red(RedSettings {
            min: 5_000,
            max: 15_000,
            max_probability: 0.1,
            weight: 0.002,
            limit: 1_000_000,
            gentle: false,
            ecn,
        })
    };
    for size in [1, 8] {
        // A tenth more than the rate: the average passes both thresholds.
        let trains = || {
            (0..4000 / size).map(|i| {
                data(0, u64::from(i * size), size, 1000, i64::from(i * size) * 909_090_909, 909_090_909)
            })
        };
        let mut marking = link(red(true), 64);
        let out = run(&mut marking, trains().map(capable));
        assert_eq!(missing(&out, 4000), [0_u64; 0]);
        assert!(marked(&out)[0] > 50, "it begins with the average, not with the first queue");
        let mut dropping = link(red(false), 64);
        let out = run(&mut dropping, trains());
        let s = dropping.statistics(ms(5_000));
        assert_conserved(4000, &s);
        // What is too much, a tenth of the capacity, is dropped, but for what still waits.
        let lost = missing(&out, 4000).len() as f64 / 4000.0;
        assert!((0.06..0.12).contains(&lost), "{lost}");
        assert_eq!(s.overlimits, s.overflow_packets);
    }
}
