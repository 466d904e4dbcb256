//! A part of a study for one worker of several. Every worker finds the same parts by itself, from the runs alone.

use crate::work::expected_packets;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;
use wirespeed_scenario::Run;
use wirespeed_substrates::Substrate;

/// One of several parts of a study, written `3/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    count: u32,
}

/// The most parts of a study: as many as a study may have runs.
const MOST: u32 = 100_000;

/// Why a text is not a shard.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a shard: write K/N, such as 3/16 for the third of sixteen")]
pub struct ShardError(String);

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let numbers = text.split_once('/').and_then(|(number, count)| {
            Some(Shard { number: number.trim().parse().ok()?, count: count.trim().parse().ok()? })
        });
        let is_valid = |shard: &Shard| (1..=shard.count).contains(&shard.number) && shard.count <= MOST;
        numbers.filter(is_valid).ok_or_else(|| ShardError(text.into()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl Shard {
    /// Its number, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// The runs of this shard, in their order.
    pub fn select(self, runs: &[Run], substrate: &dyn Substrate) -> Vec<Run> {
        let places = shards_of(runs, substrate, self.count);
        let own = runs.iter().zip(places).filter(|(_, number)| *number == self.number);
        own.map(|(run, _)| run.clone()).collect()
    }
}

/// For each run, the number of its shard, from 1 to `count`. Shards have about the same expected work: the largest run goes first,
/// each to the shard with the least (Graham, SIAM J. Appl. Math. 17, 1969). Repetitions of which one is executed and the others are
/// copied are in one shard.
pub fn shards_of(runs: &[Run], substrate: &dyn Substrate, count: u32) -> Vec<u32> {
    let originals = crate::campaign::originals(runs, substrate);
    let mut units: Vec<(usize, u64)> = (0..runs.len())
        .filter(|index| !originals.contains_key(index))
        .map(|index| (index, expected_packets(&runs[index])))
        .collect();
    units.sort_by_key(|(index, work)| (Reverse(*work), *index));
    // Work so far and number; the first key is the next to fill.
    let mut loads: BTreeMap<(u64, u32), ()> = (1..=count.max(1)).map(|number| ((0, number), ())).collect();
    let mut places = vec![0; runs.len()];
    for (index, work) in units {
        let ((load, number), ()) = loads.pop_first().expect("there is at least one shard");
        places[index] = number;
        loads.insert((load.saturating_add(work), number), ());
    }
    for (copy, original) in originals {
        places[copy] = places[original];
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_substrates::Model;

    fn runs(text: &str) -> Vec<Run> {
        let head = "schema = 1\nname = \"t\"\n[path]\nrate = \"1 Gbit/s\"\nrtt = \"10 ms\"\nbuffer = \"1 bdp\"\n[[flow]]\n";
        wirespeed_scenario::parse(&format!("{head}{text}"), "t.toml", &[], None).unwrap().runs
    }

    #[test]
    fn text_of_a_shard_is_read_and_nonsense_is_rejected() {
        assert_eq!("3/16".parse::<Shard>().unwrap().to_string(), "3/16");
        for wrong in ["", "3", "0/4", "5/4", "1/0", "-1/4", "1/100001", "a/b", "1/2/3"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_run_is_in_one_shard_and_work_is_spread() {
        let runs = runs(
            "[run]\nduration = \"1 s\"\nrepeat = 3\n[sweep]\n\"path.loss\" = [1e-5, 1e-4]\n\"run.duration\" = [\"1 s\", \"2 s\", \"4 s\"]\n",
        );
        let shards: Vec<Vec<Run>> =
            (1..=4).map(|number| Shard { number, count: 4 }.select(&runs, &Model)).collect();
        assert_eq!(shards.iter().map(Vec::len).sum::<usize>(), runs.len());
        let mut ids: Vec<&str> = shards.iter().flatten().map(|run| run.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), runs.len());
        let work = |shard: &Vec<Run>| shard.iter().map(expected_packets).sum::<u64>();
        let (least, most) = (shards.iter().map(work).min().unwrap(), shards.iter().map(work).max().unwrap());
        assert!(most < least * 3 / 2, "{least} to {most}");
    }

    #[test]
    fn copies_are_with_their_original() {
        let runs = runs(
            "[run]\nduration = \"1 s\"\nrepeat = 4\n[sweep]\n\"path.rtt\" = [\"10 ms\", \"20 ms\", \"30 ms\"]\n",
        );
        let places = shards_of(&runs, &Model, 3);
        for setting in places.chunks(4) {
            assert!(setting.iter().all(|number| *number == setting[0]), "{places:?}");
        }
        assert_eq!(places.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
    }
}
