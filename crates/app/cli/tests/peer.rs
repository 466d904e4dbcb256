//! `wirespeed probe A iperf3://B`: nothing of ours runs on B, only a real iperf3 server. Machines are namespaces; without the
//! right to make them, or without iperf3, each test is skipped by name.

mod support;

use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use support::bed::Bed;
use support::ledger::{entry, lost, lost_anywhere, results};
use support::{errors, skip, until};

/// An iperf3 in a machine of the bed, killed with its value.
struct Iperf3(Child);

impl Iperf3 {
    fn start(bed: &Bed, place: isize, arguments: &[&str]) -> Iperf3 {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", bed.name(place), "iperf3"]).args(arguments);
        Iperf3(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("iperf3 was there"))
    }
}

impl Drop for Iperf3 {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How long something may take.
const PATIENCE: Duration = Duration::from_secs(10);

fn bed(test: &str, routers: usize) -> Option<Bed> {
    if Command::new("iperf3").arg("--version").output().is_err() {
        skip(test, "no iperf3 here");
        return None;
    }
    Bed::new(test, routers)
}

/// Whether a machine has a socket on port 5201 (0x1451) in a state, as the kernel numbers them.
fn has_socket(bed: &Bed, place: isize, state: &str) -> bool {
    let all = bed.read(bed.name(place), "cat /proc/net/tcp /proc/net/tcp6");
    all.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() > 3 && words[1].ends_with(":1451") && words[3] == state
    })
}

/// A server on the last machine that listens, and how the program names it.
fn server(bed: &Bed) -> (Iperf3, String) {
    let server = Iperf3::start(bed, -1, &["-s"]);
    until(PATIENCE, "the server listens", || has_socket(bed, -1, "0A"));
    (server, format!("iperf3://{}", bed.address(-1)))
}

fn probe(bed: &Bed, to: &str, rest: &[&str]) -> Value {
    let fixed = ["probe", bed.name(0), to, "--time", "1 s", "--json", "--out", "out"];
    results(&bed.wirespeed(&[&fixed[..], rest].concat()))
}

fn warnings(run: &Value) -> String {
    run["warnings"].as_array().expect("a run has warnings, if none").iter().map(Value::to_string).collect()
}

fn tcp(test: &str, flows: &str) {
    let Some(bed) = bed(test, 0) else { return };
    let (_server, to) = server(&bed);
    let run = probe(&bed, &to, &["--flows", flows]);
    assert!(run["metrics"]["goodput_bps"].as_f64().unwrap() > 1e8, "{}", run["metrics"]);
    assert!(entry(&run, "data", "sent") > 1000);
    assert_eq!(entry(&run, "data", "unseen"), entry(&run, "data", "sent"), "{}", run["ledger"]);
    // What nobody has counted is not there, rather than zero.
    assert!(run["metrics"]["loss_fraction"].is_null(), "{}", run["metrics"]);
    assert!(run["ledger"]["data"]["delivered"].is_null(), "{}", run["ledger"]);
    assert!(run["ledger"]["ack"].is_null(), "{}", run["ledger"]);
    let printed = warnings(&run);
    assert!(printed.contains("By its word it received"), "{printed}");
    // The server has read to the last byte what its kernel acknowledged.
    assert!(!printed.contains("were acknowledged: it"), "{printed}");
    assert!(!printed.contains("ended early"), "{printed}");
    until(PATIENCE, "the agent ends", || bed.agents().is_empty());
    let there = bed.folder().join("home").join(bed.name(-1)).join(".cache");
    assert!(!there.exists(), "nothing of ours is on the server's machine");
}

#[test]
fn one_tcp_flow_to_a_server() {
    tcp("one_tcp_flow_to_a_server", "1");
}

#[test]
fn four_tcp_flows_to_a_server() {
    tcp("four_tcp_flows_to_a_server", "4");
}

/// The server sends. What came is known exactly, and what was sent only by the server's word, in bytes.
fn tcp_from(test: &str, flows: &str) {
    let Some(bed) = bed(test, 0) else { return };
    // The server's kernel uses another one than ours suggests.
    let set = "echo reno > /proc/sys/net/ipv4/tcp_congestion_control";
    bed.inside(bed.name(-1), set).unwrap();
    let (_server, from) = server(&bed);
    let fixed = ["probe", &from, bed.name(0), "--time", "1 s", "--flows", flows, "--json", "--out", "out"];
    let run = results(&bed.wirespeed(&fixed));
    assert!(run["metrics"]["goodput_bps"].as_f64().unwrap() > 1e8, "{}", run["metrics"]);
    assert!(entry(&run, "data", "delivered") > 1000);
    let refused = bed.refused_by_backlogs(0);
    assert_eq!(lost(&run, "tcp_backlog"), refused, "{}", run["ledger"]);
    assert_eq!(lost_anywhere(&run), refused, "{}", run["ledger"]);
    // What nobody has counted is not there, rather than zero.
    for absent in ["sent", "unseen", "unexplained"] {
        assert!(run["ledger"]["data"][absent].is_null(), "{absent}: {}", run["ledger"]);
    }
    assert!(run["metrics"]["loss_fraction"].is_null(), "{}", run["metrics"]);
    assert!(run["metrics"]["unexplained_packets"].is_null(), "{}", run["metrics"]);
    assert!(entry(&run, "ack", "sent") > 10, "{}", run["ledger"]);
    assert_eq!(entry(&run, "ack", "unseen"), entry(&run, "ack", "sent"), "{}", run["ledger"]);
    let printed = warnings(&run);
    assert!(printed.contains("By its word it wrote"), "{printed}");
    let mut runs = std::fs::read_dir(bed.folder().join("out/runs")).unwrap().flatten();
    let info = std::fs::read_to_string(runs.next().unwrap().path().join("run.json")).unwrap();
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(info["flows"][0]["congestion"], "reno", "the server keeps its own: {}", info["flows"][0]);
    // All that it wrote has been read here, to the byte.
    assert!(!printed.contains("were read at"), "{printed}");
    assert!(!printed.contains("ended early"), "{printed}");
    until(PATIENCE, "the agent ends", || bed.agents().is_empty());
    until(PATIENCE, "the server is free again", || !has_socket(&bed, -1, "01"));
}

#[test]
fn one_tcp_flow_from_a_server() {
    tcp_from("one_tcp_flow_from_a_server", "1");
}

#[test]
fn four_tcp_flows_from_a_server() {
    tcp_from("four_tcp_flows_from_a_server", "4");
}

#[test]
fn drops_of_the_senders_queue_are_its_own_and_the_rest_is_unseen() {
    let Some(bed) = bed("drops_of_the_senders_queue_are_its_own_and_the_rest_is_unseen", 0) else {
        return;
    };
    bed.inside(bed.name(0), "tc qdisc add dev right root tbf rate 100mbit burst 64kb limit 60kb").unwrap();
    let (_server, to) = server(&bed);
    let run = probe(&bed, &to, &[]);
    assert!(lost(&run, "qdisc") > 0, "{}", run["ledger"]);
    assert_eq!(lost(&run, "network"), 0, "{}", run["ledger"]);
    assert!(run["metrics"]["unexplained_packets"].is_null(), "{}", run["metrics"]);
    let sum = lost_anywhere(&run) + entry(&run, "data", "unseen");
    assert_eq!(sum, entry(&run, "data", "sent"), "{}", run["ledger"]);
}

#[test]
fn datagrams_that_a_router_drops_are_missed_by_the_server_one_by_one() {
    let Some(bed) = bed("datagrams_that_a_router_drops_are_missed_by_the_server_one_by_one", 1) else {
        return;
    };
    // Packets, not pieces: a token bucket counts what it was given as one drop.
    bed.inside(bed.name(0), "ip link set right gso_max_segs 1").unwrap();
    bed.inside(bed.name(1), "tc qdisc add dev right root tbf rate 10mbit burst 16kb limit 20kb").unwrap();
    let (_server, to) = server(&bed);
    let run = probe(&bed, &to, &["--udp", "20 Mbit/s", "--datagram", "1000"]);
    let text = bed.read(bed.name(1), "tc -s qdisc show dev right");
    let dropped = text.split("dropped ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let dropped: i64 = dropped.parse().unwrap();
    assert!(dropped > 100, "{text}");
    // On a machine that is busy the sender gives up what it is late with.
    let sent = entry(&run, "data", "sent");
    assert!((1250..=2500).contains(&sent), "{sent}");
    // Nobody counts at the server: the network and its host cannot be told apart.
    assert_eq!(lost(&run, "network_or_host"), dropped, "{}", run["ledger"]);
    assert_eq!(run["metrics"]["lost_network_or_host_packets"].as_f64(), Some(dropped as f64));
    assert!(run["metrics"]["lost_network_packets"].is_null(), "{}", run["metrics"]);
    assert_eq!(entry(&run, "data", "delivered"), sent - dropped, "{}", run["ledger"]);
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
    let goodput = run["metrics"]["goodput_bps"].as_f64().unwrap();
    let expected = (sent - dropped) as f64 * 8000.0;
    assert!((goodput / expected - 1.0).abs() < 0.02, "{goodput}, not {expected}");
    assert!(warnings(&run).contains("jitter"), "{}", warnings(&run));
}

/// The server sends datagrams. Their numbers tell which came, and its word how many there were.
fn datagrams_from(bed: &Bed, flows: &str, rate: &str) -> Value {
    let (server, from) = server(bed);
    // Each core hands on by itself what leaves on it, or what it takes out of a router's queue: with two of them at work
    // datagrams overtake each other.
    bed.pin(bed.name(0), 0);
    let pinned = Command::new("taskset").args(["-acp", "0", &server.0.id().to_string()]).output();
    assert!(pinned.expect("taskset is part of util-linux").status.success());
    let fixed = ["probe", &from, bed.name(0), "--time", "1 s", "--flows", flows, "--json", "--out", "out"];
    let run = results(&bed.wirespeed(&[&fixed[..], &["--udp", rate, "--datagram", "1000"]].concat()));
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
    let (sent, delivered) = (entry(&run, "data", "sent"), entry(&run, "data", "delivered"));
    assert_eq!(sent, delivered + lost_anywhere(&run), "{}", run["ledger"]);
    let folder = bed.folder().join("out/runs").join(run["id"].as_str().expect("a run has a name"));
    let recording = wirespeed_record::read(&folder).expect("it was written");
    // Every single one is known.
    let missing = recording.datagrams.iter().filter(|row| row.arrived_ns.is_none()).count();
    assert_eq!((recording.datagrams.len() as i64, missing as i64), (sent, sent - delivered));
    assert!(recording.datagrams.iter().all(|row| !row.duplicate && row.reordered_by == 0));
    let took = |row: &wirespeed_record::Datagram| row.arrived_ns.map(|arrived_ns| arrived_ns - row.sent_ns);
    assert_eq!(recording.datagrams.iter().filter_map(took).min(), Some(0));
    let printed = warnings(&run);
    assert!(
        printed.contains(&format!("By its word it sent {sent} datagrams of {} bytes", sent * 1000)),
        "{printed}"
    );
    assert!(!printed.contains("ended early"), "{printed}");
    until(PATIENCE, "the agent ends", || bed.agents().is_empty());
    until(PATIENCE, "the server is free again", || !has_socket(bed, -1, "01"));
    run
}

#[test]
fn datagrams_from_a_server_arrive_one_by_one() {
    let Some(bed) = bed("datagrams_from_a_server_arrive_one_by_one", 0) else { return };
    for (flows, least) in [("1", 1000), ("2", 2000)] {
        let run = datagrams_from(&bed, flows, "10 Mbit/s");
        // The server has a busy machine, too.
        assert!((least / 2..=least * 3 / 2).contains(&entry(&run, "data", "sent")), "{}", run["ledger"]);
        assert_eq!(lost(&run, "network_or_host"), 0, "{}", run["ledger"]);
    }
}

#[test]
fn datagrams_from_a_server_that_a_router_drops_are_missed_one_by_one() {
    let Some(bed) = bed("datagrams_from_a_server_that_a_router_drops_are_missed_one_by_one", 1) else {
        return;
    };
    bed.inside(bed.name(1), "tc qdisc add dev left root tbf rate 10mbit burst 16kb limit 20kb").unwrap();
    let run = datagrams_from(&bed, "1", "20 Mbit/s");
    let text = bed.read(bed.name(1), "tc -s qdisc show dev left");
    let dropped = text.split("dropped ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let dropped: i64 = dropped.parse().unwrap();
    assert!(dropped > 100, "{text}");
    // The server's TCP passes there as well, and is sent again.
    let of_control = dropped - lost(&run, "network_or_host");
    assert!((0..10).contains(&of_control), "{of_control} of {text}: {}", run["ledger"]);
}

#[test]
fn the_servers_word_is_printed_as_its_word() {
    let Some(bed) = bed("the_servers_word_is_printed_as_its_word", 0) else { return };
    let (_server, to) = server(&bed);
    let printed = |rest: &[&str]| {
        let fixed = ["probe", bed.name(0), &to, "--time", "0.5 s", "--out", "out"];
        let output = bed.wirespeed(&[&fixed[..], rest].concat());
        assert!(output.status.success(), "{}", errors(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = printed(&[]);
    assert!(said.contains("whose arrival is not counted") && !said.contains(" delivered, "), "{said}");
    assert!(said.contains("reported by receiver, iperf3 server 10.77.0.2:5201: received"), "{said}");
    let said = printed(&["--udp", "5 Mbit/s"]);
    assert!(said.contains(" delivered, 0 lost") && said.contains("lost 0 datagrams, jitter"), "{said}");
}

/// The program ends with a mistake of the environment, or of the user, and says all these words.
fn refused(bed: &Bed, code: i32, arguments: &[&str], words: &[&str]) {
    let output = bed.wirespeed(arguments);
    let said = errors(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(code), "{said}");
    words.iter().for_each(|word| assert!(said.contains(word), "{word}: {said}"));
    until(PATIENCE, "the agent ends", || bed.agents().is_empty());
}

#[test]
fn a_server_that_is_not_there_busy_or_first_is_reported() {
    let Some(bed) = bed("a_server_that_is_not_there_busy_or_first_is_reported", 0) else { return };
    let to = format!("iperf3://{}", bed.address(-1));
    let arguments = ["probe", bed.name(0), &to, "--time", "1 s"];
    refused(&bed, 3, &arguments, &["10.77.0.2:5201", "cannot connect", "is `iperf3 -s` running there"]);
    refused(&bed, 2, &["probe", &to, &to], &["both machines are iperf3 servers"]);
    let backwards = ["probe", &to, bed.name(0), "--time", "1 s"];
    refused(&bed, 3, &backwards, &["10.77.0.2:5201", "cannot connect", "is `iperf3 -s` running there"]);
    let (_server, to) = server(&bed);
    let _other = Iperf3::start(&bed, 0, &["-c", "10.77.0.2", "-t", "20", "-b", "1M"]);
    until(PATIENCE, "the other client is served", || has_socket(&bed, -1, "01"));
    sleep(Duration::from_millis(300));
    refused(&bed, 3, &["probe", bed.name(0), &to], &["10.77.0.2:5201", "busy with another test"]);
}

#[test]
fn a_server_that_goes_ends_the_run_with_its_name() {
    let Some(bed) = bed("a_server_that_goes_ends_the_run_with_its_name", 0) else { return };
    let (running, to) = server(&bed);
    let mut command = bed.command(&["probe", bed.name(0), &to, "--time", "30 s"]);
    let probing = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until(PATIENCE, "the test has begun", || has_socket(&bed, -1, "01"));
    sleep(Duration::from_millis(1500));
    let began = Instant::now();
    drop(running);
    let output = probing.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", errors(&output));
    assert!(errors(&output).contains("iperf3 server 10.77.0.2:5201"), "{}", errors(&output));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    until(PATIENCE, "the agent ends", || bed.agents().is_empty());
}
