//! The loss ledger of UDP: the receiver counts what is missing by its numbers. Nobody says where it was lost. Of TCP
//! iperf3 counts no packets.

use super::flow::{End, Flow};
use crate::import::Protocol;
use wirespeed_ledger::Balance;
use wirespeed_record::{Direction, LedgerRow};

/// Datagrams of a flow within the measurement, and where each number comes from.
struct Account {
    sent: u64,
    sent_by: &'static str,
    delivered: i64,
    delivered_by: &'static str,
    lost: i64,
}

/// The account of all flows together, or none if one of them cannot be told.
pub fn of(flows: &[Flow]) -> Vec<LedgerRow> {
    let accounts: Option<Vec<Account>> = flows.iter().map(account).collect();
    let Some(accounts) = accounts.filter(|accounts| !accounts.is_empty()) else { return Vec::new() };
    let sum = |of: fn(&Account) -> i64| accounts.iter().map(of).fold(0, i64::saturating_add);
    let (sent, delivered) = (sum(|a| i64::try_from(a.sent).unwrap_or(i64::MAX)), sum(|a| a.delivered));
    let lost = sum(|a| a.lost.max(0));
    let names = |of: fn(&Flow) -> &'static str| -> String {
        let mut names: Vec<&str> = flows.iter().map(of).collect();
        names.dedup();
        names.join(", ")
    };
    let mut balance = Balance::new(Direction::Data);
    balance.sent(&names(|flow| flow.from), sent, accounts[0].sent_by);
    balance.lost(None, "", lost, "lost_packets of iperf3's receiver, which cannot say where");
    balance.delivered(&names(|flow| flow.to), delivered, accounts[0].delivered_by);
    balance.close("sent, and neither arrived nor missed: after the last that arrived")
}

fn account(flow: &Flow) -> Option<Account> {
    if flow.protocol != Protocol::Udp {
        return None;
    }
    let received = flow.received()?;
    let lost = received.lost?;
    let due = flow.receiver.map(|end| measured(&end)).unwrap_or(received.packets)?;
    let sent = flow.sender.and_then(|end| measured(&end));
    let block = flow.sender.or(flow.receiver)?.report.block_bytes.filter(|bytes| *bytes > 0);
    // The sender's side has the receiver's word in bytes, if it carried one stream.
    let in_bytes = flow.receiver.is_none().then_some(received.bytes.zip(block)).flatten();
    let (delivered, delivered_by) = match in_bytes {
        Some((bytes, block)) => {
            (i64::try_from(bytes / block).ok()?, "bytes received / blksize, the receiver's word")
        }
        None => (i64::try_from(due).ok()?.saturating_sub(lost), "packets less lost_packets"),
    };
    Some(Account {
        sent: sent.unwrap_or(due),
        sent_by: match sent {
            Some(_) => "packets of iperf3's sender",
            None => "highest number that arrived; what was sent after it is not known",
        },
        delivered,
        delivered_by,
        lost,
    })
}

/// Datagrams of an end in the measurement.
fn measured(end: &End) -> Option<u64> {
    let intervals = end.intervals().iter().filter(|interval| !interval.omitted);
    intervals.map(|interval| interval.packets).try_fold(0u64, |sum, packets| sum.checked_add(packets?))
}
