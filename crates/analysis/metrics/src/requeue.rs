//! When a host's transmit ring was full.

use crate::registry::{Better, Metric};
use crate::view::View;
use wirespeed_record::EventKind;

pub(crate) const ROWS: &[Metric] = &[Metric {
    name: "first_requeue_in_round",
    unit: "",
    definition: "Which packet of its burst was the first that found no transmit descriptor free and went back to the \
                 queueing discipline; a burst is what a host sends between two pauses of its interface. Absent if \
                 none did, or if the substrate does not see the ring.",
    reference: "onl-wiki; NETDEV_TX_BUSY of Linux",
    better: Better::Neither,
    headline: false,
    compute: first_requeue,
}];

fn first_requeue(view: &View) -> Option<f64> {
    let requeues = view.recording.events.iter().filter(|event| event.kind == EventKind::Requeue);
    requeues.min_by_key(|event| event.t_ns)?.burst_packet.map(|packet| packet as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::{Event, Recording};

    #[test]
    fn the_earliest_requeue_counts() {
        let event = |t_ns, packet| Event {
            t_ns,
            kind: EventKind::Requeue,
            flow: None,
            host: Some("sender".into()),
            detail: "no transmit descriptor".into(),
            burst_packet: Some(packet),
        };
        let recording = Recording { events: vec![event(9, 700), event(5, 512)], ..Recording::default() };
        assert_eq!(first_requeue(&View::new(&recording).unwrap()), Some(512.0));
        assert_eq!(first_requeue(&View::new(&Recording::default()).unwrap()), None);
    }
}
