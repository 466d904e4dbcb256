//! What a report says within one sweep: comparisons with all else equal, means with intervals, outliers.

#[allow(dead_code, reason = "other tests draw queues")]
mod recordings;

use recordings::{one_run, study};
use std::sync::LazyLock;
use wirespeed_record::Recording;
use wirespeed_report::{Builder, LevelComparison, MetricValue, Pairing, Report, RunResult, Scale};

/// A run without samples.
static BARE: LazyLock<Recording> = LazyLock::new(|| {
    let recording = one_run("cubic", 0);
    Recording { flows: vec![], queues: vec![], ..recording }
});

/// A run of a sweep over congestion control and loss.
fn run(control: &str, loss: f64, repeat: u32, seed: u64) -> Recording {
    let mut recording = BARE.clone();
    recording.info.flows[0].congestion = Some(control.into());
    recording.info.factors.insert("flow.congestion".into(), control.into());
    recording.info.repeat = repeat;
    recording.info.id = format!("{control},loss={loss:e},r{repeat}");
    recording.info.factors.insert("path.loss".into(), loss.into());
    recording.info.seed = seed;
    recording.info.depends_on_seed = Some(true);
    recording
}

fn add(builder: &mut Builder, recording: &Recording, goodput: f64) {
    let metric =
        MetricValue { name: "goodput_bps".into(), unit: "bit/s".into(), value: goodput, headline: true };
    let result = RunResult { metrics: vec![metric], ..RunResult::of(recording) };
    builder.add(result).unwrap();
}

/// Goodputs in Gbit/s: congestion control, loss, one value for each repeat.
type Rows<'a> = &'a [(&'a str, f64, &'a [f64])];

/// A report over `rows`; `seed` gives the seed of a run by its row and repeat.
fn report(rows: Rows, seed: fn(usize, usize) -> u64) -> Report {
    let mut builder = Builder::new(study());
    for (row, (control, loss, values)) in rows.iter().enumerate() {
        for (repeat, value) in values.iter().enumerate() {
            add(&mut builder, &run(control, *loss, repeat as u32, seed(row, repeat)), value * 1e9);
        }
    }
    builder.finish()
}

fn independent(row: usize, repeat: usize) -> u64 {
    (100 * row + repeat) as u64
}

fn by_repeat(_: usize, repeat: usize) -> u64 {
    repeat as u64
}

const CROSSED: Rows = &[
    ("cubic", 1e-6, &[1.00, 1.02, 0.98, 1.01, 0.99]),
    ("bic", 1e-6, &[1.41, 1.43, 1.39, 1.42, 1.40]),
    ("cubic", 1e-5, &[0.30, 0.31, 0.29, 0.30, 0.31]),
    ("bic", 1e-5, &[1.20, 1.22, 1.18, 1.21, 1.19]),
];

fn words(report: &Report) -> String {
    report.terminal(110, false).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn of_factor(report: &Report, factor: &str) -> Vec<LevelComparison> {
    report.comparisons().into_iter().filter(|c| c.factor == factor).collect()
}

#[test]
fn answer_compares_with_all_else_equal() {
    let text = words(&report(CROSSED, independent));
    assert!(text.contains("bic exceeds cubic by 41 % [38, 44] at loss 1e-6"), "{text}");
    assert!(text.contains("bic exceeds cubic by a factor of 4 [3.8, 4.1] at loss 1e-5"), "{text}");
    assert!(text.contains("The highest mean of 2 settings: bic in 2."), "{text}");
    assert!(text.contains("Of 4 comparisons 4 show a difference"), "{text}");
    assert!(!text.contains("is last with"), "settings that differ in two factors are not compared: {text}");
}

#[test]
fn comparisons_have_a_table() {
    insta::assert_snapshot!(report(CROSSED, independent).terminal(100, false));
}

#[test]
fn ratio_and_interval_are_those_of_welch_on_logarithms() {
    let found = of_factor(&report(CROSSED, independent), "flow.congestion");
    let at = found.iter().find(|c| c.setting.as_ref().is_some_and(|s| s["path.loss"] == 1e-6)).unwrap();
    assert_eq!((at.pairing, at.scale, at.repeats), (Pairing::Independent, Scale::Ratio, [5, 5]));
    assert_eq!((at.first.as_str(), at.other.as_str()), (Some("cubic"), Some("bic")));
    assert!((at.value - 1.41).abs() < 1e-12);
    // Relative standard errors 0.0070711 and 0.0050150: ln 1.41 +- 2.3506 (7.2114 degrees of freedom) x 0.0086689,
    // by hand with SciPy's t.
    let interval = at.interval.unwrap();
    assert!(
        (interval.low - 1.381_558_557).abs() < 1e-8 && (interval.high - 1.439_026_953).abs() < 1e-8,
        "{interval:?}"
    );
    assert!(at.is_shown() && at.hedges_g.unwrap() > 20.0);
}

#[test]
fn equal_seeds_are_pairs() {
    // Repeats differ by a factor of 3, and every pair by a fifth.
    let rows: Rows = &[
        ("cubic", 1e-6, &[1.0, 3.0, 2.0, 1.5]),
        ("bic", 1e-6, &[1.2, 3.61, 2.39, 1.8]),
        ("cubic", 1e-5, &[0.5, 0.6, 0.4, 0.7]),
        ("bic", 1e-5, &[0.6, 0.72, 0.49, 0.84]),
    ];
    let at = |report: &Report| {
        of_factor(report, "flow.congestion").into_iter().find(|c| c.setting.is_some()).unwrap()
    };
    let (paired, independent) = (at(&report(rows, by_repeat)), at(&report(rows, independent)));
    assert_eq!((paired.pairing, independent.pairing), (Pairing::SameSeed, Pairing::Independent));
    assert!(paired.is_shown() && !independent.is_shown(), "{paired:?} {independent:?}");
    // A seed of several repeats pairs nothing.
    assert_eq!(at(&report(rows, |_, _| 7)).pairing, Pairing::Independent);
}

#[test]
fn a_difference_within_chance_is_not_called_one() {
    let rows: Rows = &[
        ("cubic", 1e-6, &[1.0, 1.4, 0.8]),
        ("bic", 1e-6, &[1.1, 1.5, 0.7]),
        ("cubic", 1e-5, &[0.5, 0.6, 0.4]),
        ("bic", 1e-5, &[0.5, 0.7, 0.4]),
    ];
    let report = report(rows, independent);
    let text = words(&report);
    assert!(text.contains("No difference is shown between bic and cubic (3.1 % ["), "{text}");
    assert!(
        text.contains("Too few repeats: with 3, the 95 % interval of a mean reaches 2.5 standard"),
        "{text}"
    );
    assert!(of_factor(&report, "flow.congestion").iter().all(|c| !c.is_shown()));
}

#[test]
fn adjusted_p_values_are_not_below_single_ones() {
    let found = of_factor(&report(CROSSED, independent), "path.loss");
    let (overall, single): (Vec<_>, Vec<_>) = found.iter().partition(|c| c.setting.is_none());
    assert_eq!((overall.len(), single.len()), (1, 2));
    let raw: Vec<f64> = single.iter().map(|c| c.p.unwrap()).collect();
    let adjusted: Vec<f64> = single.iter().map(|c| c.adjusted_p.unwrap()).collect();
    let least = raw.iter().copied().fold(1.0, f64::min);
    assert!(adjusted.iter().zip(&raw).all(|(a, p)| a >= p), "{raw:?} {adjusted:?}");
    assert!((adjusted.iter().copied().fold(1.0, f64::min) - 2.0 * least).abs() < 1e-15);
    let ratio = |c: &LevelComparison| c.value;
    assert!((overall[0].value - (ratio(single[0]) * ratio(single[1])).sqrt()).abs() < 1e-12);
}

#[test]
fn a_level_that_carries_nothing_has_a_difference_and_no_ratio() {
    let rows: Rows = &[
        ("cubic", 1e-6, &[0.0, 0.0]),
        ("bic", 1e-6, &[1.0, 1.2]),
        ("cubic", 1e-5, &[0.5, 0.6]),
        ("bic", 1e-5, &[0.5, 0.7]),
    ];
    let found = of_factor(&report(rows, independent), "flow.congestion");
    assert_eq!(found.iter().filter(|c| c.scale == Scale::Difference).count(), 1);
    assert!(found.iter().all(|c| c.value.is_finite()), "{found:?}");
}

#[test]
fn single_runs_are_compared_without_interval() {
    let rows: Rows =
        &[("cubic", 1e-6, &[1.0]), ("bic", 1e-6, &[1.5]), ("cubic", 1e-5, &[0.5]), ("bic", 1e-5, &[1.0])];
    let text = words(&report(rows, independent));
    assert!(text.contains("bic exceeds cubic by 50 % at loss 1e-6"), "{text}");
    assert!(text.contains("by a factor of 2 at loss 1e-5"), "{text}");
    assert!(text.contains("Each setting ran once"), "{text}");
    assert!(
        !text.contains("Comparisons of goodput"),
        "a table without an interval has nothing to add: {text}"
    );
}

#[test]
fn outliers_are_marked_and_kept() {
    let rows: Rows = &[("cubic", 1e-6, &[1.00, 1.01, 0.99, 1.02, 0.98, 0.10])];
    let report = report(rows, independent);
    let text = words(&report);
    let said = "! cubic,loss=1e-6,r5 is an outlier: its goodput is 100 Mbit/s, the median of its setting 995 Mbit/s.";
    assert!(text.contains(said), "{text}");
    let csv = report.means_csv();
    let row = csv.lines().nth(1).unwrap();
    assert!(row.contains(",6,850000000,") && row.ends_with("\"cubic,loss=1e-6,r5\""), "{csv}");
    assert!(report.html().contains("! cubic,loss=1e-6,r5") || report.html().contains("is an outlier"));
}

#[test]
fn csv_has_a_row_for_each_setting_and_metric() {
    let rows: Rows = &[("cubic", 1e-6, &[1.0, 2.0, 3.0]), ("bic", 1e-5, &[4.0])];
    let csv = report(rows, independent).means_csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "flow.congestion,path.loss,metric,unit,n,mean,low,high,method,least,largest,outliers"
    );
    assert!(lines[1].starts_with("cubic,1e-6,goodput_bps,bit/s,3,2000000000,-484137"), "{csv}");
    assert!(lines[1].ends_with(",Student's t,1000000000,3000000000,"), "{csv}");
    assert_eq!(lines[2], "bic,1e-5,goodput_bps,bit/s,1,4000000000,,,,4000000000,4000000000,");
    assert_eq!(lines.len(), 3);
}

#[test]
fn page_has_means_and_comparisons() {
    let page = report(CROSSED, independent).html();
    assert!(page.contains("id=\"means\"") && page.contains("id=\"comparisons\""));
    assert!(page.contains("over 2 settings (geometric mean)") && page.contains("Welch's t of logarithms"));
    let single = report(&[("cubic", 1e-6, &[1.0]), ("bic", 1e-6, &[1.5])], independent).html();
    assert!(!single.contains("id=\"means\"") && !single.contains("id=\"comparisons\""));
}

#[test]
fn ten_thousand_runs_are_compared() {
    let mut builder = Builder::new(study());
    for setting in 0..1_000_u32 {
        for (row, control) in ["cubic", "bic"].into_iter().enumerate() {
            for repeat in 0..5 {
                let loss = 1e-7 * f64::from(1 + setting);
                let recording = run(control, loss, repeat, u64::from(10 * setting + 5 * row as u32 + repeat));
                add(&mut builder, &recording, 1e9 + f64::from(repeat * 7 + setting) + 1e8 * row as f64);
            }
        }
    }
    let report = builder.finish();
    let found = of_factor(&report, "flow.congestion");
    assert_eq!(found.len(), 1_001);
    assert_eq!(found[0].settings, 1_000);
    assert_eq!(report.means_csv().lines().count(), 2_001);
}
