//! The process that measures. Only a process without threads can make its namespaces. It ends with its controller.

use crate::bench::{Cores, measure};
use crate::kernel_counts::KernelCounts;
use crate::observation::{Observation, Side};
use crate::setting::Setting;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use wirespeed_topology::namespace::enter_own;

/// Time in which other work of the cores is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// The settings to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Settings and the number of the repetition of each, in this order.
    pub settings: Vec<(Setting, u32)>,
    /// Measured time of each, in milliseconds.
    pub duration_ms: u64,
    /// An empty folder.
    pub scratch: PathBuf,
}

/// A line of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The part of each end's core that other work takes, before anything is measured.
    OtherWork(Vec<(Side, f64)>),
    /// A setting was measured.
    Observed(Box<Observation>),
}

/// Reads a line with a [`Request`] from standard input and writes a line for each [`Answer`] to standard output. The process ends by
/// `abandon` when standard input ends.
///
/// # Errors
/// Those of namespaces, sockets and threads.
pub fn serve(abandon: fn() -> !) -> io::Result<()> {
    enter_own()?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line).map_err(io::Error::other)?;
    thread::spawn(move || {
        let mut nothing = [0; 64];
        while let Ok(1..) = io::stdin().read(&mut nothing) {}
        abandon();
    });
    let cores = Cores::of_this_thread()?;
    tell(&Answer::OtherWork(other_work(cores)?))?;
    let duration = Duration::from_millis(request.duration_ms);
    for (setting, repeat) in &request.settings {
        let observed = measure(setting, *repeat, cores, duration, &request.scratch)?;
        tell(&Answer::Observed(Box::new(observed)))?;
    }
    Ok(())
}

fn tell(answer: &Answer) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", serde_json::to_string(answer).expect("it is plain data"))?;
    out.flush()
}

fn other_work(cores: Cores) -> io::Result<Vec<(Side, f64)>> {
    let before = KernelCounts::read(&[])?;
    thread::sleep(LOOK);
    let after = KernelCounts::read(&[])?;
    let busy = |side: Side| 1.0 - after.free_ns(&before, cores.of(side)) as f64 / LOOK.as_nanos() as f64;
    Ok([Side::Sender, Side::Receiver].map(|side| (side, busy(side).max(0.0))).to_vec())
}
