//! The groups of a run's flows, by their labels.

use super::{Flow, FlowKind, Run};
use std::collections::{BTreeMap, BTreeSet};

/// The common class of flows of one group. Ordered: of several in one group, the first keeps the group's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Endless,
    Finite,
    Udp,
    Leg,
}

impl Class {
    fn of(flow: &Flow) -> Class {
        if flow.is_split() {
            return Class::Leg;
        }
        match &flow.kind {
            FlowKind::Udp { .. } => Class::Udp,
            FlowKind::Tcp { .. } if flow.bytes.is_some() || flow.application.is_some() => Class::Finite,
            FlowKind::Tcp { .. } => Class::Endless,
        }
    }

    /// The end of the name of its group, if another class has the plain name.
    fn suffix(self) -> &'static str {
        match self {
            Class::Endless => "tcp",
            Class::Finite => "finite",
            Class::Udp => "udp",
            Class::Leg => "leg",
        }
    }
}

impl Run {
    /// The group of each flow, in their order. Flows whose labels differ only by a final number, counted from 1, are a group:
    /// those of one `[[flow]]` with `count`, or without labels those of one congestion control. Every other flow is a group
    /// by itself. UDP, TCP with a size and TCP without one are never in one group. The legs toward a splitter of the flows of a
    /// group are one, too.
    pub fn flow_groups(&self) -> Vec<String> {
        let mut numbers: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        let whole = self.flows.iter().filter(|flow| !flow.is_split());
        for (stem, number) in whole.filter_map(|flow| numbered(&flow.label)) {
            numbers.entry(stem).or_default().insert(number);
        }
        let is_series = |stem: &str| {
            numbers
                .get(stem)
                .is_some_and(|found| found.len() > 1 && found.iter().copied().eq(1..=found.len() as u64))
        };
        let name_of = |label: &str| match numbered(label) {
            Some((stem, _)) if is_series(stem) => stem.to_owned(),
            _ => label.to_owned(),
        };
        let name = |flow: &Flow| match flow.leg.as_ref().filter(|leg| !leg.is_last()) {
            // The label continues that of the flow with the splitter.
            Some(leg) => {
                format!("{}{}", name_of(&leg.of), flow.label.strip_prefix(&leg.of).unwrap_or_default())
            }
            None => name_of(&flow.label),
        };
        let names: Vec<(String, Class)> =
            self.flows.iter().map(|flow| (name(flow), Class::of(flow))).collect();
        let mut first: BTreeMap<&str, Class> = BTreeMap::new();
        for (name, class) in &names {
            first.entry(name).and_modify(|first| *first = (*first).min(*class)).or_insert(*class);
        }
        let named = |(name, class): &(String, Class)| match first[name.as_str()] == *class {
            true => name.clone(),
            false => format!("{name}-{}", class.suffix()),
        };
        names.iter().map(named).collect()
    }
}

/// `cubic` and 2 of `cubic-2`.
fn numbered(label: &str) -> Option<(&str, u64)> {
    let (stem, digits) = label.rsplit_once('-')?;
    let number: u64 = digits.parse().ok()?;
    (!stem.is_empty() && number.to_string() == digits).then_some((stem, number))
}

#[cfg(test)]
mod tests {
    use crate::study::parse;

    fn groups(flows: &str) -> Vec<String> {
        let path = "[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n";
        let text =
            format!("schema = 1\nname = \"t\"\nabout = \"\"\n{path}{flows}\n[run]\nduration = \"5 s\"\n");
        parse(&text, "t.toml", &[], None).unwrap().runs[0].flow_groups()
    }

    #[test]
    fn flows_of_one_entry_are_a_group() {
        let found =
            groups("[[flow]]\nlabel = \"a\"\ncount = 2\n[[flow]]\nlabel = \"b\"\ncongestion = \"bbr\"");
        assert_eq!(found, ["a", "a", "b"]);
    }

    #[test]
    fn flows_without_labels_are_grouped_by_congestion_control() {
        let found = groups("[[flow]]\ncount = 2\n[[flow]]\ncongestion = \"bbr\"\n[[flow]]");
        assert_eq!(found, ["cubic", "cubic", "bbr", "cubic"]);
    }

    #[test]
    fn labels_that_end_in_other_numbers_are_flows_by_themselves() {
        let found =
            groups("[[flow]]\nlabel = \"rtt-20\"\n[[flow]]\nlabel = \"rtt-80\"\n[[flow]]\nlabel = \"x-1\"");
        assert_eq!(found, ["rtt-20", "rtt-80", "x-1"]);
    }

    #[test]
    fn flows_with_and_without_a_size_are_never_one_group() {
        let found = groups("[[flow]]\n[[flow]]\nbytes = \"1 MB\"\ncount = 2");
        assert_eq!(found, ["cubic", "cubic-finite", "cubic-finite"]);
    }
}
