//! The account while the run goes on: what a real host's counters have grown by at the borders of intervals, so that a
//! loss has a time.

use super::clock::Clock;
use super::local::Local;
use super::message::Message;
use wirespeed_host::{Change, Changes, Place, Snapshot, Source, sources};

/// Sources in which no packet is lost that another does not count: they are read before and after the run only.
const LEFT_OUT: [&str; 4] = ["sockets", "interrupts", "softirqs", "cores"];

/// The sources that are read at every border.
pub fn of_losses() -> Vec<&'static dyn Source> {
    sources().iter().copied().filter(|source| !LEFT_OUT.contains(&source.name())).collect()
}

/// Reports the state of a host at a border. `reasons` returns the drops by the kernel's reasons, from the delta of the other
/// counters and the interface by which the test leaves.
pub fn interim(
    at_ns: i64,
    clock: &Clock,
    here: &mut Local,
    before: &Snapshot,
    reasons: impl FnOnce(&Changes, &str) -> Vec<Change>,
) -> Message {
    let read_ns = clock.now();
    let totals = here.totals(at_ns);
    let mut changes = here.loss_counters().since(before);
    let reasons = reasons(&changes, here.out());
    let devices = [here.device().to_owned(), here.out().to_owned()];
    changes.changes.retain(|change| {
        let place = &change.reading.place;
        // What stands still is what the last word of the run says it is.
        change.reading.is_the_count_of_a_loss()
            && change.delta.at_least() > 0
            && place.device().is_none_or(|found| devices.iter().any(|device| *found.name == **device))
            && !matches!(place, Place::Socket(_))
    });
    changes.changes.extend(reasons);
    Message::Interim { at_ns, read_ns, took_ns: clock.now() - read_ns, changes: Box::new(changes), totals }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_left_out_exist_and_count_no_loss_that_no_other_does() {
        for name in LEFT_OUT {
            let rows = wirespeed_host::source(name).expect("it is a source").rows();
            let counts = rows.iter().filter(|row| row.sense.stage.is_some() && row.duplicate_of.is_empty());
            let losses = counts.filter(|row| row.sense.meaning == wirespeed_host::Meaning::Loss);
            assert_eq!(losses.count(), 0, "{name}");
        }
        assert_eq!(of_losses().len(), sources().len() - LEFT_OUT.len());
    }
}
