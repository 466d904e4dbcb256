//! A flow's state as a row of a recording.

use super::flow::{Endpoint, Flow, Tcp};
use crate::host::Host;
use crate::tcp::sender::State;
use wirespeed_congestion::{Observer, Phase};
use wirespeed_record::FlowSample;
use wirespeed_scenario::run::Run;
use wirespeed_units::SimTime;

/// Makes `row`, whatever it held, the state of flow number `index` at `now`; `reader` is the inside of the host that
/// receives, if it shows it.
pub(super) fn fill_flow(
    row: &mut FlowSample,
    index: usize,
    run: &Run,
    flow: &Flow,
    reader: Option<&Host>,
    now: SimTime,
) {
    match &flow.endpoint {
        Endpoint::Tcp(tcp) if tcp.sender.state().established() => {
            let limit = run.flows[index].bytes.map_or(u64::MAX, |bytes| bytes.get());
            row.t_ns = now.nanoseconds();
            row.flow = index as u32;
            fill_ends(row, tcp, limit);
            fill_connection(row, tcp.sender.state(), now);
        }
        Endpoint::Tcp(tcp) => {
            let limit = run.flows[index].bytes.map_or(u64::MAX, |bytes| bytes.get());
            *row = FlowSample::empty(now.nanoseconds(), index as u32);
            fill_ends(row, tcp, limit);
        }
        Endpoint::Udp(udp) => {
            // A reader that has no machine is never late.
            let read =
                reader.and_then(|host| host.datagrams(index as u32)).map_or(udp.arrived, |(_, read)| read);
            *row = FlowSample {
                delivered_bytes: Some(udp.arrived * u64::from(udp.payload)),
                read_bytes: Some(read * u64::from(udp.payload)),
                sent_bytes: Some(udp.sent * u64::from(udp.payload)),
                data_packets_out: Some(udp.sent),
                data_packets_in: Some(udp.arrived),
                ..FlowSample::empty(now.nanoseconds(), index as u32)
            };
        }
    }
}

/// What is known of a connection before it is established.
#[inline]
fn fill_ends(row: &mut FlowSample, tcp: &Tcp, limit: u64) {
    let state = tcp.sender.state();
    let sent = state.counts();
    row.sent_bytes = Some(sent.bytes_out);
    row.data_packets_out = Some(sent.packets_out);
    row.retrans_bytes = Some(sent.retransmitted_bytes);
    row.retrans_packets = Some(sent.retransmitted);
    row.acked_bytes = Some(tcp.sender.bytes(state.una()).min(limit));
    row.mss_bytes = Some(state.mss());
    let received = tcp.receiver.counts();
    row.delivered_bytes = Some(tcp.receiver.delivered_bytes().min(limit));
    row.read_bytes = Some(tcp.receiver.read_bytes().min(limit));
    row.data_packets_in = Some(received.packets_in);
    row.ooo_packets = Some(received.out_of_order as u32);
    let (space, rtt_us) = tcp.receiver.tuning();
    row.rcv_space_bytes = Some(space.min(u64::from(u32::MAX)) as u32);
    row.rcv_rtt_ns = (rtt_us > 0).then_some(rtt_us * 1000);
}

/// All the rest, each column: the row may still hold another flow's.
#[inline]
fn fill_connection(row: &mut FlowSample, state: State<'_>, now: SimTime) {
    let mss = u64::from(state.mss());
    row.cwnd_bytes = Some(state.cwnd() * mss);
    row.ssthresh_bytes = state.ssthresh().map(|packets| packets.saturating_mul(mss));
    let rtt = state.rtt();
    row.rtt_ns = Some(rtt.smoothed() * 1000).filter(|rtt| *rtt > 0);
    row.rttvar_ns = Some(rtt.deviation() * 1000);
    row.min_rtt_ns = (rtt.minimum() < i64::MAX).then(|| rtt.minimum() * 1000);
    row.rto_ns = Some(rtt.rto * 1_000_000);
    let [unacked, sacked, lost, retransmitted] = state.out().map(|n| n.min(u64::from(u32::MAX)) as u32);
    row.unacked_packets = Some(unacked);
    row.sacked_packets = Some(sacked);
    row.lost_packets = Some(lost);
    row.retrans_out_packets = Some(retransmitted);
    row.ca_state = Some(phase_number(state.phase()));
    row.backoff = Some(rtt.backoff);
    let delivery = state.delivery();
    row.delivered_packets = Some(delivery.delivered);
    row.delivered_ce_packets = Some(delivery.delivered_ce);
    let latest = delivery.latest();
    row.delivery_rate_bps = latest.and_then(|(packets, micros, _)| rate_bps(packets * mss, micros));
    row.delivery_app_limited = latest.map(|(_, _, limited)| limited);
    row.pacing_rate_bps = state.pacing_rate().map(|rate| rate.saturating_mul(8));
    let [busy, window, buffer] = state.limits(now);
    row.busy_ns = Some(busy);
    row.rwnd_limited_ns = Some(window);
    row.sndbuf_limited_ns = Some(buffer);
    row.reordering_packets = Some(state.reordering() as u32);
    let counts = state.counts();
    row.reordering_seen = Some(counts.reorderings);
    row.dsack_dups = Some(counts.duplicates.min(u64::from(u32::MAX)) as u32);
    row.rto_count = Some(counts.timeouts);
    row.notsent_bytes = Some(state.unsent_bytes().min(u64::from(u32::MAX)) as u32);
    row.snd_wnd_bytes = Some(state.window().min(u64::from(u32::MAX)) as u32);
    row.bbr_bw_bps = None;
    row.bbr_min_rtt_ns = None;
    row.bbr_pacing_gain_ratio = None;
    row.bbr_cwnd_gain_ratio = None;
    row.vegas_enabled = None;
    row.vegas_rtt_count = None;
    row.vegas_rtt_ns = None;
    row.vegas_min_rtt_ns = None;
    row.dctcp_alpha_ratio = None;
    if let Some(congestion) = state.congestion() {
        congestion.observe_inside(&mut Private { row });
    }
}

/// `bytes` in `micros` microseconds, in bit/s.
#[inline]
fn rate_bps(bytes: u64, micros: i64) -> Option<u64> {
    let micros = micros.max(1).unsigned_abs();
    match bytes.checked_mul(8_000_000) {
        Some(product) => Some(product / micros),
        // A division of 128 bits is slow, and seldom needed.
        None => u64::try_from(u128::from(bytes) * 8_000_000 / u128::from(micros)).ok(),
    }
}

/// Puts an algorithm's own state where the kernel's would stand.
struct Private<'a> {
    row: &'a mut FlowSample,
}

impl Observer for Private<'_> {
    fn value(&mut self, name: &'static str, value: f64) {
        let row = &mut *self.row;
        match name {
            "bandwidth_bps" => row.bbr_bw_bps = Some(value as u64),
            "min_rtt_us" => row.bbr_min_rtt_ns = Some((value * 1000.0) as i64),
            "pacing_gain_ratio" => row.bbr_pacing_gain_ratio = Some(value),
            "cwnd_gain_ratio" => row.bbr_cwnd_gain_ratio = Some(value),
            "alpha_ratio" => row.dctcp_alpha_ratio = Some(value),
            "base_rtt_us" => row.vegas_rtt_ns = Some((value * 1000.0) as i64),
            "least_rtt_us" => row.vegas_min_rtt_ns = Some((value * 1000.0) as i64),
            "rtt_samples" => row.vegas_rtt_count = Some(value as u32),
            _ => {}
        }
    }
}

fn phase_number(phase: Phase) -> u32 {
    match phase {
        Phase::Open => 0,
        Phase::Disorder => 1,
        Phase::Cwr => 2,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}
