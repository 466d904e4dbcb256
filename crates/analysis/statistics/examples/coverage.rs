//! Prints the tables of docs/reference/statistics.md: how often intervals contain the true value.
//!
//! `cargo run -p wirespeed-statistics --example coverage`

#![allow(clippy::print_stdout, reason = "printing is its purpose")]

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use simulation::{Shape, coverage};
use wirespeed_statistics::bootstrap::{Resampling, bca, percentile};
use wirespeed_statistics::sequential::{Decision, needed};
use wirespeed_statistics::{Interval, Level, Method, Random, mean, student_t};

const CASES: usize = 2_000;
const LEVEL: Level = Level::NINETY_FIVE;

fn of_mean(values: &[f64]) -> f64 {
    mean(values).unwrap_or(f64::NAN)
}

fn interval(method: Method, values: &[f64], seed: u64) -> Option<Interval> {
    let resampling = Resampling { resamples: 999, seed };
    match method {
        Method::BootstrapPercentile => percentile(values, of_mean, LEVEL, resampling),
        Method::BootstrapBca => bca(values, of_mean, LEVEL, resampling),
        _ => student_t(values, LEVEL),
    }
}

fn intervals() {
    println!("| Distribution | n | Student's t | percentile bootstrap | BCa bootstrap |");
    println!("|---|---:|---:|---:|---:|");
    for shape in Shape::ALL {
        for n in [3, 5, 10, 30] {
            let of = |method| {
                let mut seed = 0;
                let found = coverage(CASES, shape.true_mean(), |random| {
                    seed += 1;
                    interval(method, &shape.sample(n, random), seed)
                });
                format!("{:.1} %", 100.0 * found)
            };
            let cells = [Method::StudentT, Method::BootstrapPercentile, Method::BootstrapBca].map(of);
            println!("| {} | {n} | {} |", shape.name(), cells.join(" | "));
        }
    }
}

fn stops() {
    println!("\n| Distribution | Width | Mean within the width of the truth | Mean repeats |");
    println!("|---|---:|---:|---:|");
    for (shape, widths) in [(Shape::Normal, [0.1, 0.05, 0.02]), (Shape::LogNormal, [0.5, 0.25, 0.1])] {
        for width in widths {
            let (mut random, mut within, mut repeats) = (Random::new(5), 0, 0);
            for _ in 0..CASES {
                let mut values = Vec::new();
                while needed(&values, LEVEL, width) != Decision::Enough {
                    values.push(shape.draw(&mut random));
                }
                repeats += values.len();
                let mean = of_mean(&values);
                within += usize::from((mean - shape.true_mean()).abs() <= width * mean);
            }
            println!(
                "| {} | {} % | {:.1} % | {:.1} |",
                shape.name(),
                100.0 * width,
                100.0 * within as f64 / CASES as f64,
                repeats as f64 / CASES as f64
            );
        }
    }
}

fn main() {
    intervals();
    stops();
}
