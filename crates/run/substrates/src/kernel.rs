//! Substrate `kernel`: the real Linux stack in virtual time. The agent is process 1 of a guest; its stream comes
//! back through the guest's one writable folder.

use crate::lacks::{copied, lacks, without_effect};
use crate::stream::{Stream, plan, tidy};
use crate::substrate::{Control, Progress, Substrate, SubstrateError};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wirespeed_agent::one_kernel::{STREAM, run_planned};
use wirespeed_agent::{MOST_FLOWS, is_read_while_loading};
use wirespeed_kernel::{Boot, BootError, Confinement, Exit, Kernel, boot, guest};
use wirespeed_record::{Cost, KernelInfo, Recording, RunDirectory, SubstrateKind};
use wirespeed_scenario::layout::Layout;
use wirespeed_scenario::run::{Flow, FlowKind, Host, KernelChoice, KernelVersion, Qdisc, Queue, Run};
use wirespeed_topology::world::{Ground, SEND_BUFFER_MOST};
use wirespeed_units::Bytes;

/// The virtual-time kernels that runs choose from, by `run.kernel`; `None` is the default.
pub type Kernels = BTreeMap<Option<KernelChoice>, Kernel>;

/// The virtual-time kernel as a substrate.
pub struct VirtualTime {
    kernels: Kernels,
    init: PathBuf,
    stall_limit: Duration,
}

/// A guest that writes nothing for this long hangs: it reports every quarter of a second of its own time, which
/// takes seconds at most.
const STALL_LIMIT: Duration = Duration::from_secs(180);

/// What hosts are in virtual time.
const FREE: &str = "CPU and rings are free in virtual time";

impl VirtualTime {
    /// Boots the kernel that a run chooses with `init`, a program that calls [`run_as_init`].
    pub fn new(kernels: Kernels, init: PathBuf) -> Self {
        VirtualTime { kernels, init, stall_limit: STALL_LIMIT }
    }

    /// The kernel of a run.
    fn kernel(&self, choice: Option<&KernelChoice>) -> Result<&Kernel, SubstrateError> {
        self.kernels.get(&choice.cloned()).ok_or_else(|| {
            let which = choice.map_or("the default kernel".into(), |choice| format!("kernel {choice}"));
            SubstrateError::Environment(format!("{which} was not looked up in the cache before the runs"))
        })
    }
}

/// To be called first in `main` of the program given as init: in a guest it carries out the run and powers off;
/// elsewhere it returns at once.
pub fn run_as_init() {
    if !guest::is_guest() {
        return;
    }
    let code = match guest::enter() {
        Ok(shared) => match run_planned(&shared, Ground::Guest) {
            Ok(()) => 0,
            Err(error) if error.kind() == io::ErrorKind::StorageFull => guest::DISK_FULL,
            Err(_) => 1,
        },
        Err(_) => 2,
    };
    guest::power_off(code)
}

impl Substrate for VirtualTime {
    fn kind(&self) -> SubstrateKind {
        SubstrateKind::Kernel
    }

    fn build(&self, kernel: Option<&KernelChoice>) -> Option<String> {
        Some(self.kernel(kernel).ok()?.build.clone())
    }

    fn check(&self, run: &Run) -> Result<(), SubstrateError> {
        if run.flows.len() > MOST_FLOWS {
            let message = format!("{} flows: substrate kernel carries at most {MOST_FLOWS}", run.flows.len());
            return Err(SubstrateError::Unsupported(message));
        }
        let version = version(self.kernel(run.kernel.as_ref())?);
        lacks(run, self.kind(), version).map_or(Ok(()), |what| Err(SubstrateError::Unsupported(what)))
    }

    fn depends_on_seed(&self, run: &Run) -> bool {
        depends_on_seed(run)
    }

    fn carry_out(
        &self,
        run: &Run,
        directory: &RunDirectory,
        control: &Control,
    ) -> Result<Recording, SubstrateError> {
        self.boot(run, &directory.raw(), control)
    }
}

impl VirtualTime {
    /// Carries out `run` in a guest.
    fn boot(&self, run: &Run, raw: &Path, control: &Control) -> Result<Recording, SubstrateError> {
        // Only what the guest itself writes is in its folder: its console is ours.
        let kernel = self.kernel(run.kernel.as_ref())?;
        let shared = plan(raw, "guest", run)?;
        let console = raw.join("console.log");
        let request = Boot {
            image: kernel.image.clone(),
            init: self.init.clone(),
            arguments: Vec::new(),
            parameters: loading_parameters(run),
            writable: shared.clone(),
            memory: memory(run),
            seed: run.seed,
            console: console.clone(),
            stall_limit: self.stall_limit,
        };
        let stream = RefCell::new(Stream::new(shared.join(STREAM)));
        let booted = boot(&request, control.cancel, &|| {
            let mut stream = stream.borrow_mut();
            // An error shows again when the stream is read to its end below.
            let _ = stream.follow();
            let assembler = &stream.assembler;
            (control.progress)(Progress {
                reached_ns: assembler.reached_ns(),
                delivered_bytes: assembler.delivered_bytes(),
            });
        });
        let mut stream = stream.into_inner();
        let exit = match booted {
            Ok(exit) => exit,
            Err(BootError::Cancelled) => return Err(SubstrateError::Interrupted),
            Err(error) => {
                // The agent's own words say more than its exit code.
                let _ = stream.follow();
                return Err(match (error, stream.assembler.failure()) {
                    (BootError::Init { console, .. }, Some(reason)) => {
                        SubstrateError::Agent { reason: reason.into(), console }
                    }
                    (error, _) => error.into(),
                });
            }
        };
        stream.follow().map_err(SubstrateError::io("read", &stream.path))?;
        if !stream.assembler.is_done() {
            let reason = stream.assembler.failure().unwrap_or("its records are cut off").to_string();
            return Err(SubstrateError::Agent { reason, console });
        }
        let mut recording = stream.assembler.finish(run, &Layout::of(run), self.kind());
        describe(&mut recording, kernel, &exit);
        recording.info.warnings.extend(without_effect(run, FREE, version(kernel)));
        recording.info.warnings.extend(copied(run));
        tidy(raw, &shared)?;
        Ok(recording)
    }
}

/// The version of Linux of a kernel.
fn version(kernel: &Kernel) -> KernelVersion {
    KernelVersion::of_release(&kernel.release).unwrap_or_default()
}

/// Adds the kernel and what the run cost.
fn describe(recording: &mut Recording, kernel: &Kernel, exit: &Exit) {
    let found = recording.info.kernel.take().unwrap_or_default();
    let added = kernel.added.iter().map(|source| format!("{source}: added"));
    let edits = kernel.edits.iter().cloned().chain(added).collect();
    recording.info.kernel = Some(KernelInfo { build: kernel.build.clone(), edits, ..found });
    recording.info.cost = Cost {
        wall_s: exit.wall.as_secs_f64(),
        cpu_s: exit.cpu.as_secs_f64(),
        peak_rss_bytes: exit.peak_rss.get(),
        packets: recording.info.cost.packets,
    };
    if exit.confinement != Confinement::Full {
        recording.info.warnings.push(exit.confinement.to_string());
    }
}

/// Parameters of congestion controls that are read only while the control is loaded. What can be set later the
/// agent sets.
fn loading_parameters(run: &Run) -> Vec<String> {
    let mut words = Vec::new();
    for flow in &run.flows {
        let FlowKind::Tcp { congestion, .. } = &flow.kind else { continue };
        for (name, value) in &congestion.parameters {
            if is_read_while_loading(&congestion.name, name) {
                words.push(format!("tcp_{}.{name}={value}", congestion.name));
            }
        }
    }
    words.sort();
    words.dedup();
    words
}

/// Whether the guest's seed could change the result: where the model draws too, and where the kernel hashes flows with a
/// number that it draws (`fq_codel_init`). Sequence numbers, ports and the start of time stamps are drawn as well, but
/// decide nothing else. Hosts have no processing of their own here.
fn depends_on_seed(run: &Run) -> bool {
    let mut bare = run.clone();
    bare.hosts.iter_mut().for_each(|host| host.hardware = None);
    let hashes = run.hosts.iter().any(|host| host.qdisc == Qdisc::FqCodel)
        || run
            .links
            .iter()
            .flat_map(|link| [&link.forward, &link.reverse])
            .any(|direction| matches!(direction.queue, Queue::FqCodel { .. }));
    wirespeed_sim::depends_on_seed(&bare) || (hashes && run.flows.len() > 1)
}

/// Memory of the guest: what the flows can hold at once, with the kernel's overhead. What the path can hold bounds it,
/// and so do the socket buffers: of few flows these are less.
///
/// In flight are at most the links' bandwidth-delay products and queues, or the fixed windows. The sender keeps a
/// copy's descriptor of everything in flight and as much again unsent, the receiver what is out of order; a packet
/// of 1500 bytes occupies 2304 bytes (truesize), its clone 512 more.
fn memory(run: &Run) -> Bytes {
    const BASE: u64 = 256 << 20;
    const OVERHEAD: u64 = 5;
    /// Of what a path holds, where flows go on at full speed after losses. What was sent behind a packet that is lost
    /// again and again stays in memory. Measured: at most 18, of 1, 4 and 16 BBR flows at 10 and 40 Gbit/s with buffers
    /// of 0.1 to 4 bandwidth-delay products and losses of 1e-3 to 2e-2. Others touched at most 3.
    const OVERHEAD_OF_HOLES: u64 = 24;
    // Data in both directions is held twice. Its acknowledgements wait behind data of the other direction, so that windows
    // grow further before the first loss is reported: 16 flows of H-TCP at 100 Gbit/s and 10 ms did not fit into twice as much.
    let directions = if run.sends_both_ways() { 3 } else { 1 };
    let mut paths: u64 = run.hosts.iter().map(|host| own_queue(run, host) * OVERHEAD).sum();
    for link in &run.links {
        let round_trip = link.forward.longest_delay() + link.reverse.longest_delay();
        let access = run.hosts.iter().map(|host| host.access_delay * 2).max().unwrap_or_default();
        let flying = link.forward.greatest_rate().volume(round_trip + access * 2).get();
        let (forward, reverse) = (link.forward.largest_buffer().get(), link.reverse.largest_buffer().get());
        let holes = if run.flows.iter().any(ignores_losses) { OVERHEAD_OF_HOLES } else { 0 };
        let held = ((flying + forward + reverse) * OVERHEAD).max((flying + forward.max(reverse)) * holes);
        paths += held * directions;
    }
    let (mut windows, mut buffers, mut datagrams) = (0, 0, 0);
    for flow in &run.flows {
        match &flow.kind {
            FlowKind::Tcp { window: Some(window), .. } => {
                windows += window.get() * OVERHEAD;
                buffers += window.get() * OVERHEAD;
            }
            FlowKind::Tcp { window: None, .. } => {
                windows += OVERHEAD << 20;
                buffers += socket_buffers(run, flow);
            }
            FlowKind::Udp { rcvbuf, .. } => {
                let held = rcvbuf.map_or(1 << 20, Bytes::get) + udp_records(run, flow);
                datagrams += held * OVERHEAD;
                // What waits for a link is not bounded by a socket.
                buffers += paths;
            }
        }
    }
    Bytes::new(BASE + datagrams + (paths + windows).min(buffers))
}

/// The most that the queueing discipline of a host's interface holds, in bytes, with the limits of Linux (tc-fq(8), tc-fq_codel(8)).
fn own_queue(run: &Run, host: &Host) -> u64 {
    const FQ_LIMIT: u64 = 10_000;
    const FQ_FLOW_LIMIT: u64 = 100;
    const FQ_CODEL_MEMORY: u64 = 32 << 20;
    let flows = run.flows.iter().filter(|flow| flow.from == host.name).count() as u64;
    let flow_limit = host.fq.map_or(FQ_FLOW_LIMIT, |fq| fq.flow_limit.into());
    match host.qdisc {
        _ if flows == 0 => 0,
        Qdisc::PfifoFast => u64::from(host.txqueuelen) * host.mtu.get(),
        Qdisc::Fq => FQ_LIMIT.min(flows * flow_limit) * host.mtu.get(),
        Qdisc::FqCodel => FQ_CODEL_MEMORY,
    }
}

/// Whether a flow may go on at full speed after losses: BBR, and what a user's own C file does.
fn ignores_losses(flow: &Flow) -> bool {
    matches!(&flow.kind, FlowKind::Tcp { congestion, .. } if congestion.own || congestion.name == "bbr")
}

/// The most that both sockets of a flow hold. What is out of order at the receiver shares its pages with the sender,
/// which makes room for the headers of what is in flight.
fn socket_buffers(run: &Run, flow: &Flow) -> u64 {
    let send = run.host(&flow.from).tcp.wmem[2].get().min(SEND_BUFFER_MOST);
    send + run.host(&flow.to).tcp.rmem[2].get().min(i32::MAX as u64)
}

/// What the agent notes of every datagram, on both sides.
fn udp_records(run: &Run, flow: &Flow) -> u64 {
    let FlowKind::Udp { rate, datagram, .. } = &flow.kind else { return 0 };
    let packets = rate.volume(run.duration).get() / datagram.get().max(1);
    packets * 2 * std::mem::size_of::<wirespeed_record::Datagram>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_scenario::run::{Congestion, Direction};
    use wirespeed_scenario::testing::run;
    use wirespeed_units::{Rate, Span};

    #[test]
    fn chance_is_loss_or_the_hash_of_several_flows() {
        let plain = run(1, &[("a", 0), ("b", 1)], &[("a", "b"), ("a", "b")]);
        assert!(!depends_on_seed(&plain));
        let mut lossy = plain.clone();
        lossy.links[0].forward.loss = 1e-6;
        assert!(depends_on_seed(&lossy));
        let mut hashed = plain;
        hashed.hosts[0].qdisc = Qdisc::FqCodel;
        assert!(depends_on_seed(&hashed));
        hashed.flows.truncate(1);
        assert!(!depends_on_seed(&hashed), "one flow meets no other in a bucket");
    }

    /// One flow over 100 Gbit/s and 100 ms with a buffer of one bandwidth-delay product.
    fn long(congestion: &str) -> Run {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let direction = Direction::plain(Rate::gbit(100), Span::ms(50), 0.0, Bytes::new(1_250_000_000));
        (run.links[0].forward, run.links[0].reverse) = (direction.clone(), direction);
        let congestion = Congestion { name: congestion.into(), parameters: Default::default(), own: false };
        run.flows[0].kind = FlowKind::Tcp { congestion, window: None, max_rate: None, zero_copy: false };
        for host in &mut run.hosts {
            (host.tcp.wmem[2], host.tcp.rmem[2]) = (Bytes::new(i32::MAX as u64), Bytes::new(i32::MAX as u64));
        }
        run
    }

    #[test]
    fn few_flows_need_what_their_sockets_hold_and_many_what_the_path_holds() {
        let mib = |run: &Run| memory(run).get() >> 20;
        let mut run = long("cubic");
        // 256 MiB, a send buffer of 1.5 GiB, a receive buffer of 2 GiB.
        assert_eq!(mib(&run), 256 + 1536 + 2047);
        run.flows = vec![run.flows[0].clone(); 100];
        // Three bandwidth-delay products, and a thousand packets of 1500 bytes at the host.
        let path = (5 * (3 * 1_250_000_000_u64 + 1_500_000)) >> 20;
        assert_eq!(mib(&run), 256 + path + 500);
        run.hosts[0].tcp.wmem[2] = Bytes::mib(4);
        run.hosts[1].tcp.rmem[2] = Bytes::mib(6);
        assert_eq!(mib(&run), 256 + 1000);
    }

    #[test]
    fn memory_grows_with_what_the_path_holds() {
        let mut run = long("cubic");
        run.flows = vec![run.flows[0].clone(); 100];
        let before = memory(&run);
        run.links[0].forward.buffer += Bytes::mib(1024);
        assert!(memory(&run) >= before + Bytes::mib(1024));
    }

    #[test]
    fn data_both_ways_and_queues_of_hosts_need_room() {
        let mut run = long("cubic");
        run.flows = vec![run.flows[0].clone(); 100];
        let one_way = memory(&run);
        let flow = run.flows[0].clone();
        run.flows.push(Flow { from: flow.to, to: flow.from, ..run.flows[0].clone() });
        let path = 5 * 3 * 1_250_000_000;
        assert!(memory(&run).get() > one_way.get() + path);
        run.flows.pop();
        run.hosts[0].qdisc = Qdisc::Fq;
        let queue = 5 * (10_000 - 1_000) * run.hosts[0].mtu.get();
        assert_eq!(memory(&run), one_way + Bytes::new(queue));
    }

    #[test]
    fn flows_that_ignore_losses_hold_more() {
        let of = |name: &str| {
            let mut run = long(name);
            run.flows = vec![run.flows[0].clone(); 100];
            memory(&run).get() as f64
        };
        assert!(of("bbr") > 3.0 * of("cubic"));
    }
}
