//! BBR version 3 on a bottleneck of known rate.

use super::*;
use crate::event::RateSample;
use crate::parameter::Values;
use crate::testing::MSS;
use crate::testing::path::Path;
use std::collections::BTreeMap;
use wirespeed_units::{Packets, Span};

/// 100 us a packet over 20 ms: a bandwidth-delay product of 200 packets.
fn path() -> Path {
    Path::new("bbr3", Span::us(100), Span::ms(20))
}

fn defaults() -> Settings {
    Settings::of(&Values::resolve("bbr3", PARAMETERS, &BTreeMap::new()).unwrap())
}

#[test]
fn gains_of_the_draft() {
    let defaults = defaults();
    assert!((defaults.startup_gain as f64 / 100.0 - 4.0 * 2f64.ln()).abs() < 0.01);
    assert_eq!(Mode::Down.gains(&defaults), (90, 200));
    assert_eq!(Mode::Up.gains(&defaults), (125, 225));
    assert_eq!(Mode::ProbeRtt { done: None, round_done: false }.gains(&defaults), (100, 50));
}

#[test]
fn startup_finds_the_rate_and_drains() {
    let mut path = path();
    path.run(Span::ms(1_500), |_| ());
    assert_eq!(path.flow.see("full_bool"), 1.0);
    let rate = path.flow.see("bandwidth_bps");
    let expected = 8.0 * MSS as f64 / 100e-6;
    assert!((rate / expected - 1.0).abs() < 0.03, "{rate}, not {expected}");
    assert!((400..=480).contains(&path.flow.cwnd()), "{}", path.flow.cwnd());
}

#[test]
fn it_probes_every_two_to_three_seconds_or_63_round_trips() {
    let mut path = path();
    path.run(Span::ms(1_500), |_| ());
    let mut starts = Vec::new();
    let mut last = 1.0;
    path.run(Span::secs(3), |flow| {
        let gain = flow.see("pacing_gain_ratio");
        if gain == 1.25 && last != 1.25 {
            starts.push(flow.now);
        }
        last = gain;
    });
    assert!(starts.len() >= 2, "{starts:?}");
    for pair in starts.windows(2) {
        // 63 round trips of 20 ms and a little queue come first here.
        let span = (pair[1] - pair[0]).as_secs_f64();
        assert!((1.2..=3.2).contains(&span), "{span} s");
    }
}

#[test]
fn every_five_seconds_the_window_is_half_the_bandwidth_delay_product() {
    let mut path = path();
    path.run(Span::secs(4), |_| ());
    let mut least = u64::MAX;
    path.run(Span::secs(3), |flow| least = least.min(flow.cwnd()));
    assert!((95..=110).contains(&least), "{least}");
    assert!(path.flow.cwnd() > 300);
}

/// A control past Startup with a window of `cwnd`, and an ACK that shows `lost` of `out` packets lost.
fn with_loss(mode: Mode, cwnd: u64, out: u64, lost: u64) -> (Bbr3, AckSample) {
    let setup = Setup { handshake_rtt: Some(Span::ms(20)), ..Setup::new(Bytes::new(MSS), cwnd) };
    let mut bbr = Bbr3::new(&setup, defaults());
    bbr.full = true;
    bbr.mode = mode;
    bbr.max_rates = [0, (100u64 << BANDWIDTH_SHIFT) / 20_000];
    bbr.cycle.samples_probe = true;
    bbr.delivered = 1_000;
    let ack = AckSample {
        newly_delivered: Packets::new(1),
        newly_lost: Packets::new(lost),
        delivered: Packets::new(1_001),
        in_flight: Packets::new(out),
        rate: Some(RateSample {
            delivered: Packets::new(50),
            interval: Span::ms(20),
            prior_delivered: Packets::new(950),
            in_flight_at_send: Packets::new(out),
            lost: Packets::new(lost),
            app_limited: false,
        }),
        ..AckSample::default()
    };
    (bbr, ack)
}

#[test]
fn more_than_two_percent_of_loss_ends_a_probe_and_bounds_what_is_in_flight() {
    let (mut bbr, ack) = with_loss(Mode::Up, 150, 150, 4);
    bbr.on_ack(&ack);
    assert_eq!((bbr.mode, bbr.long_term), (Mode::Down, 150));
    let (mut bbr, ack) = with_loss(Mode::Up, 150, 150, 3);
    bbr.on_ack(&ack);
    assert_eq!((bbr.mode, bbr.long_term), (Mode::Up, u64::MAX));
}

#[test]
fn a_round_trip_with_loss_lowers_the_short_term_bounds_to_seven_tenths() {
    let (mut bbr, ack) = with_loss(Mode::Cruise, 150, 150, 1);
    bbr.cycle.wait = 10_000;
    bbr.on_ack(&ack);
    // 0.7 x 150 packets, and 0.7 of the rate of a hundred in 20 ms, both above what was delivered.
    assert_eq!(bbr.short_term, 105);
    assert_eq!(bbr.short_term_rate, bbr.max_bandwidth() * 7 / 10);
    assert!(bbr.window.cwnd <= 105);
}

#[test]
fn cruising_leaves_headroom() {
    let (mut bbr, ack) = with_loss(Mode::Cruise, 250, 100, 0);
    bbr.long_term = 160;
    bbr.cycle.wait = 10_000;
    bbr.on_ack(&ack);
    assert_eq!(bbr.window.cwnd, 160 * 85 / 100);
}

#[test]
fn parameters_are_used() {
    let path = Path::with("bbr3", &[("startup_pacing_gain", 289)], Span::us(100), Span::ms(20));
    assert_eq!(path.flow.see("pacing_gain_ratio"), 2.89);
    // Cruise keeps two BDP, or three.
    let window = |gain: i64| {
        let mut path = Path::with("bbr3", &[("cwnd_gain", gain)], Span::us(100), Span::ms(20));
        path.run(Span::ms(1_500), |_| ());
        path.flow.cwnd()
    };
    let (two, three) = (window(200), window(300));
    assert!((0.62..0.72).contains(&(two as f64 / three as f64)), "{two} of {three}");
}
