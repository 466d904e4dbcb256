//! The mechanisms inside a host one by one, with expectations worked out by hand.

mod support;

use support::{carry_out, goodput, scenario};
use wirespeed_sim::Outcome;

/// Datagrams of 1000 B, 100,000 a second, to a receiver of which `receiver` tells more.
fn datagrams(receiver: &str) -> Outcome {
    let path = "rate = \"10 Gbit/s\"\nrtt = \"1 ms\"\nbuffer = \"1 MiB\"";
    let flow = "kind = \"udp\"\ndatagram = \"1000 B\"\nrate = \"800 Mbit/s\"";
    let host = format!(
        "[host.receiver]\npreset = \"xeon-2023-100g\"\nadaptive_rx = false\nirq = \"0\"\napps = \"1\"\n{receiver}\n"
    );
    carry_out(&scenario(path, &[flow], "duration = \"1 s\"", &host)).1
}

/// Rounds of softirq of the receiver that ended with packets left, and its interrupts.
fn squeezed(outcome: &Outcome) -> (u64, u64) {
    let end = outcome.cores.last().map_or(0, |row| row.t_ns);
    let cores = outcome.cores.iter().filter(|row| row.t_ns == end && row.host == "receiver");
    let rings = outcome.queues.iter().filter(|row| row.queue.starts_with("receiver/rx") && row.t_ns == end);
    (cores.map(|row| row.squeezed).sum(), rings.map(|row| row.overlimits).sum())
}

#[test]
fn frames_or_time_raise_the_interrupt() {
    // A packet comes every 10 us. By time: at the first, 200 us later the next; 21 packets have come by then, the last
    // of them at that very instant or not. By frames: with the fifth.
    let of = |settings: &str| squeezed(&datagrams(settings)).1;
    let by_time = of("coalesce = \"200 us\"\ncoalesce_frames = 64");
    assert!((100_000 / 22..=100_000 / 20).contains(&by_time), "{by_time}");
    let by_frames = of("coalesce = \"200 us\"\ncoalesce_frames = 5");
    assert!((19_800..=20_000).contains(&by_frames), "{by_frames}");
}

#[test]
fn a_round_ends_when_its_budget_is_used_up() {
    // A thousand interrupts a second, each with 100 packets: a poll of 64 and one of 36.
    let with = |budget: &str| squeezed(&datagrams(&format!("coalesce = \"1 ms\"\n{budget}")));
    let (squeezes, interrupts) = with("");
    assert!((980..=1_001).contains(&interrupts), "{interrupts}");
    assert_eq!(squeezes, 0, "100 are below 300");
    let (squeezes, interrupts) = with("netdev_budget = 64");
    assert!(
        squeezes + 20 >= interrupts && squeezes <= interrupts,
        "{squeezes}: after the first poll, not the second"
    );
    // Of one packet each: both polls.
    let (squeezes, interrupts) = with("netdev_budget = 1");
    assert!(squeezes + 40 >= 2 * interrupts && squeezes <= 2 * interrupts, "{squeezes}");
    let (squeezes, interrupts) = with("netdev_budget_usecs = \"0 s\"");
    assert!(squeezes + 40 >= 2 * interrupts && squeezes <= 2 * interrupts, "{squeezes}");
}

#[test]
fn the_weight_of_a_device_is_that_of_the_backlog() {
    // One poll of 100 packets in the backlog, or four of 25 at most; what a poll costs shows.
    let busy = |weight: &str| {
        let outcome = datagrams(&format!(
            "coalesce = \"1 ms\"\nrps = \"2\"\ncosts = {{ poll = \"100 us\", rx_datagram = \"0 s\", wakeup = \"0 s\" }}\n\
             dev_weight = {weight}"
        ));
        let end = outcome.cores.last().expect("cores work").t_ns;
        let row = outcome.cores.iter().find(|row| row.t_ns == end && row.host == "receiver" && row.core == 2);
        row.map_or(0, |row| row.softirq_ns) / 1_000_000
    };
    let (one, four) = (busy("1000"), busy("25"));
    assert!((190..=205).contains(&one), "{one} ms: the ring's two polls bring 64 and 36");
    assert!((390..=410).contains(&four), "{four} ms: the 36 are there before the third of 25 is taken out");
}

#[test]
fn a_bus_of_one_way_carries_both_ways_together() {
    // 32 bit at 33 MHz are 1056 Mbit/s. A flow each way has that where they do not share it, half of it where they do.
    let with = |shared: &str| {
        let path = "rate = \"10 Gbit/s\"\nrtt = \"1 ms\"\nbuffer = \"1 MiB\"";
        let flows = [
            "kind = \"udp\"\ndatagram = \"1458 B\"\nrate = \"2 Gbit/s\"",
            "from = \"receiver\"\nto = \"sender\"\nkind = \"udp\"\ndatagram = \"1458 B\"\nrate = \"2 Gbit/s\"",
        ];
        let host = format!(
            "[host.receiver]\npreset = \"xeon-2023-100g\"\nirq = \"0\"\napps = \"1-2\"\nrmem_max = \"10 MB\"\n\
             nic_bus = {{ kind = \"pci\", mhz = 33, bits = 32, shared = {shared} }}\n"
        );
        let outcome = carry_out(&scenario(path, &flows, "duration = \"1 s\"", &host)).1;
        [0, 1].map(|flow| goodput(&outcome, flow, 500_000_000) / 1e6 * 1500.0 / 1458.0)
    };
    let [came, left] = with("false");
    assert!((1020.0..1060.0).contains(&came) && (1040.0..1060.0).contains(&left), "{came} {left}");
    let [came, left] = with("true");
    assert!((1000.0..1090.0).contains(&(came + left)), "{came} and {left} Mbit/s");
    assert!((0.8..1.25).contains(&(came / left)), "{came} and {left} Mbit/s");
}

#[test]
fn memory_of_another_node_is_fetched_over_the_link_between_nodes() {
    // The interface is on node 0, cores 32 to 63 are node 1. Of 10 Gbit/s a flow has 8948 of 9014 B.
    let with = |core: u32| {
        let path = "rate = \"40 Gbit/s\"\nrtt = \"0.2 ms\"\nbuffer = \"4 MiB\"";
        let hosts = format!(
            "[host.sender]\npreset = \"xeon-2023-100g\"\nirq = \"0\"\napps = \"{core}\"\n\
             machine = {{ interlink = \"10 Gbit/s\" }}\n[host.receiver]\nmtu = \"9000 B\"\n"
        );
        let flow = ["congestion = \"cubic\""];
        let outcome = carry_out(&scenario(path, &flow, "duration = \"500 ms\"", &hosts)).1;
        goodput(&outcome, 0, 250_000_000) / 1e9 * 9014.0 / 8948.0
    };
    let (near, far) = (with(1), with(33));
    assert!(near > 30.0, "{near} Gbit/s");
    assert!((9.5..10.01).contains(&far), "{far} Gbit/s");
}
