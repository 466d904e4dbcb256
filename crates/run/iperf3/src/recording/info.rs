//! `run.json` of an imported test: what it was, whose word each number is, and what is not in it.

use super::flow::Flow;
use super::{Sides, Source};
use crate::import::{Cpu, Length, Protocol, Report, Side};
use serde_json::json;
use std::collections::BTreeMap;
use wirespeed_record::{FlowInfo, FlowSample, HostInfo, RunInfo, SubstrateKind, Transport};

/// Before the names of imported runs, and the key of the test's own settings.
const PREFIX: &str = "iperf3";
/// An end that is early by no more than this is the end that was asked for, in nanoseconds.
const EARLY_NS: u64 = 5_000_000;
/// So much of a test's cookie names its run.
const NAME: usize = 8;

/// The host's name in a recording.
pub fn host_name(report: &Report) -> &'static str {
    match report.side {
        Side::Client { .. } => "client",
        Side::Server { .. } => "server",
    }
}

/// The other one.
pub fn other(name: &str) -> &'static str {
    if name == "client" { "server" } else { "client" }
}

pub fn of(sides: &Sides, flows: &[Flow], step_ns: i64, rows: &[FlowSample]) -> RunInfo {
    let lead = &sides.leading().report;
    let last_ns = flows.iter().map(Flow::end_ns).chain(rows.iter().map(|row| row.t_ns)).max().unwrap_or(0);
    let ends = flows.iter().flat_map(|flow| flow.sender.iter().chain(&flow.receiver));
    let omit_ns = ends.map(|end| end.omitted_ns()).max().unwrap_or(0);
    // A timer that was early by a hair would take the last interval from rates over whole seconds.
    let asked_ns = match lead.length {
        Length::Time(ns) => omit_ns.saturating_add(ns),
        _ => 0,
    };
    let end_ns = if asked_ns.abs_diff(last_ns) <= EARLY_NS { asked_ns.max(last_ns) } else { last_ns };
    let from: Vec<&str> = sides.all().map(|source| source.name.as_str()).collect();
    RunInfo {
        id: name(lead),
        study: "iperf3".into(),
        about: format!("{}; imported from {}.", what(lead, flows), from.join(" and ")),
        substrate: SubstrateKind::Iperf3,
        duration_ns: end_ns,
        omit_ns,
        sample_ns: step_ns,
        hosts: ["client", "server"].map(|host| described(host, sides, flows)).into(),
        flows: flows.iter().map(|flow| flow_info(flow, lead, end_ns)).collect(),
        scenario: json!({ PREFIX: lead.settings }),
        warnings: warnings(sides, flows),
        ..RunInfo::default()
    }
}

/// Names the run: the same test has the same name.
fn name(report: &Report) -> String {
    let cookie = report.cookie.iter().flat_map(|cookie| cookie.chars());
    let short: String = cookie.filter(char::is_ascii_alphanumeric).take(NAME).collect();
    if short.is_empty() { PREFIX.into() } else { format!("{PREFIX}-{short}") }
}

/// The test in a few words.
fn what(report: &Report, flows: &[Flow]) -> String {
    let protocol = if report.protocol == Protocol::Tcp { "TCP" } else { "UDP" };
    let count = |from: &str| flows.iter().filter(|flow| flow.from == from).count();
    let streams = |from: &str| match count(from) {
        0 => None,
        1 => Some(format!("one stream from {from} to {}", other(from))),
        n => Some(format!("{n} streams from {from} to {}", other(from))),
    };
    let ways: Vec<String> = ["client", "server"].iter().filter_map(|from| streams(from)).collect();
    let seconds = |ns: i64| format!("{} s", ns as f64 / 1e9);
    let length = match report.length {
        Length::Time(ns) => format!(" for {}", seconds(ns)),
        Length::Bytes(bytes) => format!(", {bytes} bytes"),
        Length::Blocks(blocks) => format!(", {blocks} blocks"),
        Length::Unknown => String::new(),
    };
    let rate = report.target_bps.map_or(String::new(), |rate| format!(" at {} Mbit/s", rate as f64 / 1e6));
    let omitted = if report.omit_ns > 0 {
        format!(", after {} that are left out", seconds(report.omit_ns))
    } else {
        String::new()
    };
    format!("iperf3: {protocol}, {}{rate}{length}{omitted}", ways.join(" and "))
}

fn flow_info(flow: &Flow, lead: &Report, end_ns: i64) -> FlowInfo {
    FlowInfo {
        label: flow.label.clone(),
        kind: if flow.protocol == Protocol::Tcp { Transport::Tcp } else { Transport::Udp },
        congestion: congestion(flow, lead),
        from: flow.from.into(),
        to: flow.to.into(),
        start_ns: 0,
        stop_ns: end_ns,
        ..FlowInfo::default()
    }
}

/// The sending side's congestion control. Of a test both ways iperf3 names one for each side, and not which way.
fn congestion(flow: &Flow, lead: &Report) -> Option<String> {
    let reports = [flow.sender.map(|end| end.report), Some(lead)];
    let ways = lead.streams.iter().any(|stream| stream.sends != lead.streams[0].sends);
    reports.into_iter().flatten().find_map(|report| {
        let named = &report.congestion;
        named.sender.clone().filter(|name| !ways || named.receiver.as_ref().is_none_or(|other| other == name))
    })
}

fn described(host: &str, sides: &Sides, flows: &[Flow]) -> HostInfo {
    let mut settings = BTreeMap::new();
    let mut set =
        |name: &str, value: Option<String>| drop(value.map(|value| settings.insert(name.into(), value)));
    let own = sides.all().map(|source| &source.report).find(|report| host_name(report) == host);
    let far = sides.all().map(|source| &source.report).find(|report| host_name(report) != host);
    let address = own.map(|report| &report.streams[0].local).or(far.map(|report| &report.streams[0].remote));
    set("address", address.map(|end| end.host.clone()));
    let file = sides.all().find(|source| host_name(&source.report) == host).map(|source| source.name.clone());
    set("imported_from", file);
    if let Some(report) = own {
        set("iperf3.version", report.version.clone());
        set("system", report.system.clone());
        set("started_unix_s", report.started_unix_s.map(|seconds| seconds.to_string()));
        set("cpu.process", report.cpu.map(cpu_text));
    } else {
        set("cpu.process", far.and_then(|report| report.peer_cpu).map(cpu_text));
    }
    for flow in flows.iter().filter(|flow| flow.to == host) {
        let Some(received) = flow.received() else { continue };
        let by = if flow.receiver.is_none() { ", its word to the other side" } else { "" };
        let total = received.bytes.map(|bytes| match received.lasted_ns {
            Some(ns) => format!("{bytes} bytes in {} s{by}", ns as f64 / 1e9),
            None => format!("{bytes} bytes{by}"),
        });
        set(&format!("received.{}", flow.label), total);
        set(&format!("jitter.{}", flow.label), received.jitter_ms.map(|ms| format!("{ms:.4} ms{by}")));
        let late = received.out_of_order.filter(|late| *late > 0);
        set(&format!("out_of_order.{}", flow.label), late.map(|count| format!("{count} datagrams")));
    }
    HostInfo { name: host.into(), settings, ..Default::default() }
}

fn cpu_text(cpu: Cpu) -> String {
    let Cpu { total_percent, user_percent, system_percent } = cpu;
    format!("{total_percent:.1} % of a core (user {user_percent:.1}, system {system_percent:.1})")
}

fn warnings(sides: &Sides, flows: &[Flow]) -> Vec<String> {
    let told = |source: &Source| {
        let version = source.report.version.clone().unwrap_or_else(|| "iperf3".into());
        format!("{} ({}, {version})", source.name, host_name(&source.report))
    };
    let files: Vec<String> = sides.all().map(told).collect();
    let tcp = flows.iter().any(|flow| flow.protocol == Protocol::Tcp);
    let packets = if tcp { "packets, " } else { "single datagrams, " };
    let mut warnings = vec![format!(
        "imported from {}: iperf3 tells nothing of {packets}queues, interfaces and counters of the hosts, so these are \
         absent here",
        files.join(" and ")
    )];
    for source in sides.all() {
        if let Some(error) = &source.report.error {
            warnings.push(format!("{}: the test ended early, iperf3 says \"{error}\"", source.name));
        }
    }
    if flows.iter().any(|flow| flow.receiver.is_none()) {
        let total = match flows.iter().all(|flow| flow.receiver.is_some() || flow.received().is_some()) {
            true => "what arrived is known in total only, by the receiver's word",
            false => "what arrived is not known at all",
        };
        let (what, ahead) = match tcp {
            true => ("wrote to its socket", "by at most the send buffer and what is under way"),
            false => ("sent", "by what was lost"),
        };
        warnings.push(format!(
            "goodput over time is what the sender {what}, which is more than arrived {ahead}; {total}. With the JSON of \
             the receiving side too (iperf3 -J there, or --get-server-output) it is what was received"
        ));
    }
    if sides.client.is_some() && sides.server.is_some() {
        warnings.push(
            "times of client and server are each its own, from the test's start there; by how much they differ is not \
             recorded"
                .into(),
        );
    }
    warnings
}
