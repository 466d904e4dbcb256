//! TCP as Linux 6.12 does it.

pub mod clock;
pub mod rate;
pub mod receiver;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
