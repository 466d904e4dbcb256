//! Generic netlink: families have a name, the kernel gives each a number at boot (linux/genetlink.h).

use super::{Request, attribute, find, messages, text, u16_at};
use crate::root::Root;
use std::io;

/// Bytes of `struct genlmsghdr` in front of the attributes.
pub const HEADER: usize = 4;

/// A request to a generic family: a command and its attributes.
pub fn request(
    name: impl Into<String>,
    family: u16,
    command: u8,
    dump: bool,
    attributes: &[Vec<u8>],
) -> Request {
    let mut payload = vec![command, 1, 0, 0];
    payload.extend(attributes.concat());
    let flags = if dump { libc::NLM_F_DUMP as u16 } else { 0 };
    Request { name: name.into(), protocol: libc::NETLINK_GENERIC, kind: family, flags, payload }
}

/// The number of a family, by its name.
///
/// # Errors
/// `NotFound` if the kernel has no such family; else what it answered.
pub fn family(root: &mut Root, name: &str) -> io::Result<u16> {
    const CONTROLLER: u16 = 0x10; // GENL_ID_CTRL
    const GET_FAMILY: u8 = 3; // CTRL_CMD_GETFAMILY
    const FAMILY_ID: u16 = 1; // CTRL_ATTR_FAMILY_ID
    const FAMILY_NAME: u16 = 2; // CTRL_ATTR_FAMILY_NAME
    let wanted = attribute(FAMILY_NAME, &[name.as_bytes(), &[0]].concat());
    let answer = root.ask(&request(format!("family-{name}"), CONTROLLER, GET_FAMILY, false, &[wanted]))?;
    messages(&answer)
        .filter_map(|message| message.payload.get(HEADER..))
        .filter(|attributes| find(attributes, FAMILY_NAME).is_none_or(|found| text(found) == name))
        .find_map(|attributes| u16_at(find(attributes, FAMILY_ID)?, 0))
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no generic netlink family `{name}`")))
}
