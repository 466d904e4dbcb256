//! What every algorithm of the registry must do, whatever it is.

use crate::algorithms::algorithms;
use crate::control::Control;
use crate::event::{CongestionKind, Phase};
use crate::parameter::BuildError;
use crate::registry::{Algorithm, Setup, algorithm, build};
use crate::testing::{Flow, MSS};
use std::collections::BTreeMap;
use wirespeed_units::{Bytes, Span};

/// Algorithms that follow a model of the path: a loss alone does not cut their window, and it grows to what the model
/// says even if the application is slow.
const MODEL_BASED: [&str; 3] = ["bbr", "bbr-4.15", "bbr3"];
/// `tcp_vegas_cong_avoid` never asks whether the window was used.
const GROW_UNUSED: [&str; 1] = ["vegas"];
/// Grows with unmarked packets while the window comes down for marks (`prague_update_cwnd`).
const GROWS_BESIDE_MARKS: [&str; 1] = ["prague"];
/// No loss cuts it: that is what it is.
const IGNORE_LOSS: [&str; 1] = ["lola-noloss"];

fn loss_based() -> impl Iterator<Item = &'static Algorithm> {
    algorithms().iter().filter(|row| !MODEL_BASED.contains(&row.name) && !IGNORE_LOSS.contains(&row.name))
}

fn least(row: &Algorithm) -> Control {
    row.build(&Setup::new(Bytes::new(MSS), 10), &BTreeMap::new()).unwrap().control()
}

#[test]
fn rows_are_complete_and_names_unique() {
    for (index, row) in algorithms().iter().enumerate() {
        assert!(algorithms()[..index].iter().all(|other| other.name != row.name), "{} twice", row.name);
        assert!(!row.about.is_empty() && !row.reference.is_empty(), "{}", row.name);
        for (index, parameter) in row.parameters.iter().enumerate() {
            let name = parameter.name;
            assert!((parameter.min..=parameter.max).contains(&parameter.default), "{name} of {}", row.name);
            assert!(!parameter.about.is_empty(), "{name} of {}", row.name);
            for other in &row.parameters[..index] {
                let same = |a: &str, b: &str| !a.is_empty() && a == b;
                assert!(
                    !same(other.name, name) && !same(other.alias, name) && !same(other.name, parameter.alias)
                );
            }
        }
        assert_eq!(algorithm(row.name).map(|found| found.about), Some(row.about));
    }
}

#[test]
fn every_row_has_its_page_with_all_headings_and_parameters() {
    for row in algorithms() {
        let path = format!("{}/../../../docs/models/congestion/{}.md", env!("CARGO_MANIFEST_DIR"), row.name);
        #[expect(clippy::disallowed_methods, reason = "the test reads the documentation, not the model")]
        let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(page.starts_with(&format!("# {}\n", row.name)), "{path}: first line");
        for heading in ["## Scope and limits", "## Equations", "## Parameters", "## Validation"] {
            assert!(page.contains(heading), "{path} lacks `{heading}`");
        }
        for parameter in row.parameters {
            let line = format!("| `{}` | {} |", parameter.name, parameter.default);
            assert!(page.contains(&line), "{path} lacks `{line}`");
        }
    }
}

#[test]
fn every_parameter_can_be_set_to_its_bounds_and_not_beyond() {
    let setup = Setup::new(Bytes::new(MSS), 10);
    for row in algorithms() {
        for parameter in row.parameters {
            let with = |value: i64| row.build(&setup, &BTreeMap::from([(parameter.name.to_owned(), value)]));
            assert!(with(parameter.min).is_ok(), "{} of {}", parameter.name, row.name);
            assert!(with(parameter.max).is_ok(), "{} of {}", parameter.name, row.name);
            assert!(matches!(with(parameter.min - 1), Err(BuildError::Range { .. })));
            assert!(matches!(with(parameter.max + 1), Err(BuildError::Range { .. })));
        }
    }
}

#[test]
fn mistakes_name_what_exists() {
    let setup = Setup::new(Bytes::new(MSS), 10);
    let given =
        |pairs: &[(&str, i64)]| pairs.iter().map(|&(n, v)| (n.to_owned(), v)).collect::<BTreeMap<_, _>>();
    let error = build("bic", &setup, &given(&[("smx", 32)])).unwrap_err().to_string();
    assert_eq!(
        error,
        "congestion control `bic` has no parameter `smx`: it has fast_convergence, max_increment, low_window, beta, \
         initial_ssthresh, smooth_part"
    );
    let error = build("veno", &setup, &given(&[("a", 1)])).unwrap_err().to_string();
    assert_eq!(error, "congestion control `veno` has no parameter `a`: it has beta, random_loss_keeps");
    let error = build("bic", &setup, &given(&[("smax", 32), ("max_increment", 8)])).unwrap_err();
    assert!(matches!(error, BuildError::Twice { .. }));
    let error = build("tahoe", &setup, &given(&[])).unwrap_err().to_string();
    assert!(error.starts_with("the model has no congestion control `tahoe`: it has reno, cubic"), "{error}");
}

#[test]
fn a_socket_gets_a_pacing_rate_from_those_that_need_pacing() {
    for row in algorithms() {
        assert_eq!(least(row).pacing_rate.is_some(), row.needs_pacing, "{}", row.name);
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    for row in
        algorithms().iter().filter(|row| !MODEL_BASED.contains(&row.name) && !GROW_UNUSED.contains(&row.name))
    {
        for start in [Flow::new(row.name), Flow::new(row.name).at(200)] {
            let mut flow = start;
            flow.app_limited = true;
            let before = flow.cwnd();
            for _ in 0..20 {
                flow.round(Span::ms(20));
            }
            assert!(flow.cwnd() <= before, "{} grew from {before} to {}", row.name, flow.cwnd());
        }
    }
}

#[test]
fn a_window_that_is_used_grows() {
    for row in algorithms() {
        let mut flow = Flow::new(row.name).after_handshake(Span::ms(20));
        let before = flow.cwnd();
        for _ in 0..6 {
            flow.round(Span::ms(20));
        }
        assert!(flow.cwnd() > before, "{}", row.name);
    }
}

#[test]
fn an_ack_of_nothing_changes_nothing() {
    for row in algorithms() {
        let mut flow = Flow::new(row.name).at(100);
        flow.round(Span::ms(20));
        flow.round(Span::ms(20));
        let before = flow.output();
        let mut nothing = flow.sample(0, Span::ms(20));
        (nothing.rtt, nothing.rate, nothing.may_grow) = (None, None, false);
        for _ in 0..3 {
            flow.control.on_ack(&nothing);
        }
        assert_eq!(flow.output(), before, "{}", row.name);
    }
}

#[test]
fn one_window_of_data_costs_one_cut() {
    for row in loss_based() {
        for kind in [CongestionKind::FastRetransmit, CongestionKind::EcnEcho, CongestionKind::LocalDrop] {
            if GROWS_BESIDE_MARKS.contains(&row.name) && kind != CongestionKind::FastRetransmit {
                continue;
            }
            let mut flow = Flow::new(row.name).at(1_000);
            flow.round(Span::ms(20));
            let before = flow.cwnd();
            flow.congest(kind);
            let once = flow.output();
            assert!(once.cwnd.get() <= before * MSS, "{} {kind:?}", row.name);
            for _ in 0..3 {
                flow.ack(1, Span::ms(20));
                flow.congest(kind);
            }
            assert_eq!(
                (flow.output().cwnd, flow.output().ssthresh),
                (once.cwnd, once.ssthresh),
                "{}",
                row.name
            );
        }
    }
}

#[test]
fn loss_costs_something() {
    for row in loss_based() {
        let mut flow = Flow::new(row.name).at(1_000);
        for _ in 0..3 {
            flow.round(Span::ms(20));
        }
        let before = flow.cwnd();
        flow.congest(CongestionKind::FastRetransmit);
        assert!(flow.cwnd() < before, "{}", row.name);
        assert!(flow.ssthresh().is_some_and(|threshold| threshold >= 2), "{}", row.name);
    }
}

#[test]
fn repeated_timeouts_hold_the_threshold() {
    for row in algorithms() {
        let mut flow = Flow::new(row.name).at(1_000);
        for _ in 0..3 {
            flow.round(Span::ms(20));
        }
        flow.congest(CongestionKind::Timeout);
        let once = flow.output().ssthresh;
        assert_eq!(flow.cwnd(), 1, "{}", row.name);
        for _ in 0..5 {
            flow.wait(Span::secs(1));
            flow.congest(CongestionKind::Timeout);
        }
        assert_eq!((flow.cwnd(), flow.output().ssthresh), (1, once), "{}", row.name);
    }
}

#[test]
fn undo_restores_window_and_threshold() {
    for row in algorithms() {
        for kind in [CongestionKind::FastRetransmit, CongestionKind::Timeout] {
            let mut flow = Flow::new(row.name).at(1_000);
            for _ in 0..3 {
                flow.round(Span::ms(20));
            }
            let before = flow.output();
            flow.congest(kind);
            flow.undo();
            if MODEL_BASED.contains(&row.name) {
                // They put the window back with the first ACK after recovery.
                flow.phase = Phase::Open;
                flow.ack(1, Span::ms(20));
            }
            assert!(flow.output().cwnd >= before.cwnd, "{} {kind:?}", row.name);
            assert!(
                before
                    .ssthresh
                    .is_none_or(|threshold| flow.output().ssthresh.is_none_or(|now| now >= threshold)),
                "{} {kind:?}",
                row.name
            );
        }
    }
}

#[test]
fn growth_at_a_gigabyte_and_at_ten_is_counted_packet_by_packet() {
    // The others' windows at such sizes follow from equations of their own: `large_windows.rs`.
    for row in loss_based().filter(|row| !["hybla", "yeah"].contains(&row.name)) {
        for gigabytes in [1, 10] {
            let window = gigabytes * 1_000_000_000 / MSS;
            // Single packets are counted as exactly as thousands are: the same round trips end at the same window, but
            // for those of Linux that count ACKs and not packets.
            let grown = |stretch: u64, packets: u64| {
                let mut flow = Flow::new(row.name).at(window).stretched(stretch);
                let mut left = packets;
                while left > 0 {
                    flow.wait(Span::us(2) * stretch as i64);
                    flow.ack(stretch, Span::ms(200));
                    left -= stretch;
                }
                flow.cwnd() as i64 - window as i64
            };
            let whole = {
                let mut flow = Flow::new(row.name).at(window);
                for _ in 0..8 {
                    flow.round(Span::ms(200));
                }
                flow.cwnd()
            };
            if row.name != "highspeed" {
                // One packet a round trip is the least growth there is; highspeed counts ACKs as Linux does.
                assert!(whole > window, "{} lost its growth at {gigabytes} GB", row.name);
            }
            let (fine, coarse) = (grown(1, 20_000), grown(100, 20_000));
            if ["reno", "scalable", "westwood", "veno", "cubic"].contains(&row.name) {
                assert!((fine - coarse).abs() <= 1, "{} at {gigabytes} GB: {fine}, {coarse}", row.name);
            }
            let mut flow = Flow::new(row.name).at(window);
            flow.round(Span::ms(200));
            let before = flow.cwnd();
            flow.lose();
            let kept = flow.cwnd() as f64 / before as f64;
            assert!((0.45..1.0).contains(&kept) || row.name == "westwood", "{} keeps {kept}", row.name);
        }
    }
}
