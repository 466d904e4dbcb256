//! Measures points: chooses how long each has to run, and makes an interval of what the runs gave.

use crate::experiment::{Experiment, Laboratory, Length, Reading, packet_cost};
use crate::point::Point;
use crate::question::Question;
use serde::Serialize;
use std::collections::BTreeMap;
use wirespeed_diagnosis::audit::needs::{FRAME_OVERHEAD_BYTES, cubic_recovery_s};
use wirespeed_scenario::congestion_control;
use wirespeed_statistics::{Level, student_t};
use wirespeed_units::Span;

/// A run lasts at least so many round trips: slow start needs up to half of them.
const LEAST_ROUND_TRIPS: f64 = 40.0;
/// Random losses that a flow meets in a run that is long enough.
const LOSSES: f64 = 16.0;
/// Or so many recoveries of CUBIC from a loss (RFC 9438), whichever is shorter: what happens between two full buffers.
const RECOVERIES: f64 = 5.0;
/// An algorithm that measures rates, such as BBR, settles within the least round trips. It runs for so many times that, if it can.
const OF_RATES: f64 = 5.0;
/// A run is repeated with a longer length if its rate is below this share of the expected rate.
const FITS: f64 = 0.5;
/// How often a length is chosen again.
const MOST_PILOTS: u32 = 4;
/// Repetitions of a setting that is cheap to simulate.
const MOST_REPEATS: u32 = 3;
/// They cost at most this share of the packets of a number.
const REPEATED: f64 = 0.25;

/// The rate of a point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// The setting.
    pub point: Point,
    /// Mean goodput of all flows in bit/s.
    pub goodput_bps: f64,
    /// Lower end of its interval of 95 %.
    pub low_bps: f64,
    /// Upper end.
    pub high_bps: f64,
    /// The limit of most of the flows for most of the time.
    pub limit: String,
    /// Whether the runs were long enough for a rate that does not change with their length. If not, it is that of their second
    /// half.
    pub is_settled: bool,
    /// Length of each run.
    pub duration: Span,
    /// How many runs there were.
    pub repeats: u32,
    /// How many times smaller the simulated path was ([`Point::scale`]).
    pub scale: u32,
}

/// Measures points, each once.
pub struct Bench<'a, L: Laboratory> {
    question: &'a Question,
    laboratory: &'a mut L,
    known: BTreeMap<String, Measured>,
    /// The cost of all runs so far, in packets.
    spent: f64,
}

/// A point under measurement: the chosen length, the rate that it was chosen for, and the readings.
struct Pilot {
    point: Point,
    for_bps: f64,
    length: Length,
    is_settled: bool,
    readings: Vec<Reading>,
}

impl<'a, L: Laboratory> Bench<'a, L> {
    /// A bench that has measured nothing.
    pub fn new(question: &'a Question, laboratory: &'a mut L) -> Self {
        Bench { question, laboratory, known: BTreeMap::new(), spent: 0.0 }
    }

    /// The cost of all runs so far ([`Reading::cost`]).
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// All that was measured.
    pub fn into_known(self) -> Vec<Measured> {
        self.known.into_values().collect()
    }

    /// The rates of points, in their order. The runs of one send about `packets` together at most.
    ///
    /// # Errors
    /// Those of the laboratory.
    pub fn measure(&mut self, points: &[Point], packets: f64) -> Result<Vec<Measured>, L::Error> {
        let mut pilots: Vec<Pilot> = Vec::new();
        for point in points {
            let is_new = !self.known.contains_key(&point.name()) && pilots.iter().all(|p| p.point != *point);
            if is_new {
                pilots.push(self.pilot(point, packets));
            }
        }
        self.choose_lengths(&mut pilots, packets)?;
        self.repeat(&mut pilots, packets)?;
        for pilot in pilots {
            let measured = pilot.measured(self.question);
            self.known.insert(measured.point.name(), measured);
        }
        Ok(points.iter().map(|point| self.known[&point.name()].clone()).collect())
    }

    /// The first length of a point is for a flow that fills the path, or the largest windows.
    fn pilot(&self, point: &Point, packets: f64) -> Pilot {
        let for_bps = self.question.rate.get() as f64;
        let (length, is_settled) = self.length(point, for_bps, packets);
        Pilot { point: point.clone(), for_bps, length, is_settled, readings: Vec::new() }
    }

    /// The length of a run at a goodput of `bps`, and whether it is long enough.
    fn length(&self, point: &Point, bps: f64, packets: f64) -> (Length, bool) {
        let packets_per_s = bps / 8.0 / (point.mtu.get() + FRAME_OVERHEAD_BYTES) as f64;
        let flows = f64::from(point.flows);
        let least = LEAST_ROUND_TRIPS * point.rtt.as_secs_f64();
        let path = wirespeed_diagnosis::audit::Path {
            rate_bps: bps as u64,
            rtt_ns: point.rtt.nanoseconds(),
            ..self.question.path(point.flows)
        };
        let recoveries = RECOVERIES * cubic_recovery_s(&path);
        let losses =
            if point.loss > 0.0 { LOSSES * flows / point.loss / packets_per_s } else { f64::INFINITY };
        let reads_rates = congestion_control(&point.congestion).is_some_and(|control| control.reads_rates);
        let (wanted, longest) = if reads_rates {
            (least, OF_RATES * least)
        } else {
            let settled = least.max(recoveries.min(losses));
            (settled, settled)
        };
        let affordable =
            packets / packet_cost(&point.congestion) * f64::from(point.scale(self.question)) / packets_per_s;
        let seconds = longest.min(affordable.max(least));
        let duration = Span::ps((seconds * 1e12) as i64);
        (Length::measured_in_second_half(duration), seconds >= wanted)
    }

    /// Runs each point once, and again with another length where the rate was not the expected one.
    fn choose_lengths(&mut self, pilots: &mut [Pilot], packets: f64) -> Result<(), L::Error> {
        for _ in 0..MOST_PILOTS {
            for (at, reading) in self.run_open(pilots)? {
                let pilot = &mut pilots[at];
                let bps = reading.mean_bps();
                let (length, is_settled) = self.length(&pilot.point, bps.max(1e3), packets);
                if bps < FITS * pilot.for_bps && length.duration > pilot.length.duration {
                    (pilot.for_bps, pilot.length, pilot.is_settled) = (bps, length, is_settled);
                } else {
                    pilot.readings.push(reading);
                }
            }
        }
        // The rate of one still fell each time: that of the longest run counts.
        for (at, reading) in self.run_open(pilots)? {
            pilots[at].is_settled = false;
            pilots[at].readings.push(reading);
        }
        Ok(())
    }

    /// Runs each point that has no reading. Returns the readings with the places of their points.
    fn run_open(&mut self, pilots: &[Pilot]) -> Result<Vec<(usize, Reading)>, L::Error> {
        let open: Vec<usize> = (0..pilots.len()).filter(|at| pilots[*at].readings.is_empty()).collect();
        let experiments: Vec<Experiment> = open.iter().map(|at| pilots[*at].experiment(0)).collect();
        Ok(open.into_iter().zip(self.run(&experiments)?).collect())
    }

    fn run(&mut self, experiments: &[Experiment]) -> Result<Vec<Reading>, L::Error> {
        let readings = self.laboratory.carry_out(experiments)?;
        let costs = experiments.iter().zip(&readings).map(|(run, reading)| reading.cost(run, self.question));
        self.spent += costs.sum::<f64>();
        Ok(readings)
    }

    /// Repeats cheap runs.
    fn repeat(&mut self, pilots: &mut [Pilot], packets: f64) -> Result<(), L::Error> {
        let mut experiments = Vec::new();
        for (at, pilot) in pilots.iter().enumerate() {
            let cost = pilot.readings[0].cost(&pilot.experiment(0), self.question);
            let repeats = ((REPEATED * packets / cost.max(1.0)) as u32).clamp(1, MOST_REPEATS);
            experiments.extend((1..repeats).map(|repeat| (at, pilot.experiment(repeat))));
        }
        let (places, experiments): (Vec<usize>, Vec<Experiment>) = experiments.into_iter().unzip();
        let readings = self.run(&experiments)?;
        places.into_iter().zip(readings).for_each(|(at, reading)| pilots[at].readings.push(reading));
        Ok(())
    }
}

impl Pilot {
    fn experiment(&self, repeat: u32) -> Experiment {
        Experiment { point: self.point.clone(), length: self.length, repeat }
    }

    /// The interval is that of the repetitions, or of the batch means of a single run (Law, "Simulation Modeling and Analysis",
    /// section 9.5.3).
    fn measured(self, question: &Question) -> Measured {
        let means: Vec<f64> = self.readings.iter().map(Reading::mean_bps).collect();
        let goodput_bps = means.iter().sum::<f64>() / means.len() as f64;
        let values =
            if means.len() >= MOST_REPEATS as usize { &means } else { &self.readings[0].goodput_bps };
        let interval = student_t(values, Level::NINETY_FIVE);
        let (low_bps, high_bps) =
            interval.map_or((f64::NAN, f64::NAN), |interval| (interval.low.max(0.0), interval.high));
        Measured {
            scale: self.point.scale(question),
            goodput_bps,
            low_bps: low_bps.min(goodput_bps),
            // The path carries no more.
            high_bps: high_bps.min(question.rate.get() as f64).max(goodput_bps),
            limit: self.readings[0].limit.clone(),
            is_settled: self.is_settled,
            duration: self.length.duration,
            repeats: means.len() as u32,
            point: self.point,
        }
    }
}
