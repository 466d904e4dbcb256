//! The account while the run goes on: what a real host's counters have grown by at the borders of intervals, so that a
//! loss has a time.

use super::clock::Clock;
use super::local::Local;
use super::message::Message;
use wirespeed_host::{Place, Snapshot, Source, sources};

/// Length of an interval: that over which it is told what held a flow back. Reading what a host counts costs about as much
/// as ten samples, so it is not done with every one.
const LENGTH_NS: i64 = 1_000_000_000;

/// Sources in which no packet is lost that another does not count: they are read before and after the run only.
const LEFT_OUT: [&str; 4] = ["sockets", "interrupts", "softirqs", "cores"];

/// The sources that are read at every border.
pub fn of_losses() -> Vec<&'static dyn Source> {
    sources().iter().copied().filter(|source| !LEFT_OUT.contains(&source.name())).collect()
}

/// Borders between intervals. They lie on the sampling grid.
#[derive(Debug)]
pub struct Borders {
    length_ns: i64,
    next_ns: i64,
    end_ns: i64,
}

impl Borders {
    /// Of a run to `end_ns` that is sampled every `sample_ns`; neither its start nor its end is one of them.
    pub fn new(sample_ns: i64, end_ns: i64) -> Borders {
        let sample_ns = sample_ns.max(1);
        let length_ns = (LENGTH_NS + sample_ns - 1) / sample_ns * sample_ns;
        Borders { length_ns, next_ns: length_ns, end_ns }
    }

    /// The border that has been reached at `t_ns`, each once. Of several at a time the last: the others are missed.
    pub fn reached(&mut self, t_ns: i64) -> Option<i64> {
        if t_ns < self.next_ns || t_ns >= self.end_ns {
            return None;
        }
        let border = t_ns / self.length_ns * self.length_ns;
        self.next_ns = border + self.length_ns;
        Some(border)
    }
}

/// Says how a host stands at a border.
pub fn interim(at_ns: i64, clock: &Clock, here: &mut Local, before: &Snapshot) -> Message {
    let read_ns = clock.now();
    let totals = here.totals(at_ns);
    let mut changes = here.loss_counters().since(before);
    let device = here.device().to_owned();
    changes.changes.retain(|change| {
        let place = &change.reading.place;
        // What stands still is what the last word of the run says it is.
        change.reading.is_the_count_of_a_loss()
            && change.growth.at_least() > 0
            && place.device().is_none_or(|found| *found.name == *device)
            && !matches!(place, Place::Socket(_))
    });
    Message::Interim { at_ns, read_ns, took_ns: clock.now() - read_ns, changes: Box::new(changes), totals }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_on_the_grid_and_told_once() {
        let second = 1_000_000_000;
        let mut borders = Borders::new(second / 100, 4 * second);
        assert_eq!(borders.reached(0), None);
        assert_eq!(borders.reached(second), Some(second));
        assert_eq!(borders.reached(second + second / 100), None);
        // Late by more than an interval: the border in between is missed.
        assert_eq!(borders.reached(3 * second + 5), Some(3 * second));
        assert_eq!(borders.reached(4 * second), None, "the end has an account of its own");
        // A grid that no second lies on.
        let mut coarse = Borders::new(300_000_000, 4 * second);
        assert_eq!(coarse.reached(900_000_000), None);
        assert_eq!(coarse.reached(1_200_000_000), Some(1_200_000_000));
    }

    #[test]
    fn sources_left_out_exist_and_count_no_loss_that_no_other_does() {
        for name in LEFT_OUT {
            let rows = wirespeed_host::source(name).expect("it is a source").rows();
            let counts = rows.iter().filter(|row| row.sense.stage.is_some() && row.again.is_empty());
            let losses = counts.filter(|row| row.sense.meaning == wirespeed_host::Meaning::Loss);
            assert_eq!(losses.count(), 0, "{name}");
        }
        assert_eq!(of_losses().len(), sources().len() - LEFT_OUT.len());
    }
}
