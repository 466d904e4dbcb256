//! The engine around the plainest rule.

use crate::control::Observer;
use crate::event::{CongestionKind, Phase, Restart, RestartKind};
use crate::testing::{Flow, MSS};
use wirespeed_units::{Packets, Span};

#[test]
fn threshold_is_reported_once_it_is_set() {
    struct Names(Vec<&'static str>);
    impl Observer for Names {
        fn value(&mut self, name: &'static str, _: f64) {
            self.0.push(name);
        }
    }
    let has_threshold = |flow: &Flow| {
        let mut names = Names(Vec::new());
        flow.control.observe(&mut names);
        names.0.contains(&"ssthresh_packets")
    };
    assert!(!has_threshold(&Flow::new("reno")));
    assert!(has_threshold(&Flow::new("reno").at(100)));
}

#[test]
fn one_cut_for_one_window_of_data() {
    let mut flow = Flow::new("reno").at(100);
    flow.congest(CongestionKind::FastRetransmit);
    flow.congest(CongestionKind::FastRetransmit);
    flow.congest(CongestionKind::EcnEcho);
    assert_eq!(flow.cwnd(), 50);
    // The next window is another matter.
    flow.una = 200 * MSS;
    flow.congest(CongestionKind::EcnEcho);
    assert_eq!(flow.cwnd(), 25);
}

#[test]
fn ecn_reduces_without_loss_and_cannot_be_undone() {
    let mut flow = Flow::new("reno").at(100);
    flow.congest(CongestionKind::EcnEcho);
    flow.undo();
    assert_eq!((flow.cwnd(), flow.ssthresh()), (50, Some(50)));
}

#[test]
fn undo_restores_window_and_threshold() {
    let mut flow = Flow::new("reno").at(100);
    flow.congest(CongestionKind::FastRetransmit);
    flow.undo();
    assert_eq!((flow.cwnd(), flow.ssthresh()), (100, Some(100)));
    // There is nothing left to undo.
    flow.una = 200 * MSS;
    flow.phase = Phase::Open;
    flow.recover();
    flow.congest(CongestionKind::EcnEcho);
    flow.undo();
    assert_eq!(flow.cwnd(), 50);
}

#[test]
fn a_timeout_in_slow_start_is_undone_to_no_threshold() {
    let mut flow = Flow::new("reno");
    flow.round(Span::ms(10));
    flow.congest(CongestionKind::Timeout);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1, Some(10)));
    flow.undo();
    assert_eq!((flow.cwnd(), flow.ssthresh()), (20, None));
}

#[test]
fn a_repeated_timeout_holds_the_threshold_until_progress() {
    let mut flow = Flow::new("reno").at(100);
    flow.congest(CongestionKind::Timeout);
    flow.congest(CongestionKind::Timeout);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1, Some(50)));
    // Slow start to 4, then another: now the window that is lost was 4 (RFC 5681, section 3.1).
    flow.ack(1, Span::ms(10));
    flow.ack(2, Span::ms(10));
    flow.congest(CongestionKind::Timeout);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1, Some(2)));
}

#[test]
fn a_timeout_in_recovery_holds_the_threshold() {
    let mut flow = Flow::new("reno").at(100);
    flow.congest(CongestionKind::FastRetransmit);
    flow.congest(CongestionKind::Timeout);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1, Some(50)));
}

#[test]
fn no_growth_while_reducing() {
    let mut flow = Flow::new("reno").at(100);
    flow.congest(CongestionKind::FastRetransmit);
    let mut sample = flow.sample(50, Span::ms(10));
    sample.may_grow = true;
    flow.control.on_ack(&sample);
    assert_eq!(flow.cwnd(), 50);
}

#[test]
fn idle_time_halves_the_window_once_for_each_timeout_but_the_last() {
    // Linux tcp_cwnd_restart: 3.5 timeouts of idle time halve three times.
    let mut flow = Flow::new("reno");
    for _ in 0..4 {
        flow.round(Span::ms(10));
    }
    assert_eq!(flow.cwnd(), 160);
    let restart = |idle| Restart {
        now: flow.now,
        kind: RestartKind::Idle { idle, rto: Span::ms(200) },
        snd_nxt: flow.nxt(),
    };
    let (short, long) = (restart(Span::ms(700)), restart(Span::secs(60)));
    flow.control.on_restart(&short);
    assert_eq!(flow.cwnd(), 20);
    flow.control.on_restart(&long);
    assert_eq!(flow.cwnd(), 10);
}

#[test]
fn a_window_left_unused_goes_half_way_to_what_was_used() {
    let mut flow = Flow::new("reno").at(10);
    for _ in 0..90 {
        flow.round(Span::ms(10));
    }
    let restart = Restart {
        now: flow.now,
        kind: RestartKind::Underused { used: Packets::new(40) },
        snd_nxt: flow.nxt(),
    };
    flow.control.on_restart(&restart);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (70, Some(75)));
}

#[test]
fn a_new_segment_size_keeps_the_count_of_packets() {
    let mut flow = Flow::new("reno").at(100);
    flow.control.on_mss(wirespeed_units::Bytes::new(8_948));
    assert_eq!(flow.control.control().cwnd.get(), 894_800);
}
