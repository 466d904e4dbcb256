//! One run from begin to end.

use crate::host::Intake;
use crate::world::{Late, Recorder, Unsupported, World, ignored, lifecycle_events};
use std::collections::BTreeMap;
use wirespeed_record::{
    Cause, CoreSample, Counter, Datagram, Event, Exchange, FlowSample, HostSample, QueueDelay, QueueSample,
    Rows,
};
use wirespeed_scenario::run::Run;
use wirespeed_units::SimTime;

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The run's own time.
    pub reached: SimTime,
    /// Payload delivered by then in bytes, all flows.
    pub delivered_bytes: u64,
}

/// Rows that have come together and are kept until somebody takes them.
#[derive(Debug, Default)]
pub struct Samples {
    /// State of the flows over time.
    pub flows: Rows<FlowSample>,
    /// State of the queues over time.
    pub queues: Vec<QueueSample>,
    /// Counts of the hosts over time.
    pub hosts: Vec<HostSample>,
}

/// A table with so many rows is offered: few enough that they are still in the second cache when they are taken, and enough that
/// what takes them, which needs the caches for itself, does not come after every few flows.
const MANY: usize = 256;

/// Sees a run while it goes on. Each answers whether the run goes on; if not, it is given up.
pub trait Observer {
    /// A sample was taken.
    fn watch(&mut self, progress: Progress) -> bool;

    /// Many rows have come together. What is taken out is not in [`Outcome`]; the last sample's rows of queues and hosts
    /// always are.
    fn take(&mut self, _samples: &mut Samples) -> bool {
        true
    }

    /// Whether what has been counted by `at`, an instant of sampling, is wanted: adding it up takes as long as a sample.
    fn wants_counts(&mut self, _at: SimTime) -> bool {
        false
    }

    /// What had been counted at an instant for which it was wanted.
    fn counted(&mut self, _counts: &Counts) {}
}

/// What had been counted at an instant: as much as [`Outcome`] says of the end.
#[derive(Debug)]
pub struct Counts<'a> {
    /// The instant.
    pub at: SimTime,
    /// Protocol counters.
    pub counters: Vec<Counter>,
    /// Packets on their way, by queue.
    pub in_flight: BTreeMap<String, u64>,
    /// Packets dropped and lost, by queue and cause.
    pub drops: BTreeMap<String, Vec<(Cause, u64)>>,
    /// Rows of the instant.
    pub queues: &'a [QueueSample],
    /// Rows of the instant.
    pub hosts: &'a [HostSample],
}

/// What a run leaves behind: the tables of a recording, and what the ledger needs beside them.
#[derive(Debug, Default)]
pub struct Outcome {
    /// State of the flows over time.
    pub flows: Vec<FlowSample>,
    /// State of the queues over time.
    pub queues: Vec<QueueSample>,
    /// Counts of the hosts over time.
    pub hosts: Vec<HostSample>,
    /// Where the time of cores went, over time.
    pub cores: Vec<CoreSample>,
    /// Protocol counters at the end.
    pub counters: Vec<Counter>,
    /// What happened once.
    pub events: Vec<Event>,
    /// Every datagram.
    pub datagrams: Vec<Datagram>,
    /// Files of data sets.
    pub exchanges: Vec<Exchange>,
    /// How long packets waited in the classes of queues.
    pub queue_delays: Vec<QueueDelay>,
    /// Packets on their way at the end, by queue.
    pub in_flight: BTreeMap<String, u64>,
    /// Packets dropped and lost at the end, by queue and cause.
    pub drops: BTreeMap<String, Vec<(Cause, u64)>>,
    /// Data packets simulated, retransmissions included.
    pub packets: u64,
    /// Events handled.
    pub handled: u64,
    /// What was due before what caused it.
    pub late: Late,
    /// Where the packets are, at the end, that came to the hosts that show their inside.
    pub intakes: Vec<Intake>,
    /// Captures as files (pcap), by the host whose interface was captured.
    pub captures: Vec<(String, Vec<u8>)>,
    /// Warnings for the reader of the results.
    pub warnings: Vec<String>,
}

/// Why a run has no outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The caller stopped it.
    Cancelled,
    /// It asks for something the model lacks.
    Unsupported(Unsupported),
}

/// Carries a run out. `watch` is called at every sample; if it returns `false` the run is given up.
///
/// # Errors
/// If it was given up, or asks for something the model lacks.
pub fn simulate(run: &Run, watch: &mut dyn FnMut(Progress) -> bool) -> Result<Outcome, Ended> {
    struct Watch<'a>(&'a mut dyn FnMut(Progress) -> bool);
    impl Observer for Watch<'_> {
        fn watch(&mut self, progress: Progress) -> bool {
            (self.0)(progress)
        }
    }
    simulate_observed(run, &mut Watch(watch))
}

/// The same for an observer that may take rows while the run goes on.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_observed(run: &Run, observer: &mut dyn Observer) -> Result<Outcome, Ended> {
    let mut world = World::of(run).map_err(Ended::Unsupported)?;
    let mut recorder = Recorder::new(run);
    let end = SimTime::START + run.duration;
    let mut at = SimTime::START;
    loop {
        world.run_until(at);
        let Samples { flows, queues, hosts } = &recorder.samples;
        if flows.len().max(queues.len()).max(hosts.len()) >= MANY && !observer.take(&mut recorder.samples) {
            return Err(Ended::Cancelled);
        }
        let goes_on = recorder.sample(run, &mut world, at, MANY, &mut |samples| observer.take(samples));
        if !goes_on {
            return Err(Ended::Cancelled);
        }
        if observer.wants_counts(at) {
            let Samples { queues, hosts, .. } = &recorder.samples;
            let t_ns = at.nanoseconds();
            observer.counted(&Counts {
                at,
                counters: world.counters(run),
                in_flight: world.in_flight(at),
                drops: world.drops(at),
                queues: &queues[queues.partition_point(|row| row.t_ns < t_ns)..],
                hosts: &hosts[hosts.partition_point(|row| row.t_ns < t_ns)..],
            });
        }
        if !observer.watch(Progress { reached: at, delivered_bytes: recorder.delivered_bytes }) {
            return Err(Ended::Cancelled);
        }
        if at >= end {
            break;
        }
        at = (at + run.sample).min(end);
    }
    let requeues = world.first_requeues(end);
    let mut outcome = Outcome {
        counters: world.counters(run),
        events: Vec::new(),
        in_flight: world.in_flight(end),
        drops: world.drops(end),
        packets: world.data_packets(),
        handled: world.events_handled(),
        late: world.late(),
        intakes: world.intakes(),
        datagrams: world.take_datagrams(),
        exchanges: world.take_exchanges(),
        captures: world.take_captures(run),
        warnings: ignored(run),
        flows: recorder.samples.flows.into_vec(),
        queues: recorder.samples.queues,
        hosts: recorder.samples.hosts,
        cores: recorder.cores,
        queue_delays: recorder.queue_delays,
    };
    // What the flows were is given back before they are told of in words.
    let milestones = world.into_milestones();
    outcome.events = lifecycle_events(run, milestones);
    outcome.events.extend(requeues);
    // A piece of work of a host that began before the end may have effects after it.
    outcome.events.retain(|event| event.t_ns <= end.nanoseconds());
    Ok(outcome)
}
