//! Substrate `hosts`: real machines, reached by ssh. An agent on each carries out its part of the run; this side says
//! what and when, and puts together what they say.

mod account;
mod believed;
mod conclude;
mod merge;
mod path_mtu;
mod peer;
mod places;
mod remote;
mod session;
mod timeline;

pub use conclude::put_together;
pub use remote::{Program, SSH_VARIABLE};

use crate::agent::message::{Interface, Message};
use crate::agent::request::{Plan, Request};
use crate::agent::{FIRST_PORT, monotonic};
use crate::iperf3::{place, server};
use crate::substrate::{Control, LabError, Progress, Substrate};
use merge::Merge;
use session::{Offset, Session, failed, unexpected};
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use wirespeed_record::{Recording, RunDirectory};
use wirespeed_scenario::run::{FlowKind, Host, Reach, Run};
use wirespeed_units::Rate;

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
/// How often arriving messages are looked for.
const LOOK: Duration = Duration::from_millis(20);

impl Hosts {
    /// Uses the program in a file as agent, which is copied to machines that do not have it. `tool` is its version.
    pub fn new(program: Program, tool: impl Into<String>) -> Hosts {
        Hosts { program, tool: tool.into() }
    }

    /// Opens a session with every host of a run that has an agent, all at once.
    fn sessions(&self, run: &Run, raw: &Path, cancel: &AtomicBool) -> Result<Vec<Session>, LabError> {
        let open = |host: &Host| {
            let reach = host.reach.as_ref().expect("it was checked before");
            Session::open(&host.name, &reach.ssh, &self.program, &self.tool, raw, cancel)
        };
        thread::scope(|scope| {
            let opening: Vec<_> = agents(run).map(|host| scope.spawn(move || open(host))).collect();
            opening.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        })
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
    /// The shortest time in which the other machine answered it, in nanoseconds; `None` if it did not.
    pub answer_ns: Option<i64>,
}

impl Hosts {
    /// Looks at two machines and at the way between them.
    ///
    /// # Errors
    /// If one cannot be reached, or has several addresses and none was chosen.
    pub fn survey(
        &self,
        pair: &[Reach; 2],
        raw: &Path,
        cancel: &AtomicBool,
    ) -> Result<[Surveyed; 2], LabError> {
        fs::create_dir_all(raw).map_err(LabError::io("create", raw))?;
        let open = |index: usize| -> Result<(Session, Interface), LabError> {
            let (name, reach) = (["sender", "receiver"][index], &pair[index]);
            let session = Session::open(name, &reach.ssh, &self.program, &self.tool, raw, cancel)?;
            let interface = choose(name, reach.address, &session.machine.interfaces)?;
            Ok((session, interface))
        };
        let (mut from, mut to) = (open(0)?, open(1)?);
        let first = |interface: &Interface| SocketAddrV4::new(interface.address, FIRST_PORT);
        let answers = [from.0.reach(first(&to.1), cancel)?, to.0.reach(first(&from.1), cancel)?];
        Ok([surveyed(from, answers[0]), surveyed(to, answers[1])])
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
    ) -> Result<(Surveyed, SocketAddrV4), LabError> {
        fs::create_dir_all(raw).map_err(LabError::io("create", raw))?;
        let (_, port) = server
            .iperf3()
            .ok_or_else(|| LabError::Unsupported(format!("{} is no iperf3 server", server.ssh)))?;
        let other = if name == "sender" { "receiver" } else { "sender" };
        let place = SocketAddrV4::new(peer::address(other, server)?, port);
        let mut session = Session::open(name, &machine.ssh, &self.program, &self.tool, raw, cancel)?;
        let interface = choose(name, machine.address, &session.machine.interfaces)?;
        // A refusal is an answer too, and costs the server nothing.
        let mut answer = session.reach(SocketAddrV4::new(*place.ip(), FIRST_PORT), cancel)?;
        if answer.is_none() {
            answer = session.reach(place, cancel)?;
        }
        Ok((surveyed((session, interface), answer), place))
    }
}

impl Substrate for Hosts {
    fn name(&self) -> &'static str {
        "hosts"
    }

    fn build(&self) -> Option<String> {
        None
    }

    fn one_at_a_time(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Result<(), LabError> {
        let lacks = |what: String| Err(LabError::Unsupported(what));
        for host in &run.hosts {
            if host.reach.is_none() {
                let name = &host.name;
                return lacks(format!(
                    "host {name} is on no machine; give its name for ssh, `ssh = \"NAME\"` in [host.{name}] or \
                     --set host.{name}.ssh=NAME"
                ));
            }
        }
        server(run).map_err(LabError::Unsupported)?;
        if let Some(what) = crate::lacks::beside_the_chain(run, self.name()) {
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

    fn carry_out(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Recording, LabError> {
        let (began, cancel) = (Instant::now(), control.cancel);
        let raw = directory.raw();
        fs::create_dir_all(&raw).map_err(LabError::io("create", &raw))?;
        let mut sessions = self.sessions(run, &raw, cancel)?;
        let interfaces = interfaces(run, &sessions)?;
        let addresses = addresses(run, &interfaces)?;
        let mtus = path_mtu::probe(run, &mut sessions, &interfaces, cancel)?;
        let plan = serde_json::to_string(run).expect("a run is plain data");
        let server = server(run).map_err(LabError::Unsupported)?;
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
        let mut merge = Merge::new(run);
        let patience = SILENCE + Duration::from_secs_f64(run.duration.as_secs_f64());
        collect(&mut sessions, &mut merge, patience, control, |message| *message == Message::Drained)?;
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
        recording.info.cost.wall_s = began.elapsed().as_secs_f64();
        // The tables have what the streams had.
        for host in &run.hosts {
            let _ = fs::remove_file(raw.join(format!("{}.stream", host.name)));
        }
        Ok(recording)
    }
}

/// The interface of each host that carries the test. It is not guessed where there are several: the control connection
/// must not carry test traffic because nobody said otherwise.
fn interfaces(run: &Run, sessions: &[Session]) -> Result<Vec<Interface>, LabError> {
    let of = |(host, session): (&Host, &Session)| {
        let asked = host.reach.as_ref().and_then(|reach| reach.address);
        choose(&host.name, asked, &session.machine.interfaces)
    };
    agents(run).zip(sessions).map(of).collect()
}

/// Hosts with an agent: all but iperf3 servers.
fn agents(run: &Run) -> impl Iterator<Item = &Host> {
    run.hosts.iter().filter(|host| place(host).is_none())
}

/// The address of every host, for the plan; `interfaces` are those of hosts with an agent.
fn addresses(run: &Run, interfaces: &[Interface]) -> Result<Vec<Ipv4Addr>, LabError> {
    let mut ours = interfaces.iter().map(|interface| interface.address);
    let of = |host: &Host| match host.reach.as_ref().filter(|reach| reach.iperf3().is_some()) {
        Some(reach) => peer::address(&host.name, reach),
        None => Ok(ours.next().expect("every host with an agent has an interface")),
    };
    run.hosts.iter().map(of).collect()
}

fn surveyed((session, interface): (Session, Interface), answer_ns: Option<i64>) -> Surveyed {
    Surveyed {
        release: session.machine.release.clone(),
        congestion: session.machine.congestion.clone(),
        interface,
        answer_ns,
    }
}

fn choose(host: &str, asked: Option<Ipv4Addr>, found: &[Interface]) -> Result<Interface, LabError> {
    let told = || -> String {
        found.iter().map(|i| format!("{} ({})", i.address, i.device)).collect::<Vec<_>>().join(", ")
    };
    match (asked, found) {
        (Some(address), _) => match found.iter().find(|interface| interface.address == address) {
            Some(interface) => Ok(interface.clone()),
            None => Err(failed(host, &format!("it has no address {address}; it has {}", told()), None)),
        },
        (None, [only]) => Ok(only.clone()),
        (None, _) => {
            let what = format!(
                "it has several addresses: {}; say which carries the test: host.{host}.address={first}, or NAME={first} with \
                 wirespeed probe",
                told(),
                first = found[0].address
            );
            Err(failed(host, &what, None))
        }
    }
}

fn compare_clocks(
    sessions: &mut [Session],
    trips: usize,
    cancel: &AtomicBool,
) -> Result<Vec<Offset>, LabError> {
    sessions.iter_mut().map(|session| session.compare_clocks(trips, monotonic, cancel)).collect()
}

/// Takes in what the agents say until each has said `last`.
fn collect(
    sessions: &mut [Session],
    merge: &mut Merge,
    patience: Duration,
    control: &Control,
    last: impl Fn(&Message) -> bool,
) -> Result<(), LabError> {
    let mut waiting: Vec<bool> = vec![true; sessions.len()];
    let mut heard = Instant::now();
    while waiting.contains(&true) {
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
                        return Err(unexpected(&session.host, &message));
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
        if control.cancel.load(Relaxed) {
            return Err(LabError::Interrupted);
        }
        if heard.elapsed() > patience {
            let (session, _) =
                sessions.iter().zip(&waiting).find(|(_, waits)| **waits).expect("one is waited for");
            return Err(failed(
                &session.host,
                &format!("no word from its agent for {} s", patience.as_secs()),
                None,
            ));
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
