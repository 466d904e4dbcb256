//! Programs that change settings of the host by themselves, and the settings that each of them owns.

use wirespeed_inventory::{Manager, Setting};

/// The running manager that would change a setting again by itself.
pub fn owner<'a>(setting: &Setting, managers: &'a [Manager]) -> Option<&'a Manager> {
    managers.iter().find(|manager| owns(&manager.name, setting))
}

fn owns(manager: &str, setting: &Setting) -> bool {
    let sysctl = |prefixes: &[&str]| match setting {
        Setting::Sysctl { name } => prefixes.iter().any(|prefix| name.starts_with(prefix)),
        _ => false,
    };
    match manager {
        // irqbalance(1): it moves interrupts every ten seconds.
        "irqbalance" => matches!(setting, Setting::InterruptAffinity { .. }),
        // tuned.conf(5): a profile sets sysctls, governors and parameters of interfaces, and verifies them.
        "tuned" => {
            let by_plugin = matches!(
                setting,
                Setting::Governor { .. }
                    | Setting::Ring { .. }
                    | Setting::Channels { .. }
                    | Setting::Coalescing { .. }
                    | Setting::Pause { .. }
                    | Setting::TxQueueLength { .. }
            );
            by_plugin || sysctl(&["net.", "vm.", "kernel."])
        }
        // nm-settings(5): sections ethernet, ethtool and link of a connection, set when it is activated.
        "NetworkManager" => matches!(
            setting,
            Setting::Mtu { .. }
                | Setting::Ring { .. }
                | Setting::Channels { .. }
                | Setting::Coalescing { .. }
                | Setting::Feature { .. }
                | Setting::Pause { .. }
                | Setting::TxQueueLength { .. }
        ),
        // bpftune(8): its tuners change buffers, the congestion control and backlogs.
        "bpftune" => sysctl(&["net.ipv4.tcp_", "net.core.", "net.ipv4.neigh.", "net.ipv6.neigh."]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_manager_owns_its_settings() {
        let all = ["irqbalance", "tuned", "NetworkManager", "bpftune"]
            .map(|name| Manager { name: name.into(), ..Default::default() });
        let owner_of = |setting: Setting| owner(&setting, &all).map(|manager| manager.name.clone());
        assert_eq!(owner_of(Setting::InterruptAffinity { irq: 1 }).as_deref(), Some("irqbalance"));
        assert_eq!(owner_of(Setting::Governor { cpus: "0".parse().unwrap() }).as_deref(), Some("tuned"));
        assert_eq!(owner_of(Setting::Mtu { interface: "e".into() }).as_deref(), Some("NetworkManager"));
        assert_eq!(owner_of(Setting::Qdisc { interface: "e".into() }), None);
        assert_eq!(owner(&Setting::InterruptAffinity { irq: 1 }, &all[1..]), None);
        let name = "net.ipv4.tcp_rmem".to_owned();
        assert_eq!(owner(&Setting::Sysctl { name }, &all[3..]).map(|m| m.name.as_str()), Some("bpftune"));
    }
}
