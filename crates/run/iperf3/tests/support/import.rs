//! Takes any text for the JSON of iperf3: nothing may panic, and what is made of it is a recording in order.

use wirespeed_iperf3::{Source, parse, recording};

/// Imports `text` as a single file.
pub fn import(text: &str) {
    let Ok(report) = parse(text) else { return };
    let source = Source { name: "a.json".into(), report };
    // The same file twice is refused, whatever is in it.
    assert!(recording(vec![source.clone(), source.clone()]).is_err());
    let Ok(recording) = recording(vec![source]) else { return };
    for flow in 0..recording.info.flows.len() as u32 {
        let rows = || recording.flows.iter().filter(|row| row.flow == flow);
        assert!(rows().zip(rows().skip(1)).all(|(a, b)| a.t_ns <= b.t_ns), "time goes back");
        let delivered: Vec<u64> = rows().filter_map(|row| row.delivered_bytes).collect();
        assert!(delivered.windows(2).all(|pair| pair[0] <= pair[1]), "what was delivered is taken back");
    }
    assert!(recording.flows.iter().all(|row| (row.flow as usize) < recording.info.flows.len()));
    assert!(recording.flows.iter().all(|row| row.t_ns <= recording.info.duration_ns));
}
