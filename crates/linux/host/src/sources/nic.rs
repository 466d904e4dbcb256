//! A driver's own statistics (`ethtool -S`), in the words of its table.

use crate::collector::Collector;
use crate::drivers::{self, Driver};
use crate::reading::{Device, Place, Row};
use crate::root::Root;
use crate::source::Source;

/// The source `ethtool`.
pub struct Ethtool;

const NAME: &str = "ethtool";

impl Source for Ethtool {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "a driver's own statistics (`ethtool -S`; ioctl ETHTOOL_GSTATS), by a table per driver"
    }

    fn needs(&self) -> &'static str {
        "a driver that has any; some cloud drivers give parts of theirs to root only"
    }

    fn documented(&self) -> &'static str {
        "the driver's source and Documentation/networking/device_drivers/ethernet"
    }

    /// Those of unknown drivers; the known ones have tables of their own.
    fn rows(&self) -> &'static [Row] {
        drivers::GENERIC.rows
    }

    fn read(&self, root: &mut Root, into: &mut Collector) {
        let interfaces = match root.interfaces() {
            Ok(interfaces) => interfaces,
            Err(error) => return into.unavailable(NAME, "interfaces", &error, "a kernel with rtnetlink"),
        };
        for interface in interfaces {
            let device = interface.device;
            let driver = root.driver(device.index, &device.name);
            match root.statistics(&device.name) {
                Ok(statistics) => {
                    let driver = driver.as_deref().and_then(drivers::driver).unwrap_or(&drivers::GENERIC);
                    normalise(root, &device, driver, statistics, into);
                }
                // Most virtual interfaces have none, which is not reported.
                Err(error) if driver.is_none() || error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                Err(error) => {
                    into.unavailable(NAME, &*device.name, &error, "read it again, or update the driver")
                }
            }
        }
    }
}

/// Gives the counters of one interface their meaning. Names that the driver sets in belong to the queue whose number
/// stands above them (vmxnet3).
fn normalise(
    root: &mut Root,
    device: &Device,
    driver: &Driver,
    statistics: Vec<(String, u64)>,
    into: &mut Collector,
) {
    const HEADING: &str = "Queue#";
    let mut heading = None;
    for (written, value) in statistics {
        let name = written.trim_start();
        let is_below = name.len() < written.len();
        if !is_below {
            heading = if name.ends_with(HEADING) { u32::try_from(value).ok() } else { None };
        }
        let (row, queue) = match root.meaning(driver.rows, name) {
            Some((row, queue)) => (Some(row), queue),
            None => (None, None),
        };
        let device = device.clone();
        let place = match queue.or(heading) {
            Some(queue) => Place::Queue { device, queue },
            None => Place::Device(device),
        };
        into.push_row(NAME, place, name.to_owned(), value, row);
    }
}
