//! Marks that the receiver has counted: from the fields of an acknowledgement to a number of packets (RFC 9768, section
//! 3.2.2.5 and appendix A).

use super::Sender;
use super::ack::Findings;
use crate::net::{MarksCounted, PayloadCounted};

/// The field ACE begins with this (RFC 9768, section 3.2.2.1).
pub const ACE_AT_FIRST: u8 = 5;
/// ACE has three bits.
const ACE_MASK: u64 = 7;
/// An estimate by bytes may be so many times below the safe one before that is taken (RFC 9768, appendix A.2.2: a safety factor of
/// 2).
const SAFETY_FACTOR: u64 = 2;

/// Marks that acknowledgements have reported.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct MarksKnown {
    packets: u64,
    /// Of the option: marked payload, modulo 2^24.
    payload: u32,
}

impl Sender {
    /// An acknowledgement reports the receiver's count, and has delivered so many packets.
    pub(super) fn take_marks(&mut self, marks: &MarksCounted, delivered: u64, found: &mut Findings) {
        // Others may have overtaken it (section 3.2.2.5.2).
        let is_news = found.advanced || found.data_sacked || found.duplicate_reported || found.newer;
        if !is_news {
            return;
        }
        let payload = marks.option.map(|option| {
            let payload = option.marked.wrapping_sub(self.marks.payload) & PayloadCounted::MASK;
            self.marks.payload = option.marked;
            u64::from(payload)
        });
        let new = newly_marked(self.marks.packets, marks.ace, delivered, payload, self.settings.mss.into());
        self.marks.packets += new;
        self.delivery.delivered_ce += new;
        found.ece |= new > 0;
    }
}

/// Packets newly marked, by ACE and the count before. If more than seven packets were delivered, ACE may have wrapped. Then the
/// highest possible count is taken (section 3.2.2.5.2), unless the option has counted fewer bytes (appendix A.2.2).
fn newly_marked(known: u64, ace: u8, delivered: u64, payload: Option<u64>, mss: u64) -> u64 {
    let counted = u64::from(ace.wrapping_sub(ACE_AT_FIRST));
    let least = counted.wrapping_sub(known) & ACE_MASK;
    if delivered <= ACE_MASK {
        return least;
    }
    let safe = delivered - (delivered.wrapping_sub(least) & ACE_MASK);
    match payload {
        // Only packets without payload were marked.
        Some(0) => least,
        // More was marked than the least is: the nearest count that ACE allows, full segments assumed.
        Some(payload) if payload > least * mss => {
            let packets = payload.div_ceil(mss);
            let wraps = packets.saturating_sub(least).div_ceil(ACE_MASK + 1);
            safe.min(least + wraps * (ACE_MASK + 1))
        }
        Some(payload) if payload * SAFETY_FACTOR < safe * mss => least,
        _ => safe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    /// ACE after so many marks.
    fn ace(marks: u64) -> u8 {
        (marks + u64::from(ACE_AT_FIRST)) as u8 & ACE_MASK as u8
    }

    #[test]
    fn up_to_seven_packets_leave_no_doubt() {
        for known in 0..20 {
            for new in 0..=7 {
                assert_eq!(newly_marked(known, ace(known + new), 7, None, MSS), new);
            }
        }
    }

    #[test]
    fn a_count_that_may_have_wrapped_is_the_highest_possible() {
        // Appendix A.1 of RFC 9768: 9 delivered, the field says 1: 1 or 9.
        assert_eq!(newly_marked(0, ace(1), 9, None, MSS), 9);
        assert_eq!(newly_marked(0, ace(1), 8, None, MSS), 1);
        assert_eq!(newly_marked(0, ace(0), 8, None, MSS), 8);
        assert_eq!(newly_marked(3, ace(5), 100, None, MSS), 98);
    }

    #[test]
    fn the_option_tells_how_often_it_has_wrapped() {
        for (marked, delivered) in [(0, 44), (1, 44), (9, 44), (17, 44), (40, 44), (44, 44)] {
            assert_eq!(newly_marked(6, ace(6 + marked), delivered, Some(marked * MSS), MSS), marked);
        }
    }
}
