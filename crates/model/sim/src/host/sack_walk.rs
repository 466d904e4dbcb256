//! How far a sender's kernel walks through what it has in flight to find what an acknowledgement reports
//! (`tcp_sacktag_write_queue`). With large windows this was work for milliseconds.

use super::cost::times;
use super::rules::SackWalk;
use super::{Host, Outside};
use crate::net::{Blocks, Body, Sack, Train};
use crate::world::Endpoint;
use std::ops::Range;
use wirespeed_units::Span;

/// What a socket remembers of the blocks it was told last (`recv_sack_cache`).
#[derive(Debug, Default, Clone)]
pub struct Remembered {
    duplicate: Option<Range<u64>>,
    blocks: Blocks,
}

impl Remembered {
    /// How many packets in flight, from `una` on, are looked at for these blocks.
    pub(super) fn visits(&mut self, rule: SackWalk, una: u64, sack: &Sack) -> u64 {
        let ahead = |block: &Range<u64>| block.end.saturating_sub(una);
        let visits = match rule {
            SackWalk::Skips => 0,
            SackWalk::EachBlock => sack.blocks.iter().map(ahead).sum(),
            SackWalk::Once => match self.growth(sack) {
                Some(grown) => grown,
                None => sack.blocks.iter().map(ahead).max().unwrap_or(0),
            },
        };
        *self = Remembered { duplicate: sack.duplicate.clone(), blocks: sack.blocks.clone() };
        visits
    }

    /// By how much the first block has grown, if nothing else has changed: the walk begins where it ended before
    /// (`fastpath_skb_hint`).
    fn growth(&self, sack: &Sack) -> Option<u64> {
        if sack.duplicate.is_some() || self.duplicate.is_some() || self.blocks.len() != sack.blocks.len() {
            return None;
        }
        let ((old, olds), (new, news)) = (self.blocks.split_first()?, sack.blocks.split_first()?);
        (old.start == new.start && olds == news).then(|| new.end.saturating_sub(old.end))
    }
}

impl Host {
    /// What looking for the blocks of an acknowledgement costs.
    pub(super) fn sack_walk(&mut self, train: &Train, outside: &Outside) -> Span {
        let each = self.settings.costs.sack_walk;
        if each == Span::ZERO {
            // Most hosts: nothing is to be remembered for it.
            return Span::ZERO;
        }
        let (Body::Ack(ack), Endpoint::Tcp(tcp)) =
            (&train.body, &outside.flows[train.flow as usize].endpoint)
        else {
            return Span::ZERO;
        };
        let (Some(sack), Some(socket)) = (&ack.sack, self.sockets.get_mut(&train.flow)) else {
            return Span::ZERO;
        };
        let visits = socket.told.visits(self.rules.sack_walk, tcp.sender.state().una(), sack);
        times(each, visits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;
    use wirespeed_scenario::run::KernelVersion;

    fn visits(remembered: &mut Remembered, kernel: &str, una: u64, blocks: &[Range<u64>]) -> u64 {
        let kernel: KernelVersion = kernel.parse().expect("a version");
        remembered.visits(
            SackWalk::of(kernel),
            una,
            &Sack { duplicate: None, blocks: blocks.iter().cloned().collect() },
        )
    }

    #[test]
    fn a_new_block_makes_2_6_24_walk_from_the_first_packet_in_flight() {
        let mut cache = Remembered::default();
        assert_eq!(visits(&mut cache, "2.6.24", 100, from_ref(&(1000..1001))), 901);
        assert_eq!(visits(&mut cache, "2.6.24", 100, from_ref(&(1000..1003))), 2, "the block has grown");
        assert_eq!(visits(&mut cache, "2.6.24", 100, &[2000..2001, 1000..1003]), 1901, "a second hole");
        assert_eq!(visits(&mut cache, "2.6.24", 100, &[2000..2002, 1000..1003]), 1);
        assert_eq!(
            visits(&mut cache, "2.6.24", 1000, from_ref(&(2000..2002))),
            1002,
            "the first hole is filled"
        );
    }

    #[test]
    fn kernels_before_walk_for_each_block_and_later_ones_do_not() {
        let blocks = [2000..2001, 1000..1003];
        assert_eq!(visits(&mut Remembered::default(), "2.4.20", 100, &blocks), 1901 + 903);
        let mut cache = Remembered::default();
        visits(&mut cache, "2.6.14", 100, &blocks);
        assert_eq!(visits(&mut cache, "2.6.14", 100, &blocks), 1901 + 903, "again with each acknowledgement");
        assert_eq!(visits(&mut Remembered::default(), "2.6.25", 100, &blocks), 0);
    }
}
