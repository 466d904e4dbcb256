//! Who probes whom when.

/// Rounds in which every ordered pair of `hosts` hosts comes once and no host twice in a round: the circle method for
/// round-robin tournaments, each round once in either direction.
pub fn rounds(hosts: usize) -> Vec<Vec<(usize, usize)>> {
    // With an odd number one rests in each round.
    let seats = hosts + hosts % 2;
    let mut rounds = Vec::new();
    for turn in 0..seats.saturating_sub(1) {
        // The last seat stays where it is, the others move on by one.
        let at = |seat: usize| if seat == seats - 1 { seat } else { (seat + turn) % (seats - 1) };
        let pairs = (0..seats / 2).map(|seat| (at(seat), at(seats - 1 - seat)));
        let there: Vec<(usize, usize)> = pairs.filter(|(a, b)| *a < hosts && *b < hosts).collect();
        let back = there.iter().map(|(a, b)| (*b, *a)).collect();
        rounds.extend([there, back]);
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_pair_comes_once_and_nobody_twice_in_a_round(hosts in 0usize..40) {
            let rounds = rounds(hosts);
            let mut all = BTreeSet::new();
            for round in &rounds {
                let mut busy = BTreeSet::new();
                for (from, to) in round {
                    prop_assert!(from != to && *from < hosts && *to < hosts);
                    prop_assert!(busy.insert(*from) && busy.insert(*to));
                    prop_assert!(all.insert((*from, *to)));
                }
            }
            prop_assert_eq!(all.len(), hosts * hosts.saturating_sub(1));
        }
    }

    #[test]
    fn there_are_as_few_rounds_as_can_be() {
        assert_eq!(rounds(4).len(), 6);
        assert_eq!(rounds(5).len(), 10);
    }
}
