//! Trains against their reference mode of one event a packet (`trains = false`): what the short cut costs.

mod support;

use support::{goodput, mean, outcome, run_of, samples, scenario};

/// Goodput in bit/s of all flows and retransmitted packets, with trains and without.
fn both(path: &str, flows: &[&str], run: &str, more: &str) -> [(f64, u64); 2] {
    [true, false].map(|trains| {
        let run = run_of(&scenario(path, flows, &format!("{run}\ntrains = {trains}"), more));
        let outcome = outcome(&run);
        let flows = 0..run.flows.len() as u32;
        let rate = flows.clone().map(|flow| goodput(&outcome, flow, run.duration.nanoseconds() / 4)).sum();
        let again = flows.filter_map(|flow| samples(&outcome, flow).last()?.retrans_packets).sum();
        (rate, again)
    })
}

/// What differs by more than the bound, with both results.
#[expect(clippy::print_stdout, reason = "`--nocapture` shows by how much the modes differ")]
fn beyond(bound: f64, name: &str, [trains, packets]: [(f64, u64); 2]) -> Option<String> {
    let difference = (trains.0 - packets.0).abs() / packets.0;
    let line = format!(
        "{name}: {difference:.5} ({:.4e} and {:.4e} bit/s, {} and {} packets again)",
        trains.0, packets.0, trains.1, packets.1
    );
    println!("{line}");
    (difference > bound).then_some(line)
}

/// Which packets a repair packet protects depends on their order: a link with correction has no trains.
#[test]
fn a_run_with_forward_error_correction_is_the_same_in_both_modes() {
    let path =
        "rate = \"200 Mbit/s\"\nrtt = \"10 ms\"\nloss = 0.01\nfec = { data = 8, interleave = [1, 20] }";
    let flows = ["congestion = \"cubic\"\ncount = 3", "kind = \"udp\"\nrate = \"20 Mbit/s\""];
    let rows = [true, false].map(|trains| {
        let run = format!("duration = \"1 s\"\ntrains = {trains}");
        let outcome = outcome(&run_of(&scenario(path, &flows, &run, "")));
        format!("{:?} {:?} {:?}", outcome.flows, outcome.queues, outcome.datagrams)
    });
    assert!(rows[0] == rows[1]);
}

/// A flow alone meets only its own packets: there is nothing to interleave.
#[test]
fn a_flow_alone_without_random_loss_is_the_same() {
    let mut differ = Vec::new();
    for (name, path, flow) in [
        ("ample", "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"3 bdp\"", "congestion = \"cubic\""),
        ("reno", "rate = \"100 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"1 bdp\"", "congestion = \"reno\""),
        ("vegas", "rate = \"100 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"1 bdp\"", "congestion = \"vegas\""),
        ("bbr", "rate = \"1 Gbit/s\"\nrtt = \"5 ms\"\nbuffer = \"1 bdp\"", "congestion = \"bbr\""),
        // Its search overshoots by 1500 packets, and less than a GSO packet leaves with many an acknowledgement.
        ("bic", "rate = \"100 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"2 bdp\"", "congestion = \"bic\""),
        ("10G", "rate = \"10 Gbit/s\"\nrtt = \"2 ms\"\nbuffer = \"1 bdp\"", "congestion = \"cubic\""),
        // Seventeen packets on the way: acknowledgements are held back until a timer that is due within a train.
        (
            "scalable",
            "rate = \"1 Gbit/s\"\nrtt = \"0.2 ms\"\nbuffer = \"1 bdp\"",
            "congestion = \"scalable\"",
        ),
        // It measures by every acknowledgement.
        ("nv", "rate = \"1 Gbit/s\"\nrtt = \"6.2 ms\"\nbuffer = \"0.1 bdp\"", "congestion = \"nv\""),
        // One-way delays by stamps.
        ("lp", "rate = \"1 Gbit/s\"\nrtt = \"6.2 ms\"\nbuffer = \"0.1 bdp\"", "congestion = \"lp\""),
        (
            "limited",
            "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"",
            "congestion = \"cubic\"\nmax_rate = \"300 Mbit/s\"",
        ),
    ] {
        differ.extend(beyond(0.005, name, both(path, &[flow], "duration = \"4 s\"", "")));
    }
    assert!(differ.is_empty(), "goodput differs by more than 0.5 %: {differ:#?}");
}

/// Where losses are drawn per packet the same packets are lost only as long as the same are sent. A send buffer of
/// three GSO packets, and CoDel's clock, depend on when each packet is seen: there the bound is wider.
#[test]
fn losses_and_shared_queues_stay_within_their_spread() {
    let two = ["congestion = \"cubic\"\ncount = 2\nstagger = \"3 ms\""];
    let mut differ = Vec::new();
    for (name, path, flows, more) in [
        (
            "window",
            "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"",
            &["congestion = \"cubic\"\nwindow = \"100 packets\""][..],
            "",
        ),
        (
            "loss 1e-4",
            "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nloss = 1e-4",
            &["congestion = \"cubic\""][..],
            "",
        ),
        ("bic 1e-3", "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nloss = 1e-3", &["congestion = \"bic\""], ""),
        ("two cubic", "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"0.5 bdp\"", &two, ""),
        (
            "reno, udp",
            "rate = \"100 Mbit/s\"\nrtt = \"10 ms\"",
            &["congestion = \"reno\"", "kind = \"udp\"\nrate = \"30 Mbit/s\""],
            "",
        ),
        ("codel", "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nqueue = \"codel\"\nbuffer = \"4 bdp\"", &two, ""),
        (
            "fq-codel",
            "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nqueue = \"fq-codel\"\nbuffer = \"4 bdp\"",
            &two,
            "",
        ),
        (
            "parking lot",
            "rate = \"1 Gbit/s\"\nrtt = \"5 ms\"\nbuffer = \"200 packets\"",
            &[
                "congestion = \"cubic\"",
                "congestion = \"cubic\"\nfrom = \"cross1-sender\"\nto = \"cross1-receiver\"",
            ],
            "[topology]\nkind = \"parking-lot\"\nhops = 2",
        ),
    ] {
        let bound = 0.03;
        differ.extend(beyond(bound, name, both(path, flows, "duration = \"8 s\"\nseed = 2", more)));
    }
    assert!(differ.is_empty(), "goodput differs by more than stated: {differ:#?}");
}

/// Both hosts of a preset with some settings.
fn hosts(preset: &str, settings: &str) -> String {
    ["sender", "receiver"].map(|host| format!("[host.{host}]\npreset = \"{preset}\"\n{settings}\n")).concat()
}

/// What a host does with packets depends on which of them are there when a core comes to look: with trains it knows of them
/// when the first has come. Packets and flows are those of the studies that the hosts are of.
#[test]
fn inside_hosts_goodput_stays_within_its_spread() {
    let cubic = ["congestion = \"cubic\""];
    let mut differ = Vec::new();
    for (name, path, flows, run, more) in [
        (
            "kit-2019-tuned",
            "rate = \"100 Gbit/s\"\nrtt = \"0.2 ms\"\nbuffer = \"1.25 GB\"",
            &["congestion = \"cubic\"\ncount = 3"][..],
            "200 ms",
            hosts("kit-2019-tuned", "rss = \"spread\"\napps = \"8-10\"\nirq = \"11-13\""),
        ),
        (
            "kit-2019-tuned, 1500 B",
            "rate = \"100 Gbit/s\"\nrtt = \"0.2 ms\"\nbuffer = \"1.25 GB\"",
            &cubic,
            "200 ms",
            hosts("kit-2019-tuned", "mtu = \"1500 B\"\napps = \"8\"\nirq = \"11\""),
        ),
        (
            "cornell-2010",
            "rate = \"10 Gbit/s\"\nrtt = \"5 ms\"",
            // What the study lets be outstanding on its short path: with more the receiver's ring decides, and that by
            // chance.
            &["congestion = \"cubic\"\nwindow = \"2 MB\""],
            "2 s",
            hosts("cornell-2010", "irq = \"0\"\napps = \"4\""),
        ),
        (
            "cornell-2010, an interrupt a packet",
            "rate = \"10 Gbit/s\"\nrtt = \"5 ms\"",
            &["congestion = \"cubic\"\nwindow = \"2 MB\""],
            "2 s",
            hosts("cornell-2010", "irq = \"0\"\napps = \"4\"\nnapi = false\ncoalesce = \"0 s\""),
        ),
        (
            "cornell-2010, udp",
            "rate = \"10 Gbit/s\"\nrtt = \"5 ms\"",
            &["kind = \"udp\"\nrate = \"2400 Mbit/s\"\nrcvbuf = \"1 MB\""],
            "2 s",
            hosts("cornell-2010", "irq = \"0\"\napps = \"0\""),
        ),
        (
            "slac-sc03",
            "rate = \"10 Gbit/s\"\nrtt = \"5 ms\"\nbuffer = \"8 MB\"",
            &["congestion = \"reno\"\nwindow = \"8 MB\""],
            "2 s",
            hosts("slac-sc03", ""),
        ),
        ("onl-pc1core", "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"", &cubic, "4 s", hosts("onl-pc1core", "")),
        (
            "xeon-2023-100g",
            "rate = \"100 Gbit/s\"\nrtt = \"1 ms\"\nbuffer = \"1 bdp\"",
            &cubic,
            "200 ms",
            hosts("xeon-2023-100g", "apps = \"0\"\nirq = \"1\""),
        ),
    ] {
        let run = format!("duration = \"{run}\"\nseed = 2");
        differ.extend(beyond(0.005, name, both(path, flows, &run, &more)));
    }
    assert!(differ.is_empty(), "goodput differs by more than 0.5 %: {differ:#?}");
}

/// GSO packets of two are taken together and leave as one train; what a late acknowledgement does to the sizes of those
/// behind it shows in the round-trip times, since each odd packet's acknowledgement is delayed.
#[test]
fn round_trip_times_of_small_windows_are_the_same() {
    let mean = |trains: bool| {
        let of_seed = |seed: u32| {
            let path = "rate = \"1 Gbit/s\"\nrtt = \"24.2 ms\"\nloss = 1e-3\nbuffer = \"1 bdp\"";
            let run = format!("duration = \"30 s\"\nseed = {seed}\ntrains = {trains}");
            let outcome = outcome(&run_of(&scenario(path, &["congestion = \"reno\""], &run, "")));
            let times: Vec<i64> = samples(&outcome, 0).into_iter().filter_map(|row| row.rtt_ns).collect();
            times.iter().sum::<i64>() as f64 / times.len() as f64
        };
        (1..=4).map(of_seed).sum::<f64>() / 4.0
    };
    let (trains, packets) = (mean(true), mean(false));
    let difference = (trains / packets - 1.0).abs();
    assert!(difference < 0.006, "{trains:.0} and {packets:.0} ns");
}

/// Mean round-trip time in nanoseconds of Reno whose own interface limits it.
fn behind_own_queue(rtt: &str, loss: &str, trains: bool) -> f64 {
    let path = format!("rate = \"10 Gbit/s\"\nrtt = \"{rtt}\"\nloss = {loss}\nbuffer = \"1 bdp\"");
    let run = format!("duration = \"2 s\"\nseed = 2\nsample = \"1 ms\"\ntrains = {trains}");
    let host = "[host.sender]\nnic_rate = \"10 Gbit/s\"";
    let outcome = outcome(&run_of(&scenario(&path, &["congestion = \"reno\""], &run, host)));
    mean(&outcome, 0, 100_000_000, |row| row.rtt_ns.map(|ns| ns as f64))
}

/// Acknowledgements are taken together up to the one that may let a GSO packet leave: in small windows, held back by small
/// queues, and with the window as the limit.
#[test]
fn round_trip_times_behind_a_queue_of_the_sender_are_the_same() {
    for (rtt, loss) in [("0.2 ms", "1e-3"), ("2 ms", "0"), ("2 ms", "1e-5")] {
        let (trains, packets) = (behind_own_queue(rtt, loss, true), behind_own_queue(rtt, loss, false));
        let difference = (trains / packets - 1.0).abs();
        assert!(difference < 0.002, "{rtt}, loss {loss}: {trains:.0} and {packets:.0} ns");
    }
}

/// Mean round-trip time in nanoseconds and retransmitted packets of a flow alone.
fn queued(trains: bool) -> (f64, u64) {
    let path = "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"";
    let run = format!("duration = \"1 s\"\ntrains = {trains}");
    let outcome = outcome(&run_of(&scenario(path, &["congestion = \"cubic\""], &run, "")));
    let again = samples(&outcome, 0).last().and_then(|row| row.retrans_packets).expect("a flow has samples");
    (mean(&outcome, 0, 400_000_000, |row| row.rtt_ns.map(|ns| ns as f64)), again)
}

/// GSO packets that leave together come to a queue together: one that is nearly full refuses the end of each.
#[test]
fn a_flow_alone_fills_a_queue_in_the_same_bursts() {
    let (trains, packets) = (queued(true), queued(false));
    let difference = (trains.0 - packets.0).abs() / packets.0;
    assert!(difference < 0.01, "mean round-trip time: {} and {} ns", trains.0, packets.0);
    assert!(trains.1.abs_diff(packets.1) * 10 < packets.1, "retransmitted: {} and {}", trains.1, packets.1);
}

/// Jain's index of CUBIC and a BBR that begins a second later, mean of four times of its start.
fn fairness(trains: bool) -> f64 {
    let path = "rate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"0.3 bdp\"";
    let run = format!("duration = \"6 s\"\ntrains = {trains}");
    let index = |start_ms: u32| {
        let flows =
            ["congestion = \"cubic\"".into(), format!("congestion = \"bbr\"\nstart = \"{start_ms} ms\"")];
        let outcome = outcome(&run_of(&scenario(path, &flows.each_ref().map(String::as_str), &run, "")));
        let rates = [0, 1].map(|flow| goodput(&outcome, flow, 1_500_000_000));
        (rates[0] + rates[1]).powi(2) / (2.0 * rates.map(|rate| rate * rate).iter().sum::<f64>())
    };
    [1000, 1013, 1026, 1039].map(index).iter().sum::<f64>() / 4.0
}

/// What a socket sends ahead of its time does not reach a shared queue before what others send earlier.
#[test]
fn flows_that_share_a_full_queue_have_the_same_shares() {
    let (trains, packets) = (fairness(true), fairness(false));
    assert!((trains - packets).abs() < 0.01, "Jain's index {trains} and {packets}");
}
