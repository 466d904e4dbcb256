//! Changes between two snapshots of a host.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use wirespeed_inventory::Inventory;

/// A value that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Difference {
    /// Its place, such as `interfaces.eth2.rings.rx` or `sysctls.net.ipv4.tcp_rmem`.
    pub place: String,
    /// The earlier value; none if it was not recorded.
    pub before: Option<String>,
    /// The later value; none if it is not recorded.
    pub after: Option<String>,
}

/// Counters and times, which differ in every snapshot, and the parts that do not describe the host.
const VOLATILE: [&str; 7] = ["taken", "tool", "format_version", "missing", "fired", "available_bytes", "pid"];

/// The values that differ, in the order of their places. Counters, times and process numbers are left out.
pub fn differences(before: &Inventory, after: &Inventory) -> Vec<Difference> {
    let (before, after) = (flat(before), flat(after));
    let places = before.keys().chain(after.keys().filter(|place| !before.contains_key(*place)));
    let mut found: Vec<Difference> = places
        .filter(|place| before.get(*place) != after.get(*place))
        .map(|place| Difference {
            place: place.clone(),
            before: before.get(place).cloned(),
            after: after.get(place).cloned(),
        })
        .collect();
    found.sort();
    found
}

fn flat(inventory: &Inventory) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // An inventory is plain data, and always has a form in JSON.
    if let Ok(value) = serde_json::to_value(inventory) {
        walk("", &value, &mut found);
    }
    found
}

fn walk(place: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| !VOLATILE.contains(&name.as_str()));
            fields.for_each(|(name, value)| walk(&below(name), value, into));
        }
        Value::Array(values) => {
            for (at, value) in values.iter().enumerate() {
                walk(&below(&name_of(value, at)), value, into);
            }
        }
        Value::String(text) => _ = into.insert(place.to_owned(), text.clone()),
        other => _ = into.insert(place.to_owned(), other.to_string()),
    }
}

/// Elements are found by their name or number, so that an interface more does not shift the others.
fn name_of(value: &Value, at: usize) -> String {
    let field = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| value.get(name).and_then(Value::as_u64).map(|number| number.to_string());
    field("name")
        .or_else(|| number("irq"))
        .or_else(|| number("id"))
        .or_else(|| field("destination"))
        .or_else(|| field("handle"))
        .unwrap_or_else(|| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_inventory::{Interface, Interrupt, Rings};

    fn host() -> Inventory {
        let mut host = Inventory { taken: Some("then".into()), ..Default::default() };
        host.system.kernel = "6.8.0".into();
        host.sysctls.insert("net.ipv4.tcp_rmem".into(), "1 2 3".into());
        let irq = Interrupt { irq: 7, fired: [(0, 5)].into(), ..Default::default() };
        let rings = Some(Rings { rx: 512, rx_max: 4096, ..Default::default() });
        host.interfaces.push(Interface {
            name: "eth0".into(),
            rings,
            interrupts: vec![irq],
            ..Default::default()
        });
        host
    }

    #[test]
    fn changed_values_are_reported_with_their_place() {
        let (before, mut after) = (host(), host());
        after.taken = Some("now".into());
        after.interfaces[0].interrupts[0].fired.insert(0, 900);
        assert_eq!(differences(&before, &after), []);
        after.system.kernel = "6.9.0".into();
        after.sysctls.insert("net.ipv4.tcp_rmem".into(), "1 2 4".into());
        after.interfaces[0].rings = Some(Rings { rx: 4096, rx_max: 4096, ..Default::default() });
        after.interfaces.insert(0, Interface { name: "eth9".into(), ..Default::default() });
        let found = differences(&before, &after);
        let places: Vec<&str> =
            found.iter().map(|d| d.place.as_str()).filter(|place| !place.contains("eth9")).collect();
        assert_eq!(places, ["interfaces.eth0.rings.rx", "sysctls.net.ipv4.tcp_rmem", "system.kernel"]);
        assert_eq!(
            (found.last().unwrap().before.as_deref(), found.last().unwrap().after.as_deref()),
            (Some("6.8.0"), Some("6.9.0"))
        );
    }
}
