#![allow(clippy::print_stdout, missing_docs, reason = "temporary")]
use wirespeed_metrics::{evaluate, find};
use wirespeed_record::{RunState, find_runs, open, read};
use wirespeed_report::{Comparer, MetricValue, RunResult};
fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let out = args.remove(0);
    let mut c = Comparer::new("tmp", format!("wirespeed compare {}", args.join(" ")));
    for folder in &args {
        c.folder(folder.clone());
        for path in find_runs(folder.as_ref()).unwrap() {
            match open(&path).unwrap() {
                RunState::Incomplete(r) => c.add_incomplete(path.display().to_string(), r),
                RunState::Complete(_) => {
                    let recording = read(&path).unwrap();
                    let order = |n: &str| wirespeed_metrics::all().iter().position(|m| m.name == n);
                    let mut metrics: Vec<MetricValue> = evaluate(&recording).into_iter().map(|(n, v)| { let m = find(n).unwrap(); MetricValue { name: n.into(), unit: m.unit.into(), value: v, headline: m.headline } }).collect();
                    metrics.sort_by_key(|m| order(&m.name));
                    c.add(RunResult { recording: &recording, metrics, per_flow: vec![], expectations: vec![] }, path.display().to_string());
                }
            }
        }
    }
    let c = c.finish(&[]);
    for w in c.warnings() { println!("warning: {w}"); }
    let width = std::env::var("COLUMNS").ok().and_then(|w| w.parse().ok()).unwrap_or(100);
    println!("{}", c.terminal(width, false));
    std::fs::write(out, c.html()).unwrap();
    if std::env::var_os("JSON").is_some() { println!("{}", serde_json::to_string(&c.json()).unwrap()); }
}
