//! `wirespeed tune prove`: whether changes help on the path between two hosts, by measurements with and without them.

mod measure;
mod prediction;

use super::changes::changes;
use crate::commands::folder::{cannot_write, create_locked};
use crate::commands::linux::own_program;
use crate::commands::measurement::create_stamped;
use crate::failure::Failure;
use crate::{interrupt, print_plain, tell};
use clap::Args;
use measure::{Candidate, End, Path};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use wirespeed_inventory::Change;
use wirespeed_proof::{Bench, Limits, Measurement, Proof, prove, summary, tornado};
use wirespeed_record::replace_file;
use wirespeed_transport::remote::Program;
use wirespeed_tuning::DEFAULT_FOLDER;
use wirespeed_units::Span;

/// Arguments of `wirespeed tune prove`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Ssh name of the sender, with =ADDRESS if it has several addresses.
    #[arg(value_name = "FROM[=ADDRESS]")]
    from: String,
    /// Ssh name of the receiver, with =ADDRESS if it has several addresses.
    #[arg(value_name = "TO[=ADDRESS]")]
    to: String,
    /// JSON file with changes for the sender, as `doctor --json` prints them.
    #[arg(long, value_name = "FILE")]
    sender: Option<PathBuf>,
    /// JSON file with changes for the receiver.
    #[arg(long, value_name = "FILE")]
    receiver: Option<PathBuf>,
    /// Test all changes as one, instead of each alone.
    #[arg(long)]
    together: bool,
    /// Length of a measurement, without its warm-up.
    #[arg(long, value_name = "TIME", default_value = "5 s")]
    time: Span,
    /// Warm-up before each measurement, which does not count.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    omit: Span,
    /// End the measurements after this time.
    #[arg(long, value_name = "TIME", default_value = "10 min")]
    budget: Span,
    /// End after this many rounds. Each round measures every undecided change once, in random order.
    #[arg(long, value_name = "N", default_value_t = 24)]
    rounds: usize,
    /// The smallest change of goodput that counts, as a share.
    #[arg(long, value_name = "SHARE", default_value_t = 0.02)]
    least_gain: f64,
    /// Confidence of all intervals together.
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    confidence: f64,
    /// Seed of the order within the rounds.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Parallel flows of each measurement.
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1)]
    parallel: u32,
    /// Congestion control algorithm of the measurements [default: that of the sender].
    #[arg(short = 'C', long, value_name = "NAME")]
    congestion: Option<String>,
    /// Put everything back at the end, also changes that help.
    #[arg(long)]
    revert: bool,
    /// Also make changes that a manager on the host owns: irqbalance, tuned, NetworkManager or bpftune.
    #[arg(long = "override", value_name = "MANAGER")]
    overridden: Vec<String>,
    /// Folder on the hosts for the old values of the changes that stay.
    #[arg(long, value_name = "DIR", default_value = DEFAULT_FOLDER)]
    state: String,
    /// Folder for the results [default: wirespeed-out/prove/TIME].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Results in the output folder.
const JSON: &str = "proof.json";
const CHART: &str = "tornado.svg";

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let candidates = candidates(arguments)?;
    let out = match &arguments.out {
        Some(out) => out.clone(),
        None => create_stamped(std::path::Path::new("wirespeed-out/prove"))?,
    };
    let lock = create_locked(&out)?;
    if out.join(JSON).exists() {
        return Err(Failure::Usage {
            message: format!("{} has a proof already", out.display()),
            remedy: "name another folder with --out".into(),
        });
    }
    let limits = Limits {
        rounds: arguments.rounds,
        least_gain: arguments.least_gain,
        confidence: arguments.confidence,
        seed: arguments.seed,
    };
    let mut path = Hosts {
        path: Path {
            from: arguments.from.clone(),
            to: arguments.to.clone(),
            time: arguments.time,
            omit: arguments.omit,
            flows: arguments.parallel,
            congestion: arguments.congestion.clone(),
            overridden: arguments.overridden.clone(),
            state: arguments.state.clone(),
            out: out.clone(),
            program: Program::new(own_program()?),
            own: own_program()?,
            count: 0,
            first: None,
        },
        candidates,
        end: Instant::now() + Duration::from_secs_f64(arguments.budget.as_secs_f64()),
    };
    let names = path.candidates.iter().map(|candidate| candidate.name.clone()).collect();
    let usage = |error: wirespeed_proof::LimitsError| Failure::Usage {
        message: error.to_string(),
        remedy: "see --rounds, --least-gain and --confidence".into(),
    };
    let mut proof = prove(&mut path, names, limits, usage, |proof| tell(&progress(proof)))?;
    let interrupted = interrupt::flag().load(Relaxed);
    if !interrupted {
        let measured = proof.without.iter().chain(proof.with.iter().flatten());
        let highest_bps = measured.map(|measurement| measurement.goodput_bps).fold(0.0, f64::max);
        proof.predictions = prediction::predict(&path.path, &path.candidates, highest_bps);
    }
    let kept = if arguments.revert || interrupted { Vec::new() } else { keep(&mut path, &proof)? };
    write(&out, &proof)?;
    drop(lock);
    conclude(arguments, &out, &proof, &kept, interrupted)
}

/// One candidate for each change, or one for all.
fn candidates(arguments: &Arguments) -> Result<Vec<Candidate>, Failure> {
    let read = |file: &Option<PathBuf>| file.as_deref().map_or(Ok(Vec::new()), changes);
    let (sender, receiver) = (read(&arguments.sender)?, read(&arguments.receiver)?);
    if sender.is_empty() && receiver.is_empty() {
        return Err(Failure::Usage {
            message: "there is no change to prove".into(),
            remedy: "name files with --sender or --receiver: `wirespeed doctor HOST --json` prints one"
                .into(),
        });
    }
    if arguments.together {
        return Ok(vec![Candidate { name: "all changes".into(), sender, receiver }]);
    }
    let one = |end: End, change: Change| {
        let name = format!("{end}: {} = {}", change.setting, change.value);
        let (mut sender, mut receiver) = (Vec::new(), Vec::new());
        match end {
            End::Sender => sender.push(change),
            End::Receiver => receiver.push(change),
        }
        Candidate { name, sender, receiver }
    };
    let of_sender = sender.into_iter().map(|change| one(End::Sender, change));
    Ok(of_sender.chain(receiver.into_iter().map(|change| one(End::Receiver, change))).collect())
}

/// The path as a bench, for as long as the budget lasts.
struct Hosts {
    path: Path,
    candidates: Vec<Candidate>,
    end: Instant,
}

impl Bench for Hosts {
    type Error = Failure;

    fn measure(&mut self, candidate: Option<usize>) -> Result<Option<Measurement>, Failure> {
        self.path.measure(candidate.map(|at| &self.candidates[at]))
    }

    fn is_over(&self) -> bool {
        interrupt::flag().load(Relaxed) || Instant::now() >= self.end
    }
}

/// Makes the helpful changes again, to stay until the next boot, and returns their names.
fn keep(hosts: &mut Hosts, proof: &Proof) -> Result<Vec<String>, Failure> {
    let mut all = Candidate { name: "kept".into(), sender: Vec::new(), receiver: Vec::new() };
    let mut names = Vec::new();
    for at in proof.helpful() {
        let candidate = &hosts.candidates[at];
        names.push(candidate.name.clone());
        all.sender.extend(candidate.sender.iter().cloned());
        all.receiver.extend(candidate.receiver.iter().cloned());
    }
    if !names.is_empty() {
        hosts.path.keep(&all)?;
    }
    Ok(names)
}

fn progress(proof: &Proof) -> String {
    let open = proof.verdicts.iter().filter(|verdict| **verdict == wirespeed_proof::Verdict::Unknown).count();
    format!("round {}: {open} of {} changes undecided", proof.without.len(), proof.candidates.len())
}

fn write(out: &std::path::Path, proof: &Proof) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(proof).expect("a proof is plain data");
    for (name, text) in [(JSON, json), (CHART, tornado(proof))] {
        let file = out.join(name);
        replace_file(&file, text.as_bytes()).map_err(|source| cannot_write(&file, source))?;
    }
    Ok(())
}

fn conclude(
    arguments: &Arguments,
    out: &std::path::Path,
    proof: &Proof,
    kept: &[String],
    interrupted: bool,
) -> Result<(), Failure> {
    if arguments.json {
        let json = serde_json::json!({ "proof": proof, "kept": kept });
        print_plain(&format!("{json:#}\n"))?;
    } else {
        let mut text = summary(proof);
        text += &match (kept, arguments.revert) {
            _ if interrupted => "Interrupted; every setting is as it was.\n".to_owned(),
            ([], false) => "Kept: nothing; every setting is as it was.\n".to_owned(),
            (_, true) => "Every setting is as it was.\n".to_owned(),
            (kept, false) => format!(
                "Kept until the next boot: {}. `wirespeed tune revert` on the host puts the old values back, \
                 `wirespeed tune apply --persist` writes files for the next boot.\n",
                kept.join("; ")
            ),
        };
        text += &format!("Results: {}\n", out.display());
        print_plain(&text)?;
    }
    if interrupted { Err(Failure::Interrupted) } else { Ok(()) }
}
