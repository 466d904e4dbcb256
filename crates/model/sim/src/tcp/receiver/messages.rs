//! A receiver whose application waits for messages: files that it confirms, or responses to its requests.
//!
//! Its own data is a packet at a time: an acknowledgement with bytes. If a confirmation is lost, the sender retransmits, and is
//! acknowledged again. A lost request is retransmitted here.

use super::Receiver;
use crate::due::Due;
use crate::net::{Body, Train};
use crate::tcp::clock;
use wirespeed_units::{SimTime, Span};

/// Doublings of the retransmission timeout of a request at most, so that it stays below two minutes (TCP_RTO_MAX).
const DOUBLINGS: u32 = 9;

/// The message that the application waits for. The numbers are [`u64::MAX`] while it waits for none.
#[derive(Debug)]
pub(super) struct Awaited {
    /// Number of its first packet, until that has come.
    pub first: u64,
    /// Number after its last packet, until that has come.
    pub end: u64,
    /// Payload of the packet that confirms it; `None`: nothing does.
    confirmation: Option<u32>,
    /// The application has sent data not long ago, so that acknowledgements wait for more of it (`inet_csk_in_pingpong_mode`).
    pub is_interactive: bool,
    /// When the first packet came.
    begun: Option<SimTime>,
    /// When the last one had been read.
    ended: Option<SimTime>,
    request: Request,
}

/// A request of the application.
#[derive(Debug)]
struct Request {
    /// Its bytes.
    bytes: u32,
    /// When it leaves, for the first time or again.
    due: Due,
    /// When it left for the first time.
    asked: Option<SimTime>,
    /// How often it left.
    times: u32,
}

impl Default for Awaited {
    fn default() -> Self {
        Awaited {
            first: u64::MAX,
            end: u64::MAX,
            confirmation: None,
            is_interactive: false,
            begun: None,
            ended: None,
            request: Request { bytes: 0, due: Due::NEVER, asked: None, times: 0 },
        }
    }
}

impl Awaited {
    /// When a request leaves.
    pub fn due(&self) -> Due {
        self.request.due
    }
}

impl Receiver {
    /// The application waits for a message up to packet `end`, which begins with the next packet. It confirms the message with so
    /// many bytes.
    pub fn await_message(&mut self, end: u64, confirmation: Option<u32>) {
        (self.message.first, self.message.end) = (self.next, end);
        self.message.confirmation = confirmation;
        (self.message.begun, self.message.ended) = (None, None);
    }

    /// When the first packet of the message had come, and when the last one had been read.
    pub fn message_times(&self) -> [Option<SimTime>; 2] {
        [self.message.begun, self.message.ended]
    }

    /// The application sends a request of so many bytes at `at`, and waits for the response.
    pub fn plan_request(&mut self, at: SimTime, bytes: u32) {
        self.message.request = Request { bytes, due: Due::at(at), asked: None, times: 0 };
    }

    /// When the request left that was planned last.
    pub fn asked(&self) -> Option<SimTime> {
        self.message.request.asked
    }

    /// When it last had something to do.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// A request leaves, at its time or because nothing has come of it within the retransmission timeout.
    pub(super) fn ask(&mut self, out: &mut Vec<Train>) {
        // `tcp_event_data_sent`: data soon after data of the other end begins the mode in which acknowledgements wait for answers.
        if clock::ticks(self.now) - self.last_data < self.interval {
            self.message.is_interactive = true;
        }
        self.acknowledge(out);
        let request = &mut self.message.request;
        if let Some(train) = out.last_mut()
            && let Body::Ack(ack) = &mut train.body
        {
            ack.asks = true;
            train.frame += request.bytes;
        }
        request.asked.get_or_insert(self.now);
        let doublings = request.times.min(DOUBLINGS);
        request.times += 1;
        let timeout = Span::ms(self.timeout_ticks()) * (1 << doublings);
        self.message.request.due = Due::at(self.now + timeout);
    }

    /// Whether `packets` from number `first` on begin or end the message: each of them is looked at by itself.
    #[inline]
    pub(super) fn bounds_message(&self, first: u64, packets: u32) -> bool {
        first + u64::from(packets) >= self.message.end || first == self.message.first
    }

    /// A packet came in order. With the last one of a message, the application is woken whatever its mark, since it asks for no more
    /// bytes. It reads, and may confirm the message, which acknowledges everything.
    #[inline]
    pub(super) fn note_message(&mut self, out: &mut Vec<Train>) {
        if self.next > self.message.first {
            self.message.first = u64::MAX;
            self.message.begun = Some(self.now);
            self.message.request.due = Due::NEVER;
        }
        if self.next >= self.message.end {
            self.end_message(out);
        }
    }

    #[cold]
    fn end_message(&mut self, out: &mut Vec<Train>) {
        self.message.end = u64::MAX;
        self.message.ended = Some(self.now);
        self.read_at_once(out);
        let Some(confirmation) = self.message.confirmation else { return };
        let is_said = |train: &Train| match &train.body {
            Body::Ack(ack) => train.flow == self.flow && train.packets == 1 && ack.next == self.next,
            _ => false,
        };
        // An acknowledgement that leaves at this instant anyway is taken for the confirmation.
        if !out.last().is_some_and(is_said) {
            self.acknowledge(out);
        }
        if let Some(train) = out.last_mut() {
            train.frame += confirmation;
        }
        self.message.is_interactive = true;
    }
}
