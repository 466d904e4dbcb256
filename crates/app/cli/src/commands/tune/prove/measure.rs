//! One measurement between two hosts, with a candidate in force.

use crate::commands::run::quoted;
use crate::failure::Failure;
use crate::interrupt;
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use wirespeed_inventory::Change;
use wirespeed_proof::Measurement;
use wirespeed_transport::command::on_host;
use wirespeed_transport::remote::Program;
use wirespeed_units::Span;

/// An end of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The host that sends.
    Sender,
    /// The host that receives.
    Receiver,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            End::Sender => "sender",
            End::Receiver => "receiver",
        })
    }
}

/// Changes that are tested as one.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Its name in tables.
    pub name: String,
    /// Changes of the sender.
    pub sender: Vec<Change>,
    /// Changes of the receiver.
    pub receiver: Vec<Change>,
}

/// Two hosts, and how they are measured.
pub struct Path {
    /// The sender, as for `wirespeed probe`.
    pub from: String,
    /// The receiver.
    pub to: String,
    /// Length of a measurement after the warm-up.
    pub time: Span,
    /// The warm-up.
    pub omit: Span,
    /// Parallel flows.
    pub flows: u32,
    /// Congestion control algorithm, if not the sender's own.
    pub congestion: Option<String>,
    /// Managers whose settings may be changed.
    pub overridden: Vec<String>,
    /// Folder on the hosts for the old values of changes to keep.
    pub state: String,
    /// Folder for the results.
    pub out: PathBuf,
    /// This program, for the hosts.
    pub program: Program,
    /// This program, for `probe`.
    pub own: PathBuf,
    /// Measurements so far.
    pub count: usize,
    /// The folder of the first measurement of the hosts as they are.
    pub first: Option<PathBuf>,
}

/// Name of a measurement of the hosts as they are.
const WITHOUT: &str = "without changes";

/// The folder with the old values of a change under test, apart from those of changes to keep.
const STATE: &str = "--state \"$HOME\"/.cache/wirespeed/prove";

impl Path {
    /// Measures with the candidate in force, and puts the hosts back, also after an error. `None` if the user interrupted it.
    pub fn measure(&mut self, candidate: Option<&Candidate>) -> Result<Option<Measurement>, Failure> {
        let Some(candidate) = candidate else { return self.probe(WITHOUT) };
        let mut applied = Vec::new();
        let mut result = Ok(());
        for (end, changes) in self.parts(candidate) {
            result = self.apply(end, changes, &format!("{STATE} --confirm-within \"{}\"", self.deadline()));
            if result.is_err() {
                break;
            }
            applied.push(end);
        }
        let measured = result.and_then(|()| self.probe(&candidate.name));
        // An error at one end does not keep the other from being put back.
        let ends = applied.into_iter().rev();
        let put_back = ends.map(|end| self.command(end, &format!("tune revert {STATE}"), ""));
        put_back.fold(Ok(()), Result::and)?;
        measured
    }

    /// Makes the changes, to stay after this process.
    pub fn keep(&mut self, candidate: &Candidate) -> Result<(), Failure> {
        for (end, changes) in self.parts(candidate) {
            self.apply(end, changes, &format!("--state {}", quoted(&self.state)))?;
        }
        Ok(())
    }

    fn parts<'a>(&self, candidate: &'a Candidate) -> Vec<(End, &'a [Change])> {
        let parts = [(End::Sender, &candidate.sender[..]), (End::Receiver, &candidate.receiver[..])];
        parts.into_iter().filter(|(_, changes)| !changes.is_empty()).collect()
    }

    /// Time after which a host puts a change back by itself, if this process dies: that of a measurement, and a minute to
    /// connect.
    fn deadline(&self) -> Span {
        let seconds = self.time.as_secs_f64() + self.omit.as_secs_f64() + 60.0;
        Span::ns((seconds * 1e9) as i64)
    }

    fn apply(&self, end: End, changes: &[Change], options: &str) -> Result<(), Failure> {
        let input = serde_json::to_string(changes).expect("changes are plain data");
        let overridden: String =
            self.overridden.iter().map(|manager| format!(" --override {}", quoted(manager))).collect();
        self.command(end, &format!("tune apply --changes - {options}{overridden}"), &input)
    }

    /// Runs a command of this program on a host.
    fn command(&self, end: End, words: &str, input: &str) -> Result<(), Failure> {
        let host = match end {
            End::Sender => &self.from,
            End::Receiver => &self.to,
        };
        let name = host.split('=').next().unwrap_or(host);
        on_host(name, &self.program, words, input.as_bytes())
            .map(drop)
            .map_err(|error| Failure::Environment(error.to_string()))
    }

    /// One `wirespeed probe`, in a folder of its own.
    fn probe(&mut self, name: &str) -> Result<Option<Measurement>, Failure> {
        self.count += 1;
        let folder = self.out.join("measurements").join(format!("{:03}", self.count));
        let mut command = Command::new(&self.own);
        command.args(["probe", &self.from, &self.to, "--json", "--time"]).arg(self.time.to_string());
        command.arg("--omit").arg(self.omit.to_string()).args(["--parallel", &self.flows.to_string()]);
        command
            .arg("--out")
            .arg(&folder)
            .args(self.congestion.iter().flat_map(|name| ["--congestion", name]));
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|source| Failure::Output { what: "a probe".into(), source })?;
        let failed = |reason: String| Failure::Environment(format!("measurement {name}: {reason}"));
        // Ctrl-C reaches the probe as well, which then has measured for a part of its time.
        if interrupt::flag().load(Relaxed) {
            return Ok(None);
        }
        if !output.status.success() {
            return Err(failed(last_lines(&String::from_utf8_lossy(&output.stderr))));
        }
        let json: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
        let found = measurement(&json).ok_or_else(|| failed("the probe reports no goodput".into()))?;
        if name == WITHOUT {
            self.first.get_or_insert(folder);
        }
        Ok(Some(found))
    }
}

/// The end of a message, where its reason is.
pub(super) fn last_lines(text: &str) -> String {
    const LINES: usize = 4;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].join(" ")
}

/// The goodput of the first run in the output of `probe --json` or `run --json`, in bit/s.
pub(super) fn goodput_bps(json: &Value) -> Option<f64> {
    json["runs"][0]["metrics"]["goodput_bps"].as_f64()
}

/// The measurement in the output of `probe --json`.
fn measurement(json: &Value) -> Option<Measurement> {
    let run = &json["runs"][0];
    let lost = run["ledger"]["data"]["lost"].as_array().into_iter().flatten();
    let lost = lost.filter_map(|row| Some((row["stage"].as_str()?.to_owned(), row["packets"].as_u64()?)));
    Some(Measurement {
        goodput_bps: goodput_bps(json)?,
        retransmissions: run["metrics"]["retransmissions_packets"].as_f64().unwrap_or(0.0) as u64,
        limiting_factor: run["limit"].as_str().unwrap_or_default().to_owned(),
        lost: lost.filter(|(_, packets)| *packets > 0).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn measurements_are_read_from_the_output_of_probe() {
        let json = json!({"runs": [{
            "metrics": {"goodput_bps": 1e9, "retransmissions_packets": 7.0},
            "limit": "receive window",
            "ledger": {"data": {"lost": [{"stage": "qdisc", "packets": 3}, {"stage": "network", "packets": 0}]}},
        }]});
        let found = measurement(&json).unwrap();
        assert_eq!((found.goodput_bps, found.retransmissions), (1e9, 7));
        assert_eq!(
            (found.limiting_factor.as_str(), found.lost),
            ("receive window", vec![("qdisc".into(), 3)])
        );
        assert_eq!(measurement(&json!({"runs": []})), None);
    }

    #[test]
    fn reasons_are_the_last_lines() {
        assert_eq!(last_lines("a\n\nb\nc\nd\ne\n"), "b c d e");
    }
}
