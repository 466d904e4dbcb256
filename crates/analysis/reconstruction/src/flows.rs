//! Samples of flows.

use crate::sampler::{FlowKey, Row, Sampler};
use wirespeed_pair::Clock;
use wirespeed_record::FlowSample;
use wirespeed_trace::{ConnectionTrace, FlowTrace, Position, Trace};

/// A flow with less than this part of the payload of the largest is left out, such as a control connection.
const LEAST_SHARE: f64 = 1e-4;
/// A recording has at most so many flows.
const MOST_FLOWS: usize = 1_024;

/// A flow of a capture.
pub(crate) struct Found<'a> {
    pub connection: &'a ConnectionTrace,
    pub flow: &'a FlowTrace,
    /// The client sends its data.
    pub is_from_client: bool,
}

impl Found<'_> {
    pub(crate) fn key(&self) -> FlowKey {
        (self.connection.number, usize::from(!self.is_from_client))
    }

    /// Sender and receiver, with ports.
    pub(crate) fn ends(&self) -> [&str; 2] {
        let (client, server) = (self.connection.client.as_str(), self.connection.server.as_str());
        if self.is_from_client { [client, server] } else { [server, client] }
    }
}

/// The flows of a capture that belong into a recording, largest first; and how many do not.
pub(crate) fn found(trace: &Trace) -> (Vec<Found<'_>>, usize) {
    let mut all: Vec<Found<'_>> = Vec::new();
    for connection in &trace.connections {
        for (flow, is_from_client) in [(&connection.from_client, true), (&connection.from_server, false)] {
            if let Some(flow) = flow {
                all.push(Found { connection, flow, is_from_client });
            }
        }
    }
    let total = all.len();
    all.sort_by_key(|found| (std::cmp::Reverse(found.flow.unique_bytes), found.key()));
    let least = all.first().map_or(0.0, |largest| largest.flow.unique_bytes as f64 * LEAST_SHARE);
    all.retain(|found| found.flow.unique_bytes > 0 && found.flow.unique_bytes as f64 >= least);
    all.truncate(MOST_FLOWS);
    let left_out = total - all.len();
    (all, left_out)
}

/// The receiver's capture of a flow.
pub(crate) struct Receiver<'a> {
    pub sampler: &'a Sampler,
    pub key: FlowKey,
    /// Turns times of the receiver's capture into those of the recording.
    pub time: &'a dyn Fn(i64) -> i64,
}

/// Time of the recording when the second clock shows `t_ns` nanoseconds after the first packet of its capture.
pub(crate) fn of_second(clock: &Clock, origins_ns: [i64; 2], t_ns: i64) -> i64 {
    clock.in_first(t_ns + origins_ns[1] - origins_ns[0])
}

/// The samples of a flow. `time` turns times of the sender's capture into those of the recording.
pub(crate) fn samples(
    number: u32,
    found: &Found<'_>,
    sampler: &Sampler,
    time: &dyn Fn(i64) -> i64,
    receiver: Option<&Receiver<'_>>,
    width_ns: i64,
) -> Vec<FlowSample> {
    let at = |sampler: &Sampler, row: &Row, time: &dyn Fn(i64) -> i64| {
        let end = time((row.slot + 1) * sampler.width_ns());
        end.div_euclid(width_ns) + i64::from(end.rem_euclid(width_ns) > 0)
    };
    let own: Vec<(i64, Row)> =
        sampler.rows(found.key()).into_iter().map(|row| (at(sampler, &row, time), row)).collect();
    let far: Vec<(i64, Row)> = receiver.map_or_else(Vec::new, |receiver| {
        let rows = receiver.sampler.rows(receiver.key).into_iter();
        rows.map(|row| (at(receiver.sampler, &row, receiver.time), row)).collect()
    });
    let mut places: Vec<i64> = own.iter().chain(&far).map(|(place, _)| *place).collect();
    places.sort_unstable();
    places.dedup();
    let Some(first) = places.first() else { return Vec::new() };
    // Nothing was sent before the first interval.
    let start = FlowSample {
        delivered_bytes: Some(0),
        sent_bytes: Some(0),
        data_packets_out: Some(0),
        ..FlowSample::empty((first - 1).max(0) * width_ns, number)
    };
    let mut samples = vec![start];
    let state = Beside::of(found.flow);
    for place in places {
        let newest = |rows: &[(i64, Row)]| {
            let after = rows.partition_point(|(at, _)| *at <= place);
            after.checked_sub(1).map(|at| rows[at].1)
        };
        let (own, far) = (newest(&own).unwrap_or_default(), newest(&far));
        let mut sample = FlowSample {
            sent_bytes: Some(own.sent_bytes),
            data_packets_out: Some(own.packets),
            acked_bytes: Some(own.acked_bytes),
            // Acknowledged payload had arrived. Only the receiver's capture shows when.
            delivered_bytes: Some(if receiver.is_some() {
                far.map_or(0, |far| far.acked_bytes)
            } else {
                own.acked_bytes
            }),
            data_packets_in: receiver.map(|_| far.map_or(0, |far| far.packets)),
            mss_bytes: Some(found.flow.mss_bytes),
            ..FlowSample::empty(place * width_ns, number)
        };
        state.fill(&mut sample, &own, &|t_ns| time(t_ns));
        samples.push(sample);
    }
    samples
}

/// Results of the analysis of a flow over time.
struct Beside<'a> {
    flow: &'a FlowTrace,
    is_at_sender: bool,
    /// Every retransmission is listed.
    has_all: bool,
}

impl<'a> Beside<'a> {
    fn of(flow: &'a FlowTrace) -> Beside<'a> {
        let listed: u64 = flow.each_retransmission.iter().map(|one| u64::from(one.packets)).sum();
        Beside {
            flow,
            is_at_sender: flow.capture_point.position == Position::Sender,
            has_all: listed == flow.retransmissions.packets,
        }
    }

    fn fill(&self, sample: &mut FlowSample, own: &Row, time: &dyn Fn(i64) -> i64) {
        if self.has_all {
            let until = self.flow.each_retransmission.partition_point(|one| time(one.t_ns) <= sample.t_ns);
            let before = &self.flow.each_retransmission[..until];
            sample.retrans_packets = Some(before.iter().map(|one| u64::from(one.packets)).sum());
            sample.retrans_bytes = Some(before.iter().map(|one| u64::from(one.bytes)).sum());
        }
        if !self.is_at_sender {
            return;
        }
        let mss = u64::from(self.flow.mss_bytes.max(1));
        sample.unacked_packets = u32::try_from(own.outstanding_bytes.div_ceil(mss)).ok();
        (sample.rtt_ns, sample.min_rtt_ns) = (own.rtt_ns, own.min_rtt_ns);
        let until = self.flow.windows.partition_point(|window| time(window.t_ns) <= sample.t_ns);
        let before = &self.flow.windows[..until];
        if let Some(newest) = before.last() {
            sample.cwnd_bytes = Some(newest.in_flight_bytes);
        }
    }
}
