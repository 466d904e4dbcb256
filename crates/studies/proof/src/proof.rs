//! Rounds of measurements, and when they end.

use crate::{Bench, Effect, Measurement, Order, Prediction, Verdict, effect};
use serde::Serialize;

/// When a proof ends, and how certain it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limits {
    /// Rounds at most, at least 3.
    pub rounds: usize,
    /// The smallest relative gain of goodput that counts, above 0 and below 1.
    pub least_gain: f64,
    /// Confidence of all intervals together, above 0.5 and below 1.
    pub confidence: f64,
    /// Seed of the order.
    pub seed: u64,
}

/// Limits that make no proof.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LimitsError {
    /// Too few rounds.
    #[error("{0} rounds are too few for an interval; allow at least {FIRST_LOOK}")]
    Rounds(usize),
    /// The gain is not a share.
    #[error("a smallest gain of {0} is not a share between 0 and 1, such as 0.02")]
    LeastGain(f64),
    /// The confidence is not a probability.
    #[error("a confidence of {0} is not between 0.5 and 1, such as 0.95")]
    Confidence(f64),
}

/// Why the rounds ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Every verdict is certain.
    Certain,
    /// As many rounds as allowed.
    Rounds,
    /// The bench was over: time, or an interrupt.
    Over,
}

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proof {
    /// Names of the candidates.
    pub candidates: Vec<String>,
    /// Measurements with the hosts as they are, one a round.
    pub without: Vec<Measurement>,
    /// Measurements of each candidate, one a round.
    pub with: Vec<Vec<Measurement>>,
    /// The effect of each candidate, where there are pairs enough.
    pub effects: Vec<Option<Effect>>,
    /// The verdict on each candidate.
    pub verdicts: Vec<Verdict>,
    /// Predictions of the model: of the hosts as they are, then of each candidate. Empty if none was asked for.
    pub predictions: Vec<Prediction>,
    /// Confidence of each interval: that of all together, divided among looks and candidates (Bonferroni).
    pub interval_confidence: f64,
    /// Why it ended.
    pub stop: Stop,
    /// The limits it had.
    pub limits: Limits,
}

/// The first look is after so many rounds.
const FIRST_LOOK: usize = 3;

impl Limits {
    fn check(&self) -> Result<(), LimitsError> {
        match self {
            limits if limits.rounds < FIRST_LOOK => Err(LimitsError::Rounds(limits.rounds)),
            limits if !(limits.least_gain > 0.0 && limits.least_gain < 1.0) => {
                Err(LimitsError::LeastGain(limits.least_gain))
            }
            limits if !(limits.confidence > 0.5 && limits.confidence < 1.0) => {
                Err(LimitsError::Confidence(limits.confidence))
            }
            _ => Ok(()),
        }
    }

    /// Rounds after which the verdicts are looked at: few, as each look costs certainty.
    fn looks(&self) -> Vec<usize> {
        let mut looks: Vec<usize> = std::iter::successors(Some(FIRST_LOOK), |look| Some(look * 2))
            .take_while(|look| *look < self.rounds)
            .collect();
        looks.push(self.rounds);
        looks
    }

    /// The error probability of one interval at one look.
    fn alpha(&self, candidates: usize) -> f64 {
        (1.0 - self.confidence) / (self.looks().len() * candidates.max(1)) as f64
    }
}

/// Measures the candidates against the hosts as they are. `after_round` gets the state after each round.
///
/// A candidate with a certain verdict is not measured again. A round that the bench does not finish does not count.
///
/// # Errors
/// The first error of the bench, and [`LimitsError`] by `wrong`.
pub fn prove<B: Bench>(
    bench: &mut B,
    candidates: Vec<String>,
    limits: Limits,
    wrong: impl FnOnce(LimitsError) -> B::Error,
    mut after_round: impl FnMut(&Proof),
) -> Result<Proof, B::Error> {
    limits.check().map_err(wrong)?;
    let (count, alpha) = (candidates.len(), limits.alpha(candidates.len()));
    let mut proof = Proof {
        without: Vec::new(),
        with: vec![Vec::new(); count],
        effects: vec![None; count],
        verdicts: vec![Verdict::Unknown; count],
        predictions: Vec::new(),
        interval_confidence: 1.0 - alpha,
        stop: Stop::Rounds,
        candidates,
        limits,
    };
    let (looks, mut order) = (limits.looks(), Order::new(limits.seed));
    for number in 1..=limits.rounds {
        let open: Vec<usize> = (0..count).filter(|at| proof.verdicts[*at] == Verdict::Unknown).collect();
        let Some(round) = round(bench, &open, &mut order)? else {
            proof.stop = Stop::Over;
            break;
        };
        proof.add(round, &open);
        if looks.contains(&number) {
            proof.look(alpha);
        }
        after_round(&proof);
        if proof.verdicts.iter().all(|verdict| *verdict != Verdict::Unknown) {
            proof.stop = Stop::Certain;
            break;
        }
    }
    if proof.stop == Stop::Over {
        // The last look, in place of those that the time did not allow.
        proof.look(alpha);
    }
    Ok(proof)
}

/// Measurements of a round: first without, then the open candidates in their order. `None` if the bench is over.
fn round<B: Bench>(
    bench: &mut B,
    open: &[usize],
    order: &mut Order,
) -> Result<Option<Vec<Measurement>>, B::Error> {
    let mut found = vec![None; open.len() + 1];
    for arm in order.round(open.len() + 1) {
        if bench.is_over() {
            return Ok(None);
        }
        let Some(measurement) = bench.measure(arm.checked_sub(1).map(|at| open[at]))? else {
            return Ok(None);
        };
        found[arm] = Some(measurement);
    }
    Ok(found.into_iter().collect())
}

impl Proof {
    fn add(&mut self, round: Vec<Measurement>, open: &[usize]) {
        let mut round = round.into_iter();
        self.without.extend(round.next());
        for (at, measurement) in open.iter().zip(round) {
            self.with[*at].push(measurement);
        }
    }

    fn look(&mut self, alpha: f64) {
        for at in 0..self.candidates.len() {
            if self.verdicts[at] == Verdict::Unknown {
                let goodputs =
                    |measured: &[Measurement]| measured.iter().map(|m| m.goodput_bps).collect::<Vec<_>>();
                let pairs: Vec<(f64, f64)> =
                    goodputs(&self.without).into_iter().zip(goodputs(&self.with[at])).collect();
                self.effects[at] = effect(&pairs, alpha);
                let enough = self.effects[at].filter(|effect| effect.pairs >= FIRST_LOOK);
                self.verdicts[at] = enough.map_or(Verdict::Unknown, |e| e.verdict(self.limits.least_gain));
            }
        }
    }

    /// Numbers of the candidates that help.
    pub fn helpful(&self) -> Vec<usize> {
        (0..self.candidates.len()).filter(|at| self.verdicts[*at] == Verdict::Helps).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path with a gain for each candidate, and noise.
    struct Simulated {
        gains: Vec<f64>,
        noise: f64,
        random: Order,
        left: usize,
        measured: Vec<Option<usize>>,
    }

    impl Simulated {
        fn new(gains: &[f64], noise: f64, seed: u64) -> Simulated {
            Simulated {
                gains: gains.to_vec(),
                noise,
                random: Order::new(seed),
                left: usize::MAX,
                measured: Vec::new(),
            }
        }

        /// About normal: the sum of twelve uniform numbers (mean 0, deviation 1).
        fn normal(&mut self) -> f64 {
            let uniform = |order: &mut Order| order.round(1001)[0] as f64 / 1000.0;
            (0..12).map(|_| uniform(&mut self.random)).sum::<f64>() - 6.0
        }
    }

    impl Bench for Simulated {
        type Error = LimitsError;

        fn measure(&mut self, candidate: Option<usize>) -> Result<Option<Measurement>, LimitsError> {
            self.left -= 1;
            self.measured.push(candidate);
            let gain = candidate.map_or(0.0, |at| self.gains[at]);
            let goodput_bps = 1e9 * (1.0 + gain) * (1.0 + self.noise * self.normal());
            Ok(Some(Measurement { goodput_bps, ..Default::default() }))
        }

        fn is_over(&self) -> bool {
            self.left == 0
        }
    }

    const LIMITS: Limits = Limits { rounds: 12, least_gain: 0.02, confidence: 0.95, seed: 3 };

    fn proven(bench: &mut Simulated, limits: Limits) -> Result<Proof, LimitsError> {
        let names = (0..bench.gains.len()).map(|at| format!("candidate {at}")).collect();
        prove(bench, names, limits, |error| error, |_| {})
    }

    #[test]
    fn gain_harm_and_no_effect_are_told_apart() {
        let proof = proven(&mut Simulated::new(&[0.5, 0.0, -0.3], 0.002, 1), LIMITS).unwrap();
        assert_eq!(proof.verdicts, [Verdict::Helps, Verdict::NoEffect, Verdict::Harms]);
        assert_eq!((proof.stop, proof.helpful()), (Stop::Certain, vec![0]));
        let effect = proof.effects[0].unwrap();
        assert!(effect.low < 0.5 && effect.high > 0.5, "{effect:?}");
    }

    #[test]
    fn noise_gives_no_verdict() {
        let proof = proven(&mut Simulated::new(&[0.05], 0.5, 2), LIMITS).unwrap();
        assert_eq!((proof.verdicts[0], proof.stop), (Verdict::Unknown, Stop::Rounds));
        assert_eq!(proof.without.len(), 12);
    }

    #[test]
    fn certain_candidates_are_not_measured_again() {
        let mut bench = Simulated::new(&[0.5, 0.02], 0.01, 5);
        proven(&mut bench, LIMITS).unwrap();
        let count = |at| bench.measured.iter().filter(|arm| **arm == at).count();
        assert_eq!(count(Some(0)), 3);
        assert!(count(Some(1)) > 3 && count(None) == count(Some(1)));
    }

    #[test]
    fn unfinished_rounds_do_not_count() {
        let mut bench = Simulated { left: 9, ..Simulated::new(&[0.5], 0.002, 1) };
        let proof = proven(&mut bench, Limits { rounds: 100, ..LIMITS }).unwrap();
        assert_eq!((proof.stop, proof.without.len()), (Stop::Certain, 3));
        let mut bench = Simulated { left: 5, ..Simulated::new(&[0.5], 0.002, 1) };
        let proof = proven(&mut bench, LIMITS).unwrap();
        assert_eq!((proof.stop, proof.without.len(), proof.verdicts[0]), (Stop::Over, 2, Verdict::Unknown));
    }

    #[test]
    fn a_useless_change_seldom_seems_to_help() {
        // 400 proofs of nothing at 95 %: at most 20 wrong ones are expected, all kinds together.
        let wrong = (0..400).filter(|seed| {
            let limits = Limits { seed: *seed, least_gain: 1e-6, ..LIMITS };
            proven(&mut Simulated::new(&[0.0], 0.05, seed + 1000), limits).unwrap().verdicts[0]
                != Verdict::Unknown
        });
        let wrong = wrong.count();
        assert!(wrong <= 20, "{wrong} of 400");
    }

    #[test]
    fn limits_without_a_proof_are_rejected() {
        let error = |limits| proven(&mut Simulated::new(&[0.1], 0.1, 1), limits).unwrap_err().to_string();
        assert!(error(Limits { rounds: 2, ..LIMITS }).contains("at least 3"));
        assert!(error(Limits { least_gain: 2.0, ..LIMITS }).contains("0.02"));
        assert!(error(Limits { confidence: 1.0, ..LIMITS }).contains("0.95"));
    }
}
