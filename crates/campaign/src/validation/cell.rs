//! From a cell to a scenario anyone can run, and what it will cost.

use super::ValidationError;
use super::grid::Cell;
use std::fmt::Write;
use wirespeed_scenario::{Run, parse};

/// By how much each flow of several starts after the one before: one run of the cell each, with a seed of its own.
/// So the runs differ where nothing is lost at random, too, and no result hangs on the phase of the flows. Cells of
/// one flow have as many runs, which differ by the seed alone.
pub const STAGGERS_MS: [u32; 3] = [10, 11, 13];

/// Least room before the link, in full frames. At 1 Gbit/s and 0.2 ms a tenth of a bandwidth-delay product would
/// be a single frame, in which no sender of bursts gets anywhere.
pub const LEAST_BUFFER_PACKETS: u32 = 10;

/// An Ethernet frame without preamble, FCS and gap, as links count.
const FRAME_BITS: f64 = 1514.0 * 8.0;

/// How long a run of a round-trip time lasts and how often it is sampled, in ms. Slow start takes up to 17 round
/// trips; what follows is long enough for many loss epochs where there is random loss, and at 0.2 and 6.2 ms for
/// several that the queue causes.
const fn times_ms(rtt_us: u32) -> (u32, u32) {
    match rtt_us {
        0..=1_000 => (4_000, 10),
        1_001..=10_000 => (8_000, 10),
        10_001..=50_000 => (15_000, 10),
        _ => (30_000, 50),
    }
}

impl Cell {
    /// How long its runs last, seconds.
    pub fn duration_s(&self) -> f64 {
        f64::from(times_ms(self.rtt_us).0) / 1e3
    }

    /// Its room before the link, as a scenario says it.
    fn buffer(&self) -> String {
        let bdp_bits = f64::from(self.rate_gbit) * 1e3 * f64::from(self.rtt_us);
        match self.buffer_bdp * bdp_bits < f64::from(LEAST_BUFFER_PACKETS) * FRAME_BITS {
            true => format!("{LEAST_BUFFER_PACKETS} packets"),
            false => format!("{} bdp", self.buffer_bdp),
        }
    }

    /// Its factors in a line for people.
    pub fn title(&self) -> String {
        let Cell { congestion, rate_gbit, buffer_bdp, flows, .. } = self;
        let flows = if *flows == 1 { "1 flow".into() } else { format!("{flows} flows") };
        let rtt = f64::from(self.rtt_us) / 1e3;
        format!(
            "{congestion}, {rtt} ms, {rate_gbit} Gbit/s, loss {}, {buffer_bdp} bdp, {flows}",
            self.loss_word()
        )
    }

    /// The scenario that carries it out.
    pub fn scenario(&self) -> String {
        let (duration, sample) = times_ms(self.rtt_us);
        let mut text = format!(
            "schema = 1\nname = \"validation-{:04}\"\nabout = \"Cell {} of the validation grid: {}\"\n\n\
             [path]\nrate = \"{} Gbit/s\"\nrtt = \"{} ms\"\nloss = {}\nbuffer = \"{}\"\n\n\
             [[flow]]\ncongestion = \"{}\"\n",
            self.number,
            self.number,
            self.title(),
            self.rate_gbit,
            f64::from(self.rtt_us) / 1e3,
            self.loss_word(),
            self.buffer(),
            self.congestion,
        );
        if self.flows > 1 {
            let _ = writeln!(text, "count = {}", self.flows);
        }
        let _ = write!(
            text,
            "\n[run]\nduration = \"{duration} ms\"\nsample = \"{sample} ms\"\nseed = {}\n",
            self.number
        );
        if self.flows > 1 {
            let staggers: Vec<String> = STAGGERS_MS.iter().map(|ms| format!("\"{ms} ms\"")).collect();
            let _ = write!(text, "\n[sweep]\n\"flow.stagger\" = [{}]\n", staggers.join(", "));
        } else {
            let _ = writeln!(text, "repeat = {}", STAGGERS_MS.len());
        }
        text
    }

    /// Its runs, with settings of the scenario changed by `overrides` as `--set` does.
    ///
    /// # Errors
    /// If a scenario cannot be what the cell and the overrides make of it.
    pub fn runs(&self, overrides: &[(String, String)]) -> Result<Vec<Run>, ValidationError> {
        Ok(parse(&self.scenario(), &format!("cell {}", self.number), overrides, None)?.runs)
    }

    /// Data packets that a run will send at most, roughly: by the link's rate, or by the response function of HighSpeed
    /// (RFC 3649, section 5) over that of Mathis et al. (CCR 1997), which random loss stops; it does not stop BBR.
    pub fn packets(&self) -> f64 {
        let link = f64::from(self.rate_gbit) * 1e9 / FRAME_BITS;
        let window = match self.congestion.as_str() {
            "bbr" => f64::INFINITY,
            _ => (1.22 / self.loss.sqrt()).max(0.12 / self.loss.powf(0.835)),
        };
        let flows = f64::from(self.flows) * window / (f64::from(self.rtt_us) / 1e6);
        link.min(flows) * self.duration_s()
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::{committed_size, generate};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_cell_is_a_scenario_and_no_two_runs_share_a_seed() {
        let mut seeds = BTreeSet::new();
        for cell in generate(committed_size()) {
            let runs = cell.runs(&[]).unwrap();
            assert_eq!(runs.len(), STAGGERS_MS.len());
            assert!(runs.iter().all(|run| run.flows.len() == cell.flows as usize));
            assert!(runs.iter().all(|run| seeds.insert(run.seed)), "cell {}", cell.number);
        }
    }

    #[test]
    fn the_buffer_holds_ten_frames_at_least() {
        let run = |rtt_us, rate_gbit| {
            let cell = Cell { rtt_us, rate_gbit, buffer_bdp: 0.1, ..generate(1)[0].clone() };
            cell.runs(&[]).unwrap()[0].links[0].forward.buffer.get()
        };
        assert_eq!(run(200, 1), 15_140);
        assert_eq!(run(200, 10), 25_000);
        assert_eq!(run(100_000, 10), 12_500_000);
    }

    #[test]
    fn overrides_reach_the_runs() {
        let runs = generate(1)[0].runs(&[("path.loss".into(), "0.5".into())]).unwrap();
        assert_eq!(runs[0].links[0].forward.loss, 0.5);
    }
}
