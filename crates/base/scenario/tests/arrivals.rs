//! Flows that begin at random times and send random amounts.

use std::collections::BTreeSet;
use wirespeed_scenario::run::Run;
use wirespeed_scenario::{Study, parse};
use wirespeed_units::{Bytes, Span};

fn text(flows: &str, run: &str) -> String {
    format!(
        "schema = 1\nname = \"t\"\n[path]\nrate = \"10 Gbit/s\"\nrtt = \"1 ms\"\nbuffer = \"1 bdp\"\n{flows}\n\
         [run]\nduration = \"10 s\"\n{run}"
    )
}

fn study(flows: &str, run: &str) -> Result<Study, String> {
    parse(&text(flows, run), "t.toml", &[], None).map_err(|error| format!("{error:#}"))
}

fn run(flows: &str) -> Run {
    study(flows, "").unwrap().runs.remove(0)
}

fn payload(run: &Run) -> u64 {
    run.flows.iter().map(|flow| flow.bytes.unwrap().get()).sum()
}

#[test]
fn load_is_a_part_of_the_slowest_link() {
    let web = run("[[flow]]\narrivals = { load = 0.5 }\nsizes = \"web-search\"");
    // 10 s of 10 Gbit/s are 12.5 GB; 3,750 flows of 1.67 MB, of which a few are most.
    let load = payload(&web) as f64 / 12.5e9;
    assert!((0.45..0.55).contains(&load), "{load}");
    let fixed = run("[[flow]]\narrivals = { load = 0.5, spacing = \"even\" }\nbytes = \"1 MB\"");
    assert_eq!((fixed.flows.len(), payload(&fixed)), (6_250, 6_250_000_000));
}

#[test]
fn flows_that_arrive_are_one_group_of_numbered_flows_in_order() {
    let found = run("[[flow]]\ncongestion = \"bbr\"\n[[flow]]\nlabel = \"web\"\nstart = \"2 s\"\n\
         arrivals = { every = \"100 ms\", until = \"6 s\" }\nsizes = \"web-search\"\n[[flow]]\nlabel = \"last\"");
    let labels: Vec<&str> = found.flows.iter().map(|flow| flow.label.as_str()).collect();
    let web = found.flows.len() - 2;
    assert!((25..60).contains(&web), "{web}");
    assert_eq!((labels[0], labels[1], labels[web]), ("bbr", "web-1", format!("web-{web}").as_str()));
    assert_eq!(labels[web + 1], "last");
    let starts: Vec<Span> = found.flows[1..=web].iter().map(|flow| flow.start).collect();
    assert!(
        starts.is_sorted() && starts[0] >= Span::secs(2) && starts[web - 1] < Span::secs(6),
        "{starts:?}"
    );
    assert!(found.flows[1..=web].iter().all(|flow| flow.stop == Span::secs(10)));
    let groups: BTreeSet<String> = found.flow_groups().into_iter().collect();
    assert_eq!(groups, BTreeSet::from(["bbr", "web", "last"].map(String::from)));
}

#[test]
fn each_repetition_has_its_own_flows_and_each_seed_the_same_again() {
    let flows = "[[flow]]\narrivals = { every = \"50 ms\" }\nsizes = { kind = \"lognormal\", median = \"1 MB\", sigma = 1 }";
    let found = study(flows, "repeat = 3\n").unwrap().runs;
    assert_eq!(found, study(flows, "repeat = 3\n").unwrap().runs);
    let of: BTreeSet<Vec<Span>> =
        found.iter().map(|run| run.flows.iter().map(|flow| flow.start).collect()).collect();
    assert_eq!(of.len(), 3);
    // What other tables have does not change what this one has.
    let beside = study(&format!("{flows}\n[[flow]]\nlabel = \"other\""), "repeat = 3\n").unwrap().runs;
    for (alone, beside) in found.iter().zip(&beside) {
        assert_eq!(alone.flows, beside.flows[..alone.flows.len()]);
    }
}

#[test]
fn arrivals_end_with_a_run_that_is_shorter() {
    let found = run("[[flow]]\narrivals = { every = \"100 ms\", until = \"1 h\" }\nbytes = \"1 MB\"");
    assert!((60..150).contains(&found.flows.len()), "{}", found.flows.len());
    assert!(found.flows.iter().all(|flow| flow.start < Span::secs(10)));
}

#[test]
fn sizes_without_arrivals_are_those_of_each_of_count() {
    let found = run(
        "[[flow]]\ncount = 50\nsizes = { kind = \"pareto\", least = \"10 kB\", shape = 1.2, most = \"10 MB\" }",
    );
    let sizes: BTreeSet<Bytes> = found.flows.iter().map(|flow| flow.bytes.unwrap()).collect();
    assert!(found.flows.len() == 50 && sizes.len() > 40, "{sizes:?}");
    assert!(sizes.iter().all(|size| (10_000..=10_000_000).contains(&size.get())));
}

#[test]
fn flows_of_a_dumbbell_arrive_between_all_pairs() {
    let found = run(
        "[topology]\nkind = \"dumbbell\"\nsenders = 4\n[[flow]]\narrivals = { every = \"10 ms\" }\nduration = \"1 s\"",
    );
    let pairs: BTreeSet<(&str, &str)> =
        found.flows.iter().map(|flow| (flow.from.as_str(), flow.to.as_str())).collect();
    assert_eq!(pairs.len(), 4, "{pairs:?}");
    assert!(pairs.contains(&("sender2", "receiver2")));
    assert!(found.flows.iter().all(|flow| flow.stop - flow.start <= Span::secs(1)));
}

#[test]
fn a_group_alone_has_the_flows_that_it_has_beside_others() {
    let flows = "[[flow]]\nlabel = \"web\"\narrivals = { every = \"50 ms\" }\nbytes = \"1 MB\"\n[[flow]]\nlabel = \"bulk\"";
    let found = study(flows, "[sweep]\n\"run.only\" = [\"all\", \"web\"]\n").unwrap().runs;
    assert_eq!(found[0].flows.len(), found[1].flows.len() + 1);
    assert_eq!(found[0].flows[..found[1].flows.len()], found[1].flows);
}

#[test]
fn sizes_can_be_a_distribution_of_the_users_own_and_a_factor() {
    let found = study(
        "[[flow]]\narrivals = { load = 0.1 }\nsizes = { kind = \"cdf\", points = [[\"1 MB\", 0.5], [\"2 MB\", 1.0]] }",
        "[sweep]\n\"flow.arrivals.load\" = [0.1, 0.2]\n",
    )
    .unwrap()
    .runs;
    let loads: Vec<f64> = found.iter().map(|run| payload(run) as f64 / 12.5e9).collect();
    assert!((0.08..0.12).contains(&loads[0]) && (0.17..0.23).contains(&loads[1]), "{loads:?}");
}

#[test]
fn what_is_left_open_or_out_of_range_is_said() {
    for (flow, expected) in [
        ("arrivals = { every = \"10 ms\" }", "have to end"),
        ("arrivals = {}\nbytes = \"1 MB\"", "time between flows"),
        ("arrivals = { every = \"1 s\", load = 0.5 }\nbytes = \"1 MB\"", "remove one"),
        ("arrivals = { every = \"0 s\" }\nbytes = \"1 MB\"", "not a distance"),
        ("arrivals = { load = 0 }\nbytes = \"1 MB\"", "out of range"),
        ("arrivals = { load = 0.5 }\nduration = \"1 s\"", "no load"),
        ("arrivals = { every = \"1 ns\" }\nbytes = \"1 MB\"", "at most 10000"),
        ("arrivals = { every = \"1 s\", on = \"1 s\" }\nbytes = \"1 MB\"", "never end"),
        ("arrivals = { every = \"1 s\", off = \"1 s\" }\nbytes = \"1 MB\"", "no bursts"),
        (
            "start = \"2 s\"\narrivals = { every = \"1 s\", until = \"2 s\" }\nbytes = \"1 MB\"",
            "not after the start",
        ),
        ("arrivals = { every = \"1 s\" }\ncount = 3\nbytes = \"1 MB\"", "how many flows begin"),
        ("arrivals = { every = \"1 s\" }\nstart_jitter = \"1 ms\"\nbytes = \"1 MB\"", "and when"),
        ("sizes = \"web-search\"\nbytes = \"1 MB\"", "remove one of both"),
        ("sizes = \"web\"", "web-search"),
        ("sizes = \"pareto\"", "least"),
        ("sizes = { kind = \"pareto\", least = \"2 MB\", shape = 1, most = \"1 MB\" }", "not above least"),
        ("sizes = { kind = \"cdf\", points = [] }", "there is none"),
        ("sizes = { kind = \"cdf\", points = [[\"1 MB\", 0.9]] }", "and not 1"),
        ("sizes = { kind = \"cdf\", points = [[\"1 MB\", 0.9], [\"1 MB\", 1.0]] }", "does not come after"),
        ("sizes = { kind = \"cdf\", points = [[\"1 MB\", 0.9], [\"2 MB\", 0.8]] }", "does not come after"),
        ("sizes = { kind = \"lognormal\", median = \"0 B\", sigma = 1 }", "no bytes"),
    ] {
        let error = study(&format!("[[flow]]\n{flow}"), "").expect_err(flow);
        let plain = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain.contains(expected), "{flow}: {plain}");
    }
    let two = "[[flow]]\nlabel = \"web\"\narrivals = { every = \"1 s\" }\nbytes = \"1 MB\"\n[[flow]]\nlabel = \"web-2\"";
    assert!(study(two, "").unwrap_err().contains("labelled alike"));
    let each = "[[flow]]\narrivals = { every = \"2 ms\" }\nbytes = \"1 MB\"\n";
    assert!(study(&each.repeat(3), "").unwrap_err().contains("at most 10000"));
}
