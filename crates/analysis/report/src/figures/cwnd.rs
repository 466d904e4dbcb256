//! Congestion window and slow-start threshold.

use super::Draw;
use crate::figure::{Dash, Figure, From, Level};
use crate::flow_lines::{FlowLines, Kind};
use crate::number::Quantity;
use crate::source::Source;
use wirespeed_record::FlowSample;

pub(crate) struct Cwnd;

const KINDS: &[Kind] = &[
    Kind { what: "cwnd", dash: Dash::Solid, is_main: true },
    Kind { what: "ssthresh", dash: Dash::Dotted, is_main: false },
];

impl Draw for Cwnd {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let mut lines = FlowLines::new(source, KINDS);
        let mut levels = Vec::new();
        let samples_of = &source.view.flow_samples;
        let (cwnd_of, ssthresh_of) =
            (samples_of.column(FlowSample::cwnd_bytes), samples_of.column(FlowSample::ssthresh_bytes));
        for (flow, info, samples) in source.flows() {
            lines.add(flow, 0, || source.line(samples, &cwnd_of, |v| v));
            lines.add(flow, 1, || source.line(samples, &ssthresh_of, |v| v));
            if let (1, Some(info), Some(rate)) =
                (source.recording.info.flows.len(), info, source.capacity_bps())
                && info.base_rtt_ns > 0
            {
                let bdp = rate as f64 / 8.0 * info.base_rtt_ns as f64 / 1e9;
                levels.push(Level { at: bdp, label: format!("BDP {}", Quantity::Bytes.text(bdp)) });
            }
        }
        let (layers, note) = lines.finish(
            "Solid: cwnd. Dotted: ssthresh, absent while it is infinite. Extremes are kept when points are merged.",
        );
        let figure = Figure::over_time(
            "cwnd",
            "Congestion window",
            "Window",
            &Quantity::Bytes,
            From::Zero,
            &source.time,
            layers,
            levels,
        )?;
        Some(figure.with_note(note))
    }
}
