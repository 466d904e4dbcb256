//! Every drop and loss of a link is counted once, by its cause.

use super::reference::data;
use crate::net::{
    Causes, CoDelSettings, FqCodelSettings, Link, LinkSettings, LossSettings, PolicerSettings,
    PortLimitSettings, QueueSettings, RedSettings,
};
use wirespeed_record::Cause;
use wirespeed_units::{Bytes, Rate, SimTime, Span};

/// What was lost to each cause of 2,000 frames of 1,000 bytes that come at twice the rate of a link of 1 Gbit/s, in trains
/// of 20; the sums agree with what the link counts before and behind its transmitter.
fn lost(change: impl Fn(&mut LinkSettings)) -> Vec<(Cause, u64)> {
    let mut settings = LinkSettings::new(Rate::gbit(1), Span::ms(1), Bytes::mib(1));
    settings.train_limit = 64;
    change(&mut settings);
    let (mut link, causes, mut out) = (Link::new(&settings), Causes::of(&settings), Vec::new());
    for train in 0..100_i64 {
        let at = train * 80_000_000;
        while let Some(due) = link.next_wake().filter(|due| due.picoseconds() <= at) {
            link.wake(due, &mut out);
        }
        link.offer(data(0, train as u64 * 20, 20, 1000, at, 4_000_000), &mut out);
    }
    while let Some(due) = link.next_wake() {
        link.wake(due, &mut out);
    }
    let s = link.statistics(SimTime::ps(1_000_000_000_000));
    let packets = causes.packets(&s);
    let sum: u64 = packets.iter().map(|(_, packets)| packets).sum();
    assert_eq!(sum, s.overflow_packets + s.lost_packets, "{packets:?} of {s:?}");
    assert_eq!(sum + s.delivered_packets, 2000);
    packets.into_iter().filter(|(_, packets)| *packets > 0).collect()
}

#[test]
fn a_roomy_link_loses_nothing_and_a_full_one_to_its_queue() {
    assert_eq!(lost(|_| {}), []);
    let full = lost(|s| s.queue = QueueSettings::DropTailBytes { limit: 10_000, ecn_threshold: None });
    assert!(matches!(full[..], [(Cause::QueueFull, 900..)]), "{full:?}");
}

#[test]
fn each_cause_before_the_transmitter_is_counted_as_itself() {
    let policer = lost(|s| {
        s.policer = Some(PolicerSettings { rate: Rate::mbit(500), burst: Bytes::new(10_000) });
    });
    assert!(matches!(policer[..], [(Cause::Policer, 1400..)]), "{policer:?}");
    let red = RedSettings {
        min: 10_000,
        max: 30_000,
        max_probability: 0.1,
        weight: 0.02,
        limit: 1 << 20,
        gentle: false,
        ecn: false,
    };
    let red = lost(|s| s.queue = QueueSettings::Red(red.clone()));
    assert!(matches!(red[..], [(Cause::Red, 500..)]), "{red:?}");
    let (target, interval) = (Span::us(100), Span::ms(1));
    let codel = CoDelSettings { target, interval, limit: 10_000, ecn: false };
    let codel = lost(|s| s.queue = QueueSettings::CoDel(codel.clone()));
    assert!(matches!(codel[..], [(Cause::CoDel, 5..)]), "{codel:?}");
    let fair = FqCodelSettings { quantum: 1514, target, interval, limit: 10_000, ecn: false, host: None };
    let control = lost(|s| s.queue = QueueSettings::FqCodel(fair.clone()));
    assert!(matches!(control[..], [(Cause::CoDel, 5..)]), "{control:?}");
    // With hardly any room the same queue is full before its control acts.
    let fair = FqCodelSettings { limit: 30, ..fair };
    let full = lost(|s| s.queue = QueueSettings::FqCodel(fair.clone()));
    assert!(matches!(full[..], [(Cause::QueueFull, 500..), ..]), "{full:?}");
}

#[test]
fn each_cause_behind_the_transmitter_is_counted_as_itself() {
    let port = lost(|s| {
        s.port_limit = Some(PortLimitSettings { rate: Rate::mbit(500), burst: Bytes::new(10_000) });
    });
    assert!(matches!(port[..], [(Cause::PortLimit, 900..)]), "{port:?}");
    let outage = lost(|s| s.outages = vec![(SimTime::START, SimTime::START + Span::ms(4))]);
    assert!(matches!(outage[..], [(Cause::Outage, 450..=550)]), "{outage:?}");
    for (loss, cause) in [
        (LossSettings::Random { probability: 0.1 }, Cause::RandomLoss),
        (LossSettings::BitError { rate: 1e-5 }, Cause::BitErrors),
        (
            LossSettings::GilbertElliott {
                good_to_bad: 0.05,
                bad_to_good: 0.2,
                loss_good: 0.0,
                loss_bad: 0.5,
            },
            Cause::BurstLoss,
        ),
    ] {
        let lost = lost(|s| s.loss = loss);
        assert!(matches!(lost[..], [(found, 50..)] if found == cause), "{lost:?}");
    }
}

#[test]
fn causes_that_meet_on_one_link_stay_apart() {
    let all = lost(|s| {
        s.policer = Some(PolicerSettings { rate: Rate::mbit(1500), burst: Bytes::new(10_000) });
        s.queue = QueueSettings::DropTailBytes { limit: 10_000, ecn_threshold: None };
        s.port_limit = Some(PortLimitSettings { rate: Rate::mbit(800), burst: Bytes::new(10_000) });
        s.loss = LossSettings::Random { probability: 0.1 };
        s.outages = vec![(SimTime::START + Span::ms(2), SimTime::START + Span::ms(3))];
    });
    let causes: Vec<Cause> = all.iter().map(|(cause, _)| *cause).collect();
    use Cause::{Outage, Policer, PortLimit, QueueFull, RandomLoss};
    assert_eq!(causes, [Policer, QueueFull, PortLimit, RandomLoss, Outage], "{all:?}");
}
