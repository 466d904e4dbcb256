//! The verdict on a real host that others use, too: firewalls, other traffic, wrong MTUs, links that go down, and processes that
//! fill its cores. The machines are namespaces; where they, nft or iperf3 cannot be had each test is skipped by name, with the
//! reason.

mod support;

use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::Duration;
use support::bed::Bed;
use support::ledger::{assert_intervals_add_up, entry, lost, lost_anywhere, results};
use support::{errors, skip, until};

/// One at a time: each wants the cores.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|other_failed| other_failed.into_inner())
}

/// Whether a program is there; if not, the test is skipped visibly.
fn has(test: &str, program: &str) -> bool {
    let is_there = Command::new(program).arg("--version").output().is_ok();
    if !is_there {
        skip(test, &format!("no {program} here"));
    }
    is_there
}

/// Processes that end with their value.
struct Running(Vec<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A busy loop on each core, which ends by itself if nobody ends it.
fn hogs() -> Running {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let one = |core: usize| {
        let script = format!(
            "taskset -cp {core} $$ > /dev/null; end=$((SECONDS + 30)); while ((SECONDS < end)); do :; done"
        );
        Command::new("bash").args(["-c", &script]).stdout(Stdio::null()).spawn().expect("bash is there")
    };
    Running((0..cores).map(one).collect())
}

fn run(bed: &Bed, rest: &str) -> Value {
    let file = bed.scenario(rest);
    results(&bed.wirespeed(&["run", &file, "--on", "hosts", "--json", "--fresh", "--out", "out"]))
}

const TCP: &str = "[[flow]]\ncongestion = \"cubic\"\n[run]\nduration = \"3 s\"\n";

/// A rule of nft on a machine, at a hook, that counts what it drops.
fn drop_at(bed: &Bed, place: isize, hook: &str, rule: &str) {
    let script = format!(
        "nft add table ip t && nft 'add chain ip t c {{ type filter hook {hook} priority 0; }}' && nft add rule ip t c \
         {rule} counter drop"
    );
    bed.inside(bed.name(place), &script).unwrap();
}

/// What the rule has dropped.
fn dropped_by_rule(bed: &Bed, place: isize) -> i64 {
    let text = bed.read(bed.name(place), "nft list ruleset");
    let count = text.split("counter packets ").nth(1).and_then(|rest| rest.split(' ').next());
    count.and_then(|count| count.parse().ok()).expect("the rule counts")
}

/// One packet in the wire is one for everybody who counts.
fn one_by_one(bed: &Bed) {
    bed.inside(bed.name(0), "ip link set right gso_max_segs 1").unwrap();
}

/// Asserts that ledger and metrics have the losses of a machine's filter at that machine, and the network none.
fn assert_at_netfilter(bed: &Bed, run: &Value, place: isize) {
    let dropped = dropped_by_rule(bed, place);
    assert!(dropped > 0, "the rule dropped something");
    assert_eq!(lost(run, "netfilter"), dropped, "{}", run["ledger"]);
    assert_eq!(lost(run, "network"), 0, "{}", run["ledger"]);
    assert_eq!(entry(run, "data", "unexplained"), 0, "{}", run["ledger"]);
    assert_eq!(run["metrics"]["lost_netfilter_packets"].as_f64(), Some(dropped as f64));
    assert_eq!(run["metrics"]["lost_network_packets"].as_f64(), Some(0.0));
    assert_intervals_add_up(run);
}

/// Only the kernel's own reasons tell a filter's drops from the network's.
fn is_watched(test: &str) -> bool {
    // SAFETY: takes no pointers.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        skip(test, "drops are watched by root only");
    }
    is_root
}

#[test]
fn a_filter_at_the_receiver_is_the_receivers() {
    let _alone = alone();
    let test = "a_filter_at_the_receiver_is_the_receivers";
    if !has(test, "nft") || !is_watched(test) {
        return;
    }
    let Some(bed) = Bed::new(test, 0) else { return };
    one_by_one(&bed);
    drop_at(&bed, -1, "input", "tcp dport 5001 ip length '> 200' numgen random mod 2000 0");
    for loaded in [false, true] {
        bed.inside(
            bed.name(-1),
            "nft reset rules > /dev/null 2>&1 || nft reset counters > /dev/null 2>&1; true",
        )
        .unwrap();
        let before = dropped_by_rule(&bed, -1);
        let hogs = loaded.then(hogs);
        let run = run(&bed, TCP);
        drop(hogs);
        let dropped = dropped_by_rule(&bed, -1) - before;
        assert_eq!(lost(&run, "netfilter"), dropped, "loaded {loaded}: {}", run["ledger"]);
        assert_eq!(lost(&run, "network"), 0, "loaded {loaded}: {}", run["ledger"]);
        assert_eq!(entry(&run, "data", "unexplained"), 0, "loaded {loaded}: {}", run["ledger"]);
        assert_eq!(run["metrics"]["lost_network_packets"].as_f64(), Some(0.0));
        assert_intervals_add_up(&run);
    }
    // The answer and the page agree.
    let output = bed.wirespeed(&["report", "out"]);
    let printed = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains("all of them in stage netfilter"), "{printed} {}", errors(&output));
    let page = std::fs::read_to_string(bed.folder().join("out/report.html")).expect("the page was written");
    for words in [
        "Limiting factor over time",
        "NETFILTER_DROP at receiver",
        "CPU placement",
        "Retransmissions by the drop",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn a_filter_at_the_sender_is_the_senders() {
    let _alone = alone();
    let test = "a_filter_at_the_sender_is_the_senders";
    if !has(test, "nft") || !is_watched(test) {
        return;
    }
    let Some(bed) = Bed::new(test, 0) else { return };
    one_by_one(&bed);
    drop_at(&bed, 0, "output", "tcp dport 5001 ip length '> 200' numgen random mod 2000 0");
    assert_at_netfilter(&bed, &run(&bed, TCP), 0);
}

#[test]
fn datagrams_that_a_filter_drops_are_the_receivers() {
    let _alone = alone();
    let test = "datagrams_that_a_filter_drops_are_the_receivers";
    if !has(test, "nft") || !is_watched(test) {
        return;
    }
    let Some(bed) = Bed::new(test, 0) else { return };
    one_by_one(&bed);
    drop_at(&bed, -1, "input", "udp dport 5001 numgen random mod 100 0");
    let flow =
        "[[flow]]\nkind = \"udp\"\nrate = \"50 Mbit/s\"\ndatagram = \"1472 B\"\n[run]\nduration = \"3 s\"\n";
    let run = run(&bed, flow);
    let dropped = dropped_by_rule(&bed, -1);
    assert!(dropped > 0);
    // GRO may have merged some, which the rule counts once.
    assert!(lost(&run, "netfilter") >= dropped, "{}", run["ledger"]);
    assert_eq!(lost(&run, "network"), 0, "{}", run["ledger"]);
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
}

/// Traffic of others, on the interface of the test or on another; it goes on until it is dropped.
fn other_traffic(bed: &Bed, is_same_interface: bool) -> Running {
    let to = if is_same_interface { bed.address(-1) } else { "10.78.0.2".into() };
    let inside = |place: isize, arguments: &[&str]| {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", bed.name(place), "iperf3"]).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("iperf3 was there")
    };
    let server = inside(-1, &["-s", "-p", "5999"]);
    sleep(Duration::from_millis(300));
    let client = inside(0, &["-c", &to, "-p", "5999", "-b", "50M", "-t", "60"]);
    sleep(Duration::from_millis(300));
    Running(vec![server, client])
}

/// A second link between the two machines.
fn second_link(bed: &Bed) {
    let script = format!("ip link add other type veth peer name other netns {}", bed.name(-1));
    bed.inside(bed.name(0), &script).unwrap();
    for (place, address) in [(0, "10.78.0.1"), (-1, "10.78.0.2")] {
        bed.inside(bed.name(place), &format!("ip addr add {address}/24 dev other && ip link set other up"))
            .unwrap();
    }
}

/// A queue of the sender that is too short, at each sampling interval, beside traffic of others.
fn short_queue(test: &str, user: &str) {
    let _alone = alone();
    if !has(test, "iperf3") {
        return;
    }
    let Some(bed) = Bed::new(test, 0) else { return };
    second_link(&bed);
    let queue = "tc qdisc add dev right root handle 1: tbf rate 300mbit burst 64kb limit 1mb && tc qdisc add dev right \
                 parent 1:1 pfifo limit 10";
    bed.inside(bed.name(0), queue).unwrap();
    let allowed = bed.read(bed.name(0), "cat /proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let control = allowed.split_whitespace().next().expect("one is always allowed");
    let samples = ["1 ms", "10 ms", "100 ms"];
    for (sample, others) in samples.iter().flat_map(|s| [None, Some(false), Some(true)].map(|o| (s, o))) {
        let traffic = others.map(|is_same| other_traffic(&bed, is_same));
        let file = bed.scenario(&format!(
            "[[flow]]\ncongestion = \"{control}\"\n[run]\nduration = \"3 s\"\nsample = \"{sample}\"\n"
        ));
        let set = [(0, "sender"), (-1, "receiver")]
            .map(|(place, host)| format!("host.{host}.ssh={user}{}", bed.name(place)));
        let arguments = [
            "run", &file, "--on", "hosts", "--json", "--fresh", "--out", "out", "--set", &set[0], "--set",
            &set[1],
        ];
        let run = results(&bed.wirespeed(&arguments));
        drop(traffic);
        let case = format!("every {sample}, others {others:?}: {}", run["ledger"]);
        println!("{sample} {others:?}: sent {} lost {}", entry(&run, "data", "sent"), lost_anywhere(&run));
        // A busy machine keeps the reader from its socket.
        let above = ["tcp_backlog", "tcp_ofo", "rcvbuf"].iter().map(|stage| lost(&run, stage)).sum::<i64>();
        let missing = entry(&run, "data", "sent") - entry(&run, "data", "delivered") - above;
        assert!(missing > 0, "{case}");
        assert_eq!(lost(&run, "qdisc"), missing, "{case}");
        assert_eq!(lost(&run, "network"), 0, "{case}");
        assert_eq!(entry(&run, "data", "unexplained"), 0, "{case}");
    }
}

#[test]
fn a_short_queue_is_counted_by_packet_beside_other_traffic() {
    short_queue("a_short_queue_is_counted_by_packet_beside_other_traffic", "");
}

#[test]
fn a_short_queue_is_counted_without_bpf_beside_other_traffic() {
    short_queue("a_short_queue_is_counted_without_bpf_beside_other_traffic", "ordinary@");
}

fn warnings(run: &Value) -> String {
    run["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .filter_map(Value::as_str)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn an_mtu_that_differs_between_two_ends_is_named() {
    let _alone = alone();
    let test = "an_mtu_that_differs_between_two_ends_is_named";
    let Some(bed) = Bed::new(test, 0) else { return };
    bed.inside(bed.name(0), "ip link set right mtu 9000").unwrap();
    let printed = warnings(&run(&bed, TCP));
    let expected = "MTU mismatch: the interface of sender (right) has an MTU of 9000, that of receiver 1500";
    assert!(printed.contains(expected) && printed.contains("ip link set right mtu 1500"), "{printed}");
    assert!(!printed.contains("black hole"), "{printed}");
}

#[test]
fn large_packets_that_vanish_on_the_path_are_named_with_the_largest_that_pass() {
    let _alone = alone();
    let test = "large_packets_that_vanish_on_the_path_are_named_with_the_largest_that_pass";
    if !has(test, "nft") {
        return;
    }
    let Some(bed) = Bed::new(test, 1) else { return };
    drop_at(&bed, 1, "forward", "ip length '> 1400'");
    for loaded in [false, true] {
        let hogs = loaded.then(hogs);
        let run = run(&bed, TCP);
        drop(hogs);
        let printed = warnings(&run);
        assert!(printed.contains("MTU black hole: packets of 1500 bytes, the MTU of right"), "{printed}");
        assert!(printed.contains("The largest that pass have 1400 bytes"), "{printed}");
        let by = run["held_back"][0]["by"].as_str().unwrap_or_default();
        assert_eq!(
            by, "nothing delivered (0 bit/s): packets of more than 1400 bytes are lost",
            "{}",
            run["held_back"]
        );
    }
}

#[test]
fn a_path_mtu_that_a_router_reports_is_no_fault() {
    let _alone = alone();
    let test = "a_path_mtu_that_a_router_reports_is_no_fault";
    let Some(bed) = Bed::new(test, 1) else { return };
    bed.inside(bed.name(1), "ip link set right mtu 1400").unwrap();
    bed.inside(bed.name(-1), "ip link set left mtu 1400").unwrap();
    let run = run(&bed, TCP);
    assert!(!warnings(&run).contains("MTU"), "{}", warnings(&run));
    assert!(entry(&run, "data", "delivered") > 1000, "{}", run["ledger"]);
}

#[test]
fn a_link_that_went_down_is_named() {
    let _alone = alone();
    let test = "a_link_that_went_down_is_named";
    for loaded in [false, true] {
        // Its routes go with the link.
        let Some(bed) = Bed::new(test, 1) else { return };
        let hogs = loaded.then(hogs);
        let run = std::thread::scope(|scope| {
            let flow = "[[flow]]\ncongestion = \"cubic\"\n[run]\nduration = \"6 s\"\n";
            let arrived = || {
                let text = bed.read(bed.name(-1), "cat /sys/class/net/left/statistics/rx_bytes");
                text.trim().parse::<u64>().unwrap_or(0)
            };
            let before = arrived();
            let running = scope.spawn(|| run(&bed, flow));
            // Before the run only some SYNs and datagrams of the MTU pass.
            until(Duration::from_secs(20), "the flow runs", || arrived() > before + 1_000_000);
            sleep(Duration::from_millis(1500));
            bed.inside(bed.name(-1), "ip link set left down && sleep 2 && ip link set left up").unwrap();
            running.join().expect("the run comes to its end")
        });
        drop(hogs);
        let intervals = run["held_back"].as_array().expect("intervals");
        let names_it = |interval: &&Value| {
            interval["by"] == "nothing delivered (0 bit/s): the link of receiver (left) was down"
        };
        assert!(
            intervals.iter().any(|interval| names_it(&interval)),
            "loaded {loaded}: {}",
            run["held_back"]
        );
    }
}

/// What limited flow 0 for most of the time.
fn limited_by(run: &Value) -> String {
    let intervals = run["held_back"].as_array().expect("intervals");
    let lasted =
        |interval: &&Value| interval["to_ns"].as_i64().unwrap() - interval["from_ns"].as_i64().unwrap();
    let most = intervals.iter().filter(|interval| interval["flow"] == 0).max_by_key(lasted);
    most.expect("a flow that ran is told of")["by"].as_str().expect("words").to_owned()
}

#[test]
fn a_small_receive_window_is_named_on_a_loaded_machine_as_well() {
    let _alone = alone();
    let test = "a_small_receive_window_is_named_on_a_loaded_machine_as_well";
    let Some(bed) = Bed::new(test, 0) else { return };
    bed.inside(bed.name(-1), "sysctl -qw net.ipv4.tcp_rmem='4096 16384 16384'").unwrap();
    for loaded in [false, true] {
        let hogs = loaded.then(hogs);
        let run = run(&bed, TCP);
        drop(hogs);
        assert_eq!(limited_by(&run), "receive window", "loaded {loaded}: {}", run["held_back"]);
        let limit = run["limit"].as_str().unwrap_or_default();
        assert!(limit.starts_with("the receive window stopped the senders"), "loaded {loaded}: {limit}");
    }
}

#[test]
fn a_queue_of_the_sender_that_drops_is_no_core_on_a_loaded_machine() {
    let _alone = alone();
    let test = "a_queue_of_the_sender_that_drops_is_no_core_on_a_loaded_machine";
    let Some(bed) = Bed::new(test, 0) else { return };
    // Slow enough for half a core to fill it.
    let queue = "tc qdisc add dev right root handle 1: tbf rate 100mbit burst 32kb limit 1mb && tc qdisc add dev right \
                 parent 1:1 pfifo limit 10";
    bed.inside(bed.name(0), queue).unwrap();
    for loaded in [false, true] {
        let hogs = loaded.then(hogs);
        let run = run(&bed, TCP);
        drop(hogs);
        // In seconds without a drop the queue's rate is the limit.
        let words = ["cwnd after loss at qdisc", "path rate"];
        assert!(words.contains(&limited_by(&run).as_str()), "loaded {loaded}: {}", run["held_back"]);
        let above = lost(&run, "tcp_backlog");
        let missing = entry(&run, "data", "sent") - entry(&run, "data", "delivered") - above;
        assert_eq!(lost(&run, "qdisc"), missing, "loaded {loaded}: {}", run["ledger"]);
    }
}

#[test]
fn a_slow_path_is_named_on_a_loaded_machine_as_well() {
    let _alone = alone();
    let test = "a_slow_path_is_named_on_a_loaded_machine_as_well";
    let Some(bed) = Bed::new(test, 1) else { return };
    bed.inside(bed.name(1), "tc qdisc add dev right root tbf rate 100mbit burst 32kb limit 2mb").unwrap();
    for loaded in [false, true] {
        let hogs = loaded.then(hogs);
        let run = run(&bed, TCP);
        drop(hogs);
        assert_eq!(limited_by(&run), "path rate", "loaded {loaded}: {}", run["held_back"]);
    }
}

#[test]
fn a_process_that_fills_a_core_is_named() {
    let _alone = alone();
    let test = "a_process_that_fills_a_core_is_named";
    let Some(bed) = Bed::new(test, 0) else { return };
    let hogs = hogs();
    let pid = hogs.0[0].id();
    let output = bed.wirespeed(&["probe", bed.name(0), bed.name(-1), "--time", "2 s"]);
    drop(hogs);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        printed.contains("Other load on the hosts") && printed.contains(&format!("bash (pid {pid})")),
        "{printed}"
    );
    assert!(
        printed.contains("are one machine (they have the same boot ID)"),
        "warnings are printed: {printed}"
    );
}
