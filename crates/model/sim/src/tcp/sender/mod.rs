//! The sending end of a TCP connection, as Linux 6.12 does it (`net/ipv4/tcp_output.c`, `tcp_input.c`,
//! `tcp_recovery.c`, `tcp_timer.c`).
//!
//! All payload is counted in full segments, numbered from 0; the last one may be shorter. Where Linux rounds, to
//! microseconds, ticks or packets, the same is done here: those roundings decide, at 10 Gbit/s, how many packets
//! leave at once and when a timer fires.

mod ack;
mod application;
mod congestion;
mod era;
mod forward;
mod halving;
mod host_queue;
mod hosted;
mod marks;
mod messages;
mod pieces;
mod rack;
mod recovery;
mod refused;
mod retransmit;
mod sack;
mod settings;
mod short;
mod state;
mod stopwatch;
mod timer;
mod together;
mod transmit;
mod undo;
mod validate;
mod window_probe;

pub use ack::Incoming;
pub use application::{MAX_TCP_HEADER, initial_send_buffer};
pub use era::Era;
pub use settings::{Settings, Stream};
pub use state::State;
pub use stopwatch::Stopwatch;
pub use timer::Pending;
pub use transmit::{GSO_BYTES, TRAIN_PACKETS};

pub use marks::ACE_AT_FIRST;
use marks::MarksKnown;
use pieces::Pieces;
use rack::Rack;
use refused::Recalled;

use crate::due::Due;
use crate::net::{Body, Ecn, Step, Train};
use crate::prefetch::prefetch;
use crate::tcp::clock;
use crate::tcp::rate::Delivery;
use crate::tcp::rtt::Rtt;
use crate::tcp::scoreboard::Scoreboard;
use std::rc::Rc;
use wirespeed_congestion::{CongestionControl, Control, Phase, Setup};
use wirespeed_units::{Bytes, SimTime, Span};

/// `net.ipv4.tcp_reordering`: packets out of order that are not yet taken for loss.
pub const REORDERING: u64 = 3;
/// Initial window in packets (RFC 6928, TCP_INIT_CWND).
pub const INITIAL_WINDOW: u64 = 10;
/// Counts that a recording shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data packets put on the wire.
    pub packets_out: u64,
    /// Payload bytes of these.
    pub bytes_out: u64,
    /// Retransmitted packets.
    pub retransmitted: u64,
    /// Payload bytes of these.
    pub retransmitted_bytes: u64,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Tail loss probes.
    pub probes: u32,
    /// Packets reported as duplicates (DSACK).
    pub duplicates: u64,
    /// Events of reordering.
    pub reorderings: u32,
    /// Reductions taken back.
    pub undone: u32,
    /// Packets the host's own queue refused.
    pub refused: u64,
    /// Probes of a closed window that carried no data (`TcpExtTCPWinProbe`).
    pub window_probes: u32,
}

/// The sending end.
///
/// In this order, what samples read comes first: with thousands of flows those are most of the memory that is gone through, and
/// half of each is not looked at.
#[derive(Debug)]
#[repr(C)]
pub struct Sender {
    settings: Rc<Settings>,
    cc: Option<Box<dyn CongestionControl>>,
    una: u64,
    nxt: u64,
    /// What the application has written, in packets.
    written: u64,
    /// The window in force, in packets (`tp->snd_cwnd`).
    cwnd: u64,
    /// The slow start threshold, `u64::MAX` for none.
    ssthresh: u64,
    window_bytes: u64,
    /// Duplicate ACKs in place of selective ones, without SACK (`tcp_add_reno_sack`).
    dupacks: u64,
    reordering: u64,
    pacing_rate: u64,
    phase: Phase,
    established: bool,
    /// An undo may restore the window: the reduction had no sure cause (`prior_ssthresh`).
    may_restore: bool,
    frto: bool,
    probe_retransmitted: bool,
    cwnd_limited: bool,
    /// The writer waits for room (`SOCK_NOSPACE`).
    blocked: bool,
    /// The writer was woken and has not run yet.
    woken: bool,
    /// Acknowledgements are taken in one poll of the interface: the writer runs after it.
    is_in_poll: bool,
    ecn_cwr: bool,
    /// Retransmissions that were withdrawn before the host's queue was asked ([`Sender::withdraw`]).
    recalled: Recalled,
    /// Marks that the receiver has reported.
    marks: MarksKnown,
    rtt: Rtt,
    delivery: Delivery,
    counts: Counts,
    busy: Stopwatch,
    window_limited: Stopwatch,
    buffer_limited: Stopwatch,
    board: Scoreboard,
    stream: Stream,
    connecting_since: SimTime,
    control: Control,
    /// Of that, in packets: the window, at least one.
    wanted_cwnd: u64,
    now: SimTime,
    /// Packets the application has to send; the stream ends here once it is closed.
    end: u64,
    /// The application has shut the sending side down, and will not write more.
    shut: bool,
    /// A request of the receiver has come that its application has not taken.
    requested: bool,
    /// Number after the last full packet the peer's window allows, exclusive.
    window_end: u64,
    /// Bytes that the window allows of packet number `window_end`, less than a segment.
    window_rest: u32,
    /// Bytes of the first unsent segment that a short packet has carried already.
    unsent_phase: u32,
    /// Packets that carry less than a segment, if any ever did.
    shorts: Option<Box<short::Shorts>>,
    behind_last_short: short::BehindLast,
    /// Full segments in the peer's window.
    window_packets: u64,
    max_window: u64,
    high: u64,
    rack: Rack,
    prior_cwnd: u64,
    prr_delivered: u64,
    prr_out: u64,
    /// The next ACK of a reduction is the second of two (`snd_cwnd_cnt` of rate halving).
    second_ack: bool,
    /// When the newest packet left that has been selectively acknowledged and left once.
    newest_sacked: SimTime,
    undo_marker: Option<u64>,
    undo_retransmissions: i64,
    probe_end: Option<u64>,
    timer: timer::Timer,
    max_packets_out: u64,
    cwnd_usage_end: u64,
    cwnd_used: u64,
    cwnd_stamp: i64,
    last_sent: SimTime,
    /// The pacer lets the next packet leave (`tcp_wstamp_ns`).
    pace: SimTime,
    pacing_timer: Due,
    /// Packets of one GSO packet, which follows from the pacing rate, the least round-trip time and the algorithm's wish.
    burst: u64,
    /// What waits to be sent.
    pieces: Pieces,
    /// What the application may have written by now: no end unless it is a thread of a modelled host.
    granted: u64,
    /// What was pushed when it had written so much (`pushed_seq`).
    pushed: u64,
    send_buffer: u64,
    host_queue: host_queue::HostQueue,
    /// When what an acknowledgement lets go leaves, if not at once.
    leaving: Option<together::Leaving>,
    /// When what the latest acknowledgement took off had left: (number after it, time).
    sent_times: Vec<(u64, SimTime)>,
    /// Millisecond clock of the first retransmission of the episode, 0 for none (`retrans_stamp`).
    retransmission_stamp: u32,
    echo: u32,
    /// The peer's millisecond clock of the latest ACK, echoed in data.
    peer_stamp: u32,
    retries: u32,
}

impl Sender {
    /// A closed connection.
    pub fn new(settings: Rc<Settings>, stream: Stream) -> Self {
        let send_buffer = settings.send_buffer.unwrap_or(settings.send_buffer_range.0);
        let end = stream.packets;
        let pieces = Pieces::new(settings.gso_packets);
        Sender {
            settings,
            stream,
            established: false,
            connecting_since: SimTime::START,
            cc: None,
            control: Control {
                cwnd: Bytes::new(0),
                ssthresh: None,
                pacing_rate: None,
                send_quantum: None,
                wants_reduction: false,
                mark_app_limited: false,
            },
            wanted_cwnd: 1,
            ssthresh: u64::MAX,
            cwnd: INITIAL_WINDOW,
            now: SimTime::START,
            una: 0,
            nxt: 0,
            end,
            shut: false,
            requested: false,
            window_end: 0,
            window_rest: 0,
            unsent_phase: 0,
            shorts: None,
            behind_last_short: short::BehindLast::default(),
            window_bytes: 0,
            window_packets: 0,
            max_window: 0,
            board: Scoreboard::default(),
            rtt: Rtt::default(),
            delivery: Delivery::default(),
            phase: Phase::Open,
            high: 0,
            dupacks: 0,
            reordering: REORDERING,
            rack: Rack { steps: 1, ..Rack::default() },
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            second_ack: false,
            newest_sacked: SimTime::START,
            undo_marker: None,
            undo_retransmissions: 0,
            may_restore: false,
            retransmission_stamp: 0,
            echo: 0,
            peer_stamp: 0,
            frto: false,
            probe_end: None,
            probe_retransmitted: false,
            timer: timer::Timer::default(),
            retries: 0,
            cwnd_limited: false,
            max_packets_out: 0,
            cwnd_usage_end: 0,
            cwnd_used: 0,
            cwnd_stamp: 0,
            last_sent: SimTime::START,
            pace: SimTime::START,
            pacing_timer: Due::NEVER,
            pacing_rate: 0,
            burst: 1,
            pieces,
            written: 0,
            granted: u64::MAX,
            pushed: 0,
            blocked: false,
            woken: false,
            is_in_poll: false,
            send_buffer,
            ecn_cwr: false,
            recalled: Recalled::default(),
            marks: MarksKnown::default(),
            host_queue: host_queue::HostQueue::default(),
            leaving: None,
            sent_times: Vec::new(),
            counts: Counts::default(),
            busy: Stopwatch::default(),
            window_limited: Stopwatch::default(),
            buffer_limited: Stopwatch::default(),
        }
    }

    /// Opens the connection: a SYN leaves.
    pub fn connect(&mut self, now: SimTime, out: &mut Vec<Train>) {
        self.now = now;
        self.connecting_since = now;
        out.push(self.handshake(Step::Syn, self.settings.handshake_frame, now));
        self.arm(Pending::Retransmission, self.rtt.rto);
    }

    pub(super) fn handshake(&self, step: Step, frame: u32, now: SimTime) -> Train {
        Train {
            at: now,
            gap: Span::ZERO,
            packets: 1,
            frame,
            flow: self.stream.flow,
            ecn: Ecn::NotCapable,
            body: Body::Handshake { step, stamp: clock::stamp(now), echo: self.peer_stamp, window: 65_535 },
        }
    }

    /// The peer answered, at `stamp` of its millisecond clock: the connection is established and data leaves.
    pub fn on_reply(&mut self, now: SimTime, stamp: u32, window: u64, out: &mut Vec<Train>) {
        if self.established {
            return;
        }
        self.now = now;
        if self.settings.timestamps {
            self.peer_stamp = stamp;
        }
        out.push(self.handshake(Step::Confirm, self.settings.headers, now));
        self.established = true;
        self.timer.cancel();
        let rtt_us = clock::micros(now) - clock::micros(self.connecting_since);
        // A repeated SYN cannot tell which one was answered; Linux would take the time stamp, here the default
        // stays.
        let measured = self.rtt.backoff == 0;
        self.rtt.backoff = 0;
        if measured {
            self.rtt.observe_minimum(rtt_us, clock::ticks(now), false);
            self.rtt.measure(rtt_us, 0, 0);
        }
        let setup = Setup {
            mss: Bytes::new(u64::from(self.settings.mss)),
            initial_window: self.settings.initial_window,
            stretch_acks: self.settings.stretch_acks,
            stretch_slow_start: self.settings.stretch_slow_start,
            ssthresh: None,
            now,
            handshake_rtt: measured.then(|| Span::us(rtt_us)),
            seed: self.stream.seed,
        };
        let cc = self
            .settings
            .algorithm
            .build(&setup, &self.settings.parameters)
            .expect("the run's congestion parameters were checked before it began");
        self.cc = Some(cc);
        self.adopt_window();
        self.expand_send_buffer();
        // The SYN counts as the first packet delivered.
        self.delivery.delivered = 1;
        self.cwnd_stamp = clock::ticks(now);
        self.window_bytes = window;
        self.window_packets = window / u64::from(self.settings.mss);
        self.max_window = window;
        self.window_end = self.window_packets;
        self.window_rest = (window % u64::from(self.settings.mss)) as u32;
        self.update_pacing_rate();
        self.woken = true;
        self.let_application_write(out);
    }

    /// Everything was sent and acknowledged.
    pub fn is_finished(&self) -> bool {
        self.established && self.una >= self.end
    }

    /// Brings near what a sample will look at.
    #[inline]
    pub fn prefetch_sample(&self) {
        prefetch(&self.settings);
        prefetch(&self.nxt);
        prefetch(&self.rtt);
        prefetch(&self.delivery);
        prefetch(&self.counts);
        prefetch(&self.window_limited);
        prefetch(&self.board.sacked);
        prefetch(&self.board.retransmitted);
    }

    /// The same of what stands elsewhere.
    pub fn prepare_sample(&self) {
        if let Some(cc) = self.cc.as_deref() {
            prefetch(cc);
        }
    }

    /// Brings near what the next acknowledgement will look at.
    pub fn prepare(&self) {
        self.prepare_sample();
        if let Some(head) = self.board.head() {
            prefetch(head);
        }
    }

    /// Packets in flight as far as is known (`tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u64 {
        (self.nxt - self.una + self.board.retransmitted).saturating_sub(self.sacked_out() + self.board.lost)
    }

    /// Packets known to have arrived beyond what is acknowledged: with SACK there are no counted duplicates, without it
    /// nothing is selectively acknowledged.
    fn sacked_out(&self) -> u64 {
        debug_assert!(if self.settings.sack { self.dupacks } else { self.board.sacked } == 0);
        self.board.sacked + self.dupacks
    }

    fn outstanding(&self) -> u64 {
        self.nxt - self.una
    }

    fn highest_sacked(&self) -> u64 {
        if self.board.highest_sacked > 0 { self.board.highest_sacked } else { self.una }
    }

    /// Payload of `packets` from number `first` on, bytes.
    fn payload(&self, first: u64, packets: u32) -> u64 {
        let missing = self.missing(first + u64::from(packets)) - self.missing(first);
        u64::from(packets) * u64::from(self.settings.mss) - missing
    }

    /// What the recording shows.
    pub fn state(&self) -> State<'_> {
        State::of(self)
    }
}

#[cfg(test)]
mod tests;
