//! Ways that flows are given, link by link.

use wirespeed_scenario::parse;
use wirespeed_scenario::run::{FlowKind, Run};
use wirespeed_units::{Bytes, Span};

/// A chain of three links of 10 ms each way and 1 Gbit/s, with a slow link of 1 ms beside the last two.
fn lot(flow: &str) -> Run {
    let text = format!(
        "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"20 ms\"\n[topology]\nkind = \"parking-lot\"\nhops = 3\n\
         [[link]]\nname = \"bypass\"\nbetween = [1, 3]\nrate = \"8 Mbit/s\"\nrtt = \"2 ms\"\n\
         [[flow]]\n{flow}\n[run]\nduration = \"1 s\"\n"
    );
    let study = parse(&text, "t.toml", &[], None).unwrap_or_else(|e| panic!("{e:#}\n{text}"));
    study.runs[0].clone()
}

fn window(run: &Run) -> Option<Bytes> {
    match &run.flows[0].kind {
        FlowKind::Tcp { window, .. } => *window,
        FlowKind::Udp { .. } => None,
    }
}

#[test]
fn without_a_way_of_its_own_a_flow_crosses_the_chain() {
    let run = lot("");
    let flow = &run.flows[0];
    assert_eq!((run.links.len(), run.hops()), (4, 3));
    assert_eq!(run.way_out(flow), [(0, true), (1, true), (2, true)]);
    assert_eq!(run.way_back(flow), [(2, false), (1, false), (0, false)]);
    assert_eq!(run.base_rtt(flow), Span::ms(60));
}

#[test]
fn the_way_back_is_that_out_unless_given() {
    let run = lot("route = [\"link1\", \"bypass\"]");
    let flow = &run.flows[0];
    assert_eq!(run.way_out(flow), [(0, true), (3, true)]);
    assert_eq!(run.way_back(flow), [(3, false), (0, false)]);
    assert_eq!(run.base_rtt(flow), Span::ms(22));
}

#[test]
fn a_way_back_of_its_own_counts_for_the_round_trip_and_the_window() {
    let run = lot("window = \"1 bdp\"\nroute_back = [\"bypass\", \"link1\"]");
    let flow = &run.flows[0];
    assert_eq!(run.way_out(flow), [(0, true), (1, true), (2, true)]);
    assert_eq!(run.way_back(flow), [(3, false), (0, false)]);
    // 30 ms out, 1 and 10 ms back; the slow link is not on the way of the data.
    assert_eq!(run.base_rtt(flow), Span::ms(41));
    assert_eq!(window(&run), Some(Bytes::new(41 * 125_000)));
}

#[test]
fn a_flow_to_the_left_names_its_links_as_it_meets_them() {
    let run = lot("from = \"receiver\"\nto = \"sender\"\nroute = [\"bypass\", \"link1\"]");
    assert_eq!(run.way_out(&run.flows[0]), [(3, false), (0, false)]);
    assert_eq!(run.way_back(&run.flows[0]), [(0, true), (3, true)]);
}

#[test]
fn absent_values_are_not_stored() {
    let stored = serde_json::to_string(&lot("").flows).expect("flows are plain data");
    assert!(!stored.contains("route"), "{stored}");
}
