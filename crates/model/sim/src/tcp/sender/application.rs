//! The writing application and the send buffer between it and TCP (`tcp_sendmsg`, `tcp_new_space`,
//! `sk_stream_write_space`): a writer that always has more, blocks when the buffer is full and is woken when a
//! third of it is free.

use super::transmit::Push;
use super::{INITIAL_WINDOW, Sender};
use crate::net::Train;
use crate::tcp::PACKET_OVERHEAD;

/// MAX_TCP_HEADER of a 64-bit kernel without wireless or tunnel drivers, such as the one built from `kernel/`;
/// distributions have 320.
pub const MAX_TCP_HEADER: u64 = 192;
/// `struct skb_shared_info`, aligned.
const SHARED_INFO: u64 = 320;
/// Memory per packet that Linux reserves when it sizes the buffer, beyond the payload and rounded up to a power of
/// two with it (`tcp_sndbuf_expand`).
const RESERVED_HEADER: u64 = MAX_TCP_HEADER + SHARED_INFO;
/// `struct sk_buff`, aligned.
const RESERVED_DESCRIPTOR: u64 = 256;
/// Below this a peer's window is not halved for the size of a piece (TCP_MSS_DEFAULT).
const SMALL_WINDOW: u64 = 536;

/// Memory that is reserved for a packet.
fn reserved(mss_clamp: u64) -> u64 {
    (mss_clamp + RESERVED_HEADER).next_power_of_two() + RESERVED_DESCRIPTOR
}

/// The send buffer of a socket that has sent nothing yet and whose buffer is tuned, in bytes: `least`, or twice the initial
/// window in memory (`tcp_init_buffer_space`, `tcp_sndbuf_expand`).
pub fn initial_send_buffer(least: u64, mss_clamp: u64) -> u64 {
    least.max(2 * INITIAL_WINDOW * reserved(mss_clamp))
}

impl Sender {
    /// Packets of a full piece: what Linux lets an application put into one GSO packet (`tcp_xmit_size_goal`).
    fn piece_goal(&self) -> u64 {
        let mss = u64::from(self.settings.mss);
        let full = u64::from(self.settings.gso_packets);
        let cutoff = if self.max_window > SMALL_WINDOW { self.max_window / 2 } else { self.max_window };
        full.min(cutoff / mss).max(1)
    }

    /// Memory that sent and unsent data occupy (`sk_wmem_queued`).
    fn queued_memory(&self) -> u64 {
        let unsent = (self.written - self.nxt).div_ceil(self.pieces.goal());
        self.unacknowledged_bytes() + PACKET_OVERHEAD * (self.board.len() as u64 + unsent)
    }

    /// The application writes until the buffer is full, and what may leave leaves on the way (`tcp_sendmsg_locked`):
    /// at each full piece that is alone or half a window beyond the last push, and at the end.
    pub(super) fn fill(&mut self, out: &mut Vec<Train>) {
        let goal = self.piece_goal();
        self.pieces.set_goal(goal, self.nxt, self.written - self.nxt);
        let half = self.max_window / 2 / u64::from(self.settings.mss);
        self.host_queue.in_call = true;
        while self.written < self.end.min(self.granted) {
            let unsent = self.written - self.nxt;
            let is_head = unsent <= self.pieces.head();
            let tail = self.pieces.tail(self.nxt, unsent);
            if tail == 0 || tail >= goal {
                let queued = self.queued_memory();
                if queued >= self.send_buffer {
                    self.blocked = true;
                    // What is written is pushed before the writer waits.
                    if unsent > 0 {
                        self.note_push();
                    }
                    break;
                }
                if unsent == 0 {
                    self.pieces.fill_head();
                }
                // Behind data that waits, pieces up to the next push or a full buffer change nothing but what is written.
                let pieces = if !is_head {
                    let each = goal * u64::from(self.settings.mss) + PACKET_OVERHEAD;
                    let before_push = (self.pushed + half).saturating_sub(self.written) / goal;
                    (self.send_buffer - queued).div_ceil(each).min(before_push).max(1)
                } else {
                    1
                };
                self.written = (self.written + pieces * goal).min(self.end.min(self.granted));
            } else {
                // The last piece is filled up first, whatever room there is.
                let full = (self.written + goal - tail).min(self.end.min(self.granted));
                self.pieces.fill_tail(self.written, full);
                self.written = full;
                if is_head {
                    self.pieces.fill_head();
                    // It is filled up to the last byte, wherever it begins.
                    if self.end == u64::MAX {
                        self.unsent_phase = 0;
                    }
                }
            }
            if self.written == self.end {
                // The call ends here, and pushes all unsent data.
                if self.stream.stays_open {
                    self.note_push();
                }
                break;
            }
            if self.written > self.pushed + half {
                self.note_push();
                self.write(Push::All, out);
            } else if self.written - self.nxt <= self.pieces.head() {
                self.write(Push::One, out);
            }
        }
        self.write(Push::All, out);
        if self.written == self.stream.packets && !self.shut && !self.stream.stays_open {
            self.shut_down(out);
        }
        self.host_queue.in_call = false;
    }

    /// The application has written everything and shuts the sending side down (`tcp_send_fin`). If data is unsent, its last
    /// packet carries the FIN and is not deferred any more. Otherwise the FIN is a separate packet.
    pub(super) fn shut_down(&mut self, out: &mut Vec<Train>) {
        self.shut = true;
        if self.written == self.nxt {
            self.end += 1;
            self.written += 1;
            self.pieces.fill_head();
        }
        self.write(Push::All, out);
    }

    fn note_push(&mut self) {
        self.pushed = self.written;
        self.pieces.push(self.nxt, self.written);
    }

    /// Something left or was acknowledged: the buffer may grow, the writer may wake (`tcp_check_space`).
    pub(super) fn check_space(&mut self) {
        if !self.blocked {
            return;
        }
        if self.in_flight() < self.cwnd {
            self.expand_send_buffer();
        }
        // The payload alone is mostly too much already.
        let buffer = self.send_buffer;
        let leaves_a_third = |queued: u64| queued < buffer && buffer - queued >= queued / 2;
        let payload = self.unacknowledged_bytes();
        if leaves_a_third(payload) && leaves_a_third(self.queued_memory()) {
            self.blocked = false;
            self.woken = true;
            self.buffer_limited.set(false, self.now);
        }
    }

    /// The acknowledgements from now on are taken in one poll, and a writer that they wake runs after it ([`Sender::end_poll`]). Whether
    /// that is new.
    pub fn begin_poll(&mut self) -> bool {
        !std::mem::replace(&mut self.is_in_poll, true)
    }

    /// That was all of it.
    pub fn end_poll(&mut self, out: &mut Vec<Train>) {
        if std::mem::take(&mut self.is_in_poll) {
            self.let_application_write(out);
        }
    }

    /// The writer runs if it was woken, and what it writes may leave at once.
    pub(super) fn let_application_write(&mut self, out: &mut Vec<Train>) {
        if self.is_in_poll {
            return;
        }
        while std::mem::take(&mut self.woken) {
            self.fill(out);
        }
    }

    /// Nothing is left to send while the writer waits for room: the buffer is the limit.
    pub(super) fn is_buffer_limited(&self) -> bool {
        self.blocked && self.written == self.nxt
    }

    /// The application writes no more; what it has written is still sent.
    pub fn close(&mut self) {
        if self.established {
            self.end = self.end.min(self.written);
        } else {
            self.end = 0;
        }
        self.stream.stays_open = false;
        self.blocked = false;
    }

    /// `tcp_sndbuf_expand`: twice what the window needs, in the memory it occupies.
    pub(super) fn expand_send_buffer(&mut self) {
        if self.settings.send_buffer.is_some() {
            return;
        }
        let each = reserved(u64::from(self.settings.mss_clamp));
        let packets = self.cwnd.max(INITIAL_WINDOW).max(self.reordering + 1);
        // BBR asks for more, `bbr_sndbuf_expand`.
        let windows = if self.settings.algorithm.needs_pacing { 3 } else { 2 };
        let wanted = packets.saturating_mul(windows * each).min(self.settings.send_buffer_range.1);
        self.send_buffer = self.send_buffer.max(wanted);
    }
}
