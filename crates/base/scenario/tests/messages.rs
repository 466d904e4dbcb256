//! What a person reads who got something wrong: every message, with its place and remedy. The catalogue is in
//! `snapshots/`; each entry is the file's text as far as it matters and the message.

use std::fmt::Write;
use wirespeed_scenario::{ScenarioError, parse};

const GOOD: &str = r#"schema = 1
name = "t"
[path]
rate = "1 Gbit/s"
rtt = "10 ms"
[[flow]]
congestion = "cubic"
[run]
duration = "10 s"
"#;

/// Replaces a line of the good file, which has to be there.
fn with(line: &str, by: &str) -> String {
    assert!(GOOD.contains(line), "{line} is not in the good file");
    GOOD.replace(line, by)
}

fn and(more: &str) -> String {
    format!("{GOOD}{more}\n")
}

/// The message for one text, and what its span marks.
fn message(text: &str, sets: &[(&str, &str)]) -> String {
    let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    let error = parse(text, "t.toml", &sets, None).expect_err("every text of the catalogue is wrong");
    let mistake = error.mistake().expect("it was not read from a file");
    let (start, length) = (mistake.span.offset(), mistake.span.len());
    let set = sets.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(" ");
    let whole = match mistake.file.as_str() {
        "t.toml" => text,
        "--set" => &set,
        other => panic!("{other} holds a mistake of its own"),
    };
    format!("{error:#}\n    marks `{}`: {}", whole[start..start + length].escape_debug(), mistake.label)
}

fn catalogue(cases: &[(&str, String)]) -> String {
    cases.iter().fold(String::new(), |mut all, (name, text)| {
        writeln!(all, "{name}\n    {}\n", message(text, &[])).expect("a string takes all");
        all
    })
}

#[test]
fn routes() {
    let with_link = |link: &str, flow: &str| with("congestion = \"cubic\"", &format!("{flow}\n{link}"));
    let beside = "[[link]]\nname = \"detour\"\nbetween = [0, 1]";
    let lot = |flow: &str| {
        let lot =
            "[topology]\nkind = \"parking-lot\"\nhops = 3\n[[link]]\nname = \"bypass\"\nbetween = [1, 3]";
        with_link(lot, flow)
    };
    let all = catalogue(&[
        ("a second link in a row", with_link("[[link]]\nname = \"detour\"", "")),
        ("a link from a router to itself", with_link("[[link]]\nbetween = [1, 1]", "")),
        ("a link backwards", with_link("[[link]]\nbetween = [1, 0]", "")),
        ("a link beyond the last router", with_link("[[link]]\nbetween = [0, 2]", "")),
        ("three routers", with_link("[[link]]\nbetween = [0, 1, 2]", "")),
        ("an unknown link", with_link(beside, "route_back = [\"detuor\"]")),
        ("no link", with_link(beside, "route_back = []")),
        ("a way that begins elsewhere", lot("route = [\"bypass\"]")),
        ("a way that goes too far", lot("to = \"cross2-receiver\"\nroute = [\"link1\", \"bypass\"]")),
        ("a way that ends too early", lot("route = [\"link1\", \"link2\"]")),
        ("a way back that is out of order", lot("route_back = [\"link1\", \"bypass\"]")),
        ("a word for a list", with_link(beside, "route = \"detour\"")),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn the_good_file_is_good() {
    parse(GOOD, "t.toml", &[], None).unwrap();
}

#[test]
fn form() {
    let all = catalogue(&[
        ("not TOML", "<html>".into()),
        ("a quantity without quotes", with("\"10 ms\"", "10 ms")),
        ("empty file", String::new()),
        ("another schema", with("schema = 1", "schema = 2")),
        ("unknown key at the top", and("[sweeps]")),
        ("unknown key, near one", with("rtt =", "rrt =")),
        ("unknown key, near none", with("rtt = \"10 ms\"", "rtt = \"10 ms\"\ncolour = \"red\"")),
        ("unknown key of a flow", with("congestion =", "cc =")),
        ("same key twice", with("rate = \"1 Gbit/s\"", "rate = \"1 Gbit/s\"\nrate = \"2 Gbit/s\"")),
        ("a date", with("rtt = \"10 ms\"", "rtt = 2020-01-01")),
        ("not finite", and("[path.forward]\nloss = nan")),
        ("no duration", with("duration = \"10 s\"", "")),
        ("no run", with("[run]\nduration = \"10 s\"", "")),
        ("name is no folder", with("\"t\"", "\"a/b\"")),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn quantities() {
    let all = catalogue(&[
        ("wrong unit", with("1 Gbit/s", "1 GB/s")),
        ("no unit", with("\"1 Gbit/s\"", "1000")),
        ("zero without quotes", with("\"10 ms\"", "0")),
        ("a number for a word", with("\"t\"", "7")),
        ("a word for a count", with("[run]", "[run]\nrepeat = \"often\"")),
        ("a word for a truth value", and("[host.sender]\nsack = \"on\"")),
        ("a number for a table", with("[run]", "[host]\nsender = 3\n[run]")),
        ("no unit, in quotes", with("1 Gbit/s", "1000")),
        ("a time for a rate", with("1 Gbit/s", "1 ms")),
        ("negative rate", with("1 Gbit/s", "-1 Gbit/s")),
        ("zero rate", with("1 Gbit/s", "0 Gbit/s")),
        ("too fast", with("1 Gbit/s", "1000 Tbit/s")),
        ("negative time", with("10 ms", "-10 ms")),
        ("a word for a number", with("rtt =", "loss = \"little\"\nrtt =")),
        ("loss above one", with("rtt =", "loss = 2\nrtt =")),
        ("negative loss on one side", and("[path.reverse]\nloss = -0.1")),
        ("buffer smaller than a packet", with("rtt =", "buffer = \"1000 B\"\nrtt =")),
        (
            "buffer smaller than a jumbo packet",
            with("[run]", "[path.reverse]\nbuffer = \"5 packets\"\n[host.receiver]\nmtu = \"9000 B\"\n[run]")
                .replace("5 packets", "9000 B"),
        ),
        ("bdp smaller than a packet", with("10 ms", "1 us")),
        ("buffer in no unit", with("rtt =", "buffer = \"4 apples\"\nrtt =")),
        (
            "delays that do not add up",
            and("[path.forward]\ndelay = \"3 ms\"\n[path.reverse]\ndelay = \"3 ms\""),
        ),
        ("a delay longer than the rtt", and("[path.reverse]\ndelay = \"30 ms\"")),
        ("no rate", with("rate = \"1 Gbit/s\"", "")),
        ("no path", with("[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"", "")),
        ("sample too fine", with("[run]", "[run]\nsample = \"0.5 ms\"")),
        ("sample too coarse", with("[run]", "[run]\nsample = \"1 min\"")),
        ("nothing left", with("[run]", "[run]\nomit = \"10 s\"")),
        ("zero duration", with("duration = \"10 s\"", "duration = \"0 s\"")),
        ("zero repeats", with("[run]", "[run]\nrepeat = 0")),
        ("trains are a truth value", with("[run]", "[run]\ntrains = \"off\"")),
        ("negative seed", with("[run]", "[run]\nseed = -1")),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn hosts_and_topology() {
    let all = catalogue(&[
        ("unknown host", and("[host.reciever]\nmtu = \"9000 B\"")),
        (
            "unknown host of a dumbbell",
            and("[host.sender4]\nmtu = \"9000 B\"\n[topology]\nkind = \"dumbbell\"\nsenders = 3"),
        ),
        ("same host twice", and("[host.sender]\nmtu = \"9000 B\"\n[host.sender]\necn = 1")),
        ("two hosts of one name", and("[host.sender]\nname = \"a\"\n[host.receiver]\nname = \"a\"")),
        (
            "one name for a group",
            and("[host.sender]\nname = \"a\"\n[topology]\nkind = \"dumbbell\"\nsenders = 3"),
        ),
        ("unknown preset", and("[host.sender]\npreset = \"kit-2019\"")),
        ("a path preset for a host", and("[host.sender]\npreset = \"10g-wan\"")),
        ("unknown path preset", with("[path]", "[path]\npreset = \"10g\"")),
        ("router out of range", and("[host.extra]\nrouter = 2")),
        ("MTU out of range", and("[host.sender]\nmtu = \"70 kB\"")),
        ("buffer beyond the sysctl", and("[host.sender]\ntcp_rmem_max = \"2 GiB\"")),
        ("two values of three", and("[host.sender]\ntcp_rmem = [\"4 KiB\", \"6 MiB\"]")),
        ("unknown qdisc", and("[host.sender]\nqdisc = \"fifo\"")),
        ("settings of fq without fq", and("[host.sender.fq]\nflow_limit = 1000")),
        ("unknown setting of fq", and("[host.sender]\nqdisc = \"fq\"\nfq = { max_rate = \"1 Gbit/s\" }")),
        ("a flow of no packets in fq", and("[host.sender]\nqdisc = \"fq\"\nfq = { flow_limit = 0 }")),
        ("a flow beyond the room of fq", and("[host.sender]\nqdisc = \"fq\"\nfq = { flow_limit = 10001 }")),
        (
            "a quantum that fq does not take",
            and("[host.sender]\nqdisc = \"fq\"\nfq = { quantum = \"2 MiB\" }"),
        ),
        ("a rate of nothing in fq", and("[host.sender]\nqdisc = \"fq\"\nfq = { maxrate = \"0 Gbit/s\" }")),
        (
            "a rate that fq cannot hold",
            and("[host.sender]\nqdisc = \"fq\"\nfq = { maxrate = \"40 Gbit/s\" }"),
        ),
        ("unknown host key", and("[host.sender]\nring = 1024")),
        ("unknown topology", and("[topology]\nkind = \"star\"")),
        ("dumbbell of no size", and("[topology]\nkind = \"dumbbell\"")),
        ("hops where there are none", and("[topology]\nhops = 2")),
        ("parking lot of no length", and("[topology]\nkind = \"parking-lot\"")),
        ("links where there is one", and("[[link]]\nrate = \"1 Gbit/s\"")),
        ("a link too many", and("[topology]\nkind = \"parking-lot\"\nhops = 1\n[[link]]\n[[link]]")),
        (
            "two links of one name",
            and("[topology]\nkind = \"parking-lot\"\n[[link]]\nname = \"a\"\n[[link]]\nname = \"a\""),
        ),
        ("capture nowhere", and("[[capture]]\nat = \"router\"")),
        ("snaplen out of range", and("[[capture]]\nat = \"sender\"\nsnaplen = \"1 MiB\"")),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn the_inside_of_hosts() {
    const MACHINE: &str = "[host.sender]\npreset = \"kit-2019-tuned\"\n";
    let host = |line: &str| and(&format!("[host.sender]\n{line}"));
    let kit = |line: &str| and(&format!("{MACHINE}{line}"));
    let all = catalogue(&[
        ("a ring without a machine", host("tx_ring = 256")),
        ("interrupts without a machine", host("irq = \"one-cpu\"")),
        ("a machine without costs", host("machine = { cores_per_node = 1, cache = \"1 MB\" }")),
        (
            "a machine with some costs",
            host("machine = { cores_per_node = 1, cache = \"1 MB\" }\ncosts = { syscall = \"1 us\" }"),
        ),
        ("a machine without cores", host("machine = { cache = \"1 MB\" }")),
        ("a machine without a cache", host("machine = { cores_per_node = 1 }")),
        ("a machine without nodes", kit("machine = { nodes = 0 }")),
        ("an unknown key of a machine", kit("machine = { cores = 8 }")),
        ("an unknown cost", kit("costs = { copy = \"0.1 ns\" }")),
        ("a cost beyond reason", kit("costs = { copy_memory = \"0.12 s\" }")),
        ("a cost without a unit", kit("costs = { copy_memory = 0.12 }")),
        ("a call of no bytes", kit("costs = { call = \"0 B\" }")),
        ("a core outside the machine", kit("irq = \"0-3,40\"")),
        ("a core outside a machine without twins", kit("machine = { twin_speed = 0 }\nirq = \"16\"")),
        ("an application's core outside the machine", kit("apps = 32")),
        ("a node outside the machine", kit("irq = \"node 2\"")),
        ("an interface on no node", kit("nic_node = 2")),
        ("a word that is no place for interrupts", kit("irq = \"balance\"")),
        ("a word that is no place for applications", kit("apps = \"everywhere\"")),
        ("a list of cores that is none", kit("irq = \"3-1\"")),
        ("a core twice", kit("apps = \"0-3,2\"")),
        ("cores for packet steering", kit("rps = \"all\"")),
        ("a truth value for cores", kit("irq = true")),
        ("an unknown way to queues", kit("rss = \"random\"")),
        ("a ring of nothing", kit("rx_ring = 0")),
        ("too many queues", kit("rx_queues = 5000")),
        ("a capture nowhere", kit("capture_core = 64")),
        ("other work nowhere", kit("load = [{ core = 99, share = 0.5 }]")),
        ("other work beyond a core", kit("load = [{ core = 9, share = 1.5 }]")),
        ("moderation of hours", kit("coalesce = \"2 s\"")),
        ("moderation by frames alone", kit("adaptive_rx = false\ncoalesce_frames = 64")),
        ("a bus that carries nothing", kit("nic_bus = \"0 bit/s\"")),
        ("a bus of no kind", and("[host.sender]\npreset = \"cornell-2010\"\nnic_bus = { generation = 3 }")),
        ("a bus of another kind", kit("nic_bus = { kind = \"isa\" }")),
        ("a bus that is a number", kit("nic_bus = 125")),
        ("PCI with lanes", kit("nic_bus = { kind = \"pci\", mhz = 133, bits = 64, lanes = 8 }")),
        ("PCI Express with a clock", kit("nic_bus = { mhz = 133 }")),
        ("PCI without a width", kit("nic_bus = { kind = \"pci\", mhz = 133 }")),
        ("a width that no slot has", kit("nic_bus = { lanes = 5 }")),
        ("a generation that is none", kit("nic_bus = { generation = 0 }")),
        ("a round of no packets", kit("netdev_budget = 0")),
        (
            "a time that the kernel does not know",
            kit("machine = { kernel = \"4.4\" }\nnetdev_budget_usecs = \"8 ms\""),
        ),
        ("a round of minutes", kit("netdev_budget_usecs = \"2 min\"")),
        ("a weight of nothing", kit("dev_weight = 0")),
        ("balancing too fast", kit("irqbalance_interval = \"1 us\"")),
        ("no speed", kit("speed = 0")),
        ("twins faster than one", kit("machine = { twin_speed = 1.2 }")),
        ("a receive buffer of nothing", kit("rx_buffer = \"32 B\"")),
        ("a work-queue entry that holds no packet", kit("rx_wqe = \"4 KiB\"")),
        ("a kernel without a minor version", kit("machine = { kernel = \"5\" }")),
        ("memory that carries nothing", kit("machine = { memory = \"0 bit/s\" }")),
        ("a scale of nothing", host("adv_win_scale = 0")),
        ("a swept core outside the machine", kit("[sweep]\n\"host.sender.capture_core\" = [9, 32]")),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn links() {
    let path = |line: &str| with("rtt =", &format!("{line}\nrtt ="));
    let all = catalogue(&[
        ("unknown queue, near one", path("queue = \"codle\"")),
        ("unknown queue in a table", path("queue = { kind = \"pie\" }")),
        ("a queue of no kind", path("queue = { target = \"5 ms\" }")),
        ("a kind that is no word", path("queue = { kind = 3 }")),
        ("a queue that is no word", path("queue = 3")),
        ("a setting of another queue", path("queue = { kind = \"codel\", min = \"10 packets\" }")),
        ("a queue of no packets", path("queue = { kind = \"drop-tail-packets\", packets = 0 }")),
        (
            "room given twice",
            path("buffer = \"1 bdp\"\nqueue = { kind = \"drop-tail-packets\", packets = 100 }"),
        ),
        ("marking above the room", path("queue = { kind = \"drop-tail\", mark_above = \"2 bdp\" }")),
        (
            "two thresholds of marks",
            path("queue = { kind = \"drop-tail\", mark_above = \"65 packets\", mark_after = \"1 ms\" }"),
        ),
        ("marking after more than the room", path("queue = { kind = \"drop-tail\", mark_after = \"10 s\" }")),
        ("two steps", path("queue = { kind = \"dualpi2\", step = \"1 ms\", step_packets = 3 }")),
        ("a coupling factor below one", path("queue = { kind = \"dualpi2\", coupling = 0.5 }")),
        ("more than all of the link", path("queue = { kind = \"dualpi2\", classic_protection = 101 }")),
        ("an unknown answer to overload", path("queue = { kind = \"dualpi2\", overload = \"mark\" }")),
        (
            "thresholds reversed",
            path("queue = { kind = \"red\", min = \"90 packets\", max = \"30 packets\" }"),
        ),
        ("no lower threshold", path("queue = { kind = \"red\", min = \"0 B\" }")),
        (
            "thresholds beyond the buffer",
            path("buffer = \"100 packets\"\nqueue = { kind = \"red\", max = \"1 MB\" }"),
        ),
        ("probability of RED above one", path("queue = { kind = \"red\", probability = 2 }")),
        ("RED that never picks", path("queue = { kind = \"red\", probability = 0 }")),
        ("weight of zero", path("queue = { kind = \"red\", weight = 0 }")),
        ("a target as long as the interval", path("queue = { kind = \"codel\", target = \"100 ms\" }")),
        ("an interval below the target", path("queue = { kind = \"fq-codel\", interval = \"1 ms\" }")),
        ("a target of zero", path("queue = { kind = \"codel\", target = \"0 ms\" }")),
        ("a quantum of zero", path("queue = { kind = \"fq-codel\", quantum = \"0 B\" }")),
        ("ecn is no truth value", path("queue = { kind = \"codel\", ecn = 1 }")),
        ("unknown loss model", path("loss_model = \"gilbert-eliot\"")),
        ("a loss model that needs settings", path("loss_model = \"gilbert-elliott\"")),
        (
            "a loss model without a setting",
            path("loss_model = { kind = \"gilbert-elliott\", bad_to_good = 0.1 }"),
        ),
        ("every bit wrong", path("loss_model = { kind = \"bit-error\", rate = 1.0 }")),
        (
            "probability of a state above one",
            and(
                "[path.reverse.loss_model]\nkind = \"gilbert-elliott\"\ngood_to_bad = 0.1\nbad_to_good = 1.5",
            ),
        ),
        ("two ways to lose", path("loss = 1e-5\nloss_model = { kind = \"bit-error\", rate = 1e-12 }")),
        ("an outage that ends before it begins", path("outages = [[\"1.2 s\", \"1 s\"]]")),
        ("outages that overlap", path("outages = [[\"1 s\", \"2 s\"], [\"1.5 s\", \"3 s\"]]")),
        ("an outage after the end", and("[path.forward]\noutages = [[\"1 min\", \"2 min\"]]")),
        ("an outage of three times", path("outages = [[\"1 s\", \"2 s\", \"3 s\"]]")),
        ("outages without their brackets", path("outages = [\"1 s\", \"2 s\"]")),
        ("a policer of no rate", path("policer = { rate = \"0 Gbit/s\", burst = \"1 MiB\" }")),
        ("a policer without a burst", path("policer = { rate = \"1 Gbit/s\" }")),
        ("a burst smaller than a packet", path("policer = { rate = \"1 Gbit/s\", burst = \"1000 B\" }")),
        (
            "a port limit smaller than a packet",
            and("[path.reverse]\nport_limit = { rate = \"1 Gbit/s\", burst = \"0 packets\" }"),
        ),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn flows() {
    let flow = |by: &str| with("congestion = \"cubic\"", by);
    let all = catalogue(&[
        ("no flow", with("[[flow]]\ncongestion = \"cubic\"", "")),
        ("from no host", flow("from = \"sendre\"")),
        ("to no host", flow("to = \"server\"")),
        ("to itself", flow("from = \"receiver\"")),
        ("no link between the hosts", flow("to = \"sender2\"\n[topology]\nkind = \"dumbbell\"\nsenders = 2")),
        ("a code point that was not negotiated", flow("congestion = \"cubic\"\necn = \"ect1\"")),
        ("an unknown code point", flow("ecn = \"ect(1)\"")),
        ("unknown congestion control", flow("congestion = \"qubic\"")),
        ("unknown congestion control in a table", flow("congestion = { name = \"bbr2\" }")),
        ("congestion without a name", flow("congestion = { beta = 3 }")),
        ("unknown parameter", flow("congestion = { name = \"bic\", s_max = 32 }")),
        ("parameter of one that has none", flow("congestion = { name = \"reno\", smax = 32 }")),
        ("parameter out of range", flow("congestion = { name = \"cubic\", beta = 2000 }")),
        ("parameter that the algorithm refuses", flow("congestion = { name = \"cdg\", window = 3 }")),
        ("parameter given twice", flow("congestion = { name = \"bic\", smax = 32, max_increment = 32 }")),
        ("congestion is a number", flow("congestion = 3")),
        ("starts too late", flow("start = \"10 s\"")),
        ("staggered beyond the end", flow("count = 3\nstagger = \"5 s\"")),
        ("jittered beyond the end", flow("start = \"9 s\"\nstart_jitter = \"1 s\"")),
        ("nothing to stagger", flow("stagger = \"1 s\"")),
        ("no flows", flow("count = 0")),
        ("zero bytes", flow("bytes = \"0 B\"")),
        ("zero window", flow("window = \"0 bdp\"")),
        ("rate of TCP", flow("rate = \"1 Gbit/s\"")),
        ("UDP without rate", flow("kind = \"udp\"")),
        ("UDP with congestion", flow("kind = \"udp\"\nrate = \"1 Gbit/s\"\ncongestion = \"bic\"")),
        ("datagram too large", flow("kind = \"udp\"\nrate = \"1 Gbit/s\"\ndatagram = \"9000 B\"")),
        ("same label twice", flow("label = \"a\"\n[[flow]]\nlabel = \"a\"")),
        ("a label that numbering takes", flow("label = \"cubic-1\"\n[[flow]]\ncount = 2")),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn sweeps_and_expectations() {
    let sweep = |line: &str| and(&format!("[sweep]\n{line}"));
    let expect = |line: &str| and(&format!("[sweep]\n\"path.loss\" = [0, 1e-5]\n[expect]\n{line}"));
    let all = catalogue(&[
        ("no list", sweep("\"path.loss\" = 1e-5")),
        ("empty list", sweep("\"path.loss\" = []")),
        ("no quotes around the path", sweep("path.loss = [1e-5]")),
        ("names no key", sweep("\"path.los\" = [0, 1e-5]")),
        ("names no table", sweep("\"paths.loss\" = [0, 1e-5]")),
        ("names no host", sweep("\"host.reciever.mtu\" = [\"1500 B\"]")),
        ("names no flow", sweep("\"flow.1.congestion\" = [\"bic\"]")),
        ("names no label", sweep("\"flow.first.congestion\" = [\"bic\"]")),
        ("names no link", sweep("\"link.rate\" = [\"1 Gbit/s\"]")),
        ("a key of UDP for TCP", sweep("\"flow.rate\" = [\"1 Gbit/s\"]")),
        ("inside a number", sweep("\"run.duration.x\" = [1]")),
        ("not a path", sweep("\"path loss\" = [1]")),
        ("not to be swept", sweep("\"run.repeat\" = [1, 2]")),
        ("same value twice", sweep("\"path.loss\" = [0, 1e-5, 0.0]")),
        ("a table as value", sweep("\"flow.congestion\" = [{ name = \"bic\", smax = 32 }]")),
        ("one value is wrong", sweep("\"flow.congestion\" = [\"bic\", \"reno\", \"cubik\"]")),
        (
            "one combination is wrong",
            sweep(
                "\"path.buffer\" = [\"1 packets\", \"2000 B\"]\n\"host.receiver.mtu\" = [\"1500 B\", \"9000 B\"]",
            ),
        ),
        (
            "one undoes the other",
            sweep("\"flow.congestion\" = [\"bic\"]\n\"flow.0.congestion\" = [\"reno\"]"),
        ),
        (
            "too many runs",
            sweep("\"run.seed\" = [1, 2]\n")
                .replace("[run]", "[run]\nrepeat = 10000")
                .replace("[1, 2]", &format!("{:?}", (0..11).collect::<Vec<_>>())),
        ),
        ("neither min nor max", expect("goodput_bps = { where = { \"path.loss\" = 0 } }")),
        ("not a bound", expect("goodput_bps = 3")),
        ("unknown key of a bound", expect("goodput_bps = { minimum = 3 }")),
        ("min above max", expect("goodput_bps = { min = 3, max = 2 }")),
        ("a unit of something else", expect("goodput_bps = { min = \"3 ms\" }")),
        ("a unit for a ratio", expect("jain_index = { min = \"90 %\" }")),
        (
            "where something is not swept",
            expect("goodput_bps = { min = 3, where = { \"path.rtt\" = \"10 ms\" } }"),
        ),
        ("where it never is", expect("goodput_bps = { min = 3, where = { \"path.loss\" = 1e-6 } }")),
    ]);
    insta::assert_snapshot!(all);
}

#[test]
fn overrides() {
    let swept = and("[sweep]\n\"path.loss\" = [0, 1e-5]");
    let cases: &[(&str, &str, &str)] = &[
        ("unknown key", "path.los", "0"),
        ("wrong unit", "path.rate", "9 GB/s"),
        ("no unit", "path.rate", "9"),
        ("no path", "", "3"),
        ("broken list", "path.loss", "[1, 2"),
        ("a value of a sweep", "path.loss", "2"),
        ("an empty list for a sweep", "path.loss", "[]"),
        ("unknown control", "flow.0.congestion", "qubic"),
    ];
    let all = cases.iter().fold(String::new(), |mut all, (name, key, value)| {
        writeln!(all, "{name}\n    {}\n", message(&swept, &[(key, value)])).expect("a string takes all");
        all
    });
    insta::assert_snapshot!(all);
}

#[test]
fn metrics() {
    let study = parse(&and("[expect]\nutilisation = { min = 0.5 }"), "t.toml", &[], None).unwrap();
    let known = [("goodput_bps", "bit/s"), ("link_utilisation", "ratio"), ("jain_index", "ratio")];
    insta::assert_snapshot!(format!("{:#}", study.check_metrics(&known).unwrap_err()));
    assert!(study.check_metrics(&[("utilisation", "ratio")]).is_ok());
    let of_flow = |label: &str| {
        let text = and(&format!("[expect]\n\"flow.{label}.goodput_bps\" = {{ min = \"3 Mbit/s\" }}"));
        parse(&text, "t.toml", &[], None).unwrap()
    };
    let label = study.runs[0].flows[0].label.clone();
    let known_label = of_flow(&label);
    assert_eq!(known_label.expect[0].min, Some(3e6));
    assert!(known_label.check_metrics(&known).is_ok());
    let error = of_flow("nobody").check_metrics(&known).unwrap_err();
    assert!(error.to_string().contains("no flow has the label `nobody`"), "{error}");
}

#[test]
fn figures() {
    let figure = |lines: &str| and(&format!("[sweep]\n\"path.loss\" = [0, 1e-5]\n[[figure]]\n{lines}"));
    let all = catalogue(&[
        ("no kind", figure("x = \"loss\"")),
        ("unknown kind", figure("kind = \"heatmap\"")),
        ("unknown key", figure("kind = \"line\"\nxx = \"loss\"")),
        ("a key of another kind", figure("kind = \"line\"\ny = \"loss\"")),
        ("something that is not swept", figure("kind = \"line\"\nx = \"path.rtt\"")),
        ("one factor twice", figure("kind = \"line\"\nx = \"loss\"\naverage = [\"path.loss\"]")),
        ("a table instead of a list", and("[figure]\nkind = \"line\"")),
    ]);
    insta::assert_snapshot!(all);
    let text = figure("kind = \"line\"\nmetric = \"goodput\"\nx = \"loss\"");
    let study = parse(&text, "t.toml", &[], None).unwrap();
    assert_eq!(study.figures[0].x.as_deref(), Some("path.loss"));
    let error = study.check_metrics(&[("goodput_bps", "bit/s")]).unwrap_err();
    assert!(error.to_string().contains("figure.metric: there is no metric `goodput`"), "{error}");
}

#[test]
fn missing_file() {
    let error = wirespeed_scenario::load("no/such.toml".as_ref(), &[], None).unwrap_err();
    assert!(matches!(error, ScenarioError::Read { .. }));
    assert!(error.to_string().starts_with("cannot read scenario no/such.toml: "), "{error}");
}

#[test]
fn the_place_is_drawn() {
    let error = parse(&with("1 Gbit/s", "1 GB/s"), "t.toml", &[], None).unwrap_err();
    let mut drawn = String::new();
    miette::NarratableReportHandler::new().render_report(&mut drawn, &error).unwrap();
    insta::assert_snapshot!(drawn);
}
