//! Acknowledgments on their way to the sender: which of them the sender had when it sent a packet.

use std::collections::VecDeque;

/// So many are followed.
const MOST: usize = 1 << 16;

/// The acknowledgments with one timestamp value, or one acknowledgment without timestamps.
#[derive(Debug, Clone, Copy)]
struct Mark {
    t: i64,
    value: Option<u32>,
    first: i64,
    last: i64,
    edge: Option<i64>,
    is_echoed: bool,
}

/// Acknowledgments that the sender may not have yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Echoes {
    marks: VecDeque<Mark>,
    /// The state before the oldest of them.
    before: Option<(i64, Option<i64>)>,
}

impl Echoes {
    /// An acknowledgment passed, towards the sender.
    pub(super) fn acknowledged(&mut self, t: i64, value: Option<u32>, ack: i64, edge: Option<i64>) {
        if let Some(last) = self.marks.back_mut()
            && value.is_some()
            && last.value == value
        {
            last.last = last.last.max(ack);
            last.edge = last.edge.max(edge);
            return;
        }
        self.marks.push_back(Mark { t, value, first: ack, last: ack, edge, is_echoed: false });
        if self.marks.len() > MOST {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(mark) = self.marks.pop_front() {
            self.before = Some((mark.last, mark.edge));
        }
    }

    /// A data packet echoes `echo`. Returns the time since the acknowledgment it echoes, if it is the first to do so.
    pub(super) fn echoed(&mut self, t: i64, echo: u32) -> Option<i64> {
        while let Some(mark) = self.marks.front() {
            let is_older = mark.value.is_none_or(|value| (value.wrapping_sub(echo) as i32) < 0);
            if !is_older {
                break;
            }
            self.drop_oldest();
        }
        let front = self.marks.front_mut().filter(|mark| mark.value == Some(echo) && !mark.is_echoed)?;
        front.is_echoed = true;
        Some(t - front.t)
    }

    /// Without timestamps: what passed before `t` has reached the sender.
    pub(super) fn reached(&mut self, t: i64) {
        while self.marks.front().is_some_and(|mark| mark.value.is_none() && mark.t <= t) {
            self.drop_oldest();
        }
    }

    /// The cumulative acknowledgment that the sender had when it sent a packet that passes at `t`: that of the echo, or
    /// the middle of several acknowledgments with this timestamp. Without timestamps: what passed `near` before.
    pub(super) fn known_to_sender(&self, t: i64, echo: Option<u32>, near: i64) -> Option<i64> {
        match (self.marks.front(), echo) {
            (Some(mark), Some(echo)) if mark.value == Some(echo) => {
                // Within a tick: acknowledgments that passed at least `near` before are at the sender.
                if t - mark.t < near { Some(mark.first) } else { Some(i64::midpoint(mark.first, mark.last)) }
            }
            _ => self.before.map(|(ack, _)| ack),
        }
    }

    /// The right edge of the receive window that the sender had then.
    pub(super) fn edge(&self, echo: Option<u32>) -> Option<i64> {
        match (self.marks.front(), echo) {
            (Some(mark), Some(echo)) if mark.value == Some(echo) => mark.edge,
            _ => self.before.and_then(|(_, edge)| edge),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packet_knows_the_acknowledgment_that_it_echoes() {
        let mut echoes = Echoes::default();
        echoes.acknowledged(100, Some(7), 1_000, Some(9_000));
        echoes.acknowledged(150, Some(7), 2_000, Some(9_000));
        echoes.acknowledged(200, Some(8), 5_000, Some(9_000));
        assert_eq!(echoes.echoed(300, 7), Some(200));
        assert_eq!(echoes.echoed(310, 7), None, "only the first packet measures");
        assert_eq!(echoes.known_to_sender(310, Some(7), 0), Some(1_500));
        assert_eq!(echoes.echoed(400, 8), Some(200));
        assert_eq!(echoes.known_to_sender(400, Some(8), 0), Some(5_000));
    }

    #[test]
    fn without_timestamps_acknowledgments_arrive_after_the_way_to_the_sender() {
        let mut echoes = Echoes::default();
        echoes.acknowledged(100, None, 1_000, None);
        echoes.acknowledged(200, None, 2_000, None);
        echoes.reached(150);
        assert_eq!(echoes.known_to_sender(250, None, 100), Some(1_000));
    }
}
