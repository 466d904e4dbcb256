//! Agents without ssh: a connection of which both ends have shown that they know the same secret, and in which nobody can read,
//! change, drop or repeat anything unnoticed. The handshake is NNpsk0 of the Noise protocol framework (revision 34, section 9).

mod channel;

pub use channel::Channel;

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// In front of an address, where others have a name for ssh.
pub const SCHEME: &str = "tcp://";

/// How long a handshake may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// After a stranger, so that guessing is slow.
const PENALTY: Duration = Duration::from_secs(1);
/// How often it is seen whether the time is over.
const LOOK: Duration = Duration::from_millis(50);

/// What both ends know.
pub struct Secret([u8; 32]);

impl Secret {
    /// Reads it from a file that nobody else can read.
    ///
    /// # Errors
    /// If others can, if it is too short to be one, or cannot be read.
    pub fn read(path: &Path) -> io::Result<Secret> {
        const LEAST: usize = 16;
        const MOST: u64 = 1 << 16;
        let told = |what: String| io::Error::other(format!("{}: {what}", path.display()));
        let remedy =
            format!("`(umask 077; head -c 32 /dev/urandom | base64 > {})` makes one", path.display());
        let mut options = File::options();
        // A pipe without a writer would be waited for.
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let file = options.open(path).map_err(|error| told(format!("{error}; {remedy}")))?;
        let metadata = file.metadata().map_err(|error| told(error.to_string()))?;
        // Whatever is not a file keeps its permissions: whoever followed other advice would break the machine.
        if !metadata.is_file() {
            return Err(told(format!("a token is in a regular file, which this is not; {remedy}")));
        }
        // SAFETY: no arguments.
        let reader = unsafe { libc::geteuid() };
        if metadata.uid() != reader {
            return Err(told(format!(
                "it belongs to user {}, who would command an agent of user {reader}; copy it to a file of your own",
                metadata.uid()
            )));
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(told(format!("others can read it; `chmod 600 {}`", path.display())));
        }
        let mut text = Vec::new();
        file.take(MOST).read_to_end(&mut text).map_err(|error| told(error.to_string()))?;
        let token = text.trim_ascii();
        if token.len() < LEAST {
            return Err(told(format!("a token has at least {LEAST} characters; {remedy}")));
        }
        Ok(Secret::of(token))
    }

    /// Of a token.
    pub fn of(token: &[u8]) -> Secret {
        Secret(Sha256::digest(token).into())
    }
}

/// One end of a connection.
struct Sealed {
    stream: TcpStream,
    channel: Channel,
}

impl Sealed {
    /// Shows the other end that we know the secret, and sees that it does; all that within [`PATIENCE`].
    fn handshake(stream: TcpStream, secret: &Secret, begins: bool) -> io::Result<Sealed> {
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let line = DeadlineStream { stream: &stream, until: Instant::now() + PATIENCE };
        let channel = Channel::handshake(line, secret, begins)?;
        stream.set_read_timeout(None)?;
        Ok(Sealed { stream, channel })
    }

    fn send(&self, from: impl Read) -> io::Result<()> {
        self.channel.send(from, &self.stream)
    }

    fn receive(&self, to: impl Write) -> io::Result<()> {
        self.channel.receive(&self.stream, to)
    }
}

/// A connection that is read until a time and no longer: one that says a byte now and then gets no more than one that is silent.
struct DeadlineStream<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "no handshake in time"));
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(room).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "no handshake in time"),
            _ => error,
        })
    }
}

impl Write for DeadlineStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Waits for controllers at `listen` for so long, one at a time, and gives each an agent: `program`, as with ssh.
///
/// # Errors
/// If it cannot listen there.
pub fn serve_sealed(
    listen: SocketAddr,
    secret: &Secret,
    time: Duration,
    program: &Path,
    told: &dyn Fn(String),
) -> io::Result<()> {
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    told(format!("listening on {} for {} s", listener.local_addr()?, time.as_secs()));
    let end = Instant::now() + time;
    while Instant::now() < end {
        let (stream, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(LOOK);
                continue;
            }
            // What became of a connection before it was taken is told here (accept(2)): no stranger ends this by hanging up.
            Err(error) => {
                told(format!("a connection was lost: {error}"));
                thread::sleep(PENALTY);
                continue;
            }
        };
        stream.set_nonblocking(false)?;
        match Sealed::handshake(stream, secret, false) {
            Err(error) => {
                told(format!("{from} refused: {error}"));
                thread::sleep(PENALTY);
            }
            Ok(sealed) => {
                told(format!("{from} controls an agent"));
                let ended = session(&sealed, program, end);
                told(format!(
                    "{from} is done{}",
                    ended.err().map_or(String::new(), |error| format!(": {error}"))
                ));
            }
        }
    }
    Ok(())
}

/// An agent at work for a controller. It ends with the connection, or when the time is over.
fn session(sealed: &Sealed, program: &Path, end: Instant) -> io::Result<()> {
    let mut command = Command::new(program);
    command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut agent = Ended(command.spawn()?);
    let (input, output) = (agent.0.stdin.take(), agent.0.stdout.take());
    let (input, output) = input.zip(output).expect("both were asked for");
    thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            // The agent ends with its input, which is closed when this ends.
            let result = sealed.receive(input);
            // Nobody is there to read what it still says.
            let _ = sealed.stream.shutdown(Shutdown::Read);
            result
        });
        let sending = scope.spawn(|| sealed.send(output));
        while !sending.is_finished() && Instant::now() < end {
            thread::sleep(LOOK);
        }
        let _ = agent.0.kill();
        let sent = sending.join().unwrap_or(Ok(()));
        let _ = sealed.stream.shutdown(Shutdown::Both);
        let _ = receiving.join();
        sent
    })
}

/// A child that ends with its value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// In the place of ssh: standard input goes to the agent at `address` (`tcp://HOST:PORT`), what it says to standard output.
///
/// # Errors
/// If it cannot be reached, does not have the secret, or the connection breaks.
pub fn connect_sealed(address: &str, secret: &Secret) -> io::Result<()> {
    let place = address.strip_prefix(SCHEME).unwrap_or(address);
    let told = |error: io::Error| io::Error::new(error.kind(), format!("{place}: {error}"));
    let addresses = std::net::ToSocketAddrs::to_socket_addrs(place).map_err(told)?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "no such address");
    for one in addresses {
        let stream = match TcpStream::connect_timeout(&one, PATIENCE) {
            Ok(stream) => stream,
            Err(error) => {
                last = error;
                continue;
            }
        };
        let sealed = Sealed::handshake(stream, secret, true).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => told(io::Error::new(
                error.kind(),
                "it closed the connection: another token, or not a `wirespeed agent serve`",
            )),
            _ => told(error),
        })?;
        return shuttle(sealed).map_err(told);
    }
    Err(told(last))
}

/// Copies both ways, to the end of the agent's output.
fn shuttle(sealed: Sealed) -> io::Result<()> {
    let sealed = Arc::new(sealed);
    let sending = Arc::clone(&sealed);
    // It waits for our own input, and is not joined: it ends with the process. At the end of that input we still listen,
    // until the agent ends by itself.
    thread::spawn(move || sending.send(io::stdin()));
    sealed.receive(io::stdout())
}

#[cfg(test)]
mod tests {
    use super::channel::write_message;
    use super::*;

    fn pair(ours: u8, theirs: u8) -> (io::Result<Sealed>, io::Result<Sealed>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let there = thread::spawn(move || {
            let stream = listener.accept().unwrap().0;
            Sealed::handshake(stream, &Secret::of(&[theirs]), false)
        });
        let here = Sealed::handshake(TcpStream::connect(address).unwrap(), &Secret::of(&[ours]), true);
        (here, there.join().unwrap())
    }

    #[test]
    fn sent_data_are_received() {
        let (here, there) = pair(1, 1);
        let (here, there) = (here.unwrap(), there.unwrap());
        let data: Vec<u8> = (0..300_000u32).map(|number| number as u8).collect();
        let mut taken = Vec::new();
        thread::scope(|scope| {
            scope.spawn(|| here.send(&data[..]).unwrap());
            there.receive(&mut taken).unwrap();
        });
        assert_eq!(taken, data);
    }

    #[test]
    fn another_secret_is_refused_by_both_ends() {
        let (here, there) = pair(1, 2);
        assert_eq!(there.err().unwrap().kind(), io::ErrorKind::PermissionDenied);
        assert!(here.is_err());
    }

    #[test]
    fn a_stranger_who_drips_is_not_waited_for_longer_than_a_silent_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stranger = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = listener.accept().unwrap().0;
        stranger.write_all(&[0]).unwrap();
        // Its time is over, though a byte is there and more would come.
        let mut line = DeadlineStream { stream: &stream, until: Instant::now() };
        assert_eq!(line.read(&mut [0; 2]).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn changed_truncated_or_repeated_data_are_noticed() {
        let (here, there) = pair(1, 1);
        let (here, there) = (here.unwrap(), there.unwrap());
        let sealed = here.channel.seal(0, b"hello").unwrap();
        write_message(&here.stream, &sealed).unwrap();
        // The same again is not the second message.
        write_message(&here.stream, &sealed).unwrap();
        let mut taken = Vec::new();
        assert_eq!(there.receive(&mut taken).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(taken, b"hello");
        let (here, there) = pair(1, 1);
        let (here, there) = (here.unwrap(), there.unwrap());
        drop(here);
        assert_eq!(there.receive(Vec::new()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_token_that_others_can_read_is_none() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let read = |mode: u32, text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Secret::read(&path).map(|_| ()).map_err(|error| error.to_string())
        };
        for device in ["/tmp", "/dev/zero"] {
            let refused = Secret::read(Path::new(device)).err().unwrap().to_string();
            assert!(refused.contains("regular file") && !refused.contains("chmod"), "{refused}");
        }
        assert!(read(0o644, "0123456789abcdef").unwrap_err().contains("chmod 600"));
        assert!(read(0o600, "short\n").unwrap_err().contains("at least 16"));
        assert!(read(0o600, "0123456789abcdef\n").is_ok());
        // Only root can give a file away.
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_ok() {
            assert!(Secret::read(&path).err().unwrap().to_string().contains("belongs to user 65534"));
        }
        assert!(Secret::read(&folder.path().join("none")).err().unwrap().to_string().contains("urandom"));
    }
}
