//! The receiving socket of an agent, for tests that do to it what its owner, or the machine its owner is on, may do:
//! shrink its buffer, stand still, or be held up in the middle of a read.

use super::bed::Bed;
use std::fs::{self, File};
use std::io;
use std::mem::size_of_val;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// The socket, and the agent that has it.
pub struct Receiver {
    agent: i32,
    socket: TcpStream,
}

/// Where the first flow is received.
const PORT: u16 = 5001;

impl Receiver {
    /// That of the first flow on a machine of a bed, as soon as it is connected.
    ///
    /// # Errors
    /// If the kernel does not give it away (`pidfd_getfd(2)`: Linux 5.6, and the right to trace), or there is none for
    /// long.
    pub fn of(bed: &Bed, place: isize) -> io::Result<Receiver> {
        const PATIENCE: Duration = Duration::from_secs(20);
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            for agent in bed.agents() {
                let program = fs::read_link(format!("/proc/{agent}/exe")).unwrap_or_default();
                let is_there = program.components().any(|part| part.as_os_str() == bed.name(place));
                if let Some(socket) = if is_there { receiving(agent as i32)? } else { None } {
                    return Ok(Receiver { agent: agent as i32, socket });
                }
            }
            sleep(Duration::from_millis(10));
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "no agent there has a connection"))
    }

    /// Sets the receive buffer; the kernel takes twice the value, and at least 2304 bytes.
    pub fn set_buffer(&self, bytes: i32) {
        // SAFETY: a plain value of the size given.
        let done = unsafe {
            let value = (&raw const bytes).cast();
            let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
            libc::setsockopt(self.socket.as_raw_fd(), level, option, value, size_of_val(&bytes) as u32)
        };
        assert_eq!(done, 0, "root may set any buffer: {}", io::Error::last_os_error());
    }

    /// Does something while the agent stands still.
    pub fn while_stopped(&self, during: impl FnOnce()) {
        self.signal(libc::SIGSTOP);
        during();
        self.signal(libc::SIGCONT);
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the agent is one that the test has started, and has this socket still.
        assert_eq!(unsafe { libc::kill(self.agent, signal) }, 0, "{}", io::Error::last_os_error());
    }

    /// Does something while somebody who reads is held up with the socket's lock: its memory is not there, as that of a
    /// program that was swapped out (`userfaultfd(2)`). What is read is only looked at, so that nothing is missing.
    /// Returns whether there was something to read.
    ///
    /// # Errors
    /// If the kernel lets nobody hold up page faults.
    pub fn while_held(&self, during: impl FnOnce()) -> io::Result<bool> {
        const PATIENCE: Duration = Duration::from_millis(500);
        let page = Absent::new()?;
        scope(|scope| {
            let (fd, to) = (self.socket.as_raw_fd(), page.at as usize);
            let reader = scope.spawn(move || {
                let began = Instant::now();
                let mut looked = -1;
                while looked < 0 && began.elapsed() < PATIENCE {
                    // SAFETY: the page has room for a byte, and outlives this thread.
                    looked = unsafe {
                        let how = libc::MSG_PEEK | libc::MSG_DONTWAIT;
                        libc::recv(fd, to as *mut libc::c_void, 1, how)
                    };
                }
                looked
            });
            if page.is_wanted(PATIENCE) {
                during();
            }
            page.fill()?;
            Ok(reader.join().expect("it does not panic") == 1)
        })
    }
}

/// The connection that a process has accepted on the first port.
fn receiving(process: i32) -> io::Result<Option<TcpStream>> {
    let taken = |result: libc::c_long| -> io::Result<OwnedFd> {
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and ours.
        Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
    };
    // SAFETY: takes no pointers.
    let process_fd = taken(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })?;
    for entry in fs::read_dir(format!("/proc/{process}/fd"))?.flatten() {
        let is_socket = |to: &Path| to.to_string_lossy().starts_with("socket:");
        let number = entry.file_name().to_string_lossy().parse::<i32>();
        let (Ok(number), true) = (number, fs::read_link(entry.path()).is_ok_and(|to| is_socket(&to))) else {
            continue;
        };
        // SAFETY: takes no pointers.
        let copied =
            taken(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process_fd.as_raw_fd(), number, 0) });
        let socket = match copied {
            Ok(socket) => TcpStream::from(socket),
            // It was closed meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::EBADF) => continue,
            Err(error) => return Err(error),
        };
        let here = socket.local_addr().is_ok_and(|address| address.port() == PORT);
        if here && socket.peer_addr().is_ok() {
            return Ok(Some(socket));
        }
    }
    Ok(None)
}

/// A page of memory that is not there until somebody fills it.
struct Absent {
    at: *mut libc::c_void,
    faults: File,
}

/// linux/userfaultfd.h.
mod user_fault {
    pub const API: libc::c_ulong = 0xc018_aa3f;
    pub const REGISTER: libc::c_ulong = 0xc020_aa00;
    pub const ZERO_PAGE: libc::c_ulong = 0xc020_aa04;
    pub const VERSION: u64 = 0xaa;
    pub const MISSING: u64 = 1;
}

const PAGE: usize = 4096;

impl Absent {
    fn new() -> io::Result<Absent> {
        // SAFETY: takes no pointers; the descriptor is new and ours.
        let faults = unsafe {
            let fd = libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            File::from_raw_fd(fd as i32)
        };
        // SAFETY: new memory, of nobody else.
        let at = unsafe {
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(std::ptr::null_mut(), PAGE, access, kind, -1, 0)
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let page = Absent { at, faults };
        page.order(user_fault::API, &mut [user_fault::VERSION, 0, 0])?;
        page.order(user_fault::REGISTER, &mut [at as u64, PAGE as u64, user_fault::MISSING, 0])?;
        Ok(page)
    }

    fn order<const N: usize>(&self, order: libc::c_ulong, words: &mut [u64; N]) -> io::Result<()> {
        // SAFETY: the words are as many as the order has.
        let done = unsafe { libc::ioctl(self.faults.as_raw_fd(), order, words.as_mut_ptr()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until somebody wants the page; whether that happened in time.
    fn is_wanted(&self, patience: Duration) -> bool {
        let mut faults = libc::pollfd { fd: self.faults.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one place for an answer, which is alive.
        let ready = unsafe { libc::poll(&mut faults, 1, patience.as_millis() as i32) };
        ready == 1 && faults.revents & libc::POLLIN != 0
    }

    /// Lets whoever waits for it have the page.
    fn fill(&self) -> io::Result<()> {
        self.order(user_fault::ZERO_PAGE, &mut [self.at as u64, PAGE as u64, 0, 0])
    }
}

impl Drop for Absent {
    fn drop(&mut self) {
        // SAFETY: it was mapped with that length, and nobody has it any more.
        unsafe { libc::munmap(self.at, PAGE) };
    }
}
