//! Runs between machines: namespaces of this one, each reached by what stands in for ssh. They need the right to make
//! namespaces; without it each is skipped by name, with the reason.

mod support;

use serde_json::Value;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};
use support::bed::Bed;
use support::ledger::{
    LostIn, assert_intervals_add_up, entry, lost, lost_anywhere, lost_by_interval, results,
};
use support::{errors, until};

/// How long something may take.
const PATIENCE: Duration = Duration::from_secs(10);
const SHORT: &str = "[run]\nduration = \"1 s\"\n";

fn run(bed: &Bed, rest: &str) -> Value {
    let file = bed.scenario(rest);
    results(&bed.wirespeed(&["run", &file, "--on", "hosts", "--json", "--out", "out"]))
}

#[test]
fn two_machines_have_one_recording_and_a_ledger_that_balances() {
    let Some(bed) = Bed::new("two_machines_have_one_recording_and_a_ledger_that_balances", 0) else { return };
    let run = run(&bed, &format!("[[flow]]\ncongestion = \"cubic\"\ncount = 2\n{SHORT}"));
    assert_eq!(run["substrate"], "hosts");
    let metric = |name: &str| run["metrics"][name].as_f64().unwrap_or_else(|| panic!("no {name}"));
    assert!(metric("goodput_bps") > 1e8, "{}", metric("goodput_bps"));
    assert!(metric("rtt_median_ns") > 0.0);
    for direction in ["data", "ack"] {
        assert_eq!(entry(&run, direction, "unexplained"), 0, "{direction}: {}", run["ledger"]);
        assert!(entry(&run, direction, "sent") > 1000);
    }
    let refused = bed.refused_by_backlogs(-1);
    assert_eq!(lost(&run, "tcp_backlog"), refused, "{}", run["ledger"]);
    assert_eq!(lost_anywhere(&run), refused, "{}", run["ledger"]);
    assert!(bed.agents().is_empty());
}

#[test]
fn four_machines_have_one_recording() {
    let Some(bed) = Bed::new("four_machines_have_one_recording", 2) else { return };
    let flows = "[[flow]]\ncongestion = \"cubic\"\nfrom = \"sender1\"\nto = \"receiver2\"\n\
                 [[flow]]\ncongestion = \"cubic\"\nfrom = \"sender2\"\nto = \"receiver1\"\n";
    let file = bed.scenario_of_all(&format!("{flows}{SHORT}"));
    let run = results(&bed.wirespeed(&["run", &file, "--on", "hosts", "--json", "--out", "out"]));
    for direction in ["data", "ack"] {
        assert_eq!(entry(&run, direction, "unexplained"), 0, "{direction}: {}", run["ledger"]);
    }
    let ends = run["placement"].as_array().expect("where it was worked on");
    let hosts: std::collections::BTreeSet<&str> =
        ends.iter().filter_map(|end| end["host"].as_str()).collect();
    assert_eq!(hosts.into_iter().collect::<Vec<_>>(), ["receiver1", "receiver2", "sender1", "sender2"]);
}

#[test]
fn an_address_that_is_translated_on_the_way_is_reported() {
    let Some(bed) = Bed::new("an_address_that_is_translated_on_the_way_is_reported", 0) else { return };
    // Not who it should be, as behind a NAT: the sender's packets leave with another address of its own.
    let other = "ip addr add 10.77.0.9/24 dev right && ip route replace 10.77.0.0/24 dev right src 10.77.0.9";
    bed.inside(bed.name(0), other).unwrap();
    let file = bed.scenario(&format!("[[flow]]\ncongestion = \"cubic\"\n{SHORT}"));
    let output = bed.wirespeed(&["run", &file, "--on", "hosts", "--json", "--out", "out"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("refused a connection from 10.77.0.9") && printed.contains("NAT"), "{printed}");
    until(PATIENCE, "the agents end", || bed.agents().is_empty());
}

#[test]
fn an_ordinary_user_is_enough() {
    let Some(bed) = Bed::new("an_ordinary_user_is_enough", 0) else { return };
    let allowed = bed.read(bed.name(0), "cat /proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let control = allowed.split_whitespace().next().expect("one is always allowed");
    let file = bed.scenario(&format!("[[flow]]\ncongestion = \"{control}\"\n{SHORT}"));
    let (from, to) = (format!("ordinary@{}", bed.name(0)), format!("ordinary@{}", bed.name(-1)));
    let set = [format!("host.sender.ssh={from}"), format!("host.receiver.ssh={to}")];
    let arguments = ["run", &file, "--on", "hosts", "--json", "--set", &set[0], "--set", &set[1]];
    let run = results(&bed.wirespeed(&arguments));
    assert_eq!(entry(&run, "data", "unexplained"), 0);
    assert!(entry(&run, "data", "sent") > 1000);
}

#[test]
fn drops_of_the_senders_queue_are_found_there_packet_by_packet() {
    let Some(bed) = Bed::new("drops_of_the_senders_queue_are_found_there_packet_by_packet", 0) else {
        return;
    };
    bed.inside(bed.name(0), "tc qdisc add dev right root tbf rate 200mbit burst 64kb limit 100kb").unwrap();
    let run = run(&bed, &format!("[[flow]]\ncongestion = \"cubic\"\n{SHORT}"));
    assert!(lost(&run, "qdisc") > 0, "{}", run["ledger"]);
    assert_eq!(lost(&run, "qdisc"), lost_anywhere(&run), "{}", run["ledger"]);
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
}

#[test]
fn drops_of_a_router_are_the_networks_once_both_hosts_are_cleared() {
    let Some(bed) = Bed::new("drops_of_a_router_are_the_networks_once_both_hosts_are_cleared", 1) else {
        return;
    };
    // Packets, not pieces: a token bucket counts what it was given as one drop.
    bed.inside(bed.name(0), "ip link set right gso_max_segs 1").unwrap();
    bed.inside(bed.name(1), "tc qdisc add dev right root tbf rate 200mbit burst 16kb limit 60kb").unwrap();
    let run = run(&bed, &format!("[[flow]]\ncongestion = \"cubic\"\n{SHORT}"));
    let text = bed.read(bed.name(1), "tc -s qdisc show dev right");
    let dropped = text.split("dropped ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let dropped: i64 = dropped.parse().unwrap();
    assert!(dropped > 0);
    assert_eq!(lost(&run, "network"), dropped, "{}", run["ledger"]);
    assert_eq!(lost_anywhere(&run), dropped, "{}", run["ledger"]);
}

/// A run of 5 s, in which `script` is done at machine `place` after two seconds; and from when to when that was at the most, in
/// seconds of the run, as seen from outside.
fn run_with_a_fault(bed: &Bed, flows: &str, place: isize, script: &str) -> (Value, [f64; 2]) {
    let file = bed.scenario(&format!("{flows}[run]\nduration = \"5 s\"\n"));
    let mut command = bed.command(&["run", &file, "--on", "hosts", "--json", "--out", "out"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let arrived =
        || bed.read(bed.name(-1), "cat /sys/class/net/left/statistics/rx_bytes").trim().parse::<u64>();
    let (mut earliest, began) = (Instant::now(), Instant::now());
    // Before the run only some SYNs pass.
    loop {
        let asked = Instant::now();
        if arrived().is_ok_and(|bytes| bytes > 200_000) {
            break;
        }
        earliest = asked;
        assert!(began.elapsed() < Duration::from_secs(20), "the flow does not run");
        sleep(Duration::from_millis(10));
    }
    let latest = Instant::now();
    sleep(Duration::from_millis(2200));
    let from = latest.elapsed().as_secs_f64();
    bed.inside(bed.name(place), script).unwrap();
    let to = earliest.elapsed().as_secs_f64();
    (results(&running.wait_with_output().unwrap()), [from, to])
}

/// Asserts that a stage lost something while there was a fault, and in intervals without no more than what they are known
/// within: a flow may notice late.
fn assert_lost_during(run: &Value, stage: &str, [from, to]: [f64; 2]) {
    /// 200 kB at 200 Mbit/s, and the way.
    const BEGINNING_S: f64 = 0.05;
    let intervals = lost_by_interval(run, stage);
    assert!(intervals.len() >= 3, "{intervals:?}");
    let with_fault =
        |interval: &&LostIn| interval.time[1] > from - BEGINNING_S && interval.time[0] < to + BEGINNING_S;
    let lost: i64 = intervals.iter().filter(with_fault).map(|interval| interval.lost).sum();
    let quiet: Vec<&LostIn> = intervals.iter().filter(|interval| !with_fault(interval)).collect();
    assert!(quiet.len() >= 2, "the fault lasted for a part of the run: from {from} to {to} s");
    for interval in &quiet {
        assert!(interval.lost <= interval.uncertain, "from {from} to {to} s: {intervals:?}");
    }
    let elsewhere: i64 = quiet.iter().map(|interval| interval.lost).sum();
    assert!(lost > 4 * elsewhere, "from {from} to {to} s: {intervals:?}");
}

#[test]
fn a_fault_in_mid_run_is_in_its_own_interval_of_the_ledger() {
    let Some(bed) = Bed::new("a_fault_in_mid_run_is_in_its_own_interval_of_the_ledger", 1) else { return };
    bed.inside(bed.name(0), "ip link set right gso_max_segs 1").unwrap();
    let flow = "[[flow]]\ncongestion = \"reno\"\nmax_rate = \"200 Mbit/s\"\n";
    let fault = "tc qdisc add dev right root tbf rate 20mbit burst 8kb limit 20kb && sleep 0.3 && tc qdisc del dev right root";
    let (run, when) = run_with_a_fault(&bed, flow, 1, fault);
    assert_intervals_add_up(&run);
    assert_lost_during(&run, "network", when);
    // It is said in the interval in which the flow noticed.
    let noticed = run["held_back"].as_array().unwrap().iter();
    let words: Vec<&str> = noticed.filter_map(|interval| interval["by"].as_str()).collect();
    assert!(!words.contains(&"cwnd after loss"), "a loss whose place is known is named: {words:?}");
}

#[test]
fn pieces_that_the_senders_queue_dropped_are_in_their_own_interval() {
    let Some(bed) = Bed::new("pieces_that_the_senders_queue_dropped_are_in_their_own_interval", 0) else {
        return;
    };
    let queue = |verb: &str, rate: &str, limit: &str| {
        format!("tc qdisc {verb} dev right root tbf rate {rate} burst 64kb limit {limit}")
    };
    bed.inside(bed.name(0), &queue("add", "1gbit", "4mb")).unwrap();
    let flow = "[[flow]]\ncongestion = \"reno\"\nmax_rate = \"200 Mbit/s\"\n";
    let (narrow, wide) = (queue("change", "20mbit", "70kb"), queue("change", "1gbit", "4mb"));
    let (run, when) = run_with_a_fault(&bed, flow, 0, &format!("{narrow} && sleep 0.3 && {wide}"));
    assert_intervals_add_up(&run);
    assert_lost_during(&run, "qdisc", when);
    assert_eq!(lost(&run, "qdisc"), lost_anywhere(&run), "{}", run["ledger"]);
}

#[test]
fn datagrams_that_a_full_socket_drops_are_found_there() {
    let Some(bed) = Bed::new("datagrams_that_a_full_socket_drops_are_found_there", 0) else { return };
    let flow = "[[flow]]\nkind = \"udp\"\nrate = \"300 Mbit/s\"\ndatagram = \"1472 B\"\nrcvbuf = \"2 KiB\"\n";
    let run = run(&bed, &format!("{flow}{SHORT}"));
    assert!(lost(&run, "rcvbuf") > 0, "{}", run["ledger"]);
    assert_eq!(lost(&run, "rcvbuf"), lost_anywhere(&run), "{}", run["ledger"]);
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
}

#[test]
fn an_agent_that_is_killed_ends_the_run_with_its_name_and_leaves_nothing() {
    let test = "an_agent_that_is_killed_ends_the_run_with_its_name_and_leaves_nothing";
    let Some(bed) = Bed::new(test, 0) else { return };
    let file = bed.scenario("[[flow]]\ncongestion = \"cubic\"\n[run]\nduration = \"30 s\"\n");
    let mut command = bed.command(&["run", &file, "--on", "hosts", "--out", "out"]);
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(PATIENCE, "both agents run", || bed.agents().len() == 2);
    sleep(Duration::from_millis(1500));
    // SAFETY: a process of this test's own bed.
    unsafe { libc::kill(bed.agents()[0] as i32, libc::SIGKILL) };
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let said = errors(&output);
    assert!(said.contains("host ") && said.contains("is gone"), "{said}");
    assert!(said.contains(".stream"), "what was measured is named: {said}");
    until(PATIENCE, "the other agent ends too", || bed.agents().is_empty());
}

#[test]
fn a_controller_that_is_killed_leaves_no_agent() {
    let Some(bed) = Bed::new("a_controller_that_is_killed_leaves_no_agent", 0) else { return };
    let file = bed.scenario("[[flow]]\ncongestion = \"cubic\"\n[run]\nduration = \"30 s\"\n");
    let mut command = bed.command(&["run", &file, "--on", "hosts", "--out", "out"]);
    let mut running = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(PATIENCE, "both agents run", || bed.agents().len() == 2);
    sleep(Duration::from_millis(1500));
    running.kill().unwrap();
    running.wait().unwrap();
    until(PATIENCE, "the agents end", || bed.agents().is_empty());
}

#[test]
fn impossible_settings_are_refused_with_place_and_remedy() {
    let Some(bed) = Bed::new("impossible_settings_are_refused_with_place_and_remedy", 1) else { return };
    let flow = |control: &str| format!("[[flow]]\ncongestion = \"{control}\"\n{SHORT}");
    let refused = |arguments: &[&str], words: &[&str]| {
        let output = bed.wirespeed(arguments);
        assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
        let said = errors(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        words.iter().for_each(|word| assert!(said.contains(word), "{word}: {said}"));
    };
    let file = bed.scenario(&flow("cubic"));
    let on_hosts =
        |set: &'static str| ["run", file.as_str(), "--on", "hosts", "--set", set].map(str::to_owned);
    let refuse = |set: &'static str, words: &[&str]| {
        let arguments = on_hosts(set);
        refused(&arguments.each_ref().map(String::as_str), words);
    };
    refuse("host.sender.ssh=nowhere", &["host sender", "Could not resolve hostname nowhere"]);
    refuse("host.sender.address=10.9.9.9", &["host sender: it has no address 10.9.9.9", "10.77.0.1 (right)"]);
    refuse("flow.congestion=dctcp", &["congestion control dctcp"]);
    // A machine with two addresses is asked about, not guessed at.
    refused(
        &["probe", bed.name(0), bed.name(1)],
        &["host receiver: it has several addresses", "10.77.0.2 (left)", "10.77.1.1 (right)"],
    );
    // Control works, data does not come through.
    bed.inside(bed.name(1), "ip route add blackhole 10.77.1.2/32").unwrap();
    refused(&["probe", bed.name(0), bed.name(-1), "--time", "1 s"], &["does not answer", "firewall"]);
}

#[test]
fn probe_prints_where_the_packets_went() {
    let Some(bed) = Bed::new("probe_prints_where_the_packets_went", 0) else { return };
    let output = bed.wirespeed(&["probe", bed.name(0), bed.name(-1), "--time", "1 s"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", errors(&output));
    for words in ["Where the packets went", "data:", "0 lost", "ack:", "nothing at sender: ip_out, qdisc"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(errors(&output).contains("round trip"));
}

#[test]
fn a_mesh_probes_every_pair_and_a_host_that_loses_stands_out() {
    let Some(bed) = Bed::new("a_mesh_probes_every_pair_and_a_host_that_loses_stands_out", 1) else { return };
    // What the last machine is sent is more than its way takes.
    let slow = "tc qdisc add dev right root tbf rate 3mbit burst 4kb limit 6kb";
    bed.inside(bed.name(1), slow).unwrap();
    let host = |place: isize, address: &str| format!("{}={address}", bed.name(place));
    let hosts = [host(0, "10.77.0.1"), host(1, "10.77.0.2"), host(2, "10.77.1.2")];
    let mut arguments = vec!["mesh", "--time", "1 s", "--udp", "5 Mbit/s", "--json", "--out", "mesh"];
    arguments.extend(hosts.iter().map(String::as_str));
    let output = bed.wirespeed(&arguments);
    assert!(output.status.success(), "{}", errors(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    assert_eq!(summary["pairs"].as_array().map(Vec::len), Some(6), "{summary}");
    let worst: Vec<&Value> = summary["pairs"].as_array().unwrap().iter().take(2).collect();
    assert!(
        worst.iter().all(|pair| pair["to"] == bed.name(2) && pair["loss"].as_f64().unwrap() > 0.1),
        "{summary}"
    );
    assert_eq!(summary["sites"][0]["host"], bed.name(2), "{summary}");
    let text = std::fs::read_to_string(bed.folder().join("mesh/mesh.prom")).expect("it was written");
    for name in ["loss_ratio", "delay_seconds", "jitter_seconds", "loss_burst_packets"] {
        assert!(text.contains(&format!("wirespeed_mesh_{name}{{")), "{name}: {text}");
    }
    assert!(
        errors(&output).contains("one-way delay") && errors(&output).contains("jitter"),
        "{}",
        errors(&output)
    );
    // What is stored can be told again, without the machines.
    let again = bed.wirespeed(&["mesh", "--out", "mesh", "--json"]);
    assert_eq!(again.stdout, output.stdout);
    // What a program that runs it again and again has to see.
    arguments.extend(["--fail-loss", "1e-3"]);
    assert_eq!(bed.wirespeed(&arguments).status.code(), Some(1));
    arguments.push("nowhere");
    let output = bed.wirespeed(&arguments);
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    assert!(errors(&output).contains("6 of 12 pairs could not be measured"), "{}", errors(&output));
    let kept = std::fs::read_dir(bed.folder().join("mesh/runs")).unwrap().flatten();
    assert!(
        kept.into_iter().all(|run| run.path().join("run.json").is_file()),
        "failed pairs leave no folder"
    );
}

#[test]
fn a_bundle_of_real_hosts_is_repeated_in_namespaces_only() {
    let Some(bed) = Bed::new("a_bundle_of_real_hosts_is_repeated_in_namespaces_only", 0) else { return };
    let flow = "[[flow]]\ncongestion = \"cubic\"\nmax_rate = \"50 Mbit/s\"\n";
    let file = bed.scenario(&format!("{flow}[run]\nduration = \"1 s\"\nrepeat = 2\n"));
    // A path that any machine can emulate.
    let path = (
        "rate = \"10 Gbit/s\", rtt = \"0.1 ms\"",
        "rate = \"100 Mbit/s\", rtt = \"0 ms\", buffer = \"1 MB\"",
    );
    let text = std::fs::read_to_string(&file).unwrap().replace(path.0, path.1);
    std::fs::write(&file, text).unwrap();
    let done = |arguments: &[&str], code: i32| {
        let output = bed.wirespeed(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", errors(&output));
        errors(&output)
    };
    done(&["run", &file, "--on", "hosts", "--out", "out"], 0);
    done(&["bundle", "out", "--author", "Doe, Jane", "--license", "CC-BY-4.0"], 0);
    // The author of a bundle has no say in which hosts somebody else logs in to.
    let refused = done(&["run", "out.wirespeed.tar.gz"], 2);
    assert!(refused.contains("--on netns"), "{refused}");
    // Whether the metrics agree depends on both machines.
    let repeated = bed.wirespeed(&[
        "run",
        "out.wirespeed.tar.gz",
        "--on",
        "netns",
        "--out",
        "again",
        "--self-check",
        "off",
        "--json",
    ]);
    let result: Value =
        serde_json::from_slice(&repeated.stdout).unwrap_or_else(|_| panic!("{}", errors(&repeated)));
    assert_eq!(result["substrates"]["repeated"], serde_json::json!(["netns"]), "{result}");
    let notes = result["notes"].to_string();
    assert!(notes.contains("default settings of a host"), "{notes}");
    for run in ["r0", "r1"] {
        let recording =
            wirespeed_record::read(&bed.folder().join("again/runs").join(run)).expect("it is complete");
        let delivered = recording.flows.iter().filter_map(|row| row.delivered_bytes).max();
        // 50 Mbit/s for a second.
        assert!(delivered.is_some_and(|bytes| (1_000_000..8_000_000).contains(&bytes)), "{delivered:?}");
    }
}
