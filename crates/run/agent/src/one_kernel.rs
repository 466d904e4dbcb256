//! One agent for a whole run: its hosts are network namespaces of this kernel.

use super::clock::{self, Clock};
use super::cores::Cores;
use super::drain::drain;
use super::error_correction::Corrections;
use super::exchanges::{self, DataSets};
use super::flow::{FlowState, Log};
use super::message::{Message, Writer};
use super::placement::{Placements, topology};
use super::queue_delays::QueueDelays;
use super::relay::{Next, relay};
use super::sampler::{self, Sampler, Snapshot};
use super::stream_file::Out;
use super::temporary_bpf::{self, Controls, Drops};
use super::threads::Threads;
use super::{
    Part, capture, hello, is_read_while_loading, is_tcp, link_changes, open_files, spawn, tcp, udp, used,
    write_found, write_log,
};
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use wirespeed_host::{Root, inventory};
use wirespeed_ledger::intervals::Borders;
use wirespeed_scenario::layout::Layout;
use wirespeed_scenario::run::{Congestion, FlowKind, Run};
use wirespeed_topology::world::{self, Ground, World};

/// File with the run, in the folder the agent shares with whoever wants the results.
pub const PLAN: &str = "run.json";
/// File with the stream of messages.
pub const STREAM: &str = "stream";
/// An empty folder to mount something on.
const SCRATCH: &str = "mounted";

/// Carries out the run that is planned in `shared` and leaves the stream there. The last message says whether it came
/// to its end.
///
/// # Errors
/// What could not be done; it stands in the stream as well, if that could be written.
pub fn run_planned(shared: &Path, ground: Ground) -> io::Result<()> {
    let mut writer = Writer::new(Out::of(ground, File::create(shared.join(STREAM))?));
    let result = carry_out(shared, ground, &mut writer);
    let last = match &result {
        Ok(()) => Message::Done,
        Err(error) => Message::Failed(error.to_string()),
    };
    let written = writer.write(&last).and_then(|()| writer.finish());
    result.and(written)
}

fn carry_out(shared: &Path, ground: Ground, writer: &mut Writer<Out>) -> io::Result<()> {
    let plan = fs::read(shared.join(PLAN))?;
    let run: Run = serde_json::from_slice(&plan).map_err(|e| io::Error::other(format!("plan: {e}")))?;
    let layout = Layout::of(&run);
    clock::exact_sleeps()?;
    open_files::raise_limit();
    writer.write(&hello()?)?;
    if ground == Ground::Guest {
        set_congestion_parameters(&run)?;
    }
    let mut warnings = Vec::new();
    let scratch = shared.join(SCRATCH);
    fs::create_dir_all(&scratch)?;
    let _controls =
        (ground == Ground::Machine).then(|| Controls::load(&run, |warning| warnings.push(warning)));
    for warning in warnings {
        writer.write(&Message::Warning(warning))?;
    }
    let mut world = world::build(&run, &layout, ground, &scratch)?;
    for warning in &world.warnings {
        writer.write(&Message::Warning(warning.clone()))?;
    }
    for (host, node) in run.hosts.iter().zip(&world.nodes) {
        writer.write(&Message::Settings { host: host.name.clone(), settings: node.settings.clone() })?;
        // Only a real machine has hardware that limits it; the virtual-time guest does not.
        if ground == Ground::Machine {
            let json = node.namespace.within(|| Ok(inventory(&mut Root::live()).to_json()))?;
            writer.write(&Message::Inventory { host: host.name.clone(), json })?;
        }
    }
    conduct(Arc::new(run), &layout, &mut world, ground, shared, writer)?;
    match ground {
        // Whoever booted it knows what it used.
        Ground::Guest => Ok(()),
        Ground::Machine => writer.write(&used()),
    }
}

/// Parameters of a congestion control are module parameters: one value for the whole kernel.
fn set_congestion_parameters(run: &Run) -> io::Result<()> {
    let mut set: Vec<&Congestion> = Vec::new();
    for flow in &run.flows {
        let FlowKind::Tcp { congestion, .. } = &flow.kind else { continue };
        if let Some(other) =
            set.iter().find(|c| c.name == congestion.name && c.parameters != congestion.parameters)
        {
            return Err(io::Error::other(format!(
                "two flows use {} with different parameters; on a kernel they are module parameters, one value \
                 for all flows",
                other.name
            )));
        }
        for (name, value) in &congestion.parameters {
            if is_read_while_loading(&congestion.name, name) {
                continue;
            }
            let path = format!("/sys/module/tcp_{}/parameters/{name}", congestion.name);
            fs::write(&path, value.to_string()).map_err(|e| {
                let known = known_parameters(&congestion.name);
                io::Error::other(format!(
                    "{}: parameter {name} = {value}: {e}; this kernel has {known}",
                    congestion.name
                ))
            })?;
        }
        set.push(congestion);
    }
    Ok(())
}

fn known_parameters(congestion: &str) -> String {
    let names = fs::read_dir(format!("/sys/module/tcp_{congestion}/parameters"));
    let mut names: Vec<String> =
        names.into_iter().flatten().flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    if names.is_empty() { "none for it".into() } else { names.join(", ") }
}

/// Runs the flows and samples them to the end.
fn conduct(
    run: Arc<Run>,
    layout: &Layout,
    world: &mut World,
    ground: Ground,
    shared: &Path,
    writer: &mut Writer<Out>,
) -> io::Result<()> {
    let log = Arc::new(Log::default());
    let mut drops = (ground == Ground::Machine).then(|| Drops::watch(&run, None, |told| log.warn(told)));
    let names = layout.nodes.iter().map(|node| node.name.as_str());
    let places = temporary_bpf::by_inode(names.zip(world.nodes.iter().map(|node| &node.namespace)));
    let clock = Clock::starting_in(lead_ns(ground));
    let stop = Arc::new(AtomicBool::new(false));
    let captures = start_captures(&run, world, shared, clock, &stop)?;
    let corrections = Corrections::start(world, clock, &log, &stop)?;
    let changes = match ground {
        Ground::Guest => world.start(clock.origin_ns()).map(|()| Vec::new())?,
        Ground::Machine => link_changes::follow(world.changing_links(&run)?, clock, &log, &stop),
    };
    let data_sets = Arc::new(DataSets::of(&run));
    let parts: Vec<Arc<Part>> = (0..run.flows.len())
        .map(|index| {
            let state = FlowState::default();
            let (run, log, data_sets) = (Arc::clone(&run), Arc::clone(&log), Arc::clone(&data_sets));
            let pieces = run.host(&run.flows[index].from).offloads.gso;
            Arc::new(Part {
                run,
                index,
                clock,
                state,
                data_sets,
                log,
                bind: Ipv4Addr::UNSPECIFIED.into(),
                peer: None,
                pieces,
                real_time: ground == Ground::Machine,
                to_iperf3: false,
                from_iperf3: false,
                cut_ns: Arc::new(AtomicI64::new(i64::MAX)),
            })
        })
        .collect();
    for (index, part) in parts.iter().enumerate() {
        // The legs of a flow stand one behind the other.
        let next = parts.get(index + 1).filter(|_| part.flow().is_split());
        start_flow(part, next, layout, world)?;
    }
    // A guest's processor takes no time for anything.
    let cores = (ground == Ground::Machine).then(Cores::new);
    let mut sampler = Sampler::new(&run, layout, world, &parts, &corrections.counters);
    let before = sampler.protocol_counters()?;
    let (step, end) = (run.sample.nanoseconds(), run.duration.nanoseconds());
    /// How often whoever waits is told how far the run has come.
    const REPORT_NS: i64 = 250_000_000;
    let mut reported = 0;
    let mut borders = Borders::of(&run);
    let mut late = Lateness::default();
    let mut placements = Placements::default();
    let mut threads = Threads::default();
    let mut delays = QueueDelays::default();
    let mut due_ns = 0;
    if ground == Ground::Machine {
        clock::go_first();
    }
    loop {
        clock.sleep_until(due_ns);
        let last = due_ns >= end;
        let snapshot = match ground {
            Ground::Guest if last => sampler.consistent(due_ns)?,
            Ground::Guest => sampler.sample(|| due_ns)?,
            Ground::Machine => sampler.sample(|| read_at(clock.now(), due_ns, step))?,
        };
        let t_ns = snapshot.t_ns;
        late.count(t_ns - due_ns);
        for (queue, bins) in &snapshot.bins {
            let rows = delays.follow(t_ns, queue, bins);
            if !rows.is_empty() {
                writer.write(&Message::QueueDelays(rows))?;
            }
        }
        let by_cause = snapshot.drops.clone();
        let in_flight = write_rows(snapshot, writer)?;
        if borders.reached(t_ns).is_some() {
            let counters = sampler::counters_since(&before, sampler.protocol_counters()?).collect();
            let took_ns = if ground == Ground::Machine { clock.now() - t_ns } else { 0 };
            let (in_flight, drops) = (in_flight.clone(), by_cause.clone());
            writer.write(&Message::InterimCounters { t_ns, took_ns, counters, in_flight, drops })?;
        }
        if ground == Ground::Machine {
            placements.look(&parts);
            let rows = threads.sample(t_ns, &parts);
            rows.into_iter().try_for_each(|row| writer.write(&Message::Thread(row)))?;
        }
        if let Some(cores) = &cores {
            let rows = cores.sample(t_ns, run.hosts.iter().map(|host| host.name.as_str()));
            rows.into_iter().try_for_each(|row| writer.write(&Message::Core(row)))?;
        }
        if let Some(drops) = &mut drops {
            drops.follow(clock.origin_ns(), |told| log.warn(told));
        }
        write_log(&log, writer)?;
        if last {
            write_in_flight(in_flight, writer)?;
            by_cause
                .into_iter()
                .try_for_each(|(queue, drops)| writer.write(&Message::Drops { queue, drops }))?;
            break;
        }
        if t_ns >= reported + REPORT_NS {
            reported = t_ns;
            writer.write(&Message::Time(t_ns))?;
            writer.report()?;
        }
        // In real time a sample that was late takes the place of those it missed.
        due_ns = (due_ns + step).max(clock.now() / step * step).min(end);
    }
    if let Some(told) = late.told() {
        writer.write(&Message::Warning(told))?;
    }
    if ground == Ground::Machine {
        let topology = topology(None);
        for host in &run.hosts {
            writer.write(&Message::Topology { host: host.name.clone(), topology: topology.clone() })?;
        }
        for placement in placements.told_without_queues() {
            writer.write(&Message::Placement(placement))?;
        }
        // Nothing stands still to be read: the account is made when everything has come to rest.
        drain(&parts, || sampler.flows(|| end));
        let rest = sampler.consistent(end)?;
        write_in_flight(rest.in_flight, writer)?;
        writer.write(&Message::Rest { flows: rest.flows, queues: rest.queues, hosts: rest.hosts })?;
    }
    sampler::counters_since(&before, sampler.protocol_counters()?)
        .try_for_each(|row| writer.write(&Message::Counter(row)))?;
    // What has no namespace is that of the machine as a whole.
    let place = |namespace: Option<u32>| match namespace {
        Some(inode) => places.get(&inode).cloned(),
        None => Some(sampler::WHOLE.to_owned()),
    };
    for counter in drops.iter().flat_map(|drops| drops.counters(place, None, |told| log.warn(told))) {
        writer.write(&Message::Counter(counter))?;
    }
    if let Some(drops) = &mut drops {
        drops.follow(clock.origin_ns(), |told| log.warn(told));
        for pieces in drops.pieces(place) {
            writer.write(&Message::Pieces(pieces))?;
        }
    }
    write_datagrams(&parts, writer)?;
    stop.store(true, Relaxed);
    for change in changes {
        change.join().map_err(|_| io::Error::other("a thread that changes a link failed"))?;
    }
    corrections.join()?;
    for capture in captures {
        capture.join().map_err(|_| io::Error::other("a capture thread failed"))??;
    }
    write_log(&log, writer)?;
    write_found(&log, writer)?;
    writer.write(&Message::Time(end))
}

/// How late samples of a run in real time were.
#[derive(Debug, Default)]
struct Lateness {
    samples: u64,
    late: u64,
    most_ns: i64,
}

/// The time of a sample: when it was due, unless it is so late that rates would be wrong.
fn read_at(now_ns: i64, due_ns: i64, step_ns: i64) -> i64 {
    if now_ns - due_ns <= step_ns / 10 { due_ns } else { now_ns / 1000 * 1000 }
}

impl Lateness {
    /// A sample was read so much after it was due.
    fn count(&mut self, late_ns: i64) {
        self.samples += 1;
        self.most_ns = self.most_ns.max(late_ns);
        self.late += u64::from(late_ns > 0);
    }

    /// What the reader of the results has to know.
    fn told(&self) -> Option<String> {
        let (late, samples, most_ms) = (self.late, self.samples, self.most_ns as f64 / 1e6);
        (late * 10 > samples || most_ms > 100.0).then(|| {
            format!(
                "{late} of {samples} samples were late, by up to {most_ms:.1} ms: this machine was too busy to look at its \
                 watch in time, and other results are in doubt as well"
            )
        })
    }
}

/// Time for every thread to reach its start, in nanoseconds.
fn lead_ns(ground: Ground) -> i64 {
    match ground {
        // In the guest's own time, where it costs nothing.
        Ground::Guest => 10_000_000,
        Ground::Machine => 250_000_000,
    }
}

/// Writes the rows of an instant; returns what was in flight then.
fn write_rows(snapshot: Snapshot, writer: &mut Writer<Out>) -> io::Result<Vec<(String, u64)>> {
    snapshot.flows.into_iter().try_for_each(|row| writer.write(&Message::Flow(Box::new(row))))?;
    snapshot.queues.into_iter().try_for_each(|row| writer.write(&Message::Queue(row)))?;
    snapshot.hosts.into_iter().try_for_each(|row| writer.write(&Message::Host(row)))?;
    Ok(snapshot.in_flight)
}

fn write_in_flight(in_flight: Vec<(String, u64)>, writer: &mut Writer<Out>) -> io::Result<()> {
    in_flight.into_iter().try_for_each(|(queue, packets)| writer.write(&Message::InFlight { queue, packets }))
}

fn write_datagrams(parts: &[Arc<Part>], writer: &mut Writer<Out>) -> io::Result<()> {
    for part in parts {
        let sent = std::mem::take(&mut *part.state.datagrams.lock().expect("the sender has ended"));
        let arrivals = std::mem::take(&mut *part.state.arrivals.lock().expect("readers do not panic"));
        udp::write(&udp::account(sent, &arrivals), writer)?;
        exchanges::write(part, writer)?;
    }
    Ok(())
}

fn start_captures(
    run: &Run,
    world: &World,
    shared: &Path,
    clock: Clock,
    stop: &Arc<AtomicBool>,
) -> io::Result<Vec<JoinHandle<io::Result<()>>>> {
    run.captures
        .iter()
        .map(|wanted| {
            let host =
                run.hosts.iter().position(|h| h.name == wanted.at).expect("a resolved run names its hosts");
            let file = shared.join(format!("{}.pcap", wanted.at));
            let capture =
                world.nodes[host].namespace.within(|| capture::Capture::open(&file, wanted.snaplen))?;
            let stop = Arc::clone(stop);
            Ok(thread::spawn(move || capture.run(clock, &stop)))
        })
        .collect()
}

/// The number of a host among those of a run.
fn number_of(run: &Run, name: &str) -> usize {
    run.hosts.iter().position(|host| host.name == name).expect("a resolved run names only its own hosts")
}

/// Address at which the receiver of a flow listens.
fn address(part: &Part, layout: &Layout) -> SocketAddr {
    SocketAddr::new(layout.address(number_of(&part.run, &part.flow().to)).into(), part.port())
}

/// Starts the threads of a flow. `next`: the leg that begins where this one ends, at a splitter.
fn start_flow(part: &Arc<Part>, next: Option<&Arc<Part>>, layout: &Layout, world: &World) -> io::Result<()> {
    let (from, to) = (number_of(&part.run, &part.flow().from), number_of(&part.run, &part.flow().to));
    let is_tcp = is_tcp(part);
    let prepared =
        world.nodes[to].namespace.within(|| if is_tcp { tcp::prepare(part) } else { udp::prepare(part) })?;
    let receiver = part.flow().to.clone();
    match next {
        Some(next) => {
            let leaves_by = &world.nodes[number_of(&part.run, &next.flow().from)].namespace;
            let next = leaves_by.within(|| Next::prepare(next, address(next, layout)))?;
            spawn(part, receiver, move |part| relay(part, &prepared, next));
        }
        None => spawn(part, receiver, move |part| {
            if is_tcp { tcp::receive(part, &prepared) } else { udp::receive(part, prepared) }
        }),
    }
    if part.flow().is_relayed() {
        return Ok(());
    }
    if is_tcp && part.flow().stop < part.run.duration {
        spawn(part, part.flow().from.clone(), tcp::stop);
    }
    // A new thread starts in the namespace of the thread that makes it.
    let (sender, address) = (part.flow().from.clone(), address(part, layout));
    world.nodes[from].namespace.within(|| {
        spawn(part, sender, move |part| {
            clock::exact_sleeps()?;
            if is_tcp { tcp::send(part, address) } else { udp::send(part, address) }
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_time_it_was_due_unless_it_was_late() {
        const STEP: i64 = 10_000_000;
        let mut late = Lateness::default();
        let mut read = |now, due| {
            let at = read_at(now, due, STEP);
            late.count(at - due);
            at
        };
        assert_eq!(read(10_000_900, 10_000_000), 10_000_000);
        assert_eq!(read(22_345_678, 20_000_000), 22_345_000);
        assert!(late.told().unwrap().starts_with("1 of 2 samples were late, by up to 2.3 ms"));
    }
}
