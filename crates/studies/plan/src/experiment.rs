//! Experiments and their readings. The engine of the plan chooses them, and a [`Laboratory`] runs them.

use crate::point::Point;
use crate::question::Question;
use wirespeed_scenario::congestion_control;
use wirespeed_units::Span;

/// Parts of the measured time of which an interval of confidence is made.
pub const BATCHES: usize = 10;

/// A scenario has no finer samples.
const FINEST_SAMPLE: Span = Span::ms(1);

/// How long a run lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Length {
    /// The whole run.
    pub duration: Span,
    /// Its first part, which is not measured.
    pub omit: Span,
}

impl Length {
    /// A run whose second half is measured.
    pub fn measured_in_second_half(duration: Span) -> Length {
        // A sample lies at the border.
        let sample = Span::ps(duration.picoseconds() / (4 * BATCHES as i64)).max(FINEST_SAMPLE);
        Length { duration: sample * (4 * BATCHES as i64), omit: sample * (2 * BATCHES as i64) }
    }

    /// Distance of samples: two in each part of the measured time.
    pub fn sample(&self) -> Span {
        Span::ps(self.duration.picoseconds() / (4 * BATCHES as i64))
    }
}

/// A run of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// The setting.
    pub point: Point,
    /// How long.
    pub length: Length,
    /// Number of the repetition, from 0.
    pub repeat: u32,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Goodput of all flows in bit/s in each part of the measured time, of the path that was not scaled down.
    pub goodput_bps: Vec<f64>,
    /// Retransmissions on the simulated path.
    pub retransmitted: f64,
    /// The limit of most of the flows for most of the time, in words.
    pub limit: String,
}

/// A retransmission costs as much time to simulate as so many other packets: measured with BBR at 400 Gbit/s, 10 % of whose
/// packets were lost, against CUBIC.
const RETRANSMISSION: f64 = 10.0;

/// A packet of an algorithm that paces by a rate that it measured costs as much time to simulate as so many of another: it leaves by
/// itself. Measured at 100 Gbit/s and 20 ms: 1.4 million packets of BBR and 5.2 million of CUBIC in a CPU second.
const PACED: f64 = 3.7;

/// The cost of a packet of an algorithm, in packets of CUBIC.
pub(crate) fn packet_cost(congestion: &str) -> f64 {
    let reads_rates = congestion_control(congestion).is_some_and(|control| control.reads_rates);
    if reads_rates { PACED } else { 1.0 }
}

impl Reading {
    /// The cost of its run, in packets. It is the same on every machine, so that the same question chooses the same runs.
    pub fn cost(&self, run: &Experiment, question: &Question) -> f64 {
        let packets = self.mean_bps() * run.length.duration.as_secs_f64() / 8.0 / run.point.mtu.get() as f64;
        let packets = packets / f64::from(run.point.scale(question));
        packets * packet_cost(&run.point.congestion) + RETRANSMISSION * self.retransmitted
    }

    /// Mean goodput in bit/s.
    pub fn mean_bps(&self) -> f64 {
        self.goodput_bps.iter().sum::<f64>() / self.goodput_bps.len().max(1) as f64
    }
}

/// Runs experiments.
pub trait Laboratory {
    /// The reason why it stops.
    type Error;

    /// The readings, in the order of the experiments.
    ///
    /// # Errors
    /// If a run fails, or the user interrupts.
    fn carry_out(&mut self, experiments: &[Experiment]) -> Result<Vec<Reading>, Self::Error>;
}
