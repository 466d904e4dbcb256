//! The ends of a link with forward error correction. The router before the link has a TUN device that takes the packets, and a packet
//! socket that sends frames over the link. The router behind it has a packet socket that receives them, and a TUN device for the
//! packets that leave it.

use crate::device;
use crate::netlink::Netlink;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use wirespeed_fec::{NAME, REPAIR_HEADER};
use wirespeed_scenario::run::Fec;
use wirespeed_units::Bytes;

/// EtherType of frames on a protected link: the first one for local experiments (IEEE 802). The kernel passes on no such frame
/// by itself, and the packet socket gets it.
pub const ETHERTYPE: u16 = 0x88b5;

/// Packets that wait for the encoder at most: the largest queue of an interface (S16_MAX in dev_change_tx_queue_len, net/core/dev.c). A
/// burst comes at one instant in virtual time, and in real time the encoder may be late.
const ROOM: u32 = 32_767;
/// The largest buffer of a socket. Packets in a link belong to the sending socket until they arrive.
const SOCKET_BUFFER: i32 = i32::MAX / 2;

/// A direction with forward error correction.
#[derive(Debug, Clone)]
pub struct Protected {
    /// Name of its queue in the recording.
    pub queue: String,
    /// Its settings.
    pub fec: Fec,
}

/// One end of a protected link.
#[derive(Debug)]
pub struct TunnelEnd {
    /// The TUN device. It has packets of the direction that leaves here, and takes those that came.
    pub device: File,
    /// Sends and receives frames of [`ETHERTYPE`] on the link.
    pub link: OwnedFd,
    /// Ethernet address of the other end.
    pub peer: [u8; 6],
    /// The direction that leaves here, if it is protected.
    pub encodes: Option<Protected>,
    /// The direction that ends here, if it is protected.
    pub decodes: Option<Protected>,
}

/// Settings of a tunnel end.
pub(crate) struct Plan<'a> {
    /// Name of the TUN device.
    pub name: &'a str,
    /// Number of the interface to the link.
    pub index: u32,
    /// Ethernet address of the other end.
    pub peer: [u8; 6],
    /// MTU of the hosts.
    pub mtu: u32,
    pub encodes: Option<Protected>,
    pub decodes: Option<Protected>,
}

/// Bytes by which the largest repair packet of a direction exceeds the largest packet.
pub fn repair_overhead(fec: &Fec) -> Bytes {
    Bytes::new(u64::from(REPAIR_HEADER + NAME * fec.data))
}

/// Makes an end in the calling thread's namespace. Returns it with the number of its TUN device.
///
/// # Errors
/// The refusal of the kernel, and the remedy.
pub(crate) fn build(netlink: &mut Netlink, plan: Plan) -> io::Result<(TunnelEnd, u32)> {
    let name = plan.name;
    let device = open_device(name)?;
    let listed = device::list(netlink)?;
    let found = listed.iter().find(|listed| *listed.device.name == *name);
    let index = found.ok_or_else(|| io::Error::other(format!("{name} was not made")))?.device.index;
    device::set_room(netlink, index, plan.mtu, ROOM)?;
    device::up(netlink, index)?;
    let link = open_link(plan.index)?;
    let Plan { peer, encodes, decodes, .. } = plan;
    Ok((TunnelEnd { device, link, peer, encodes, decodes }, index))
}

/// Whether an end can be made in the calling thread's namespace.
///
/// # Errors
/// The refusal of the kernel, and the remedy.
pub fn try_out() -> io::Result<()> {
    open_device("try-fec")?;
    packet_socket().map(drop)
}

/// A TUN device of that name (Documentation/networking/tuntap.rst). It vanishes with its file.
fn open_device(name: &str) -> io::Result<File> {
    const PATH: &str = "/dev/net/tun";
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{PATH}: {error}"));
    let device = File::options().read(true).write(true).open(PATH).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), format!("{PATH}: {error}; load the module with `modprobe tun`"))
        }
        _ => named(error),
    })?;
    // SAFETY: zeros are a valid ifreq.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the request outlives the call.
    match unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } {
        0 => Ok(device),
        _ => Err(named(io::Error::last_os_error())),
    }
}

/// A packet socket whose buffers never make it wait.
fn packet_socket() -> io::Result<OwnedFd> {
    // SAFETY: takes no pointers. Protocol 0: it receives nothing before it is bound.
    let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and ours.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let buffer = SOCKET_BUFFER;
    for option in [libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE] {
        // SAFETY: the value outlives the call.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                option,
                (&raw const buffer).cast(),
                mem::size_of_val(&buffer) as libc::socklen_t,
            )
        };
        if result != 0 {
            let error = io::Error::last_os_error();
            return Err(io::Error::new(
                error.kind(),
                format!("buffer of a packet socket: {error}; run it as root"),
            ));
        }
    }
    Ok(socket)
}

fn open_link(index: u32) -> io::Result<OwnedFd> {
    let socket = packet_socket()?;
    // SAFETY: zeros are a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::sa_family_t;
    address.sll_protocol = ETHERTYPE.to_be();
    address.sll_ifindex = index as i32;
    // SAFETY: the address has the length given.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            mem::size_of_val(&address) as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(socket),
        _ => Err(io::Error::last_os_error()),
    }
}
