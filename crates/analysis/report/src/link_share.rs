//! How much of a link a rate is, where that means something.

use crate::facts::RunFacts;
use crate::number::{significant, with_unit};
use std::collections::BTreeSet;
use wirespeed_metrics::Capacity;
use wirespeed_record::{FlowInfo, LinkInfo};

/// `45 % of the 9.5 Gbit/s link`, or of its mean rate if that changes, of the slowest link that all flows of a run cross in one direction. `None` where the rate of
/// the link is not known. Where the flows share no link, or carry more than the link is said to, that is what is said.
pub(crate) fn share_of_link(info: &RunFacts, rate: f64) -> Option<String> {
    let is_known = |link: &&LinkInfo| link.rate_bps > 0 && !link.is_assumed;
    if !info.links.iter().any(|link| is_known(&link)) {
        return None;
    }
    // Imported and older runs do not say which links a flow crosses: they have one.
    let crosses = |flow: &FlowInfo, link: &LinkInfo| flow.links.is_empty() || flow.links.contains(&link.name);
    // A flow that splitters cut crosses what its legs do.
    let crosses_whole = |flow: &FlowInfo, link: &LinkInfo| {
        let has_legs = flow.leg.is_some();
        crosses(flow, link)
            || has_legs && info.flows.iter().any(|leg| leg.is_of_same_flow(flow) && crosses(leg, link))
    };
    let crossed = |link: &&LinkInfo| info.flows.iter().all(|flow| crosses_whole(flow, link));
    let one_way = info.flows.iter().map(|flow| goes_right(info, flow)).collect::<BTreeSet<_>>().len() < 2;
    let mean = |link: &LinkInfo| Capacity::of(link).mean_rate(info.omit_ns, info.duration_ns);
    let shared =
        info.links.iter().filter(crossed).filter(is_known).map(|link| (mean(link), !link.changes.is_empty()));
    let Some((capacity, changes)) = shared.filter(|_| one_way).min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Some("the sum over flows that share no link in one direction".into());
    };
    let (percent, capacity) = (rate / capacity * 100.0, with_unit(capacity, "bit/s"));
    Some(if percent < 100.5 {
        let of = if changes {
            format!("{capacity} that the link has on average")
        } else {
            format!("{capacity} link")
        };
        format!("{} % of the {of}", significant(percent, 2))
    } else {
        format!("more than the {capacity} that the scenario gives the link, which is not its limit")
    })
}

/// Whether a flow goes from left to right along the chain of routers; `None` if the routers of its hosts are unknown.
fn goes_right(info: &RunFacts, flow: &FlowInfo) -> Option<bool> {
    let router = |name: &str| info.hosts.iter().find(|host| host.name == name)?.router;
    Some(router(&flow.from)? < router(&flow.to)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Pool;
    use wirespeed_record::{HostInfo, LinkChange, RunInfo};

    /// Links by name and rate in Gbit/s; flows by their hosts, one at each router, and links.
    fn run(links: &[(&str, u64)], flows: &[(usize, usize, &[&str])]) -> RunInfo {
        let link = |(name, gbit): &(&str, u64)| LinkInfo {
            name: (*name).into(),
            rate_bps: gbit * 1_000_000_000,
            ..LinkInfo::default()
        };
        let flow = |(from, to, links): &(usize, usize, &[&str])| FlowInfo {
            from: from.to_string(),
            to: to.to_string(),
            links: links.iter().map(|link| (*link).to_owned()).collect(),
            ..FlowInfo::default()
        };
        let host =
            |router: u32| HostInfo { name: router.to_string(), router: Some(router), ..HostInfo::default() };
        RunInfo {
            links: links.iter().map(link).collect(),
            flows: flows.iter().map(flow).collect(),
            hosts: (0..4).map(host).collect(),
            ..RunInfo::default()
        }
    }

    fn share(run: &RunInfo, rate: f64) -> Option<String> {
        share_of_link(&Pool::default().facts(run), rate)
    }

    fn told(run: &RunInfo, gbit: f64) -> String {
        share(run, gbit * 1e9).unwrap_or_default()
    }

    #[test]
    fn of_a_link_that_changes_the_mean_rate_counts() {
        let mut run = run(&[("a", 10)], &[(0, 2, &["a"])]);
        run.duration_ns = 4;
        run.links[0].changes = vec![LinkChange { t_ns: 1, rate_bps: 2_000_000_000, ..LinkChange::default() }];
        assert_eq!(told(&run, 2.0), "50 % of the 4 Gbit/s that the link has on average");
    }

    #[test]
    fn a_percentage_is_of_the_slowest_link_that_all_flows_share() {
        let both = run(&[("a", 10), ("b", 4)], &[(0, 2, &["a", "b"]), (0, 2, &["a", "b"])]);
        assert_eq!(told(&both, 3.0), "75 % of the 4 Gbit/s link");
        let one = run(&[("a", 10), ("b", 4)], &[(0, 2, &["a", "b"]), (0, 1, &["a"])]);
        assert_eq!(told(&one, 9.0), "90 % of the 10 Gbit/s link");
    }

    #[test]
    fn legs_of_a_flow_share_the_links_that_it_crosses() {
        let mut run = run(&[("a", 10), ("b", 4)], &[(0, 1, &["a"]), (1, 2, &["b"])]);
        for (number, flow) in (1..).zip(&mut run.flows) {
            flow.leg = Some(wirespeed_record::Leg { of: "f".into(), number, legs: 2 });
        }
        assert_eq!(told(&run, 3.0), "75 % of the 4 Gbit/s link");
    }

    #[test]
    fn flows_that_share_no_link_have_no_percentage() {
        let none = "the sum over flows that share no link in one direction";
        let lot: [(usize, usize, &[&str]); 3] = [(0, 2, &["a", "b"]), (0, 1, &["a"]), (1, 2, &["b"])];
        assert_eq!(told(&run(&[("a", 1), ("b", 1)], &lot), 1.9), none);
        assert_eq!(told(&run(&[("a", 1)], &[(0, 1, &["a"]), (1, 0, &["a"])]), 1.8), none);
    }

    #[test]
    fn a_rate_that_is_no_limit_is_not_taken_for_one() {
        let mut run = run(&[("a", 10)], &[(0, 1, &["a"])]);
        assert_eq!(
            told(&run, 46.6),
            "more than the 10 Gbit/s that the scenario gives the link, which is not its limit"
        );
        run.links[0].is_assumed = true;
        assert_eq!(share(&run, 46.6e9), None);
        assert_eq!(share(&RunInfo::default(), 46.6e9), None);
    }
}
