//! Whatever is offered, in whatever order: every packet is in one place, arrivals keep their order, nothing hangs.

use super::reference::{assert_conserved, data, packets, wake_until};
use crate::net::{
    ChangeSettings, CoDelSettings, Ecn, FqCodelSettings, FqSettings, HostQueue, InFlight, Link, LinkSettings,
    LossSettings, PolicerSettings, PortLimitSettings, QueueSettings, RedSettings,
};
use proptest::prelude::*;
use wirespeed_units::{Bytes, Rate, SimTime, Span};

fn queues() -> impl Strategy<Value = QueueSettings> {
    let threshold = || prop::option::of(0..50_000_u64);
    let times = || (0..200_i64, 100..2000_i64).prop_map(|(t, i)| (Span::us(t), Span::us(i)));
    prop_oneof![
        (0..100_000_u64, threshold())
            .prop_map(|(limit, ecn_threshold)| QueueSettings::DropTailBytes { limit, ecn_threshold }),
        (0..100_u32, threshold())
            .prop_map(|(limit, ecn_threshold)| QueueSettings::DropTailPackets { limit, ecn_threshold }),
        (1..100_u32).prop_map(|size| QueueSettings::PtrRing { size }),
        (0..20_000_u64, 1..40_000_u64, any::<bool>(), any::<bool>()).prop_map(|(min, more, gentle, ecn)| {
            QueueSettings::Red(RedSettings {
                min,
                max: min + more,
                max_probability: 0.1,
                weight: 0.01,
                limit: 100_000,
                gentle,
                ecn,
            })
        }),
        (times(), 1..100_u32, any::<bool>()).prop_map(|((target, interval), limit, ecn)| {
            QueueSettings::CoDel(CoDelSettings { target, interval, limit, ecn })
        }),
        (
            times(),
            1..100_u32,
            any::<bool>(),
            100..5000_u32,
            prop::option::of((1..50_u32, 10_000..200_000_u64))
        )
            .prop_map(|((target, interval), limit, ecn, quantum, host)| {
                let host = host.map(|(piece, memory_limit)| HostQueue { memory_limit, overhead: 832, piece });
                QueueSettings::FqCodel(FqCodelSettings { quantum, target, interval, limit, ecn, host })
            }),
        (100..5000_u32, 1..100_u32, 1..50_u32, prop::option::of(1..1000_u64), any::<bool>()).prop_map(
            |(quantum, limit, flow_limit, max_rate, whole)| {
                QueueSettings::Fq(FqSettings {
                    quantum,
                    initial_quantum: 5 * quantum,
                    limit,
                    flow_limit,
                    max_rate: max_rate.map(Rate::mbit),
                    whole,
                })
            }
        ),
    ]
}

/// Changes, each so many microseconds after the one before.
fn in_turn(changes: &[(i64, u64, i64, f64, u64)]) -> Vec<ChangeSettings> {
    let (mut at, last) = (SimTime::START, changes.len());
    let changes = changes.iter().enumerate().map(|(i, (later, rate, delay, loss, limit))| {
        at = at + Span::us(*later);
        // The last one carries what there is.
        let rate = if i + 1 == last { (*rate).max(1) } else { *rate };
        ChangeSettings {
            at,
            rate: Rate::bps(rate * 999_999_937),
            delay: Span::us(*delay),
            loss: *loss,
            limit: Bytes::new(*limit),
        }
    });
    changes.collect()
}

fn settings() -> impl Strategy<Value = LinkSettings> {
    let loss = prop_oneof![
        Just(LossSettings::None),
        (0.0..0.1_f64).prop_map(|probability| LossSettings::Random { probability }),
    ];
    let bucket = || prop::option::of((1..20_u64, 2_000..50_000_u64));
    let outages = prop::option::of((0..1000_i64, 1..1000_i64));
    let limits = (prop_oneof![Just(1_u32), Just(16), Just(64)], prop::option::of(1..100_u32));
    // Some of them stand still for a while.
    let change = (1..500_i64, 0..12_u64, 0..600_i64, 0.0..0.05_f64, 3_000..200_000_u64);
    let changes = prop::collection::vec(change, 0..6);
    (queues(), loss, bucket(), bucket(), outages, 8..12_u64, (limits, changes)).prop_map(
        |(queue, loss, policer, port, outage, rate, ((train_limit, ring), changes))| LinkSettings {
            changes: in_turn(&changes),
            // Interfaces have rings and do not change, of which RED and limits in bytes know nothing.
            ring: ring.filter(|_| {
                changes.is_empty()
                    && !matches!(queue, QueueSettings::Red(_) | QueueSettings::DropTailBytes { .. })
            }),
            queue,
            loss,
            train_limit,
            policer: policer
                .map(|(rate, burst)| PolicerSettings { rate: Rate::gbit(rate), burst: Bytes::new(burst) }),
            port_limit: port
                .map(|(rate, burst)| PortLimitSettings { rate: Rate::gbit(rate), burst: Bytes::new(burst) }),
            outages: outage
                .map(|(from, length)| {
                    (SimTime::START + Span::us(from), SimTime::START + Span::us(from + length))
                })
                .into_iter()
                .collect(),
            ..LinkSettings::new(Rate::bps(rate * 999_999_937), Span::us(300), Bytes::ZERO)
        },
    )
}

proptest! {
    #[test]
    fn every_packet_is_in_one_place(
        settings in settings(),
        offers in prop::collection::vec(
            (0..4_u32, 1..65_u32, prop_oneof![Just(1514_u32), 60..1514_u32], 0..4_000_000_i64, 0..60_000_000_i64,
             any::<bool>()),
            1..120,
        ),
    ) {
        let mut link = Link::new(&settings);
        let mut out = Vec::new();
        let (mut now, mut offered, mut next) = (0, 0, [0_u64; 4]);
        let mut busy_until = [0; 4];
        for (flow, packets, frame, gap, pause, capable) in offers {
            if busy_until[flow as usize] > now {
                // The packets of one flow come one after the other.
                now += pause;
                continue;
            }
            let packets = packets.min(settings.train_limit);
            let mut train = data(flow, next[flow as usize], packets, frame, now, gap);
            train.ecn = if capable { Ecn::Capable } else { Ecn::NotCapable };
            busy_until[flow as usize] = train.last_at().picoseconds();
            next[flow as usize] += u64::from(packets);
            offered += u64::from(packets);
            wake_until(&mut link, train.at, &mut out);
            link.offer(train, &mut out);
            let s = link.statistics(SimTime::ps(now));
            assert_conserved(offered, &s);
            if settings.train_limit == 1 {
                prop_assert_eq!(s.ahead_packets, 0);
            }
            now += pause;
        }
        wake_until(&mut link, SimTime::ps(i64::MAX), &mut out);
        let mut flight = InFlight::new(Span::ZERO, false);
        for train in out.drain(..) {
            flight.push(train, 1);
        }
        out.extend(std::iter::from_fn(|| flight.pop()));
        prop_assert!(out.windows(2).all(|w| w[0].at <= w[1].at), "trains arrive in order");
        // A flow of fq waits for up to a second after each train.
        let end = SimTime::ps(busy_until[0].max(now)) + Span::ms(120_000);
        let s = link.statistics(end);
        assert_conserved(offered, &s);
        prop_assert_eq!(s.delivered_packets, packets(&out).len() as u64);
        prop_assert_eq!(s.waiting_packets + s.flight_packets + s.ahead_packets + s.waiting_bytes, 0);
        prop_assert!(out.iter().all(|t| t.packets <= settings.train_limit));

        // No packet twice, and each flow in its order. Where trains of two flows overlap, what comes right behind the last
        // packet of one may be sent before it: by less than the time that one packet takes.
        let rates = settings.changes.iter().map(|change| change.rate).chain([settings.rate]);
        let slowest = rates.filter(|rate| *rate > Rate::bps(0)).min().unwrap_or(settings.rate);
        let longest = slowest.serialisation(Bytes::new(1514)).picoseconds();
        let before = if settings.train_limit == 1 { 0 } else { longest };
        for flow in 0..4 {
            let of_flow: Vec<_> = packets(&out).into_iter().filter(|p| p.0 == flow).collect();
            for pair in of_flow.windows(2) {
                let [(_, number, at), (_, next, next_at)] = [pair[0], pair[1]];
                prop_assert!(number < next || number > next && next_at - at < before, "{pair:?}");
            }
            let different: std::collections::BTreeSet<u64> = of_flow.iter().map(|p| p.1).collect();
            prop_assert_eq!(different.len(), of_flow.len());
        }
    }
}
