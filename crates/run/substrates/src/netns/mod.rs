//! Substrate `netns`: the kernel of this machine in real time. An agent builds the hosts and routers as network
//! namespaces of its own and carries the run out; they have no names, so that they are gone when it is, however it ends.

mod agent;
mod features;

pub use agent::{Task, serve};

use crate::lacks::{lacks, without_effect};
use crate::stream::{Stream, plan, tidy};
use crate::substrate::{Control, Progress, Substrate, SubstrateError};
use features::{FEC, Features};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use wirespeed_agent::MOST_FLOWS;
use wirespeed_agent::one_kernel::STREAM;
use wirespeed_record::{Recording, RunDirectory, SubstrateKind, rfc3339};
use wirespeed_scenario::layout::{Egress, Layout};
use wirespeed_scenario::run::{FlowKind, KernelChoice, KernelVersion, Qdisc, Run};
use wirespeed_topology::world::is_bare;
use wirespeed_units::Span;

/// Namespaces of this machine as a substrate.
pub struct Namespaces {
    program: PathBuf,
    features: OnceLock<Result<Features, String>>,
}

/// How often the agent's stream is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// An agent that says nothing for this long hangs: it reports every quarter of a second, and waits for what is under way
/// for some seconds at most.
const SILENCE: Duration = Duration::from_secs(30);

impl Namespaces {
    /// Carries runs out with `program`, one that calls [`serve`] when it is asked to.
    pub fn new(program: PathBuf) -> Namespaces {
        Namespaces { program, features: OnceLock::new() }
    }

    /// What this machine's kernel has, tried once.
    fn features(&self) -> Result<&Features, SubstrateError> {
        let found = self.features.get_or_init(|| features::survey(&self.program));
        found.as_ref().map_err(|why| SubstrateError::Environment(why.clone()))
    }
}

/// The version of this machine's kernel; where it cannot be read, today's rules.
fn version() -> KernelVersion {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    KernelVersion::of_release(release.trim()).unwrap_or_default()
}

impl Substrate for Namespaces {
    fn kind(&self) -> SubstrateKind {
        SubstrateKind::Netns
    }

    fn build(&self, _: Option<&KernelChoice>) -> Option<String> {
        let read = |name| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok();
        Some(format!("{} {}", read("osrelease")?.trim(), read("version")?.trim()))
    }

    fn one_at_a_time(&self) -> bool {
        true
    }

    fn check(&self, run: &Run) -> Result<(), SubstrateError> {
        if run.flows.len() > MOST_FLOWS {
            let message = format!("{} flows: substrate netns carries at most {MOST_FLOWS}", run.flows.len());
            return Err(SubstrateError::Unsupported(message));
        }
        if let Some(what) = lacks(run, self.kind(), version()).or_else(|| not_of_a_machine(run)) {
            return Err(SubstrateError::Unsupported(what));
        }
        let features = self.features()?;
        match needed(run).into_iter().find(|(_, feature)| !features.has(feature)) {
            Some((what, feature)) => Err(SubstrateError::Unsupported(features.lacking(&what, &feature))),
            None => Ok(()),
        }
    }

    fn carry_out(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Recording, SubstrateError> {
        let began = Instant::now();
        let started = rfc3339(SystemTime::now());
        let raw = directory.raw();
        let shared = plan(&raw, "agent", run)?;
        let complaints = raw.join("agent.log");
        let mut agent = Agent::start(&self.program, &shared, &complaints)?;
        let mut stream = Stream::new(shared.join(STREAM));
        let mut heard = (Instant::now(), i64::MIN);
        let patience = SILENCE + Duration::from_secs_f64(run.sample.as_secs_f64());
        let status = loop {
            let ended = agent.ended().map_err(SubstrateError::io("wait for", &self.program))?;
            stream.follow().map_err(SubstrateError::io("read", &stream.path))?;
            let assembler = &stream.assembler;
            let reached_ns = assembler.reached_ns();
            (control.progress)(Progress { reached_ns, delivered_bytes: assembler.delivered_bytes() });
            if let Some(status) = ended {
                break status;
            }
            if control.cancel.load(Relaxed) {
                return Err(SubstrateError::Interrupted);
            }
            if heard.1 != reached_ns {
                heard = (Instant::now(), reached_ns);
            }
            let failed = |reason: String| SubstrateError::Agent { reason, console: complaints.clone() };
            if heard.0.elapsed() > patience {
                return Err(failed(format!("it timed out: no message for {} s", patience.as_secs())));
            }
            thread::sleep(LOOK);
        };
        if !stream.assembler.is_done() {
            let reason =
                stream.assembler.failure().map_or_else(|| format!("it ended: {status}"), str::to_owned);
            return Err(SubstrateError::Agent { reason, console: complaints });
        }
        let mut recording = stream.assembler.finish(run, &Layout::of(run), self.kind());
        if let Some(kernel) = &mut recording.info.kernel {
            kernel.build = self.build(None).unwrap_or_default();
        }
        recording.info.cost.wall_s = began.elapsed().as_secs_f64();
        recording.info.started = Some(started);
        let features = self.features()?;
        recording.info.warnings.extend(without_effect(
            run,
            "every host has what this machine has",
            version(),
        ));
        recording.info.warnings.extend(features.of_the_machine());
        recording.info.warnings.extend(other_backlog(run));
        tidy(&raw, &shared)?;
        if fs::metadata(&complaints).is_ok_and(|file| file.len() == 0) {
            fs::remove_file(&complaints).map_err(SubstrateError::io("remove", &complaints))?;
        }
        Ok(recording)
    }
}

/// The agent's process. It ends with this value.
struct Agent(Child);

impl Agent {
    fn start(program: &Path, shared: &Path, complaints: &Path) -> Result<Agent, SubstrateError> {
        let log = File::create(complaints).map_err(SubstrateError::io("write", complaints))?;
        let mut command = Command::new(program);
        command.args(["agent", "--netns"]).arg(shared);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        // Ctrl-C is for us, who then end it.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map(Agent).map_err(SubstrateError::io("run", program))
    }

    fn ended(&mut self) -> io::Result<Option<std::process::ExitStatus>> {
        self.0.try_wait()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What hosts ask for of a setting that Linux has once for all namespaces. It is left alone: this machine has other work,
/// and nothing would put it back if we were killed. Buffers that are limited alike are warned of where they are fixed.
fn other_backlog(run: &Run) -> Vec<String> {
    const NAME: &str = "net.core.netdev_max_backlog";
    let Ok(found) = fs::read_to_string(format!("/proc/sys/{}", NAME.replace('.', "/"))) else {
        return Vec::new();
    };
    let found = found.trim();
    let other = run.hosts.iter().filter(|host| host.netdev_max_backlog.to_string() != found);
    let warning = |host: &wirespeed_scenario::run::Host| {
        let (name, asked) = (&host.name, host.netdev_max_backlog);
        format!(
            "host {name}: {NAME} is {found}, not {asked}: it is one value for all of this machine and stays as it is; \
             `sysctl -w {NAME}={asked}` sets it"
        )
    };
    other.map(warning).collect()
}

/// What a run asks for that is one for a whole machine.
fn not_of_a_machine(run: &Run) -> Option<String> {
    run.flows.iter().find_map(|flow| match &flow.kind {
        FlowKind::Tcp { congestion, .. } if congestion.own => Some(format!(
            "flow {}: congestion control {} is a C source for the virtual-time kernel; run it --on kernel",
            flow.label, congestion.name
        )),
        FlowKind::Tcp { congestion, .. } if !congestion.parameters.is_empty() => Some(format!(
            "flow {}: parameters of {} are module parameters, one value for all of this machine; wirespeed does not \
             change them: leave them out, or run it --on kernel",
            flow.label, congestion.name
        )),
        _ => None,
    })
}

/// Parts of the kernel that a run needs, and what for.
fn needed(run: &Run) -> Vec<(String, String)> {
    let mut needed = Vec::new();
    for end in Layout::of(run).ends() {
        match &end.egress {
            Egress::Host(host) => {
                let host = &run.hosts[*host];
                if host.qdisc != Qdisc::PfifoFast {
                    let name = host.qdisc.name();
                    needed.push((format!("host {}: qdisc {name}", host.name), name.to_owned()));
                }
                if let Some(rate) = host.nic_rate {
                    needed.push((format!("host {}: nic_rate {rate}", host.name), "tbf".into()));
                }
            }
            Egress::Link { queue, direction, .. } => {
                needed.push((format!("{queue}: its rate and queue"), "tbf".into()));
                if direction.fec.is_some() {
                    needed.push((format!("{queue}: fec"), FEC.into()));
                }
                if !is_bare(direction) {
                    let what = match direction.loss > 0.0 {
                        true => format!("a delay of {} and a loss of {}", direction.delay, direction.loss),
                        false => format!("a delay of {}", direction.delay),
                    };
                    needed.push((format!("{queue}: {what}"), "netem".into()));
                }
            }
            Egress::Access { delay: Span::ZERO, .. } => {}
            Egress::Access { host, delay } => {
                needed.push((format!("host {host}: an access delay of {delay}"), "netem".into()));
            }
        }
    }
    for flow in &run.flows {
        if let FlowKind::Tcp { congestion, .. } = &flow.kind {
            let what = format!("flow {}: congestion control {}", flow.label, congestion.name);
            needed.push((what, format!("tcp_{}", congestion.name)));
        }
    }
    needed
}
