//! Kinds of qdiscs that can be made again exactly, and the form in which the kernel takes back the options that it printed.

use super::Node;
use crate::netlink::{attribute, attributes, u32_at};

/// Kinds that a leaf can be given.
pub const LEAF_KINDS: [&str; 7] = ["bfifo", "codel", "fq", "fq_codel", "noqueue", "pfifo", "pfifo_fast"];

/// Kinds that can be restored. The others are refused: they have classes, or print less than they were set to.
const RESTORABLE: [&str; 10] =
    ["bfifo", "codel", "fq", "fq_codel", "mq", "netem", "noop", "noqueue", "pfifo", "pfifo_fast"];

/// Whether a leaf can be given this kind.
pub fn is_leaf_kind(kind: &str) -> bool {
    LEAF_KINDS.contains(&kind)
}

/// The reason for which a qdisc could not be made again exactly.
pub fn obstacle(node: &Node) -> Option<&'static str> {
    if !RESTORABLE.contains(&node.kind.as_str()) {
        return Some("its kind cannot be restored exactly");
    }
    let options = decode(&node.options);
    // `struct tc_netem_qopt`: the jitter is the sixth number. Its distribution cannot be read from the kernel.
    const JITTER: usize = 20;
    if node.kind == "netem" && u32_at(&options, JITTER).is_some_and(|jitter| jitter != 0) {
        return Some("the distribution of its jitter cannot be read");
    }
    None
}

/// Attributes of times that CoDel stores in units of 1.024 us (include/net/codel.h). The kernel rounds down when it reads
/// a time, and when it prints one. The next microsecond therefore gives the same unit again.
const CODEL_TIMES: [(&str, &[u16]); 2] = [("codel", &[1, 3, 5]), ("fq_codel", &[1, 3, 7])];

/// TCA_FQ_CE_THRESHOLD, and the printed form of its default, "never": 2^64 - 1 ns in us, cut to 32 bits (sch_fq.c).
const FQ_CE_THRESHOLD: u16 = 12;
const FQ_CE_NEVER: u32 = (u64::MAX / 1000) as u32;

/// Options that make a qdisc print those of `node`.
pub fn to_set(node: &Node) -> Vec<u8> {
    let options = decode(&node.options);
    let times = CODEL_TIMES.iter().find(|(kind, _)| *kind == node.kind).map_or(&[][..], |(_, times)| times);
    if times.is_empty() && node.kind != "fq" {
        return options;
    }
    let mut changed = Vec::new();
    for (kind, value) in attributes(&options) {
        let number = (value.len() == 4).then(|| u32_at(value, 0)).flatten();
        match number {
            Some(FQ_CE_NEVER) if node.kind == "fq" && kind == FQ_CE_THRESHOLD => {}
            Some(us) if times.contains(&kind) => {
                changed.extend(attribute(kind, &us.saturating_add(1).to_ne_bytes()));
            }
            _ => changed.extend(attribute(kind, value)),
        }
    }
    changed
}

/// Bytes as hexadecimal digits.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of hexadecimal digits; ends before the first that is none.
pub fn decode(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    text.as_bytes().chunks_exact(2).map_while(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conversions of include/net/codel.h and sch_fq_codel.c.
    fn printed(us: u32) -> u32 {
        let stored = (u64::from(us) * 1000) >> 10;
        ((stored << 10) / 1000) as u32
    }

    #[test]
    fn the_next_microsecond_is_printed_as_the_same_time() {
        for set in (1..200_000).chain([1_000_000, 4_000_000]) {
            let first = printed(set);
            assert_eq!(printed(first + 1), first, "{set} us");
        }
        // Without that, each restoration would lose a microsecond.
        assert_eq!((printed(5000), printed(4999)), (4999, 4998));
    }

    #[test]
    fn times_of_codel_are_set_one_higher_and_the_rest_as_printed() {
        let printed = [attribute(1, &4999_u32.to_ne_bytes()), attribute(2, &1024_u32.to_ne_bytes())].concat();
        let node = Node { kind: "fq_codel".into(), handle: 1, parent: 2, options: encode(&printed) };
        let set = [attribute(1, &5000_u32.to_ne_bytes()), attribute(2, &1024_u32.to_ne_bytes())].concat();
        assert_eq!(to_set(&node), set);
        assert_eq!(to_set(&Node { kind: "pfifo".into(), ..node }), printed);
    }

    #[test]
    fn a_threshold_of_never_is_left_to_the_default() {
        let never = attribute(FQ_CE_THRESHOLD, &FQ_CE_NEVER.to_ne_bytes());
        let node = Node { kind: "fq".into(), handle: 1, parent: 2, options: encode(&never) };
        assert!(to_set(&node).is_empty());
    }

    #[test]
    fn kinds_with_more_than_they_print_are_refused() {
        let node = |kind: &str, options: &[u8]| Node {
            kind: kind.into(),
            handle: 1,
            parent: 2,
            options: encode(options),
        };
        assert!(obstacle(&node("htb", &[])).is_some());
        assert!(obstacle(&node("netem", &[0; 24])).is_none());
        let mut with_jitter = [0; 24];
        with_jitter[20] = 1;
        assert!(obstacle(&node("netem", &with_jitter)).is_some());
    }

    #[test]
    fn digits_are_decoded_as_encoded() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), bytes);
    }
}
