//! The stage of the losses in an interval, and events that stop all packets.

use crate::thresholds::AFTER_OUTAGE;
use std::collections::BTreeMap;
use wirespeed_record::{Cause, Direction, Entry, EventKind, FlowInfo, Recording, Stage};

/// The stage with most lost data.
pub(super) struct WorstStages {
    /// Each interval in which some was, in order of time.
    intervals: Option<Vec<WithLosses>>,
    /// In the whole run.
    run: Option<Site>,
    /// The data of the run was accounted for, and none of it was lost.
    none: bool,
}

/// An interval of the ledger with lost data.
struct WithLosses {
    from_ns: i64,
    to_ns: i64,
    /// The place with most losses.
    site: Site,
    /// Whether some of it may have been lost in the interval before: the hosts are not read at the same instant.
    may_be_earlier: bool,
}

/// Stage and, if it was recorded, cause of losses.
pub(super) type Site = (Stage, Option<Cause>);

impl WorstStages {
    pub(super) fn of(recording: &Recording) -> WorstStages {
        let is_loss = |direction, entry: Entry, packets| {
            direction == Direction::Data && entry == Entry::Lost && packets > 0
        };
        let mut sums: BTreeMap<(i64, i64, bool), BTreeMap<Site, i64>> = BTreeMap::new();
        for row in &recording.ledger_intervals {
            if let Some(stage) = row.stage.filter(|_| is_loss(row.direction, row.entry, row.packets)) {
                let interval = (row.from_ns, row.to_ns, row.uncertain_packets > 0);
                *sums.entry(interval).or_default().entry((stage, row.cause)).or_default() += row.packets;
            }
        }
        let worst = |sums: BTreeMap<Site, i64>| sums.into_iter().max_by_key(|(_, packets)| *packets);
        let with_losses = |((from_ns, to_ns, may_be_earlier), sums)| {
            Some(WithLosses { from_ns, to_ns, site: worst(sums)?.0, may_be_earlier })
        };
        let intervals = sums.into_iter().filter_map(with_losses).collect();
        let lost = recording.ledger.iter().filter(|row| is_loss(row.direction, row.entry, row.packets));
        WorstStages {
            intervals: (!recording.ledger_intervals.is_empty()).then_some(intervals),
            none: lost.clone().next().is_none()
                && recording
                    .ledger
                    .iter()
                    .any(|row| row.direction == Direction::Data && row.entry == Entry::Sent),
            run: lost.max_by_key(|row| row.packets).and_then(|row| Some((row.stage?, row.cause))),
        }
    }

    /// Nothing was lost, so that every retransmission was spurious.
    pub(super) fn is_none(&self) -> bool {
        self.none
    }

    /// The site of losses that a sender noticed from `from_ns` to `to_ns`. They were then or at the last time before, since a
    /// sender notices losses late. If there were none, they were at the beginning of the next interval, as far as its border is
    /// not exact. Without a ledger by interval it is the site of the run.
    pub(super) fn noticed(&self, from_ns: i64, to_ns: i64) -> Option<Site> {
        let Some(intervals) = &self.intervals else { return self.run };
        let shared = |with: &WithLosses| with.to_ns.min(to_ns) - with.from_ns.max(from_ns);
        let then = intervals.iter().filter(|with| shared(with) > 0).max_by_key(|with| shared(with));
        let before = || intervals.iter().rev().find(|with| with.from_ns < from_ns);
        let next = || intervals.iter().find(|with| with.from_ns >= to_ns);
        let is_near = |with: &&WithLosses| with.may_be_earlier && with.from_ns - to_ns < to_ns - from_ns;
        then.or_else(before).or_else(|| next().filter(is_near)).map(|with| with.site)
    }
}

/// Events of a recording that stop all packets between two hosts.
pub(super) struct Stalls<'a> {
    /// When the interface of a host was down: from, to, host, interface.
    down: Vec<(i64, i64, &'a str, &'a str)>,
    /// From which host packets of some sizes do not pass, in words.
    too_large: BTreeMap<&'a str, &'a str>,
}

impl<'a> Stalls<'a> {
    pub(super) fn of(recording: &'a Recording) -> Stalls<'a> {
        let mut stalls = Stalls { down: Vec::new(), too_large: BTreeMap::new() };
        let mut events: Vec<_> = recording.events.iter().collect();
        events.sort_by_key(|event| event.t_ns);
        for event in events {
            let Some(host) = event.host.as_deref() else { continue };
            match event.kind {
                EventKind::LinkDown => stalls.down.push((event.t_ns, i64::MAX, host, &event.detail)),
                EventKind::LinkUp => {
                    let open = stalls.down.iter_mut().rev().find(|down| down.2 == host && down.1 == i64::MAX);
                    open.into_iter().for_each(|down| down.1 = event.t_ns);
                }
                EventKind::MtuBlackHole => drop(stalls.too_large.insert(host, &event.detail)),
                _ => {}
            }
        }
        stalls
    }

    /// The event that stopped the packets of a flow then. A sender still waits after its link is up again.
    pub(super) fn why(&self, info: &FlowInfo, from_ns: i64, to_ns: i64) -> Option<String> {
        let wait_ns = AFTER_OUTAGE.value as i64;
        let of_flow = |host: &str| host == info.from || host == info.to;
        let down = self.down.iter().filter(|(from, to, host, _)| {
            of_flow(host) && *from < to_ns && to.saturating_add(wait_ns) > from_ns
        });
        // If both ends of a cable went down, the first of the two.
        let down = down.min_by_key(|(from, ..)| *from);
        down.map(|(_, _, host, device)| format!("the link of {host} ({device}) was down"))
            .or_else(|| Some((*self.too_large.get(info.from.as_str())?).to_owned()))
    }
}
