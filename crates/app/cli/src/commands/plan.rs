//! `wirespeed plan`: the rate that a path will give, and its needs.

mod measured;

use super::folder::{cannot_write, create_locked};
use super::report::width;
use super::run::{cores, quoted};
use crate::failure::Failure;
use crate::{interrupt, print, tell, tool};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::time::Instant;
use wirespeed_campaign::{Campaign, Observer, Order, Outcome, Threads};
use wirespeed_diagnosis::limiting_factors;
use wirespeed_metrics::View;
use wirespeed_metrics::series::goodput_series;
use wirespeed_plan::{Effort, Experiment, Laboratory, Question, QuestionError, Reading, answer, page, text};
use wirespeed_record::{FlowSample, read, replace_file};
use wirespeed_scenario::Run;
use wirespeed_substrates::{Model, Progress};
use wirespeed_units::{Bytes, Rate, Span};

/// Arguments of `wirespeed plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed plan --rate \"100 Gbit/s\" --rtt \"20 ms\"
  wirespeed plan --rate \"400 Gbit/s\" --rtt \"80 ms\" --loss 1e-6 --buffer \"50 MB\" --flows 1..64 --bytes \"100 TB\"
  wirespeed plan --rate \"100 Gbit/s\" --rtt \"1 ms\" --host epyc-2024-400g   # hosts that need time for packets
  wirespeed plan --rate \"10 Gbit/s\" --rtt \"20 ms\" --measured results      # draws recorded runs on the surfaces")]
pub struct Arguments {
    /// Rate of the slowest link.
    #[arg(long, value_name = "RATE")]
    rate: Rate,
    /// Round-trip time without queues.
    #[arg(long, value_name = "TIME")]
    rtt: Span,
    /// Probability that the path loses a packet, whatever its load.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    loss: f64,
    /// Buffer before the slowest link [default: what it sends in 5 ms, at most a bandwidth-delay product].
    #[arg(long, value_name = "SIZE")]
    buffer: Option<Bytes>,
    /// Numbers of flows: a list, or FROM..TO for four of them in even ratios.
    #[arg(long, value_name = "N,...|FROM..TO", default_value = "1..64", value_parser = flows)]
    flows: Flows,
    /// Congestion controls.
    #[arg(long, alias = "cc", value_name = "NAME,...", value_delimiter = ',', default_values = ["cubic", "htcp", "bbr"])]
    congestion: Vec<String>,
    /// Largest IP packet.
    #[arg(long, value_name = "SIZE", default_value = "9000 B")]
    mtu: Bytes,
    /// Preset of both hosts, or a file of `wirespeed calibrate` [default: hosts that are never short of time]. If it has a machine, the
    /// page has the rate by MTU and cores.
    #[arg(long, value_name = "PRESET|FILE")]
    host: Option<String>,
    /// Bytes to transfer: adds the time of the transfer.
    #[arg(long, value_name = "SIZE")]
    bytes: Option<Bytes>,
    /// How much is simulated: seconds, about a minute on two cores, or five times as much.
    #[arg(long, value_enum, default_value_t = EffortName::Normal)]
    effort: EffortName,
    /// Folder for page, scenarios and runs. Runs that are there already are not executed again.
    #[arg(long, value_name = "DIR", default_value = "wirespeed-out/plan")]
    out: PathBuf,
    /// Result folders whose runs are compared with the surfaces.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    measured: Vec<PathBuf>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
    /// Runs at a time [default: one a core].
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
}

/// The words for an effort.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EffortName {
    Low,
    Normal,
    High,
}

impl From<EffortName> for Effort {
    fn from(name: EffortName) -> Effort {
        match name {
            EffortName::Low => Effort::Low,
            EffortName::Normal => Effort::Normal,
            EffortName::High => Effort::High,
        }
    }
}

/// Numbers of flows, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Flows(Vec<u32>);

/// `1,4,16`, or `1..64` for 1, 4, 16 and 64.
fn flows(text: &str) -> Result<Flows, String> {
    const PARTS: i32 = 3;
    let number =
        |part: &str| part.trim().parse::<u32>().map_err(|_| format!("`{part}` is not a number of flows"));
    let mut counts = match text.split_once("..") {
        Some((from, to)) => {
            let (from, to) = (number(from)?, number(to)?);
            if from == 0 || to < from {
                return Err(format!("`{text}` is not a range that begins with 1 or more"));
            }
            let ratio = (f64::from(to) / f64::from(from)).powf(1.0 / f64::from(PARTS));
            (0..=PARTS).map(|step| (f64::from(from) * ratio.powi(step)).round() as u32).collect()
        }
        None => text.split(',').map(number).collect::<Result<Vec<u32>, String>>()?,
    };
    counts.sort_unstable();
    counts.dedup();
    Ok(Flows(counts))
}

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let question = question(arguments)?;
    let measured = measured::runs(&arguments.measured)?;
    let _lock = create_locked(&arguments.out)?;
    let mut laboratory = OnModel {
        question: &question,
        folder: &arguments.out,
        jobs: arguments.jobs.unwrap_or_else(cores),
        runs: 0,
        began: Instant::now(),
    };
    let mut found = answer(&question, &mut laboratory)?;
    if !arguments.measured.is_empty() {
        found.compare(measured);
    }
    let (runs, seconds) = (laboratory.runs, laboratory.began.elapsed().as_secs_f64());
    let command = command(&question, &arguments.measured);
    let json = serde_json::to_string_pretty(&found).expect("plain data") + "\n";
    write(&arguments.out.join("plan.json"), &json)?;
    let path = arguments.out.join("plan.html");
    write(&path, &page(&found, &command, &format!("wirespeed {}", crate::VERSION)))?;
    if arguments.json {
        print(&json)?;
    } else {
        print(&text(&found, width()))?;
    }
    tell(&format!("{runs} runs in {seconds:.0} s. Page: {}", path.display()));
    Ok(())
}

/// The question of the arguments.
fn question(arguments: &Arguments) -> Result<Question, Failure> {
    let question = Question {
        rate: arguments.rate,
        rtt: arguments.rtt,
        loss: arguments.loss,
        buffer: arguments.buffer.unwrap_or_else(|| Question::assumed_buffer(arguments.rate, arguments.rtt)),
        is_buffer_assumed: arguments.buffer.is_none(),
        mtu: arguments.mtu,
        flows: arguments.flows.0.clone(),
        congestion: arguments.congestion.clone(),
        host: arguments.host.as_deref().map(host).transpose()?,
        bytes: arguments.bytes,
        effort: arguments.effort.into(),
    };
    question.check().map_err(|error| Failure::Usage {
        message: error.to_string(),
        remedy: match error {
            QuestionError::Congestion(_) => "give --congestion a name of that list".into(),
            QuestionError::Host(_) => "give --host a name of that list".into(),
            _ => "`wirespeed plan --help` has examples".into(),
        },
    })?;
    Ok(question)
}

/// A preset's name, or the whole path of a file: the scenarios that name it are in another folder.
fn host(name: &str) -> Result<String, Failure> {
    if !name.ends_with(".toml") {
        return Ok(name.to_owned());
    }
    let whole = std::fs::canonicalize(name).map_err(|error| Failure::Usage {
        message: format!("--host {name}: {error}"),
        remedy: "give a preset of `wirespeed list presets`, or a file that `wirespeed calibrate` wrote"
            .into(),
    })?;
    Ok(whole.display().to_string())
}

/// The command that asks the same again.
fn command(question: &Question, measured: &[PathBuf]) -> String {
    let counts: Vec<String> = question.flows.iter().map(u32::to_string).collect();
    let mut words = format!(
        "wirespeed plan --rate \"{}\" --rtt \"{}\" --loss {:e} --flows {} --congestion {} --mtu \"{}\"",
        question.rate,
        question.rtt,
        question.loss,
        counts.join(","),
        question.congestion.join(","),
        question.mtu
    );
    if !question.is_buffer_assumed {
        words.push_str(&format!(" --buffer \"{}\"", question.buffer));
    }
    if let Some(host) = &question.host {
        words.push_str(&format!(" --host {host}"));
    }
    if let Some(bytes) = question.bytes {
        words.push_str(&format!(" --bytes \"{bytes}\""));
    }
    for folder in measured {
        words.push_str(&format!(" --measured {}", quoted(&folder.display().to_string())));
    }
    let effort = match question.effort {
        Effort::Low => " --effort low",
        Effort::Normal => "",
        Effort::High => " --effort high",
    };
    words + effort
}

fn write(path: &Path, content: &str) -> Result<(), Failure> {
    replace_file(path, content.as_bytes()).map_err(|source| cannot_write(path, source))
}

/// Runs experiments on the model, several at a time. A run that is in the folder already is read.
struct OnModel<'a> {
    question: &'a Question,
    folder: &'a Path,
    jobs: usize,
    runs: usize,
    began: Instant,
}

impl Laboratory for OnModel<'_> {
    type Error = Failure;

    fn carry_out(&mut self, experiments: &[Experiment]) -> Result<Vec<Reading>, Failure> {
        let scenarios = self.folder.join("scenarios");
        std::fs::create_dir_all(&scenarios).map_err(|source| cannot_write(&scenarios, source))?;
        let mut runs = Vec::new();
        for experiment in experiments {
            let scenario = experiment.point.scenario(self.question, experiment.length, experiment.repeat);
            let seconds = experiment.length.duration.as_secs_f64();
            let name = format!("{}-{seconds}s-r{}", experiment.point.name(), experiment.repeat);
            let file = scenarios.join(format!("{name}.toml"));
            write(&file, &scenario.text())?;
            let mut run = scenario.study(&file.display().to_string(), &[], None)?.runs.swap_remove(0);
            run.id = name;
            runs.push(run);
        }
        let threads = Threads::new(&Model, self.jobs, tool());
        let command =
            |run: &Run| format!("wirespeed run {}", scenarios.join(format!("{}.toml", run.id)).display());
        let campaign = Campaign {
            runs: &runs,
            substrate: &Model,
            executor: &threads,
            folder: &self.folder.join("runs"),
            fresh: false,
            order: Order::Study,
            command: &command,
        };
        let outcomes = campaign.carry_out(interrupt::flag(), &Silent);
        self.runs += outcomes.len();
        let mut readings = Vec::new();
        for (outcome, experiment) in outcomes.iter().zip(experiments) {
            let directory = match outcome {
                Outcome::Done(directory) | Outcome::Kept(directory) => directory,
                Outcome::Interrupted | Outcome::Cut(_) => return Err(Failure::Interrupted),
                other => {
                    let reason = other.reason().unwrap_or_default();
                    return Err(Failure::Usage {
                        message: format!("{}: {reason}", experiment.point.name()),
                        remedy: "remove it from the question".into(),
                    });
                }
            };
            readings.push(reading(directory, experiment, self.question)?);
        }
        Ok(readings)
    }
}

/// The goodput of all flows in each part of the measured time, and what limited them.
fn reading(directory: &Path, experiment: &Experiment, question: &Question) -> Result<Reading, Failure> {
    let recording = read(directory)?;
    let view = View::new(&recording)?;
    let length = experiment.length;
    let omit_ns = length.omit.nanoseconds();
    let bin_ns = length.sample().nanoseconds() * 2;
    let scale = f64::from(experiment.point.scale(question));
    let mut parts: Vec<f64> = Vec::new();
    for flow in view.measured() {
        let bins = goodput_series(&view, flow.number, bin_ns);
        for (part, (_, bps)) in bins.into_iter().filter(|(t, _)| *t >= omit_ns).enumerate() {
            if parts.len() <= part {
                parts.push(0.0);
            }
            parts[part] += bps.max(0.0) * scale;
        }
    }
    let limits = limiting_factors(&view, length.duration.nanoseconds());
    let mut shares: Vec<(String, i64)> = Vec::new();
    for interval in &limits {
        let (words, lasted) = (interval.factor.words(), interval.to_ns - interval.from_ns);
        match shares.iter_mut().find(|(other, _)| *other == words) {
            Some((_, sum)) => *sum += lasted,
            None => shares.push((words, lasted)),
        }
    }
    let limit =
        shares.into_iter().max_by_key(|(_, lasted)| *lasted).map_or_else(String::new, |(words, _)| words);
    let retransmitted = view.sum(|flow| flow.count(&view, FlowSample::retrans_packets)).unwrap_or(0.0);
    Ok(Reading { goodput_bps: parts, retransmitted, limit })
}

/// Shows nothing: the runs are short, and only the answer counts.
struct Silent;

impl Observer for Silent {
    fn started(&self, _: usize) {}
    fn progressed(&self, _: usize, _: Progress) {}
    fn ended(&self, _: usize, _: &Outcome) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_flows_are_a_list_or_a_range() {
        assert_eq!(flows("1..64").unwrap().0, [1, 4, 16, 64]);
        assert_eq!(flows("8,2,2").unwrap().0, [2, 8]);
        assert_eq!(flows("3..3").unwrap().0, [3]);
        assert!(flows("0..4").is_err() && flows("many").is_err() && flows("4..1").is_err());
    }
}
