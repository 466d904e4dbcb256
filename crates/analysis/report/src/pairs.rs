//! What pairs of hosts lost of the datagrams they sent each other.

use std::collections::BTreeSet;
use wirespeed_metrics::Pair;

/// How many different pairs there are.
pub(crate) fn different(pairs: &[Pair]) -> usize {
    pairs.iter().map(|pair| (&pair.from, &pair.to)).collect::<BTreeSet<_>>().len()
}

/// Hosts of which every pair loses far more than others do, as `wirespeed mesh` finds sites; the one with most pairs first.
/// What one of them explains is not held against the other end.
pub(crate) fn outstanding(pairs: &[Pair]) -> Vec<&str> {
    let mut rest: Vec<&Pair> = pairs.iter().collect();
    let mut found = Vec::new();
    loop {
        let hosts: BTreeSet<&str> = rest.iter().flat_map(|pair| [&*pair.from, &*pair.to]).collect();
        let own = |host: &str| rest.iter().filter(|pair| pair.is_of(host)).count();
        let mut candidates: Vec<&str> = hosts.into_iter().filter(|host| stands_out(host, &rest)).collect();
        candidates.sort_by_key(|host| std::cmp::Reverse(own(host)));
        let Some(host) = candidates.first().copied() else { return found };
        found.push(host);
        rest.retain(|pair| !pair.is_of(host));
    }
}

fn stands_out(host: &str, pairs: &[&Pair]) -> bool {
    let (own, others): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|pair| pair.is_of(host));
    let least = own.iter().map(|pair| pair.share()).fold(f64::INFINITY, f64::min);
    let mut others: Vec<f64> = others.iter().map(|pair| pair.share()).collect();
    others.sort_by(f64::total_cmp);
    // One pair is no host, and without others there is nothing to stand out from.
    let Some(median) = others.get(others.len() / 2).filter(|_| own.len() > 1) else { return false };
    wirespeed_diagnosis::stands_out(least, *median)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of `hosts` to each other; `loss` says how many of 10,000 are lost.
    fn mesh(hosts: &[&str], loss: impl Fn(&str, &str) -> u64) -> Vec<Pair> {
        let all = hosts.iter().flat_map(|from| hosts.iter().map(move |to| (*from, *to)));
        let pair = |(from, to): (&str, &str)| Pair {
            from: from.into(),
            to: to.into(),
            sent: 10_000,
            lost: loss(from, to),
        };
        all.filter(|(from, to)| from != to).map(pair).collect()
    }

    #[test]
    fn the_host_that_all_lossy_pairs_have_in_common_stands_out() {
        let hosts = ["a", "b", "c", "d"];
        let faulty = |from: &str, to: &str| if from == "c" || to == "c" { 44 } else { 1 };
        assert_eq!(outstanding(&mesh(&hosts, faulty)), ["c"]);
        assert!(outstanding(&mesh(&hosts, |_, _| 44)).is_empty(), "all lose");
        assert!(outstanding(&mesh(&hosts, |_, _| 0)).is_empty(), "none loses");
        let one_way = |from: &str, _: &str| if from == "c" { 44 } else { 0 };
        assert!(outstanding(&mesh(&hosts, one_way)).is_empty(), "what it receives is whole");
    }

    #[test]
    fn peer_of_a_faulty_host_is_not_blamed() {
        let mut pairs = mesh(&["a", "b", "c"], |from, to| if from == "c" || to == "c" { 44 } else { 0 });
        for (from, to) in [("c", "d"), ("d", "c")] {
            pairs.push(Pair { from: from.into(), to: to.into(), sent: 10_000, lost: 44 });
        }
        assert_eq!(outstanding(&pairs), ["c"]);
    }
}
