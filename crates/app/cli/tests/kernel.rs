//! Whole runs on the virtual-time kernel. They need one (`wirespeed kernel build`); without it each is skipped by
//! name, with the reason.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use support::{errors, has_kernel, tables, wirespeed};
use wirespeed_record::QueueSample;

fn scenario(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios").join(name).display().to_string()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a scenario in a folder of its own and returns its results.
fn run(folder: &Path, name: &str, set: &[&str]) -> Value {
    let file = if name.contains('/') { name.to_string() } else { scenario(name) };
    let mut arguments = vec!["run", &file, "--on", "kernel", "--json", "--out", "out"];
    set.iter().for_each(|pair| arguments.extend(["--set", pair]));
    let output = wirespeed(folder, &arguments);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", errors(&output));
    serde_json::from_str(&text(&output)).expect("--json prints JSON")
}

/// Runs a scenario of a folder on a substrate, into a folder of that name, and returns its results.
fn run_on(folder: &Path, file: &str, substrate: &str) -> Value {
    let output = wirespeed(folder, &["run", file, "--json", "--on", substrate, "--out", substrate]);
    assert!(output.status.success(), "{}", errors(&output));
    serde_json::from_str(&text(&output)).expect("--json prints JSON")
}

fn metric(run: &Value, name: &str) -> f64 {
    run["metrics"][name].as_f64().unwrap_or_else(|| panic!("{} has no {name}", run["id"]))
}

/// Data packets lost at a stage, by the cause or a part of the place.
fn lost(run: &Value, stage: &str, of: &str) -> i64 {
    let rows = run["ledger"]["data"]["lost"].as_array().expect("a ledger has losses, if only zeros");
    let is_of = |row: &Value| row["cause"] == of || row["place"].as_str().unwrap().contains(of);
    let here = |row: &&Value| row["stage"] == stage && is_of(row);
    rows.iter().filter(here).map(|row| row["packets"].as_i64().unwrap()).sum()
}

fn assert_balanced(run: &Value) {
    for direction in ["data", "ack"] {
        assert_eq!(
            run["ledger"][direction]["unexplained"], 0,
            "{direction} of {}: {}",
            run["id"], run["ledger"]
        );
    }
}

#[test]
fn the_ledger_balances_with_random_loss() {
    if !has_kernel("the_ledger_balances_with_random_loss") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results =
        run(folder.path(), "first-look.toml", &["flow.congestion=bic", "path.loss=1e-4", "run.duration=3 s"]);
    let run = &results["runs"][0];
    assert_balanced(run);
    assert!(lost(run, "network", "random_loss") > 10, "{}", run["ledger"]);
    assert_eq!(lost(run, "qdisc", "sender"), 0);
}

#[test]
fn the_ledger_balances_with_a_queue_too_small() {
    if !has_kernel("the_ledger_balances_with_a_queue_too_small") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results = run(folder.path(), "router-queue-too-small.toml", &["run.duration=2 s"]);
    for run in results["runs"].as_array().unwrap() {
        assert_balanced(run);
        assert!(lost(run, "network", "queue_full") > 10, "{}", run["ledger"]);
        assert_eq!(lost(run, "network", "random_loss"), 0);
    }
}

#[test]
fn the_ledger_balances_with_a_short_txqueuelen() {
    if !has_kernel("the_ledger_balances_with_a_short_txqueuelen") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results =
        run(folder.path(), "txqueuelen-10.toml", &["run.duration=2 s", "host.sender.txqueuelen=10"]);
    let run = &results["runs"][0];
    assert_balanced(run);
    assert!(lost(run, "qdisc", "sender/qdisc") > 0, "{}", run["ledger"]);
    assert_eq!(lost(run, "network", ""), 0, "{}", run["ledger"]);
}

#[test]
fn fq_of_a_host_has_the_settings_of_the_scenario() {
    if !has_kernel("fq_of_a_host_has_the_settings_of_the_scenario") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let with = |settings: &str| {
        let text = format!(
            "schema = 1\nname = \"fq\"\nabout = \"Do the settings of fq arrive?\"\n\n[path]\n\
             rate = \"2 Gbit/s\"\nrtt = \"4 ms\"\n\n[host.sender]\nnic_rate = \"1 Gbit/s\"\nqdisc = \"fq\"\n\
             fq = {settings}\n\n[[flow]]\ncongestion = \"cubic\"\n\n[run]\nduration = \"1 s\"\n"
        );
        let file = folder.path().join("fq.toml");
        fs::write(&file, text).unwrap();
        run(folder.path(), file.to_str().unwrap(), &[])["runs"][0].clone()
    };
    // A flow's room: what slow start hands over too much is dropped, or waits.
    let (small, large) = (with("{ flow_limit = 20 }"), with("{ flow_limit = 10000 }"));
    assert!(lost(&small, "qdisc", "sender/qdisc") > 0, "{}", small["ledger"]);
    assert_eq!(lost(&large, "qdisc", "sender/qdisc"), 0, "{}", large["ledger"]);
    // A flow's rate counts frames: 1448 of 1514 bytes are payload.
    let slow = with("{ flow_limit = 10000, maxrate = \"200 Mbit/s\" }");
    let ratio = metric(&slow, "goodput_bps") / (200e6 * 1448.0 / 1514.0);
    assert!((0.95..1.01).contains(&ratio), "{ratio}");
    [small, large, slow].iter().for_each(assert_balanced);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_does_not() {
    if !has_kernel("the_same_seed_gives_the_same_bytes_and_another_seed_does_not") {
        return;
    }
    let record = |seed: &str| {
        let folder = tempfile::tempdir().unwrap();
        let seed = format!("run.seed={seed}");
        let set = ["flow.congestion=cubic", "path.loss=1e-4", "run.duration=1 s", &seed];
        let results = run(folder.path(), "first-look.toml", &set);
        tables(&folder.path().join("out/runs").join(results["runs"][0]["id"].as_str().unwrap()))
    };
    let (first, again, other) = (record("7"), record("7"), record("8"));
    for ((name, bytes), (_, repeated)) in first.iter().zip(&again) {
        assert!(bytes == repeated, "{} differs between two runs of one seed", name.display());
    }
    assert!(first != other, "another seed draws other losses");
}

#[test]
fn every_control_runs_by_name() {
    if !has_kernel("every_control_runs_by_name") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results = run(folder.path(), "all-controls.toml", &["run.duration=1 s", "run.omit=0 s"]);
    let runs = results["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 17);
    for run in runs {
        assert_balanced(run);
        assert!(metric(run, "goodput_bps") > 1e6, "{}: {}", run["id"], run["metrics"]["goodput_bps"]);
        assert_eq!(run["warnings"].as_array().map(Vec::len), Some(0), "{}", run["warnings"]);
    }
}

#[test]
fn four_cubic_flows_fill_100_gbit() {
    if !has_kernel("four_cubic_flows_fill_100_gbit") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results = run(folder.path(), "four-cubic-100g.toml", &[]);
    let run = &results["runs"][0];
    assert!(metric(run, "link_utilisation") >= 0.95, "{}", run["metrics"]);
    assert_balanced(run);
}

#[test]
fn a_dumbbell_with_staggered_starts_gives_series_per_flow() {
    if !has_kernel("a_dumbbell_with_staggered_starts_gives_series_per_flow") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results = run(folder.path(), "staggered-dumbbell.toml", &["run.duration=8 s"]);
    let run = &results["runs"][0];
    assert_balanced(run);
    let jain = metric(run, "jain_index");
    assert!((1.0 / 3.0..=1.0).contains(&jain), "{jain}");
    let recording =
        wirespeed_record::read(&folder.path().join("out/runs").join(run["id"].as_str().unwrap())).unwrap();
    let first_sample =
        |flow| recording.flows.iter().find(|row| row.flow == flow).map(|row| row.t_ns / 1_000_000_000);
    assert_eq!([first_sample(0), first_sample(1), first_sample(2)], [Some(0), Some(2), Some(4)]);
    let view = wirespeed_metrics::View::new(&recording).unwrap();
    assert!(!wirespeed_metrics::series::jain_over_time(&view, 100_000_000).is_empty());
}

#[test]
fn a_parking_lot_balances_on_every_hop() {
    if !has_kernel("a_parking_lot_balances_on_every_hop") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results = run(folder.path(), "parking-lot.toml", &["run.duration=1 s", "run.omit=0 s"]);
    results["runs"].as_array().unwrap().iter().for_each(assert_balanced);
}

#[test]
fn udp_accounts_for_every_datagram() {
    if !has_kernel("udp_accounts_for_every_datagram") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results = run(folder.path(), "udp-loss.toml", &["run.duration=1 s"]);
    let run = &results["runs"][0];
    assert_balanced(run);
    let recording =
        wirespeed_record::read(&folder.path().join("out/runs").join(run["id"].as_str().unwrap())).unwrap();
    let in_flight: i64 = recording
        .ledger
        .iter()
        .filter(|row| {
            row.direction == wirespeed_record::Direction::Data
                && row.entry == wirespeed_record::Entry::InFlight
        })
        .map(|row| row.packets)
        .sum();
    let missing = recording.datagrams.iter().filter(|row| row.arrived_ns.is_none()).count() as i64;
    assert!(recording.datagrams.len() > 1000);
    assert_eq!(missing, lost(run, "network", "") + lost(run, "rcvbuf", "") + in_flight);
}

/// The link of kernel/qdisc/sch_wire.c against what follows from the numbers: rate, delay, room and loss.
#[test]
fn a_link_does_exactly_what_was_asked() {
    if !has_kernel("a_link_does_exactly_what_was_asked") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let recording = |set: &[&str]| {
        let results = run(folder.path(), "udp-loss.toml", set);
        let id = results["runs"][0]["id"].as_str().unwrap().to_string();
        wirespeed_record::read(&folder.path().join("out/runs").join(id)).unwrap()
    };
    // One datagram at a time: 1472 bytes and 42 of headers take 12.112 us at 1 Gbit/s, then 10 ms of propagation.
    let idle = recording(&["path.loss=0", "run.duration=200 ms", "flow.rate=100 Mbit/s"]);
    let delays: Vec<i64> =
        idle.datagrams.iter().filter_map(|row| Some(row.arrived_ns? - row.sent_ns)).collect();
    assert!(delays.len() > 1000);
    for delay in &delays {
        // The sender reads the clock (1 ns a reading) before the datagram is on its way.
        assert!((10_012_112..10_012_122).contains(delay), "{delay} ns");
    }
    // Twice what the link carries: it sends without a gap, and its queue is as full as it can be.
    let room = 64_000;
    let set = ["path.loss=0", "run.duration=1 s", "flow.rate=2 Gbit/s", &format!("path.buffer={room} B")];
    let full = recording(&set);
    let arrivals: Vec<i64> = full.datagrams.iter().filter_map(|row| row.arrived_ns).collect();
    let (first, last) = (arrivals[0], arrivals[arrivals.len() - 1]);
    let packets = arrivals.len() as i64 - 1;
    assert!((last - first - packets * 12_112).abs() <= 1, "{packets} packets in {} ns", last - first);
    let link =
        |row: &&wirespeed_record::QueueSample| row.queue == "bottleneck/forward" && row.t_ns > 100_000_000;
    for row in full.queues.iter().filter(link) {
        assert!(
            row.backlog_bytes <= room && row.backlog_bytes + 2 * 1514 > room,
            "{} bytes",
            row.backlog_bytes
        );
    }
    // Each packet is lost on its own: within five standard deviations of the binomial law.
    let lossy = recording(&["path.loss=0.01", "run.duration=1 s"]);
    let arrived = lossy.datagrams.iter().filter(|row| row.sent_ns < 900_000_000);
    let (mut sent, mut lost) = (0.0, 0.0);
    arrived.for_each(|row| {
        sent += 1.0;
        lost += f64::from(row.arrived_ns.is_none());
    });
    let deviation = f64::sqrt(sent * 0.01 * 0.99);
    assert!((lost - sent * 0.01).abs() < 5.0 * deviation, "{lost} of {sent}");
}

/// A link that changes: datagram by datagram, kernel/qdisc/sch_wire.c and the model have the same times.
#[test]
fn a_link_changes_on_the_kernel_as_on_the_model() {
    const CHANGING: &str = r#"schema = 1
name = "changing"
[path]
rate = "1 Gbit/s"
rtt = "20 ms"
buffer = "8 packets"
[[path.change]]
at = "50 ms"
rate = "100 Mbit/s"
[[path.change]]
at = "100 ms"
over = "40 ms"
rate = "30 Mbit/s"
rtt = "8 ms"
loss = 0.2
[[path.change]]
at = "150 ms"
rate = "0 bit/s"
[[path.change]]
at = "170 ms"
rate = "200 Mbit/s"
buffer = "2 packets"
loss = 0
[[path.change]]
at = "200 ms"
rtt = "30 ms"
[[flow]]
kind = "udp"
rate = "60 Mbit/s"
[run]
duration = "300 ms"
"#;
    if !has_kernel("a_link_changes_on_the_kernel_as_on_the_model") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("changing.toml"), CHANGING).unwrap();
    let datagrams = |substrate: &str| {
        let results = run_on(folder.path(), "changing.toml", substrate);
        assert_balanced(&results["runs"][0]);
        let id = results["runs"][0]["id"].as_str().unwrap().to_owned();
        let recording = wirespeed_record::read(&folder.path().join(substrate).join("runs").join(id)).unwrap();
        let mut times: Vec<_> = recording.datagrams.iter().map(|row| (row.sent_ns, row.arrived_ns)).collect();
        times.sort();
        times
    };
    let (kernel, model) = (datagrams("kernel"), datagrams("model"));
    assert_eq!(kernel.len(), model.len());
    assert!(kernel.len() > 1000 && kernel.iter().filter(|times| times.1.is_none()).count() > 100);
    for (kernel, model) in kernel.iter().zip(&model) {
        // The sender reads the clock (1 ns a reading) before the datagram is on its way, and each frame that waits is rounded to 1 ns.
        let is_near = match (kernel.1, model.1) {
            (Some(kernel), Some(model)) => (kernel - model).abs() <= 100,
            (kernel, model) => kernel.is_none() && model.is_none(),
        };
        assert!(
            is_near && (kernel.0 - model.0).abs() <= 100,
            "{kernel:?} on the kernel, {model:?} on the model"
        );
    }
}

#[test]
fn a_queue_marks_on_the_kernel_as_on_the_model() {
    const MARKING: &str = r#"schema = 1
name = "marking"
[host.sender]
ecn = 1
[host.receiver]
ecn = 1
[path]
rate = "1 Gbit/s"
rtt = "2 ms"
buffer = "1 bdp"
queue = { kind = "drop-tail", mark_above = "0.15 bdp" }
[[flow]]
congestion = "dctcp"
[run]
duration = "500 ms"
"#;
    if !has_kernel("a_queue_marks_on_the_kernel_as_on_the_model") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("marking.toml"), MARKING).unwrap();
    let [kernel, model] = ["kernel", "model"].map(|substrate| {
        let results = run_on(folder.path(), "marking.toml", substrate);
        let run = &results["runs"][0];
        assert_balanced(run);
        assert_eq!(metric(run, "retransmissions_packets"), 0.0);
        let id = run["id"].as_str().unwrap();
        let recording = wirespeed_record::read(&folder.path().join(substrate).join("runs").join(id)).unwrap();
        let of_queue = |row: &&QueueSample| row.queue == "bottleneck/forward";
        let last = recording.queues.iter().rfind(of_queue).unwrap();
        // Nothing is lost, so the sender hears of every mark but those on their way.
        let (heard, marked) = (metric(run, "ce_marked_packets"), last.marked_packets.unwrap() as f64);
        assert!(heard > 400.0 && heard <= marked && marked - heard < 100.0, "{heard} of {marked}");
        (heard, metric(run, "goodput_bps"))
    });
    assert!((kernel.0 / model.0 - 1.0).abs() < 0.15 && (kernel.1 / model.1 - 1.0).abs() < 0.02);
}

/// What stands for the link must not decide what TCP does: mainline's emulator gives nearly the same.
#[test]
fn our_link_and_mainline_netem_agree() {
    if !has_kernel("our_link_and_mainline_netem_agree") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let results = run(folder.path(), "two-emulators.toml", &[]);
    let [wire, netem] = [0, 1].map(|index| &results["runs"][index]);
    assert_balanced(wire);
    assert_balanced(netem);
    let ratio = |name: &str| metric(wire, name) / metric(netem, name);
    for (name, tolerance) in [("goodput_bps", 0.001), ("rtt_median_ns", 0.002), ("queue_delay_mean_ns", 0.01)]
    {
        assert!((ratio(name) - 1.0).abs() < tolerance, "{name}: {}", ratio(name));
    }
    let drops = |run| lost(run, "network", "queue_full");
    assert!((drops(wire) - drops(netem)).abs() <= 2, "{} against {}", drops(wire), drops(netem));
}

#[test]
fn a_capture_is_a_pcap_and_changes_nothing() {
    if !has_kernel("a_capture_is_a_pcap_and_changes_nothing") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let plain = fs::read_to_string(scenario("first-look.toml")).unwrap();
    let with = plain.replace("[run]", "[[capture]]\nat = \"sender\"\nsnaplen = \"96 B\"\n\n[run]");
    let file = folder.path().join("capture.toml");
    fs::write(&file, with).unwrap();
    let set = ["flow.congestion=cubic", "run.duration=500 ms"];
    let captured = run(folder.path(), file.to_str().unwrap(), &set);
    let raw = folder.path().join("out/runs").join(captured["runs"][0]["id"].as_str().unwrap()).join("raw");
    let pcap = fs::read(raw.join("sender.pcap")).unwrap();
    assert_eq!(pcap[..4], 0xa1b2_3c4du32.to_le_bytes());
    let other = tempfile::tempdir().unwrap();
    let without = run(other.path(), "first-look.toml", &set);
    for name in ["goodput_bps", "retransmissions_packets"] {
        assert_eq!(captured["runs"][0]["metrics"][name], without["runs"][0]["metrics"][name], "{name}");
    }
}

#[test]
fn a_second_time_keeps_what_is_there() {
    if !has_kernel("a_second_time_keeps_what_is_there") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = scenario("first-look.toml");
    let arguments = ["run", &file, "--on", "kernel", "--out", "out", "--set", "run.duration=100 ms"];
    let first = wirespeed(folder.path(), &arguments);
    assert_eq!(errors(&first).matches("done in").count(), 3, "{}", errors(&first));
    let again = wirespeed(folder.path(), &arguments);
    assert_eq!(errors(&again).matches("kept from").count(), 3, "{}", errors(&again));
    assert_eq!(text(&first), text(&again));
}

#[test]
fn an_output_folder_that_cannot_be_written_is_named() {
    if !has_kernel("an_output_folder_that_cannot_be_written_is_named") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let arguments = ["run", &scenario("first-look.toml"), "--on", "kernel", "--out", "file/out"];
    let output = wirespeed(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(3));
    assert!(errors(&output).contains("file/out"), "{}", errors(&output));
}

#[test]
fn a_flow_ends_at_its_time_or_with_its_last_byte() {
    if !has_kernel("a_flow_ends_at_its_time_or_with_its_last_byte") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(scenario("reno-against-bic.toml")).unwrap();
    let path = text.split("[[flow]]").next().unwrap();
    let flows = "[[flow]]\nlabel = \"timed\"\nduration = \"300 ms\"\n\
                 [[flow]]\nlabel = \"sized\"\nbytes = \"2 MB\"\n[run]\nduration = \"2 s\"\n";
    let file = folder.path().join("ends.toml");
    fs::write(&file, format!("{path}{flows}")).unwrap();
    let results = run(folder.path(), file.to_str().unwrap(), &[]);
    assert_balanced(&results["runs"][0]);
    let recording = wirespeed_record::read(&folder.path().join("out/runs/r0")).unwrap();
    let last = |flow| recording.flows.iter().rfind(|row| row.flow == flow).unwrap();
    assert_eq!(last(1).delivered_bytes, Some(2_000_000));
    assert_eq!((last(0).delivered_bytes, last(0).unacked_packets), (last(0).read_bytes, Some(0)));
    let written = |flow| {
        recording
            .events
            .iter()
            .find(|e| e.kind == wirespeed_record::EventKind::FlowWritten && e.flow == Some(flow))
            .unwrap()
            .t_ns
    };
    assert!((300_000_000..300_100_000).contains(&written(0)), "{} ns", written(0));
    assert!(
        recording.events.iter().filter(|event| event.kind == wirespeed_record::EventKind::FlowEnd).count()
            == 2
    );
}

/// Phase effects (Floyd, Jacobson: On traffic phase effects in packet-switched gateways, 1992): two senders whose
/// interfaces have exactly the rate of the path keep their order at a full queue, and who is out stays out. At 8 Gbit/s a
/// packet lasts 1514 ns, so that no rounding blurs it, and the kernel and the model's reference mode do the same.
#[test]
fn a_full_queue_locks_a_flow_out_on_the_kernel_and_on_the_model() {
    const LOCKED: &str = r#"schema = 1
name = "locked-out"
[topology]
kind = "dumbbell"
senders = 2
[path]
rate = "8 Gbit/s"
rtt = "0.2 ms"
buffer = "640 KiB"
[host.sender]
nic_rate = "8 Gbit/s"
timestamps = false
qdisc = "pfifo_fast"
txqueuelen = 1000
[host.receiver]
timestamps = false
[[flow]]
congestion = "scalable"
count = 2
[run]
duration = "500 ms"
trains = false
"#;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locked-out.toml");
    fs::write(&file, LOCKED).unwrap();
    let on = |substrate: &str| {
        let results = run_on(folder.path(), "locked-out.toml", substrate);
        metric(&results["runs"][0], "jain_index")
    };
    let model = on("model");
    assert!(model < 0.55, "{model}");
    if has_kernel("a_full_queue_locks_a_flow_out_on_the_kernel_and_on_the_model") {
        let kernel = on("kernel");
        assert!(kernel < 0.55, "{kernel}");
    }
}

#[test]
fn both_substrates_can_be_compared() {
    if !has_kernel("both_substrates_can_be_compared") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for substrate in ["kernel", "model"] {
        let file = scenario("first-look.toml");
        let output = wirespeed(
            folder.path(),
            &["run", &file, "--on", substrate, "--set", "run.duration=2 s", "--out", substrate],
        );
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", errors(&output));
    }
    let output = wirespeed(folder.path(), &["compare", "kernel", "model"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let text = text(&output);
    assert!(text.starts_with("Goodput of model against kernel: "), "{text}");
    for control in ["bic", "cubic", "reno"] {
        assert!(text.contains(control), "{control} is missing in:\n{text}");
    }
    assert!(text.contains("rtt mean") && text.contains("retransmissions"), "{text}");
}
