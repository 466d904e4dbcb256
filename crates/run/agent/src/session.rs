//! The agent of a real host: requests on standard input, messages on standard output, one run. It ends when its input
//! does, so that nothing is left behind when the controller, or the connection to it, is gone.

use super::addresses::interfaces;
use super::clock::{self, Clock};
use super::drain::drain;
use super::end::{Abandon, End};
use super::exchanges::{self, DataSets};
use super::flow::{FlowState, Log};
use super::interim::interim;
use super::iperf3::{self, Connection, Peer, SETTLE};
use super::local::Local;
use super::message::{Decoder, Message, Writer};
use super::other_tests::OtherTests;
use super::others::{Load, Others};
use super::path_mtu::{self, Answerer, PathMtu};
use super::port::{self, Listening};
use super::request::{Plan, Request};
use super::settings;
use super::temporary_bpf::{Controls, Drops};
use super::{Part, hello, is_tcp, tcp, udp, used, write_found, write_log};
use crate::iperf3_server::place;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;
use wirespeed_bpf::drops::this_namespace;
use wirespeed_host::{Change, Changes, Delta, Root, Snapshot, inventory, take};
use wirespeed_ledger::hosts::drop_reasons;
use wirespeed_ledger::intervals::Borders;
use wirespeed_record::{Event, EventKind};
use wirespeed_scenario::run::{Flow, Run};

/// How long an agent waits for its controller beyond the run itself.
const PATIENCE: Duration = Duration::from_secs(120);

/// Serves one controller on standard input and output. The process ends by `abandon` if the controller goes away.
///
/// # Errors
/// The failure, which the controller has received, too, if it could be sent.
pub fn serve(tool: &str, abandon: Abandon) -> io::Result<()> {
    let requests = listen(abandon);
    let end = End::after(PATIENCE, abandon);
    let mut out = Writer::new(io::stdout().lock());
    let result = session(tool, &requests, &end, &mut out);
    if let Err(error) = &result {
        out.write(&Message::Failed(error.to_string()))?;
        out.flush()?;
    }
    // What was written has to be read before this end of the connection goes away.
    while requests.recv().is_ok() {}
    result
}

/// Requests as they come in. The process ends with its input.
fn listen(abandon: Abandon) -> Receiver<io::Result<Request>> {
    /// Requests that wait: a controller asks for one thing after the other, and a plan may take 16 MiB.
    const WAITING: usize = 4;
    let (sender, receiver) = sync_channel(WAITING);
    thread::spawn(move || {
        let mut decoder = Decoder::<Request>::default();
        let mut piece = [0; 1 << 16];
        loop {
            match io::stdin().read(&mut piece) {
                Ok(0) | Err(_) => abandon(),
                Ok(got) => decoder.feed(&piece[..got]),
            }
            for request in decoder.by_ref() {
                let bad = request.is_err();
                if sender.send(request).is_err() || bad {
                    break;
                }
            }
        }
    });
    receiver
}

/// The next request but those that change nothing, which are answered. A port that was to be held is until then.
fn next(requests: &Receiver<io::Result<Request>>, out: &mut Writer<impl Write>) -> io::Result<Request> {
    /// A controller asks for one port of each host.
    const MOST: usize = 4;
    let mut held = Vec::new();
    // Answers until the next request that is not answered here.
    let mut _answerer = None;
    loop {
        let answer = match requests.recv().map_err(io::Error::other)?? {
            Request::Clock => Message::Clock(clock::monotonic()),
            Request::Reach { to, trials, datagrams: false } => Message::Reached(port::reach(to, trials)),
            Request::Reach { to, trials, datagrams: true } => {
                Message::Reached(port::reach_by_datagrams(to, trials))
            }
            Request::Listen { local, datagrams } if held.len() < MOST => {
                held.push(port::patiently(|| Listening::begin(local, datagrams))?);
                Message::Ready
            }
            Request::MtuAnswer { local, peer } => {
                _answerer = Answerer::start(local, peer).ok();
                Message::Ready
            }
            Request::MtuProbe { local, to, most } => {
                let none = PathMtu { tried: most, passed: None, is_reported: false };
                Message::PathMtu(path_mtu::probe(local, to, most).unwrap_or(none))
            }
            other => return Ok(other),
        };
        out.write(&answer)?;
        out.flush()?;
    }
}

fn out_of_turn(request: &Request) -> io::Error {
    let name = request.name();
    io::Error::other(format!(
        "unexpected request from the controller: {name}; use the same version of wirespeed on both hosts"
    ))
}

/// A time to begin at that is near: the run would be over, or this process gone, at any other.
fn soon(origin_ns: i64) -> io::Result<i64> {
    let away = Duration::from_nanos(clock::monotonic().abs_diff(origin_ns));
    if away > PATIENCE {
        let seconds = away.as_secs();
        return Err(io::Error::other(format!(
            "the start time is {seconds} s away on this host's clock (was the host suspended?); start the run again"
        )));
    }
    Ok(origin_ns)
}

fn session(
    tool: &str,
    requests: &Receiver<io::Result<Request>>,
    end: &End,
    out: &mut Writer<impl Write>,
) -> io::Result<()> {
    super::open_files::raise_limit();
    out.write(&hello()?)?;
    let congestion = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control")?.trim().to_owned();
    out.write(&Message::Machine { tool: tool.into(), interfaces: interfaces()?, congestion })?;
    out.flush()?;
    let plan = match next(requests, out)? {
        Request::Plan(plan) => plan,
        other => return Err(out_of_turn(&other)),
    };
    let run = Arc::new(plan.check().map_err(io::Error::other)?);
    end.put_off(PATIENCE + Duration::from_secs_f64(run.duration.as_secs_f64()));
    let mut ends = Ends::prepare(&run, &plan)?;
    // All take long on a busy or slow machine; nothing of the run may come before they are done.
    let json = inventory(&mut Root::live()).to_json();
    let mut drops = Drops::watch(&run, this_namespace(), |told| ends.warn(&told));
    let (before, _) = take(&mut Root::live());
    drops.begin_counting();
    out.write(&Message::Ready)?;
    out.flush()?;
    let origin_ns = match next(requests, out)? {
        Request::Start { origin_ns } => soon(origin_ns)?,
        other => return Err(out_of_turn(&other)),
    };
    let host = &run.hosts[plan.host as usize].name;
    let parts = ends.start(Clock::starting_at(origin_ns))?;
    let own = plan.addresses[plan.host as usize];
    let peers = ends.peers();
    let mut here = Local::new(host, parts.clone(), own, &peers)?;
    let mut settings = settings::settings(here.device());
    settings.insert("interface.address".to_owned(), own.to_string());
    settings.insert("interface.out".to_owned(), here.out().to_owned());
    // Namespaces of one machine have counters in common.
    if let Ok(boot) = std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        settings.insert("machine.boot_id".to_owned(), boot.trim().to_owned());
    }
    out.write(&Message::Settings { host: host.clone(), settings })?;
    out.write(&Message::Topology { host: host.clone(), topology: here.topology() })?;
    out.write(&Message::Inventory { host: host.clone(), json })?;
    let mut peer = ends.peer.take();
    let clock = Clock::starting_at(origin_ns);
    let beside = Beside { before: &before, drops: &mut drops, ends: &ends, peer: peer.as_mut() };
    let (tests, others) = (OtherTests::watch(&plan.addresses), Others::read());
    let ended_ns = conduct(&run, &mut here, clock, beside, requests, out)?;
    if let Some(warning) = tests.warning() {
        ends.warn(&warning);
    }
    drop(tests);
    for load in Others::read().since(&others, ended_ns.max(1)).iter().take(MOST_LOADS) {
        out.write(&load_of(host, load))?;
    }
    let lasted = Duration::from_nanos(ended_ns.max(0) as u64);
    // A server that sends would go on.
    let word = match peer.take_if(|peer| peer.sends()) {
        Some(peer) => Some(peer.finish(&here.flows(|| ended_ns), &parts, lasted)?),
        None => None,
    };
    drain(&parts, || here.flows(|| 0));
    if peer.is_some() {
        thread::sleep(SETTLE);
    }
    write_log(&ends.log, out)?;
    out.write(&Message::Drained)?;
    out.flush()?;
    match next(requests, out)? {
        Request::Account => {}
        other => return Err(out_of_turn(&other)),
    }
    let totals = here.totals(ended_ns);
    let rows: Vec<_> = totals.iter().map(|(row, _)| row.clone()).collect();
    for (row, segments) in totals {
        out.write(&Message::Total { row: Box::new(row), segments })?;
    }
    drops.end_counting();
    let (after, lacks) = here.counters();
    let mut changes = after.since(&before);
    for placement in here.placements(&changes) {
        out.write(&Message::Placement(placement))?;
    }
    drops.follow(origin_ns, |told| ends.warn(&told));
    let reasons = ends.reasons(&drops, &changes, here.out());
    changes.changes.retain(|change| change.delta != Delta::By(0) || change.reading.is_the_count_of_a_loss());
    for counter in drops.counters(|_| Some(host.clone()), Some(own), |told| ends.warn(&told)) {
        out.write(&Message::Counter(counter))?;
    }
    changes.changes.extend(reasons);
    for pieces in drops.pieces(|_| Some(host.clone())) {
        out.write(&Message::Pieces(pieces))?;
    }
    let lacks = lacks.iter().map(ToString::to_string).collect();
    out.write(&Message::Account { changes: Box::new(changes), lacks })?;
    write_datagrams(&parts, out)?;
    // Last: when the server has been told of the end, it closes the connections.
    if let Some(peer) = peer {
        out.write(&peer.finish(&rows, &parts, lasted)?)?;
    }
    word.iter().try_for_each(|word| out.write(word))?;
    write_log(&ends.log, out)?;
    write_found(&ends.log, out)?;
    out.write(&used())?;
    out.write(&Message::Done)?;
    out.flush()
}

/// Processes of others that are named.
const MOST_LOADS: usize = 4;

/// A process that used a core beside the test.
fn load_of(host: &str, load: &Load) -> Message {
    let Load { core, part, process } = load;
    Message::Event(Event {
        t_ns: 0,
        kind: EventKind::OtherLoad,
        flow: None,
        host: Some(host.into()),
        detail: format!("{process} used {:.0} % of a core, last core {core}", part * 100.0),
        burst_packet: None,
    })
}

/// The ends of flows that are on this host.
struct Ends {
    run: Arc<Run>,
    host: String,
    addresses: Vec<IpAddr>,
    /// A socket per flow that ends here.
    listeners: Vec<Option<OwnedFd>>,
    /// An iperf3 server that is the other end of the flows here.
    peer: Option<Peer>,
    data_sets: Arc<DataSets>,
    log: Arc<Log>,
    /// When the run ends, if that is earlier than planned.
    cut_ns: Arc<AtomicI64>,
    /// Lent to the kernel until the end.
    _controls: Controls,
}

impl Ends {
    /// Opens what has to be there before the first packet comes.
    fn prepare(run: &Arc<Run>, plan: &Plan) -> io::Result<Ends> {
        let host = run.hosts[plan.host as usize].name.clone();
        let (addresses, log) = (plan.addresses.clone(), Arc::new(Log::default()));
        let controls = Controls::load(run, |told| log.warn(format!("host {host}: {told}")));
        let mut ends = Ends {
            run: Arc::clone(run),
            host,
            addresses,
            listeners: Vec::new(),
            peer: None,
            data_sets: Arc::new(DataSets::of(run)),
            log,
            cut_ns: Arc::new(AtomicI64::new(i64::MAX)),
            _controls: controls,
        };
        for (index, flow) in run.flows.iter().enumerate() {
            // No clock is needed to prepare.
            let part = ends.part(index, Clock::starting_in(0));
            let prepared = (flow.to == ends.host && !part.from_iperf3)
                .then(|| if is_tcp(&part) { tcp::prepare(&part) } else { udp::prepare(&part) });
            ends.listeners.push(prepared.transpose()?);
        }
        ends.peer =
            Peer::begin(run, &ends.host, &ends.addresses, |index| ends.part(index, Clock::starting_in(0)))?;
        Ok(ends)
    }

    /// Tells the reader of the results of something at this host.
    fn warn(&self, told: &str) {
        self.log.warn(format!("host {}: {told}", self.host));
    }

    /// Addresses of the other ends of flows that are here.
    fn peers(&self) -> Vec<IpAddr> {
        let other = |flow: &Flow| match () {
            () if flow.from == self.host => Some(self.address(&flow.to)),
            () if flow.to == self.host => Some(self.address(&flow.from)),
            () => None,
        };
        self.run.flows.iter().filter_map(other).collect()
    }

    /// The run's packets that this host dropped, by the kernel's reasons; empty without a watch. `all`: the delta of its
    /// other counters. `out`: the interface by which the test leaves.
    fn reasons(&self, drops: &Drops, all: &Changes, out: &str) -> Vec<Change> {
        let seen = drops.dropped(&self.run, &self.host, &self.addresses);
        seen.map_or(Vec::new(), |seen| drop_reasons::changes(&seen, all, out))
    }

    fn address(&self, name: &str) -> IpAddr {
        let host = self.run.hosts.iter().position(|host| host.name == name);
        self.addresses[host.expect("a plan that was checked names its own hosts")]
    }

    fn part(&self, index: usize, clock: Clock) -> Part {
        let flow = &self.run.flows[index];
        Part {
            run: Arc::clone(&self.run),
            index,
            clock,
            state: FlowState::default(),
            data_sets: Arc::clone(&self.data_sets),
            log: Arc::clone(&self.log),
            cut_ns: Arc::clone(&self.cut_ns),
            bind: self.address(&flow.to),
            peer: Some(self.address(&flow.from)),
            pieces: true,
            real_time: true,
            to_iperf3: place(self.run.host(&flow.to)).is_some(),
            from_iperf3: place(self.run.host(&flow.from)).is_some(),
        }
    }

    /// Starts the threads; those of senders wait for their flow's start.
    fn start(&mut self, clock: Clock) -> io::Result<Vec<Arc<Part>>> {
        let mut parts = Vec::new();
        for (index, listener) in std::mem::take(&mut self.listeners).into_iter().enumerate() {
            let part = Arc::new(self.part(index, clock));
            let flow = part.flow().clone();
            let ends_here = flow.to == self.host;
            let connection = self.peer.as_mut().and_then(|peer| peer.connection(index));
            if let Some(listener) = listener {
                super::spawn(&part, flow.to.clone(), move |part| {
                    if is_tcp(part) { tcp::receive(part, &listener) } else { udp::receive(part, listener) }
                });
            }
            if part.from_iperf3
                && ends_here
                && let Some(connection) = connection
            {
                super::spawn(&part, flow.to.clone(), |part| iperf3::receive(part, connection));
            } else if flow.from == self.host {
                let to = SocketAddr::new(part.bind, part.port());
                let connected = connection.and_then(Connection::made);
                if is_tcp(&part) && connected.is_none() && flow.stop < self.run.duration {
                    super::spawn(&part, flow.from.clone(), tcp::stop);
                }
                super::spawn(&part, flow.from.clone(), move |part| {
                    clock::exact_sleeps()?;
                    match connected {
                        Some(socket) if is_tcp(part) => tcp::send_connected(part, socket),
                        Some(socket) => udp::send_connected(part, socket),
                        None if is_tcp(part) => tcp::send(part, to),
                        None => udp::send(part, to),
                    }
                });
            }
            if ends_here || flow.from == self.host {
                parts.push(part);
            }
        }
        Ok(parts)
    }
}

/// What is looked at beside the host itself.
struct Beside<'a> {
    /// What the host had counted before.
    before: &'a Snapshot,
    drops: &'a mut Drops,
    ends: &'a Ends,
    peer: Option<&'a mut Peer>,
}

/// Samples to the end of the run, or to an earlier one that the controller orders; returns which it was.
fn conduct(
    run: &Run,
    here: &mut Local,
    clock: Clock,
    mut beside: Beside,
    requests: &Receiver<io::Result<Request>>,
    out: &mut Writer<impl Write>,
) -> io::Result<i64> {
    /// How often the controller is told.
    const REPORT_NS: i64 = 250_000_000;
    let (step, mut end) = (run.sample.nanoseconds(), run.duration.nanoseconds());
    let (mut t_ns, mut reported) = (0, 0);
    let mut borders = Borders::of(run);
    clock::go_first();
    loop {
        clock.sleep_until(t_ns);
        if let Some(peer) = &mut beside.peer {
            peer.watch()?;
        }
        // On a busy machine a sample is late: it takes the place of those it missed, and the grid stays as it is.
        let sample = here.sample(|| t_ns.max(clock.now() / step * step).min(end))?;
        t_ns = sample.t_ns;
        sample.flows.into_iter().try_for_each(|row| out.write(&Message::Flow(Box::new(row))))?;
        sample.queue.into_iter().try_for_each(|row| out.write(&Message::Queue(row)))?;
        sample.host.into_iter().try_for_each(|row| out.write(&Message::Host(row)))?;
        sample.link.into_iter().try_for_each(|row| out.write(&Message::Event(row)))?;
        sample.cores.into_iter().try_for_each(|row| out.write(&Message::Core(row)))?;
        sample.threads.into_iter().try_for_each(|row| out.write(&Message::Thread(row)))?;
        // Its end is none, also if it came earlier.
        if t_ns < end
            && let Some(border) = borders.reached(t_ns)
        {
            beside.drops.follow(clock.origin_ns(), |told| beside.ends.warn(&told));
            beside.drops.end_counting();
            let (drops, ends) = (&*beside.drops, beside.ends);
            let reasons = |changes: &Changes, out: &str| ends.reasons(drops, changes, out);
            out.write(&interim(border, &clock, here, beside.before, reasons))?;
        }
        beside.drops.follow(clock.origin_ns(), |told| beside.ends.warn(&told));
        write_log(&beside.ends.log, out)?;
        if t_ns >= reported + REPORT_NS || t_ns >= end {
            reported = t_ns;
            out.write(&Message::Time(t_ns))?;
            out.flush()?;
        }
        if t_ns >= end {
            return Ok(end);
        }
        match requests.try_recv() {
            Ok(Ok(Request::Stop { at_ns })) => {
                end = at_ns.clamp(t_ns + 1, end);
                beside.ends.cut_ns.store(end, Relaxed);
            }
            Ok(Ok(other)) => return Err(out_of_turn(&other)),
            Ok(Err(error)) => return Err(error),
            Err(_) => {}
        }
        t_ns = (t_ns + step).min(end);
    }
}

/// What this host knows of datagrams: the sender all that were sent, the receiver all that came.
fn write_datagrams(parts: &[Arc<Part>], out: &mut Writer<impl Write>) -> io::Result<()> {
    for part in parts {
        for rows in [&part.state.datagrams, &part.state.arrivals] {
            let rows = std::mem::take(&mut *rows.lock().expect("no thread panics holding the datagrams"));
            udp::write(&rows, out)?;
        }
        exchanges::write(part, out)?;
    }
    Ok(())
}
