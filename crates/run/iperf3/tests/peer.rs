//! Tests with a real iperf3 server on loopback, and with what is none.

#[path = "support/server.rs"]
mod server;

use server::{Server, foreign, own_address, read_all, results, write_until};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use wirespeed_iperf3::peer::{HEADER, Header, PATIENCE, Reason, Results, Session, Test};

const SHORT: Duration = Duration::from_millis(600);
const IMPATIENT: Duration = Duration::from_millis(500);

fn open(server: &Server, test: Test) -> Session {
    Session::open(server.address.into(), None, test, PATIENCE).unwrap_or_else(|error| panic!("{error}"))
}

fn tcp_forward(name: &str, streams: u32) {
    let Some(server) = Server::start(name) else { return };
    let mut session = open(&server, Test::tcp(streams, SHORT));
    let mut prepared = Vec::new();
    let sockets = session
        .connect(|index, _| {
            prepared.push(index);
            Ok(())
        })
        .unwrap();
    assert_eq!(prepared.len(), streams as usize);
    session.start().unwrap();
    let until = Instant::now() + SHORT;
    let copies: Vec<TcpStream> = sockets.iter().map(|s| s.try_clone().unwrap().into()).collect();
    let writers: Vec<_> = copies.into_iter().map(|stream| write_until(stream, until)).collect();
    session.watch().unwrap();
    let written: Vec<u64> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    let printed = session.finish(|| results(&written, SHORT.as_secs_f64())).unwrap();
    assert_eq!(printed.streams.len(), streams as usize);
    for (written, printed) in written.iter().zip(&printed.streams) {
        assert!(printed.bytes > 0 && printed.bytes <= *written, "{} of {written} arrived", printed.bytes);
        // What is on its way when the end is told is not read any more.
        assert!(printed.bytes as f64 > *written as f64 * 0.5, "{} of {written} arrived", printed.bytes);
        assert!(printed.lasted_s > 0.4, "{} s", printed.lasted_s);
        assert_eq!(printed.retransmits, None);
    }
}

#[test]
fn one_tcp_stream() {
    tcp_forward("one_tcp_stream", 1);
}

#[test]
fn four_tcp_streams() {
    tcp_forward("four_tcp_streams", 4);
}

#[test]
fn a_server_sends_tcp() {
    let Some(server) = Server::start("a_server_sends_tcp") else { return };
    let test = Test { reverse: true, rate_bps: Some(400_000_000), ..Test::tcp(2, SHORT) };
    let mut session = open(&server, test);
    let sockets = session.connect(|_, _| Ok(())).unwrap();
    session.start().unwrap();
    let readers: Vec<_> =
        sockets.iter().map(|socket| read_all(socket.as_fd().try_clone_to_owned().unwrap().into())).collect();
    thread::sleep(SHORT);
    let printed = session.finish(|| results(&[0, 0], SHORT.as_secs_f64())).unwrap();
    drop(sockets);
    for (reader, printed) in readers.into_iter().zip(&printed.streams) {
        let read = reader.join().unwrap();
        assert!(read > 0 && read <= printed.bytes, "{read} of {} read", printed.bytes);
        assert!(printed.retransmits.is_some(), "a sender on Linux knows what it sent again");
    }
}

/// Sends datagrams at a steady rate, but not those that `left_out` names; returns the highest number.
fn send_datagrams(socket: &UdpSocket, size: usize, count: u64, left_out: impl Fn(u64) -> bool) -> u64 {
    let mut datagram = vec![0; size];
    for number in 1..=count {
        if left_out(number) {
            continue;
        }
        let sent = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Header { sent, number }.write(&mut datagram);
        socket.send(&datagram).unwrap();
        thread::sleep(Duration::from_micros(500));
    }
    count
}

#[test]
fn a_server_counts_our_datagrams() {
    let Some(server) = Server::start("a_server_counts_our_datagrams") else { return };
    let mut session = open(&server, Test::udp(2, SHORT, 1000, 20_000_000));
    let sockets = session.connect(|_, _| Ok(())).unwrap();
    session.start().unwrap();
    let sockets: Vec<UdpSocket> = sockets.into_iter().map(UdpSocket::from).collect();
    // Of the second stream every tenth is lost before it is sent; the last is not, so that all are missed.
    let sent = [
        send_datagrams(&sockets[0], 1000, 200, |_| false),
        send_datagrams(&sockets[1], 1000, 201, |number| number % 10 == 0),
    ];
    let printed = session.finish(|| results(&[200_000, 181_000], 0.3)).unwrap();
    let found: Vec<_> = printed.streams.iter().map(|s| (s.packets, s.lost, s.bytes)).collect();
    assert_eq!(found, [(sent[0], 0, 200_000), (sent[1], 20, 181_000)]);
}

#[test]
fn a_server_sends_datagrams() {
    let Some(server) = Server::start("a_server_sends_datagrams") else { return };
    let test = Test { reverse: true, ..Test::udp(1, SHORT, 1000, 10_000_000) };
    let mut session = open(&server, test);
    let sockets = session.connect(|_, _| Ok(())).unwrap();
    session.start().unwrap();
    let socket = UdpSocket::from(sockets.into_iter().next().unwrap());
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let (mut numbers, mut buffer) = (Vec::new(), [0; 2000]);
    let until = Instant::now() + SHORT;
    while Instant::now() < until {
        let Ok(got) = socket.recv(&mut buffer) else { continue };
        assert_eq!(got, 1000);
        numbers.push(Header::read(&buffer[..HEADER], true).expect("a header").number);
    }
    assert!(numbers.len() > 100, "{} datagrams", numbers.len());
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "in order and without a gap");
    let printed = session.finish(|| results(&[numbers.len() as u64 * 1000], SHORT.as_secs_f64())).unwrap();
    assert!(printed.streams[0].packets >= numbers.len() as u64);
}

#[test]
fn a_busy_server_says_so() {
    let Some(server) = Server::start("a_busy_server_says_so") else { return };
    let session = open(&server, Test::tcp(1, SHORT));
    let refused = Session::open(server.address.into(), None, Test::tcp(1, SHORT), PATIENCE).unwrap_err();
    assert!(matches!(refused.reason, Reason::Busy), "{refused}");
    assert!(refused.to_string().contains("busy"), "{refused}");
    drop(session);
}

#[test]
fn a_server_that_is_killed_in_mid_run_is_missed() {
    let Some(mut server) = Server::start("a_server_that_is_killed_in_mid_run_is_missed") else { return };
    let mut session = open(&server, Test::tcp(1, SHORT));
    let sockets = session.connect(|_, _| Ok(())).unwrap();
    session.start().unwrap();
    session.watch().unwrap();
    server.kill();
    thread::sleep(Duration::from_millis(50));
    let missed = session.watch().unwrap_err();
    assert!(matches!(missed.reason, Reason::Gone { first: false, .. }), "{missed}");
    let missed = session.finish(|| results(&[0], 0.1)).unwrap_err();
    assert!(matches!(missed.reason, Reason::Gone { .. }), "{missed}");
    drop(sockets);
}

#[test]
fn a_server_that_lacks_what_is_asked_says_what() {
    let Some(server) = Server::start("a_server_that_lacks_what_is_asked_says_what") else { return };
    // Half a gigabyte is what iperf3 takes, and more than a kernel gives unless it was told to.
    let test = Test { window_bytes: Some(512 << 20), ..Test::tcp(1, SHORT) };
    let refused = Session::open(server.address.into(), None, test, PATIENCE)
        .and_then(|mut session| {
            let _sockets = session.connect(|_, _| Ok(()))?;
            session.start()
        })
        .unwrap_err();
    let message = refused.to_string();
    assert!(
        message.contains("so large a window") && message.contains(&server.address.to_string()),
        "{message}"
    );
}

/// What opening a test with this service gives.
fn refused(serve: impl Fn(TcpStream) + Send + 'static) -> (String, Duration) {
    let began = Instant::now();
    let error = Session::open(foreign(serve), None, Test::tcp(1, SHORT), IMPATIENT).unwrap_err();
    (error.to_string(), began.elapsed())
}

#[test]
fn other_servers_are_detected_soon() {
    let (message, _) = refused(|mut stream| stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").unwrap());
    assert!(message.contains("it is not an iperf3 server: it answers \"SSH-2.0-OpenSSH_9.2\""), "{message}");
    let (message, _) = refused(drop);
    assert!(
        message.contains("closed the connection") && message.contains("is it an iperf3 server?"),
        "{message}"
    );
    let (message, took) = refused(|stream| {
        let _ = (&stream).read_to_end(&mut Vec::new());
    });
    assert!(message.contains("timed out after 0.5 s") && took < IMPATIENT * 4, "{took:?}: {message}");
    // One that says what no server says at this point, and one that says the right thing letter by letter.
    let (message, _) = refused(|mut stream| stream.write_all(&[14]).unwrap());
    assert!(message.contains("got \"show results\", expected \"ask for the parameters\""), "{message}");
    let nobody = Session::open(own_address().into(), None, Test::tcp(1, SHORT), IMPATIENT).unwrap_err();
    assert!(nobody.to_string().contains("is `iperf3 -s` running there"), "{nobody}");
}

/// Results in this form, from a server that does everything else right.
fn printed(answer: &[u8]) -> Result<Results, String> {
    let answer = answer.to_vec();
    let address = foreign(move |mut stream| {
        // The second connection carries the data.
        let mut cookie = [0; 37];
        if stream.read_exact(&mut cookie).is_err() {
            return;
        }
        let answer = answer.clone();
        // A thread of its own, so that the data's connection is taken meanwhile.
        thread::spawn(move || {
            let mut length = [0; 4];
            let _ = stream.write_all(&[9]);
            let _ = stream.read_exact(&mut length);
            let _ = stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize]);
            let _ = stream.write_all(&[10, 1, 2, 13]);
            let _ = stream.write_all(&answer);
            let _ = stream.read_to_end(&mut Vec::new());
        });
    });
    let mut session =
        Session::open(address, None, Test::tcp(1, SHORT), IMPATIENT).map_err(|e| e.to_string())?;
    let _sockets = session.connect(|_, _| Ok(())).map_err(|e| e.to_string())?;
    session.start().map_err(|e| e.to_string())?;
    session.finish(|| results(&[1], 0.1)).map_err(|e| e.to_string())
}

#[test]
fn results_are_bounded_in_length_and_in_time() {
    let endless = printed(b"\x7f\xff\xff\xffxxxx").unwrap_err();
    assert!(endless.contains("2147483647 bytes, where at most"), "{endless}");
    let torn = printed(b"\x00\x00\x01\x00{").unwrap_err();
    assert!(torn.contains("timed out after"), "{torn}");
    let foreign = printed(b"\x00\x00\x00\x02[]").unwrap_err();
    assert!(foreign.contains("its results"), "{foreign}");
    let failed = printed(b"\xfe\x00\x00\x00\x77\x00\x00\x00\x00").unwrap_err();
    assert!(failed.contains("it found the connection of wirespeed closed"), "{failed}");
    let body = br#"{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":0,"sender_has_retransmits":18446744073709551615,
        "streams":[{"id":1,"bytes":5e9,"retransmits":-1,"end_time":2.5}]}"#;
    let framed = [&(body.len() as u32).to_be_bytes()[..], body, &[14]].concat();
    let good = printed(&framed).unwrap();
    assert_eq!((good.streams[0].bytes, good.streams[0].lasted_s), (5_000_000_000, 2.5));
}
