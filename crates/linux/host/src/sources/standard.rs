//! Counters that IEEE and IETF define, and those of PAUSE and FEC (generic netlink `ethtool`).

use super::row_of;
use crate::collector::Collector;
use crate::netlink::{
    attribute, attributes, family, find, generic_request, messages, nested, text, u32_at, unsigned,
};
use crate::reading::{CounterMeaning, Device, Place, Row, Unit, Way, row};
use crate::root::Root;
use crate::source::Source;
use std::io;
use wirespeed_record::Stage;

/// The source `standard`.
pub struct Standard;

const NAME: &str = "standard";
const REMEDY: &str = "Linux 5.13 or later with CONFIG_ETHTOOL_NETLINK";

/// A loss on the wire; rtnetlink has the same.
const fn damaged(name: &'static str, duplicate_of: &'static [&'static str]) -> Row {
    row(name, CounterMeaning::loss(Stage::Network, Way::Rx).hardware()).duplicate_of(duplicate_of)
}

const PAUSE: CounterMeaning = CounterMeaning::hint().unit(Unit::Packets).hardware();
const LINE: CounterMeaning = CounterMeaning::hint().at(Stage::Network).rx().hardware();

const ROWS: &[Row] = &[
    row("tx_pause_frames", PAUSE.at(Stage::RxRing).tx()).about("this host asked its neighbour to wait"),
    row("rx_pause_frames", PAUSE.at(Stage::TxRing).rx()).about("the neighbour asked this host to wait"),
    row("fec-corrected_blocks", LINE).about("damaged blocks that were mended"),
    row(
        "fec-uncorrectable_blocks",
        CounterMeaning::loss(Stage::Network, Way::Rx).unit(Unit::Events).hardware(),
    )
    .duplicate_of(&["link/rx_crc_errors"])
    .about("damaged blocks that were not: frames are lost by it"),
    row("fec-corrected_bits", LINE),
    row("eth-phy-SymbolErrorDuringCarrier", LINE),
    row("eth-mac-FramesTransmittedOK", CounterMeaning::packets(Way::Tx).hardware()),
    row("eth-mac-SingleCollisionFrames", CounterMeaning::hint().tx().hardware()),
    row("eth-mac-MultipleCollisionFrames", CounterMeaning::hint().tx().hardware()),
    row("eth-mac-FramesReceivedOK", CounterMeaning::packets(Way::Rx).hardware()),
    damaged("eth-mac-FrameCheckSequenceErrors", &["link/rx_crc_errors"]),
    damaged("eth-mac-AlignmentErrors", &["link/rx_frame_errors"]),
    row("eth-mac-OctetsTransmittedOK", CounterMeaning::bytes(Way::Tx).hardware()),
    row("eth-mac-FramesWithDeferredXmissions", CounterMeaning::hint().tx().hardware()),
    row("eth-mac-LateCollisions", CounterMeaning::loss(Stage::Network, Way::Tx).hardware())
        .duplicate_of(&["link/tx_window_errors"]),
    row("eth-mac-FramesAbortedDueToXSColls", CounterMeaning::loss(Stage::TxRing, Way::Tx).hardware())
        .duplicate_of(&["link/tx_aborted_errors"]),
    row("eth-mac-FramesLostDueToIntMACXmitError", CounterMeaning::loss(Stage::TxRing, Way::Tx).hardware())
        .about("lost inside the device"),
    row("eth-mac-CarrierSenseErrors", CounterMeaning::loss(Stage::Network, Way::Tx).hardware())
        .duplicate_of(&["link/tx_carrier_errors"]),
    row("eth-mac-OctetsReceivedOK", CounterMeaning::bytes(Way::Rx).hardware()),
    row("eth-mac-FramesLostDueToIntMACRcvError", CounterMeaning::loss(Stage::RxRing, Way::Rx).hardware())
        .duplicate_of(&["link/rx_missed_errors"])
        .about("lost inside the device"),
    row("eth-mac-MulticastFramesXmittedOK", CounterMeaning::packets(Way::Tx).hardware()),
    row("eth-mac-BroadcastFramesXmittedOK", CounterMeaning::packets(Way::Tx).hardware()),
    row("eth-mac-FramesWithExcessiveDeferral", CounterMeaning::hint().tx().hardware()),
    row("eth-mac-MulticastFramesReceivedOK", CounterMeaning::packets(Way::Rx).hardware()),
    row("eth-mac-BroadcastFramesReceivedOK", CounterMeaning::packets(Way::Rx).hardware()),
    damaged("eth-mac-InRangeLengthErrors", &["link/rx_length_errors"]),
    damaged("eth-mac-OutOfRangeLengthField", &["link/rx_length_errors"]),
    damaged("eth-mac-FrameTooLongErrors", &["link/rx_length_errors"]),
    row("eth-ctrl-MACControlFramesTransmitted", PAUSE.at(Stage::RxRing).tx()).about("PAUSE and the like"),
    row("eth-ctrl-MACControlFramesReceived", PAUSE.at(Stage::TxRing).rx()).about("PAUSE and the like"),
    row("eth-ctrl-UnsupportedOpcodesReceived", LINE),
    damaged("rmon-etherStatsUndersizePkts", &["link/rx_length_errors"]),
    damaged("rmon-etherStatsOversizePkts", &["link/rx_length_errors"]),
    damaged("rmon-etherStatsFragments", &["link/rx_crc_errors"]),
    damaged("rmon-etherStatsJabbers", &["link/rx_crc_errors"]),
];

/// Names by group and number (linux/ethtool_netlink.h, net/ethtool/stats.c).
const GROUPS: &[(u32, &str, &[&str])] = &[
    (0, "eth-phy-", &["SymbolErrorDuringCarrier"]),
    (
        1,
        "eth-mac-",
        &[
            "FramesTransmittedOK",
            "SingleCollisionFrames",
            "MultipleCollisionFrames",
            "FramesReceivedOK",
            "FrameCheckSequenceErrors",
            "AlignmentErrors",
            "OctetsTransmittedOK",
            "FramesWithDeferredXmissions",
            "LateCollisions",
            "FramesAbortedDueToXSColls",
            "FramesLostDueToIntMACXmitError",
            "CarrierSenseErrors",
            "OctetsReceivedOK",
            "FramesLostDueToIntMACRcvError",
            "MulticastFramesXmittedOK",
            "BroadcastFramesXmittedOK",
            "FramesWithExcessiveDeferral",
            "MulticastFramesReceivedOK",
            "BroadcastFramesReceivedOK",
            "InRangeLengthErrors",
            "OutOfRangeLengthField",
            "FrameTooLongErrors",
        ],
    ),
    (
        2,
        "eth-ctrl-",
        &["MACControlFramesTransmitted", "MACControlFramesReceived", "UnsupportedOpcodesReceived"],
    ),
    (
        3,
        "rmon-",
        &["etherStatsUndersizePkts", "etherStatsOversizePkts", "etherStatsFragments", "etherStatsJabbers"],
    ),
];

impl Source for Standard {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "counters that IEEE 802.3 and RFC 2819 define, PAUSE and FEC, by generic netlink (ethtool)"
    }

    fn needs(&self) -> &'static str {
        "Linux 5.13 with CONFIG_ETHTOOL_NETLINK and a driver that fills them; a driver that does not is left out"
    }

    fn documented(&self) -> &'static str {
        "Documentation/networking/ethtool-netlink.rst, net/ethtool/stats.c"
    }

    fn rows(&self) -> &'static [Row] {
        ROWS
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        let family = match family(root, "ethtool") {
            Ok(family) => family,
            Err(error) => return into.unavailable(NAME, "generic netlink family ethtool", &error, REMEDY),
        };
        for question in QUESTIONS {
            match question.ask(root, family) {
                Ok(answer) => {
                    for (device, name, value) in parse(&answer, question.command) {
                        into.push_row(NAME, Place::Device(device), name, value, row_of(ROWS, name));
                    }
                }
                Err(error) => into.unavailable(NAME, question.name, &error, REMEDY),
            }
        }
    }
}

/// A command whose answer carries statistics.
struct Question {
    name: &'static str,
    command: u8,
}

const PAUSE_GET: u8 = 21;
const FEC_GET: u8 = 29;
const STATS_GET: u8 = 32;

const QUESTIONS: &[Question] = &[
    Question { name: "ethtool-pause", command: PAUSE_GET },
    Question { name: "ethtool-fec", command: FEC_GET },
    Question { name: "ethtool-stats", command: STATS_GET },
];

impl Question {
    /// ETHTOOL_A_PAUSE_HEADER, ETHTOOL_A_FEC_HEADER or ETHTOOL_A_STATS_HEADER.
    fn header(&self) -> u16 {
        header(self.command)
    }

    fn ask(&self, root: &mut Root, family: u16) -> io::Result<Vec<u8>> {
        const FLAGS: u16 = 3; // ETHTOOL_A_HEADER_FLAGS
        const WITH_STATISTICS: u32 = 4; // ETHTOOL_FLAG_STATS
        let mut attributes = if self.command == STATS_GET {
            vec![nested(self.header(), &[])]
        } else {
            vec![nested(self.header(), &[attribute(FLAGS, &WITH_STATISTICS.to_ne_bytes())])]
        };
        if self.command == STATS_GET {
            // ETHTOOL_A_STATS_GROUPS, a bit set without a mask: the four groups from eth-phy to rmon.
            let set =
                [attribute(1, &[]), attribute(2, &4u32.to_ne_bytes()), attribute(4, &0xfu32.to_ne_bytes())];
            attributes.push(nested(3, &set));
        }
        root.ask(&generic_request(self.name, family, self.command, true, &attributes))
    }
}

/// Interface, name and value of every counter in an answer to a command of the family.
fn parse(answer: &[u8], command: u8) -> Vec<(Device, &'static str, u64)> {
    let mut found = Vec::new();
    for message in messages(answer) {
        let Some(inside) = message.payload.get(4..) else { continue };
        let Some(device) = find(inside, header(command)).and_then(device) else { continue };
        let mut add = |name, value| found.push((device.clone(), name, value));
        match command {
            PAUSE_GET => {
                for (kind, value) in find(inside, 5).into_iter().flat_map(attributes) {
                    match (kind, unsigned(value)) {
                        (2, Some(value)) => add("tx_pause_frames", value),
                        (3, Some(value)) => add("rx_pause_frames", value),
                        _ => {}
                    }
                }
            }
            FEC_GET => {
                let names = ["fec-corrected_blocks", "fec-uncorrectable_blocks", "fec-corrected_bits"];
                for (kind, value) in find(inside, 5).into_iter().flat_map(attributes) {
                    // An array: the total, then each lane.
                    let total = value.get(..8).and_then(unsigned);
                    let name = usize::from(kind).checked_sub(2).and_then(|at| names.get(at));
                    if let (Some(name), Some(value)) = (name, total) {
                        add(name, value);
                    }
                }
            }
            _ => groups(inside).for_each(|(name, value)| add(name, value)),
        }
    }
    found
}

fn header(command: u8) -> u16 {
    if command == STATS_GET { 2 } else { 1 }
}

fn device(header: &[u8]) -> Option<Device> {
    let index = u32_at(find(header, 1)?, 0)?;
    Some(Device { index, name: text(find(header, 2)?).into() })
}

/// Names and values in the groups of an answer to STATS_GET.
fn groups(inside: &[u8]) -> impl Iterator<Item = (&'static str, u64)> {
    const GROUP: u16 = 4; // ETHTOOL_A_STATS_GRP
    let groups = attributes(inside).filter(|(kind, _)| *kind == GROUP);
    groups.flat_map(|(_, group)| {
        const ID: u16 = 2; // ETHTOOL_A_STATS_GRP_ID
        const STATISTIC: u16 = 4; // ETHTOOL_A_STATS_GRP_STAT
        let id = find(group, ID).and_then(|id| u32_at(id, 0));
        let names = GROUPS.iter().find(|(number, ..)| Some(*number) == id);
        attributes(group).filter(|(kind, _)| *kind == STATISTIC).filter_map(move |(_, statistic)| {
            let (_, prefix, names) = names?;
            let (kind, value) = attributes(statistic).next()?;
            let name = names.get(usize::from(kind))?;
            let row = ROWS.iter().find(|row| row.pattern.strip_prefix(prefix) == Some(name))?;
            Some((row.pattern, unsigned(value)?))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(inside: &[Vec<u8>]) -> Vec<u8> {
        let payload = [vec![0; 4], inside.concat()].concat();
        let mut bytes = ((16 + payload.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend([0; 12]);
        bytes.extend(payload);
        bytes
    }

    fn from_eth0(command: u8) -> Vec<u8> {
        nested(header(command), &[attribute(1, &7u32.to_ne_bytes()), attribute(2, b"eth0\0")])
    }

    fn named(answer: &[u8], command: u8) -> Vec<(&'static str, u64)> {
        parse(answer, command).into_iter().map(|(_, name, value)| (name, value)).collect()
    }

    #[test]
    fn pause_and_fec_are_read_from_their_nests() {
        let number = |kind, value: u64| attribute(kind, &value.to_ne_bytes());
        let pause = message(&[from_eth0(PAUSE_GET), nested(5, &[number(2, 3), number(3, 4)])]);
        assert_eq!(named(&pause, PAUSE_GET), [("tx_pause_frames", 3), ("rx_pause_frames", 4)]);
        let lanes: Vec<u8> = [9u64, 4, 5].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let fec = message(&[from_eth0(FEC_GET), nested(5, &[attribute(2, &lanes), number(3, 1)])]);
        assert_eq!(named(&fec, FEC_GET), [("fec-corrected_blocks", 9), ("fec-uncorrectable_blocks", 1)]);
    }

    #[test]
    fn a_group_names_its_counters_by_number() {
        let statistic = nested(4, &[attribute(4, &11u64.to_ne_bytes())]);
        let group = nested(4, &[attribute(2, &1u32.to_ne_bytes()), statistic]);
        let answer = message(&[from_eth0(STATS_GET), group]);
        assert_eq!(named(&answer, STATS_GET), [("eth-mac-FrameCheckSequenceErrors", 11)]);
    }

    #[test]
    fn every_name_of_a_group_has_a_row() {
        for (_, prefix, names) in GROUPS {
            for name in *names {
                assert!(row_of(ROWS, &format!("{prefix}{name}")).is_some(), "{prefix}{name}");
            }
        }
    }
}
