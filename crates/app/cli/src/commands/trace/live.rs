//! `wirespeed trace --interface`: a capture of this host, explained when it ends.

use super::super::folder::cannot_write;
use super::results::{self, Read};
use crate::failure::Failure;
use crate::interrupt;
use clap::Args;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wirespeed_capture::Input;
use wirespeed_host::packet_ring::{
    Filter, LiveCapture, LiveSettings, link_layer, processor_time, ring_bytes,
};
use wirespeed_host::sources::softnet;
use wirespeed_trace::Options;
use wirespeed_trace::text::count;
use wirespeed_units::{Bytes, Span};

const LIVE: &str = "Live capture";

/// Options of a live capture.
#[derive(Debug, Args)]
pub struct LiveOptions {
    /// Capture the headers of this interface's packets, and explain them when the capture ends.
    #[arg(short, long, value_name = "NAME", conflicts_with = "file", help_heading = LIVE)]
    pub interface: Option<String>,
    /// Length of the capture, up to 24 h; 10 s if left out. Ctrl-C ends it early with the result.
    #[arg(long = "for", value_name = "TIME", help_heading = LIVE)]
    time: Option<Span>,
    /// Capture only these packets, such as "tcp port 5001 and host 10.0.0.2" (an expression of tcpdump).
    #[arg(long, value_name = "EXPRESSION", help_heading = LIVE)]
    filter: Option<String>,
    /// Write the packets to a new file as well (pcapng; tcpdump and Wireshark read it).
    #[arg(long, value_name = "FILE", help_heading = LIVE)]
    write: Option<PathBuf>,
    /// Bytes to keep of each packet; 128 if left out, which have all headers.
    #[arg(long, value_name = "BYTES", help_heading = LIVE,
          value_parser = clap::value_parser!(u32).range(64..=65_535))]
    snaplen: Option<u32>,
    /// Memory for packets that were not read yet, up to 4 GiB. Without it, enough for a second at the interface's rate: 8 to 512 MiB.
    #[arg(long, value_name = "SIZE", help_heading = LIVE)]
    buffer: Option<Bytes>,
}

/// Effects of a live capture on its host, and its own losses.
#[derive(Debug, Serialize)]
pub struct Live {
    /// Interface.
    interface: String,
    /// Filter.
    filter: Option<String>,
    /// From the start to the end, in nanoseconds.
    duration_ns: u64,
    /// Reason of the end.
    ended: Ended,
    /// Bytes kept of each packet.
    snaplen_bytes: u32,
    /// Memory of the ring, in bytes.
    ring_bytes: u64,
    /// Packets that the filter accepted, with those dropped (PACKET_STATISTICS, tp_packets). `None` if the capture failed.
    received_packets: Option<u64>,
    /// Packets dropped because the ring was full (PACKET_STATISTICS, tp_drops).
    dropped_packets: Option<u64>,
    /// Processor time of this process, with the analysis, in nanoseconds.
    processor_ns: u64,
    /// The same by `duration_ns`: 1 is a whole core.
    core_share: f64,
    /// Growth of the machine's softnet counters meanwhile; `None` if they cannot be read.
    softnet: Option<Softnet>,
    /// The file with the packets.
    file: Option<PathBuf>,
}

/// Reason of the end of a live capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    /// Its time was over.
    Time,
    /// Ctrl-C or SIGTERM.
    Interrupt,
    /// The interface was set down or removed.
    InterfaceDown,
}

/// Growth of counters of /proc/net/softnet_stat, of all cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Softnet {
    /// Buffers dropped because a backlog was full.
    dropped: u64,
    /// Rounds that ended with work left.
    squeezed: u64,
}

impl Softnet {
    /// The counters of every core, by its number.
    fn read() -> Option<Vec<softnet::Cpu>> {
        let text = fs::read_to_string("/proc/net/softnet_stat").ok()?;
        Some(softnet::parse(&text)).filter(|cpus| !cpus.is_empty())
    }

    fn between(before: &[softnet::Cpu], after: &[softnet::Cpu]) -> Softnet {
        let growth = |of: fn(&softnet::Cpu) -> u32| {
            let each = after.iter().filter_map(|cpu| {
                let earlier = before.iter().find(|other| other.cpu == cpu.cpu)?;
                Some(u64::from(of(cpu).wrapping_sub(of(earlier))))
            });
            each.sum()
        };
        Softnet { dropped: growth(|cpu| cpu.dropped), squeezed: growth(|cpu| cpu.time_squeeze) }
    }
}

impl LiveOptions {
    /// An option of a live capture that was given without an interface is an error.
    pub fn check(&self) -> Result<(), Failure> {
        let given = [
            ("--for", self.time.is_some()),
            ("--filter", self.filter.is_some()),
            ("--write", self.write.is_some()),
            ("--snaplen", self.snaplen.is_some()),
            ("--buffer", self.buffer.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given && self.interface.is_none()) {
            None => Ok(()),
            Some((option, _)) => Err(usage(
                format!("{option} is for a live capture, and a file is named"),
                "name an interface instead of the file, for example --interface eth0",
            )),
        }
    }

    fn time(&self) -> Span {
        self.time.unwrap_or(Span::secs(10))
    }
}

impl Live {
    /// The capture in words.
    pub fn text(&self) -> String {
        let dropped = self.dropped_packets.unwrap_or(0);
        let drops = match (self.received_packets, dropped) {
            (Some(received), 0) => format!("{} packets, none dropped by the capture", count(received)),
            (Some(received), dropped) => {
                format!("{} of {} packets dropped by the capture", count(dropped), count(received))
            }
            (None, _) => "no counters, since the capture failed".into(),
        };
        let softnet = match self.softnet {
            Some(Softnet { dropped: 0, .. }) => {
                " The softnet backlogs of this machine dropped nothing.".into()
            }
            Some(Softnet { dropped, .. }) => {
                format!(" The softnet backlogs of this machine dropped {} buffers meanwhile.", count(dropped))
            }
            None => String::new(),
        };
        let seconds = self.duration_ns as f64 / 1e9;
        let ended = match self.ended {
            Ended::Time => "",
            Ended::Interrupt => " (interrupted)",
            Ended::InterfaceDown => " (the interface went down)",
        };
        let mut text = format!(
            "Live capture of {}: {seconds:.1} s{ended}, {drops}, {:.1} % of a core used.{softnet}\n",
            self.interface,
            100.0 * self.core_share,
        );
        if dropped > 0 {
            text += "To drop less: a narrower --filter, a larger --buffer, or --write here and `wirespeed trace FILE` elsewhere.\n";
        }
        if let Some(file) = &self.file {
            text += &format!("The packets are in {}.\n", file.display());
        }
        text
    }
}

/// Captures, and explains the packets.
pub(super) fn capture(live: &LiveOptions, options: Options) -> Result<(Read, Live), Failure> {
    let settings = settings(live)?;
    let softnet = Softnet::read();
    let stop = interrupt::flag();
    let ring =
        LiveCapture::start(&settings, || stop.load(SeqCst)).map_err(|error| refused(&settings, &error))?;
    // After the ring, so that a capture that is refused leaves no file.
    let copy = live.write.as_deref().map(PacketFile::create).transpose()?;
    let (began, processor) = (Instant::now(), processor_time());
    if io::stderr().is_terminal() {
        eprintln!(
            "Capturing on {} for {}; Ctrl-C ends it early with the result.",
            settings.interface,
            live.time()
        );
    }
    let written = Arc::new(Mutex::new(copy));
    let input = Tee { ring, copy: written.clone() };
    let read = results::read(Input::Reader(Box::new(input)), options)
        .map_err(|error| Failure::Environment(format!("the capture failed: {error}")))?;
    let duration = began.elapsed();
    let used = processor_time().saturating_sub(processor);
    let copy = written.lock().ok().and_then(|mut copy| copy.take());
    let file = copy.map(PacketFile::finish).transpose()?;
    let softnet = softnet.zip(Softnet::read()).map(|(before, after)| Softnet::between(&before, &after));
    let ended = match (stop.load(SeqCst), settings.duration) {
        (true, _) => Ended::Interrupt,
        (false, Some(time)) if duration < time => Ended::InterfaceDown,
        _ => Ended::Time,
    };
    let counters = read.facts.interfaces.first().and_then(|interface| interface.drops);
    let live = Live {
        interface: settings.interface,
        filter: settings.filter.map(|filter| filter.expression),
        duration_ns: duration.as_nanos() as u64,
        ended,
        snaplen_bytes: settings.snaplen,
        ring_bytes: settings.ring_bytes as u64,
        received_packets: counters.and_then(|counters| counters.received),
        dropped_packets: counters.and_then(|counters| counters.dropped_by_system),
        processor_ns: used.as_nanos() as u64,
        core_share: used.as_secs_f64() / duration.as_secs_f64().max(1e-9),
        softnet,
        file,
    };
    Ok((read, live))
}

fn usage(message: String, remedy: impl Into<String>) -> Failure {
    Failure::Usage { message, remedy: remedy.into() }
}

fn settings(live: &LiveOptions) -> Result<LiveSettings, Failure> {
    let (least, longest) = (Span::ms(1), Span::secs(24 * 3600));
    let time = live.time();
    if !(least..=longest).contains(&time) {
        let message = format!("--for: {time} is out of range");
        return Err(usage(message, format!("write {least} to {longest}, for example --for \"10 s\"")));
    }
    let (smallest, largest) = (Bytes::new(2 << 20), Bytes::new(4 << 30));
    if let Some(buffer) = live.buffer.filter(|buffer| !(smallest..=largest).contains(buffer)) {
        let message = format!("--buffer: {buffer} is out of range");
        return Err(usage(
            message,
            format!("write {smallest} to {largest}, for example --buffer \"64 MiB\""),
        ));
    }
    let interface = live.interface.clone().unwrap_or_default();
    let link = link_layer(&interface)
        .map_err(|error| usage(format!("{error}"), format!("this host has {}", interfaces().join(", "))))?;
    let filter = live.filter.as_deref().map(|expression| Filter::compile(expression, link)).transpose();
    let filter = filter.map_err(|error| {
        usage(
            format!("--filter: {error}"),
            "for example --filter \"tcp port 5001\"; `man pcap-filter` lists all terms",
        )
    })?;
    const SNAPLEN: u32 = 128;
    let snaplen = live.snaplen.unwrap_or(SNAPLEN);
    let ring_bytes = match live.buffer {
        Some(buffer) => buffer.get() as usize,
        None => ring_bytes(link_rate_bps(&interface), snaplen),
    };
    Ok(LiveSettings {
        interface,
        snaplen,
        ring_bytes,
        filter,
        duration: Some(Duration::from_nanos(time.nanoseconds().unsigned_abs())),
    })
}

/// Names of the interfaces of this host.
fn interfaces() -> Vec<String> {
    let entries = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Rate of an interface; 10 Gbit/s where the kernel does not report it.
fn link_rate_bps(interface: &str) -> u64 {
    const UNKNOWN: u64 = 10_000;
    let speed = fs::read_to_string(Path::new("/sys/class/net").join(interface).join("speed"));
    let megabits = speed.ok().and_then(|text| text.trim().parse::<u64>().ok());
    megabits.filter(|megabits| *megabits > 0 && *megabits < u64::from(u32::MAX)).unwrap_or(UNKNOWN)
        * 1_000_000
}

/// Why a capture cannot start.
fn refused(settings: &LiveSettings, error: &io::Error) -> Failure {
    let interface = &settings.interface;
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::PermissionDenied, _) => {
            let program = std::env::current_exe().unwrap_or_else(|_| "wirespeed".into());
            let remedy = format!(
                "run it with sudo, or give the program the right once: sudo setcap cap_net_raw+ep {}",
                program.display()
            );
            usage(format!("cannot capture on {interface}: this user lacks CAP_NET_RAW"), remedy)
        }
        (_, Some(libc::ENETDOWN)) => {
            let remedy = format!("sudo ip link set {interface} up");
            usage(format!("cannot capture on {interface}: it is down"), remedy)
        }
        (_, Some(libc::ENOMEM)) => usage(
            format!(
                "cannot capture on {interface}: no memory for a buffer of {}",
                Bytes::new(settings.ring_bytes as u64)
            ),
            "give a smaller one, for example --buffer \"8 MiB\"",
        ),
        (_, Some(libc::EINVAL)) if settings.filter.is_some() => usage(
            format!("cannot capture on {interface}: the kernel does not accept the filter ({error})"),
            "write a simpler --filter, for example \"tcp port 5001\"",
        ),
        _ => Failure::Environment(format!("cannot capture on {interface}: {error}")),
    }
}

/// A capture that is read, and copied to a file.
struct Tee {
    ring: LiveCapture,
    copy: Arc<Mutex<Option<PacketFile>>>,
}

impl io::Read for Tee {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = io::Read::read(&mut self.ring, buffer)?;
        if let Ok(mut copy) = self.copy.lock()
            && let Some(copy) = copy.as_mut()
        {
            copy.add(&buffer[..count]);
        }
        Ok(count)
    }
}

/// The file of --write. It has another name until it is complete.
struct PacketFile {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    /// Error of the file. The capture continues without it.
    failed: Option<io::Error>,
}

impl PacketFile {
    fn create(path: &Path) -> Result<PacketFile, Failure> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".partial");
        let partial = path.with_file_name(name);
        for taken in [path, partial.as_path()] {
            if taken.exists() {
                let message =
                    format!("--write: {} exists, and captures are not overwritten", taken.display());
                return Err(usage(message, "give a new name, or remove the file"));
            }
        }
        let file = File::create_new(&partial).map_err(|source| cannot_write(path, source))?;
        let file = BufWriter::with_capacity(1 << 20, file);
        Ok(PacketFile { path: path.into(), partial, file, failed: None })
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.file.write_all(bytes).err();
        }
    }

    /// Gives the file its name.
    fn finish(mut self) -> Result<PathBuf, Failure> {
        let renamed = match self.failed.take() {
            Some(error) => Err(error),
            None => self.file.flush().and_then(|()| fs::rename(&self.partial, &self.path)),
        };
        renamed.map_err(|source| cannot_write(&self.path, source))?;
        Ok(self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softnet_growth_is_by_core_and_modulo_32_bits() {
        let cpu = |cpu, dropped| softnet::Cpu {
            cpu,
            processed: 0,
            dropped,
            time_squeeze: 1,
            received_rps: None,
            flow_limit: None,
            backlog: None,
        };
        let before = [cpu(0, u32::MAX), cpu(1, 5)];
        // Core 1 was set offline, and core 2 online.
        let after = [cpu(0, 2), cpu(2, 100)];
        assert_eq!(Softnet::between(&before, &after), Softnet { dropped: 3, squeezed: 0 });
    }

    #[test]
    fn capture_is_not_overwritten_and_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.pcapng");
        let mut copy = PacketFile::create(&path).unwrap();
        copy.add(b"packets");
        assert!(!path.exists());
        assert!(PacketFile::create(&path).is_err(), "another capture is being written");
        assert_eq!(copy.finish().unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), b"packets");
        assert!(matches!(PacketFile::create(&path), Err(Failure::Usage { .. })));
    }
}
