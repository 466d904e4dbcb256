//! Writes a report over synthetic recordings, to look at: `cargo run -p wirespeed-report --example specimen -- OUT.html`.
//! With a second argument, a folder, the SVGs go there; the terminal's table is printed.
#![allow(clippy::print_stdout, reason = "an example that is looked at")]

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use wirespeed_metrics::{all, evaluate, per_flow, per_group};
use wirespeed_record::{
    Cause, Cost, Direction, Entry, Event, EventKind, FlowInfo, FlowSample, HostInfo, HostSample, KernelInfo,
    LedgerRow, LinkInfo, QueueSample, Recording, RunInfo, Stage, SubstrateKind, ToolInfo, Transport,
};
use wirespeed_report::{Builder, ExpectOutcome, GroupResult, MetricValue, RunResult, StudyInfo};

const STEP_NS: i64 = 10_000_000;
const MSS: f64 = 1448.0;
const FRAME: f64 = 1514.0;

fn main() -> Result<(), std::io::Error> {
    let mut arguments = env::args().skip(1);
    let page = arguments.next().unwrap_or_else(|| "specimen.html".into());
    let kind = env::var("SPECIMEN").unwrap_or_default();
    let mut builder = Builder::new(StudyInfo {
        name: "Synthetic specimen: random loss at 9.5 Gbit/s".into(),
        about: "Made-up curves, not measurements: this page shows what a report looks like. \
                How much do random losses cost each congestion control at 12.2 ms?"
            .into(),
        command: "wirespeed run scenarios/first-look.toml --on kernel".into(),
        scenario_text: SCENARIO.into(),
        generated_by: "the specimen example of wirespeed-report".into(),
        figures: Vec::new(),
    });
    match kind.as_str() {
        "sweep" => {
            for loss in [1e-6, 1e-5, 1e-4] {
                for control in ["reno", "cubic", "bic"] {
                    for repeat in 0..5 {
                        add(&mut builder, run(&[control], loss, repeat, true, 12.2));
                    }
                }
            }
            builder.add_incomplete("lossy--bbr-1e-4-r3", "the kernel did not answer for 300 s of wall time");
        }
        "flows" => {
            add(&mut builder, run(&["cubic", "cubic", "cubic"], 0.0, 0, false, 12.2));
            add(&mut builder, run(&["reno", "bic"], 0.0, 0, false, 12.2));
        }
        _ => {
            for control in ["reno", "cubic", "bic", "bbr"] {
                add(&mut builder, run(&[control], 1e-5, 0, false, 12.2));
            }
        }
    }
    let report = builder.finish();
    fs::write(&page, report.html())?;
    if let Some(folder) = arguments.next() {
        fs::create_dir_all(&folder)?;
        for (name, svg) in report.svgs() {
            fs::write(Path::new(&folder).join(name), svg)?;
        }
    }
    println!("{}", report.terminal(100, false));
    Ok(())
}

const IN_MEMORY: &str = "the samples are in memory";

fn add(builder: &mut Builder, recording: Recording) {
    let values = |values: BTreeMap<&str, f64>| -> Vec<MetricValue> {
        let row = |m: &wirespeed_metrics::Metric| {
            let value = *values.get(m.name)?;
            Some(MetricValue { name: m.name.into(), unit: m.unit.into(), value, headline: m.headline })
        };
        all().iter().filter_map(row).collect()
    };
    let metrics = values(evaluate(&recording).expect(IN_MEMORY));
    let view = wirespeed_metrics::View::new(&recording).expect(IN_MEMORY);
    let per_flow = (0..recording.info.flows.len() as u32)
        .map(|flow| values(per_flow::evaluate_flow(&view, flow).expect(IN_MEMORY)))
        .collect();
    let per_group = per_group::evaluate_groups(&view).expect(IN_MEMORY).into_iter();
    let per_group =
        per_group.map(|found| GroupResult { group: found.group, metrics: values(found.values) }).collect();
    let utilisation = metrics.iter().find(|m| m.name == "link_utilisation").map(|m| m.value);
    let expectations = vec![ExpectOutcome {
        metric: "link_utilisation".into(),
        bound: "at least 0.5".into(),
        value: utilisation,
        passed: utilisation.is_some_and(|u| u >= 0.5),
    }];
    builder
        .add(RunResult { metrics, per_flow, per_group, expectations, ..RunResult::of(&recording) })
        .expect(IN_MEMORY);
}

/// A generator for made-up data: xorshift.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

struct Flow {
    control: &'static str,
    start: i64,
    cwnd: f64,
    ssthresh: Option<f64>,
    top: f64,
    since_loss: f64,
    delivered: f64,
    sent_packets: f64,
    lost: f64,
    probe_since: f64,
}

/// Windows that grow and shrink about as those of the controls do, over a fluid queue.
fn run(controls: &[&'static str], loss: f64, repeat: u32, swept: bool, rtt_ms: f64) -> Recording {
    let rate: f64 = 9.5e9;
    let base = rtt_ms / 1e3;
    let buffer = rate / 8.0 * base;
    let (duration, step) = (60.0, STEP_NS as f64 / 1e9);
    let mut dice =
        Dice(0x9e37_79b9 + u64::from(repeat) * 7919 + (loss * 1e9) as u64 + controls[0].len() as u64);
    let mut flows: Vec<Flow> = controls
        .iter()
        .enumerate()
        .map(|(i, control)| Flow {
            control,
            start: i as i64 * 2_000_000_000,
            cwnd: 10.0 * MSS,
            ssthresh: None,
            top: 0.0,
            since_loss: 0.0,
            delivered: 0.0,
            sent_packets: 0.0,
            lost: 0.0,
            probe_since: 0.0,
        })
        .collect();
    let mut recording = Recording { info: info(controls, loss, repeat, swept, base), ..Recording::default() };
    let (mut queue, mut sent, mut dropped, mut random) = (0.0_f64, 0.0_f64, 0.0_f64, 0.0_f64);
    for tick in 0..=(duration / step) as i64 {
        let t_ns = tick * STEP_NS;
        let rtt = base + queue * 8.0 / rate;
        let live: Vec<usize> = (0..flows.len()).filter(|i| flows[*i].start <= t_ns).collect();
        let offered: f64 = live.iter().map(|i| flows[*i].cwnd / rtt).sum::<f64>() * step;
        let served = (queue + offered).min(rate / 8.0 * step);
        queue = queue + offered - served;
        let overflow = (queue - buffer).max(0.0);
        queue = queue.min(buffer);
        for &i in &live {
            let flow = &mut flows[i];
            let share = if offered > 0.0 { flow.cwnd / rtt * step / offered } else { 0.0 };
            let bytes = served * share;
            flow.delivered += bytes * MSS / FRAME;
            flow.sent_packets += bytes / FRAME;
            let hits = poisson(&mut dice, bytes / FRAME * loss);
            let full = if overflow > 0.0 { (overflow * share / FRAME).ceil().min(400.0) } else { 0.0 };
            flow.lost += hits + full;
            random += hits;
            dropped += full;
            evolve(flow, hits + full > 0.0, rtt, base, rate, step, t_ns as f64 / 1e9);
            recording.flows.push(sample(t_ns, i as u32, flow, rtt, base, rate));
        }
        sent += served;
        recording.queues.push(queue_sample(
            t_ns,
            "bottleneck/forward",
            "tbf",
            queue,
            sent,
            dropped,
            Some(random),
        ));
        recording.queues.push(queue_sample(t_ns, "sender/qdisc", "fq", queue * 0.02, sent, 0.0, None));
        recording.hosts.push(host_sample(t_ns, sent));
    }
    let sent: f64 = flows.iter().map(|f| f.sent_packets + f.lost).sum::<f64>().floor();
    let flight = flows.iter().map(|f| (f.cwnd / MSS).floor()).sum::<f64>();
    recording.info.cost =
        Cost { wall_s: 71.3, cpu_s: 70.9, packets: sent as u64, peak_rss_bytes: 412_000_000 };
    recording.ledger = ledger(sent as i64, random as i64, dropped as i64, flight as i64);
    recording.events = flows
        .iter()
        .enumerate()
        .map(|(i, flow)| Event {
            t_ns: flow.start,
            kind: EventKind::FlowStart,
            flow: Some(i as u32),
            host: Some("sender".into()),
            detail: String::new(),
            burst_packet: None,
        })
        .collect();
    recording
}

fn poisson(dice: &mut Dice, mean: f64) -> f64 {
    let (mut n, mut product, floor) = (0.0, dice.roll(), (-mean.min(30.0)).exp());
    while product > floor {
        n += 1.0;
        product *= dice.roll();
    }
    n
}

fn evolve(flow: &mut Flow, is_lost: bool, rtt: f64, base: f64, rate: f64, step: f64, now: f64) {
    let bdp = rate / 8.0 * base;
    flow.since_loss += step;
    if flow.control == "bbr" {
        // Every 10 s it drains the pipe for 0.2 s to see the bare path.
        flow.probe_since += step;
        let is_probe = flow.probe_since > 10.0;
        if flow.probe_since > 10.2 {
            flow.probe_since = 0.0;
        }
        let target = if is_probe { 4.0 * MSS } else { 1.15 * bdp * (1.0 + 0.08 * (now * 10.2).sin()) };
        flow.cwnd = if now < 1.0 { (flow.cwnd * (1.0 + step / rtt)).min(target) } else { target };
        return;
    }
    if is_lost && flow.since_loss > rtt * 2.0 {
        let keep = match flow.control {
            "reno" => 0.5,
            "cubic" => 0.7,
            _ => 0.8,
        };
        flow.top = flow.cwnd;
        flow.cwnd = (flow.cwnd * keep).max(2.0 * MSS);
        flow.ssthresh = Some(flow.cwnd);
        flow.since_loss = 0.0;
        return;
    }
    let rounds = step / rtt;
    flow.cwnd = match (flow.ssthresh, flow.control) {
        (None, _) => flow.cwnd * (1.0 + rounds),
        (_, "reno") => flow.cwnd + MSS * rounds,
        (_, "cubic") => {
            let segments = flow.top / MSS;
            let k = (segments * 0.3 / 0.4_f64).cbrt();
            ((0.4 * (flow.since_loss - k).powi(3) + segments) * MSS).max(flow.cwnd)
        }
        _ => {
            let gap = (flow.top - flow.cwnd) / 2.0;
            flow.cwnd + gap.clamp(MSS, 32.0 * MSS).max(if gap < 0.0 { 16.0 * MSS } else { 0.0 }) * rounds
        }
    };
}

fn sample(t_ns: i64, number: u32, flow: &Flow, rtt: f64, base: f64, rate: f64) -> FlowSample {
    let is_bbr = flow.control == "bbr";
    let delivered = flow.delivered as u64;
    let packets = (flow.delivered / MSS) as u64;
    let mut row: Value = json!({
        "t_ns": t_ns, "flow": number, "delivered_bytes": delivered, "read_bytes": delivered, "sent_bytes": delivered,
        "data_packets_out": packets, "data_packets_in": packets, "acked_bytes": delivered,
        "retrans_packets": flow.lost as u64, "cwnd_bytes": flow.cwnd as u64,
        "ssthresh_bytes": flow.ssthresh.map(|v| v as u64), "rtt_ns": (rtt * 1e9) as i64,
        "min_rtt_ns": (base * 1e9) as i64 + 8_000, "mss_bytes": MSS as u32,
        "rwnd_limited_ns": 0, "sndbuf_limited_ns": 0,
    });
    if is_bbr {
        let wobble = 1.0 + 0.25 * f64::from(i32::from((t_ns / 100_000_000) % 8 == 0));
        row["pacing_rate_bps"] = json!((rate * wobble) as u64);
        row["delivery_rate_bps"] = json!((flow.cwnd * 8.0 / rtt).min(rate) as u64);
        row["bbr_bw_bps"] = json!(rate as u64);
    }
    serde_json::from_value(row).expect("a row of the flow table")
}

fn queue_sample(
    t_ns: i64,
    queue: &str,
    kind: &str,
    backlog: f64,
    sent: f64,
    dropped: f64,
    lost: Option<f64>,
) -> QueueSample {
    QueueSample {
        t_ns,
        queue: queue.into(),
        kind: kind.into(),
        backlog_bytes: backlog as u64,
        backlog_packets: (backlog / FRAME) as u64,
        sent_bytes: sent as u64,
        sent_packets: (sent / FRAME) as u64,
        dropped_packets: dropped as u64,
        lost_packets: lost.map(|v| v as u64),
        copied_packets: None,
        repair_packets: None,
        decoded_packets: None,
        recovered_packets: None,
        requeues: 0,
        overlimits: 0,
        marked_packets: None,
    }
}

fn host_sample(t_ns: i64, bytes: f64) -> HostSample {
    let (bytes, packets) = (bytes as u64, (bytes / FRAME) as u64);
    HostSample {
        t_ns,
        host: "receiver".into(),
        device: "eth0".into(),
        rx_packets: packets,
        rx_bytes: bytes,
        rx_dropped: 0,
        tx_packets: packets / 2,
        tx_bytes: packets * 33,
        tx_dropped: 0,
        softnet_dropped: Some(0),
        softnet_squeezed: Some(0),
    }
}

fn ledger(sent: i64, random: i64, dropped: i64, flight: i64) -> Vec<LedgerRow> {
    let row = |entry: Entry, stage: Option<Stage>, place: &str, packets: i64, source: &str| LedgerRow {
        direction: Direction::Data,
        entry,
        stage,
        place: place.into(),
        cause: None,
        packets,
        source: source.into(),
    };
    let link = |cause: Cause, packets: i64, source: &str| LedgerRow {
        cause: Some(cause),
        ..row(Entry::Lost, Some(Stage::Network), "bottleneck/forward", packets, source)
    };
    vec![
        row(Entry::Sent, None, "sender", sent, "tcpi_data_segs_out"),
        row(Entry::Delivered, None, "receiver", sent - random - dropped - flight, "tcpi_data_segs_in"),
        row(Entry::Lost, Some(Stage::Qdisc), "sender/qdisc", 0, "tc -s qdisc"),
        link(Cause::QueueFull, dropped, "tbf drops"),
        link(Cause::RandomLoss, random, "netem loss"),
        row(Entry::InFlight, Some(Stage::Network), "bottleneck/forward", flight, "backlog"),
        row(Entry::Unexplained, None, "", 0, "balance"),
    ]
}

fn info(controls: &[&str], loss: f64, repeat: u32, swept: bool, base: f64) -> RunInfo {
    let mut factors = BTreeMap::from([("flow.congestion".to_string(), json!(controls.join("+")))]);
    if swept {
        factors.insert("path.loss".into(), json!(loss));
    }
    let base_rtt_ns = (base * 1e9) as i64;
    let flows = controls.iter().enumerate().map(|(i, control)| FlowInfo {
        label: if controls.len() == 1 { "flow 1".into() } else { format!("{control} {}", i + 1) },
        kind: Transport::Tcp,
        congestion: Some(control.to_string()),
        from: "sender".into(),
        to: "receiver".into(),
        start_ns: i as i64 * 2_000_000_000,
        stop_ns: 60_000_000_000,
        base_rtt_ns,
        links: vec!["bottleneck".into()],
        ..FlowInfo::default()
    });
    let settings = |mtu: &str| {
        BTreeMap::from(
            [
                ("net.ipv4.tcp_rmem", "4096 131072 67108864"),
                ("net.ipv4.tcp_sack", "1"),
                ("mtu", mtu),
                ("qdisc", "fq"),
            ]
            .map(|(k, v)| (k.to_string(), v.to_string())),
        )
    };
    RunInfo {
        format_version: 1,
        id: format!("synthetic--congestion-{}--loss-{loss:e}--r{repeat}", controls.join("+")),
        study: "synthetic".into(),
        about: String::new(),
        factors,
        repeat,
        seed: 7 + u64::from(repeat),
        substrate: SubstrateKind::Model,
        duration_ns: 60_000_000_000,
        sample_ns: STEP_NS,
        omit_ns: 0,
        links: vec![LinkInfo {
            name: "bottleneck".into(),
            rate_bps: 9_500_000_000,
            buffer_bytes: (9.5e9 / 8.0 * base) as u64,
            rtt_ns: base_rtt_ns,
            forward_queue: "bottleneck/forward".into(),
            reverse_queue: "bottleneck/reverse".into(),
            is_assumed: false,
            changes: Vec::new(),
        }],
        hosts: ["sender", "receiver"]
            .map(|name| HostInfo { name: name.into(), settings: settings("1500"), ..Default::default() })
            .into(),
        flows: flows.collect(),
        tool: ToolInfo { version: "0.1.0".into(), git: "synthetic".into(), program: None },
        kernel: Some(KernelInfo {
            release: "0.0-synthetic".into(),
            version: "no kernel was run".into(),
            build: "none".into(),
            edits: vec!["HZ may be 1000 on user-mode Linux".into()],
        }),
        warnings: vec!["These curves are synthetic: no packet was sent.".into()],
        command: "cargo run -p wirespeed-report --example specimen".into(),
        ..RunInfo::default()
    }
}

const SCENARIO: &str = r#"schema = 1
name   = "synthetic"

[path]
rate = "9.5 Gbit/s"
rtt = "12.2 ms"
loss = 1e-5
buffer = "1 bdp"

[sweep]
"flow.congestion" = ["reno", "cubic", "bic", "bbr"]
"#;
