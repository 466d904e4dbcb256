//! Assigns the packets that did not arrive to places of the hosts, or to the network between them.

use super::places::Lost;

/// The packets that did not arrive, less those that the hosts count as lost.
#[derive(Debug, PartialEq, Eq)]
pub enum Rest {
    /// The hosts are cleared: so many packets were lost between them.
    Network(i64),
    /// Why the rest cannot be assigned: several places dropped packets of unknown number, or more was lost than is missing.
    Unexplained(&'static str),
}

/// A place can have lost so many times the mean size of its GSO packets, if that is known. Beyond, the network lost some.
const SPREAD: i64 = 2;

/// Assigns missing packets to the places with losses. A place that is not exact lost at least as many as it counts. Further
/// missing packets are assigned to such places up to their upper bounds. The shares are certain if there is one such place
/// and the network lost nothing. If more are missing, the network lost some. A place then has as many as its GSO packets have on
/// average, or its upper bound if their size is unknown.
pub fn attribute(missing: i64, places: &mut [Lost]) -> Rest {
    let counted: i64 = places.iter().map(|lost| lost.packets).sum();
    let rest = missing - counted;
    if rest < 0 {
        return Rest::Unexplained("negative: more losses are counted at the hosts than packets are missing");
    }
    let mut inexact: Vec<&mut Lost> = places.iter_mut().filter(|lost| !lost.is_exact()).collect();
    let room: i64 = inexact.iter().map(|lost| plausible(lost) - lost.packets).sum();
    if inexact.len() > 1 && (1..room).contains(&rest) {
        return Rest::Unexplained(
            "several places dropped packets of which their numbers are not known exactly",
        );
    }
    let mut network = rest;
    for lost in inexact.iter_mut().filter(|_| rest > 0) {
        let most = if rest > room { lost.likely.unwrap_or(lost.most) } else { plausible(lost) };
        let share = network.min((most - lost.packets).max(0));
        let why = match lost.likely {
            Some(likely) if rest > room => format!("about {likely} by the mean size of GSO packets"),
            _ => format!("{share} more are missing and were not lost elsewhere"),
        };
        lost.source =
            format!("{}: {} packets at least, {} at most; {why}", lost.source, lost.packets, lost.most);
        lost.packets += share;
        network -= share;
    }
    Rest::Network(network)
}

/// How many packets a place has lost at most, if its GSO packets were not much larger than others.
fn plausible(lost: &Lost) -> i64 {
    lost.likely.map_or(lost.most, |likely| (likely * SPREAD).clamp(lost.packets, lost.most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::Stage;

    fn place(packets: i64, most: i64, likely: Option<i64>) -> Lost {
        Lost {
            stage: Stage::SoftnetBacklog,
            place: "a/eth0".into(),
            packets,
            most,
            likely,
            source: "s".into(),
        }
    }

    fn shares(missing: i64, places: &[Lost]) -> (Rest, Vec<i64>) {
        let mut places = places.to_vec();
        let rest = attribute(missing, &mut places);
        (rest, places.iter().map(|lost| lost.packets).collect())
    }

    #[test]
    fn a_network_that_lost_most_is_not_cleared_by_one_drop_at_a_host() {
        // A policer dropped 1953 packets, and the backlog one buffer of one packet.
        assert_eq!(shares(1954, &[place(1, 45, Some(1))]), (Rest::Network(1953), vec![1]));
        assert_eq!(shares(1954, &[place(1, 45, Some(10))]), (Rest::Network(1944), vec![10]));
        assert_eq!(shares(1954, &[place(1, 45, None)]), (Rest::Network(1909), vec![45]));
    }

    #[test]
    fn one_place_has_what_its_buffers_can_have() {
        assert_eq!(shares(100, &[place(3, 135, None)]), (Rest::Network(0), vec![100]));
        assert_eq!(shares(66, &[place(3, 135, Some(60))]), (Rest::Network(0), vec![66]));
        assert_eq!(shares(3, &[place(3, 135, Some(3))]), (Rest::Network(0), vec![3]));
        assert_eq!(shares(20, &[place(3, 135, Some(3))]), (Rest::Network(17), vec![3]));
    }

    #[test]
    fn several_places_are_told_apart_only_if_the_rest_is_beyond_both() {
        let both = [place(3, 135, Some(30)), place(2, 90, Some(20))];
        assert!(matches!(shares(60, &both), (Rest::Unexplained(_), _)));
        assert_eq!(shares(1000, &both), (Rest::Network(950), vec![30, 20]));
        assert!(matches!(shares(4, &both), (Rest::Unexplained(_), _)));
    }
}
