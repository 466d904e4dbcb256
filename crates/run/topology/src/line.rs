//! A link whose queue is a queueing discipline of Linux: `line` (kernel/qdisc/sch_line.c) and what it asks for packets.

use crate::qdisc::{LinkStatistics, Statistics, TCA_OPTIONS, loss_bound};
use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED};
use netlink_packet_route::tc::TcAttribute;
use wirespeed_scenario::run::{Direction, DualPi2, Overload, Step};
use wirespeed_units::{Bytes, Span};

/// The kind of the discipline.
pub const LINE: &str = "line";
/// `struct tc_line_qopt`.
const OPTIONS: usize = 5 * 8;
/// `struct tc_line_bin`.
const BIN: usize = 40;

/// Packets of a class of a queue that had waited about as long, cumulative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bin {
    /// Of the low-latency queue; otherwise of the classic one.
    pub is_low_latency: bool,
    /// Number of the bucket of times (`wirespeed_record::delay_bucket`).
    pub bucket: u32,
    /// Packets sent, modulo 2^32 like the next two.
    pub packets: u32,
    /// Of these, packets that the queue marked.
    pub marked: u32,
    /// Packets that the queue's management dropped after such a time.
    pub dropped: u32,
    /// Bytes of the frames sent.
    pub bytes: u64,
    /// Sum of the times of packets sent, in nanoseconds.
    pub sum_ns: u64,
}

/// Packets that a buffer holds, of frames of this size; at least one.
fn packets_of(buffer: Bytes, frame: Bytes) -> u32 {
    // kernel/qdisc/sch_line.c keeps room for so many.
    const MOST: u64 = 1 << 24;
    (buffer.get() / frame.get().max(1)).clamp(1, MOST) as u32
}

/// `struct tc_line_qopt`; `frame`: of the largest size.
pub(crate) fn line(direction: &Direction, seed: u64, frame: Bytes) -> TcAttribute {
    let (delay, limit) = (direction.delay.nanoseconds() as u64, packets_of(direction.buffer, frame).into());
    let words = [direction.rate.get(), delay, loss_bound(direction.loss), seed, limit];
    TcAttribute::Other(DefaultNla::new(TCA_OPTIONS, words.into_iter().flat_map(u64::to_ne_bytes).collect()))
}

/// Attributes of sch_dualpi2.c (linux/pkt_sched.h, Linux 6.17).
pub(crate) fn dual_pi2(settings: &DualPi2, buffer: Bytes, frame: Bytes) -> TcAttribute {
    const LIMIT: u16 = 1;
    const MEMORY_LIMIT: u16 = 2;
    const TARGET: u16 = 3;
    const TUPDATE: u16 = 4;
    const ALPHA: u16 = 5;
    const BETA: u16 = 6;
    const STEP_THRESH_PKTS: u16 = 7;
    const STEP_THRESH_US: u16 = 8;
    const MIN_QLEN_STEP: u16 = 9;
    const COUPLING: u16 = 10;
    const DROP_OVERLOAD: u16 = 11;
    const C_PROTECTION: u16 = 13;
    let us = |time: Span| u32::try_from(time.nanoseconds() / 1000).unwrap_or(u32::MAX);
    // In 1/256 Hz.
    let gain = |per_s: f64| (per_s * 256.0).round() as u32;
    let (step, threshold) = match settings.step {
        Step::Time(time) => (STEP_THRESH_US, us(time)),
        Step::Packets(packets) => (STEP_THRESH_PKTS, packets),
    };
    let words = [
        (LIMIT, packets_of(buffer, frame)),
        // The limit alone bounds the queue.
        (MEMORY_LIMIT, u32::MAX),
        (TARGET, us(settings.target)),
        (TUPDATE, us(settings.tupdate)),
        (ALPHA, gain(settings.alpha_per_s)),
        (BETA, gain(settings.beta_per_s)),
        (step, threshold),
        (MIN_QLEN_STEP, settings.min_qlen_step),
    ];
    let bytes = [
        (COUPLING, settings.coupling as u8),
        (DROP_OVERLOAD, u8::from(settings.overload == Overload::Drop)),
        (C_PROTECTION, settings.classic_protection_percent),
    ];
    let word = |(kind, value): (u16, u32)| DefaultNla::new(kind, value.to_ne_bytes().into());
    let byte = |(kind, value): (u16, u8)| DefaultNla::new(kind, vec![value]);
    let attributes: Vec<DefaultNla> = words.map(word).into_iter().chain(bytes.map(byte)).collect();
    let mut nested = vec![0; attributes.as_slice().buffer_len()];
    attributes.as_slice().emit(&mut nested);
    // Newer disciplines refuse options without the flag of nested attributes.
    TcAttribute::Other(DefaultNla::new(TCA_OPTIONS | NLA_F_NESTED, nested))
}

/// `struct tc_line_xstats` into the statistics of the discipline, and the bins behind its options.
pub(crate) fn decode(private: &[u8], into: &mut Statistics) {
    let mut words = private.chunks_exact(8).map(|w| u64::from_ne_bytes(w.try_into().expect("eight bytes")));
    let mut word = || words.next().unwrap_or(0);
    into.backlog_bytes = word();
    into.backlog_packets = word();
    let flight_packets = word();
    into.dropped_packets = word();
    let lost_packets = word();
    into.sent_packets = word();
    into.sent_bytes = word();
    let (copied_packets, marked_packets) = (Some(word()), Some(word()));
    let managed_packets = Some(word());
    into.link = Some(LinkStatistics {
        lost_packets,
        flight_packets,
        copied_packets,
        marked_packets,
        managed_packets,
    });
    // They change with each packet: settings do not.
    let bins = into.options.split_off(OPTIONS.min(into.options.len()));
    into.bins = bins.chunks_exact(BIN).map(bin).collect();
}

fn bin(bytes: &[u8]) -> Bin {
    let half = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    Bin {
        is_low_latency: half(0) == 0,
        bucket: half(4),
        packets: half(8),
        marked: half(12),
        dropped: half(16),
        bytes: word(24),
        sum_ns: word(32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_core::{Nla, NlaBuffer, NlasIterator};
    use wirespeed_units::Rate;

    const FRAME: Bytes = Bytes::new(1514);

    fn settings() -> DualPi2 {
        DualPi2 {
            target: Span::ms(15),
            tupdate: Span::ms(16),
            alpha_per_s: 0.16,
            beta_per_s: 3.2,
            coupling: 2.0,
            step: Step::Time(Span::ms(1)),
            min_qlen_step: 0,
            classic_protection_percent: 10,
            overload: Overload::Drop,
        }
    }

    #[test]
    fn a_line_is_encoded_as_the_kernel_side_reads_it() {
        let direction = Direction::plain(Rate::mbit(40), Span::ms(5), 0.5, Bytes::new(15_140_000));
        let TcAttribute::Other(nla) = line(&direction, 7, FRAME) else { panic!("raw options") };
        let mut bytes = vec![0; nla.value_len()];
        nla.emit_value(&mut bytes);
        let words: Vec<u64> = bytes.chunks(8).map(|w| u64::from_ne_bytes(w.try_into().unwrap())).collect();
        assert_eq!(words, [40_000_000, 5_000_000, 1 << 63, 7, 10_000]);
        assert_eq!(bytes.len(), OPTIONS);
    }

    #[test]
    fn the_defaults_are_those_of_linux() {
        let attributes = |settings: &DualPi2| {
            let TcAttribute::Other(nla) = dual_pi2(settings, Bytes::new(15_140_000), FRAME) else {
                panic!("encoded options")
            };
            assert_eq!(nla.kind(), TCA_OPTIONS | NLA_F_NESTED);
            let mut nested = vec![0; nla.value_len()];
            nla.emit_value(&mut nested);
            let read = |option: Result<NlaBuffer<&[u8]>, _>| {
                let option = option.unwrap();
                let mut bytes = option.value().to_vec();
                bytes.resize(4, 0);
                (option.kind(), u32::from_ne_bytes(bytes.try_into().unwrap()))
            };
            NlasIterator::new(nested.as_slice()).map(read).collect::<Vec<_>>()
        };
        // dualpi2_reset_default in net/sched/sch_dualpi2.c.
        let expected = [
            (1, 10_000),
            (2, u32::MAX),
            (3, 15_000),
            (4, 16_000),
            (5, 41),
            (6, 819),
            (8, 1_000),
            (9, 0),
            (10, 2),
            (11, 1),
            (13, 10),
        ];
        assert_eq!(attributes(&settings()), expected);
        let packets = DualPi2 { step: Step::Packets(5), overload: Overload::Overflow, ..settings() };
        let changed = attributes(&packets);
        assert!(changed.contains(&(7, 5)) && changed.contains(&(11, 0)) && !changed.contains(&(8, 1_000)));
    }

    #[test]
    fn statistics_and_bins_are_read_as_the_kernel_writes_them() {
        let words: Vec<u8> =
            [100u64, 2, 30, 4, 5, 60, 700, 0, 9, 3].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let mut options = vec![7; OPTIONS];
        for half in [1u32, 200, 11, 2, 1, 0] {
            options.extend(half.to_ne_bytes());
        }
        for word in [16_654u64, 22_000_000] {
            options.extend(word.to_ne_bytes());
        }
        let mut statistics = Statistics { kind: LINE.into(), options, ..Default::default() };
        decode(&words, &mut statistics);
        assert_eq!((statistics.backlog_bytes, statistics.dropped_packets), (100, 4));
        let link = statistics.link.unwrap();
        assert_eq!((link.lost_packets, link.marked_packets, link.managed_packets), (5, Some(9), Some(3)));
        let bin = Bin {
            is_low_latency: false,
            bucket: 200,
            packets: 11,
            marked: 2,
            dropped: 1,
            bytes: 16_654,
            sum_ns: 22_000_000,
        };
        assert_eq!((statistics.bins, statistics.options.len()), (vec![bin], OPTIONS));
    }
}
