//! A whole capture, on two threads.

use crate::connection::Observer;
use crate::error::CaptureError;
use crate::facts::CaptureFacts;
use crate::headers::Tunnels;
use crate::reader::Reader;
use crate::segment::Packet;
use crate::source::Input;
use crate::tracker::{Limits, Tracker};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

/// How to read a capture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Ports of tunnels.
    pub tunnels: Tunnels,
    /// When connections end.
    pub limits: Limits,
}

/// Packets that go from one thread to the other at once: few enough for a processor's cache.
const BATCH: usize = 256;
/// Batches in transit.
const BATCHES: usize = 8;

/// Packets in transit. The places are used again.
struct Batch {
    places: Box<[Packet; BATCH]>,
    count: usize,
}

/// Reads a capture to its end. `observer` receives its packets in the order of the file, on this thread.
///
/// Another thread reads, decompresses, and reads the headers.
///
/// # Errors
/// If the input cannot be opened, or is not a capture. Damage further on is in the facts.
pub fn read<O: Observer + ?Sized>(
    input: Input<'_>,
    settings: &Settings,
    observer: &mut O,
) -> Result<CaptureFacts, CaptureError> {
    let reader = Reader::open(input, settings.tunnels.clone())?;
    let (to_tracker, from_reader) = sync_channel(BATCHES);
    let (to_reader, from_tracker) = channel();
    let mut tracker = Tracker::new(settings.limits.clone());
    let mut facts = thread::scope(|scope| {
        let reading = scope.spawn(move || send(reader, &to_tracker, &from_tracker));
        track(&from_reader, &to_reader, &mut tracker, observer);
        // Without a receiver the thread ends, also if the observer panics.
        drop((from_reader, to_reader));
        reading.join().unwrap_or_else(|panic| resume_unwind(panic))
    });
    let tracked = tracker.finish(observer);
    facts.connections = tracked.connections;
    facts.most_open = tracked.most_open;
    facts.super_packets = tracked.super_packets;
    Ok(facts)
}

fn send(mut reader: Reader, to_tracker: &SyncSender<Batch>, used: &Receiver<Batch>) -> CaptureFacts {
    loop {
        let new = |_| Batch { places: Box::new([Packet::EMPTY; BATCH]), count: 0 };
        let mut batch = used.try_recv().unwrap_or_else(new);
        batch.count = 0;
        while batch.count < BATCH && reader.next_into(&mut batch.places[batch.count]) {
            batch.count += 1;
        }
        let is_last = batch.count < BATCH;
        if to_tracker.send(batch).is_err() || is_last {
            return reader.into_facts();
        }
    }
}

fn track<O: Observer + ?Sized>(
    batches: &Receiver<Batch>,
    used: &Sender<Batch>,
    tracker: &mut Tracker,
    observer: &mut O,
) {
    for batch in batches {
        for packet in &batch.places[..batch.count] {
            tracker.packet(packet, observer);
        }
        // A thread that has ended needs no more of them.
        let _ = used.send(batch);
    }
}
