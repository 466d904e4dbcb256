//! A live capture of the loopback interface. Skipped without the permission to capture.
#![cfg(target_os = "linux")]

use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use wirespeed_capture::{
    CaptureFacts, Captured, Connection, EndReason, Input, Observer, Opened, Passage, Settings, read,
};
use wirespeed_host::packet_ring::{LiveCapture, LiveSettings};

const PAYLOAD: u64 = 3_000_000;

/// Sequence numbers of the payload from the client, of the connection with one port.
struct Payload {
    port: u16,
    opened: Option<Opened>,
    highest: i64,
    times: HashSet<i64>,
    passage: Option<Passage>,
}

impl Observer for Payload {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        if connection.server.port == self.port {
            self.opened = Some(connection.opened);
            self.highest = self.highest.max(captured.packet.segment().map_or(0, |_| captured.end64()));
            self.times.insert(captured.packet.time_ns);
            self.passage = Some(captured.packet.passage);
        }
    }

    fn ended(&mut self, _: &Connection, _: EndReason) {}
}

/// The capture while a client sends and closes; `None` without the permission.
fn capture(snaplen: u32) -> Option<(Payload, CaptureFacts)> {
    let stop = Arc::new(AtomicBool::new(false));
    let settings = LiveSettings {
        interface: "lo".into(),
        snaplen,
        ring_bytes: 8 << 20,
        filter: None,
        duration: Some(Duration::from_secs(60)),
    };
    let live = match LiveCapture::start(&settings, {
        let stop = stop.clone();
        move || stop.load(Ordering::Relaxed)
    }) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return None,
        live => live.unwrap(),
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let traffic = thread::spawn(move || {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let sender = thread::spawn(move || client.write_all(&vec![0; PAYLOAD as usize]).unwrap());
        let mut received = Vec::new();
        server.read_to_end(&mut received).unwrap();
        sender.join().unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    let mut payload = Payload { port, opened: None, highest: 0, times: HashSet::new(), passage: None };
    let facts = read(Input::Reader(Box::new(live)), &Settings::default(), &mut payload).unwrap();
    traffic.join().unwrap();
    Some((payload, facts))
}

#[test]
fn loopback_is_captured_with_headers_only_and_drops_counted() {
    let Some((payload, facts)) = capture(128) else { return };
    assert_eq!(facts.damaged_tail, None);
    assert_eq!(payload.opened, Some(Opened::Syn));
    // SYN, payload and FIN.
    assert_eq!(payload.highest as u64, PAYLOAD + 2);
    assert_eq!(payload.passage, Some(Passage::Incoming));
    assert!(payload.times.len() > 10, "times are those of the kernel");
    assert_eq!(facts.interfaces[0].name.as_deref(), Some("lo"));
    assert_eq!(facts.interfaces[0].snaplen, 128);
    assert!(facts.cut > 0, "payload is not captured");
    let drops = facts.interfaces[0].drops.unwrap();
    assert!(drops.received.unwrap() >= facts.all.packets);
    assert_eq!(facts.reported_drops(), Some(0));
}

#[test]
fn unknown_interface_is_an_error_with_its_name() {
    let settings = LiveSettings {
        interface: "no-such-if".into(),
        snaplen: 128,
        ring_bytes: 1 << 20,
        filter: None,
        duration: None,
    };
    let error = LiveCapture::start(&settings, || false).err().unwrap();
    assert!(error.to_string().contains("no-such-if"), "{error}");
}
