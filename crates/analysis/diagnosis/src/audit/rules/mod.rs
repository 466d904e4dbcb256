//! The rules, one file a subject.

mod clock;
mod congestion;
mod flows;
mod interrupts;
mod link;
mod managers;
mod offloads;
mod pcie;
mod placement;
mod power;
mod protocol;
mod queues;
mod rings;
mod sockets;
mod virtual_machine;

use super::rule::Rule;

/// All rules by subject, in the order of a page.
pub(super) const SUBJECTS: &[(&str, &[Rule])] = &[
    ("Path and flows", flows::RULES),
    ("Socket buffers", sockets::RULES),
    ("TCP options", protocol::RULES),
    ("Congestion control", congestion::RULES),
    ("Queues", queues::RULES),
    ("Rings", rings::RULES),
    ("Offloads", offloads::RULES),
    ("Interrupts", interrupts::RULES),
    ("Placement", placement::RULES),
    ("Power", power::RULES),
    ("PCI Express", pcie::RULES),
    ("Clock", clock::RULES),
    ("Link", link::RULES),
    ("Managers", managers::RULES),
    ("Virtual machines", virtual_machine::RULES),
];

/// Rate in bit/s from which the work of a core for each packet matters: half of the 10 Gbit/s of cornell-2010.
const FAST_BPS: u64 = 5_000_000_000;

/// Rate in bit/s from which the placement on cores matters: one flow with an MTU of 1500 fills a core (kit-2019).
const PLACED_BPS: u64 = super::needs::CORE_1500_BPS;
