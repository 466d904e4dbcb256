//! `wirespeed execute`: one resolved run, for job schedulers.

use super::folder::create;
use super::run::{On, SelfCheck, quoted, substrate};
use crate::failure::Failure;
use crate::progress::Display;
use crate::{interrupt, print_plain, tool};
use clap::{Args, ValueEnum};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use wirespeed_campaign::{Campaign, Order, Outcome, Threads};
use wirespeed_scenario::Run;
use wirespeed_scenario::run::FlowKind;
use wirespeed_substrates::SelfChecked;

/// Arguments of `wirespeed execute`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wirespeed run sweep.toml --write-runs runs              # one file for each run
  wirespeed execute runs/rtt=10ms,r0.json --out results   # one of them, in a job of its own
  wirespeed execute runs/rtt=20ms,r0.json --out results   # meanwhile, on another machine
  wirespeed report results                                # the report of all runs in the folder

The run directory is the same as after a run of the whole scenario. A complete run is kept, so a job can be repeated. Several jobs can write \
into one folder if each has another run.")]
pub struct Arguments {
    /// Run as JSON: a file of `wirespeed run --write-runs`, or run.json of a recorded run.
    #[arg(value_name = "RUN.json")]
    file: PathBuf,
    /// Substrate that executes the run.
    #[arg(long, value_enum, value_name = "SUBSTRATE", default_value_t = On::Model)]
    on: On,
    /// Folder for the results; the run is written to DIR/runs/NAME.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Repeat the run if it is already complete.
    #[arg(long)]
    fresh: bool,
}

/// Executes the command, and prints the run directory.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runs = [read(&arguments.file)?];
    let [run] = &runs;
    let mut substrate = substrate(arguments.on, &[], &runs)?;
    if SelfCheck::Auto.applies(arguments.on) {
        substrate = Box::new(SelfChecked::new(substrate));
    }
    refuse_own_control(arguments, run)?;
    substrate.check(run).map_err(|error| Failure::Usage {
        message: format!("{}: {error}", run.id),
        remedy: "execute the run on another substrate (--on)".into(),
    })?;
    let folder = arguments.out.join("runs");
    create(&folder)?;
    let command = |_: &Run| command(arguments);
    let display = Display::new(&runs, &*substrate, false, None);
    let threads = Threads::new(&*substrate, 1, tool());
    let campaign = Campaign {
        runs: &runs,
        substrate: &*substrate,
        executor: &threads,
        folder: &folder,
        fresh: arguments.fresh,
        order: Order::Study,
        command: &command,
    };
    let outcomes = campaign.carry_out(interrupt::flag(), &display);
    display.finish();
    match &outcomes[..] {
        [Outcome::Done(directory) | Outcome::Kept(directory)] => {
            print_plain(&format!("{}\n", directory.display()))
        }
        [Outcome::Failed(_)] => Err(Failure::Runs { failed: 1, total: 1 }),
        _ => Err(Failure::Interrupted),
    }
}

fn read(file: &Path) -> Result<Run, Failure> {
    /// A run of 10,000 flows has some MB.
    const MOST: u64 = 64 << 20;
    let unusable = |reason: String| Failure::Usage {
        message: format!("{}: {reason}", file.display()),
        remedy:
            "give a file that `wirespeed run FILE --write-runs DIR` wrote, or run.json of a run on the model"
                .into(),
    };
    let mut text = String::new();
    let opened = File::open(file).and_then(|file| file.take(MOST + 1).read_to_string(&mut text));
    opened.map_err(|error| unusable(error.to_string()))?;
    if text.len() as u64 > MOST {
        return Err(unusable(format!("larger than {} MiB", MOST >> 20)));
    }
    Run::from_json(&text).map_err(|error| unusable(error.to_string()))
}

/// A run names its own congestion control, but does not have its C file.
fn refuse_own_control(arguments: &Arguments, run: &Run) -> Result<(), Failure> {
    let own = run.flows.iter().find_map(|flow| match &flow.kind {
        FlowKind::Tcp { congestion, .. } if congestion.own => Some(&congestion.name),
        _ => None,
    });
    match own {
        Some(name) if arguments.on == On::Kernel => Err(Failure::Usage {
            message: format!("{}: congestion control `{name}` is a C file of the scenario", run.id),
            remedy: "run the scenario with `wirespeed run FILE --on kernel`".into(),
        }),
        _ => Ok(()),
    }
}

/// The command that repeats the run.
fn command(arguments: &Arguments) -> String {
    let [file, out] = [&arguments.file, &arguments.out].map(|path| quoted(&path.display().to_string()));
    let on = arguments.on.to_possible_value().expect("every substrate has a name");
    format!("wirespeed execute {file} --on {} --out {out}", on.get_name())
}
