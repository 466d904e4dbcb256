//! The sections of the grid, a file each; [`super::section::sections`] is their table.

pub mod beside;
pub mod changing;
pub mod fast;
pub mod finite;
pub mod high_rates;
pub mod hosts;
pub mod moderated;
pub mod paths;
pub mod reordering;
pub mod sender_interface;

use super::bar::{Bar, Rule};

/// The stated agreement of the sections in which flows share one link.
const SHARED_LINK: [Bar; 5] = [
    Bar::new("goodput_bps", Rule::Within { tolerance: 0.10, least_share: 0.95 }),
    Bar::new("goodput_bps", Rule::MedianError { most: 0.01 }),
    Bar::new("rtt_mean_ns", Rule::Within { tolerance: 0.10, least_share: 0.90 }),
    Bar::new("jain_index", Rule::Near { distance: 0.05, least_share: 0.90 }),
    Bar::new("retransmissions_packets", Rule::Within { tolerance: 0.30, least_share: 0.90 }),
];
