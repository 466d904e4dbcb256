//! The path that a host is judged for.

use serde::{Deserialize, Serialize};

/// A path: the needs of a host follow from these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Rate of the slowest link in bit/s.
    pub rate_bps: u64,
    /// Round-trip time without queues in nanoseconds.
    pub rtt_ns: i64,
    /// Largest IP packet that every link carries, in bytes.
    pub mtu_bytes: u64,
    /// Flows that share the path at a time.
    pub flows: u32,
    /// Buffer of the slowest link in bytes, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_bytes: Option<u64>,
}

impl Path {
    /// Round-trip time in seconds.
    pub fn rtt_s(&self) -> f64 {
        self.rtt_ns as f64 / 1e9
    }

    /// The number of flows, at least one.
    pub fn flows(&self) -> u64 {
        u64::from(self.flows.max(1))
    }
}

/// A set of parameters of the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Bulk transfers in a data centre or on a campus.
    Lan,
    /// Bulk transfers over long paths.
    Wan,
    /// Tests whose results must repeat.
    Measurement,
    /// Short messages: a short wait matters more than throughput.
    LowLatency,
}

impl Profile {
    /// All of them.
    pub const ALL: [Profile; 4] = [Profile::Lan, Profile::Wan, Profile::Measurement, Profile::LowLatency];

    /// Its name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Profile::Lan => "lan",
            Profile::Wan => "wan",
            Profile::Measurement => "measurement",
            Profile::LowLatency => "low-latency",
        }
    }

    /// Microseconds for which a core may leave its queues alone without a loss.
    ///
    /// 4 ms is a tick of a kernel with HZ=250, in which another task runs. In cornell-2010 buffers for 3.3 ms overflowed, and
    /// those for 6.7 ms did not. Profiles that recover from a loss quickly need half of it or less.
    pub const fn pause_us(self) -> u64 {
        match self {
            Profile::Wan | Profile::Measurement => 4000,
            Profile::Lan => 2000,
            Profile::LowLatency => 1000,
        }
    }

    /// Round-trip time in nanoseconds that is assumed if none is given.
    pub const fn assumed_rtt_ns(self) -> i64 {
        match self {
            Profile::Wan | Profile::Measurement => 20_000_000,
            Profile::Lan | Profile::LowLatency => 1_000_000,
        }
    }

    /// Longest exit latency of an idle state in microseconds. None: any.
    pub const fn idle_exit_us(self) -> Option<u64> {
        match self {
            Profile::Measurement => Some(100),
            Profile::LowLatency => Some(10),
            Profile::Lan | Profile::Wan => None,
        }
    }

    /// Whether a transfer is long enough for pacing and idle restarts to matter.
    pub const fn is_long(self) -> bool {
        matches!(self, Profile::Wan | Profile::Measurement)
    }

    /// Whether the host must behave in the same manner in every test.
    pub const fn is_repeatable(self) -> bool {
        matches!(self, Profile::Measurement | Profile::LowLatency)
    }
}
