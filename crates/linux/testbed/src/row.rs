//! A row of hosts.

use crate::{CommandError, run};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Hosts in a row: two ends with routers between them. Link `i` joins interface `right` of host `i` with interface
/// `left` of host `i + 1`. Its network is `10.77.i.0/24`, with 1 at its left end and 2 at its right end.
#[derive(Debug)]
pub struct Row {
    names: Vec<String>,
    /// Interfaces for the only link of two hosts; without, veth pairs are made.
    interfaces: Option<[String; 2]>,
}

/// The IPv4 address of an end of link `link`: `10.77.LINK.END`.
pub const fn address(link: u8, end: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, link, end)
}

/// The IPv6 address of an end of link `link`, after [`Row::add_ipv6`]: `fd77:0:0:LINK::END`.
pub const fn address_v6(link: u8, end: u8) -> Ipv6Addr {
    Ipv6Addr::new(0xfd77, 0, 0, link as u16, 0, 0, 0, end as u16)
}

/// The file of a namespace of ip-netns(8).
pub(crate) fn path(name: &str) -> String {
    format!("/var/run/netns/{name}")
}

impl Row {
    /// So many hosts, at least two, joined by veth pairs.
    ///
    /// # Errors
    /// If this machine does not allow namespaces, or has no program `ip`.
    pub fn new(hosts: usize) -> Result<Row, CommandError> {
        Row::build(hosts, None)
    }

    /// Two hosts with one interface of this machine each. The interfaces return to this machine when the row is dropped.
    ///
    /// # Errors
    /// As [`Row::new`], and if an interface cannot be moved.
    pub fn between(interfaces: [String; 2]) -> Result<Row, CommandError> {
        Row::build(2, Some(interfaces))
    }

    fn build(hosts: usize, interfaces: Option<[String; 2]>) -> Result<Row, CommandError> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = |index: usize| format!("ws{}-{number}-{index}", std::process::id());
        let row = Row { names: (0..hosts).map(name).collect(), interfaces };
        for name in &row.names {
            run("ip", &["netns", "add", name])?;
            // Only packets of the test: no router solicitations.
            for set in ["default", "all"] {
                row.inside(name, &format!("echo 1 > /proc/sys/net/ipv6/conf/{set}/disable_ipv6"))?;
            }
        }
        for link in 0..row.links() {
            row.join(link)?;
        }
        for (index, name) in row.names.iter().enumerate() {
            run("ip", &["-n", name, "link", "set", "lo", "up"])?;
            if row.is_router(index) {
                row.inside(name, "echo 1 > /proc/sys/net/ipv4/ip_forward")?;
            }
            row.add_routes(index, |link, end| address(link, end).to_string(), 24)?;
        }
        Ok(row)
    }

    fn links(&self) -> usize {
        self.names.len() - 1
    }

    fn is_router(&self, index: usize) -> bool {
        (1..self.links()).contains(&index)
    }

    /// Makes a link, with addresses and neighbour entries at both ends.
    fn join(&self, link: usize) -> Result<(), CommandError> {
        let ends = self.ends(link);
        match &self.interfaces {
            Some(interfaces) => {
                for ((name, end), interface) in ends.into_iter().zip(interfaces) {
                    run("ip", &["link", "set", interface, "down"])?;
                    run("ip", &["link", "set", interface, "name", end, "netns", name])?;
                }
            }
            None => {
                let [(left, _), (right, _)] = ends;
                let [at_left, at_right] = [1, 2].map(|end| format!("02:00:00:00:{link:02x}:0{end}"));
                let pair = ["type", "veth", "peer", "name", "left", "netns", right, "address", &at_right];
                run("ip", &[&["-n", left, "link", "add", "right", "address", &at_left][..], &pair].concat())?;
            }
        }
        for (number, (name, interface)) in ends.into_iter().enumerate() {
            let own = format!("{}/24", address(link as u8, number as u8 + 1));
            run("ip", &["-n", name, "addr", "add", &own, "dev", interface])?;
            run("ip", &["-n", name, "link", "set", interface, "up"])?;
        }
        self.add_neighbours(link, |end| address(link as u8, end).to_string())
    }

    /// The hosts of a link with their interfaces, left end first.
    fn ends(&self, link: usize) -> [(&str, &'static str); 2] {
        [(&self.names[link], "right"), (&self.names[link + 1], "left")]
    }

    /// Fixed entries, so that no resolution delays the first packet of a test.
    fn add_neighbours(&self, link: usize, address: impl Fn(u8) -> String) -> Result<(), CommandError> {
        let ends = self.ends(link);
        for (own, other, end) in [(ends[0], ends[1], 2), (ends[1], ends[0], 1)] {
            let mac = self.output(other.0, &format!("cat /sys/class/net/{}/address", other.1))?;
            let entry = ["neigh", "replace", &address(end), "lladdr", mac.trim(), "dev", own.1];
            run("ip", &[&["-n", own.0][..], &entry].concat())?;
        }
        Ok(())
    }

    /// Routes to the networks that a host has no interface in: those further right to the right, others to the left.
    fn add_routes(
        &self,
        index: usize,
        address: impl Fn(u8, u8) -> String,
        prefix: u8,
    ) -> Result<(), CommandError> {
        for network in 0..self.links() {
            let gateway = match network {
                network if network > index => address(index as u8, 2),
                network if network + 1 < index => address(index as u8 - 1, 1),
                _ => continue,
            };
            let destination = format!("{}/{prefix}", address(network as u8, 0));
            run("ip", &["-n", &self.names[index], "route", "add", &destination, "via", &gateway])?;
        }
        Ok(())
    }

    /// Adds addresses, routes and neighbour entries of IPv6.
    ///
    /// # Errors
    /// If the kernel has no IPv6.
    pub fn add_ipv6(&self) -> Result<(), CommandError> {
        for link in 0..self.links() {
            for (number, (name, interface)) in self.ends(link).into_iter().enumerate() {
                let own = address_v6(link as u8, number as u8 + 1);
                for set in ["lo", interface] {
                    self.inside(name, &format!("echo 0 > /proc/sys/net/ipv6/conf/{set}/disable_ipv6"))?;
                }
                let own = format!("{own}/64");
                run("ip", &["-n", name, "addr", "add", &own, "dev", interface, "nodad"])?;
            }
            self.add_neighbours(link, |end| address_v6(link as u8, end).to_string())?;
        }
        for (index, name) in self.names.iter().enumerate() {
            if self.is_router(index) {
                self.inside(name, "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding")?;
            }
            self.add_routes(index, |link, end| address_v6(link, end).to_string(), 64)?;
        }
        Ok(())
    }

    /// The name of a host by its place in the row; a negative place counts from the right end.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn name(&self, place: isize) -> &str {
        let index = if place < 0 { self.names.len() as isize + place } else { place };
        &self.names[index as usize]
    }

    /// The names of all hosts, from left to right.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The address of the left end for place 0, otherwise of the right end.
    pub fn end(&self, place: isize) -> Ipv4Addr {
        if place == 0 { address(0, 1) } else { address(self.links() as u8 - 1, 2) }
    }

    /// The same for IPv6, after [`Row::add_ipv6`].
    pub fn end_v6(&self, place: isize) -> Ipv6Addr {
        if place == 0 { address_v6(0, 1) } else { address_v6(self.links() as u8 - 1, 2) }
    }

    /// Runs a shell command on a host as root; the first command that fails ends it.
    ///
    /// # Errors
    /// If it fails.
    pub fn inside(&self, name: &str, script: &str) -> Result<(), CommandError> {
        self.output(name, script).map(drop)
    }

    /// The output of a shell command on a host.
    ///
    /// # Errors
    /// If it fails.
    pub fn output(&self, name: &str, script: &str) -> Result<String, CommandError> {
        run("ip", &["netns", "exec", name, "sh", "-ec", script])
    }

    /// The number of a namespace in the kernel (`struct ns_common`, `inum`).
    ///
    /// # Panics
    /// If the namespace is gone.
    pub fn inode(&self, name: &str) -> u32 {
        std::fs::metadata(path(name)).expect("the namespace exists").ino() as u32
    }

    /// A counter of /proc/net/snmp or /proc/net/netstat on a host, such as `Tcp` and `RetransSegs`. `None` if the kernel
    /// has no such counter, as those before 6.17 have no `BeyondWindow`.
    ///
    /// # Panics
    /// If the files cannot be read.
    pub fn counter(&self, name: &str, protocol: &str, counter: &str) -> Option<i64> {
        let text = self.output(name, "cat /proc/net/snmp /proc/net/netstat").expect("proc is mounted");
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(&format!("{protocol}: ")));
        let (heads, values) = (lines.next()?, lines.next()?);
        let place = heads.split(' ').position(|head| head == counter)?;
        values.split(' ').nth(place)?.parse().ok()
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = run("ip", &["netns", "del", name]);
        }
    }
}
