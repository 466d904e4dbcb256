//! Settings of a host that can be read and changed.

use crate::CpuSet;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A value of a host that can be read and changed. Values are text, in the form that [`Setting::command`] shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Setting {
    /// A value below /proc/sys. Words are separated by one space.
    Sysctl {
        /// Its dotted name.
        name: String,
    },
    /// Descriptors of the rings of an interface (`ethtool -G`).
    Ring {
        /// The interface.
        interface: String,
        /// Receive or transmit.
        way: Way,
    },
    /// Combined channels of an interface (`ethtool -L`).
    Channels {
        /// The interface.
        interface: String,
    },
    /// A parameter of interrupt moderation (`ethtool -C`). `on` or `off` for adaptive moderation.
    Coalescing {
        /// The interface.
        interface: String,
        /// The parameter.
        parameter: CoalescingParameter,
    },
    /// An offload (`ethtool -K`): `on` or `off`.
    Feature {
        /// The interface.
        interface: String,
        /// Its ethtool name, such as `rx-gro`.
        name: String,
    },
    /// Ethernet flow control (`ethtool -A`): `on` or `off`.
    Pause {
        /// The interface.
        interface: String,
        /// Obey pause frames, or send them.
        way: Way,
    },
    /// MTU in bytes.
    Mtu {
        /// The interface.
        interface: String,
    },
    /// `txqueuelen`, in packets.
    TxQueueLength {
        /// The interface.
        interface: String,
    },
    /// The kind of all leaf qdiscs, such as `fq`. A multi-queue root stays.
    Qdisc {
        /// The interface.
        interface: String,
    },
    /// CPUs that an interrupt may be delivered to, as a list.
    InterruptAffinity {
        /// Its number.
        irq: u32,
    },
    /// CPUs of receive packet steering, as a list.
    Rps {
        /// The interface.
        interface: String,
        /// Number of the receive queue.
        queue: u32,
    },
    /// CPUs of transmit packet steering, as a list.
    Xps {
        /// The interface.
        interface: String,
        /// Number of the transmit queue.
        queue: u32,
    },
    /// Frequency governor of the CPUs of one policy.
    Governor {
        /// The CPUs.
        cpus: CpuSet,
    },
    /// A service of systemd: `active` or `inactive`.
    Service {
        /// Its unit without `.service`.
        name: String,
    },
}

/// A change of a setting, with the rule that asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The setting.
    pub setting: Setting,
    /// The value wanted.
    pub value: String,
    /// Id of the audit rule, such as `tcp.rmem`.
    pub rule: String,
    /// Why the path needs it, as one sentence without its full stop.
    pub reason: String,
}

/// Direction of traffic, seen from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Received.
    Rx,
    /// Sent.
    Tx,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Way::Rx => "rx",
            Way::Tx => "tx",
        })
    }
}

/// A parameter of interrupt moderation, by its ethtool name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoalescingParameter {
    /// Microseconds, received packets.
    RxUsecs,
    /// Packets, received.
    RxFrames,
    /// Microseconds, sent packets.
    TxUsecs,
    /// Packets, sent.
    TxFrames,
    /// Adaptive moderation of received packets: `on` or `off`.
    AdaptiveRx,
    /// Adaptive moderation of sent packets: `on` or `off`.
    AdaptiveTx,
}

impl fmt::Display for CoalescingParameter {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            CoalescingParameter::RxUsecs => "rx-usecs",
            CoalescingParameter::RxFrames => "rx-frames",
            CoalescingParameter::TxUsecs => "tx-usecs",
            CoalescingParameter::TxFrames => "tx-frames",
            CoalescingParameter::AdaptiveRx => "adaptive-rx",
            CoalescingParameter::AdaptiveTx => "adaptive-tx",
        })
    }
}

impl Setting {
    /// The interface it belongs to.
    pub fn interface(&self) -> Option<&str> {
        match self {
            Setting::Ring { interface, .. }
            | Setting::Channels { interface }
            | Setting::Coalescing { interface, .. }
            | Setting::Feature { interface, .. }
            | Setting::Pause { interface, .. }
            | Setting::Mtu { interface }
            | Setting::TxQueueLength { interface }
            | Setting::Qdisc { interface }
            | Setting::Rps { interface, .. }
            | Setting::Xps { interface, .. } => Some(interface),
            Setting::Sysctl { .. }
            | Setting::InterruptAffinity { .. }
            | Setting::Governor { .. }
            | Setting::Service { .. } => None,
        }
    }

    /// Whether many drivers take the link down for a change, so that connections pause for seconds.
    pub fn resets_link(&self) -> bool {
        matches!(
            self,
            Setting::Ring { .. } | Setting::Channels { .. } | Setting::Mtu { .. } | Setting::Pause { .. }
        )
    }

    /// A command for a shell that sets it to `value`, by programs that every distribution has.
    pub fn command(&self, value: &str) -> String {
        match self {
            Setting::Sysctl { name } if value.contains(' ') => format!("sysctl -w {name}='{value}'"),
            Setting::Sysctl { name } => format!("sysctl -w {name}={value}"),
            Setting::Ring { interface, way } => format!("ethtool -G {interface} {way} {value}"),
            Setting::Channels { interface } => format!("ethtool -L {interface} combined {value}"),
            Setting::Coalescing { interface, parameter } => {
                format!("ethtool -C {interface} {parameter} {value}")
            }
            Setting::Feature { interface, name } => format!("ethtool -K {interface} {name} {value}"),
            Setting::Pause { interface, way } => format!("ethtool -A {interface} {way} {value}"),
            Setting::Mtu { interface } => format!("ip link set dev {interface} mtu {value}"),
            Setting::TxQueueLength { interface } => format!("ip link set dev {interface} txqueuelen {value}"),
            Setting::Qdisc { interface } => format!("tc qdisc replace dev {interface} root {value}"),
            Setting::InterruptAffinity { irq } => format!("echo {value} > /proc/irq/{irq}/smp_affinity_list"),
            Setting::Rps { interface, queue } => {
                format!("echo {} > /sys/class/net/{interface}/queues/rx-{queue}/rps_cpus", mask(value))
            }
            Setting::Xps { interface, queue } => {
                format!("echo {} > /sys/class/net/{interface}/queues/tx-{queue}/xps_cpus", mask(value))
            }
            Setting::Governor { cpus } => format!("cpupower -c {cpus} frequency-set -g {value}"),
            Setting::Service { name } => {
                let verb = if value == "active" { "start" } else { "stop" };
                format!("systemctl {verb} {name}")
            }
        }
    }
}

fn mask(value: &str) -> String {
    value.parse::<CpuSet>().map_or_else(|_| value.to_owned(), |cpus| cpus.mask())
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Setting::Sysctl { name } => f.write_str(name),
            Setting::Ring { interface, way } => write!(f, "{interface}: {way} ring"),
            Setting::Channels { interface } => write!(f, "{interface}: combined channels"),
            Setting::Coalescing { interface, parameter } => write!(f, "{interface}: {parameter}"),
            Setting::Feature { interface, name } => write!(f, "{interface}: {name}"),
            Setting::Pause { interface, way } => write!(f, "{interface}: {way} pause"),
            Setting::Mtu { interface } => write!(f, "{interface}: MTU"),
            Setting::TxQueueLength { interface } => write!(f, "{interface}: txqueuelen"),
            Setting::Qdisc { interface } => write!(f, "{interface}: qdisc"),
            Setting::InterruptAffinity { irq } => write!(f, "interrupt {irq}: affinity"),
            Setting::Rps { interface, queue } => write!(f, "{interface}: RPS of rx-{queue}"),
            Setting::Xps { interface, queue } => write!(f, "{interface}: XPS of tx-{queue}"),
            Setting::Governor { cpus } => write!(f, "CPUs {cpus}: governor"),
            Setting::Service { name } => write!(f, "service {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_the_usual_programs() {
        let eth = || "eth2".to_owned();
        let cases = [
            (Setting::Sysctl { name: "net.core.rmem_max".into() }, "1", "sysctl -w net.core.rmem_max=1"),
            (
                Setting::Sysctl { name: "net.ipv4.tcp_rmem".into() },
                "1 2 3",
                "sysctl -w net.ipv4.tcp_rmem='1 2 3'",
            ),
            (Setting::Ring { interface: eth(), way: Way::Rx }, "8192", "ethtool -G eth2 rx 8192"),
            (
                Setting::Coalescing { interface: eth(), parameter: CoalescingParameter::AdaptiveRx },
                "on",
                "ethtool -C eth2 adaptive-rx on",
            ),
            (
                Setting::Xps { interface: eth(), queue: 3 },
                "0-1",
                "echo 00000003 > /sys/class/net/eth2/queues/tx-3/xps_cpus",
            ),
            (Setting::Service { name: "irqbalance".into() }, "inactive", "systemctl stop irqbalance"),
        ];
        for (setting, value, command) in cases {
            assert_eq!(setting.command(value), command);
        }
        assert!(Setting::Mtu { interface: eth() }.resets_link());
        assert!(!Setting::Qdisc { interface: eth() }.resets_link());
    }
}
