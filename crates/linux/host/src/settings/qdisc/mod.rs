//! The qdisc tree of an interface: captured with its options byte for byte, changed at its leaves, restored exactly.
//!
//! Ingress qdiscs and their filters are neither captured nor changed.

mod kernel;
mod options;

use super::{Place, SettingError};
use kernel::Kernel;
use serde::{Deserialize, Serialize};

/// TC_H_ROOT of linux/pkt_sched.h.
const ROOT: u32 = 0xffff_ffff;
/// TC_H_INGRESS, also the parent of clsact.
const INGRESS: u32 = 0xffff_fff1;

/// A qdisc.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The kernel's name of its kind.
    pub kind: String,
    /// Its handle; 0 for one that the kernel made by default.
    pub handle: u32,
    /// Handle of its parent; `0xffffffff` for a root.
    pub parent: u32,
    /// Options as the kernel prints them (TCA_OPTIONS), in hexadecimal.
    pub options: String,
}

/// The qdiscs of an interface, root first, then by parent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tree(Vec<Node>);

impl Node {
    fn is_root(&self) -> bool {
        self.parent == ROOT
    }

    /// Whether it only spreads packets over the transmit queues.
    fn is_multi_queue(&self) -> bool {
        self.kind == "mq"
    }
}

impl Tree {
    /// The qdiscs, parents first.
    pub fn nodes(&self) -> &[Node] {
        &self.0
    }

    fn root(&self) -> Option<&Node> {
        self.0.iter().find(|node| node.is_root())
    }

    /// The qdiscs that hold packets: those below a multi-queue root, otherwise the root.
    fn leaves(&self) -> impl Iterator<Item = &Node> {
        let below_mq = self.root().is_some_and(Node::is_multi_queue);
        let handle = self.root().map_or(0, |root| root.handle);
        self.0.iter().filter(move |node| match below_mq {
            true => !node.is_root() && node.parent >> 16 == handle >> 16,
            false => node.is_root(),
        })
    }

    /// Kinds of the leaves: one word if all are equal, otherwise separated by commas in the order of the queues.
    pub fn leaf_kinds(&self) -> String {
        let mut kinds: Vec<&str> = self.leaves().map(|node| node.kind.as_str()).collect();
        kinds.dedup();
        kinds.join(",")
    }

    /// Whether `restore` can make exactly this tree again.
    ///
    /// # Errors
    /// If not, with the qdisc and the reason.
    pub fn check_restorable(&self, place: &Place, interface: &str) -> Result<(), SettingError> {
        let refused = |reason: String| SettingError::Unsupported {
            place: place.clone(),
            reason,
            remedy: format!("the tree was left as it is; look at it with `tc qdisc show dev {interface}`"),
        };
        let default = kernel::default_kind();
        for node in &self.0 {
            if let Some(reason) = options::obstacle(node) {
                return Err(refused(format!("qdisc {}: {reason}", node.kind)));
            }
            // A qdisc without a handle is made again by the kernel, of the kind that is the default then.
            let by_default = node.handle == 0 && !["mq", "noqueue", "noop"].contains(&node.kind.as_str());
            match &default {
                Some(default) if by_default && *default != node.kind => {
                    return Err(refused(format!(
                        "qdisc {} was the kernel's default when it was made, and net.core.default_qdisc is {default} now",
                        node.kind
                    )));
                }
                _ => {}
            }
        }
        let handles = self.0.iter().filter(|node| node.handle != 0).map(|node| node.handle);
        let mut kernel = Kernel::open(place, interface)?;
        for handle in handles {
            if kernel.has_filters(handle)? {
                return Err(refused(format!("qdisc {:x}: has filters", handle >> 16)));
            }
        }
        Ok(())
    }
}

/// The present tree.
///
/// # Errors
/// If there is no such interface, or the kernel has no qdiscs (CONFIG_NET_SCHED).
pub fn tree(place: &Place, interface: &str) -> Result<Tree, SettingError> {
    Kernel::open(place, interface)?.tree()
}

/// Gives all leaves a kind. A multi-queue root stays.
pub(super) fn set_leaves(place: &Place, interface: &str, kind: &str) -> Result<(), SettingError> {
    if !options::is_leaf_kind(kind) {
        return Err(SettingError::Invalid {
            place: place.clone(),
            value: kind.to_owned(),
            remedy: format!("write one of {}", options::LEAF_KINDS.join(", ")),
        });
    }
    let mut kernel = Kernel::open(place, interface)?;
    let mut tree = kernel.tree()?;
    let multi_queue = tree.root().filter(|root| root.is_multi_queue()).map(|root| root.handle);
    let Some(handle) = multi_queue else {
        let wanted = Node { kind: kind.into(), handle: 0, parent: ROOT, options: String::new() };
        return if tree.leaf_kinds() == kind { Ok(()) } else { kernel.create(&wanted) };
    };
    if tree.leaf_kinds() == kind {
        return Ok(());
    }
    if handle == 0 {
        // Queues of a root without a handle cannot be named; the same root with one replaces it.
        kernel.create(&Node { kind: "mq".into(), handle: 0, parent: ROOT, options: String::new() })?;
        tree = kernel.tree()?;
    }
    let others: Vec<u32> = tree.leaves().filter(|leaf| leaf.kind != kind).map(|leaf| leaf.parent).collect();
    others.into_iter().try_for_each(|parent| {
        kernel.create(&Node { kind: kind.into(), handle: 0, parent, options: String::new() })
    })
}

/// Makes a captured tree again, and compares the kernel's answer with it.
pub(super) fn restore(place: &Place, interface: &str, wanted: &Tree) -> Result<(), SettingError> {
    let mut kernel = Kernel::open(place, interface)?;
    let found = kernel.tree()?;
    if found == *wanted {
        return Ok(());
    }
    let Some(root) = wanted.root() else { return Ok(()) };
    // Leaves that have handles are replaced each; everything else begins with the kernel's default.
    let only_leaves_differ = root.handle != 0
        && found.root() == Some(root)
        && wanted.0.iter().filter(|node| !found.0.contains(node)).all(|node| node.handle != 0);
    if !only_leaves_differ {
        let is_default = found.root().is_none_or(|root| root.handle == 0);
        if is_default && root.handle == 0 {
            // Queues that were added to a default root have other leaves than one that is made for all of them. Only a
            // root with a handle can be removed, so that the kernel makes its default again.
            kernel.create(&Node { kind: "pfifo".into(), handle: 0, parent: ROOT, options: String::new() })?;
        }
        if !is_default || root.handle == 0 {
            kernel.delete_root()?;
        }
        if root.handle != 0 {
            kernel.create(root)?;
        }
    }
    let present = kernel.tree()?;
    for node in wanted.0.iter().filter(|node| !node.is_root() && node.handle != 0) {
        if !present.0.contains(node) {
            kernel.create(node)?;
        }
    }
    let found = kernel.tree()?;
    if found != *wanted {
        return Err(SettingError::Differs {
            place: place.clone(),
            wanted: format!("{:?}", wanted.0),
            found: format!("{:?}", found.0),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: &str, handle: u32, parent: u32) -> Node {
        Node { kind: kind.into(), handle, parent, options: String::new() }
    }

    #[test]
    fn leaves_are_those_below_a_multi_queue_root_or_the_root() {
        let mq =
            Tree(vec![node("mq", 1 << 16, ROOT), node("fq", 0, 1 << 16 | 1), node("fq", 0, 1 << 16 | 2)]);
        assert_eq!(mq.leaf_kinds(), "fq");
        let mixed = Tree(vec![node("mq", 0, ROOT), node("fq", 0, 1), node("pfifo_fast", 0, 2)]);
        assert_eq!(mixed.leaf_kinds(), "fq,pfifo_fast");
        assert_eq!(Tree(vec![node("noqueue", 0, ROOT)]).leaf_kinds(), "noqueue");
    }
}
