//! Whole runs with splitters.

use super::super::World;
use crate::simulate::simulate;
use wirespeed_record::{FlowSample, QueueSample};
use wirespeed_scenario::run::Run;
use wirespeed_units::{SimTime, Span};

/// A short link on either side of a lossy one, and a box at each of its ends that is a splitter or not.
fn run(role: &str, rest: &str) -> Run {
    let text = format!(
        "schema = 1\nname = \"test\"\n[topology]\nkind = \"parking-lot\"\nhops = 3\n\
         [[link]]\nname = \"left\"\nrate = \"1 Gbit/s\"\nrtt = \"1 ms\"\nbuffer = \"2 MB\"\n\
         [[link]]\nname = \"wan\"\nrate = \"1 Gbit/s\"\nrtt = \"20 ms\"\nbuffer = \"2 MB\"\nloss = 1e-3\n\
         [[link]]\nname = \"right\"\nrate = \"1 Gbit/s\"\nrtt = \"20 ms\"\nbuffer = \"2 MB\"\n\
         [host.west]\nrole = \"{role}\"\nrouter = 1\n[host.east]\nrole = \"{role}\"\nrouter = 2\n{rest}"
    );
    let study = wirespeed_scenario::parse(&text, "test", &[], None).expect("the scenario is in order");
    study.runs[0].clone()
}

const BULK: &str = "[[flow]]\nlabel = \"bulk\"\ncongestion = \"cubic\"\n[run]\nduration = \"4 s\"\n";
const FILE: &str =
    "[[flow]]\nlabel = \"file\"\nbytes = \"8000001 B\"\ncongestion = \"cubic\"\n[run]\nduration = \"8 s\"\n";

/// The world of a run at its end, looked at every millisecond.
fn at_end(run: &Run, mut look: impl FnMut(&World)) -> World {
    let mut world = World::of(run).expect("the model has it all");
    let end = SimTime::START + run.duration;
    let mut at = SimTime::START;
    while at < end {
        at = (at + Span::ms(1)).min(end);
        world.run_until(at);
        look(&world);
    }
    world
}

/// Bytes that the application at the end of leg `flow` has read.
fn delivered(samples: &[FlowSample], flow: u32) -> u64 {
    samples.iter().rfind(|row| row.flow == flow).and_then(|row| row.read_bytes).unwrap_or(0)
}

#[test]
fn a_flow_is_a_leg_for_each_splitter_and_one_more() {
    let run = run("splitter", BULK);
    let legs: Vec<_> = run.flows.iter().map(|f| (&*f.label, &*f.from, &*f.to)).collect();
    assert_eq!(
        legs,
        [
            ("bulk/west", "sender", "west-left"),
            ("bulk/east", "west-right", "east-left"),
            ("bulk", "east-right", "receiver")
        ]
    );
    assert_eq!(run.flow_groups(), ["bulk/west", "bulk/east", "bulk"]);
}

#[test]
fn all_bytes_of_a_file_come_through_and_end_the_flow_once() {
    for trains in ["", "trains = false\n"] {
        let run = run("splitter", &format!("{FILE}{trains}"));
        let outcome = simulate(&run, &mut |_| true).expect("it runs");
        for leg in 0..3 {
            assert_eq!(delivered(&outcome.flows, leg), 8_000_001, "leg {leg}");
        }
        let ends: Vec<_> = outcome
            .events
            .iter()
            .filter(|event| event.kind == wirespeed_record::EventKind::FlowEnd)
            .map(|event| (event.flow, event.t_ns))
            .collect();
        let times: Vec<i64> =
            (0..3).map(|leg| ends.iter().find(|end| end.0 == Some(leg)).expect("ended").1).collect();
        assert!(ends.len() == 3 && times.is_sorted(), "{ends:?}");
    }
}

#[test]
fn no_leg_delivers_more_than_the_one_before_and_the_relays_hold_the_rest_within_their_bounds() {
    let run = run("splitter", BULK);
    let mut most = [0; 2];
    let world = at_end(&run, |world| {
        for (relay, most) in world.relays.all.iter().zip(&mut most) {
            let tcp = |flow: usize| match &world.flows[flow].endpoint {
                super::Endpoint::Tcp(tcp) => tcp,
                super::Endpoint::Udp(_) => unreachable!("all are TCP"),
            };
            let (up, down) = (tcp(relay.upstream), tcp(relay.downstream));
            let held =
                up.receiver.read_bytes().checked_sub(down.sender.written_bytes()).expect("it comes first");
            assert!(held <= relay.room, "{held} bytes");
            *most = held.max(*most);
        }
    });
    for relay in &world.relays.all {
        assert!((1..=64 << 10).contains(&relay.most), "{} bytes", relay.most);
    }
}

/// The last link takes a tenth of what the others do: all buffers before it fill.
#[test]
fn a_slow_last_leg_closes_the_window_of_the_first() {
    let settings = "[host.sender]\nmtu = \"1500 B\"\n[[flow]]\nlabel = \"bulk\"\ncongestion = \"cubic\"\n\
        [run]\nduration = \"4 s\"\n";
    let mut run = run("splitter", settings);
    run.links[2].forward.rate = wirespeed_units::Rate::mbit(100);
    run.links[1].forward.loss = 0.0;
    let limited = |run: &Run| {
        let outcome = simulate(run, &mut |_| true).expect("it runs");
        let row = outcome.flows.iter().rfind(|row| row.flow == 0).expect("it has rows").clone();
        let read: Vec<u64> = (0..3).map(|leg| delivered(&outcome.flows, leg)).collect();
        (row.rwnd_limited_ns.unwrap_or(0), read)
    };
    // Socket buffers of 256 KiB at the boxes.
    for host in run.hosts.iter_mut().filter(|host| host.splitter.is_some()) {
        let size = wirespeed_units::Bytes::kib(256);
        (host.tcp.rmem, host.tcp.wmem) = ([size; 3], [size; 3]);
    }
    let (waited, read) = limited(&run);
    assert!(waited > 500_000_000, "the first leg waited {waited} ns for its window");
    // What lies between the application and the splitters is within the buffers of these.
    assert!(read[0] - read[2] < 4 * 256 * 1024 + 2 * 64 * 1024 + 2_000_000, "{read:?}");
    assert!(read[2] > 30_000_000, "the slow link was used: {read:?}");
}

#[test]
fn losses_of_the_wan_cost_less_when_its_own_leg_repairs_them() {
    let goodput = |role: &str| {
        let run = run(role, BULK);
        let outcome = simulate(&run, &mut |_| true).expect("it runs");
        delivered(&outcome.flows, run.flows.len() as u32 - 1) * 8 / 4
    };
    let (whole, split) = (goodput("end"), goodput("splitter"));
    assert!(split > whole * 13 / 10, "{whole} and {split} bit/s");
}

#[test]
fn packets_of_every_leg_are_all_accounted_for() {
    let run = run("splitter", BULK);
    let outcome = simulate(&run, &mut |_| true).expect("it runs");
    let lost: u64 =
        last(&outcome.queues).iter().map(|row| row.lost_packets.unwrap_or(0) + row.dropped_packets).sum();
    let in_flight: u64 = outcome.in_flight.values().sum();
    let sum = |counter: &str| -> u64 {
        outcome.counters.iter().filter(|c| c.counter == counter).map(|c| c.after).sum()
    };
    let sent = sum("TcpOutSegs") + sum("TcpRetransSegs");
    let arrived: u64 =
        ["IpExtInNoECTPkts", "IpExtInECT0Pkts", "IpExtInCEPkts"].iter().map(|name| sum(name)).sum();
    assert_eq!(sent, arrived + lost + in_flight);
    assert!(lost > 0);
}

/// The last row of each queue.
fn last(rows: &[QueueSample]) -> Vec<&QueueSample> {
    let end = rows.last().map_or(0, |row| row.t_ns);
    rows.iter().filter(|row| row.t_ns == end).collect()
}

#[test]
fn datagrams_pass_a_splitter_as_they_pass_a_router() {
    let run = run(
        "splitter",
        "[[flow]]\nlabel = \"u\"\nkind = \"udp\"\nrate = \"10 Mbit/s\"\n[run]\nduration = \"1 s\"\n",
    );
    assert_eq!(run.flows.len(), 1);
    assert_eq!((&*run.flows[0].from, &*run.flows[0].to), ("sender", "receiver"));
}
