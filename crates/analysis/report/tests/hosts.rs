//! The figures of the inside of hosts, as a reader gets them.

mod recordings;
mod xml;

use recordings::{one_run, queue, study};
use serde_json::json;
use wirespeed_record::{
    Applications, CoreSample, Datagram, Direction, Entry, FlowInfo, HostInfo, HostModel, Interrupts,
    LedgerInterval, LedgerRow, QueueSample, Recording, Stage, Transport,
};
use wirespeed_report::{Builder, Report, RunResult};
use wirespeed_units::Span;
use xml::well_formed;

fn report_of(recordings: &[Recording]) -> Report {
    let mut builder = Builder::new(study());
    for recording in recordings {
        let run = RunResult::of(recording);
        builder.add(run).unwrap();
    }
    builder.finish()
}

/// The SVG of a figure of the only run.
fn svg(recording: &Recording, figure: &str) -> Option<String> {
    let name = format!("{}-{figure}.svg", recording.info.id);
    let found = report_of(std::slice::from_ref(recording)).svgs().into_iter().find(|f| f.0 == name)?.1;
    well_formed(&found).unwrap_or_else(|e| panic!("{figure}: {e}"));
    Some(found)
}

/// Every text of an SVG, in its order.
fn texts(svg: &str) -> Vec<String> {
    let starts = svg.match_indices("<text ").map(|(at, _)| &svg[at..]);
    starts.filter_map(|text| Some(text.split_once('>')?.1.split_once("</text>")?.0.to_string())).collect()
}

fn core(t_ns: i64, host: &str, core: u32, softirq_ns: i64, app_ns: i64) -> CoreSample {
    CoreSample { node: core / 2, softirq_ns, app_ns, ..CoreSample::idle(t_ns, host, core) }
}

fn ring(number: u32, packets: u64, dropped: u64) -> QueueSample {
    QueueSample {
        queue: format!("receiver/rx{number}"),
        kind: "rx_ring".into(),
        sent_packets: packets,
        dropped_packets: dropped,
        lost_packets: None,
        ..queue(10_000_000_000, 0, 0)
    }
}

/// A run of 10 s, measured from 2 s on, with a core of each of two hosts and three rings.
fn inside() -> Recording {
    let mut recording = one_run("reno", 0);
    recording.info.omit_ns = 2_000_000_000;
    recording.cores = vec![
        core(2_000_000_000, "sender", 0, 0, 500_000_000),
        core(2_000_000_000, "receiver", 3, 1_000_000_000, 0),
        core(10_000_000_000, "sender", 0, 0, 2_500_000_000),
        core(10_000_000_000, "receiver", 3, 5_000_000_000, 1_600_000_000),
    ];
    recording.queues.extend([ring(0, 123_456, 789), ring(1, 0, 0), ring(2, 55, 0)]);
    recording
}

fn row(direction: Direction, entry: Entry, stage: Option<Stage>, place: &str, packets: i64) -> LedgerRow {
    let (place, source) = (place.into(), "counter".into());
    LedgerRow { direction, entry, stage, place, cause: None, packets, source }
}

fn with_ledger() -> Recording {
    use Direction::{Ack, Data};
    let mut recording = one_run("reno", 0);
    recording.ledger = vec![
        row(Data, Entry::Sent, None, "sender", 10_000),
        row(Data, Entry::Lost, Some(Stage::Network), "bottleneck/forward", 40),
        row(Data, Entry::Lost, Some(Stage::RxRing), "receiver/rx0", 7),
        row(Data, Entry::InFlight, Some(Stage::Network), "bottleneck/forward", 13),
        row(Data, Entry::Lost, Some(Stage::Qdisc), "sender/qdisc", 0),
        row(Data, Entry::Delivered, None, "receiver", 9_938),
        row(Data, Entry::Unexplained, None, "", 2),
        row(Ack, Entry::Sent, None, "receiver", 5_000),
        row(Ack, Entry::Lost, Some(Stage::RxRing), "sender/rx3", 1),
        row(Ack, Entry::Delivered, None, "sender", 4_999),
    ];
    recording
}

#[test]
fn cores_are_shown_by_kind_over_the_measurement_window() {
    let svg = svg(&inside(), "cpu").expect("there are cores");
    let texts = texts(&svg);
    for text in ["sender core 0", "receiver core 3", "softirq", "application"] {
        assert!(texts.iter().any(|t| t == text), "{text} in {texts:?}");
    }
    // 2 of 8 s; 4 s and 1.6 s of 8 s.
    assert!(texts.iter().any(|t| t == "25") && texts.iter().any(|t| t == "70"), "{texts:?}");
    assert!(!texts.iter().any(|t| t == "capture" || t == "hardirq"), "nobody did that: {texts:?}");
    let sender = texts.iter().position(|t| t == "sender core 0");
    assert!(sender < texts.iter().position(|t| t == "receiver core 3"), "hosts in the order of the run");
}

#[test]
fn figures_of_hosts_are_there_if_their_data_are() {
    let plain = one_run("reno", 0);
    for figure in ["cpu", "host", "ladder"] {
        assert_eq!(svg(&plain, figure), None, "{figure}");
    }
    let mut idle = inside();
    idle.cores.iter_mut().for_each(|core| (core.softirq_ns, core.app_ns) = (7, 7));
    assert_eq!(svg(&idle, "cpu"), None, "no core worked in the window");
    assert!(svg(&idle, "host").is_some(), "but there are rings");
    idle.queues.iter_mut().for_each(|queue| queue.kind = "fq".into());
    assert_eq!(svg(&idle, "host"), None, "what is only called like a ring is none");
}

#[test]
fn the_inside_of_a_host_says_what_is_recorded_and_no_more() {
    let texts_of = |recording: &Recording| texts(&svg(recording, "host").expect("the figure is there"));
    let mut recording = inside();
    let texts = texts_of(&recording);
    let expected =
        ["sender", "receiver", "Node 0", "Node 1", "core 3", "70 %", "softirq 50 %", "application 20 %"];
    for text in expected.iter().chain(&["rx0", "123,456", "789", "rx2", "1 ring without a packet"]) {
        assert!(texts.iter().any(|t| t == text), "{text} in {texts:?}");
    }
    assert!(!texts.iter().any(|t| t == "rx1" || t == "core"), "{texts:?}");
    let invented = ["node 0", "on node", "descriptors", "pinned", "free on", "threads"];
    assert!(!texts.iter().any(|t| invented.iter().any(|word| t.contains(word))), "{texts:?}");

    let model = HostModel {
        nodes: Some(2),
        cores_per_node: Some(2),
        has_hyperthreads: false,
        interface_node: Some(1),
        rx_ring: Some(1024),
        interrupts: Some(Interrupts::Cores(vec![2, 3])),
        applications: Some(Applications::Pinned(vec![0])),
    };
    let receiver = HostInfo { name: "receiver".into(), host_model: Some(model), ..HostInfo::default() };
    recording.info.hosts.push(receiver);
    let texts = texts_of(&recording);
    for text in ["on node 1", "1,024 descriptors each", "2 nodes of 2 cores · applications pinned to 0"] {
        assert!(texts.iter().any(|t| t == text), "{text} in {texts:?}");
    }
    // Ring 2 has the first core of the list again.
    let rings: Vec<&[String]> = texts.windows(3).filter(|t| t[0] == "rx0" || t[0] == "rx2").collect();
    assert_eq!(rings, [["rx0", "2", "123,456"], ["rx2", "2", "55"]]);
    assert!(texts.iter().any(|t| t == "no core worked"), "node 0 of the receiver: {texts:?}");
}

#[test]
fn the_ladder_counts_what_left_each_stage() {
    let texts = texts(&svg(&with_ledger(), "ladder").expect("there is a ledger"));
    // Stages in the order of travel, each with what left it.
    let data = [
        ("data sent", "10,000"),
        ("qdisc", "10,000"),
        ("network", "9,947"),
        ("rx ring", "9,940"),
        ("data delivered", "9,938"),
    ];
    let step = |(name, left): (&str, &str)| texts.windows(2).position(|t| t[0] == name && t[1] == left);
    assert!(data.iter().all(|expected| step(*expected).is_some()), "{texts:?}");
    assert!(data.windows(2).all(|pair| step(pair[0]) < step(pair[1])), "{texts:?}");
    let place = |name: &str| texts.iter().position(|t| t == name);
    // Acknowledgements come from below.
    assert!(place("ACKs delivered") < place("ACKs sent"), "{texts:?}");
    for text in ["−40 lost (0.4 %)", "at bottleneck/forward", "13 in flight", "none lost", "2 unexplained"]
    {
        assert!(texts.iter().any(|t| t == text), "{text} in {texts:?}");
    }
    for absent in ["tcp backlog", "tx ring", "rcvbuf"] {
        assert_eq!(place(absent), None, "nobody counted there");
    }
}

#[test]
fn the_ladder_says_what_went_back_to_the_queue_and_what_was_read() {
    let mut recording = with_ledger();
    let found = texts(&svg(&recording, "ladder").expect("there is a ledger"));
    assert!(!found.iter().any(|t| t.ends_with("back to the queue")), "nothing did: {found:?}");
    let last = recording.flows.iter().map(|row| row.t_ns).max().unwrap();
    for row in recording.flows.iter_mut().filter(|row| row.t_ns == last) {
        (row.delivered_bytes, row.read_bytes) = (Some(9_000_000), Some(7_000_000));
    }
    let place = recording.ledger.iter().find(|row| row.stage == Some(Stage::Qdisc)).unwrap().place.clone();
    let row = recording.queues.last().unwrap().clone();
    recording.queues.push(QueueSample { queue: place, kind: "pfifo_fast".into(), requeues: 512, ..row });
    let found = texts(&svg(&recording, "ladder").expect("there is a ledger"));
    for text in ["application read", "7 MB", "2 MB unread", "512 back to the queue"] {
        assert!(found.iter().any(|t| t == text), "{text} in {found:?}");
    }
}

#[test]
fn a_ladder_that_does_not_add_up_says_so() {
    let mut recording = with_ledger();
    recording.ledger.retain(|row| row.entry != Entry::Unexplained);
    let found = texts(&svg(&recording, "ladder").expect("there is a ledger"));
    assert!(found.iter().any(|t| t == "does not add up: off by 2"), "{found:?}");
    recording.ledger.retain(|row| row.entry != Entry::Sent);
    assert_eq!(svg(&recording, "ladder"), None, "without a first step there is no ladder");
}

#[test]
fn losses_have_a_time_where_the_ledger_is_known_by_interval() {
    let mut recording = with_ledger();
    assert_eq!(svg(&recording, "loss-timeline"), None, "known of the whole run only");
    let lost = |second: i64, direction, stage, packets| LedgerInterval {
        from_ns: second * 1_000_000_000,
        to_ns: (second + 1) * 1_000_000_000,
        direction,
        entry: Entry::Lost,
        stage: Some(stage),
        place: "somewhere".into(),
        cause: None,
        packets,
        uncertain_packets: 12,
    };
    recording.ledger_intervals = vec![
        lost(2, Direction::Data, Stage::Network, 40),
        lost(3, Direction::Data, Stage::RxRing, 4),
        lost(3, Direction::Ack, Stage::RxRing, 1),
        lost(7, Direction::Data, Stage::RxRing, 3),
    ];
    let found = texts(&svg(&recording, "loss-timeline").expect("something was lost"));
    for text in ["network: 40", "rx_ring: 7", "ACKs at rx_ring: 1"] {
        assert!(found.iter().any(|t| t == text), "{text} in {found:?}");
    }
    recording.ledger_intervals.iter_mut().for_each(|row| row.packets = 0);
    assert_eq!(svg(&recording, "loss-timeline"), None, "nothing was lost");
}

#[test]
fn losses_are_stacked_across_the_settings() {
    let mut other = with_ledger();
    other.info.factors.insert("flow.congestion".into(), "bic".into());
    other.ledger.iter_mut().filter(|row| row.entry == Entry::Lost).for_each(|row| row.packets *= 3);
    let find = |runs: &[Recording]| {
        report_of(runs).svgs().into_iter().find(|f| f.0 == "study-losses.svg").map(|f| texts(&f.1))
    };
    let texts = find(&[with_ledger(), other]).expect("two settings have ledgers");
    for text in ["network", "rx ring", "0.47", "1.41", "Share of packets sent (%)"] {
        assert!(texts.iter().any(|t| t == text), "{text} in {texts:?}");
    }
    assert_eq!(find(&[with_ledger()]), None, "one setting is not compared");
    assert_eq!(find(&[one_run("reno", 0), one_run("bic", 0)]), None, "without ledgers nothing is known");
}

/// Twelve runs of which two lost nothing, and the rest 0.47 %.
#[test]
fn many_runs_are_counted_by_how_much_they_lost() {
    let runs: Vec<Recording> = (0..12)
        .map(|repeat| {
            let mut recording = with_ledger();
            recording.info.id = format!("run-{repeat}");
            recording.info.repeat = repeat;
            if repeat < 2 {
                recording.ledger.retain(|row| row.entry != Entry::Lost);
            }
            recording
        })
        .collect();
    let find = |runs: &[Recording]| {
        let svg = report_of(runs).svgs().into_iter().find(|f| f.0 == "study-loss-histogram.svg")?.1;
        Some(texts(&svg))
    };
    let found = find(&runs).expect("twelve runs are many");
    for text in ["none", "to 1 %", "16.7", "83.3"] {
        assert!(found.iter().any(|t| t == text), "{text} in {found:?}");
    }
    assert_eq!(find(&runs[..9]), None, "nine are read one by one");
}

/// Four hosts that send each other a thousand datagrams each; one of five hundred to and from `c` is lost.
fn mesh(id: &str) -> Recording {
    let mut recording = one_run("reno", 0);
    recording.info.id = id.into();
    let template = recording.info.flows[0].clone();
    (recording.info.flows, recording.datagrams) = (Vec::new(), Vec::new());
    for (from, to) in
        ["a", "b", "c", "d"].into_iter().flat_map(|from| ["a", "b", "c", "d"].map(|to| (from, to)))
    {
        if from == to {
            continue;
        }
        let number = recording.info.flows.len() as u32;
        recording.info.flows.push(FlowInfo {
            label: format!("{from} to {to}"),
            kind: Transport::Udp,
            congestion: None,
            from: from.into(),
            to: to.into(),
            base_rtt_ns: 10_000_000,
            ..template.clone()
        });
        recording.datagrams.extend((0..1000).map(|sequence| {
            let sent_ns = sequence as i64 * 1_000_000;
            let is_lost = (from == "c" || to == "c") && sequence % 500 == 7;
            let arrived_ns = (!is_lost).then_some(sent_ns + 5_000_000);
            Datagram { flow: number, sequence, sent_ns, arrived_ns, reordered_by: 0, duplicate: false }
        }));
    }
    recording
}

#[test]
fn pairs_are_counted_by_how_much_they_lost_and_a_faulty_host_shows() {
    let one = mesh("one");
    let found = texts(&svg(&one, "pair-losses").expect("twelve pairs are many"));
    // Six of the twelve pairs are those of `c`, and lose 2 of 1000.
    for text in ["none", "to 1 %", "50", "from and to c", "others", "Share of the pairs (%)"] {
        assert!(found.iter().any(|t| t == text), "{text} in {found:?}");
    }
    // What may be on its way at the end is neither lost nor sent.
    let mut late = one.clone();
    late.info.duration_ns = 1_000_000_000;
    late.datagrams.iter_mut().filter(|d| d.sequence > 995).for_each(|d| d.arrived_ns = None);
    let same = texts(&svg(&late, "pair-losses").expect("twelve pairs are many"));
    assert!(
        same.iter().any(|t| t == "to 1 %") && same.iter().filter(|t| *t == "50").count() >= 2,
        "{same:?}"
    );
    // Over runs the measurements are counted.
    let study = |runs: &[Recording]| {
        let svg = report_of(runs).svgs().into_iter().find(|f| f.0 == "study-pair-losses.svg")?.1;
        Some(texts(&svg))
    };
    let both = study(&[one.clone(), mesh("two")]).expect("two runs have pairs");
    assert!(both.iter().any(|t| t == "Share of the measurements (%)"), "{both:?}");
    assert_eq!(study(std::slice::from_ref(&one)), None, "one run has the figure itself");
    // A few pairs are read one by one.
    let mut few = one;
    few.datagrams.retain(|datagram| datagram.flow < 5);
    assert_eq!(svg(&few, "pair-losses"), None);
}

/// Datagrams sent every 120 us that arrive in threes.
#[test]
fn bursts_of_datagrams_show_in_their_distances() {
    let mut recording = inside();
    recording.info.omit_ns = 0;
    recording.datagrams = (0..30)
        .map(|sequence| Datagram {
            flow: 0,
            sequence,
            sent_ns: sequence as i64 * 120_000,
            arrived_ns: (sequence != 7).then_some(sequence as i64 / 3 * 360_000 + 1_000_000),
            reordered_by: 0,
            duplicate: false,
        })
        .collect();
    let svg = svg(&recording, "inter-arrival").expect("there are datagrams");
    let found = texts(&svg);
    for text in ["Since the one before (µs)", "Datagram"] {
        assert!(found.iter().any(|t| t == text), "{text} in {found:?}");
    }
    // 28 distances between the 29 that arrived, each a dot, and one in the legend.
    assert_eq!(svg.matches("<circle").count(), 29);
    recording.datagrams.clear();
    assert_eq!(self::svg(&recording, "inter-arrival"), None);
}

#[test]
fn drops_of_rings_are_not_counted_twice() {
    let mut recording = inside();
    recording.queues.retain(|queue| queue.kind == "rx_ring");
    recording.queues.push(QueueSample { t_ns: 0, ..ring(0, 0, 0) });
    let interface = |t_ns: i64, rx_dropped: u64| -> wirespeed_record::HostSample {
        let row = json!({
            "t_ns": t_ns, "host": "receiver", "device": "eth0", "rx_packets": 0, "rx_bytes": 0,
            "rx_dropped": rx_dropped, "tx_packets": 0, "tx_bytes": 0, "tx_dropped": 0,
        });
        serde_json::from_value(row).expect("a row of the host table")
    };
    recording.hosts = vec![interface(0, 0), interface(10_000_000_000, 789)];
    let texts = texts(&svg(&recording, "drops").expect("packets were dropped"));
    assert!(texts.iter().any(|t| t == "receiver/rx0 full: 789"), "{texts:?}");
    assert!(!texts.iter().any(|t| t.contains("eth0 receive")), "{texts:?}");
}

#[test]
fn hostile_names_stay_text_in_drawings() {
    const EVIL: &str = "<script>x</script>\"'><img src=y onerror=z>&";
    let mut recording = inside();
    recording.ledger = with_ledger().ledger;
    recording.info.hosts[0].name = EVIL.into();
    recording.cores.iter_mut().for_each(|core| core.host = EVIL.into());
    recording.ledger.iter_mut().for_each(|row| (row.place, row.source) = (EVIL.into(), EVIL.into()));
    recording.queues.iter_mut().for_each(|queue| queue.queue = format!("{EVIL}/rx1"));
    let interrupts = Some(Interrupts::MovedEvery(Span::secs(10)));
    recording.info.hosts[0].host_model = Some(HostModel { interrupts, ..HostModel::default() });
    for figure in ["cpu", "host", "ladder"] {
        let svg = svg(&recording, figure).expect(figure);
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{figure}");
    }
    let html = report_of(&[recording]).html();
    let drawings = &html[..html.find("id=\"data\"").expect("the data come after them")];
    assert!(drawings.contains("class=\"drawing\"") && drawings.contains("&lt;script&gt;x"));
    assert!(!drawings.contains("<script>x") && !drawings.contains("<img"));
}

#[test]
fn many_cores_and_hosts_stay_readable() {
    let mut recording = inside();
    recording.cores = (0..64).map(|n| core(10_000_000_000, "receiver", n, 8_000_000_000, 0)).collect();
    recording.cores.extend((0..12).map(|n| core(10_000_000_000, &format!("host{n}"), 0, 1_000_000, 0)));
    let bars = texts(&svg(&recording, "cpu").expect("there are cores"));
    assert_eq!(bars.iter().filter(|t| t.contains(" core ")).count(), 40 + 1, "40 bars, and the note");
    assert!(bars.join(" ").contains("36 cores that worked less are left out"), "{bars:?}");
    let host = texts(&svg(&recording, "host").expect("there are cores"));
    assert!(host.join(" ").contains("more hosts are not drawn"), "{host:?}");
}
