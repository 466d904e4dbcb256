//! Figures across the runs of a sweep: those that the runs suggest, and those that are asked for.

mod recordings;
mod xml;

use recordings::{one_run, study};
use wirespeed_report::{
    Builder, DistributionOf, FigureKind, FigureRequest, MetricValue, Report, RunResult, StudyInfo,
};
use xml::well_formed;

const RTTS: [&str; 3] = ["2 ms", "10 ms", "100 ms"];
const LOSSES: [f64; 3] = [0.0, 1e-5, 1e-3];

fn metric(name: &str, unit: &str, value: f64) -> MetricValue {
    MetricValue { name: name.into(), unit: unit.into(), value, headline: true }
}

/// Two algorithms, three round-trip times and three loss rates, each run as often as `repeats` gives.
fn sweep(figures: Vec<FigureRequest>, repeats: u32) -> Report {
    let mut builder = Builder::new(StudyInfo { figures, ..study() });
    for (c, control) in ["reno", "bic"].into_iter().enumerate() {
        for (i, rtt) in RTTS.into_iter().enumerate() {
            for (j, loss) in LOSSES.into_iter().enumerate() {
                for repeat in 0..repeats {
                    let mut run = one_run(control, repeat);
                    run.info.id = format!("{control}-{i}-{j}-{repeat}");
                    run.info.factors.insert("path.rtt".into(), rtt.into());
                    // A whole 0, as a person writes it.
                    let loss = if loss == 0.0 { 0.into() } else { loss.into() };
                    run.info.factors.insert("path.loss".into(), loss);
                    let rate = 9e8 / ((c + 1) * (i + 1) * (j + 1)) as f64 + 1e7 * f64::from(repeat);
                    let metrics = vec![
                        metric("goodput_bps", "bit/s", rate),
                        metric("rtt_q95_ns", "ns", 2e6 * (i + 1) as f64 + 1e4 * f64::from(repeat * repeat)),
                    ];
                    builder
                        .add(RunResult { per_flow: vec![metrics.clone()], metrics, ..RunResult::of(&run) })
                        .unwrap();
                }
            }
        }
    }
    builder.finish()
}

fn across(report: &Report) -> Vec<(String, String)> {
    let files = report.svgs().into_iter().filter_map(|(name, svg)| {
        let id = name.strip_prefix("study-")?.strip_suffix(".svg")?.to_string();
        Some((id, svg))
    });
    files.collect()
}

fn names(report: &Report) -> Vec<String> {
    across(report).into_iter().map(|file| file.0).collect()
}

/// The figure of one request, which is the first.
fn first_of(request: FigureRequest) -> (String, String) {
    let (id, svg) = across(&sweep(vec![request], 3)).remove(0);
    well_formed(&svg).unwrap_or_else(|error| panic!("{id}: {error}"));
    (id, svg)
}

#[test]
fn a_sweep_of_two_numbers_gets_a_heat_map_for_each_algorithm() {
    let report = sweep(Vec::new(), 3);
    let found = names(&report);
    for id in [
        "heat-map-goodput-loss-rtt-bic",
        "heat-map-goodput-loss-rtt-reno",
        "throughput-delay",
        "goodput-by-factor-rtt-2-ms",
        "goodput-by-factor-rtt-100-ms",
        "repeats",
    ] {
        assert!(found.iter().any(|name| name == id), "{id} is missing in {found:?}");
    }
}

#[test]
fn a_heat_map_has_a_number_and_a_colour_in_each_cell_and_one_scale_in_all_maps() {
    let request = FigureRequest {
        x: Some("path.rtt".into()),
        y: Some("path.loss".into()),
        ..FigureRequest::new(FigureKind::HeatMap)
    };
    let maps: Vec<String> = across(&sweep(vec![request], 3))
        .into_iter()
        .filter(|f| f.0.starts_with("heat-map"))
        .map(|f| f.1)
        .collect();
    assert_eq!(maps.len(), 2, "one for each algorithm, and not again without being asked");
    for map in &maps {
        well_formed(map).unwrap();
        assert_eq!(map.matches("class=\"shade\"").count(), 9);
        assert!(map.contains("n = 3 in each cell"), "{map}");
        // The ends of the scale: the best of reno, and the worst of bic.
        assert!(map.contains(">910.0<") || map.contains(">910<"), "{map}");
        assert!(map.contains("Goodput (Mbit/s)"));
        assert!(map.contains("(95 % interval) Mbit/s, n = 3</title>"));
    }
}

#[test]
fn a_line_has_a_band_only_where_there_are_repeats() {
    let request = || FigureRequest {
        x: Some("path.rtt".into()),
        facet: Some("path.loss".into()),
        ..FigureRequest::new(FigureKind::Line)
    };
    let (id, svg) = first_of(request());
    assert_eq!(id, "line-goodput-bps-rtt-loss-0");
    assert_eq!(svg.matches("fill-opacity=\"0.2\"").count(), 2, "a band for each algorithm");
    assert!(svg.contains("Band: 95 % interval"));
    let single = across(&sweep(vec![request()], 1)).remove(0).1;
    assert_eq!(single.matches("fill-opacity=\"0.2\"").count(), 0);
    assert!(single.contains("n = 1.") && !single.contains("Band"), "{single}");
}

#[test]
fn means_over_other_factors_are_taken_only_if_asked_for_and_noted() {
    let averaged = FigureRequest {
        x: Some("path.rtt".into()),
        average: vec!["path.loss".into()],
        ..FigureRequest::new(FigureKind::Line)
    };
    let (id, svg) = first_of(averaged);
    assert_eq!(id, "line-goodput-bps-rtt");
    assert!(svg.contains("Averaged over loss") && svg.contains("n = 9."), "{svg}");
}

#[test]
fn a_loss_of_zero_has_a_place_on_a_logarithmic_axis() {
    let request = FigureRequest {
        x: Some("path.loss".into()),
        facet: Some("path.rtt".into()),
        ..FigureRequest::new(FigureKind::Line)
    };
    let (_, svg) = first_of(request);
    assert!(svg.contains(">0</text>") && svg.contains(">1e-5</text>"), "{svg}");
    // Three means of two algorithms.
    assert_eq!(svg.matches("<circle").count(), 6);
}

#[test]
fn the_scatter_has_a_mark_for_each_setting_and_an_ellipse_of_its_repeats() {
    let (id, svg) = first_of(FigureRequest::new(FigureKind::Scatter));
    assert_eq!(id, "throughput-delay");
    // 18 settings, and two marks in the legend.
    assert_eq!(svg.matches("<circle").count(), 20);
    assert_eq!(svg.matches("fill-opacity=\"0.2\"").count(), 18);
    assert!(svg.contains("<title>bic · loss 0 · rtt 2 ms: 460 Mbit/s, RTT q95 "), "{svg}");
}

#[test]
fn distributions_are_of_runs_or_of_samples() {
    let runs = FigureRequest {
        average: vec!["path.loss".into(), "path.rtt".into()],
        ..FigureRequest::new(FigureKind::Cdf)
    };
    let (id, svg) = first_of(runs.clone());
    assert_eq!(id, "cdf-goodput");
    assert!(svg.contains("Share of runs") && svg.contains("n = 27."), "{svg}");
    let (id, svg) = first_of(FigureRequest { of: Some(DistributionOf::RttSamples), ..runs.clone() });
    assert_eq!(id, "cdf-rtt-samples");
    assert!(svg.contains("Smoothed RTT (ms)"), "{svg}");
    let page = sweep(vec![FigureRequest { of: Some(DistributionOf::FlowTimes), ..runs }], 1).html();
    assert!(page.contains("No run has flows that completed."));
}

#[test]
fn boxes_are_by_the_factor_that_is_asked_for() {
    let request = FigureRequest {
        metric: Some("rtt_q95_ns".into()),
        x: Some("path.rtt".into()),
        average: vec!["path.loss".into()],
        ..FigureRequest::new(FigureKind::Box)
    };
    let (id, svg) = first_of(request);
    assert_eq!(id, "box-rtt-q95");
    assert!(svg.contains(">rtt 2 ms · bic<") && !svg.contains("loss 1e-5"), "{svg}");
    assert!(svg.contains("RTT q95 (ms)"), "{svg}");
}

#[test]
fn a_request_without_data_is_answered_in_words() {
    let missing = FigureRequest { metric: Some("jain_index".into()), ..FigureRequest::new(FigureKind::Line) };
    assert!(sweep(vec![missing], 1).html().contains("No run has the metric jain_index."));
    let names = FigureRequest { x: Some("flow.congestion".into()), ..FigureRequest::new(FigureKind::Line) };
    assert!(
        sweep(vec![names], 1).html().contains("The values of flow.congestion are not numbers of one unit.")
    );
}

#[test]
fn two_requests_of_one_kind_keep_ids_of_their_own() {
    let request = |log_y| FigureRequest { log_y: Some(log_y), ..FigureRequest::new(FigureKind::Scatter) };
    let found = names(&sweep(vec![request(false), request(true)], 1));
    assert_eq!(found[..3], ["throughput-delay", "throughput-delay-2", "goodput"]);
}

#[test]
fn a_large_study_has_the_details_of_a_few_runs_and_a_row_of_each() {
    // 18 settings of three repeats.
    let report = sweep(Vec::new(), 3);
    let page = report.html();
    assert_eq!(
        page.matches("<template data-panel=").count(),
        18,
        "the firsts and the best run, less the one shown"
    );
    assert_eq!(page.matches("class=\"name\"").count(), 54);
    assert!(page.contains("Details of 19 of 54 runs"));
    assert!(page.contains("data-other=\"reno-0-1-1\""));
    let owners = report.svgs().into_iter().filter(|file| file.0.ends_with("-cwnd.svg")).count();
    assert_eq!(owners, 19);
}

#[test]
fn the_page_of_a_large_study_grows_by_little_for_each_run() {
    let size = |repeats| sweep(Vec::new(), repeats).html().len();
    let (some, many) = (size(6), size(20));
    let each = (many - some) / (14 * 18);
    assert!(each < 1200, "{each} bytes for each run");
}

#[test]
fn a_metric_may_be_that_of_one_flow() {
    let request =
        |name: &str| FigureRequest { metric: Some(name.into()), ..FigureRequest::new(FigureKind::HeatMap) };
    let (id, svg) = first_of(request("flow.a.goodput_bps"));
    assert_eq!(id, "heat-map-goodput-of-a-loss-rtt-reno");
    assert!(
        svg.contains("Goodput of a over loss and rtt: reno") && svg.contains("Goodput of a (Mbit/s)"),
        "{svg}"
    );
    let page = sweep(vec![request("flow.z.goodput_bps")], 1).html();
    assert!(page.contains("No run has the metric flow.z.goodput_bps."));
}
