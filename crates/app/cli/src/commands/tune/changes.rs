//! The changes that a plan is made of.

use crate::failure::Failure;
use serde::Deserialize;
use serde_json::Value;
use std::io::Read;
use std::path::Path;
use wirespeed_inventory::Change;

/// The changes in a JSON file: a list of changes, or the output of `wirespeed doctor --json` for one host, without those of
/// severity info. `-` is standard input.
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

fn parse(text: &str) -> Result<Vec<Change>, ParseError> {
    let Value::Object(object) = serde_json::from_str(text)? else {
        // From the text, so that an error has its line.
        return Ok(serde_json::from_str(text)?);
    };
    let host = match object.get("hosts").and_then(Value::as_array).map(Vec::as_slice) {
        None => &Value::Object(object),
        Some([host]) => host,
        Some(several) => return Err(ParseError::Hosts(several.len())),
    };
    let Some(findings) = host["findings"].as_array() else { return Err(ParseError::NoFindings) };
    let mut all = Vec::new();
    // A finding of severity info is a decision of the user.
    for finding in findings.iter().filter(|finding| finding["severity"] != "info") {
        if let Some(changes) = finding.get("changes") {
            all.extend(Vec::<Change>::deserialize(changes)?);
        }
    }
    Ok(all)
}

/// A file without usable changes.
#[derive(Debug, thiserror::Error)]
enum ParseError {
    /// It is not JSON, or a part of it is not a change.
    #[error(transparent)]
    Syntax(#[from] serde_json::Error),
    /// Settings of one host would be made on another.
    #[error("it has the findings of {0} hosts; write a file for each with `wirespeed doctor HOST --json`")]
    Hosts(usize),
    /// An object of another program.
    #[error("it is neither a list of changes nor the output of `wirespeed doctor --json`")]
    NoFindings,
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
        let host = format!(
            r#"{{"findings": [{{"rule": "a"}}, {{"rule": "b", "severity": "warning", "changes": [{CHANGE}]}},
                {{"rule": "c", "severity": "info", "changes": [{CHANGE}]}}]}}"#
        );
        assert_eq!(parse(&host).unwrap(), list);
        assert_eq!(parse(&format!(r#"{{"hosts": [{host}]}}"#)).unwrap(), list);
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert!(error(&format!(r#"{{"hosts": [{host}, {host}]}}"#)).contains("findings of 2 hosts"));
        assert!(error("{}").contains("neither a list of changes"));
        assert!(parse(r#"[{"setting": {"kind": "mtu"}}]"#).unwrap_err().to_string().contains("interface"));
    }
}
