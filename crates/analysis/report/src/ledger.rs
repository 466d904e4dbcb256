//! The loss ledger as an account that balances, or says by how much it does not.

use crate::facts::Pool;
use std::sync::Arc;
use wirespeed_record::{Cause, Direction, Entry, LedgerRow, Recording, RunInfo, Stage};

/// The account of one direction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Account {
    pub direction: Direction,
    /// What is accounted, in words.
    pub packets: &'static str,
    pub lines: Vec<Line>,
    /// Sum of the `sent` entries; `None` if there is none, then nothing can balance.
    pub sent: Option<i64>,
    pub balance: Balance,
}

/// Where packets were lost, and why, as far as these are known.
pub(crate) type Loss = (Option<Stage>, Option<Cause>);

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub entry: Entry,
    /// Where it was lost or is in flight.
    pub stage: Option<Stage>,
    pub place: Arc<str>,
    pub cause: Option<Cause>,
    pub packets: i64,
    pub source: Arc<str>,
}

impl Line {
    /// The place, and the cause where it is known.
    pub fn at(&self) -> String {
        Cause::at(&self.place, self.cause)
    }
}

/// Which part of its run an account is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of it, and nothing is omitted from its metrics.
    Run,
    /// The measurement window.
    Window,
    /// All of it, though metrics omit a part: the counters were not read where the window begins.
    OmittedToo,
}

impl Extent {
    /// Of several accounts together, in words that follow what was counted.
    pub fn words(all: impl Iterator<Item = Extent> + Clone) -> &'static str {
        let any = |extent| all.clone().any(|one| one == extent);
        match (any(Extent::OmittedToo), any(Extent::Window)) {
            (false, false) => "",
            (false, true) => " in the measurement window",
            (true, _) => " (whole run, omitted time included)",
        }
    }
}

/// The accounts of what a run's metrics are about, as far as they are known.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub accounts: Arc<[Account]>,
    pub extent: Extent,
}

impl Measured {
    /// Of a recording, with the accounts of its whole run. `share` puts other accounts into the form in which they are kept.
    pub fn of(
        recording: &Recording,
        whole: &Arc<[Account]>,
        share: impl FnOnce(Vec<Account>) -> Arc<[Account]>,
    ) -> Measured {
        let rows = recording.window_ledger();
        let extent = match &rows {
            None => Extent::OmittedToo,
            Some(_) if recording.info.omit_ns == 0 => Extent::Run,
            Some(_) => Extent::Window,
        };
        let accounts = match rows {
            Some(rows) if extent == Extent::Window => share(Account::of_rows(&rows, &recording.info)),
            _ => Arc::clone(whole),
        };
        Measured { accounts, extent }
    }
}

/// Whether the account comes out even.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Balance {
    /// Every packet is accounted for.
    Even,
    /// This many packets are not.
    Unexplained(i64),
    /// Nobody counted what became of this many packets.
    Unseen(i64),
    /// The entries contradict each other by this many packets, the unexplained ones included.
    Wrong(i64),
    /// There is no `sent` entry to begin with.
    Open,
}

impl Account {
    /// The accounts of a recording, data first; a direction without rows has none.
    pub fn all(recording: &Recording) -> Vec<Account> {
        Account::of_rows(&recording.ledger, &recording.info)
    }

    fn of_rows(rows: &[LedgerRow], info: &RunInfo) -> Vec<Account> {
        Direction::ALL.iter().filter_map(|direction| Account::of(*direction, rows, info)).collect()
    }

    fn of(direction: Direction, rows: &[LedgerRow], info: &RunInfo) -> Option<Account> {
        let mut rows: Vec<&LedgerRow> = rows.iter().filter(|row| row.direction == direction).collect();
        if rows.is_empty() {
            return None;
        }
        rows.sort_by_key(|row| (row.entry, row.stage));
        let sum = |entry: Entry| -> Option<i64> {
            let mut packets = rows.iter().filter(|row| row.entry == entry).map(|row| row.packets).peekable();
            packets.peek()?;
            Some(packets.sum())
        };
        let sent = sum(Entry::Sent);
        let unexplained = sum(Entry::Unexplained).unwrap_or(0);
        let unseen = sum(Entry::Unseen).unwrap_or(0);
        let known = Entry::KNOWN.into_iter().filter_map(sum).sum::<i64>() + unseen;
        let offered = Entry::OFFERED.into_iter().filter_map(sum).sum::<i64>();
        let balance = match sent.map(|_| offered) {
            None => Balance::Open,
            Some(all) if all != known + unexplained => Balance::Wrong(all - known - unexplained),
            Some(_) if unseen != 0 => Balance::Unseen(unseen),
            Some(_) if unexplained != 0 => Balance::Unexplained(unexplained),
            Some(_) => Balance::Even,
        };
        let lines = rows
            .into_iter()
            .map(|row| Line {
                entry: row.entry,
                stage: row.stage,
                place: row.place.as_str().into(),
                cause: row.cause,
                packets: row.packets,
                source: row.source.as_str().into(),
            })
            .collect();
        Some(Account { direction, packets: info.packets_of(direction), lines, sent, balance })
    }

    /// The equation of the account. Entries that most accounts do not have are in it only if this one has them.
    pub fn equation(&self) -> String {
        let present = |entries: [Entry; 4]| {
            let is_present = |entry: &Entry| self.lines.iter().any(|line| line.entry == *entry);
            let seldom = [Entry::Copied, Entry::Repair, Entry::Recovered, Entry::Decoded];
            let present = entries.into_iter().filter(|entry| seldom.contains(entry)).filter(is_present);
            present.map(|entry| format!(" + {}", entry.word())).collect::<String>()
        };
        format!(
            "sent{} = delivered{} + lost by stage + in flight + unexplained",
            present(Entry::OFFERED),
            present(Entry::KNOWN)
        )
    }

    /// The same with places and sources that are shared with other accounts.
    pub fn shared(mut self, pool: &mut Pool) -> Account {
        for line in &mut self.lines {
            line.place = pool.word(&line.place);
            line.source = pool.word(&line.source);
        }
        self.lines.shrink_to_fit();
        self
    }

    /// The lost packets by stage and cause, most first; what lost none is left out.
    pub fn lost_by_cause(&self) -> Vec<(Loss, i64)> {
        let mut causes: Vec<(Loss, i64)> = Vec::new();
        for line in self.lines.iter().filter(|l| l.entry == Entry::Lost && l.packets > 0) {
            match causes.iter_mut().find(|((stage, cause), _)| (*stage, *cause) == (line.stage, line.cause)) {
                Some(known) => known.1 += line.packets,
                None => causes.push(((line.stage, line.cause), line.packets)),
            }
        }
        causes.sort_by_key(|(_, packets)| -packets);
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::Stage;

    fn row(entry: Entry, stage: Option<Stage>, packets: i64) -> LedgerRow {
        let (place, source) = ("x".into(), "y".into());
        LedgerRow { direction: Direction::Data, entry, stage, place, cause: None, packets, source }
    }

    fn accounts(rows: &[LedgerRow]) -> Vec<Account> {
        Account::all(&Recording { ledger: rows.to_vec(), ..Default::default() })
    }

    fn balance(rows: &[LedgerRow]) -> Balance {
        accounts(rows)[0].balance
    }

    #[test]
    fn repair_packets_and_recovered_packets_are_in_the_equation() {
        let network = Some(Stage::Network);
        let plain =
            [row(Entry::Sent, None, 100), row(Entry::Delivered, None, 97), row(Entry::Lost, network, 3)];
        assert_eq!(
            accounts(&plain)[0].equation(),
            "sent = delivered + lost by stage + in flight + unexplained"
        );
        let corrected = [
            row(Entry::Sent, None, 100),
            row(Entry::Repair, network, 12),
            row(Entry::Recovered, network, 2),
            row(Entry::Delivered, None, 99),
            row(Entry::Decoded, network, 11),
            row(Entry::Lost, network, 4),
        ];
        let account = &accounts(&corrected)[0];
        assert_eq!(account.balance, Balance::Even);
        assert_eq!(
            account.equation(),
            "sent + repair + recovered = delivered + decoded + lost by stage + in flight + unexplained"
        );
    }

    #[test]
    fn says_whether_it_balances() {
        let mut rows = vec![
            row(Entry::Lost, Some(Stage::Network), 7),
            row(Entry::Sent, None, 100),
            row(Entry::Delivered, None, 90),
        ];
        assert_eq!(balance(&rows), Balance::Wrong(3));
        rows.push(row(Entry::InFlight, Some(Stage::Network), 3));
        assert_eq!(balance(&rows), Balance::Even);
        rows[2].entry = Entry::Unseen;
        assert_eq!(balance(&rows), Balance::Unseen(90));
        rows[2].entry = Entry::Delivered;
        rows[2].packets = 91;
        rows.push(row(Entry::Unexplained, None, -1));
        assert_eq!(balance(&rows), Balance::Unexplained(-1));
        assert_eq!(balance(&rows[..1]), Balance::Open);
        assert!(accounts(&[]).is_empty());
    }

    #[test]
    fn entries_stand_in_the_order_of_the_account() {
        let mut rows = [
            row(Entry::Lost, Some(Stage::Network), 7),
            row(Entry::Lost, Some(Stage::Qdisc), 1),
            row(Entry::Sent, None, 8),
        ];
        rows[0].cause = Some(Cause::Policer);
        let account = &accounts(&rows)[0];
        let stages: Vec<_> = account.lines.iter().map(|l| l.stage).collect();
        assert_eq!(stages, [None, Some(Stage::Qdisc), Some(Stage::Network)]);
        let lost = [((Some(Stage::Network), Some(Cause::Policer)), 7), ((Some(Stage::Qdisc), None), 1)];
        assert_eq!(account.lost_by_cause(), lost);
        assert_eq!(account.lines[2].at(), "x: policer");
    }
}
