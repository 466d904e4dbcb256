//! The ledger of the measurement window: what the whole run counted, less what had been counted when the window began.

use crate::cause::Cause;
use crate::stage::{Direction, Entry, Stage};
use crate::{LedgerInterval, LedgerRow, Recording};
use std::collections::BTreeMap;

/// A line of an account.
type Key<'a> = (Direction, Entry, Option<Stage>, &'a str, Option<Cause>);

fn of_row(row: &LedgerRow) -> Key<'_> {
    (row.direction, row.entry, row.stage, &row.place, row.cause)
}

fn of_interval(row: &LedgerInterval) -> Key<'_> {
    (row.direction, row.entry, row.stage, &row.place, row.cause)
}

impl Recording {
    /// The ledger from `omit_ns` on, with a row for each of the whole run's. `in_flight` is by how much more was on its way at
    /// the end than at the start of the window. What came to rest after the end is counted. `None` if something is
    /// omitted and the counters were not read where the window begins: then the ledger is known of the whole run only.
    pub fn window_ledger(&self) -> Option<Vec<LedgerRow>> {
        if self.info.omit_ns == 0 {
            return Some(self.ledger.clone());
        }
        let from_ns = self.window_border()?;
        let mut packets: BTreeMap<Key, i64> = BTreeMap::new();
        for row in self.ledger_intervals.iter().filter(|row| row.from_ns >= from_ns) {
            *packets.entry(of_interval(row)).or_default() += row.packets;
        }
        let mut rows = self.ledger.clone();
        for (row, of_run) in rows.iter_mut().zip(&self.ledger) {
            // Of several rows of one line the first has all: intervals do not tell them apart.
            row.packets = packets.remove(&of_row(of_run)).unwrap_or(0);
        }
        // What was on its way when the window began has no row if all of it has come.
        rows.extend(packets.into_iter().map(|((direction, entry, stage, place, cause), packets)| {
            LedgerRow {
                direction,
                entry,
                stage,
                place: place.into(),
                cause,
                packets,
                source: "by interval".into(),
            }
        }));
        Some(rows)
    }

    /// The border between intervals at which the measurement window begins, or so little later that it makes no difference.
    fn window_border(&self) -> Option<i64> {
        let info = &self.info;
        let late = (info.sample_ns * 2).max((info.duration_ns - info.omit_ns) / 100);
        let borders = self.ledger_intervals.iter().map(|row| row.from_ns);
        borders.filter(|from_ns| (0..=late).contains(&(from_ns - info.omit_ns))).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(entry: Entry, stage: Option<Stage>, cause: Option<Cause>, packets: i64) -> LedgerRow {
        LedgerRow {
            direction: Direction::Data,
            entry,
            stage,
            place: "a/forward".into(),
            cause,
            packets,
            source: "here".into(),
        }
    }

    fn interval(from_ns: i64, row: &LedgerRow, packets: i64) -> LedgerInterval {
        LedgerInterval {
            from_ns,
            to_ns: from_ns + 100,
            direction: row.direction,
            entry: row.entry,
            stage: row.stage,
            place: row.place.clone(),
            cause: row.cause,
            packets,
            uncertain_packets: 0,
        }
    }

    fn recording() -> Recording {
        let network = Some(Stage::Network);
        let (sent, full, policer) = (
            row(Entry::Sent, None, None, 100),
            row(Entry::Lost, network, Some(Cause::QueueFull), 30),
            row(Entry::Lost, network, Some(Cause::Policer), 5),
        );
        let flying = row(Entry::InFlight, network, None, 0);
        let mut recording = Recording::default();
        (recording.info.omit_ns, recording.info.duration_ns) = (100, 300);
        recording.info.sample_ns = 10;
        recording.ledger_intervals = vec![
            interval(0, &sent, 60),
            interval(0, &full, 30),
            interval(0, &flying, 7),
            interval(100, &sent, 20),
            interval(100, &policer, 3),
            interval(100, &flying, -2),
            interval(200, &sent, 20),
            interval(200, &policer, 2),
            interval(200, &flying, -5),
        ];
        recording.ledger = vec![sent, full, policer];
        recording
    }

    fn packets(recording: &Recording) -> Option<Vec<(Entry, Option<Cause>, i64)>> {
        let rows = recording.window_ledger()?.into_iter();
        Some(rows.map(|row| (row.entry, row.cause, row.packets)).collect())
    }

    #[test]
    fn the_window_has_what_was_counted_after_it_began() {
        let mut recording = recording();
        let expected = [
            (Entry::Sent, None, 40),
            (Entry::Lost, Some(Cause::QueueFull), 0),
            (Entry::Lost, Some(Cause::Policer), 5),
            (Entry::InFlight, None, -7),
        ];
        assert_eq!(packets(&recording).unwrap(), expected);
        // Read a sample late.
        recording.info.omit_ns = 85;
        assert_eq!(packets(&recording).unwrap(), expected);
    }

    #[test]
    fn without_a_reading_where_the_window_begins_nothing_is_said_of_it() {
        let mut recording = recording();
        recording.info.omit_ns = 150;
        assert_eq!(packets(&recording), None);
        recording.info.omit_ns = 0;
        assert_eq!(recording.window_ledger().unwrap(), recording.ledger, "nothing is omitted");
    }
}
