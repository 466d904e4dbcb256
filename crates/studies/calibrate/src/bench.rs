//! Runs a setting and counts the work of both ends.

use crate::cost::Cost;
use crate::kernel_counts::KernelCounts;
use crate::observation::{Counts, Observation, Side, Work};
use crate::pair::Pair;
use crate::setting::Setting;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirespeed_topology::steering;

/// Time before the measured part, in which buffers and windows grow.
const WARM_UP: Duration = Duration::from_millis(700);

/// The cores of sender and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    /// Writers, and acknowledgements that come.
    pub sender: u32,
    /// Readers, and data that comes.
    pub receiver: u32,
}

impl Cores {
    /// The first two that this thread may use.
    ///
    /// # Errors
    /// If there is only one.
    pub fn of_this_thread() -> io::Result<Cores> {
        // Receive packet steering chooses among the same.
        match steering::cores()[..] {
            [sender, receiver, ..] => Ok(Cores { sender: sender as u32, receiver: receiver as u32 }),
            _ => Err(io::Error::other("a calibration needs two cores: one sends, one receives")),
        }
    }

    /// That of an end.
    pub fn of(self, side: Side) -> u32 {
        match side {
            Side::Sender => self.sender,
            Side::Receiver => self.receiver,
        }
    }
}

/// The work of a thread so far.
#[derive(Debug, Default)]
struct Done {
    thread: AtomicI32,
    calls: AtomicU64,
    bytes: AtomicU64,
}

impl Done {
    /// How often the thread has waited; 0 if it has ended.
    fn waits(&self) -> u64 {
        let file = format!("/proc/self/task/{}/status", self.thread.load(Relaxed));
        let text = fs::read_to_string(file).unwrap_or_default();
        let row = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        row.and_then(|row| row.trim().parse().ok()).unwrap_or(0)
    }
}

/// The threads of an end together, at one instant.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    calls: u64,
    bytes: u64,
    waits: u64,
}

impl Sum {
    fn of(threads: &[Arc<Done>]) -> Sum {
        threads.iter().fold(Sum::default(), |sum, done| Sum {
            calls: sum.calls + done.calls.load(Relaxed),
            bytes: sum.bytes + done.bytes.load(Relaxed),
            waits: sum.waits + done.waits(),
        })
    }

    fn since(self, before: Sum) -> Sum {
        Sum {
            calls: self.calls - before.calls,
            bytes: self.bytes - before.bytes,
            waits: self.waits.saturating_sub(before.waits),
        }
    }
}

/// Measures a setting for `duration`, in namespaces that are gone afterwards. `scratch` is an empty folder in a mount namespace of our
/// own.
///
/// # Errors
/// Those of namespaces, sockets and threads.
pub fn measure(
    setting: &Setting,
    repeat: u32,
    cores: Cores,
    duration: Duration,
    scratch: &Path,
) -> io::Result<Observation> {
    let pair = Pair::build(setting, scratch)?;
    let call = setting.call.get() as usize;
    let (mut threads, mut done): (Vec<JoinHandle<()>>, [Vec<Arc<Done>>; 2]) = Default::default();
    let connections = pair.connect(setting.flows)?;
    for [writes, reads] in &connections {
        if let Some(rate) = setting.rate {
            set(writes, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate.bytes_per_second())?;
        }
        if setting.corked {
            set(writes, libc::IPPROTO_TCP, libc::TCP_CORK, 1_i32)?;
        }
        if let Some(bytes) = setting.low_water {
            set(reads, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes.get() as i32)?;
        }
        for (socket, side) in [(writes, Side::Sender), (reads, Side::Receiver)] {
            let (socket, own) = (socket.try_clone()?, Arc::new(Done::default()));
            done[side as usize].push(Arc::clone(&own));
            let core = cores.of(side);
            threads.push(thread::Builder::new().spawn(move || work(socket, side, core, call, &own))?);
        }
    }
    thread::sleep(WARM_UP);
    let look = || {
        Ok::<_, io::Error>((
            KernelCounts::read(&pair.namespaces())?,
            [Sum::of(&done[0]), Sum::of(&done[1])],
            Instant::now(),
        ))
    };
    let (before, sums_before, began) = look()?;
    thread::sleep(duration);
    let (after, sums_after, ended) = look()?;
    for [writes, reads] in &connections {
        // One that has ended already is as good.
        let _ = (writes.shutdown(Shutdown::Both), reads.shutdown(Shutdown::Both));
    }
    for thread in threads {
        thread.join().map_err(|_| io::Error::other("a thread of the test panicked"))?;
    }
    let elapsed_ns = (ended - began).as_nanos() as u64;
    let sums = [0, 1].map(|at| sums_after[at].since(sums_before[at]));
    let protocol = |side: usize, name: &str| after.protocol(&before, side, name);
    let work = [Side::Sender, Side::Receiver].map(|side| {
        let (at, core) = (side as usize, cores.of(side));
        let (came, went) = (protocol(at, "IpInReceives"), protocol(at, "IpOutRequests"));
        let mut counts: Counts = match side {
            Side::Sender => {
                let packets = if setting.gso { 0 } else { protocol(1, "IpInReceives") };
                let sent = [(Cost::TxSegment, went), (Cost::TxPacket, packets)];
                [(Cost::CopyWritten, sums[at].bytes), (Cost::RxAck, came)].into_iter().chain(sent).collect()
            }
            Side::Receiver => {
                [(Cost::CopyRead, sums[at].bytes), (Cost::RxData, came), (Cost::TxAck, went)].into()
            }
        };
        counts.insert(Cost::Syscall, sums[at].calls);
        counts.insert(Cost::Wakeup, sums[at].waits);
        counts.insert(Cost::Interrupt, after.interrupts(&before, core));
        let other = cores.of(side.other());
        counts.insert(Cost::Kick, after.interrupts(&before, other));
        counts.insert(Cost::OtherWork, elapsed_ns / 1000);
        counts.insert(Cost::IdleExit, after.idle_exits(&before, core));
        Work { side, busy_ns: elapsed_ns.saturating_sub(after.free_ns(&before, core)), counts }
    });
    Ok(Observation {
        setting: setting.clone(),
        repeat,
        elapsed_ns,
        read_bytes: sums[1].bytes,
        retransmitted: protocol(0, "TcpRetransSegs"),
        work: work.to_vec(),
    })
}

/// Writes or reads until the connection is shut down, on one core.
fn work(mut socket: TcpStream, side: Side, core: u32, call: usize, done: &Done) {
    // SAFETY: takes no pointers.
    done.thread.store(unsafe { libc::gettid() }, Relaxed);
    pin(core);
    let mut buffer = vec![0; call];
    loop {
        let moved = match side {
            Side::Sender => socket.write(&buffer),
            Side::Receiver => socket.read(&mut buffer),
        };
        match moved {
            Ok(0) | Err(_) => return,
            Ok(bytes) => {
                done.calls.fetch_add(1, Relaxed);
                done.bytes.fetch_add(bytes as u64, Relaxed);
            }
        }
    }
}

/// Keeps the calling thread on a core. One that cannot be kept there shows in the residual of the fit.
fn pin(core: u32) {
    // SAFETY: a cpu_set_t is an array of bits, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the number is one that the kernel gave us, below CPU_SETSIZE; the set has the size given.
    unsafe {
        libc::CPU_SET(core as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// Sets a socket's option to a plain number.
fn set<T: Copy>(socket: &TcpStream, level: i32, option: i32, value: T) -> io::Result<()> {
    // SAFETY: the pointer is to a live value, whose size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
