//! Data sets and requests: every exchange ends, in either mode, and losses delay it only.

use wirespeed_record::Exchange;
use wirespeed_scenario::parse;
use wirespeed_sim::{Outcome, simulate};

fn outcome(path: &str, flow: &str, seconds: u32, trains: bool) -> Outcome {
    let text = format!(
        "schema = 1\nname = \"t\"\n[path]\n{path}\n[[flow]]\n{flow}\n[run]\nduration = \"{seconds} s\"\nsample = \"100 ms\"\n\
         trains = {trains}\n"
    );
    let run = parse(&text, "t.toml", &[], None).expect("the scenario is in order").runs.remove(0);
    simulate(&run, &mut |_| true).unwrap_or_else(|error| panic!("{error:?}"))
}

fn last_end(outcome: &Outcome) -> i64 {
    let ends: Option<Vec<i64>> = outcome.exchanges.iter().map(|row| row.end_ns).collect();
    ends.unwrap_or_else(|| panic!("one did not end: {:?}", outcome.exchanges)).into_iter().max().unwrap()
}

fn read_bytes(outcome: &Outcome) -> u64 {
    let flows = outcome.flows.iter().map(|row| row.flow).max().map_or(0, |last| last + 1);
    let read =
        |flow| outcome.flows.iter().filter(|row| row.flow == flow).filter_map(|row| row.read_bytes).max();
    (0..flows).filter_map(read).sum()
}

const PATH: &str = "rate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"";

#[test]
fn every_file_is_sent_once_whatever_its_size() {
    // Whole packets, short last ones, and files of one packet.
    let sizes: Vec<u64> =
        (1..40).map(|file| if file % 13 == 0 { 900_000 } else { 1448 * (file % 7) + file * 37 }).collect();
    let list: Vec<String> = sizes.iter().map(|size| format!("\"{size} B\"")).collect();
    let flow = format!("streams = 3\nfiles = [{}]", list.join(", "));
    let [trains, packets] = [true, false].map(|trains| outcome(PATH, &flow, 5, trains));
    for outcome in [&trains, &packets] {
        let mut rows: Vec<&Exchange> = outcome.exchanges.iter().collect();
        rows.sort_by_key(|row| row.number);
        assert_eq!(rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), sizes);
        assert!(
            rows.iter().all(|row| row.first_ns <= row.end_ns && Some(row.begin_ns) < row.first_ns),
            "{rows:?}"
        );
        assert_eq!(read_bytes(outcome), sizes.iter().map(|size| size + 24).sum::<u64>());
    }
    let ratio = last_end(&trains) as f64 / last_end(&packets) as f64;
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
}

#[test]
fn a_file_costs_its_time_on_the_link_and_a_round_trip() {
    // Ten full packets of 1514 bytes, of which 24 bytes are the header: 1.2112 ms, and the confirmation is 74 bytes.
    let found = outcome(PATH, "files = { count = 100, bytes = \"14456 B\" }", 5, true);
    let expected = 100.0 * (1_211_200.0 + 5_920.0 + 1e7) + 1e7 - 5e6;
    let ratio = last_end(&found) as f64 / expected;
    assert!((0.995..1.005).contains(&ratio), "{ratio}");
}

#[test]
fn losses_of_either_direction_end_no_exchange() {
    let path = format!("{PATH}\nloss = 0.02\n[path.reverse]\nloss = 0.02");
    for trains in [true, false] {
        let files = outcome(&path, "streams = 3\nfiles = { count = 60, bytes = \"30 kB\" }", 60, trains);
        assert_eq!(files.exchanges.len(), 60);
        last_end(&files);
        let requests =
            outcome(&path, "count = 3\nrequests = { response = \"30 kB\", count = 40 }", 120, trains);
        assert_eq!(requests.exchanges.len(), 120);
        last_end(&requests);
        assert_eq!(read_bytes(&requests), 120 * 30_000);
    }
}

#[test]
fn a_request_takes_a_round_trip_and_the_think_time_passes_between() {
    // A response of one full packet: 1514 bytes there, 166 bytes back, and a round trip.
    let found = outcome(PATH, "requests = { response = \"1448 B\", think = \"50 ms\", count = 20 }", 5, true);
    let (round_ns, think_ns) = (10_000_000.0 + 121_120.0 + 13_280.0, 50_000_000.0);
    for row in &found.exchanges {
        let took = (row.end_ns.unwrap() - row.begin_ns) as f64;
        assert!((took / round_ns - 1.0).abs() < 0.001, "{row:?}");
    }
    let apart = found.exchanges.windows(2).map(|pair| (pair[1].begin_ns - pair[0].begin_ns) as f64);
    assert!(
        apart.clone().all(|ns| (ns / (round_ns + think_ns) - 1.0).abs() < 0.001),
        "{:?}",
        apart.collect::<Vec<_>>()
    );
    assert_eq!(found.exchanges.len(), 20);
}
