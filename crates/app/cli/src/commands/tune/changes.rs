//! The changes that a plan is made of.

use crate::failure::Failure;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use wirespeed_inventory::Change;

/// The changes in a JSON file: a list of changes, or the findings of `wirespeed doctor --json`. `-` is standard input.
pub fn changes(file: &Path) -> Result<Vec<Change>, Failure> {
    let wrong = |reason: String| Failure::Usage {
        message: format!("{}: {reason}", file.display()),
        remedy:
            "a change is {\"setting\": {\"kind\": \"mtu\", \"interface\": \"eth0\"}, \"value\": \"9000\", \
                 \"rule\": \"mine\", \"reason\": \"the path carries 9000 bytes\"}"
                .into(),
    };
    let read = || {
        if file != Path::new("-") {
            return std::fs::read_to_string(file);
        }
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    };
    let text = read().map_err(|error| wrong(error.to_string()))?;
    parse(&text).map_err(|error| wrong(error.to_string()))
}

fn parse(text: &str) -> Result<Vec<Change>, serde_json::Error> {
    match serde_json::from_str(text)? {
        Value::Object(mut object) if object.contains_key("findings") => {
            let findings = match object.remove("findings") {
                Some(Value::Array(findings)) => findings,
                _ => Vec::new(),
            };
            let mut all = Vec::new();
            for mut finding in findings {
                if let Some(changes) = finding.get_mut("changes") {
                    all.extend(serde_json::from_value::<Vec<Change>>(changes.take())?);
                }
            }
            Ok(all)
        }
        // From the text, so that an error has its line.
        _ => serde_json::from_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGE: &str =
        r#"{"setting": {"kind": "mtu", "interface": "e"}, "value": "9000", "rule": "r", "reason": "x"}"#;

    #[test]
    fn lists_and_findings_are_read() {
        let list = parse(&format!("[{CHANGE}]")).unwrap();
        assert_eq!(list[0].setting.to_string(), "e: MTU");
        let findings = format!(r#"{{"findings": [{{"id": "a"}}, {{"id": "b", "changes": [{CHANGE}]}}]}}"#);
        assert_eq!(parse(&findings).unwrap(), list);
        assert!(parse(r#"[{"setting": {"kind": "mtu"}}]"#).unwrap_err().to_string().contains("interface"));
    }
}
