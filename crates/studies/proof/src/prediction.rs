//! Scenarios with which the model predicts the effect of a change: the path, and the settings of both hosts.

use serde::Serialize;
use std::fmt;
use wirespeed_inventory::{Change, Interface, Inventory, Setting};
use wirespeed_scenario::{Scenario, Table};
use wirespeed_units::{Bytes, Rate, Span};

/// The answer of the model for one change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Prediction {
    /// It simulated the change.
    Simulated {
        /// Goodput with it in bit/s.
        goodput_bps: f64,
        /// Change of goodput relative to the model's goodput without it.
        effect: f64,
    },
    /// It has no answer.
    None {
        /// The reason, without a full stop.
        reason: String,
    },
}

impl Prediction {
    /// The relative change of goodput, if there is one.
    pub fn effect(&self) -> Option<f64> {
        match self {
            Prediction::Simulated { effect, .. } => Some(*effect),
            Prediction::None { .. } => None,
        }
    }
}

/// A host of the path.
#[derive(Debug, Clone, Copy)]
pub struct Host<'a> {
    /// Its settings before any change.
    pub inventory: &'a Inventory,
    /// Name of the interface that the path uses.
    pub interface: Option<&'a str>,
}

/// The path under test.
#[derive(Debug, Clone)]
pub struct Setup<'a> {
    /// Rate of the slower interface in bit/s.
    pub rate_bps: u64,
    /// The shortest round-trip time in nanoseconds.
    pub rtt_ns: i64,
    /// Congestion control algorithm.
    pub congestion: &'a str,
    /// Parallel flows.
    pub flows: u32,
    /// Length of a measurement after the warm-up.
    pub time: Span,
    /// The warm-up.
    pub omit: Span,
    /// The host that sends.
    pub sender: Host<'a>,
    /// The host that receives.
    pub receiver: Host<'a>,
}

/// A setting that the model does not have, by its description for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NotModelled(String);

impl fmt::Display for NotModelled {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the model does not have {}", self.0)
    }
}

/// The path with changes at both hosts. It has no losses and no other traffic, as both are unknown. Hosts are as fast as
/// their interfaces, as the costs of their work are unknown, too.
///
/// # Errors
/// If a change is of a setting without a counterpart in the model of such hosts.
pub fn scenario(setup: &Setup, sender: &[Change], receiver: &[Change]) -> Result<Scenario, NotModelled> {
    let flow = Table::new().set("congestion", setup.congestion).set("count", setup.flows);
    let run = Table::new().set("duration", setup.time + setup.omit).set("omit", setup.omit);
    let (rate, rtt) = (Rate::bps(setup.rate_bps), Span::ns(setup.rtt_ns.max(1)));
    let path = Table::new().set("rate", rate).set("rtt", rtt).set("buffer", rate.volume(rtt) * 10 + NO_LOSS);
    Ok(Scenario::new("prediction")
        .comment("Written by wirespeed tune prove: the path, and the settings of its hosts.")
        .path(path)
        .host("sender", host(setup, setup.sender, sender)?)
        .host("receiver", host(setup, setup.receiver, receiver)?)
        .flow(flow)
        .run(run))
}

/// Part of a buffer in which no flow of usual buffers loses a packet: the buffers of the path are unknown.
const NO_LOSS: Bytes = Bytes::mib(64);

/// A setting of a host and its key in a scenario.
struct Key {
    key: &'static str,
    setting: fn(&str) -> Setting,
    form: Form,
}

/// The form of a value in a scenario.
enum Form {
    /// Bytes.
    Size,
    /// Three numbers of bytes.
    Sizes,
    /// A whole number.
    Count,
    /// `0` or `1`, `on` or `off`.
    Switch,
    /// The root qdisc.
    Qdisc,
}

macro_rules! sysctl {
    ($name:literal) => {
        |_| Setting::Sysctl { name: $name.to_owned() }
    };
}

macro_rules! feature {
    ($name:literal) => {
        |interface| Setting::Feature { interface: interface.to_owned(), name: $name.to_owned() }
    };
}

/// The settings that change a flow between hosts that are never short of time.
const KEYS: &[Key] = &[
    Key { key: "tcp_rmem", setting: sysctl!("net.ipv4.tcp_rmem"), form: Form::Sizes },
    Key { key: "tcp_wmem", setting: sysctl!("net.ipv4.tcp_wmem"), form: Form::Sizes },
    Key { key: "rmem_max", setting: sysctl!("net.core.rmem_max"), form: Form::Size },
    Key { key: "wmem_max", setting: sysctl!("net.core.wmem_max"), form: Form::Size },
    Key { key: "sack", setting: sysctl!("net.ipv4.tcp_sack"), form: Form::Switch },
    Key { key: "window_scaling", setting: sysctl!("net.ipv4.tcp_window_scaling"), form: Form::Switch },
    Key {
        key: "mtu",
        setting: |interface| Setting::Mtu { interface: interface.to_owned() },
        form: Form::Size,
    },
    Key {
        key: "txqueuelen",
        setting: |interface| Setting::TxQueueLength { interface: interface.to_owned() },
        form: Form::Count,
    },
    Key {
        key: "qdisc",
        setting: |interface| Setting::Qdisc { interface: interface.to_owned() },
        form: Form::Qdisc,
    },
    Key { key: "tso", setting: feature!("tx-tcp-segmentation"), form: Form::Switch },
    Key { key: "gso", setting: feature!("tx-generic-segmentation"), form: Form::Switch },
    Key { key: "gro", setting: feature!("rx-gro"), form: Form::Switch },
];

/// Qdiscs that the model has.
const QDISCS: [&str; 3] = ["pfifo_fast", "fq", "fq_codel"];

/// The table of a host with its changes.
fn host(setup: &Setup, host: Host, changes: &[Change]) -> Result<Table, NotModelled> {
    let name = host.interface.unwrap_or_default();
    let unknown = |change: &&Change| KEYS.iter().all(|key| (key.setting)(name) != change.setting);
    if let Some(change) = changes.iter().find(unknown) {
        return Err(NotModelled(change.setting.to_string()));
    }
    let interface = host.inventory.interface(name);
    // Without a rate of its own it counts as the slowest link, whose queue is the host's.
    let rate = interface.and_then(|interface| interface.speed_bps).unwrap_or(setup.rate_bps);
    let mut table = Table::new().set("preset", "linux-6.12").set("nic_rate", Rate::bps(rate));
    for key in KEYS {
        let setting = (key.setting)(name);
        let changed = changes.iter().rev().find(|change| change.setting == setting);
        let Some(value) = changed
            .map(|change| change.value.clone())
            .or_else(|| present(host.inventory, interface, &setting))
        else {
            continue;
        };
        table = set(table, key, &value).ok_or_else(|| NotModelled(format!("{setting} of `{value}`")))?;
    }
    Ok(table)
}

/// The value of a setting before any change; `None` if the inventory does not have it.
fn present(inventory: &Inventory, interface: Option<&Interface>, setting: &Setting) -> Option<String> {
    match setting {
        Setting::Sysctl { name } => inventory.sysctls.get(name).cloned(),
        Setting::Mtu { .. } => interface?.mtu_bytes.map(|mtu| mtu.to_string()),
        Setting::TxQueueLength { .. } => interface?.tx_queue_length.map(|length| length.to_string()),
        // A device without a queue of its own (`noqueue`) is left to the model's default.
        Setting::Qdisc { .. } => {
            let kind = &interface?.leaf_qdiscs().first()?.kind;
            QDISCS.contains(&kind.as_str()).then(|| kind.clone())
        }
        Setting::Feature { name, .. } => {
            interface?.feature(name).map(|is_on| if is_on { "on" } else { "off" }.to_owned())
        }
        _ => None,
    }
}

/// Sets a key; `None` if its value has no counterpart.
fn set(table: Table, key: &Key, value: &str) -> Option<Table> {
    let number = |text: &str| text.parse::<u64>().ok();
    Some(match key.form {
        Form::Size => table.set(key.key, Bytes::new(number(value)?)),
        Form::Sizes => {
            let sizes: Option<Vec<Bytes>> =
                value.split_whitespace().map(|n| number(n).map(Bytes::new)).collect();
            table.set(key.key, sizes.filter(|sizes| sizes.len() == 3)?)
        }
        Form::Count => table.set(key.key, i64::try_from(number(value)?).ok()?),
        Form::Switch => table.set(key.key, ["1", "on"].contains(&value)),
        // A qdisc with options is another one than the model has.
        Form::Qdisc => QDISCS.contains(&value).then(|| table.set(key.key, value))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inventory() -> Inventory {
        let mut inventory = Inventory::default();
        inventory.sysctls.insert("net.ipv4.tcp_rmem".into(), "4096\t131072\t6291456".into());
        inventory.interfaces.push(Interface {
            name: "eth0".into(),
            speed_bps: Some(10_000_000_000),
            mtu_bytes: Some(9000),
            ..Interface::default()
        });
        inventory
    }

    fn text(changes: &[Change]) -> Result<String, NotModelled> {
        let inventory = inventory();
        let end = Host { inventory: &inventory, interface: Some("eth0") };
        let setup = Setup {
            rate_bps: 10_000_000_000,
            rtt_ns: 20_000_000,
            congestion: "cubic",
            flows: 1,
            time: Span::ns(5_000_000_000),
            omit: Span::ns(1_000_000_000),
            sender: end,
            receiver: end,
        };
        scenario(&setup, &[], changes).map(|scenario| {
            let study = scenario.study("prediction.toml", &[], None);
            study.unwrap_or_else(|error| panic!("{error:?}\n{}", scenario.text()));
            scenario.text()
        })
    }

    fn change(setting: Setting, value: &str) -> Change {
        Change { setting, value: value.into(), rule: "a.rule".into(), reason: "a reason".into() }
    }

    #[test]
    fn hosts_have_the_settings_of_their_inventory() {
        let text = text(&[]).unwrap();
        for line in ["nic_rate = \"10 Gbit/s\"", "mtu = \"9 kB\"", "rtt = \"20 ms\""] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert_eq!(text.matches("tcp_rmem = ").count(), 2, "{text}");
    }

    #[test]
    fn changes_replace_the_settings_of_their_host() {
        let rmem = Setting::Sysctl { name: "net.ipv4.tcp_rmem".into() };
        let (before, after) = (text(&[]).unwrap(), text(&[change(rmem, "4096 131072 67108864")]).unwrap());
        assert!(!before.contains("64 MiB") && after.contains("64 MiB"), "{after}");
        assert_eq!(before.lines().count(), after.lines().count());
    }

    #[test]
    fn setting_that_the_model_lacks_is_named() {
        let error = text(&[change(Setting::Governor { cpus: Default::default() }, "performance")]);
        assert!(error.unwrap_err().to_string().contains("governor"));
        let qdisc = Setting::Qdisc { interface: "eth0".into() };
        assert!(text(&[change(qdisc.clone(), "fq")]).is_ok());
        for other in ["htb", "fq maxrate 1gbit"] {
            assert!(text(&[change(qdisc.clone(), other)]).unwrap_err().to_string().contains(other));
        }
    }
}
