//! What can be set of BBR version 3: the constants of draft-ietf-ccwg-bbr-02, by their names there. No mainline kernel has
//! them.

use crate::parameter::{Parameter, Values};
use crate::tick::HZ;

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::of_model("startup_pacing_gain", 277, 101, 1600, "pacing gain of Startup, percent (4 ln 2)"),
    Parameter::of_model("drain_pacing_gain", 50, 1, 100, "pacing gain of Drain, percent"),
    Parameter::of_model("probe_bw_down_pacing_gain", 90, 1, 100, "pacing gain of Down, percent"),
    Parameter::of_model("probe_bw_up_pacing_gain", 125, 100, 1600, "pacing gain of Up, percent"),
    Parameter::of_model("cwnd_gain", 200, 100, 1600, "window gain but for Up and ProbeRTT, percent"),
    Parameter::of_model("probe_bw_up_cwnd_gain", 225, 100, 1600, "window gain of Up, percent"),
    Parameter::of_model("probe_rtt_cwnd_gain", 50, 1, 100, "window gain of ProbeRTT, percent"),
    Parameter::of_model(
        "loss_thresh",
        2,
        0,
        100,
        "loss in a round trip that is borne, percent of what was out",
    ),
    Parameter::of_model("beta", 70, 1, 100, "what loss leaves of the bounds, percent"),
    Parameter::of_model(
        "headroom",
        15,
        0,
        99,
        "part of the long-term bound left to others in Cruise, percent",
    ),
    Parameter::of_model(
        "startup_full_loss_cnt",
        6,
        1,
        1000,
        "ACKs with loss in a round trip that end Startup",
    ),
    Parameter::of_model("min_rtt_filter_len", 10, 1, 3600, "how long the least round-trip time counts, s"),
    Parameter::of_model("probe_rtt_interval", 5, 1, 3600, "time from one ProbeRTT to the next, s"),
    Parameter::of_model("probe_rtt_duration", 200, 1, 10_000, "how long ProbeRTT lasts at least, ms"),
    Parameter::of_model("pacing_margin_percent", 1, 0, 50, "how far below the rate it paces, percent"),
];

/// The values in use. Gains and shares are in percent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub startup_gain: u64,
    pub drain_gain: u64,
    pub down_gain: u64,
    pub up_gain: u64,
    pub cwnd_gain: u64,
    pub up_cwnd_gain: u64,
    pub probe_rtt_cwnd_gain: u64,
    pub loss_most: u64,
    pub beta: u64,
    /// Of the long-term bound this is used while cruising.
    pub headroom_keeps: u64,
    pub startup_losses: u64,
    pub min_rtt_ticks: u64,
    pub probe_rtt_interval: u64,
    pub probe_rtt_ticks: u64,
    /// Of a million bytes a second it paces at so many.
    pub paced_of_million: u64,
}

impl Settings {
    pub fn of(values: &Values) -> Settings {
        Settings {
            startup_gain: values.count("startup_pacing_gain"),
            drain_gain: values.count("drain_pacing_gain"),
            down_gain: values.count("probe_bw_down_pacing_gain"),
            up_gain: values.count("probe_bw_up_pacing_gain"),
            cwnd_gain: values.count("cwnd_gain"),
            up_cwnd_gain: values.count("probe_bw_up_cwnd_gain"),
            probe_rtt_cwnd_gain: values.count("probe_rtt_cwnd_gain"),
            loss_most: values.count("loss_thresh"),
            beta: values.count("beta"),
            headroom_keeps: 100 - values.count("headroom"),
            startup_losses: values.count("startup_full_loss_cnt"),
            min_rtt_ticks: values.count("min_rtt_filter_len") * HZ,
            probe_rtt_interval: values.count("probe_rtt_interval") * HZ,
            probe_rtt_ticks: values.count("probe_rtt_duration") * HZ / 1000,
            paced_of_million: 10_000 * (100 - values.count("pacing_margin_percent")),
        }
    }
}
