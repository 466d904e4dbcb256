//! What comes from the other end of a connection is heard whatever it is.

#[path = "support/sealed.rs"]
mod sealed;
#[path = "support/hostile.rs"]
mod support;

use proptest::prelude::*;
use wirespeed_agent::message::{Message, Writer};
use wirespeed_agent::request::{Plan, Request};
use wirespeed_host::{Change, Changes, CounterMeaning, Delta, Device, Place, Reading, Way};
use wirespeed_record::{Datagram, FlowSample, Stage};

fn framed(parts: &[(bool, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (right, body) in parts {
        let length = body.len() as u32 + u32::from(!*right);
        bytes.extend(length.to_le_bytes());
        bytes.extend(body);
    }
    bytes
}

/// Numbers that break what is careless.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        prop::sample::select(vec![0, 1, 2, 1_000_000_000, i64::MAX as u64, i64::MIN as u64, u64::MAX]),
        any::<u64>(),
        0..5000u64,
    ]
}

fn row() -> impl Strategy<Value = FlowSample> {
    (number(), 0..3u32, prop::array::uniform7(prop::option::of(number()))).prop_map(|(t_ns, flow, all)| {
        let [sent, arrived, again, bytes, read, acked, left] = all;
        FlowSample {
            data_packets_out: sent,
            data_packets_in: arrived,
            retrans_packets: again,
            sent_bytes: bytes,
            read_bytes: read,
            acked_bytes: acked,
            unacked_packets: left.map(|left| left as u32),
            lost_packets: left.map(|left| (left >> 32) as u32),
            sacked_packets: again.map(|again| again as u32),
            ..FlowSample::empty(t_ns as i64, flow)
        }
    })
}

/// Counters of losses, of the interface that the agents say is theirs.
fn changes() -> impl Strategy<Value = Box<Changes>> {
    let stage = prop::sample::select(vec![Stage::Qdisc, Stage::RxRing, Stage::SoftnetBacklog, Stage::RcvBuf]);
    prop::collection::vec((stage, any::<bool>(), number(), number()), 0..6).prop_map(|all| {
        let change = |(stage, out, grown, value): (Stage, bool, u64, u64)| {
            let place = Place::Device(Device { index: 2, name: "eth0".into() });
            let sense = CounterMeaning::loss(stage, if out { Way::Tx } else { Way::Rx });
            Change { reading: Reading::new("link", place, "drops", value, sense), delta: Delta::By(grown) }
        };
        Box::new(Changes { interval_ns: 0, changes: all.into_iter().map(change).collect() })
    })
}

/// What an agent says in a run, with numbers of any size.
fn message() -> impl Strategy<Value = Message> {
    let border = prop_oneof![Just(1_000_000_000i64), Just(2_000_000_000), any::<i64>()];
    let segments = any::<[u32; 2]>();
    prop_oneof![
        row().prop_map(|row| Message::Flow(Box::new(row))),
        (row(), segments).prop_map(|(row, segments)| Message::Total { row: Box::new(row), segments }),
        changes().prop_map(|changes| Message::Account { changes, lacks: vec!["\u{1b}[2J".into()] }),
        (border, number(), changes(), prop::collection::vec((row(), segments), 0..3)).prop_map(
            |(at_ns, other, changes, totals)| {
                let (read_ns, took_ns) = (at_ns.wrapping_add(other as i64), other as i64);
                Message::Interim { at_ns, read_ns, took_ns, changes, totals }
            }
        ),
        prop::collection::vec((number(), number(), number(), any::<bool>()), 0..6).prop_map(|rows| {
            let row = |(sequence, sent, arrived, duplicate): (u64, u64, u64, bool)| {
                let (sent_ns, arrived_ns) = (sent as i64, Some(arrived as i64));
                Datagram { flow: 1, sequence, sent_ns, arrived_ns, reordered_by: 0, duplicate }
            };
            Message::Datagrams(rows.into_iter().map(row).collect())
        }),
        Just(Message::Settings {
            host: "receiver".into(),
            settings: [("interface.device".into(), "eth0".into())].into()
        }),
        Just(Message::Settings {
            host: "sender".into(),
            settings: [("interface.device".into(), "eth0".into())].into()
        }),
    ]
}

proptest! {
    #[test]
    fn agents_that_count_wrongly_have_an_account(messages in prop::collection::vec(message(), 0..30)) {
        support::conclude(messages);
    }

    #[test]
    fn messages_of_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        support::work(&bytes);
    }

    #[test]
    fn strangers_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), right in any::<bool>()) {
        // As long as a greeting, or not.
        let length = if right { 48u16.to_be_bytes().to_vec() } else { Vec::new() };
        sealed::knock(&[length, bytes].concat());
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        support::hear(&bytes);
    }

    #[test]
    fn frames_of_any_bytes(parts in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..200)), 0..20)) {
        support::hear(&framed(&parts));
    }

    #[test]
    fn plans_of_any_text(run in ".{0,200}", host in any::<u32>(), flips in proptest::collection::vec((0usize..400, any::<u8>()), 0..4)) {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        let plan = Plan { run, host, addresses: vec![std::net::Ipv4Addr::LOCALHOST.into()] };
        writer.write(&Request::Plan(plan)).unwrap();
        writer.write(&Message::Time(5)).unwrap();
        writer.flush().unwrap();
        for (at, by) in flips {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= by;
            }
        }
        support::hear(&bytes);
    }
}

/// A piece of a handful of bytes that says to be of four billion packets.
#[test]
fn a_piece_of_too_many_packets_is_not_counted_out() {
    use std::net::SocketAddr;
    let way = [5001, 40000].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let reason: Option<&str> = None;
    let piece = (0i64, 1u32, u32::MAX, u32::MAX);
    // The place of `Message::Pieces` among the messages, and what is in it.
    let name = postcard::to_allocvec(&("a", (way[0], way[1]), reason, vec![piece])).unwrap();
    let found = (0..40u8).find_map(|place| {
        let bytes = [&[place][..], &name].concat();
        postcard::from_bytes::<Message>(&bytes).ok().filter(|message| matches!(message, Message::Pieces(_)))
    });
    support::conclude(vec![found.expect("a message")]);
}
