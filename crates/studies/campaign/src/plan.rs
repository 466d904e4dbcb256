//! The plan of a campaign as a file, from which workers on any host take their runs.

use crate::status::FOLDER;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;
use wirespeed_record::{SubstrateKind, replace_file};
use wirespeed_scenario::Run;

/// The file, in [`FOLDER`].
const FILE: &str = "plan.jsonl";
/// Version of its format.
const FORMAT_VERSION: u32 = 1;
/// The longest line, 64 MiB: a run of 10,000 flows has some MB.
const MOST_BYTES: u64 = 64 << 20;

/// The runs of a campaign, and how a worker executes them.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The substrate.
    pub substrate: SubstrateKind,
    /// C files of congestion control algorithms of the user's own.
    pub own_controls: Vec<PathBuf>,
    /// The folder of the runs, in that of the results.
    pub runs_folder: String,
    /// All runs, in the order of the results.
    pub runs: Vec<Run>,
    /// For each run, the command that repeats it.
    pub commands: Vec<String>,
}

/// Why a plan cannot be used.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The folder has no plan.
    #[error("{} has no plan of a campaign", .0.display())]
    Missing(PathBuf),
    /// The file cannot be read or written.
    #[error("cannot read or write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason of the operating system.
        source: io::Error,
    },
    /// A line is not one of a plan.
    #[error("{} line {line}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    plan_version: u32,
    substrate: SubstrateKind,
    own_controls: Vec<PathBuf>,
    runs_folder: String,
    runs: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    command: String,
    run: serde_json::Value,
}

impl Plan {
    /// Writes the plan to the folder of results `folder`; an earlier plan is replaced as a whole.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), PlanError> {
        let path = folder.join(FOLDER).join(FILE);
        let head = Head {
            plan_version: FORMAT_VERSION,
            substrate: self.substrate,
            own_controls: self.own_controls.clone(),
            runs_folder: self.runs_folder.clone(),
            runs: self.runs.len(),
        };
        let mut text = serde_json::to_vec(&head).expect("a head is plain data");
        for (run, command) in self.runs.iter().zip(&self.commands) {
            let run = serde_json::to_value(run).expect("a run is plain data");
            text.push(b'\n');
            serde_json::to_writer(&mut text, &Line { command: command.clone(), run })
                .expect("memory takes all");
        }
        text.push(b'\n');
        let created = std::fs::create_dir_all(path.parent().unwrap_or(folder));
        created.and_then(|()| replace_file(&path, &text)).map_err(|source| PlanError::Io { path, source })
    }

    /// Reads the plan of the folder of results `folder`.
    ///
    /// # Errors
    /// If there is none, or it is damaged.
    pub fn read(folder: &Path) -> Result<Plan, PlanError> {
        let path = folder.join(FOLDER).join(FILE);
        let io_error = |source| PlanError::Io { path: path.clone(), source };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(PlanError::Missing(folder.into()));
            }
            Err(error) => return Err(io_error(error)),
        };
        let mut reader = BufReader::new(file);
        let mut next = |number: usize| -> Result<Option<String>, PlanError> {
            let mut line = String::new();
            let length = (&mut reader).take(MOST_BYTES).read_line(&mut line).map_err(io_error)?;
            if length as u64 == MOST_BYTES {
                let reason = format!("longer than {} MiB", MOST_BYTES >> 20);
                return Err(PlanError::Damaged { path: path.clone(), line: number, reason });
            }
            Ok((length > 0).then_some(line))
        };
        let damaged = |line, reason: String| PlanError::Damaged { path: path.clone(), line, reason };
        let head = next(1)?.ok_or_else(|| damaged(1, "the file is empty".into()))?;
        let head: Head = serde_json::from_str(&head).map_err(|error| damaged(1, error.to_string()))?;
        if head.plan_version > FORMAT_VERSION {
            let found = head.plan_version;
            let reason = format!("version {found} of the format; this program reads up to {FORMAT_VERSION}");
            return Err(damaged(1, reason));
        }
        let is_name = !head.runs_folder.is_empty()
            && !head.runs_folder.contains(['/', '\\'])
            && head.runs_folder != "..";
        if !is_name {
            return Err(damaged(1, format!("`{}` is not the name of a folder", head.runs_folder)));
        }
        let (mut runs, mut commands) = (Vec::new(), Vec::new());
        while let Some(text) = next(runs.len() + 2)? {
            let number = runs.len() + 2;
            let line: Line =
                serde_json::from_str(&text).map_err(|error| damaged(number, error.to_string()))?;
            let run =
                Run::from_json(&line.run.to_string()).map_err(|error| damaged(number, error.to_string()))?;
            runs.push(run);
            commands.push(line.command);
        }
        if runs.len() != head.runs {
            let reason = format!("the file ends after {} of {} runs", runs.len(), head.runs);
            return Err(damaged(runs.len() + 1, reason));
        }
        let Head { substrate, own_controls, runs_folder, .. } = head;
        Ok(Plan { substrate, own_controls, runs_folder, runs, commands })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\nloss = 1e-5\n\
                    [[flow]]\n[run]\nduration = \"1 s\"\nrepeat = 2\n[sweep]\n\"flow.congestion\" = [\"reno\", \"cubic\"]\n";
        let runs = wirespeed_scenario::parse(text, "t.toml", &[], None).unwrap().runs;
        let commands = runs.iter().map(|run| format!("wirespeed run t.toml # {}", run.id)).collect();
        Plan {
            substrate: SubstrateKind::Model,
            own_controls: vec!["own.c".into()],
            runs_folder: "runs".into(),
            runs,
            commands,
        }
    }

    #[test]
    fn plan_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Plan::read(folder.path()), Err(PlanError::Missing(_))));
        plan().write(folder.path()).unwrap();
        assert_eq!(Plan::read(folder.path()).unwrap(), plan());
    }

    #[test]
    fn damaged_plan_is_rejected_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        plan().write(folder.path()).unwrap();
        let path = folder.path().join(FOLDER).join(FILE);
        let whole = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let cases = [
            (String::new(), "line 1: the file is empty"),
            (lines[..4].join("\n"), "line 4: the file ends after 3 of 4 runs"),
            (
                whole.replacen("\"plan_version\":1", "\"plan_version\":2", 1),
                "line 1: version 2 of the format",
            ),
            (whole.replacen("\"runs\",", "\"../..\",", 1), "line 1: `../..` is not the name of a folder"),
            (whole.replacen("\"duration\"", "\"length\"", 1), "line 2: "),
            ("{}".into(), "line 1: missing field"),
        ];
        for (text, expected) in cases {
            std::fs::write(&path, text).unwrap();
            let error = Plan::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
