//! Every statistic against SciPy and statsmodels: `reference/make.py` writes the file that is read here.

use serde_json::Value;
use std::sync::LazyLock;
use wirespeed_statistics::blocks;
use wirespeed_statistics::bootstrap::{Resampling, bca, percentile};
use wirespeed_statistics::multiple::{benjamini_hochberg, holm};
use wirespeed_statistics::outliers::outliers;
use wirespeed_statistics::unpaired::{self, Welch, hedges_g};
use wirespeed_statistics::{Estimate, Interval, Level, Method, mean, paired, quantile, standard_deviation};
use wirespeed_statistics::{student, student_t};

static REFERENCE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("reference/reference.json")).expect("make.py wrote it")
});

/// Relative agreement that both sides' series and continued fractions allow.
const CLOSE: f64 = 1e-9;

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn close(found: f64, wanted: &Value, what: &str) {
    let wanted = number(wanted);
    let scale = wanted.abs().max(found.abs());
    assert!((found - wanted).abs() <= CLOSE * scale, "{what}: {found}, not {wanted}");
}

fn same_interval(found: Interval, wanted: &Value, what: &str) {
    close(found.low, &wanted[0], what);
    close(found.high, &wanted[1], what);
}

fn same_estimate(found: Estimate, wanted: &Value, what: &str) {
    close(found.value, &wanted["value"], what);
    same_interval(found.interval, &wanted["interval"], what);
    close(found.p, &wanted["p"], what);
}

#[test]
fn quantiles_of_students_t_are_those_of_scipy() {
    for row in list(&REFERENCE["student"]) {
        let (q, freedom) = (number(&row["q"]), number(&row["freedom"]));
        close(student(q, freedom).unwrap(), &row["t"], &format!("t({q}, {freedom})"));
    }
}

#[test]
fn samples_have_the_moments_and_intervals_of_the_reference() {
    for (name, row) in REFERENCE["single"].as_object().expect("by name") {
        let values = numbers(&row["values"]);
        close(mean(&values).unwrap(), &row["mean"], name);
        close(standard_deviation(&values).unwrap(), &row["deviation"], name);
        close(quantile(&values, 0.25).unwrap(), &row["quartile"], name);
        for of_level in list(&row["levels"]) {
            let level = Level::new(number(&of_level["level"])).unwrap();
            same_interval(student_t(&values, level).unwrap(), &of_level["t"], name);
        }
    }
}

/// On the same resamples, so that no Monte Carlo error is allowed for.
#[test]
fn bootstrap_intervals_are_those_of_scipy_on_the_same_resamples() {
    let [resamples, seed] = ["resamples", "seed"].map(|key| REFERENCE[key].as_u64().unwrap());
    let resampling = Resampling { resamples: resamples as usize, seed };
    let of_mean = |values: &[f64]| mean(values).unwrap_or(f64::NAN);
    for (name, row) in REFERENCE["single"].as_object().expect("by name") {
        let values = numbers(&row["values"]);
        for of_level in list(&row["levels"]) {
            let level = Level::new(number(&of_level["level"])).unwrap();
            let plain = percentile(&values, of_mean, level, resampling).unwrap();
            same_interval(plain, &of_level["percentile"], name);
            let corrected = bca(&values, of_mean, level, resampling).unwrap();
            assert_eq!(corrected.method, Method::BootstrapBca, "{name}");
            same_interval(corrected, &of_level["bca"], name);
        }
    }
}

#[test]
fn outliers_are_those_of_the_median_absolute_deviation() {
    for (name, row) in REFERENCE["single"].as_object().expect("by name") {
        let values = numbers(&row["values"]);
        let wanted: Vec<usize> = numbers(&row["outliers"]).into_iter().map(|index| index as usize).collect();
        let found: Vec<usize> = outliers(&values).iter().map(|outlier| outlier.index).collect();
        assert_eq!(found, wanted, "{name}");
    }
}

#[test]
fn unpaired_comparisons_are_those_of_the_reference() {
    for (index, row) in list(&REFERENCE["unpaired"]).iter().enumerate() {
        let what = format!("comparison {index}");
        let (first, other) = (numbers(&row["first"]), numbers(&row["other"]));
        let welch = Welch::of(&first, &other).unwrap();
        close(welch.freedom, &row["welch"]["freedom"], &what);
        close(welch.error, &row["welch"]["error"], &what);
        close(welch.p(), &row["welch"]["p"], &what);
        let level = Level::NINETY_FIVE;
        same_interval(welch.interval(level), &row["welch"]["interval"], &what);
        close(welch.open(level), &row["open"], &what);
        close(welch.detectable(level, Level::new(0.8).unwrap()), &row["detectable"], &what);
        same_estimate(unpaired::ratio(&first, &other, level).unwrap(), &row["ratio"], &what);
        close(hedges_g(&first, &other).unwrap(), &row["hedges_g"], &what);
    }
}

#[test]
fn paired_comparisons_are_those_of_the_reference() {
    for (index, row) in list(&REFERENCE["paired"]).iter().enumerate() {
        let what = format!("comparison {index}");
        let pairs: Vec<(f64, f64)> = numbers(&row["first"]).into_iter().zip(numbers(&row["other"])).collect();
        same_estimate(paired::difference(&pairs, Level::NINETY_FIVE).unwrap(), &row["difference"], &what);
        same_estimate(paired::ratio(&pairs, Level::NINETY_FIVE).unwrap(), &row["ratio"], &what);
        let signed = paired::wilcoxon(&pairs).unwrap();
        close(signed.rank_sum, &row["wilcoxon"]["rank_sum"], &what);
        close(signed.p, &row["wilcoxon"]["p"], &what);
    }
}

#[test]
fn ratios_over_settings_are_those_of_the_reference() {
    let row = &REFERENCE["blocks"];
    let sides = list(&row["first"]).iter().zip(list(&row["other"]));
    let ratios: Vec<Estimate> =
        sides.map(|(a, b)| unpaired::ratio(&numbers(a), &numbers(b), Level::NINETY_FIVE).unwrap()).collect();
    same_estimate(blocks::of_repeats(&ratios, Level::NINETY_FIVE).unwrap(), &row["repeats"], "repeats");
    let values: Vec<f64> = ratios.iter().map(|ratio| ratio.value).collect();
    same_estimate(blocks::of_settings(&values, Level::NINETY_FIVE).unwrap(), &row["settings"], "settings");
}

#[test]
fn adjusted_p_values_are_those_of_statsmodels() {
    for row in list(&REFERENCE["multiple"]) {
        let p = numbers(&row["p"]);
        for (found, wanted) in [(holm(&p), "holm"), (benjamini_hochberg(&p), "benjamini_hochberg")] {
            assert_eq!(found.len(), p.len());
            found.iter().zip(list(&row[wanted])).for_each(|(found, value)| close(*found, value, wanted));
        }
    }
}
