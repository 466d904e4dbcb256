//! L4S on a real kernel in virtual time, which takes Linux 7.2 (`wirespeed kernel build --version 7.2`). Without it each test
//! is skipped by name, with the reason.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use support::{errors, has_kernel, has_kernel_of, wirespeed};
use wirespeed_record::{QueueClass, Recording};

const VERSION: &str = "7.2";

/// One flow each of Prague and CUBIC over the queue of L4S.
const COEXISTENCE: &str = r#"
schema = 1
name = "l4s"

[path]
rate = "40 Mbit/s"
rtt = "10 ms"
buffer = "10000 packets"
queue = "dualpi2"

[[flow]]
label = "prague"
congestion = "prague"

[[flow]]
label = "cubic"
congestion = "cubic"

[run]
duration = "15 s"
omit = "5 s"
kernel = "7.2"
"#;

/// Runs a scenario on the kernel, and returns its results and its recording.
fn run(folder: &Path, text: &str) -> (Value, Recording) {
    fs::write(folder.join("l4s.toml"), text).unwrap();
    let output = wirespeed(folder, &["run", "l4s.toml", "--on", "kernel", "--json", "--out", "out"]);
    assert!(output.status.success(), "{}", errors(&output));
    let results: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    let run = results["runs"][0].clone();
    let recording =
        wirespeed_record::read(&folder.join("out/runs").join(run["id"].as_str().unwrap())).unwrap();
    (run, recording)
}

fn metric(run: &Value, name: &str) -> f64 {
    run["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name}: {}", run["metrics"]))
}

fn assert_balanced(run: &Value) {
    for direction in ["data", "ack"] {
        assert_eq!(run["ledger"][direction]["unexplained"], 0, "{direction}: {}", run["ledger"]);
    }
}

#[test]
fn prague_waits_less_than_a_millisecond_beside_cubic() {
    if !has_kernel_of("prague_waits_less_than_a_millisecond_beside_cubic", VERSION) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (run, recording) = run(folder.path(), COEXISTENCE);
    assert_balanced(&run);
    assert!(metric(&run, "link_utilisation") > 0.95);
    // RFC 9332, section 1: less than a millisecond. The controller keeps the classic queue at 15 ms.
    assert!(metric(&run, "low_latency_delay_mean_ns") < 1e6);
    assert!((10e6..20e6).contains(&metric(&run, "classic_delay_mean_ns")));
    assert_eq!(metric(&run, "low_latency_dropped_fraction"), 0.0);
    // Marks have twice the probability whose square drops (RFC 9332, section 2.1). Some 20 drops tell it to within a third, and
    // the root of a mean square is above the mean.
    let coupled = 2.0 * metric(&run, "classic_dropped_fraction").sqrt();
    let coupling = metric(&run, "low_latency_marked_fraction") / coupled;
    assert!((0.5..1.4).contains(&coupling), "{coupling}");
    // Senders hear of the marks of the queue, but for those of the last round trip and of packets that were sent again.
    let last = |flow: u32| recording.flows.iter().rfind(|row| row.flow == flow).unwrap();
    let heard = last(0).delivered_ce_packets.unwrap() as f64;
    let marked: u64 = recording.queue_delays.iter().map(|row| row.marked_packets).sum();
    assert!((heard / marked as f64 - 1.0).abs() < 0.02, "{heard} of {marked}");
    assert_eq!(last(1).delivered_ce_packets, Some(0), "CUBIC has no ECN");
    assert!(last(0).dctcp_alpha_ratio.unwrap() > 0.0);
}

#[test]
fn delays_by_class_count_each_packet_of_the_queue_once() {
    if !has_kernel_of("delays_by_class_count_each_packet_of_the_queue_once", VERSION) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Datagrams with ECT(1) at more than the rate: marks do not help, and both queues drop.
    let text = COEXISTENCE.replace(
        "congestion = \"prague\"",
        "kind = \"udp\"\nrate = \"60 Mbit/s\"\ndatagram = \"1400 B\"\necn = \"ect1\"",
    );
    let (run, recording) = run(folder.path(), &text);
    assert_balanced(&run);
    let last = recording.queues.iter().rfind(|row| row.queue == "bottleneck/forward").unwrap();
    let sum = |count: fn(&wirespeed_record::QueueDelay) -> u64| {
        let rows = recording.queue_delays.iter().filter(|row| row.queue == "bottleneck/forward");
        rows.map(count).sum::<u64>()
    };
    assert_eq!(last.kind, "dualpi2");
    assert_eq!(sum(|row| row.packets), last.sent_packets);
    assert_eq!(sum(|row| row.bytes), last.sent_bytes);
    assert_eq!(sum(|row| row.marked_packets), last.marked_packets.unwrap());
    let lost = run["ledger"]["data"]["lost"].as_array().unwrap();
    let by = |cause: &str| {
        let rows = lost.iter().filter(|row| row["cause"] == cause);
        rows.map(|row| row["packets"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(sum(|row| row.dropped_packets), by("pi2"));
    assert_eq!(last.dropped_packets, by("pi2") + by("queue_full"));
    let of = |class: QueueClass| {
        let rows = recording.queue_delays.iter().filter(move |row| row.class == class);
        rows.map(|row| row.dropped_packets).sum::<u64>()
    };
    assert!(of(QueueClass::LowLatency) > 1_000, "overload drops datagrams");
    for row in &recording.queue_delays {
        assert!(row.sum_ns <= row.packets as i64 * row.up_to_ns, "{row:?}");
    }
}

#[test]
fn step_before_a_plain_queue_marks_prague() {
    if !has_kernel_of("step_before_a_plain_queue_marks_prague", VERSION) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = COEXISTENCE
        .replace("\"dualpi2\"", "{ kind = \"drop-tail\", mark_after = \"1 ms\" }")
        .replace("\n[[flow]]\nlabel = \"cubic\"\ncongestion = \"cubic\"\n", "");
    let (run, _) = run(folder.path(), &text);
    assert_balanced(&run);
    // A window of 38 packets swings by sqrt(38 / 2), about as many as wait at the step (DCTCP, SIGCOMM 2010, section 3.3).
    assert!(metric(&run, "link_utilisation") > 0.95);
    // The sender hears of a mark a round trip later, and grows by a packet (0.3 ms) until then.
    assert!(metric(&run, "queue_delay_mean_ns") < 2e6);
    // At least one in each 25 ms, in which Prague reduces its window once.
    assert!(metric(&run, "ce_marked_packets") > 400.0);
}

#[test]
fn l4s_on_the_default_kernel_is_refused_with_the_version_that_has_it() {
    if !has_kernel("l4s_on_the_default_kernel_is_refused_with_the_version_that_has_it") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("l4s.toml"), COEXISTENCE.replace("kernel = \"7.2\"\n", "")).unwrap();
    let output = wirespeed(folder.path(), &["run", "l4s.toml", "--on", "kernel", "--out", "out"]);
    assert!(!output.status.success());
    let told = errors(&output);
    assert!(told.contains("dualpi2") && told.contains("run.kernel = \"7.2\""), "{told}");
}
