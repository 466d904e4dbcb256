//! What can be set of BBR: the constants of `net/ipv4/tcp_bbr.c`, by their names there without `bbr_`. None is a module
//! parameter: a kernel has them built in.

use crate::parameter::{Parameter, Values};
use crate::tick::HZ;

use super::UNIT;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::of_model(
        "high_gain",
        739,
        257,
        4096,
        "gain of Startup, of rate and window, in 1/256 (2/ln 2)",
    ),
    Parameter::of_model("drain_gain", 88, 1, 256, "pacing gain of Drain, in 1/256 (ln 2/2)"),
    Parameter::of_model("cwnd_gain", 512, 256, 4096, "window gain while probing for bandwidth, in 1/256"),
    Parameter::of_model("bw_rtts", 10, 1, 1000, "round trips over which the largest rate counts"),
    Parameter::of_model("full_bw_thresh", 320, 257, 1024, "growth that shows the pipe is not full, in 1/256"),
    Parameter::of_model("full_bw_cnt", 3, 1, 100, "round trips without it after which the pipe is full"),
    Parameter::of_model("min_rtt_win_sec", 10, 1, 3600, "how long the least round-trip time counts, s"),
    Parameter::of_model("probe_rtt_mode_ms", 200, 1, 10_000, "how long ProbeRTT lasts at least, ms"),
    Parameter::of_model("cwnd_min_target", 4, 2, 1000, "smallest window, that of ProbeRTT, packets"),
    Parameter::of_model("pacing_margin_percent", 1, 0, 50, "how far below the rate it paces, percent"),
];

/// The values in use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub high_gain: u64,
    pub drain_gain: u64,
    pub cwnd_gain: u64,
    pub bandwidth_rounds: u64,
    pub full_growth: u64,
    pub full_rounds: u64,
    pub min_rtt_ticks: u64,
    pub probe_rtt_ticks: u64,
    pub least_window: u64,
    /// Of a million bytes a second it paces at so many.
    pub paced_of_million: u64,
}

impl Settings {
    pub fn of(values: &Values) -> Settings {
        Settings {
            high_gain: values.count("high_gain"),
            drain_gain: values.count("drain_gain"),
            cwnd_gain: values.count("cwnd_gain"),
            bandwidth_rounds: values.count("bw_rtts"),
            full_growth: values.count("full_bw_thresh"),
            full_rounds: values.count("full_bw_cnt"),
            min_rtt_ticks: values.count("min_rtt_win_sec") * HZ,
            probe_rtt_ticks: values.count("probe_rtt_mode_ms") * HZ / 1000,
            least_window: values.count("cwnd_min_target"),
            paced_of_million: 10_000 * (100 - values.count("pacing_margin_percent")),
        }
    }

    /// Linux 4.15's: the same but for the margin, which came with 4.20.
    pub fn of_4_15() -> Settings {
        Settings {
            high_gain: UNIT * 2885 / 1000 + 1,
            drain_gain: UNIT * 1000 / 2885,
            cwnd_gain: 2 * UNIT,
            bandwidth_rounds: 10,
            full_growth: UNIT * 5 / 4,
            full_rounds: 3,
            min_rtt_ticks: 10 * HZ,
            probe_rtt_ticks: HZ / 5,
            least_window: 4,
            paced_of_million: 1_000_000,
        }
    }
}
