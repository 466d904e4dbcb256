//! The streams that are open, and those that are kept.

use super::{Stream, UdpStream};
use crate::analyzer::Options;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use wirespeed_capture::{Captured, Connection, Datagram, Direction};

/// Follows the UDP streams of a capture.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Open streams by [`Connection::slot`] and [`Direction::index`].
    open: Vec<[Option<Box<Stream>>; 2]>,
    kept: BTreeMap<u64, UdpStream>,
    /// Bytes and numbers of those kept, least first.
    sizes: BinaryHeap<Reverse<(u64, u64)>>,
    total: u64,
}

impl Streams {
    pub(crate) fn packet(
        &mut self,
        time_ns: i64,
        captured: &Captured,
        datagram: &Datagram,
        connection: &Connection,
        options: Options,
    ) {
        let slot = connection.slot as usize;
        if slot >= self.open.len() {
            self.open.resize_with(slot + 1, Default::default);
        }
        let place = &mut self.open[slot][captured.direction.index()];
        let stream = place.get_or_insert_with(|| {
            self.total += 1;
            Box::new(Stream::new(self.total, time_ns))
        });
        if options.only_stream.is_none_or(|only| only == stream.number) {
            stream.packet(time_ns, &captured.packet, datagram, options.rtp_hz);
        }
    }

    pub(crate) fn ended(&mut self, connection: &Connection, options: Options) {
        let Some(both) = self.open.get_mut(connection.slot as usize).map(std::mem::take) else { return };
        for (direction, stream) in Direction::ALL.into_iter().zip(both) {
            let Some(stream) = stream else { continue };
            if options.only_stream.is_none_or(|only| only == stream.number) {
                self.keep(*stream, connection, direction, options);
            }
        }
    }

    fn keep(&mut self, stream: Stream, connection: &Connection, direction: Direction, options: Options) {
        let key = (stream.payload_bytes, stream.number);
        if self.kept.len() >= options.keep.max(1) {
            match self.sizes.peek() {
                Some(&Reverse(least)) if least < key => {
                    self.sizes.pop();
                    self.kept.remove(&least.1);
                }
                _ => return,
            }
        }
        self.sizes.push(Reverse(key));
        self.kept.insert(stream.number, stream.finish(connection, direction, options.rtp_hz));
    }

    /// The streams that are kept, by number, and the number of all.
    pub(crate) fn finish(self) -> (Vec<UdpStream>, u64) {
        (self.kept.into_values().collect(), self.total)
    }
}
