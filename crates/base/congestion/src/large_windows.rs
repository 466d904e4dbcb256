//! Windows of a gigabyte and of ten, for the algorithms whose growth the conformance suite does not count packet by packet:
//! what their own equations say there. No overflow, no standstill.

use crate::event::{AckSample, RateSample};
use crate::testing::{Flow, MSS};
use wirespeed_units::{Packets, Span};

/// Packets in so many gigabytes.
fn packets(gigabytes: u64) -> u64 {
    gigabytes * 1_000_000_000 / MSS
}

#[test]
fn hybla_stays_at_its_largest_window_and_grows_from_half_of_it_as_its_scale_allows() {
    for gigabytes in [1, 10] {
        // 500 ms are 20 references: slow start adds 2^16 for each ACK (its largest exponent) until the threshold.
        let mut flow = Flow::new("hybla").at(packets(gigabytes)).after_handshake(Span::ms(500)).stretched(1);
        flow.ack(1, Span::ms(500));
        flow.ack(1, Span::ms(500));
        assert_eq!(flow.cwnd(), 65_535, "snd_cwnd_clamp of tcp_hybla.c");
        flow.lose();
        assert_eq!(flow.cwnd(), 32_767);
        let before = flow.cwnd();
        flow.round(Span::ms(500));
        // 2 (8 rho)^2 / cwnd = 51,200 / 32,767 = 1 in whole 128ths: an ACK adds 1/128, where rho^2 would be 400 packets.
        assert_eq!(flow.cwnd() - before, before / 128);
        // At 200 ms rho is 8: 8,192 / 32,767 is none at all, and the window grows as Reno's.
        let mut flow = Flow::new("hybla").at(packets(gigabytes)).after_handshake(Span::ms(200)).stretched(1);
        while flow.cwnd() < 65_535 {
            flow.ack(1, Span::ms(200));
        }
        flow.lose();
        for round in 1..=3 {
            flow.round(Span::ms(200));
            assert!(flow.cwnd().abs_diff(32_767 + round) <= 1, "{} after {round} round trips", flow.cwnd());
        }
    }
}

#[test]
fn yeah_grows_by_a_hundredth_and_takes_out_what_it_queued() {
    for gigabytes in [1, 10] {
        let window = packets(gigabytes);
        let mut flow = Flow::new("yeah").at(window);
        (0..5).for_each(|_| flow.ack(1, Span::ms(100)));
        // One for every hundred acknowledged.
        for _ in 0..3 {
            let before = flow.cwnd();
            flow.round(Span::ms(100));
            assert!((flow.cwnd() - before).abs_diff(before / 100) <= 1, "{before} to {}", flow.cwnd());
        }
        // At 101 ms a hundred and first part is queued, far more than eighty packets: it is taken out, and then every round
        // trip that it is there again.
        for _ in 0..2 {
            flow.round(Span::ms(101));
        }
        let before = flow.cwnd();
        flow.round(Span::ms(101));
        let (lost, queued) = (before - flow.cwnd(), before / 101);
        assert!(lost.abs_diff(queued) <= queued / 50 + 2, "{lost}, not {queued}");
        // What a loss takes: the queue if it is more than an eighth, and an eighth here.
        let before = flow.cwnd();
        flow.lose();
        assert_eq!(flow.cwnd(), before - (before >> 3));
    }
}

#[test]
fn lola_noloss_follows_its_curve_and_keeps_its_window() {
    for gigabytes in [1, 10] {
        let window = packets(gigabytes);
        let mut flow = Flow::new("lola-noloss").at(window).stretched(window / 100);
        for _ in 0..300 {
            flow.round(Span::ms(200));
        }
        // W(t) = 0.4 t^3 above where it began, a round trip ahead, after 60 s: 87,267 packets.
        let expected = 0.4 * 60.2_f64.powi(3);
        let grown = flow.cwnd() - window;
        assert!((grown as f64 / expected - 1.0).abs() < 0.02, "{grown}, not {expected}");
        let before = flow.cwnd();
        flow.lose();
        assert_eq!(flow.cwnd(), before);
    }
}

/// A round trip of 100 ms on a path that holds `fits` packets: twenty ACKs, and what is beyond waits in its queue without
/// delay.
fn round(flow: &mut Flow, fits: u64) {
    let rtt = Span::ms(100);
    let (carried, before) = (flow.cwnd().min(fits), flow.delivered);
    for part in 0..20_u64 {
        flow.wait(Span::ms(5));
        let acked = carried * (part + 1) / 20 - carried * part / 20;
        let rate = RateSample {
            delivered: Packets::new(carried),
            interval: rtt,
            prior_delivered: Packets::new(before.saturating_sub(carried) + carried * part / 20),
            in_flight_at_send: Packets::new(carried),
            lost: Packets::new(0),
            app_limited: false,
        };
        let sample = AckSample {
            rate: Some(rate),
            in_flight: Packets::new(carried),
            prior_in_flight: Packets::new(carried),
            ..flow.sample(acked, rtt)
        };
        flow.give(sample);
    }
}

#[test]
fn bbr_doubles_up_to_the_path_and_keeps_twice_what_fits() {
    for name in ["bbr", "bbr-4.15", "bbr3"] {
        for gigabytes in [1, 10] {
            let fits = packets(gigabytes);
            let mut flow = Flow::new(name).after_handshake(Span::ms(100));
            let mut rounds = 0;
            while flow.cwnd() < fits {
                let before = flow.cwnd();
                round(&mut flow, fits);
                rounds += 1;
                assert!(
                    flow.cwnd() == 2 * before || flow.cwnd() > fits,
                    "{name}: {before} to {}",
                    flow.cwnd()
                );
            }
            // ceil(log2(690,607 / 10)) and ceil(log2(6,906,077 / 10)).
            assert_eq!(rounds, if gigabytes == 1 { 17 } else { 20 }, "{name}");
            for _ in 0..15 {
                round(&mut flow, fits);
            }
            let rate = fits as f64 * MSS as f64 * 8.0 / 0.1;
            let seen = flow.see("bandwidth_bps");
            assert!((seen / rate - 1.0).abs() < 1e-6, "{name} at {gigabytes} GB: {seen}, not {rate}");
            // Gain 2, 2.25 while version 3 probes, and the twentieth that comes at once as excess.
            let most = if name == "bbr3" { 2.30 } else { 2.05 };
            let share = flow.cwnd() as f64 / fits as f64;
            assert!(
                (2.0..most + 0.001).contains(&share),
                "{name} at {gigabytes} GB keeps {share} of what fits"
            );
            // The pacing gain of the phase it is in; until 4.20 a rate had 32 bits, and that version no margin.
            let margin = if name == "bbr-4.15" { 1.0 } else { 0.99 };
            let paced = rate * margin * flow.see("pacing_gain_ratio");
            let expected = if name == "bbr-4.15" { paced.min(f64::from(u32::MAX) * 8.0) } else { paced };
            let pacing = flow.output().pacing_rate.unwrap().get() as f64;
            assert!(
                (pacing / expected - 1.0).abs() < 1e-3,
                "{name} at {gigabytes} GB paces at {pacing}, not {expected}"
            );
        }
    }
}
