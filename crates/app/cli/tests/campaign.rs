//! Campaigns on workers: their results are those of one machine, whatever is killed meanwhile.

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{command, errors, skip, tables, wirespeed};

/// Twelve runs, of which three are copies.
const SWEEP: &str = "schema = 1\nname = \"pair\"\n[path]\nrate = \"100 Mbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n\
                     [run]\nduration = \"1 s\"\nrepeat = 2\n[sweep]\n\"flow.congestion\" = [\"cubic\", \"reno\", \"bic\"]\n\"path.loss\" = [0, 1e-3]\n";
const RUNS: usize = 12;

fn folder_with(scenario: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    folder
}

/// Runs the program, which has to succeed; what it printed.
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = wirespeed(folder, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", errors(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// By run: its tables as bytes, and `run.json` without its cost.
type Results = BTreeMap<String, (Vec<(PathBuf, Vec<u8>)>, Value)>;

fn results(out: &Path) -> Results {
    let runs = fs::read_dir(out.join("runs")).unwrap().map(|entry| entry.unwrap().path());
    runs.map(|run| {
        let mut info: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
        assert!(info.as_object_mut().unwrap().remove("cost").is_some());
        (run.file_name().unwrap().to_string_lossy().into_owned(), (tables(&run), info))
    })
    .collect()
}

fn assert_same(folder: &Path, a: &str, b: &str, count: usize) {
    let [a, b] = [a, b].map(|out| results(&folder.join(out)));
    assert_eq!(a.len(), count);
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (id, (tables, info)) in &a {
        assert_eq!(*info, b[id].1, "{id}");
        assert!(*tables == b[id].0, "{id}: the tables differ");
    }
}

#[test]
fn workers_by_hand_give_the_results_of_one_machine() {
    let folder = folder_with(SWEEP);
    let folder = folder.path();
    done(folder, &["run", "s.toml", "--out", "whole"]);
    let printed = done(folder, &["run", "s.toml", "--out", "parts", "--engine", "manual", "--shards", "3"]);
    assert!(printed.contains("The plan of 12 runs is in parts."), "{printed}");
    assert!(printed.contains("campaign worker") && printed.contains("--shard K/3"), "{printed}");
    assert_eq!(fs::read_dir(folder.join("parts/runs")).unwrap().count(), 0);
    for shard in ["2/3", "1/3", "3/3"] {
        done(folder, &["campaign", "worker", "parts", "--shard", shard]);
    }
    assert_same(folder, "whole", "parts", RUNS);
    let printed = done(folder, &["campaign", "status", "parts", "--json"]);
    let state: Value = serde_json::from_str(&printed).unwrap();
    let workers = state["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 3, "{state}");
    assert_eq!(workers.iter().map(|worker| worker["done"].as_u64().unwrap()).sum::<u64>(), RUNS as u64);
    assert!(workers.iter().all(|worker| worker["is_over"] == true), "{state}");

    let again = wirespeed(folder, &["run", "s.toml", "--out", "parts"]);
    assert_eq!(errors(&again).matches("kept from an earlier run").count(), RUNS, "{}", errors(&again));
    assert!(folder.join("parts/report.html").exists());
    assert!(folder.join("parts/results.parquet").exists());

    let both = wirespeed(folder, &["campaign", "status", "."]);
    assert!(errors(&both).contains("name one of ./parts, ./whole"), "{}", errors(&both));
    // As a reproduced study lies in its folder.
    fs::create_dir(folder.join("study")).unwrap();
    fs::rename(folder.join("parts"), folder.join("study/model")).unwrap();
    assert!(done(folder, &["campaign", "status", "study"]).contains("shard-2-3"));
}

#[test]
fn mistakes_in_a_campaign_name_the_remedy() {
    let folder = folder_with(SWEEP);
    let folder = folder.path();
    fs::create_dir(folder.join("empty")).unwrap();
    let cases: [(&[&str], &str); 5] = [
        (&["campaign", "worker", "empty", "--shard", "1/2"], "--engine manual"),
        (&["campaign", "worker", "empty", "--shard", "3/2"], "write K/N"),
        (&["campaign", "status", "empty"], "empty has no campaign"),
        (&["campaign", "cancel", "empty"], "empty has no campaign"),
        (&["run", "s.toml", "--engine", "manual", "--fresh", "--out", "o"], "new folder with --out"),
    ];
    for (arguments, expected) in cases {
        let output = wirespeed(folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", errors(&output));
        assert!(errors(&output).contains(expected), "{arguments:?}: {}", errors(&output));
    }
}

#[test]
fn campaign_without_time_begins_no_run_and_is_resumed() {
    let folder = folder_with(SWEEP);
    let folder = folder.path();
    let output = wirespeed(folder, &["run", "s.toml", "--out", "o", "--budget", "0 s"]);
    assert_eq!(output.status.code(), Some(124), "{}", errors(&output));
    assert!(errors(&output).contains("0 of 12 runs are complete"), "{}", errors(&output));
    done(folder, &["run", "s.toml", "--out", "o", "--budget", "1 h"]);
    assert_eq!(results(&folder.join("o")).len(), RUNS);
}

/// A cluster of two nodes on this machine, which ends with this value.
struct Cluster {
    folder: tempfile::TempDir,
}

impl Cluster {
    /// `None` where Slurm is not installed, or the user is not root.
    fn start() -> Option<Cluster> {
        let is_there = |program: &str| {
            Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
        };
        let is_root =
            fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
        if !is_root || !["slurmctld", "slurmd", "munged", "sbatch"].iter().all(|program| is_there(program)) {
            return None;
        }
        let cluster = Cluster { folder: tempfile::tempdir().unwrap() };
        assert!(cluster.tool("start", &[]), "Slurm does not start");
        Some(cluster)
    }

    fn tool(&self, action: &str, more: &[&str]) -> bool {
        let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/slurm-cluster");
        let mut command = Command::new(tool);
        command.arg(action).arg(self.folder.path()).args(more).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    /// Kills a daemon, as a power failure would.
    fn kill(&self, name: &str) {
        let pid = fs::read_to_string(self.folder.path().join(format!("{name}.pid"))).unwrap();
        assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.tool("stop", &[]);
    }
}

#[test]
fn campaign_on_slurm_survives_a_killed_node_and_a_restarted_controller() {
    const TEST: &str = "campaign_on_slurm_survives_a_killed_node_and_a_restarted_controller";
    let Some(cluster) = Cluster::start() else { return skip(TEST, "Slurm is not installed, or not root") };
    // Long enough for something to be killed in the midst of it.
    let long = SWEEP.replace("\"1 s\"", "\"60 s\"").replace("100 Mbit/s", "1 Gbit/s");
    let folder = folder_with(&long);
    let folder = folder.path();
    done(folder, &["run", "s.toml", "--out", "whole"]);
    let arguments = ["run", "s.toml", "--out", "cluster", "--engine", "slurm", "--shards", "6"];
    let mut campaign = command(folder, &arguments);
    campaign.env("SLURM_CONF", cluster.configuration()).stdout(Stdio::null()).stderr(Stdio::piped());
    let campaign = campaign.spawn().unwrap();
    let began = Instant::now();
    let complete = || {
        let runs = fs::read_dir(folder.join("cluster/runs")).into_iter().flatten();
        runs.filter(|run| run.as_ref().is_ok_and(|run| run.path().join("SHA256SUMS").exists())).count()
    };
    while complete() == 0 {
        assert!(began.elapsed() < Duration::from_secs(120), "no run was completed");
        std::thread::sleep(Duration::from_millis(50));
    }
    cluster.kill("node1");
    cluster.kill("slurmctld");
    std::thread::sleep(Duration::from_secs(1));
    let controller = Command::new("slurmctld").env("SLURM_CONF", cluster.configuration()).status().unwrap();
    assert!(controller.success());
    assert!(cluster.tool("node", &["1"]));
    let output = campaign.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert!(errors(&output).contains("submitted job"), "{}", errors(&output));
    assert_same(folder, "whole", "cluster", RUNS);
    let again = wirespeed(folder, &["run", "s.toml", "--out", "cluster"]);
    assert_eq!(errors(&again).matches("kept from an earlier run").count(), RUNS, "{}", errors(&again));
}
