//! Fills in the document of a test: the output of the sending client, with that of the server.

use super::document::{
    Connected, Cpu, Document, End, Halves, Interval, Peer, Sample, Seconds, Start, TestStart, Timestamp,
    UdpCounts,
};
use super::jitter::{self, Datagrams};
use super::test::{Flow, Test};
use crate::clock::Moment;
use sha2::{Digest, Sha256};
use wirespeed_record::{Recording, Transport};

/// The descriptor of the first stream's socket in iperf3's output. Only that it differs from stream to stream has a meaning.
const FIRST_SOCKET: u32 = 5;
/// Length of a cookie of iperf3, which names a test.
const COOKIE_LENGTH: usize = 36;

/// A side of a test.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Sender,
    Receiver,
}

/// The output of the sending client, with that of the server.
pub fn document(run: &Recording, number: usize, test: &Test) -> Document {
    let writer = Writer { run, number, test };
    let server = test.is_received_sampled().then(|| Box::new(writer.document(Side::Receiver, None)));
    writer.document(Side::Sender, server)
}

struct Writer<'a> {
    run: &'a Recording,
    number: usize,
    test: &'a Test<'a>,
}

impl Writer<'_> {
    fn document(&self, side: Side, server_output_json: Option<Box<Document>>) -> Document {
        Document {
            start: self.start(side),
            intervals: self.intervals(side),
            end: self.end(side),
            server_output_json,
        }
    }

    fn is_udp(&self) -> bool {
        self.test.protocol == Transport::Udp
    }

    fn start(&self, side: Side) -> Start {
        let Writer { run, test, .. } = self;
        let (near, far) = match side {
            Side::Sender => (test.from, test.to),
            Side::Receiver => (test.to, test.from),
        };
        let peer =
            Some(Peer { host: self.setting(far, "address").unwrap_or_else(|| far.into()), port: None });
        let (connecting_to, accepted_connection) =
            if side == Side::Sender { (peer, None) } else { (None, peer) };
        let began = run.info.started.as_deref().and_then(Moment::parse).map(|time| time.after(test.start_ns));
        let address = |host: &str| self.setting(host, "address").unwrap_or_else(|| host.into());
        let connected = test.flows.iter().enumerate().map(|(place, _)| Connected {
            socket: socket(place),
            local_host: address(near),
            local_port: None,
            remote_host: address(far),
            remote_port: None,
        });
        Start {
            connected: connected.collect(),
            version: format!("wirespeed {}", run.info.tool.version),
            system_info: self.system(near),
            timestamp: Timestamp { time: began.map(Moment::http_date), timesecs: began.map(Moment::unix_s) },
            connecting_to,
            accepted_connection,
            cookie: self.cookie(),
            tcp_mss_default: self.mss(),
            test_start: TestStart {
                protocol: if self.is_udp() { "UDP" } else { "TCP" },
                num_streams: test.flows.len(),
                blksize: self.datagram_bytes(),
                omit: Seconds::of(test.measured_from_ns - test.start_ns),
                duration: Seconds::of(test.stop_ns - test.measured_from_ns),
                bytes: 0,
                blocks: 0,
                reverse: 0,
            },
        }
    }

    fn setting(&self, host: &str, name: &str) -> Option<String> {
        let info = self.run.info.hosts.iter().find(|info| info.name == host)?;
        info.settings.get(name).cloned()
    }

    fn system(&self, host: &str) -> Option<String> {
        let kernel = self.run.info.kernel.as_ref();
        self.setting(host, "system")
            .or_else(|| Some(format!("Linux {} {}", kernel?.release, kernel?.version)))
    }

    /// A name of the test, the same in every export of it.
    fn cookie(&self) -> String {
        let info = &self.run.info;
        let what = format!("{}\n{}\n{}\n{:?}\n{}", info.study, info.id, info.seed, info.started, self.number);
        let digest = Sha256::digest(what.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..COOKIE_LENGTH].to_owned()
    }

    fn mss(&self) -> Option<u32> {
        if self.is_udp() {
            return None;
        }
        let (from_ns, to_ns) = (self.test.start_ns - 1, self.test.stop_ns);
        self.test.flows.iter().find_map(|flow| flow.within(from_ns, to_ns).find_map(|row| row.mss_bytes))
    }

    /// Payload of a datagram. How much a TCP application writes at once is not recorded.
    fn datagram_bytes(&self) -> Option<u64> {
        let flow = self.test.flows.first().filter(|_| self.is_udp())?;
        let (bytes, packets) = (flow.sent.at(self.test.stop_ns)?, flow.packets_out.at(self.test.stop_ns)?);
        bytes.checked_div(packets)
    }

    fn intervals(&self, side: Side) -> Vec<Interval> {
        let test = self.test;
        let pairs = test.borders.windows(2);
        pairs
            .map(|pair| {
                let (from_ns, to_ns) = (pair[0], pair[1]);
                let streams: Vec<Sample> = test
                    .flows
                    .iter()
                    .enumerate()
                    .map(|(place, flow)| self.in_interval(side, place, flow, from_ns, to_ns))
                    .collect();
                let sum = sum(&streams);
                Interval { streams, sum }
            })
            .collect()
    }

    fn in_interval(&self, side: Side, place: usize, flow: &Flow, from_ns: i64, to_ns: i64) -> Sample {
        let mut sample = self.sample(side, place, flow, from_ns, to_ns);
        sample.omitted = Some(from_ns < self.test.measured_from_ns);
        // iperf3 starts to count time again where the measurement starts.
        let zero_ns = if from_ns < self.test.measured_from_ns {
            self.test.start_ns
        } else {
            self.test.measured_from_ns
        };
        (sample.start, sample.end) = (seconds(from_ns - zero_ns), seconds(to_ns - zero_ns));
        if side == Side::Sender && !self.is_udp() {
            sample.retransmits = flow.retransmitted.steps(from_ns, to_ns);
            if let Some(state) = flow.state(from_ns, to_ns) {
                sample.snd_cwnd = state.cwnd_bytes;
                sample.snd_wnd = state.snd_wnd_bytes;
                sample.rtt = state.rtt_ns.map(micros);
                sample.rttvar = state.rttvar_ns.map(micros);
            }
        }
        if self.is_udp() {
            sample.udp = Some(udp_counts(side, flow, from_ns, to_ns, None));
        }
        sample
    }

    /// Payload of a stream between two instants.
    fn sample(&self, side: Side, place: usize, flow: &Flow, from_ns: i64, to_ns: i64) -> Sample {
        let counter = if side == Side::Sender { &flow.sent } else { &flow.received };
        let bytes = counter.growth(from_ns, to_ns).unwrap_or(0);
        let lasted = seconds(to_ns - from_ns);
        Sample {
            socket: Some(socket(place)),
            start: 0.0,
            end: lasted,
            seconds: lasted,
            bytes,
            bits_per_second: rate(bytes, lasted),
            sender: side == Side::Sender,
            ..Sample::default()
        }
    }

    fn end(&self, side: Side) -> End {
        let test = self.test;
        let (from_ns, to_ns) = (test.measured_from_ns, test.stop_ns);
        let whole = |side: Side| -> Vec<Sample> {
            test.flows
                .iter()
                .enumerate()
                .map(|(place, flow)| Sample {
                    udp: self.is_udp().then(|| {
                        let datagrams = jitter::of(&self.run.datagrams, flow.number);
                        udp_counts(Side::Receiver, flow, from_ns, to_ns, datagrams)
                    }),
                    ..self.total(side, place, flow, from_ns, to_ns)
                })
                .collect()
        };
        let received_known = test.flows.iter().all(|flow| flow.received.is_recorded());
        let sent = whole(Side::Sender);
        let received = if received_known { whole(Side::Receiver) } else { Vec::new() };
        let (sum_sent, sum_received) = (sum(&sent), received_known.then(|| sum(&received)));
        let streams = if self.is_udp() {
            sent.into_iter().map(|udp| Halves { udp: Some(udp), sender: None, receiver: None }).collect()
        } else {
            let mut received = received.into_iter();
            sent.into_iter()
                .map(|sender| Halves { udp: None, sender: Some(sender), receiver: received.next() })
                .collect()
        };
        End {
            streams,
            sum: self.is_udp().then(|| sum(&whole(Side::Sender))),
            sum_sent: Some(sum_sent),
            sum_received,
            cpu_utilization_percent: self.cpu(side),
            sender_tcp_congestion: test.congestion.map(str::to_owned),
        }
    }

    fn total(&self, side: Side, place: usize, flow: &Flow, from_ns: i64, to_ns: i64) -> Sample {
        let mut sample = self.sample(side, place, flow, from_ns, to_ns);
        if side == Side::Receiver || self.is_udp() {
            return sample;
        }
        sample.retransmits = flow.retransmitted.steps(from_ns, to_ns);
        let (mut count, mut sum_us) = (0, 0);
        for row in flow.within(from_ns, to_ns) {
            sample.max_snd_cwnd = sample.max_snd_cwnd.max(row.cwnd_bytes);
            sample.max_snd_wnd = sample.max_snd_wnd.max(row.snd_wnd_bytes);
            if let Some(rtt_us) = row.rtt_ns.map(micros) {
                sample.max_rtt = sample.max_rtt.max(Some(rtt_us));
                sample.min_rtt = Some(sample.min_rtt.map_or(rtt_us, |least| least.min(rtt_us)));
                (count, sum_us) = (count + 1, sum_us + rtt_us);
            }
        }
        sample.mean_rtt = (count > 0).then(|| sum_us / count);
        sample
    }

    /// Running time of the threads of the test's flows, in percent of a core.
    fn cpu(&self, side: Side) -> Cpu {
        let (sending, receiving) = (self.threads(false), self.threads(true));
        let (host_total, remote_total) =
            if side == Side::Sender { (sending, receiving) } else { (receiving, sending) };
        Cpu { host_total, remote_total, ..Cpu::default() }
    }

    fn threads(&self, receives: bool) -> Option<f64> {
        let test = self.test;
        let lasted_ns = (test.stop_ns - test.start_ns).max(1);
        let mut run_ns = None;
        for flow in &test.flows {
            let threads = self.run.threads.iter();
            let of_flow = threads.filter(|row| row.flow == flow.number && row.receives == receives);
            let last = of_flow.filter(|row| row.t_ns <= test.stop_ns).max_by_key(|row| row.t_ns)?;
            run_ns = Some(run_ns.unwrap_or(0) + last.run_ns);
        }
        run_ns.map(|ns| ns as f64 * 100.0 / lasted_ns as f64)
    }
}

/// Datagrams sent and missing. Datagrams that are in flight at the end of an interval are missing in it, and make up for it in
/// the next one.
fn udp_counts(side: Side, flow: &Flow, from_ns: i64, to_ns: i64, datagrams: Option<Datagrams>) -> UdpCounts {
    let sent = flow.packets_out.growth(from_ns, to_ns);
    if side == Side::Sender {
        return UdpCounts { packets: sent, ..UdpCounts::default() };
    }
    let arrived = flow.packets_in.growth(from_ns, to_ns);
    let lost = sent
        .zip(arrived)
        .and_then(|(sent, arrived)| i64::try_from(sent).ok()?.checked_sub(i64::try_from(arrived).ok()?));
    let percent = lost.zip(sent).map(|(lost, sent)| lost as f64 * 100.0 / sent.max(1) as f64);
    UdpCounts {
        jitter_ms: datagrams.map(|of| of.jitter_ms),
        lost_packets: lost,
        packets: sent,
        lost_percent: percent,
        out_of_order: datagrams.map(|of| of.out_of_order),
    }
}

/// The sum of streams.
fn sum(streams: &[Sample]) -> Sample {
    let Some(first) = streams.first() else { return Sample::default() };
    let bytes = streams.iter().fold(0u64, |sum, stream| sum.saturating_add(stream.bytes));
    let all = |of: fn(&Sample) -> Option<u64>| {
        streams.iter().map(of).try_fold(0u64, |sum, more| sum.checked_add(more?))
    };
    let udp = first.udp.map(|_| {
        let count = |of: fn(UdpCounts) -> Option<i64>| {
            streams.iter().map(|stream| of(stream.udp?)).try_fold(0i64, |sum, more| sum.checked_add(more?))
        };
        let (lost, packets) = (count(|udp| udp.lost_packets), count(|udp| udp.packets?.try_into().ok()));
        let jitters = streams.iter().map(|stream| stream.udp?.jitter_ms).collect::<Option<Vec<f64>>>();
        UdpCounts {
            // As iperf3 does: the mean over the streams.
            jitter_ms: jitters.map(|all| all.iter().sum::<f64>() / all.len() as f64),
            lost_packets: lost,
            packets: packets.and_then(|packets| packets.try_into().ok()),
            lost_percent: lost
                .zip(packets)
                .map(|(lost, packets)| lost as f64 * 100.0 / packets.max(1) as f64),
            out_of_order: None,
        }
    });
    Sample {
        start: first.start,
        end: first.end,
        seconds: first.seconds,
        bytes,
        bits_per_second: rate(bytes, first.seconds),
        retransmits: all(|stream| stream.retransmits),
        udp,
        omitted: first.omitted,
        sender: first.sender,
        ..Sample::default()
    }
}

fn socket(place: usize) -> u32 {
    FIRST_SOCKET + 2 * place as u32
}

fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

fn micros(ns: i64) -> i64 {
    (ns + 500) / 1000
}

fn rate(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}
