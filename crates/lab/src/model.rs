//! Substrate `model`: the discrete-event model of crate `sim`, in this process.

use crate::assemble::Assembler;
use crate::layout::Layout;
use crate::substrate::{Control, LabError, Progress, Substrate};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use wirespeed_record::{Cost, Recording, RunDirectory};
use wirespeed_scenario::run::Run;
use wirespeed_sim::{Ended, simulate};

/// The model as a substrate.
#[derive(Debug, Default, Clone, Copy)]
pub struct Model;

impl Substrate for Model {
    fn name(&self) -> &'static str {
        "model"
    }

    fn build(&self) -> Option<String> {
        None
    }

    fn check(&self, run: &Run) -> Result<(), LabError> {
        wirespeed_sim::check(run).map_err(|lacking| LabError::Unsupported(lacking.to_string()))
    }

    fn carry_out(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Recording, LabError> {
        /// How often the caller hears of progress.
        const REPORT: Duration = Duration::from_millis(200);
        let (began, cpu_before) = (Instant::now(), thread_cpu());
        let mut reported = began;
        let outcome = simulate(run, &mut |progress| {
            if reported.elapsed() >= REPORT {
                reported = Instant::now();
                (control.progress)(Progress {
                    reached_ns: progress.reached.nanoseconds(),
                    delivered_bytes: progress.delivered_bytes,
                });
            }
            !control.cancel.load(Relaxed)
        })
        .map_err(|ended| match ended {
            Ended::Cancelled => LabError::Interrupted,
            Ended::Unsupported(lacking) => LabError::Unsupported(lacking.to_string()),
        })?;
        for (host, file) in &outcome.captures {
            let raw = directory.raw();
            let path = raw.join(format!("{host}.pcap"));
            std::fs::create_dir_all(&raw).and_then(|()| std::fs::write(&path, file)).map_err(|source| {
                LabError::Io { doing: format!("write {}", path.display()), source }
            })?;
        }
        let (packets, cpu) = (outcome.packets, thread_cpu().saturating_sub(cpu_before));
        let mut recording = Assembler::of_outcome(outcome).finish(run, &Layout::of(run), self.name());
        recording.info.kernel = None;
        recording.info.cost = Cost {
            wall_s: began.elapsed().as_secs_f64(),
            cpu_s: cpu.as_secs_f64(),
            peak_rss_bytes: peak_memory(),
            packets,
        };
        Ok(recording)
    }
}

/// Processor time of this thread.
fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// The most memory this process has had resident, in bytes: an upper bound where runs go on side by side.
fn peak_memory() -> u64 {
    // SAFETY: an all-zero rusage is valid, and the call only writes it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    usage.ru_maxrss.unsigned_abs() * 1024
}
