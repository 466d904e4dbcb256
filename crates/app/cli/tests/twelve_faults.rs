//! The twelve faults of a real path, one after another on one bed: sender, router, receiver. Each must be found by `wirespeed
//! probe` at its stage, with its limiting factor and its count, on the machine as it is and with a busy loop on every core.
//!
//! `WIRESPEED_FAULT_ROUNDS=5` repeats everything so often and prints a table; `WIRESPEED_FAULT=policer` takes only the
//! faults with that word in their names.

mod support;

use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use support::bed::Bed;
use support::ledger::{entry, lost};
use support::{errors, skip, until};

/// A fault, and what has to be found.
struct Fault {
    name: &'static str,
    /// Routers between the two hosts.
    routers: usize,
    /// Shell commands that make it, and where: 0 sender, 1 router, 2 receiver.
    make: (isize, &'static str),
    /// The truth, from the kernel that drops, after the run.
    dropped: Option<fn(&Bed) -> i64>,
    /// Where the ledger has to have the losses.
    stage: Option<&'static str>,
    /// What may limit the flow most of the time.
    limits: &'static [&'static str],
    /// Words of the diagnosis.
    words: &'static [&'static str],
    /// Exit code of the probe.
    code: i32,
}

/// Two hosts on one machine, which nothing else limits: its cores do.
const CORE: &str = "a core";

const NONE: Fault = Fault {
    name: "",
    routers: 1,
    make: (0, "true"),
    dropped: None,
    stage: None,
    limits: &[],
    words: &[],
    code: 0,
};

/// The rule at a hook of a filter, which counts what it drops.
macro_rules! rule {
    ($hook:literal, $rule:literal) => {
        concat!(
            "nft add table ip t && nft 'add chain ip t c { type filter hook ",
            $hook,
            " priority 0; }' && nft add rule ip t c '",
            $rule,
            "'"
        )
    };
}

/// What the rule of a machine has dropped.
fn by_rule(bed: &Bed, place: isize) -> i64 {
    number_after(&bed.read(bed.name(place), "nft list ruleset"), "counter packets ")
}

/// What the queueing disciplines of an interface have dropped.
fn by_queue(bed: &Bed, place: isize) -> i64 {
    // The innermost one drops; those above count it as well.
    let text = bed.read(bed.name(place), "tc -s qdisc show dev right");
    number_after(text.rsplit("qdisc ").next().unwrap_or_default(), "(dropped ")
}

fn number_after(text: &str, words: &str) -> i64 {
    let rest = text.split(words).nth(1).unwrap_or_else(|| panic!("no \"{words}\" in {text}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a count")
}

const FAULTS: &[Fault] = &[
    Fault {
        name: "shaper with a deep buffer in the router",
        make: (1, "tc qdisc add dev right root tbf rate 200mbit burst 32kb limit 4mb"),
        limits: &["path rate"],
        ..NONE
    },
    Fault {
        name: "small tcp_rmem at the receiver",
        make: (-1, "sysctl -qw net.ipv4.tcp_rmem='4096 16384 16384'"),
        limits: &["receive window"],
        ..NONE
    },
    Fault {
        name: "short queue at the sender",
        make: (
            0,
            "tc qdisc add dev right root handle 1: tbf rate 100mbit burst 32kb limit 1mb && tc qdisc add dev right \
             parent 1:1 pfifo limit 10",
        ),
        dropped: Some(|bed| by_queue(bed, 0)),
        stage: Some("qdisc"),
        limits: &["cwnd after loss at qdisc", "path rate"],
        ..NONE
    },
    Fault {
        name: "random loss in the router",
        make: (1, rule!("forward", "tcp dport 5001 ip length > 200 numgen random mod 2000 0 counter drop")),
        dropped: Some(|bed| by_rule(bed, 1)),
        stage: Some("network"),
        limits: &["cwnd after loss at network", CORE],
        words: &["policer, a shallow buffer or damaged packets"],
        ..NONE
    },
    Fault {
        name: "policer in the router",
        make: (
            1,
            rule!("forward", "tcp dport 5001 ip length > 200 limit rate over 5 mbytes/second counter drop"),
        ),
        dropped: Some(|bed| by_rule(bed, 1)),
        stage: Some("network"),
        limits: &["cwnd after loss at network"],
        words: &["policer, a shallow buffer or damaged packets"],
        ..NONE
    },
    Fault {
        name: "shallow buffer in the router",
        make: (1, "tc qdisc add dev right root tbf rate 200mbit burst 32kb limit 40kb"),
        dropped: Some(|bed| by_queue(bed, 1)),
        stage: Some("network"),
        limits: &["cwnd after loss at network", "path rate"],
        ..NONE
    },
    Fault {
        name: "filter at the receiver",
        make: (-1, rule!("input", "tcp dport 5001 ip length > 200 numgen random mod 2000 0 counter drop")),
        dropped: Some(|bed| by_rule(bed, -1)),
        stage: Some("netfilter"),
        limits: &["cwnd after loss at netfilter", CORE],
        ..NONE
    },
    Fault {
        name: "closed port at the receiver",
        make: (-1, rule!("input", "tcp dport 5001 counter drop")),
        words: &["does not answer", "TCP port 5001"],
        code: 3,
        ..NONE
    },
    Fault {
        name: "large packets vanish in the router",
        make: (1, rule!("forward", "ip length > 1400 counter drop")),
        limits: &["nothing delivered (0 bit/s): packets of more than 1400 bytes are lost"],
        words: &["MTU black hole", "The largest that pass have 1400 bytes"],
        code: 3,
        ..NONE
    },
    Fault {
        name: "MTU of the sender larger than the receiver's",
        make: (0, "ip link set right mtu 9000"),
        routers: 0,
        limits: &[CORE],
        words: &["MTU mismatch: the interface of sender (right) has an MTU of 9000, that of receiver 1500"],
        ..NONE
    },
    Fault {
        name: "busy loop of another process",
        limits: &[CORE],
        words: &["Other load on the hosts", "bash (pid "],
        ..NONE
    },
    Fault {
        name: "link of the receiver down for 2 s",
        limits: &["nothing delivered (0 bit/s): the link of receiver (left) was down", CORE],
        words: &["the link of receiver (left) was down"],
        ..NONE
    },
];

const HOG: usize = 10;
const DOWN: usize = 11;

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
            "taskset -cp {core} $$ > /dev/null; end=$((SECONDS + 60)); while ((SECONDS < end)); do :; done"
        );
        Command::new("bash").args(["-c", &script]).stdout(Stdio::null()).spawn().expect("bash is there")
    };
    Running((0..cores).map(one).collect())
}

/// The probe, with the recording as JSON and the text for people.
fn probe(bed: &Bed, time: &str, during: impl FnOnce()) -> (Output, Value, String) {
    let ends = [0, -1].map(|place| format!("{}={}", bed.name(place), bed.address(place)));
    let arguments =
        ["probe", &ends[0], &ends[1], "--congestion", "cubic", "--time", time, "--json", "--out", "out"];
    let mut command = bed.command(&arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().expect("the program was built for this test");
    during();
    let output = running.wait_with_output().expect("the probe comes to its end");
    let run =
        serde_json::from_slice::<Value>(&output.stdout).map_or(Value::Null, |all| all["runs"][0].clone());
    let text = match run.is_null() {
        true => errors(&output),
        false => {
            String::from_utf8_lossy(&bed.wirespeed(&["report", "out"]).stdout).into_owned() + &errors(&output)
        }
    };
    (output, run, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// What limited flow 0 for most of the time.
fn limited_by(run: &Value) -> Option<String> {
    let intervals = run["held_back"].as_array()?;
    let lasted = |interval: &&Value| Some(interval["to_ns"].as_i64()? - interval["from_ns"].as_i64()?);
    let most = intervals.iter().filter(|interval| interval["flow"] == 0).max_by_key(lasted)?;
    most["by"].as_str().map(str::to_owned)
}

/// Makes the fault, probes, and compares. `Err` says what was not found.
fn find(index: usize, test: &str, loaded: bool) -> Option<Result<String, String>> {
    let fault = &FAULTS[index];
    let bed = Bed::new(test, fault.routers)?;
    // One packet of the sender is one for everybody who counts.
    bed.inside(bed.name(0), "ip link set right gso_max_segs 1").unwrap();
    bed.inside(bed.name(fault.make.0), fault.make.1).unwrap();
    let hogs = (loaded || index == HOG).then(hogs);
    let arrived = || {
        bed.read(bed.name(-1), "cat /sys/class/net/left/statistics/rx_bytes").trim().parse().unwrap_or(0u64)
    };
    let before = arrived();
    let time = if index == DOWN { "6 s" } else { "3 s" };
    let (output, run, text) = probe(&bed, time, || {
        if index == DOWN {
            until(Duration::from_secs(30), "the flow runs", || arrived() > before + 1_000_000);
            sleep(Duration::from_millis(1500));
            bed.inside(bed.name(-1), "ip link set left down && sleep 2 && ip link set left up").unwrap();
        }
    });
    drop(hogs);
    Some(compare(fault, &bed, &output, &run, &text))
}

fn compare(fault: &Fault, bed: &Bed, output: &Output, run: &Value, text: &str) -> Result<String, String> {
    if output.status.code() != Some(fault.code) {
        return Err(format!("{}: {text}", output.status));
    }
    if let Some(words) = fault.words.iter().find(|words| !text.contains(*words)) {
        return Err(format!("\"{words}\" is not in: {text}"));
    }
    if run.is_null() {
        return Ok(fault.words.join("; "));
    }
    let limit = limited_by(run).unwrap_or_default();
    let is_core = |words: &str| words.starts_with("sender core") || words.starts_with("receiver");
    let is_right =
        |may: &&str| *may == limit || (*may == CORE && is_core(&limit) && limit != "receive window");
    if !fault.limits.iter().any(is_right) {
        return Err(format!("limited by {limit}: {}", run["held_back"]));
    }
    let Some(stage) = fault.stage else { return Ok(limit) };
    let found = lost(run, stage);
    let truth = fault.dropped.map_or(0, |dropped| dropped(bed));
    // A busy machine keeps the reader from its socket: its backlog drops as well, above all other stages.
    let above: i64 = ["tcp_backlog", "tcp_ofo", "rcvbuf"].iter().map(|stage| lost(run, stage)).sum();
    let missing = entry(run, "data", "sent") - entry(run, "data", "delivered") - above;
    let rest = entry(run, "data", "unexplained");
    if rest != 0 || found != missing {
        return Err(format!(
            "{found} lost at {stage}, {missing} missing, {truth} dropped: {}",
            run["ledger"]
        ));
    }
    // The kernel's count has the probes of the path MTU and SYNs in it as well.
    if (truth - found).abs() > 2 {
        return Err(format!("{found} lost at {stage}, {truth} dropped: {}", run["ledger"]));
    }
    Ok(format!("{limit}; {found} of {truth} at {stage}"))
}

#[test]
fn twelve_faults_are_found_on_an_idle_and_on_a_loaded_machine() {
    let test = "twelve_faults_are_found_on_an_idle_and_on_a_loaded_machine";
    if Command::new("nft").arg("--version").output().is_err() {
        return skip(test, "no nft here");
    }
    let rounds: usize =
        std::env::var("WIRESPEED_FAULT_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let which = std::env::var("WIRESPEED_FAULT").unwrap_or_default();
    let mut missed = Vec::new();
    for (index, fault) in FAULTS.iter().enumerate().filter(|(_, fault)| fault.name.contains(&which)) {
        for loaded in [false, true] {
            let mut found = Vec::new();
            for _ in 0..rounds {
                match find(index, test, loaded) {
                    None => return,
                    Some(Ok(words)) => found.push(words),
                    Some(Err(why)) => {
                        missed.push(format!("{}, loaded {loaded}: {why}", fault.name));
                    }
                }
            }
            let last = found.last().map_or("", String::as_str);
            println!(
                "| {} | {} | {} of {rounds} | {last} |",
                fault.name,
                if loaded { "loaded" } else { "as it is" },
                found.len()
            );
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
