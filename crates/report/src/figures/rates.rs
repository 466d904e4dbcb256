//! Rates as the sender sees them: pacing, delivery, and BBR's model of the path.

use super::Draw;
use super::throughput::capacity;
use crate::figure::{Dash, Figure, From, Ink, Layer};
use crate::number::Quantity;
use crate::source::Source;
use wirespeed_record::FlowSample;

pub(crate) struct Rates;

/// Controls that set the pacing rate themselves: for the others it only follows cwnd / RTT.
const PACED: &[&str] = &["bbr", "bbr2", "bbr3"];

impl Draw for Rates {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let mut layers = Vec::new();
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
            let (label, ink) = (source.label(flow), source.ink(flow));
            let delivery = source.line(samples, &delivery_of, |v| v);
            let pacing = source.line(samples, &pacing_of, |v| v);
            let bandwidth = source.line(samples, &bandwidth_of, |v| v);
            // With one flow, three quantities can have three colours.
            let one = !source.has_several_flows();
            let (of_delivery, of_bandwidth) =
                if one { (Ink::Muted, Ink::Total) } else { (ink.clone(), ink.clone()) };
            layers.push(Layer::line(format!("{label} delivery rate"), of_delivery, Dash::Dotted, delivery));
            layers.push(Layer::line(format!("{label} pacing rate"), ink, Dash::Solid, pacing));
            layers.push(Layer::line(
                format!("{label} bandwidth estimate"),
                of_bandwidth,
                Dash::Dashed,
                bandwidth,
            ));
        }
        let figure = Figure::over_time(
            "rates",
            "Pacing and delivery rate",
            "Rate",
            &Quantity::Rate,
            From::Zero,
            &source.time,
            layers,
            capacity(source),
        )?;
        Some(figure.with_note(
            "What the sender paces at, and the delivery rate it samples (tcpi_pacing_rate, tcpi_delivery_rate).",
        ))
    }
}
