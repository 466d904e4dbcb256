//! The engine of the ledger: the account of one direction. Every kind of evidence uses it.

use std::collections::BTreeMap;
use wirespeed_record::{Cause, Direction, Entry, LedgerRow, Stage};

/// The account of a direction while its lines are entered. A packet that was sent, or that the network made a copy of, was
/// delivered, was lost or is in flight. Closing the account adds a line for packets that the evidence does not show.
#[derive(Debug, Clone)]
pub struct Balance {
    direction: Direction,
    rows: Vec<LedgerRow>,
}

impl Balance {
    /// An account without lines.
    pub fn new(direction: Direction) -> Balance {
        Balance { direction, rows: Vec::new() }
    }

    /// Enters packets that the sockets of `hosts` sent. `source`: the counters that show it, as for all lines.
    pub fn sent(&mut self, hosts: &str, packets: i64, source: &str) {
        self.enter(Entry::Sent, None, hosts, packets, source);
    }

    /// Enters packets that a place of the network delivered twice. None has no line.
    pub fn copied(&mut self, stage: Stage, place: &str, packets: i64, source: &str) {
        if packets != 0 {
            self.enter(Entry::Copied, Some(stage), place, packets, source);
        }
    }

    /// Enters packets of a link's forward error correction. None has no line.
    pub fn corrected(&mut self, entry: Entry, place: &str, packets: i64, source: &str) {
        if packets != 0 {
            self.enter(entry, Some(Stage::Network), place, packets, source);
        }
    }

    /// Enters packets that were lost at a place. A place that was examined has a line even if nothing was lost there: 0 is
    /// knowledge, a missing line is not. `stage`: `None` if the evidence does not show where.
    pub fn lost(&mut self, stage: Option<Stage>, place: &str, packets: i64, source: &str) {
        self.enter(Entry::Lost, stage, place, packets, source);
    }

    /// The same where the causes of losses are distinguished.
    pub fn lost_by(&mut self, cause: Option<Cause>, stage: Stage, place: &str, packets: i64, source: &str) {
        self.lost(Some(stage), place, packets, source);
        if let Some(row) = self.rows.last_mut() {
            row.cause = cause;
        }
    }

    /// Enters packets that are in flight at a place: neither lost nor delivered yet. None has no line.
    pub fn in_flight(&mut self, stage: Stage, place: &str, packets: i64, source: &str) {
        if packets != 0 {
            self.enter(Entry::InFlight, Some(stage), place, packets, source);
        }
    }

    /// Enters packets that the sockets of `hosts` received.
    pub fn delivered(&mut self, hosts: &str, packets: i64, source: &str) {
        self.enter(Entry::Delivered, None, hosts, packets, source);
    }

    /// Packets of the lines of one kind.
    pub fn total(&self, entry: Entry) -> i64 {
        let of_entry = self.rows.iter().filter(|row| row.entry == entry);
        of_entry.fold(0, |sum, row| sum.saturating_add(row.packets))
    }

    /// Packets of [`Entry::OFFERED`] that are on no other line; negative if the other lines have more.
    pub fn rest(&self) -> i64 {
        let all = Entry::OFFERED.into_iter().fold(0, |all: i64, entry| all.saturating_add(self.total(entry)));
        Entry::KNOWN.into_iter().fold(all, |rest, entry| rest.saturating_sub(self.total(entry)))
    }

    /// Closes the account of a path whose both ends count packets: the rest is unexplained. `source` is its likely origin.
    pub fn close(mut self, source: &str) -> Vec<LedgerRow> {
        self.enter(Entry::Unexplained, None, "", self.rest(), source);
        self.rows
    }

    /// Closes the account of a path whose receiver counts no packets: the rest was delivered or lost, and is unseen.
    pub fn close_unseen(mut self, source: &str) -> Vec<LedgerRow> {
        self.enter(Entry::Unseen, None, "", self.rest(), source);
        self.rows
    }

    /// The lines of a path whose sender counts no packets: there is nothing to close.
    pub fn leave_open(self) -> Vec<LedgerRow> {
        self.rows
    }

    fn enter(&mut self, entry: Entry, stage: Option<Stage>, place: &str, packets: i64, source: &str) {
        self.rows.push(LedgerRow {
            direction: self.direction,
            entry,
            stage,
            place: place.into(),
            cause: None,
            packets,
            source: source.into(),
        });
    }
}

/// The identity of a line of an account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Side {
    /// Sent, delivered, lost, ...
    pub entry: Entry,
    /// The stage, if it is known.
    pub stage: Option<Stage>,
    /// The host, queue or interface.
    pub place: String,
    /// Why packets were lost, if causes are distinguished.
    pub cause: Option<Cause>,
}

impl Side {
    /// A line without stage, place and cause.
    pub fn of(entry: Entry) -> Side {
        Side { entry, stage: None, place: String::new(), cause: None }
    }
}

/// Packets by line.
pub type Account = BTreeMap<Side, i64>;

/// The account of a direction; lines of the same place together.
pub fn account(rows: &[LedgerRow], direction: Direction) -> Account {
    let mut account = Account::new();
    for row in rows.iter().filter(|row| row.direction == direction) {
        let LedgerRow { entry, stage, cause, .. } = *row;
        *account.entry(Side { entry, stage, place: row.place.clone(), cause }).or_default() += row.packets;
    }
    account
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> Balance {
        let mut balance = Balance::new(Direction::Data);
        balance.sent("a", 100, "");
        balance.lost(Some(Stage::Qdisc), "a/qdisc", 7, "");
        balance.lost_by(Some(Cause::RandomLoss), Stage::Network, "link/forward", 2, "");
        balance.in_flight(Stage::Network, "link/forward", 5, "");
        balance.in_flight(Stage::Network, "link/reverse", 0, "");
        balance
    }

    #[test]
    fn closed_account_adds_up_to_what_was_sent() {
        let mut balance = filled();
        balance.delivered("b", 83, "");
        let rows = balance.close("left over");
        let last = rows.last().unwrap();
        assert_eq!((last.entry, last.packets, last.source.as_str()), (Entry::Unexplained, 3, "left over"));
        let others: i64 = rows.iter().filter(|row| row.entry != Entry::Sent).map(|row| row.packets).sum();
        assert_eq!(others, 100);
        // Nothing in flight has no line; nothing lost has one.
        assert_eq!(rows.iter().filter(|row| row.entry == Entry::InFlight).count(), 1);
    }

    #[test]
    fn copies_of_the_network_may_arrive_too() {
        let mut balance = filled();
        balance.copied(Stage::Network, "link/forward", 4, "");
        balance.copied(Stage::Network, "link/reverse", 0, "");
        balance.delivered("b", 90, "");
        assert_eq!(balance.rest(), 0);
        let rows = balance.close("");
        assert_eq!(rows.iter().filter(|row| row.entry == Entry::Copied).count(), 1);
    }

    #[test]
    fn repair_packets_end_at_the_decoder_and_recovered_packets_arrive() {
        let mut balance = filled();
        let before = balance.rest();
        balance.corrected(Entry::Repair, "link/forward", 12, "");
        balance.corrected(Entry::Recovered, "link/forward", 3, "");
        balance.corrected(Entry::Decoded, "link/forward", 10, "");
        balance.lost(Some(Stage::Network), "link/forward", 2, "");
        balance.delivered("b", 3, "");
        assert_eq!(balance.rest(), before);
    }

    #[test]
    fn more_losses_than_packets_leave_a_negative_rest() {
        let mut balance = filled();
        balance.delivered("b", 90, "");
        assert_eq!(balance.rest(), -4);
    }

    #[test]
    fn rest_is_unseen_where_the_receiver_counts_nothing() {
        let rows = filled().close_unseen("bytes only");
        let last = rows.last().unwrap();
        assert_eq!((last.entry, last.packets), (Entry::Unseen, 86));
        assert!(filled().leave_open().iter().all(|row| row.entry != Entry::Unseen));
    }

    #[test]
    fn numbers_of_a_hostile_peer_do_not_overflow() {
        let mut balance = Balance::new(Direction::Data);
        balance.sent("a", i64::MIN, "");
        balance.delivered("b", i64::MAX, "");
        balance.lost(None, "", i64::MAX, "");
        assert_eq!(balance.rest(), i64::MIN);
    }
}
