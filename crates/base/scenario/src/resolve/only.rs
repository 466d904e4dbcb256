//! `run.only`: the flows of one group, without those of the others.

use crate::error::Complaint;
use crate::run::{ALL_GROUPS, Run};
use crate::suggest;
use crate::tree::Node;
use std::collections::BTreeSet;

/// Whether each flow of `run` is of the group that `only` names; `None` if all run.
pub(super) fn kept(only: Option<&str>, run: &Run, root: &Node) -> Result<Option<Vec<bool>>, Complaint> {
    let Some(only) = only.filter(|only| *only != ALL_GROUPS) else { return Ok(None) };
    let groups = run.flow_groups();
    if !groups.iter().any(|group| group == only) {
        let known: BTreeSet<&str> = groups.iter().map(String::as_str).chain([ALL_GROUPS]).collect();
        let known: Vec<&str> = known.into_iter().collect();
        let place = root.place_of(&["run", "only"]);
        return Err(Complaint::at(&place, format!("run.only: no group of flows has the label `{only}`"))
            .label("no such group")
            .help(suggest::choices(only, "labels", &known)));
    }
    Ok(Some(groups.iter().map(|group| group == only).collect()))
}

#[cfg(test)]
mod tests {
    use crate::study::{Study, parse};

    const FLOWS: &str = "[[flow]]\nlabel = \"a\"\ncount = 2\n[[flow]]\nlabel = \"b\"\ncongestion = \"bbr\"\n";

    fn study(rest: &str) -> Result<Study, String> {
        let path = "[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n";
        let text =
            format!("schema = 1\nname = \"t\"\nabout = \"\"\n{path}{FLOWS}[run]\nduration = \"5 s\"\n{rest}");
        parse(&text, "t.toml", &[], None).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_group_runs_alone_with_the_seed_that_it_has_beside_others() {
        let found = study("repeat = 2\n[sweep]\n\"run.only\" = [\"all\", \"a\", \"b\"]\n").unwrap();
        let labels = |run: &crate::run::Run| -> Vec<String> {
            run.flows.iter().map(|flow| flow.label.clone()).collect()
        };
        let all: Vec<_> = found.runs.iter().map(labels).collect();
        assert_eq!(all[0], ["a-1", "a-2", "b"]);
        assert_eq!(all[2], ["a-1", "a-2"]);
        assert_eq!(all[4], ["b"]);
        let seeds: Vec<u64> = found.runs.iter().map(|run| run.seed).collect();
        assert_eq!([seeds[0], seeds[0], seeds[1]], [seeds[2], seeds[4], seeds[5]]);
        assert_ne!(seeds[0], seeds[1]);
    }

    #[test]
    fn an_unknown_group_is_named_with_those_that_exist() {
        let error = study("only = \"c\"\n").unwrap_err();
        assert!(error.contains("no group of flows has the label `c`") && error.contains("all"), "{error}");
    }

    #[test]
    fn a_bound_on_a_group_is_not_for_runs_without_it() {
        let rest = "[sweep]\n\"run.only\" = [\"all\", \"a\", \"b\"]\n[expect]\n\"group.b.goodput_bps\" = { min = 1 }\n";
        let found = study(rest).unwrap();
        let applies: Vec<bool> = found.runs.iter().map(|run| found.expect[0].applies(run)).collect();
        assert_eq!(applies, [true, false, true]);
    }
}
