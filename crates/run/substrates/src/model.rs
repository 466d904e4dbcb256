//! Substrate `model`: the discrete-event model of crate `sim`, in this process.

use crate::assemble::Assembler;
use crate::lacks::{copied, marked};
use crate::substrate::{Control, Progress, Substrate, SubstrateError};
use crate::usage::{peak_memory, thread_cpu};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use wirespeed_ledger::intervals::{Borders, Standings};
use wirespeed_ledger::path::{self, Evidence};
use wirespeed_record::{
    Cost, FlowSample, HostSample, QueueSample, Recording, RunDirectory, StoreError, SubstrateKind,
    TableWriter,
};
use wirespeed_scenario::layout::Layout;
use wirespeed_scenario::run::{KernelChoice, Run};
use wirespeed_sim::{Counts, Ended, Observer, Samples, simulate_observed};
use wirespeed_units::SimTime;

/// The model as a substrate.
#[derive(Debug, Default, Clone, Copy)]
pub struct Model;

impl Substrate for Model {
    fn kind(&self) -> SubstrateKind {
        SubstrateKind::Model
    }

    fn build(&self, _: Option<&KernelChoice>) -> Option<String> {
        None
    }

    fn program(&self) -> Option<&'static str> {
        Some(wirespeed_sim::PROGRAM)
    }

    fn check(&self, run: &Run) -> Result<(), SubstrateError> {
        wirespeed_sim::check(run).map_err(|lacking| SubstrateError::Unsupported(lacking.to_string()))
    }

    fn depends_on_seed(&self, run: &Run) -> bool {
        wirespeed_sim::depends_on_seed(run)
    }

    fn carry_out(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Recording, SubstrateError> {
        let layout = Layout::of(run);
        let mut writer = Writer::new(control, directory, Accounts::new(run, &layout))?;
        let (began, cpu_before) = (Instant::now(), thread_cpu());
        let outcome = match (simulate_observed(run, &mut writer), writer.failure.take()) {
            (_, Some(error)) => return Err(error.into()),
            (Ok(outcome), None) => outcome,
            (Err(Ended::Cancelled), None) => {
                writer.close(directory)?;
                return Err(SubstrateError::Interrupted);
            }
            (Err(Ended::Unsupported(lacking)), None) => {
                return Err(SubstrateError::Unsupported(lacking.to_string()));
            }
        };
        for (host, file) in &outcome.captures {
            let raw = directory.raw();
            let path = raw.join(format!("{host}.pcap"));
            std::fs::create_dir_all(&raw)
                .and_then(|()| std::fs::write(&path, file))
                .map_err(SubstrateError::io("write", &path))?;
        }
        let (packets, cpu) = (outcome.packets, thread_cpu().saturating_sub(cpu_before + writer.cpu));
        let wall = began.elapsed().saturating_sub(writer.wall);
        let standings = writer.accounts.standings.take();
        let mut recording = Assembler::of_outcome(outcome, standings).finish(run, &layout, self.kind());
        recording.info.kernel = None;
        recording.info.warnings.extend(copied(run));
        recording.info.warnings.extend(marked(run));
        recording.info.cost = Cost {
            wall_s: wall.as_secs_f64(),
            cpu_s: cpu.as_secs_f64(),
            peak_rss_bytes: peak_memory(),
            packets,
        };
        writer.finish(directory, &mut recording)?;
        Ok(recording)
    }
}

/// Writes the samples while the run goes on, so that a long run needs no more memory than a short one.
struct Writer<'a> {
    control: &'a Control<'a>,
    reported: Instant,
    flows: TableWriter<FlowSample>,
    queues: TableWriter<QueueSample>,
    hosts: TableWriter<HostSample>,
    accounts: Accounts<'a>,
    failure: Option<StoreError>,
    /// Time it took, which is not that of the run.
    wall: Duration,
    cpu: Duration,
}

impl<'a> Writer<'a> {
    fn new(
        control: &'a Control<'a>,
        directory: &RunDirectory,
        accounts: Accounts<'a>,
    ) -> Result<Self, StoreError> {
        Ok(Writer {
            control,
            accounts,
            reported: Instant::now(),
            flows: directory.table()?,
            queues: directory.table()?,
            hosts: directory.table()?,
            failure: None,
            wall: Duration::ZERO,
            cpu: Duration::ZERO,
        })
    }

    fn drain(&mut self, samples: &mut Samples) -> Result<(), StoreError> {
        self.flows.drain_rows(&mut samples.flows)?;
        self.queues.drain(&mut samples.queues)?;
        self.hosts.drain(&mut samples.hosts)
    }

    /// Writes what is left and takes it out of the recording.
    fn finish(mut self, directory: &RunDirectory, recording: &mut Recording) -> Result<(), StoreError> {
        self.flows.write(&std::mem::take(&mut recording.flows))?;
        self.queues.write(&std::mem::take(&mut recording.queues))?;
        self.hosts.write(&std::mem::take(&mut recording.hosts))?;
        self.close(directory)
    }

    /// Makes the tables whole files: those of a run that was interrupted can be read too, as far as it came.
    fn close(self, directory: &RunDirectory) -> Result<(), StoreError> {
        directory.close(self.flows)?;
        directory.close(self.queues)?;
        directory.close(self.hosts)
    }
}

impl Observer for Writer<'_> {
    fn watch(&mut self, progress: wirespeed_sim::Progress) -> bool {
        /// How often the caller hears of progress.
        const REPORT: Duration = Duration::from_millis(200);
        if self.reported.elapsed() >= REPORT {
            self.reported = Instant::now();
            (self.control.progress)(Progress {
                reached_ns: progress.reached.nanoseconds(),
                delivered_bytes: progress.delivered_bytes,
            });
        }
        !self.control.cancel.load(Relaxed)
    }

    fn take(&mut self, samples: &mut Samples) -> bool {
        let (began, cpu_before) = (Instant::now(), thread_cpu());
        self.failure = self.drain(samples).err();
        self.wall += began.elapsed();
        self.cpu += thread_cpu().saturating_sub(cpu_before);
        self.failure.is_none()
    }

    fn wants_counts(&mut self, at: SimTime) -> bool {
        self.accounts.borders.reached(at.nanoseconds()).is_some()
    }

    fn counted(&mut self, counts: &Counts) {
        self.accounts.push(counts);
    }
}

/// The ledger by interval, made as it is of the agent's counters.
struct Accounts<'a> {
    borders: Borders,
    standings: Standings<'a>,
}

impl<'a> Accounts<'a> {
    fn new(run: &'a Run, layout: &'a Layout) -> Accounts<'a> {
        Accounts { borders: Borders::of(run), standings: Standings::new(run, layout) }
    }

    fn push(&mut self, counts: &Counts) {
        let evidence = Evidence {
            counters: &counts.counters,
            queues: path::by_queue(counts.queues.iter()),
            interfaces: path::by_interface(counts.hosts.iter()),
            in_flight: &counts.in_flight,
            drops: &counts.drops,
            // Its hosts count datagrams one by one.
            datagrams: BTreeMap::new(),
        };
        // In the model reading takes no time.
        self.standings.push(counts.at.nanoseconds(), 0, &evidence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use wirespeed_scenario::testing::run;
    use wirespeed_units::Span;

    #[test]
    fn samples_of_an_interrupted_run_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let directory = RunDirectory::create(&path).unwrap();
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        (run.duration, run.sample) = (Span::secs(3600), Span::us(10));
        run.flows[0].stop = Span::secs(3600);
        let cancel = AtomicBool::new(false);
        let control = Control { cancel: &cancel, progress: &|_| cancel.store(true, Relaxed) };
        let ended = Model.carry_out(&run, &directory, &control);
        assert!(matches!(ended, Err(SubstrateError::Interrupted)), "{ended:?}");
        let left =
            Recording { samples_in: Some(wirespeed_record::SampleFiles::new(&path)), ..Default::default() };
        let rows = left.flow_table().rows().unwrap();
        assert!(rows > 0);
        let mut sampled = Vec::new();
        left.flow_table().each(FlowSample::t_ns, |t| sampled.push(t)).unwrap();
        assert!(sampled.len() == rows && sampled.is_sorted());
        let mut files: Vec<_> =
            std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, ["INCOMPLETE", "flows.parquet", "hosts.parquet", "queues.parquet", "raw"]);
    }
}
