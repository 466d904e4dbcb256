//! Drives a test with an iperf3 server as wirespeed's generator writes: 4 MiB a call. Prints what the server says it
//! received, for a comparison with iperf3's own client:
//!
//! ```text
//! iperf3 -s -p 5201 &
//! cargo run --release -p wirespeed-iperf3 --example drive -- 127.0.0.1:5201 5 1
//! iperf3 -c 127.0.0.1 -p 5201 -t 5 -P 1
//! ```

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::io::{IoSlice, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use wirespeed_iperf3::peer::{PATIENCE, Results, Session, StreamResult, Test};

/// As the generator of crates/run/substrates has it: the same piece again and again stays in the processor's cache.
const PIECE: usize = 64 * 1024;
const PIECES: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [server, seconds, streams] = &words[..] else {
        return Err("drive ADDRESS:PORT SECONDS STREAMS".into());
    };
    let (server, streams): (SocketAddr, u32) = (server.parse()?, streams.parse()?);
    let time = Duration::from_secs_f64(seconds.parse()?);
    let mut session = Session::open(server, None, Test::tcp(streams, time), PATIENCE)?;
    let sockets: Vec<TcpStream> = session.connect(|_, _| Ok(()))?.into_iter().map(TcpStream::from).collect();
    session.start()?;
    let (began, until) = (Instant::now(), Instant::now() + time);
    let write = |mut stream: TcpStream| {
        let piece = vec![0; PIECE];
        let pieces: Vec<IoSlice> = (0..PIECES).map(|_| IoSlice::new(&piece)).collect();
        let mut bytes = 0;
        while Instant::now() < until {
            match stream.write_vectored(&pieces) {
                Ok(written) => bytes += written as u64,
                Err(_) => break,
            }
        }
        bytes
    };
    let written: Vec<u64> = thread::scope(|scope| {
        let copies: Vec<TcpStream> = sockets.iter().filter_map(|s| s.try_clone().ok()).collect();
        let threads: Vec<_> = copies.into_iter().map(|stream| scope.spawn(|| write(stream))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(0)).collect()
    });
    let lasted_s = began.elapsed().as_secs_f64();
    let own = Results {
        streams: written
            .iter()
            .map(|bytes| StreamResult { bytes: *bytes, lasted_s, ..StreamResult::default() })
            .collect(),
        ..Results::default()
    };
    let told = session.finish(|| own)?;
    let rate = |bytes: u64, seconds: f64| bytes as f64 * 8.0 / seconds / 1e9;
    let received: u64 = told.streams.iter().map(|stream| stream.bytes).sum();
    let longest = told.streams.iter().map(|stream| stream.lasted_s).fold(f64::MIN_POSITIVE, f64::max);
    println!("written  {:.2} Gbit/s", rate(written.iter().sum(), lasted_s));
    println!(
        "received {:.2} Gbit/s, the server's word; its processor {:.0} %",
        rate(received, longest),
        told.cpu_percent[0]
    );
    Ok(())
}
