//! Whether anything was due before what caused it.

use wirespeed_units::{SimTime, Span};

/// What came too late to happen at its own time. Nothing does, as far as the tests' random runs tell: what would be planned
/// for a time that has passed would happen at once, and is counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// Events that were planned for a time that had passed.
    pub planned: u64,
    /// How far the time of the latest of them had passed.
    pub most: Span,
    /// Events that happened after a later one: there must be none.
    pub backward: u64,
}

impl Late {
    /// What is due at `at` happens then, or now if that has passed.
    #[inline(always)]
    pub(crate) fn not_before(&mut self, now: SimTime, at: SimTime) -> SimTime {
        if at < now {
            self.note(now - at);
            return now;
        }
        at
    }

    /// The present was `now` and is `at`.
    #[inline(always)]
    pub(crate) fn follow(&mut self, now: SimTime, at: SimTime) {
        if at < now {
            self.go_back();
        }
    }

    #[cold]
    fn note(&mut self, by: Span) {
        self.planned += 1;
        self.most = self.most.max(by);
    }

    #[cold]
    fn go_back(&mut self) {
        self.backward += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_due_in_the_past_happens_now_and_is_counted() {
        let at = |nanoseconds| SimTime::START + Span::ns(nanoseconds);
        let mut late = Late::default();
        let times = [5, 10, 7, 11].map(|due| late.not_before(at(10), at(due)));
        assert_eq!(times, [at(10), at(10), at(10), at(11)]);
        assert_eq!(late, Late { planned: 2, most: Span::ns(5), backward: 0 });
        late.follow(at(10), at(10));
        late.follow(at(10), at(9));
        assert_eq!(late.backward, 1);
    }
}
