//! The agent: carries out a run on the kernel it finds itself on, and says what happened as a stream of
//! [`message::Message`]s. In a virtual-time guest it is process 1.

mod capture;
mod clock;
mod datagrams;
mod flow;
mod local;
pub mod message;
pub mod request;
mod sampler;
pub mod session;
mod socket;
mod tcp;
pub mod tcp_info;
pub mod udp;

pub use clock::monotonic;

use crate::layout::Layout;
use crate::world::{self, World};
use clock::Clock;
use flow::{FlowState, Log};
use message::{Message, Writer};
use sampler::Sampler;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use wirespeed_scenario::run::{Congestion, Flow, FlowKind, Run};
use wirespeed_scenario::{When, congestion_control};

/// File with the run, in the folder the guest shares with its host.
pub const PLAN: &str = "run.json";
/// File with the stream of messages.
pub const STREAM: &str = "stream";

/// Port of the first flow.
const FIRST_PORT: u16 = 5001;
/// The most flows of a run: each has a port of its own.
pub const MOST_FLOWS: usize = 10_000;

/// A flow that is being run, shared by its threads and the sampler.
pub struct Part {
    run: Arc<Run>,
    index: usize,
    clock: Clock,
    state: FlowState,
    log: Arc<Log>,
    /// The receiver's own address; unspecified in namespaces that have nobody else.
    bind: Ipv4Addr,
    /// The only one whose connection it takes.
    peer: Option<Ipv4Addr>,
}

impl Part {
    fn flow(&self) -> &Flow {
        &self.run.flows[self.index]
    }

    /// Every flow has a port of its own, so that captures tell them apart.
    fn port(&self) -> u16 {
        FIRST_PORT + self.index as u16
    }

    /// Where its receiver listens.
    fn local(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.bind, self.port())
    }
}

/// Carries out the run that is planned in `shared`, a folder this machine shares with whoever wants the results,
/// and leaves the stream there. The last message says whether it came to its end.
///
/// # Errors
/// What could not be done; it stands in the stream as well, if that could be written.
pub fn guest(shared: &Path) -> io::Result<()> {
    let mut writer = Writer::new(File::create(shared.join(STREAM))?);
    let result = carry_out(shared, &mut writer);
    let last = match &result {
        Ok(()) => Message::Done,
        Err(error) => Message::Failed(error.to_string()),
    };
    let written = writer.write(&last).and_then(|()| writer.sync());
    result.and(written)
}

fn carry_out(shared: &Path, writer: &mut Writer<File>) -> io::Result<()> {
    let plan = fs::read(shared.join(PLAN))?;
    let run: Run = serde_json::from_slice(&plan).map_err(|e| io::Error::other(format!("plan: {e}")))?;
    let layout = Layout::of(&run);
    clock::exact_sleeps()?;
    writer.write(&hello()?)?;
    set_congestion_parameters(&run)?;
    let mut world = world::build(&run, &layout)?;
    for warning in &world.warnings {
        writer.write(&Message::Warning(warning.clone()))?;
    }
    for (host, node) in run.hosts.iter().zip(&world.nodes) {
        writer.write(&Message::Settings { host: host.name.clone(), settings: node.settings.clone() })?;
    }
    conduct(Arc::new(run), &layout, &mut world, shared, writer)
}

fn hello() -> io::Result<Message> {
    let read =
        |name| Ok::<_, io::Error>(fs::read_to_string(format!("/proc/sys/kernel/{name}"))?.trim().to_string());
    Ok(Message::Hello { release: read("osrelease")?, version: read("version")? })
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

/// Whether a control reads a parameter only while it is loaded: whoever boots the kernel has set it then.
pub fn is_read_while_loading(congestion: &str, parameter: &str) -> bool {
    let parameter = congestion_control(congestion).and_then(|control| control.parameter(parameter));
    parameter.is_some_and(|parameter| parameter.linux == Some(When::Loading))
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
    shared: &Path,
    writer: &mut Writer<File>,
) -> io::Result<()> {
    /// Time for every thread to reach its start, in the guest's own time, where it costs nothing.
    const LEAD_NS: i64 = 10_000_000;
    let clock = Clock::starting_in(LEAD_NS);
    let log = Arc::new(Log::default());
    let stop = Arc::new(AtomicBool::new(false));
    let captures = start_captures(&run, world, shared, clock, &stop)?;
    let parts: Vec<Arc<Part>> = (0..run.flows.len())
        .map(|index| {
            let state = FlowState::default();
            let (run, log) = (Arc::clone(&run), Arc::clone(&log));
            Arc::new(Part { run, index, clock, state, log, bind: Ipv4Addr::UNSPECIFIED, peer: None })
        })
        .collect();
    for part in &parts {
        start_flow(part, layout, world)?;
    }
    let mut sampler = Sampler::new(&run, layout, world, &parts);
    let before = sampler.protocol_counters()?;
    let (step, end) = (run.sample.nanoseconds(), run.duration.nanoseconds());
    /// How often the host side is told how far the run has come.
    const REPORT_NS: i64 = 250_000_000;
    let mut reported = 0;
    let mut t_ns = 0;
    loop {
        clock.sleep_until(t_ns);
        let last = t_ns >= end;
        let snapshot = if last { sampler.consistent(t_ns)? } else { sampler.sample(t_ns)? };
        snapshot.flows.into_iter().try_for_each(|row| writer.write(&Message::Flow(Box::new(row))))?;
        snapshot.queues.into_iter().try_for_each(|row| writer.write(&Message::Queue(row)))?;
        snapshot.hosts.into_iter().try_for_each(|row| writer.write(&Message::Host(row)))?;
        write_log(&log, writer)?;
        if last {
            for (queue, packets) in snapshot.in_flight {
                writer.write(&Message::InFlight { queue, packets })?;
            }
            break;
        }
        if t_ns >= reported + REPORT_NS {
            reported = t_ns;
            writer.write(&Message::Time(t_ns))?;
            writer.sync()?;
        }
        t_ns = (t_ns + step).min(end);
    }
    sampler::counter_rows(&before, sampler.protocol_counters()?).try_for_each(|row| writer.write(&row))?;
    write_datagrams(&parts, writer)?;
    stop.store(true, Relaxed);
    for capture in captures {
        capture.join().map_err(|_| io::Error::other("a capture thread failed"))??;
    }
    write_log(&log, writer)?;
    writer.write(&Message::Time(end))
}

fn write_log(log: &Log, writer: &mut Writer<impl io::Write>) -> io::Result<()> {
    let (events, warnings) = log.take();
    events.into_iter().try_for_each(|event| writer.write(&Message::Event(event)))?;
    warnings.into_iter().try_for_each(|warning| writer.write(&Message::Warning(warning)))
}

fn write_datagrams(parts: &[Arc<Part>], writer: &mut Writer<File>) -> io::Result<()> {
    /// Rows a message: bounds its size.
    const ROWS: usize = 10_000;
    for part in parts {
        let sent = std::mem::take(&mut *part.state.datagrams.lock().expect("the sender has ended"));
        let arrivals = std::mem::take(&mut *part.state.arrivals.lock().expect("readers do not panic"));
        for rows in udp::account(sent, &arrivals).chunks(ROWS) {
            writer.write(&Message::Datagrams(rows.to_vec()))?;
        }
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

fn start_flow(part: &Arc<Part>, layout: &Layout, world: &World) -> io::Result<()> {
    let host = |name: &str| {
        part.run.hosts.iter().position(|h| h.name == name).expect("a resolved run names only its own hosts")
    };
    let (from, to) = (host(&part.flow().from), host(&part.flow().to));
    let address = SocketAddrV4::new(layout.address(to), part.port());
    let is_tcp = matches!(part.flow().kind, FlowKind::Tcp { .. });
    let prepared =
        world.nodes[to].namespace.within(|| if is_tcp { tcp::prepare(part) } else { udp::prepare(part) })?;
    let receiver = part.flow().to.clone();
    spawn(
        part,
        receiver,
        move |part| {
            if is_tcp { tcp::receive(part, &prepared) } else { udp::receive(part, prepared) }
        },
    );
    if is_tcp && part.flow().stop < part.run.duration {
        spawn(part, part.flow().from.clone(), tcp::stop);
    }
    // A new thread starts in the namespace of the thread that makes it.
    let sender = part.flow().from.clone();
    world.nodes[from].namespace.within(|| {
        spawn(part, sender, move |part| {
            clock::exact_sleeps()?;
            if is_tcp { tcp::send(part, address) } else { udp::send(part, address) }
        });
        Ok(())
    })
}

/// Runs one end of a flow in its own thread; what goes wrong is an event and a warning, not a silent end.
fn spawn(part: &Arc<Part>, host: String, work: impl FnOnce(&Part) -> io::Result<()> + Send + 'static) {
    let part = Arc::clone(part);
    thread::spawn(move || {
        if let Err(error) = work(&part) {
            let label = &part.flow().label;
            part.log.warn(format!("flow {label} ended early at {host}: {error}"));
            part.log.event(part.clock.now(), "flow_error", part.index, &host, error.to_string());
        }
    });
}

impl Writer<File> {
    /// Hands everything over and waits until it has left this kernel.
    fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.get_mut().sync_data()
    }
}
