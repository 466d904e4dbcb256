use super::*;

fn panel(style: Style) -> Panel {
    let series = |name: &str, rates: [f64; 2]| Series {
        name: name.into(),
        points: vec![("0".into(), vec![rates[0]; 2]), ("1e-5".into(), vec![rates[1], rates[1] / 2.0])],
        spread: vec![("0".into(), 1e8), ("1e-5".into(), 4e8)],
    };
    Panel {
        substrate: "model".into(),
        style,
        metric: "goodput_bps".into(),
        unit: "bit/s".into(),
        spread: (style == Style::Bars).then(|| ("convergence_spread_bps".into(), "bit/s".into())),
        x: "path.loss".into(),
        series: vec![series("reno", [9e9, 3e9]), series("bic", [9e9, 8e9])],
    }
}

fn page() -> ClaimsPage {
    let figure = |id: &str, style| StudyFigure {
        id: id.into(),
        title: "Throughput".into(),
        text: "Reno is last.".into(),
        panels: vec![panel(style)],
        runs: vec![],
    };
    ClaimsPage {
        name: "a-study".into(),
        notices: vec!["Shortened.".into()],
        claims: vec![ClaimRow {
            id: "c1".into(),
            published: "at least 9 Gbit/s".into(),
            model: Some(("8 <Gbit/s>".into(), Outcome::Differs)),
            verdict: "differs: 11 % below".into(),
            explanation: "Pacing.".into(),
            ..ClaimRow::default()
        }],
        figures: vec![figure("4a", Style::Lines), figure("4b", Style::Boxes), figure("9", Style::Bars)],
        ..ClaimsPage::default()
    }
}

#[test]
fn the_page_has_the_claims_the_reasons_and_the_figures() {
    let html = page().html();
    for part in [
        "8 &lt;Gbit/s&gt;",
        "✗",
        "why-c1",
        "Pacing.",
        "Shortened.",
        "figure-4a-model",
        "figure-4b-model",
        "figure-9-model",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn bars_of_all_levels_and_series_have_a_row_each() {
    let figure = figures::draw(&page().figures[2]).remove(0);
    let crate::figure::AxisKind::Names(names) = &figure.y.kind else { panic!("names") };
    assert_eq!(*names, ["0 · reno", "0 · bic", "1e-5 · reno", "1e-5 · bic"]);
    assert!(figure.note.contains("whose end is 400 Mbit/s"), "{}", figure.note);
}

#[test]
fn lines_have_a_place_for_no_loss() {
    let figure = figures::draw(&page().figures[0]).remove(0);
    let crate::figure::AxisKind::Names(names) = &figure.x.kind else { panic!("names") };
    assert_eq!(*names, ["0", "1e-5"]);
    assert_eq!(figure.layers[0].points, [(0.0, 9.0), (1.0, 2.25)]);
}
