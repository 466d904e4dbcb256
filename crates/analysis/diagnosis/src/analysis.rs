//! All numbers and findings of a run. They are computed from its series; if the series were not kept, they were computed
//! before, and are read.

use crate::diagnosis::{Diagnosis, diagnose};
use crate::steadiness::{Unsteady, unsteady};
use crate::stored::{self, AnalysisError};
use std::collections::BTreeMap;
use std::path::PathBuf;
use wirespeed_metrics::per_group::{GroupValues, evaluate_groups};
use wirespeed_metrics::{Moment, Pair, View, evaluate_view, pairs, per_flow, rtt_quantiles, timeline};
use wirespeed_record::{ANALYSIS, Recording, StoreError};

/// The numbers and findings of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Analysis {
    /// The metrics of the run, by name.
    pub metrics: BTreeMap<&'static str, f64>,
    /// The metrics of each flow, by its number.
    pub per_flow: Vec<BTreeMap<&'static str, f64>>,
    /// The metrics of each group of flows.
    pub per_group: Vec<GroupValues>,
    /// The findings, and the limiting factors second by second.
    pub diagnosis: Diagnosis,
    /// Why the run is not steady, if it is not.
    pub unsteady: Option<Unsteady>,
    /// The ledger by interval.
    pub timeline: Vec<Moment>,
    /// Up to 100 quantiles of the smoothed round-trip times in the measurement window, in ns.
    pub rtt_quantiles: Vec<f64>,
    /// Lost datagrams by pair of hosts.
    pub pairs: Vec<Pair>,
}

impl Analysis {
    /// Of a recording with whole series; else the stored one.
    ///
    /// # Errors
    /// If the samples are on disk and cannot be read, or if the stored analysis is damaged.
    pub fn of(recording: &Recording) -> Result<Analysis, StoreError> {
        match Analysis::stored(recording)? {
            Some(stored) => Ok(stored),
            None => Analysis::of_view(&View::new(recording)?),
        }
    }

    /// The one that was stored since the series were not kept as a whole; `None` if they were.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn stored(recording: &Recording) -> Result<Option<Analysis>, StoreError> {
        let Some(text) = recording.analysis.as_deref() else { return Ok(None) };
        let found = stored::read(text, recording);
        found.map(Some).map_err(|error: AnalysisError| StoreError::Damaged {
            path: place(recording),
            reason: error.to_string(),
        })
    }

    /// Of the series of a recording, whatever was stored.
    ///
    /// # Errors
    /// If the samples are on disk and cannot be read.
    pub fn of_view(view: &View) -> Result<Analysis, StoreError> {
        let flows = 0..view.recording.info.flows.len() as u32;
        let analysis = Analysis {
            metrics: evaluate_view(view)?,
            per_flow: per_flow::evaluate_flows(view, flows)?,
            per_group: evaluate_groups(view)?,
            diagnosis: diagnose(view),
            unsteady: unsteady(view),
            timeline: timeline(view),
            rtt_quantiles: rtt_quantiles(view),
            pairs: pairs(view.recording),
        };
        view.intact()?;
        Ok(analysis)
    }

    /// The text that [`Analysis::stored`] reads, equal to the last bit.
    pub fn to_json(&self) -> String {
        stored::text(self)
    }
}

/// The file of its stored analysis.
fn place(recording: &Recording) -> PathBuf {
    let files = recording.samples_in.as_ref();
    files.map_or_else(|| ANALYSIS.into(), |files| files.directory().join(ANALYSIS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{busy_flow, softirq_sample};
    use wirespeed_record::{Cause, Direction, Entry, FlowInfo, LedgerInterval, LedgerRow, Stage};

    /// A run with findings of several kinds, a ledger by interval, and numbers that need all their digits.
    fn recording() -> Recording {
        let mut recording = busy_flow(30, |second, sample| {
            sample.delivered_bytes = Some(second as u64 * 125_000_000 / 7);
            sample.retrans_packets = Some(second as u64 * 3);
            sample.rtt_ns = Some(10_000_000 + second * second * 1_234_567 % 999_983);
            sample.cwnd_bytes = Some(1_000_000 + (second as u64 * 7_919) % 65_537);
        });
        recording.info.flows[0] = FlowInfo {
            group: Some("cubic".into()),
            congestion: Some("cubic".into()),
            ..recording.info.flows[0].clone()
        };
        recording.info.sample_ns = 1_000_000_000;
        recording.cores = vec![softirq_sample(0, 3, 0), softirq_sample(30_000_000_000, 3, 29_900_000_000)];
        let row = |entry, stage, packets| LedgerRow {
            direction: Direction::Data,
            entry,
            stage,
            place: "receiver".into(),
            cause: None,
            packets,
            source: "x".into(),
        };
        recording.ledger = vec![
            row(Entry::Sent, None, 100_000),
            row(Entry::Delivered, None, 99_000),
            row(Entry::Lost, Some(Stage::RxRing), 1_000),
        ];
        recording.ledger_intervals = (0..3)
            .map(|second| LedgerInterval {
                from_ns: second * 10_000_000_000,
                to_ns: (second + 1) * 10_000_000_000,
                direction: Direction::Data,
                entry: Entry::Lost,
                stage: Some(Stage::RxRing),
                place: "receiver".into(),
                cause: Some(Cause::QueueFull),
                packets: 7 * second,
                uncertain_packets: 1,
            })
            .collect();
        recording
    }

    #[test]
    fn stored_analysis_is_equal_to_the_last_bit() {
        let recording = recording();
        let analysis = Analysis::of(&recording).unwrap();
        assert!(!analysis.metrics.is_empty() && !analysis.per_flow[0].is_empty());
        assert!(!analysis.per_group.is_empty() && !analysis.rtt_quantiles.is_empty());
        assert!(!analysis.diagnosis.findings.is_empty() && !analysis.diagnosis.intervals.is_empty());
        assert!(analysis.timeline.iter().any(|moment| moment.sent_again.is_some()));
        let text = analysis.to_json();
        // Without its series.
        let reduced =
            Recording { flows: Vec::new(), cores: Vec::new(), analysis: Some(text.into()), ..recording };
        let found = Analysis::of(&reduced).unwrap();
        assert_eq!(found, analysis);
        let bits = |analysis: &Analysis| -> Vec<u64> {
            analysis.metrics.values().chain(&analysis.rtt_quantiles).map(|value| value.to_bits()).collect()
        };
        assert_eq!(bits(&found), bits(&analysis));
        assert_eq!(found.diagnosis.sentence(), analysis.diagnosis.sentence());
    }

    #[test]
    fn metric_that_is_no_longer_known_is_left_out() {
        let analysis = Analysis::of(&recording()).unwrap();
        let text = analysis.to_json().replacen("\"goodput_bps\"", "\"goodput_of_the_past\"", 1);
        let reduced = Recording { analysis: Some(text.into()), ..recording() };
        let found = Analysis::of(&reduced).unwrap();
        assert_eq!(found.metrics.len() + 1, analysis.metrics.len());
    }

    #[test]
    fn damaged_or_newer_analysis_is_an_error() {
        let analysis = Analysis::of(&recording()).unwrap().to_json();
        for (text, expected) in [
            (String::new(), "EOF"),
            (analysis.replacen("\"analysis_version\":1", "\"analysis_version\":2", 1), "version 2"),
            (analysis.replacen("\"per_flow\":[", "\"per_flow\":[{},", 1), "2 flows"),
            (analysis.replacen("\"rtt_quantiles_ns\":[", "\"rtt_quantiles_ns\":[1e15,", 1), "round-trip"),
        ] {
            let reduced = Recording { analysis: Some(text.into()), ..recording() };
            let error = Analysis::of(&reduced).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
