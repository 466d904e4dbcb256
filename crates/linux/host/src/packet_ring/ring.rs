//! The socket, and the memory that it shares with the kernel.

use super::{FilterInstruction, LinkLayer, LiveSettings};
use std::ffi::CString;
use std::io;
use std::mem::{self, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Bytes of a block. The kernel hands over a block when it is full, or after a while.
pub(super) const BLOCK_BYTES: usize = 1 << 20;
/// Bytes of the ring that a packet takes besides its own: header, address and alignment.
pub(super) const HEADER_BYTES: usize = 82;
/// Milliseconds after which the kernel hands over a block that is not full.
const RETIRE_MS: u32 = 10;
const ETH_P_ALL: u16 = libc::ETH_P_ALL as u16;
const ETH_P_IP: u16 = libc::ETH_P_IP as u16;
const ETH_P_IPV6: u16 = libc::ETH_P_IPV6 as u16;

/// Direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketType {
    Incoming,
    Outgoing,
}

/// A packet in the ring.
pub(super) struct Packet<'a> {
    /// Since the Unix epoch.
    pub time_ns: u64,
    pub wire_bytes: u32,
    pub bytes: &'a [u8],
    pub kind: PacketType,
}

pub(super) struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    blocks: usize,
    next: usize,
    hardware: u16,
    snaplen: usize,
}

// SAFETY: the memory belongs to the ring alone, and is used through `&mut self` only.
unsafe impl Send for Ring {}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn set_option<T>(socket: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for reads of `length` bytes during the call.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, ptr::from_ref(value).cast(), length) };
    check(result).map(drop)
}

impl Ring {
    pub(super) fn open(settings: &LiveSettings) -> io::Result<Ring> {
        let (index, hardware) = interface(&settings.interface)?;
        let kind = match of_hardware(hardware) {
            LinkLayer::Ethernet => libc::SOCK_RAW,
            LinkLayer::Ip => libc::SOCK_DGRAM,
        };
        // With protocol 0 nothing comes before the filter and the ring are there.
        // SAFETY: takes no pointers.
        let socket = check(unsafe { libc::socket(libc::AF_PACKET, kind | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: the descriptor is new, and owned by nothing else.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        attach_filter(&socket, settings)?;
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        let blocks = settings.ring_bytes.div_ceil(BLOCK_BYTES).max(2);
        let frame_bytes = 2048;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: u32::try_from(blocks).map_err(io::Error::other)?,
            tp_frame_size: frame_bytes as u32,
            tp_frame_nr: (blocks * (BLOCK_BYTES / frame_bytes)) as u32,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set_option(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping at an address that the kernel chooses, as long as the ring.
        let memory = unsafe {
            libc::mmap(
                ptr::null_mut(),
                blocks * BLOCK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory =
            NonNull::new(memory.cast()).ok_or_else(|| io::Error::other("the ring is at address 0"))?;
        let snaplen = settings.snaplen as usize;
        let ring = Ring { socket, memory, blocks, next: 0, hardware, snaplen };
        ring.bind(index)?;
        Ok(ring)
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: all-zero is a valid address.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ETH_P_ALL.to_be();
        address.sll_ifindex = index as i32;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `address` is valid for reads of `length` bytes.
        check(unsafe { libc::bind(self.socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) })?;
        // An interface that is down is an error of the socket.
        self.take_error()
    }

    pub(super) fn link_layer(&self) -> LinkLayer {
        of_hardware(self.hardware)
    }

    fn has_ethernet(&self) -> bool {
        self.link_layer() == LinkLayer::Ethernet
    }

    /// The pending error of the socket, such as an interface that was set down.
    fn take_error(&self) -> io::Result<()> {
        let mut error: libc::c_int = 0;
        let mut length = size_of::<libc::c_int>() as libc::socklen_t;
        // SAFETY: `error` is valid for writes of `length` bytes.
        check(unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                ptr::from_mut(&mut error).cast(),
                &mut length,
            )
        })?;
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    pub(super) fn is_loopback(&self) -> bool {
        self.hardware == libc::ARPHRD_LOOPBACK
    }

    /// Gives all packets of the next block to `use_packet`; `false` if none was there within `wait`.
    pub(super) fn next_block(
        &mut self,
        wait: Duration,
        mut use_packet: impl FnMut(Packet<'_>),
    ) -> io::Result<bool> {
        // SAFETY: `next` is below the number of blocks that are mapped.
        let block = unsafe { self.memory.as_ptr().add(self.next * BLOCK_BYTES) };
        let header = mem::offset_of!(libc::tpacket_block_desc, hdr);
        let status = header + mem::offset_of!(libc::tpacket_hdr_v1, block_status);
        // SAFETY: the block begins with its header, aligned to a page, and the kernel changes this word atomically.
        let status = unsafe { AtomicU32::from_ptr(block.add(status).cast()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            self.wait(wait)?;
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return Ok(false);
            }
        }
        // SAFETY: the block is ours until its status is given back, so the kernel does not write to it meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts(block, BLOCK_BYTES) };
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let count = word(header + mem::offset_of!(libc::tpacket_hdr_v1, num_pkts));
        let mut at = word(header + mem::offset_of!(libc::tpacket_hdr_v1, offset_to_first_pkt)) as usize;
        for _ in 0..count {
            let Some(slot) = bytes.get(at..) else { break };
            if let Some(packet) = self.packet(slot) {
                use_packet(packet);
            }
            let next = word(at + mem::offset_of!(libc::tpacket3_hdr, tp_next_offset)) as usize;
            if next == 0 {
                break;
            }
            at += next;
        }
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        Ok(true)
    }

    /// The packet in a slot of a block, unless it is of no interest.
    fn packet<'a>(&self, slot: &'a [u8]) -> Option<Packet<'a>> {
        let u16_at = |at: usize| Some(u16::from_ne_bytes(slot.get(at..at + 2)?.try_into().ok()?));
        let u32_at = |at: usize| Some(u32::from_ne_bytes(slot.get(at..at + 4)?.try_into().ok()?));
        let seconds = u32_at(mem::offset_of!(libc::tpacket3_hdr, tp_sec))?;
        let nanoseconds = u32_at(mem::offset_of!(libc::tpacket3_hdr, tp_nsec))?;
        let kept = u32_at(mem::offset_of!(libc::tpacket3_hdr, tp_snaplen))? as usize;
        let start = usize::from(u16_at(mem::offset_of!(libc::tpacket3_hdr, tp_mac))?);
        // The address follows the header (TPACKET_ALIGN of 16).
        let address = size_of::<libc::tpacket3_hdr>().next_multiple_of(16);
        let protocol = u16::from_be(u16_at(address + mem::offset_of!(libc::sockaddr_ll, sll_protocol))?);
        if !self.has_ethernet() && protocol != ETH_P_IP && protocol != ETH_P_IPV6 {
            return None;
        }
        let kind = *slot.get(address + mem::offset_of!(libc::sockaddr_ll, sll_pkttype))?;
        Some(Packet {
            time_ns: u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds),
            wire_bytes: u32_at(mem::offset_of!(libc::tpacket3_hdr, tp_len))?,
            bytes: slot.get(start..start + kept.min(self.snaplen))?,
            kind: if kind == libc::PACKET_OUTGOING { PacketType::Outgoing } else { PacketType::Incoming },
        })
    }

    fn wait(&self, longest: Duration) -> io::Result<()> {
        let mut poll = libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let milliseconds = i32::try_from(longest.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one descriptor, valid during the call.
        match check(unsafe { libc::poll(&mut poll, 1, milliseconds) }) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            // Without it, each wait would end at once.
            _ if poll.revents & libc::POLLERR != 0 => self.take_error(),
            _ => Ok(()),
        }
    }

    /// From now on no packet enters the ring.
    pub(super) fn reject_all(&self) -> io::Result<()> {
        let reject = FilterInstruction { code: RETURN_CONSTANT, jump_true: 0, jump_false: 0, operand: 0 };
        attach_program(&self.socket, &[reject], 0)
    }

    /// Packets received, with those dropped, and dropped. The kernel counts from the last call on.
    pub(super) fn take_counters(&self) -> io::Result<(u64, u64)> {
        let mut counters = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut length = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
        // SAFETY: `counters` is valid for writes of `length` bytes.
        check(unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                ptr::from_mut(&mut counters).cast(),
                &mut length,
            )
        })?;
        Ok((counters.tp_packets.into(), counters.tp_drops.into()))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping of `open`, of the same length, that nothing refers to any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.blocks * BLOCK_BYTES) };
    }
}

fn of_hardware(hardware: u16) -> LinkLayer {
    match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => LinkLayer::Ethernet,
        _ => LinkLayer::Ip,
    }
}

/// Form of the packets of an interface.
pub(super) fn link_layer(name: &str) -> io::Result<LinkLayer> {
    interface(name).map(|(_, hardware)| of_hardware(hardware))
}

/// Number and kind of an interface.
fn interface(name: &str) -> io::Result<(u32, u16)> {
    let named = CString::new(name).map_err(io::Error::other)?;
    // SAFETY: `named` ends with a zero.
    let index = unsafe { libc::if_nametoindex(named.as_ptr()) };
    if index == 0 {
        // The kernel calls it a missing device; no file is meant.
        let reason = format!("there is no interface {name}");
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    Ok((index, hardware(&named)?))
}

/// Processor time of this process.
pub(super) fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write; every Linux has the clock.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Kind of hardware of an interface (`ARPHRD_...`).
fn hardware(name: &CString) -> io::Result<u16> {
    // SAFETY: takes no pointers.
    let socket = check(unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor is new, and owned by nothing else.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: all-zero is a valid request.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (place, byte) in request.ifr_name.iter_mut().zip(name.as_bytes_with_nul()) {
        *place = *byte as libc::c_char;
    }
    // SAFETY: the request is valid for reads and writes, and has the name of an interface.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR as _, &mut request) })?;
    // SAFETY: the kernel has filled in the address.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

const RETURN_CONSTANT: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

fn attach_filter(socket: &OwnedFd, settings: &LiveSettings) -> io::Result<()> {
    let accept_all =
        [FilterInstruction { code: RETURN_CONSTANT, jump_true: 0, jump_false: 0, operand: u32::MAX }];
    let program = settings.filter.as_ref().map_or(accept_all.as_slice(), |filter| &filter.program);
    attach_program(socket, program, settings.snaplen)
}

/// Attaches a program that returns at most the snapshot length, so that the kernel copies no more.
fn attach_program(socket: &OwnedFd, program: &[FilterInstruction], snaplen: u32) -> io::Result<()> {
    let instruction = |instruction: &FilterInstruction| libc::sock_filter {
        code: instruction.code,
        jt: instruction.jump_true,
        jf: instruction.jump_false,
        k: match instruction.code {
            RETURN_CONSTANT => instruction.operand.min(snaplen),
            _ => instruction.operand,
        },
    };
    let mut instructions: Vec<_> = program.iter().map(instruction).collect();
    let length = u16::try_from(instructions.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: instructions.as_mut_ptr() };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}
