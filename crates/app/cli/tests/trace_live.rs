//! Live captures of `wirespeed trace`, and captures of tcpdump and iperf3, in namespaces of this machine. Each test is skipped by
//! name where they are not allowed.
#![cfg(target_os = "linux")]

mod support;

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use support::bed::Bed;
use support::{errors, skip, until};
use wirespeed_testbed::within;

const PATIENCE: Duration = Duration::from_secs(30);
const PORT: u16 = 5001;

/// A command on a host of a bed.
fn on(bed: &Bed, place: isize, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", bed.name(place), program]).args(arguments).current_dir(bed.folder());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn trace(bed: &Bed, place: isize, arguments: &[&str]) -> Child {
    let mut command = on(bed, place, env!("CARGO_BIN_EXE_wirespeed"), &["trace"]);
    command.args(arguments).spawn().expect("ip starts the program")
}

/// Ends a process, so that no failed test leaves it.
struct Running(Option<Child>);

impl Running {
    fn signal(&self, signal: i32) {
        let id = self.0.as_ref().expect("it runs").id();
        // SAFETY: takes no pointers; the process is ours.
        assert_eq!(unsafe { libc::kill(id as i32, signal) }, 0);
    }

    fn finish(mut self) -> std::process::Output {
        self.0.take().expect("it runs").wait_with_output().expect("its output can be read")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn has(test: &str, program: &str) -> bool {
    let has = Command::new(program).arg("--version").output().is_ok();
    if !has {
        skip(test, &format!("no {program} here"));
    }
    has
}

/// Whether a packet socket of a host receives all protocols (Proto 0003), and is bound to an interface (R 1).
fn is_captured(bed: &Bed, place: isize) -> bool {
    let sockets = bed.read(bed.name(place), "cat /proc/net/packet");
    sockets.lines().any(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        columns.get(3) == Some(&"0003") && columns.get(5) == Some(&"1")
    })
}

/// Waits until a capture runs on a host.
fn until_captured(bed: &Bed, place: isize) {
    until(PATIENCE, "the capture did not start", || is_captured(bed, place));
}

/// Sends `bytes` over TCP from the first host of a bed to the last, in blocks with `pause` after each.
fn transfer(bed: &Bed, bytes: usize, pause: Duration) {
    /// Full packets, so that bytes tell their number.
    const BLOCK: usize = 44 * 1448;
    let (to, receiver, sender) = (bed.address(-1), bed.name(-1), bed.name(0));
    let listener = within(receiver, || TcpListener::bind((to.as_str(), PORT)).expect("the port is free"));
    let mut client = within(sender, || TcpStream::connect((to.as_str(), PORT)).expect("it listens"));
    let receiving = thread::spawn(move || {
        let (mut server, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        server.read_to_end(&mut received).unwrap();
        received.len()
    });
    let block = vec![7; BLOCK];
    let mut left = bytes;
    while left > 0 {
        let count = left.min(BLOCK);
        client.write_all(&block[..count]).unwrap();
        left -= count;
        thread::sleep(pause);
    }
    drop(client);
    assert_eq!(receiving.join().unwrap(), bytes);
}

fn json(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", errors(output));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

#[test]
fn live_capture_explains_a_transfer_and_ends_on_time() {
    let test = "live_capture_explains_a_transfer_and_ends_on_time";
    let Some(bed) = Bed::new(test, 0) else { return };
    const BYTES: usize = 5_000_000;
    let flags = || bed.read(bed.name(0), "ip -d link show right | grep -o 'promiscuity [0-9]*'");
    let before = flags();
    let arguments = ["--interface", "right", "--for", "3 s", "--filter", "tcp port 5001"];
    let more = ["--write", "live.pcapng", "--json"];
    let began = Instant::now();
    let running = Running(Some(trace(&bed, 0, &[&arguments[..], &more].concat())));
    until_captured(&bed, 0);
    assert_eq!(flags(), before, "the interface is not promiscuous while it is captured");
    transfer(&bed, BYTES, Duration::ZERO);
    let result = json(&running.finish());
    assert!(began.elapsed() >= Duration::from_secs(3), "{:?}", began.elapsed());
    assert_eq!(flags(), before);
    assert_eq!(result["total_connections"], 1);
    assert_eq!(result["connections"][0]["from_client"]["unique_bytes"], BYTES as u64);
    assert_eq!(result["connections"][0]["has_handshake"], true);
    assert_eq!(result["connections"][0]["from_client"]["capture_point"]["position"], "sender");
    let live = &result["live"];
    assert_eq!(live["interface"], "right");
    assert_eq!(live["filter"], "tcp port 5001");
    assert_eq!(live["ended"], "time");
    assert_eq!(live["dropped_packets"], 0);
    assert_eq!(live["received_packets"], result["capture"]["frames"]);
    assert!(live["core_share"].as_f64().unwrap() > 0.0);
    // The file has the same packets.
    let output = Running(Some(trace(&bed, 0, &["live.pcapng", "--json"]))).finish();
    let again = json(&output);
    assert_eq!(again["connections"], result["connections"]);
    assert_eq!(again["capture"], result["capture"]);
    assert!(!bed.folder().join("live.pcapng.partial").exists());
    // It is not overwritten.
    let output = Running(Some(trace(&bed, 0, &["-i", "right", "--write", "live.pcapng"]))).finish();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("live.pcapng exists"), "{}", errors(&output));
}

#[test]
fn interrupt_ends_a_live_capture_with_its_result() {
    let test = "interrupt_ends_a_live_capture_with_its_result";
    let Some(bed) = Bed::new(test, 0) else { return };
    let began = Instant::now();
    let running = Running(Some(trace(&bed, -1, &["-i", "left", "--for", "600 s", "--json"])));
    until_captured(&bed, -1);
    transfer(&bed, 100_000, Duration::ZERO);
    running.signal(libc::SIGINT);
    let result = json(&running.finish());
    assert!(began.elapsed() < Duration::from_secs(300));
    assert_eq!(result["live"]["ended"], "interrupt");
    assert_eq!(result["connections"][0]["from_client"]["unique_bytes"], 100_000);
    assert_eq!(result["connections"][0]["from_client"]["capture_point"]["position"], "receiver");
    assert!(!is_captured(&bed, -1), "the socket is closed");
}

#[test]
fn capture_that_cannot_start_names_the_reason_and_the_remedy() {
    let test = "capture_that_cannot_start_names_the_reason_and_the_remedy";
    let Some(bed) = Bed::new(test, 0) else { return };
    let refused = |command: &mut Command| {
        let output = command.output().expect("ip starts the program");
        assert_eq!(output.status.code(), Some(2), "{}", errors(&output));
        errors(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let program = env!("CARGO_BIN_EXE_wirespeed");
    let start = |arguments: &[&str]| refused(on(&bed, 0, program, &["trace"]).args(arguments));
    let unknown = start(&["-i", "eth7"]);
    assert!(unknown.contains("there is no interface eth7"), "{unknown}");
    assert!(unknown.contains("this host has lo, right"), "{unknown}");
    let filter = start(&["-i", "right", "--filter", "tcp prt 5001"]);
    assert!(filter.contains("--filter: "), "{filter}");
    let time = start(&["-i", "right", "--for", "100 days"]);
    assert!(time.contains("--for"), "{time}");
    let both = start(&["-i", "right", "file.pcap"]);
    assert!(both.contains("cannot be used with"), "{both}");
    let alone = start(&["file.pcap", "--filter", "tcp"]);
    assert!(alone.contains("--filter is for a live capture"), "{alone}");
    let _ = bed.read(bed.name(0), "ip link set right down");
    let down = start(&["-i", "right"]);
    assert!(down.contains("it is down") && down.contains("ip link set right up"), "{down}");
    let ordinary = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", program];
    let mut without = on(&bed, 0, "setpriv", &ordinary);
    let output = without.args(["trace", "-i", "lo"]).output().unwrap();
    // The build folder may be closed to others.
    if !errors(&output).contains("setpriv: ") {
        let message = errors(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("CAP_NET_RAW") && message.contains("setcap cap_net_raw+ep"), "{message}");
    }
}

#[test]
fn interface_that_goes_down_ends_a_live_capture_with_its_result() {
    let test = "interface_that_goes_down_ends_a_live_capture_with_its_result";
    let Some(bed) = Bed::new(test, 0) else { return };
    let running = Running(Some(trace(&bed, 0, &["-i", "right", "--for", "600 s", "--json"])));
    until_captured(&bed, 0);
    transfer(&bed, 100_000, Duration::ZERO);
    let _ = bed.read(bed.name(0), "ip link set right down");
    let result = json(&running.finish());
    assert_eq!(result["live"]["ended"], "interface_down");
    assert_eq!(result["live"]["received_packets"], result["capture"]["frames"]);
    assert_eq!(result["capture"]["damaged_tail"], Value::Null);
    assert_eq!(result["connections"][0]["from_client"]["unique_bytes"], 100_000);
}

/// Counts of an interface of a host.
fn link_counter(bed: &Bed, place: isize, interface: &str, name: &str) -> i64 {
    let text = bed.read(bed.name(place), &format!("cat /sys/class/net/{interface}/statistics/{name}"));
    text.trim().parse().expect("the interface has the counter")
}

/// The number before some words in the messages of tcpdump.
fn number_before(text: &str, words: &str) -> i64 {
    let line = text.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {text}"));
    line.split_whitespace().next().unwrap().parse().unwrap_or_else(|_| panic!("{line}"))
}

/// Waits until tcpdump has written all that it holds: its file stays as it is for a while.
fn until_written(file: &Path) {
    let size = || fs::metadata(file).map_or(0, |metadata| metadata.len());
    let (mut before, mut still) = (size(), 0);
    for _ in 0..200 {
        thread::sleep(Duration::from_millis(100));
        let now = size();
        still = if now == before { still + 1 } else { 0 };
        before = now;
        if still >= 10 {
            return;
        }
    }
    panic!("tcpdump writes on after 20 s");
}

#[test]
fn packets_that_tcpdump_dropped_are_named_as_missed() {
    let test = "packets_that_tcpdump_dropped_are_named_as_missed";
    if !has(test, "tcpdump") {
        return;
    }
    let Some(bed) = Bed::new(test, 0) else { return };
    // Without segmentation offload one captured packet is one packet, for both.
    for (place, interface) in [(0, "right"), (-1, "left")] {
        let offloads = format!("ethtool -K {interface} tso off gso off gro off 2>&1 || true");
        let _ = bed.read(bed.name(place), &offloads);
        let _ = bed.read(bed.name(place), &format!("ip link set {interface} gso_max_segs 1"));
    }
    let counts = || ["tx_packets", "rx_packets"].map(|name| link_counter(&bed, 0, "right", name));
    // 64 KiB of buffer have room for some hundred headers.
    let arguments = ["-Z", "root", "-i", "right", "-s", "128", "-B", "64", "-U", "-w", "dropped.pcap", "tcp"];
    let tcpdump = Running(Some(on(&bed, 0, "tcpdump", &arguments).spawn().unwrap()));
    until_captured(&bed, 0);
    thread::sleep(Duration::from_millis(300));
    let retransmitted = || bed.counted(0, "Tcp", &["RetransSegs"])[0];
    let (before, retransmitted_before) = (counts(), retransmitted());
    thread::scope(|scope| {
        scope.spawn(|| transfer(&bed, 20_000_000, Duration::from_millis(2)));
        thread::sleep(Duration::from_millis(200));
        // A machine that is too busy for its capture.
        tcpdump.signal(libc::SIGSTOP);
        thread::sleep(Duration::from_millis(150));
        tcpdump.signal(libc::SIGCONT);
    });
    let [sent, received] = [counts()[0] - before[0], counts()[1] - before[1]];
    // A packet that was sent twice can be missed twice, and is counted once.
    let again = retransmitted() - retransmitted_before;
    until_written(&bed.folder().join("dropped.pcap"));
    tcpdump.signal(libc::SIGINT);
    let messages = errors(&tcpdump.finish());
    let dropped = number_before(&messages, "dropped by kernel");
    let captured = number_before(&messages, "packets captured");
    assert!(dropped > 20, "{messages}");
    // The interface also carries ARP and neighbour discovery.
    let all = sent + received;
    assert!((all - 8..=all).contains(&(captured + dropped)), "{all} passed the interface: {messages}");

    let result = json(&Running(Some(trace(&bed, 0, &["dropped.pcap", "--json"]))).finish());
    let flow = &result["connections"][0]["from_client"];
    let number = |value: &Value| value.as_i64().unwrap_or_else(|| panic!("{value}"));
    assert_eq!(number(&result["capture"]["super_packets"]), 0, "segmentation offload is off");
    assert_eq!(number(&result["capture"]["frames"]), captured);
    // Packets of data that the interface sent and the capture lacks: all that it sent, less those of the file. Some of the
    // others are SYN, FIN and an acknowledgment, which the client sends once each.
    let missed = number(&flow["artefacts"]["missed_packets"]);
    let in_file = number(&flow["packets"]);
    let handshake = 3;
    let lacks = sent - in_file - handshake;
    assert!(missed > 20, "{flow:#}");
    assert!(
        (lacks - again - 2..=lacks + 2).contains(&missed),
        "{missed} missed, {lacks} of {sent} are not in the file\n{messages}"
    );
    // The rest of what tcpdump dropped are acknowledgments.
    let acknowledgments = received - number(&flow["acks"]["packets"]);
    assert!(
        (dropped - again - 4..=dropped + 4).contains(&(missed + acknowledgments)),
        "{missed} + {acknowledgments}, {again} sent again: {messages}"
    );
    let text = Running(Some(trace(&bed, 0, &["dropped.pcap"]))).finish();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("the capture lacks about"), "{text}");
    assert!(!text.contains("lost before the capture point"), "{text}");
}

#[test]
fn losses_of_iperf3_are_those_of_the_router() {
    let test = "losses_of_iperf3_are_those_of_the_router";
    if !has(test, "iperf3") || !has(test, "nft") {
        return;
    }
    let Some(bed) = Bed::new(test, 1) else { return };
    let rule = "nft add table ip t && nft 'add chain ip t c { type filter hook forward priority 0; }' && \
                nft add rule ip t c 'udp dport 5201 numgen inc mod 40 == 7 counter drop'";
    if let Err(error) = bed.inside(bed.name(1), rule) {
        return skip(test, &format!("no rule of nft here: {error}"));
    }
    let dropped = || {
        let rules = bed.read(bed.name(1), "nft list ruleset");
        let (_, after) = rules.split_once("counter packets ").expect("the rule counts");
        after.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).expect("a number")
    };
    let _server = Running(Some(on(&bed, -1, "iperf3", &["-s"]).spawn().unwrap()));
    until(PATIENCE, "the server does not listen", || bed.read(bed.name(-1), "ss -lnt").contains(":5201"));
    for width in [&[][..], &["--udp-counters-64bit"]] {
        let running = Running(Some(trace(&bed, -1, &["-i", "left", "--for", "600 s", "--json"])));
        until_captured(&bed, -1);
        let (to, before) = (bed.address(-1), dropped());
        let client = ["-c", &to, "-u", "-b", "8M", "-l", "1000", "-t", "2", "-J"];
        let client = on(&bed, 0, "iperf3", &[&client[..], width].concat()).output().unwrap();
        running.signal(libc::SIGINT);
        let result = json(&running.finish());
        let stream =
            result["streams"].as_array().unwrap().iter().max_by_key(|stream| stream["packets"].as_u64());
        let numbers = &stream.unwrap()["numbers"];
        let kind = if width.is_empty() { "iperf3" } else { "iperf3_wide" };
        assert_eq!(numbers["numbering"], kind, "{numbers:#}");
        let [lost, expected] = ["lost", "expected"].map(|name| numbers[name].as_u64().unwrap());
        let dropped = dropped() - before;
        // The last datagram may be one of those that were dropped: nothing comes after it.
        assert!(dropped > 20 && dropped - lost <= 1, "{lost} lost, the router dropped {dropped}");
        // Datagrams that do not fit into the receiver's socket are lost behind the capture point. Only iperf3 reports them.
        let reported: Value = serde_json::from_slice(&client.stdout).unwrap();
        let reported = &reported["end"]["sum"];
        let [their_lost, packets] = ["lost_packets", "packets"].map(|name| reported[name].as_u64().unwrap());
        assert!(their_lost + 1 >= lost, "{numbers:#}\n{reported:#}");
        assert!(expected.abs_diff(packets) <= 40, "{numbers:#}\n{reported:#}");
        assert_eq!((&numbers["duplicates"], &numbers["reordered"]), (&0.into(), &0.into()));
        assert!(numbers["jitter"]["last_ns"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn drops_of_a_live_capture_are_reported() {
    let test = "drops_of_a_live_capture_are_reported";
    let Some(bed) = Bed::new(test, 0) else { return };
    let arguments = ["-i", "right", "--for", "600 s", "--buffer", "2 MiB", "--snaplen", "1514"];
    let running = Running(Some(trace(&bed, 0, &arguments)));
    until_captured(&bed, 0);
    // A reader that does not run: 2 MiB of ring are full after some thousand packets.
    running.signal(libc::SIGSTOP);
    transfer(&bed, 40_000_000, Duration::ZERO);
    running.signal(libc::SIGCONT);
    thread::sleep(Duration::from_millis(300));
    running.signal(libc::SIGINT);
    let output = running.finish();
    assert!(output.status.success(), "{}", errors(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(" packets dropped by the capture, "), "{text}");
    assert!(text.contains("Live capture of right: ") && text.contains(" (interrupted), "), "{text}");
    assert!(text.contains("To drop less: a narrower --filter"), "{text}");
    assert!(text.contains("% of a core used"), "{text}");
}
