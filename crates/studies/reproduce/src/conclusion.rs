//! The conclusions of a study, and whether the claims that they rest on agree.

use super::results::ClaimResult;
use crate::claims::read::{only, optional_texts, required_text};
use crate::claims::{Claim, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wirespeed_record::SubstrateKind;
use wirespeed_scenario::document::{Complaint, Node};

/// A conclusion as `study.toml` has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ConclusionRow {
    /// The conclusion in a sentence.
    pub text: String,
    /// Names of the claims that it rests on.
    pub rests_on: Vec<String>,
    node: Node,
}

impl ConclusionRow {
    pub(super) fn read(node: &Node) -> Result<Self, Complaint> {
        const WHAT: &str = "a conclusion";
        only(node, &["text", "rests_on"], WHAT, "give text and rests_on")?;
        let rests_on = optional_texts(node, "rests_on", WHAT)?;
        if rests_on.is_empty() {
            return Err(Complaint::at(&node.at, "a conclusion: `rests_on` has no claim")
                .label("in this table")
                .help("add a line rests_on = [\"the name of a claim\"]"));
        }
        Ok(ConclusionRow { text: required_text(node, "text", WHAT)?, rests_on, node: node.clone() })
    }

    /// # Errors
    /// If it rests on a claim that is not one of `claims`.
    pub(super) fn check(&self, claims: &[Claim]) -> Result<(), Complaint> {
        let is_known = |name: &&String| claims.iter().any(|claim| claim.id == **name);
        match self.rests_on.iter().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(unknown) => Err(Complaint::at(
                &self.node.get("rests_on").unwrap_or(&self.node).at,
                format!("a conclusion: the study has no claim `{unknown}`"),
            )
            .label("not a claim")
            .help("name claims of claims.toml and claims-own.toml")),
        }
    }
}

/// A conclusion with the verdicts of its claims.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The conclusion in a sentence.
    pub text: String,
    /// Names of the claims that it rests on.
    pub rests_on: Vec<String>,
    /// Their verdicts, by substrate.
    pub results: BTreeMap<SubstrateKind, Support>,
}

/// Verdicts of the claims that a conclusion rests on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// Claims with a verdict by number.
    pub judged: usize,
    /// Claims that agree.
    pub agree: usize,
}

impl Conclusion {
    /// A conclusion with the verdicts so far.
    pub fn new(row: &ConclusionRow, claims: &[ClaimResult]) -> Self {
        let mut results: BTreeMap<SubstrateKind, Support> = BTreeMap::new();
        let named = row.rests_on.iter().filter_map(|name| claims.iter().find(|claim| claim.id == *name));
        for (substrate, entry) in named.flat_map(|claim| &claim.results) {
            let agrees = matches!(entry.judgement.verdict, Verdict::Agrees);
            let is_judged = agrees || matches!(entry.judgement.verdict, Verdict::Differs { .. });
            let support = results.entry(*substrate).or_default();
            support.judged += usize::from(is_judged);
            support.agree += usize::from(agrees);
        }
        Conclusion { text: row.text.clone(), rests_on: row.rests_on.clone(), results }
    }

    /// The verdict on each substrate, in a sentence.
    pub fn words(&self) -> String {
        let all = self.rests_on.len();
        let on = |(substrate, support): (&SubstrateKind, &Support)| {
            let Support { judged, agree } = *support;
            let word = match (judged, agree) {
                (0, _) => return format!("not judged on {substrate}"),
                (_, 0) => "does not hold",
                _ if agree == all => "holds",
                _ => "holds in part",
            };
            let open = match all - judged {
                0 => String::new(),
                open => format!(", {open} without a number"),
            };
            format!("{word} on {substrate} ({agree} of {all} claims agree{open})")
        };
        match self.results.is_empty() {
            true => "not run".into(),
            false => self.results.iter().map(on).collect::<Vec<_>>().join("; "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Entry;
    use wirespeed_scenario::document::{Source, parse_document};

    fn row(text: &str) -> Result<ConclusionRow, Complaint> {
        let root = parse_document(&Source::new("study.toml", text)).expect("it is TOML");
        ConclusionRow::read(&root)
    }

    fn claim(id: &str, verdict: Verdict) -> ClaimResult {
        let judgement = crate::claims::Judgement { measured: String::new(), verdict };
        let entry = Entry { judgement, mode: String::new(), recorded: false };
        ClaimResult {
            id: id.into(),
            results: [(SubstrateKind::Model, entry)].into(),
            ..ClaimResult::default()
        }
    }

    #[test]
    fn verdict_follows_from_the_claims() {
        let row = row("text = \"Larger is faster.\"\nrests_on = [\"a\", \"b\"]").unwrap();
        let differs = || Verdict::Differs { by: "9 %".into() };
        let missing = || Verdict::Missing { why: "not run".into() };
        for (claims, expected) in [
            (vec![], "not run"),
            (
                vec![claim("a", Verdict::Agrees), claim("b", Verdict::Agrees)],
                "holds on model (2 of 2 claims agree)",
            ),
            (
                vec![claim("a", Verdict::Agrees), claim("b", differs())],
                "holds in part on model (1 of 2 claims agree)",
            ),
            (
                vec![claim("a", differs()), claim("b", differs())],
                "does not hold on model (0 of 2 claims agree)",
            ),
            (
                vec![claim("a", Verdict::Agrees), claim("b", missing())],
                "holds in part on model (1 of 2 claims agree, 1 without a number)",
            ),
            (vec![claim("a", missing()), claim("c", Verdict::Agrees)], "not judged on model"),
        ] {
            assert_eq!(Conclusion::new(&row, &claims).words(), expected);
        }
    }

    #[test]
    fn conclusion_without_claims_is_refused() {
        let error = row("text = \"Larger is faster.\"").unwrap_err();
        assert!(error.message.contains("`rests_on` has no claim"), "{}", error.message);
        let row = row("text = \"Larger is faster.\"\nrests_on = [\"a\"]").unwrap();
        assert!(row.check(&[]).unwrap_err().message.contains("no claim `a`"));
    }
}
