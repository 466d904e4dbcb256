//! Flows whose congestion controls are compared: side by side over one line, with every Nth packet of each dropped, by its own
//! count.

use super::bed::Bed;
use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::{MaybeUninit, size_of};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread::{scope, sleep, spawn};
use std::time::{Duration, Instant};

/// A flow.
pub struct Rival {
    /// Its congestion control.
    pub control: String,
    /// Of so many packets one is lost.
    pub every: u32,
}

/// How they fared.
pub struct Fared {
    /// Their mean windows, in packets.
    pub windows: Vec<f64>,
    /// By how much their round trips took longer than the line's delay, on the mean: a machine that has the time adds next
    /// to nothing.
    pub late: f64,
}

/// Where the first flow is received.
const PORT: u16 = 7000;
/// Each way, in milliseconds; nothing else delays.
const DELAY: u32 = 50;
/// Slow starts are over.
const SETTLED: Duration = Duration::from_secs(5);
const SAMPLE: Duration = Duration::from_millis(100);

/// Lets all send from the first machine of a bed to the last for a time.
pub fn compete(bed: &Bed, rivals: &[Rival], time: Duration) -> Fared {
    lose(bed, rivals);
    let ports = || (PORT..).take(rivals.len());
    let listen = |port| TcpListener::bind(("0.0.0.0", port)).expect("nobody else is there");
    let listeners: Vec<TcpListener> = on(bed.name(-1), ports().map(|port| move || listen(port)));
    let connect = |port| TcpStream::connect(("10.77.0.2", port)).expect("somebody listens there");
    let senders: Vec<TcpStream> = on(bed.name(0), ports().map(|port| move || connect(port)));
    scope(|scope| {
        for ((listener, sender), rival) in listeners.iter().zip(&senders).zip(rivals) {
            choose(sender, &rival.control).unwrap_or_else(|e| panic!("{}: {e}", rival.control));
            let mut taken = listener.accept().expect("it is connected").0;
            scope.spawn(move || while taken.read(&mut [0; 65_536]).is_ok_and(|bytes| bytes > 0) {});
            // Ends when the sender does.
            scope.spawn(move || while (&*sender).write_all(&[0; 65_536]).is_ok() {});
        }
        let began = Instant::now();
        let mut windows = vec![0.0; rivals.len()];
        let (mut samples, mut round_trips) = (0.0, 0.0);
        while began.elapsed() < time {
            sleep(SAMPLE);
            if began.elapsed() > SETTLED {
                samples += 1.0;
                for (window, sender) in windows.iter_mut().zip(&senders) {
                    let info = info(sender);
                    *window += f64::from(info.tcpi_snd_cwnd);
                    round_trips += f64::from(info.tcpi_rtt) / 1e3 / f64::from(2 * DELAY);
                }
            }
        }
        senders.iter().for_each(|sender| sender.shutdown(Shutdown::Both).expect("it is connected"));
        let late = round_trips / samples / rivals.len() as f64;
        Fared { windows: windows.into_iter().map(|sum| sum / samples).collect(), late }
    })
}

/// Makes the line: delay both ways, and for each flow losses by count.
fn lose(bed: &Bed, rivals: &[Rival]) {
    let mut script = format!(
        "ip link set right gso_max_segs 1 && tc qdisc add dev right root netem delay {DELAY}ms limit 20000 && \
         tc qdisc add dev right clsact"
    );
    for (port, rival) in (PORT..).zip(rivals) {
        script += &format!(
            " && tc filter add dev right egress protocol ip prio 1 u32 match ip dport {port} 0xffff \
             action ok random determ drop {}",
            rival.every
        );
    }
    bed.inside(bed.name(0), &script).expect("the guest has netem and gact");
    let back = format!("tc qdisc add dev left root netem delay {DELAY}ms limit 20000");
    bed.inside(bed.name(-1), &back).expect("the guest has netem");
}

/// What each of these makes in a network namespace.
fn on<T: Send + 'static>(
    namespace: &str,
    makes: impl Iterator<Item = impl FnOnce() -> T + Send + 'static>,
) -> Vec<T> {
    let path = format!("/run/netns/{namespace}");
    let makes: Vec<_> = makes.collect();
    let made = spawn(move || {
        let namespace = File::open(path).expect("the bed has made it");
        // SAFETY: no pointers; this thread only is moved, and ends after this.
        assert_eq!(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }, 0, "root may go there");
        makes.into_iter().map(|make| make()).collect()
    });
    made.join().expect("it says why it cannot")
}

/// Chooses the congestion control of a connection.
fn choose(socket: &TcpStream, control: &str) -> io::Result<()> {
    // SAFETY: a string of the length given.
    let done = unsafe {
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_CONGESTION);
        libc::setsockopt(socket.as_raw_fd(), level, option, control.as_ptr().cast(), control.len() as u32)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What the kernel says of a connection.
fn info(socket: &TcpStream) -> libc::tcp_info {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as u32;
    // SAFETY: the kernel writes at most `length` bytes, and numbers of zero are valid where it writes none.
    let (done, info) = unsafe {
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        let done = libc::getsockopt(socket.as_raw_fd(), level, option, info.as_mut_ptr().cast(), &mut length);
        (done, info.assume_init())
    };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
    info
}
