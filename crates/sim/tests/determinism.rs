//! The same seed gives the same outcome, to the last bit.

mod support;

use std::path::Path;
use support::{carry_out, outcome, run_of, samples, scenario};
use wirespeed_scenario::Run;
use wirespeed_sim::Outcome;

/// Every row of every table.
fn tables(outcome: &Outcome) -> String {
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        outcome.flows,
        outcome.queues,
        outcome.hosts,
        outcome.counters,
        outcome.events,
        outcome.datagrams,
        outcome.in_flight
    )
}

/// Runs with something random of every kind: losses, early drops, algorithms that draw.
fn various() -> Vec<Run> {
    let flows =
        ["congestion = \"cubic\"", "congestion = \"cdg\"", "congestion = \"bbr\"\nstart = \"100 ms\""];
    let udp = [&flows[..], &["kind = \"udp\"\nrate = \"20 Mbit/s\""]].concat();
    let path = "rate = \"100 Mbit/s\"\nrtt = \"10 ms\"\n";
    let run = "duration = \"2 s\"\nseed = 5";
    vec![
        run_of(&scenario(&format!("{path}loss = 1e-3"), &flows, run, "")),
        run_of(&scenario(&format!("{path}queue = \"red\""), &udp, run, "")),
        run_of(&scenario(&format!("{path}queue = \"fq-codel\""), &udp, run, "")),
        run_of(&scenario(
            &format!(
                "{path}loss_model = {{ kind = \"gilbert-elliott\", good_to_bad = 1e-3, bad_to_good = 0.3 }}"
            ),
            &flows,
            &format!("{run}\ntrains = false"),
            "",
        )),
    ]
}

#[test]
fn twice_and_in_parallel_the_same() {
    let runs = various();
    let first: Vec<String> = runs.iter().map(|run| tables(&outcome(run))).collect();
    let second: Vec<String> = runs.iter().map(|run| tables(&outcome(run))).collect();
    assert!(first == second, "two runs of one seed differ");
    let parallel: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = runs.iter().map(|run| scope.spawn(|| tables(&outcome(run)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(first == parallel, "a run beside others differs from the same alone");
}

#[test]
fn another_seed_is_another_run() {
    for mut run in various() {
        let one = tables(&outcome(&run));
        run.seed += 1;
        assert!(
            one != tables(&outcome(&run)),
            "{}: the seed has no effect",
            run.links[0].forward.queue.name()
        );
    }
}

/// Samples of the flow named `first`, but for its number.
fn of_first(outcome: &Outcome) -> String {
    format!("{:?}", samples(outcome, 0))
}

const LOSSY: &str = "rate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nloss = 1e-3";
const RUN: &str = "duration = \"2 s\"\nseed = 3";

#[test]
fn a_flow_on_another_link_changes_nothing() {
    let lot = "[topology]\nkind = \"parking-lot\"\nhops = 2";
    for congestion in ["cubic", "cdg", "bbr"] {
        let on = |link: u32| {
            format!(
                "label = \"on {link}\"\nfrom = \"cross{link}-sender\"\nto = \"cross{link}-receiver\"\n\
                 congestion = \"{congestion}\""
            )
        };
        let (_, alone) = carry_out(&scenario(LOSSY, &[&on(1)], RUN, lot));
        let (_, beside) = carry_out(&scenario(LOSSY, &[&on(1), &on(2)], RUN, lot));
        assert!(samples(&alone, 0).last().unwrap().retrans_packets > Some(0), "{congestion} has losses");
        assert!(of_first(&alone) == of_first(&beside), "{congestion} differs");
    }
}

#[test]
fn a_flow_that_comes_later_changes_nothing_before() {
    for congestion in ["cubic", "cdg", "bbr"] {
        let first = format!("label = \"first\"\ncongestion = \"{congestion}\"\nbytes = \"5 MB\"");
        let second = "label = \"second\"\ncongestion = \"cubic\"\nstart = \"1900 ms\"";
        let (_, alone) = carry_out(&scenario(LOSSY, &[&first], RUN, ""));
        let (_, before) = carry_out(&scenario(LOSSY, &[&first, second], RUN, ""));
        let last = samples(&alone, 0).pop().unwrap();
        assert_eq!(last.delivered_bytes, Some(5_000_000), "{congestion} ends before the second begins");
        assert!(of_first(&alone) == of_first(&before), "{congestion} differs");
    }
}

#[test]
fn a_capture_changes_nothing() {
    let flow = "congestion = \"cubic\"";
    let (_, plain) = carry_out(&scenario(LOSSY, &[flow], RUN, ""));
    let (_, captured) = carry_out(&scenario(LOSSY, &[flow], RUN, "[[capture]]\nat = \"sender\""));
    assert!(tables(&plain) == tables(&captured));
}

/// Debug and release builds compute the same: both check the same fingerprint. It changes whenever the model does;
/// `UPDATE_GOLDEN=1 cargo test -p wirespeed-sim --release --test determinism` writes it anew.
#[test]
fn the_fingerprint_is_the_committed_one() {
    let hash = |text: &str| {
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
    };
    let line = |run: Run| {
        let outcome = outcome(&run);
        let delivered: u64 = (0..run.flows.len() as u32)
            .map(|flow| samples(&outcome, flow).last().map_or(0, |row| row.delivered_bytes.unwrap_or(0)))
            .sum();
        format!(
            "{} {} {delivered} bytes, {:016x}\n",
            run.links[0].forward.queue.name(),
            run.trains,
            hash(&tables(&outcome))
        )
    };
    let computed: String = various().into_iter().map(line).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fingerprints.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &computed).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        computed, committed,
        "the model changed: if that was meant, write the file anew with UPDATE_GOLDEN=1"
    );
}
