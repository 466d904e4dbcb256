//! The kernel of a run: `run.kernel`.

use wirespeed_scenario::run::KernelChoice;
use wirespeed_scenario::{Study, parse};

const FILE: &str = r#"schema = 1
name = "t"
path = { rate = "1 Gbit/s", rtt = "1 ms" }
flow = [{}]
[run]
duration = "1 s"
"#;

fn study(more: &str, sets: &[(&str, &str)]) -> Study {
    let sets: Vec<(String, String)> = sets.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
    parse(&format!("{FILE}{more}\n"), "folder/t.toml", &sets, None)
        .unwrap_or_else(|error| panic!("{error:#}"))
}

fn kernels(study: &Study) -> Vec<Option<String>> {
    study.runs.iter().map(|run| run.kernel.as_ref().map(KernelChoice::to_string)).collect()
}

#[test]
fn a_run_without_a_kernel_is_stored_as_before() {
    let plain = study("", &[]);
    assert_eq!(kernels(&plain), [None]);
    assert!(plain.runs[0].recorded().get("kernel").is_none());
    let chosen = study("kernel = \"6.12\"", &[]);
    assert_eq!(chosen.runs[0].recorded()["kernel"], "6.12");
    assert_eq!((&chosen.runs[0].id, chosen.runs[0].seed), (&plain.runs[0].id, plain.runs[0].seed));
    let stored = serde_json::to_string(&chosen.runs[0]).unwrap();
    assert_eq!(wirespeed_scenario::Run::from_json(&stored).unwrap(), chosen.runs[0]);
}

#[test]
fn a_sweep_runs_each_kernel_with_its_name() {
    let swept = study("same_seed = [\"run.kernel\"]\n[sweep]\n\"run.kernel\" = [\"6.1\", \"6.12\"]", &[]);
    assert_eq!(kernels(&swept), [Some("6.1".into()), Some("6.12".into())]);
    assert_eq!((swept.runs[0].id.as_str(), swept.runs[1].id.as_str()), ("kernel=6.1,r0", "kernel=6.12,r0"));
    assert_eq!(swept.runs[0].seed, swept.runs[1].seed);
}

#[test]
fn a_version_needs_no_quotes_after_set() {
    for version in ["6.1", "6.10", "6.1.192"] {
        assert_eq!(kernels(&study("", &[("run.kernel", version)])), [Some(version.into())]);
    }
    let sweep = "[sweep]\n\"run.kernel\" = [\"6.1\", \"6.12\"]";
    let one = study(sweep, &[("run.kernel", "6.1")]);
    assert_eq!(kernels(&one), [Some("6.1".into())]);
    assert_eq!(one.runs[0], study(sweep, &[]).runs[0]);
}

#[test]
fn a_source_is_found_from_the_folder_of_the_scenario() {
    assert_eq!(kernels(&study("kernel = \"./linux\"", &[])), [Some("folder/./linux".into())]);
    assert_eq!(kernels(&study("kernel = \"/linux.tar.xz\"", &[])), [Some("/linux.tar.xz".into())]);
}

#[test]
fn a_kernel_that_is_none_is_an_error_with_both_forms() {
    for wrong in ["\"newest\"", "6.1", "\"6\""] {
        let text = format!("{FILE}kernel = {wrong}\n");
        let error = format!("{:#}", parse(&text, "t.toml", &[], None).unwrap_err());
        assert!(error.contains("\"6.1\""), "{error}");
    }
}
