//! What the parts of a running flow share: threads write it, the sampler reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{IntoRawFd, OwnedFd, RawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use wirespeed_record::{Datagram, Event, EventKind, Exchange};

/// State of one flow.
#[derive(Debug, Default)]
pub struct FlowState {
    sender: Socket,
    receiver: Socket,
    /// Payload the receiving application has read.
    pub read_bytes: AtomicU64,
    /// UDP: payload of distinct datagrams that arrived.
    pub delivered_bytes: AtomicU64,
    /// UDP: datagrams sent, or handed to the kernel with the time at which it is to send them.
    pub datagrams_out: AtomicU64,
    /// UDP: datagrams arrived.
    pub datagrams_in: AtomicU64,
    /// UDP: how many were sent at least, by the highest number that arrived.
    pub datagrams_known: AtomicU64,
    /// UDP: the last datagram has been sent. TCP to an iperf3 server: the last byte has been written.
    pub sent_all: AtomicBool,
    /// TCP: the sender has ended, and all it sent has been read.
    pub read_all: AtomicBool,
    /// UDP: every datagram sent, filled when the last one is.
    pub datagrams: Mutex<Vec<Datagram>>,
    /// UDP: every datagram that arrived, in order of arrival.
    pub arrivals: Mutex<Vec<Datagram>>,
    /// TCP: files and responses whose begin has reached the receiver.
    pub exchanges: Mutex<Vec<Exchange>>,
}

/// One end: a descriptor that stays open to the end of the run, so that its counters can be read until then, and the core
/// that its thread was on last.
#[derive(Debug)]
pub struct Socket {
    descriptor: AtomicI32,
    core: AtomicI32,
    /// The kernel's number of that thread; 0 before it is known.
    thread: AtomicI32,
}

impl Default for Socket {
    fn default() -> Self {
        Socket { descriptor: AtomicI32::new(-1), core: AtomicI32::new(-1), thread: AtomicI32::new(0) }
    }
}

impl Socket {
    /// Hands the descriptor over; the agent's exit closes it.
    pub fn keep(&self, socket: OwnedFd) -> RawFd {
        let fd = socket.into_raw_fd();
        self.descriptor.store(fd, Relaxed);
        fd
    }

    /// The descriptor, once there is one.
    pub fn get(&self) -> Option<RawFd> {
        Some(self.descriptor.load(Relaxed)).filter(|fd| *fd >= 0)
    }

    /// The calling thread works here.
    pub fn note_core(&self) {
        // SAFETY: takes no pointers. It costs some nanoseconds, no system call.
        self.core.store(unsafe { libc::sched_getcpu() }, Relaxed);
        if self.thread.load(Relaxed) == 0 {
            // SAFETY: takes no pointers.
            self.thread.store(unsafe { libc::gettid() }, Relaxed);
        }
    }

    /// CPU time that its thread has used, in nanoseconds; `None` before it began and after its end.
    pub fn cpu_ns(&self) -> Option<i64> {
        // MAKE_THREAD_CPUCLOCK of linux/posix-timers_types.h with CPUCLOCK_SCHED.
        super::clock::of_thread((!self.thread()? << 3) | 6)
    }

    /// The kernel's number of its thread, once it is known.
    pub fn thread(&self) -> Option<i32> {
        Some(self.thread.load(Relaxed)).filter(|thread| *thread > 0)
    }

    /// The core that its thread was on last.
    pub fn core(&self) -> Option<u32> {
        u32::try_from(self.core.load(Relaxed)).ok()
    }
}

impl FlowState {
    /// The sender's socket.
    pub fn sender(&self) -> &Socket {
        &self.sender
    }

    /// The receiver's socket.
    pub fn receiver(&self) -> &Socket {
        &self.receiver
    }
}

/// Events and warnings on their way to the stream.
#[derive(Debug, Default)]
pub struct Log {
    events: Mutex<Vec<Event>>,
    warnings: Mutex<Vec<String>>,
    found: Mutex<Found>,
}

/// What was found of hosts, by host and setting: more than one value where flows found different ones.
type Found = BTreeMap<(String, String), BTreeSet<String>>;

impl Log {
    /// Notes something that happened to a flow.
    pub fn event(&self, t_ns: i64, kind: EventKind, flow: usize, host: &str, detail: impl Into<String>) {
        self.events.lock().expect("no thread panics holding the log").push(Event {
            t_ns,
            kind,
            flow: Some(flow as u32),
            host: Some(host.into()),
            detail: detail.into(),
            burst_packet: None,
        });
    }

    /// Notes something the reader of the results has to know.
    pub fn warn(&self, text: String) {
        self.warnings.lock().expect("no thread panics holding the log").push(text);
    }

    /// Notes how a host does something, beside its settings.
    pub fn found(&self, host: &str, setting: &str, value: String) {
        let mut found = self.found.lock().expect("no thread panics holding the log");
        found.entry((host.to_owned(), setting.to_owned())).or_default().insert(value);
    }

    /// All that was noted so of a run.
    pub fn all_found(&self) -> Vec<(String, String, String)> {
        let found = self.found.lock().expect("no thread panics holding the log");
        let of = |((host, setting), values): (&(String, String), &BTreeSet<String>)| {
            let values = values.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
            (host.clone(), setting.clone(), values)
        };
        found.iter().map(of).collect()
    }

    /// Takes what was noted since the last call.
    pub fn take(&self) -> (Vec<Event>, Vec<String>) {
        let events = std::mem::take(&mut *self.events.lock().expect("no thread panics holding the log"));
        (events, std::mem::take(&mut *self.warnings.lock().expect("no thread panics holding the log")))
    }
}
