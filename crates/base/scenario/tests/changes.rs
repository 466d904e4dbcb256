//! Links that change while the run goes on.

use std::fs;
use std::path::Path;
use wirespeed_scenario::run::{Change, Direction, Duplicate, Fec, Link, Reorder};
use wirespeed_scenario::{Study, parse};
use wirespeed_units::{Bytes, Rate, Span};

fn study_in(file: &str, path: &str) -> Result<Study, String> {
    let text = format!(
        "schema = 1\nname = \"t\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"20 ms\"\n{path}\n[[flow]]\n[run]\nduration = \"10 s\"\n"
    );
    parse(&text, file, &[], None).map_err(|error| format!("{error:#}"))
}

fn study(path: &str) -> Result<Study, String> {
    study_in("t.toml", path)
}

fn link(path: &str) -> Link {
    study(path).unwrap().runs[0].links[0].clone()
}

fn fault(path: &str) -> String {
    study(path).expect_err("it is a mistake")
}

/// Times, rates and delays after each change.
fn states(direction: &Direction) -> Vec<(Span, Rate, Span)> {
    direction.states().skip(1).map(|state| (state.at, state.rate, state.delay)).collect()
}

#[test]
fn a_step_gives_both_directions_new_values_and_leaves_the_others() {
    let link = link(
        "[[path.change]]\nat = \"2 s\"\nrate = \"50 Mbit/s\"\nloss = 0.01\n[[path.change]]\nat = \"4 s\"\nrtt = \"40 ms\"\n\
         buffer = \"1 bdp\"",
    );
    let expected =
        [(Span::secs(2), Rate::mbit(50), Span::ms(10)), (Span::secs(4), Rate::mbit(50), Span::ms(20))];
    assert_eq!((states(&link.forward), states(&link.reverse)), (expected.to_vec(), expected.to_vec()));
    let losses = |direction: &Direction| direction.states().map(|state| state.loss).collect::<Vec<f64>>();
    // As path.loss: of data.
    assert_eq!((losses(&link.forward), losses(&link.reverse)), (vec![0.0, 0.01, 0.01], vec![0.0; 3]));
    // That of the first rate and round-trip time.
    assert_eq!(link.forward.changes[1].buffer, Some(Bytes::new(250_000)));
}

#[test]
fn a_direction_changes_alone_and_the_round_trip_keeps_its_parts() {
    let alone = link("[[path.change]]\nat = \"1 s\"\ndirection = \"reverse\"\ndelay = \"3 ms\"\nloss = 0.5");
    assert_eq!(alone.forward.changes, []);
    let change = Change { at: Span::secs(1), delay: Some(Span::ms(3)), loss: Some(0.5), ..Change::default() };
    assert_eq!(alone.reverse.changes, [change]);
    let parts = link("forward.delay = \"5 ms\"\n[[path.change]]\nat = \"1 s\"\nrtt = \"40 ms\"");
    let delays = [&parts.forward, &parts.reverse].map(|direction| direction.changes[0].delay);
    assert_eq!(delays, [Some(Span::ms(10)), Some(Span::ms(30))]);
}

#[test]
fn a_ramp_is_a_hundred_equal_steps_and_ends_at_its_value() {
    let link = link("[[path.change]]\nat = \"1 s\"\nover = \"2 s\"\nrate = \"200 Mbit/s\"");
    let states = states(&link.forward);
    assert_eq!(states.len(), 100);
    assert_eq!((states[0].0, states[0].1), (Span::ms(1020), Rate::mbit(101)));
    assert_eq!((states[99].0, states[99].1), (Span::secs(3), Rate::mbit(200)));
}

#[test]
fn changes_come_again_until_the_run_ends() {
    let link = link(
        "[[path.change]]\nat = \"1 s\"\nevery = \"4 s\"\nrate = \"50 Mbit/s\"\n\
         [[path.change]]\nat = \"3 s\"\nevery = \"4 s\"\nrate = \"100 Mbit/s\"",
    );
    let times: Vec<i64> =
        link.forward.changes.iter().map(|change| change.at.nanoseconds() / 1_000_000_000).collect();
    assert_eq!(times, [1, 3, 5, 7, 9]);
    assert_eq!(link.forward.greatest_rate(), Rate::mbit(100));
}

#[test]
fn changes_after_the_end_are_no_mistake_but_told() {
    let study = study("[[path.change]]\nat = \"20 s\"\nrate = \"50 Mbit/s\"").unwrap();
    assert_eq!(study.runs[0].links[0].forward.changes, []);
    let told = "path.change: that at 20 s never happens, the run ends at 10 s";
    assert!(study.warnings.iter().any(|warning| warning.contains(told)), "{:?}", study.warnings);
}

#[test]
fn a_ramp_and_a_period_may_be_longer_than_the_run() {
    let link =
        link("[[path.change]]\nat = \"5 s\"\nover = \"10 s\"\nevery = \"40 s\"\nrate = \"200 Mbit/s\"");
    // Half of the ramp, without its last step, which would be at the end.
    assert_eq!(link.forward.changes.len(), 49);
    assert_eq!(link.forward.changes[48].rate, Some(Rate::mbit(149)));
}

#[test]
fn packets_that_are_overtaken_are_those_of_the_data_unless_a_direction_is_named() {
    let shared = link("reorder = { probability = 0.01, delay = \"1 ms\" }");
    let expected = Some(Reorder { probability: 0.01, delay: Span::ms(1) });
    assert_eq!((shared.forward.reorder, shared.reverse.reorder), (expected, None));
    let back = link("reverse.reorder = { probability = 0.01, delay = \"1 ms\" }");
    assert_eq!((back.forward.reorder, back.reverse.reorder), (None, expected));
    let wrong = fault("reorder = { probability = 2, delay = \"1 ms\" }");
    assert!(wrong.contains("path.reorder.probability: 2 is not a probability"), "{wrong}");
    assert!(fault("reorder = { probability = 0.1, delay = \"0 ms\" }").contains("path.reorder.delay: 0 s"));
}

#[test]
fn packets_that_arrive_twice_are_those_of_the_data_unless_a_direction_is_named() {
    let shared = link("duplicate = { probability = 0.01 }");
    let expected = |delay| Some(Duplicate { probability: 0.01, delay });
    assert_eq!((shared.forward.duplicate, shared.reverse.duplicate), (expected(Span::ZERO), None));
    let back = link("reverse.duplicate = { probability = 0.01, delay = \"1 ms\" }");
    assert_eq!((back.forward.duplicate, back.reverse.duplicate), (None, expected(Span::ms(1))));
    assert_eq!(link("duplicate = { probability = 0 }").forward.duplicate, None);
    let wrong = fault("duplicate = { probability = -1 }");
    assert!(wrong.contains("path.duplicate.probability: -1 is not a probability"), "{wrong}");
    let wrong = fault("duplicate = { probability = 0.1, delay = \"2 h\" }");
    assert!(wrong.contains("path.duplicate.delay: 7200 s is longer than an hour"), "{wrong}");
}

#[test]
fn forward_error_correction_is_that_of_the_data_unless_a_direction_is_named() {
    let fec = |hold| Some(Fec { data: 8, interleave: vec![1, 20, 40], flush: Span::ms(5), hold });
    let shared = link("fec = { data = 8, interleave = [1, 20, 40] }");
    assert_eq!((shared.forward.fec, shared.reverse.fec), (fec(Span::ZERO), None));
    let back = link("reverse.fec = { data = 8, interleave = [1, 20, 40], hold = \"10 ms\" }");
    assert_eq!((back.forward.fec, back.reverse.fec), (None, fec(Span::ms(10))));
    assert_eq!(link("fec = { data = 8, interleave = [] }").forward.fec, None);
    for (keys, expected) in [
        ("data = 0, interleave = [1]", "path.fec.data: 0 is out of range"),
        ("data = 65, interleave = [1]", "path.fec.data: 65 is out of range"),
        ("data = 8, interleave = [0]", "path.fec.interleave: 0 is out of range"),
        ("data = 8, interleave = [1, 1001]", "path.fec.interleave: 1001 is out of range"),
        ("data = 8, interleave = [20, 1]", "path.fec.interleave: 1 comes after 20"),
        ("data = 8, interleave = [1, 1]", "path.fec.interleave: 1 comes after 1"),
        (
            "data = 8, interleave = [1, 2, 3, 4, 5, 6, 7, 8, 9]",
            "path.fec.interleave: 9 layers are more than 8",
        ),
        ("data = 8, interleave = [1], flush = \"0 s\"", "path.fec.flush: 0 s is out of range"),
        ("data = 8, interleave = [1], hold = \"2 h\"", "path.fec.hold: 7200 s is longer than an hour"),
    ] {
        let message = fault(&format!("fec = {{ {keys} }}"));
        assert!(message.contains(expected), "{keys}: {message}");
    }
    let with = |other: &str| fault(&format!("fec = {{ data = 8, interleave = [1] }}\n{other}"));
    for (other, what) in [
        ("reorder = { probability = 0.1, delay = \"1 ms\" }", "`reorder`"),
        ("duplicate = { probability = 0.1 }", "`duplicate`"),
        ("queue = \"codel\"", "queue codel"),
        ("queue = \"fq-codel\"", "queue fq-codel"),
    ] {
        let message = with(other);
        assert!(message.contains(&format!("path.fec: not on a direction with {what}")), "{other}: {message}");
        assert!(message.contains("leave out fec"), "{other}: {message}");
    }
}

#[test]
fn a_run_without_changes_is_stored_as_before() {
    let run = &study("").unwrap().runs[0];
    let stored = serde_json::to_string(run).unwrap();
    assert!(["changes", "reorder", "duplicate", "fec"].iter().all(|key| !stored.contains(key)), "{stored}");
}

#[test]
fn mistakes_name_the_key_and_the_remedy() {
    let change = |keys: &str| fault(&format!("[[path.change]]\nat = \"1 s\"\n{keys}"));
    for (keys, expected) in [
        ("", "it changes nothing"),
        ("delay = \"1 ms\"", "path.change.delay: the direction is missing"),
        ("rtt = \"1 ms\"\ndirection = \"forward\"", "path.change.rtt: a round trip has both"),
        ("loss = 2", "path.change.loss: 2 is not a probability"),
        ("rate = \"200 Tbit/s\"", "path.change.rate: 200000 Gbit/s is more than"),
        ("buffer = \"100 B\"", "path.change.buffer: 100 B does not hold one packet"),
        (
            "rate = \"1 Gbit/s\"\nover = \"2 s\"\nevery = \"1 s\"",
            "path.change.every: it begins again before its 2 s",
        ),
    ] {
        let message = change(keys);
        assert!(message.contains(expected), "{keys}: {message}");
    }
    let early = fault(
        "[[path.change]]\nat = \"1 s\"\nover = \"4 s\"\nrate = \"1 Gbit/s\"\n[[path.change]]\nat = \"3 s\"\nrate = \"2 Gbit/s\"",
    );
    assert!(early.contains("at 3 s the change before it is not over until 5 s"), "{early}");
    let codel = fault("queue = \"codel\"\n[[path.change]]\nat = \"1 s\"\nbuffer = \"1 MB\"");
    assert!(codel.contains("the room of queue codel cannot change"), "{codel}");
}

/// A folder with a file of that name, and the scenario's name in it.
fn folder(file: &str, content: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(file), content).unwrap();
    let scenario = folder.path().join("t.toml").display().to_string();
    (folder, scenario)
}

#[test]
fn a_table_in_a_file_is_read_from_the_scenarios_folder() {
    let (_folder, scenario) = folder(
        "sat.csv",
        "# a satellite\ntime (s), rate (Mbit/s), rtt, loss, buffer\n0, 120, 45 ms, 1e-4,\n2.5, 60, , , 1 MB\n",
    );
    let study = study_in(&scenario, "schedule = { csv = \"sat.csv\", every = \"4 s\" }").unwrap();
    let forward = &study.runs[0].links[0].forward;
    let seconds: Vec<f64> = forward.changes.iter().map(|change| change.at.as_secs_f64()).collect();
    assert_eq!(seconds, [0.0, 2.5, 4.0, 6.5, 8.0]);
    let first = Change {
        at: Span::ZERO,
        rate: Some(Rate::mbit(120)),
        delay: Some(Span::us(22_500)),
        loss: Some(1e-4),
        buffer: None,
    };
    assert_eq!(forward.changes[0], first);
    assert_eq!(forward.changes[1].buffer, Some(Bytes::new(1_000_000)));
    assert_eq!(study.runs[0].links[0].reverse.changes[0].loss, None);
    assert_eq!(study.data_files, [Path::new(&scenario).with_file_name("sat.csv")]);
}

#[test]
fn a_trace_of_mahimahi_gives_each_millisecond_the_rate_of_its_packets() {
    // Two packets in the first millisecond, one in the third; it begins again after four, with that of the last line.
    let (_folder, scenario) = folder("up", "0\n0\n2\n4\n");
    let study = study_in(&scenario, "forward.schedule = { mahimahi = \"up\" }").unwrap();
    let link = &study.runs[0].links[0];
    let first: Vec<(i64, u64)> = link.forward.changes[..5]
        .iter()
        .map(|change| (change.at.nanoseconds() / 1_000_000, change.rate.unwrap().get() / 12_032_000))
        .collect();
    assert_eq!(first, [(0, 3), (1, 0), (2, 1), (3, 0), (4, 3)]);
    assert_eq!(link.reverse.changes, []);
}

#[test]
fn mistakes_in_files_name_the_line() {
    for (content, expected) in [
        ("time,speed\n1 s,2\n", "unknown column `speed`"),
        ("rate\n1 Gbit/s\n", "no column is called `time`"),
        ("time,rate\n1 s,5\n", "rate: "),
        ("time,rate\n2 s,1 Gbit/s\n1 s,1 Gbit/s\n", "1 s is not after the time of the line before"),
        ("time,rate\n", "no line but that of the columns"),
        ("time,rate\n1 s,1 Gbit/s,7\n", "3 values for 2 columns"),
        ("time,delay\n1 s,1 ms\n", "delay: the direction is missing"),
    ] {
        let (_folder, scenario) = folder("f.csv", content);
        let message = study_in(&scenario, "schedule = { csv = \"f.csv\" }").expect_err(content);
        assert!(message.contains(expected) && message.contains("f.csv:"), "{content}: {message}");
    }
    let (_folder, scenario) = folder("t", "1\nx\n");
    let message = study_in(&scenario, "schedule = { mahimahi = \"t\" }").expect_err("no number");
    assert!(message.contains("`x` is not a number of milliseconds") && message.contains("t:2"), "{message}");
    let missing = fault("schedule = { csv = \"nowhere.csv\" }");
    assert!(missing.contains("path.schedule.csv: nowhere.csv: No such file"), "{missing}");
    let both = fault("schedule = { csv = \"a\", mahimahi = \"b\" }");
    assert!(both.contains("one file, of one kind"), "{both}");
}
