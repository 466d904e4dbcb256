//! What this machine's kernel has of what runs need, found by trying it in a namespace.

use netlink_packet_route::tc::TcHandle;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use wirespeed_agent::temporary_bpf::can_have;
use wirespeed_scenario::congestion_controls;
use wirespeed_scenario::run::{Direction, Qdisc};
use wirespeed_topology::device::{self, Port};
use wirespeed_topology::namespace::Namespace;
use wirespeed_topology::netlink::Netlink;
use wirespeed_topology::qdisc::{self, Spec};
use wirespeed_topology::tunnel;
use wirespeed_units::{Bytes, Rate, Span};

/// Ends of links with forward error correction.
pub const FEC: &str = "fec";

/// What there is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// `uname -r`.
    release: String,
    /// Qdiscs by name, congestion controls with `tcp_` before it, and [`FEC`].
    found: BTreeSet<String>,
}

impl Features {
    /// Whether there is something of that name.
    pub fn has(&self, name: &str) -> bool {
        self.found.contains(name)
    }

    /// What to say of a run that needs what is not there.
    pub fn lacking(&self, what: &str, name: &str) -> String {
        if name == FEC {
            return format!(
                "{what}: it needs /dev/net/tun, and packet sockets with large buffers: `modprobe tun`, and run it as root; --on \
                 kernel has it in virtual time"
            );
        }
        let module = if name.starts_with("tcp_") { name.to_owned() } else { format!("sch_{name}") };
        let instead = match name {
            _ if name.starts_with("tcp_") => {
                "; as root wirespeed loads it by BPF, if `wirespeed cc status` has it"
            }
            "netem" => "; without it only paths without delay and loss can be built (path.rtt = \"0 ms\")",
            _ => "",
        };
        format!(
            "{what}: this machine's kernel ({}) has no {module}: `modprobe {module}`, or take a kernel that has it{instead}; \
             --on kernel has it in virtual time",
            self.release
        )
    }

    /// What the reader of any result has to know.
    pub fn of_the_machine(&self) -> Option<String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Some(format!(
            "all hosts and routers of the run shared the {cores} cores of this machine, in real time"
        ))
    }
}

/// Asks an agent.
///
/// # Errors
/// Why there cannot be namespaces here, and the remedy.
pub fn survey(program: &Path) -> Result<Features, String> {
    let mut command = Command::new(program);
    let output = command.args(["agent", "--netns-survey"]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if output.status.success() {
        return serde_json::from_slice(&output.stdout).map_err(|error| error.to_string());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!(
        "no network namespaces can be made here: {said}; run it as root, or allow ordinary users to make user namespaces \
         (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns, user.max_user_namespaces)"
    ))
}

/// The agent's answer.
///
/// # Errors
/// If namespaces or virtual interfaces cannot be made.
pub fn answer() -> io::Result<()> {
    let direction = Direction::plain(Rate::gbit(1), Span::ms(1), 0.0, Bytes::mib(1));
    let frame = Bytes::new(1514);
    let room = Some(Bytes::mib(1));
    let specs = [
        ("fq", Spec::Host(Qdisc::Fq)),
        ("fq_codel", Spec::Host(Qdisc::FqCodel)),
        ("netem", Spec::Netem { direction, seed: 1 }),
        ("tbf", Spec::Bucket { rate: Rate::gbit(1), frame, burst: frame, room }),
    ];
    let (here, there) = (Namespace::current()?, Namespace::create()?);
    let mut netlink = Netlink::open()?;
    let mut found = BTreeSet::new();
    for (number, (name, spec)) in specs.into_iter().enumerate() {
        let port = |namespace: &Namespace, side: u8| Port {
            name: format!("try{number}"),
            namespace: namespace.raw(),
            mac: [2, 0, 0, 0, number as u8, side],
            mtu: 1500,
            txqueuelen: 1000,
        };
        device::create_pair(&mut netlink, &[port(&here, 1), port(&there, 2)])?;
        let listed = device::list(&mut netlink)?;
        let made = listed.iter().find(|found| *found.device.name == *format!("try{number}"));
        let index = made.expect("it was made").device.index;
        let handle = TcHandle { major: 1, minor: 0 };
        match qdisc::install(&mut netlink, index, TcHandle::ROOT, handle, &spec) {
            Ok(()) => drop(found.insert(name.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if there.within(tunnel::try_out).is_ok() {
        found.insert(FEC.to_owned());
    }
    for control in congestion_controls() {
        if can_have(control.name) {
            found.insert(format!("tcp_{}", control.name));
        }
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned();
    let text = serde_json::to_string(&Features { release, found }).expect("it is plain data");
    writeln!(io::stdout(), "{text}")
}
