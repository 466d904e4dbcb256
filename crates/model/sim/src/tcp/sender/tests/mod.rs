//! Loss recovery step by step: a sender alone, against a peer whose every acknowledgement is written down. What is
//! expected was worked out by hand from the RFC and from Linux 6.12, not taken from a run.
//!
//! The round trip is 100 ms: the handshake measures it, and at 100 ms the initial window leaves. From then on times are in
//! microseconds, and a packet is 1000 bytes and leaves by itself. The timeout is `srtt` and Linux' least variance: 300 ms.
//! A timer that is set for 63 to 503 ticks fires at a multiple of 8 ms, the first one beyond what it was set for.

#![expect(clippy::single_range_in_vec_init, reason = "a list of one block is one range")]

mod burst;
mod closing;
mod frto;
mod late;
mod old;
mod poll;
mod prr;
mod rack;
mod refused;
mod reneging;
mod rto;
mod short;
mod tlp;
mod undo;

use super::{Era, Incoming, Sender, Settings, Stream};
use crate::net::{Body, Ecn, Sack, Train};
use crate::tcp::Feedback;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use wirespeed_congestion::algorithm;
use wirespeed_scenario::run::KernelVersion;
use wirespeed_units::{SimTime, Span};

/// Payload of a packet in bytes.
const MSS: u64 = 1000;
/// When the initial window leaves, in microseconds.
const START: i64 = 100_000;

/// A sender and the peer that acknowledges by hand.
struct Script {
    sender: Sender,
    out: Vec<Train>,
    /// The stamp that each packet carried when it last left.
    stamps: BTreeMap<u64, u32>,
    /// What the peer echoes next; `None`: the stamp of the packet that filled the first hole.
    echo: Option<u32>,
    echoed: u32,
    /// Receive window in packets.
    window: u64,
}

/// What a script starts with: a window of `initial` packets, SACK, time stamps, Reno, no end of data.
struct Start {
    initial: u64,
    window: u64,
    sack: bool,
    timestamps: bool,
    feedback: Feedback,
    era: Era,
}

impl Start {
    fn of(initial: u64) -> Start {
        Start {
            initial,
            window: 1 << 20,
            sack: true,
            timestamps: true,
            feedback: Feedback::Off,
            era: Era::TODAY,
        }
    }

    /// As Linux 2.6.24 did it.
    fn of_old(self) -> Start {
        Start { era: Era::of(KernelVersion::new(2, 6, 24)), ..self }
    }

    /// The peer's window lets no more than the initial window leave.
    fn in_window_of_peer(self) -> Start {
        Start { window: self.initial, ..self }
    }

    /// Nothing tells a retransmission from the original but DSACK and F-RTO.
    fn without_timestamps(self) -> Start {
        Start { timestamps: false, ..self }
    }

    fn without_sack(self) -> Start {
        Start { sack: false, ..self }
    }

    fn with_ecn(self) -> Start {
        Start { feedback: Feedback::Classic, ..self }
    }

    fn settings(&self) -> Settings {
        Settings {
            mss: MSS as u32,
            mss_clamp: MSS as u32 + 12,
            headers: 66,
            handshake_frame: 74,
            timestamps: self.timestamps,
            sack: self.sack,
            feedback: self.feedback,
            ecn: if self.feedback.is_on() { Ecn::Capable } else { Ecn::NotCapable },
            gso_packets: 1,
            train_packets: 0,
            line: Span::ns(1),
            send_buffer: Some(1 << 30),
            send_buffer_range: (1 << 30, 1 << 30),
            paced: false,
            max_pacing: u64::MAX,
            small_queues: false,
            stretch_acks: true,
            stretch_slow_start: true,
            queued: false,
            split: true,
            held: false,
            era: self.era,
            initial_window: self.initial,
            slow_start_after_idle: true,
            algorithm: algorithm("reno").expect("the registry has reno"),
            parameters: BTreeMap::new(),
        }
    }

    /// Connects; the initial window has left.
    fn go(self) -> Script {
        let settings = self.settings();
        self.go_with(settings, START)
    }

    /// The same with other settings, and a handshake of so many microseconds.
    fn go_with(self, settings: Settings, handshake: i64) -> Script {
        let stream = Stream {
            flow: 0,
            packets: u64::MAX,
            last_bytes: MSS as u32,
            stays_open: false,
            peer_stamp_offset: 0,
            seed: 0,
        };
        let mut script = Script {
            sender: Sender::new(Rc::new(settings), stream),
            out: Vec::new(),
            stamps: BTreeMap::new(),
            echo: None,
            echoed: 0,
            window: self.window,
        };
        script.sender.connect(SimTime::START, &mut script.out);
        script.sender.on_reply(at(handshake), 0, script.window * MSS, &mut script.out);
        assert_eq!(script.left(), (0..self.initial).collect::<Vec<_>>());
        script
    }
}

fn at(us: i64) -> SimTime {
    SimTime::START + Span::us(us)
}

impl Script {
    /// The numbers of the packets that have left since this was last asked.
    fn left(&mut self) -> Vec<u64> {
        let mut numbers = Vec::new();
        for train in self.out.drain(..) {
            if let Body::Data(data) = train.body {
                for number in data.first..data.first + u64::from(train.packets) {
                    self.stamps.insert(number, data.stamp);
                    numbers.push(number);
                }
            }
        }
        numbers
    }

    /// An ACK with these selective blocks; returns what leaves.
    fn ack(&mut self, us: i64, next: u64, blocks: &[Range<u64>]) -> Vec<u64> {
        self.answer(us, next, None, blocks, false)
    }

    /// The same with a duplicate reported in the first block.
    fn dsack(&mut self, us: i64, next: u64, duplicate: Range<u64>, blocks: &[Range<u64>]) -> Vec<u64> {
        self.answer(us, next, Some(duplicate), blocks, false)
    }

    /// An ACK that says that the network is congested.
    fn ack_ece(&mut self, us: i64, next: u64) -> Vec<u64> {
        self.answer(us, next, None, &[], true)
    }

    /// The ACK was caused by a packet that left at `us`, whatever left since: an original that was only late.
    fn echoing(&mut self, us: i64) -> &mut Script {
        self.echo = Some((us / 1000 + 1) as u32);
        self
    }

    fn answer(
        &mut self,
        us: i64,
        next: u64,
        duplicate: Option<Range<u64>>,
        blocks: &[Range<u64>],
        ece: bool,
    ) -> Vec<u64> {
        let sack = Sack { duplicate, blocks: blocks.iter().cloned().collect() };
        let ack = Incoming { ece, ..self.incoming(us, next, &sack) };
        self.sender.on_ack(ack, &mut self.out);
        self.sender.board.verify();
        self.left()
    }

    /// An ACK that leaves its receiver just now.
    fn incoming<'a>(&mut self, us: i64, next: u64, sack: &'a Sack) -> Incoming<'a> {
        if next > self.sender.una {
            self.echoed = self.stamps.get(&self.sender.una).copied().unwrap_or(self.echoed);
        }
        Incoming {
            now: at(us),
            next,
            window: self.window * MSS,
            echo: self.echo.take().unwrap_or(self.echoed),
            stamp: (us / 1000 + 1) as u32,
            ece: false,
            marks: None,
            sack: Some(sack),
            count: 1,
            gap: Span::ZERO,
            stride: 1,
            leaving: None,
            by_first: false,
        }
    }

    /// The timer that is set fires: when, in microseconds, and what leaves.
    fn fire(&mut self) -> (i64, Vec<u64>) {
        let due = self.sender.deadline();
        assert!(due.is_set(), "no timer is set");
        self.sender.on_timer(due.time(), &mut self.out);
        self.sender.board.verify();
        ((due.time() - SimTime::START).nanoseconds() / 1000, self.left())
    }

    fn cwnd(&self) -> u64 {
        self.sender.state().cwnd()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.sender.state().ssthresh()
    }

    /// Outstanding, selectively acknowledged, presumed lost and retransmitted packets.
    fn out(&self) -> [u64; 4] {
        self.sender.state().out()
    }
}

#[test]
fn the_script_begins_with_what_the_handshake_measured() {
    let script = Start::of(10).go();
    assert_eq!((script.sender.rtt.smoothed(), script.sender.rtt.minimum()), (100_000, 100_000));
    assert_eq!(script.sender.rtt.rto, 300);
    assert_eq!((script.cwnd(), script.ssthresh(), script.out()), (10, None, [10, 0, 0, 0]));
}
