//! Statistics that every interface has (rtnetlink, `struct rtnl_link_stats64`).

use super::row_of;
use crate::collector::Collector;
use crate::drivers;
use crate::netlink::{Request, attributes, find, messages, text, u32_at, u64_at};
use crate::reading::{CounterMeaning, Device, Place, Row, Unit, Way, row};
use crate::root::Root;
use crate::source::Source;
use wirespeed_record::Stage;

/// The source `link`.
pub struct Link;

const NAME: &str = "link";

/// In the order of `struct rtnl_link_stats64` (linux/if_link.h). Drivers fill it from counters of their own; where
/// their table says which, the driver's counter is the one to count.
const ROWS: &[Row] = &[
    row("rx_packets", CounterMeaning::packets(Way::Rx)),
    row("tx_packets", CounterMeaning::packets(Way::Tx)),
    row("rx_bytes", CounterMeaning::bytes(Way::Rx)),
    row("tx_bytes", CounterMeaning::bytes(Way::Tx)),
    row("rx_errors", CounterMeaning::lost(Way::Rx)).duplicate_of(&["link/rx_crc_errors"]).about("sum of rx_*_errors and more"),
    row("tx_errors", CounterMeaning::lost(Way::Tx)).duplicate_of(&["link/tx_carrier_errors"]).about("sum of tx_*_errors and more"),
    row("rx_dropped", CounterMeaning::lost(Way::Rx)).about(
        "dropped by driver or stack: for want of memory or of a protocol that wants it, by a full softnet backlog; parts \
         stand elsewhere, so it has no stage",
    ),
    row("tx_dropped", CounterMeaning::lost(Way::Tx)).about("dropped by driver or stack on the way to the device"),
    row("multicast", CounterMeaning::packets(Way::Rx)),
    row("collisions", CounterMeaning::hint().tx()).about("half duplex only"),
    row("rx_length_errors", CounterMeaning::loss(Stage::Network, Way::Rx)).about("frames of wrong length"),
    row("rx_over_errors", CounterMeaning::loss(Stage::RxRing, Way::Rx).unit(Unit::Events)).about("overflows of the receiver, an older name"),
    row("rx_crc_errors", CounterMeaning::loss(Stage::Network, Way::Rx)).about("frames with a wrong checksum: the line damages them"),
    row("rx_frame_errors", CounterMeaning::loss(Stage::Network, Way::Rx)).about("frames with bits left over"),
    row("rx_fifo_errors", CounterMeaning::loss(Stage::RxRing, Way::Rx).unit(Unit::Events))
        .duplicate_of(&["link/rx_over_errors"])
        .about("overflows of the receiver, the same as rx_over_errors on many drivers"),
    row("rx_missed_errors", CounterMeaning::loss(Stage::RxRing, Way::Rx)).about("the device had no room: the host is too slow"),
    row("tx_aborted_errors", CounterMeaning::loss(Stage::TxRing, Way::Tx)).about("given up by the device"),
    row("tx_carrier_errors", CounterMeaning::loss(Stage::Network, Way::Tx)).about("the link was down"),
    row("tx_fifo_errors", CounterMeaning::loss(Stage::TxRing, Way::Tx)).about("the device ran dry inside a frame"),
    row("tx_heartbeat_errors", CounterMeaning::hint().tx()),
    row("tx_window_errors", CounterMeaning::loss(Stage::Network, Way::Tx)).about("late collisions"),
    row("rx_compressed", CounterMeaning::packets(Way::Rx)),
    row("tx_compressed", CounterMeaning::packets(Way::Tx)),
    row("rx_nohandler", CounterMeaning::lost(Way::Rx)).about("the interface is not meant to receive"),
    row("rx_otherhost_dropped", CounterMeaning::lost(Way::Rx)).about("for another Ethernet address"),
];

impl Source for Link {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "statistics that every interface has, by rtnetlink (RTM_GETLINK, IFLA_STATS64)"
    }

    fn needs(&self) -> &'static str {
        "nothing"
    }

    fn documented(&self) -> &'static str {
        "include/uapi/linux/if_link.h, Documentation/networking/statistics.rst"
    }

    fn rows(&self) -> &'static [Row] {
        ROWS
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        let interfaces = match root.interfaces() {
            Ok(interfaces) => interfaces,
            Err(error) => return into.unavailable(NAME, "interfaces", &error, "a kernel with rtnetlink"),
        };
        for interface in interfaces {
            let driver = root.driver(interface.device.index, &interface.device.name);
            let own = driver.as_deref().and_then(drivers::driver).map_or(&[][..], |driver| driver.link);
            for (row, value) in ROWS.iter().zip(interface.statistics) {
                let row = row_of(own, row.pattern).unwrap_or(row);
                into.push_row(NAME, Place::Device(interface.device.clone()), row.pattern, value, Some(row));
            }
        }
    }
}

/// An interface as the kernel lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Index and name.
    pub device: Device,
    /// The device of the bus it belongs to, e.g. `0000:3b:00.0` or `virtio2`; `None` for a virtual one.
    pub parent: Option<String>,
    /// Its counters, in the order of `struct rtnl_link_stats64`: as many as the kernel has.
    pub statistics: Vec<u64>,
}

impl Interface {
    /// A counter by its name in `struct rtnl_link_stats64`; 0 if the kernel has not got it.
    pub fn statistic(&self, name: &str) -> u64 {
        let at = ROWS.iter().position(|row| row.pattern == name);
        at.and_then(|at| self.statistics.get(at)).copied().unwrap_or(0)
    }
}

/// The names of the counters, in the order of `struct rtnl_link_stats64`.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.pattern)
}

/// Asks for all interfaces of the namespace.
pub fn request() -> Request {
    // struct ifinfomsg, all zero: every interface.
    Request::dump("link", libc::NETLINK_ROUTE, libc::RTM_GETLINK, vec![0; IFINFOMSG])
}

/// Bytes of `struct ifinfomsg` (linux/rtnetlink.h).
const IFINFOMSG: usize = 16;

/// Names become parts of paths, and a recorded answer may come from anybody: what the kernel would not take as a name
/// (`dev_valid_name` of net/core/dev.c) is none.
pub(crate) fn is_name(name: &str) -> bool {
    let taken = |c: char| c != '/' && c != ':' && !c.is_whitespace();
    !name.is_empty() && name.len() < libc::IFNAMSIZ && name != "." && name != ".." && name.chars().all(taken)
}

/// The interfaces in an answer to [`request`].
pub fn parse(answer: &[u8]) -> Vec<Interface> {
    const PARENT_DEV_NAME: u16 = 56; // IFLA_PARENT_DEV_NAME
    messages(answer)
        .filter(|message| message.kind == libc::RTM_NEWLINK)
        .filter_map(|message| {
            let index = u32_at(message.payload, 4)?;
            let inside = message.payload.get(IFINFOMSG..)?;
            let name = Some(text(find(inside, libc::IFLA_IFNAME)?)).filter(|name| is_name(name))?;
            let mut statistics = Vec::new();
            let mut parent = None;
            for (kind, value) in attributes(inside) {
                match kind {
                    libc::IFLA_STATS64 => {
                        statistics =
                            value.chunks_exact(8).take(ROWS.len()).filter_map(|w| u64_at(w, 0)).collect();
                    }
                    PARENT_DEV_NAME => parent = Some(text(value)),
                    _ => {}
                }
            }
            Some(Interface { device: Device { index, name: name.into() }, parent, statistics })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path() {
        assert!(is_name("enp3s0f0.100"));
        for name in ["", ".", "..", "../../etc", "a/b", "a b", "0123456789abcdef"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
