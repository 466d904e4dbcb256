//! Recorded runs as points of a plan.

use std::collections::BTreeMap;
use wirespeed_plan::{Misfit, Point, RecordedRun};
use wirespeed_record::{
    Applications, FlowInfo, HostInfo, HostModel, Interrupts, LinkInfo, RunInfo, SubstrateKind, Transport,
};
use wirespeed_scenario::{Run, parse};
use wirespeed_units::{Bytes, Rate, Span};

/// A run of four flows, with more lines of its path, its flows and the whole scenario.
fn run(path: &str, flow: &str, more: &str) -> Run {
    let text = format!(
        "schema = 1\nname = \"t\"\n[path]\nrate = \"10 Gbit/s\"\nrtt = \"20 ms\"\nloss = 1e-5\nbuffer = \"6 MB\"\n{path}\n\
         [[flow]]\ncount = 4\ncongestion = \"cubic\"\n{flow}\n{more}\n[run]\nduration = \"10 s\"\n"
    );
    parse(&text, "t.toml", &[], None).unwrap_or_else(|error| panic!("{error:?}\n{text}")).runs.swap_remove(0)
}

/// What a substrate notes of a run.
fn info(run: &Run, substrate: SubstrateKind) -> RunInfo {
    let link = &run.links[0];
    let flow = |flow: &wirespeed_scenario::run::Flow| FlowInfo {
        label: flow.label.clone(),
        kind: Transport::Tcp,
        congestion: Some("cubic".into()),
        from: flow.from.clone(),
        to: flow.to.clone(),
        base_rtt_ns: link.rtt().nanoseconds(),
        bytes: flow.bytes.map(Bytes::get),
        ..FlowInfo::default()
    };
    let described = |link: &wirespeed_scenario::run::Link| LinkInfo {
        rate_bps: link.forward.rate.get(),
        buffer_bytes: link.forward.buffer.get(),
        rtt_ns: link.rtt().nanoseconds(),
        ..LinkInfo::default()
    };
    let host = |name: &str| HostInfo { name: name.into(), ..HostInfo::default() };
    RunInfo {
        substrate,
        scenario: run.recorded(),
        links: run.links.iter().map(described).collect(),
        flows: run.flows.iter().map(flow).collect(),
        hosts: run.hosts.iter().map(|of| host(&of.name)).collect(),
        ..RunInfo::default()
    }
}

fn metrics() -> BTreeMap<&'static str, f64> {
    BTreeMap::from([("goodput_bps", 3e9), ("rtt_min_ns", 21e6), ("loss_fraction", 2e-4)])
}

#[test]
fn settings_of_an_emulated_path_are_those_of_the_scenario() {
    let run = run("", "", "[host.sender]\nmtu = \"9000 B\"\n[host.receiver]\nmtu = \"9000 B\"");
    for substrate in [SubstrateKind::Model, SubstrateKind::Kernel, SubstrateKind::Netns] {
        let found = RecordedRun::of("a", &info(&run, substrate), &metrics()).unwrap();
        let point = Point {
            congestion: "cubic".into(),
            flows: 4,
            loss: 1e-5,
            rtt: Span::ms(20),
            buffer: Bytes::new(6_000_000),
            mtu: Bytes::new(9000),
            cores: None,
        };
        let expected =
            RecordedRun { name: "a".into(), substrate, rate: Rate::gbit(10), point, goodput_bps: 3e9 };
        assert_eq!(found, expected);
    }
}

#[test]
fn rtt_loss_and_mtu_of_real_hosts_are_measured() {
    let mut info = info(&run("", "", ""), SubstrateKind::Hosts);
    let setting = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    info.hosts[0].settings = setting("interface.mtu", "9000");
    info.hosts[1].settings = setting("path_mtu.sender", "4000");
    let found = RecordedRun::of("a", &info, &metrics()).unwrap().point;
    assert_eq!((found.rtt, found.loss, found.mtu), (Span::ms(21), 2e-4, Bytes::new(4000)));
    assert_eq!(found.buffer, Bytes::new(6_000_000));
}

#[test]
fn hyper_threads_of_one_core_count_once() {
    let mut info = info(&run("", "", ""), SubstrateKind::Model);
    let model = HostModel {
        nodes: Some(2),
        cores_per_node: Some(8),
        interrupts: Some(Interrupts::Cores(vec![8, 9])),
        applications: Some(Applications::Pinned(vec![9, 10, 24])),
        ..HostModel::default()
    };
    info.hosts[0].host_model = Some(model.clone());
    let cores = |info: &RunInfo| RecordedRun::of("a", info, &metrics()).unwrap().point.cores;
    assert_eq!(cores(&info), None, "the receiver has no host model");
    info.hosts[1].host_model = Some(model.clone());
    assert_eq!(cores(&info), Some(3), "8, 9 and 10; 24 is the twin of 8");
    info.hosts[1].host_model =
        Some(HostModel { interrupts: Some(Interrupts::MovedEvery(Span::secs(10))), ..model });
    assert_eq!(cores(&info), None, "irqbalance uses all cores of the receiver");
}

#[test]
fn runs_that_a_plan_cannot_have_are_rejected_with_the_reason() {
    let reason = |run: &Run| RecordedRun::of("a", &info(run, SubstrateKind::Model), &metrics()).unwrap_err();
    assert_eq!(reason(&run("queue = \"fq-codel\"", "", "")), Misfit::Path);
    assert_eq!(reason(&run("", "bytes = \"1 GB\"", "")), Misfit::Traffic);
    assert_eq!(reason(&run("", "max_rate = \"1 Gbit/s\"", "")), Misfit::Traffic);
    let two = run("", "", "[[flow]]\ncongestion = \"reno\"");
    let mut mixed = info(&two, SubstrateKind::Model);
    mixed.flows[4].congestion = Some("reno".into());
    assert_eq!(RecordedRun::of("a", &mixed, &metrics()), Err(Misfit::Traffic));
    let plain = run("", "", "");
    let mut imported = info(&plain, SubstrateKind::Iperf3);
    imported.scenario = RunInfo::default().scenario;
    assert_eq!(RecordedRun::of("a", &imported, &metrics()), Err(Misfit::Settings));
    assert_eq!(
        RecordedRun::of("a", &info(&plain, SubstrateKind::Model), &BTreeMap::new()),
        Err(Misfit::Goodput)
    );
}
