//! `wirespeed calibrate`: what work costs on this host, as a preset of the model.

use super::folder::{cannot_write, create_locked};
use crate::failure::Failure;
use crate::{interrupt, print, tell};
use clap::Args;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, SystemTime};
use wirespeed_calibrate::{
    Answer, Fit, Machine, Observation, Request, Setting, Side, fit, preset, settings, text,
};
use wirespeed_host::{Root, inventory};
use wirespeed_inventory::Inventory;
use wirespeed_record::{replace_file, rfc3339};
use wirespeed_scenario::run::KernelVersion;
use wirespeed_units::{Bytes, Span};

/// Arguments of `wirespeed calibrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed calibrate                             # 2.5 minutes of traffic between two namespaces; writes preset.toml
  wirespeed plan --rate \"100 Gbit/s\" --rtt \"20 ms\" --host wirespeed-out/calibrate/preset.toml
  wirespeed calibrate --from monday tuesday       # one fit of earlier measurements")]
pub struct Arguments {
    /// Folder for the preset and the measurements. Settings that are measured already are not measured again.
    #[arg(long, value_name = "DIR", default_value = "wirespeed-out/calibrate")]
    out: PathBuf,
    /// Measured time of each of the 24 settings.
    #[arg(long, value_name = "TIME", default_value = "2 s")]
    duration: Span,
    /// How often each setting is measured.
    #[arg(long, value_name = "N", default_value_t = 2)]
    repeat: u32,
    /// Measure nothing: take the measurements in these folders of earlier calibrations of the same host.
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["duration", "repeat"])]
    from: Vec<PathBuf>,
    /// Print the costs as JSON.
    #[arg(long)]
    json: bool,
}

/// The measurements in a folder.
const OBSERVATIONS: &str = "observations.json";
/// The preset in a folder.
const PRESET: &str = "preset.toml";
/// Other work on a core that makes costs too high.
const MOST_OTHER_WORK: f64 = 0.05;
/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Carries the command out.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let _lock = create_locked(&arguments.out)?;
    let observations = if arguments.from.is_empty() {
        measured(arguments)?
    } else {
        let mut all = Vec::new();
        for folder in &arguments.from {
            all.extend(read(&folder.join(OBSERVATIONS))?);
        }
        all
    };
    let found = fit(&observations).map_err(|error| Failure::Usage {
        message: error.to_string(),
        remedy: "repeat it with --repeat 3 and another --out".into(),
    })?;
    let file = arguments.out.join(PRESET);
    let machine = machine(&inventory(&mut Root::live()));
    write(&file, &preset(&found, &machine, common_call()))?;
    show(&found, arguments.json)?;
    tell(&format!("Preset: {}", file.display()));
    Ok(())
}

fn show(found: &Fit, json: bool) -> Result<(), Failure> {
    if json {
        print(&(serde_json::to_string_pretty(found).expect("plain data") + "\n"))
    } else {
        print(&text(found))
    }
}

/// The size of calls that most settings have.
fn common_call() -> Bytes {
    let all = settings();
    let count = |call: Bytes| all.iter().filter(|setting| setting.call == call).count();
    all.iter().map(|setting| setting.call).max_by_key(|call| count(*call)).unwrap_or(Bytes::new(128 << 10))
}

/// Measures the settings that are not in the folder yet.
fn measured(arguments: &Arguments) -> Result<Vec<Observation>, Failure> {
    let file = arguments.out.join(OBSERVATIONS);
    let mut observations = if file.exists() { read(&file)? } else { Vec::new() };
    let wanted =
        (0..arguments.repeat).flat_map(|repeat| settings().into_iter().map(move |setting| (setting, repeat)));
    let is_there = |(setting, repeat): &(Setting, u32)| {
        observations.iter().any(|old: &Observation| old.setting == *setting && old.repeat == *repeat)
    };
    let missing: Vec<(Setting, u32)> = wanted.filter(|wanted| !is_there(wanted)).collect();
    if missing.is_empty() {
        return Ok(observations);
    }
    // Namespaces mount something there for a moment.
    let scratch = tempfile::tempdir().map_err(|source| cannot_write(&std::env::temp_dir(), source))?;
    let request = Request {
        settings: missing,
        duration_ms: (arguments.duration.as_secs_f64() * 1e3) as u64,
        scratch: scratch.path().to_owned(),
    };
    let count = request.settings.len();
    let mut done = 0;
    ask(&request, |answer| {
        match answer {
            Answer::OtherWork(cores) => warn_of_other_work(&cores),
            Answer::Observed(observation) => {
                done += 1;
                tell(&line(&observation, done, count));
                observations.push(*observation);
                let json = serde_json::to_string_pretty(&observations).expect("plain data");
                write(&file, &json)?;
            }
        }
        Ok(())
    })?;
    Ok(observations)
}

fn warn_of_other_work(cores: &[(Side, f64)]) {
    for (side, busy) in cores.iter().filter(|(_, busy)| *busy > MOST_OTHER_WORK) {
        tell(&format!(
            "warning: other work takes {:.0} % of the {}'s core; costs will be too high",
            busy * 100.0,
            side.word()
        ));
    }
}

fn line(observation: &Observation, done: usize, count: usize) -> String {
    format!(
        "{done}/{count} {}: {:.2} Gbit/s, sender's core {:.0} %, receiver's {:.0} %",
        observation.setting,
        observation.goodput_bps() / 1e9,
        observation.utilisation(Side::Sender) * 100.0,
        observation.utilisation(Side::Receiver) * 100.0
    )
}

/// A process that measures. It ends with this value.
struct Measuring(Child);

impl Drop for Measuring {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Has another process of this program measure, and hands on its answers.
fn ask(request: &Request, mut hear: impl FnMut(Answer) -> Result<(), Failure>) -> Result<(), Failure> {
    let cannot = |what: &str, error: &dyn std::fmt::Display| {
        Failure::Environment(format!(
            "calibrate: {what}: {error}; it needs namespaces: run it as root, or allow ordinary users to make user namespaces"
        ))
    };
    let program = std::env::current_exe().map_err(|error| cannot("find this program", &error))?;
    let mut command = Command::new(program);
    command
        .args(["agent", "--calibrate"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Ctrl-C is for us, who then end it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child =
        Measuring(command.spawn().map_err(|error| cannot("start the measuring process", &error))?);
    let mut input = child.0.stdin.take().expect("it is a pipe");
    let line = serde_json::to_string(request).expect("plain data");
    writeln!(input, "{line}").map_err(|error| cannot("ask the measuring process", &error))?;
    let output = BufReader::new(child.0.stdout.take().expect("it is a pipe"));
    let (sender, answers) = channel();
    thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    loop {
        match answers.recv_timeout(LOOK) {
            Ok(line) => {
                hear(serde_json::from_str(&line).map_err(|error| cannot("read its answer", &error))?)?
            }
            Err(RecvTimeoutError::Timeout) if interrupt::flag().load(Relaxed) => {
                return Err(Failure::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.0.wait().map_err(|error| cannot("wait for it", &error))?;
    if status.success() {
        return Ok(());
    }
    let mut said = String::new();
    if let Some(mut errors) = child.0.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut errors, &mut said);
    }
    Err(cannot("measure", &said.trim().trim_start_matches("error: ")))
}

fn read(file: &Path) -> Result<Vec<Observation>, Failure> {
    let unreadable = |why: String| Failure::Usage {
        message: format!("{}: {why}", file.display()),
        remedy: "give a folder that `wirespeed calibrate` wrote, or another --out".into(),
    };
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))
}

fn write(path: &Path, content: &str) -> Result<(), Failure> {
    replace_file(path, content.as_bytes()).map_err(|source| cannot_write(path, source))
}

/// The machine of an inventory, as a preset describes it.
fn machine(host: &Inventory) -> Machine {
    let nodes = host.nodes.len().max(1) as u32;
    // A core and its hyper-threads are one.
    let twins: usize = host.cpu.siblings.iter().map(|group| group.len().saturating_sub(1)).sum();
    let cores = host.cpu.online.len().saturating_sub(twins).max(1) as u32;
    let cache =
        host.cpu.caches.iter().max_by_key(|cache| cache.level).map(|cache| Bytes::new(cache.size_bytes));
    Machine {
        name: host.host.clone(),
        processor: host.cpu.model.clone(),
        nodes,
        cores_per_node: (cores / nodes).max(1),
        cache,
        kernel: KernelVersion::of_release(&host.system.kernel).unwrap_or_default(),
        day: rfc3339(SystemTime::now()).chars().take("2026-01-01".len()).collect(),
    }
}
