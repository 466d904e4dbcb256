//! The samples of a flow, summed up by interval.

use crate::thresholds::{BURST, HOST_DELAY, MOSTLY, OVERFULL, STEADY_QUEUE, WAITING};
use wirespeed_metrics::{Values, View};
use wirespeed_record::{FlowInfo, FlowSample, Transport};

/// An interval of a flow.
pub(super) struct Evidence<'a> {
    pub(super) flow: u32,
    pub(super) info: &'a FlowInfo,
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    /// Growth of [`FlowSample::delivered_bytes`].
    pub(super) delivered: f64,
    /// Growth of [`FlowSample::busy_ns`], of which so much by the receive window and the send buffer.
    pub(super) busy: f64,
    pub(super) by_window: f64,
    pub(super) by_buffer: f64,
    pub(super) lost: bool,
    /// The part of the packets that were retransmissions.
    pub(super) again: f64,
    /// Unread part of the receive buffer, 0 to 1, median of the samples; NaN if it is unknown.
    pub(super) unread: f64,
    /// So long the receiver's room lasts at the rate of the interval.
    pub(super) room_ns: f64,
    /// The part of the samples in which nothing waited to be sent.
    pub(super) starved: f64,
    /// The part of the congestion window that was in flight.
    pub(super) in_flight: f64,
    /// The delivery rate that a tenth of the samples reached, in bit/s; not a number if it is not known.
    pub(super) fast: f64,
    /// Mean over the samples of the interval.
    pub(super) rtt: f64,
    /// Its 10th percentile and its median.
    pub(super) low_rtt: f64,
    pub(super) middle_rtt: f64,
    /// The least until its end.
    pub(super) least_rtt: f64,
}

/// The samples at both ends of an interval, and the first one of its flow.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    from: usize,
    to: usize,
}

/// All intervals, flow by flow. Every column is read once, for all flows: it may be on disk.
pub(super) fn evidence<'a>(view: &View<'a>, length_ns: i64) -> Vec<Evidence<'a>> {
    let samples = &view.flow_samples;
    let times = samples.times();
    // On a busy machine the two ends of a flow are read at different times: an interval lies between samples of the sender.
    let of_sender: Vec<bool> =
        samples.column(FlowSample::busy_ns).iter().map(|value| !value.is_nan()).collect();
    let mut all = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    for flow in &view.flows {
        let Some(info) = flow.info.filter(|info| info.kind == Transport::Tcp) else { continue };
        let mut from = flow.samples.start;
        let is_known = of_sender[flow.samples.clone()].contains(&true);
        for to in flow.samples.clone().skip(1) {
            let is_whole = times[to] - times[from] >= length_ns && (of_sender[to] || !is_known);
            if !is_whole && to + 1 < flow.samples.end {
                continue;
            }
            spans.push(Span { first: flow.samples.start, from, to });
            all.push(Evidence {
                flow: flow.number,
                info,
                from_ns: times[from],
                to_ns: times[to],
                delivered: 0.0,
                busy: 0.0,
                by_window: 0.0,
                by_buffer: 0.0,
                lost: false,
                again: 0.0,
                unread: f64::NAN,
                room_ns: f64::NAN,
                starved: 0.0,
                in_flight: f64::NAN,
                fast: f64::NAN,
                rtt: f64::NAN,
                low_rtt: f64::NAN,
                middle_rtt: f64::NAN,
                least_rtt: f64::INFINITY,
            });
            from = to;
        }
    }
    // A column is let go before the next one is read.
    let mut each = |values: Values, put: &dyn Fn(&mut Evidence<'a>, &[f64], Span)| {
        all.iter_mut().zip(&spans).for_each(|(evidence, span)| put(evidence, &values, *span));
    };
    // A sample without a count: the flow has not begun, the count has not changed, or its end of the flow was read later.
    let growth = |values: &[f64], span: Span| {
        let until = |at: usize| values[span.first..=at].iter().rev().find(|value| !value.is_nan());
        // A count that no sample has is unknown, not 0.
        until(span.to).map_or(f64::NAN, |value| value - until(span.from).unwrap_or(&0.0))
    };
    each(samples.column(FlowSample::delivered_bytes), &|e, values, span| {
        let delivered = growth(values, span);
        e.delivered = if delivered.is_nan() { 0.0 } else { delivered };
    });
    each(samples.column(FlowSample::busy_ns), &|e, values, span| e.busy = growth(values, span));
    each(samples.column(FlowSample::rwnd_limited_ns), &|e, values, span| e.by_window = growth(values, span));
    each(samples.column(FlowSample::sndbuf_limited_ns), &|e, values, span| {
        e.by_buffer = growth(values, span)
    });
    each(samples.column(FlowSample::retrans_packets), &|e, values, span| {
        e.again = growth(values, span);
        e.lost = e.again > 0.0;
    });
    each(samples.column(FlowSample::data_packets_out), &|e, values, span| {
        let sent = growth(values, span);
        e.again = if sent > 0.0 { e.again / sent } else { 0.0 };
    });
    each(samples.column(FlowSample::ca_state), &|e, values, span| {
        e.lost |= values[span.from..=span.to].iter().any(|state| *state >= 2.0);
    });
    let known = |values: &[f64], span: Span| -> Vec<f64> {
        values[span.from..=span.to].iter().copied().filter(|value| !value.is_nan()).collect()
    };
    each(samples.column(FlowSample::notsent_bytes), &|e, values, span| {
        let all = known(values, span);
        let empty = all.iter().filter(|bytes| **bytes == 0.0).count();
        e.starved = if all.is_empty() { 0.0 } else { empty as f64 / all.len() as f64 };
    });
    each(samples.column(FlowSample::unacked_packets), &|e, values, span| {
        e.in_flight = mean(&values[span.from..=span.to]);
    });
    each(samples.column(FlowSample::mss_bytes), &|e, values, span| {
        e.in_flight *= mean(&values[span.from..=span.to]);
    });
    each(samples.column(FlowSample::cwnd_bytes), &|e, values, span| {
        e.in_flight /= mean(&values[span.from..=span.to]);
    });
    each(samples.column(FlowSample::delivery_rate_bps), &|e, values, span| {
        let mut here = known(values, span);
        here.sort_by(f64::total_cmp);
        e.fast = here.get(here.len() * 9 / 10).copied().unwrap_or(f64::NAN);
    });
    each(samples.column(FlowSample::rtt_ns), &|e, values, span| {
        let mut here = known(values, span);
        e.rtt = here.iter().sum::<f64>() / here.len().max(1) as f64;
        here.sort_by(f64::total_cmp);
        let at = |part: usize| here.get(here.len() * part / 10).copied().unwrap_or(f64::NAN);
        (e.low_rtt, e.middle_rtt) = (at(1), at(5));
    });
    each(samples.column(FlowSample::min_rtt_ns), &|e, values, span| {
        e.least_rtt = known(values, span).into_iter().fold(f64::INFINITY, f64::min);
    });
    // Three columns at once: only where a window asks for it.
    if all.iter().any(Evidence::is_by_window) {
        let columns =
            [FlowSample::delivered_bytes, FlowSample::read_bytes].map(|column| samples.column(column));
        let window = samples.column(FlowSample::snd_wnd_bytes);
        for (evidence, span) in all.iter_mut().zip(&spans) {
            let part = |at: usize| {
                let unread = columns[0][at] - columns[1][at];
                // Not a number stays one.
                let unread = if unread < 0.0 { 0.0 } else { unread };
                (unread / (unread + window[at] + 1.0), unread + window[at])
            };
            let mut parts: Vec<(f64, f64)> =
                (span.from..=span.to).map(part).filter(|(part, _)| !part.is_nan()).collect();
            parts.sort_by(|a, b| a.0.total_cmp(&b.0));
            let room = parts.iter().map(|(_, room)| room).sum::<f64>() / parts.len().max(1) as f64;
            evidence.room_ns =
                room / evidence.delivered.max(1.0) * (evidence.to_ns - evidence.from_ns) as f64;
            evidence.unread = parts.get(parts.len() / 2).map_or(f64::NAN, |(part, _)| *part);
        }
    }
    for index in 1..all.len() {
        if all[index - 1].flow == all[index].flow {
            all[index].least_rtt = all[index].least_rtt.min(all[index - 1].least_rtt);
        }
    }
    all
}

/// Mean of the recorded values; not a number without any.
fn mean(values: &[f64]) -> f64 {
    let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    if known.is_empty() { f64::NAN } else { known.iter().sum::<f64>() / known.len() as f64 }
}

impl Evidence<'_> {
    /// TCP's own account: the receive window stopped it for most of the time in which it had something to send.
    pub(super) fn is_by_window(&self) -> bool {
        self.busy > 0.0 && self.by_window / self.busy >= MOSTLY.value
    }

    /// The application supplies less than the window takes.
    pub(super) fn is_starved(&self) -> bool {
        self.starved >= MOSTLY.value && self.in_flight < MOSTLY.value
    }

    /// Payload delivered per second.
    pub(super) fn rate_bps(&self) -> f64 {
        self.delivered / (self.to_ns - self.from_ns) as f64 * 8e9
    }

    /// The time that nearly all packets wait beyond the least round trip.
    pub(super) fn queue_ns(&self) -> f64 {
        self.low_rtt - self.least_rtt
    }

    /// Packets wait on the path even when the fewest do. Round trips that only vary do not show a queue.
    /// Neither do the delays of a machine whose threads wait for a core (`is_late`), or which forwards bursts slowly.
    pub(super) fn has_standing_queue(&self, is_late: bool) -> bool {
        self.low_rtt > WAITING.value * self.least_rtt
            && self.low_rtt >= STEADY_QUEUE.value * self.middle_rtt
            && (!is_late || self.queue_ns() > HOST_DELAY.value)
            && !self.is_in_bursts()
    }

    /// A queue grew before the packets that were lost. The delay of a machine is not a queue.
    pub(super) fn is_queued(&self) -> bool {
        self.low_rtt > WAITING.value * self.least_rtt
            && self.queue_ns() > HOST_DELAY.value
            && !self.is_in_bursts()
    }

    /// The flow keeps at least as much in a queue of the path as the path itself holds: a larger window would only wait there.
    pub(super) fn is_overfull(&self) -> bool {
        self.low_rtt >= OVERFULL.value * self.least_rtt && self.is_queued()
    }

    /// Packets leave a queue that is never empty at one rate. A policer lets them pass as fast as they arrive.
    fn is_in_bursts(&self) -> bool {
        self.fast >= BURST.value * self.rate_bps()
    }
}
