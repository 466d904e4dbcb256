//! Queues of an interface, with the CPUs that packets are steered to (RPS, RFS, XPS).

use super::{number, numbered, word};
use crate::root::Root;
use wirespeed_inventory::{CpuSet, Interface, ReceiveQueue, TransmitQueue};

pub(super) fn read(root: &mut Root, interface: &mut Interface) {
    let folder = format!("sys/class/net/{}/queues", interface.name);
    let receive = numbered(root, &folder, "rx-").unwrap_or_default();
    let transmit = numbered(root, &folder, "tx-").unwrap_or_default();
    interface.receive_queues = receive
        .into_iter()
        .map(|queue| ReceiveQueue {
            rps_cpus: mask(root, &format!("{folder}/rx-{queue}/rps_cpus")),
            rps_flow_count: number(root, &format!("{folder}/rx-{queue}/rps_flow_cnt")).unwrap_or(0),
        })
        .collect();
    interface.transmit_queues = transmit
        .into_iter()
        // An interface with one queue has no XPS, and the kernel answers with an error.
        .map(|queue| TransmitQueue { xps_cpus: mask(root, &format!("{folder}/tx-{queue}/xps_cpus")) })
        .collect();
}

fn mask(root: &mut Root, path: &str) -> CpuSet {
    word(root, path).and_then(|text| CpuSet::from_mask(&text).ok()).unwrap_or_default()
}
