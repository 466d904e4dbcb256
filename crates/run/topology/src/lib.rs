//! Builds the path of a run on a Linux kernel: network namespaces, veth pairs, addresses, routes, queueing disciplines and
//! CPU steering, all by netlink. [`world`] builds a whole [`wirespeed_scenario::layout::Layout`].

pub mod departure;
pub mod device;
pub mod line;
pub mod namespace;
pub mod netlink;
pub mod qdisc;
pub mod steering;
pub mod tunnel;
pub mod world;
