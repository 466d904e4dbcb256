//! Captures of a run, `raw/HOST.pcap`: what figures need of each TCP packet.

use crate::store::{StoreError, io_error};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// A TCP packet of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Since the start of the run.
    pub t_ns: i64,
    /// Port of who sent it.
    pub from_port: u16,
    /// Port of whom it is for.
    pub to_port: u16,
    /// Identification of the IP packet: what is seen twice with the same is one packet that an interface gave back, what
    /// TCP sent again has another.
    pub identification: u16,
    /// Sequence number of its first byte, as on the wire.
    pub sequence: u32,
    /// Bytes of payload.
    pub payload: u32,
    /// Sequence number that it acknowledges, if it acknowledges one.
    pub acknowledges: Option<u32>,
}

/// Nanosecond pcap, the least significant byte first.
const MAGIC: u32 = 0xa1b2_3c4d;
const FILE_HEAD: usize = 24;
const RECORD_HEAD: usize = 16;
/// More than a merged packet with its headers.
const LARGEST: u32 = 1 << 20;
const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const TCP: u8 = 6;
const ACK: u8 = 0x10;

/// The first `most` TCP packets that were captured at `host` of the run in `directory`, in the order of the file; `None`
/// if nothing was captured there.
///
/// # Errors
/// If the file cannot be read, or is no capture as the substrates write them.
pub fn capture(directory: &Path, host: &str, most: usize) -> Result<Option<Vec<Segment>>, StoreError> {
    let path = directory.join(crate::store::RAW).join(format!("{host}.pcap"));
    if !path.is_file() {
        return Ok(None);
    }
    let damaged = |reason: &str| StoreError::Damaged { path: path.clone(), reason: reason.into() };
    let mut file = BufReader::new(File::open(&path).map_err(io_error("read", &path))?);
    let mut head = [0; FILE_HEAD];
    if file.read_exact(&mut head).is_err() || word(&head, 0) != MAGIC {
        return Err(damaged("it is not a pcap file with nanoseconds"));
    }
    let mut segments = Vec::new();
    let mut frame = Vec::new();
    while segments.len() < most && !file.fill_buf().map_err(io_error("read", &path))?.is_empty() {
        let mut head = [0; RECORD_HEAD];
        let cut = |_| damaged("its last packet is cut off");
        file.read_exact(&mut head).map_err(cut)?;
        let kept = word(&head, 8);
        if kept > LARGEST {
            return Err(damaged("a packet in it is larger than any"));
        }
        frame.resize(kept as usize, 0);
        file.read_exact(&mut frame).map_err(cut)?;
        let t_ns = i64::from(word(&head, 0)) * 1_000_000_000 + i64::from(word(&head, 4));
        segments.extend(segment(&frame, t_ns));
    }
    Ok(Some(segments))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// A frame that carries TCP over IPv4; headers only are needed, as in RFC 791 and RFC 9293.
fn segment(frame: &[u8], t_ns: i64) -> Option<Segment> {
    if frame.get(12..ETHERNET)? != IPV4 {
        return None;
    }
    let ip = &frame[ETHERNET..];
    let ip_head = usize::from(ip.first()? & 0xf) * 4;
    let tcp = ip.get(ip_head..)?;
    if *ip.get(9)? != TCP || tcp.len() < 20 {
        return None;
    }
    let two = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let four = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
    let heads = ip_head + usize::from(tcp[12] >> 4) * 4;
    Some(Segment {
        t_ns,
        from_port: two(tcp, 0),
        to_port: two(tcp, 2),
        identification: two(ip, 4),
        sequence: four(4),
        payload: usize::from(two(ip, 2)).saturating_sub(heads) as u32,
        acknowledges: (tcp[13] & ACK != 0).then(|| four(8)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of 54 bytes of headers, cut off behind them, as a snap length does.
    fn frame(from: u16, to: u16, sequence: u32, payload: u16, ack: Option<u32>) -> Vec<u8> {
        let mut frame = vec![0; 54];
        frame[12..14].copy_from_slice(&IPV4);
        frame[14] = 0x45;
        frame[16..18].copy_from_slice(&(40 + payload).to_be_bytes());
        frame[23] = TCP;
        frame[34..36].copy_from_slice(&from.to_be_bytes());
        frame[36..38].copy_from_slice(&to.to_be_bytes());
        frame[38..42].copy_from_slice(&sequence.to_be_bytes());
        frame[42..46].copy_from_slice(&ack.unwrap_or(0).to_be_bytes());
        frame[46] = 5 << 4;
        frame[47] = if ack.is_some() { ACK } else { 0 };
        frame
    }

    fn file(frames: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut bytes: Vec<u8> = [MAGIC, 0, 0, 0, 96, 1].iter().flat_map(|word| word.to_le_bytes()).collect();
        for (nanoseconds, frame) in frames {
            let head = [2, *nanoseconds, frame.len() as u32, 1514];
            bytes.extend(head.iter().flat_map(|word| word.to_le_bytes()));
            bytes.extend(frame);
        }
        bytes
    }

    #[test]
    fn headers_are_read_and_what_is_not_tcp_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(capture(folder.path(), "a", 10).unwrap(), None);
        std::fs::create_dir(folder.path().join("raw")).unwrap();
        let mut udp = frame(1, 2, 0, 0, None);
        udp[23] = 17;
        let frames =
            [(5, frame(40_000, 5001, 7, 1448, None)), (6, udp), (7, frame(5001, 40_000, 1, 0, Some(1455)))];
        let path = folder.path().join("raw/a.pcap");
        std::fs::write(&path, file(&frames)).unwrap();
        let data = Segment {
            t_ns: 2_000_000_005,
            from_port: 40_000,
            to_port: 5001,
            identification: 0,
            sequence: 7,
            payload: 1448,
            acknowledges: None,
        };
        let ack = Segment {
            t_ns: 2_000_000_007,
            from_port: 5001,
            to_port: 40_000,
            identification: 0,
            sequence: 1,
            payload: 0,
            acknowledges: Some(1455),
        };
        assert_eq!(capture(folder.path(), "a", 10).unwrap(), Some(vec![data, ack]));
        assert_eq!(capture(folder.path(), "a", 1).unwrap(), Some(vec![data]));

        let mut cut = file(&frames);
        cut.truncate(cut.len() - 1);
        std::fs::write(&path, cut).unwrap();
        assert!(capture(folder.path(), "a", 10).unwrap_err().to_string().contains("a.pcap"));
        std::fs::write(&path, "nonsense").unwrap();
        assert!(capture(folder.path(), "a", 10).is_err());
    }

    #[test]
    fn frames_of_any_length_do_no_harm() {
        let whole = frame(1, 2, 3, 4, Some(5));
        for length in 0..whole.len() {
            assert_eq!(segment(&whole[..length], 0), None, "{length}");
        }
        assert!(segment(&whole, 0).is_some());
    }
}
