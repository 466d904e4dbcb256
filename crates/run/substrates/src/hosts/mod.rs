//! Substrate `hosts`: real machines, reached by ssh. An agent on each carries out its part of the run; this side says
//! what and when, and puts together what they say.

mod choose;
mod conclude;
mod merge;
mod path_mtu;
mod peer;

pub use conclude::put_together;

use crate::lacks::{beside_the_chain, beyond_classic_ecn, kernel_of_the_machine};
use crate::substrate::{Control, Progress, Substrate, SubstrateError};
use choose::Candidate;
use merge::Merge;
use serde_json::Value;
use wirespeed_agent::iperf3_server::{place, server};
use wirespeed_agent::message::{Interface, Message};
use wirespeed_agent::monotonic;
use wirespeed_agent::port::MOST_TRIALS;
use wirespeed_agent::port::Reached;
use wirespeed_agent::request::{Plan, Request, check_run};

use std::cell::OnceCell;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use wirespeed_record::{Recording, RunDirectory, SubstrateKind, rfc3339};
use wirespeed_scenario::run::{FlowKind, Host, KernelChoice, Reach, Run};
use wirespeed_transport::TransportError;
use wirespeed_transport::remote::Program;
use wirespeed_transport::session::{Offset, Session, timed_out, unexpected};
use wirespeed_units::{Rate, Span};

/// Real machines as a substrate.
pub struct Hosts {
    program: Program,
    tool: String,
}

/// From the order to start until the run's time is zero: long enough for the order to reach every host.
const LEAD: Duration = Duration::from_millis(500);
/// An agent that is that late with its rows is in trouble.
const SILENCE: Duration = Duration::from_secs(30);
/// A connection to an iperf3 server may take so long.
const CONNECTION: Duration = Duration::from_secs(1);
/// Round trips in which clocks are compared before a run, on which its alignment rests.
const TRIPS: usize = 20;
/// The same after it: that tells only whether they drifted, and has to be waited for.
const TRIPS_AFTER: usize = 5;
/// From the order to stop until the run ends: long enough for the order to reach every host.
const LAST: Duration = Duration::from_millis(500);
/// A port that hardly anybody serves (RFC 863).
const DISCARD: u16 = 9;
/// Hosts of a probe.
const NAMES: [&str; 2] = ["sender", "receiver"];
/// How often arriving messages are looked for.
const LOOK: Duration = Duration::from_millis(20);

impl Hosts {
    /// Uses the program in a file as agent, which is copied to machines that do not have it. `tool` is its version.
    pub fn new(program: Program, tool: impl Into<String>) -> Hosts {
        Hosts { program, tool: tool.into() }
    }

    /// Opens a session with every host of a run that has an agent, all at once.
    fn sessions(&self, run: &Run, raw: &Path, cancel: &AtomicBool) -> Result<Vec<Session>, SubstrateError> {
        let open = |host: &Host| {
            let reach = host.reach.as_ref().expect("it was checked before");
            Session::open(&host.name, &reach.ssh, &self.program, &self.tool, raw, cancel)
        };
        let sessions: Result<Vec<Session>, TransportError> = thread::scope(|scope| {
            let opening: Vec<_> = agents(run).map(|host| scope.spawn(move || open(host))).collect();
            opening.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        });
        Ok(sessions?)
    }
}

/// What is known of a machine before a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    /// `uname -r`.
    pub release: String,
    /// The congestion control that its sockets use unless told otherwise.
    pub congestion: String,
    /// The interface that will carry the test.
    pub interface: Interface,
    /// What the other machine answered it on the port of the test; `None` if it was not asked.
    pub answer: Option<Reached>,
}

/// The ports of a test between two machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// The first, at a machine that receives.
    pub first: u16,
    /// UDP instead of TCP.
    pub datagrams: bool,
    /// Both machines receive.
    pub both_ways: bool,
}

impl Hosts {
    /// Looks at two machines, and whether the ports of a test are free and packets come through to them.
    ///
    /// # Errors
    /// If one cannot be reached, has several addresses and none was chosen, or somebody has its port.
    pub fn survey(
        &self,
        pair: &[Reach; 2],
        ports: Ports,
        raw: &Path,
        cancel: &AtomicBool,
    ) -> Result<[Surveyed; 2], SubstrateError> {
        fs::create_dir_all(raw).map_err(SubstrateError::io("create", raw))?;
        let open = |index: usize| {
            let (name, reach) = (NAMES[index], &pair[index]);
            Session::open(name, &reach.ssh, &self.program, &self.tool, raw, cancel)
        };
        // As long as the slower of the two.
        let (from, to) = thread::scope(|scope| {
            let from = scope.spawn(|| open(0));
            let to = open(1);
            match (from.join().expect("it does not panic"), to) {
                (Ok(from), Ok(to)) => Ok((from, to)),
                (Err(TransportError::Interrupted), _) | (_, Err(TransportError::Interrupted)) => {
                    Err(SubstrateError::Interrupted)
                }
                (Err(from), Err(to)) => Err(SubstrateError::Several(vec![from.into(), to.into()])),
                (Err(error), _) | (_, Err(error)) => Err(error.into()),
            }
        })?;
        let sessions = [from, to];
        let candidates = [0, 1].map(|index| Candidate {
            host: NAMES[index],
            reach: &pair[index],
            found: &sessions[index].machine.interfaces,
        });
        let mut chosen = choose::interfaces(&candidates)?.into_iter();
        let [mut from, mut to] =
            sessions.map(|session| (session, chosen.next().expect("each host has an interface")));
        let ask =
            |from: &mut (Session, Interface), to: &mut (Session, Interface)| -> Result<_, TransportError> {
                let place = SocketAddr::new(to.1.address, ports.first);
                to.0.listen(place, ports.datagrams, cancel)?;
                from.0.reach(place, MOST_TRIALS, ports.datagrams, cancel)
            };
        let there = ask(&mut from, &mut to)?;
        let back = if ports.both_ways { Some(ask(&mut to, &mut from)?) } else { None };
        Ok([surveyed(from, Some(there)), surveyed(to, back)])
    }

    /// Looks at a machine, the run's host `name`, and at the way from it to an iperf3 server, and tells the server's address as
    /// well. What it says is kept in `raw`.
    ///
    /// # Errors
    /// If the machine cannot be reached, has several addresses and none was chosen, or the server's name has none.
    pub fn survey_to_iperf3(
        &self,
        name: &str,
        machine: &Reach,
        server: &Reach,
        raw: &Path,
        cancel: &AtomicBool,
    ) -> Result<(Surveyed, SocketAddr), SubstrateError> {
        fs::create_dir_all(raw).map_err(SubstrateError::io("create", raw))?;
        let (_, port) = server.iperf3().ok_or_else(|| {
            SubstrateError::Unsupported(format!(
                "{} is not an iperf3 server; write it as iperf3://HOST[:PORT]",
                server.ssh
            ))
        })?;
        let other = if name == "sender" { "receiver" } else { "sender" };
        let servers = choose::of_server(&peer::addresses(other, server)?);
        let mut session = Session::open(name, &machine.ssh, &self.program, &self.tool, raw, cancel)?;
        let chosen = choose::interfaces(&[
            Candidate { host: name, reach: machine, found: &session.machine.interfaces },
            Candidate { host: other, reach: server, found: &servers },
        ])?;
        let [interface, its] = <[Interface; 2]>::try_from(chosen).expect("one for each host");
        let place = SocketAddr::new(its.address, port);
        // A refusal is an answer too, and costs the server nothing.
        let mut answer = session.reach(SocketAddr::new(place.ip(), DISCARD), MOST_TRIALS, false, cancel)?;
        if answer.answer_ns().is_none() {
            answer = session.reach(place, 1, false, cancel)?;
        }
        Ok((surveyed((session, interface), Some(answer)), place))
    }
}

/// Whether agents on real machines carry out a run, whatever machines they are.
///
/// # Errors
/// What it asks for that they do not.
pub fn check_real_run(run: &Run) -> Result<(), SubstrateError> {
    check_run(run).map_err(SubstrateError::Unsupported)
}

impl Substrate for Hosts {
    fn kind(&self) -> SubstrateKind {
        SubstrateKind::Hosts
    }

    fn build(&self, _: Option<&KernelChoice>) -> Option<String> {
        None
    }

    fn one_at_a_time(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Result<(), SubstrateError> {
        let lacks = |what: String| Err(SubstrateError::Unsupported(what));
        if let Some(what) = crate::lacks::split(run, self.kind()) {
            return lacks(what);
        }
        for host in &run.hosts {
            if host.reach.is_none() {
                let name = &host.name;
                return lacks(format!(
                    "host {name} is on no machine; give its name for ssh, `ssh = \"NAME\"` in [host.{name}] or \
                     --set host.{name}.ssh=NAME"
                ));
            }
        }
        let reaches = run.hosts.iter().filter_map(|host| Some((host.name.as_str(), host.reach.as_ref()?)));
        choose::asked(reaches)?;
        server(run).map_err(SubstrateError::Unsupported)?;
        check_run(run).map_err(SubstrateError::Unsupported)?;
        if let Some(what) = beside_the_chain(run, self.kind())
            .or_else(|| kernel_of_the_machine(run, self.kind()))
            .or_else(|| beyond_classic_ecn(run, self.kind()))
        {
            return lacks(what);
        }
        if let Some(what) = crate::lacks::beyond_a_real_path(run, self.kind()) {
            return lacks(what);
        }
        if !run.captures.is_empty() {
            return lacks("captures are not available on substrate hosts; leave [[capture]] out".into());
        }
        for flow in &run.flows {
            if let FlowKind::Tcp { congestion, .. } = &flow.kind
                && !congestion.parameters.is_empty()
            {
                return lacks(format!(
                    "flow {}: parameters of {} are module parameters, one value for all of a real host; wirespeed does \
                     not change them",
                    flow.label, congestion.name
                ));
            }
        }
        Ok(())
    }

    fn recorded(&self, run: &Run) -> Value {
        let mut recorded = run.recorded();
        if let Some(hosts) = recorded.get_mut("hosts").and_then(Value::as_array_mut) {
            hosts.iter_mut().for_each(keep_what_real_hosts_have);
        }
        recorded
    }

    fn carry_out(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Recording, SubstrateError> {
        let (began, cancel) = (Instant::now(), control.cancel);
        let started = rfc3339(SystemTime::now());
        let raw = directory.raw();
        fs::create_dir_all(&raw).map_err(SubstrateError::io("create", &raw))?;
        let mut sessions = self.sessions(run, &raw, cancel)?;
        let (interfaces, addresses) = addresses(run, &sessions)?;
        let mtus = path_mtu::probe(run, &mut sessions, &interfaces, cancel)?;
        let plan = serde_json::to_string(run).expect("a run is plain data");
        let server = server(run).map_err(SubstrateError::Unsupported)?;
        for session in &mut sessions {
            let host = run.hosts.iter().position(|host| host.name == session.host).unwrap_or(0);
            let (planned, addresses) = (plan.clone(), addresses.clone());
            session.plan(run, Plan { run: planned, host: host as u32, addresses })?;
        }
        // Connections to a server are made one after the other.
        let more = CONNECTION * server.as_ref().map_or(0, |server| server.test.streams);
        sessions.iter_mut().try_for_each(|session| session.await_ready(more, cancel))?;
        let mut offsets = compare_clocks(&mut sessions, TRIPS, cancel)?;
        let origin_ns = monotonic() + LEAD.as_nanos() as i64;
        for (session, offset) in sessions.iter_mut().zip(&offsets) {
            session.ask(&Request::Start { origin_ns: origin_ns + offset.ns })?;
        }
        let shortened = OnceCell::new();
        let mut merge = Merge::new(run);
        let patience = SILENCE + Duration::from_secs_f64(run.duration.as_secs_f64());
        let is_last = |message: &Message| *message == Message::Drained;
        let collected = collect(&mut sessions, &mut merge, patience, control, is_last);
        // Ctrl-C keeps the partial result.
        let go_on = AtomicBool::new(false);
        let patient = Control { cancel: &go_on, progress: control.progress };
        let (run, control, cancel) = match collected {
            Ok(()) => (run, control, cancel),
            Err(SubstrateError::Interrupted) => {
                let now_ns = monotonic() - origin_ns;
                let end_ns = on_grid(now_ns + LAST.as_nanos() as i64, run);
                let cut = cut(run, now_ns, end_ns).ok_or(SubstrateError::Interrupted)?;
                let cut: &Run = shortened.get_or_init(|| cut);
                for session in &mut sessions {
                    session.ask(&Request::Stop { at_ns: end_ns })?;
                }
                merge.cut_to(cut);
                collect(&mut sessions, &mut merge, SILENCE, &patient, is_last)?;
                (cut, &patient, &go_on)
            }
            Err(error) => return Err(error),
        };
        // Clocks may have gone at different speeds meanwhile.
        for (offset, after) in offsets.iter_mut().zip(compare_clocks(&mut sessions, TRIPS_AFTER, cancel)?) {
            offset.drifted_to(after);
        }
        for session in &mut sessions {
            session.ask(&Request::Account)?;
        }
        collect(&mut sessions, &mut merge, SILENCE, control, |message| *message == Message::Done)?;
        let clocks_ns = offsets.iter().map(Offset::most_ns).sum();
        let mut recording = conclude::recording(run, merge, sessions.len(), clocks_ns)?;
        describe(&mut recording, &sessions, &interfaces, &offsets);
        path_mtu::describe(&mut recording, &mtus);
        let named = sessions.iter().map(|session| session.host.as_str()).zip(&interfaces);
        recording.info.warnings.extend(path_mtu::fragmented(run, named));
        recording.info.cost.wall_s = began.elapsed().as_secs_f64();
        recording.info.scenario = self.recorded(run);
        recording.info.started = Some(started);
        recording.info.interrupted = shortened.get().is_some();
        // The tables have what the streams had.
        for host in &run.hosts {
            let _ = fs::remove_file(raw.join(format!("{}.stream", host.name)));
        }
        Ok(recording)
    }
}

/// The next time on the sampling grid of a run.
fn on_grid(t_ns: i64, run: &Run) -> i64 {
    let step = run.sample.nanoseconds().max(1);
    t_ns.div_euclid(step).saturating_add(1).saturating_mul(step)
}

/// The run as it is if it ends at `end_ns`; `None` if it has not begun by `now_ns`, or ends by itself before.
fn cut(run: &Run, now_ns: i64, end_ns: i64) -> Option<Run> {
    let duration = Span::ns(end_ns);
    if now_ns <= run.sample.nanoseconds() || duration >= run.duration {
        return None;
    }
    let mut cut = run.clone();
    cut.duration = duration;
    // A part that is shorter than what was to be left out has nothing else.
    if cut.omit >= duration {
        cut.omit = Span::ZERO;
    }
    for flow in &mut cut.flows {
        (flow.start, flow.stop) = (flow.start.min(duration), flow.stop.min(duration));
    }
    Some(cut)
}

/// Leaves of a host in a recorded run what a real machine was asked for. What it is set to was read from it; the model's
/// defaults would be taken for that.
fn keep_what_real_hosts_have(host: &mut Value) {
    const KEPT: [&str; 3] = ["name", "router", "reach"];
    if let Some(host) = host.as_object_mut() {
        host.retain(|key, _| KEPT.contains(&key.as_str()));
    }
}

/// Hosts with an agent: all but iperf3 servers.
fn agents(run: &Run) -> impl Iterator<Item = &Host> {
    run.hosts.iter().filter(|host| place(host).is_none())
}

/// The interfaces of hosts with an agent that carry the test, and the address of every host, for the plan.
fn addresses(run: &Run, sessions: &[Session]) -> Result<(Vec<Interface>, Vec<IpAddr>), SubstrateError> {
    let mut sessions = sessions.iter();
    let found = |host: &Host| match host.reach.as_ref().filter(|reach| reach.iperf3().is_some()) {
        Some(reach) => peer::addresses(&host.name, reach).map(|found| choose::of_server(&found)),
        None => {
            Ok(sessions.next().expect("every host with an agent has a session").machine.interfaces.clone())
        }
    };
    let found: Vec<Vec<Interface>> = run.hosts.iter().map(found).collect::<Result<_, _>>()?;
    let candidate = |(host, found)| {
        let Host { name, reach, .. }: &Host = host;
        Candidate { host: name, reach: reach.as_ref().expect("it was checked before"), found }
    };
    let candidates: Vec<Candidate> =
        run.hosts.iter().zip(found.iter().map(Vec::as_slice)).map(candidate).collect();
    let chosen = choose::interfaces(&candidates)?;
    let addresses = chosen.iter().map(|interface| interface.address).collect();
    let with_agent = run.hosts.iter().zip(chosen).filter(|(host, _)| place(host).is_none());
    Ok((with_agent.map(|(_, interface)| interface).collect(), addresses))
}

fn surveyed((session, interface): (Session, Interface), answer: Option<Reached>) -> Surveyed {
    Surveyed {
        release: session.machine.release.clone(),
        congestion: session.machine.congestion.clone(),
        interface,
        answer,
    }
}

fn compare_clocks(
    sessions: &mut [Session],
    trips: usize,
    cancel: &AtomicBool,
) -> Result<Vec<Offset>, TransportError> {
    sessions.iter_mut().map(|session| session.compare_clocks(trips, monotonic, cancel)).collect()
}

/// Takes in what the agents say until each has said `last`.
fn collect(
    sessions: &mut [Session],
    merge: &mut Merge,
    patience: Duration,
    control: &Control,
    last: impl Fn(&Message) -> bool,
) -> Result<(), SubstrateError> {
    let mut waiting: Vec<bool> = vec![true; sessions.len()];
    let mut heard = Instant::now();
    while waiting.contains(&true) {
        if control.cancel.load(Relaxed) {
            return Err(SubstrateError::Interrupted);
        }
        let mut silent = true;
        for (session, waits) in sessions.iter_mut().zip(&mut waiting).filter(|(_, waits)| **waits) {
            while *waits && let Some(message) = session.poll()? {
                silent = false;
                *waits = !last(&message);
                match message {
                    Message::Machine { .. }
                    | Message::Clock(_)
                    | Message::Reached(_)
                    | Message::PathMtu(_)
                    | Message::Ready => {
                        return Err(unexpected(&session.host, &message).into());
                    }
                    message => merge.push(&session.host.clone(), message),
                }
            }
        }
        if !silent {
            heard = Instant::now();
            let (reached_ns, delivered_bytes) = (merge.reached_ns(), merge.delivered_bytes());
            (control.progress)(Progress { reached_ns, delivered_bytes });
            continue;
        }
        if heard.elapsed() > patience {
            let (session, _) =
                sessions.iter().zip(&waiting).find(|(_, waits)| **waits).expect("one is waited for");
            return Err(TransportError::host(&session.host, &timed_out(patience), None).into());
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// What was found on each host, beside its settings.
fn describe(recording: &mut Recording, sessions: &[Session], interfaces: &[Interface], offsets: &[Offset]) {
    for ((session, interface), offset) in sessions.iter().zip(interfaces).zip(offsets) {
        let Some(host) = recording.info.hosts.iter_mut().find(|host| host.name == session.host) else {
            continue;
        };
        host.settings.extend([
            ("kernel.release".to_owned(), session.machine.release.clone()),
            ("kernel.version".to_owned(), session.machine.version.clone()),
            ("interface.address".to_owned(), interface.address.to_string()),
            ("clock.error".to_owned(), format!("{:.1} us", offset.error_ns as f64 / 1e3)),
            ("clock.drift".to_owned(), format!("{:.1} us", offset.drift_ns as f64 / 1e3)),
        ]);
        let rate = interface.rate_bps.map(|rate| ("interface.rate".to_owned(), Rate::bps(rate).to_string()));
        let mtu = interface.mtu.map(|mtu| ("interface.mtu".to_owned(), mtu.to_string()));
        host.settings.extend(rate.into_iter().chain(mtu));
    }
    let has_rate = interfaces.iter().any(|interface| interface.rate_bps.is_some());
    recording.info.links.iter_mut().for_each(|link| link.is_assumed = !has_rate);
    recording.info.kernel = None;
}
