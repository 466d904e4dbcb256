//! Captures of Linux in virtual time, at both ends, compared with what that kernel counted and where its packets went.
#![cfg(feature = "kernel")]

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use support::{errors, has_kernel, wirespeed};
use wirespeed_record::{Direction, Entry, Recording};
use wirespeed_scenario::congestion_controls;

const LOSSES: [&str; 3] = ["1e-2", "1e-3", "0"];
const ACK_LOSSES: [&str; 2] = ["0.02", "0"];

/// The algorithms of the default kernel; first the one with the most packets in flight.
fn algorithms() -> Vec<&'static str> {
    let mut names: Vec<&str> = congestion_controls()
        .iter()
        .filter(|control| !control.needs_l4s())
        .filter_map(|control| control.linux)
        .collect();
    names.sort_by_key(|name| *name != "bbr");
    names.dedup();
    names
}

fn scenario(number: usize) -> (String, String) {
    let algorithms = algorithms();
    let algorithm = algorithms[number % algorithms.len()];
    let loss = LOSSES[number % LOSSES.len()];
    let ack_loss = ACK_LOSSES[number % ACK_LOSSES.len()];
    let seed = number + 5;
    let text = format!(
        r#"
schema = 1
name = "traced"

[path]
rate = "100 Mbit/s"
rtt = "20 ms"
buffer = "1 bdp"
loss = {loss}
[path.reverse]
loss = {ack_loss}

[[flow]]
congestion = "{algorithm}"

[[capture]]
at = "sender"

[[capture]]
at = "receiver"

[run]
duration = "3 s"
sample = "1 ms"
seed = {seed}
"#
    );
    (format!("{number}: {algorithm}, loss {loss}, ACK loss {ack_loss}"), text)
}

/// Counters of the kernel, and losses by the loss ledger, of the only flow of a run.
#[derive(Debug)]
struct Truth {
    retransmitted: u64,
    fast: u64,
    timeouts: u64,
    after_timeout: u64,
    probes: u64,
    dsack: u64,
    lost: u64,
    lost_acks: u64,
    min_rtt_ns: u64,
    max_cwnd: u64,
}

impl Truth {
    fn of(run: &Recording) -> Truth {
        let counted = |name: &str| {
            let rows = run.counters.iter().filter(|row| row.host == "sender" && row.counter == name);
            rows.map(|row| row.after - row.before).sum()
        };
        assert!(counted("TcpOutSegs") > 1_000, "the kernel's counters are there: {:?}", run.counters);
        let lost = |direction: Direction| {
            let rows = run.ledger.iter().filter(|row| row.direction == direction && row.entry == Entry::Lost);
            rows.map(|row| u64::try_from(row.packets).unwrap()).sum()
        };
        Truth {
            retransmitted: counted("TcpRetransSegs"),
            fast: counted("TcpExtTCPFastRetrans"),
            timeouts: counted("TcpExtTCPTimeouts"),
            after_timeout: counted("TcpExtTCPSlowStartRetrans"),
            probes: counted("TcpExtTCPLossProbes"),
            dsack: counted("TcpExtTCPDSACKRecv"),
            lost: lost(Direction::Data),
            lost_acks: lost(Direction::Ack),
            min_rtt_ns: run.flows.iter().filter_map(|row| row.min_rtt_ns).min().unwrap() as u64,
            max_cwnd: run.flows.iter().filter_map(|row| row.cwnd_bytes).max().unwrap(),
        }
    }
}

/// A whole number of a document.
fn number(of: &Value, path: &str) -> u64 {
    let value = of.pointer(path).unwrap_or_else(|| panic!("{path} is missing"));
    value.as_u64().unwrap_or_else(|| panic!("{path}: {value}"))
}

fn trace(folder: &Path, files: &[&PathBuf]) -> Value {
    let mut arguments = vec!["trace", "--json"];
    arguments.extend(files.iter().map(|file| file.to_str().unwrap()));
    let output = wirespeed(folder, &arguments);
    assert!(output.status.success(), "{}", errors(&output));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

/// What differs of a run.
fn differences(name: &str, scenario: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("traced.toml"), scenario).unwrap();
    let output =
        wirespeed(folder.path(), &["run", "traced.toml", "--on", "kernel", "--json", "--out", "out"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", errors(&output));
    let run = folder.path().join("out/runs/r0");
    let truth = Truth::of(&wirespeed_record::read(&run).unwrap());
    let [sender, receiver] = ["sender", "receiver"].map(|host| run.join(format!("raw/{host}.pcap")));
    let at_sender = trace(folder.path(), &[&sender])["connections"][0]["from_client"].take();
    let at_receiver = trace(folder.path(), &[&receiver])["connections"][0]["from_client"].take();
    let both = trace(folder.path(), &[&sender, &receiver]);

    let mut wrong = Vec::new();
    // Exact in `packets`, or to a share of the number.
    let mut expect = |what: &str, found: u64, expected: u64, packets: u64, share: f64| {
        if found.abs_diff(expected) > packets.max((share * expected as f64) as u64) {
            wrong.push(format!("{name}: {what}: found {found}, expected {expected}"));
        }
    };
    let at = |path: &str| number(&at_sender, path);
    // The last one may wait in the queue.
    expect("retransmitted", at("/retransmissions/packets"), truth.retransmitted, 1, 0.0);
    let fast = at("/retransmissions/fast") + at("/retransmissions/rack");
    expect("fast", fast, truth.fast, 1, 0.1);
    expect("timeouts", at("/retransmissions/timeout"), truth.timeouts, 1, 0.1);
    expect("after timeouts", at("/retransmissions/after_timeout"), truth.after_timeout, 1, 0.1);
    // A probe with new data looks like data.
    let probes = at("/retransmissions/tail_loss_probe");
    expect("probes", probes.max(truth.probes.min(probes + 1)), truth.probes, 1, 0.2);
    expect("spurious", at("/retransmissions/spurious_dsack"), truth.dsack, 2, 0.2);
    expect("lost after the sender", at("/losses/after_capture_point"), truth.lost, 3, 0.02);
    expect("lost before the sender", at("/losses/before_capture_point"), 0, 0, 0.0);
    expect("largest window", at("/max_in_flight_bytes"), truth.max_cwnd, 4_000, 0.15);
    // A retransmission that is lost before the receiver is not seen there: its data counts as lost once.
    let each = at_sender["each_retransmission"].as_array().unwrap();
    let ranges: BTreeSet<i64> = each.iter().map(|one| one["start"].as_i64().unwrap()).collect();
    let before = number(&at_receiver, "/losses/before_capture_point");
    expect("lost before the receiver", before, ranges.len() as u64, 4, 0.05);
    expect("lost after the receiver", number(&at_receiver, "/losses/after_capture_point"), 0, 0, 0.0);
    for (side, flow, share) in [("sender", &at_sender, 0.02), ("receiver", &at_receiver, 0.05)] {
        let rtt: u64 = ["/rtt_to_sender_ns/min", "/rtt_to_receiver_ns/min"]
            .iter()
            .filter_map(|path| flow.pointer(path)?.as_u64())
            .sum();
        expect(&format!("least RTT at the {side}"), rtt, truth.min_rtt_ns, 0, share);
        for artefact in ["missed_packets", "duplicates", "late_records", "given_up"] {
            let what = format!("{artefact} at the {side}");
            expect(&what, number(flow, &format!("/artefacts/{artefact}")), 0, 0, 0.0);
        }
        expect(&format!("reordered at the {side}"), number(flow, "/reordering/packets"), 0, 0, 0.0);
        let is_there = flow["capture_point"]["position"] == side;
        expect(&format!("a capture point at the {side}"), is_there.into(), 1, 0, 0.0);
    }
    // For all that the captures show, a packet that was lost in the last moments may still be on its way, and a first SYN that was lost
    // may have come before the other capture began.
    let count = |from: &str, what: &str| number(&both, &format!("/{from}/counts/{what}"));
    let not_judged = |from: &str| (count(from, "in_flight") + count(from, "near_outside")).min(2);
    let [there, back] = ["from_first", "from_second"];
    expect("lost between the captures", count(there, "lost"), truth.lost, not_judged(there), 0.0);
    expect("ACKs lost between the captures", count(back, "lost"), truth.lost_acks, not_judged(back), 0.0);
    wrong
}

/// A receiver that sent a SACK block, which was lost, gets the data again and reports no DSACK: its GRO put the copy together with new
/// data. The first run has it.
#[test]
fn captures_of_the_kernel_agree_with_its_counters() {
    const NAME: &str = "captures_of_the_kernel_agree_with_its_counters";
    if !has_kernel(NAME) {
        return;
    }
    // WIRESPEED_TRACE_CAPTURES: number of runs, two captures each.
    let most: usize = std::env::var("WIRESPEED_TRACE_CAPTURES").map_or(5, |text| text.parse().unwrap());
    let mut wrong = Vec::new();
    for (name, text) in (0..most).map(scenario) {
        wrong.extend(differences(&name, &text));
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// onl-wiki's flow on a kernel of today, whose initial window is 10 packets: its interface has no short transmit ring, so that no packet
/// is captured twice and none is dropped before the capture.
#[test]
fn slow_start_of_onl_wiki_on_the_kernel_has_no_artefacts() {
    const NAME: &str = "slow_start_of_onl_wiki_on_the_kernel_has_no_artefacts";
    if !has_kernel(NAME) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scenario = r#"
schema = 1
name = "onl-wiki-seq"
path = { preset = "onl-50ms" }
host.sender = { nic_rate = "1 Gbit/s", tcp_wmem_max = "64 MiB" }
host.receiver = { tcp_rmem_max = "64 MiB" }
flow = [{ congestion = "reno" }]
capture = [{ at = "sender" }]
run = { duration = "1.2 s", sample = "1 ms" }
"#;
    fs::write(folder.path().join("traced.toml"), scenario).unwrap();
    let output = wirespeed(folder.path(), &["run", "traced.toml", "--on", "kernel", "--out", "out"]);
    assert!(output.status.success(), "{}", errors(&output));
    let capture = folder.path().join("out/runs/r0/raw/sender.pcap");
    let flow = trace(folder.path(), &[&capture])["connections"][0]["from_client"].take();
    let rounds = flow["rounds"].as_array().unwrap();
    let packets: Vec<u64> = rounds.iter().take(6).map(|round| number(round, "/packets")).collect();
    assert_eq!(packets, [10, 20, 40, 80, 160, 320]);
    assert_eq!(flow["slow_start"]["end"], "interface", "{}", flow["slow_start"]);
    assert_eq!(flow["slow_start"]["duplicates_in_rounds"], Value::Null);
    assert_eq!(flow["capture_point"]["position"], "sender");
    for artefact in ["duplicates", "missed_packets", "late_records", "super_packets", "given_up"] {
        assert_eq!(number(&flow, &format!("/artefacts/{artefact}")), 0, "{artefact}");
    }
    for loss in ["before_capture_point", "after_capture_point", "unseen_reductions"] {
        assert_eq!(number(&flow, &format!("/losses/{loss}")), 0, "{loss}");
    }
}
