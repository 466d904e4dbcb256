//! The proof as text, and as a tornado chart.

use crate::{Effect, Measurement, Prediction, Proof, Verdict};
use std::fmt::Write;
use wirespeed_report::{escape, text_table, with_unit};
use wirespeed_statistics::quantile;

/// The table for the terminal, with a sentence on its certainty.
pub fn summary(proof: &Proof) -> String {
    const SHARES: [usize; 8] = [25, 12, 9, 20, 12, 6, 7, 12];
    const WIDTH: usize = 120;
    let header = ["change", "goodput", "effect", "interval", "model", "rounds", "retrans", "verdict"]
        .map(str::to_owned);
    let without = proof.predictions.first().map_or_else(String::new, |prediction| match prediction {
        Prediction::Simulated { goodput_bps, .. } => with_unit(*goodput_bps, "bit/s"),
        Prediction::None { .. } => NOT_MODELLED.into(),
    });
    let mut rows = vec![row("hosts as they are", &proof.without, None, without, "")];
    for (at, name) in proof.candidates.iter().enumerate() {
        let model = proof.predictions.get(at + 1);
        let model = model.map_or_else(String::new, |p| p.effect().map_or(NOT_MODELLED.into(), percent));
        rows.push(row(name, &proof.with[at], proof.effects[at], model, &proof.verdicts[at].to_string()));
    }
    let mut text = text_table(header, &rows, SHARES, WIDTH);
    let _ = write!(
        text,
        "\nMedians of the rounds. Intervals of the relative change of goodput hold together with {} % confidence; \
         changes below {} % do not count.\n",
        proof.limits.confidence * 100.0,
        proof.limits.least_gain * 100.0
    );
    if !proof.predictions.is_empty() {
        text += "Model: goodput, or its change, with the settings of these hosts; losses, other traffic \
                 and costs of work are left out.\n";
    }
    text
}

const NOT_MODELLED: &str = "not modelled";

fn row(
    name: &str,
    measured: &[Measurement],
    effect: Option<Effect>,
    model: String,
    verdict: &str,
) -> [String; 8] {
    let median =
        |value: fn(&Measurement) -> f64| quantile(&measured.iter().map(value).collect::<Vec<_>>(), 0.5);
    [
        name.to_owned(),
        median(|m| m.goodput_bps).map_or_else(String::new, |value| with_unit(value, "bit/s")),
        effect.map_or_else(String::new, |effect| percent(effect.mean)),
        effect.map_or_else(String::new, |effect| {
            format!("{} to {}", percent(effect.low), percent(effect.high))
        }),
        model,
        measured.len().to_string(),
        median(|m| m.retransmissions as f64).map_or_else(String::new, |value| format!("{value:.0}")),
        verdict.to_owned(),
    ]
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// A tornado chart as an SVG document: a bar for each change with its interval, the largest effect on top. Bars of changes
/// that help are green, of those that harm red, and others grey. A diamond is the prediction of the model.
pub fn tornado(proof: &Proof) -> String {
    /// Width of the names and of the bars, height of a bar's row and of the title, in units of the picture.
    const LABEL: f64 = 300.0;
    const PLOT: f64 = 480.0;
    const ROW: f64 = 34.0;
    const TOP: f64 = 46.0;
    let mut bars: Vec<(usize, Effect)> =
        proof.effects.iter().enumerate().filter_map(|(at, effect)| Some((at, (*effect)?))).collect();
    bars.sort_by(|a, b| b.1.mean.abs().total_cmp(&a.1.mean.abs()));
    let predicted = |at: usize| proof.predictions.get(at + 1).and_then(Prediction::effect);
    let ends = bars.iter().flat_map(|(at, e)| [Some(e.low), Some(e.high), predicted(*at)]).flatten();
    let reach = ends.map(f64::abs).fold(proof.limits.least_gain, f64::max) * 1.1;
    let x = |share: f64| LABEL + PLOT * (share + reach) / (2.0 * reach);
    let height = TOP + ROW * bars.len() as f64 + 40.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\
         <style>text{{fill:#1f2328}}.axis{{stroke:#57606a}}.bar{{stroke:#1f2328;stroke-width:1.5}}.model{{fill:none;stroke:#8250df;stroke-width:2}}rect.back{{fill:#fff}}\
         @media (prefers-color-scheme:dark){{text{{fill:#e6edf3}}.axis{{stroke:#8b949e}}.bar{{stroke:#e6edf3}}rect.back{{fill:#0d1117}}}}</style>\
         <rect class=\"back\" width=\"{width}\" height=\"{height}\"/>\
         <text x=\"12\" y=\"24\" font-size=\"16\">Change of goodput by each setting{legend}</text>",
        width = LABEL + PLOT + 30.0,
        legend = if proof.predictions.is_empty() { "" } else { "; diamond: prediction of the model" },
    );
    for (place, (at, effect)) in bars.iter().enumerate() {
        let middle = TOP + ROW * (place as f64 + 0.5);
        let (zero, end) = (x(0.0), x(effect.mean));
        let colour = match proof.verdicts[*at] {
            Verdict::Helps => "#2da44e",
            Verdict::Harms => "#cf222e",
            Verdict::NoEffect | Verdict::Unknown => "#8c959f",
        };
        let _ = write!(
            svg,
            "<text x=\"{label}\" y=\"{base}\" text-anchor=\"end\">{name}</text>\
             <rect x=\"{left}\" y=\"{top}\" width=\"{wide}\" height=\"{tall}\" fill=\"{colour}\"><title>{hint}</title></rect>\
             <line class=\"bar\" x1=\"{low}\" x2=\"{high}\" y1=\"{middle}\" y2=\"{middle}\"/>",
            label = LABEL - 10.0,
            base = middle + 4.0,
            name = escape(&proof.candidates[*at]),
            left = zero.min(end),
            top = middle - ROW * 0.3,
            wide = (end - zero).abs(),
            tall = ROW * 0.6,
            hint = escape(&format!("{}, {}", percent(effect.mean), proof.verdicts[*at])),
            low = x(effect.low),
            high = x(effect.high),
        );
        if let Some(share) = predicted(*at) {
            let (centre, half) = (x(share), 6.0);
            let _ = write!(
                svg,
                "<path class=\"model\" d=\"M{left} {middle}L{centre} {top}L{right} {middle}L{centre} {bottom}Z\">\
                 <title>model: {share}</title></path>",
                left = centre - half,
                right = centre + half,
                top = middle - half,
                bottom = middle + half,
                share = percent(share),
            );
        }
    }
    let bottom = TOP + ROW * bars.len() as f64;
    for share in [-reach / 1.1, 0.0, reach / 1.1] {
        let _ = write!(
            svg,
            "<line class=\"axis\" x1=\"{at}\" x2=\"{at}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke-dasharray=\"2 3\"/>\
             <text x=\"{at}\" y=\"{below}\" text-anchor=\"middle\">{share}</text>",
            at = x(share),
            below = bottom + 18.0,
            share = percent(share),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, Stop};

    fn proof() -> Proof {
        let measured =
            |goodput_bps| vec![Measurement { goodput_bps, retransmissions: 4, ..Default::default() }; 3];
        let effect = |mean: f64| Some(Effect { mean, low: mean - 0.02, high: mean + 0.02, pairs: 3 });
        Proof {
            candidates: vec!["txqueuelen <10>".into(), "tcp_rmem".into()],
            without: measured(1e9),
            with: vec![measured(1.01e9), measured(5e9)],
            effects: vec![effect(0.01), effect(4.0)],
            verdicts: vec![Verdict::Unknown, Verdict::Helps],
            predictions: vec![
                Prediction::Simulated { goodput_bps: 9e8, effect: 0.0 },
                Prediction::None { reason: "no such setting".into() },
                Prediction::Simulated { goodput_bps: 4.5e9, effect: 4.0 },
            ],
            interval_confidence: 0.99,
            stop: Stop::Rounds,
            limits: Limits { rounds: 3, least_gain: 0.02, confidence: 0.95, seed: 1 },
        }
    }

    #[test]
    fn table_has_a_row_for_each_change() {
        let text = summary(&proof());
        let line = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
        assert!(line("tcp_rmem").contains("+400.0 %") && line("tcp_rmem").contains("helps"), "{text}");
        assert!(
            line("txqueuelen").contains("inconclusive") && line("txqueuelen").contains("not modelled"),
            "{text}"
        );
        let first = line("hosts as they are");
        assert!(first.contains("1 Gbit/s") && first.contains("900 Mbit/s"), "{text}");
    }

    #[test]
    fn chart_has_the_largest_effect_on_top_and_escapes_names() {
        let svg = tornado(&proof());
        let place = |text: &str| svg.find(text).unwrap_or_else(|| panic!("{text}: {svg}"));
        assert!(place("tcp_rmem") < place("txqueuelen &lt;10&gt;"));
        assert_eq!(svg.matches("class=\"model\"").count(), 1);
        assert!(svg.ends_with("</svg>\n"));
    }
}
