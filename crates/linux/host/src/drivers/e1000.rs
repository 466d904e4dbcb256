use super::*;

/// Intel 82540 to 82547. The device's counters are those that its successor has, under the same names.
pub const DRIVER: Driver = Driver {
    name: "e1000",
    about: "Intel 82540 to 82547; the interface that many virtual machines emulate",
    documented: "Linux 6.12: e1000/e1000_ethtool.c, e1000/e1000_main.c",
    rows: e1000e::DRIVER.rows,
    link: e1000e::DRIVER.link,
};
