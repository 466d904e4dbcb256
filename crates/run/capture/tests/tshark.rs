//! Headers, connections and sequence numbers, compared with those of tshark. Skipped where tshark is not installed.
//!
//! `WIRESPEED_CAPTURES=FILE:FILE cargo test -p wirespeed-capture --test tshark` compares files of your own as well.

#[path = "support/write.rs"]
mod write;

use std::collections::HashMap;
use std::env;
use std::path::Path;
use std::process::Command;
use wirespeed_capture::{
    Body, CaptureFacts, Captured, Connection, EndReason, Input, Limits, Observer, Settings, Transport, read,
};
use write::{ACK, FIN, Frame, SYN, Tcp};

/// Fields of tshark, of the innermost headers. The order is that of [`line`].
const FIELDS: [&str; 16] = [
    "frame.number",
    "frame.time_epoch",
    "tcp.stream",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq",
    "tcp.ack",
    "tcp.len",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.sack.count",
    "ip.dsfield.ecn",
    "udp.length",
];

fn tshark(file: &Path) -> Option<String> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(file).args(["-T", "fields", "-E", "occurrence=l", "-E", "separator=|"]);
    // Other ports of tunnels and protocols of ports would change what is innermost.
    command.args(["-o", "tcp.desegment_tcp_streams:false", "-o", "tcp.analyze_sequence_numbers:true"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[derive(Default)]
struct Lines {
    /// By number of the packet: what tshark's line should be.
    lines: HashMap<u64, Vec<String>>,
    /// Numbers of TCP connections, as tshark counts them.
    streams: HashMap<u32, usize>,
}

impl Observer for Lines {
    fn packet(&mut self, captured: &Captured, connection: &Connection) {
        let stream = match connection.transport {
            Transport::Tcp => {
                let next = self.streams.len();
                Some(*self.streams.entry(connection.index).or_insert(next))
            }
            Transport::Udp => None,
        };
        self.lines.insert(captured.packet.ordinal, line(captured, stream));
    }

    fn ended(&mut self, _: &Connection, _: EndReason) {}
}

/// The fields as tshark prints them.
fn line(captured: &Captured, stream: Option<usize>) -> Vec<String> {
    let packet = &captured.packet;
    let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let (seconds, rest) = (packet.time_ns / 1_000_000_000, packet.time_ns % 1_000_000_000);
    let mut fields = vec![packet.ordinal.to_string(), format!("{seconds}.{rest:09}")];
    fields.push(number(stream.map(|stream| stream as u64)));
    match &packet.body {
        Body::Tcp(segment) => {
            let options = &segment.options;
            fields.extend([packet.source.port.to_string(), packet.destination.port.to_string()]);
            // tshark keeps relative numbers in 32 bits.
            fields.push((captured.seq64 as u32).to_string());
            fields.push(captured.ack64.map_or("0".into(), |ack| (ack as u32).to_string()));
            fields.push(segment.payload_bytes.to_string());
            fields.push(format!("0x{:04x}", segment.flags.bits()));
            fields.push(segment.window.to_string());
            fields.push(number(options.mss.map(u64::from)));
            fields.push(number(options.window_scale.map(u64::from)));
            fields.push(number(options.timestamps.map(|both| both.value.into())));
            fields.push(number((!options.sack.is_empty()).then_some(options.sack.len() as u64)));
            fields.push((segment.ecn as u8).to_string());
            fields.push(String::new());
        }
        Body::Udp(datagram) => {
            fields.resize(FIELDS.len() - 1, String::new());
            fields.push((datagram.payload_bytes + 8).to_string());
        }
    }
    fields
}

/// Fields that differ, with both values.
fn compare(file: &Path) -> Option<(Vec<String>, CaptureFacts)> {
    let theirs = tshark(file)?;
    let mut ours = Lines::default();
    // As tshark, which never ends a connection.
    let limits = Limits { linger_ns: i64::MAX, idle_ns: i64::MAX, ..Limits::default() };
    let facts = read(Input::File(file), &Settings { limits, ..Settings::default() }, &mut ours).unwrap();
    let mut differences = Vec::new();
    for theirs in theirs.lines() {
        let theirs: Vec<_> = theirs.split('|').collect();
        let number: u64 = theirs[0].parse().unwrap();
        let Some(ours) = ours.lines.remove(&number) else {
            if !theirs[3].is_empty() {
                differences.push(format!("packet {number} is TCP for tshark only"));
            }
            continue;
        };
        let is_tcp = !ours[3].is_empty();
        for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            let applies = match FIELDS[at] {
                "frame.number" => false,
                // The ECN field is that of the innermost IPv4 header for tshark, where the innermost may be IPv6, and
                // the UDP header that of the tunnel.
                "ip.dsfield.ecn" | "udp.length" => {
                    is_tcp == (FIELDS[at] == "ip.dsfield.ecn") && !theirs.is_empty()
                }
                // Without a flag ACK the field has no meaning.
                "tcp.ack" => ours != "0",
                _ => true,
            };
            if applies && ours != theirs {
                differences.push(format!("packet {number}, {}: {ours}, and {theirs} by tshark", FIELDS[at]));
            }
        }
    }
    differences.extend(ours.lines.keys().map(|number| format!("packet {number} is missing at tshark")));
    Some((differences, facts))
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

/// A connection that is going on.
struct Flow {
    port: u16,
    /// Next number of each end.
    next: [u32; 2],
    is_v6: bool,
    around: u32,
}

impl Flow {
    fn frame(&self, time_ns: u64, from: usize, tcp: Tcp<'_>) -> Frame {
        let ports = if from == 0 { [self.port, 443] } else { [443, self.port] };
        let tcp = Tcp { ports, seq: self.next[from], ..tcp };
        let (ether_type, mut ip) = match (self.is_v6, from) {
            (true, _) => (0x86dd, write::ipv6(6, &tcp.bytes())),
            (false, 0) => (0x0800, tcp.ipv4()),
            (false, _) => (0x0800, tcp.ipv4_back()),
        };
        if self.is_v6 && from == 1 {
            (ip[23], ip[39]) = (2, 1);
        }
        let inner = write::ether(ether_type, &ip);
        let tag = [0, 9, (ether_type >> 8) as u8, ether_type as u8];
        let label = [0, 1, 1, 64];
        let tunnel = |protocol, head: &[u8]| {
            write::frame_v4(&write::ipv4(
                [1, 1, 1, 1],
                [2, 2, 2, 2],
                protocol,
                &[head, inner.as_slice()].concat(),
            ))
        };
        let bytes = match self.around {
            0 => write::ether(0x8100, &[tag.as_slice(), &ip].concat()),
            1 => write::ether(0x8847, &[label.as_slice(), &ip].concat()),
            2 => tunnel(47, &[0, 0, 0x65, 0x58]),
            3 => {
                let vxlan = [&[8, 0, 0, 0, 0, 0, 7, 0], inner.as_slice()].concat();
                write::frame_v4(&write::ipv4([1, 1, 1, 1], [2, 2, 2, 2], 17, &write::udp([9, 4789], &vxlan)))
            }
            _ => inner,
        };
        Frame::new(time_ns, bytes)
    }
}

/// Connections in all encapsulations, interleaved, some without a handshake, with ports that are reused and numbers
/// that wrap.
fn conversations(numbers: &mut Numbers) -> Vec<Frame> {
    const SYN_OPTIONS: &[u8] = &[2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
    let mut frames = Vec::new();
    let mut flows: Vec<Flow> = Vec::new();
    let mut time_ns = 1_700_000_000_000_000_000u64;
    for step in 0..4_000 {
        time_ns += u64::from(numbers.below(1_000_000));
        if flows.len() < 12 || step % 50 == 0 {
            let isn = |numbers: &mut Numbers| {
                numbers.below(u32::MAX) | if numbers.below(2) == 0 { 0xffff_f000 } else { 0 }
            };
            let next = [isn(numbers), isn(numbers)];
            let port = 40_000 + numbers.below(20_000) as u16;
            if flows.iter().any(|flow| flow.port == port) {
                continue;
            }
            let mut flow = Flow { port, next, is_v6: numbers.below(2) == 0, around: numbers.below(8) };
            if numbers.below(4) > 0 {
                frames.push(flow.frame(
                    time_ns,
                    0,
                    Tcp { flags: SYN, options: SYN_OPTIONS, ..Tcp::default() },
                ));
                flow.next[0] = flow.next[0].wrapping_add(1);
                let answer =
                    Tcp { ack: flow.next[0], flags: SYN | ACK, options: SYN_OPTIONS, ..Tcp::default() };
                frames.push(flow.frame(time_ns + 10, 1, answer));
                flow.next[1] = flow.next[1].wrapping_add(1);
            }
            flows.push(flow);
            continue;
        }
        let which = numbers.below(flows.len() as u32) as usize;
        let from = numbers.below(2) as usize;
        let flow = &mut flows[which];
        let ack = flow.next[1 - from];
        let tsval = step as u8;
        let timestamps = [1, 1, 8, 10, 0, 0, 1, tsval, 0, 0, 0, 9];
        let sack = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 9];
        let options: &[u8] = match numbers.below(3) {
            0 => &[],
            1 => &timestamps,
            _ => &sack,
        };
        let is_end = numbers.below(40) == 0;
        let flags = if is_end { ACK | FIN } else { ACK };
        let payload = numbers.below(1_449) as usize;
        frames.push(flow.frame(time_ns, from, Tcp { ack, flags, options, payload, ..Tcp::default() }));
        flow.next[from] = flow.next[from].wrapping_add(payload as u32).wrapping_add(is_end.into());
        if is_end {
            let port = flow.port;
            let mut again = flows.swap_remove(which);
            if numbers.below(2) == 0 {
                // The same ports once more.
                again.next = [numbers.below(u32::MAX), numbers.below(u32::MAX)];
                time_ns += 1_000;
                frames.push(again.frame(
                    time_ns,
                    0,
                    Tcp { flags: SYN, options: SYN_OPTIONS, ..Tcp::default() },
                ));
                again.next[0] = again.next[0].wrapping_add(1);
                assert_eq!(again.port, port);
                flows.push(again);
            }
        }
        if numbers.below(30) == 0 {
            let udp = write::udp([5_000 + numbers.below(9) as u16, 5_001], &[0; 100]);
            let ip = write::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 17, &udp);
            frames.push(Frame::new(time_ns + 1, write::frame_v4(&ip)));
        }
    }
    frames
}

#[test]
fn headers_and_connections_are_those_of_tshark() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 0..4 {
        let mut numbers = Numbers(seed);
        let mut frames = conversations(&mut numbers);
        if seed % 2 == 1 {
            // All headers are there, and some of the payload.
            frames = frames.into_iter().map(|frame| frame.cut(160)).collect();
        }
        let file = folder.path().join(format!("{seed}.pcap"));
        std::fs::write(&file, write::ethernet(&frames)).unwrap();
        let Some((differences, facts)) = compare(&file) else {
            return;
        };
        assert!(facts.tcp.packets > 3_000 && facts.udp.packets > 50, "{facts:?}");
        assert!(
            differences.is_empty(),
            "seed {seed}: {} differences\n{}",
            differences.len(),
            differences[..differences.len().min(20)].join("\n")
        );
    }
}

#[test]
fn files_of_your_own_are_those_of_tshark() {
    let files = env::var_os("WIRESPEED_CAPTURES").unwrap_or_default();
    for file in env::split_paths(&files).filter(|file| !file.as_os_str().is_empty()) {
        let (differences, facts) = compare(&file).expect("tshark is needed");
        let first = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
        assert!(
            differences.is_empty(),
            "{}: {} differences of {} packets\n{first}",
            file.display(),
            differences.len(),
            facts.all.packets
        );
    }
}
