//! Two namespaces with a pair of interfaces between them, whose packets are each received by a core of their own.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use wirespeed_scenario::run::Offloads;
use wirespeed_topology::device::{self, Port};
use wirespeed_topology::namespace::Namespace;
use wirespeed_topology::netlink::Netlink;
use wirespeed_topology::steering;

use crate::setting::Setting;

/// Addresses of sender and receiver.
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
/// Names of their interfaces.
const DEVICES: [&str; 2] = ["right", "left"];
const PORT: u16 = 5001;
/// `ether_setup`.
const TXQUEUELEN: u32 = 1000;

/// The pair.
pub struct Pair {
    /// Sender's and receiver's.
    namespaces: [Namespace; 2],
}

impl Pair {
    /// Builds it. `scratch` is an empty folder in a mount namespace of our own. Packets to the sender are received by the first core
    /// that this thread may use, those to the receiver by the second.
    ///
    /// # Errors
    /// Those of namespaces and interfaces.
    pub fn build(setting: &Setting, scratch: &Path) -> io::Result<Pair> {
        let namespaces = [Namespace::create()?, Namespace::create()?];
        let mac = |side: usize| [2, 0, 0, 0, 0, side as u8 + 1];
        let port = |side: usize| Port {
            name: DEVICES[side].into(),
            namespace: namespaces[side].raw(),
            mac: mac(side),
            mtu: setting.mtu.get() as u32,
            txqueuelen: TXQUEUELEN,
        };
        device::create_pair(&mut Netlink::open()?, &[port(0), port(1)])?;
        for side in 0..2 {
            namespaces[side].within(|| {
                let mut netlink = Netlink::open()?;
                let listed = device::list(&mut netlink)?;
                let index = |name: &str| {
                    let found = listed.iter().find(|found| *found.device.name == *name);
                    found.map(|found| found.device.index).ok_or_else(|| io::Error::other("no interface"))
                };
                device::up(&mut netlink, index("lo")?)?;
                let (own, gso) = (index(DEVICES[side])?, setting.gso);
                device::set_offloads(DEVICES[side], Offloads { tso: gso, gso, gro: false })?;
                device::add_address(&mut netlink, own, ADDRESSES[side])?;
                device::up(&mut netlink, own)?;
                device::add_neighbour(&mut netlink, own, ADDRESSES[1 - side], mac(1 - side))?;
                steering::steer(scratch, side, [DEVICES[side]])
            })?;
        }
        Ok(Pair { namespaces })
    }

    /// The namespaces of sender and receiver.
    pub fn namespaces(&self) -> [&Namespace; 2] {
        self.namespaces.each_ref()
    }

    /// Connections from the sender to the receiver.
    ///
    /// # Errors
    /// Those of the sockets.
    pub fn connect(&self, flows: u32) -> io::Result<Vec<[TcpStream; 2]>> {
        let [sender, receiver] = &self.namespaces;
        let address = SocketAddr::from((ADDRESSES[1], PORT));
        let listener = receiver.within(|| TcpListener::bind(address))?;
        let connect = |_| {
            let writes = sender.within(|| TcpStream::connect(address))?;
            let (reads, _) = listener.accept()?;
            Ok([writes, reads])
        };
        (0..flows).map(connect).collect()
    }
}
