//! An iperf3 server for a test, and the traffic that our side of a test needs.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wirespeed_iperf3::peer::{Results, StreamResult};
use wirespeed_testbed::skip;

/// A server of iperf3's own, for one test; gone when this is.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: SocketAddrV4,
}

/// An address of loopback that nobody else uses, with iperf3's port. To look for a free port would be to listen on one for a
/// moment: a process that another test starts in that moment inherits it, and answers in iperf3's place until it is another program.
pub fn own_address() -> SocketAddrV4 {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    const PORT: u16 = 5201;
    // 127.0.0.0/8 is all ours (RFC 1122, 3.2.1.3); tests in other processes have other numbers.
    let number = std::process::id().wrapping_mul(64).wrapping_add(COUNT.fetch_add(1, Relaxed));
    let [_, a, b, c] = (number % 0x00ff_fffd + 2).to_be_bytes();
    SocketAddrV4::new(Ipv4Addr::new(127, a, b, c), PORT)
}

impl Server {
    /// Starts it; `None`, and the test is told to be skipped, where there is no iperf3. `WIRESPEED_IPERF3` names another
    /// than the one on the PATH.
    pub fn start(test: &str) -> Option<Server> {
        let address = own_address();
        let program = std::env::var_os("WIRESPEED_IPERF3").unwrap_or_else(|| "iperf3".into());
        let started = Command::new(&program)
            .args(["-s", "-1", "-B", &address.ip().to_string(), "-p", &address.port().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = match started {
            Ok(child) => child,
            Err(error) => {
                skip(test, &format!("{}: {error}; install iperf3", program.display()));
                return None;
            }
        };
        let mut server = Server { child, address };
        let until = Instant::now() + Duration::from_secs(10);
        // A connection would be taken for the test: it is looked at instead.
        while !server.listens() {
            assert!(Instant::now() < until, "iperf3 does not listen on {address}");
            thread::sleep(Duration::from_millis(10));
        }
        Some(server)
    }

    fn listens(&mut self) -> bool {
        assert_eq!(self.child.try_wait().expect("it is ours"), None, "iperf3 -s has ended");
        // proc(5): local address and state, 0A is LISTEN.
        let ip = u32::from_ne_bytes(self.address.ip().octets());
        let wanted = format!("{ip:08X}:{:04X} 00000000:0000 0A", self.address.port());
        std::fs::read_to_string("/proc/net/tcp").is_ok_and(|text| text.contains(&wanted))
    }

    /// Ends it as a power cut would.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is ours");
        self.child.wait().expect("it is ours");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Something that listens on loopback and is no iperf3 server: for each connection `serve` is called.
pub fn foreign(serve: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has ports");
    let address = listener.local_addr().expect("it is bound");
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    address
}

/// Writes as fast as it can until `until`; returns how much.
pub fn write_until(mut stream: TcpStream, until: Instant) -> JoinHandle<u64> {
    thread::spawn(move || {
        let piece = vec![0; 1 << 17];
        let mut sum = 0;
        while Instant::now() < until {
            match stream.write(&piece) {
                Ok(written) => sum += written as u64,
                Err(_) => break,
            }
        }
        sum
    })
}

/// Reads until the other side closes; returns how much.
pub fn read_all(mut stream: TcpStream) -> JoinHandle<u64> {
    thread::spawn(move || {
        let mut piece = vec![0; 1 << 17];
        let mut sum = 0;
        while let Ok(got @ 1..) = stream.read(&mut piece) {
            sum += got as u64;
        }
        sum
    })
}

/// What a side says that has moved so many bytes on each stream.
pub fn results(bytes: &[u64], lasted_s: f64) -> Results {
    let stream = |bytes: &u64| StreamResult { bytes: *bytes, lasted_s, ..StreamResult::default() };
    Results { streams: bytes.iter().map(stream).collect(), ..Results::default() }
}
