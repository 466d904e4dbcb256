//! The window of a flow over time, in bounded memory.

use serde::Serialize;

/// State of a flow in one round, or in several rounds of a long flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WindowSample {
    /// Start of the first round.
    pub t_ns: i64,
    /// Largest number of bytes in flight.
    pub in_flight_bytes: u64,
    /// Shortest RTT from the capture point to the receiver, in nanoseconds.
    pub rtt_ns: Option<i64>,
    /// Losses were being repaired.
    pub in_recovery: bool,
}

impl WindowSample {
    /// Most samples of a flow.
    pub const MOST: usize = 4_096;
}

/// Samples, of which neighbours are merged whenever there are too many.
#[derive(Debug, Clone, Default)]
pub(crate) struct WindowSeries {
    samples: Vec<WindowSample>,
    /// Rounds in a sample, as a power of two.
    level: u32,
    /// Rounds in the last sample.
    filled: u32,
}

impl WindowSeries {
    pub(crate) fn add(&mut self, sample: WindowSample) {
        if self.filled > 0
            && self.filled < 1 << self.level
            && let Some(last) = self.samples.last_mut()
        {
            *last = merged(*last, sample);
            self.filled += 1;
            return;
        }
        if self.samples.len() == WindowSample::MOST {
            let pairs: Vec<WindowSample> = self
                .samples
                .chunks(2)
                .map(|pair| pair.iter().copied().reduce(merged).unwrap_or(pair[0]))
                .collect();
            self.samples = pairs;
            self.level += 1;
        }
        self.samples.push(sample);
        self.filled = 1;
    }

    pub(crate) fn samples(&self) -> &[WindowSample] {
        &self.samples
    }
}

fn merged(one: WindowSample, other: WindowSample) -> WindowSample {
    let rtt_ns = match (one.rtt_ns, other.rtt_ns) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    WindowSample {
        t_ns: one.t_ns,
        in_flight_bytes: one.in_flight_bytes.max(other.in_flight_bytes),
        rtt_ns,
        in_recovery: one.in_recovery || other.in_recovery,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_flow_keeps_its_largest_windows_in_bounded_memory() {
        let mut series = WindowSeries::default();
        for t in 0..100_000 {
            let in_flight_bytes = if t == 77_777 { 9_999 } else { 5 };
            series.add(WindowSample { t_ns: t, in_flight_bytes, rtt_ns: None, in_recovery: false });
        }
        let samples = series.samples();
        assert!(samples.len() <= WindowSample::MOST && samples.len() > WindowSample::MOST / 4);
        assert!(samples.windows(2).all(|pair| pair[0].t_ns < pair[1].t_ns));
        assert_eq!(samples.iter().filter(|sample| sample.in_flight_bytes == 9_999).count(), 1);
    }
}
