//! Columns as text of a page: one after the other, compressed, in base64.

use crate::Direction;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec;
use serde::Serialize;
use wirespeed_trace::{Column, DuplicateCause};

/// Higher levels take several times as long for some percent.
const LEVEL: u8 = 6;

/// A column in the packed bytes, in their order.
#[derive(Debug, Serialize)]
pub(crate) struct Place {
    name: &'static str,
    count: usize,
    bytes: usize,
}

/// A direction as the scripts of the page read it.
#[derive(Debug, Serialize)]
pub(crate) struct Description<'a> {
    from: &'a str,
    to: &'a str,
    columns: Vec<Place>,
    /// Name of a packet that was captured twice, and its letters in the figure.
    duplicate_words: &'static str,
    duplicate_letters: &'static str,
    omitted: u64,
    /// Side of the capture point whose RTT is below a tenth of the other.
    small_rtt: Option<&'static str>,
}

/// The description of a direction, and its columns as text.
pub(crate) fn pack<'a>(direction: &Direction<'a>) -> (Description<'a>, String) {
    let points = direction.points;
    let rounds = Rounds::of(direction);
    let columns: [(&'static str, &Column); 27] = [
        ("data.t", &points.data.t_ns),
        ("data.packet", &points.data.packet),
        ("data.start", &points.data.start),
        ("data.length", &points.data.length),
        ("data.class", &points.data.class),
        ("data.marks", &points.data.marks),
        ("data.packets", &points.data.packets),
        ("data.in_flight", &points.data.in_flight),
        ("acks.t", &points.acks.t_ns),
        ("acks.packet", &points.acks.packet),
        ("acks.ack", &points.acks.ack),
        ("acks.edge", &points.acks.edge),
        ("acks.marks", &points.acks.marks),
        ("acks.in_flight", &points.acks.in_flight),
        ("sacks.t", &points.sacks.t_ns),
        ("sacks.left", &points.sacks.left),
        ("sacks.length", &points.sacks.length),
        ("far.t", &points.rtt_to_receiver.t_ns),
        ("far.rtt", &points.rtt_to_receiver.rtt_ns),
        ("near.t", &points.rtt_to_sender.t_ns),
        ("near.rtt", &points.rtt_to_sender.rtt_ns),
        ("bursts.t", &points.bursts.t_ns),
        ("bursts.packets", &points.bursts.packets),
        ("spurious.packet", &points.spurious_packets),
        ("rounds.t", &rounds.t_ns),
        ("rounds.in_flight", &rounds.in_flight),
        ("rounds.recovery", &rounds.recovery),
    ];
    let bytes: Vec<u8> = columns.iter().flat_map(|(_, column)| column.bytes()).copied().collect();
    let places = columns.iter().map(|&(name, column)| Place {
        name,
        count: column.len(),
        bytes: column.bytes().len(),
    });
    let (duplicate_words, duplicate_letters) = match direction.flow.artefacts.duplicate_cause {
        DuplicateCause::None | DuplicateCause::HardwareDuplicates => ("hardware duplicate", "HD"),
        DuplicateCause::CapturedTwice => ("packet captured twice", "2"),
        DuplicateCause::NetworkDuplicates => ("duplicate of the network", "D"),
    };
    let description = Description {
        from: direction.from,
        to: direction.to,
        columns: places.collect(),
        duplicate_words,
        duplicate_letters,
        omitted: points.omitted,
        small_rtt: small_rtt(direction),
    };
    (description, STANDARD.encode(compress_to_vec(&bytes, LEVEL)))
}

/// The side with an RTT that is small beside the other, as the scripts name it.
fn small_rtt(direction: &Direction<'_>) -> Option<&'static str> {
    let near = direction.flow.rtt_to_sender_ns?.median;
    let far = direction.flow.rtt_to_receiver_ns?.median;
    match () {
        () if near < far / 10 => Some("near"),
        () if far < near / 10 => Some("far"),
        () => None,
    }
}

/// The rounds of a flow: its windows by RTT.
#[derive(Default)]
struct Rounds {
    t_ns: Column,
    in_flight: Column,
    recovery: Column,
}

impl Rounds {
    fn of(direction: &Direction<'_>) -> Rounds {
        let mut rounds = Rounds::default();
        for sample in &direction.flow.windows {
            rounds.t_ns.push(sample.t_ns);
            rounds.in_flight.push(sample.in_flight_bytes as i64);
            rounds.recovery.push(i64::from(sample.in_recovery));
        }
        rounds
    }
}
