//! The ledger by interval: differences between accounts made during the run. The last account is the ledger itself, so that
//! the intervals add up to it.

use crate::path::{Evidence, ledger};
use crate::{Account, Side, account};
use std::collections::{BTreeMap, BTreeSet};
use wirespeed_record::{Direction, Entry, LedgerInterval, LedgerRow};
use wirespeed_scenario::layout::Layout;
use wirespeed_scenario::run::Run;

/// Length of an interval, the same as that of the limiting factor. Reading all counters of a host costs about as much as ten
/// samples, so it is not done with every sample.
const LENGTH_NS: i64 = 1_000_000_000;

/// Borders between intervals: every second, and where the measurement window begins. They lie on the sampling grid.
#[derive(Debug)]
pub struct Borders {
    length_ns: i64,
    next_ns: i64,
    /// The start of the measurement window, until it is reached.
    window_ns: Option<i64>,
    end_ns: i64,
}

impl Borders {
    /// Of a run. Neither its start nor its end is one of them.
    pub fn of(run: &Run) -> Borders {
        Borders::new(run.sample.nanoseconds(), run.omit.nanoseconds(), run.duration.nanoseconds())
    }

    /// Of a run to `end_ns` that is sampled every `sample_ns` and measured from `omit_ns` on.
    fn new(sample_ns: i64, omit_ns: i64, end_ns: i64) -> Borders {
        let sample_ns = sample_ns.max(1);
        let on_grid = |t_ns: i64| (t_ns + sample_ns - 1) / sample_ns * sample_ns;
        let length_ns = on_grid(LENGTH_NS);
        let window_ns = Some(on_grid(omit_ns)).filter(|t_ns| *t_ns > 0);
        Borders { length_ns, next_ns: length_ns, window_ns, end_ns }
    }

    /// The border that has been reached at `t_ns`, each once. Of several at a time the last: the others are missed.
    pub fn reached(&mut self, t_ns: i64) -> Option<i64> {
        if t_ns >= self.end_ns {
            return None;
        }
        let mut border = None;
        if t_ns >= self.next_ns {
            let last = t_ns / self.length_ns * self.length_ns;
            self.next_ns = last + self.length_ns;
            border = Some(last);
        }
        border.max(self.window_ns.take_if(|window_ns| t_ns >= *window_ns))
    }
}

/// How the accounts stood at an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The instant, since the start of the run.
    pub t_ns: i64,
    /// Of each direction: packets since before the run, and within how many they are known.
    pub accounts: BTreeMap<Direction, (Account, u64)>,
}

/// Accounts at the borders, made as the ledger is.
#[derive(Debug)]
pub struct Standings<'a> {
    run: &'a Run,
    layout: &'a Layout,
    all: Vec<Standing>,
}

impl<'a> Standings<'a> {
    /// None yet.
    pub fn new(run: &'a Run, layout: &'a Layout) -> Standings<'a> {
        Standings { run, layout, all: Vec::new() }
    }

    /// Adds the account at `t_ns`, from readings within the `took_ns` after it.
    pub fn push(&mut self, t_ns: i64, took_ns: i64, evidence: &Evidence) {
        let rows = ledger(self.run, self.layout, evidence);
        let last = self.all.last();
        let of = |direction: Direction| {
            let account = account(&rows, direction);
            let sum = |account: &Account, entry: Entry| -> i64 {
                account.iter().filter(|(side, _)| side.entry == entry).map(|(_, packets)| packets).sum()
            };
            let before = last.and_then(|last| last.accounts.get(&direction));
            let sent = sum(&account, Entry::Sent) - before.map_or(0, |(before, _)| sum(before, Entry::Sent));
            let lasted_ns = t_ns - last.map_or(0, |last| last.t_ns);
            // Counters are read one after the other: what passes meanwhile is in some of them and not in others.
            let unexplained = sum(&account, Entry::Unexplained).unsigned_abs();
            let uncertain = unexplained.max(passing(sent, lasted_ns, took_ns));
            (direction, (account, uncertain))
        };
        let accounts = Direction::ALL.iter().map(|direction| of(*direction)).collect();
        self.all.push(Standing { t_ns, accounts });
    }

    /// All of them so far, in order of time.
    pub fn take(&mut self) -> Vec<Standing> {
        std::mem::take(&mut self.all)
    }
}

/// Differences between the start of the run, `standings` in order of time, and its `ledger` at `end_ns`. Empty without
/// standings: one interval equals the ledger.
pub fn intervals(standings: &[Standing], ledger: &[LedgerRow], end_ns: i64) -> Vec<LedgerInterval> {
    let mut rows = Vec::new();
    if standings.is_empty() {
        return rows;
    }
    for direction in Direction::ALL {
        let last = account(ledger, *direction);
        if last.is_empty() {
            continue;
        }
        // Before the run nothing had been counted, and after it everything has come to rest: both are known.
        let mut before = (0, Account::new(), 0);
        let inner = standings.iter().filter_map(|standing| {
            let (account, uncertain) = standing.accounts.get(direction)?;
            Some((standing.t_ns, account.clone(), *uncertain))
        });
        for now in inner.chain([(end_ns, last, 0)]) {
            between(*direction, &before, &now, &mut rows);
            before = now;
        }
    }
    rows.sort_by_key(|row| row.from_ns);
    rows
}

/// An account at a time, and within how many packets it is known.
type At = (i64, Account, u64);

fn between(direction: Direction, before: &At, now: &At, rows: &mut Vec<LedgerInterval>) {
    // Packets in flight at one border need not be in flight at the other.
    let sides: BTreeSet<&Side> = before.1.keys().chain(now.1.keys()).collect();
    for side in sides {
        let packets = now.1.get(side).unwrap_or(&0) - before.1.get(side).unwrap_or(&0);
        let Side { entry, stage, ref place, cause } = *side;
        if packets == 0 && entry != Entry::Sent && entry != Entry::Delivered {
            continue;
        }
        rows.push(LedgerInterval {
            from_ns: before.0,
            to_ns: now.0,
            direction,
            entry,
            stage,
            place: place.clone(),
            cause,
            packets,
            uncertain_packets: before.2 + now.2,
        });
    }
}

/// Packets that pass in a time at the rate of so many in an interval; a part counts as a whole one.
pub fn passing(packets: i64, interval_ns: i64, time_ns: i64) -> u64 {
    let (packets, time, interval) =
        (packets.max(0) as u128, time_ns.max(0) as u128, interval_ns.max(1) as u128);
    (packets * time).div_ceil(interval) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::Stage;

    const SECOND: i64 = 1_000_000_000;

    fn row(entry: Entry, stage: Option<Stage>, packets: i64) -> LedgerRow {
        LedgerRow {
            direction: Direction::Data,
            entry,
            stage,
            place: String::new(),
            cause: None,
            packets,
            source: String::new(),
        }
    }

    fn standing(second: i64, uncertain: u64, rows: &[LedgerRow]) -> Standing {
        let accounts = [(Direction::Data, (account(rows, Direction::Data), uncertain))].into();
        Standing { t_ns: second * SECOND, accounts }
    }

    #[test]
    fn intervals_add_up_to_the_ledger_and_what_is_on_its_way_comes_and_goes() {
        let network = Some(Stage::Network);
        let at_1 = standing(
            1,
            5,
            &[
                row(Entry::Sent, None, 100),
                row(Entry::Delivered, None, 90),
                row(Entry::InFlight, network, 10),
            ],
        );
        let at_2 = standing(
            2,
            3,
            &[row(Entry::Sent, None, 150), row(Entry::Delivered, None, 130), row(Entry::Lost, network, 20)],
        );
        let ledger =
            [row(Entry::Sent, None, 160), row(Entry::Delivered, None, 140), row(Entry::Lost, network, 20)];
        let rows = intervals(&[at_1, at_2], &ledger, 3 * SECOND);
        let of = |second: i64, entry: Entry| -> i64 {
            let here = rows.iter().filter(|row| row.from_ns == second * SECOND && row.entry == entry);
            here.map(|row| row.packets).sum()
        };
        assert_eq!([0, 1, 2].map(|second| of(second, Entry::Sent)), [100, 50, 10]);
        assert_eq!([0, 1, 2].map(|second| of(second, Entry::InFlight)), [10, -10, 0]);
        assert_eq!([0, 1, 2].map(|second| of(second, Entry::Lost)), [0, 20, 0]);
        let uncertain =
            |second: i64| rows.iter().find(|row| row.from_ns == second * SECOND).unwrap().uncertain_packets;
        assert_eq!([0, 1, 2].map(uncertain), [5, 8, 3]);
        assert!(!rows.iter().any(|row| row.packets == 0), "{rows:?}");
        for entry in [Entry::Sent, Entry::Delivered, Entry::Lost, Entry::InFlight] {
            let sum: i64 = rows.iter().filter(|row| row.entry == entry).map(|row| row.packets).sum();
            let whole: i64 = ledger.iter().filter(|row| row.entry == entry).map(|row| row.packets).sum();
            assert_eq!(sum, whole, "{entry}");
        }
    }

    #[test]
    fn a_run_that_was_looked_at_only_at_its_ends_has_no_intervals() {
        assert!(intervals(&[], &[row(Entry::Sent, None, 3)], SECOND).is_empty());
    }

    #[test]
    fn a_part_of_a_packet_is_one() {
        assert_eq!(passing(1000, SECOND, SECOND / 1000), 1);
        assert_eq!(passing(1001, SECOND, SECOND / 1000), 2);
        assert_eq!(passing(-4, SECOND, 5), 0);
    }

    #[test]
    fn borders_are_on_the_grid_and_told_once() {
        let second = 1_000_000_000;
        let mut borders = Borders::new(second / 100, 0, 4 * second);
        assert_eq!(borders.reached(0), None);
        assert_eq!(borders.reached(second), Some(second));
        assert_eq!(borders.reached(second + second / 100), None);
        // Late by more than an interval: the border in between is missed.
        assert_eq!(borders.reached(3 * second + 5), Some(3 * second));
        assert_eq!(borders.reached(4 * second), None, "the end has an account of its own");
        // A grid that no second lies on.
        let mut coarse = Borders::new(300_000_000, 0, 4 * second);
        assert_eq!(coarse.reached(900_000_000), None);
        assert_eq!(coarse.reached(1_200_000_000), Some(1_200_000_000));
    }

    #[test]
    fn the_start_of_the_measurement_window_is_a_border_too() {
        let ms = 1_000_000;
        let reached = |omit_ms: i64, end_ms: i64| -> Vec<i64> {
            let mut borders = Borders::new(20 * ms, omit_ms * ms, end_ms * ms);
            (0..=end_ms / 20).filter_map(|i| borders.reached(i * 20 * ms)).map(|t| t / ms).collect()
        };
        assert_eq!(reached(1_490, 3_000), [1_000, 1_500, 2_000], "on the sampling grid");
        assert_eq!(reached(1_000, 3_000), [1_000, 2_000], "once where both are");
        assert_eq!(reached(300, 800), [300], "of a short run the only one");
        assert_eq!(reached(0, 800), [0; 0]);
        // A sampler that is late for both.
        let mut borders = Borders::new(20 * ms, 1_500 * ms, 4_000 * ms);
        assert_eq!(borders.reached(1_600 * ms), Some(1_500 * ms));
        assert_eq!(borders.reached(2_000 * ms), Some(2_000 * ms));
    }
}
