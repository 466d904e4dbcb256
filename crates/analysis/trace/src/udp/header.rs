//! Numbers and times that programs write to the front of datagrams.

use serde::Serialize;

/// Program or protocol that numbered the datagrams of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbering {
    /// The agent of wirespeed: 64 bits, and the time of sending.
    Wirespeed,
    /// The model of wirespeed: 64 bits without a time.
    Model,
    /// iperf3: time of sending, and 32 bits.
    Iperf3,
    /// iperf3 with `--udp-counters-64bit`.
    Iperf3Wide,
    /// iperf 2: 32 bits, and the time of sending.
    Iperf2,
    /// RTP (RFC 3550): 16 bits, and a media timestamp.
    Rtp,
}

/// The front of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbered {
    /// Sequence number as in the datagram, of [`Numbering::bits`] bits.
    pub number: u64,
    /// Time of sending by the sender's clock, in nanoseconds.
    pub sent_ns: Option<i64>,
}

/// Clock rates of the static payload types of RTP (RFC 3551, 6), in Hz. Others are those of `--rtp`.
fn clock_hz(payload_type: u8, dynamic_hz: u32) -> u32 {
    match payload_type {
        6 => 16_000,
        10 | 11 => 44_100,
        16 => 11_025,
        17 => 22_050,
        14 | 25 | 26 | 28 | 31..=34 => 90_000,
        0..=5 | 7..=9 | 12 | 13 | 15 | 18 => 8_000,
        _ => dynamic_hz,
    }
}

fn be32(head: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?))
}

/// Seconds and microseconds at `at`.
fn time(head: &[u8], at: usize) -> Option<i64> {
    let (seconds, microseconds) = (be32(head, at)?, be32(head, at + 4)?);
    (microseconds < 1_000_000).then(|| i64::from(seconds) * 1_000_000_000 + i64::from(microseconds) * 1_000)
}

impl Numbering {
    /// Kinds that are recognized without being asked for.
    pub(crate) const RECOGNIZED: [Numbering; 5] =
        [Numbering::Wirespeed, Numbering::Model, Numbering::Iperf3, Numbering::Iperf3Wide, Numbering::Iperf2];

    /// Bits of a sequence number. It is 0 again after the largest.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Numbering::Wirespeed | Numbering::Model | Numbering::Iperf3Wide => 64,
            Numbering::Iperf3 | Numbering::Iperf2 => 32,
            Numbering::Rtp => 16,
        }
    }

    /// Reads the front of a datagram; `None` if it is another kind. `rtp_hz` is the clock rate of dynamic payload types.
    pub(crate) fn read(self, head: &[u8], rtp_hz: u32) -> Option<Numbered> {
        // No test sends so many datagrams: a larger number is something else.
        const LARGEST: u64 = 1 << 48;
        let numbered = match self {
            Numbering::Wirespeed => {
                let word = |at: usize| Some(u64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?));
                let sent_ns = i64::try_from(word(8)?).ok()?;
                Numbered { number: word(0)?, sent_ns: Some(sent_ns) }
            }
            Numbering::Model => {
                if head.len() < 16 || head[8..].iter().any(|byte| *byte != 0) {
                    return None;
                }
                Numbered {
                    number: u64::from(be32(head, 0)?) << 32 | u64::from(be32(head, 4)?),
                    sent_ns: None,
                }
            }
            Numbering::Iperf3 => Numbered { number: be32(head, 8)?.into(), sent_ns: Some(time(head, 0)?) },
            Numbering::Iperf3Wide => {
                let number = u64::from(be32(head, 8)?) << 32 | u64::from(be32(head, 12)?);
                Numbered { number, sent_ns: Some(time(head, 0)?) }
            }
            Numbering::Iperf2 => {
                // The last datagram has its number negated (iperf 2, Client.cpp).
                let number = be32(head, 0)?;
                if number > i32::MAX as u32 {
                    return None;
                }
                Numbered { number: number.into(), sent_ns: Some(time(head, 4)?) }
            }
            Numbering::Rtp => return rtp(head, rtp_hz),
        };
        (numbered.number < LARGEST).then_some(numbered)
    }
}

/// The header of RTP (RFC 3550, 5.1).
fn rtp(head: &[u8], dynamic_hz: u32) -> Option<Numbered> {
    /// Types of RTCP, with the bit of the marker (RFC 5761, 4).
    const RTCP: std::ops::RangeInclusive<u8> = 192..=223;
    const BYTES: usize = 12;
    if head.len() < BYTES || head[0] >> 6 != 2 || RTCP.contains(&head[1]) {
        return None;
    }
    let number = u64::from(u16::from_be_bytes([head[2], head[3]]));
    let hz = clock_hz(head[1] & 0x7f, dynamic_hz).max(1);
    let sent_ns = i64::from(be32(head, 4)?) * 1_000_000_000 / i64::from(hz);
    Some(Numbered { number, sent_ns: Some(sent_ns) })
}

/// The difference of two sequence numbers of `bits` bits, across a wrap.
pub(crate) fn difference(from: u64, to: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    (to.wrapping_sub(from) << unused).cast_signed() >> unused
}

/// A datagram as far as its kind is concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub time_ns: i64,
    pub payload_bytes: u32,
    pub head: &'a [u8],
}

/// So many datagrams are needed to recognize a kind.
pub(crate) const FEWEST: usize = 6;

/// The kind of a stream, by its first datagrams; `None` if they are of no kind.
///
/// Read as another kind, numbers do not rise by little, or the times of sending and capture pass differently.
pub(crate) fn recognize(samples: &[Sample<'_>], rtp_hz: Option<u32>) -> Option<Numbering> {
    let asked_for = rtp_hz.map(|_| Numbering::Rtp);
    let hz = rtp_hz.unwrap_or(1);
    asked_for.into_iter().chain(Numbering::RECOGNIZED).find(|numbering| fits(*numbering, samples, hz))
}

fn fits(numbering: Numbering, samples: &[Sample<'_>], hz: u32) -> bool {
    /// Datagrams that may be lost in a row, or be in one super-packet.
    const NEAR: i64 = 4_096;
    /// Difference of both times between two datagrams: more than a queue grows by.
    const CLOCKS_NS: u64 = 500_000_000;
    let read = |sample: &Sample<'_>| Some((sample.time_ns, numbering.read(sample.head, hz)?));
    let all: Vec<(i64, Numbered)> = samples.iter().filter_map(read).collect();
    // Others are of the handshake of iperf3, or of a control protocol on the same port.
    if all.len() < FEWEST || all.len() * 4 < samples.len() * 3 {
        return false;
    }
    // A constant field is not a time. Datagrams of wirespeed are an exception: those of one system call have the same time.
    let is_clock = match numbering {
        Numbering::Iperf3 | Numbering::Iperf3Wide | Numbering::Iperf2 => {
            all[0].1.sent_ns < all[all.len() - 1].1.sent_ns
        }
        Numbering::Wirespeed | Numbering::Model | Numbering::Rtp => true,
    };
    let is_step = |pair: &&[(i64, Numbered)]| {
        let [(before_ns, before), (after_ns, after)] = pair else { return false };
        let step = difference(before.number, after.number, numbering.bits());
        // The media timestamp of RTP wraps, and frames are sent ahead of it.
        let passed = match (before.sent_ns, after.sent_ns) {
            (Some(before_sent), Some(after_sent)) if numbering != Numbering::Rtp => {
                (after_sent - before_sent).abs_diff(after_ns - before_ns) < CLOCKS_NS
            }
            _ => true,
        };
        (1..=NEAR).contains(&step) && passed
    };
    let steps = all.windows(2).filter(is_step).count();
    is_clock && steps * 4 >= (all.len() - 1) * 3
}

/// Payload of one datagram on the wire, if a captured packet may have several (segmentation offload of UDP). It is the payload by
/// the rise of the number, of most datagrams.
pub(crate) fn datagram_bytes(samples: &[Sample<'_>], numbering: Numbering, hz: u32) -> Option<u32> {
    let all: Vec<(u32, u64)> = samples
        .iter()
        .filter_map(|sample| Some((sample.payload_bytes, numbering.read(sample.head, hz)?.number)))
        .collect();
    let each = |pair: &[(u32, u64)]| {
        let step = u32::try_from(difference(pair[0].1, pair[1].1, numbering.bits())).ok()?;
        (step > 0 && pair[0].0.is_multiple_of(step)).then(|| pair[0].0 / step)
    };
    let sizes: Vec<u32> = all.windows(2).filter_map(each).collect();
    let count = |size: u32| sizes.iter().filter(|other| **other == size).count();
    let most = sizes.iter().copied().max_by_key(|size| (count(*size), *size))?;
    (count(most) * 2 > all.len() - 1).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Heads of datagrams that leave every millisecond.
    fn stream(head: impl Fn(u64) -> Vec<u8>) -> Vec<(i64, Vec<u8>)> {
        (0..16).map(|number| (1_795_000_000_000_000_000 + number as i64 * 1_000_000, head(number))).collect()
    }

    fn kind(stream: &[(i64, Vec<u8>)], rtp: Option<u32>) -> Option<Numbering> {
        let sample = |(time_ns, head): &'_ (i64, Vec<u8>)| (*time_ns, head.len() as u32, head.clone());
        let owned: Vec<_> = stream.iter().map(sample).collect();
        let samples: Vec<Sample<'_>> = owned
            .iter()
            .map(|(time_ns, payload_bytes, head)| Sample {
                time_ns: *time_ns,
                payload_bytes: *payload_bytes,
                head,
            })
            .collect();
        recognize(&samples, rtp)
    }

    fn sent(number: u64) -> [u8; 8] {
        // Monotonic time of a machine that runs for a day, as iperf3 since 3.8.
        let [seconds, microseconds] = [86_400u32, number as u32 * 1_000].map(u32::to_be_bytes);
        [seconds, microseconds].concat().try_into().unwrap()
    }

    #[test]
    fn each_kind_is_recognized_and_no_other() {
        let filled = |mut head: Vec<u8>| {
            head.extend((head.len()..48).map(|at| at as u8 | 1));
            head
        };
        let wirespeed = stream(|number| {
            let sent = (number as i64 * 1_000_000).to_le_bytes();
            [number.to_le_bytes(), sent, [0; 8]].concat()
        });
        assert_eq!(kind(&wirespeed, None), Some(Numbering::Wirespeed));
        let model = stream(|number| [number.to_be_bytes(), [0; 8], [0; 8]].concat());
        assert_eq!(kind(&model, None), Some(Numbering::Model));
        let narrow = stream(|n| filled([&sent(n)[..], &(n as u32 + 1).to_be_bytes()].concat()));
        assert_eq!(kind(&narrow, None), Some(Numbering::Iperf3));
        let wide = stream(|n| filled([&sent(n)[..], &(n + 1).to_be_bytes()].concat()));
        assert_eq!(kind(&wide, None), Some(Numbering::Iperf3Wide));
        let iperf2 = stream(|n| filled([&(n as u32).to_be_bytes()[..], &sent(n)].concat()));
        assert_eq!(kind(&iperf2, None), Some(Numbering::Iperf2));
    }

    #[test]
    fn rtp_is_read_on_request_only() {
        let rtp = stream(|n| {
            let number = 65_530u16.wrapping_add(n as u16).to_be_bytes();
            [&[0x80, 96][..], &number, &(n as u32 * 90).to_be_bytes(), &[1, 2, 3, 4]].concat()
        });
        assert_eq!(kind(&rtp, None), None);
        assert_eq!(kind(&rtp, Some(90_000)), Some(Numbering::Rtp));
        let numbered = Numbering::Rtp.read(&rtp[10].1, 90_000).unwrap();
        assert_eq!(numbered, Numbered { number: 4, sent_ns: Some(10_000_000) });
        // A report of RTCP.
        assert_eq!(Numbering::Rtp.read(&[0x80, 200, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0], 90_000), None);
    }

    #[test]
    fn other_datagrams_are_of_no_kind() {
        let random = stream(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().repeat(4));
        assert_eq!(kind(&random, None), None);
        let constant = stream(|_| vec![0; 32]);
        assert_eq!(kind(&constant, None), None);
        assert_eq!(kind(&stream(|_| Vec::new()), None), None);
    }

    #[test]
    fn number_beside_a_constant_is_not_of_iperf() {
        // A record of DTLS: its epoch, its sequence number and its length.
        let dtls = stream(|n| [&[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, n as u8][..], &[0; 21]].concat());
        assert_eq!(kind(&dtls, None), None);
    }

    #[test]
    fn difference_crosses_the_wrap() {
        assert_eq!(difference(65_535, 2, 16), 3);
        assert_eq!(difference(2, 65_535, 16), -3);
        assert_eq!(difference(u64::from(u32::MAX), 0, 32), 1);
        assert_eq!(difference(5, 3, 64), -2);
    }

    #[test]
    fn super_packets_show_the_size_of_a_datagram() {
        let heads: Vec<Vec<u8>> = (0..8u64)
            .map(|n| [(n * 45).to_le_bytes(), (n as i64 * 1_000_000).to_le_bytes()].concat())
            .collect();
        let sample = |(n, head)| Sample { time_ns: n as i64 * 1_000_000, payload_bytes: 45 * 1_448, head };
        let samples: Vec<Sample<'_>> =
            heads.iter().enumerate().map(|(n, head)| sample((n, head.as_slice()))).collect();
        assert_eq!(datagram_bytes(&samples, Numbering::Wirespeed, 1), Some(1_448));
    }
}
