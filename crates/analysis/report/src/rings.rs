//! Receive rings of hosts: queues of kind `rx_ring`, named `HOST/rxN`.

use std::collections::BTreeSet;
use wirespeed_metrics::{Samples, View};
use wirespeed_record::{QueueSample, Recording, StoreError};

/// What became of the packets of one ring until the end of the run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ring {
    pub host: String,
    pub number: u32,
    /// Taken out of it by the host.
    pub packets: u64,
    /// Found no descriptor.
    pub dropped: u64,
}

/// Host and number of the ring that has the name `queue`, if it is called like one.
pub(crate) fn ring_name(queue: &str) -> Option<(&str, u32)> {
    let (host, number) = queue.rsplit_once("/rx")?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_number && !host.is_empty()).then_some(())?;
    Some((host, number.parse().ok()?))
}

/// Every receive ring of the recording, by host and number.
pub(crate) fn rings(recording: &Recording, view: &View) -> Result<Vec<Ring>, StoreError> {
    // Most recordings have none, and need not have their queues read once more.
    if !view.queues.keys().any(|name| ring_name(name).is_some()) {
        return Ok(Vec::new());
    }
    let keys = [QueueSample::queue, QueueSample::kind];
    let (_, kinds) = Samples::new(recording.queue_table(), QueueSample::t_ns, &keys)?;
    let kinds: BTreeSet<Vec<String>> = kinds.into_iter().map(|(key, _)| key).collect();
    let (sent, dropped) = (
        view.queue_samples.column(QueueSample::sent_packets),
        view.queue_samples.column(QueueSample::dropped_packets),
    );
    let mut rings: Vec<Ring> = view
        .queues
        .iter()
        .filter_map(|(name, queue)| {
            let (host, number) = ring_name(name)?;
            let last = queue.samples.clone().last()?;
            let (packets, dropped) = (sent[last] as u64, dropped[last] as u64);
            let is_ring = kinds.contains(&vec![name.clone(), "rx_ring".to_string()]);
            is_ring.then(|| Ring { host: host.into(), number, packets, dropped })
        })
        .collect();
    rings.sort_by(|a, b| (&a.host, a.number).cmp(&(&b.host, b.number)));
    Ok(rings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_known_by_their_names() {
        assert_eq!(ring_name("receiver/rx24"), Some(("receiver", 24)));
        for other in
            ["receiver/qdisc", "link/forward", "receiver/rx", "/rx1", "receiver/rx1a", "rx1", "a/rx+1"]
        {
            assert_eq!(ring_name(other), None, "{other}");
        }
    }
}
