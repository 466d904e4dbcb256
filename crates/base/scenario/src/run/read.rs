//! A run from JSON. Resolving a scenario checks every setting; a file may have been edited since.

use super::{Direction, Run};
use crate::parse;
use crate::resolve::{FINEST_SAMPLE, LONGEST_RUN};
use serde_json::Value;
use std::collections::BTreeSet;
use thiserror::Error;
use wirespeed_units::{Rate, Span};

/// Why a text is not a run.
#[derive(Debug, Error)]
pub enum RunError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    NotJson(serde_json::Error),
    /// It lacks a field of a run, or has one that no run has.
    #[error("not a resolved run: {0}")]
    NotARun(serde_json::Error),
    /// Its fields contradict each other, or are out of range.
    #[error("not a possible run: {0}")]
    Impossible(String),
}

impl Run {
    /// Reads a run from JSON: a run by itself, or the `run.json` of a recording, which has the run under `scenario`.
    ///
    /// # Errors
    /// If the text is not JSON, is not a run, or is a run that no scenario resolves to.
    pub fn from_json(text: &str) -> Result<Run, RunError> {
        Run::from_value(recorded(text)?)
    }

    /// Reads the `run.json` of a recording of real hosts, to execute the run elsewhere. The recording does not have the settings
    /// of hosts that a scenario decides, since real hosts have their own. They get the defaults of the scenario format.
    ///
    /// # Errors
    /// As [`Run::from_json`].
    pub fn from_json_of_real_hosts(text: &str) -> Result<Run, RunError> {
        let mut value = recorded(text)?;
        let usual = usual_host();
        for host in value.get_mut("hosts").and_then(Value::as_array_mut).into_iter().flatten() {
            for (host, usual) in host.as_object_mut().into_iter().zip(usual.as_object()) {
                host.remove("reach");
                for (key, value) in usual {
                    host.entry(key.as_str()).or_insert_with(|| value.clone());
                }
            }
        }
        Run::from_value(value)
    }

    fn from_value(value: Value) -> Result<Run, RunError> {
        let run: Run = serde_json::from_value(value).map_err(RunError::NotARun)?;
        match run.impossible() {
            Some(reason) => Err(RunError::Impossible(reason)),
            None => Ok(run),
        }
    }

    /// The first thing that no resolved run has. The name is that of a folder, times and rates are in range, and each host and
    /// link that something names is there.
    fn impossible(&self) -> Option<String> {
        self.wrong_id()
            .or_else(|| self.wrong_times())
            .or_else(|| self.wrong_network())
            .or_else(|| self.wrong_flows())
    }

    fn wrong_id(&self) -> Option<String> {
        let is_good = |c: char| c.is_ascii_alphanumeric() || "._+-=,~".contains(c);
        let names_a_folder = self.id.len() <= 255
            && self.id.starts_with(|c: char| c.is_ascii_alphanumeric())
            && self.id.chars().all(is_good);
        (!names_a_folder).then(|| format!("`id`: `{}` cannot name a folder", self.id))
    }

    fn wrong_times(&self) -> Option<String> {
        let Run { duration, sample, omit, .. } = *self;
        if duration <= Span::ZERO || duration > LONGEST_RUN {
            return Some(format!("`duration`: {duration} is out of range"));
        }
        if sample < FINEST_SAMPLE || sample > duration {
            return Some(format!("`sample`: {sample} is not between {FINEST_SAMPLE} and the duration"));
        }
        (omit < Span::ZERO || omit >= duration).then(|| format!("`omit`: {omit} leaves nothing of the run"))
    }

    fn wrong_network(&self) -> Option<String> {
        let chain = self.links.iter().filter(|link| link.between.is_none()).count();
        if chain == 0 {
            return Some("`links`: there is no link".into());
        }
        let mut names = BTreeSet::new();
        for host in &self.hosts {
            if !names.insert(&host.name) {
                return Some(format!("`hosts`: two are called `{}`", host.name));
            }
            if host.router > chain {
                return Some(format!("host `{}`: there is no router {}", host.name, host.router));
            }
            if host.mtu.get() == 0 || host.nic_rate == Some(Rate::bps(0)) {
                return Some(format!("host `{}`: its MTU or rate is zero", host.name));
            }
        }
        for link in &self.links {
            if [link.forward.rate, link.reverse.rate].contains(&Rate::bps(0)) {
                return Some(format!("link `{}`: its rate is zero", link.name));
            }
            let mut directions = [&link.forward, &link.reverse].into_iter();
            if let Some(wrong) = directions.find_map(Direction::impossible_change) {
                return Some(format!("link `{}`: {wrong}", link.name));
            }
            if let Some(router) = link.between.into_iter().flatten().find(|router| *router > chain) {
                return Some(format!("link `{}`: there is no router {router}", link.name));
            }
        }
        let has_host = |name: &String| self.hosts.iter().any(|host| host.name == *name);
        let capture = self.captures.iter().find(|capture| !has_host(&capture.at));
        capture.map(|capture| format!("`captures`: there is no host `{}`", capture.at))
    }

    fn wrong_flows(&self) -> Option<String> {
        if self.flows.is_empty() {
            return Some("`flows`: there is no flow".into());
        }
        self.flows.iter().find_map(|flow| {
            let wrong = |what: String| Some(format!("flow `{}`: {what}", flow.label));
            for name in [&flow.from, &flow.to] {
                if !self.hosts.iter().any(|host| host.name == *name) {
                    return wrong(format!("there is no host `{name}`"));
                }
            }
            if flow.from == flow.to {
                return wrong("it starts and ends at the same host".into());
            }
            if flow.start < Span::ZERO || flow.stop < flow.start || flow.stop > self.duration {
                return wrong("its times are not within the run".into());
            }
            if let Err(what) = self.check_application(flow) {
                return wrong(what);
            }
            let mut names = flow.route.iter().chain(&flow.route_back);
            let unknown = names.find(|name| !self.links.iter().any(|link| link.name == **name))?;
            wrong(format!("there is no link `{unknown}`"))
        })
    }
}

/// The run in a text: the text itself, or what a recording has under `scenario`.
fn recorded(text: &str) -> Result<Value, RunError> {
    let mut value: Value = serde_json::from_str(text).map_err(RunError::NotJson)?;
    match value.get_mut("scenario").filter(|recorded| recorded.is_object()) {
        Some(recorded) => Ok(recorded.take()),
        None => Ok(value),
    }
}

/// A host as JSON with the defaults of the scenario format.
fn usual_host() -> Value {
    const PLAIN: &str = "schema = 1\nname = \"plain\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"1 ms\"\n[[flow]]\n[run]\nduration = \"1 s\"\n";
    let plain = parse(PLAIN, "plain.toml", &[], None).expect("it has all that a scenario needs");
    serde_json::to_value(&plain.runs[0].hosts[0]).expect("a host is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run() -> Value {
        let text = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\n[[flow]]\n[run]\nduration = \"1 s\"\n\
                    [sweep]\n\"path.loss\" = [1e-6]\n";
        serde_json::to_value(&parse(text, "t.toml", &[], None).unwrap().runs[0]).unwrap()
    }

    #[test]
    fn run_and_recording_are_read() {
        let text = run().to_string();
        let read = Run::from_json(&text).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), run());
        assert_eq!(
            Run::from_json(&json!({ "format_version": 1, "scenario": run() }).to_string()).unwrap(),
            read
        );
    }

    #[test]
    fn hosts_of_a_recording_of_real_hosts_get_the_defaults() {
        let mut real = run();
        for host in real["hosts"].as_array_mut().unwrap() {
            host.as_object_mut().unwrap().retain(|key, _| ["name", "router"].contains(&key.as_str()));
            host["reach"] = json!({ "ssh": "dtn1" });
        }
        let recording = json!({ "format_version": 1, "scenario": real }).to_string();
        assert!(Run::from_json(&recording).unwrap_err().to_string().contains("missing field"));
        let read = Run::from_json_of_real_hosts(&recording).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), run());
    }

    #[test]
    fn other_texts_are_rejected_with_the_reason() {
        for (text, reason) in [
            ("schema = 1", "not JSON"),
            ("{}", "not a resolved run: missing field `study`"),
            ("[1]", "not a resolved run"),
        ] {
            let error = Run::from_json(text).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{error}");
        }
    }

    #[test]
    fn impossible_runs_are_rejected_by_name() {
        for (pointer, value, reason) in [
            ("/id", json!("../../home"), "`id`: `../../home` cannot name a folder"),
            ("/id", json!(".."), "`id`: `..` cannot name a folder"),
            ("/duration", json!("0 s"), "`duration`: 0 s is out of range"),
            ("/sample", json!("1 us"), "`sample`: 1 us is not between 1 ms and the duration"),
            ("/omit", json!("1 s"), "`omit`: 1 s leaves nothing of the run"),
            ("/links", json!([]), "`links`: there is no link"),
            ("/links/0/forward/rate", json!("0 bit/s"), "link `bottleneck`: its rate is zero"),
            ("/hosts/0/router", json!(7), "host `sender`: there is no router 7"),
            ("/hosts/1/name", json!("sender"), "`hosts`: two are called `sender`"),
            ("/flows", json!([]), "`flows`: there is no flow"),
            ("/flows/0/to", json!("nobody"), "flow `cubic`: there is no host `nobody`"),
            ("/flows/0/to", json!("sender"), "flow `cubic`: it starts and ends at the same host"),
            ("/flows/0/stop", json!("2 s"), "flow `cubic`: its times are not within the run"),
            ("/flows/0/start", json!("2 s"), "flow `cubic`: its times are not within the run"),
        ] {
            let mut run = run();
            *run.pointer_mut(pointer).unwrap() = value;
            let error = Run::from_json(&run.to_string()).unwrap_err().to_string();
            assert_eq!(error, format!("not a possible run: {reason}"));
        }
    }
}
