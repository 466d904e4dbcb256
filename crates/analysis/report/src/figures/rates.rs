//! Rates as the sender sees them: pacing, delivery, and BBR's model of the path.

use super::Draw;
use super::throughput::capacity_of_flow;
use crate::figure::{Dash, Figure, From, Ink};
use crate::flow_lines::{FlowLines, Kind};
use crate::number::Quantity;
use crate::source::Source;
use wirespeed_record::FlowSample;

pub(crate) struct Rates;

const KINDS: &[Kind] = &[
    Kind { what: "delivery rate", dash: Dash::Dotted, is_main: false },
    Kind { what: "pacing rate", dash: Dash::Solid, is_main: true },
    Kind { what: "bandwidth estimate", dash: Dash::Dashed, is_main: false },
];

/// Controls that set the pacing rate themselves: for the others it only follows cwnd / RTT.
const PACED: &[&str] = &["bbr", "bbr2", "bbr3"];

impl Draw for Rates {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let mut lines = FlowLines::new(source, KINDS);
        let samples_of = &source.view.flow_samples;
        let bandwidth_of = samples_of.column(FlowSample::bbr_bw_bps);
        let shown = source.flows().filter(|(_, info, samples)| {
            let models_rate = bandwidth_of[(*samples).clone()].iter().any(|rate| !rate.is_nan());
            models_rate || info.and_then(|i| i.congestion.as_deref()).is_some_and(|c| PACED.contains(&c))
        });
        let shown: Vec<_> = shown.collect();
        if shown.is_empty() {
            return None;
        }
        let delivery_of = samples_of.column(FlowSample::delivery_rate_bps);
        let pacing_of = samples_of.column(FlowSample::pacing_rate_bps);
        for (flow, _, samples) in shown {
            lines.add(flow, 0, || source.line(samples, &delivery_of, |v| v));
            lines.add(flow, 1, || source.line(samples, &pacing_of, |v| v));
            lines.add(flow, 2, || source.line(samples, &bandwidth_of, |v| v));
        }
        let (mut layers, note) = lines.finish("");
        if let [delivery, _, bandwidth] = layers.as_mut_slice() {
            // With one flow, three quantities can have three colours.
            (delivery.ink, bandwidth.ink) = (Ink::Muted, Ink::Total);
        }
        let figure = Figure::over_time(
            "rates",
            "Pacing and delivery rate",
            "Rate",
            &Quantity::Rate,
            From::Zero,
            &source.time,
            layers,
            capacity_of_flow(source),
        )?;
        let what = "What the sender paces at, and the delivery rate it samples (tcpi_pacing_rate, tcpi_delivery_rate).";
        Some(figure.with_note(format!("{what} {note}").trim_end()))
    }
}
