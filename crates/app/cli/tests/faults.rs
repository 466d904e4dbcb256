//! Faults put into machines one at a time, each of which has to be found where it is. The machines are namespaces of this
//! one; where they cannot be made each test is skipped by name, with the reason. Faults that need a real driver or netem are
//! in guest.rs.

mod support;

use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread::sleep;
use std::time::{Duration, Instant};
use support::bed::Bed;
use support::ledger::{entry, lost, lost_anywhere, results};
use support::receiver::Receiver;
use support::{retried, skip};

const SHORT: &str = "[run]\nduration = \"2 s\"\n";

fn run(bed: &Bed, rest: &str) -> Value {
    let file = bed.scenario(rest);
    results(&bed.wirespeed(&["run", &file, "--on", "hosts", "--json", "--fresh", "--out", "out"]))
}

/// One fault at a time: they are about who gets the cores.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|other_failed| other_failed.into_inner())
}

/// Part of the cores' time that others take, over a moment in which we do nothing.
fn taken_by_others() -> f64 {
    let ticks = || -> Vec<u64> {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect()
    };
    const IDLE: [usize; 2] = [3, 4];
    let before = ticks();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let grown: Vec<u64> = ticks().iter().zip(&before).map(|(now, then)| now - then).collect();
    let idle: u64 = IDLE.iter().filter_map(|index| grown.get(*index)).sum();
    1.0 - idle as f64 / grown.iter().sum::<u64>().max(1) as f64
}

/// Tries until `found` says of a run that the fault was found. On a machine whose cores others want too, that is what is
/// found instead: then the test is told to be skipped.
fn expect(test: &str, mut attempt: impl FnMut() -> Value, found: impl Fn(&Value) -> bool) {
    const ATTEMPTS: usize = 3;
    const BUSY: f64 = 0.2;
    let mut last = Value::Null;
    for _ in 0..ATTEMPTS {
        let taken = taken_by_others();
        if taken > BUSY {
            let percent = (taken * 100.0).round();
            return skip(test, &format!("others take {percent} % of this machine's cores"));
        }
        last = attempt();
        if found(&last) {
            return;
        }
        retried(test, &format!("the fault was not found, but {}", last["held_back"][0]["by"]));
    }
    panic!("{}, {}, {}", last["held_back"], last["placement"], last["findings"]);
}

/// What held flow 0 back most of the time.
fn held_back(run: &Value) -> String {
    let intervals = run["held_back"].as_array().expect("intervals");
    let of_first = intervals.iter().filter(|interval| interval["flow"] == 0);
    let lasted =
        |interval: &&Value| interval["to_ns"].as_i64().unwrap() - interval["from_ns"].as_i64().unwrap();
    let most = of_first.max_by_key(lasted).expect("a flow that ran is told of");
    most["by"].as_str().expect("words").to_owned()
}

fn findings(run: &Value) -> Vec<&str> {
    run["findings"].as_array().expect("findings").iter().filter_map(|found| found["text"].as_str()).collect()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[test]
fn a_small_receive_window_is_named() {
    let _alone = alone();
    let test = "a_small_receive_window_is_named";
    let Some(bed) = Bed::new(test, 0) else { return };
    bed.inside(bed.name(-1), "sysctl -qw net.ipv4.tcp_rmem='4096 8192 8192'").unwrap();
    // Slow enough for the cores to be no limit.
    bed.inside(bed.name(0), "tc qdisc add dev right root tbf rate 500mbit burst 64kb limit 1mb").unwrap();
    let attempt = || {
        let run = run(&bed, &format!("[[flow]]\ncongestion = \"cubic\"\n{SHORT}"));
        assert_eq!(lost_anywhere(&run), 0, "{}", run["ledger"]);
        assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
        run
    };
    let explains = |run: &Value| {
        let findings = run["findings"].as_array().expect("findings are a list");
        let window = findings.iter().find(|finding| finding["id"] == "limit.receive-window");
        let settings = window.and_then(|finding| finding["settings"].as_array());
        let setting = settings.and_then(|settings| settings.first());
        setting.is_some_and(|setting| setting["host"] == "receiver" && setting["rule"] == "tcp.rmem")
    };
    expect(test, attempt, |run| held_back(run) == "receive window" && explains(run));
}

/// Programs that keep a core busy; they end with this value.
struct Hogs(Vec<Child>);

impl Hogs {
    fn on(core: u32) -> std::io::Result<Hogs> {
        const HOGS: usize = 3;
        let one = || {
            // They end by themselves if nobody does it.
            let script = format!(
                "taskset -cp {core} $$ > /dev/null; end=$((SECONDS + 30)); while ((SECONDS < end)); do :; done"
            );
            Command::new("bash").args(["-c", &script]).stdout(Stdio::null()).spawn()
        };
        (0..HOGS).map(|_| one()).collect::<Result<_, _>>().map(Hogs)
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

#[test]
fn a_hog_on_the_receivers_core_is_named() {
    let _alone = alone();
    let test = "a_hog_on_the_receivers_core_is_named";
    if cores() < 2 {
        return skip(test, "this machine has one core");
    }
    let Some(bed) = Bed::new(test, 0) else { return };
    bed.pin(bed.name(0), 0);
    bed.pin(bed.name(-1), 1);
    let attempt = || {
        let hogs = Hogs::on(1).expect("bash and taskset");
        let run = run(&bed, &format!("[[flow]]\ncongestion = \"cubic\"\n{SHORT}"));
        drop(hogs);
        let receiver =
            run["placement"].as_array().unwrap().iter().find(|end| end["host"] == "receiver").unwrap();
        assert_eq!(receiver["application_core"], 1, "{}", run["placement"]);
        assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
        run
    };
    // Whether it limits the flow depends on what the reader needs; that it is there is said in any case.
    let names_it = |run: &Value| {
        let loads = run["other_load"].as_array().expect("loads");
        loads.iter().any(|load| {
            let process = load["process"].as_str().unwrap_or_default();
            load["host"] == "receiver"
                && process.starts_with("bash (pid ")
                && process.ends_with("last core 1")
        })
    };
    let is_no_mere_hog = |interval: &Value| interval["by"] != "receiver core 1";
    expect(test, attempt, |run| {
        names_it(run) && run["held_back"].as_array().expect("intervals").iter().all(is_no_mere_hog)
    });
}

#[test]
fn two_large_flows_that_one_core_takes_in_are_named() {
    let _alone = alone();
    let test = "two_large_flows_that_one_core_takes_in_are_named";
    if cores() < 2 {
        return skip(test, "this machine has one core");
    }
    let Some(bed) = Bed::new(test, 0) else { return };
    let steer = "echo 1 > /sys/class/net/left/queues/rx-0/rps_cpus";
    if let Err(why) = bed.inside(bed.name(-1), steer) {
        return skip(test, &format!("packets cannot be steered: {why}"));
    }
    let attempt = || run(&bed, &format!("[[flow]]\ncongestion = \"cubic\"\ncount = 2\n{SHORT}"));
    let names_it = |printed: &&str| {
        printed.starts_with("large flows") && printed.ends_with("one core of receiver, core 0")
    };
    expect(test, attempt, |run| findings(run).iter().any(names_it));
}

/// Past slow start, and past what a busy machine takes to begin.
const WELL_BEGUN: Duration = Duration::from_millis(800);

/// Runs a flow, and does something beside it from its beginning on.
fn beside_a_flow<T>(bed: &Bed, during: impl FnOnce() -> T) -> (Value, T) {
    std::thread::scope(|scope| {
        let running = scope.spawn(|| {
            run(bed, "[[flow]]\ncongestion = \"cubic\"\n[run]\nduration = \"6 s\"\nsample = \"50 ms\"\n")
        });
        let done = during();
        (running.join().expect("the run comes to its end"), done)
    })
}

/// Runs a flow, and does something to its receiver in the middle. `Err` if that cannot be done here.
fn with_receiver(bed: &Bed, during: impl FnOnce(&Receiver) -> std::io::Result<()>) -> std::io::Result<Value> {
    let (run, done) = beside_a_flow(bed, || {
        let receiver = Receiver::of(bed, -1)?;
        sleep(WELL_BEGUN);
        during(&receiver)
    });
    done.map(|()| run)
}

/// Until something is so, or a while is over.
fn at_most(time: Duration, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() && began.elapsed() < time {
        sleep(Duration::from_millis(10));
    }
}

/// The receiver stands still, and its buffer becomes small when much has been promised to the sender. The first packet that
/// finds it full is dropped, for which the window is closed; so that what is on its way then comes beyond the window.
#[test]
fn a_receiver_that_stands_still_drops_in_its_buffer() {
    let _alone = alone();
    let test = "a_receiver_that_stands_still_drops_in_its_buffer";
    let Some(bed) = Bed::new(test, 1) else { return };
    // Packets, not pieces. A router keeps much on its way, which a sender's own queue would not.
    bed.inside(bed.name(0), "ip link set right gso_max_segs 1").unwrap();
    bed.inside(bed.name(1), "tc qdisc add dev right root tbf rate 200mbit burst 32kb limit 6mb").unwrap();
    bed.inside(bed.name(-1), "sysctl -qw net.ipv4.tcp_rmem='4096 131072 4000000'").unwrap();
    const COUNTERS: [&str; 7] = [
        "PruneCalled",
        "TCPRcvQDrop",
        "TCPZeroWindowDrop",
        "BeyondWindow",
        "TCPOFODrop",
        "TCPBacklogDrop",
        "OfoPruned",
    ];
    let counts = || bed.counted(-1, "TcpExt", &COUNTERS);
    let run = with_receiver(&bed, |receiver| {
        receiver.while_stopped(|| {
            sleep(Duration::from_millis(20));
            receiver.set_buffer(1);
            at_most(Duration::from_secs(2), || counts()[1] > 0);
            sleep(Duration::from_millis(100));
            receiver.set_buffer(2_000_000);
        });
        Ok(())
    });
    let run = match run {
        Ok(run) => run,
        Err(why) => return skip(test, &format!("no way into an agent: {why}")),
    };
    let counts = counts();
    println!("{COUNTERS:?} {counts:?}, sent {}", entry(&run, "data", "sent"));
    let [pruned, in_order, closed, beyond, out_of_order, backlog, thrown_away] = counts[..] else {
        unreachable!()
    };
    assert!(pruned > 0 && in_order > 0 && thrown_away == 0, "{counts:?}");
    let in_buffer = in_order + closed + beyond;
    assert_eq!(lost(&run, "rcvbuf"), in_buffer, "{counts:?}: {}", run["ledger"]);
    assert_eq!(lost(&run, "tcp_ofo"), out_of_order, "{counts:?}: {}", run["ledger"]);
    assert_eq!(lost(&run, "tcp_backlog"), backlog, "{counts:?}: {}", run["ledger"]);
    assert_eq!(lost_anywhere(&run), in_buffer + out_of_order + backlog, "{}", run["ledger"]);
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
}

/// An MTU that is lowered while TCP puts packets out: those of this moment are too large for the interface and may not be cut.
/// IP throws them away, before any queue; TCP has counted them as sent.
#[test]
fn packets_of_the_moment_an_mtu_is_lowered_are_found_above_the_queue() {
    let _alone = alone();
    let test = "packets_of_the_moment_an_mtu_is_lowered_are_found_above_the_queue";
    let Some(bed) = Bed::new(test, 0) else { return };
    let counts = || bed.counted(0, "Ip", &["FragFails"])[0];
    let (run, ()) = beside_a_flow(&bed, || {
        sleep(WELL_BEGUN);
        let began = Instant::now();
        while counts() == 0 && began.elapsed() < Duration::from_secs(4) {
            for mtu in ["340", "1500"] {
                bed.inside(bed.name(0), &format!("ip link set right mtu {mtu}")).unwrap();
                sleep(Duration::from_millis(20));
            }
        }
    });
    let too_large = counts();
    println!("IpFragFails {too_large}, sent {}", entry(&run, "data", "sent"));
    if too_large == 0 {
        return skip(test, "no packet was on its way to the interface at any of the moments");
    }
    assert_eq!(lost(&run, "ip_out"), too_large, "{}", run["ledger"]);
    assert_eq!(lost(&run, "network"), 0, "{}", run["ledger"]);
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
}

/// Whoever reads is held up while it has the socket's lock, so that what comes has to wait beside it, and that place has an
/// end: twice the receive buffer and a little. For the sender not to stop before, the memory of what was promised has
/// to be more: the window was opened for large packets in a large buffer, and small ones come, each with memory of its own,
/// to a small one. What waited may find that too small in its turn; those drops have counters of their own.
#[test]
fn a_reader_that_is_held_up_fills_the_backlog_of_its_socket() {
    let _alone = alone();
    let test = "a_reader_that_is_held_up_fills_the_backlog_of_its_socket";
    let Some(bed) = Bed::new(test, 1) else { return };
    if bed.inside(bed.name(0), "ethtool -k right").is_err() {
        return skip(test, "no ethtool here");
    }
    // A router keeps all on its way that the window allows, which a sender's own queue would not.
    bed.inside(bed.name(1), "tc qdisc add dev right root tbf rate 200mbit burst 128kb limit 20mb").unwrap();
    bed.inside(bed.name(-1), "sysctl -qw net.ipv4.tcp_rmem='4096 1600000 1600000'").unwrap();
    const COUNTERS: [&str; 5] =
        ["TCPBacklogDrop", "TCPRcvQDrop", "TCPZeroWindowDrop", "BeyondWindow", "TCPOFODrop"];
    let counts = || bed.counted(-1, "TcpExt", &COUNTERS);
    let run = with_receiver(&bed, |receiver| {
        const SMALL: i32 = 150_000;
        const LARGE: i32 = 800_000;
        // The size at which a packet has the most memory of what it carries, on Linux 6.18: 1280 bytes for 288.
        let small_packets = "ethtool -K right sg off tso off gso off && ip link set right mtu 340";
        bed.inside(bed.name(0), small_packets).unwrap();
        let (began, mut holds) = (Instant::now(), 0);
        while counts()[0] == 0 && began.elapsed() < Duration::from_secs(4) {
            sleep(Duration::from_millis(100));
            // A reader that never waits holds the socket's lock nearly all the time.
            receiver.while_stopped(|| receiver.set_buffer(SMALL));
            receiver.while_held(|| at_most(Duration::from_millis(300), || counts()[0] > 0))?;
            receiver.while_stopped(|| receiver.set_buffer(LARGE));
            holds += 1;
        }
        println!("held up {holds} times");
        Ok(())
    });
    let run = match run {
        Ok(run) => run,
        Err(why) => return skip(test, &format!("no reader can be held up here: {why}")),
    };
    let counts = counts();
    println!("{COUNTERS:?} {counts:?}, sent {}", entry(&run, "data", "sent"));
    // Perhaps some of the moment in which the MTU became small.
    println!("too large for the interface: {}", lost(&run, "ip_out"));
    assert!(counts[0] > 0, "{counts:?}");
    assert_eq!(lost(&run, "tcp_backlog"), counts[0], "{}", run["ledger"]);
    let in_buffer: i64 = counts[1..4].iter().sum();
    assert_eq!(lost(&run, "rcvbuf"), in_buffer, "{counts:?}: {}", run["ledger"]);
    assert_eq!(lost(&run, "tcp_ofo"), counts[4], "{counts:?}: {}", run["ledger"]);
    // A burst may overflow the softnet backlog of the next machine. The router has no agent, so that its drops are counted as lost
    // in the network or at the sender's interface.
    let refused = |place: isize| {
        let dropped = bed.read(bed.name(place), "cat /sys/class/net/right/statistics/tx_dropped");
        dropped.trim().parse::<i64>().unwrap()
    };
    assert_eq!(
        lost(&run, "softnet_backlog") + lost(&run, "network"),
        refused(0) + refused(1),
        "{}",
        run["ledger"]
    );
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
}
