//! Data sets of files over parallel streams, and requests with their responses.

use std::fs;
use std::path::Path;
use wirespeed_scenario::run::{Application, Run};
use wirespeed_scenario::{Study, load, parse};
use wirespeed_units::{Bytes, Span};

fn text(flows: &str, run: &str) -> String {
    format!(
        "schema = 1\nname = \"t\"\n[path]\nrate = \"10 Gbit/s\"\nrtt = \"1 ms\"\nbuffer = \"1 bdp\"\n{flows}\n\
         [run]\nduration = \"10 s\"\n{run}"
    )
}

fn study(flows: &str, run: &str) -> Result<Study, String> {
    parse(&text(flows, run), "t.toml", &[], None).map_err(|error| format!("{error:#}"))
}

fn run(flows: &str) -> Run {
    study(flows, "").unwrap().runs.remove(0)
}

#[test]
fn streams_are_flows_of_one_group_that_share_the_files() {
    let found = run("[[flow]]\n[[flow]]\nlabel = \"data\"\nstreams = 3\nfiles = [\"1 GB\", \"20 MB\"]");
    let labels: Vec<&str> = found.flows.iter().map(|flow| flow.label.as_str()).collect();
    assert_eq!(labels, ["cubic", "data-1", "data-2", "data-3"]);
    assert_eq!(found.flow_groups(), ["cubic", "data", "data", "data"]);
    let sets: Vec<Option<usize>> = found.flows.iter().map(|flow| flow.data_set()).collect();
    assert_eq!(sets, [None, Some(0), Some(0), Some(0)]);
    assert_eq!(found.data_sets[0].files, [Bytes::new(1_000_000_000), Bytes::new(20_000_000)]);
    assert_eq!(
        (found.data_sets[0].label.as_str(), found.data_sets[0].bytes().get()),
        ("data", 1_020_000_000)
    );
    let stored = serde_json::to_string(&found).unwrap();
    assert_eq!(Run::from_json(&stored).unwrap(), found);
}

#[test]
fn files_are_given_by_number_drawn_or_listed() {
    let same = run("[[flow]]\nfiles = { count = 3, bytes = \"5 MB\" }");
    assert_eq!(same.data_sets[0].files, vec![Bytes::new(5_000_000); 3]);
    let drawn = "[[flow]]\nfiles = { count = 50, sizes = \"web-search\" }";
    let runs = study(drawn, "repeat = 2\n").unwrap().runs;
    assert_eq!(runs, study(drawn, "repeat = 2\n").unwrap().runs);
    let [first, second] = [0, 1].map(|repeat| &runs[repeat].data_sets[0].files);
    assert!(first.len() == 50 && second.len() == 50 && first != second);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sizes.txt"), "# a run of an experiment\n2 MB\n\n300\n").unwrap();
    let scenario = folder.path().join("t.toml");
    fs::write(&scenario, text("[[flow]]\nfiles = { list = \"sizes.txt\" }", "")).unwrap();
    let found = load(&scenario, &[], None).unwrap();
    assert_eq!(found.runs[0].data_sets[0].files, [Bytes::new(2_000_000), Bytes::new(300)]);
    assert_eq!(found.data_files, [folder.path().join("sizes.txt")], "a bundle packs it");
    fs::write(folder.path().join("sizes.txt"), "2 MB\nlarge\n").unwrap();
    let error = format!("{:#}", load(Path::new(&scenario), &[], None).unwrap_err());
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn responses_are_of_one_size_or_drawn_for_each_flow() {
    let found = run("[[flow]]\ncount = 2\nrequests = { response = \"10 kB\", think = \"5 ms\", count = 7 }");
    let expected = Application::Requests {
        request: Bytes::new(100),
        responses: vec![Bytes::new(10_000)],
        think: Span::ms(5),
        count: Some(7),
    };
    assert!(found.flows.iter().all(|flow| flow.application.as_ref() == Some(&expected)));
    let drawn = run("[[flow]]\ncount = 2\nrequests = { responses = \"web-search\", count = 7 }");
    let sizes = |flow: usize| match &drawn.flows[flow].application {
        Some(Application::Requests { responses, .. }) => responses.clone(),
        other => panic!("{other:?}"),
    };
    assert!(sizes(0).len() == 7 && sizes(0) != sizes(1));
}

#[test]
fn mistakes_are_named_with_their_place_and_the_remedy() {
    for (flow, words) in [
        ("streams = 3", ["flow.files is missing", "flow.streams"]),
        ("files = []", ["flow.files", "above zero"]),
        ("files = [\"0 B\"]", ["flow.files", "above zero"]),
        ("files = 3", ["a list of sizes", "`3`"]),
        ("files = { count = 3 }", ["either bytes or sizes", "count = 100"]),
        ("files = { count = 3, list = \"x\" }", ["either count or list", "count = 100"]),
        ("files = { count = 0, bytes = \"1 B\" }", ["flow.files.count", "from 1 to 100000"]),
        ("files = { count = 3, byte = \"1 MB\" }", ["unknown key `byte`", "did you mean `bytes`"]),
        (
            "files = { count = 3, sizes = { kind = \"lognormal\", median = \"0 B\", sigma = 1 } }",
            ["flow.files.sizes.median", "send nothing"],
        ),
        ("files = { list = \"no.txt\" }", ["no.txt", "from the scenario's folder"]),
        ("files = [\"1 MB\"]\nbytes = \"1 MB\"", ["flow.bytes", "remove one of both"]),
        ("files = [\"1 MB\"]\ncount = 3", ["flow.count", "remove one of both"]),
        (
            "files = [\"1 MB\"]\narrivals = { every = \"1 s\" }",
            ["flow.arrivals", "keeps its connections open"],
        ),
        ("files = [\"1 MB\"]\nkind = \"udp\"\nrate = \"1 Mbit/s\"", ["flow.files", "kind = \"tcp\""]),
        ("files = [\"1 MB\"]\nrequests = { response = \"1 kB\" }", ["flow.requests", "two [[flow]] tables"]),
        ("requests = {}", ["either response or responses", "response = \"10 kB\""]),
        ("requests = { response = \"1 kB\", size = \"8 B\" }", ["flow.requests.size", "from 24 B"]),
        ("requests = { response = \"1 kB\", count = 0 }", ["flow.requests.count", "leave it out"]),
        ("requests = { response = \"1 kB\" }\nstreams = 2", ["flow.streams", "remove one of both"]),
    ] {
        let error = study(&format!("[[flow]]\n{flow}"), "").expect_err(flow);
        assert!(words.iter().all(|word| error.contains(word)), "{flow}: {error}");
    }
}

#[test]
fn a_splitter_refuses_applications() {
    let path = "[topology]\nkind = \"parking-lot\"\nhops = 2\n[host.box]\nrouter = 1\nrole = \"splitter\"\n";
    let error = study(&format!("{path}[[flow]]\nfiles = [\"1 MB\"]"), "").unwrap_err();
    assert!(error.contains("flow.files: a splitter is between its hosts"), "{error}");
}

#[test]
fn a_run_whose_application_is_impossible_is_rejected() {
    let mut found = run("[[flow]]\nfiles = [\"1 MB\"]");
    found.flows[0].application = Some(Application::DataSet { set: 1 });
    let error = Run::from_json(&serde_json::to_string(&found).unwrap()).unwrap_err().to_string();
    assert!(error.contains("there is no data set 1"), "{error}");
}
