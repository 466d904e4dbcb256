//! The path between hosts: trains of packets, links with their queues, losses and marks.

mod arrivals;
mod bucket;
mod causes;
mod changing;
mod codel;
mod delayed;
mod dual_pi2;
mod fec;
mod fifo;
mod fq;
mod fq_codel;
mod inbox;
mod join;
mod link;
mod loss;
mod packed;
mod propagation;
mod ptr_ring;
mod random;
mod red;
mod served;
mod settings;
mod store;
mod tap;
mod timetable;
mod train;
mod transmitter;
mod wire;

#[cfg(test)]
mod tests;

pub use causes::Causes;
pub use codel::Dropped;
pub use dual_pi2::ServedByClass;
pub use join::InFlight;
pub use link::{Link, LinkStatistics};
pub use random::Random;
pub use served::{Delays, Served};
pub use settings::{
    ChangeSettings, CoDelSettings, DualPi2Settings, DuplicateSettings, FecSettings, FqCodelSettings,
    FqSettings, HostQueue, LinkSettings, LossSettings, PolicerSettings, PortLimitSettings, QueueSettings,
    RedSettings, ReorderSettings, StepSettings,
};
pub use tap::{Addressing, Tap};
pub use train::{Ack, Arrival, Blocks, Body, Data, Ecn, MarksCounted, PayloadCounted, Sack, Step, Train};
