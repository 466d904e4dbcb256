//! Tests over IPv6, and what code points their packets carry. Machines are namespaces of this one; without the right to make
//! them each test is skipped by name.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use support::bed::Bed;
use support::ledger::{entry, lost_anywhere, results};
use support::{errors, skip};

/// The machines of a test, with addresses of both versions of IP.
fn bed(test: &str) -> Option<Bed> {
    let bed = Bed::new(test, 0)?;
    bed.add_ipv6().unwrap();
    Some(bed)
}

/// A probe of a second between the ends.
fn probe(bed: &Bed, ends: [&str; 2], options: &[&str]) -> Output {
    let fixed = ["probe", ends[0], ends[1], "--time", "1 s", "--json", "--out", "out"];
    bed.wirespeed(&[&fixed, options].concat())
}

/// The same by addresses of IPv6.
fn probe_v6(bed: &Bed, options: &[&str]) -> Output {
    let ends = [0, -1].map(|place| format!("{}={}", bed.name(place), bed.address_v6(place)));
    probe(bed, ends.each_ref().map(String::as_str), options)
}

/// `run.json` of the only run of a probe.
fn info(bed: &Bed) -> Value {
    let mut runs = fs::read_dir(bed.folder().join("out/runs")).expect("there are runs").flatten();
    let path = runs.next().expect("there is one").path().join("run.json");
    serde_json::from_str(&fs::read_to_string(path).expect("it is complete")).expect("it is JSON")
}

/// Addresses that carried the last test, of sender and receiver.
fn addresses(bed: &Bed) -> [String; 2] {
    let info = info(bed);
    [0, 1].map(|host: usize| {
        info["hosts"][host]["settings"]["interface.address"].as_str().expect("an address").to_owned()
    })
}

fn goodput(run: &Value) -> f64 {
    run["metrics"]["goodput_bps"].as_f64().unwrap_or_else(|| panic!("no goodput: {}", run["metrics"]))
}

/// A counter of IPv6 of a machine.
fn counted(bed: &Bed, place: isize, name: &str) -> u64 {
    let text = bed.read(bed.name(place), "cat /proc/net/snmp6");
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    found.unwrap_or_else(|| panic!("no {name}: {text}"))
}

#[test]
fn tcp_over_ipv6_has_goodput_and_a_balanced_ledger() {
    let Some(bed) = bed("tcp_over_ipv6_has_goodput_and_a_balanced_ledger") else { return };
    let run = results(&probe_v6(&bed, &["--congestion", "cubic"]));
    assert!(goodput(&run) > 1e6, "{}", goodput(&run));
    for direction in ["data", "ack"] {
        assert_eq!(entry(&run, direction, "unexplained"), 0, "{direction}: {}", run["ledger"]);
        assert!(entry(&run, direction, "delivered") > 0, "{direction}: {}", run["ledger"]);
    }
    assert_eq!(addresses(&bed), ["fd77::1", "fd77::2"]);
    let settings = &info(&bed)["hosts"][0]["settings"];
    assert_eq!(settings["path_mtu.receiver"], "1500", "{settings}");
}

#[test]
fn datagrams_over_ipv6_fill_a_packet_and_are_not_fragmented() {
    let Some(bed) = bed("datagrams_over_ipv6_fill_a_packet_and_are_not_fragmented") else { return };
    let run = results(&probe_v6(&bed, &["--udp", "20 Mbit/s"]));
    assert!(goodput(&run) > 1e6, "{}", goodput(&run));
    let [sent, delivered, unexplained] =
        ["sent", "delivered", "unexplained"].map(|name| entry(&run, "data", name));
    assert!(sent > 1_000, "{}", run["ledger"]);
    assert_eq!((sent, unexplained), (delivered + lost_anywhere(&run), 0), "{}", run["ledger"]);
    let stored = info(&bed);
    assert_eq!(stored["scenario"]["flows"][0]["kind"]["datagram"], "1.452 kB", "{}", stored["scenario"]);
    assert_eq!(counted(&bed, 0, "Ip6FragCreates"), 0);
    // Those of the receiver's full socket are found where IPv6 counts them.
    let small = "[[flow]]\nkind = \"udp\"\nrate = \"300 Mbit/s\"\ndatagram = \"1000 B\"\nrcvbuf = \"2 KiB\"\n\
                 [run]\nduration = \"1 s\"\n";
    let file = bed.scenario(small);
    let text =
        fs::read_to_string(&file).unwrap().replace("10.77.0.1", "fd77::1").replace("10.77.0.2", "fd77::2");
    fs::write(&file, text).unwrap();
    let run = results(&bed.wirespeed(&["run", &file, "--on", "hosts", "--json", "--out", "full"]));
    let lost = run["ledger"]["data"]["lost"].as_array().expect("losses").clone();
    let at_socket: i64 = lost
        .iter()
        .filter(|row| row["place"] == "receiver/Udp6RcvbufErrors")
        .map(|row| row["packets"].as_i64().unwrap())
        .sum();
    assert!(at_socket > 0, "{}", run["ledger"]);
    assert_eq!(entry(&run, "data", "unexplained"), 0, "{}", run["ledger"]);
}

#[test]
fn version_of_ip_is_chosen_by_option_or_by_what_machines_have() {
    let Some(bed) = bed("version_of_ip_is_chosen_by_option_or_by_what_machines_have") else { return };
    let names = [0, -1].map(|place| bed.name(place));
    let over = |options: &[&str]| {
        results(&probe(&bed, names, options));
        addresses(&bed)
    };
    assert_eq!(over(&[]), ["10.77.0.1", "10.77.0.2"]);
    assert_eq!(over(&["-6"]), ["fd77::1", "fd77::2"]);
    let mixed = probe(&bed, [&format!("{}=10.77.0.1", names[0]), &format!("{}=fd77::2", names[1])], &[]);
    assert_eq!(mixed.status.code(), Some(2), "{}", errors(&mixed));
    // Long messages are wrapped, with a bar in front of each further line.
    let words: Vec<String> = errors(&mixed).split_whitespace().map(str::to_owned).collect();
    let printed = words.into_iter().filter(|word| word != "|").collect::<Vec<_>>().join(" ");
    assert!(printed.contains("addresses of different versions of IP"), "{printed}");
    for name in names {
        bed.inside(name, "ip -4 addr flush scope global").unwrap();
    }
    assert_eq!(over(&[]), ["fd77::1", "fd77::2"]);
    let without = probe(&bed, names, &["-4"]);
    assert_eq!(without.status.code(), Some(3), "{}", errors(&without));
    assert!(errors(&without).contains("no IPv4 address"), "{}", errors(&without));
}

/// Counts what arrives at an interface by length of header, protocol and TOS or traffic class, for some seconds; prints JSON.
const SNIFFER: &str = r#"
import json, socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
s.bind((sys.argv[1], 0)); s.settimeout(0.1)
print("ready", flush=True)
end, seen = time.time() + float(sys.argv[2]), {}
while time.time() < end:
    try: packet, source = s.recvfrom(100)
    except TimeoutError: continue
    if packet[0] >> 4 == 4:
        version, protocol, mark, at = 4, packet[9], packet[1], (packet[0] & 15) * 4
    else:
        version, protocol, mark, at = 6, packet[6], (packet[0] << 4 | packet[1] >> 4) & 255, 40
    ports = [int.from_bytes(packet[at + i:at + i + 2], "big") for i in (0, 2)]
    if protocol not in (6, 17) or 5001 not in ports: continue
    way = "out" if source[2] == socket.PACKET_OUTGOING else "in"
    key = f"{version} {protocol} {way} {mark >> 2}"
    seen[key] = seen.get(key, 0) + 1
print(json.dumps(seen), flush=True)
"#;

/// Watches the receiver's interface; `None` where that needs what is not here.
fn sniffer(bed: &Bed, folder: &Path) -> Option<Child> {
    let file = folder.join("sniffer.py");
    fs::write(&file, SNIFFER).expect("the folder can be written");
    Command::new("python3").arg("--version").output().ok()?;
    let mut command = Command::new("ip");
    command.args(["netns", "exec", bed.name(-1), "python3"]).arg(&file).args(["left", "5"]);
    command.stdout(Stdio::piped()).spawn().ok()
}

#[test]
fn code_point_is_that_of_the_packets_in_both_directions() {
    let test = "code_point_is_that_of_the_packets_in_both_directions";
    let Some(bed) = bed(test) else { return };
    for (options, version, protocol) in
        [(&["-4"][..], 4, 6), (&["-6"], 6, 6), (&["-6", "--udp", "5 Mbit/s"], 6, 17)]
    {
        let Some(watch) = sniffer(&bed, bed.folder()) else { return skip(test, "no python3 here") };
        sleep(Duration::from_millis(500));
        let names = [0, -1].map(|place| bed.name(place));
        let rate = ["--max-rate", "20 Mbit/s"];
        let rate = if protocol == 6 { &rate[..] } else { &[] };
        results(&probe(&bed, names, &[options, rate, &["--dscp", "af21"]].concat()));
        let printed = String::from_utf8(watch.wait_with_output().unwrap().stdout).unwrap();
        let seen: Value = serde_json::from_str(printed.lines().last().expect("it prints")).expect("JSON");
        let of =
            |way: &str, mark: u8| seen[format!("{version} {protocol} {way} {mark}")].as_u64().unwrap_or(0);
        assert!(of("in", 18) > 30, "{options:?}: {seen}");
        // Whether the port is open was tried before, without a code point.
        assert!(of("in", 0) < 30, "{options:?}: {seen}");
        if protocol == 6 {
            assert!(of("out", 18) > 10, "{options:?}: {seen}");
        }
        let info = info(&bed);
        assert_eq!(info["scenario"]["flows"][0]["dscp"], 18);
        assert_eq!(info["hosts"][0]["settings"]["socket.dscp"], "18 (af21)");
    }
}

#[test]
fn code_point_out_of_range_is_refused_before_any_login() {
    let folder = tempfile::tempdir().unwrap();
    let refused = support::wirespeed(folder.path(), &["probe", "no.such.host", "nor.this", "--dscp", "64"]);
    assert_eq!(refused.status.code(), Some(2), "{}", errors(&refused));
    let printed = errors(&refused);
    assert!(printed.contains("--dscp") && printed.contains("0 to 63"), "{printed}");
}
