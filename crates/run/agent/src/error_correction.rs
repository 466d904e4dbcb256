//! Forward error correction over links of this kernel. A thread at the end where a direction begins is its encoder, and a thread at
//! the other end its decoder.
//!
//! The router before the link routes packets of the direction into a TUN device. The encoder reads them there, and sends them
//! and the repair packets by a packet socket into the queue of the link. The decoder reads frames of the link by a packet socket. It
//! writes packets to its TUN device, and the router behind the link passes them on.

mod frame;

use super::clock::{self, Clock};
use super::flow::Log;
use super::socket::{get_bytes, is_readable_within};
use frame::{Arrived, ETHERNET, Reader};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wirespeed_fec::{PacketDecoder, PacketEncoder, Parity, Release, ipv4_length};
use wirespeed_scenario::run::Fec;
use wirespeed_topology::tunnel::TunnelEnd;
use wirespeed_topology::world::World;
use wirespeed_units::Span;

/// A thread that has nothing to do looks this often whether the run is over.
const LOOK_NS: i64 = 100_000_000;
/// Bytes of the largest packet and its headers.
const LARGEST: usize = 1 << 16;

/// Packets of a protected direction so far.
#[derive(Debug, Default)]
pub struct Counters {
    /// Repair packets that the encoder sent.
    pub repair: AtomicU64,
    /// Repair packets that reached the decoder.
    pub decoded: AtomicU64,
    /// Lost packets that the decoder recovered.
    pub recovered: AtomicU64,
    /// Packets that wait at the decoder, now.
    pub held: AtomicU64,
}

/// Encoders and decoders that are running.
pub struct Corrections {
    /// The counters of each protected direction, by its queue.
    pub counters: BTreeMap<String, Arc<Counters>>,
    threads: Vec<JoinHandle<io::Result<()>>>,
}

impl Corrections {
    /// Starts the encoders and decoders of a world. They run until `stop`.
    ///
    /// # Errors
    /// If a descriptor cannot be copied.
    pub fn start(
        world: &mut World,
        clock: Clock,
        log: &Arc<Log>,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Corrections> {
        let mut corrections = Corrections { counters: BTreeMap::new(), threads: Vec::new() };
        for end in world.nodes.iter_mut().flat_map(|node| std::mem::take(&mut node.tunnels)) {
            corrections.serve(end, clock, log, stop)?;
        }
        Ok(corrections)
    }

    fn serve(
        &mut self,
        end: TunnelEnd,
        clock: Clock,
        log: &Arc<Log>,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<()> {
        let TunnelEnd { device, link, peer, encodes, decodes } = end;
        let line = |counters, queue| {
            let (device, link) = (device.try_clone()?, link.try_clone()?);
            let (log, stop) = (Arc::clone(log), Arc::clone(stop));
            Ok::<Line, io::Error>(Line { device, link, clock, counters, queue, log, stop })
        };
        if let Some(protected) = encodes {
            let line = line(self.counters_of(&protected.queue), protected.queue)?;
            let mut encoder = EncodingEnd::new(line, peer, &protected.fec);
            self.threads.push(thread::spawn(move || encoder.run()));
        }
        if let Some(protected) = decodes {
            let line = line(self.counters_of(&protected.queue), protected.queue)?;
            let mut decoder = DecodingEnd::new(line, &protected.fec);
            self.threads.push(thread::spawn(move || decoder.run()));
        }
        Ok(())
    }

    fn counters_of(&mut self, queue: &str) -> Arc<Counters> {
        Arc::clone(self.counters.entry(queue.to_owned()).or_default())
    }

    /// Waits for the threads after the run has been stopped.
    ///
    /// # Errors
    /// Why a thread ended before, with the name of the direction.
    pub fn join(self) -> io::Result<()> {
        for thread in self.threads {
            thread.join().map_err(|_| io::Error::other("a thread of forward error correction failed"))??;
        }
        Ok(())
    }
}

/// Parts that encoder and decoder have in common.
struct Line {
    device: File,
    link: OwnedFd,
    clock: Clock,
    counters: Arc<Counters>,
    /// Name of the direction's queue.
    queue: String,
    log: Arc<Log>,
    stop: Arc<AtomicBool>,
}

impl Line {
    fn named(&self, what: &str, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("forward error correction of {}: {what}: {error}", self.queue))
    }
}

/// Waits until a descriptor has something to read, or until a time of the run. Returns whether it has.
fn is_readable_before(fd: RawFd, clock: Clock, until_ns: i64) -> io::Result<bool> {
    let left = (until_ns - clock.now()).max(0).unsigned_abs();
    is_readable_within(fd, Some(Duration::from_nanos(left)))
}

/// The end of a link where a direction begins.
struct EncodingEnd {
    line: Line,
    peer: [u8; 6],
    encoder: PacketEncoder,
    flush_ns: i64,
    /// When the last packet came.
    last_ns: i64,
    repairs: Vec<Parity>,
}

impl EncodingEnd {
    fn new(line: Line, peer: [u8; 6], fec: &Fec) -> EncodingEnd {
        EncodingEnd {
            line,
            peer,
            encoder: PacketEncoder::new(fec.data, &fec.interleave),
            flush_ns: fec.flush.nanoseconds(),
            last_ns: 0,
            repairs: Vec::new(),
        }
    }

    fn run(&mut self) -> io::Result<()> {
        clock::exact_sleeps()?;
        let mut frame = vec![0; ETHERNET + LARGEST];
        while !self.line.stop.load(Relaxed) {
            let now = self.line.clock.now();
            let pause = (!self.encoder.is_empty()).then(|| self.last_ns + self.flush_ns);
            let until = pause.unwrap_or(i64::MAX).min(now + LOOK_NS);
            let is_readable = is_readable_before(self.line.device.as_raw_fd(), self.line.clock, until)?;
            let now = self.line.clock.now();
            if pause.is_some_and(|pause| pause <= now) {
                self.encoder.flush(&mut self.repairs);
                self.send_repairs()?;
            }
            if !is_readable {
                continue;
            }
            let read = self.line.device.read(&mut frame[ETHERNET..]);
            let length = read.map_err(|error| self.line.named("read from the TUN device", &error))?;
            let end = ETHERNET + length;
            // Hosts of a run send IPv4 only. Another packet is one that the router made for itself.
            if ipv4_length(&frame[ETHERNET..end]).is_none() {
                continue;
            }
            self.last_ns = now;
            let number = self.encoder.enter(&frame[ETHERNET..end], &mut self.repairs);
            frame::write_data_header(self.peer, number, &mut frame[..ETHERNET]);
            self.send(&frame[..end])?;
            self.send_repairs()?;
        }
        Ok(())
    }

    fn send_repairs(&mut self) -> io::Result<()> {
        for parity in std::mem::take(&mut self.repairs) {
            self.line.counters.repair.fetch_add(1, Relaxed);
            self.send(&frame::repair(self.peer, &parity))?;
        }
        Ok(())
    }

    fn send(&self, frame: &[u8]) -> io::Result<()> {
        let fd = self.line.link.as_raw_fd();
        // SAFETY: the kernel only reads the bytes, whose number is given.
        let sent = unsafe { libc::send(fd, frame.as_ptr().cast(), frame.len(), 0) };
        match io::Error::last_os_error() {
            _ if sent >= 0 => Ok(()),
            // The queue of the link dropped it, and counts it.
            error if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
            error => Err(self.line.named("send over the link", &error)),
        }
    }
}

/// The end of a link where a direction ends.
struct DecodingEnd {
    line: Line,
    reader: Reader,
    decoder: PacketDecoder,
    release: Release<i64, i64, Vec<u8>>,
    recovered: Vec<(u64, Vec<u8>)>,
}

impl DecodingEnd {
    fn new(line: Line, fec: &Fec) -> DecodingEnd {
        let hold = (fec.hold > Span::ZERO).then(|| fec.hold.nanoseconds());
        DecodingEnd {
            line,
            reader: Reader::default(),
            decoder: PacketDecoder::new(fec.data, &fec.interleave),
            release: Release::new(hold),
            recovered: Vec::new(),
        }
    }

    fn run(&mut self) -> io::Result<()> {
        clock::exact_sleeps()?;
        let mut frame = vec![0; ETHERNET + LARGEST];
        while !self.line.stop.load(Relaxed) {
            let deadline = self.release.deadline().unwrap_or(i64::MAX);
            let until = deadline.min(self.line.clock.now() + LOOK_NS);
            let is_readable = is_readable_before(self.line.link.as_raw_fd(), self.line.clock, until)?;
            let now = self.line.clock.now();
            let mut leaving = Vec::new();
            if is_readable {
                let length = self.receive(&mut frame)?;
                self.take(&frame[..length], now, &mut leaving);
            }
            self.release.expire(now, &mut |_, packet| leaving.push(packet));
            for packet in leaving {
                let written = self.line.device.write_all(&packet);
                written.map_err(|error| self.line.named("write to the TUN device", &error))?;
            }
            self.line.counters.held.store(self.release.held() as u64, Relaxed);
        }
        self.report_overflow();
        Ok(())
    }

    /// A frame arrives. Packets that leave the decoder are appended to `leaving`.
    fn take(&mut self, frame: &[u8], now: i64, leaving: &mut Vec<Vec<u8>>) {
        let (counters, recovered) = (&self.line.counters, &mut self.recovered);
        let mut leave = |_, packet| leaving.push(packet);
        match self.reader.read(frame) {
            Some(Arrived::Data(number, packet)) => {
                self.decoder.arrive(number, packet, recovered);
                self.release.enter(number, now, packet.to_vec(), &mut leave);
            }
            Some(Arrived::Repair(parity)) => {
                counters.decoded.fetch_add(1, Relaxed);
                self.decoder.repair(parity, recovered);
            }
            None => {}
        }
        for (number, packet) in recovered.drain(..) {
            counters.recovered.fetch_add(1, Relaxed);
            self.release.enter(number, now, packet, &mut leave);
        }
    }

    fn receive(&self, frame: &mut [u8]) -> io::Result<usize> {
        let fd = self.line.link.as_raw_fd();
        // SAFETY: the kernel writes at most as many bytes as there are.
        let length = unsafe { libc::recv(fd, frame.as_mut_ptr().cast(), frame.len(), libc::MSG_DONTWAIT) };
        match (usize::try_from(length), io::Error::last_os_error()) {
            (Ok(length), _) => Ok(length),
            (Err(_), error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(0)
            }
            (Err(_), error) => Err(self.line.named("receive from the link", &error)),
        }
    }

    /// Reports frames that found no room in the socket. No other counter has them.
    fn report_overflow(&self) {
        /// `struct tpacket_stats`: packets and drops (linux/if_packet.h).
        const LENGTH: usize = 8;
        let fd = self.line.link.as_raw_fd();
        let Ok(found) = get_bytes(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, LENGTH) else { return };
        let drops = found.get(4..8).and_then(|drops| Some(u32::from_ne_bytes(drops.try_into().ok()?)));
        if let Some(drops @ 1..) = drops {
            self.line.log.warn(format!(
                "{}: the decoder was too slow: {drops} packets of the link did not fit into its socket, and are unexplained",
                self.line.queue
            ));
        }
    }
}
