//! Predictions of the model for the changes under test.

use super::measure::{Candidate, Path, goodput_bps, last_lines};
use std::process::{Command, Stdio};
use wirespeed_proof::{Host, Prediction, Setup, scenario};
use wirespeed_record::{RunInfo, find_runs, read_info};
use wirespeed_scenario::Scenario;

/// Predicts the hosts as they are, then each candidate. The scenarios and their runs stay in a folder of the results. If no
/// interface reports its rate, that of the path is `highest_bps`, the highest goodput of all measurements.
pub fn predict(path: &Path, candidates: &[Candidate], highest_bps: f64) -> Vec<Prediction> {
    let as_they_are =
        Candidate { name: "hosts as they are".into(), sender: Vec::new(), receiver: Vec::new() };
    let arms: Vec<&Candidate> = std::iter::once(&as_they_are).chain(candidates).collect();
    let info = match measured(path) {
        Ok(info) => info,
        Err(reason) => return vec![Prediction::None { reason }; arms.len()],
    };
    let mut predictions = Vec::new();
    let mut without = None;
    for (number, arm) in arms.into_iter().enumerate() {
        let prediction =
            of_arm(path, &info, arm, highest_bps).and_then(|scenario| simulated(path, number, &scenario));
        if number == 0 {
            without = prediction.as_ref().ok().copied();
        }
        predictions.push(match (prediction, without) {
            (Ok(goodput_bps), Some(without)) => {
                Prediction::Simulated { goodput_bps, effect: (goodput_bps - without) / without }
            }
            (Err(reason), _) => Prediction::None { reason },
            (Ok(_), None) => {
                Prediction::None { reason: "the hosts as they are could not be simulated".into() }
            }
        });
    }
    predictions
}

/// Facts of the first measurement of the hosts as they are, or the reason why it does not describe the path.
fn measured(path: &Path) -> Result<RunInfo, String> {
    let folder = path.first.as_ref().ok_or("no measurement of the hosts as they are was completed")?;
    let runs = find_runs(folder).map_err(|error| error.to_string())?;
    let run = runs.first().ok_or("the first measurement has no recording")?;
    read_info(run).map_err(|error| error.to_string())
}

/// The scenario of an arm, or the reason why there is none.
fn of_arm(path: &Path, info: &RunInfo, arm: &Candidate, highest_bps: f64) -> Result<Scenario, String> {
    let flow = info.flows.first().ok_or("the measurement has no flow")?;
    let host = |name: &str| -> Result<Host, String> {
        let host = info.hosts.iter().find(|host| host.name == name);
        let inventory = host.and_then(|host| host.inventory.as_ref());
        let inventory = inventory.ok_or_else(|| format!("the inventory of {name} was not recorded"))?;
        let interface = host.and_then(|host| host.settings.get("interface.device")).map(String::as_str);
        Ok(Host { inventory, interface })
    };
    let link = info.links.iter().min_by_key(|link| link.rate_bps).ok_or("the path has no link")?;
    let setup = Setup {
        rate_bps: if link.is_assumed { highest_bps as u64 } else { link.rate_bps },
        rtt_ns: flow.base_rtt_ns,
        congestion: flow.congestion.as_deref().ok_or("the flow has no congestion control")?,
        flows: path.flows,
        time: path.time,
        omit: path.omit,
        sender: host(&flow.from)?,
        receiver: host(&flow.to)?,
    };
    scenario(&setup, &arm.sender, &arm.receiver).map_err(|error| error.to_string())
}

/// The goodput of the model in bit/s, or the reason why there is none.
fn simulated(path: &Path, number: usize, scenario: &Scenario) -> Result<f64, String> {
    let folder = path.out.join("prediction");
    let file = folder.join(format!("{number:03}.toml"));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, scenario.text()));
    written.map_err(|error| format!("{}: {error}", file.display()))?;
    let mut command = Command::new(&path.own);
    command.arg("run").arg(&file).args(["--on", "model", "--json", "--out"]).arg(file.with_extension(""));
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(last_lines(&String::from_utf8_lossy(&output.stderr)));
    }
    let goodput = serde_json::from_slice(&output.stdout).ok().and_then(|json| goodput_bps(&json));
    goodput.filter(|goodput| *goodput > 0.0).ok_or_else(|| "the model delivered nothing".into())
}
