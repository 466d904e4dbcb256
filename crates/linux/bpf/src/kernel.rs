//! What the running kernel offers and what this process may do, told as reasons that say what to change.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use thiserror::Error;

/// Why something cannot be loaded here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Reason {
    /// No BTF.
    #[error(
        "this kernel has no type information (/sys/kernel/btf/vmlinux), to which programs are fitted; \
         it must be built with CONFIG_DEBUG_INFO_BTF, as the kernels of Debian, Ubuntu, Fedora and RHEL are"
    )]
    NoTypeInformation,
    /// Calls between kernel and program need compiled programs.
    #[error("the kernel's BPF compiler is off; switch it on: sysctl net.core.bpf_jit_enable=1")]
    NoJit,
    /// Missing privileges.
    #[error("not permitted: {missing}; run it as root, or give it cap_bpf, cap_perfmon and cap_net_admin")]
    NotPermitted {
        /// What this process lacks.
        missing: String,
    },
    /// Too old.
    #[error("Linux {release} is too old for {what}: it needs {needs} or newer")]
    OldKernel {
        /// `uname -r`.
        release: String,
        /// What is asked for.
        what: &'static str,
        /// The first version that can.
        needs: &'static str,
    },
    /// Not configured in.
    #[error("this kernel was built without {what}")]
    Lacks {
        /// What is missing.
        what: &'static str,
    },
    /// Somebody has this name already.
    #[error("the name {name} is taken: {owner}")]
    NameTaken {
        /// The name of the congestion control.
        name: String,
        /// Who has it.
        owner: Owner,
    },
}

/// Who has the name of a congestion control.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Owner {
    /// It is part of the kernel, or a module of it that is loaded.
    #[error("this kernel has it, and it can be used as it is")]
    Kernel,
    /// A module that is not loaded.
    #[error("this kernel has it as a module: modprobe tcp_{0}")]
    Module(String),
    /// Ours, held by a process.
    #[error("it is loaded by wirespeed already, in process {0}")]
    Process(u32),
    /// Ours, left behind.
    #[error("a wirespeed that was killed left it behind; `wirespeed cc unload {0}` removes it")]
    Leftover(String),
}

/// The kernel's release, as `uname -r` has it.
pub fn release() -> &'static str {
    &kernel().release
}

/// What does not change while the kernel runs.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    /// `uname -r`.
    pub release: String,
    /// Major and minor number.
    pub version: (u32, u32),
    /// What its type information names; `None`: it has none.
    pub types: Option<Types>,
    /// The JIT compiler; `None`: cannot be seen from here.
    pub jit: Option<bool>,
}

/// What the type information names.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Types {
    /// Congestion controls as BPF programs.
    pub congestion_controls: bool,
    /// They may call `tcp_slow_start` and the like.
    pub functions: bool,
    /// A registration can be a link, which goes with its process (6.4).
    pub links: bool,
    /// Controls have a hook of its own for the start of sending (7.1).
    pub start_hook: bool,
    /// Drops come with a reason (5.17).
    pub drop_reasons: bool,
}

/// The running kernel.
pub(crate) fn kernel() -> &'static Kernel {
    static KERNEL: OnceLock<Kernel> = OnceLock::new();
    KERNEL.get_or_init(|| {
        let release = read("/proc/sys/kernel/osrelease").unwrap_or_default();
        let types = fs::read("/sys/kernel/btf/vmlinux").ok().map(|types| Types::of(&types));
        let jit = read("/proc/sys/net/core/bpf_jit_enable").map(|value| value != "0");
        Kernel { version: version(&release), release, types, jit }
    })
}

impl Types {
    /// Names stand in the type information as strings that end with a zero. One pass over its megabytes.
    fn of(types: &[u8]) -> Types {
        let mut found = Types::default();
        let mut functions = 0;
        for name in types.split(|byte| *byte == 0) {
            match name {
                b"bpf_struct_ops_tcp_congestion_ops" => found.congestion_controls = true,
                b"tcp_cong_avoid_ai" | b"tcp_reno_undo_cwnd" => functions += 1,
                b"bpf_struct_ops_link" => found.links = true,
                b"cwnd_event_tx_start" => found.start_hook = true,
                b"skb_drop_reason" => found.drop_reasons = true,
                _ => {}
            }
        }
        found.functions = functions == 2;
        found
    }
}

impl Kernel {
    /// Whether congestion controls can be loaded, permissions aside.
    pub fn takes_controls(&self) -> Result<(), Reason> {
        const WHAT: &str = "congestion controls as BPF programs";
        let Kernel { release, version, .. } = self;
        if *version < (5, 13) {
            return Err(Reason::OldKernel { release: release.clone(), what: WHAT, needs: "5.13" });
        }
        let types = self.types.ok_or(Reason::NoTypeInformation)?;
        if !types.congestion_controls || !types.functions {
            return Err(Reason::Lacks {
                what: "congestion controls as BPF programs (CONFIG_BPF_JIT, CONFIG_BPF_SYSCALL)",
            });
        }
        self.compiles()
    }

    /// Whether drops can be watched, permissions aside.
    pub fn tells_drops(&self) -> Result<(), Reason> {
        let Kernel { release, version, .. } = self;
        if *version < (5, 17) {
            return Err(Reason::OldKernel {
                release: release.clone(),
                what: "reasons of drops",
                needs: "5.17",
            });
        }
        let types = self.types.ok_or(Reason::NoTypeInformation)?;
        if !types.drop_reasons {
            return Err(Reason::Lacks { what: "reasons of drops (enum skb_drop_reason)" });
        }
        self.compiles()
    }

    fn compiles(&self) -> Result<(), Reason> {
        if self.jit == Some(false) { Err(Reason::NoJit) } else { Ok(()) }
    }
}

/// Capabilities by their bit in `CapEff`.
const CAPABILITIES: [(u32, &str); 4] =
    [(12, "cap_net_admin"), (21, "cap_sys_admin"), (38, "cap_perfmon"), (39, "cap_bpf")];
pub(crate) const NET_ADMIN: u32 = 12;
const SYS_ADMIN: u32 = 21;
pub(crate) const PERFMON: u32 = 38;
pub(crate) const BPF: u32 = 39;

/// Whether this process has these capabilities where the kernel looks for them: outside of user namespaces.
pub(crate) fn permitted(needed: &[u32]) -> Result<(), Reason> {
    let status = read("/proc/thread-self/status").unwrap_or_default();
    let users = read("/proc/self/uid_map").unwrap_or_default();
    match lacking(&status, &users, needed) {
        None => Ok(()),
        Some(missing) => Err(Reason::NotPermitted { missing }),
    }
}

fn lacking(status: &str, users: &str, needed: &[u32]) -> Option<String> {
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let has = |bit: u32| bits >> bit & 1 == 1;
    // CAP_SYS_ADMIN stands for the two that were split off it in 5.8.
    let missing: Vec<&str> = CAPABILITIES
        .iter()
        .filter(|(bit, _)| {
            needed.contains(bit) && !has(*bit) && !(matches!(*bit, PERFMON | BPF) && has(SYS_ADMIN))
        })
        .map(|(_, name)| *name)
        .collect();
    if !missing.is_empty() {
        return Some(format!("this process has no {}", missing.join(", ")));
    }
    let all_users = users.split_whitespace().eq(["0", "0", "4294967295"]);
    (!all_users).then(|| "this is a user namespace, whose root is none to the kernel".to_string())
}

/// Congestion controls that sockets can choose now, in any namespace.
pub fn available() -> Vec<String> {
    let list = read("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    list.split_whitespace().map(str::to_owned).collect()
}

/// Whether the kernel has the control as a module on disk.
pub(crate) fn has_module(control: &str) -> bool {
    let folder = Path::new("/lib/modules").join(&kernel().release);
    ["modules.dep", "modules.builtin"].iter().any(|list| {
        let list = fs::read(folder.join(list)).unwrap_or_default();
        find(&list, format!("/tcp_{control}.ko").as_bytes())
    })
}

/// Major and minor version of `6.18.44-fc`.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn find(hay: &[u8], needle: &[u8]) -> bool {
    hay.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn able() -> Kernel {
        let types = Types {
            congestion_controls: true,
            functions: true,
            links: true,
            start_hook: false,
            drop_reasons: true,
        };
        Kernel { release: "6.1.0".into(), version: (6, 1), types: Some(types), jit: Some(true) }
    }

    #[test]
    fn each_lack_is_told_as_itself() {
        assert_eq!(able().takes_controls(), Ok(()));
        assert_eq!(able().tells_drops(), Ok(()));
        let old = Kernel { release: "5.10.0-8".into(), version: version("5.10.0-8"), ..able() };
        let said = old.takes_controls().unwrap_err().to_string();
        assert_eq!(
            said,
            "Linux 5.10.0-8 is too old for congestion controls as BPF programs: it needs 5.13 or newer"
        );
        let middle = Kernel { release: "5.15.1".into(), version: (5, 15), ..able() };
        assert_eq!(middle.takes_controls(), Ok(()));
        assert!(matches!(middle.tells_drops(), Err(Reason::OldKernel { needs: "5.17", .. })));
        let bare = Kernel { types: None, ..able() };
        assert_eq!(bare.takes_controls(), Err(Reason::NoTypeInformation));
        assert_eq!(bare.tells_drops(), Err(Reason::NoTypeInformation));
        let lean = Kernel { types: Some(Types::default()), ..able() };
        assert!(matches!(lean.takes_controls(), Err(Reason::Lacks { .. })));
        assert!(matches!(lean.tells_drops(), Err(Reason::Lacks { .. })));
        let slow = Kernel { jit: Some(false), ..able() };
        assert_eq!(slow.takes_controls(), Err(Reason::NoJit));
        assert_eq!(Kernel { jit: None, ..able() }.takes_controls(), Ok(()));
    }

    #[test]
    fn names_are_found_whole() {
        let types = b"\0int\0bpf_struct_ops_tcp_congestion_ops\0xtcp_cong_avoid_ai\0bpf_struct_ops_linkage\0"
            .as_slice();
        let found = Types::of(types);
        assert!(found.congestion_controls && !found.functions && !found.links && !found.drop_reasons);
    }

    #[test]
    fn missing_capabilities_are_named() {
        let all = "0 0 4294967295";
        let root = "Name:\tx\nCapEff:\t000001ffffffffff\n";
        let needed = [BPF, PERFMON, NET_ADMIN];
        assert_eq!(lacking(root, all, &needed), None);
        let none = "CapEff:\t0000000000000000\n";
        assert_eq!(
            lacking(none, all, &needed).unwrap(),
            "this process has no cap_net_admin, cap_perfmon, cap_bpf"
        );
        // Before 5.8, and in containers of that age, CAP_SYS_ADMIN is all there is.
        let elder = format!("CapEff:\t{:016x}\n", 1_u64 << SYS_ADMIN | 1 << NET_ADMIN);
        assert_eq!(lacking(&elder, all, &needed), None);
        assert!(lacking(root, "0 1000 1", &needed).unwrap().contains("user namespace"));
        assert!(lacking("", "", &needed).is_some());
    }
}
