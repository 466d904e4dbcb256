//! Whether a run depends on its seed, held against runs with two seeds.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wirespeed_campaign::judge;
use wirespeed_record::{RunDirectory, read};
use wirespeed_scenario::Run;
use wirespeed_substrates::{Control, Model, Substrate};

/// All metrics of a run on the model.
fn metrics(run: &Run) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let directory = RunDirectory::create(&path).unwrap();
    let control = Control { cancel: &AtomicBool::new(false), progress: &|_| () };
    let recording = Model.carry_out(run, &directory, &control).unwrap();
    directory.finish(&recording).unwrap();
    let judged = judge(read(&path).unwrap(), None, &[]).unwrap();
    judged.metrics.into_iter().map(|metric| (metric.name, metric.value.to_bits())).collect()
}

/// Every algorithm on a path that drops for want of room only, with Linux' settings, time stamps among them.
#[test]
fn runs_that_do_not_depend_on_their_seed_are_the_same_with_any() {
    let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n\
                [[flow]]\n[[flow]]\ncongestion = \"cubic\"\nstart = \"300 ms\"\n[run]\nduration = \"3 s\"\n[sweep]\n\
                \"flow.0.congestion\" = [\"reno\", \"bbr\", \"bic\", \"cubic\", \"dctcp\", \"highspeed\", \"htcp\",\
                \"illinois\", \"lp\", \"scalable\", \"vegas\", \"veno\", \"westwood\", \
                \"yeah\", \"compound\", \"fast\", \"lola\"]\n";
    let runs = wirespeed_scenario::parse(text, "t.toml", &[], None).unwrap().runs;
    let mut depending = Vec::new();
    for run in runs {
        let control = run.factors.values().map(|value| serde_json::json!(value)).next().unwrap();
        if Model.depends_on_seed(&run) {
            depending.push(control);
            continue;
        }
        let other = Run { seed: run.seed ^ 0x5eed, ..run.clone() };
        assert_eq!(metrics(&run), metrics(&other), "{control}");
    }
    // Their phases and their clock are drawn.
    assert_eq!(depending, ["bbr", "lp"]);
}
