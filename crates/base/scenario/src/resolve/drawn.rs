//! Flows that the run's seed decides: when they begin, and how much they send.

mod arrivals;
mod random;
mod sizes;

pub(super) use arrivals::Arrivals;
pub(super) use sizes::{Sizes, sizes};

use super::application::draw_responses;
use super::flows::{Labelled, MOST_FLOWS};
use crate::run::Flow;
use crate::sweep;
use std::ops::Range;
use wirespeed_congestion::Random;
use wirespeed_units::Span;

/// The flows of a table, as far as the seed decides them.
#[derive(Debug, Clone)]
pub(super) struct Drawn {
    /// Number of its `[[flow]]` table.
    pub table: usize,
    /// Its flows among those that were resolved. With `arrivals` they are patterns, one for each pair of hosts.
    pub flows: Range<usize>,
    /// How much each sends; `None`: as much as was resolved.
    pub sizes: Option<Sizes>,
    /// How much each response has; `None`: as much as was resolved.
    pub responses: Option<Sizes>,
    /// When they begin; `None`: as was resolved.
    pub arrivals: Option<Arrivals>,
}

/// The flows of a run: those that were resolved and are `kept`, with what its `seed` decides. Labels do not depend on `kept`.
pub(super) fn of_run(
    resolved: &Labelled,
    drawn: &[Drawn],
    kept: impl Fn(usize) -> bool,
    seed: u64,
    end: Span,
) -> Vec<Flow> {
    let mut found = Labelled::default();
    let mut is_kept = Vec::new();
    for (index, flow) in resolved.flows.iter().enumerate() {
        match drawn.iter().find(|decided| decided.flows.contains(&index)) {
            None => found.push(flow.clone(), resolved, index),
            Some(decided) if index == decided.flows.start => decided.draw(resolved, seed, end, &mut found),
            Some(_) => {}
        }
        is_kept.resize(found.flows.len(), kept(index));
    }
    found.number();
    let mut is_kept = is_kept.into_iter();
    found.flows.retain(|_| is_kept.next().unwrap_or(true));
    found.flows
}

impl Drawn {
    /// Adds the flows of the run with that seed.
    fn draw(&self, resolved: &Labelled, seed: u64, end: Span, found: &mut Labelled) {
        let mut random = Random::new(sweep::stream_of_flows(seed, self.table));
        let mut add = |index: usize, start: Option<(Span, Option<Span>)>, random: &mut Random| {
            let mut flow = resolved.flows[index].clone();
            if let Some(sizes) = &self.sizes {
                flow.bytes = Some(sizes.draw(random));
            }
            if let Some(sizes) = &self.responses {
                draw_responses(&mut flow.application, sizes, random);
            }
            if let Some((start, lasts)) = start {
                flow.start = start;
                flow.stop = lasts.map_or(end, |lasts| (start + lasts).min(end));
            }
            found.push(flow, resolved, index);
        };
        let Some(arrivals) = &self.arrivals else {
            self.flows.clone().for_each(|index| add(index, None, &mut random));
            return;
        };
        for start in arrivals.times(&mut random).into_iter().take(MOST_FLOWS as usize) {
            let pattern = self.flows.start + random.below(self.flows.len() as u64) as usize;
            add(pattern, Some((start, arrivals.lasts)), &mut random);
        }
    }
}
