//! Which links a flow's packets cross.

use super::{Flow, Link, Run};
use wirespeed_units::Span;

/// A link that is crossed: its index, and whether from left to right.
pub type Crossing = (usize, bool);

impl Link {
    /// The routers that link number `index` of a run joins, the left one first.
    pub fn ends(&self, index: usize) -> [usize; 2] {
        self.between.unwrap_or([index, index + 1])
    }
}

/// The links from one router to another: those that are named, or all of the chain between them.
pub(crate) fn crossed(links: &[Link], names: &[String], from: usize, to: usize) -> Vec<Crossing> {
    let rightwards = from < to;
    if !names.is_empty() {
        let position = |name: &String| links.iter().position(|link| link.name == *name);
        return names.iter().filter_map(position).map(|index| (index, rightwards)).collect();
    }
    let chain = from.min(to)..from.max(to);
    if rightwards { chain.map(|i| (i, true)).collect() } else { chain.rev().map(|i| (i, false)).collect() }
}

impl Run {
    /// The links that a flow's data crosses, in order.
    pub fn way_out(&self, flow: &Flow) -> Vec<Crossing> {
        let (from, to) = (self.host(&flow.from).router, self.host(&flow.to).router);
        crossed(&self.links, &flow.route, from, to)
    }

    /// The links that its acknowledgements cross, in order: the same again if it has no other way.
    pub fn way_back(&self, flow: &Flow) -> Vec<Crossing> {
        if flow.route_back.is_empty() {
            return self.way_out(flow).into_iter().rev().map(|(index, right)| (index, !right)).collect();
        }
        let (from, to) = (self.host(&flow.from).router, self.host(&flow.to).router);
        crossed(&self.links, &flow.route_back, to, from)
    }

    /// How many links the chain of routers has; those beside it stand behind them.
    pub fn hops(&self) -> usize {
        self.links.iter().filter(|link| link.between.is_none()).count()
    }

    /// Whether there is more than one way from a host to another.
    pub fn has_routes(&self) -> bool {
        self.links.len() > self.hops()
    }

    /// Propagation over links.
    pub(crate) fn delay_over(links: &[Link], way: &[Crossing]) -> Span {
        way.iter()
            .map(
                |(index, right)| {
                    if *right { links[*index].forward.delay } else { links[*index].reverse.delay }
                },
            )
            .sum()
    }
}
