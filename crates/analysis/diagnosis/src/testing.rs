//! Recordings for the tests of rules.

use wirespeed_record::{CoreSample, FlowInfo, FlowSample, Recording, Transport};

/// Samples a second apart of a flow that is busy all the time, changed by `each` (second, sample).
pub(crate) fn busy_flow(seconds: i64, each: impl Fn(i64, &mut FlowSample)) -> Recording {
    let mut recording = Recording::default();
    recording.info.duration_ns = seconds * 1_000_000_000;
    recording.info.flows = vec![FlowInfo {
        label: "cubic".into(),
        kind: Transport::Tcp,
        from: "sender".into(),
        to: "receiver".into(),
        stop_ns: recording.info.duration_ns,
        ..FlowInfo::default()
    }];
    for second in 0..=seconds {
        let mut sample = FlowSample::empty(second * 1_000_000_000, 0);
        sample.delivered_bytes = Some(second as u64 * 125_000_000);
        sample.busy_ns = Some(second * 1_000_000_000);
        (sample.rwnd_limited_ns, sample.sndbuf_limited_ns) = (Some(0), Some(0));
        (sample.rtt_ns, sample.min_rtt_ns) = (Some(10_000_000), Some(10_000_000));
        (sample.retrans_packets, sample.ca_state) = (Some(0), Some(0));
        each(second, &mut sample);
        recording.flows.push(sample);
    }
    recording
}

/// A row of a core of the receiver with softirq work only.
pub(crate) fn softirq_sample(t_ns: i64, core: u32, softirq_ns: i64) -> CoreSample {
    CoreSample { softirq_ns, ..CoreSample::idle(t_ns, "receiver", core) }
}
