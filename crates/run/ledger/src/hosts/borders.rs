//! The accounts between real hosts during the run. Each host has counted its own losses by then. Other missing packets are
//! lost or in flight: at most as many are in flight as the senders wait for.

use super::gso::most_packets;
use super::places::{counted_inward, counted_outward};
use super::{Evidence, Packets, Total, ack_packets, data_packets};
use crate::intervals::{Standing, passing};
use crate::{Account, Side, account};
use std::collections::BTreeMap;
use wirespeed_host::Changes;
use wirespeed_record::{Datagram, Direction, Entry, FlowSample, LedgerRow, Stage};
use wirespeed_scenario::run::{FlowKind, Run};

/// The readings of all hosts at a border between intervals.
#[derive(Debug, Clone, Default)]
pub struct Border {
    /// Totals of the flows by then.
    pub totals: BTreeMap<u32, Total>,
    /// Growth of the counters of each host by then.
    pub changes: BTreeMap<String, Changes>,
    /// Distance of each host's reading from the border, at most, in nanoseconds.
    pub beside_ns: BTreeMap<String, i64>,
}

/// Evidence of the accounts, besides that of the ledger.
pub struct Borders<'a> {
    /// By time since the start of the run.
    pub borders: &'a BTreeMap<i64, Border>,
    /// Number of hosts that report at each border.
    pub hosts: usize,
    /// Largest difference of two hosts' clocks, in nanoseconds.
    pub clocks_ns: i64,
    /// Every datagram, of which both ends are known.
    pub datagrams: &'a [Datagram],
}

/// The account at each border that all hosts have read, both directions.
pub fn standings(run: &Run, evidence: &Evidence, borders: &Borders, ledger: &[LedgerRow]) -> Vec<Standing> {
    let udp = run.flows.iter().any(|flow| matches!(flow.kind, FlowKind::Udp { .. }));
    if udp && evidence.server.is_some() {
        // An iperf3 server reports datagrams at the end only.
        return Vec::new();
    }
    let whole = borders.borders.iter().filter(|(_, border)| border.changes.len() == borders.hosts);
    let whole: Vec<(i64, &Border)> = whole.map(|(t_ns, border)| (*t_ns, border)).collect();
    let mut standings: Vec<Standing> =
        whole.iter().map(|(t_ns, _)| Standing { t_ns: *t_ns, accounts: BTreeMap::new() }).collect();
    let times: Vec<i64> = whole.iter().map(|(t_ns, _)| *t_ns).collect();
    let datagrams = Datagrams::at(&times, borders.datagrams);
    for direction in Direction::ALL {
        let last = account(ledger, *direction);
        if last.is_empty() {
            continue;
        }
        let mut follow = Follow::new(last, counted(evidence.changes, evidence));
        let (mut before_ns, mut sent_before) = (0, 0);
        let mut halves = Vec::new();
        for (place, (t_ns, border)) in whole.iter().enumerate() {
            let then = Evidence { totals: &border.totals, changes: &border.changes, ..*evidence };
            let packets = match direction {
                Direction::Data => data_packets(run, &then),
                Direction::Ack => ack_packets(&then),
            };
            let sum = |of: fn(&FlowSample) -> i64| -> i64 {
                border.totals.values().map(|total| of(&total.row)).sum()
            };
            let (waited, noticed) = match direction {
                Direction::Data => {
                    (sum(waits_for) + datagrams.flying[place], Some(sum(noticed) + datagrams.lost[place]))
                }
                // No more ACKs are on their way than data that has not been acknowledged yet. Their losses nobody notices.
                Direction::Ack => (sum(|row| known(row.unacked_packets)), None),
            };
            let beside = border.beside_ns.values().max().copied().unwrap_or(0) + borders.clocks_ns;
            let skew = passing(packets.sent - sent_before, t_ns - before_ns, beside);
            let counted = counted(&border.changes, evidence);
            let bounds = Bounds { waited, noticed, skew: skew as i64 };
            halves.push((follow.half(&packets, bounds, &counted), waited as u64 + skew));
            (before_ns, sent_before) = (*t_ns, packets.sent);
        }
        let between = follow.between(halves.iter().map(|(half, _)| half));
        for (((half, uncertain), gone), standing) in halves.into_iter().zip(between).zip(&mut standings) {
            standing.accounts.insert(*direction, (follow.close(half, gone), uncertain));
        }
    }
    standings
}

fn known(packets: Option<u32>) -> i64 {
    packets.map_or(0, i64::from)
}

/// Packets of a flow that can be in flight: tcp_packets_in_flight of the kernel (include/net/tcp.h).
fn waits_for(row: &FlowSample) -> i64 {
    let left = known(row.sacked_packets) + known(row.lost_packets);
    (known(row.unacked_packets) - left + known(row.retrans_out_packets)).max(0)
}

/// Packets of a flow that its sender has marked as lost so far, without those that turned out to be spurious.
fn noticed(row: &FlowSample) -> i64 {
    row.retrans_packets.unwrap_or(0) as i64 + known(row.lost_packets) - known(row.dsack_dups)
}

/// Datagrams in flight and lost at each of some times.
struct Datagrams {
    /// Sent, and not arrived yet.
    flying: Vec<i64>,
    /// Sent by then, and never arrived.
    lost: Vec<i64>,
}

impl Datagrams {
    fn at(times: &[i64], rows: &[Datagram]) -> Datagrams {
        let (mut flying, mut lost) = (vec![0; times.len()], vec![0; times.len()]);
        for row in rows.iter().filter(|row| !row.duplicate) {
            let first = times.partition_point(|time| *time < row.sent_ns);
            match row.arrived_ns {
                Some(arrived) => {
                    times[first..]
                        .iter()
                        .zip(&mut flying[first..])
                        .take_while(|(time, _)| **time < arrived)
                        .for_each(|(_, n)| *n += 1);
                }
                None => lost.iter_mut().skip(first).take(1).for_each(|n| *n += 1),
            }
        }
        for place in 1..lost.len() {
            lost[place] += lost[place - 1];
        }
        Datagrams { flying, lost }
    }
}

/// Losses that hosts count by stage and place, in the unit of each counter.
type Counted = BTreeMap<(Stage, String), i64>;

fn counted(changes: &BTreeMap<String, Changes>, evidence: &Evidence) -> Counted {
    let mut counted = Counted::new();
    for (host, changes) in changes {
        let Some(device) = evidence.devices.get(host) else { continue };
        let out = evidence.outs.get(host).unwrap_or(device);
        for lost in
            counted_outward(host, out, changes).into_iter().chain(counted_inward(host, device, changes))
        {
            *counted.entry((lost.stage, lost.place)).or_default() += lost.packets;
        }
    }
    counted
}

/// Follows the account of a direction to its final state.
struct Follow {
    last: Account,
    /// The final counts.
    counted: Counted,
    before: Account,
    counted_before: Counted,
}

impl Follow {
    fn new(last: Account, counted: Counted) -> Follow {
        Follow { last, counted, before: Account::new(), counted_before: Counted::new() }
    }

    /// The part of the account that the hosts know at a border, from their packets and counts by then.
    fn half(&mut self, packets: &Packets, bounds: Bounds, counted: &Counted) -> Half {
        let (mut lost, of_gso) = self.lost_at_hosts(counted);
        let sum =
            |of: fn(&Side) -> bool| -> i64 { lost.iter().filter(|(side, _)| of(side)).map(|(_, n)| n).sum() };
        let (above, anywhere) = (sum(is_above), sum(|_| true));
        let arrived = packets.arrived + if packets.dropped_unseen { above } else { 0 };
        let mut missing = packets.sent - arrived - (anywhere - above);
        if let [place] = &of_gso[..] {
            // GSO packets differ in size. The number that arrived is better evidence than their mean size.
            let wrong = if missing < 0 { missing } else { (missing - bounds.waited).max(0) };
            let share = lost.get_mut(&place.side).expect("it was put in");
            let better = (*share + wrong).clamp(place.least, place.most);
            missing -= better - *share;
            *share = better;
        }
        self.before.clone_from(&lost);
        self.counted_before.clone_from(counted);
        let at_hosts: i64 = lost.values().sum();
        let bounds = Bounds { noticed: bounds.noticed.map(|noticed| noticed - at_hosts), ..bounds };
        Half { sent: packets.sent, delivered: arrived - above, lost, missing, bounds }
    }

    /// Packets lost between the hosts by each border.
    fn between<'a>(&self, halves: impl DoubleEndedIterator<Item = &'a Half> + Clone) -> Vec<i64> {
        let last: i64 = self.last.iter().filter(|(side, _)| self.is_between(side)).map(|(_, n)| n).sum();
        // A lost packet stays missing at all later borders.
        let mut most: Vec<i64> = halves
            .clone()
            .rev()
            .scan(last.max(0), |most, half| {
                *most = (*most).min((half.missing + half.bounds.skew).max(0));
                Some(*most)
            })
            .collect();
        most.reverse();
        // No sender notices losses of datagrams. The smallest number that is ever missing may be in flight all the time.
        let always = halves.clone().map(|half| half.missing).min().unwrap_or(0).max(0);
        let mut before = 0;
        let at = |(half, most): (&Half, i64)| {
            let Bounds { waited, noticed, skew } = half.bounds;
            let least = (half.missing - waited - skew).clamp(before, most.max(before));
            let likely = noticed.unwrap_or(half.missing - always.min(waited));
            before = likely.clamp(least, most.max(least));
            before
        };
        halves.zip(most).map(at).collect()
    }

    /// The complete account, with `gone` packets lost between the hosts.
    fn close(&self, half: Half, gone: i64) -> Account {
        let named = |entry: Entry| self.last.keys().find(|side| side.entry == entry).cloned();
        let side = |entry: Entry| named(entry).unwrap_or_else(|| Side::of(entry));
        let mut account = half.lost;
        if let Some(unseen) = named(Entry::Unseen) {
            let lost: i64 = account.values().sum();
            account.insert(unseen, half.sent - lost);
        } else {
            account.insert(side(Entry::Delivered), half.delivered);
            let mut missing = half.missing;
            if let Some(side) = self.last.keys().find(|side| self.is_between(side)) {
                account.insert(side.clone(), gone);
                missing -= gone;
            }
            let Bounds { waited, skew, .. } = half.bounds;
            let flying = missing.clamp(-skew, waited + skew);
            let in_flight = Side {
                stage: Some(Stage::Network),
                place: "on the way".to_owned(),
                ..Side::of(Entry::InFlight)
            };
            account.insert(in_flight, flying);
            account.insert(side(Entry::Unexplained), missing - flying);
        }
        account.insert(side(Entry::Sent), half.sent);
        account
    }

    /// Losses of the hosts so far, and bounds for places that count GSO packets.
    fn lost_at_hosts(&self, counted: &Counted) -> (Account, Vec<OfGso>) {
        let (mut now, mut of_gso) = (Account::new(), Vec::new());
        for (side, last) in self.last.iter().filter(|(side, _)| side.entry == Entry::Lost) {
            let Some(place) = side.stage.map(|stage| (stage, side.place.clone())) else { continue };
            let Some(in_the_end) = self.counted.get(&place) else { continue };
            let at = |counted: &Counted| counted.get(&place).copied().unwrap_or(0);
            let (so_far, before) = (at(counted), self.before.get(side).copied().unwrap_or(0));
            if last == in_the_end {
                now.insert(side.clone(), so_far.clamp(before, (*last).max(before)));
                continue;
            }
            // The ledger has the packets of all GSO packets together. Each has one packet or more.
            let (new, to_come) = (so_far - at(&self.counted_before), in_the_end - so_far);
            let least = (before + new).max(last - most_packets(to_come)).min(*last);
            let most = (before + most_packets(new)).min(last - to_come).max(least);
            let mean = (i128::from(*last) * i128::from(so_far) / i128::from((*in_the_end).max(1))) as i64;
            now.insert(side.clone(), mean.clamp(least, most));
            of_gso.push(OfGso { side: side.clone(), least, most });
        }
        (now, of_gso)
    }

    /// Whether a line is of losses that no host counts.
    fn is_between(&self, side: &Side) -> bool {
        side.entry == Entry::Lost
            && matches!(side.stage, Some(stage @ (Stage::Network | Stage::NetworkOrHost))
                if !self.counted.contains_key(&(stage, side.place.clone())))
    }
}

/// The part of an account that the hosts know at a border.
struct Half {
    sent: i64,
    delivered: i64,
    /// Losses of the hosts.
    lost: Account,
    /// Packets lost elsewhere or in flight.
    missing: i64,
    bounds: Bounds,
}

/// Bounds on the packets that are missing at a border.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Largest number that can be in flight.
    waited: i64,
    /// Number that senders have marked as lost, if they notice losses.
    noticed: Option<i64>,
    /// Uncertainty, since both ends are not read at the same instant.
    skew: i64,
}

/// A place that counts GSO packets, with bounds on the packets in them so far.
struct OfGso {
    side: Side,
    least: i64,
    most: i64,
}

/// Whether packets lost there had arrived before.
fn is_above(side: &Side) -> bool {
    matches!(side.stage, Some(Stage::TcpBacklog | Stage::TcpOfo | Stage::RcvBuf | Stage::App))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{changes, evidence};
    use super::*;
    use crate::hosts::ledger;
    use crate::intervals::intervals;
    use wirespeed_record::LedgerInterval;
    use wirespeed_scenario::run::Congestion;
    use wirespeed_scenario::testing::run;

    const SECOND: i64 = 1_000_000_000;

    type Grown = &'static [(&'static str, u64)];

    /// A TCP flow from a to b: packets sent and arrived, and those the sender waits for; what both hosts count.
    struct At(u64, u64, u32, Grown, Grown);

    fn border(at: &At) -> Border {
        let mut row = FlowSample::empty(0, 0);
        (row.data_packets_out, row.data_packets_in, row.unacked_packets) =
            (Some(at.0), Some(at.1), Some(at.2));
        let totals = [(0, Total { row, sender: [at.0 as u32, 500], receiver: [500, at.1 as u32] })].into();
        let changes =
            [("a".to_owned(), changes("eth0", at.3)), ("b".to_owned(), changes("eth1", at.4))].into();
        let beside_ns = [("a".to_owned(), 1_000_000), ("b".to_owned(), 2_000_000)].into();
        Border { totals, changes, beside_ns }
    }

    /// What the intervals of a second say of data, when they end as `at` says; the last is the run's.
    fn rows(at: &[At]) -> Vec<LedgerInterval> {
        let mut run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let congestion = Congestion { name: "cubic".into(), parameters: Default::default(), own: false };
        run.flows[0].kind = FlowKind::Tcp { congestion, window: None, max_rate: None, zero_copy: false };
        let (last, inner) = at.split_last().unwrap();
        let last = border(last);
        let devices = [("a".to_owned(), "eth0".to_owned()), ("b".to_owned(), "eth1".to_owned())].into();
        let evidence = evidence(&last.totals, &last.changes, &devices);
        let whole = ledger(&run, &evidence);
        let inner: BTreeMap<i64, Border> =
            inner.iter().enumerate().map(|(second, at)| ((second as i64 + 1) * SECOND, border(at))).collect();
        let borders = Borders { borders: &inner, hosts: 2, clocks_ns: 0, datagrams: &[] };
        let rows = intervals(&standings(&run, &evidence, &borders, &whole), &whole, at.len() as i64 * SECOND);
        for direction in Direction::ALL {
            let mut sums = Account::new();
            for row in rows.iter().filter(|row| row.direction == *direction) {
                let LedgerInterval { entry, stage, cause, .. } = *row;
                let side = Side { entry, stage, place: row.place.clone(), cause };
                *sums.entry(side).or_default() += row.packets;
            }
            sums.retain(|_, packets| *packets != 0);
            let mut expected = account(&whole, *direction);
            expected.retain(|_, packets| *packets != 0);
            assert_eq!(sums, expected, "the intervals add up to the ledger");
        }
        for second in 0..at.len() as i64 {
            let of = |entry: Entry| sum(&rows, second, |row| row.entry == entry);
            let rest = of(Entry::Delivered) + of(Entry::Lost) + of(Entry::InFlight) + of(Entry::Unexplained);
            assert_eq!(of(Entry::Sent), rest, "second {second}: {rows:?}");
        }
        rows.into_iter().filter(|row| row.direction == Direction::Data).collect()
    }

    fn sum(rows: &[LedgerInterval], second: i64, which: impl Fn(&LedgerInterval) -> bool) -> i64 {
        let here =
            rows.iter().filter(|row| row.from_ns == second * SECOND && row.direction == Direction::Data);
        here.filter(|row| which(row)).map(|row| row.packets).sum()
    }

    fn lost(rows: &[LedgerInterval], stage: Stage, seconds: i64) -> Vec<i64> {
        let of = |second| sum(rows, second, |row| row.entry == Entry::Lost && row.stage == Some(stage));
        (0..seconds).map(of).collect()
    }

    #[test]
    fn a_loss_is_in_the_interval_in_which_its_host_counted_it() {
        const NONE: Grown = &[("link/rx_missed_errors", 0)];
        const SEVEN: Grown = &[("link/rx_missed_errors", 7)];
        let rows = rows(&[
            At(1000, 980, 20, &[], NONE),
            At(2000, 1963, 30, &[], SEVEN),
            At(3000, 2993, 0, &[], SEVEN),
        ]);
        assert_eq!(lost(&rows, Stage::RxRing, 3), [0, 7, 0]);
        assert_eq!(lost(&rows, Stage::Network, 3), [0, 0, 0]);
        assert_eq!([0, 1, 2].map(|s| sum(&rows, s, |row| row.entry == Entry::InFlight)), [20, 10, -30]);
        // 20 waited for, and 2 ms of 1000 packets a second; at the end of the next one 30 more.
        assert_eq!(rows[0].uncertain_packets, 22);
        assert_eq!(rows.iter().find(|row| row.from_ns == SECOND).unwrap().uncertain_packets, 22 + 32);
    }

    #[test]
    fn packets_that_no_sender_waits_for_are_the_networks() {
        let rows =
            rows(&[At(1000, 980, 20, &[], &[]), At(2000, 1900, 25, &[], &[]), At(3000, 2920, 0, &[], &[])]);
        // 100 missing after two seconds, of which 25 may be on their way, and two more or less sent meanwhile.
        assert_eq!(lost(&rows, Stage::Network, 3), [0, 73, 7]);
    }

    #[test]
    fn losses_that_a_sender_noticed_count_though_it_waits_for_as_many_others() {
        let side = Side {
            stage: Some(Stage::Network),
            place: "between a and b".to_owned(),
            ..Side::of(Entry::Lost)
        };
        let follow = Follow::new([(side, 17)].into(), Counted::new());
        let half = |missing, waited, noticed| Half {
            sent: 0,
            delivered: 0,
            lost: Account::new(),
            missing,
            bounds: Bounds { waited, noticed, skew: 0 },
        };
        // 20 on their way all the time; 17 are lost in the second interval.
        let told = |noticed: [Option<i64>; 3]| {
            let missing = [20, 37, 36];
            let halves: Vec<Half> = (0..3).map(|place| half(missing[place], 40, noticed[place])).collect();
            follow.between(halves.iter())
        };
        assert_eq!(told([Some(0), Some(17), Some(17)]), [0, 17, 17]);
        // What was sent again for nothing is no loss.
        assert_eq!(told([Some(0), Some(30), Some(40)]), [0, 17, 17]);
        // Of ACKs nobody notices; as many are always on their way.
        assert_eq!(told([None; 3]), [0, 17, 17]);
        // The last border was read late at the receiver: what came meanwhile does not make good what was lost.
        let read_late = |missing| Half {
            bounds: Bounds { waited: 40, noticed: Some(17), skew: 50 },
            ..half(missing, 0, None)
        };
        let late = [half(20, 40, Some(0)), half(37, 40, Some(17)), read_late(-10)];
        assert_eq!(follow.between(late.iter()), [0, 17, 17]);
    }

    #[test]
    fn pieces_are_where_they_were_counted_and_what_arrived_tells_their_size() {
        // Three pieces of 30 packets, then one of 10.
        const THREE: Grown = &[("softnet/dropped", 3)];
        const FOUR: Grown = &[("softnet/dropped", 4)];
        let rows = rows(&[
            At(1000, 995, 5, &[], &[]),
            At(2000, 1904, 10, &[], THREE),
            At(3000, 2900, 4, &[], FOUR),
            At(4000, 3900, 0, &[], FOUR),
        ]);
        let told = lost(&rows, Stage::SoftnetBacklog, 4);
        // 75 by the mean of pieces, but 96 are missing of which 10 at most are on their way.
        assert_eq!(told, [0, 86, 14, 0]);
        assert_eq!(lost(&rows, Stage::Network, 4), [0; 4]);
    }

    #[test]
    fn losses_of_others_are_as_negative_as_in_the_ledger() {
        const NINE: Grown = &[("link/rx_missed_errors", 9)];
        let rows = rows(&[At(1000, 998, 2, &[], &[]), At(2000, 1998, 0, &[], NINE)]);
        assert_eq!([0, 1].map(|s| sum(&rows, s, |row| row.entry == Entry::Unexplained)), [0, -7]);
    }

    #[test]
    fn a_border_that_a_host_missed_is_left_out() {
        let mut whole =
            [(SECOND, border(&At(10, 10, 0, &[], &[]))), (2 * SECOND, border(&At(20, 20, 0, &[], &[])))];
        whole[0].1.changes.remove("b");
        let inner: BTreeMap<i64, Border> = whole.into_iter().collect();
        let run = run(1, &[("a", 0), ("b", 1)], &[("a", "b")]);
        let last = border(&At(30, 30, 0, &[], &[]));
        let devices = BTreeMap::new();
        let evidence = evidence(&last.totals, &last.changes, &devices);
        let borders = Borders { borders: &inner, hosts: 2, clocks_ns: 0, datagrams: &[] };
        let found = standings(&run, &evidence, &borders, &ledger(&run, &evidence));
        assert_eq!(found.iter().map(|standing| standing.t_ns).collect::<Vec<_>>(), [2 * SECOND]);
    }

    #[test]
    fn datagrams_are_on_their_way_from_when_they_were_sent_until_they_came() {
        let row = |sequence, sent_ns, arrived_ns| Datagram {
            flow: 0,
            sequence,
            sent_ns,
            arrived_ns,
            reordered_by: 0,
            duplicate: false,
        };
        let rows = [row(0, 5, Some(9)), row(1, 8, Some(12)), row(2, 9, None), row(3, 11, Some(15))];
        let found = Datagrams::at(&[8, 10, 13], &rows);
        assert_eq!((found.flying, found.lost), (vec![2, 1, 1], vec![0, 1, 1]));
    }
}
