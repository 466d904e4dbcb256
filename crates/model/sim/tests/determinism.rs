//! The same seed gives the same outcome, to the last bit.

#[path = "support/numbers.rs"]
mod numbers;
mod support;

use std::path::Path;
use support::{carry_out, outcome, run_of, samples, scenario};
use wirespeed_record::EventKind;
use wirespeed_scenario::Run;
use wirespeed_sim::Outcome;
use wirespeed_units::Span;

/// An event as text, in the form of the committed fingerprints, which are older than column `burst_packet`. The number of the
/// packet is in `detail` as well.
#[derive(Debug)]
#[expect(dead_code, reason = "the derived text has every field")]
struct Event<'a> {
    t_ns: i64,
    kind: EventKind,
    flow: Option<u32>,
    host: Option<&'a str>,
    detail: &'a str,
}

impl Event<'_> {
    fn of(event: &wirespeed_record::Event) -> Event<'_> {
        let wirespeed_record::Event { t_ns, kind, flow, host, detail, burst_packet } = event;
        assert!(burst_packet.is_none_or(|packet| detail.contains(&format!("packet {packet} "))), "{event:?}");
        Event { t_ns: *t_ns, kind: *kind, flow: *flow, host: host.as_deref(), detail }
    }
}

/// Every row of every table.
fn tables(outcome: &Outcome) -> String {
    // The committed fingerprints are older than the columns of links with correction, of which these runs have none.
    let without = ", repair_packets: None, decoded_packets: None, recovered_packets: None";
    let queues = format!("{:?}", outcome.queues).replace(without, "");
    format!(
        "{:?}\n{queues}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        outcome.flows,
        outcome.hosts,
        outcome.cores,
        outcome.counters,
        outcome.events.iter().map(Event::of).collect::<Vec<_>>(),
        outcome.datagrams,
        outcome.in_flight
    )
}

/// Runs with something random of every kind, named: losses, early drops, algorithms that draw, and hosts.
fn various() -> Vec<(String, Run)> {
    let named = |run: Run| (format!("{} {}", run.links[0].forward.queue.name(), run.trains), run);
    networks().into_iter().map(named).chain(hosts()).collect()
}

/// Losses, early drops, algorithms that draw.
fn networks() -> Vec<Run> {
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

/// A path, and what stands in the tables of both hosts.
type Hosts = (&'static str, &'static str, &'static str, &'static str);

/// Every generation of hosts, with what draws inside of them: the hash of queues, the scheduler, irqbalance. Nothing is
/// lost at random where they do.
const HOSTS: [Hosts; 7] = [
    ("kit-2019-tuned", "", "rate = \"40 Gbit/s\"\nrtt = \"1 ms\"", "100 ms"),
    (
        "cornell-2010",
        "napi = false\ncoalesce = \"0 s\"\nirq = \"0\"",
        "rate = \"10 Gbit/s\"\nrtt = \"5 ms\"",
        "300 ms",
    ),
    ("cornell-2010", "rps = \"1-3\"\nirq = \"0\"", "rate = \"10 Gbit/s\"\nrtt = \"5 ms\"", "300 ms"),
    ("cornell-2010", "irqbalance_interval = \"20 ms\"", "rate = \"10 Gbit/s\"\nrtt = \"5 ms\"", "300 ms"),
    // One core, one queue: only the path draws.
    ("onl-pc1core", "", "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nloss = 1e-3", "500 ms"),
    ("slac-sc03", "", "rate = \"10 Gbit/s\"\nrtt = \"5 ms\"\nloss = 1e-3", "300 ms"),
    ("xeon-2023-100g", "", "rate = \"100 Gbit/s\"\nrtt = \"1 ms\"", "50 ms"),
];

fn hosts() -> impl Iterator<Item = (String, Run)> {
    let flows = ["congestion = \"cubic\"\ncount = 3", "kind = \"udp\"\nrate = \"300 Mbit/s\""];
    HOSTS.into_iter().map(move |(preset, settings, path, duration)| {
        let host = |name: &str| format!("[host.{name}]\npreset = \"{preset}\"\n{settings}\n");
        let run = format!("duration = \"{duration}\"\nseed = 5");
        let text = scenario(path, &flows, &run, &(host("sender") + &host("receiver")));
        let settings = settings.replace(['"', ' '], "").replace('\n', ",");
        (format!("{preset} {settings}").trim_end().to_owned(), run_of(&text))
    })
}

#[test]
fn twice_in_another_order_and_in_parallel_the_same() {
    let runs = various();
    let first: Vec<String> = runs.iter().map(|(_, run)| tables(&outcome(run))).collect();
    let mut second: Vec<String> = runs.iter().rev().map(|(_, run)| tables(&outcome(run))).collect();
    second.reverse();
    let parallel: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = runs.iter().map(|(_, run)| scope.spawn(|| tables(&outcome(run)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (place, (name, _)) in runs.iter().enumerate() {
        assert!(first[place] == second[place], "{name}: two runs of one seed differ");
        assert!(first[place] == parallel[place], "{name}: a run beside others differs from the same alone");
    }
}

#[test]
fn another_seed_is_another_run() {
    for (name, mut run) in various() {
        let one = tables(&outcome(&run));
        run.seed += 1;
        assert!(one != tables(&outcome(&run)), "{name}: the seed has no effect");
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

/// The same where both share the cores of hosts that show their inside.
#[test]
fn a_flow_that_comes_later_changes_nothing_before_inside_a_host() {
    let hosts = "[host.sender]\npreset = \"kit-2019-tuned\"\n[host.receiver]\npreset = \"kit-2019-tuned\"";
    let (path, run) =
        ("rate = \"10 Gbit/s\"\nrtt = \"1 ms\"\nloss = 1e-4", "duration = \"100 ms\"\nseed = 3");
    let first = "label = \"first\"\ncongestion = \"cubic\"\nbytes = \"20 MB\"";
    let second = "label = \"second\"\ncongestion = \"cubic\"\nstart = \"95 ms\"";
    let (_, alone) = carry_out(&scenario(path, &[first], run, hosts));
    let (_, before) = carry_out(&scenario(path, &[first, second], run, hosts));
    let last = samples(&alone, 0).pop().unwrap();
    assert_eq!(last.read_bytes, Some(20_000_000), "it ends before the second begins");
    assert!(last.retrans_packets > Some(0), "it has losses");
    assert!(of_first(&alone) == of_first(&before));
}

#[test]
fn a_capture_changes_nothing() {
    let flow = "congestion = \"cubic\"";
    for host in ["", "[host.sender]\npreset = \"onl-pc1core\"\n"] {
        let (_, plain) = carry_out(&scenario(LOSSY, &[flow], RUN, host));
        let capture = format!("{host}[[capture]]\nat = \"sender\"");
        let (_, captured) = carry_out(&scenario(LOSSY, &[flow], RUN, &capture));
        assert!(tables(&plain) == tables(&captured), "{host}");
    }
}

/// The outcome of each run: a line with the bytes its flows delivered and a hash of all its tables, then its numbers for a
/// person. A change of the model shows in the numbers what it changed; their bounds hold whatever the model is.
fn fingerprints(runs: impl IntoIterator<Item = (String, Run)>) -> String {
    let hash = |text: &str| {
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
    };
    let line = |(name, run): (String, Run)| {
        let outcome = outcome(&run);
        numbers::assert_plausible(&name, &run, &outcome);
        let delivered: u64 = (0..run.flows.len() as u32)
            .map(|flow| samples(&outcome, flow).last().map_or(0, |row| row.delivered_bytes.unwrap_or(0)))
            .sum();
        let table = numbers::table(&run, &outcome);
        format!("{name} {delivered} bytes, {:016x}\n{table}", hash(&tables(&outcome)))
    };
    runs.into_iter().map(line).collect()
}

/// Whether to write the committed file. `UPDATE_GOLDEN` is the earlier name of the switch.
fn is_blessed() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
    set("WIRESPEED_BLESS") || set("UPDATE_GOLDEN")
}

/// Compares the computed text with a committed file. It changes whenever the model does;
/// `WIRESPEED_BLESS=1 cargo test -p wirespeed-sim --release --test determinism` writes it anew.
fn compare(computed: &str, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if is_blessed() {
        std::fs::write(&path, computed).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differ = |(now, before): &(&str, &str)| now != before;
    let changed: Vec<String> = computed
        .lines()
        .zip(committed.lines())
        .filter(differ)
        .map(|(now, before)| format!("- {before}\n+ {now}\n"))
        .collect();
    assert!(
        computed == committed,
        "the model changed: if that was meant, write {file} anew with WIRESPEED_BLESS=1\n{}",
        changed.concat()
    );
}

#[test]
#[cfg_attr(debug_assertions, ignore = "takes minutes without optimisation; the short one is for that")]
fn the_fingerprint_is_the_committed_one() {
    compare(&fingerprints(various()), "fingerprints.txt");
}

/// The same runs, but a tenth as long: debug and release builds are both compared with one file, so they give the same
/// bytes.
#[test]
fn a_short_fingerprint_is_the_committed_one_in_every_build() {
    let shorter = |(name, mut run): (String, Run)| {
        let end = Span::ps(run.duration.picoseconds() / 10);
        // Flows that begin later begin with the others.
        run.duration = end;
        for flow in &mut run.flows {
            (flow.start, flow.stop) = (Span::ZERO, end);
        }
        run.sample = run.sample.min(Span::ps(end.picoseconds() / 2));
        (name, run)
    };
    compare(&fingerprints(various().into_iter().map(shorter)), "short.txt");
}
