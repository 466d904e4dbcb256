//! What the kernel's type information says of drops: the names of the reasons, and which form its tracepoints have.

use libbpf_rs::btf::types::{Enum, FuncProto, Typedef};
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::{Error, ReferencesType};
use std::collections::BTreeMap;

/// Read once for each watch.
pub(super) struct Types {
    /// Names of the reasons, their common beginning taken off.
    pub reasons: BTreeMap<u32, String>,
    /// Arguments of the tracepoints.
    kfree_skb: usize,
    retransmit: usize,
}

const PREFIX: &str = "SKB_DROP_REASON_";

impl Types {
    pub fn read() -> libbpf_rs::Result<Types> {
        let types = Btf::from_vmlinux()?;
        let reasons: Enum<'_> =
            types.type_by_name("skb_drop_reason").ok_or_else(|| missing("enum skb_drop_reason"))?;
        let reasons = reasons
            .iter()
            .filter_map(|reason| {
                let name = reason.name?.to_str()?;
                Some((
                    u32::try_from(reason.value).ok()?,
                    name.strip_prefix(PREFIX).unwrap_or(name).to_owned(),
                ))
            })
            .collect();
        let (kfree_skb, retransmit) =
            (arguments(&types, "kfree_skb")?, arguments(&types, "tcp_retransmit_skb")?);
        Ok(Types { reasons, kfree_skb, retransmit })
    }

    /// The value of a reason by its name in the kernel.
    pub fn reason(&self, name: &str) -> Option<u32> {
        self.reasons.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
    }

    /// Whether this kernel's tracepoints have the arguments that a program of ours reads.
    pub fn fits(&self, program: &str) -> bool {
        // Packet, place, reason, and since 6.11 the receiving socket; socket, packet, and then the error.
        let (with_socket, with_error) = (self.kfree_skb >= 4, self.retransmit >= 3);
        match program {
            "lost" => !with_socket,
            "lost_by_socket" => with_socket,
            "again" => !with_error,
            "again_if_sent" => with_error,
            _ => false,
        }
    }
}

fn missing(what: &str) -> Error {
    let text = format!("the kernel's type information has no {what}");
    std::io::Error::new(std::io::ErrorKind::NotFound, text).into()
}

/// How many arguments a tracepoint has: those of its prototype but the first, which is the probe's own.
fn arguments(types: &Btf<'_>, tracepoint: &str) -> libbpf_rs::Result<usize> {
    let name = format!("btf_trace_{tracepoint}");
    let alias: Typedef<'_> = types.type_by_name(&name).ok_or_else(|| missing(&name))?;
    let pointer: BtfType<'_> = alias.referenced_type();
    let prototype = pointer.next_type().and_then(|of| FuncProto::try_from(of).ok());
    prototype.map(|of| of.len().saturating_sub(1)).ok_or_else(|| missing(&name))
}
