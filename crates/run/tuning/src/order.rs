//! The order of changes: harmless ones first, those that reset the link after them.

use std::collections::BTreeSet;
use wirespeed_inventory::{Change, Setting};

/// Sorts changes. Changes of the same rank keep their order.
pub fn sort(changes: &mut [Change]) {
    let with_channels: BTreeSet<String> = changes
        .iter()
        .filter_map(|change| match &change.setting {
            Setting::Channels { interface } => Some(interface.clone()),
            _ => None,
        })
        .collect();
    changes.sort_by_key(|change| rank(&change.setting, &with_channels));
}

/// A service that changes settings by itself is stopped before they are changed. The default qdisc follows the qdiscs:
/// in reverse order it is back before the kernel makes default qdiscs again. A change of channels spreads queues
/// and interrupts again, so their steering and the qdiscs of that interface follow it.
fn rank(setting: &Setting, with_channels: &BTreeSet<String>) -> u8 {
    let follows_channels = match setting {
        Setting::Qdisc { interface } | Setting::Rps { interface, .. } | Setting::Xps { interface, .. } => {
            with_channels.contains(interface)
        }
        // An interrupt does not name its interface.
        Setting::InterruptAffinity { .. } => !with_channels.is_empty(),
        _ => false,
    };
    match setting {
        Setting::Service { .. } => 0,
        Setting::Sysctl { name } if name == "net.core.default_qdisc" => 11,
        Setting::Sysctl { .. } => 1,
        Setting::Governor { .. } => 2,
        _ if follows_channels => 10,
        Setting::InterruptAffinity { .. } | Setting::Rps { .. } | Setting::Xps { .. } => 3,
        Setting::Feature { .. } | Setting::Coalescing { .. } | Setting::TxQueueLength { .. } => 4,
        Setting::Qdisc { .. } => 5,
        Setting::Ring { .. } | Setting::Pause { .. } => 7,
        Setting::Mtu { .. } => 8,
        Setting::Channels { .. } => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_inventory::Way;

    fn order(settings: &[Setting]) -> Vec<String> {
        let change = |setting: &Setting| Change {
            setting: setting.clone(),
            value: "1".into(),
            rule: "r".into(),
            reason: "r".into(),
        };
        let mut changes: Vec<Change> = settings.iter().map(change).collect();
        sort(&mut changes);
        changes.iter().map(|change| change.setting.to_string()).collect()
    }

    #[test]
    fn changes_that_reset_the_link_follow_the_harmless_ones() {
        let eth = || "e".to_owned();
        let settings = [
            Setting::Ring { interface: eth(), way: Way::Rx },
            Setting::Mtu { interface: eth() },
            Setting::Sysctl { name: "net.core.default_qdisc".into() },
            Setting::Qdisc { interface: eth() },
            Setting::InterruptAffinity { irq: 9 },
            Setting::Sysctl { name: "net.core.rmem_max".into() },
            Setting::Service { name: "irqbalance".into() },
        ];
        let expected = [
            "service irqbalance",
            "net.core.rmem_max",
            "interrupt 9: affinity",
            "e: qdisc",
            "e: rx ring",
            "e: MTU",
            "net.core.default_qdisc",
        ];
        assert_eq!(order(&settings), expected);
    }

    #[test]
    fn steering_and_qdiscs_follow_channels_of_their_interface() {
        let qdisc = |interface: &str| Setting::Qdisc { interface: interface.into() };
        let settings = [
            qdisc("a"),
            qdisc("b"),
            Setting::Channels { interface: "a".into() },
            Setting::InterruptAffinity { irq: 3 },
        ];
        assert_eq!(
            order(&settings),
            ["b: qdisc", "a: combined channels", "a: qdisc", "interrupt 3: affinity"]
        );
    }
}
