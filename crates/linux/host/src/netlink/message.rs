//! Messages and attributes, taken apart without trust (linux/netlink.h).

/// Bytes of `struct nlmsghdr`.
pub(super) const HEADER: usize = 16;

/// A message of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Its type.
    pub kind: u16,
    /// Its flags.
    pub flags: u16,
    /// The number of the request it answers.
    pub sequence: u32,
    /// What follows the header.
    pub payload: &'a [u8],
    /// All of it, header included.
    pub whole: &'a [u8],
}

/// The messages that stand in `bytes`, one after the other; ends before the first that does not fit.
pub fn messages(bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = u32_at(rest, 0)? as usize;
        let whole = rest.get(..length)?;
        let payload = whole.get(HEADER..)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        let (kind, flags) = (u16_at(whole, 4)?, u16_at(whole, 6)?);
        Some(Message { kind, flags, sequence: u32_at(whole, 8)?, payload, whole })
    })
}

/// An attribute: its type, without the flags for nesting and byte order, and its value.
pub type Attribute<'a> = (u16, &'a [u8]);

/// The attributes that stand in `bytes`; ends before the first that does not fit.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    const TYPE: u16 = 0x3fff; // NLA_TYPE_MASK
    const HEADER: usize = 4;
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let value = rest.get(HEADER..length)?;
        let kind = u16_at(rest, 2)? & TYPE;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The first attribute of a type.
pub fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// Encodes an attribute, padded to four bytes.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len().next_multiple_of(4));
    bytes.extend((4 + value.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// Encodes an attribute that holds attributes.
pub fn nested(kind: u16, inside: &[Vec<u8>]) -> Vec<u8> {
    const NESTED: u16 = 0x8000; // NLA_F_NESTED
    attribute(kind | NESTED, &inside.concat())
}

/// The text up to the first NUL; what is not UTF-8 is replaced.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// An unsigned number of 1, 2, 4 or 8 bytes that fills `bytes`.
pub fn unsigned(bytes: &[u8]) -> Option<u64> {
    match bytes.len() {
        1 => Some(u64::from(bytes[0])),
        2 => u16_at(bytes, 0).map(u64::from),
        4 => u32_at(bytes, 0).map(u64::from),
        8 => u64_at(bytes, 0),
        _ => None,
    }
}

macro_rules! at {
    ($name:ident, $type:ty) => {
        /// The number that begins at byte `at`, in the order of this machine; `None` if it does not fit.
        pub fn $name(bytes: &[u8], at: usize) -> Option<$type> {
            Some(<$type>::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
        }
    };
}
at!(u16_at, u16);
at!(u32_at, u32);
at!(u64_at, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_message_is_decoded() {
        let inside = [attribute(1, &7u32.to_ne_bytes()), attribute(2, b"eth0\0")];
        let bytes = nested(9, &inside);
        let (kind, value) = attributes(&bytes).next().unwrap();
        assert_eq!(kind, 9);
        assert_eq!(find(value, 1).and_then(unsigned), Some(7));
        assert_eq!(find(value, 2).map(text).as_deref(), Some("eth0"));
        assert_eq!(find(value, 3), None);
    }

    #[test]
    fn truncated_attribute_ends_the_list() {
        let mut bytes = attribute(1, &[1, 2, 3, 4]);
        bytes.extend([200, 0, 1, 0]);
        assert_eq!(attributes(&bytes).count(), 1);
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0, "shorter than its own header");
        assert_eq!(messages(&[0; 16]).count(), 0, "a length of zero would never end");
    }
}
