//! Rates as the sender sees them: pacing, delivery, and BBR's model of the path.

use super::Draw;
use super::throughput::capacity;
use crate::figure::{Dash, Figure, From, Ink, Layer};
use crate::number::Quantity;
use crate::source::Source;

pub(crate) struct Rates;

/// Controls that set the pacing rate themselves: for the others it only follows cwnd / RTT.
const PACED: &[&str] = &["bbr", "bbr2", "bbr3"];

impl Draw for Rates {
    fn of_run(&self, source: &Source) -> Option<Figure> {
        let mut layers = Vec::new();
        for (flow, info, samples) in source.flows() {
            let models_rate = samples.iter().any(|s| s.bbr_bw_bps.is_some());
            let is_paced = info.and_then(|i| i.congestion.as_deref()).is_some_and(|c| PACED.contains(&c));
            if !models_rate && !is_paced {
                continue;
            }
            let (label, ink) = (source.label(flow), source.ink(flow));
            let delivery = source.column(samples, |s| s.delivery_rate_bps.map(|v| v as f64));
            let pacing = source.column(samples, |s| s.pacing_rate_bps.map(|v| v as f64));
            let bandwidth = source.column(samples, |s| s.bbr_bw_bps.map(|v| v as f64));
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
