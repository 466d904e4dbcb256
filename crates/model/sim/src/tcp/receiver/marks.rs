//! Marks that a receiver counts with Accurate ECN (RFC 9768, section 3.2).

use super::Receiver;
use crate::net::{Ecn, MarksCounted, PayloadCounted};
use crate::tcp::Feedback;
use crate::tcp::sender::ACE_AT_FIRST;

/// After so many marks an acknowledgement leaves at once (RFC 9768, section 3.2.2.5.1: 2 is recommended).
const MARKS_UNREPORTED: u32 = 2;

/// Its counts.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Marks {
    packets: u64,
    /// Payload with the flow's own code point and with CE, in bytes.
    capable: u64,
    marked: u64,
    unreported: u32,
}

impl Receiver {
    /// Packets with `payload` bytes each have arrived, whatever becomes of their data.
    pub(super) fn count_marks(&mut self, ecn: Ecn, payload: u32, packets: u32) {
        let bytes = u64::from(payload) * u64::from(packets);
        match ecn {
            Ecn::NotCapable => {}
            Ecn::Capable | Ecn::Scalable => self.marks.capable += bytes,
            Ecn::Marked => {
                self.marks.packets += u64::from(packets);
                self.marks.marked += bytes;
                self.marks.unreported += packets;
                self.ack_now |= self.marks.unreported >= MARKS_UNREPORTED;
            }
        }
    }

    /// The report of an acknowledgement that leaves now. `has_room`: for the option.
    pub(super) fn report_marks(&mut self, has_room: bool) -> Option<MarksCounted> {
        if self.settings.feedback != Feedback::Accurate {
            return None;
        }
        self.marks.unreported = 0;
        let modulo = |bytes: u64| bytes as u32 & PayloadCounted::MASK;
        let Marks { packets, capable, marked, .. } = self.marks;
        Some(MarksCounted {
            ace: (packets + u64::from(ACE_AT_FIRST)) as u8 & 7,
            option: has_room.then(|| PayloadCounted { capable: modulo(capable + 1), marked: modulo(marked) }),
        })
    }
}
