//! Names and addresses of real hosts in `run.json`, which are packed only if the user asks for them.

use serde_json::Value;
use std::collections::BTreeSet;
use wirespeed_record::RunInfo;

/// Stands in the place of a name for ssh or an address.
const REMOVED: &str = "left-out";
/// A shorter text would be found within words that mean something else.
const SHORTEST: usize = 3;

/// The names for ssh and the addresses that some runs mention. The names of hosts in the scenario stay.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    texts: BTreeSet<String>,
    has_reach: bool,
}

impl Secrets {
    /// Adds those of a run.
    pub fn add(&mut self, info: &RunInfo) {
        let labels: BTreeSet<&str> = info.hosts.iter().map(|host| host.name.as_str()).collect();
        let mut found: Vec<String> = Vec::new();
        for host in info.scenario.get("hosts").and_then(Value::as_array).into_iter().flatten() {
            let reach = host.get("reach").and_then(Value::as_object);
            self.has_reach |= reach.is_some();
            let reach = reach.into_iter().flatten();
            let named = reach.filter(|(key, _)| matches!(key.as_str(), "ssh" | "address"));
            for text in named.filter_map(|(_, value)| value.as_str()) {
                // The user and the port, as in `root@dtn1` and `tcp://dtn1:5000`, are not needed to find the host.
                let host = text.rsplit(['@', '/']).next().unwrap_or(text);
                found.extend([text.to_owned(), host.to_owned()]);
                found.extend(host.rsplit_once(':').map(|(name, _)| name.to_owned()));
            }
        }
        for inventory in info.hosts.iter().filter_map(|host| host.inventory.as_ref()) {
            found.push(inventory.host.clone());
            let addresses = inventory.interfaces.iter().flat_map(|interface| &interface.addresses);
            found.extend(addresses.filter_map(|address| address.split('/').next()).map(str::to_owned));
            found.extend(inventory.routes.iter().filter_map(|route| route.gateway.clone()));
        }
        let is_secret = |text: &String| {
            text.len() >= SHORTEST && !labels.contains(text.as_str()) && text != "127.0.0.1" && text != "::1"
        };
        self.texts.extend(found.into_iter().filter(is_secret));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && !self.has_reach
    }

    /// Whether runs were made between real hosts, so that the scenario and captures have their names and addresses, too.
    pub fn are_of_real_hosts(&self) -> bool {
        self.has_reach
    }

    /// `run.json` without them: how hosts are reached is removed, inventories are redacted, and every other text that has one
    /// of the secrets has [`REMOVED`] in its place.
    pub fn redacted(&self, info: &RunInfo) -> RunInfo {
        let mut info = info.clone();
        for host in info.scenario.get_mut("hosts").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(host) = host.as_object_mut() {
                host.remove("reach");
            }
        }
        for host in &mut info.hosts {
            host.inventory = host.inventory.as_ref().map(|inventory| inventory.redacted());
        }
        let mut value = serde_json::to_value(&info).expect("run information is plain data");
        self.replace(&mut value);
        // No key and no number was changed, and every text is still one.
        serde_json::from_value(value).unwrap_or(info)
    }

    /// JSON of other files, such as the stored analysis of a run, without them.
    ///
    /// # Errors
    /// If the text is not JSON.
    pub fn redacted_json(&self, text: &str) -> Result<String, serde_json::Error> {
        let mut value: Value = serde_json::from_str(text)?;
        self.replace(&mut value);
        serde_json::to_string(&value)
    }

    fn replace(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                // Long ones first: an address may be part of another one.
                let mut secrets: Vec<&String> = self.texts.iter().collect();
                secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
                for secret in secrets {
                    if text.contains(secret.as_str()) {
                        *text = text.replace(secret.as_str(), REMOVED);
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.replace(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.replace(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wirespeed_record::HostInfo;

    fn run() -> RunInfo {
        let host = HostInfo { name: "sender".into(), ..Default::default() };
        RunInfo {
            hosts: vec![host],
            scenario: json!({ "hosts": [
                { "name": "sender", "reach": { "ssh": "root@dtn1.example.org", "address": "198.51.100.7" } },
            ] }),
            command: "wirespeed probe root@dtn1.example.org".into(),
            warnings: vec!["198.51.100.7 has jumbo frames and dtn1.example.org has not".into()],
            ..Default::default()
        }
    }

    #[test]
    fn names_and_addresses_are_removed_wherever_they_stand() {
        let mut secrets = Secrets::default();
        secrets.add(&run());
        let text = serde_json::to_string(&secrets.redacted(&run())).unwrap();
        assert!(!text.contains("dtn1") && !text.contains("198.51"), "{text}");
        assert!(text.contains("\"sender\"") && text.contains("left-out has jumbo frames"), "{text}");
        let finding = r#"{"text":"198.51.100.7: rmem","value":0.1}"#;
        let redacted = secrets.redacted_json(finding).unwrap();
        assert_eq!(redacted, r#"{"text":"left-out: rmem","value":0.1}"#);
    }

    #[test]
    fn run_without_real_hosts_has_no_secret() {
        let mut secrets = Secrets::default();
        secrets.add(&RunInfo { scenario: json!({ "hosts": [{ "name": "sender" }] }), ..RunInfo::default() });
        assert!(secrets.is_empty());
    }
}
