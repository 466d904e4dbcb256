//! Small recordings to report on.

use serde_json::json;
use std::collections::BTreeMap;
use wirespeed_record::{FlowInfo, HostInfo, LinkInfo, QueueSample, Recording, Transport};
use wirespeed_report::StudyInfo;

pub fn study() -> StudyInfo {
    StudyInfo {
        name: "a study".into(),
        about: "What happens?".into(),
        command: "wirespeed run a.toml".into(),
        scenario_text: "schema = 1".into(),
        generated_by: "a test".into(),
        figures: Vec::new(),
    }
}

pub fn flow(label: &str, congestion: &str) -> FlowInfo {
    FlowInfo {
        label: label.into(),
        kind: Transport::Tcp,
        congestion: Some(congestion.into()),
        from: "sender".into(),
        to: "receiver".into(),
        stop_ns: 10_000_000_000,
        base_rtt_ns: 12_000_000,
        links: vec!["bottleneck".into()],
        ..FlowInfo::default()
    }
}

pub fn queue(t_ns: i64, backlog: u64, lost: u64) -> QueueSample {
    QueueSample {
        t_ns,
        queue: "bottleneck/forward".into(),
        kind: "tbf".into(),
        backlog_bytes: backlog,
        backlog_packets: backlog / 1514,
        sent_bytes: t_ns as u64 / 8,
        sent_packets: t_ns as u64 / 8 / 1514,
        dropped_packets: lost,
        lost_packets: Some(lost / 2),
        copied_packets: None,
        repair_packets: None,
        decoded_packets: None,
        recovered_packets: None,
        requeues: 0,
        overlimits: 0,
        marked_packets: None,
    }
}

/// 10 s of one flow at 1 Gbit/s with a sawtooth window, every 100 ms.
pub fn one_run(congestion: &str, repeat: u32) -> Recording {
    let mut recording = Recording::default();
    let info = &mut recording.info;
    info.id = format!("run-{congestion}-{repeat}");
    info.factors = BTreeMap::from([("flow.congestion".to_string(), json!(congestion))]);
    info.repeat = repeat;
    info.duration_ns = 10_000_000_000;
    info.sample_ns = 100_000_000;
    info.flows = vec![flow("a", congestion)];
    info.hosts = vec![HostInfo { name: "sender".into(), ..Default::default() }];
    info.links = vec![LinkInfo {
        name: "bottleneck".into(),
        rate_bps: 2_000_000_000,
        buffer_bytes: 3_000_000,
        rtt_ns: 12_000_000,
        forward_queue: "bottleneck/forward".into(),
        reverse_queue: "bottleneck/reverse".into(),
        is_assumed: false,
        changes: Vec::new(),
    }];
    for step in 0..=100_i64 {
        let t_ns = step * 100_000_000;
        let row = json!({
            "t_ns": t_ns, "flow": 0, "delivered_bytes": t_ns / 8, "read_bytes": t_ns / 8, "sent_bytes": t_ns / 8,
            "data_packets_out": t_ns / 8 / 1448, "data_packets_in": t_ns / 8 / 1448, "mss_bytes": 1448,
            "cwnd_bytes": 1_000_000 + step % 20 * 50_000, "rtt_ns": 12_000_000 + step % 20 * 100_000,
            "min_rtt_ns": 12_000_000,
        });
        recording.flows.push(serde_json::from_value(row).expect("a row of the flow table"));
        recording.queues.push(queue(t_ns, (step % 20 * 100_000) as u64, step as u64));
    }
    recording
}
