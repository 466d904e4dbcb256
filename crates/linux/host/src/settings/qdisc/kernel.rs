//! Requests about qdiscs to the kernel (rtnetlink(7), linux/pkt_sched.h).

use super::{INGRESS, Node, Place, ROOT, SettingError, Tree, options};
use crate::netlink::{Connection, attribute, find, messages, text, u32_at};
use std::io;

const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STAB: u16 = 8;
const TCA_INGRESS_BLOCK: u16 = 13;
const TCA_EGRESS_BLOCK: u16 = 14;
/// Bytes of `struct tcmsg`.
const TCMSG: usize = 20;

/// The kind that the kernel gives queues by default; `None` where this namespace cannot see it.
pub fn default_kind() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/net/core/default_qdisc").ok()?;
    Some(text.trim().to_owned())
}

/// The qdiscs of one interface.
pub struct Kernel {
    place: Place,
    interface: String,
    index: i32,
    connection: Connection,
}

impl Kernel {
    /// Opens it.
    pub fn open(place: &Place, interface: &str) -> Result<Kernel, SettingError> {
        let failed = |error| SettingError::of(place, &format!("interface {interface}"), None, error);
        let name =
            std::ffi::CString::new(interface).map_err(|_| failed(io::ErrorKind::InvalidInput.into()))?;
        // SAFETY: the name is a string that ends with NUL and outlives the call.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(failed(io::Error::last_os_error()));
        }
        let connection = Connection::open(libc::NETLINK_ROUTE).map_err(failed)?;
        Ok(Kernel { place: place.clone(), interface: interface.into(), index: index as i32, connection })
    }

    fn header(&self, handle: u32, parent: u32) -> Vec<u8> {
        let mut bytes = vec![0_u8; TCMSG];
        bytes[4..8].copy_from_slice(&self.index.to_ne_bytes());
        bytes[8..12].copy_from_slice(&handle.to_ne_bytes());
        bytes[12..16].copy_from_slice(&parent.to_ne_bytes());
        bytes
    }

    /// Sends a request for a change, and waits for its acknowledgement.
    fn change(&mut self, kind: u16, flags: i32, payload: &[u8], qdisc: &str) -> Result<(), SettingError> {
        const HEADER: usize = 16;
        let mut message = ((HEADER + payload.len()) as u32).to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        // As bits, NLM_F_REPLACE is a part of NLM_F_DUMP, so that the acknowledgement must be asked for here.
        message.extend(((flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
        message.extend([0; 8]);
        message.extend(payload);
        self.connection.exchange(message).map(drop).map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT) => SettingError::Unsupported {
                place: self.place.clone(),
                reason: format!("the kernel has no qdisc {qdisc}"),
                remedy: format!("load it with `modprobe sch_{qdisc}`, or use a kernel that has it"),
            },
            _ => SettingError::of(&self.place, &format!("qdisc of {}", self.interface), Some(qdisc), error),
        })
    }

    /// The present qdiscs, without those of ingress.
    pub fn tree(&mut self) -> Result<Tree, SettingError> {
        let payload = self.header(0, 0);
        let answer = self
            .connection
            .ask(libc::RTM_GETQDISC, libc::NLM_F_DUMP as u16, &payload)
            .map_err(|error| SettingError::of(&self.place, &self.interface, None, error))?;
        let mut nodes = Vec::new();
        for message in messages(&answer).filter(|message| message.kind == libc::RTM_NEWQDISC) {
            let number = |at| u32_at(message.payload, at);
            let (Some(index), Some(handle), Some(parent)) = (number(4), number(8), number(12)) else {
                continue;
            };
            if index as i32 != self.index || parent == INGRESS {
                continue;
            }
            let inside = message.payload.get(TCMSG..).unwrap_or_default();
            let mut kind = find(inside, TCA_KIND).map(text).unwrap_or_default();
            if [TCA_STAB, TCA_INGRESS_BLOCK, TCA_EGRESS_BLOCK]
                .iter()
                .any(|more| find(inside, *more).is_some())
            {
                // No kind has a space in its name: such a qdisc counts as one that cannot be restored.
                kind.push_str(" with a size table or a shared block");
            }
            let options = options::encode(find(inside, TCA_OPTIONS).unwrap_or_default());
            nodes.push(Node { kind, handle, parent, options });
        }
        // The order of the list changes with the order in which qdiscs were made.
        nodes.sort_by_key(|node| (node.parent != ROOT, node.parent, node.handle));
        Ok(Tree(nodes))
    }

    /// Puts a qdisc in the place below its parent. A handle of 0 asks for a free one.
    pub fn create(&mut self, node: &Node) -> Result<(), SettingError> {
        let mut payload = self.header(node.handle, node.parent);
        payload.extend(attribute(TCA_KIND, format!("{}\0", node.kind).as_bytes()));
        let options = options::to_set(node);
        if !options.is_empty() {
            payload.extend(attribute(TCA_OPTIONS, &options));
        }
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        self.change(libc::RTM_NEWQDISC, flags, &payload, &node.kind)
    }

    /// Removes the root with everything below it. The kernel then makes its default.
    pub fn delete_root(&mut self) -> Result<(), SettingError> {
        let payload = self.header(0, ROOT);
        self.change(libc::RTM_DELQDISC, 0, &payload, "at the root")
    }

    /// Whether filters are attached to a qdisc.
    pub fn has_filters(&mut self, handle: u32) -> Result<bool, SettingError> {
        let payload = self.header(0, handle);
        match self.connection.ask(libc::RTM_GETTFILTER, libc::NLM_F_DUMP as u16, &payload) {
            Ok(answer) => Ok(messages(&answer).any(|message| message.kind == libc::RTM_NEWTFILTER)),
            // The kind takes no filters, or the kernel has none at all.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL)) => Ok(false),
            Err(error) => Err(SettingError::of(&self.place, &self.interface, None, error)),
        }
    }
}
