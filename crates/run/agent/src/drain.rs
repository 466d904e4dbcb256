//! The end of a run in real time: what is under way is waited for.

use super::{Part, is_tcp, socket};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};
use wirespeed_record::FlowSample;

/// How long it is waited for.
const DRAIN: Duration = Duration::from_secs(5);
/// How often it is looked at.
const STEP: Duration = Duration::from_millis(50);

/// Waits until what the senders among `parts` have written has been acknowledged and the receivers have read what came,
/// but not for ever. `rows` reads the flows.
pub fn drain(parts: &[Arc<Part>], mut rows: impl FnMut() -> Vec<FlowSample>) {
    // A splitter ends a connection when that which brings its data has ended.
    for part in parts.iter().filter(|part| is_tcp(part) && !part.to_iperf3 && !part.flow().is_relayed()) {
        if let Some(fd) = part.state.sender().get() {
            // It may have ended by itself.
            let _ = socket::end_writing(fd);
        }
    }
    // What arrives later than so many steps after the last is not waited for. Nobody knows of a datagram that waits in a ring
    // because its core is taken, nor of a copy of what has been acknowledged already: they would be blamed on the network.
    const SOON: usize = 1;
    const LATE: usize = 6;
    let datagrams = !parts.iter().all(|part| is_tcp(part));
    let mut quiet = 0;
    let began = Instant::now();
    let (mut read, mut sent_again_before) = (None, None);
    loop {
        let rows = rows();
        // Copies sent before the end came through every queue before it.
        let sent_again: u64 = rows.iter().filter_map(|row| row.retrans_packets).sum();
        let copies = *sent_again_before.get_or_insert(sent_again) != sent_again;
        let patience = if datagrams || copies { LATE } else { SOON };
        let unacknowledged =
            |row: &FlowSample| row.unacked_packets.unwrap_or(0) > 0 || row.notsent_bytes.unwrap_or(0) > 0;
        let sends = |part: &Arc<Part>| {
            (!is_tcp(part) || part.to_iperf3)
                && part.state.sender().get().is_some()
                && !part.state.sent_all.load(Relaxed)
        };
        // It has been told to end, and says so with its FIN.
        let receives = |part: &Arc<Part>| {
            part.from_iperf3
                && is_tcp(part)
                && part.state.receiver().get().is_some()
                && !part.state.read_all.load(Relaxed)
        };
        // A thread without a core reads late. Its unread datagrams would be counted as lost in the network.
        let reads =
            |part: &Arc<Part>| !is_tcp(part) && part.state.receiver().get().is_some_and(socket::has_unread);
        let pending = rows.iter().any(unacknowledged)
            || parts.iter().any(|part| sends(part) || receives(part) || reads(part));
        let now: Vec<Option<u64>> = rows.iter().map(|row| row.read_bytes).collect();
        let goes_on = read.replace(now.clone()).is_none_or(|before| before != now);
        quiet = if pending || goes_on { 0 } else { quiet + 1 };
        if quiet >= patience || began.elapsed() > DRAIN {
            return;
        }
        thread::sleep(STEP);
    }
}
