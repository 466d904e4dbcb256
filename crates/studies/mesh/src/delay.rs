//! How long datagrams were on their way, by two clocks that were compared.

use serde::{Deserialize, Serialize};
use wirespeed_record::{Datagram, HostInfo, Recording};

/// One-way delay and its variation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Delay {
    /// Least one-way delay.
    pub min_ns: i64,
    /// Median one-way delay.
    pub median_ns: i64,
    /// By how much the clocks of the two hosts may differ: the delays are wrong by no more than that.
    pub error_ns: i64,
    /// Mean difference of the delays of successive datagrams. The clocks' difference is not in it.
    pub jitter_ns: i64,
}

impl Delay {
    /// Of the datagrams of a recording; `None` if none arrived.
    pub fn of(recording: &Recording) -> Option<Delay> {
        let mut arrived: Vec<(u64, i64)> = recording
            .datagrams
            .iter()
            .filter(|row| !row.duplicate)
            .filter_map(|row| Some((row.sequence, row.arrived_ns?.saturating_sub(row.sent_ns))))
            .collect();
        arrived.sort_unstable();
        let mut delays: Vec<i64> = arrived.iter().map(|(_, delay)| *delay).collect();
        let differences = delays.windows(2).map(|pair| pair[1].abs_diff(pair[0]) as f64);
        let jitter_ns = differences.sum::<f64>() / delays.len().saturating_sub(1).max(1) as f64;
        delays.sort_unstable();
        Some(Delay {
            min_ns: *delays.first()?,
            median_ns: delays[delays.len() / 2],
            error_ns: recording.info.hosts.iter().filter_map(clock_error_ns).sum(),
            jitter_ns: jitter_ns as i64,
        })
    }
}

/// By how much a host's clock may be wrong.
fn clock_error_ns(host: &HostInfo) -> Option<i64> {
    let of = |name: &str| -> Option<f64> {
        host.settings.get(name)?.strip_suffix(" us")?.parse::<f64>().ok().filter(|error| error.is_finite())
    };
    Some(((of("clock.error")? + of("clock.drift").unwrap_or(0.0).abs()) * 1e3) as i64)
}

/// The most datagrams of a flow that were lost one after the other.
pub fn longest_loss(datagrams: &[Datagram]) -> u64 {
    let mut rows: Vec<(u32, u64, bool)> = datagrams
        .iter()
        .filter(|row| !row.duplicate)
        .map(|row| (row.flow, row.sequence, row.arrived_ns.is_none()))
        .collect();
    rows.sort_unstable();
    let (mut longest, mut now, mut flow) = (0, 0, None);
    for (of, _, is_lost) in rows {
        now = match is_lost {
            true if flow == Some(of) => now + 1,
            true => 1,
            false => 0,
        };
        flow = Some(of);
        longest = longest.max(now);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirespeed_record::RunInfo;

    fn row(sequence: u64, took_ns: Option<i64>) -> Datagram {
        let sent_ns = sequence as i64 * 1000;
        let arrived_ns = took_ns.map(|took| sent_ns + took);
        Datagram { flow: 0, sequence, sent_ns, arrived_ns, reordered_by: 0, duplicate: false }
    }

    #[test]
    fn delay_and_jitter_are_those_worked_out_by_hand() {
        let host = |error: &str| HostInfo {
            settings: [
                ("clock.error".to_owned(), error.to_owned()),
                ("clock.drift".into(), "-1.0 us".into()),
            ]
            .into(),
            ..Default::default()
        };
        let took = [Some(50), None, Some(60), Some(40), Some(90)];
        let recording = Recording {
            info: RunInfo { hosts: vec![host("10.0 us"), host("20.5 us")], ..Default::default() },
            datagrams: took.into_iter().zip(0..).map(|(took, sequence)| row(sequence, took)).collect(),
            ..Default::default()
        };
        // 50, 60, 40, 90: differences 10, 20, 50.
        let delay = Delay::of(&recording).unwrap();
        assert_eq!((delay.min_ns, delay.median_ns, delay.jitter_ns, delay.error_ns), (40, 60, 26, 32_500));
        assert_eq!(Delay::of(&Recording::default()), None);
    }

    #[test]
    fn longest_loss_ends_with_an_arrival() {
        let took = [None, Some(1), None, None, Some(1), None];
        let rows: Vec<Datagram> =
            took.into_iter().zip(0..).map(|(took, sequence)| row(sequence, took)).collect();
        assert_eq!(longest_loss(&rows), 2);
        assert_eq!(longest_loss(&[]), 0);
    }
}
