//! Streams of UDP: spacing of their packets, and losses where a program numbered the datagrams.

mod header;
mod jitter;
mod result;
mod sequence;
mod streams;

pub use header::Numbering;
pub use jitter::Jitter;
pub use result::{Gaps, Numbers, UdpStream};
pub(crate) use streams::Streams;

use crate::distribution::Distribution;
use header::Sample;
use jitter::JitterEstimate;
use sequence::Sequence;
use wirespeed_capture::{Datagram, Packet};

/// So many datagrams decide about the numbering of a stream.
const SAMPLES: usize = 16;

/// A datagram that waits until the numbering is known.
#[derive(Debug)]
struct Waiting {
    time_ns: i64,
    datagram: Datagram,
}

/// The numbering of a stream.
#[derive(Debug)]
enum State {
    /// Not decided yet.
    Waiting(Vec<Waiting>),
    /// The stream has none that is read.
    None,
    Known(Box<Known>),
}

/// A stream with numbers.
#[derive(Debug)]
struct Known {
    numbering: Numbering,
    rtp_hz: u32,
    /// Payload of a datagram, if captured packets may have several.
    datagram_bytes: Option<u32>,
    sequence: Sequence,
    jitter: JitterEstimate,
    unnumbered: u64,
    super_packets: u64,
    /// Datagrams of super-packets beyond the first of each.
    derived: u64,
    range: Option<(u64, u64)>,
}

/// Datagrams in one direction between two ports.
#[derive(Debug)]
struct Stream {
    number: u64,
    first_ns: i64,
    last_ns: i64,
    packets: u64,
    payload_bytes: u64,
    wire_bytes: u64,
    largest: u32,
    gaps: Distribution,
    state: State,
}

impl Stream {
    fn new(number: u64, time_ns: i64) -> Stream {
        Stream {
            number,
            first_ns: time_ns,
            last_ns: time_ns,
            packets: 0,
            payload_bytes: 0,
            wire_bytes: 0,
            largest: 0,
            gaps: Distribution::default(),
            state: State::Waiting(Vec::new()),
        }
    }

    /// A datagram at `time_ns`. `rtp_hz` is the clock rate of `--rtp`, if RTP is to be read.
    fn packet(&mut self, time_ns: i64, packet: &Packet, datagram: &Datagram, rtp_hz: Option<u32>) {
        if self.packets > 0 {
            self.gaps.add(time_ns - self.last_ns);
        }
        self.last_ns = time_ns;
        self.packets += 1;
        self.payload_bytes += u64::from(datagram.payload_bytes);
        self.wire_bytes += u64::from(packet.wire_bytes);
        self.largest = self.largest.max(datagram.payload_bytes);
        match &mut self.state {
            State::Waiting(waiting) => {
                waiting.push(Waiting { time_ns, datagram: *datagram });
                if waiting.len() >= SAMPLES {
                    self.decide(rtp_hz);
                }
            }
            State::None => {}
            State::Known(known) => known.datagram(time_ns, datagram),
        }
    }

    fn decide(&mut self, rtp_hz: Option<u32>) {
        let State::Waiting(waiting) = &mut self.state else { return };
        let waiting = std::mem::take(waiting);
        let sample = |waiting: &'_ Waiting| (waiting.time_ns, waiting.datagram);
        let owned: Vec<(i64, Datagram)> = waiting.iter().map(sample).collect();
        let samples: Vec<Sample<'_>> = owned
            .iter()
            .map(|(time_ns, datagram)| Sample {
                time_ns: *time_ns,
                payload_bytes: datagram.payload_bytes,
                head: datagram.head(),
            })
            .collect();
        self.state = match header::recognize(&samples, rtp_hz) {
            None => State::None,
            Some(numbering) => {
                let rtp_hz = rtp_hz.unwrap_or(1);
                let mut known = Known {
                    numbering,
                    rtp_hz,
                    datagram_bytes: header::datagram_bytes(&samples, numbering, rtp_hz)
                        .filter(|_| numbering != Numbering::Rtp),
                    sequence: Sequence::new(numbering.bits()),
                    jitter: JitterEstimate::default(),
                    unnumbered: 0,
                    super_packets: 0,
                    derived: 0,
                    range: None,
                };
                for waiting in &waiting {
                    known.datagram(waiting.time_ns, &waiting.datagram);
                }
                State::Known(Box::new(known))
            }
        };
    }
}

impl Known {
    fn datagram(&mut self, time_ns: i64, datagram: &Datagram) {
        let Some(numbered) = self.numbering.read(datagram.head(), self.rtp_hz) else {
            self.unnumbered += 1;
            return;
        };
        let count = match self.datagram_bytes {
            Some(each) if each > 0 && datagram.payload_bytes > each => datagram.payload_bytes.div_ceil(each),
            _ => 1,
        };
        self.super_packets += u64::from(count > 1);
        self.derived += u64::from(count - 1);
        let before = self.sequence.range();
        if self.sequence.add(numbered.number, count, numbered.sent_ns, time_ns) {
            self.extend_range(before);
            self.jitter.restart();
        }
        if let Some(sent_ns) = numbered.sent_ns {
            self.jitter.add(sent_ns, time_ns);
        }
    }

    fn extend_range(&mut self, with: Option<(u64, u64)>) {
        self.range = match (self.range, with) {
            (Some((low, high)), Some((other_low, other_high))) => {
                Some((low.min(other_low), high.max(other_high)))
            }
            (one, other) => one.or(other),
        };
    }
}
