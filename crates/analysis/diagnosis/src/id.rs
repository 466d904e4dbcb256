//! The table of all findings: id, severity, source and remedy.

use serde::{Deserialize, Serialize, Serializer};
use wirespeed_record::Stage;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The state of a healthy test: something always limits a flow.
    Info,
    /// It costs throughput or packets, and a setting or a device can change it.
    Warning,
    /// Nothing was delivered: other numbers of the run mean little.
    Critical,
}

impl Severity {
    /// As in `--json`.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $severity:ident, $source:expr, $remedy:expr;)+) => {
        /// The stable name of a finding. The words of [`Id::word`] do not change from version to version.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Id {
            $($(#[$doc])* $name,)+
        }

        impl Id {
            /// All of them, in the order of the table.
            pub const ALL: &[Id] = &[$(Id::$name),+];

            /// The stable name, for programs: `limit.receive-window`.
            pub const fn word(self) -> &'static str {
                match self { $(Id::$name => $word,)+ }
            }

            /// Its severity.
            pub const fn severity(self) -> Severity {
                match self { $(Id::$name => Severity::$severity,)+ }
            }

            /// The counter, document or measurement that the finding is based on.
            pub const fn source(self) -> &'static str {
                match self { $(Id::$name => $source,)+ }
            }

            /// The next step, unless a rule has one for the case at hand.
            pub const fn remedy(self) -> &'static str {
                match self { $(Id::$name => $remedy,)+ }
            }
        }
    };
}

const CORES: &str =
    "CPU time of each core (table `cores`) and `/proc/PID/task/TID/schedstat` (table `threads`)";
const PLACEMENT: &str =
    "SO_INCOMING_CPU and /proc/PID/task/TID/stat, sampled; /sys/devices/system/cpu and node";

ids! {
    /// No flow delivered anything in the run.
    NothingDelivered = "run.nothing-delivered", Critical, "bytes delivered at the receiver (table `flows`)",
        "Check link and address: `ip -s link show DEV`, `ip route get ADDRESS`.";
    /// A link carries all it can.
    LinkRate = "limit.link-rate", Info, "metric link_utilisation (RFC 5136)",
        "Add capacity, or accept the rate: hosts and flows use all of the link.";
    /// Nothing was delivered for most of the time, though there was data to send.
    LimitNothingDelivered = "limit.nothing-delivered", Critical,
        "tcpi_busy_time grows and the bytes of the receiver do not; events of links and path MTU",
        "Check link and MTU: `ip -s link show DEV`, `tracepath ADDRESS`.";
    /// The sending application wrote too little.
    LimitApplication = "limit.application", Info, "tcpi_busy_time, tcpi_notsent_bytes",
        "Find out what the sending program waits for (disk, other input), or give it a core of its own: `taskset -c CORE`.";
    /// The receiving application read too little.
    LimitReceivingApplication = "limit.receiving-application", Warning,
        "bytes delivered and not yet read, compared with tcpi_snd_wnd (table `flows`)",
        "Find out what the receiving program waits for (disk, other output), or give it a core of its own: `taskset -c CORE`.";
    /// A core of the sender was full.
    LimitSenderCore = "limit.sender-core", Warning, CORES,
        "Enable TSO (`ethtool -K DEV tso on`), use `--zero-copy`, several flows, or an MTU of 9000.";
    /// The send buffer was full.
    LimitSendBuffer = "limit.send-buffer", Warning, "tcpi_sndbuf_limited",
        "Set the third value of net.ipv4.tcp_wmem at the sender to twice rate times round-trip time: `sysctl -w net.ipv4.tcp_wmem=\"4096 16384 BYTES\"`.";
    /// The congestion window, after losses.
    LimitCwndAfterLoss = "limit.cwnd-after-loss", Warning, "tcpi_total_retrans, tcpi_ca_state (RFC 5681, section 3.1), and the loss ledger",
        "Remove the losses at the stage that is named: findings `loss.*` have the remedy.";
    /// The receive window.
    LimitReceiveWindow = "limit.receive-window", Warning, "tcpi_rwnd_limited; RFC 7323, section 2",
        "Set the third value of net.ipv4.tcp_rmem at the receiver to twice rate times round-trip time: `sysctl -w net.ipv4.tcp_rmem=\"4096 131072 BYTES\"`.";
    /// A core of the receiver was full with softirq work.
    LimitReceiverInterruptCore = "limit.receiver-interrupt-core", Warning, CORES,
        "Enable GRO (`ethtool -K DEV gro on`), and spread the interrupts over more queues and cores (`ethtool -L DEV combined N`).";
    /// A core of the receiver was full with its application.
    LimitReceiverCore = "limit.receiver-core", Warning, CORES,
        "Pin the reader to a core of its own at the interface's node: `taskset -c CORE`. Use several flows.";
    /// Packets wait in a queue of the path.
    LimitPathRate = "limit.path-rate", Info, "tcpi_rtt compared with tcpi_min_rtt",
        "Add capacity, or look for other traffic on the path. `--max-rate` or `--congestion bbr` shortens the queue.";
    /// The congestion window was growing.
    LimitCwnd = "limit.cwnd", Info, "tcpi_snd_cwnd; RFC 5681, section 3.1",
        "Run the test for longer (`--time \"60 s\"`), use more flows (`--flows`), or another algorithm (`--congestion`).";
    /// A core of a host was full over the measurement window.
    FullCore = "core.full", Warning, CORES,
        "Spread the work: interrupts over queues and cores (`ethtool -L DEV combined N`), applications with `taskset -c CORE`.";
    /// Losses in the send buffer.
    LossSndBuf = "loss.sndbuf", Warning, "UdpSndbufErrors",
        "Raise the send buffer: `sysctl -w net.core.wmem_max=BYTES`, and the socket's SO_SNDBUF.";
    /// Losses between TCP and the queue of the interface.
    LossIpOut = "loss.ip-out", Warning, "IpOutNoRoutes, IpOutDiscards; drop reasons NEIGH_*",
        "Correct the route, the neighbour or the MTU: `ip route get ADDRESS`, `ip neigh`.";
    /// Losses in the queueing discipline of the sending host.
    LossQdisc = "loss.qdisc", Warning, "`tc -s qdisc show dev DEV`: dropped",
        "Lengthen the queue (`ip link set DEV txqueuelen 10000`), or pace the flow: `tc qdisc replace dev DEV root fq`.";
    /// Losses in the transmit descriptors of the interface.
    LossTxRing = "loss.tx-ring", Warning, "tx_dropped of the interface; counters of the driver (`ethtool -S DEV`)",
        "Enlarge the transmit ring (`ethtool -G DEV tx 4096`), and look for PAUSE frames (`ethtool -S DEV`).";
    /// Losses between the hosts.
    LossNetwork = "loss.network", Warning, "the loss ledger: packets sent and not arrived, and counters of queues in between",
        "Ask the operator of the path for the drop counters of its ports, and repeat the test with pacing (`--max-rate`).";
    /// Losses in the network or at a host without an agent.
    LossNetworkOrHost = "loss.network-or-host", Warning, "the loss ledger: packets sent and not reported as received",
        "Compare the counters of the server's host with the number of lost packets: `nstat -az UdpRcvbufErrors`.";
    /// Losses in the receive descriptors of the interface.
    LossRxRing = "loss.rx-ring", Warning, "rx_missed_errors, and counters of the driver (`ethtool -S DEV`)",
        "Enlarge the ring (`ethtool -G DEV rx 8192`), and spread its interrupts over cores (`ethtool -L DEV combined N`).";
    /// Losses in the backlog of a core.
    LossSoftnetBacklog = "loss.softnet-backlog", Warning, "/proc/net/softnet_stat, column 2",
        "Raise the backlog (`sysctl -w net.core.netdev_max_backlog=10000`), or spread the packets over cores (RSS, RPS).";
    /// Losses in packet filters.
    LossNetfilter = "loss.netfilter", Warning, "drop reasons of the kernel (include/net/dropreason-core.h), counted by BPF",
        "Find the rule that drops them, and change it: `nft list ruleset`, `iptables -nvL`, `sysctl net.ipv4.conf.DEV.rp_filter`.";
    /// Losses in the backlog of a socket.
    LossTcpBacklog = "loss.tcp-backlog", Warning, "TcpExtTCPBacklogDrop",
        "Give the reader a core of its own: `taskset -c CORE`.";
    /// Losses in the out-of-order queue.
    LossTcpOfo = "loss.tcp-ofo", Warning, "TcpExtTCPOFODrop",
        "Raise the third value of net.ipv4.tcp_rmem (`sysctl -w net.ipv4.tcp_rmem=\"4096 131072 BYTES\"`), and find the cause of reordering.";
    /// Losses in the receive buffer.
    LossRcvBuf = "loss.rcvbuf", Warning, "UdpRcvbufErrors, and the counters of stage rcvbuf in docs/reference/counters.md",
        "Raise the buffer: `sysctl -w net.core.rmem_max=BYTES` and SO_RCVBUF for UDP, the third value of net.ipv4.tcp_rmem for TCP. Or read faster.";
    /// Losses at the receiving application.
    LossApp = "loss.app", Warning, "TcpExtListenDrops, UdpNoPorts",
        "Start the program that listens on the port: `ss -ltn`, `ss -lun`.";
    /// Several large flows come in on one core.
    PlacementOneCore = "placement.one-core", Warning, PLACEMENT,
        "Use more queues (`ethtool -L DEV combined N`), and a hash with ports (`ethtool -N DEV rx-flow-hash tcp4 sdfn`).";
    /// Packets of a flow came in on several cores in turn.
    PlacementMoving = "placement.moving-interrupts", Warning, PLACEMENT,
        "Stop irqbalance (`systemctl stop irqbalance`), and pin the interrupts: `/proc/irq/N/smp_affinity_list`.";
    /// Interrupts on a NUMA node without the interface.
    PlacementInterruptNode = "placement.interrupt-node", Warning, PLACEMENT,
        "Pin the interrupts to cores of the interface's node: `/proc/irq/N/smp_affinity_list`.";
    /// An application on a NUMA node without the interface.
    PlacementApplicationNode = "placement.application-node", Warning, PLACEMENT,
        "Run the application on the interface's node: `numactl --cpunodebind=NODE`.";
    /// Application and interrupts on one physical core.
    PlacementTwins = "placement.hyper-threads", Warning, PLACEMENT,
        "Move the application to another physical core: `taskset -c CORE`.";
    /// A host whose pairs lose far more than others.
    MeshHost = "mesh.host", Warning, "datagrams of every pair of hosts, sent and arrived",
        "Check interface, cable and port of the host: `ethtool -S DEV`, and the counters of the switch.";
}

impl Id {
    /// The finding about losses at a stage.
    pub const fn of_loss(stage: Stage) -> Id {
        match stage {
            Stage::SndBuf => Id::LossSndBuf,
            Stage::IpOut => Id::LossIpOut,
            Stage::Qdisc => Id::LossQdisc,
            Stage::TxRing => Id::LossTxRing,
            Stage::Network => Id::LossNetwork,
            Stage::NetworkOrHost => Id::LossNetworkOrHost,
            Stage::RxRing => Id::LossRxRing,
            Stage::SoftnetBacklog => Id::LossSoftnetBacklog,
            Stage::Netfilter => Id::LossNetfilter,
            Stage::TcpBacklog => Id::LossTcpBacklog,
            Stage::TcpOfo => Id::LossTcpOfo,
            Stage::RcvBuf => Id::LossRcvBuf,
            Stage::App => Id::LossApp,
        }
    }

    /// The part of the name before the point: `limit`, `loss`, `placement`, ...
    pub fn family(self) -> &'static str {
        self.word().split('.').next().unwrap_or_default()
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique_and_of_one_form() {
        let words: BTreeSet<&str> = Id::ALL.iter().map(|id| id.word()).collect();
        assert_eq!(words.len(), Id::ALL.len());
        for word in words {
            let (family, name) = word.split_once('.').unwrap_or_else(|| panic!("{word}"));
            let is_plain =
                |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            assert!(is_plain(family) && is_plain(name), "{word}");
        }
    }

    #[test]
    fn every_finding_has_a_remedy_and_a_source() {
        for id in Id::ALL {
            assert!(id.remedy().ends_with('.') && id.remedy().split(' ').count() > 4, "{}", id.word());
            assert!(id.remedy().starts_with(|c: char| c.is_ascii_uppercase()), "{}", id.word());
            assert!(!id.source().is_empty(), "{}", id.word());
        }
    }

    #[test]
    fn every_stage_has_a_finding_of_its_own() {
        let of_stages: BTreeSet<Id> = Stage::ALL.iter().map(|stage| Id::of_loss(*stage)).collect();
        assert_eq!(of_stages.len(), Stage::ALL.len());
        for stage in Stage::ALL {
            assert_eq!(Id::of_loss(*stage).word(), format!("loss.{}", stage.word().replace('_', "-")));
        }
    }

    #[test]
    fn page_on_results_lists_every_name() {
        let page = include_str!("../../../../docs/reference/results.md");
        for id in Id::ALL.iter().filter(|id| id.family() != "loss") {
            let (family, name) = id.word().split_once('.').unwrap();
            let is_listed = |line: &str| {
                line.starts_with(&format!("| `{family}` |")) && line.contains(&format!("`{name}`"))
            };
            assert!(page.lines().any(is_listed), "docs/reference/results.md does not list {}", id.word());
        }
    }
}
