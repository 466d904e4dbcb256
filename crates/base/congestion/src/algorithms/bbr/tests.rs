//! BBR on a bottleneck of known rate, with the queue that results.

use super::*;
use crate::parameter::Values;
use crate::testing::MSS;
use crate::testing::path::Path;
use std::collections::BTreeMap;
use wirespeed_units::{Packets, Span};

/// 100 us a packet over 20 ms: a bandwidth-delay product of 200 packets, 115.84 Mbit/s of payload.
fn path() -> Path {
    Path::new("bbr", Span::us(100), Span::ms(20))
}

#[test]
fn gains_of_the_paper() {
    let Settings { high_gain, drain_gain, .. } = Settings::of_4_15();
    assert!((high_gain as f64 / 256.0 - 2.0 / 2f64.ln()).abs() < 0.005);
    assert!((drain_gain as f64 * high_gain as f64 / 65_536.0 - 1.0).abs() < 0.01);
    assert_eq!(CYCLE.iter().sum::<u64>(), 8 * UNIT);
}

#[test]
fn startup_finds_the_rate_and_drains() {
    let mut path = path();
    path.run(Span::ms(1_500), |_| ());
    assert_eq!(path.flow.see("full_bool"), 1.0);
    let rate = path.flow.see("bandwidth_bps");
    let expected = 8.0 * MSS as f64 / 100e-6;
    assert!((rate / expected - 1.0).abs() < 0.03, "{rate}, not {expected}");
    assert!((20_000.0..=20_200.0).contains(&path.flow.see("min_rtt_us")));
    assert_eq!(path.flow.see("cwnd_gain_ratio"), 2.0);
}

#[test]
fn in_flight_is_at_most_twice_the_bandwidth_delay_product() {
    let mut path = path();
    path.run(Span::secs(3), |_| ());
    // 2 x 200, three bursts of 9 packets, two for the probe, and what aggregation of single ACKs allows.
    let cwnd = path.flow.cwnd();
    assert!((400..=480).contains(&cwnd), "{cwnd}");
}

#[test]
fn the_cycle_probes_drains_and_cruises() {
    let mut path = path();
    path.run(Span::secs(2), |_| ());
    let mut gains = Vec::new();
    path.run(Span::secs(1), |flow| {
        let gain = flow.see("pacing_gain_ratio");
        if gains.last() != Some(&gain) {
            gains.push(gain);
        }
    });
    assert!(gains.len() >= 9, "{gains:?}");
    let first = gains.iter().position(|&gain| gain == 1.25).unwrap();
    for (index, gain) in gains[first..].iter().enumerate() {
        assert_eq!(*gain, [1.25, 0.75, 1.0][index % 3], "{gains:?}");
    }
}

#[test]
fn every_ten_seconds_the_round_trip_time_is_probed_with_four_packets() {
    let mut path = path();
    path.run(Span::secs(9), |_| ());
    let mut least = (u64::MAX, SimTime::START);
    path.run(Span::secs(4), |flow| {
        if flow.cwnd() < least.0 {
            least = (flow.cwnd(), flow.now);
        }
    });
    assert_eq!(least.0, 4);
    assert!(path.flow.cwnd() > 300);
}

#[test]
fn packets_are_conserved_at_first_and_the_window_comes_back() {
    let mut path = path();
    path.run(Span::secs(2), |_| ());
    let before = path.flow.cwnd();
    let mut event = path.flow.event(CongestionKind::FastRetransmit);
    event.in_flight = Packets::new(150);
    event.newly_delivered = Packets::new(1);
    path.flow.control.on_congestion(&event);
    assert_eq!(path.flow.cwnd(), 151);
    path.flow.phase = Phase::Recovery;
    path.flow.ack(1, Span::ms(20));
    path.flow.phase = Phase::Open;
    path.flow.ack(1, Span::ms(20));
    assert!(path.flow.cwnd().abs_diff(before) <= 30, "{} {before}", path.flow.cwnd());
}

#[test]
fn linux_4_15_stays_at_ten_gigabit_below_a_millisecond() {
    // A 100 Gbit/s bottleneck: 116 ns a packet.
    for (name, base, limited) in
        [("bbr-4.15", Span::us(100), true), ("bbr", Span::us(100), false), ("bbr-4.15", Span::ms(1), false)]
    {
        let mut path = Path::new(name, Span::ns(116), base);
        path.run(base * 20 + Span::ms(3), |_| ());
        let rate = path.flow.output().pacing_rate.unwrap();
        assert_eq!(rate <= Rate::gbit(10), limited, "{name} {base}: {rate}");
    }
}

#[test]
fn a_policer_is_recognised() {
    let mut policer = Policer::default();
    let mut look = Look {
        now: SimTime::START,
        delivered: 0,
        lost: 0,
        losses: true,
        round_start: true,
        app_limited: false,
        probes_bandwidth: true,
        mss: MSS,
    };
    let mut found = None;
    for round in 1..20u64 {
        // A quarter of the packets lost in each round trip of 10 ms with 100 delivered.
        look.now = SimTime::START + Span::ms(10 * round as i64);
        (look.delivered, look.lost) = (100 * round, 25 * round);
        if policer.look(&look) == Finding::Policed {
            found = Some(round);
            break;
        }
    }
    // One interval of four round trips, and another.
    assert_eq!(found, Some(8));
    let rate = policer.rate().unwrap() as f64 / BANDWIDTH_UNIT as f64;
    assert!((rate - 0.01).abs() < 0.0005, "{rate} packets a microsecond");
}

#[test]
fn the_defaults_are_the_constants_of_linux() {
    let defaults = Settings::of(&Values::resolve("bbr", PARAMETERS, &BTreeMap::new()).unwrap());
    let expected = Settings { paced_of_million: 990_000, ..Settings::of_4_15() };
    assert_eq!(format!("{defaults:?}"), format!("{expected:?}"));
}

#[test]
fn parameters_are_used() {
    let fourth = |name: &str, value: i64| {
        let mut path = Path::with("bbr", &[(name, value)], Span::us(100), Span::ms(20));
        path.run(Span::ms(1_500), |_| ());
        path
    };
    assert_eq!(fourth("cwnd_gain", 768).flow.see("cwnd_gain_ratio"), 3.0);
    let rate =
        |path: &Path| path.flow.output().pacing_rate.unwrap().get() as f64 / path.flow.see("bandwidth_bps");
    let (tight, wide) = (fourth("pacing_margin_percent", 0), fourth("pacing_margin_percent", 10));
    let gain = |path: &Path| path.flow.see("pacing_gain_ratio");
    assert!((rate(&tight) / gain(&tight) - 1.0).abs() < 0.01, "{}", rate(&tight));
    assert!((rate(&wide) / gain(&wide) - 0.9).abs() < 0.01, "{}", rate(&wide));
    // The least round-trip time is probed every second, by a window of eight packets.
    let mut path =
        Path::with("bbr", &[("min_rtt_win_sec", 1), ("cwnd_min_target", 8)], Span::us(100), Span::ms(20));
    let mut least = u64::MAX;
    path.run(Span::secs(3), |flow| {
        least = least.min(if flow.see("full_bool") > 0.0 { flow.cwnd() } else { u64::MAX })
    });
    assert_eq!(least, 8);
}
