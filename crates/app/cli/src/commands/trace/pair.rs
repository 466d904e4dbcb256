//! `wirespeed trace SENDER RECEIVER`: two captures of the same connections.

use super::super::run::quoted;
use super::{Capture, refused, results};
use crate::failure::Failure;
use crate::{print, print_plain};
use serde::Serialize;
use std::path::PathBuf;
use wirespeed_capture::{CaptureFacts, Settings};
use wirespeed_pair::{Options, PairError, PairTrace, Side, read_with, text};
use wirespeed_reconstruction::{Sampler, of_pair};

/// Arguments of the user about two captures.
pub(super) struct Question<'a> {
    pub files: [&'a PathBuf; 2],
    pub options: Options,
    /// Number of a connection in the first capture.
    pub connection: Option<u64>,
    pub all: bool,
    pub json: bool,
    pub out: Option<&'a PathBuf>,
}

/// The result for programs.
#[derive(Serialize)]
struct Document<'a> {
    /// Version of this form.
    schema: u32,
    /// The finding in words.
    finding: String,
    /// Names of the files.
    files: [&'a str; 2],
    #[serde(flatten)]
    pair: &'a PairTrace,
    captures: [Capture; 2],
}

/// Carries the command out.
pub(super) fn run(question: &Question<'_>) -> Result<(), Failure> {
    if let Some(folder) = question.out {
        results::check(folder)?;
    }
    let [first, second] = question.files;
    let side = |file| Side::file(file).map_err(|error| explained(&error));
    let sides = [side(first)?, side(second)?];
    let [mut one, mut other] = [Sampler::default(), Sampler::default()];
    let (pair, facts) = read_with(&sides, &Settings::default(), question.options, [&mut one, &mut other])
        .map_err(|error| explained(&error))?;
    let names = [results::name_of(first), results::name_of(second)];
    let names = distinct(&names, question);
    let names = [names[0].as_str(), names[1].as_str()];
    let shown = shown(question, &pair, &facts, names)?;
    let json = || {
        let document = Document {
            schema: 1,
            finding: text::finding(&pair, names),
            files: names,
            pair: &pair,
            captures: [Capture::of(&facts[0]), Capture::of(&facts[1])],
        };
        serde_json::to_string_pretty(&document).expect("a trace is plain data")
    };
    if let Some(folder) = question.out {
        let recording = of_pair(names, &pair, [&one, &other]);
        let source = question.files.map(|file| quoted(&file.display().to_string())).join(" ");
        results::write(folder, &shown, &json(), recording, &source)?;
    }
    match question.json {
        true => print(&format!("{}\n", json())),
        false => print_plain(&shown),
    }
}

/// Names of the files without folders, unless they are the same.
fn distinct(names: &[String; 2], question: &Question<'_>) -> [String; 2] {
    match names[0] == names[1] {
        true => question.files.map(|file| file.display().to_string()),
        false => names.clone(),
    }
}

fn shown(
    question: &Question<'_>,
    pair: &PairTrace,
    facts: &[CaptureFacts; 2],
    names: [&str; 2],
) -> Result<String, Failure> {
    let rows = if question.all { usize::MAX } else { text::USUAL_ROWS };
    let mut shown = text::summary(pair, facts, names, rows);
    let detailed = match question.connection {
        Some(number) => {
            let found = pair.connections.iter().find(|one| one.numbers[0] == number);
            Some(found.ok_or_else(|| Failure::Usage {
                message: format!("connection {number} of {} is not in both captures", names[0]),
                remedy: format!(
                    "`wirespeed trace {} {} --all` lists those that are",
                    question.files[0].display(),
                    question.files[1].display()
                ),
            })?)
        }
        None => pair.connections.iter().max_by_key(|one| one.payload_bytes.iter().sum::<u64>()),
    };
    if let Some(one) = detailed {
        shown += &format!("\n{}", text::connection(pair, one, names));
    }
    Ok(shown)
}

fn explained(error: &PairError) -> Failure {
    let remedy = match error {
        PairError::Capture { path, source } => return refused(path, source),
        PairError::StandardInput => "write each capture to a file first: tcpdump -w FILE",
        PairError::Empty { .. } => {
            "capture TCP at both hosts at the same time: tcpdump -i eth0 -s 128 -w FILE tcp"
        }
        PairError::NothingInCommon { .. } => {
            "capture the same connections at both hosts at the same time; `wirespeed trace FILE` shows one capture alone"
        }
    };
    Failure::Usage { message: error.to_string(), remedy: remedy.into() }
}
