//! Generates a capture, or reads one and prints how long that took (benches/capture-speed.py).

#[path = "../tests/support/write.rs"]
mod write;

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;
use wirespeed_capture::{
    Captured, Connection, EndReason, Input, Observer, Reader, Separate, Settings, Tunnels, read,
};
use write::{ACK, Frame, Order, Pcap, SYN, Tcp};

const USAGE: &str = "capture_speed generate FILE BYTES CONNECTIONS SNAPLEN\n\
                     capture_speed read FILE\n\
                     capture_speed separate FILE   (with super-packets taken apart)\n\
                     capture_speed headers FILE    (without connections, on one thread)";
const SYN_OPTIONS: &[u8] = &[2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];
const TIMESTAMPS: &[u8] = &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
const PAYLOAD: u32 = 1448;

#[derive(Default)]
struct Sums {
    packets: u64,
    bytes: u64,
    ended: u64,
}

impl Observer for Sums {
    fn packet(&mut self, captured: &Captured, _: &Connection) {
        self.packets += 1;
        self.bytes += u64::from(captured.packet.payload_bytes());
    }

    fn ended(&mut self, _: &Connection, _: EndReason) {
        self.ended += 1;
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let start = Instant::now();
    let mut sums = Sums::default();
    let (file, facts) = match *words {
        ["generate", file, bytes, connections, snaplen] => {
            return generate(Path::new(file), bytes.parse()?, connections.parse()?, snaplen.parse()?);
        }
        ["read", file] => (file, read(Input::named(Path::new(file)), &Settings::default(), &mut sums)?),
        ["separate", file] => {
            (file, read(Input::named(Path::new(file)), &Settings::default(), &mut Separate(&mut sums))?)
        }
        ["headers", file] => {
            let mut reader = Reader::open(Input::named(Path::new(file)), Tunnels::default())?;
            let mut next = reader.next_packet();
            while let Some(packet) = &mut next {
                sums.packets += 1;
                sums.bytes += u64::from(packet.payload_bytes());
                if !reader.next_into(packet) {
                    next = None;
                }
            }
            (file, reader.into_facts())
        }
        _ => return Err(USAGE.into()),
    };
    let seconds = start.elapsed().as_secs_f64();
    let line = format!(
        "{{\"seconds\": {seconds:.4}, \"frames\": {}, \"packets\": {}, \"connections\": {}, \"most_open\": {}, \
         \"payload_bytes\": {}, \"damaged\": {}, \"file\": {file:?}}}\n",
        facts.all.packets,
        sums.packets,
        facts.connections,
        facts.most_open,
        sums.bytes,
        facts.damaged_tail.is_some(),
    );
    std::io::stdout().write_all(line.as_bytes())?;
    Ok(())
}

/// Bulk transfers side by side: two segments, and an ACK for both. New connections replace old ones all the time.
fn generate(path: &Path, bytes: u64, connections: u32, snaplen: usize) -> Result<(), Box<dyn Error>> {
    const ROUNDS: u32 = 64;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(&write::pcap_head(Pcap::Nanoseconds, Order::Little, 1))?;
    let (mut written, mut time_ns, mut round) = (0u64, 1_700_000_000_000_000_000u64, 0u32);
    let [mut syn, mut answer] =
        [SYN, SYN | ACK].map(|flags| Tcp { flags, options: SYN_OPTIONS, ..Tcp::default() });
    let data = Tcp { options: TIMESTAMPS, payload: PAYLOAD as usize, ..Tcp::default() };
    let ack = Tcp { options: TIMESTAMPS, ..Tcp::default() };
    let mut put = |ip: Vec<u8>, client: u32| -> std::io::Result<u64> {
        let mut frame = Frame::new(time_ns, write::frame_v4(&ip)).cut(usize::MAX);
        time_ns += 1_000;
        // The client's address: more than there are ports.
        let at = if frame.bytes[29] == 1 { 27 } else { 31 };
        frame.bytes[at..at + 2].copy_from_slice(&(client as u16).to_be_bytes());
        let frame = frame.cut(snaplen);
        let record = write::pcap_record(Pcap::Nanoseconds, Order::Little, &frame);
        file.write_all(&record)?;
        Ok(record.len() as u64)
    };
    while written < bytes {
        for number in 0..connections {
            let client = number >> 8;
            let generation = round / ROUNDS;
            let port = 1024 + (number & 0xff) as u16 + 256 * (generation % 200) as u16;
            let (isn, ports) = (number.wrapping_mul(2_654_435_761), [port, 443]);
            let at = round % ROUNDS;
            let seq = isn.wrapping_add(1).wrapping_add(at * 2 * PAYLOAD);
            let back = [443, port];
            if at == 0 {
                (syn.ports, syn.seq) = (ports, isn);
                (answer.ports, answer.seq, answer.ack) = (back, 7, isn.wrapping_add(1));
                written += put(syn.ipv4(), client)? + put(answer.ipv4_back(), client)?;
            }
            written += put(Tcp { ports, seq, ack: 8, ..data }.ipv4(), client)?;
            written += put(Tcp { ports, seq: seq.wrapping_add(PAYLOAD), ack: 8, ..data }.ipv4(), client)?;
            let ack_number = seq.wrapping_add(2 * PAYLOAD);
            written += put(Tcp { ports: back, seq: 8, ack: ack_number, ..ack }.ipv4_back(), client)?;
        }
        round += 1;
    }
    file.flush()?;
    Ok(())
}
