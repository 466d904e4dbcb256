//! Hosts that split connections: what flows become, and where they are refused.

use wirespeed_scenario::run::{FlowKind, Run};
use wirespeed_scenario::{Study, parse};
use wirespeed_units::Bytes;

fn study(hops: usize, rest: &str) -> Result<Study, String> {
    let text = format!(
        "schema = 1\nname = \"t\"\n[topology]\nkind = \"parking-lot\"\nhops = {hops}\n[path]\nrate = \"1 Gbit/s\"\n\
         rtt = \"10 ms\"\n{rest}\n[run]\nduration = \"5 s\"\n"
    );
    parse(&text, "t.toml", &[], None).map_err(|error| format!("{error:#}"))
}

fn run(hops: usize, rest: &str) -> Run {
    study(hops, rest).unwrap().runs.remove(0)
}

fn legs(run: &Run) -> Vec<(&str, &str, &str)> {
    run.flows.iter().map(|flow| (&*flow.label, &*flow.from, &*flow.to)).collect()
}

const TWO: &str = "[host.a]\nrole = \"splitter\"\nrouter = 1\n[host.b]\nrole = \"splitter\"\nrouter = 2\n";

#[test]
fn flows_are_split_in_either_direction_and_datagrams_are_not() {
    let flows = "[[flow]]\nlabel = \"out\"\n[[flow]]\nlabel = \"back\"\nfrom = \"receiver\"\nto = \"sender\"\n\
        [[flow]]\nlabel = \"u\"\nkind = \"udp\"\nrate = \"1 Mbit/s\"\n";
    let found = run(3, &format!("{TWO}{flows}"));
    assert_eq!(
        legs(&found),
        [
            ("out/a", "sender", "a-left"),
            ("out/b", "a-right", "b-left"),
            ("out", "b-right", "receiver"),
            ("back/b", "receiver", "b-right"),
            ("back/a", "b-left", "a-right"),
            ("back", "a-left", "sender"),
            ("u", "sender", "receiver"),
        ]
    );
    assert_eq!(found.flow_groups()[..3], ["out/a", "out/b", "out"]);
}

#[test]
fn flows_that_do_not_pass_the_router_stay_whole() {
    let beside = "[[flow]]\nlabel = \"x\"\nfrom = \"cross1-sender\"\nto = \"cross1-receiver\"\n";
    assert_eq!(legs(&run(3, &format!("{TWO}{beside}"))), [("x", "cross1-sender", "cross1-receiver")]);
}

#[test]
fn the_box_decides_on_its_own_connections_only() {
    let text = "[host.a]\nrole = \"splitter\"\nrouter = 1\ncongestion = \"bbr\"\nrelay_buffer = \"1 MiB\"\n\
        [[flow]]\nlabel = \"f\"\ncount = 2\nmax_rate = \"500 Mbit/s\"\ndscp = 10\nbytes = \"1 MB\"\n";
    let found = run(2, text);
    let of = |index: usize| match &found.flows[index].kind {
        FlowKind::Tcp { congestion, max_rate, .. } => (congestion.name.as_str(), max_rate.is_some()),
        FlowKind::Udp { .. } => unreachable!("it is TCP"),
    };
    assert_eq!((of(0), of(1)), (("cubic", true), ("bbr", false)));
    assert_eq!(found.flows[0].dscp, found.flows[1].dscp);
    let leg = found.flows[1].leg.as_ref().unwrap();
    assert_eq!((leg.number, leg.legs, leg.relay_buffer), (2, 2, Some(Bytes::mib(1))));
    assert_eq!(found.flow_groups(), ["f/a", "f", "f/a", "f"]);
}

#[test]
fn an_ordinary_host_is_left_as_it_was_where_the_role_is_swept() {
    let text = "[host.a]\nrouter = 1\nrelay_buffer = \"1 MiB\"\n[[flow]]\n[sweep]\n\"host.a.role\" = [\"end\", \"splitter\"]\n";
    let found = study(2, text).unwrap();
    let counts: Vec<_> = found.runs.iter().map(|run| (run.hosts.len(), run.flows.len())).collect();
    assert_eq!(counts, [(7, 1), (8, 2)]);
}

#[test]
fn what_cannot_be_split_is_refused_with_the_remedy() {
    let here = |role: &str| format!("[host.a]\nrole = \"splitter\"\n{role}\n[[flow]]\n");
    for (hops, text, words) in [
        (1, here("router = 1"), "hops = 2 or more"),
        (3, here("router = 0"), "write router = 1 to 2"),
        (3, here("router = 3"), "write router = 1 to 2"),
        (2, here("router = 1\nrelay_buffer = \"1 KiB\""), "write 1500 B to"),
        (2, here("router = 1\ncongestion = \"bic2\""), "unknown congestion control `bic2`"),
        (2, "[host.sender]\nrole = \"splitter\"\n[[flow]]\n".into(), "add a host for it"),
        (2, "[host.sender]\nrelay_buffer = \"1 MiB\"\n[[flow]]\n".into(), "add role = \"splitter\""),
        (2, "[host.a]\nrole = \"splitter\"\nrouter = 1\n[[flow]]\nto = \"a\"\n".into(), "`a` is a splitter"),
        (2, "[host.a]\nrole = \"splitter\"\nrouter = 1\n[[flow]]\nfrom = \"a-right\"\n".into(), "`a` is a splitter"),
        (
            2,
            "[host.a]\nrole = \"splitter\"\nrouter = 1\n[host.b]\nrole = \"splitter\"\nrouter = 1\n[[flow]]\n".into(),
            "`a` splits at this router already",
        ),
    ] {
        let told = study(hops, &text).expect_err(&text);
        assert!(told.contains(words), "{words}: {told}");
    }
}
