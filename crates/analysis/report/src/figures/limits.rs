//! What held the sender back: share of each interval limited by the receive window or the send buffer.

use super::Draw;
use crate::figure::{Dash, Figure, From};
use crate::flow_lines::{FlowLines, Kind, is_crowd};
use crate::number::Quantity;
use crate::source::Source;
use crate::thin::Point;
use std::ops::Range;
use wirespeed_metrics::Values;
use wirespeed_record::FlowSample;

pub(crate) struct Limits;

const KINDS: &[Kind] = &[
    Kind { what: "receive window", dash: Dash::Solid, is_main: true },
    Kind { what: "send buffer", dash: Dash::Dashed, is_main: true },
];

impl Draw for Limits {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let mut lines = FlowLines::new(source, KINDS);
        let (mut is_measured, mut is_limited) = (false, false);
        let samples_of = &source.view.flow_samples;
        let columns = [FlowSample::rwnd_limited_ns, FlowSample::sndbuf_limited_ns]
            .map(|column| samples_of.column(column));
        for (flow, _, samples) in source.flows() {
            for (kind, column) in columns.iter().enumerate() {
                let shares = shares(source, samples, column);
                is_measured |= !shares.is_empty();
                let stands_still = shares.iter().any(|p| p.1 > 0.0);
                is_limited |= stands_still;
                // A line along 0 says no more than the note; of a crowd all count.
                if stands_still || is_crowd(source) {
                    lines.add(flow, kind, || shares);
                }
            }
        }
        if !is_measured {
            return None;
        }
        let title = "Limited by the hosts";
        let quantity = Quantity::Plain("%".into());
        let what = "Share of time";
        let (layers, note) = lines.finish(
            "Time the sender stood still because the receive window (solid) or its send buffer (dashed) was full.",
        );
        let figure =
            Figure::over_time("limits", title, what, &quantity, From::Zero, &source.time, layers, vec![]);
        Some(match figure.filter(|_| is_limited) {
            Some(figure) => figure.with_note(note),
            None => Figure::statement(
                "limits",
                title,
                "No flow ever waited for the receive window or the send buffer.",
            ),
        })
    }
}

/// Percent of each bin.
fn shares(source: &Source, samples: &Range<usize>, column: &Values) -> Vec<Point> {
    let times = &source.view.flow_samples.times()[samples.clone()];
    let both = times.iter().copied().zip(column[samples.clone()].iter().copied());
    let mut readings = both.filter(|(_, limited)| !limited.is_nan());
    let mut out = Vec::new();
    let Some(mut from) = readings.next() else { return out };
    for (t, limited) in readings {
        if t - from.0 >= source.bin_ns {
            let share = (limited - from.1) / (t - from.0) as f64 * 100.0;
            out.push((source.time.at((t + from.0) / 2), share.clamp(0.0, 100.0)));
            from = (t, limited);
        }
    }
    out
}
