//! Result folders to compare, without running anything.

use serde_json::json;
use std::path::Path;
use wirespeed_record::{FlowInfo, LinkInfo, Recording, RunDirectory, Transport};

/// A run of one flow at a steady `rate` for 2 s, in `folder/runs/ID`.
pub fn write_run(folder: &Path, control: &str, substrate: &str, rate: u64) {
    let mut recording = Recording::default();
    let info = &mut recording.info;
    info.id = format!("congestion={control},r0");
    info.study = "steady".into();
    info.substrate = substrate.parse().unwrap();
    info.factors = [("flow.congestion".to_string(), json!(control))].into();
    info.duration_ns = 2_000_000_000;
    info.sample_ns = 100_000_000;
    info.flows = vec![FlowInfo {
        label: control.into(),
        kind: Transport::Tcp,
        congestion: Some(control.into()),
        stop_ns: 2_000_000_000,
        ..FlowInfo::default()
    }];
    info.links = vec![LinkInfo { name: "bottleneck".into(), rate_bps: 1_000_000_000, ..LinkInfo::default() }];
    for step in 0..=20_u64 {
        let bytes = rate / 80 * step;
        let row = json!({
            "t_ns": step * 100_000_000, "flow": 0, "delivered_bytes": bytes, "read_bytes": bytes,
            "sent_bytes": bytes, "data_packets_out": bytes / 1448, "data_packets_in": bytes / 1448,
            "cwnd_bytes": 1_000_000, "rtt_ns": 12_000_000, "retrans_packets": 0,
        });
        recording.flows.push(serde_json::from_value(row).expect("a row of the flow table"));
    }
    let path = folder.join("runs").join(&recording.info.id);
    RunDirectory::create(&path).unwrap().finish(&recording).unwrap();
}

/// A run that did not come to its end.
pub fn write_incomplete(folder: &Path, control: &str) {
    let path = folder.join("runs").join(format!("congestion={control},r0"));
    RunDirectory::create(&path).unwrap().mark("the guest's kernel panicked").unwrap();
}
