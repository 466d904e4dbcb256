//! What a good file means once it is resolved.

use std::collections::BTreeMap;
use wirespeed_scenario::run::{FlowKind, Fq, Host, Qdisc, Run, Series, TopologyKind};
use wirespeed_scenario::{Factor, Study, parse};
use wirespeed_units::{Bytes, Rate, Span};

/// The example of the design document.
const DESIGN: &str = r#"
schema = 1
name   = "bic-cubic-lossy-10g"
about  = "How much do random losses cost each variant at 12 ms?"

[path]
rate = "9.5 Gbit/s"
rtt = "12.2 ms"
loss = 1e-5
buffer = "1 bdp"

[host.sender]
preset = "xeon-2015-10g"

[[flow]]
congestion = "cubic"
start = "0 s"

[run]
duration = "60 s"
repeat = 5
seed = 7

[sweep]
"flow.congestion" = ["reno", "cubic", "bic"]
"path.loss" = [1e-6, 1e-5, 1e-4]

[expect]
utilisation = { min = 0.5, where = { "flow.congestion" = "bic", "path.loss" = 1e-6 } }
"#;

/// The smallest file.
const SMALL: &str = r#"
schema = 1
name = "t"
path = { rate = "1 Gbit/s", rtt = "10 ms" }
[[flow]]
[run]
duration = "10 s"
"#;

fn study(text: &str) -> Study {
    set(text, &[])
}

fn set(text: &str, sets: &[(&str, &str)]) -> Study {
    let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    parse(text, "t.toml", &sets, None).unwrap_or_else(|e| panic!("{e:#}\n{text}"))
}

/// The one run of the smallest file with more lines.
fn small(more: &str) -> Run {
    let study = study(&format!("{SMALL}{more}"));
    assert_eq!(study.runs.len(), 1);
    study.runs[0].clone()
}

fn congestion(run: &Run) -> Vec<&str> {
    run.flows
        .iter()
        .map(|flow| match &flow.kind {
            FlowKind::Tcp { congestion, .. } => congestion.name.as_str(),
            FlowKind::Udp { .. } => "udp",
        })
        .collect()
}

fn ids(study: &Study) -> Vec<&str> {
    study.runs.iter().map(|r| r.id.as_str()).collect()
}

fn names(run: &Run) -> Vec<(&str, usize)> {
    run.hosts.iter().map(|h: &Host| (h.name.as_str(), h.router)).collect()
}

fn ends(run: &Run) -> Vec<(&str, &str, &str)> {
    run.flows.iter().map(|f| (f.label.as_str(), f.from.as_str(), f.to.as_str())).collect()
}

#[test]
fn the_design_documents_example() {
    let study = study(DESIGN);
    assert_eq!(study.runs.len(), 3 * 3 * 5);
    assert_eq!(study.about, "How much do random losses cost each variant at 12 ms?");
    assert_eq!(study.runs[0].id, "congestion=reno,loss=1e-6,r0");
    assert_eq!(study.runs[1].id, "congestion=reno,loss=1e-6,r1");
    assert_eq!(study.runs[44].id, "congestion=bic,loss=1e-4,r4");
    let run = &study.runs[44];
    assert_eq!(run.duration, Span::secs(60));
    assert_eq!(congestion(run), ["bic"]);
    let link = &run.links[0];
    assert_eq!((link.forward.loss, link.reverse.loss), (1e-4, 0.0));
    assert_eq!((link.forward.delay, link.reverse.delay), (Span::us(6_100), Span::us(6_100)));
    // 9.5 Gbit/s x 12.2 ms / 8
    assert_eq!((link.forward.buffer, link.reverse.buffer), (Bytes::new(14_487_500), Bytes::new(14_487_500)));
    assert_eq!(run.host("sender").nic_rate, Some(Rate::gbit(10)));
    assert_eq!(run.host("receiver").nic_rate, None);
    let expectation = &study.expect[0];
    assert_eq!((expectation.min, expectation.max), (Some(0.5), None));
    let meant: Vec<&str> =
        study.runs.iter().filter(|r| expectation.applies(r)).map(|r| r.id.as_str()).collect();
    assert_eq!(meant, (0..5).map(|r| format!("congestion=bic,loss=1e-6,r{r}")).collect::<Vec<_>>());
    assert_eq!(&study.source[expectation.span.clone()], "utilisation");
}

#[test]
fn a_run_survives_being_stored() {
    for run in &study(DESIGN).runs {
        let json = serde_json::to_string(run).unwrap();
        assert_eq!(&serde_json::from_str::<Run>(&json).unwrap(), run);
    }
}

#[test]
fn defaults_are_a_tuned_linux() {
    let run = small("");
    assert_eq!((run.topology, run.sample, run.omit), (TopologyKind::Direct, Span::ms(10), Span::ZERO));
    assert_eq!(ends(&run), [("cubic", "sender", "receiver")]);
    assert_eq!((run.flows[0].start, run.flows[0].stop), (Span::ZERO, Span::secs(10)));
    let host = run.host("sender");
    assert_eq!((host.mtu, host.qdisc, host.txqueuelen), (Bytes::new(1500), Qdisc::PfifoFast, 1000));
    assert_eq!(host.tcp.rmem, [Bytes::kib(4), Bytes::kib(128), Bytes::new(2_147_483_647)]);
    assert_eq!(
        (host.tcp.ecn, host.tcp.sack, host.tcp.timestamps, host.tcp.no_metrics_save),
        (2, true, true, true)
    );
    assert!(!host.offloads.tso && !host.offloads.gso && !host.offloads.gro);
}

#[test]
fn fq_has_the_settings_of_tc() {
    let fq = |lines: &str| small(&format!("[host.sender]\nqdisc = \"fq\"\n{lines}")).host("sender").fq;
    assert_eq!(fq(""), None);
    assert_eq!(fq("fq = { flow_limit = 100, quantum = \"3028 B\" }"), None, "the defaults of Linux");
    let all = "fq = { flow_limit = 1000, quantum = \"64 KiB\", maxrate = \"5 Gbit/s\" }";
    let given = Fq { flow_limit: 1000, quantum: Bytes::kib(64), maxrate: Some(Rate::gbit(5)) };
    assert_eq!(fq(all), Some(given));
    let one = fq("mtu = \"9000 B\"\nfq.flow_limit = 1000").unwrap();
    assert_eq!((one.flow_limit, one.quantum, one.maxrate), (1000, Bytes::new(2 * 9014), None));
    let swept =
        format!("{SMALL}[host.sender]\nqdisc = \"fq\"\n[sweep]\n\"host.sender.fq.flow_limit\" = [50, 1000]");
    let limits: Vec<u32> =
        study(&swept).runs.iter().map(|r| r.host("sender").fq.unwrap().flow_limit).collect();
    assert_eq!(limits, [50, 1000]);
}

#[test]
fn linux_as_it_comes() {
    let run = small("[host.sender]\npreset = \"linux-6.12\"");
    let tcp = &run.host("sender").tcp;
    assert_eq!(tcp.rmem, [Bytes::kib(4), Bytes::new(131_072), Bytes::mib(6)]);
    assert_eq!(tcp.wmem, [Bytes::kib(4), Bytes::kib(16), Bytes::mib(4)]);
    assert_eq!((tcp.rmem_max, tcp.wmem_max), (Bytes::new(212_992), Bytes::new(212_992)));
}

#[test]
fn layers_lie_in_order() {
    let text = format!(
        "{SMALL}[host.sender]\npreset = \"kit-2019-tuned\"\nnetdev_max_backlog = 3000\nqdisc = \"fq_codel\""
    );
    let backlog = |s: &Study| s.runs[0].host("sender").netdev_max_backlog;
    let host = study(&text).runs[0].host("sender").clone();
    assert_eq!(host.mtu, Bytes::new(9000), "from the preset");
    assert_eq!(host.netdev_max_backlog, 3000, "the file lies over the preset");
    assert_eq!(host.txqueuelen, 1000, "neither says, so the default");
    assert_eq!(host.sysctls, BTreeMap::from([("net.ipv4.tcp_mtu_probing".into(), "1".into())]));
    let swept = format!("{text}\n[sweep]\n\"host.sender.netdev_max_backlog\" = [4000]");
    assert_eq!(backlog(&study(&swept)), 4000, "the sweep lies over the file");
    assert_eq!(backlog(&set(&text, &[("host.sender.netdev_max_backlog", "5000")])), 5000);
    assert_eq!(backlog(&set(&swept, &[("host.sender.netdev_max_backlog", "5000")])), 5000);
    let twice = [("host.sender.netdev_max_backlog", "5000"), ("host.sender.netdev_max_backlog", "6000")];
    assert_eq!(backlog(&set(&text, &twice)), 6000, "the last --set counts");
}

#[test]
fn a_preset_can_be_set_and_swept() {
    let run = &set(SMALL, &[("host.sender.preset", "linux-6.12")]).runs[0];
    assert_eq!(run.host("sender").tcp.rmem[2], Bytes::mib(6));
    let swept = study(&format!("{SMALL}[sweep]\n\"host.receiver.preset\" = [\"tuned\", \"linux-6.12\"]"));
    assert_eq!(ids(&swept), ["preset=tuned,r0", "preset=linux-6.12,r0"]);
    assert_eq!(swept.runs[1].host("receiver").tcp.rmem[2], Bytes::mib(6));
}

#[test]
fn a_path_preset_gives_what_the_file_leaves_out() {
    let text =
        SMALL.replace("rate = \"1 Gbit/s\", rtt = \"10 ms\"", "preset = \"100g-wan\", buffer = \"2 MB\"");
    let link = study(&text).runs[0].links[0].clone();
    assert_eq!((link.forward.rate, link.forward.buffer), (Rate::gbit(100), Bytes::new(2_000_000)));
    assert_eq!((link.forward.delay, link.reverse.delay), (Span::ZERO, Span::ms(20)));
}

#[test]
fn directions_differ_where_they_say_so() {
    let run = study(&SMALL.replace(
        "path = { rate = \"1 Gbit/s\", rtt = \"10 ms\" }",
        "[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nloss = 0.1\nbuffer = \"2 bdp\"\n\
         [path.reverse]\nrate = \"100 Mbit/s\"\ndelay = \"9 ms\"\nloss = 0.2\n[path.forward]\nbuffer = \"10 packets\"",
    ))
    .runs[0]
        .clone();
    let (forward, reverse) = (&run.links[0].forward, &run.links[0].reverse);
    assert_eq!((forward.delay, reverse.delay), (Span::ms(1), Span::ms(9)));
    assert_eq!((forward.loss, reverse.loss), (0.1, 0.2));
    assert_eq!(forward.buffer, Bytes::new(15_140));
    // 2 x 100 Mbit/s x 10 ms / 8: each direction by its own rate and the link's whole round-trip time
    assert_eq!(reverse.buffer, Bytes::new(250_000));
}

#[test]
fn an_odd_rtt_is_kept_whole() {
    let run = study(&SMALL.replace("10 ms", "10.000000001 ms")).runs[0].clone();
    assert_eq!(run.base_rtt(&run.flows[0]), Span::ps(10_000_000_001));
}

#[test]
fn packets_count_the_largest_mtu() {
    let text = SMALL.replace("rtt = \"10 ms\"", "rtt = \"10 ms\", buffer = \"3 packets\"");
    let run = study(&format!("{text}[host.receiver]\nmtu = \"9000 B\"")).runs[0].clone();
    assert_eq!(run.links[0].forward.buffer, Bytes::new(3 * 9014));
}

#[test]
fn a_jittered_start_is_anothers_in_every_repetition_and_stays_when_flows_are_added() {
    let flows = "[[flow]]\ncount = 3\nstart = \"1 s\"\nstagger = \"2 s\"\nstart_jitter = \"500 ms\"\nduration = \"4 s\"\n";
    let text = format!("{}{flows}", SMALL.replace("[run]", "[run]\nrepeat = 20"));
    let (runs, more) = (study(&text).runs, study(&format!("{text}[[flow]]\n")).runs);
    let mut seen = std::collections::BTreeSet::new();
    for (run, more) in runs.iter().zip(&more) {
        assert_eq!(run.flows[0].start, Span::ZERO, "no jitter was asked for");
        for (index, flow) in run.flows.iter().enumerate().skip(1) {
            let later = flow.start - Span::secs(2 * index as i64 - 1);
            assert!(later >= Span::ZERO && later < Span::ms(500), "{later}");
            assert_eq!(flow.stop, (flow.start + Span::secs(4)).min(run.duration));
            assert_eq!(flow.start, more.flows[index].start);
            assert!(seen.insert(later), "{later} is drawn twice");
        }
    }
    let mean = seen.iter().map(|later| later.picoseconds()).sum::<i64>() / seen.len() as i64;
    assert!((150..350).contains(&(mean / 1_000_000_000)), "{mean} ps");
}

#[test]
fn a_swept_count_of_flows_may_contain_one_that_has_nothing_to_stagger() {
    let text = SMALL.replace("[[flow]]", "[[flow]]\nstagger = \"500 ms\"");
    let study = study(&format!("{text}[sweep]\n\"flow.count\" = [1, 2]\n"));
    let starts = |run: &Run| run.flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
    assert_eq!(starts(&study.runs[0]), [Span::ZERO]);
    assert_eq!(starts(&study.runs[1]), [Span::ZERO, Span::ms(500)]);
}

#[test]
fn a_dumbbell_pairs_hosts_in_turn() {
    let run = small(
        "[topology]\nkind = \"dumbbell\"\nsenders = 3\nreceivers = 2\n[host.sender]\nmtu = \"9000 B\"\necn = 1\n\
         [host.sender2]\nmtu = \"4000 B\"\n[[flow]]\ncount = 3\nlabel = \"more\"\nstart = \"1 s\"\nstagger = \"2 s\"\nduration = \"4 s\"",
    );
    assert_eq!(
        names(&run),
        [("sender1", 0), ("sender2", 0), ("sender3", 0), ("receiver1", 1), ("receiver2", 1)]
    );
    let mtu = |name| run.host(name).mtu.get();
    assert_eq!([mtu("sender1"), mtu("sender2"), mtu("sender3"), mtu("receiver1")], [9000, 4000, 9000, 1500]);
    assert_eq!(run.host("sender2").tcp.ecn, 1);
    assert_eq!(
        ends(&run),
        [
            ("cubic", "sender1", "receiver1"),
            ("more-1", "sender2", "receiver2"),
            ("more-2", "sender3", "receiver1"),
            ("more-3", "sender1", "receiver2"),
        ]
    );
    let times: Vec<_> = run.flows.iter().map(|f| (f.start, f.stop)).collect();
    let s = Span::secs;
    assert_eq!(times, [(s(0), s(10)), (s(1), s(5)), (s(3), s(7)), (s(5), s(9))]);
}

#[test]
fn a_parking_lot_is_a_chain() {
    let run = small(
        "[topology]\nkind = \"parking-lot\"\nhops = 2\n[[link]]\n[[link]]\nname = \"slow\"\nrate = \"100 Mbit/s\"\n\
         [host.cross]\nmtu = \"1400 B\"\n[host.probe]\nrouter = 1\naccess_delay = \"1 ms\"\n\
         [[flow]]\nfrom = \"cross2-sender\"\nto = \"cross2-receiver\"\n[[flow]]\nfrom = \"probe\"\n",
    );
    assert_eq!(
        names(&run),
        [
            ("sender", 0),
            ("cross1-sender", 0),
            ("cross1-receiver", 1),
            ("cross2-sender", 1),
            ("cross2-receiver", 2),
            ("receiver", 2),
            ("probe", 1),
        ]
    );
    let links: Vec<_> = run.links.iter().map(|l| (l.name.as_str(), l.forward.rate)).collect();
    assert_eq!(links, [("link1", Rate::gbit(1)), ("slow", Rate::mbit(100))]);
    assert_eq!(run.host("cross2-sender").mtu, Bytes::new(1400));
    let rtts: Vec<Span> = run.flows.iter().map(|f| run.base_rtt(f)).collect();
    assert_eq!(rtts, [Span::ms(20), Span::ms(10), Span::ms(12)]);
    assert_eq!(
        ends(&run),
        [
            ("cubic-1", "sender", "receiver"),
            ("cubic-2", "cross2-sender", "cross2-receiver"),
            ("cubic-3", "probe", "receiver"),
        ]
    );
}

#[test]
fn flows_say_how_they_are_carried() {
    let run = study(&SMALL.replace(
        "[[flow]]\n",
        "[[flow]]\ncongestion = { name = \"bic\", smax = 32 }\nwindow = \"0.5 bdp\"\nbytes = \"1 GB\"\nmax_rate = \"500 Mbit/s\"\n\
         [[flow]]\nkind = \"udp\"\nrate = \"10 Mbit/s\"\nstart = \"1 s\"\n[host.receiver]\nmtu = \"1400 B\"\n",
    ))
    .runs[0]
        .clone();
    let FlowKind::Tcp { congestion, window, max_rate, .. } = &run.flows[0].kind else { panic!("not TCP") };
    assert_eq!(congestion.name, "bic");
    assert_eq!(congestion.parameters, BTreeMap::from([("max_increment".into(), Factor::Integer(32))]));
    assert_eq!((*window, *max_rate), (Some(Bytes::new(625_000)), Some(Rate::mbit(500))));
    assert_eq!(run.flows[0].bytes, Some(Bytes::new(1_000_000_000)));
    let udp = FlowKind::Udp { rate: Rate::mbit(10), datagram: Bytes::new(1372), rcvbuf: None };
    assert_eq!((run.flows[1].label.as_str(), &run.flows[1].kind), ("udp", &udp));
}

#[test]
fn a_window_in_bdp_is_that_of_the_slowest_part() {
    let text = SMALL.replace("[[flow]]\n", "[[flow]]\nwindow = \"1 bdp\"\n");
    let run = study(&format!(
        "{text}[topology]\nkind = \"parking-lot\"\n[[link]]\n[[link]]\nrate = \"100 Mbit/s\""
    ))
    .runs[0]
        .clone();
    // 100 Mbit/s x (10 + 10) ms / 8
    assert!(matches!(run.flows[0].kind, FlowKind::Tcp { window: Some(w), .. } if w == Bytes::new(250_000)));
}

#[test]
fn captures_name_a_host() {
    let run = small("[[capture]]\nat = \"receiver\"\n[[capture]]\nat = \"sender\"\nsnaplen = \"64 B\"");
    let captures: Vec<_> = run.captures.iter().map(|c| (c.at.as_str(), c.snaplen)).collect();
    assert_eq!(captures, [("receiver", 128), ("sender", 64)]);
}

#[test]
fn more_values_leave_names_and_seeds_alone() {
    let few = study(DESIGN);
    let more =
        study(&DESIGN.replace("[\"reno\", \"cubic\", \"bic\"]", "[\"vegas\", \"bic\", \"reno\", \"cubic\"]"));
    assert_eq!(more.runs.len(), few.runs.len() / 3 * 4);
    for run in &few.runs {
        let same = more.runs.iter().find(|r| r.id == run.id).unwrap_or_else(|| panic!("{} is gone", run.id));
        assert_eq!(same, run);
    }
    let mut seeds: Vec<u64> = more.runs.iter().map(|r| r.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), more.runs.len(), "no two runs share a seed");
}

#[test]
fn a_set_of_a_swept_key_picks_runs() {
    let all = study(DESIGN);
    let one = set(DESIGN, &[("flow.congestion", "bic"), ("path.loss", "[1e-6, 1e-3]"), ("run.repeat", "1")]);
    assert_eq!(ids(&one), ["congestion=bic,loss=1e-6,r0", "congestion=bic,loss=0.001,r0"]);
    assert_eq!(all.runs.iter().find(|r| r.id == one.runs[0].id), Some(&one.runs[0]));
    assert!(one.expect[0].applies(&one.runs[0]) && !one.expect[0].applies(&one.runs[1]));
    let reno = set(DESIGN, &[("flow.congestion", "reno")]);
    assert!(!reno.runs.iter().any(|r| reno.expect[0].applies(r)));
    let added = set(SMALL, &[("sweep.\"path.loss\"", "[0, 0.1]")]);
    assert_eq!(ids(&added), ["loss=0,r0", "loss=0.1,r0"]);
}

#[test]
fn levels_of_a_factor_share_the_seed_if_asked_for() {
    let seeds = |key: &str| -> Vec<Vec<u64>> {
        let text = format!(
            "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
             [run]\nduration = \"1 s\"\nrepeat = 2\n{key}\n[sweep]\n\"flow.congestion\" = [\"reno\", \"cubic\"]\n\"path.loss\" = [1e-5, 1e-4]\n"
        );
        let runs = wirespeed_scenario::parse(&text, "t.toml", &[], None).unwrap().runs;
        let of = |algorithm: &str| {
            runs.iter().filter(|run| run.id.contains(algorithm)).map(|run| run.seed).collect()
        };
        vec![of("reno"), of("cubic")]
    };
    let own = seeds("");
    assert!(own[0].iter().all(|seed| !own[1].contains(seed)), "{own:?}");
    for name in ["flow.congestion", "congestion"] {
        let same = seeds(&format!("same_seed = [\"{name}\"]"));
        assert_eq!(same[0], same[1]);
        let distinct: std::collections::BTreeSet<u64> = same[0].iter().copied().collect();
        assert_eq!(distinct.len(), 4, "losses and repetitions still differ");
    }
}

#[test]
fn same_seed_of_a_factor_that_is_not_swept_is_rejected() {
    let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
                [run]\nduration = \"1 s\"\nsame_seed = [\"loss\"]\n[sweep]\n\"flow.congestion\" = [\"reno\", \"cubic\"]\n";
    let error = wirespeed_scenario::parse(text, "t.toml", &[], None).unwrap_err().to_string();
    assert!(error.contains("run.same_seed: `loss` is not swept"), "{error}");
}

#[test]
fn the_seed_is_the_command_lines_then_the_files() {
    let seed = |text: &str, seed| parse(text, "t", &[], seed).unwrap().runs[0].seed;
    assert_eq!(seed(DESIGN, None), seed(DESIGN, Some(7)));
    assert_ne!(seed(DESIGN, None), seed(DESIGN, Some(8)));
    assert_eq!(seed(SMALL, None), seed(SMALL, Some(1)));
}

#[test]
fn factors_reach_flows_by_number_label_and_parameter() {
    let two = SMALL.replace("[[flow]]\n", "[[flow]]\nlabel = \"old\"\n[[flow]]\nlabel = \"new\"\n");
    let all = study(&format!("{two}[sweep]\n\"flow.congestion\" = [\"bic\"]"));
    assert_eq!(congestion(&all.runs[0]), ["bic", "bic"]);
    let first = study(&format!("{two}[sweep]\n\"flow.0.congestion\" = [\"bic\"]"));
    assert_eq!(congestion(&first.runs[0]), ["bic", "cubic"]);
    let labelled = study(&format!("{two}[sweep]\n\"flow.new.congestion\" = [\"bic\"]"));
    assert_eq!(congestion(&labelled.runs[0]), ["cubic", "bic"]);
    let parameter =
        study(&format!("{two}[sweep]\n\"flow.congestion\" = [\"bic\"]\n\"flow.congestion.smax\" = [16, 32]"));
    assert_eq!(ids(&parameter), ["congestion=bic,smax=16,r0", "congestion=bic,smax=32,r0"]);
    let FlowKind::Tcp { congestion, .. } = &parameter.runs[1].flows[1].kind else { panic!("not TCP") };
    assert_eq!(congestion.parameters["max_increment"], Factor::Integer(32));
}

#[test]
fn a_congestion_factor_leaves_udp_alone() {
    let text = SMALL.replace("[[flow]]\n", "[[flow]]\n[[flow]]\nkind = \"udp\"\nrate = \"1 Mbit/s\"\n");
    let swept = study(&format!("{text}[sweep]\n\"flow.congestion\" = [\"bic\"]"));
    assert_eq!(congestion(&swept.runs[0]), ["bic", "udp"]);
}

#[test]
fn bounds_take_units_and_lists() {
    let text = format!(
        "{SMALL}[expect]\ngoodput_bps = {{ min = \"0.9 Gbit/s\", max = 1e9 }}\nrtt_q95_ns = {{ max = \"20 ms\" }}\n\
         queue_bytes = [{{ max = \"8 MiB\" }}, {{ min = 1 }}]"
    );
    let study = study(&text);
    let bounds: Vec<_> = study.expect.iter().map(|e| (e.metric.as_str(), e.min, e.max)).collect();
    assert_eq!(
        bounds,
        [
            ("goodput_bps", Some(9e8), Some(1e9)),
            ("rtt_q95_ns", None, Some(2e7)),
            ("queue_bytes", None, Some(8_388_608.0)),
            ("queue_bytes", Some(1.0), None),
        ]
    );
    let goodput = &study.expect[0];
    assert!(goodput.applies(&study.runs[0]));
    assert!(goodput.holds(9e8) && !goodput.holds(8.9e8) && !goodput.holds(1.1e9) && !goodput.holds(f64::NAN));
}

#[test]
fn offloads_and_random_loss_are_warned_about() {
    let text = format!("{}[host.sender]\ntso = true", SMALL.replace("rtt =", "loss = 0.1, rtt ="));
    assert_eq!(study(&text).warnings.len(), 1);
    assert!(study(&text).runs[0].host("sender").offloads.tso, "but honoured");
    assert!(study(SMALL).warnings.is_empty());
}

#[test]
fn series_are_kept_unless_the_scenario_chooses_otherwise() {
    let text = |more: &str| format!("{SERIES}{more}");
    let of = |more: &str, sets: &[(&str, &str)]| set(&text(more), sets).runs[0].series;
    assert_eq!(of("", &[]), Series::All);
    assert_eq!(of("series = \"thin\"", &[]), Series::Thin { every: Span::secs(1) });
    let every = "series = \"thin\"\nseries_every = \"200 ms\"";
    assert_eq!(of(every, &[]), Series::Thin { every: Span::ms(200) });
    assert_eq!(of("sample = \"5 s\"\nseries = \"thin\"", &[]), Series::Thin { every: Span::secs(5) });
    // Of the command line alone, and over a file that has an interval.
    assert_eq!(of("", &[("run.series", "none")]), Series::None);
    assert_eq!(of(every, &[("run.series", "none")]), Series::None);
}

#[test]
fn run_is_the_same_with_fewer_rows_of_its_series() {
    let of = |series: &str| set(SERIES, &[("run.series", series)]).runs.remove(0);
    let (all, none) = (of("all"), of("none"));
    assert_eq!((&all.id, all.seed, all.recorded()), (&none.id, none.seed, none.recorded()));
    assert!(all.recorded().get("series").is_none());
    // A worker on another host gets the choice.
    let text = serde_json::to_string(&none).unwrap();
    assert_eq!(Run::from_json(&text).unwrap().series, Series::None);
}

#[test]
fn interval_of_series_without_effect_is_rejected() {
    for (more, expected) in [
        ("series_every = \"1 s\"", "all series are kept"),
        ("series = \"thin\"\nseries_every = \"1 ms\"", "shorter than the sampling grid of 10 ms"),
        ("[sweep]\n\"run.series\" = [\"all\", \"none\"]", "`run.series` cannot be swept"),
    ] {
        let error = parse(&format!("{SERIES}{more}"), "t.toml", &[], None).unwrap_err();
        assert!(format!("{error:#}").contains(expected), "{error:#}");
    }
}

const SERIES: &str = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
                      [run]\nduration = \"60 s\"\n";
