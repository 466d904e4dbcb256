//! Trains as bytes: of each what the ones before it do not let expect. Packets that a full queue lets through one by one
//! differ in little more than their number and their time, and these advance evenly.

use super::train::{Ack, Blocks, Body, Data, Ecn, MarksCounted, PayloadCounted, Sack, Step, Train};
use crate::long::{Expected, Pack};
use wirespeed_units::{SimTime, Span};

/// A train as numbers but for its selective acknowledgements. What a train has not is 0. Those that change most often come
/// first, for the numbers begin with one whose bits say which changed.
type Fields = [u64; FIELDS];

const AT: usize = 0;
const NUMBER: usize = 1;
const STAMP: usize = 2;
const PACKETS: usize = 3;
const FRAME: usize = 4;
const FLOW: usize = 5;
const ECHO: usize = 6;
/// Of data, what packets before it fall short of full ones.
const WINDOW: usize = 7;
const KIND: usize = 8;
const GAP: usize = 9;
const STRIDE: usize = 10;
const ECN: usize = 11;
/// Of acknowledgements, the marks that the receiver has counted.
const MARKS: usize = 12;
const FIELDS: usize = 13;

/// Selective acknowledgements as numbers, likewise: where the blocks begin, and the others.
type SackFields = [u64; SACK_FIELDS];

const LENGTHS: usize = Blocks::MOST;
const COUNT: usize = LENGTHS + Blocks::MOST;
const DUPLICATE: usize = COUNT + 1;
const DUPLICATE_LENGTH: usize = COUNT + 2;
const SACK_FIELDS: usize = COUNT + 3;

/// What the field [`KIND`] says.
mod kind {
    pub const DATA: u64 = 0;
    pub const ACK: u64 = 1;
    pub const DATAGRAM: u64 = 2;
    pub const HANDSHAKE: u64 = 3;
    pub const WINDOW_PROBE: u64 = 4;
    /// An acknowledgement that carries a request.
    pub const REQUEST: u64 = 5;
    /// The bits above say what else is true of it.
    pub const BITS: u32 = 3;
    pub const FIRST_FLAG: u64 = 1 << BITS;
    pub const SECOND_FLAG: u64 = 2 << BITS;
    pub const THIRD_FLAG: u64 = 4 << BITS;
}

/// What the trains so far let expect of the next.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    /// The time and the number advance.
    fields: Expected<FIELDS, 2>,
    /// Where the blocks begin does.
    sack: Expected<SACK_FIELDS, { Blocks::MOST }>,
}

impl Pack for Train {
    // Without loss, a few hundred are on their way whatever the path; each packet by itself, 10 Gbit/s has so many in 10 ms.
    const FEW: usize = 8192;
    type Packer = Packer;

    fn key(&self) -> u64 {
        self.at.picoseconds() as u64
    }

    fn put(&self, packer: &mut Packer, bytes: &mut Vec<u8>) {
        packer.fields.put(&fields_of(self), bytes);
        if let Body::Ack(Ack { sack: Some(sack), .. }) = &self.body {
            packer.sack.put(&sack_fields_of(sack), bytes);
        }
    }

    fn take(packer: &mut Packer, bytes: &mut &[u8]) -> Train {
        let fields = packer.fields.take(bytes);
        let mut train = train_of(&fields);
        if let Body::Ack(ack) = &mut train.body
            && fields[KIND] & kind::SECOND_FLAG != 0
        {
            let has_duplicate = fields[KIND] & kind::THIRD_FLAG != 0;
            ack.sack = Some(Box::new(sack_of(&packer.sack.take(bytes), has_duplicate)));
        }
        train
    }
}

fn flags(first: bool, second: bool, third: bool) -> u64 {
    (u64::from(first) | u64::from(second) << 1 | u64::from(third) << 2) << kind::BITS
}

fn fields_of(train: &Train) -> Fields {
    let mut fields = [0; FIELDS];
    fields[AT] = train.at.picoseconds() as u64;
    fields[GAP] = train.gap.picoseconds() as u64;
    fields[PACKETS] = train.packets.into();
    fields[FRAME] = train.frame.into();
    fields[FLOW] = train.flow.into();
    fields[ECN] = train.ecn as u64;
    match &train.body {
        Body::Data(data) => {
            fields[KIND] = kind::DATA | flags(data.last, data.cwr, false);
            fields[STRIDE] = data.pushes;
            fields[NUMBER] = data.first;
            fields[STAMP] = data.stamp.into();
            fields[ECHO] = data.echo.into();
            fields[WINDOW] = data.missing.into();
        }
        Body::Ack(ack) => {
            let duplicate = ack.sack.as_ref().is_some_and(|sack| sack.duplicate.is_some());
            let kind = if ack.asks { kind::REQUEST } else { kind::ACK };
            fields[KIND] = kind | flags(ack.ece, ack.sack.is_some(), duplicate);
            fields[NUMBER] = ack.next;
            fields[STRIDE] = ack.stride.into();
            fields[WINDOW] = ack.window;
            fields[STAMP] = ack.stamp.into();
            fields[ECHO] = ack.echo.into();
            fields[MARKS] = marks_as_number(ack.marks);
        }
        Body::Datagram { first } => {
            fields[KIND] = kind::DATAGRAM;
            fields[NUMBER] = *first;
        }
        Body::Handshake { step, stamp, echo, window } => {
            let (reply, confirm) = (*step == Step::Reply, *step == Step::Confirm);
            fields[KIND] = kind::HANDSHAKE | flags(reply, confirm, false);
            fields[STAMP] = (*stamp).into();
            fields[ECHO] = (*echo).into();
            fields[WINDOW] = *window;
        }
        Body::WindowProbe { una, stamp, echo } => {
            fields[KIND] = kind::WINDOW_PROBE;
            fields[NUMBER] = *una;
            fields[STAMP] = (*stamp).into();
            fields[ECHO] = (*echo).into();
        }
    }
    fields
}

/// The lowest bit is set if there are any, the next if there is an option. ACE has three bits, and the option's fields 24 each.
fn marks_as_number(marks: Option<MarksCounted>) -> u64 {
    let Some(MarksCounted { ace, option }) = marks else { return 0 };
    let option = option.map_or(0, |bytes| 2 | u64::from(bytes.capable) << 5 | u64::from(bytes.marked) << 29);
    1 | u64::from(ace & 7) << 2 | option
}

fn marks_of_number(number: u64) -> Option<MarksCounted> {
    let field = |shift: u32| (number >> shift) as u32 & PayloadCounted::MASK;
    let option = (number & 2 != 0).then(|| PayloadCounted { capable: field(5), marked: field(29) });
    (number & 1 != 0).then_some(MarksCounted { ace: (number >> 2 & 7) as u8, option })
}

fn sack_fields_of(sack: &Sack) -> SackFields {
    let mut fields = [0; SACK_FIELDS];
    if let Some(duplicate) = &sack.duplicate {
        fields[DUPLICATE] = duplicate.start;
        fields[DUPLICATE_LENGTH] = duplicate.end.wrapping_sub(duplicate.start);
    }
    fields[COUNT] = sack.blocks.len() as u64;
    for (place, block) in sack.blocks.iter().enumerate() {
        fields[place] = block.start;
        fields[LENGTHS + place] = block.end.wrapping_sub(block.start);
    }
    fields
}

/// The train of such fields, without its selective acknowledgements.
fn train_of(fields: &Fields) -> Train {
    let flag = |flag| fields[KIND] & flag != 0;
    let (stamp, echo) = (fields[STAMP] as u32, fields[ECHO] as u32);
    let body = match fields[KIND] & (kind::FIRST_FLAG - 1) {
        kind::DATA => Body::Data(Data {
            first: fields[NUMBER],
            stamp,
            last: flag(kind::FIRST_FLAG),
            echo,
            cwr: flag(kind::SECOND_FLAG),
            pushes: fields[STRIDE],
            missing: fields[WINDOW] as u32,
            // Behind its host's queue, where it is packed, nothing is held.
            held: Span::ZERO,
        }),
        kind @ (kind::ACK | kind::REQUEST) => Body::Ack(Ack {
            next: fields[NUMBER],
            stride: fields[STRIDE] as u32,
            window: fields[WINDOW],
            stamp,
            echo,
            ece: flag(kind::FIRST_FLAG),
            asks: kind == kind::REQUEST,
            marks: marks_of_number(fields[MARKS]),
            sack: None,
        }),
        kind::DATAGRAM => Body::Datagram { first: fields[NUMBER] },
        kind::HANDSHAKE => {
            let step = match (flag(kind::FIRST_FLAG), flag(kind::SECOND_FLAG)) {
                (true, _) => Step::Reply,
                (_, true) => Step::Confirm,
                _ => Step::Syn,
            };
            Body::Handshake { step, stamp, echo, window: fields[WINDOW] }
        }
        _ => Body::WindowProbe { una: fields[NUMBER], stamp, echo },
    };
    Train {
        at: SimTime::ps(fields[AT] as i64),
        gap: Span::ps(fields[GAP] as i64),
        packets: fields[PACKETS] as u32,
        frame: fields[FRAME] as u32,
        flow: fields[FLOW] as u32,
        ecn: match fields[ECN] {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable,
            3 => Ecn::Scalable,
            _ => Ecn::Marked,
        },
        body,
    }
}

fn sack_of(fields: &SackFields, has_duplicate: bool) -> Sack {
    let range = |start: u64, length: u64| start..start.wrapping_add(length);
    let duplicate = has_duplicate.then(|| range(fields[DUPLICATE], fields[DUPLICATE_LENGTH]));
    let block = |place: usize| range(fields[place], fields[LENGTHS + place]);
    Sack { duplicate, blocks: (0..fields[COUNT] as usize).map(block).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ops::Range;

    fn range() -> impl Strategy<Value = Range<u64>> {
        (0..1_u64 << 40, 0..100_u64).prop_map(|(start, length)| start..start + length)
    }

    fn sack() -> impl Strategy<Value = Sack> {
        (prop::option::of(range()), prop::collection::vec(range(), 0..=Blocks::MOST))
            .prop_map(|(duplicate, blocks)| Sack { duplicate, blocks: blocks.into_iter().collect() })
    }

    fn body() -> impl Strategy<Value = Body> {
        let numbers = (any::<u64>(), any::<u64>(), any::<u32>());
        let data = (numbers, any::<u32>(), any::<bool>(), any::<u32>(), any::<bool>())
            .prop_map(|((first, pushes, missing), stamp, last, echo, cwr)| Data {
                first,
                stamp,
                last,
                pushes,
                echo,
                cwr,
                missing,
                held: Span::ZERO,
            })
            .prop_map(Body::Data);
        let stamps = (any::<u32>(), any::<u32>());
        let bytes = || 0..=PayloadCounted::MASK;
        let option = (bytes(), bytes()).prop_map(|(capable, marked)| PayloadCounted { capable, marked });
        let counted =
            (0_u8..8, prop::option::of(option)).prop_map(|(ace, option)| MarksCounted { ace, option });
        let marks = (any::<[bool; 2]>(), prop::option::of(counted));
        let ack = (any::<u64>(), any::<u32>(), any::<u64>(), stamps, marks, prop::option::of(sack()))
            .prop_map(|(next, stride, window, (stamp, echo), ([ece, asks], marks), sack)| {
                let sack = sack.map(Box::new);
                Body::Ack(Ack { next, stride, window, stamp, echo, ece, asks, marks, sack })
            });
        let step = prop::sample::select(vec![Step::Syn, Step::Reply, Step::Confirm]);
        let handshake = (step, any::<u32>(), any::<u32>(), any::<u64>())
            .prop_map(|(step, stamp, echo, window)| Body::Handshake { step, stamp, echo, window });
        let probe = (any::<u64>(), any::<u32>(), any::<u32>())
            .prop_map(|(una, stamp, echo)| Body::WindowProbe { una, stamp, echo });
        prop_oneof![data, ack, any::<u64>().prop_map(|first| Body::Datagram { first }), handshake, probe]
    }

    /// Any train at all.
    fn train() -> impl Strategy<Value = Train> {
        let ecn = prop::sample::select(vec![Ecn::NotCapable, Ecn::Capable, Ecn::Marked, Ecn::Scalable]);
        (any::<i64>(), any::<i64>(), any::<u32>(), any::<u32>(), any::<u32>(), ecn, body()).prop_map(
            |(at, gap, packets, frame, flow, ecn, body)| Train {
                at: SimTime::ps(at),
                gap: Span::ps(gap),
                packets,
                frame,
                flow,
                ecn,
                body,
            },
        )
    }

    fn packed(trains: &[Train]) -> Vec<u8> {
        let (mut packer, mut bytes) = (Packer::default(), Vec::new());
        trains.iter().for_each(|train| train.put(&mut packer, &mut bytes));
        bytes
    }

    proptest! {
        #[test]
        fn trains_come_out_as_they_went_in(trains in prop::collection::vec(train(), 1..20)) {
            let bytes = packed(&trains);
            let (mut packer, mut left) = (Packer::default(), &bytes[..]);
            for train in &trains {
                prop_assert_eq!(&Train::take(&mut packer, &mut left), train);
            }
            prop_assert!(left.is_empty());
        }
    }

    #[test]
    fn every_second_packet_of_a_flow_takes_two_bytes() {
        let data = Data {
            first: 1 << 40,
            stamp: 1 << 30,
            last: false,
            pushes: 0,
            echo: 1 << 30,
            cwr: false,
            missing: 0,
            held: Span::ZERO,
        };
        let trains: Vec<Train> = (0..64)
            .map(|i| Train {
                // 1211.2 ns to the nearest picosecond, so that the distance differs by one now and then.
                at: SimTime::ps(1 << 50) + Span::ps(i * 12_112_004 / 10),
                gap: Span::ZERO,
                packets: 1,
                frame: 1514,
                flow: 3,
                ecn: Ecn::NotCapable,
                body: Body::Data(Data { first: data.first + 2 * i as u64, ..data }),
            })
            .collect();
        assert!(packed(&trains).len() <= 2 * 64 + 64);
    }
}
