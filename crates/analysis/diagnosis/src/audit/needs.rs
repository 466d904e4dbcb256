//! The needs of a path as formulas. Each is a pure function of the path, the profile and the kernel.

use super::path::{Path, Profile};
use serde::Serialize;

/// The largest value of a sysctl that the kernel keeps in an `int` (kernel/sysctl.c, `proc_dointvec`).
pub const INT31: u64 = i32::MAX as u64;

/// The largest TCP window in bytes: 65,535 shifted by 14 (RFC 7323, section 2.3).
pub const MAX_WINDOW_BYTES: u64 = 65_535 << 14;

/// Bytes of an Ethernet frame around its IP packet: preamble 8, header 14, checksum 4, gap 12 (IEEE 802.3).
pub const FRAME_OVERHEAD_BYTES: u64 = 38;

/// Packets that one poll of a queue takes at most (`NAPI_POLL_WEIGHT` of include/linux/netdevice.h).
pub const POLL_PACKETS: u64 = 64;

/// Share of a receive buffer that the kernel offers as window: half.
///
/// Linux 6.6 and later begin with `TCP_DEFAULT_SCALING_RATIO`, 128 of 256. Earlier kernels use `tcp_adv_win_scale`,
/// whose default 1 is half, too (Documentation/networking/ip-sysctl.rst).
pub const WINDOW_SHARE: f64 = 0.5;

/// Rate in bit/s of one flow on one core with an MTU of 9000 (kit-2019, single pair).
pub const CORE_JUMBO_BPS: u64 = 43_000_000_000;

/// The same with an MTU of 1500.
pub const CORE_1500_BPS: u64 = 25_000_000_000;

/// Rate in bit/s over the link between two sockets, in one direction (kit-2019, QPI of Xeon E5 v3).
pub const SOCKET_LINK_BPS: u64 = 68_000_000_000;

/// A value with its derivation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Need {
    /// The value.
    pub value: u64,
    /// Its unit.
    pub unit: &'static str,
    /// The formula with its numbers.
    pub formula: String,
}

/// Rate for people: `100 Gbit/s`.
pub fn rate(bps: u64) -> String {
    let (value, unit) = match bps {
        1_000_000_000.. => (bps as f64 / 1e9, "Gbit/s"),
        _ => (bps as f64 / 1e6, "Mbit/s"),
    };
    format!("{} {unit}", short(value))
}

/// Time for people: `20 ms`.
pub fn time(ns: i64) -> String {
    match ns {
        1_000_000_000.. => format!("{} s", short(ns as f64 / 1e9)),
        1_000_000.. => format!("{} ms", short(ns as f64 / 1e6)),
        _ => format!("{} us", short(ns as f64 / 1e3)),
    }
}

/// At most two decimals, and no zeros at the end.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Bandwidth-delay product in bytes: rate x RTT / 8.
pub fn bdp_bytes(path: &Path) -> u64 {
    let bits = u128::from(path.rate_bps) * path.rtt_ns.max(0) as u128 / 1_000_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

/// Window of a flow in bytes: twice its share of the bandwidth-delay product, at most 1 GiB.
///
/// Once for the packets in flight. Once for a queue as long as the path, or for a flow with twice its share.
pub fn window(path: &Path) -> Need {
    let bdp = bdp_bytes(path);
    let value = (bdp.saturating_mul(2) / path.flows()).min(MAX_WINDOW_BYTES);
    let bound = if value == MAX_WINDOW_BYTES { ", at most 1 GiB" } else { "" };
    let formula = format!(
        "2 x {} x {} / 8 / {} flows = {value}{bound}",
        rate(path.rate_bps),
        time(path.rtt_ns),
        path.flows()
    );
    Need { value, unit: "bytes", formula }
}

/// Share of a receive buffer that is offered as window.
///
/// # Arguments
/// `adv_win_scale` is `net.ipv4.tcp_adv_win_scale`, and none in kernels since 6.6, which do not use it.
pub fn window_share(adv_win_scale: Option<i64>) -> f64 {
    match adv_win_scale {
        None => WINDOW_SHARE,
        // The kernel's limits are -31 and 31.
        Some(scale) if scale > 0 => 1.0 - 0.5_f64.powi(scale.min(31) as i32),
        Some(scale) => 0.5_f64.powi(scale.unsigned_abs().min(31) as i32),
    }
}

/// Third value of `net.ipv4.tcp_rmem` in bytes: the window divided by the share that is offered, at most 2^31-1.
pub fn receive_buffer(path: &Path, adv_win_scale: Option<i64>) -> Need {
    let window = window(path);
    let share = window_share(adv_win_scale);
    let value = ((window.value as f64 / share).ceil() as u64).min(INT31);
    let formula = format!("window / share: ({}) / {} = {value}", window.formula, short(share));
    Need { value, unit: "bytes", formula }
}

/// Third value of `net.ipv4.tcp_wmem` in bytes: twice the window, at most 2^31-1.
///
/// The kernel grows the buffer to twice the congestion window (net/ipv4/tcp_input.c, `tcp_sndbuf_expand`).
pub fn send_buffer(path: &Path) -> Need {
    let window = window(path);
    let value = (2 * window.value).min(INT31);
    Need { value, unit: "bytes", formula: format!("2 x window: 2 x ({}) = {value}", window.formula) }
}

/// `net.core.rmem_max` and `wmem_max` in bytes: the window, or one pause of datagrams.
///
/// The kernel doubles what an application requests with SO_RCVBUF (socket(7)), so no second factor is needed.
pub fn requested_buffer(path: &Path, profile: Profile) -> Need {
    let window = window(path);
    let pause = profile.pause_us();
    let datagrams = u64::try_from(u128::from(path.rate_bps) * u128::from(pause) / 8_000_000).unwrap_or(INT31);
    if window.value >= datagrams {
        return Need { formula: format!("window: {}", window.formula), ..window };
    }
    let value = datagrams.min(INT31);
    let formula = format!("{} x {pause} us / 8 = {value}", rate(path.rate_bps));
    Need { value, unit: "bytes", formula }
}

/// Second value of `net.ipv4.tcp_mem` in pages: buffers of all flows. Above it, buffers stop growing (tcp(7)).
pub fn memory_pages(path: &Path, adv_win_scale: Option<i64>, page_bytes: u64) -> Need {
    let buffer = receive_buffer(path, adv_win_scale).value.max(send_buffer(path).value);
    let value = (path.flows() * buffer).div_ceil(page_bytes.max(1));
    let formula = format!("{} flows x {buffer} bytes / {page_bytes} bytes = {value}", path.flows());
    Need { value, unit: "pages", formula }
}

/// Packets of the path's MTU in a second, at its rate.
pub fn packets_per_s(path: &Path) -> u64 {
    path.rate_bps / ((path.mtu_bytes + FRAME_OVERHEAD_BYTES) * 8)
}

/// Packets that arrive in some microseconds, rounded up.
fn packets_in(path: &Path, us: u64) -> u64 {
    (packets_per_s(path) * us).div_ceil(1_000_000)
}

fn packets_formula(path: &Path, us: &str, value: u64) -> String {
    format!(
        "{} / ({} + {FRAME_OVERHEAD_BYTES}) bytes x {us} us = {value}",
        rate(path.rate_bps),
        path.mtu_bytes
    )
}

/// `net.core.netdev_max_backlog` in packets: those of one pause of the core, at least the kernel's default 1000.
pub fn backlog(path: &Path, profile: Profile) -> Need {
    let pause = profile.pause_us();
    let arriving = packets_in(path, pause);
    let value = arriving.max(1000);
    let formula = match arriving < 1000 {
        true => format!("{}, at least 1000", packets_formula(path, &pause.to_string(), arriving)),
        false => packets_formula(path, &pause.to_string(), value),
    };
    Need { value, unit: "packets", formula }
}

/// `net.core.netdev_budget` in packets: those of 1 ms on a core that serves its share of the flows, at least 300.
pub fn budget(path: &Path, queues: u64) -> Need {
    let share = path.flows().min(queues.max(1));
    let arriving = packets_in(path, 1000) / share;
    let value = arriving.max(300);
    let formula =
        format!("{} / {share} cores = {arriving}", packets_formula(path, "1000", packets_in(path, 1000)));
    Need { value, unit: "packets", formula }
}

/// Receive descriptors of a queue: packets of one pause and of the interrupt moderation, as a power of two.
///
/// All flows may arrive on one queue, so a queue is sized for the rate of the path.
pub fn receive_ring(path: &Path, profile: Profile, moderation_us: u64) -> Need {
    let us = profile.pause_us() + moderation_us;
    let arriving = packets_in(path, us);
    let value = arriving.next_power_of_two();
    let sum = if moderation_us == 0 {
        us.to_string()
    } else {
        format!("({} + {moderation_us})", us - moderation_us)
    };
    let formula = format!("{}, next power of two: {value}", packets_formula(path, &sum, arriving));
    Need { value, unit: "descriptors", formula }
}

/// Packets that the queue of the sending interface must hold.
///
/// Since Linux 3.6 a socket has at most 1 ms of data in it (`tcp_small_queue_check` of net/ipv4/tcp_output.c); twice that leaves
/// room for acknowledgements. Before, slow start filled it with a bandwidth-delay product (onl-wiki).
pub fn queue(path: &Path, has_small_queues: bool) -> Need {
    let (value, formula) = match has_small_queues {
        true => {
            let value = packets_in(path, 2000);
            (value, packets_formula(path, "2000", value))
        }
        false => {
            let value = bdp_bytes(path).div_ceil(path.mtu_bytes.max(1));
            let (rate, time) = (rate(path.rate_bps), time(path.rtt_ns));
            (value, format!("{rate} x {time} / 8 / {} bytes = {value}", path.mtu_bytes))
        }
    };
    Need { value, unit: "packets", formula }
}

/// Microseconds of interrupt moderation: those in which one poll's packets arrive, from 8 to 125.
///
/// cornell-2010 ran at most 8,000 interrupts a second, one each 125 us. 8 us is the usual default of fast drivers.
pub fn moderation(path: &Path) -> Need {
    let exact = POLL_PACKETS * 1_000_000 / packets_per_s(path).max(1);
    let value = exact.clamp(8, 125);
    let (mtu, rate) = (path.mtu_bytes, rate(path.rate_bps));
    let formula = format!(
        "{POLL_PACKETS} x ({mtu} + {FRAME_OVERHEAD_BYTES}) bytes / {rate} = {exact} us, from 8 to 125"
    );
    Need { value, unit: "us", formula }
}

/// Pacing rate of a flow in bit/s: its share of the rate. None if the path's buffer holds a bandwidth-delay product.
pub fn pacing(path: &Path) -> Option<Need> {
    if path.buffer_bytes? >= bdp_bytes(path) {
        return None;
    }
    let value = path.rate_bps / path.flows();
    let formula = format!("{} / {} flows = {}", rate(path.rate_bps), path.flows(), rate(value));
    Some(Need { value, unit: "bit/s", formula })
}

/// Rate in bit/s that one flow cannot exceed: 1 GiB in a round trip. None without a round-trip time.
pub fn window_ceiling_bps(path: &Path) -> Option<u64> {
    let ns = u128::try_from(path.rtt_ns).ok().filter(|ns| *ns > 0)?;
    u64::try_from(u128::from(MAX_WINDOW_BYTES) * 8_000_000_000 / ns).ok()
}

/// Rate in bit/s of one flow on one core, by measurements of kit-2019: 43 Gbit/s with jumbo frames, 25 without.
pub fn core_ceiling_bps(path: &Path) -> u64 {
    if path.mtu_bytes >= 4000 { CORE_JUMBO_BPS } else { CORE_1500_BPS }
}

/// Flows with which neither the window nor a core limits the rate.
pub fn flows(path: &Path) -> Need {
    let core = core_ceiling_bps(path);
    let window = window_ceiling_bps(path).unwrap_or(u64::MAX);
    let value = path.rate_bps.div_ceil(core.min(window).max(1)).max(1);
    let least = if core < window { "a core carries" } else { "a window of 1 GiB carries" };
    let formula = format!("{} / {} that {least} = {value}", rate(path.rate_bps), rate(core.min(window)));
    Need { value, unit: "flows", formula }
}

/// Seconds in which Reno recovers from a loss: W rounds with delayed ACKs, W in packets (RFC 5681, section 3.1).
pub fn reno_recovery_s(path: &Path) -> f64 {
    packets_in_flight(path) * path.rtt_s()
}

/// Seconds in which CUBIC recovers from a loss: K = cbrt(W x 0.3 / 0.4), W in packets (RFC 9438, section 4.2).
pub fn cubic_recovery_s(path: &Path) -> f64 {
    (packets_in_flight(path) * 0.3 / 0.4).cbrt()
}

/// Packets of one flow in flight at its share of the rate.
pub fn packets_in_flight(path: &Path) -> f64 {
    bdp_bytes(path) as f64 / path.flows() as f64 / path.mtu_bytes.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(gbit: u64, ms: i64, mtu: u64, flows: u32) -> Path {
        Path {
            rate_bps: gbit * 1_000_000_000,
            rtt_ns: ms * 1_000_000,
            mtu_bytes: mtu,
            flows,
            buffer_bytes: None,
        }
    }

    #[test]
    fn buffers_follow_from_the_bandwidth_delay_product() {
        let kit = path(100, 20, 9000, 4);
        assert_eq!(bdp_bytes(&kit), 250_000_000);
        assert_eq!(window(&kit).value, 125_000_000);
        assert_eq!(receive_buffer(&kit, None).value, 250_000_000);
        assert_eq!(send_buffer(&kit).value, 250_000_000);
        // tcp_adv_win_scale 2 offers three quarters.
        assert_eq!(receive_buffer(&kit, Some(2)).value, 166_666_667);
        assert_eq!(memory_pages(&kit, None, 4096).value, 244_141);
        assert_eq!(window(&kit).formula, "2 x 100 Gbit/s x 20 ms / 8 / 4 flows = 125000000");
    }

    #[test]
    fn values_stop_at_the_limits_of_tcp_and_of_the_kernel() {
        let long = path(400, 100, 9000, 1);
        assert_eq!(window(&long).value, 1_073_725_440);
        assert_eq!(receive_buffer(&long, Some(0)).value, 1_073_725_440);
        assert_eq!(receive_buffer(&long, None).value, 2_147_450_880);
        assert_eq!(receive_buffer(&long, Some(-2)).value, INT31);
        assert_eq!(window_ceiling_bps(&long), Some(85_898_035_200));
        assert_eq!(flows(&long).value, 10);
        assert_eq!(window_ceiling_bps(&path(400, 0, 9000, 1)), None);
        assert_eq!(bdp_bytes(&Path { rtt_ns: i64::MAX, rate_bps: u64::MAX, ..long }), u64::MAX);
    }

    #[test]
    fn queues_follow_from_packets_in_a_pause() {
        let kit = path(100, 20, 9000, 4);
        assert_eq!(packets_per_s(&kit), 1_383_049);
        assert_eq!(backlog(&kit, Profile::Wan).value, 5533);
        assert_eq!(receive_ring(&kit, Profile::Wan, 0).value, 8192);
        assert_eq!(backlog(&path(1, 1, 1500, 1), Profile::Lan).value, 1000);
        assert_eq!(receive_ring(&path(1, 1, 1500, 1), Profile::Lan, 0).value, 256);
        // onl-wiki: a bandwidth-delay product of about 4,167 packets.
        assert_eq!(queue(&path(1, 50, 1500, 1), false).value, 4167);
        assert_eq!(queue(&path(1, 50, 1500, 1), true).value, 163);
        assert_eq!(moderation(&kit).value, 46);
        assert_eq!(moderation(&path(1, 1, 1500, 1)).value, 125);
    }

    #[test]
    fn datagrams_of_cornell_need_more_than_one_megabyte_and_less_than_two() {
        let udp = Path { rate_bps: 2_400_000_000, ..path(1, 1, 1500, 1) };
        assert_eq!(requested_buffer(&udp, Profile::Wan).value, 1_200_000);
    }

    #[test]
    fn shallow_buffers_need_pacing() {
        let deep = Path { buffer_bytes: Some(250_000_000), ..path(100, 20, 9000, 4) };
        assert_eq!(pacing(&deep), None);
        let shallow = Path { buffer_bytes: Some(10_000_000), ..deep };
        assert_eq!(pacing(&shallow).unwrap().value, 25_000_000_000);
        assert_eq!(pacing(&path(100, 20, 9000, 4)), None);
    }

    #[test]
    fn recovery_times_are_those_of_the_sources() {
        // onl-wiki: 4167 packets at 50 ms take 417 s for a bandwidth-delay product, and half of it after a loss.
        assert!((reno_recovery_s(&path(1, 50, 1500, 1)) - 208.3).abs() < 0.1);
        assert!((cubic_recovery_s(&path(100, 20, 9000, 4)) - 17.33).abs() < 0.01);
    }
}
