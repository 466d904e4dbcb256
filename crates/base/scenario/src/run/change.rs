//! Links that change during a run.

use super::{Direction, Link};
use serde::{Deserialize, Serialize};
use wirespeed_units::{Bytes, Rate, Span};

/// New values of a direction of a link from a moment on. The others stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Since the run's start, in whole nanoseconds.
    pub at: Span,
    /// Rate; of zero, nothing is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// One-way propagation delay, of packets whose transmission ends from now on. Packets keep their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Probability of loss, of packets whose transmission ends from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Room of the queue, for packets that come from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
}

/// State of a direction of a link from a moment on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkState {
    /// Since the run's start.
    pub at: Span,
    /// Rate; of zero, nothing is sent.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Span,
    /// Probability of loss.
    pub loss: f64,
    /// Room of the queue.
    pub buffer: Bytes,
}

impl LinkState {
    /// The state after a change.
    pub fn with(self, change: &Change) -> LinkState {
        LinkState {
            at: change.at,
            rate: change.rate.unwrap_or(self.rate),
            delay: change.delay.unwrap_or(self.delay),
            loss: change.loss.unwrap_or(self.loss),
            buffer: change.buffer.unwrap_or(self.buffer),
        }
    }
}

impl Direction {
    /// Its state at the start, and after each change.
    pub fn states(&self) -> impl Iterator<Item = LinkState> + '_ {
        let Direction { rate, delay, loss, buffer, .. } = *self;
        let first = LinkState { at: Span::ZERO, rate, delay, loss, buffer };
        let later = self.changes.iter().scan(first, |state, change| {
            *state = state.with(change);
            Some(*state)
        });
        std::iter::once(first).chain(later)
    }

    /// The most that it ever sends.
    pub fn greatest_rate(&self) -> Rate {
        self.states().map(|state| state.rate).max().unwrap_or(self.rate)
    }

    /// The longest it ever takes.
    pub fn longest_delay(&self) -> Span {
        self.states().map(|state| state.delay).max().unwrap_or(self.delay)
    }

    /// The most that ever waits.
    pub fn largest_buffer(&self) -> Bytes {
        self.states().map(|state| state.buffer).max().unwrap_or(self.buffer)
    }

    /// The first thing in its changes that no resolved run has.
    pub(super) fn impossible_change(&self) -> Option<String> {
        let mut before = None;
        for change in &self.changes {
            if change.at < Span::ZERO || before.is_some_and(|before| change.at <= before) {
                return Some(format!("its changes are not in order at {}", change.at));
            }
            before = Some(change.at);
            if change.loss.is_some_and(|loss| !(0.0..=1.0).contains(&loss)) {
                return Some(format!("its loss at {} is not a probability", change.at));
            }
            if change.delay.is_some_and(|delay| delay < Span::ZERO) {
                return Some(format!("its delay at {} is negative", change.at));
            }
        }
        None
    }
}

impl Link {
    /// Whether it changes during the run.
    pub fn changes(&self) -> bool {
        [&self.forward, &self.reverse].iter().any(|direction| !direction.changes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_what_was_with_what_is_new() {
        let mut direction = Direction::plain(Rate::gbit(1), Span::ms(5), 0.1, Bytes::new(3000));
        direction.changes = vec![
            Change { at: Span::secs(1), rate: Some(Rate::gbit(2)), ..Change::default() },
            Change { at: Span::secs(2), delay: Some(Span::ms(7)), ..Change::default() },
        ];
        let states: Vec<_> = direction.states().map(|state| (state.at, state.rate, state.delay)).collect();
        let expected = [
            (Span::ZERO, Rate::gbit(1), Span::ms(5)),
            (Span::secs(1), Rate::gbit(2), Span::ms(5)),
            (Span::secs(2), Rate::gbit(2), Span::ms(7)),
        ];
        assert_eq!(states, expected);
        assert_eq!((direction.greatest_rate(), direction.longest_delay()), (Rate::gbit(2), Span::ms(7)));
        assert_eq!(direction.impossible_change(), None);
        direction.changes[1].at = Span::secs(1);
        assert!(direction.impossible_change().is_some_and(|told| told.contains("not in order")));
    }
}
